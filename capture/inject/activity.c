/* activity.c -- CUPTI's own memory records, MEMORY2 and MEMORY_POOL: a second opinion beside the
 * driver calls. Their size is learnt at run time, never taken from a header. Buffers are carved
 * from the spool, so that what was never flushed can be read post mortem. */
#include "capture/inject/cupti.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define HEAP_BUFFERS 32u
#define HEAP_BYTES (128u << 10)
#define QUIET_FLUSHES                                                                              \
    20u /* flushes without a record although calls were made, before somebody else is suspected */

static uint32_t stride_memory, stride_pool;
static _Atomic uint64_t clock_diff; /* CUPTI's clock - MONOTONIC */
static _Atomic bool expected, on;
static _Atomic uint32_t quiet;
static bool taken_said;

static struct {
    void *buffers[HEAP_BUFFERS];
    pthread_mutex_t lock;
} heap = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* For a CUPTI that crashes without a buffer. Several may be given the same: never read. */
static _Alignas(8) uint8_t waste[HEAP_BYTES];

/* ---- buffers ---- */

static void *heap_take(void)
{
    void *p = NULL;
    pthread_mutex_lock(&heap.lock);
    for (size_t i = 0; i < HEAP_BUFFERS && !p; i++)
        if (!heap.buffers[i])
            p = heap.buffers[i] = calloc(1, HEAP_BYTES);
    pthread_mutex_unlock(&heap.lock);
    return p;
}

static bool heap_has(const void *p, bool take_out)
{
    bool found = false;
    pthread_mutex_lock(&heap.lock);
    for (size_t i = 0; i < HEAP_BUFFERS && !found; i++) {
        if (heap.buffers[i] == p) {
            found = true;
            if (take_out)
                heap.buffers[i] = NULL;
        }
    }
    pthread_mutex_unlock(&heap.lock);
    return found;
}

static void on_request(uint8_t **buffer, size_t *size, size_t *max_records)
{
    int saved = errno;
    size_t n = 0;
    void *p = mti_act_take(&n);
    if (!p) {
        p = heap_take();
        n = p ? HEAP_BYTES : 0; /* without a buffer CUPTI drops records, and counts them */
        if (!p && mti_cupti.version < MTI_CUPTI_TAKES_NONE) {
            p = waste;
            n = sizeof waste;
        }
    }
    *buffer = p;
    *size = n;
    *max_records = 0;
    errno = saved;
}

/* ---- records ---- */

static uint64_t mono(uint64_t timestamp)
{
    uint64_t now = mti_now(),
             t = timestamp - atomic_load_explicit(&clock_diff, memory_order_relaxed);
    /* Not of this clock: a call that has just been made is the best guess. */
    return timestamp && t <= now + UINT64_C(1000000000) ? t : now;
}

static void emit_memory(const struct mti_cupti_memory *r, uint32_t stride)
{
    uint64_t mask = MT_WM_ADDR | MT_WM_SIZE;
    uint32_t name = r->name ? mti_string(r->name, strnlen(r->name, 512)) : 0;
    const char *source_text = stride >= MTI_CUPTI_MEMORY4_SIZE ? r->source : NULL;
    uint32_t source = source_text ? mti_string(source_text, strnlen(source_text, 4096)) : 0;
    uint64_t utilized = stride >= MTI_CUPTI_MEMORY3_SIZE ? r->pool_utilized : 0;
    struct mti_w w;
    mask |= r->device != MTI_CUPTI_NONE ? MT_WM_DEVICE : 0;
    mask |= r->context != MTI_CUPTI_NONE ? MT_WM_CONTEXT : 0;
    mask |= r->stream != MTI_CUPTI_NONE ? MT_WM_STREAM : 0;
    mask |= r->correlation ? MT_WM_CORR : 0;
    mask |= r->pool_type > 0 ? MT_WM_POOL | MT_WM_POOL_TYPE : 0;
    mask |= utilized && r->pool_type > 0 ? MT_WM_UTILIZED : 0;
    mask |= name ? MT_WM_NAME : 0;
    mask |= source ? MT_WM_SOURCE : 0;
    /* one address says less than the stack of the call */
    mask |= r->pc && !mti_set.stacks ? MT_WM_PC : 0;
    if (!mti_begin(&w, MT_WR_MEMORY2, 20 * MT_VARINT_MAX))
        return;
    mti_timed(&w, mono(r->timestamp));
    mti_u(&w, (uint32_t)r->operation);
    mti_u(&w, (uint32_t)r->memory_kind);
    mti_u(&w, mask);
    mti_delta(&w, &w.d->addr, r->address);
    mti_u(&w, r->bytes);
    if (mask & MT_WM_DEVICE)
        mti_u(&w, r->device);
    if (mask & MT_WM_CONTEXT)
        mti_u(&w, r->context);
    if (mask & MT_WM_STREAM)
        mti_u(&w, r->stream);
    if (mask & MT_WM_CORR)
        mti_delta(&w, &w.d->corr, r->correlation);
    if (mask & MT_WM_POOL)
        mti_delta(&w, &w.d->pool, r->pool_address);
    if (mask & MT_WM_POOL_TYPE)
        mti_u(&w, (uint32_t)r->pool_type);
    if (mask & MT_WM_UTILIZED)
        mti_u(&w, utilized);
    if (mask & MT_WM_NAME)
        mti_u(&w, name);
    if (mask & MT_WM_SOURCE)
        mti_u(&w, source);
    if (mask & MT_WM_PC)
        mti_u(&w, r->pc);
    mti_end(&w);
}

static void emit_pool(const struct mti_cupti_pool *r, uint32_t stride)
{
    struct mti_w w;
    if (!mti_begin(&w, MT_WR_MEMPOOL, 10 * MT_VARINT_MAX))
        return;
    mti_timed(&w, mono(r->timestamp));
    mti_u(&w, (uint32_t)r->operation);
    mti_u(&w, r->device);
    mti_delta(&w, &w.d->pool, r->address);
    mti_u(&w, r->size);
    mti_u(&w, r->threshold);
    mti_u(&w, stride >= MTI_CUPTI_POOL2_SIZE ? r->utilized : 0);
    mti_end(&w);
}

static void read_records(const uint8_t *p, size_t valid)
{
    while (valid >= sizeof(int32_t)) {
        int32_t kind;
        memcpy(&kind, p, sizeof kind);
        uint32_t stride = kind == MTI_CUPTI_MEMORY2       ? stride_memory
                          : kind == MTI_CUPTI_MEMORY_POOL ? stride_pool
                                                          : 0;
        if (!stride || stride > valid)
            return; /* the end, or a kind that was never asked for, of unknown size */
        if (kind == MTI_CUPTI_MEMORY2) {
            struct mti_cupti_memory r = {0};
            memcpy(&r, p, stride < sizeof r ? stride : sizeof r);
            emit_memory(&r, stride);
        } else {
            struct mti_cupti_pool r = {0};
            memcpy(&r, p, stride < sizeof r ? stride : sizeof r);
            emit_pool(&r, stride);
        }
        p += stride;
        valid -= stride;
    }
}

/* Comes on any thread, also inside a flush of our own: no mti_enter() here. */
static void on_complete(uint64_t context, uint32_t stream, uint8_t *buffer, size_t size,
                        size_t valid)
{
    if (buffer == waste) {
        mti_loss(MT_LO_ACTIVITY, stride_memory ? valid / stride_memory : 0, 0);
        return;
    }
    int saved = errno;
    bool in_spool = buffer && mti_act_is_ours(buffer);
    if (!buffer || (!in_spool && !heap_has(buffer, false)))
        return; /* somebody else's: its owner asked for it before we did */
    atomic_store_explicit(&expected, false, memory_order_relaxed);
    atomic_store_explicit(&quiet, 0, memory_order_relaxed);
    if (mti_on())
        read_records(buffer, valid < size ? valid : size);
    if (in_spool) {
        mti_act_give(buffer);
    } else if (heap_has(buffer, true)) {
        free(buffer);
    }
    size_t dropped = 0;
    if (mti_cupti.activity_dropped &&
        mti_cupti.activity_dropped(context, stream, &dropped) == MTI_CUPTI_SUCCESS && dropped)
        mti_loss(MT_LO_ACTIVITY, dropped, 0);
    errno = saved;
}

/* ---- start, flush ---- */

/* Walks two records of a buffer full of one number: the distance is what this libcupti takes a
 * record of that kind to be. */
static uint32_t stride_of(int kind)
{
    _Alignas(8) int32_t buffer[1024];
    void *r = NULL;
    for (size_t i = 0; i < sizeof buffer / sizeof buffer[0]; i++)
        buffer[i] = kind;
    if (!mti_cupti.activity_next ||
        mti_cupti.activity_next((uint8_t *)buffer, sizeof buffer, &r) != MTI_CUPTI_SUCCESS || !r)
        return 0;
    const uint8_t *first = r;
    if (mti_cupti.activity_next((uint8_t *)buffer, sizeof buffer, &r) != MTI_CUPTI_SUCCESS || !r ||
        (const uint8_t *)r <= first)
        return 0;
    size_t n = (size_t)((const uint8_t *)r - first);
    return n < sizeof buffer / 2 && n % 8 == 0 ? (uint32_t)n : 0;
}

static void set_clock(void)
{
    struct timespec ts;
    uint64_t stamp = 0;
    if (!mti_cupti.get_timestamp || mti_cupti.get_timestamp(&stamp) != MTI_CUPTI_SUCCESS ||
        !stamp) {
        clock_gettime(CLOCK_REALTIME, &ts);
        stamp = (uint64_t)ts.tv_sec * UINT64_C(1000000000) + (uint64_t)ts.tv_nsec;
    }
    atomic_store_explicit(&clock_diff, stamp - mti_now(), memory_order_relaxed);
}

/* Tells CUPTI not to take device memory in advance, and to fill one buffer instead of one per
 * thread. Old ones refuse: no matter. */
static void set_attributes(void)
{
    size_t none = 0, n = sizeof none;
    uint8_t no = 0;
    if (!mti_cupti.activity_attribute)
        return;
    mti_cupti.activity_attribute(MTI_CUPTI_ATTR_PREALLOCATE, &n, &none);
    n = sizeof no;
    mti_cupti.activity_attribute(MTI_CUPTI_ATTR_PER_THREAD_BUFFER, &n, &no);
}

static bool enable(int kind, const char *what)
{
    int e = mti_cupti.activity_enable(kind);
    if (e != MTI_CUPTI_SUCCESS)
        mti_status(MT_ST_MEMORY2_OFF, 1, "no %s records: cuptiActivityEnable: %s", what,
                   mti_cupti_error(e));
    return e == MTI_CUPTI_SUCCESS;
}

bool mti_activity_start(void)
{
    if (!mti_set.memory2)
        return false;
    if (!mti_cupti.activity_enable || !mti_cupti.activity_register || !mti_cupti.activity_flush) {
        mti_status(MT_ST_MEMORY2_OFF, 1, "no MEMORY2 records: %s lacks the activity functions",
                   mti_cupti.path);
        return false;
    }
    stride_memory = stride_of(MTI_CUPTI_MEMORY2);
    stride_pool = stride_of(MTI_CUPTI_MEMORY_POOL);
    if (stride_memory < MTI_CUPTI_MEMORY2_SIZE) {
        mti_status(MT_ST_MEMORY2_OFF, 1,
                   "no MEMORY2 records: this libcupti (%u) makes them %u bytes long, at least %zu "
                   "are expected",
                   mti_cupti.version, stride_memory, MTI_CUPTI_MEMORY2_SIZE);
        stride_memory = 0;
    }
    if (stride_pool < MTI_CUPTI_POOL_SIZE) {
        mti_status(MT_ST_MEMORY2_OFF, 1,
                   "no MEMORY_POOL records: this libcupti (%u) makes them %u bytes long, at least "
                   "%zu are expected",
                   mti_cupti.version, stride_pool, MTI_CUPTI_POOL_SIZE);
        stride_pool = 0;
    }
    if (!stride_memory && !stride_pool)
        return false;
    mti_spool_strides(stride_memory, stride_pool);
    set_clock();
    set_attributes();
    int e = mti_cupti.activity_register(on_request, on_complete);
    if (e != MTI_CUPTI_SUCCESS) {
        mti_status(MT_ST_MEMORY2_OFF, 1, "no MEMORY2 records: cuptiActivityRegisterCallbacks: %s",
                   mti_cupti_error(e));
        return false;
    }
    bool memory = stride_memory && enable(MTI_CUPTI_MEMORY2, "MEMORY2");
    bool pool = stride_pool && enable(MTI_CUPTI_MEMORY_POOL, "MEMORY_POOL");
    atomic_store(&on, memory || pool);
    taken_said = !memory; /* pools alone: silence means nothing */
    return memory || pool;
}

void mti_activity_expected(void)
{
    if (!atomic_load_explicit(&expected, memory_order_relaxed))
        atomic_store_explicit(&expected, true, memory_order_relaxed);
}

static void disable(void)
{
    if (mti_cupti.activity_disable) {
        mti_cupti.activity_disable(MTI_CUPTI_MEMORY2);
        mti_cupti.activity_disable(MTI_CUPTI_MEMORY_POOL);
    }
    atomic_store(&on, false);
}

void mti_activity_flush(bool end)
{
    if (!atomic_load(&on))
        return;
    set_clock();
    mti_cupti.activity_flush(end ? 1 : 0);
    if (end || !atomic_load_explicit(&expected, memory_order_relaxed))
        return;
    if (atomic_fetch_add_explicit(&quiet, 1, memory_order_relaxed) + 1 == QUIET_FLUSHES &&
        !taken_said) {
        taken_said = true;
        /* Who took the buffers did not ask for these kinds and says so for each record (Kineto:
         * "Unexpected activity type"): they end, and nobody's buffers are flushed. */
        disable();
        mti_status(MT_ST_ACTIVITY_TAKEN, 1,
                   "no MEMORY2 records any more, although memory calls are made: another tool "
                   "(torch.profiler?) has taken the activity buffers; driver calls are recorded as "
                   "before");
    }
}

void mti_activity_stop(void)
{
    if (!atomic_load(&on))
        return;
    mti_activity_flush(true);
    disable();
}

void mti_activity_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    heap.lock = fresh;
    on = false;
    expected = false;
    quiet = 0;
    taken_said = false;
}
