/* attach_owner.c -- a spool folder for a process of another user, as root: its recorder writes as
 * that user. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* The files first: who has the folder may change what lies in it. */
static bool give(const char *dir, uid_t uid, gid_t gid)
{
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
    const struct dirent *e;
    bool ok = d != NULL;
    while (ok && (e = readdir(d)) != NULL)
        if (mt_scan_is_part(e->d_name))
            ok = fchownat(fd, e->d_name, uid, gid, AT_SYMLINK_NOFOLLOW) == 0;
    ok = ok && fchown(fd, uid, gid) == 0;
    if (d != NULL)
        (void)closedir(d);
    else if (fd >= 0)
        (void)close(fd);
    return ok;
}

/* Whether that user comes to the folder: those above it may be shut. */
static bool is_open_to(const char *dir, uid_t uid, gid_t gid)
{
    int status = -1;
    pid_t child = fork();
    if (child == 0)
        _exit(setgroups(0, NULL) == 0 && setresgid(gid, gid, gid) == 0 &&
                      setresuid(uid, uid, uid) == 0 && access(dir, W_OK | X_OK) == 0
                  ? 0
                  : 1);
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

enum mt_rc mt_attach_give(const char *dir, pid_t pid, struct mt_err *err)
{
    uid_t uid;
    gid_t gid;
    if (!mt_process_owner(pid, &uid, &gid))
        return mt_fail(err, MT_EIO, "process %ld has ended", (long)pid);
    if (uid == geteuid())
        return MT_OK;
    if (!give(dir, uid, gid))
        return mt_fail(err, MT_EIO,
                       "process %ld is user %lu's, who cannot be given the folder of the "
                       "recording, %s: %s. Run memtrace attach as that user, or as root",
                       (long)pid, (unsigned long)uid, dir, strerror(errno));
    if (!is_open_to(dir, uid, gid))
        return mt_fail(err, MT_EIO,
                       "process %ld is user %lu's, who cannot write to %s: name a folder with "
                       "--spool that this user comes to",
                       (long)pid, (unsigned long)uid, dir);
    return MT_OK;
}
