/* detach.c -- asks the recorder in an attached process to end: by a file in the spool folder, for
 * which it looks. The process is not stopped for that. */
#include "capture/attach.h"
#include "capture/inject/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define STEP_MS 20

static bool ask(const char *dir)
{
    char *path = mt_path_join(dir, MTI_DETACH_FILE);
    int fd = path != NULL ? open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600) : -1;
    mt_free(path);
    if (fd >= 0)
        (void)close(fd);
    return fd >= 0;
}

static uint32_t wait_for(const char *dir, uint32_t timeout_ms)
{
    const struct timespec step = {0, STEP_MS * 1000000};
    uint32_t ms = 0;
    for (; ms < timeout_ms && mt_attach_locked(dir); ms += STEP_MS)
        (void)nanosleep(&step, NULL);
    return ms;
}

enum mt_rc mt_detach_from(const char *dir, pid_t pid, uint32_t timeout_ms, struct mt_err *err)
{
    if (!mt_attach_locked(dir))
        return MT_OK;
    if (!ask(dir))
        return mt_fail(err, MT_EIO, "%s: cannot be written: %s", dir, strerror(errno));
    (void)wait_for(dir, timeout_ms);
    return !mt_attach_locked(dir)
               ? MT_OK
               : mt_fail(
                     err, MT_EIO,
                     "process %ld was asked and still records after %u s; it may be stopped, or "
                     "hang. Its recording is in %s",
                     (long)pid, (timeout_ms + 500) / 1000, dir);
}

/* Who has the lock on the mark, by the kernel's list: "1: FLOCK  ADVISORY  WRITE 4711 fe:01:123 0
 * EOF". 0 = nobody. */
static pid_t who_waits(const char *dir)
{
    char *path = mt_path_join(dir, MT_ATTACH_FILE), *locks = mt_locks_read();
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) : -1;
    pid_t pid = locks != NULL && fd >= 0 ? mt_locks_holder(locks, fd) : 0;
    if (fd >= 0)
        (void)close(fd);
    mt_free(path);
    mt_free(locks);
    return pid;
}

static bool was_attached(const char *dir)
{
    char *path = mt_path_join(dir, MT_ATTACH_FILE);
    bool there = path != NULL && access(path, F_OK) == 0;
    mt_free(path);
    return there;
}

enum mt_rc mt_detach(struct mt_detach *out, pid_t pid, uint32_t timeout_ms, struct mt_err *err)
{
    enum mt_rc rc;
    memset(out, 0, sizeof *out);
    rc = mt_process_spool(pid, &out->dir, err);
    if (rc != MT_OK)
        return rc;
    if (!was_attached(out->dir))
        rc = mt_fail(err, MT_EINPUT,
                     "process %ld was started by 'memtrace capture', or with its variables: its "
                     "recording ends with it",
                     (long)pid);
    else {
        out->collected_by = who_waits(out->dir);
        rc = mt_detach_from(out->dir, pid, timeout_ms, err);
    }
    if (rc != MT_OK) {
        mt_free(out->dir);
        out->dir = NULL;
    }
    return rc;
}
