/* emit.c -- typed records: strings, attributes, status, losses, driver calls. */
#define _GNU_SOURCE 1
#include "capture/inject/core.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define STRINGS 65536u
#define SLOTS (2u * STRINGS)
#define STRING_BYTES (8u << 20)
#define STRING_MAX 4096u
#define STATUSES 128u
#define STATUS_TIMES 16u

struct entry {
    uint64_t hash;
    uint32_t at, n;
};

/* One mapping, of which only what is used is ever touched. An entry is complete, and its STRING
 * record written, before its id appears in `slot`; so it can be found without the lock. */
struct strings {
    _Atomic uint32_t slot[SLOTS];
    struct entry entry[STRINGS];
    char bytes[STRING_BYTES];
};

static struct {
    pthread_mutex_t lock;
    struct strings *_Atomic table;
    uint32_t n, used;
    struct {
        uint64_t hash;
        uint32_t times;
    } status[STATUSES];
    struct {
        _Atomic uint64_t count, bytes;
        uint64_t told_count, told_bytes;
    } loss[MT_LO_CHUNKS + 1];
} E = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* A signal handler that comes while this thread is in here must not wait for it; nor one that comes
 * in the middle of a record, for whoever holds this lock may be waiting for that one. */
static bool lock(void)
{
    if (mti_thread.strings || mti_thread.held)
        return false;
    mti_thread.strings = 1;
    mti_signal_fence();
    pthread_mutex_lock(&E.lock);
    return true;
}

static void unlock(void)
{
    pthread_mutex_unlock(&E.lock);
    mti_signal_fence();
    mti_thread.strings = 0;
}

void mti_emit_lock(void) { pthread_mutex_lock(&E.lock); }
void mti_emit_unlock(void) { pthread_mutex_unlock(&E.lock); }

/* ---- strings ---- */

static uint64_t hash(const char *s, size_t n)
{
    uint64_t h = n * UINT64_C(0x9e3779b97f4a7c15), v;
    for (; n >= 8; s += 8, n -= 8) {
        memcpy(&v, s, 8);
        h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
        h ^= h >> 32;
    }
    v = 0;
    memcpy(&v, s, n);
    h = (h ^ v) * UINT64_C(0xc4ceb9fe1a85ec53);
    return h ^ h >> 29;
}

/* Id of a string that is known, or 0; *at: the slot where it belongs. */
static uint32_t find(struct strings *t, const char *s, size_t n, uint64_t h, uint32_t *at)
{
    uint32_t i = (uint32_t)h % SLOTS, id;
    for (; (id = atomic_load_explicit(&t->slot[i], memory_order_acquire)) != 0;
         i = (i + 1) % SLOTS) {
        const struct entry *e = &t->entry[id - 1];
        if (e->hash == h && e->n == n && memcmp(t->bytes + e->at, s, n) == 0)
            break;
    }
    *at = i;
    return id;
}

static struct strings *table(void)
{
    struct strings *t = atomic_load_explicit(&E.table, memory_order_acquire);
    if (!t) {
        void *p = mmap(NULL, sizeof *t, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        t = p == MAP_FAILED ? NULL : p;
        atomic_store_explicit(&E.table, t, memory_order_release);
    }
    return t;
}

static uint32_t add(const char *s, size_t n, uint64_t h)
{
    struct strings *t = table();
    struct mti_w w;
    uint32_t at, id = t ? find(t, s, n, h, &at) : 0;
    if (!t || id)
        return id;
    if (E.n >= STRINGS || E.used + n > STRING_BYTES) {
        mti_loss(MT_LO_STRINGS, 1, n);
        return 0;
    }
    if (!mti_begin(&w, MT_WR_STRING, n + MT_VARINT_MAX))
        return 0;
    id = E.n + 1;
    mti_u(&w, id);
    mti_bytes(&w, s, n);
    mti_end(&w);
    t->entry[E.n++] = (struct entry){.hash = h, .at = E.used, .n = (uint32_t)n};
    memcpy(t->bytes + E.used, s, n);
    E.used += (uint32_t)n;
    atomic_store_explicit(&t->slot[at], id, memory_order_release);
    return id;
}

uint32_t mti_string(const char *s, size_t n)
{
    uint32_t id = 0, at;
    if (!s || !mti_map_ready())
        return 0;
    if (n > STRING_MAX)
        n = STRING_MAX;
    uint64_t h = hash(s, n);
    struct strings *t = atomic_load_explicit(&E.table, memory_order_acquire);
    if (t)
        id = find(t, s, n, h, &at);
    if (id)
        return id;
    int e = errno;
    if (lock()) {
        id = add(s, n, h);
        unlock();
    } else {
        mti_drop();
    }
    errno = e;
    return id;
}

void mti_attr(const char *key, const char *value)
{
    struct mti_w w;
    size_t k = strnlen(key, STRING_MAX), v = strnlen(value, STRING_MAX);
    if (!mti_begin(&w, MT_WR_ATTR, k + v + 2 * (size_t)MT_VARINT_MAX))
        return;
    mti_str(&w, key, k);
    mti_str(&w, value, v);
    mti_end(&w);
}

/* ---- status ---- */

static bool may_say(uint64_t h)
{
    bool may = false;
    if (!lock())
        return false;
    for (uint32_t i = 0; i < STATUSES; i++) {
        if (E.status[i].times && E.status[i].hash != h)
            continue;
        E.status[i].hash = h;
        may = E.status[i].times < STATUS_TIMES;
        if (may)
            E.status[i].times++;
        break;
    }
    unlock();
    return may;
}

void mti_status(enum mt_wire_status code, int level, const char *fmt, ...)
{
    char text[1024];
    struct mti_w w;
    va_list ap;
    int e = errno;
    va_start(ap, fmt);
    int n = vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    size_t len = n < 0 ? 0 : (size_t)n < sizeof text ? (size_t)n : sizeof text - 1;
    if (mti_map_ready() && may_say(hash(text, len) ^ (uint64_t)code) &&
        mti_begin(&w, MT_WR_STATUS, len + 5 * (size_t)MT_VARINT_MAX)) {
        mti_timed(&w, mti_now());
        mti_u(&w, (uint64_t)code);
        mti_u(&w, (uint64_t)level);
        mti_str(&w, text, len);
        mti_end(&w);
    }
    errno = e;
}

/* ---- losses ---- */

void mti_loss(enum mt_wire_loss what, uint64_t count, uint64_t bytes)
{
    if ((unsigned)what == 0 || (unsigned)what > MT_LO_CHUNKS)
        return;
    atomic_fetch_add_explicit(&E.loss[what].bytes, bytes, memory_order_relaxed);
    atomic_fetch_add_explicit(&E.loss[what].count, count, memory_order_relaxed);
}

/* Totals that grew by a quarter since they were last told, so that a job which drops for days does
 * not fill its trace with that; all of them when `exact`. */
void mti_emit_losses(bool exact)
{
    struct mti_w w;
    if (!lock())
        return;
    for (unsigned i = 1; i <= MT_LO_CHUNKS; i++) {
        uint64_t count = atomic_load_explicit(&E.loss[i].count, memory_order_relaxed);
        uint64_t bytes = atomic_load_explicit(&E.loss[i].bytes, memory_order_relaxed), more = 0;
        if (i == MT_LO_RECORDS) {
            count += mti_spool_dropped(&more);
            bytes += more;
        }
        uint64_t told = E.loss[i].told_count;
        bool changed = count != told || bytes != E.loss[i].told_bytes,
             worth = exact || told == 0 || count - told > told / 4;
        if (!changed || !worth || !mti_begin(&w, MT_WR_LOSS, 5 * (size_t)MT_VARINT_MAX))
            continue;
        mti_timed(&w, mti_now());
        mti_u(&w, i);
        mti_u(&w, count);
        mti_u(&w, bytes);
        mti_end(&w);
        E.loss[i].told_count = count;
        E.loss[i].told_bytes = bytes;
    }
    unlock();
}

void mti_emit_end(enum mt_wire_end how, int status)
{
    struct mti_w w;
    if (!mti_begin(&w, MT_WR_END, 4 * (size_t)MT_VARINT_MAX))
        return;
    mti_timed(&w, mti_now());
    mti_u(&w, (uint64_t)how);
    mti_s(&w, status);
    mti_end(&w);
}

/* ---- driver calls ---- */

#define CALL_FIELDS (2u * MT_WF_CORR - 1u)

void mti_put_call(struct mti_w *w, const struct mti_call *c, uint32_t tid)
{
    uint32_t m = c->mask & CALL_FIELDS;
    if (c->result == 0)
        m &= ~(uint32_t)MT_WF_RESULT;
    mti_timed_tid(w, c->t1, tid);
    mti_u(w, c->op);
    mti_u(w, c->cbid);
    mti_u(w, c->t1 > c->t0 ? c->t1 - c->t0 : 0);
    mti_u(w, m);
    if (m & MT_WF_RESULT)
        mti_u(w, c->result);
    if (m & MT_WF_ADDR)
        mti_delta(w, &w->d->addr, c->addr);
    if (m & MT_WF_SIZE)
        mti_u(w, c->size);
    if (m & MT_WF_HANDLE)
        mti_delta(w, &w->d->handle, c->handle);
    if (m & MT_WF_OFFSET)
        mti_u(w, c->offset);
    if (m & MT_WF_STREAM)
        mti_u(w, c->stream);
    if (m & MT_WF_DEVICE)
        mti_u(w, c->device);
    if (m & MT_WF_CONTEXT)
        mti_delta(w, &w->d->context, c->context);
    if (m & MT_WF_POOL)
        mti_delta(w, &w->d->pool, c->pool);
    if (m & MT_WF_FLAGS)
        mti_u(w, c->flags);
    if (m & MT_WF_STACK)
        mti_u(w, c->stack);
    if (m & MT_WF_FREE)
        mti_u(w, c->free);
    if (m & MT_WF_TOTAL)
        mti_u(w, c->total);
    if (m & MT_WF_LOCATION)
        mti_u(w, c->location);
    if (m & MT_WF_CHANGE)
        mti_s(w, c->change);
    if (m & MT_WF_NAME)
        mti_u(w, c->name);
    if (m & MT_WF_CORR)
        mti_delta(w, &w->d->corr, c->corr);
}

void mti_emit_call(const struct mti_call *c)
{
    struct mti_w w;
    if (!mti_begin(&w, MT_WR_CALL, MTI_CALL_ROOM))
        return;
    mti_put_call(&w, c, mti_thread.tid);
    mti_end(&w);
}

/* In the child of a fork: allocates nothing. */
void mti_emit_forget(void)
{
    struct strings *t = atomic_load(&E.table);
    if (t && !mti_thread.strings) /* else a signal handler forked while this thread was reading it:
                                     left as it is */
        munmap(t, sizeof *t);
    atomic_store(&E.table, NULL);
    pthread_mutex_init(&E.lock, NULL);
    E.n = E.used = 0;
    memset(E.status, 0, sizeof E.status);
    for (unsigned i = 0; i <= MT_LO_CHUNKS; i++) {
        atomic_store(&E.loss[i].count, 0);
        atomic_store(&E.loss[i].bytes, 0);
        E.loss[i].told_count = E.loss[i].told_bytes = 0;
    }
}
