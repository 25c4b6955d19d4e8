/* spool_new.c -- the folder that a recording goes to. */
#include "capture/parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum mt_rc mt_spool_new(char **out, const char *base, struct mt_err *err)
{
    char real[PATH_MAX], shown[300];

    *out = NULL;
    if (base == NULL)
        base = mt_capture_env("TMPDIR");
    if (base == NULL || base[0] == '\0')
        base = "/tmp";
    (void)mt_printable(shown, sizeof shown, base, strlen(base));
    if (realpath(base, real) == NULL) /* absolute: the command may change its folder */
        return mt_fail(err, MT_EIO, "%s, for the recording: %s; name a folder with --spool", shown,
                       strerror(errno));
    *out = mt_text("%s%smemtrace-XXXXXX", real, strcmp(real, "/") == 0 ? "" : "/");
    if (*out == NULL)
        return mt_fail(err, MT_ENOMEM, "out of memory");
    if (mkdtemp(*out) == NULL) {
        int error = errno;
        mt_free(*out);
        *out = NULL;
        return mt_fail(err, MT_EIO, "%s, for the recording: %s; name another folder with --spool",
                       shown, strerror(error));
    }
    return MT_OK;
}

enum mt_rc mt_spool_at(char **out, const char *dir, struct mt_err *err)
{
    char real[PATH_MAX], shown[300];

    *out = NULL;
    (void)mt_printable(shown, sizeof shown, dir, strlen(dir));
    if ((mkdir(dir, 0700) != 0 && errno != EEXIST) || realpath(dir, real) == NULL)
        return mt_fail(err, MT_EIO, "%s, for the recording: %s", shown, strerror(errno));
    *out = mt_strndup(real, strlen(real));
    return *out != NULL ? MT_OK : mt_fail(err, MT_ENOMEM, "out of memory");
}
