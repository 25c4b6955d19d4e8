/* writer.c -- the thread that turns finished chunks into members of the .gz, and the periodic work
 * of the others.
 *
 * The .gz is opened for each round of writing and closed again: a job that closes all its
 * descriptors, and gets the same number for a file of its own, never finds our bytes in it. */
#define _GNU_SOURCE 1
#include "capture/inject/attach.h"
#include "capture/inject/kept.h"
#include "capture/inject/ring.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CAP_ROOM (128u << 10) /* below the cap, for what is urgent */
#define PERIODIC_MAX 8u
#define SAMPLE_GAP_NS 20000000u
#define AWAY_NS                                                                                    \
    20000000u /* a driver that is asked for a sample may not answer for long: others then write */

enum request { ASK_SAMPLE = 1, ASK_FLUSH = 2, ASK_LAST = 4 };
enum errand { ERRAND_NONE, ERRAND_FILLED, ERRAND_ASKED, ERRAND_TAKEN, ERRAND_DONE };

static struct {
    pthread_mutex_t drain; /* the packer, the file */
    struct mti_packer packer;
    struct packed { /* the member that lies in the packer and is in no file yet; 0 = none */
        uint64_t seq;
        uint32_t bytes;
        size_t n;
    } packed;
    /* the first chunk after the cap: may use the room that is kept for it; 0 = not reached */
    _Atomic uint64_t cap_seq;
    _Atomic uint64_t gz_bytes;     /* size of the .gz */
    _Atomic uint32_t large_member; /* size of the largest of the last ones */
    _Atomic bool thread;           /* there is a writer */
    _Atomic uint64_t away;         /* since when it is in periodic work; 0 = it is not */
    _Atomic uint32_t wake;         /* futex */
    _Atomic uint32_t asked;        /* enum request */
    _Atomic uint32_t flushed;      /* futex: counts finished flushes */
    mti_errand_fn *_Atomic errand; /* mti_writer_run() */
    _Atomic uint64_t argument, result;
    _Atomic uint32_t errand_is; /* futex: enum errand */
    _Atomic bool no_periodic;
    _Atomic unsigned n_periodic;
    void (*_Atomic periodic[PERIODIC_MAX])(void);
    _Atomic int error; /* errno of the first write that failed, not yet told */
    _Atomic bool told_error, told_cap, told_stall;
} W = {.drain = PTHREAD_MUTEX_INITIALIZER};

/* ---- one member ---- */

/* All of it or, as far as the disk lets us, nothing of it. */
static bool append(int fd, const unsigned char *p, size_t n)
{
    struct stat st;
    size_t done = 0;
    if (fstat(fd, &st) != 0)
        return false;
    while (done < n) {
        ssize_t k = write(fd, p + done, n - done);
        if (k > 0) {
            done += (size_t)k;
        } else if (k == 0 || errno != EINTR) {
            int e = k == 0 ? ENOSPC : errno;
            if (done && ftruncate(fd, st.st_size) != 0)
                e = errno; /* half a member stays; readers find the next by its header */
            errno = e;
            return false;
        }
    }
    W.gz_bytes = (uint64_t)st.st_size + n;
    uint32_t fading = W.large_member - (W.large_member >> 3);
    W.large_member = n > fading ? (uint32_t)n : fading;
    return true;
}

static void failed(void)
{
    int none = 0;
    atomic_compare_exchange_strong(&W.error, &none, errno ? errno : EIO);
    mti_spool_disk(false);
}

/* Asked before a chunk is opened, when `waiting` others are not written yet: whether all of them
 * would reach the cap. Then this is the first chunk for those records only that say so. */
bool mti_writer_cap(uint64_t seq, unsigned waiting)
{
    uint64_t each = atomic_load(&W.large_member);
    if (mti_set.max_bytes == 0 && !mti_ring_on())
        return false;
    if (atomic_load(&W.cap_seq))
        return true;
    if (each == 0)
        each = MTI_SLOT / 4; /* nothing was written yet */
    each = each * (waiting + 1) + 2 * CAP_ROOM;
    if (mti_ring_on() ? !mti_ring_full(each) : atomic_load(&W.gz_bytes) + each < mti_set.max_bytes)
        return false;
    atomic_store(&W.cap_seq, seq);
    return true;
}

/* Whether this chunk is over the cap: the forecast was wrong, what was being recorded all of a
 * sudden compresses badly. */
static bool is_over(const struct mti_chunk *c, size_t n)
{
    uint64_t first = atomic_load(&W.cap_seq),
             cap = mti_set.max_bytes - (first && c->seq >= first ? 0 : CAP_ROOM);
    return mti_set.max_bytes && W.gz_bytes + n > cap;
}

/* The file that is open for members. */
struct target {
    int fd; /* -1 = none */
    uint64_t number;
};

static bool open_target(struct target *t, size_t n)
{
    uint64_t number = 0;
    const char *path = mti_ring_on() ? mti_ring_file(n, &number) : mti_spool_gz();
    if (!path)
        return false;
    if (t->fd >= 0 && t->number != number) {
        close(t->fd);
        t->fd = -1;
    }
    t->number = number;
    if (t->fd < 0)
        t->fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    return t->fd >= 0;
}

/* A chunk that waits for room in its file, in a ring that cannot let go as fast or on a full disk,
 * is packed once, not at each try: that took half of the thread's time. */
static size_t pack(const struct mti_chunk *c)
{
    if (!W.packed.n || W.packed.seq != c->seq || W.packed.bytes != c->bytes)
        W.packed = (struct packed){c->seq, c->bytes, mti_member(&W.packer, c->p, c->bytes)};
    return W.packed.n;
}

/* One chunk into its file. */
static enum mti_drained drain_one(struct target *t, const struct mti_chunk *c)
{
    size_t n = pack(c);
    uint64_t number;
    if (n && mti_ring_on() && !mti_ring_file(n, &number))
        return MTI_DRAINED_NONE;
    if (n && !mti_ring_on() && is_over(c, n)) {
        mti_loss(MT_LO_RECORDS, c->records, c->bytes);
        mti_loss(MT_LO_CHUNKS, 1, c->bytes);
        return MTI_DRAINED_SOME;
    }
    if (n == 0 || !open_target(t, n) || !append(t->fd, W.packer.out, n)) {
        failed();
        return MTI_DRAINED_FAILED;
    }
    if (mti_ring_on())
        mti_ring_added(n, c->urgent);
    return MTI_DRAINED_SOME;
}

enum mti_drained mti_drain(unsigned most, bool wait)
{
    struct mti_quiet q;
    struct mti_chunk c;
    struct target t = {.fd = -1};
    enum mti_drained result = MTI_DRAINED_NONE;
    mti_quiet_begin(&q);
    if (wait)
        pthread_mutex_lock(&W.drain);
    else if (pthread_mutex_trylock(&W.drain) != 0) {
        mti_quiet_end(&q);
        return MTI_DRAINED_NONE;
    }
    for (; most && mti_spool_oldest(&c); most--) {
        enum mti_drained one = drain_one(&t, &c);
        if (one != MTI_DRAINED_SOME) {
            result = one == MTI_DRAINED_FAILED ? one : result;
            break;
        }
        mti_spool_free_slot(&c);
        if (result == MTI_DRAINED_NONE)
            mti_spool_disk(true);
        result = MTI_DRAINED_SOME;
    }
    if (t.fd >= 0)
        close(t.fd);
    pthread_mutex_unlock(&W.drain);
    mti_quiet_end(&q);
    return result;
}

enum mti_drained mti_drain_here(bool wait)
{
    struct mti_quiet q;
    if (!atomic_load(&W.thread)) { /* nobody else lets go */
        mti_quiet_begin(&q);
        (void)mti_ring_work();
        mti_quiet_end(&q);
    }
    return mti_drain(1, wait);
}

void mti_drain_lock(void) { pthread_mutex_lock(&W.drain); }
void mti_drain_unlock(void) { pthread_mutex_unlock(&W.drain); }

static bool is_away(void)
{
    uint64_t since = atomic_load(&W.away);
    return since && mti_now() > since + AWAY_NS;
}

bool mti_drain_yourself(void) { return !atomic_load(&W.thread) || is_away(); }

/* ---- what is said once ---- */

static void tell(void)
{
    int e = atomic_load(&W.error);
    if (e && !atomic_exchange(&W.told_error, true))
        mti_status(MT_ST_DISK_FULL, 1,
                   "the trace could not be written: %s; it stays in the spool file, and records "
                   "are dropped when that is full",
                   mti_why(e));
    if (atomic_load(&W.cap_seq) && !mti_ring_on() && !atomic_exchange(&W.told_cap, true))
        mti_status(MT_ST_SIZE_CAP, 1,
                   "MEMTRACE_MAX_MB=%llu was reached: records are dropped from here on",
                   (unsigned long long)(mti_set.max_bytes >> 20));
    mti_ring_tell();
    if (atomic_load(&mti_spool_stalled) && !atomic_exchange(&W.told_stall, true))
        mti_status(
            MT_ST_STALLED, 1,
            "calls were held for a second because the spool was full: records are dropped instead");
}

/* ---- the thread ---- */

static void periodic(void)
{
    if (atomic_load(&W.no_periodic))
        return;
    unsigned n = atomic_load(&W.n_periodic);
    atomic_store(&W.away, mti_now());
    for (unsigned i = 0; i < n && i < PERIODIC_MAX && !atomic_load(&W.no_periodic); i++) {
        void (*f)(void) = atomic_load(&W.periodic[i]);
        if (f)
            f();
    }
    atomic_store(&W.away, 0);
}

static void run_errand(void)
{
    uint32_t is = ERRAND_ASKED;
    if (!atomic_compare_exchange_strong(&W.errand_is, &is, ERRAND_TAKEN))
        return;
    mti_errand_fn *f = atomic_load(&W.errand);
    atomic_store(&W.away, mti_now());
    atomic_store(&W.result, f(atomic_load(&W.argument)));
    atomic_store(&W.away, 0);
    atomic_store(&W.errand_is, ERRAND_DONE);
    mti_futex_wake(&W.errand_is);
}

static uint64_t period(void)
{
    uint32_t ms = mti_set.flush_ms;
    if (mti_set.sample_ms && mti_set.sample_ms < ms)
        ms = mti_set.sample_ms;
    return (uint64_t)ms * 1000000u;
}

/* The recording ends and the process goes on: what is in the spool goes into the files, nothing is
 * recorded from then on, and the lock on the spool goes, by which others know that it goes on. */
static void leave(void)
{
    mti_cupti_stop();
    atomic_store(&W.no_periodic, true);
    mti_samples_stop();
    tell();
    mti_emit_losses(true);
    mti_emit_end(MT_WE_RUNNING, 0);
    atomic_store(&mti_state, MTI_DETACHED);
    mti_spool_seal(true);
    (void)mti_drain(MTI_SLOTS, true);
    mti_spool_unlink();
    atomic_store(&W.thread, false);
    mti_spool_close();
}

static void *run(void *unused)
{
    uint64_t next = mti_now() + period(), sampled = 0;
    (void)unused;
    prctl(PR_SET_NAME, "memtrace", 0, 0, 0);
    mti_thread.writer = mti_thread.inside = 1;
    (void)mti_tid();
    for (;;) {
        uint32_t seen = atomic_load(&W.wake), asked = atomic_exchange(&W.asked, 0);
        uint64_t now = mti_now();
        if (asked & ASK_LAST)
            atomic_store(&W.no_periodic, true);
        /* a storm of failures is one sample */
        if ((asked & ASK_SAMPLE) && now - sampled < SAMPLE_GAP_NS) {
            atomic_fetch_or(&W.asked, ASK_SAMPLE);
            asked &= ~(uint32_t)ASK_SAMPLE;
            if (next > sampled + SAMPLE_GAP_NS)
                next = sampled + SAMPLE_GAP_NS;
        }
        bool tick = now >= next;
        run_errand();
        mti_drain(MTI_SLOTS, true);
        bool more = mti_ring_work();
        if (tick || (asked & ASK_SAMPLE)) {
            periodic();
            sampled = now;
            mti_spool_check_file();
        }
        if (mti_detach_due()) {
            leave();
            return NULL;
        }
        if (tick || (asked & ASK_FLUSH)) {
            tell();
            mti_emit_losses((asked & ASK_FLUSH) != 0);
            mti_spool_seal((asked & ASK_FLUSH) != 0);
            mti_drain(MTI_SLOTS, true);
            next = mti_now() + period();
        }
        if (asked & ASK_FLUSH) {
            atomic_fetch_add(&W.flushed, 1);
            mti_futex_wake(&W.flushed);
        }
        now = mti_now();
        if (!more && now < next)
            mti_futex_wait(&W.wake, seen, next - now);
    }
    return NULL;
}

bool mti_writer_start(void)
{
    pthread_attr_t a;
    pthread_t t;
    sigset_t all, old;
    bool ok = false;
    if (pthread_attr_init(&a) != 0)
        return false;
    pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
    sigfillset(&all);
    /* inherited: the job's signals go to the job's threads */
    pthread_sigmask(SIG_SETMASK, &all, &old);
    atomic_store(&W.thread, true);
    /* CUPTI and NVML run on this stack; programs with much thread-local storage need the default
     * size. */
    if (pthread_attr_setstacksize(&a, 1u << 20) == 0)
        ok = pthread_create(&t, &a, run, NULL) == 0;
    if (!ok && pthread_attr_setstacksize(&a, 8u << 20) == 0)
        ok = pthread_create(&t, &a, run, NULL) == 0;
    if (!ok)
        atomic_store(&W.thread, false);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&a);
    return ok;
}

void mti_writer_wake(void)
{
    int e = errno;
    atomic_fetch_add(&W.wake, 1);
    mti_futex_wake(&W.wake);
    errno = e;
}

void mti_periodic(void (*f)(void))
{
    unsigned n = atomic_load(&W.n_periodic);
    do {
        if (n >= PERIODIC_MAX)
            return;
    } while (!atomic_compare_exchange_weak(&W.n_periodic, &n, n + 1));
    atomic_store(&W.periodic[n], f);
}

void mti_request_sample(void)
{
    atomic_store(&mti_sample_asked, true);
    atomic_fetch_or(&W.asked, ASK_SAMPLE);
    mti_writer_wake();
}

static void flush_here(void)
{
    tell();
    mti_emit_losses(true);
    mti_spool_seal(true);
    mti_drain(MTI_SLOTS, true);
}

void mti_writer_flush(bool last)
{
    uint32_t before = atomic_load(&W.flushed);
    uint64_t end = mti_now() + MTI_EXIT_NS;
    if (last)
        atomic_store(&W.no_periodic, true);
    if (mti_drain_yourself()) {
        flush_here();
        return;
    }
    atomic_fetch_or(&W.asked, (uint32_t)ASK_FLUSH | (last ? (uint32_t)ASK_LAST : 0));
    mti_writer_wake();
    for (;;) {
        uint32_t seen = atomic_load(&W.flushed);
        uint64_t now = mti_now();
        if (seen - before >= 1 || now >= end)
            return;
        if (is_away()) { /* it may be away for long: a driver that does not answer */
            flush_here();
            return;
        }
        mti_futex_wait(&W.flushed, seen, end - now < 10000000u ? end - now : 10000000u);
    }
}

void mti_writer_stop(void) { mti_writer_flush(true); }

/* Waits while the errand is in the state `is`, for so long; the state it is in then. */
static uint32_t wait_errand(uint32_t is, uint64_t ns)
{
    uint64_t end = mti_now() + ns, now;
    while (atomic_load(&W.errand_is) == is && (now = mti_now()) < end)
        mti_futex_wait(&W.errand_is, is, end - now < 10000000u ? end - now : 10000000u);
    return atomic_load(&W.errand_is);
}

/* One errand at a time; one that was no longer waited for and has come back makes room. */
static bool take_errand(uint64_t ns)
{
    for (uint64_t end = mti_now() + ns;;) {
        uint32_t is = ERRAND_NONE, late = ERRAND_DONE;
        if (atomic_compare_exchange_strong(&W.errand_is, &is, ERRAND_FILLED) ||
            atomic_compare_exchange_strong(&W.errand_is, &late, ERRAND_FILLED))
            return true;
        if (mti_now() >= end)
            return false;
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
    }
}

bool mti_writer_run(mti_errand_fn *f, uint64_t argument, uint64_t patience, uint64_t most,
                    uint64_t *result)
{
    uint64_t got = 0;
    uint32_t is;
    if (!atomic_load(&W.thread)) {
        got = f(argument);
    } else {
        if (!take_errand(patience))
            return false;
        atomic_store(&W.errand, f);
        atomic_store(&W.argument, argument);
        atomic_store(&W.errand_is, ERRAND_ASKED);
        mti_writer_wake();
        is = wait_errand(ERRAND_ASKED, patience);
        if (is == ERRAND_ASKED &&
            atomic_compare_exchange_strong(&W.errand_is, &is, ERRAND_NONE)) /* withdrawn */
            return false;
        if (wait_errand(ERRAND_TAKEN, most) != ERRAND_DONE)
            return false;
        got = atomic_load(&W.result);
        atomic_store(&W.errand_is, ERRAND_NONE);
    }
    if (result != NULL)
        *result = got;
    return true;
}

/* In the child of a fork. The z stream is memory like any other and can be used again; whoever was
 * writing is not in this process. */
void mti_writer_forget(void)
{
    pthread_mutex_init(&W.drain, NULL);
    atomic_store(&W.thread, false);
    atomic_store(&W.away, 0);
    atomic_store(&W.no_periodic, false);
    atomic_store(&W.asked, 0);
    atomic_store(&W.errand_is, ERRAND_NONE);
    atomic_store(&W.n_periodic, 0);
    for (unsigned i = 0; i < PERIODIC_MAX; i++)
        atomic_store(&W.periodic[i], NULL);
    mti_ring_forget();
    W.packed.n = 0;
    W.gz_bytes = 0;
    W.large_member = 0;
    atomic_store(&W.error, 0);
    atomic_store(&W.told_error, false);
    atomic_store(&W.cap_seq, 0);
    atomic_store(&W.told_cap, false);
    atomic_store(&W.told_stall, false);
}
