/* life.c -- the library in the life of a process: start, fork, exit. */
#define _GNU_SOURCE 1
#include "capture/inject/core.h"

#include <errno.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef MEMTRACE_VERSION
#define MEMTRACE_VERSION "unknown"
#endif
#define AT_EXIT_MAX 16u

_Atomic int mti_state = MTI_OFF;
uint64_t mti_uid;
pid_t mti_pid;

MTI_EXPORT int InitializeInjection(void);

/* f is taken out by whoever runs it. */
struct at_exit {
    void (*_Atomic f)(void);
};
static struct {
    pthread_mutex_t start;
    pid_t forked_from;
    _Atomic bool hooked;       /* fork and exit handlers: inherited by children, so once */
    _Atomic pid_t initialized; /* the process for which InitializeInjection ran */
    _Atomic unsigned n_at_exit;
    struct at_exit at_exit[AT_EXIT_MAX];
    _Atomic bool exited;
} L = {.start = PTHREAD_MUTEX_INITIALIZER};

/* ---- small things for the threads of the job ---- */

const char *mti_why(int error)
{
#if __GLIBC_PREREQ(2, 32)
    const char *s = strerrordesc_np(error);
    return s != NULL ? s : "unknown error";
#else
    return error >= 0 && error < sys_nerr ? sys_errlist[error] : "unknown error";
#endif
}

bool mti_enter(void)
{
    struct mti_thread *t = &mti_thread;
    if (t->inside) {
        if (t->held ||
            t->strings) /* nothing of ours calls out under a lock: this is a signal handler */
            mti_drop();
        return false;
    }
    t->inside = 1;
    t->saved_errno = errno;
    return true;
}

void mti_leave(void)
{
    errno = mti_thread.saved_errno;
    mti_thread.inside = 0;
}

void mti_quiet_begin(struct mti_quiet *q)
{
    sigset_t all, pending;
    *q = (struct mti_quiet){0};
    if (mti_thread.writer) /* is always quiet */
        return;
    q->active = true;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &q->cancel);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &q->old);
    sigemptyset(&pending);
    sigpending(&pending);
    q->had_xfsz = sigismember(&pending, SIGXFSZ) == 1;
}

void mti_quiet_end(const struct mti_quiet *q)
{
    static const struct timespec none;
    sigset_t pending, xfsz;
    if (!q->active)
        return;
    sigemptyset(&pending);
    sigpending(&pending);
    /* ours: a limit on the size of files that we ran into */
    if (!q->had_xfsz && sigismember(&pending, SIGXFSZ) == 1) {
        sigemptyset(&xfsz);
        sigaddset(&xfsz, SIGXFSZ);
        sigtimedwait(&xfsz, NULL, &none);
    }
    pthread_sigmask(SIG_SETMASK, &q->old, NULL);
    pthread_setcancelstate(q->cancel, NULL);
}

/* Futexes and not condition variables: those are points where a thread may be cancelled, and mean
 * nothing after a fork. */
void mti_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t ns)
{
    struct timespec ts = {.tv_sec = (time_t)(ns / 1000000000u),
                          .tv_nsec = (long)(ns % 1000000000u)};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &ts, NULL, 0);
}

void mti_futex_wake(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* ---- fork ---- */

/* A signal handler that forks may come while this thread holds one of the locks: then only those
 * after it in the order are taken. In the child all of them are made anew. */
static void before_fork(void)
{
    struct mti_thread *t = &mti_thread;
    t->fork_took = 0;
    if (t->held)
        return;
    if (!t->strings) {
        if (!t->starting) {
            pthread_mutex_lock(&L.start);
            t->fork_took |= 1;
        }
        mti_emit_lock();
        t->fork_took |= 2;
    }
    mti_spool_lock();
    t->fork_took |= 4;
}

static void after_fork_parent(void)
{
    struct mti_thread *t = &mti_thread;
    if (t->fork_took & 4)
        mti_spool_unlock();
    if (t->fork_took & 2)
        mti_emit_unlock();
    if (t->fork_took & 1)
        pthread_mutex_unlock(&L.start);
    t->fork_took = 0;
}

static void forget(void)
{
    L.forked_from = mti_pid;
    mti_cupti_forget();
    mti_samples_forget();
    mti_stacks_forget();
    mti_writer_forget();
    mti_emit_forget();
    mti_spool_forget();
    for (unsigned i = 0; i < AT_EXIT_MAX; i++)
        atomic_store(&L.at_exit[i].f, NULL);
    atomic_store(&L.n_at_exit, 0);
    atomic_store(&L.exited, false);
    atomic_store(&mti_pinned, 0);
    atomic_store(&mti_state, MTI_FORKED);
}

static void after_fork_child(void)
{
    int e = errno, state = atomic_load(&mti_state);
    if (state == MTI_ON || state == MTI_STARTING)
        forget();
    else
        after_fork_parent();
    pthread_mutex_init(&L.start, NULL);
    mti_thread.fork_took = 0;
    errno = e;
}

/* ---- exit ---- */

/* Not in a child that was made without our fork handlers. */
static bool mine(void) { return mti_on() && mti_map_ready() && getpid() == mti_pid; }

/* A signal handler that calls exit() in the middle of us: the spool file is left for the collector.
 */
static bool interrupted(void)
{
    const struct mti_thread *t = &mti_thread;
    return t->held || t->strings || t->starting || t->inside;
}

static void run_at_exit(int status, void *entry)
{
    (void)status;
    if (!mine() || interrupted())
        return;
    void (*f)(void) = atomic_exchange(&((struct at_exit *)entry)->f, NULL);
    if (f)
        f();
}

void mti_at_exit(void (*f)(void))
{
    unsigned i = atomic_fetch_add(&L.n_at_exit, 1);
    if (i >= AT_EXIT_MAX)
        return;
    atomic_store(&L.at_exit[i].f, f);
    on_exit(run_at_exit, &L.at_exit[i]);
}

/* Registered before anything of mti_at_exit(), so it comes after. The writer goes on: other
 * handlers may still call the driver. */
static void finish(int status, void *unused)
{
    (void)unused;
    if (!mine() || interrupted() || atomic_load(&L.exited))
        return;
    for (unsigned i = AT_EXIT_MAX; i-- > 0;)
        run_at_exit(status, &L.at_exit[i]);
    if (!mti_enter())
        return;
    mti_emit_losses(true);
    mti_emit_end(MT_WE_EXIT, status & 255);
    mti_writer_stop();
    atomic_store(&L.exited, true);
    mti_leave();
}

/* After all exit handlers, before the libraries that were loaded earlier end: libcuda among them.
 */
__attribute__((destructor)) static void unloaded(void)
{
    if (!mine() || interrupted() || !atomic_load(&L.exited) || !mti_enter())
        return;
    mti_writer_stop();
    mti_spool_unlink();
    mti_leave();
}

/* ---- start ---- */

static bool start(bool forked)
{
    if (!atomic_exchange(&L.hooked, true)) {
        pthread_atfork(before_fork, after_fork_parent, after_fork_child);
        on_exit(finish, NULL);
    }
    mti_env_read(&mti_set);
    if (!mti_spool_open())
        return false;
    bool thread = mti_writer_start();
    mti_status(MT_ST_STARTED, 0, "memtrace %s", MEMTRACE_VERSION);
    if (forked)
        mti_status(MT_ST_FORKED, 0, "%ld", (long)L.forked_from);
    if (!mti_map.on_disk)
        mti_status(MT_ST_SPOOL_MEMORY, 1,
                   "no space for the spool file in %s (%s): what is not yet in the trace is lost "
                   "if this process is killed",
                   mti_set.spool, mti_why(mti_map.why));
    if (!thread)
        mti_status(MT_ST_WRITER, 1,
                   "no thread could be started for writing: the job's threads write, and there are "
                   "no samples");
    mti_identity();
    return true;
}

bool mti_start(void)
{
    struct mti_thread *t = &mti_thread;
    struct mti_quiet q;
    int state = atomic_load_explicit(&mti_state, memory_order_acquire), e = errno;
    if (state == MTI_ON && mti_map_ready())
        return true;
    if (state == MTI_FAILED || t->starting || t->held || t->strings)
        return false;
    /* A child that was made by clone() itself: no handler of ours ran, but the page that is wiped
     * in every child says so. */
    if (state == MTI_ON && getpid() != mti_pid) {
        forget();
        pthread_mutex_init(&L.start, NULL);
    }
    mti_quiet_begin(&q); /* no signal handler of the job runs between here and the end */
    t->starting = 1;
    pthread_mutex_lock(&L.start);
    state = atomic_load(&mti_state);
    if (state == MTI_OFF || state == MTI_FORKED) {
        unsigned char inside = t->inside;
        t->inside = 1;
        atomic_store(&mti_state, MTI_STARTING);
        bool ok = start(state == MTI_FORKED);
        atomic_store_explicit(&mti_state, ok ? MTI_ON : MTI_FAILED, memory_order_release);
        t->inside = inside;
    }
    pthread_mutex_unlock(&L.start);
    t->starting = 0;
    mti_quiet_end(&q);
    errno = e;
    return atomic_load(&mti_state) == MTI_ON;
}

/* Called by libcuda in cuInit(), on the thread that called it, once per process. */
int InitializeInjection(void)
{
    pid_t me = getpid();
    int e = errno;
    if (atomic_exchange(&L.initialized, me) != me && mti_start() && mti_enter()) {
        mti_stacks_start();
        mti_samples_start();
        mti_cupti_start();
        mti_python_start();
        mti_leave();
    }
    errno = e;
    return 1;
}

bool mti_start_again(void)
{
    if (atomic_load(&mti_state) == MTI_DETACHED) {
        forget(); /* nobody has been inside since: it takes seconds to come back */
        atomic_store(&mti_state, MTI_OFF);
    }
    atomic_store(&L.initialized, getpid());
    return mti_start();
}
