/* find.c -- which recordings go on: folders that processes were told to record into, and those in
 * the usual place that a process records into; and which were left there. */
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool add(struct mt_dirs *d, const char *dir)
{
    struct stat st, other;
    char **slot;
    if (stat(dir, &st) != 0 || !S_ISDIR(st.st_mode))
        return true;
    for (uint32_t i = 0; i < d->list.n; i++)
        if (stat(d->list.p[i], &other) == 0 && other.st_dev == st.st_dev &&
            other.st_ino == st.st_ino)
            return true;
    slot = MT_VEC_PUSH(&d->list);
    if (slot != NULL && (*slot = mt_strndup(dir, strlen(dir))) != NULL)
        return true;
    d->list.n -= slot != NULL;
    return false;
}

/* Those of the processes for which `is_wanted`; NULL = all. */
static bool by_variable(struct mt_dirs *out, bool (*is_wanted)(pid_t pid, pid_t of), pid_t of)
{
    char *buf = mt_malloc(MT_ENVIRON_MAX);
    DIR *d = opendir("/proc");
    const struct dirent *e;
    bool ok = buf != NULL;
    while (ok && d != NULL && (e = readdir(d)) != NULL) {
        pid_t pid = (pid_t)strtol(e->d_name, NULL, 10);
        const char *spool;
        if (pid <= 0 || (is_wanted != NULL && !is_wanted(pid, of)))
            continue;
        spool = mt_process_env(pid, "MEMTRACE_SPOOL", buf, MT_ENVIRON_MAX);
        ok = spool == NULL || spool[0] != '/' || add(out, spool);
    }
    if (d != NULL)
        (void)closedir(d);
    mt_free(buf);
    return ok;
}

static bool is_live(const char *locks, const char *dir) { return mt_locks_has_spool(locks, dir); }

/* Something was recorded there, and nobody records into it. */
static bool is_left(const char *locks, const char *dir)
{
    DIR *d = mt_locks_has_spool(locks, dir) ? NULL : opendir(dir);
    const struct dirent *e;
    bool found = false;
    while (!found && d != NULL && (e = readdir(d)) != NULL)
        found = strncmp(e->d_name, "mt-", 3) == 0 && strstr(e->d_name, ".spool") != NULL;
    if (d != NULL)
        (void)closedir(d);
    return found;
}

/* What `memtrace capture` makes: memtrace-XXXXXX in TMPDIR or /tmp. */
static bool by_place(struct mt_dirs *out, bool (*is_it)(const char *locks, const char *dir))
{
    const char *tmp = mt_capture_env("TMPDIR"),
               *base = tmp != NULL && tmp[0] != '\0' ? tmp : "/tmp";
    char *locks = mt_locks_read();
    DIR *d = opendir(base);
    const struct dirent *e;
    bool ok = locks != NULL;
    while (ok && d != NULL && (e = readdir(d)) != NULL) {
        char *dir;
        if (strncmp(e->d_name, "memtrace-", 9) != 0)
            continue;
        dir = mt_path_join(base, e->d_name);
        ok = dir != NULL && (!is_it(locks, dir) || add(out, dir));
        mt_free(dir);
    }
    if (d != NULL)
        (void)closedir(d);
    mt_free(locks);
    return ok;
}

enum mt_rc mt_live_find(struct mt_dirs *out, struct mt_err *err)
{
    memset(out, 0, sizeof *out);
    if (by_variable(out, NULL, 0) && by_place(out, is_live))
        return MT_OK;
    mt_dirs_done(out);
    return mt_fail(err, MT_ENOMEM, "out of memory");
}

/* A folder that a process was told to record into is not left, whoever records there just now. */
enum mt_rc mt_left_find(struct mt_dirs *out, struct mt_err *err)
{
    struct mt_dirs told = {0}, there = {0};
    bool ok = by_variable(&told, NULL, 0) && by_place(&there, is_left);
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; ok && i < there.list.n; i++) {
        uint32_t n = told.list.n;
        ok = add(&told, there.list.p[i]) && (told.list.n == n || add(out, there.list.p[i]));
    }
    mt_dirs_done(&told);
    mt_dirs_done(&there);
    if (ok)
        return MT_OK;
    mt_dirs_done(out);
    return mt_fail(err, MT_ENOMEM, "out of memory");
}

static bool is_below(pid_t pid, pid_t of)
{
    for (int depth = 0; depth < 64 && pid > 1; depth++, pid = mt_parent_of(pid))
        if (pid == of)
            return true;
    return false;
}

enum mt_rc mt_live_find_of(pid_t pid, char **dir, struct mt_err *err)
{
    struct mt_dirs below = {0};
    enum mt_rc rc = mt_process_spool(pid, dir, err);
    if (rc != MT_EINPUT)
        return rc;
    if (!by_variable(&below, is_below, pid))
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    else if (below.list.n != 0) {
        *dir = below.list.p[0];
        below.list.p[0] = NULL;
        rc = MT_OK;
    }
    mt_dirs_done(&below);
    return rc;
}

void mt_dirs_done(struct mt_dirs *d)
{
    for (uint32_t i = 0; i < d->list.n; i++)
        mt_free(d->list.p[i]);
    MT_VEC_DONE(&d->list);
}
