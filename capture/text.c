/* text.c -- small texts and paths in memory. */
#include "capture/parts.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *mt_text(const char *fmt, ...)
{
    va_list ap;
    char *p;
    int n;

    va_start(ap, fmt);
    n = vsnprintf(NULL, 0, fmt, ap);
    va_end(ap);
    p = n >= 0 ? mt_malloc((size_t)n + 1) : NULL;
    if (p == NULL)
        return NULL;
    va_start(ap, fmt);
    (void)vsnprintf(p, (size_t)n + 1, fmt, ap);
    va_end(ap);
    return p;
}

char *mt_path_join(const char *dir, const char *name) { return mt_text("%s/%s", dir, name); }

const char *mt_base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

bool mt_is_absent(int error) { return error == ENOENT || error == ELOOP || error == ENXIO; }

int mt_read_at(int fd, void *buf, size_t n, uint64_t offset, size_t *got)
{
    unsigned char *p = buf;
    *got = 0;
    while (*got < n) {
        ssize_t k = pread(fd, p + *got, n - *got, (off_t)(offset + *got));
        if (k < 0 && errno == EINTR)
            continue;
        if (k < 0)
            return 0;
        if (k == 0)
            break;
        *got += (size_t)k;
    }
    return 1;
}
