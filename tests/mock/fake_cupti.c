/* fake_cupti.c -- subscription and callbacks of the fake libcupti. */
#include "fake_cupti.h"

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#if FAKE_CUPTI_MAJOR == 11
#define VERSION 18
#define DRIVER_IDS 656u /* ids from here on are unknown to this version */
#define RUNTIME_IDS 430u
#elif FAKE_CUPTI_MAJOR == 12
#define VERSION 24
#define DRIVER_IDS 780u
#define RUNTIME_IDS 480u
#else
#define VERSION 130001
#define DRIVER_IDS 807u
#define RUNTIME_IDS 523u
#endif

struct subscriber {
    fc_callback f;
    void *userdata;
    uint64_t left; /* callbacks until modes silent and finalized act */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct subscriber only;
static _Atomic(struct subscriber *) subscribed;
static char subscriber_name[64] = "";
static unsigned char masks[2][FAKE_CBIDS], resource_mask[FAKE_RESOURCES];
static unsigned char domains[7]; /* enabled as a whole: resource, synchronize, nvtx, state */
static _Atomic uint64_t n_callbacks;
static uint64_t silent_after, finalized_after;
static bool never;
static _Atomic int dead;

uint64_t fc_mode(const char *name, uint64_t dflt, bool *is)
{
    char buf[64];
    const char *v = fake_mode(getenv("FAKE_CUPTI"), name, buf, sizeof buf);
    if (is)
        *is = v != NULL;
    return v && *v ? strtoull(v, NULL, 10) : dflt;
}

/* The real library's exit handlers are registered when it is loaded: handlers registered later run
 * before them. */
static void at_exit(void) { atomic_store(&dead, 1); }
__attribute__((constructor)) static void loaded(void) { atexit(at_exit); }
bool fc_dead(void) { return atomic_load(&dead); }

int fc_driver(struct fake_hooks **out)
{
    static _Atomic(struct fake_hooks *) found;
    int none = FAKE_CUPTI_MAJOR == 11 ? FC_NOT_INITIALIZED : FC_UNKNOWN;
    bool error;
    fc_mode("error", 0, &error);
    if (error)
        return none;
    struct fake_hooks *h = atomic_load(&found);
    if (!h) {
        void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        h = lib ? (struct fake_hooks *)dlsym(lib, "fake_cuda_hooks") : NULL;
        if (!h || h->version != FAKE_HOOKS)
            return none;
        atomic_store(&found, h);
    }
    *out = h;
    return FC_OK;
}

void fc_slow(void)
{
    bool is;
    uint64_t ms = fc_mode("slow", 200, &is);
    if (is)
        nanosleep(&(struct timespec){.tv_sec = (time_t)(ms / 1000),
                                     .tv_nsec = (long)(ms % 1000) * 1000000},
                  NULL);
}

static uint32_t driver_ids(void)
{
    bool future;
    fc_mode("future", 0, &future);
    return future ? 820u : DRIVER_IDS;
}

static void unsubscribe(struct fake_hooks *h)
{
    atomic_store(&h->masks[0], NULL);
    atomic_store(&h->masks[1], NULL);
    atomic_store(&h->resources, NULL);
    memset(masks, 0, sizeof masks);
    memset(resource_mask, 0, sizeof resource_mask);
    memset(domains, 0, sizeof domains);
    atomic_store(&subscribed, NULL);
}

/* From every thread that is in a CUDA call. */
static void call_back_any(uint32_t domain, uint32_t cbid, const void *data)
{
    struct subscriber *s = atomic_load(&subscribed);
    if (!s || never)
        return;
    uint64_t n = atomic_fetch_add_explicit(&n_callbacks, 1, memory_order_relaxed);
    if (n >= silent_after)
        return;
    if (n == finalized_after) {
        struct fake_hooks *h;
        if (!fc_driver(&h)) {
            pthread_mutex_lock(&lock);
            unsubscribe(h);
            pthread_mutex_unlock(&lock);
            fc_activity_reset();
        }
        return;
    }
    s->f(s->userdata, domain, cbid, data);
}

static void call_back(uint32_t domain, uint32_t cbid, const struct fake_cbdata *data)
{
    call_back_any(domain, cbid, data);
}

static void resource(uint32_t cbid, const struct fake_resource *r) { call_back_any(3, cbid, r); }

FAKE_EXPORT int cuptiGetVersion(uint32_t *version);
int cuptiGetVersion(uint32_t *version)
{
    if (!version)
        return FC_INVALID_PARAMETER;
    *version = VERSION;
    return FC_OK;
}

static int subscribe(void **subscriber, fc_callback f, void *userdata,
                     const struct fc_subscriber_params *p)
{
    fc_slow();
    if (!subscriber || !f)
        return FC_INVALID_PARAMETER;
    bool is;
    uint64_t forced = fc_mode("subscribe", 0, &is);
    if (is)
        return (int)forced;
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    char holder[64];
    const char *busy = fake_mode(getenv("FAKE_CUPTI"), "busy", holder, sizeof holder);
    pthread_mutex_lock(&lock);
    if (!busy && atomic_load(&subscribed))
        busy = subscriber_name[0] ? subscriber_name : "unnamed";
    if (busy) {
        if (p && p->old_name && p->old_size)
            snprintf(p->old_name, p->old_size, "%s", *busy ? busy : "nsys");
        pthread_mutex_unlock(&lock);
        return FC_BUSY;
    }
    snprintf(subscriber_name, sizeof subscriber_name, "%s", p && p->name ? p->name : "");
    silent_after = fc_mode("silent", UINT64_MAX, NULL);
    finalized_after = fc_mode("finalized", UINT64_MAX, NULL);
    fc_mode("nosubscribe", 0, &never);
    only = (struct subscriber){.f = f, .userdata = userdata};
    h->callback = call_back;
    h->resource = resource;
    h->memory = fc_memory;
    h->mempool = fc_mempool;
    atomic_store(&subscribed, &only);
    atomic_store(&h->masks[0], masks[0]);
    atomic_store(&h->masks[1], masks[1]);
    atomic_store(&h->resources, resource_mask);
    pthread_mutex_unlock(&lock);
    *subscriber = &only;
    return FC_OK;
}

FAKE_EXPORT int cuptiSubscribe(void **subscriber, fc_callback callback, void *userdata);
int cuptiSubscribe(void **subscriber, fc_callback callback, void *userdata)
{
    return subscribe(subscriber, callback, userdata, NULL);
}

#if FAKE_CUPTI_MAJOR >= 13
FAKE_EXPORT int cuptiSubscribe_v2(void **subscriber, fc_callback callback, void *userdata,
                                  struct fc_subscriber_params *p);
int cuptiSubscribe_v2(void **subscriber, fc_callback callback, void *userdata,
                      struct fc_subscriber_params *p)
{
    if (!p || p->struct_size < sizeof *p || (p->name && strlen(p->name) > 53))
        return FC_INVALID_PARAMETER;
    if (p->old_name && p->old_size < 64)
        return FC_PARAMETER_SIZE;
    return subscribe(subscriber, callback, userdata, p);
}
#endif

FAKE_EXPORT int cuptiUnsubscribe(void *subscriber);
int cuptiUnsubscribe(void *subscriber)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    bool ok = subscriber && subscriber == (void *)atomic_load(&subscribed);
    if (ok)
        unsubscribe(h);
    pthread_mutex_unlock(&lock);
    return ok ? FC_OK : FC_INVALID_PARAMETER;
}

/* Callback masks are read without a lock by all threads: bytes, written whole.
 */
static void set(unsigned char *at, uint32_t enable)
{
    __atomic_store_n(at, enable != 0, __ATOMIC_RELAXED);
}

static bool known(uint32_t domain, uint32_t cbid)
{
    switch (domain) {
    case 1: return cbid && cbid < driver_ids();
    case 2: return cbid && cbid < RUNTIME_IDS;
    default: return domain >= 3 && domain <= 6 && cbid && cbid < FAKE_RESOURCES;
    }
}

FAKE_EXPORT int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain,
                                    uint32_t cbid);
int cuptiEnableCallback(uint32_t enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
    if (!subscriber || subscriber != (void *)atomic_load(&subscribed) || !known(domain, cbid))
        return FC_INVALID_PARAMETER;
    if (domain <= 2)
        set(&masks[domain - 1][cbid], enable);
    else if (domain == 3)
        set(&resource_mask[cbid], enable);
    return FC_OK;
}

FAKE_EXPORT int cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain,
                                      uint32_t cbid);
int cuptiGetCallbackState(uint32_t *enable, void *subscriber, uint32_t domain, uint32_t cbid)
{
    if (!enable || !subscriber || subscriber != (void *)atomic_load(&subscribed) ||
        !known(domain, cbid))
        return FC_INVALID_PARAMETER;
    *enable = domain <= 2 ? masks[domain - 1][cbid] : domains[domain];
    return FC_OK;
}

FAKE_EXPORT int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain);
int cuptiEnableDomain(uint32_t enable, void *subscriber, uint32_t domain)
{
    if (!subscriber || subscriber != (void *)atomic_load(&subscribed) || domain < 1 || domain > 6)
        return FC_INVALID_PARAMETER;
    if (domain > 2)
        domains[domain] = enable != 0;
    for (uint32_t i = 1; domain <= 2 && i < (domain == 1 ? driver_ids() : RUNTIME_IDS); i++)
        set(&masks[domain - 1][i], enable);
    return FC_OK;
}

FAKE_EXPORT int cuptiEnableAllDomains(uint32_t enable, void *subscriber);
int cuptiEnableAllDomains(uint32_t enable, void *subscriber)
{
    int r = FC_OK;
    for (uint32_t d = 1; d <= 6 && !r; d++)
        r = cuptiEnableDomain(enable, subscriber, d);
    return r;
}

static const struct {
    uint32_t cbid;
    const char *name;
} runtime_names[] = {{20, "cudaMalloc_v3020"},         {21, "cudaMallocPitch_v3020"},
                     {22, "cudaFree_v3020"},           {25, "cudaMallocHost_v3020"},
                     {26, "cudaFreeHost_v3020"},       {27, "cudaHostAlloc_v3020"},
                     {206, "cudaMallocManaged_v6000"}, {373, "cudaMallocAsync_v11020"},
                     {375, "cudaFreeAsync_v11020"}};

/* Names of ids that the fake driver has no function for: every id of the real library has one. */
static const char *other_name(uint32_t domain, uint32_t cbid)
{
    static char names[2][FAKE_CBIDS][20];
    static pthread_mutex_t names_lock = PTHREAD_MUTEX_INITIALIZER;
    char *n = names[domain - 1][cbid];
    pthread_mutex_lock(&names_lock);
    if (!n[0])
        snprintf(n, sizeof names[0][0], "%sEntry%u", domain == 1 ? "cu" : "cuda", (unsigned)cbid);
    pthread_mutex_unlock(&names_lock);
    return n;
}

FAKE_EXPORT int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name);
int cuptiGetCallbackName(uint32_t domain, uint32_t cbid, const char **name)
{
    if (!name || domain < 1 || domain > 2 || !known(domain, cbid))
        return FC_INVALID_PARAMETER;
    *name = NULL;
    struct fake_hooks *h;
    if (domain == 1 && !fc_driver(&h))
        *name = h->callback_name(cbid);
    for (size_t i = 0; domain == 2 && i < sizeof runtime_names / sizeof runtime_names[0]; i++)
        if (runtime_names[i].cbid == cbid)
            *name = runtime_names[i].name;
    if (!*name)
        *name = other_name(domain, cbid);
    return FC_OK;
}

FAKE_EXPORT int cuptiGetResultString(int result, const char **str);
int cuptiGetResultString(int result, const char **str)
{
    static const struct {
        int code;
        const char *name;
    } names[] = {{0, "CUPTI_SUCCESS"},
                 {1, "CUPTI_ERROR_INVALID_PARAMETER"},
                 {15, "CUPTI_ERROR_NOT_INITIALIZED"},
                 {35, "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"},
                 {39, "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"},
                 {999, "CUPTI_ERROR_UNKNOWN"}};
    for (size_t i = 0; str && i < sizeof names / sizeof names[0]; i++)
        if (names[i].code == result) {
            *str = names[i].name;
            return FC_OK;
        }
    return FC_INVALID_PARAMETER;
}

FAKE_EXPORT int cuptiGetTimestamp(uint64_t *timestamp);
int cuptiGetTimestamp(uint64_t *timestamp)
{
    struct timespec t;
    if (!timestamp)
        return FC_INVALID_PARAMETER;
    clock_gettime(CLOCK_REALTIME, &t);
    *timestamp = (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
    return FC_OK;
}

FAKE_EXPORT int cuptiGetDeviceId(void *context, uint32_t *deviceId);
int cuptiGetDeviceId(void *context, uint32_t *deviceId)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    uint32_t d = h->context_device(context ? context : h->current());
    if (!deviceId || d == UINT32_MAX)
        return FC_INVALID_CONTEXT;
    *deviceId = d;
    return FC_OK;
}

FAKE_EXPORT int cuptiGetContextId(void *context, uint32_t *contextId);
int cuptiGetContextId(void *context, uint32_t *contextId)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    if (!context || !contextId)
        return FC_INVALID_CONTEXT;
    *contextId = h->context_uid(context);
    return FC_OK;
}

FAKE_EXPORT int cuptiGetStreamIdEx(void *context, void *stream, uint8_t perThreadStream,
                                   uint32_t *streamId);
int cuptiGetStreamIdEx(void *context, void *stream, uint8_t perThreadStream, uint32_t *streamId)
{
    (void)context;
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    if (!streamId)
        return FC_INVALID_PARAMETER;
    *streamId = !stream && perThreadStream ? 8 : h->stream_id(stream);
    return FC_OK;
}

FAKE_EXPORT int cuptiFinalize(void);
int cuptiFinalize(void)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    unsubscribe(h);
    pthread_mutex_unlock(&lock);
    fc_activity_reset();
    return FC_OK;
}
