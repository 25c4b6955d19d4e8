/* fake_cuda_core.c -- initialisation, injection, devices, contexts, accounting.
 */
#include "fake_cuda.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct fake_machine fake_m;

static pthread_mutex_t init_lock = PTHREAD_MUTEX_INITIALIZER;
static int init_done, init_result;
static pthread_mutex_t context_lock = PTHREAD_MUTEX_INITIALIZER;
static struct fake_context primaries[FAKE_MAX_GPUS];
static uint32_t last_uid;

#define STACK 64
static __thread struct {
    struct fake_context *at[STACK];
    int n;
} current;

int fake_gate(void)
{
    if (atomic_load_explicit(&fake_m.forked, memory_order_relaxed) ||
        !atomic_load_explicit(&fake_m.initialised, memory_order_acquire))
        return FAKE_NOT_INITIALIZED;
    return atomic_load_explicit(&fake_m.torn, memory_order_relaxed) ? FAKE_DEINITIALIZED : FAKE_OK;
}

/* With FAKE_TEARDOWN: the real driver's handler comes after that of the library that it has just
 * loaded, so it runs before it. */
static void teardown(void) { atomic_store(&fake_m.torn, 1); }

static void in_child(void)
{
    if (init_done)
        atomic_store(&fake_m.forked, 1);
}

/* One entry of CUDA_VISIBLE_DEVICES: index of the device, or -1. */
static int visible_entry(const char *s, size_t n, unsigned gpus)
{
    char text[64], uuid[41];
    if (!n || n >= sizeof text)
        return -1;
    memcpy(text, s, n);
    text[n] = 0;
    if (!strncmp(text, "GPU-", 4)) {
        for (unsigned i = 0; i < gpus; i++) {
            fake_gpu_uuid_text(i, uuid);
            if (!strncmp(uuid, text, n))
                return (int)i;
        }
        return -1;
    }
    char *end;
    long v = strtol(text, &end, 10);
    return end == text || *end || v < 0 || v >= (long)gpus ? -1 : (int)v;
}

static void find_devices(void)
{
    unsigned gpus = (unsigned)fake_env_u64("FAKE_GPUS", 1);
    if (gpus > FAKE_MAX_GPUS)
        gpus = FAKE_MAX_GPUS;
    const char *v = getenv("CUDA_VISIBLE_DEVICES");
    if (!v) {
        for (; fake_m.n < gpus; fake_m.n++)
            fake_m.phys[fake_m.n] = fake_m.n;
        return;
    }
    while (*v && fake_m.n < FAKE_MAX_GPUS) {
        size_t n = strcspn(v, ",");
        int i = visible_entry(v, n, gpus);
        if (i < 0)
            return; /* an invalid entry hides those behind it */
        fake_m.phys[fake_m.n++] = (unsigned)i;
        v += n + (v[n] == ',');
    }
}

static void load_injection(void)
{
    const char *path = getenv("CUDA_INJECTION64_PATH");
    if (!path || !*path)
        return;
    void *h = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!h)
        return;
    int (*f)(void) = NULL;
    void *sym = dlsym(h, "InitializeInjection");
    memcpy(&f, &sym, sizeof f);
    if (f)
        f();
}

/* The default of Linux since 12.2; to be had since 11.7. */
static bool code_is_lazy(void)
{
    const char *loading = getenv("CUDA_MODULE_LOADING");
    uint64_t version = fake_env_u64("FAKE_DRIVER", (uint64_t)fake_driver_default);
    return loading && *loading ? !strcmp(loading, "LAZY") && version >= 11070 : version >= 12020;
}

static int init_once(void)
{
    fake_m.total = fake_env_u64("FAKE_TOTAL_MB", 81920) * FAKE_MB;
    fake_m.other = fake_env_u64("FAKE_OTHER_MB", 0) * FAKE_MB;
    fake_m.context = fake_env_u64("FAKE_CONTEXT_MB", 500) * FAKE_MB;
    fake_m.module = fake_env_u64("FAKE_MODULE_MB", 8) * FAKE_MB;
    fake_m.lazy = code_is_lazy();
    fake_m.graph = fake_env_u64("FAKE_GRAPH_KB", 1024) << 10;
    fake_m.round = fake_env_u64("FAKE_ROUND_KB", 0) << 10;
    fake_m.state = fake_state_open();
    if (fake_m.state)
        fake_m.slot = fake_state_claim(fake_m.state);
    if (!fake_m.slot) {
        struct fake_state *s = mmap(NULL, sizeof(struct fake_state), PROT_READ | PROT_WRITE,
                                    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (s == MAP_FAILED)
            return 999;
        fake_m.state = s;
        fake_m.slot = &s->slots[0];
        atomic_store(&s->slots[0].pid, (uint32_t)getpid());
        atomic_store(&s->n_slots, 1);
    }
    pthread_atfork(NULL, NULL, in_child);
    load_injection();
    if (fake_env_u64("FAKE_TEARDOWN", 0))
        atexit(teardown);
    int forced = (int)fake_env_u64("FAKE_CUINIT", 0);
    if (forced)
        return forced;
    find_devices();
    return fake_m.n ? FAKE_OK : FAKE_NO_DEVICE;
}

int fake_cuInit(unsigned Flags)
{
    if (Flags)
        return FAKE_INVALID_VALUE;
    if (atomic_load(&fake_m.forked))
        return FAKE_NOT_INITIALIZED;
    pthread_mutex_lock(&init_lock);
    if (!init_done) {
        init_done = 1;
        init_result = init_once();
        if (!init_result)
            atomic_store(&fake_m.initialised, 1);
    }
    int r = init_result;
    pthread_mutex_unlock(&init_lock);
    return r;
}

int fake_cuDriverGetVersion(int *driverVersion)
{
    if (!driverVersion)
        return FAKE_INVALID_VALUE;
    if (atomic_load_explicit(&fake_m.torn, memory_order_relaxed))
        return FAKE_DEINITIALIZED;
    *driverVersion = (int)fake_env_u64("FAKE_DRIVER", (uint64_t)fake_driver_default);
    return FAKE_OK;
}

int fake_cuGetProcAddress_v2(const char *symbol, void **pfn, int cudaVersion, uint64_t flags,
                             int *symbolStatus)
{
    if (!symbol || !pfn)
        return FAKE_INVALID_VALUE;
    *pfn = NULL;
    int status = fake_resolve(symbol, cudaVersion, flags, pfn);
    if (symbolStatus)
        *symbolStatus = status;
    return status ? FAKE_NOT_FOUND : FAKE_OK;
}

int fake_cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, uint64_t flags)
{
    return fake_cuGetProcAddress_v2(symbol, pfn, cudaVersion, flags, NULL);
}

static const struct {
    int code;
    const char *name, *text;
} errors[] = {{0, "CUDA_SUCCESS", "no error"},
              {1, "CUDA_ERROR_INVALID_VALUE", "invalid argument"},
              {2, "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
              {3, "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
              {100, "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
              {101, "CUDA_ERROR_INVALID_DEVICE", "invalid device ordinal"},
              {201, "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
              {400, "CUDA_ERROR_INVALID_HANDLE", "invalid resource handle"}};

static int error_words(int error, const char **out, int text)
{
    for (size_t i = 0; out && i < sizeof errors / sizeof errors[0]; i++)
        if (errors[i].code == error) {
            *out = text ? errors[i].text : errors[i].name;
            return FAKE_OK;
        }
    return FAKE_INVALID_VALUE;
}
int fake_cuGetErrorString(int error, const char **pStr) { return error_words(error, pStr, 1); }
int fake_cuGetErrorName(int error, const char **pStr) { return error_words(error, pStr, 0); }

/* ---- accounting ---- */

bool fake_ordinal_ok(int dev) { return dev >= 0 && (unsigned)dev < fake_m.n; }

static bool try_charge(unsigned phys, uint64_t bytes)
{
    atomic_fetch_add(&fake_m.slot->used[phys], bytes);
    if (fake_m.other + fake_state_used(fake_m.state, phys) <= fake_m.total)
        return true;
    atomic_fetch_sub(&fake_m.slot->used[phys], bytes);
    return false;
}

bool fake_charge(unsigned ordinal, uint64_t bytes)
{
    unsigned phys = fake_m.phys[ordinal];
    if (bytes > fake_m.total)
        return false;
    if (try_charge(phys, bytes))
        return true;
    fake_state_reap(fake_m.state);
    return try_charge(phys, bytes);
}

void fake_refund(unsigned ordinal, uint64_t bytes)
{
    if (bytes)
        atomic_fetch_sub(&fake_m.slot->used[fake_m.phys[ordinal]], bytes);
}

uint64_t fake_free_bytes(unsigned ordinal)
{
    fake_state_reap(fake_m.state);
    uint64_t used = fake_m.other + fake_state_used(fake_m.state, fake_m.phys[ordinal]);
    return used < fake_m.total ? fake_m.total - used : 0;
}

/* ---- devices ---- */

int fake_cuDeviceGet(int *device, int ordinal)
{
    if (!device)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(ordinal))
        return FAKE_INVALID_DEVICE;
    *device = ordinal;
    return FAKE_OK;
}

int fake_cuDeviceGetCount(int *count)
{
    if (!count)
        return FAKE_INVALID_VALUE;
    *count = (int)fake_m.n;
    return FAKE_OK;
}

int fake_cuDeviceGetName(char *name, int len, int dev)
{
    if (!name || len <= 0)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    snprintf(name, (size_t)len, "%s", FAKE_GPU_NAME);
    return FAKE_OK;
}

int fake_cuDeviceGetUuid(unsigned char *uuid, int dev)
{
    if (!uuid)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    fake_gpu_uuid(fake_m.phys[dev], uuid);
    return FAKE_OK;
}
int fake_cuDeviceGetUuid_v2(unsigned char *uuid, int dev)
{
    return fake_cuDeviceGetUuid(uuid, dev);
}

int fake_cuDeviceTotalMem_v2(size_t *bytes, int dev)
{
    if (!bytes)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    *bytes = fake_m.total;
    return FAKE_OK;
}

int fake_cuDeviceGetAttribute(int *pi, int attrib, int dev)
{
    if (!pi)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    switch (attrib) {
    case 33: *pi = (int)fake_gpu_bus(fake_m.phys[dev]); break; /* PCI bus */
    case 34:                                                   /* PCI device */
    case 50: *pi = 0; break;                                   /* PCI domain */
    case 75: *pi = 9; break;                                   /* compute capability */
    case 76: *pi = 0; break;
    case 102:                 /* virtual memory management */
    case 115: *pi = 1; break; /* memory pools */
    default: *pi = 0; break;
    }
    return FAKE_OK;
}

int fake_cuDeviceGetPCIBusId(char *pciBusId, int len, int dev)
{
    if (!pciBusId || len <= 0)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    snprintf(pciBusId, (size_t)len, "0000:%02X:00.0", fake_gpu_bus(fake_m.phys[dev]));
    return FAKE_OK;
}

/* ---- contexts ---- */

struct fake_context *fake_current(int *error)
{
    struct fake_context *c = current.n ? current.at[current.n - 1] : NULL;
    if (c && c->alive)
        return c;
    if (error)
        *error = c ? FAKE_CONTEXT_DESTROYED : FAKE_INVALID_CONTEXT;
    return NULL;
}

/* Under context_lock. */
static int context_open(struct fake_context *c, int dev, bool primary)
{
    if (!fake_charge((unsigned)dev, fake_m.context))
        return FAKE_OOM;
    *c = (struct fake_context){.uid = ++last_uid,
                               .ordinal = (uint32_t)dev,
                               .primary = primary,
                               .refs = 1,
                               .alive = true,
                               .charged = fake_m.context};
    return FAKE_OK;
}

static void context_close(struct fake_context *c)
{
    c->alive = false;
    c->refs = 0;
    fake_free_of_context(c->uid);
    fake_refund(c->ordinal, c->charged);
}

static int push(struct fake_context *c)
{
    if (current.n == STACK)
        return FAKE_INVALID_VALUE;
    current.at[current.n++] = c;
    return FAKE_OK;
}

int fake_cuCtxCreate_v2(void **pctx, unsigned flags, int dev)
{
    (void)flags;
    if (!pctx)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    /* kept for good: threads may still have it as their current one */
    struct fake_context *c = malloc(sizeof *c);
    if (!c)
        return FAKE_OOM;
    pthread_mutex_lock(&context_lock);
    int r = context_open(c, dev, false);
    pthread_mutex_unlock(&context_lock);
    if (!r)
        r = push(c);
    if (r) {
        free(c);
        return r;
    }
    *pctx = c;
    return FAKE_OK;
}
int fake_cuCtxCreate_v3(void **pctx, void *paramsArray, int numParams, unsigned flags, int dev)
{
    (void)paramsArray;
    (void)numParams;
    return fake_cuCtxCreate_v2(pctx, flags, dev);
}
int fake_cuCtxCreate_v4(void **pctx, void *ctxCreateParams, unsigned flags, int dev)
{
    (void)ctxCreateParams;
    return fake_cuCtxCreate_v2(pctx, flags, dev);
}

int fake_cuCtxDestroy_v2(void *ctx)
{
    struct fake_context *c = ctx;
    if (!c)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&context_lock);
    int r = !c->alive ? FAKE_CONTEXT_DESTROYED : c->primary ? FAKE_INVALID_CONTEXT : FAKE_OK;
    if (!r)
        context_close(c);
    pthread_mutex_unlock(&context_lock);
    if (!r && current.n && current.at[current.n - 1] == c)
        current.n--;
    return r;
}

int fake_cuCtxPushCurrent_v2(void *ctx) { return ctx ? push(ctx) : FAKE_INVALID_CONTEXT; }

int fake_cuCtxPopCurrent_v2(void **pctx)
{
    if (!current.n)
        return FAKE_INVALID_CONTEXT;
    struct fake_context *c = current.at[--current.n];
    if (pctx)
        *pctx = c;
    return FAKE_OK;
}

int fake_cuCtxSetCurrent(void *ctx)
{
    if (current.n)
        current.n--;
    return ctx ? push(ctx) : FAKE_OK;
}

int fake_cuCtxGetCurrent(void **pctx)
{
    if (!pctx)
        return FAKE_INVALID_VALUE;
    *pctx = current.n ? current.at[current.n - 1] : NULL;
    return FAKE_OK;
}

int fake_cuCtxGetDevice(int *device)
{
    int r = FAKE_INVALID_VALUE;
    struct fake_context *c = device ? fake_current(&r) : NULL;
    if (!c)
        return r;
    *device = (int)c->ordinal;
    return FAKE_OK;
}

int fake_cuCtxGetId(void *ctx, unsigned long long *ctxId)
{
    int r = FAKE_INVALID_VALUE;
    struct fake_context *c = ctx ? ctx : fake_current(&r);
    if (!c || !ctxId)
        return r;
    *ctxId = c->uid;
    return FAKE_OK;
}

/* Local memory for 65,536 threads, at once. */
int fake_cuCtxSetLimit(int limit, size_t value)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (limit != 0)
        return FAKE_OK;
    uint64_t bytes = (uint64_t)value << 16, more = bytes > c->local ? bytes - c->local : 0;
    if (!fake_charge(c->ordinal, more))
        return FAKE_OOM;
    fake_refund(c->ordinal, c->local + more - bytes);
    c->charged += bytes - c->local;
    c->local = bytes;
    return FAKE_OK;
}

int fake_cuCtxSynchronize(void)
{
    int r = FAKE_OK;
    if (!fake_current(&r))
        return r;
    fake_pools_trim();
    return FAKE_OK;
}

int fake_cuDevicePrimaryCtxRetain(void **pctx, int dev)
{
    if (!pctx)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&context_lock);
    struct fake_context *c = &primaries[dev];
    int r = FAKE_OK;
    if (c->refs && c->alive)
        c->refs++;
    else {
        unsigned refs = c->refs; /* after a reset */
        r = context_open(c, dev, true);
        if (!r)
            c->refs += refs;
    }
    if (!r)
        *pctx = c;
    pthread_mutex_unlock(&context_lock);
    return r;
}

int fake_cuDevicePrimaryCtxRelease_v2(int dev)
{
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&context_lock);
    struct fake_context *c = &primaries[dev];
    int r = c->refs ? FAKE_OK : FAKE_INVALID_CONTEXT;
    if (!r && !--c->refs && c->alive)
        context_close(c);
    pthread_mutex_unlock(&context_lock);
    return r;
}

int fake_cuDevicePrimaryCtxReset_v2(int dev)
{
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&context_lock);
    struct fake_context *c = &primaries[dev];
    if (c->alive) {
        unsigned refs = c->refs;
        context_close(c);
        c->refs = refs;
    }
    pthread_mutex_unlock(&context_lock);
    return FAKE_OK;
}

int fake_cuDevicePrimaryCtxGetState(int dev, unsigned *flags, int *active)
{
    if (!flags || !active)
        return FAKE_INVALID_VALUE;
    if (!fake_ordinal_ok(dev))
        return FAKE_INVALID_DEVICE;
    pthread_mutex_lock(&context_lock);
    *flags = 0;
    *active = primaries[dev].alive;
    pthread_mutex_unlock(&context_lock);
    return FAKE_OK;
}
