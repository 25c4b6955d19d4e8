/* The core of the injected library where something fails it: disks, threads, memory, folders, and a
 * job that takes things away. */
#include "tests/unit/inject_case.h"

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

int main(void)
{
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
    printf("1..%d\n# %d checks, %d failed, %d skipped\n", mt_test_no, mt_n_checks, mt_n_failed,
           mt_n_skipped);
    return mt_n_failed != 0;
}
