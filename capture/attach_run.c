/* attach_run.c -- runs what loads the recorder into a process, and reads what it says.
 *
 * It is never killed: a debugger that dies leaves its breakpoints in the process. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/parts.h"
#include "parser/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int64_t ms_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* In a session of its own: Ctrl-C is for memtrace, not for a debugger in the middle of its work. */
static bool spawn(char *const *argv, int out, pid_t *pid)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t attr;
    sigset_t none, plain;
    bool ok;
    (void)sigemptyset(&none);
    (void)sigfillset(&plain);
    if (posix_spawnattr_init(&attr) != 0)
        return false;
    if (posix_spawn_file_actions_init(&files) != 0) {
        (void)posix_spawnattr_destroy(&attr);
        return false;
    }
    ok = posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                             POSIX_SPAWN_SETSIGDEF) == 0 &&
         posix_spawnattr_setsigmask(&attr, &none) == 0 &&
         posix_spawnattr_setsigdefault(&attr, &plain) == 0 &&
         posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0) == 0 &&
         posix_spawn_file_actions_adddup2(&files, out, 1) == 0 &&
         posix_spawn_file_actions_adddup2(&files, out, 2) == 0 &&
         posix_spawn(pid, argv[0], &files, &attr, argv, mt_capture_environ()) == 0;
    (void)posix_spawn_file_actions_destroy(&files);
    (void)posix_spawnattr_destroy(&attr);
    return ok;
}

/* What comes through fd until it ends; what does not fit is passed over. */
static void listen_to(int fd, pid_t pid, int64_t until, char *text, size_t cap)
{
    char rest[4096];
    size_t n = 0;
    bool told = false;
    for (;;) {
        struct pollfd p = {.fd = fd, .events = POLLIN};
        int64_t left = until - ms_now();
        int rc = poll(&p, 1, told ? -1 : left > 0 ? (int)left : 0);
        ssize_t k;
        if (rc == 0) { /* it stops what it waits for, and goes on to its end */
            (void)kill(pid, SIGINT);
            told = true;
            continue;
        }
        if (rc < 0 && errno == EINTR)
            continue;
        k = n < cap - 1 ? read(fd, text + n, cap - 1 - n) : read(fd, rest, sizeof rest);
        if (k <= 0)
            break;
        n += n < cap - 1 ? (size_t)k : 0;
    }
    text[n] = '\0';
}

int mt_attach_run(char *const *argv, uint32_t timeout_ms, char *text, size_t cap)
{
    int64_t until = ms_now() + timeout_ms;
    int fds[2], status = -1;
    pid_t pid;
    text[0] = '\0';
    if (pipe2(fds, O_CLOEXEC) != 0)
        return -1;
    if (!spawn(argv, fds[1], &pid)) {
        (void)close(fds[0]);
        (void)close(fds[1]);
        return -1;
    }
    (void)close(fds[1]);
    listen_to(fds[0], pid, until, text, cap);
    (void)close(fds[0]);
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool mt_attach_write(const char *path, const struct mt_text *text)
{
    int fd =
        text->failed ? -1 : open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600);
    size_t done = 0;
    while (fd >= 0 && done < text->n) {
        ssize_t k = write(fd, text->p + done, text->n - done);
        if (k <= 0 && errno != EINTR)
            break;
        done += k > 0 ? (size_t)k : 0;
    }
    return fd >= 0 && close(fd) == 0 && done == text->n;
}
