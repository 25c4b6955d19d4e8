/* stacks.c -- native stacks, each written once. backtrace() walks by unwind tables: libtorch, NCCL,
 * cuBLAS and CPython are built without frame pointers, so a walk along those, ten times cheaper,
 * would end in the first of them. A stack is known by a hash of its return addresses; looking one
 * up takes no lock. */
#define _GNU_SOURCE
#include "capture/inject/attach.h"
#include "capture/inject/cupti.h"

#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_STACKS 32768u
#define SLOTS (2 * MAX_STACKS) /* power of two */
#define MAX_DEPTH 64
#define FOREIGN_FRAMES                                                                             \
    4 /* at most, of a tool in the process that puts itself before backtrace(), as sanitizers do   \
       */
#define OWN_FRAMES 24 /* at most, of this library, libcupti and libcuda on top of the caller's */

struct slot {
    _Atomic uint64_t key; /* 0 = free */
    _Atomic uint32_t id;
};

static struct slot slots[SLOTS];
static uint32_t n_stacks, last_id; /* in the table; given out */
static uint32_t unloads_at_clear;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic int ready;
/* the most seen: walking further than needed costs 0.13 us a frame */
static _Atomic int own_frames = 6;
static bool stale; /* slots are those of the parent */

static uint64_t hash_of(void *const *pcs, int n)
{
    uint64_t h = 0x9e3779b97f4a7c15u + mti_modules_unloads();
    for (int i = 0; i < n; i++) {
        h = (h ^ (uint64_t)(uintptr_t)pcs[i]) * 0xff51afd7ed558ccdu;
        h ^= h >> 32;
    }
    return h ? h : 1;
}

/* The slot of key, or the free one where it belongs. */
static struct slot *find(uint64_t key)
{
    for (uint32_t at = (uint32_t)(key >> 20) & (SLOTS - 1);; at = (at + 1) & (SLOTS - 1)) {
        uint64_t k = atomic_load_explicit(&slots[at].key, memory_order_acquire);
        if (k == key || !k)
            return &slots[at];
    }
}

static bool emit_stack(uint32_t id, void *const *pcs, int n)
{
    uint32_t module[MAX_DEPTH];
    uint64_t offset[MAX_DEPTH];
    struct mti_w w;
    for (int i = 0; i < n; i++)
        module[i] = mti_module_of((uintptr_t)pcs[i] - 1, &offset[i]);
    if (!mti_begin(&w, MT_WR_STACK, (2 + 2 * (size_t)n) * MT_VARINT_MAX))
        return false;
    mti_u(&w, id);
    mti_u(&w, (uint64_t)n);
    for (int i = 0; i < n; i++) {
        mti_u(&w, module[i]);
        mti_u(&w, offset[i]);
    }
    mti_end(&w);
    return true;
}

/* Full, and many of them from before a library was unloaded, where none is found any more. */
static void clear(void)
{
    for (size_t i = 0; i < SLOTS; i++) {
        atomic_store_explicit(&slots[i].key, 0, memory_order_release);
        atomic_store_explicit(&slots[i].id, 0, memory_order_relaxed);
    }
    n_stacks = 0;
    unloads_at_clear = mti_modules_unloads();
}

static uint32_t add_stack(void *const *pcs, int n)
{
    uint32_t id = 0;
    pthread_mutex_lock(&lock);
    mti_modules_refresh();
    if (n_stacks == MAX_STACKS && mti_modules_unloads() != unloads_at_clear)
        clear();
    uint64_t key = hash_of(pcs, n); /* again: an unload may have been noticed */
    struct slot *s = find(key);
    if (s->key) {
        id = s->id;
    } else if (n_stacks < MAX_STACKS && emit_stack(last_id + 1, pcs, n)) {
        n_stacks++;
        id = ++last_id;
        atomic_store_explicit(&s->id, id, memory_order_relaxed);
        atomic_store_explicit(&s->key, key, memory_order_release);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

uint32_t mti_stack(void)
{
    if (!atomic_load_explicit(&ready, memory_order_acquire) || !mti_on())
        return 0;
    void *pcs[OWN_FRAMES + MAX_DEPTH];
    int depth = mti_set.stack_depth < MAX_DEPTH ? (int)mti_set.stack_depth : MAX_DEPTH;
    int saved = errno;
    int own = atomic_load_explicit(&own_frames, memory_order_relaxed);
    int n = backtrace(pcs, own + depth), from = 0;
    while (from < n && from < FOREIGN_FRAMES && !mti_code_is_ours((uintptr_t)pcs[from]))
        from++;
    while (from < n && mti_code_is_ours((uintptr_t)pcs[from]))
        from++;
    if (from > own && from <= OWN_FRAMES)
        atomic_store_explicit(&own_frames, from, memory_order_relaxed);
    n = n - from < depth ? n - from : depth;
    uint32_t id = 0;
    if (n > 0) {
        uint64_t key = hash_of(pcs + from, n);
        struct slot *s = find(key);
        if (atomic_load_explicit(&s->key, memory_order_acquire) == key) {
            id = atomic_load_explicit(&s->id, memory_order_acquire);
            if (atomic_load_explicit(&s->key, memory_order_relaxed) != key)
                id = 0; /* cleared meanwhile */
        }
        if (!id)
            id = add_stack(pcs + from, n);
        if (!id)
            mti_loss(MT_LO_STACKS, 1, 0);
    }
    errno = saved;
    return id;
}

uint32_t mti_stack_named(const char *name)
{
    uint32_t id = 0;
    struct mti_w w;
    pthread_mutex_lock(&lock);
    uint32_t module = mti_module_named(name);
    if (module && mti_begin(&w, MT_WR_STACK, 4 * (size_t)MT_VARINT_MAX)) {
        id = ++last_id;
        mti_u(&w, id);
        mti_u(&w, 1);
        mti_u(&w, module);
        mti_u(&w, 0);
        mti_end(&w);
    }
    pthread_mutex_unlock(&lock);
    return id;
}

/* Unloading is noticed here even while no new stack comes, so that a library in the place of
 * another is not taken for it. */
static void look_for_unloads(void)
{
    pthread_mutex_lock(&lock);
    mti_modules_refresh();
    pthread_mutex_unlock(&lock);
}

void mti_stacks_start(void)
{
    if (!mti_set.stacks || !mti_set.stack_depth) {
        mti_status(MT_ST_STACKS, 0,
                   "native stacks are off: MEMTRACE_STACKS=0 or MEMTRACE_STACK_DEPTH=0");
        return;
    }
    void *pcs[4];
    if (backtrace(pcs, 4) <= 0) { /* the first call loads the unwinder */
        mti_status(MT_ST_STACKS, 1,
                   "native stacks are off: backtrace() gives nothing here (no libgcc_s.so.1?)");
        return;
    }
    if (stale)
        memset(slots, 0, sizeof slots);
    stale = false;
    look_for_unloads();
    mti_periodic(look_for_unloads);
    atomic_store_explicit(&ready, 1, memory_order_release);
}

void mti_stacks_forget(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;
    lock = fresh;              /* another thread of the parent may have held it */
    stale = stale || n_stacks; /* not cleared here: most children exec at once */
    n_stacks = last_id = 0;
    ready = 0;
    mti_modules_forget();
}
