/* The core of the injected library: threads, ends of all kinds, fork, exec, signals, records. */
#include "tests/unit/inject_case.h"

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
    MT_RUN(odd_records_and_the_order_of_the_end)
    MT_RUN(the_string_table_is_bounded)
    printf("1..%d\n# %d checks, %d failed, %d skipped\n", mt_test_no, mt_n_checks, mt_n_failed,
           mt_n_skipped);
    return mt_n_failed != 0;
}
