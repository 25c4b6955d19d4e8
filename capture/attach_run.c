/* attach_run.c -- runs what loads the recorder into a process, and reads what it says.
 *
 * It is never killed: a debugger that dies leaves its breakpoints in the process. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/live.h"
#include "capture/parts.h"
#include "parser/base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 10
#define LEAVE_MS 10000 /* for a child that was hurried, to come to its end */
#define CALL_MS 60000  /* for a library to be loaded: from a slow file system, say */

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

/* What it has said since n. */
static size_t hear(int fd, char *text, size_t n, size_t cap)
{
    ssize_t k;
    while (n < cap - 1 && (k = pread(fd, text + n, cap - 1 - n, (off_t)n)) > 0)
        n += (size_t)k;
    text[n] = '\0';
    return n;
}

/* Until it has ended, true; or until there is no sense in waiting for it. */
static bool wait_for(const struct mt_attach_child *c, pid_t pid, int fd, char *text, size_t cap,
                     int *status)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    int64_t until = mt_ms_now() + c->timeout_ms, end = 0; /* end: 0 = it has all its time */
    bool begun = false;
    size_t n = 0;
    for (;;) {
        pid_t gone = waitpid(pid, status, WNOHANG);
        int64_t now = mt_ms_now();
        n = hear(fd, text, n, cap);
        if (gone == pid || (gone < 0 && errno != EINTR))
            return true;
        if (!begun && c->begun != NULL && strstr(text, c->begun) != NULL) {
            begun = true;
            end = now + CALL_MS;
        }
        if (end == 0 && (now >= until || (c->stop != NULL && c->stop())))
            end = now + LEAVE_MS;
        if (end != 0 && now >= end)
            return false;
        if (end != 0 && !begun)
            c->hurry(c, pid);
        (void)nanosleep(&step, NULL);
    }
}

int mt_attach_run(const struct mt_attach_child *c, char *text, size_t cap, pid_t *left)
{
    int fd = memfd_create("memtrace-said", MFD_CLOEXEC), status = -1;
    pid_t pid;
    bool ended;
    *left = 0;
    text[0] = '\0';
    if (fd < 0)
        return -1;
    if (!spawn(c->argv, fd, &pid)) {
        (void)close(fd);
        return -1;
    }
    ended = wait_for(c, pid, fd, text, cap, &status);
    (void)close(fd);
    if (!ended) {
        *left = pid;
        return -2;
    }
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
