/* env.c -- the environment and the parents of processes, for all of capture/. */
#include "capture/parts.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

const char *mt_capture_env(const char *name) { return getenv(name); }
char **mt_capture_environ(void) { return environ; }

pid_t mt_parent_of(pid_t pid)
{
    char path[64], text[512];
    const char *p;
    size_t got = 0;
    int fd;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    (void)mt_read_at(fd, text, sizeof text - 1, 0, &got);
    (void)close(fd);
    text[got] = '\0';
    p = strrchr(text, ')'); /* a name may hold anything */
    return p != NULL && strlen(p) > 4 ? (pid_t)strtol(p + 4, NULL, 10) : 0;
}
