/* process.c -- what /proc says of a process: its environment, its handlers, whether it is recorded.
 */
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

bool mt_process_read(pid_t pid, const char *name, char *buf, size_t cap, size_t *got)
{
    char *path = mt_text("/proc/%ld/%s", (long)pid, name);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1, error = errno;
    bool ok;
    mt_free(path);
    *got = 0;
    if (fd < 0) {
        errno = error;
        return false;
    }
    ok = mt_read_at(fd, buf, cap - 1, 0, got);
    error = errno;
    (void)close(fd);
    buf[*got] = '\0';
    errno = error;
    return ok;
}

const char *mt_process_env(pid_t pid, const char *variable, char *buf, size_t cap)
{
    size_t got, n = strlen(variable);
    if (!mt_process_read(pid, "environ", buf, cap, &got))
        return NULL;
    errno = 0;
    for (size_t at = 0; at + n < got; at += strlen(buf + at) + 1)
        if (memcmp(buf + at, variable, n) == 0 && buf[at + n] == '=')
            return buf + at + n + 1;
    return NULL;
}

/* The value of a line of /proc/PID/status, without its key; NULL = there is none. */
static const char *status_line(pid_t pid, const char *key, char *buf, size_t cap)
{
    size_t got;
    const char *at;
    if (!mt_process_read(pid, "status", buf, cap, &got))
        return NULL;
    at = strstr(buf, key); /* a key begins with the end of the line before it */
    return at != NULL ? at + strlen(key) : NULL;
}

enum { STATUS_MAX = 16384 };

uint32_t mt_process_own_id(pid_t pid)
{
    char buf[STATUS_MAX];
    const char *at = status_line(pid, "\nNSpid:", buf, sizeof buf);
    unsigned long id = (unsigned long)pid;
    char *end;
    while (at != NULL) { /* one for each namespace around it, its own last */
        unsigned long v = strtoul(at, &end, 10);
        if (end == at || *at == '\n')
            break;
        id = v;
        at = *end == '\t' || *end == ' ' ? end : NULL;
    }
    return (uint32_t)id;
}

bool mt_process_catches(pid_t pid, int signal_number)
{
    char buf[STATUS_MAX];
    const char *at = status_line(pid, "\nSigCgt:", buf, sizeof buf);
    return at != NULL && (strtoull(at, NULL, 16) >> (signal_number - 1) & 1) != 0;
}

/* "Uid: REAL EFFECTIVE SAVED FILES" */
static bool id_for_files(pid_t pid, const char *name, unsigned long *id)
{
    char buf[STATUS_MAX], *end;
    const char *at = status_line(pid, name, buf, sizeof buf);
    for (int i = 0; at != NULL && i < 4; i++, at = end) {
        *id = strtoul(at, &end, 10);
        if (end == at)
            return false;
    }
    return at != NULL;
}

bool mt_process_owner(pid_t pid, uid_t *uid, gid_t *gid)
{
    unsigned long u, g;
    if (!id_for_files(pid, "\nUid:", &u) || !id_for_files(pid, "\nGid:", &g))
        return false;
    *uid = (uid_t)u;
    *gid = (gid_t)g;
    return true;
}

long mt_process_tracer(pid_t pid)
{
    char buf[STATUS_MAX];
    const char *at = status_line(pid, "\nTracerPid:", buf, sizeof buf);
    return at != NULL ? strtol(at, NULL, 10) : 0;
}

static enum mt_rc not_recorded(pid_t pid, int error, struct mt_err *err)
{
    if (error == ENOENT || error == ESRCH)
        return mt_fail(err, MT_EIO, "there is no process %ld", (long)pid);
    if (error == EACCES || error == EPERM)
        return mt_fail(err, MT_EIO,
                       "process %ld cannot be looked at: it belongs to another user, or has shut "
                       "itself off",
                       (long)pid);
    if (error != 0)
        return mt_fail(err, MT_EIO, "process %ld cannot be looked at: %s", (long)pid,
                       strerror(error));
    return mt_fail(err, MT_EINPUT,
                   "process %ld is not recorded: it was not started by 'memtrace capture', nor "
                   "with its variables (MEMTRACE_SPOOL), and is not attached to",
                   (long)pid);
}

/* The folder of a spool file that the process has mapped, of a recording that goes on: one that was
 * attached to has no variable that says so. NULL = none. */
static char *mapped_spool(pid_t pid)
{
    static const char end[] = ".spool";
    char *text = mt_malloc(MT_ENVIRON_MAX), *found = NULL;
    size_t got, n;
    if (text != NULL && !mt_process_read(pid, "maps", text, MT_ENVIRON_MAX, &got))
        text[0] = '\0';
    for (char *line = text; line != NULL && *line != '\0' && found == NULL; line += n + 1) {
        char *path, *slash;
        n = strcspn(line, "\n");
        if (line[n] == '\0')
            break;
        line[n] = '\0';
        path = strchr(line, '/');
        slash = strrchr(line, '/');
        if (n > sizeof end && strcmp(line + n - (sizeof end - 1), end) == 0 && slash != path &&
            strncmp(slash, "/mt-", 4) == 0 && mt_spool_locked(path))
            found = mt_strndup(path, (size_t)(slash - path));
    }
    mt_free(text);
    return found;
}

enum mt_rc mt_process_spool(pid_t pid, char **dir, struct mt_err *err)
{
    char *buf = mt_malloc(MT_ENVIRON_MAX), shown[300];
    const char *spool;
    struct stat st;
    enum mt_rc rc = MT_OK;
    *dir = NULL;
    if (buf == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    spool = mt_process_env(pid, "MEMTRACE_SPOOL", buf, MT_ENVIRON_MAX);
    if (spool == NULL && errno == 0 && (*dir = mapped_spool(pid)) != NULL)
        rc = MT_OK;
    else if (spool == NULL || spool[0] == '\0')
        rc = not_recorded(pid, spool == NULL ? errno : 0, err);
    else if (stat(spool, &st) != 0 || !S_ISDIR(st.st_mode))
        rc =
            mt_fail(err, MT_EINPUT, "process %ld is not recorded any more: %s, its folder, is gone",
                    (long)pid, mt_printable(shown, sizeof shown, spool, strlen(spool)));
    else if ((*dir = mt_strndup(spool, strlen(spool))) == NULL)
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    mt_free(buf);
    return rc;
}

int64_t mt_ms_now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

enum { LOCKS_MAX = 1u << 20 };

char *mt_locks_read(void)
{
    char *locks = mt_malloc(LOCKS_MAX);
    int fd = locks != NULL ? open("/proc/locks", O_RDONLY | O_CLOEXEC) : -1;
    size_t got = 0;
    if (fd >= 0 && !mt_read_at(fd, locks, LOCKS_MAX - 1, 0, &got))
        got = 0;
    if (fd >= 0)
        (void)close(fd);
    if (locks != NULL)
        locks[got] = '\0';
    return locks;
}

/* The line of the lock on that file, at the file's numbers; NULL = there is none. */
static const char *lock_of(const char *locks, int fd)
{
    struct stat st;
    char want[64];
    if (fd < 0 || fstat(fd, &st) != 0)
        return NULL;
    snprintf(want, sizeof want, " %02x:%02x:%llu ", major(st.st_dev), minor(st.st_dev),
             (unsigned long long)st.st_ino);
    return strstr(locks, want);
}

bool mt_locks_has(const char *locks, int fd) { return lock_of(locks, fd) != NULL; }

bool mt_locks_has_spool(const char *locks, const char *dir)
{
    DIR *d = opendir(dir);
    const struct dirent *e;
    bool found = false;
    while (d != NULL && !found && (e = readdir(d)) != NULL) {
        const char *dot = strrchr(e->d_name, '.');
        int fd;
        if (strncmp(e->d_name, "mt-", 3) != 0 || dot == NULL || strcmp(dot, ".spool") != 0)
            continue;
        fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        found = fd >= 0 && mt_locks_has(locks, fd);
        if (fd >= 0)
            (void)close(fd);
    }
    if (d != NULL)
        (void)closedir(d);
    return found;
}

pid_t mt_locks_holder(const char *locks, int fd)
{
    const char *at = lock_of(locks, fd); /* "1: FLOCK  ADVISORY  WRITE 4711 fe:01:123 0 EOF" */
    if (at == NULL)
        return 0;
    while (at > locks && at[-1] >= '0' && at[-1] <= '9')
        at--;
    return (pid_t)strtol(at, NULL, 10);
}
