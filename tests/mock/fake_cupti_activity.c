/* fake_cupti_activity.c -- activity buffers of the fake libcupti: zeroed first, filled one record
 * after the other. */
#include "fake_cupti.h"

#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if FAKE_CUPTI_MAJOR == 11
#define STRIDE_MEMORY 120u
#define STRIDE_POOL 72u
#define STRIDE_KERNEL 200u
#else
#define STRIDE_MEMORY 128u
#define STRIDE_POOL (FAKE_CUPTI_MAJOR == 12 ? 72u : 80u)
#define STRIDE_KERNEL 216u
#endif

_Static_assert(sizeof(struct record_memory) == 128 &&
                   offsetof(struct record_memory, pool_type) == 80,
               "layout of Memory4");
_Static_assert(sizeof(struct record_pool) == 80 && offsetof(struct record_pool, timestamp) == 56,
               "layout of MemoryPool3");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* the buffer and the counters */
/* one thread at a time asks the client for a buffer */
static pthread_mutex_t request = PTHREAD_MUTEX_INITIALIZER;
static struct {
    fc_request request;
    fc_complete complete;
    uint8_t *buffer;
    size_t size, used, max, n;
    uint64_t dropped, drop_every, seen, taken_after, term_after;
    uint32_t enabled;
    size_t stride;
    bool keeps;
} a;

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* What a profiler that replaced the client's callbacks does: it has buffers of its own and knows
 * nothing of ours. */
static void other_request(uint8_t **buffer, size_t *size, size_t *max)
{
    *size = 1 << 20;
    *buffer = malloc(*size);
    *max = 0;
}
static void other_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                           size_t valid)
{
    (void)context;
    (void)stream;
    (void)buffer;
    (void)size;
    (void)valid; /* not freed: it may be one that it does not know */
}

/* Under lock: takes the current buffer out, to be completed without the lock.
 */
struct done {
    fc_complete f;
    uint8_t *buffer;
    size_t size, used;
};
static struct done detach(void)
{
    struct done d = {a.complete, a.buffer, a.size, a.used};
    a.buffer = NULL;
    return d;
}
static void complete(const struct done *d)
{
    if (d->buffer && d->f)
        d->f(NULL, 0, d->buffer, d->size, d->used);
}

/* True with the lock held and room for n bytes. */
static bool room(size_t n)
{
    for (int attempt = 0; attempt < 2; attempt++) {
        pthread_mutex_lock(&lock);
        if (a.keeps && a.used) /* as if a kernel that never ends had the buffer */
            a.buffer = NULL;
        if (a.buffer && a.size - a.used >= n && !(a.max && a.n >= a.max))
            return true;
        struct done d = detach();
        pthread_mutex_unlock(&lock);
        complete(&d);
        pthread_mutex_lock(&request);
        pthread_mutex_lock(&lock);
        bool need = !a.buffer && a.request;
        fc_request f = a.request;
        pthread_mutex_unlock(&lock);
        uint8_t *b = NULL;
        size_t size = 0, max = 0;
        if (need) {
            f(&b, &size, &max);
            if (!b && FAKE_CUPTI_MAJOR < 13)
                abort(); /* as CUPTI before 12.9 */
            if (b)
                memset(
                    b, 0,
                    size); /* ATTR_ZEROED_OUT_ACTIVITY_BUFFER is 0: the library clears it itself */
        }
        pthread_mutex_lock(&lock);
        if (b && !a.buffer) {
            a.buffer = b;
            a.size = size;
            a.max = max;
            a.used = a.n = 0;
        }
        pthread_mutex_unlock(&lock);
        pthread_mutex_unlock(&request);
    }
    pthread_mutex_lock(&lock);
    return a.buffer && a.size - a.used >= n;
}

static void append(const void *record, size_t n)
{
    bool fits = room(n);
    a.seen++;
    if (!fits || (a.drop_every && a.seen % a.drop_every == 0))
        a.dropped++;
    else {
        memcpy(a.buffer + a.used, record, n);
        a.used += n;
        a.n++;
    }
    if (a.taken_after && a.seen == a.taken_after) {
        a.request = other_request;
        a.complete = other_complete;
    }
    if (a.term_after && a.seen == a.term_after)
        raise(SIGTERM);
    pthread_mutex_unlock(&lock);
}

void fc_memory(const struct fake_memory *m)
{
    unsigned char out[512] = {0};
    struct record_memory r = {.kind = 49,
                              .op = m->op,
                              .memory_kind = m->kind,
                              .correlation = m->correlation,
                              .address = m->address,
                              .bytes = m->bytes,
                              .timestamp = now(),
                              .pc = m->pc,
                              .pid = (uint32_t)getpid(),
                              .device = m->device,
                              .context = m->context,
                              .stream = m->stream,
                              .is_async = m->is_async,
                              .pool_type = m->pool_type,
                              .pool = m->pool,
                              .threshold = m->threshold,
                              .pool_size = m->pool_size,
                              .utilized = m->utilized};
    memcpy(out, &r, sizeof r);
    append(out, a.stride ? a.stride : STRIDE_MEMORY);
}

void fc_mempool(const struct fake_mempool *m)
{
    struct record_pool r = {.kind = 50,
                            .op = m->op,
                            .type = 1,
                            .correlation = m->correlation,
                            .pid = (uint32_t)getpid(),
                            .device = m->device,
                            .keep = m->keep,
                            .address = m->pool,
                            .size = m->size,
                            .threshold = m->threshold,
                            .timestamp = now(),
                            .utilized = m->utilized};
    append(&r, STRIDE_POOL);
}

void fc_activity_reset(void)
{
    struct fake_hooks *h;
    if (fc_driver(&h))
        return;
    atomic_store(&h->activity, 0);
    pthread_mutex_lock(&lock);
    struct done d = detach();
    a.enabled = 0;
    a.request = NULL;
    a.complete = NULL;
    pthread_mutex_unlock(&lock);
    complete(&d);
}

static void settings(void)
{
    a.drop_every = fc_mode("drop", 0, NULL);
    a.taken_after = fc_mode("taken", 0, NULL);
    a.term_after = fc_mode("term", 0, NULL);
    fc_mode("keeps", 0, &a.keeps);
    a.stride = fc_mode("stride", 0, NULL);
    if (a.stride < 8 || a.stride > 512)
        a.stride = 0;
}

static int enable(uint32_t kind, bool on)
{
    fc_slow();
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    bool is;
    uint64_t forced = fc_mode("activity", 0, &is);
    if (is && on)
        return (int)forced;
    if (kind == 0 || kind > 70)
        return FC_INVALID_KIND;
    uint32_t bit = kind == 49 ? 1 : kind == 50 ? 2 : 0;
    pthread_mutex_lock(&lock);
    settings();
    h->memory = fc_memory;
    h->mempool = fc_mempool;
    a.enabled = on ? a.enabled | bit : a.enabled & ~bit;
    atomic_store(&h->activity, a.enabled);
    pthread_mutex_unlock(&lock);
    return FC_OK;
}

FAKE_EXPORT int cuptiActivityEnable(uint32_t kind);
int cuptiActivityEnable(uint32_t kind) { return enable(kind, true); }
FAKE_EXPORT int cuptiActivityDisable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind) { return enable(kind, false); }

FAKE_EXPORT int cuptiActivityRegisterCallbacks(fc_request requested, fc_complete completed);
int cuptiActivityRegisterCallbacks(fc_request requested, fc_complete completed)
{
    if (!requested || !completed)
        return FC_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    a.request = requested;
    a.complete = completed;
    pthread_mutex_unlock(&lock);
    return FC_OK;
}

FAKE_EXPORT int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityFlushAll(uint32_t flag)
{
    (void)flag;
    fc_slow();
    if (fc_dead())
        raise(SIGSEGV); /* as the real library does when it is flushed after its exit handlers */
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    struct done d = {NULL, NULL, 0, 0};
    if (a.used)
        d = detach();
    pthread_mutex_unlock(&lock);
    complete(&d);
    return FC_OK;
}

FAKE_EXPORT int cuptiActivityFlushPeriod(uint32_t time);
int cuptiActivityFlushPeriod(uint32_t time)
{
    (void)time;
    struct fake_hooks *h;
    return fc_driver(&h);
}

static size_t stride_of(uint32_t kind)
{
    switch (kind) {
    case 49: {
        uint64_t n = fc_mode("stride", STRIDE_MEMORY, NULL);
        return n < 8 || n > 512 ? STRIDE_MEMORY : n;
    }
    case 50: return STRIDE_POOL;
    case 12: return 56;
    case 4:
    case 5: return 40;
    case 10: return STRIDE_KERNEL;
    default: return 0;
    }
}

FAKE_EXPORT int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record)
{
    if (!buffer || !record)
        return FC_INVALID_PARAMETER;
    uint8_t *next = buffer;
    uint32_t kind;
    if (*record) {
        memcpy(&kind, *record, sizeof kind);
        if (!stride_of(kind))
            return FC_INVALID_KIND;
        next = *record + stride_of(kind);
    }
    if ((size_t)(next - buffer) + sizeof kind > valid)
        return FC_MAX_LIMIT;
    memcpy(&kind, next, sizeof kind);
    if (!stride_of(kind))
        return FC_INVALID_KIND;
    if ((size_t)(next - buffer) + stride_of(kind) > valid)
        return FC_MAX_LIMIT;
    *record = next;
    return FC_OK;
}

FAKE_EXPORT int cuptiActivityGetNumDroppedRecords(void *context, uint32_t streamId,
                                                  size_t *dropped);
int cuptiActivityGetNumDroppedRecords(void *context, uint32_t streamId, size_t *dropped)
{
    (void)context;
    (void)streamId;
    if (!dropped)
        return FC_INVALID_PARAMETER;
    pthread_mutex_lock(&lock);
    *dropped = a.dropped;
    a.dropped = 0;
    pthread_mutex_unlock(&lock);
    return FC_OK;
}

static size_t attributes[32];

FAKE_EXPORT int cuptiActivitySetAttribute(uint32_t attr, size_t *valueSize, void *value);
int cuptiActivitySetAttribute(uint32_t attr, size_t *valueSize, void *value)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    if (attr >= 32 || !valueSize || !value || !*valueSize || *valueSize > sizeof(size_t))
        return FC_INVALID_PARAMETER;
    memcpy(&attributes[attr], value, *valueSize);
    return FC_OK;
}

FAKE_EXPORT int cuptiActivityGetAttribute(uint32_t attr, size_t *valueSize, void *value);
int cuptiActivityGetAttribute(uint32_t attr, size_t *valueSize, void *value)
{
    struct fake_hooks *h;
    int r = fc_driver(&h);
    if (r)
        return r;
    if (attr >= 32 || !valueSize || !value || !*valueSize || *valueSize > sizeof(size_t))
        return FC_INVALID_PARAMETER;
    memcpy(value, &attributes[attr], *valueSize);
    return FC_OK;
}
