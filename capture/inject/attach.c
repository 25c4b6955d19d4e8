/* attach.c -- a process that ran already when recording began: the call that begins it, what was
 * there before as a base, and the end of it.
 *
 * Who calls memtrace_attach() is memtrace, on whatever thread it stopped. So nothing is done there
 * but to start a thread: that one may wait for the locks of the driver and of the loader as any
 * other. */
#define _GNU_SOURCE 1
#include "capture/inject/attach.h"
#include "capture/inject/core.h"
#include "capture/inject/cupti.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define ORDINALS 64u
#define PYTHON_NS UINT64_C(10000000000) /* for its main thread to let the hook go */
#define TORCH "(PyTorch, before the recording)"
#define REST "(before the recording)"

MTI_EXPORT int memtrace_attach(const char *settings);
MTI_EXPORT int memtrace_base(const uint64_t *segments, size_t n);

static struct {
    _Atomic bool busy; /* being started */
    uint64_t begun;
    char stop[PATH_MAX]; /* the file that asks for the end */
    _Atomic bool based;
    uint64_t asked; /* the end was asked for; 0 = not yet */
    bool due;
} A;

/* ---- the base ---- */

static void held_before(uint64_t address, uint64_t bytes, uint32_t ordinal, uint32_t stack)
{
    struct mti_call c = {.op = MT_WO_MEM_ALLOC,
                         .t0 = A.begun,
                         .t1 = A.begun,
                         .addr = address,
                         .size = bytes,
                         .device = ordinal,
                         .stack = stack,
                         .mask = MT_WF_ADDR | MT_WF_SIZE | MT_WF_DEVICE | MT_WF_STACK};
    mti_emit_call(&c);
}

/* Memory that was created and mapped by itself goes when it is unmapped: the handle, which nobody
 * has told, is let go at once. */
static void mapped_before(uint64_t address, uint64_t bytes, uint32_t ordinal, uint32_t stack)
{
    struct mti_call c = {.t0 = A.begun,
                         .t1 = A.begun,
                         .addr = address,
                         .size = bytes,
                         .handle = address + 1, /* no handle of the driver: those are aligned */
                         .device = ordinal,
                         .location = 1,
                         .stack = stack};
    c.op = MT_WO_VMM_CREATE;
    c.mask = MT_WF_SIZE | MT_WF_HANDLE | MT_WF_DEVICE | MT_WF_LOCATION | MT_WF_STACK;
    mti_emit_call(&c);
    c.op = MT_WO_VMM_MAP;
    c.mask = MT_WF_ADDR | MT_WF_SIZE | MT_WF_HANDLE;
    mti_emit_call(&c);
    c.op = MT_WO_VMM_RELEASE;
    c.mask = MT_WF_HANDLE;
    mti_emit_call(&c);
}

static void segments_before(const struct mti_segment *s, size_t n, uint64_t *sum)
{
    uint32_t stack = n > 0 ? mti_stack_named(TORCH) : 0;
    for (size_t i = 0; i < n; i++, s++) {
        if (s->ordinal >= ORDINALS || s->bytes == 0)
            continue;
        uint64_t piece = s->piece != 0 ? s->piece : s->bytes;
        for (uint64_t at = 0; at < s->bytes; at += piece) {
            uint64_t bytes = s->bytes - at < piece ? s->bytes - at : piece;
            if (mti_since_has(s->address + at))
                continue;
            sum[s->ordinal] += bytes;
            (s->piece != 0 ? mapped_before : held_before)(s->address + at, bytes,
                                                          (uint32_t)s->ordinal, stack);
        }
    }
}

/* The segments of PyTorch's allocator, four numbers each (struct mti_segment), as of now. Their
 * addresses are known, so that what is freed of them later is; what the device counts for this
 * process beyond them, and beyond what calls that are recorded have allocated meanwhile, is one sum
 * for each GPU. Once for each recording: 0, else 1. */
int memtrace_base(const uint64_t *segments, size_t n)
{
    uint64_t sum[ORDINALS] = {0}, own;
    int saved = errno, done = 1;
    if (mti_on() && A.begun != 0 && !atomic_exchange(&A.based, true) && mti_enter()) {
        segments_before((const struct mti_segment *)(const void *)segments, n, sum);
        uint32_t stack = mti_stack_named(REST);
        for (uint32_t i = 0; i < ORDINALS; i++)
            /* nothing lies at such an address */
            if (mti_gpu_own(i, &own) && own > (sum[i] += mti_since_bytes(i)))
                held_before((uint64_t)i + 1, own - sum[i], i, stack);
        mti_since_stop();
        mti_leave();
        done = 0;
    }
    errno = saved;
    return done;
}

/* ---- the beginning ---- */

static void watch(void);

static void tell(void)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/" MTI_BEGUN_FILE, mti_set.spool) >= (int)sizeof path)
        return;
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
}

static void *begin(void *unused)
{
    A.begun = mti_now();
    mti_since_start();
    atomic_store(&A.based, false);
    A.asked = 0;
    A.due = false;
    if (mti_start_again() && mti_enter()) {
        (void)snprintf(A.stop, sizeof A.stop, "%s/" MTI_DETACH_FILE, mti_set.spool);
        mti_status(MT_ST_ATTACHED, 0,
                   "the process ran already when its recording began (memtrace attach)");
        mti_stacks_start();
        mti_samples_start();
        mti_cupti_start();
        mti_devices_there();
        mti_periodic(watch);
        bool asked = mti_python_start();
        mti_leave();
        if (!asked)
            (void)memtrace_base(NULL, 0);
        tell();
    }
    atomic_store(&A.busy, false);
    return unused;
}

/* settings: lines of NAME=value, as the environment would have them. An enum mti_attached. */
int memtrace_attach(const char *settings)
{
    pthread_attr_t a;
    pthread_t t;
    sigset_t all, old;
    int saved = errno;
    bool ok = false;
    if (mti_on() || atomic_exchange(&A.busy, true))
        return MTI_ATTACHED_ALREADY;
    if (!mti_env_give(settings)) {
        atomic_store(&A.busy, false);
        return MTI_ATTACHED_TOO_LONG;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old); /* inherited */
    if (pthread_attr_init(&a) == 0) {
        pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
        ok = pthread_create(&t, &a, begin, NULL) == 0;
        pthread_attr_destroy(&a);
    }
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    if (!ok)
        atomic_store(&A.busy, false);
    errno = saved;
    return ok ? MTI_ATTACHED : MTI_ATTACHED_NO_THREAD;
}

/* ---- the end ---- */

/* On the writer thread. Python's main thread takes the hook away, and leaves a last snapshot; a
 * main thread that is in C code for long is not waited for. */
static void watch(void)
{
    uint64_t now = mti_now();
    if (A.asked == 0) {
        if (access(A.stop, F_OK) != 0)
            return;
        A.asked = now;
        mti_python_stop();
    }
    A.due = mti_python_stopped() || now - A.asked > PYTHON_NS;
}

bool mti_detach_due(void) { return A.due; }
