/* inner.c -- a `memtrace capture` inside another: the inner one records, and leaves the name of its
 * trace in the outer one's spool, one line each. */
#include "capture/parts.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Not through a link, and not a pipe or a device, which would be waited for. */
static int open_note(const char *dir, int flags)
{
    struct stat st;
    char *path = mt_path_join(dir, MT_INNER_FILE);
    int fd = path != NULL ? open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600) : -1;
    mt_free(path);
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

void mt_tell_outer(const char *trace)
{
    const char *spool = mt_capture_env("MEMTRACE_SPOOL");
    char folder[PATH_MAX];
    char *line = NULL;
    int fd =
        spool != NULL && spool[0] != '\0' ? open_note(spool, O_WRONLY | O_CREAT | O_APPEND) : -1;
    if (fd < 0)
        return;
    if (trace[0] == '/')
        line = mt_text("%s\n", trace);
    else if (getcwd(folder, sizeof folder) != NULL)
        line = mt_text("%s/%s\n", folder, trace);
    /* What does not fit is not there: it is a hint, and the trace says the same. */
    if (line != NULL && write(fd, line, strlen(line)) < 0)
        errno = 0;
    mt_free(line);
    (void)close(fd);
}

char *mt_inner_traces(const char *dir)
{
    char text[4096], shown[2 * sizeof text];
    int fd = open_note(dir, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, sizeof text) : 0;
    if (fd >= 0)
        (void)close(fd);
    while (n > 0 && text[n - 1] == '\n')
        n--;
    if (n <= 0)
        return NULL;
    for (ssize_t i = 0; i < n; i++)
        if (text[i] == '\n')
            text[i] = ' ';
    return mt_text("%s", mt_printable(shown, sizeof shown, text, (size_t)n));
}
