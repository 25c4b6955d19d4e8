/* attach_look.c -- whether a process can be attached to; every reason why not. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/attach_call.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LINE_MAX_ARGS 4096u

/* ---- reasons why not ---- */

static bool same_namespace(pid_t pid, const char *kind)
{
    char *a = mt_text("/proc/%ld/ns/%s", (long)pid, kind), *b = mt_text("/proc/self/ns/%s", kind);
    struct stat x, y;
    bool known = a != NULL && b != NULL && stat(a, &x) == 0 && stat(b, &y) == 0;
    mt_free(a);
    mt_free(b);
    return !known || (x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

static int ptrace_scope(void)
{
    char text[16] = "";
    size_t got = 0;
    int fd = open("/proc/sys/kernel/yama/ptrace_scope", O_RDONLY | O_CLOEXEC);
    if (fd >= 0) {
        (void)mt_read_at(fd, text, sizeof text - 1, 0, &got);
        (void)close(fd);
    }
    return (int)strtol(text, NULL, 10);
}

/* Opening its memory asks the kernel what a debugger asks. */
static enum mt_rc check_permission(pid_t pid, struct mt_err *err)
{
    char *path = mt_text("/proc/%ld/mem", (long)pid);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1, error = errno;
    int scope = ptrace_scope();
    mt_free(path);
    if (fd >= 0) {
        (void)close(fd);
        return MT_OK;
    }
    if (error == ENOENT || error == ESRCH)
        return mt_fail(err, MT_EINPUT, "there is no process %ld", (long)pid);
    if (scope > 0)
        return mt_fail(err, MT_EINPUT,
                       "process %ld may not be attached to: the kernel lets %s (kernel.yama."
                       "ptrace_scope is %d)%s",
                       (long)pid,
                       scope == 1   ? "only parents debug their children, and root all"
                       : scope == 2 ? "only root debug"
                                    : "nobody debug",
                       scope,
                       scope >= 3 ? "; that stays so until the machine is started anew"
                                  : ". Run memtrace attach as root, or: sudo sysctl "
                                    "kernel.yama.ptrace_scope=0");
    return mt_fail(
        err, MT_EINPUT,
        "process %ld may not be attached to: it belongs to another user, has shut itself "
        "off, or this container lacks the capability SYS_PTRACE",
        (long)pid);
}

static enum mt_rc check_process(pid_t pid, struct mt_err *err)
{
    long tracer = mt_process_tracer(pid);
    char *dir = NULL;
    enum mt_rc rc;
    if (pid == getpid())
        return mt_fail(err, MT_EINPUT, "%ld is this memtrace itself", (long)pid);
#if !defined(__x86_64__) && !defined(__aarch64__)
    return mt_fail(err, MT_EINPUT,
                   "process %ld cannot be attached to: memtrace can do that on x86-64 and AArch64",
                   (long)pid);
#endif
    rc = check_permission(pid, err);
    if (rc != MT_OK)
        return rc;
    if (tracer != 0)
        return mt_fail(err, MT_EINPUT,
                       "process %ld is being debugged by process %ld: a process has one debugger "
                       "at a time",
                       (long)pid, tracer);
    if (!same_namespace(pid, "pid") || !same_namespace(pid, "mnt"))
        return mt_fail(
            err, MT_EINPUT,
            "process %ld is in another container than this memtrace: run memtrace attach "
            "in that one (docker exec), where it has another number",
            (long)pid);
    if (mt_process_spool(pid, &dir, err) == MT_OK) {
        char shown[300];
        rc = mt_fail(err, MT_EINPUT, "process %ld is recorded already, into %s", (long)pid,
                     mt_printable(shown, sizeof shown, dir, strlen(dir)));
        mt_free(dir);
        return rc;
    }
    return MT_OK;
}

static enum mt_rc check_contents(pid_t pid, struct mt_err *err)
{
    bool cuda = false, libc = false, loader = false;
    struct mt_maps m;
    if (!mt_maps_read(&m, pid))
        return mt_fail(err, MT_EINPUT, "process %ld cannot be looked at: %s", (long)pid,
                       strerror(errno));
    for (uint32_t i = 0; i < m.files.n; i++) {
        cuda |= mt_mapped_is(&m.files.p[i], "libcuda.so");
        libc |= mt_mapped_is_libc(&m.files.p[i]);
        loader |= mt_mapped_is_loader(&m.files.p[i]);
    }
    mt_maps_done(&m);
    if (!cuda)
        return mt_fail(err, MT_EINPUT,
                       "process %ld does not use CUDA (libcuda.so is not loaded in it): is it the "
                       "launcher of the one that does? 'nvidia-smi' lists those on the GPU",
                       (long)pid);
    if (!libc || !loader)
        return mt_fail(err, MT_EINPUT,
                       "process %ld does not run with the GNU C library, which the recorder needs",
                       (long)pid);
    return MT_OK;
}

/* ---- what it is ---- */

static bool read_argv(struct mt_attach_plan *p)
{
    char *buf = mt_malloc(MT_ENVIRON_MAX);
    size_t got = 0;
    bool ok = buf != NULL;
    if (ok && mt_process_read(p->pid, "cmdline", buf, MT_ENVIRON_MAX, &got))
        for (size_t at = 0; ok && at < got && p->argv.n < LINE_MAX_ARGS;
             at += strlen(buf + at) + 1) {
            char **slot = MT_VEC_PUSH(&p->argv);
            ok = slot != NULL && (*slot = mt_strndup(buf + at, strlen(buf + at))) != NULL;
        }
    ok = ok && MT_VEC_PUSH(&p->argv) != NULL; /* the NULL at the end */
    mt_free(buf);
    return ok;
}

enum mt_rc mt_attach_look(struct mt_attach_plan *out, pid_t pid, struct mt_err *err)
{
    enum mt_rc rc = check_process(pid, err);
    memset(out, 0, sizeof *out);
    out->pid = pid;
    if (rc == MT_OK)
        rc = check_contents(pid, err);
    if (rc == MT_OK && !read_argv(out))
        rc = mt_fail(err, MT_ENOMEM, "out of memory");
    if (rc != MT_OK)
        mt_attach_plan_done(out);
    return rc;
}

void mt_attach_plan_done(struct mt_attach_plan *p)
{
    for (uint32_t i = 0; i < p->argv.n; i++)
        mt_free(p->argv.p[i]);
    MT_VEC_DONE(&p->argv);
    memset(p, 0, sizeof *p);
}
