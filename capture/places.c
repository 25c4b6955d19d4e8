/* places.c -- where the parts of memtrace are, relative to the program: it may lie in a build
 * folder, an install or a copied folder. */
#include "capture/parts.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LIBRARY "libmemtrace_inject.so"

static bool is_file(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* The real path of dir/rest when it is there. 0 = out of memory. */
static int find(char **out, const char *dir, const char *rest)
{
    char real[PATH_MAX];
    char *path = mt_path_join(dir, rest);
    if (path == NULL)
        return 0;
    if (realpath(path, real) != NULL)
        *out = mt_strndup(real, strlen(real));
    mt_free(path);
    return *out != NULL || realpath(dir, real) == NULL || errno != ENOMEM;
}

enum mt_rc mt_places_find(struct mt_places *out, struct mt_err *err)
{
    /* a build folder, an install with lib or lib64 or lib/<triplet>, everything in one folder */
    static const char *const folders[] = {"lib/memtrace",
                                          "../lib/memtrace",
                                          "../lib64/memtrace",
                                          "../lib/x86_64-linux-gnu/memtrace",
                                          "../lib/aarch64-linux-gnu/memtrace",
                                          "."};
    const char *named = mt_capture_env("MEMTRACE_INJECT");
    char exe[PATH_MAX], real[PATH_MAX], shown[300];
    char *slash;
    ssize_t n;

    memset(out, 0, sizeof *out);
    if (named != NULL && named[0] != '\0') {
        bool there = realpath(named, real) != NULL;
        if (!there || !is_file(real))
            return mt_fail(err, MT_EIO, "MEMTRACE_INJECT is %s: %s",
                           mt_printable(shown, sizeof shown, named, strlen(named)),
                           there ? "not a file" : strerror(errno));
        out->inject = mt_strndup(real, strlen(real));
    }
    n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    if (n <= 0)
        return mt_fail(err, MT_EIO,
                       "/proc/self/exe cannot be read (is /proc mounted?); name the library with "
                       "MEMTRACE_INJECT");
    exe[n] = '\0';
    slash = strrchr(exe, '/');
    if (slash != NULL)
        *slash = '\0';
    for (size_t i = 0;
         i < sizeof folders / sizeof *folders && (out->inject == NULL || out->site == NULL); i++) {
        char *dir = mt_path_join(exe, folders[i]);
        char *site = NULL;
        int ok = dir != NULL && (out->inject != NULL || find(&out->inject, dir, LIBRARY)) &&
                 find(&site, dir, "site/sitecustomize.py");
        mt_free(dir);
        if (!ok) {
            mt_places_done(out);
            return mt_fail(err, MT_ENOMEM, "out of memory");
        }
        if (site != NULL && out->site == NULL) {
            *strrchr(site, '/') = '\0';
            out->site = site;
        } else {
            mt_free(site);
        }
    }
    return MT_OK;
}

void mt_places_done(struct mt_places *p)
{
    mt_free(p->inject);
    mt_free(p->site);
    p->inject = p->site = NULL;
}
