/* fake_app.c -- a program that uses (fake) CUDA in the ways named on its command line; see fake.h.
 */
#include "fake_app.h"
#include "settled.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char program[] = "fake_app";
static char **rest; /* words after the one that runs */
static unsigned threads = 1;
static bool stop; /* exec took the rest over, or failed to */
static int stop_status;

static const struct scenario *const lists[] = {mem_scenarios, import_scenarios, nvtx_scenarios,
                                               train_scenarios, process_scenarios};

uint64_t app_number(const char **arg, uint64_t dflt)
{
    const char *s = *arg;
    char *end;
    uint64_t v = strtoull(s, &end, 10);
    if (end == s)
        return dflt;
    *arg = end + (*end == ':');
    return v;
}

/* ---- output, time, ends ---- */

static void s_print(const char *arg)
{
    printf("%s\n", *arg ? arg : "fake_app: output");
    fflush(stdout);
}
static void s_stderr(const char *arg)
{
    fprintf(stderr, "%s\n", *arg ? arg : "fake_app: words on stderr");
}

static void s_sleep(const char *arg)
{
    uint64_t ms = app_number(&arg, 100);
    struct timespec t = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

/* What a test wants to know or to wait for has come; what it has yet to do. */
static void s_touch(const char *arg)
{
    FILE *f = fopen(arg, "w");
    if (f)
        fclose(f);
}
static void s_await(const char *arg)
{
    for (int i = 0; i < 60000 && access(arg, F_OK); i++)
        nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}
static void s_resident(const char *arg)
{
    char line[256];
    unsigned long kib;
    FILE *f = fopen("/proc/self/status", "r");
    (void)arg;
    while (f && fgets(line, sizeof line, f))
        if (sscanf(line, "VmHWM: %lu", &kib) == 1)
            printf("%lu\n", kib);
    if (f)
        fclose(f);
    fflush(stdout);
}

static void s_exit(const char *arg)
{
    int status = (int)app_number(&arg, 0);
    app_end_line("exit");
    exit(status);
}
static void s_quick(const char *arg)
{
    int status = (int)app_number(&arg, 0);
    app_end_line("_exit");
    _exit(status);
}
static void by_signal(int sig, const char *how)
{
    app_end_line(how);
    raise(sig);
}
static void s_abort(const char *arg)
{
    (void)arg;
    app_end_line("abort");
    abort();
}
static void s_segv(const char *arg) { (void)arg, by_signal(SIGSEGV, "segv"); }
static void s_kill9(const char *arg) { (void)arg, by_signal(SIGKILL, "kill9"); }
static void s_term(const char *arg) { (void)arg, by_signal(SIGTERM, "term"); }

/* exit() from another thread than the first, while the others are in the driver. */
static void *exit_thread(void *arg)
{
    exit((int)(intptr_t)arg);
    return NULL;
}
static void s_thread_exit(const char *arg)
{
    pthread_t t;
    uint64_t status = app_number(&arg, 0);
    app_end_line("exit");
    if (!pthread_create(&t, NULL, exit_thread,
                        (void *)(intptr_t)status)) /* NOLINT(performance-no-int-to-ptr) */
        pthread_join(t, NULL);
}

/* ---- processes ---- */

static void s_exec(const char *arg)
{
    (void)arg;
    size_t n = 0;
    while (rest[n])
        n++;
    char **argv = calloc(n + 2, sizeof *argv);
    if (!argv)
        return;
    argv[0] = program;
    memcpy(argv + 1, rest, n * sizeof *argv);
    app_end_line("exec");
    execv("/proc/self/exe", argv);
    perror("fake_app: exec");
    free(argv);
    stop = true;
    stop_status = 126;
}

/* Words of a child: separated by commas. Every second array element is a word.
 */
static size_t split(char *text, char **words, size_t max)
{
    size_t n = 0;
    for (char *save = NULL, *w = strtok_r(text, ",", &save); w && n < max;
         w = strtok_r(NULL, ",", &save))
        words[n++] = w;
    return n;
}

static void child(const char *arg, bool wait)
{
    char text[512], *words[32];
    snprintf(text, sizeof text, "%s", arg);
    size_t n = split(text, words, 32);
    fflush(NULL);
    settled();
    pid_t pid = fork();
    if (pid == 0) {
        app_truth_start();
        threads = 1;
        int r = 0;
        for (size_t i = 0; i < n && !r; i++)
            r = app_run(words[i]);
        app_end_line("exit");
        exit(r);
    }
    if (pid > 0 && wait)
        waitpid(pid, NULL, 0);
}
static void s_fork(const char *arg) { child(arg, true); }
static void s_background(const char *arg) { child(arg, false); }

static void s_spawn(const char *arg)
{
    char text[512], *argv[34] = {program};
    snprintf(text, sizeof text, "%s", arg);
    size_t n = split(text, argv + 1, 32);
    argv[n + 1] = NULL;
    pid_t pid;
    if (!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
        waitpid(pid, NULL, 0);
}

static void s_wait(const char *arg)
{
    (void)arg;
    while (waitpid(-1, NULL, 0) > 0) {
    }
}

/* ---- settings ---- */

static void s_threads(const char *arg) { threads = (unsigned)app_number(&arg, 2); }
static void s_seed(const char *arg) { self.rng = app_number(&arg, 1); }
static void s_init(const char *arg)
{
    (void)arg;
    int r = app_cuda();
    if (r)
        fprintf(stderr, "fake_app: no CUDA (%d)\n", r);
}
static void s_device(const char *arg)
{
    int r = app_device((int)app_number(&arg, 0));
    if (r)
        fprintf(stderr, "fake_app: device %s: %d\n", arg, r);
}

static void s_owner(const char *arg)
{
    static const char *const names[OWNER_N] = {"app", "torch", "nccl", "cublas", "cumem", "tms"};
    for (unsigned i = 0; i < OWNER_N; i++)
        if (!strcmp(arg, names[i]) && !app_open_owner((enum owner)i))
            self.owner = (enum owner)i;
}

/* Libraries that a real program has mapped before it starts CUDA. */
static void s_dlopen(const char *arg)
{
    if (!dlopen(arg, RTLD_NOW | RTLD_LOCAL))
        fprintf(stderr, "fake_app: %s\n", dlerror());
}

const struct scenario process_scenarios[] = {
    {"init", "cuInit", s_init, false, false},
    {"device", "N makes the primary context of device N current", s_device, false, false},
    {"threads", "N threads run each of the scenarios that follow", s_threads, false, false},
    {"seed", "N of the random numbers", s_seed, false, false},
    {"owner", "app|torch|nccl|cublas|cumem|tms the library that makes the calls that follow",
     s_owner, false, false},
    {"dlopen", "FILE loads a library", s_dlopen, false, false},
    {"print", "TEXT on stdout", s_print, false, false},
    {"stderr", "TEXT on stderr", s_stderr, false, false},
    {"sleep", "MS (100)", s_sleep, false, false},
    {"touch", "FILE makes it", s_touch, false, false},
    {"await", "FILE waits until it is there, five minutes at most", s_await, false, false},
    {"resident", "the most memory that was resident, in KiB, on stdout", s_resident, false, false},
    {"exit", "STATUS (0)", s_exit, false, false},
    {"_exit", "STATUS without exit handlers", s_quick, false, false},
    {"threadexit", "STATUS exit() from another thread", s_thread_exit, false, false},
    {"abort", "", s_abort, false, false},
    {"segv", "", s_segv, false, false},
    {"kill9", "", s_kill9, false, false},
    {"term", "SIGTERM to itself", s_term, false, false},
    {"exec", "the words that follow run in a new image of this process", s_exec, false, false},
    {"fork", "A,B,... a forked child runs them and is waited for", s_fork, false, false},
    {"background", "A,B,... the same, not waited for", s_background, false, false},
    {"spawn", "A,B,... a spawned child runs them and is waited for", s_spawn, false, false},
    {"wait", "for all children", s_wait, false, false},
    {NULL, NULL, NULL, false, false}};

/* ---- running ---- */

struct job {
    const struct scenario *s;
    const char *arg;
    struct app_thread like;
    unsigned index;
};

static void *run_thread(void *p)
{
    const struct job *j = p;
    app_thread_start(&j->like, j->index);
    j->s->run(j->arg);
    return NULL;
}

static void run_parallel(const struct scenario *s, const char *arg)
{
    enum { MAX = 64 };
    pthread_t t[MAX];
    static struct job jobs[MAX];
    unsigned n = threads < MAX ? threads : MAX, started = 0;
    for (; started < n; started++) {
        jobs[started] = (struct job){s, arg, self, started};
        if (pthread_create(&t[started], NULL, run_thread, &jobs[started]))
            break;
    }
    for (unsigned i = 0; i < started; i++)
        pthread_join(t[i], NULL);
}

static const struct scenario *find(const char *name, size_t n)
{
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        for (const struct scenario *s = lists[k]; s->name; s++)
            if (strlen(s->name) == n && !memcmp(s->name, name, n))
                return s;
    return NULL;
}

int app_run(const char *word_)
{
    size_t n = strcspn(word_, ":");
    const struct scenario *s = find(word_, n);
    if (!s) {
        fprintf(stderr, "fake_app: no scenario \"%.*s\"; see `fake_app help`\n", (int)n, word_);
        return 2;
    }
    if (s->cuda && !self.context) {
        int r = app_device(0);
        if (r) {
            fprintf(stderr, "fake_app: no CUDA (%d)\n", r);
            return 0;
        }
    }
    const char *arg = word_ + n + (word_[n] == ':');
    if (s->parallel && threads > 1)
        run_parallel(s, arg);
    else
        s->run(arg);
    return stop ? stop_status : 0;
}

static int help(void)
{
    printf("usage: fake_app SCENARIO[:ARGUMENT]...   in order, in one process\n");
    for (size_t k = 0; k < sizeof lists / sizeof lists[0]; k++)
        for (const struct scenario *s = lists[k]; s->name; s++)
            printf("  %-12s %s\n", s->name, s->help);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "help"))
        return help();
    app_truth_start();
    self.rng = 1;
    for (int i = 1; i < argc; i++) {
        rest = argv + i + 1;
        int r = app_run(argv[i]);
        if (r)
            return r;
    }
    app_end_line("return");
    return 0;
}
