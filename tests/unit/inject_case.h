/* inject_case.h -- the core of the injected library (life, spool, writer, emit) without CUDA, and a
 * case: a process of its own, which may end in any way; what it left in its folder is then decoded
 * by code that shares nothing with it but parser/model/wire.h (inject_decode.h).
 *
 * For inject_core.c and inject_faults.c, each a program with the sources compiled into it, whose
 * write(), fallocate() and pthread_create() go through the functions below (inject.cmake). Comes
 * before every other header. */
#ifndef INJECT_CASE_H
#define INJECT_CASE_H

#undef write
#undef fallocate
#undef pthread_create
#define _GNU_SOURCE 1
#include "capture/inject/attach.h"
#include "capture/inject/inject.h"
#include "tests/mock/settled.h"
#include "tests/unit/inject_decode.h"
#include "tests/unit/mt_test.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- faults ---- */

static _Atomic int fault_write_errno; /* of every write */
static _Atomic int fault_write_ms;    /* each write takes so long */
static _Atomic int fault_write_short; /* bytes at most at once, with an EINTR now and then */
static _Atomic long fault_write_room; /* bytes until ENOSPC; 0 = no end */
static _Atomic int fault_fallocate, fault_thread;

ssize_t mti_test_write(int fd, const void *p, size_t n);
int mti_test_fallocate(int fd, int mode, off_t at, off_t n);
int mti_test_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg);

ssize_t mti_test_write(int fd, const void *p, size_t n)
{
    static _Atomic unsigned calls;
    if (fault_write_ms)
        usleep((useconds_t)fault_write_ms * 1000);
    if (fault_write_errno) {
        errno = fault_write_errno;
        return -1;
    }
    if (fault_write_room) {
        if (fault_write_room < (long)n)
            n = (size_t)fault_write_room - 1;
        fault_write_room -= (long)n;
        if (n == 0) {
            errno = ENOSPC;
            return -1;
        }
    }
    if (fault_write_short) {
        if (++calls % 3 == 0) {
            errno = EINTR;
            return -1;
        }
        if (n > (size_t)fault_write_short)
            n = (size_t)fault_write_short;
    }
    return write(fd, p, n);
}

int mti_test_fallocate(int fd, int mode, off_t at, off_t n)
{
    if (!fault_fallocate)
        return fallocate(fd, mode, at, n);
    errno = fault_fallocate;
    return -1;
}

int mti_test_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
    return fault_thread ? fault_thread : pthread_create(t, a, f, arg);
}

/* ---- what the other parts of the library are here ---- */

_Atomic uint64_t mti_pinned;
_Atomic bool mti_sample_asked;
int InitializeInjection(void);
void mti_identity(void) { mti_attr("test", "core"); }
void mti_samples_start(void) {}
void mti_cupti_start(void) {}
bool mti_python_start(void) { return false; }
void mti_stacks_start(void) {}
void mti_stacks_forget(void) {}
void mti_samples_forget(void) {}
void mti_cupti_forget(void) {}
void mti_cupti_stop(void) {}
void mti_samples_stop(void) {}
bool mti_detach_due(void) { return false; }

/* ---- a case: f() in a child, with its own folder ---- */

static char dir[256];
static struct shared {
    _Atomic uint64_t done[MAX_THREADS];
    _Atomic uint64_t longest_ns;
    _Atomic int go;
    _Atomic int pid[8];
    _Atomic int wrong;
} * shared;

static inline void clean(void)
{
    char path[4096];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        unlink(path);
    }
    if (d)
        closedir(d);
    rmdir(dir);
}

/* Of the files whose names end so. */
static inline uint64_t bytes_there(const char *end)
{
    char path[4096];
    uint64_t sum = 0;
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        struct stat st;
        size_t n = strlen(e->d_name), k = strlen(end);
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (n > k && strcmp(e->d_name + n - k, end) == 0 && stat(path, &st) == 0)
            sum += (uint64_t)st.st_size;
    }
    if (d)
        closedir(d);
    return sum;
}

/* Runs f in a child and waits; the wait status. kill_us: SIGKILL after that time. */
static inline int run_case(int (*f)(void), long kill_us)
{
    const char *tmp = getenv("TMPDIR");
    int status = -1;
    if (!shared)
        shared =
            mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset((void *)shared, 0, sizeof *shared);
    snprintf(dir, sizeof dir, "%s/inject_core.XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    setenv("MEMTRACE_SPOOL", dir, 1);
    setenv("MEMTRACE_MEMORY2", "1", 1); /* with CUPTI's buffers, which are off by default */
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        exit(f());
    if (kill_us) {
        for (int i = 0; i < 20000 && !shared->go; i++)
            usleep(100);
        usleep((useconds_t)kill_us);
        kill(pid, SIGKILL);
    }
    waitpid(pid, &status, 0);
    return status;
}

static inline void call_once(uint64_t thread, uint64_t i)
{
    struct mti_call c = {.t0 = mti_now(),
                         .op = MT_WO_MEM_ALLOC,
                         .cbid = 243,
                         .size = i,
                         .offset = thread,
                         .corr = (uint32_t)i};
    c.addr = 0x7f0000000000u + i * 512 + thread;
    c.mask = MT_WF_ADDR | MT_WF_SIZE | MT_WF_OFFSET | MT_WF_CORR;
    c.t1 = mti_now();
    if (!mti_enter())
        return;
    mti_emit_call(&c);
    mti_leave();
    uint64_t took = mti_now() - c.t1;
    if (took > shared->longest_ns)
        shared->longest_ns = took;
    shared->done[thread]++;
}

static uint64_t n_each = 20000, n_threads = 4;
static bool for_ever;

static inline void *caller(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; for_ever || i < n_each; i++)
        call_once(me, i);
    return NULL;
}

static inline void call_threads(void)
{
    pthread_t t[MAX_THREADS];
    for (uint64_t i = 0; i < n_threads; i++)
        pthread_create(&t[i], NULL, caller,
                       (void *)(uintptr_t)i); /* NOLINT(performance-no-int-to-ptr) */
    shared->go = 1;
    for (uint64_t i = 0; i < n_threads; i++)
        pthread_join(t[i], NULL);
}

static inline int threads_then_exit(void)
{
    bool ok = mti_start();
    if (!ok || !mti_start()) /* the second changes nothing */
        return 99;
    call_threads();
    return 3;
}

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MT_TSAN 1
#endif
#endif

#define OK(run, want)                                                                              \
    do {                                                                                           \
        int mt_s = (run);                                                                          \
        MT_CHECK_EQ(WIFEXITED(mt_s) ? WEXITSTATUS(mt_s) : -WTERMSIG(mt_s), want);                  \
    } while (0)
#define WHOLE(g)                                                                                   \
    do {                                                                                           \
        MT_CHECK_EQ((g).bad, 0);                                                                   \
        MT_CHECK_EQ((g).gaps, 0);                                                                  \
        MT_CHECK_EQ((g).time_errors, 0);                                                           \
    } while (0)

#endif
