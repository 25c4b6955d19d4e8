/* The core of the injected library (life, spool, writer, emit) without CUDA: each case runs in a
 * process of its own, which may end in any way; what it left in its folder is then decoded here, by
 * code that shares nothing with it but parser/model/wire.h.
 *
 * The sources are compiled into this program with write(), fallocate() and pthread_create() going
 * through the functions below. */
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

static void clean(void)
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
static uint64_t bytes_there(const char *end)
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
static int run_case(int (*f)(void), long kill_us)
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

static void call_once(uint64_t thread, uint64_t i)
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

static void *caller(void *arg)
{
    uint64_t me = (uint64_t)(uintptr_t)arg;
    for (uint64_t i = 0; for_ever || i < n_each; i++)
        call_once(me, i);
    return NULL;
}

static void call_threads(void)
{
    pthread_t t[MAX_THREADS];
    for (uint64_t i = 0; i < n_threads; i++)
        pthread_create(&t[i], NULL, caller,
                       (void *)(uintptr_t)i); /* NOLINT(performance-no-int-to-ptr) */
    shared->go = 1;
    for (uint64_t i = 0; i < n_threads; i++)
        pthread_join(t[i], NULL);
}

static int threads_then_exit(void)
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

MT_TEST(four_threads_and_a_clean_exit)
{
    OK(run_case(threads_then_exit, 0), 3);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, n_threads * n_each);
    MT_CHECK_EQ(g.disorder, 0);
    MT_CHECK_EQ(g.files_spool, 0); /* all is in the .gz */
    MT_CHECK_EQ(g.files_gz, 1);
    MT_CHECK_EQ(g.ends, 1);
    MT_CHECK_EQ(g.end_status, 3);
    MT_CHECK_EQ(g.attrs, 1);
    MT_CHECK_EQ(g.statuses[MT_ST_STARTED], 1);
    MT_CHECK_EQ(g.threads, n_threads + 2);
    MT_CHECK_EQ(g.lost_records, 0);
    clean();
}

static int threads_for_ever(void)
{
    for_ever = true;
    return threads_then_exit();
}

static void kill_times(int times)
{
    static const char *const flush[] = {"20", "100", "500", "5000"};
    uint64_t completed = 0;
    unsigned seed = (unsigned)getpid();
    for (int i = 0; i < times; i++) {
        setenv("MEMTRACE_FLUSH_MS", flush[i % 4], 1);
        n_threads = (uint64_t)1 << (i % 3);
        OK(run_case(threads_for_ever, 1000 + rand_r(&seed) % 150000), -SIGKILL);
        struct got g = decode(dir);
        WHOLE(g);
        MT_CHECK_EQ(g.disorder, 0);
        MT_CHECK(g.cut <= 1);
        MT_CHECK_EQ(g.locked, 0);
        MT_CHECK_EQ(g.files_spool, 1);
        for (uint64_t t = 0; t < n_threads; t++) {
            /* At most one record of a thread was written whose call had not returned yet. */
            if (g.lost_records == 0 &&
                (g.per_thread[t] < shared->done[t] || g.per_thread[t] > shared->done[t] + 1))
                MT_FAIL_AT("thread %d: %llu calls completed, %llu in the trace", (int)t,
                           (unsigned long long)shared->done[t],
                           (unsigned long long)g.per_thread[t]);
            completed += shared->done[t];
        }
        MT_CHECK_EQ(g.lost_records, 0);
        clean();
    }
    printf("# %llu completed calls in %d processes that were killed\n",
           (unsigned long long)completed, times);
    MT_CHECK(completed > (uint64_t)times * 100);
    unsetenv("MEMTRACE_FLUSH_MS");
    n_threads = 4;
}

MT_TEST(kill_9_loses_no_completed_call) { kill_times(20); }

static int exit_at_once(void)
{
    if (!mti_start())
        return 99;
    for (uint64_t i = 0; i < 1000; i++)
        call_once(0, i);
    _exit(4);
}

MT_TEST(exit_without_handlers_leaves_the_spool)
{
    OK(run_case(exit_at_once, 0), 4);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, 1000);
    MT_CHECK_EQ(g.ends, 0);
    MT_CHECK_EQ(g.files_spool, 1);
    MT_CHECK_EQ(g.locked, 0);
    clean();
}

/* ---- fork ---- */

static int fork_then_record(void)
{
    if (!mti_start())
        return 99;
    for (uint64_t i = 0; i < 10; i++)
        call_once(0, i);
    uint64_t uid = mti_uid;
    settled();
    pid_t pid = fork();
    if (pid == 0) {
        for (uint64_t i = 0; i < 5; i++)
            call_once(1, i); /* a child that uses nothing records nothing */
        if (atomic_load(&mti_state) != MTI_FORKED || mti_string("x", 1) != 0)
            return 98;
        if (!mti_start() || mti_uid == uid || mti_pid != getpid())
            return 97;
        for (uint64_t i = 0; i < 7; i++)
            call_once(2, i);
        return 5;
    }
    int status;
    waitpid(pid, &status, 0);
    for (uint64_t i = 10; i < 20; i++)
        call_once(0, i);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 96;
}

MT_TEST(a_forked_child_has_files_of_its_own)
{
    OK(run_case(fork_then_record, 0), 5);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.uids, 2);
    MT_CHECK_EQ(g.files_gz, 2);
    MT_CHECK_EQ(g.files_spool, 0);
    MT_CHECK_EQ(g.per_thread[0], 20);
    MT_CHECK_EQ(g.per_thread[1], 0);
    MT_CHECK_EQ(g.per_thread[2], 7);
    MT_CHECK_EQ(g.disorder, 0);
    MT_CHECK_EQ(g.statuses[MT_ST_FORKED], 1);
    MT_CHECK_EQ(g.ends, 2);
    clean();
}

/* What exit handlers of libcupti do in a forked child: walk and fill the buffers that they were
 * given in the parent. */
static int fork_with_buffers(void)
{
    size_t size = 0;
    if (!mti_start())
        return 99;
    uint32_t *held = mti_act_take(&size), *back = mti_act_take(&size);
    if (!held || !back)
        return 98;
    held[0] = 49;
    mti_act_give(back);
    call_once(0, 0);
    settled();
    pid_t pid = fork();
    if (pid == 0) {
        bool empty = held[0] == 0 && back[0] == 0; /* no records of the parent are told twice */
        memset(held, 0x5a, size);
        memset(back, 0x5a, size);
        mti_act_give(held); /* no more than ignored */
        bool ours = mti_act_is_ours(held), ok = mti_start();
        call_once(1, 0);
        return empty && !ours && ok && held[0] == 0x5a5a5a5a ? 0 : 97;
    }
    int status = -1;
    waitpid(pid, &status, 0);
    if (held[0] != 49 || back[0] != 0)
        return 96; /* the child wrote into the parent's spool */
    mti_act_give(held);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 100 + WTERMSIG(status);
}

MT_TEST(a_forked_child_may_touch_activity_buffers_of_its_parent)
{
    OK(run_case(fork_with_buffers, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.per_thread[0], 1);
    MT_CHECK_EQ(g.per_thread[1], 1);
    MT_CHECK_EQ(g.uids, 2);
    MT_CHECK_EQ(g.files_spool, 0);
    clean();
}

static int fork_and_die(void)
{
    if (!mti_start())
        return 99;
    call_once(0, 0);
    settled();
    pid_t pid = fork();
    if (pid == 0) {
        setsid();
        shared->go = 1;
        sleep(30);
        _exit(0);
    }
    shared->pid[0] = pid;
    for (int i = 0; i < 20000 && !shared->go;
         i++) /* a child lets go of the lock as soon as it runs, which may take a while */
        usleep(1000);
    kill(getpid(), SIGKILL);
    return 0;
}

MT_TEST(a_child_does_not_keep_the_lock_of_a_dead_parent)
{
    OK(run_case(fork_and_die, 0), -SIGKILL);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, 1);
    MT_CHECK_EQ(g.files_spool, 1);
    MT_CHECK_EQ(g.locked, 0);
    if (shared->pid[0] > 0)
        kill(shared->pid[0], SIGKILL);
    clean();
}

static void *forker(void *arg)
{
    (void)arg;
    for (int i = 0; i < 60; i++) {
        pid_t pid = fork();
        if (pid == 0) {
            call_once(9, 0);
            mti_string("in the child", 12);
            mti_status(MT_ST_TORCH, 0, "nothing");
            if (i % 20 == 10) { /* not while the others start: settled.h says why */
                alarm(20);      /* a child that hangs is a failure */
                if (!mti_start())
                    _exit(1);
                call_once(10, 0);
                exit(0);
            }
            _exit(0);
        }
        int status = -1;
        waitpid(pid, &status, 0);
        if (status != 0) {
            printf("# a child ended with wait status 0x%x\n", (unsigned)status);
            shared->wrong++;
        }
    }
    return NULL;
}

static void *namer(void *arg)
{
    char text[32];
    for (int i = 0; i < 30000; i++)
        mti_string(text, (size_t)snprintf(text, sizeof text, "%s %d", (const char *)arg, i % 5000));
    return NULL;
}

static int fork_in_a_crowd(void)
{
    char name[] = "name";
    pthread_t f, n;
    if (!mti_start())
        return 99;
    pthread_create(&f, NULL, forker, NULL);
    pthread_create(&n, NULL, namer, name);
    call_threads();
    pthread_join(f, NULL);
    pthread_join(n, NULL);
    return shared->wrong != 0;
}

MT_TEST(fork_while_others_record)
{
    OK(run_case(fork_in_a_crowd, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(shared->wrong, 0);
    MT_CHECK_EQ(g.uids, 4);
    MT_CHECK_EQ(g.calls, n_threads * n_each + 3);
    MT_CHECK_EQ(g.per_thread[9], 0);
    MT_CHECK_EQ(g.strings, 5000);
    MT_CHECK_EQ(g.disorder, 0);
    clean();
}

static int raw_fork(void)
{
    if (!mti_start())
        return 99;
    call_once(0, 0);
    /* no fork handler runs */
    pid_t pid = (pid_t)syscall(SYS_clone, SIGCHLD, NULL, NULL, NULL, NULL);
    if (pid == 0) {
        call_once(1, 0);
        bool ok = mti_start();
        call_once(2, 0);
        _exit(ok ? 0 : 1);
    }
    int status = -1;
    waitpid(pid, &status, 0);
    call_once(0, 1);
    return status != 0;
}

MT_TEST(a_child_made_by_clone_writes_nothing_into_the_parents_spool)
{
#if defined(__SANITIZE_THREAD__) || defined(MT_TSAN)
    MT_SKIP("ThreadSanitizer does not know that clone() makes a process");
#endif
    OK(run_case(raw_fork, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.per_thread[0], 2);
    MT_CHECK_EQ(g.per_thread[1], 0);
    MT_CHECK_EQ(g.per_thread[2], 1);
    MT_CHECK_EQ(g.uids, 2);
    clean();
}

static int exec_itself(void)
{
    if (!mti_start())
        return 99;
    call_once(0, 0);
    setenv("MT_INJECT_EXEC", "1", 1);
    execl("/proc/self/exe", "inject_core", (char *)NULL);
    return 98;
}

MT_TEST(exec_keeps_what_was_before_and_starts_anew)
{
    OK(run_case(exec_itself, 0), 6);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.uids, 2);
    MT_CHECK_EQ(g.calls, 2);
    MT_CHECK_EQ(g.files_spool, 1);
    MT_CHECK_EQ(g.locked, 0);
    MT_CHECK_EQ(g.ends, 1);
    clean();
}

/* ---- signals ---- */

static volatile sig_atomic_t n_signals;

static void on_signal(int sig)
{
    int e = errno;
    n_signals++;
    if (mti_enter()) {
        mti_string("signal", 6);
        mti_leave();
    } else {
        mti_string("raced", 5);
    }
    mti_status(MT_ST_TORCH, 0, "signal %d", n_signals % 100);
    if (n_signals % 50 == 0) {
        pid_t pid = fork(); /* in the middle of a record, for all it knows */
        if (pid == 0)
            _exit(0);
        waitpid(pid, NULL, 0);
    }
    (void)sig;
    errno = e;
}

static int under_fire(void)
{
    struct itimerval it = {{0, 300}, {0, 300}};
    struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    if (!mti_start())
        return 99;
    sigaction(SIGALRM, &sa, NULL);
    setitimer(ITIMER_REAL, &it, NULL);
    char text[32];
    for (uint64_t i = 0; i < 150000; i++) {
        call_once(0, i);
        if (i % 8 == 0 && mti_enter()) {
            mti_string(text, (size_t)snprintf(text, sizeof text, "s %d", (int)(i % 9999)));
            mti_leave();
        }
    }
    memset(&it, 0, sizeof it);
    setitimer(ITIMER_REAL, &it, NULL);
    return n_signals > 10 ? 0 : 1;
}

MT_TEST(signal_handlers_that_record_and_fork)
{
    OK(run_case(under_fire, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, 150000);
    MT_CHECK_EQ(g.disorder, 0);
    clean();
}

/* ---- faults ---- */

static uint64_t in_records; /* ns spent in the library */

static void *incompressible(void *arg)
{
    char text[4096];
    unsigned seed = 1;
    (void)arg;
    for (int k = 0; k < 4000; k++) {
        for (size_t i = 0; i < sizeof text; i++)
            text[i] = (char)rand_r(&seed);
        uint64_t from = mti_now();
        mti_attr("noise", text); /* as far as its first NUL */
        struct mti_w w;
        if (mti_begin(&w, MT_WR_STRING, sizeof text + 16)) {
            mti_u(&w, 70000);
            mti_bytes(&w, text, sizeof text);
            mti_end(&w);
        }
        call_once(0, (uint64_t)k);
        in_records += mti_now() - from;
    }
    return NULL;
}

static int disk_of_two_mb(void)
{
    if (!mti_start())
        return 99;
    fault_write_room = 2 << 20;
    incompressible(NULL);
    usleep(1200000);
    return 0;
}

MT_TEST(a_full_disk_is_said_and_counted)
{
    OK(run_case(disk_of_two_mb, 0), 0);
    struct got g = decode(dir);
    MT_CHECK_EQ(g.bad, 0);
    MT_CHECK_EQ(g.gaps, 0);
    MT_CHECK_EQ(g.statuses[MT_ST_DISK_FULL], 1);
    MT_CHECK(strstr(g.last_text, "No space left") != NULL || g.ends);
    MT_CHECK_EQ(g.files_spool, 1); /* holds what the disk would not take */
    MT_CHECK(g.members > 4);
    MT_CHECK(g.lost_records > 1000);
    /* Nothing vanished without being counted: what is there and what is lost is what was made. */
    MT_CHECK_EQ(g.calls + g.strings + g.attrs - 1 + g.lost_records, 12000);
    MT_CHECK_EQ(g.ends, 1);
    clean();
}

static int limited_files(void)
{
    struct rlimit rl = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &rl); /* too little for a spool: SIGXFSZ would end this process */
    if (!mti_start())
        return 99;
    incompressible(NULL);
    return 0;
}

MT_TEST(a_limit_on_file_sizes_never_kills)
{
    OK(run_case(limited_files, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.statuses[MT_ST_SPOOL_MEMORY], 1);
    MT_CHECK(g.members >= 2);
    clean();
}

static int no_thread(void)
{
    fault_thread = EAGAIN;
    fault_write_short = 5000;
    return threads_then_exit();
}

MT_TEST(without_a_thread_the_callers_write)
{
    n_each = 60000;
    OK(run_case(no_thread, 0), 3);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, n_threads * n_each);
    MT_CHECK_EQ(g.disorder, 0);
    MT_CHECK_EQ(g.lost_records, 0);
    MT_CHECK_EQ(g.statuses[MT_ST_WRITER], 1);
    MT_CHECK_EQ(g.files_spool, 0);
    n_each = 20000;
    clean();
}

static int no_thread_and_a_ring(void)
{
    struct mti_call c = {.op = MT_WO_MEM_FREE,
                         .mask = MT_WF_ADDR | MT_WF_SIZE | MT_WF_HANDLE | MT_WF_OFFSET};
    fault_thread = EAGAIN;
    if (!mti_start())
        return 99;
    for (uint64_t i = 0; i < 2000000; i++) { /* nothing of it stays */
        c.size = i;
        c.addr = 0x7f0000000000u + i * 512;
        c.handle = (i + 1) * UINT64_C(0x9e3779b97f4a7c15);
        c.t0 = c.t1 = mti_now();
        mti_emit_call(&c);
    }
    return 0;
}

MT_TEST(without_a_thread_the_callers_let_go)
{
    setenv("MEMTRACE_KEEP_MB", "1", 1);
    OK(run_case(no_thread_and_a_ring, 0), 0);
    unsetenv("MEMTRACE_KEEP_MB");
    MT_CHECK(bytes_there(".base.gz") > 0);
    MT_CHECK(bytes_there(".gz") < (1u << 20) * 5 / 4 + (256u << 10));
    MT_CHECK(bytes_there(".gz") > 512u << 10);
    clean();
}

/* Each of the calls stays, and there is no memory for so many. */
static int no_memory_for_the_books(void)
{
    char text[64] = "";
    int fd = open("/proc/self/statm", O_RDONLY);
    if (!mti_start() || fd < 0 || read(fd, text, sizeof text - 1) <= 0)
        return 99;
    rlim_t most = (rlim_t)strtoul(text, NULL, 10) * 4096 + (32u << 20);
    struct rlimit rl = {most, most};
    setrlimit(RLIMIT_AS, &rl);
    for (uint64_t i = 0; i < 3000000; i++)
        call_once(0, i);
    return 0;
}

MT_TEST(without_memory_for_the_books_the_limit_holds)
{
    setenv("MEMTRACE_KEEP_MB", "2", 1);
    OK(run_case(no_memory_for_the_books, 0), 0);
    unsetenv("MEMTRACE_KEEP_MB");
    MT_CHECK(bytes_there(".gz") < (2u << 20) * 5 / 4 + (512u << 10)); /* the slots, too */
    MT_CHECK(bytes_there(".gz") > 1u << 20);
    clean();
}

static int no_space_for_a_spool(void)
{
    fault_fallocate = ENOSPC;
    return threads_then_exit();
}

MT_TEST(without_space_the_spool_is_in_memory)
{
    OK(run_case(no_space_for_a_spool, 0), 3);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, n_threads * n_each);
    MT_CHECK_EQ(g.statuses[MT_ST_SPOOL_MEMORY], 1);
    MT_CHECK_EQ(g.files_spool, 0);
    clean();
}

static int old_file_system(void)
{
    fault_fallocate = EOPNOTSUPP;
    return threads_then_exit();
}

MT_TEST(without_fallocate_the_space_is_written)
{
    OK(run_case(old_file_system, 0), 3);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, n_threads * n_each);
    MT_CHECK_EQ(g.statuses[MT_ST_SPOOL_MEMORY], 0);
    clean();
}

static int slow_disk(void)
{
    if (!mti_start())
        return 99;
    fault_write_ms = 1500;
    incompressible(NULL);
    fault_write_ms = 0;
    return in_records > 2500000000u ? 7 : 0;
}

MT_TEST(a_slow_disk_holds_calls_for_a_second_and_then_drops)
{
    OK(run_case(slow_disk, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK(shared->longest_ns < 1200000000u);
    MT_CHECK_EQ(g.statuses[MT_ST_STALLED], 1);
    MT_CHECK(g.lost_records > 0);
    MT_CHECK_EQ(g.calls + g.strings + g.attrs - 1 + g.lost_records, 12000);
    clean();
}

static int no_folder(void)
{
    setenv("MEMTRACE_SPOOL", "/nonexistent/folder", 1);
    errno = 77;
    bool ok = mti_start();
    ok = mti_start() || ok || mti_on();
    call_once(0, 0);
    mti_status(MT_ST_TORCH, 0, "nothing");
    mti_request_sample();
    mti_attr("a", "b");
    size_t size;
    return ok || mti_string("a", 1) || mti_act_take(&size) || errno != 77;
}

MT_TEST(no_folder_no_recording)
{
    OK(run_case(no_folder, 0), 0);
    struct got g = decode(dir);
    MT_CHECK_EQ(g.files_gz + g.files_spool, 0);
    clean();
}

static int unset_folder(void)
{
    unsetenv("MEMTRACE_SPOOL");
    return InitializeInjection() != 1 || mti_on();
}

MT_TEST(no_setting_no_recording)
{
    OK(run_case(unset_folder, 0), 0);
    clean();
}

static uint64_t bytes_on_disk(void)
{
    uint64_t bytes = 0;
    struct stat st;
    char path[4096];
    DIR *d = opendir(dir);
    for (struct dirent *e; d && (e = readdir(d));) {
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        if (e->d_name[0] != '.' && stat(path, &st) == 0)
            bytes += (uint64_t)st.st_size;
    }
    if (d)
        closedir(d);
    return bytes;
}

static int noise(void)
{
    if (!mti_start())
        return 99;
    incompressible(NULL);
    usleep(700000);
    call_once(0, 4000);
    return 0;
}

MT_TEST(the_cap_is_kept_and_said)
{
    setenv("MEMTRACE_MAX_MB", "1", 1);
    OK(run_case(noise, 0), 0);
    struct got g = decode(dir);
    printf("# noise, cap 1 MiB: %llu bytes, %u chunks not written\n",
           (unsigned long long)bytes_on_disk(), g.gaps);
    MT_CHECK_EQ(g.bad, 0);
    MT_CHECK_EQ(g.statuses[MT_ST_SIZE_CAP], 1);
    MT_CHECK_EQ(g.files_spool, 0);
    MT_CHECK_EQ(g.ends, 1);
    MT_CHECK(g.calls + g.strings + g.attrs + g.lost_records >= 12001);
    MT_CHECK(bytes_on_disk() > 300000);
    MT_CHECK(bytes_on_disk() <= 1 << 20);
    clean();

    n_each = 400000;
    OK(run_case(threads_then_exit, 0), 3);
    g = decode(dir);
    printf("# calls, cap 1 MiB: %llu bytes, %llu calls, %llu dropped\n",
           (unsigned long long)bytes_on_disk(), (unsigned long long)g.calls,
           (unsigned long long)g.lost_records);
    /* a chunk that no longer fits below the cap may be missing: what it held is among the dropped
     */
    MT_CHECK_EQ(g.bad, 0);
    MT_CHECK_EQ(g.time_errors, 0);
    MT_CHECK_EQ(g.calls + g.lost_records, n_threads * n_each); /* all that was dropped were calls */
    MT_CHECK(g.lost_records > 0);
    MT_CHECK_EQ(g.files_spool, 0);
    MT_CHECK(bytes_on_disk() > 600000);
    MT_CHECK(bytes_on_disk() <= 1 << 20);
    n_each = 20000;
    unsetenv("MEMTRACE_MAX_MB");
    clean();
}

static int closes_everything(void)
{
    if (!mti_start())
        return 99;
    call_once(0, 0);
    for (int fd = 3; fd < 1100; fd++)
        close(fd);
    int fd = open(dir, O_RDONLY | O_DIRECTORY);
    for (int n = fd; n < 1000 && n >= 0; n = dup(fd)) /* and takes all the numbers */
        ;
    usleep(300000);
    for (uint64_t i = 1; i < 50; i++)
        call_once(0, i);
    usleep(300000);
    shared->go = 1;
    sleep(1);
    _exit(0);
}

MT_TEST(a_job_that_closes_our_descriptors)
{
#if defined(__SANITIZE_THREAD__) || defined(MT_TSAN)
    MT_SKIP("ThreadSanitizer rightly complains of a program that does this");
#endif
    setenv("MEMTRACE_FLUSH_MS", "50", 1);
    OK(run_case(closes_everything, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, 50);
    unsetenv("MEMTRACE_FLUSH_MS");
    clean();
}

static int other_directory(void)
{
    if (chdir(dir) != 0)
        return 98;
    setenv("MEMTRACE_SPOOL", ".", 1);
    if (!mti_start() || chdir("/") != 0)
        return 99;
    call_once(0, 0);
    return 0;
}

MT_TEST(a_relative_folder_stays_what_it_was)
{
    OK(run_case(other_directory, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.calls, 1);
    MT_CHECK_EQ(g.files_spool, 0);
    clean();
}

/* ---- records ---- */

static void late_call(void) { call_once(3, 0); }
static void at_exit_work(void) { call_once(2, 0); }
static void tick(void) { shared->done[60]++; }

static int odd_records(void)
{
    static char big[70000];
    struct mti_w w;
    atexit(late_call); /* registered before ours: runs after our handler */
    int first = InitializeInjection();
    if (first != 1 || InitializeInjection() != 1)
        return 99;
    mti_at_exit(at_exit_work);
    mti_periodic(tick);
    call_once(0, 0);
    /* More than was asked for, and more than there is: not kept, and what follows is right. */
    if (mti_begin(&w, MT_WR_ATTR, 10)) {
        mti_delta(&w, &w.d->addr, 12345);
        for (int i = 0; i < 10; i++)
            mti_bytes(&w, big, sizeof big);
        mti_end(&w);
    }
    if (mti_begin(&w, MT_WR_ATTR, MTI_MAX_RECORD + 1))
        return 98;
    call_once(0, 1);
    memset(big, 'x', sizeof big);
    uint32_t a = mti_string(big, 5000), b = mti_string(big, 4096), c = mti_string(big, 127),
             d = mti_string("", 0);
    if (a == 0 || a != b || a == c || c == 0 || d == 0 || mti_string("", 0) != d)
        return 97;
    for (int i = 0; i < 40; i++)
        mti_status(MT_ST_TORCH, 0, "again");
    mti_loss(MT_LO_STACKS, 3, 4);
    size_t size = 0;
    unsigned char *act = mti_act_take(&size);
    if (!act || size != 128u << 10 || ((uintptr_t)act & 7) || !mti_act_is_ours(act) ||
        mti_act_is_ours(big))
        return 96;
    mti_act_give(act);
    for (int i = 0; i < 32; i++)
        if (!mti_act_take(&size))
            return 95;
    if (mti_act_take(&size))
        return 94;
    mti_spool_strides(128, 80);
    mti_request_sample();
    if (!mti_sample_asked) /* samples.c takes it: tells this sample from a periodic one */
        return 93;
    for (int i = 0; i < 6000 && shared->done[60] == 0; i++)
        usleep(10000);
    errno = 55;
    call_once(0, 2);
    return errno != 55 || shared->done[60] == 0;
}

MT_TEST(odd_records_and_the_order_of_the_end)
{
    OK(run_case(odd_records, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.per_thread[0], 3);
    MT_CHECK_EQ(g.per_thread[2], 1);
    MT_CHECK_EQ(g.per_thread[3], 1);
    MT_CHECK_EQ(g.strings, 3);
    MT_CHECK_EQ(g.string_bytes, 4096 + 127);
    MT_CHECK_EQ(g.statuses[MT_ST_TORCH], 16);
    MT_CHECK_EQ(g.lost_records, 2);
    MT_CHECK_EQ(g.files_spool, 0);
    clean();
}

static int many_strings(void)
{
    char text[32];
    if (!mti_start())
        return 99;
    for (unsigned i = 1; i <= 70000; i++) {
        uint32_t id = mti_string(text, (size_t)snprintf(text, sizeof text, "string %u", i));
        if (id != (i <= 65536 ? i : 0))
            return 98;
    }
    return mti_string("string 5", 8) != 5;
}

MT_TEST(the_string_table_is_bounded)
{
    OK(run_case(many_strings, 0), 0);
    struct got g = decode(dir);
    WHOLE(g);
    MT_CHECK_EQ(g.strings, 65536);
    clean();
}

/* The process image after exec_itself(). */
static int after_exec(void)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (!mti_start())
        return 99;
    call_once(0, 0);
    return 6;
}

int main(int argc, char **argv)
{
    if (getenv("MT_INJECT_EXEC"))
        return after_exec();
    if (argc == 3 && strcmp(argv[1], "kill") == 0) {
        kill_times((int)strtol(argv[2], NULL, 10));
        return mt_n_failed != 0;
    }
    MT_RUN(four_threads_and_a_clean_exit)
    MT_RUN(kill_9_loses_no_completed_call)
    MT_RUN(exit_without_handlers_leaves_the_spool)
    MT_RUN(a_forked_child_has_files_of_its_own)
    MT_RUN(a_forked_child_may_touch_activity_buffers_of_its_parent)
    MT_RUN(a_child_does_not_keep_the_lock_of_a_dead_parent)
    MT_RUN(fork_while_others_record)
    MT_RUN(a_child_made_by_clone_writes_nothing_into_the_parents_spool)
    MT_RUN(exec_keeps_what_was_before_and_starts_anew)
    MT_RUN(signal_handlers_that_record_and_fork)
    MT_RUN(a_full_disk_is_said_and_counted)
    MT_RUN(a_limit_on_file_sizes_never_kills)
    MT_RUN(without_a_thread_the_callers_write)
    MT_RUN(without_a_thread_the_callers_let_go)
    MT_RUN(without_memory_for_the_books_the_limit_holds)
    MT_RUN(without_space_the_spool_is_in_memory)
    MT_RUN(without_fallocate_the_space_is_written)
    MT_RUN(a_slow_disk_holds_calls_for_a_second_and_then_drops)
    MT_RUN(no_folder_no_recording)
    MT_RUN(no_setting_no_recording)
    MT_RUN(the_cap_is_kept_and_said)
    MT_RUN(a_job_that_closes_our_descriptors)
    MT_RUN(a_relative_folder_stays_what_it_was)
    MT_RUN(odd_records_and_the_order_of_the_end)
    MT_RUN(the_string_table_is_bounded)
    printf("1..%d\n# %d checks, %d failed, %d skipped\n", mt_test_no, mt_n_checks, mt_n_failed,
           mt_n_skipped);
    return mt_n_failed != 0;
}
