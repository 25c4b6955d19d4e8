/* launch.c -- starts the command with the recorder in its environment and waits for it. asker.c
 * alone forks as well.
 *
 * The command runs as any other child of a shell does: same terminal, same process group, same
 * session. Signals that the terminal or the kernel makes reach it without us; those that a process
 * sends to memtrace are passed on. When the command stops (Ctrl-Z), memtrace stops as well, so that
 * the shell sees a stopped job. */
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

struct mt_launch {
    const struct mt_launch_opts *o;
    struct mt_places places;
    char *spool, *program;
    MT_VEC(char *) env; /* all of it; ends with NULL when prepared */
    uint32_t n_own;     /* the first n_own strings are ours to free */
    uint64_t end_ns;
    pid_t pid;
    int sig;
    struct mt_cgroup before; /* of the start */
    struct mt_asker asker;
    bool held; /* signals are blocked */
    sigset_t old_mask;
    /* a limit on the size of files must not end us: the write fails instead, and is reported */
};

static uint64_t realtime(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_REALTIME, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- who holds the injection ---- */

static bool is_free(const char *value)
{
    return value == NULL || value[0] == '\0' || strcmp(value, "none") == 0 ||
           strcmp(mt_base_name(value), "libmemtrace_inject.so") == 0;
}

static const char *tool_of(const char *value)
{
    static const struct {
        const char *part, *tool;
    } tools[] = {
        {"nsight-systems", "NVIDIA Nsight Systems (nsys)"},
        {"nsight_systems", "NVIDIA Nsight Systems (nsys)"},
        {"libToolsInjection", "NVIDIA Nsight Systems (nsys)"},
        {"nsys", "NVIDIA Nsight Systems (nsys)"},
        {"nsight-compute", "NVIDIA Nsight Compute (ncu)"},
        {"nsight_compute", "NVIDIA Nsight Compute (ncu)"},
        {"libcuda-injection", "NVIDIA Nsight Compute (ncu)"},
        {"ncu", "NVIDIA Nsight Compute (ncu)"},
        {"compute-sanitizer", "compute-sanitizer"},
        {"libsanitizer", "compute-sanitizer"},
        {"libInterceptorInjection", "compute-sanitizer"},
        {"libcupti", "CUPTI's own NVTX support"},
        {"cuda-gdb", "cuda-gdb"},
    };
    for (size_t i = 0; i < sizeof tools / sizeof *tools; i++)
        if (strstr(value, tools[i].part) != NULL)
            return tools[i].tool;
    return NULL;
}

bool mt_injection_holder(struct mt_holder *h)
{
    static const char *const injections[] = {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"};
    /* set in what these tools start, also where they inject by other means */
    static const char *const sessions[] = {
        "NSYS_PROFILING_SESSION_ID", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "NV_TPS_LAUNCH_TOKEN"};
    const char *nsys = mt_capture_env("NSYS_PROFILING_SESSION_ID");

    memset(h, 0, sizeof *h);
    for (size_t i = 0; i < sizeof injections / sizeof *injections; i++) {
        const char *value = mt_capture_env(injections[i]);
        if (is_free(value))
            continue;
        h->variable = injections[i];
        h->value = value;
        h->tool = tool_of(value);
        if (h->tool == NULL)
            h->tool = nsys != NULL ? "NVIDIA Nsight Systems (nsys)" : "another tool";
        return true;
    }
    for (size_t i = 0; i < sizeof sessions / sizeof *sessions; i++)
        if ((h->value = mt_capture_env(sessions[i])) != NULL) {
            h->variable = sessions[i];
            h->tool = i == 0 ? "NVIDIA Nsight Systems (nsys)" : "NVIDIA Nsight Compute (ncu)";
            return true;
        }
    return false;
}

/* ---- before the start ---- */

static enum mt_rc check_output(const struct mt_launch_opts *o, struct mt_err *err)
{
    char shown[300];
    char *dir;
    const char *base;
    struct stat st;
    int there, writable, error;

    (void)mt_printable(shown, sizeof shown, o->output, strlen(o->output));
    if (stat(o->output, &st) == 0) {
        if (S_ISDIR(st.st_mode))
            return mt_fail(err, MT_EIO, "%s is a folder; add a file name", shown);
        if (S_ISREG(st.st_mode) && !o->force)
            return mt_fail(
                err, MT_EIO,
                "%s already exists; give another name with -o, or --force to overwrite it", shown);
    } else if (errno != ENOENT || o->output[strlen(o->output) - 1] == '/') {
        return mt_fail(err, MT_EIO, "%s: cannot be written: %s", shown,
                       errno == ENOENT ? "it names a folder; add a file name" : strerror(errno));
    }
    base = mt_base_name(o->output);
    dir = base == o->output
              ? mt_strndup(".", 1)
              : mt_strndup(o->output, base == o->output + 1 ? 1 : (size_t)(base - o->output - 1));
    if (dir == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    there = stat(dir, &st) == 0 && S_ISDIR(st.st_mode);
    writable = there && access(dir, W_OK) == 0;
    error = errno;
    mt_free(dir);
    if (!there)
        return mt_fail(err, MT_EIO, "%s: its folder does not exist", shown);
    if (!writable && (stat(o->output, &st) != 0 || S_ISREG(st.st_mode)))
        return mt_fail(err, MT_EIO, "%s: its folder cannot be written: %s", shown, strerror(error));
    return MT_OK;
}

static enum mt_rc check_places(const struct mt_launch *l, struct mt_err *err)
{
    if (l->places.inject == NULL)
        return mt_fail(
            err, MT_EIO,
            "libmemtrace_inject.so is neither beside memtrace nor in ../lib/memtrace: this build "
            "cannot record. Build with "
            "-DMEMTRACE_CAPTURE=ON and install, or name the library with MEMTRACE_INJECT");
    if (l->places.site == NULL && !l->o->no_torch)
        return mt_fail(err, MT_EIO,
                       "site/sitecustomize.py is not beside libmemtrace_inject.so: copy the whole "
                       "folder lib/memtrace, or "
                       "give --no-torch to record without PyTorch snapshots");
    return MT_OK;
}

static enum mt_rc check_injection(const struct mt_launch_opts *o, struct mt_err *err)
{
    struct mt_holder h;
    char shown[300];
    if (o->take_over || !mt_injection_holder(&h))
        return MT_OK;
    return mt_fail(err, MT_EIO,
                   "%s holds the injection already (%s=%s): the GPU driver takes one tool at a "
                   "time. Run the job without it, or with "
                   "--take-over to record in its place",
                   h.tool, h.variable, mt_printable(shown, sizeof shown, h.value, strlen(h.value)));
}

/* Looks the command up as execvp() will; NULL = it is not there. mt_free() it. */
static char *program_find(const char *name)
{
    const char *path = mt_capture_env("PATH");
    if (strchr(name, '/') != NULL)
        return mt_strndup(name, strlen(name));
    if (path == NULL)
        path = "/bin:/usr/bin";
    while (*path != '\0') {
        size_t n = strcspn(path, ":");
        struct stat st;
        char *at = n > 0 ? mt_text("%.*s/%s", (int)n, path, name) : mt_strndup(name, strlen(name));
        if (at != NULL && access(at, X_OK) == 0 && stat(at, &st) == 0 && S_ISREG(st.st_mode))
            return at;
        mt_free(at);
        path += n + (path[n] == ':');
    }
    return NULL;
}

/* ---- the environment of the command ---- */

static bool build_env(struct mt_launch *l)
{
    const struct mt_launch_opts *o = l->o;
    const char *python = mt_capture_env("PYTHONPATH");
    struct mt_variable own[MT_VARIABLES + 3] = {
        {"CUDA_INJECTION64_PATH", mt_text("%s", l->places.inject)},
        {"NVTX_INJECTION64_PATH", mt_text("%s", l->places.inject)},
        /* an empty PYTHONPATH would put the working directory on the path: no colon then */
        {"PYTHONPATH", o->no_torch || l->places.site == NULL ? NULL
                       : python != NULL && python[0] != '\0'
                           ? mt_text("%s:%s", l->places.site, python)
                           : mt_strndup(l->places.site, strlen(l->places.site))},
    };
    size_t n_own = sizeof own / sizeof *own;
    bool ok = mt_variables(own + 3, o, l->spool) && own[0].value != NULL && own[1].value != NULL;

    for (size_t i = 0; i < n_own; i++) {
        char **slot = own[i].value != NULL && ok ? MT_VEC_PUSH(&l->env) : NULL;
        if (own[i].value != NULL && slot == NULL)
            ok = false;
        if (slot != NULL && (*slot = mt_text("%s=%s", own[i].name, own[i].value)) == NULL)
            ok = false;
    }
    l->n_own = l->env.n;
    for (char **e = environ; ok && *e != NULL; e++) {
        bool replaced = false;
        char **slot;
        for (size_t i = 0; i < n_own; i++) {
            size_t n = strlen(own[i].name);
            replaced |= own[i].value != NULL && strncmp(*e, own[i].name, n) == 0 && (*e)[n] == '=';
        }
        if (replaced)
            continue;
        slot = MT_VEC_PUSH(&l->env);
        if (slot == NULL)
            ok = false;
        else
            *slot = *e;
    }
    for (size_t i = 0; i < n_own; i++)
        mt_free(own[i].value);
    return ok && MT_VEC_PUSH(&l->env) != NULL; /* the NULL at the end */
}

enum mt_rc mt_launch_prepare(struct mt_launch **out, const struct mt_launch_opts *o, int *status,
                             struct mt_err *err)
{
    struct mt_launch *l = mt_calloc(1, sizeof *l);
    enum mt_rc rc;

    *out = NULL;
    *status = 125;
    if (l == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    l->o = o;
    l->asker = (struct mt_asker){.pid = -1, .life = -1};
    rc = check_output(o, err);
    if (rc == MT_OK)
        rc = mt_places_find(&l->places, err);
    if (rc == MT_OK)
        rc = check_places(l, err);
    if (rc == MT_OK)
        rc = check_injection(o, err);
    if (rc == MT_OK)
        rc = mt_spool_new(&l->spool, l->o->spool, err);
    if (rc == MT_OK && !build_env(l))
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    if (rc == MT_OK)
        rc = mt_launch_file(l->o, l->spool, 0, err);
    l->program = program_find(o->argv[0]);
    if (rc != MT_OK) {
        mt_launch_free(l, false);
        return rc;
    }
    (void)mt_cgroup_read(&l->before, MT_CGROUP_LIST, MT_CGROUP_ROOT);
    *status = 0;
    *out = l;
    return MT_OK;
}

struct mt_cgroup mt_launch_cgroup(const struct mt_launch *l)
{
    struct mt_cgroup now;
    (void)mt_cgroup_read(&now, MT_CGROUP_LIST, MT_CGROUP_ROOT);
    now.kills = now.kills > l->before.kills ? now.kills - l->before.kills : 0;
    return now;
}

const char *mt_launch_spool(const struct mt_launch *l) { return l->spool; }
const char *mt_launch_program(const struct mt_launch *l) { return l->program; }
uint32_t mt_launch_pid(const struct mt_launch *l) { return (uint32_t)l->pid; }
uint64_t mt_launch_end(const struct mt_launch *l) { return l->end_ns; }
int mt_launch_signal(const struct mt_launch *l) { return l->sig; }

/* ---- the run ---- */

/* Everything but what cannot be blocked, what our own mistakes raise, and what means nothing to a
 * command. */
static void relayed(sigset_t *set)
{
    static const int not_these[] = {SIGKILL, SIGSTOP, SIGSEGV, SIGBUS,  SIGFPE, SIGILL,
                                    SIGTRAP, SIGABRT, SIGPIPE, SIGTTIN, SIGTTOU};
    (void)sigfillset(set);
    for (size_t i = 0; i < sizeof not_these / sizeof *not_these; i++)
        (void)sigdelset(set, not_these[i]);
}

/* A job that signals its own process group signals us too; passing that on would double it. */
static bool came_from_the_job(const struct mt_launch *l, pid_t sender)
{
    for (int depth = 0; depth < 64 && sender > 1; depth++) {
        if (sender == l->pid)
            return true;
        sender = mt_parent_of(sender);
    }
    return false;
}

static void pass_on(const struct mt_launch *l, const siginfo_t *info)
{
    /* Codes above 0 are the kernel's own: the terminal has told the whole process group. But an
     * alarm that was set before we were executed is ours alone, and was meant for the command. */
    if (info->si_code > 0 ? info->si_signo != SIGALRM : came_from_the_job(l, info->si_pid))
        return;
    (void)kill(l->pid, info->si_signo);
}

/* In the child; does not return. report: where errno goes when the command cannot be executed. */
static void become(const struct mt_launch *l, int report, const struct sigaction *old_chld)
{
    int error;
    (void)sigaction(SIGCHLD, old_chld, NULL);
    if (l->o->sigpipe_default)
        (void)signal(SIGPIPE, SIG_DFL);
    if (l->o->sigxfsz_default)
        (void)signal(SIGXFSZ, SIG_DFL);
    for (int fd = 0; fd < 3; fd++)
        if (l->o->closed_fds >> fd & 1)
            (void)close(fd);
    environ = l->env.p;
    (void)sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
    (void)execvp(l->o->argv[0], l->o->argv);
    error = errno;
    (void)!write(report, &error, sizeof error);
    _exit(127);
}

/* Standard input and output belong to the command: who is at their other ends is to see them closed
 * when the command closes them. */
static void leave_streams(void)
{
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    for (int fd = 0; fd < 2 && null >= 0; fd++)
        (void)dup2(null, fd);
    if (null > 1)
        (void)close(null);
}

/* Waits until the command is gone; returns its wait status. */
static int wait_for(struct mt_launch *l)
{
    sigset_t set;
    relayed(&set);
    for (;;) {
        siginfo_t info;
        int status = 0;
        pid_t pid = waitpid(l->pid, &status, WNOHANG | WUNTRACED);
        if (pid == l->pid && WIFSTOPPED(status)) {
            int sig = WSTOPSIG(status);
            /* Stopped by the terminal. One that a debugger or a scheduler stopped is continued by
             * it, without us. */
            if (sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU) {
                (void)raise(SIGSTOP);
                /* `fg` has told it already; `kill -CONT` of memtrace alone has not */
                (void)kill(l->pid, SIGCONT);
            }
            continue;
        }
        if (pid == l->pid)
            return status;
        if (pid < 0 && errno != EINTR)
            return 0;
        if (sigwaitinfo(&set, &info) < 0)
            continue;
        if (info.si_signo != SIGCHLD)
            pass_on(l, &info);
    }
}

static enum mt_rc not_executed(const struct mt_launch *l, int error, int *status,
                               struct mt_err *err)
{
    char shown[300];
    (void)mt_printable(shown, sizeof shown, l->o->argv[0], strlen(l->o->argv[0]));
    *status = error == ENOENT || error == ENOTDIR ? 127 : 126;
    if (error == ENOENT && l->program != NULL && access(l->program, F_OK) == 0) {
        *status = 126;
        return mt_fail(err, MT_EIO,
                       "%s: cannot be executed: its interpreter is missing (the first line of a "
                       "script, or the dynamic loader)",
                       shown);
    }
    return mt_fail(err, MT_EIO, "%s: %s", shown,
                   *status == 127 ? "command not found" : strerror(error));
}

enum mt_rc mt_launch_run(struct mt_launch *l, int *status, struct mt_err *err)
{
    struct sigaction plain, old_chld;
    sigset_t set;
    int report[2], error = 0, wait_status;
    ssize_t n;

    *status = 125;
    mt_asker_start(&l->asker, l->places.inject, l->spool); /* before there is a pipe to inherit */
    if (pipe(report) != 0) {
        mt_asker_stop(&l->asker);
        return mt_fail(err, MT_EIO, "cannot start the command: %s", strerror(errno));
    }
    for (int i = 0; i < 2; i++)
        (void)fcntl(report[i], F_SETFD, FD_CLOEXEC);
    memset(&plain, 0, sizeof plain);
    plain.sa_handler = SIG_DFL; /* whoever started us may ignore it, and the status would be lost */
    (void)sigaction(SIGCHLD, &plain, &old_chld);
    relayed(&set);
    (void)sigprocmask(SIG_BLOCK, &set, &l->old_mask);
    l->held = true;
    l->pid = fork();
    if (l->pid == 0)
        become(l, report[1], &old_chld);
    error = l->pid < 0 ? errno : 0;
    (void)close(report[1]);
    leave_streams();
    if (l->pid < 0) {
        (void)close(report[0]);
        mt_asker_stop(&l->asker);
        return mt_fail(err, MT_EIO, "cannot start the command: %s", strerror(error));
    }
    do
        n = read(report[0], &error, sizeof error);
    while (n < 0 && errno == EINTR);
    (void)close(report[0]);
    wait_status = wait_for(l);
    l->end_ns = realtime();
    mt_asker_stop(&l->asker);
    if (n == (ssize_t)sizeof error)
        return not_executed(l, error, status, err);
    l->sig = WIFSIGNALED(wait_status) ? WTERMSIG(wait_status) : 0;
    *status = l->sig != 0 ? 128 + l->sig : WEXITSTATUS(wait_status);
    /* what came while it ended was meant for it */
    while (mt_launch_interrupted()) {
    }
    return MT_OK;
}

bool mt_launch_interrupted(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct timespec now = {0, 0};
    sigset_t set;
    (void)sigemptyset(&set);
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)sigaddset(&set, ends[i]);
    return sigtimedwait(&set, NULL, &now) > 0;
}

void mt_launch_free(struct mt_launch *l, bool keep_spool)
{
    if (l == NULL)
        return;
    if (l->spool != NULL && !keep_spool)
        mt_scan_remove(l->spool);
    for (uint32_t i = 0; i < l->n_own && i < l->env.n; i++)
        mt_free(l->env.p[i]);
    MT_VEC_DONE(&l->env);
    mt_free(l->spool);
    mt_free(l->program);
    mt_places_done(&l->places);
    if (l->held) {
        /* what came while the command ended, or since, was meant for it: it must not end us in its
         * place */
        const struct timespec now = {0, 0};
        sigset_t set;
        relayed(&set);
        while (sigtimedwait(&set, NULL, &now) > 0) {
        }
        (void)sigprocmask(SIG_SETMASK, &l->old_mask, NULL);
    }
    mt_free(l);
}
