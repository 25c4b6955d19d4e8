/* fake_tree.c -- a driver process without CUDA that marks phases while its workers use the GPU:
 * workers forked, spawned and exec'ed, one that is killed, one that outlives it. `fake_tree
 * [WORKERS [MS]]`, MS per phase; each worker is fake_app on device i modulo FAKE_GPUS with RANK,
 * LOCAL_RANK and WORLD_SIZE set. Prints one line per worker (kind and pid; "daemon" is the one that
 * outlives it). */
#include "fake_app.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char app[4200];

static void nap(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    while (nanosleep(&t, &t) && errno == EINTR) {
    }
}

/* The program beside this one. */
static int find_app(void)
{
    ssize_t n = readlink("/proc/self/exe", app, 4096);
    if (n <= 0)
        return -1;
    app[n] = 0;
    snprintf(strrchr(app, '/'), 16, "/fake_app");
    return access(app, X_OK);
}

static void set_rank(int rank, int world)
{
    char text[16];
    snprintf(text, sizeof text, "%d", rank);
    setenv("RANK", text, 1);
    setenv("LOCAL_RANK", text, 1);
    snprintf(text, sizeof text, "%d", world);
    setenv("WORLD_SIZE", text, 1);
    snprintf(text, sizeof text, "%d", rank % (int)fake_env_u64("FAKE_GPUS", 1));
    setenv("CUDA_VISIBLE_DEVICES", text, 1);
}

static pid_t start(int rank, int world, const char *kind, char *const argv[])
{
    pid_t pid = -1;
    fflush(NULL);
    if (!strcmp(kind, "spawn")) {
        set_rank(rank, world);
        if (posix_spawn(&pid, app, NULL, NULL, argv, environ))
            pid = -1;
    } else if (!(pid = fork())) {
        set_rank(rank, world);
        if (!strcmp(kind, "daemon"))
            setsid();
        execv(app, argv);
        _exit(127);
    }
    printf("%s rank=%d pid=%ld\n", kind, rank, (long)pid);
    return pid;
}

/* Words for execv(), which takes char *. */
static char program[] = "fake_app", after[] = "alloc:200", init[] = "init", leak[] = "leak:64:3",
            loop[] = "steady:0";
static char little[] = "leak:32", nap_word[] = "sleep:1500", some[] = "alloc:100", end[] = "exit:0";

/* fake_app_nvtx.c reports here: the driver's phases are known from the code below, they need no
 * truth. */
void app_told_range(const char *op, const char *name, const char *domain, int source, uint64_t id)
{
    (void)op;
    (void)name;
    (void)domain;
    (void)source;
    (void)id;
}
uint64_t app_number(const char **arg, uint64_t dflt) { return (void)arg, dflt; }

int main(int argc, char **argv)
{
    static const char *const kinds[] = {"fork", "spawn"};
    int workers = argc > 1 ? atoi(argv[1]) : 2;     /* NOLINT(cert-err34-c) */
    long ms = argc > 2 ? atol(argv[argc - 1]) : 60; /* NOLINT(cert-err34-c) */
    char train[64];
    pid_t pid[64];
    if (workers < 1 || workers > 60 || find_app()) {
        fprintf(stderr, "fake_tree: %s\n",
                workers < 1 || workers > 60 ? "1 to 60 workers" : "fake_app is not beside it");
        return 2;
    }
    ms = ms > 0 ? ms : 60;
    snprintf(train, sizeof train, "train:small:steps=2:tick=%ld", ms);
    for (int i = 0; i < workers; i++) {
        char *job[] = {program, train, after, NULL};
        pid[i] = start(i, workers, kinds[i % 2], job);
    }
    char *doomed[] = {program, init, leak, loop, NULL};
    char *lasting[] = {program, little, nap_word, some, end, NULL};
    pid_t killed = start(workers, workers, "killed", doomed);
    start(workers + 1, workers, "daemon", lasting);
    fflush(stdout);

    /* The phases that a trainer's driver marks; it has no GPU. */
    nvtx_push("step");
    static const char *const phases[] = {"gen", "old_log_prob", "update_actor", "update_weights"};
    for (unsigned i = 0; i < sizeof phases / sizeof phases[0]; i++) {
        uint64_t id = nvtx_start(phases[i]);
        nap(ms);
        nvtx_end(id);
    }
    nvtx_mark("checkpoint saved");
    nvtx_pop();
    kill(killed, SIGKILL);
    int status, worst = 0;
    for (int i = 0; i < workers; i++)
        if (waitpid(pid[i], &status, 0) < 0 || status)
            worst = 1;
    waitpid(killed, &status, 0);
    return worst;
}
