/* attach_owner.c -- a spool folder for a process of another user, as root: its recorder writes as
 * that user. */
#define _GNU_SOURCE 1
#include "capture/attach.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
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

/* False: that user does not go through a folder with these permissions. Of whom more groups let
 * through it is taken that they do: the recorder says it in the end, where they do not. */
static bool lets_through(const struct stat *st, uid_t uid)
{
    return (st->st_mode & (S_IXOTH | S_IXGRP)) != 0 ||
           (st->st_uid == uid && (st->st_mode & S_IXUSR) != 0);
}

/* Whether that user comes to the folder: those above it may be shut. */
static bool is_open_to(const char *dir, uid_t uid)
{
    char *path = mt_text("%s", dir), *slash;
    bool open = path != NULL;
    struct stat st;
    while (open && (slash = strrchr(path, '/')) != NULL && slash != path) {
        *slash = '\0';
        open = stat(path, &st) == 0 && lets_through(&st, uid);
    }
    mt_free(path);
    return open;
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
    if (!is_open_to(dir, uid))
        return mt_fail(err, MT_EIO,
                       "process %ld is user %lu's, who cannot write to %s: name a folder with "
                       "--spool that this user comes to",
                       (long)pid, (unsigned long)uid, dir);
    return MT_OK;
}
