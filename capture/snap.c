/* snap.c -- asks a running process for a snapshot of PyTorch's allocator: a signal to the hook in
 * its Python (capture/site/_memtrace_hook.py), and then its file. */
#define _GNU_SOURCE 1
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 20
#define NOTES_MAX 65536u /* the hook writes a hundred lines at most */
#define ASKED "-usr"     /* in the name of a snapshot that was asked for */

struct asked {
    const struct mt_snap_opts *o;
    struct mt_err *err;
    char *dir, *mark; /* mark: "-PID-" as in the names of its files */
    int process; /* pidfd: the signal goes to the process that was looked at, and to no other */
    MT_VEC(char *) before;
    size_t n_notes; /* bytes of the notes when it was asked */
};

static bool ends(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* Whether a file is of the process, by its name: mt-HOST-PID-ID-rank... or -torch.txt, where a host
 * may hold dashes and numbers of its own. */
static bool is_of(const struct asked *a, const char *name)
{
    size_t n_mark = strlen(a->mark);
    for (const char *at = name; (at = strstr(at, a->mark)) != NULL; at++) {
        const char *id = at + n_mark;
        size_t n = strspn(id, "0123456789abcdef");
        if ((n == 16 || (n == 1 && id[0] == '0')) &&
            (strncmp(id + n, "-rank", 5) == 0 || strcmp(id + n, "-torch.txt") == 0))
            return true;
    }
    return false;
}

static bool is_known(const struct asked *a, const char *name)
{
    for (uint32_t i = 0; i < a->before.n; i++)
        if (strcmp(a->before.p[i], name) == 0)
            return true;
    return false;
}

/* Notes which snapshots of the process are there (found NULL), or finds one that was not. False:
 * out of memory, or the folder is gone. */
static bool look(struct asked *a, char **found)
{
    DIR *d = opendir(a->dir);
    const struct dirent *e;
    bool ok = d != NULL;
    while (ok && (e = readdir(d)) != NULL) {
        char **slot;
        if (strncmp(e->d_name, "mt-", 3) != 0 || !ends(e->d_name, ".pickle") ||
            !is_of(a, e->d_name) || strstr(e->d_name, ASKED) == NULL || is_known(a, e->d_name))
            continue;
        if (found != NULL) {
            ok = (*found = mt_path_join(a->dir, e->d_name)) != NULL;
            break;
        }
        slot = MT_VEC_PUSH(&a->before);
        ok = slot != NULL && (*slot = mt_strndup(e->d_name, strlen(e->d_name))) != NULL;
        if (slot != NULL && !ok)
            a->before.n--;
    }
    if (d != NULL)
        (void)closedir(d);
    return ok;
}

/* What the hook of the process has written down, the newest file of it; "" = nothing. */
static void read_notes(const struct asked *a, char *text, size_t cap)
{
    DIR *d = opendir(a->dir);
    const struct dirent *e;
    struct timespec newest = {0, 0};
    text[0] = '\0';
    while (d != NULL && (e = readdir(d)) != NULL) {
        struct stat st;
        size_t got = 0;
        int fd;
        if (!ends(e->d_name, "-torch.txt") || !is_of(a, e->d_name) ||
            (fd = openat(dirfd(d), e->d_name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)) < 0)
            continue;
        if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) &&
            (st.st_mtim.tv_sec > newest.tv_sec ||
             (st.st_mtim.tv_sec == newest.tv_sec && st.st_mtim.tv_nsec >= newest.tv_nsec)) &&
            mt_read_at(fd, text, cap - 1, 0, &got)) {
            newest = st.st_mtim;
            text[got] = '\0';
        }
        (void)close(fd);
    }
    if (d != NULL)
        (void)closedir(d);
}

/* The line in which these words are, without the time before them; NULL = there is none. */
static const char *line_with(const char *text, const char *words, char *buf, size_t cap)
{
    const char *at = strstr(text, words), *begin;
    if (at == NULL)
        return NULL;
    for (begin = at; begin > text && begin[-1] != '\n'; begin--) {
    }
    begin += strcspn(begin, " \n");
    begin += *begin == ' ';
    return mt_printable(buf, cap, begin, strcspn(begin, "\n"));
}

static bool is_python(pid_t pid)
{
    char *path = mt_text("/proc/%ld/exe", (long)pid), target[4096];
    ssize_t n = path != NULL ? readlink(path, target, sizeof target - 1) : -1;
    const char *base;
    mt_free(path);
    if (n < 0)
        return false;
    target[n] = '\0';
    base = mt_base_name(target);
    return strncmp(base, "python", 6) == 0 || strncmp(base, "pypy", 4) == 0;
}

/* Why no snapshot can be had of a process whose hook has not begun to record. */
static enum mt_rc no_history(const struct asked *a)
{
    long pid = (long)a->o->pid;
    char *buf = mt_malloc(MT_ENVIRON_MAX);
    const char *off =
        buf != NULL ? mt_process_env(a->o->pid, "MEMTRACE_TORCH", buf, MT_ENVIRON_MAX) : NULL;
    enum mt_rc rc;
    if (off != NULL && off[0] == '0')
        rc = mt_fail(a->err, MT_EINPUT,
                     "process %ld is recorded without PyTorch's history (--no-torch): it has no "
                     "snapshot to give",
                     pid);
    else if (!is_python(a->o->pid))
        rc = mt_fail(a->err, MT_EINPUT,
                     "process %ld is no Python, as far as its program says: the snapshot is "
                     "PyTorch's. 'memtrace top %ld' shows which processes use a GPU",
                     pid, pid);
    else
        rc = mt_fail(a->err, MT_EINPUT,
                     "PyTorch has not begun to use CUDA in process %ld: there is nothing to take a "
                     "snapshot of yet",
                     pid);
    mt_free(buf);
    return rc;
}

/* Whether the hook waits for the signal, by what it wrote down and by the kernel's word. */
static enum mt_rc may_be_asked(struct asked *a)
{
    char notes[NOTES_MAX], line[512];
    long pid = (long)a->o->pid;
    const char *why;
    read_notes(a, notes, sizeof notes);
    a->n_notes = strlen(notes);
    if ((why = line_with(notes, "the program records its own memory history", line, sizeof line)) !=
            NULL ||
        (why = line_with(notes, "SIGUSR2 is not handled", line, sizeof line)) != NULL)
        return mt_fail(a->err, MT_EINPUT, "process %ld cannot be asked: %s", pid, why);
    if (strstr(notes, ": recording {") == NULL)
        return no_history(a);
    if (!mt_process_catches(a->o->pid, SIGUSR2))
        return mt_fail(a->err, MT_EINPUT,
                       "process %ld cannot be asked: nothing in it handles SIGUSR2 any more, and "
                       "the signal would end it",
                       pid);
    return MT_OK;
}

/* A dump that failed is in the notes. */
static bool has_failed(const struct asked *a, char *line, size_t cap)
{
    char notes[NOTES_MAX];
    read_notes(a, notes, sizeof notes);
    return strlen(notes) > a->n_notes &&
           line_with(notes + a->n_notes, "dump usr", line, cap) != NULL;
}

static bool has_ended(const struct asked *a)
{
    struct pollfd p = {.fd = a->process, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

static enum mt_rc timed_out(const struct asked *a, uint32_t waited)
{
    return mt_fail(a->err, MT_EIO,
                   "process %ld was asked and has written nothing within %u s: Python runs the "
                   "handler between two steps of its main thread, which may wait in C code. The "
                   "snapshot may still come, into %s",
                   (long)a->o->pid, (waited + 500) / 1000, a->dir);
}

static enum mt_rc never_came(const struct asked *a)
{
    return mt_fail(a->err, MT_EIO, "process %ld ended before it wrote the snapshot",
                   (long)a->o->pid);
}

static enum mt_rc wait_for(struct asked *a, struct mt_snap *out)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    int64_t begun = mt_ms_now();
    char line[512];
    for (;;) {
        bool ended = has_ended(a); /* asked before the look: what it wrote is there */
        struct stat st;
        if (!look(a, &out->path)) /* the folder goes with the recording */
            return has_ended(a) ? never_came(a)
                                : mt_fail(a->err, MT_EIO,
                                          "%s, the folder of the recording, is gone", a->dir);
        out->waited_ms = (uint32_t)(mt_ms_now() - begun);
        if (out->path != NULL) { /* renamed when it was whole */
            out->bytes = stat(out->path, &st) == 0 ? (uint64_t)st.st_size : 0;
            return MT_OK;
        }
        if (has_failed(a, line, sizeof line))
            return mt_fail(a->err, MT_EIO, "process %ld could not write it: %s", (long)a->o->pid,
                           line);
        if (ended)
            return never_came(a);
        if (out->waited_ms >= a->o->timeout_ms || (a->o->stop != NULL && a->o->stop())) {
            out->late = true;
            return timed_out(a, out->waited_ms);
        }
        (void)nanosleep(&step, NULL);
    }
}

static enum mt_rc ask(struct asked *a, struct mt_snap *out)
{
    enum mt_rc rc = mt_process_spool(a->o->pid, &a->dir, a->err);
    if (rc != MT_OK)
        return rc;
    a->mark = mt_text("-%lu-", (unsigned long)mt_process_own_id(a->o->pid));
    if (a->mark == NULL)
        return mt_fail(a->err, MT_ENOMEM, "out of memory");
    rc = may_be_asked(a);
    if (rc != MT_OK)
        return rc;
    if (!look(a, NULL))
        return mt_fail(a->err, MT_ENOMEM, "out of memory");
    if (syscall(SYS_pidfd_send_signal, a->process, SIGUSR2, NULL, 0) != 0)
        return mt_fail(a->err, MT_EIO, "process %ld cannot be asked: %s", (long)a->o->pid,
                       strerror(errno));
    return wait_for(a, out);
}

enum mt_rc mt_snap(struct mt_snap *out, const struct mt_snap_opts *o, struct mt_err *err)
{
    struct asked a = {.o = o, .err = err};
    enum mt_rc rc;
    memset(out, 0, sizeof *out);
    a.process = (int)syscall(SYS_pidfd_open, o->pid, 0);
    if (a.process < 0)
        return errno == ESRCH ? mt_fail(err, MT_EIO, "there is no process %ld", (long)o->pid)
                              : mt_fail(err, MT_EIO, "process %ld cannot be asked: %s",
                                        (long)o->pid, strerror(errno));
    rc = ask(&a, out);
    (void)close(a.process);
    for (uint32_t i = 0; i < a.before.n; i++)
        mt_free(a.before.p[i]);
    MT_VEC_DONE(&a.before);
    mt_free(a.dir);
    mt_free(a.mark);
    return rc;
}
