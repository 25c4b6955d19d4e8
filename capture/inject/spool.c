/* spool.c -- records into the open chunk. The chunk lies in a file that is mapped shared: what is
 * committed there survives kill -9.
 *
 * One mutex: records of one process share delta state and one sequence, which is what makes them
 * small, and the critical section is a few dozen stores. The commit is the release store of `used`
 * in the chunk's header. */
#define _GNU_SOURCE 1
#include "capture/inject/core.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the header's numbers are stored whole");

#define NO_SLOT UINT32_MAX
/* Of each chunk: only for what must get through when all is full: what is urgent (a failed call
 * with its stack and the samples around it are below 4 KiB), and at the very end STATUS, LOSS and
 * END. */
#define RESERVE 32768u
#define LAST_RESERVE 4096u
#define SLACK 64u           /* callers may be wrong by this much about the room they need */
#define WAIT_NS 1000000000u /* how long calls may be held in all */
#define LEAST_NS                                                                                   \
    1000000u /* less is not worth waiting for, and would never end: some comes back while waiting  \
              */
#define LOOK_NS 25000000u /* then they look whether they should write themselves */
#define SMALL_CHUNK                                                                                \
    8192u /* below this a chunk stays open for eight flushes: a gzip member costs 100 bytes */

struct spool {
    pthread_mutex_t lock;
    /* Below: under the lock, except where it says otherwise. */
    struct mti_delta delta;
    unsigned char *chunk; /* the open one; NULL = none */
    uint32_t used, records, limit, open;
    uint64_t seq, opened_at;
    uint64_t slot_seq[MTI_SLOTS];
    bool slot_urgent[MTI_SLOTS];
    bool capped, disk_bad, late;
    unsigned waiters;
    uint64_t wait_from, wait_left, wait_refilled;
    _Atomic uint64_t dropped, dropped_bytes;
    _Atomic uint32_t freed; /* futex: counts slots that became free */
};
static struct spool S = {.lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP};

_Thread_local struct mti_thread mti_thread;
_Atomic bool mti_spool_stalled;

/* ---- the lock, which a fork handler and a signal handler may meet ---- */

static void lock(void)
{
    mti_thread.held++;
    mti_signal_fence();
    pthread_mutex_lock(&S.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&S.lock);
    mti_signal_fence();
    mti_thread.held--;
}

void mti_spool_lock(void) { pthread_mutex_lock(&S.lock); }
void mti_spool_unlock(void) { pthread_mutex_unlock(&S.lock); }

uint64_t mti_now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- chunks ---- */

static void store32(unsigned char *p, uint32_t v)
{
    __atomic_store_n((uint32_t *)(void *)p, v, __ATOMIC_RELEASE);
}

static void set_state(unsigned slot, uint32_t state)
{
    store32(mti_map.base + MT_SP_STATES + (size_t)slot * 4, state);
}
static uint32_t get_state(unsigned slot)
{
    return __atomic_load_n((uint32_t *)(void *)(mti_map.base + MT_SP_STATES + (size_t)slot * 4),
                           __ATOMIC_ACQUIRE);
}
static unsigned char *slot_at(unsigned slot)
{
    return mti_map.base + MT_SPOOL_PAGE + (size_t)slot * MTI_SLOT;
}

static void open_chunk(unsigned slot)
{
    unsigned char *p = slot_at(slot);
    struct timespec rt;
    clock_gettime(CLOCK_REALTIME, &rt);
    uint64_t mono = mti_now();
    memset(p, 0, MT_WIRE_HEADER);
    memcpy(p + MT_WH_MAGIC, MT_WIRE_MAGIC, 8);
    mt_put64(p + MT_WH_UID, mti_uid);
    mt_put64(p + MT_WH_SEQ, S.seq);
    mt_put64(p + MT_WH_REALTIME, (uint64_t)rt.tv_sec * 1000000000u + (uint64_t)rt.tv_nsec);
    mt_put64(p + MT_WH_MONOTONIC, mono);
    mt_put32(p + MT_WH_PID, (uint32_t)mti_pid);
    mt_put16(p + MT_WH_KIND, MT_WK_PROCESS);
    mt_put64(p + MT_WH_DROPPED, atomic_load_explicit(&S.dropped, memory_order_relaxed));
    S.slot_seq[slot] = S.seq++;
    S.slot_urgent[slot] = false;
    S.delta = (struct mti_delta){.time = mono, .tid = (uint64_t)mti_pid};
    S.chunk = p;
    S.open = slot;
    S.used = S.records = 0;
    S.opened_at = mono;
    set_state(slot, MT_SS_OPEN);
}

static void seal(void)
{
    if (!S.chunk)
        return;
    set_state(S.open, S.used ? MT_SS_FULL : MT_SS_FREE);
    if (!S.used)
        S.seq--; /* nothing was written: no gap */
    S.chunk = NULL;
    S.open = NO_SLOT;
}

static unsigned free_slot(void)
{
    for (unsigned i = 0; i < MTI_SLOTS; i++) /* the lowest: what was never used costs no memory */
        if (get_state(i) == MT_SS_FREE)
            return i;
    return NO_SLOT;
}

static unsigned in_use(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MTI_SLOTS; i++)
        n += get_state(i) != MT_SS_FREE;
    return n;
}

/* What is said of the recording itself. */
static bool is_last_word(unsigned type)
{
    return type == MT_WR_STATUS || type == MT_WR_LOSS || type == MT_WR_END;
}

static bool urgent(unsigned type) { return mti_thread.urgent || is_last_word(type); }

void mti_urgent(bool on) { mti_thread.urgent = on; }

static void drop(size_t bytes)
{
    uint64_t n = atomic_fetch_add_explicit(&S.dropped, 1, memory_order_relaxed) + 1;
    atomic_fetch_add_explicit(&S.dropped_bytes, bytes, memory_order_relaxed);
    __atomic_store_n((uint64_t *)(void *)(mti_map.base + MT_SP_DROPPED), n, __ATOMIC_RELAXED);
}

/* All slots are full. Returns whether to look again. Calls are held for a second in all; what was
 * used up comes back at one hundredth of the time that passes, so a disk that is slow for ever
 * costs the job one per cent and not more. */
static bool wait_for_slot(void)
{
    if (mti_thread.writer || S.late || mti_drain_yourself()) {
        pthread_mutex_unlock(&S.lock);
        enum mti_drained d = mti_drain_here(mti_thread.writer || S.late);
        pthread_mutex_lock(&S.lock);
        if (d != MTI_DRAINED_NONE || mti_thread.writer)
            return d == MTI_DRAINED_SOME;
    }
    if (S.disk_bad || S.late)
        return false;
    uint64_t now = mti_now();
    if (S.waiters == 0) {
        S.wait_left += (now - S.wait_refilled) / 100;
        if (S.wait_left > WAIT_NS)
            S.wait_left = WAIT_NS;
        S.wait_refilled = S.wait_from = now;
    }
    uint64_t end = S.wait_from + S.wait_left;
    if (now >= end || S.wait_left < LEAST_NS) {
        atomic_store_explicit(&mti_spool_stalled, true, memory_order_relaxed);
        return false;
    }
    uint32_t seen = atomic_load_explicit(&S.freed, memory_order_acquire);
    S.waiters++;
    pthread_mutex_unlock(&S.lock);
    mti_writer_wake();
    mti_futex_wait(&S.freed, seen, end - now < LOOK_NS ? end - now : LOOK_NS);
    pthread_mutex_lock(&S.lock);
    if (--S.waiters == 0) {
        uint64_t spent = mti_now() - S.wait_from;
        S.wait_left = spent < S.wait_left ? S.wait_left - spent : 0;
        S.wait_refilled = mti_now();
    }
    return true;
}

static bool make_room(unsigned type, size_t need)
{
    for (;;) {
        if (S.capped && !urgent(type))
            return false;
        uint32_t limit = MTI_SLOT - (is_last_word(type) ? 0
                                     : urgent(type)     ? LAST_RESERVE
                                                        : RESERVE);
        if (S.chunk && MT_WIRE_HEADER + S.used + need <= limit)
            return true;
        unsigned slot = free_slot();
        if (slot != NO_SLOT) {
            bool was_open = S.chunk != NULL;
            seal();
            S.capped = S.capped || mti_writer_cap(S.seq, in_use());
            if (S.capped && !urgent(type))
                return false;
            open_chunk(slot);
            if (was_open)
                mti_writer_wake();
        } else if (urgent(type) || !wait_for_slot()) {
            return false;
        }
    }
}

static bool room(unsigned type, size_t need)
{
    if (S.chunk && !S.capped && MT_WIRE_HEADER + S.used + need <= MTI_SLOT - RESERVE)
        return true;
    int e = errno;
    bool ok = make_room(type, need);
    errno = e;
    return ok;
}

/* ---- records ---- */

/* First record of this thread: says how it is called. */
static void introduce(void)
{
    char name[17] = "";
    struct mti_w w;
    int e = errno;
    mti_thread.named = mti_uid;
    mti_thread.tid = (uint32_t)syscall(SYS_gettid);
    prctl(PR_GET_NAME, name, 0, 0, 0);
    name[16] = 0;
    if (mti_begin(&w, MT_WR_THREAD, 32)) {
        mti_u(&w, mti_thread.tid);
        mti_str(&w, name, strlen(name));
        mti_end(&w);
    }
    errno = e;
}

uint32_t mti_tid(void)
{
    if (mti_thread.named != mti_uid)
        introduce();
    return mti_thread.tid;
}

bool mti_begin(struct mti_w *w, unsigned type, size_t want)
{
    if (!mti_map_ready())
        return false;
    /* a signal handler came while this thread was in here */
    if (mti_thread.held || want > MTI_MAX_RECORD) {
        drop(want);
        return false;
    }
    if (mti_thread.named != mti_uid && type != MT_WR_THREAD)
        introduce();
    lock();
    /* The length is written when it is known, and then may need two bytes more than the one left
     * for it. */
    if (!mti_map_ready() || !room(type, want + SLACK + MT_VARINT_MAX)) {
        if (mti_map_ready())
            drop(want);
        unlock();
        return false;
    }
    unsigned char *at = S.chunk + MT_WIRE_HEADER + S.used;
    w->start = w->p = at + 2;
    w->end = S.chunk + MTI_SLOT - 4;
    w->d = &S.delta;
    w->type = type;
    return true;
}

/* The record did not fit what its maker had asked for: none of it is kept. The deltas it changed
 * end with the chunk. */
static void discard(void)
{
    drop(0);
    if (S.used)
        seal();
    else
        S.delta = (struct mti_delta){.time = S.opened_at, .tid = (uint64_t)mti_pid};
}

void mti_end(struct mti_w *w)
{
    bool now = S.late;
    if (w->type == 0) {
        discard();
    } else {
        size_t n = (size_t)(w->p - w->start);
        unsigned char head[MT_VARINT_MAX], *at = w->start - 2;
        if (n < 128) {
            at[1] = (unsigned char)n;
            at += 2;
        } else {
            size_t k = (size_t)(mt_put_varint(head, n) - head);
            memmove(at + 1 + k, w->start, n);
            memcpy(at + 1, head, k);
            at += 1 + k;
        }
        S.chunk[MT_WIRE_HEADER + S.used] = (unsigned char)w->type; /* all types are below 128 */
        S.used = (uint32_t)(at + n - S.chunk) - MT_WIRE_HEADER;
        S.records++;
        store32(S.chunk + MT_WH_RECORDS, S.records);
        store32(S.chunk + MT_WH_USED, S.used);
        if (mti_thread.urgent)
            S.slot_urgent[S.open] = true;
    }
    if (now)
        seal();
    unlock();
    if (now) { /* the process is at its very end: nobody else will write this */
        int e = errno;
        mti_thread.held++;
        mti_drain(MTI_SLOTS, true);
        mti_thread.held--;
        errno = e;
    }
}

static void overflow(struct mti_w *w)
{
    w->type = 0;
    w->end = w->p;
}

void mti_u(struct mti_w *w, uint64_t v)
{
    if ((size_t)(w->end - w->p) < MT_VARINT_MAX)
        overflow(w);
    else
        w->p = mt_put_varint(w->p, v);
}

void mti_s(struct mti_w *w, int64_t v) { mti_u(w, mt_zigzag(v)); }

void mti_delta(struct mti_w *w, uint64_t *prev, uint64_t v)
{
    mti_u(w, mt_zigzag((int64_t)(v - *prev)));
    *prev = v;
}

void mti_bytes(struct mti_w *w, const void *s, size_t n)
{
    if ((size_t)(w->end - w->p) < n) {
        overflow(w);
    } else if (n) {
        memcpy(w->p, s, n);
        w->p += n;
    }
}

void mti_str(struct mti_w *w, const void *s, size_t n)
{
    mti_u(w, n);
    mti_bytes(w, s, n);
}

void mti_timed_tid(struct mti_w *w, uint64_t mono_ns, uint32_t tid)
{
    mti_delta(w, &w->d->time, mono_ns);
    mti_delta(w, &w->d->tid, tid);
}

void mti_timed(struct mti_w *w, uint64_t mono_ns) { mti_timed_tid(w, mono_ns, mti_thread.tid); }

/* ---- for the writer and for the ends of a process ---- */

bool mti_spool_oldest(struct mti_chunk *c)
{
    unsigned best = NO_SLOT;
    lock();
    if (mti_map_ready()) {
        for (unsigned i = 0; i < MTI_SLOTS; i++)
            if (get_state(i) == MT_SS_FULL && (best == NO_SLOT || S.slot_seq[i] < S.slot_seq[best]))
                best = i;
    }
    if (best != NO_SLOT) {
        const unsigned char *p = slot_at(best);
        *c = (struct mti_chunk){.p = p,
                                .bytes = MT_WIRE_HEADER + mt_get32(p + MT_WH_USED),
                                .records = mt_get32(p + MT_WH_RECORDS),
                                .seq = S.slot_seq[best],
                                .slot = best,
                                .urgent = S.slot_urgent[best]};
    }
    unlock();
    return best != NO_SLOT;
}

void mti_spool_free_slot(const struct mti_chunk *c)
{
    lock();
    if (mti_map_ready())
        set_state(c->slot, MT_SS_FREE);
    atomic_fetch_add_explicit(&S.freed, 1, memory_order_release);
    bool waiters = S.waiters != 0;
    unlock();
    if (waiters)
        mti_futex_wake(&S.freed);
}

void mti_spool_seal(bool force)
{
    lock();
    /* While nothing can be written the last chunk stays open: its reserve is where STATUS and LOSS
     * still find room. */
    if (mti_map_ready() && S.chunk && S.used && !(S.disk_bad && free_slot() == NO_SLOT) &&
        (force || S.used >= SMALL_CHUNK || !mti_map.on_disk ||
         mti_now() - S.opened_at >= mti_set.flush_ms * UINT64_C(8000000)))
        seal();
    unlock();
}

void mti_spool_disk(bool good)
{
    lock();
    S.disk_bad = !good;
    unlock();
    if (!good) { /* those who wait, wait for nothing */
        atomic_fetch_add_explicit(&S.freed, 1, memory_order_release);
        mti_futex_wake(&S.freed);
    }
}

void mti_spool_late(void)
{
    lock();
    S.late = true;
    unlock();
}

bool mti_spool_empty(void)
{
    bool empty = true;
    lock();
    for (unsigned i = 0; mti_map_ready() && i < MTI_SLOTS; i++)
        empty = empty && (get_state(i) == MT_SS_FREE || (S.chunk && S.open == i && S.used == 0));
    unlock();
    return empty;
}

uint64_t mti_spool_dropped(uint64_t *bytes)
{
    *bytes = atomic_load_explicit(&S.dropped_bytes, memory_order_relaxed);
    return atomic_load_explicit(&S.dropped, memory_order_relaxed);
}

void mti_drop(void)
{
    if (mti_map_ready())
        drop(0);
}

void mti_spool_reset(void)
{
    S = (struct spool){
        .lock = PTHREAD_ADAPTIVE_MUTEX_INITIALIZER_NP, .open = NO_SLOT, .wait_left = WAIT_NS};
    S.wait_refilled = mti_now();
    atomic_store_explicit(&mti_spool_stalled, false, memory_order_relaxed);
}
