/* cgroup.c -- the limit on host memory that a job shares, and how often the kernel killed for it.
 *
 * Sources: Linux, Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.peak, memory.events)
 * and cgroup-v1/memory.rst (memory.limit_in_bytes, memory.max_usage_in_bytes, memory.oom_control,
 * whose oom_kill is there since 4.13). */
#include "capture/parts.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* v1 says "no limit" with a number of pages that nobody has. */
#define NO_LIMIT (UINT64_C(1) << 60)

static size_t read_file(const char *path, char *text, size_t room)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t n = 0;
    if (fd < 0)
        return 0;
    for (ssize_t got; n < room - 1 && (got = read(fd, text + n, room - 1 - n)) > 0;)
        n += (size_t)got;
    (void)close(fd);
    text[n] = '\0';
    return n;
}

/* The number in dir/name, behind `key ` at the start of a line where key is given. */
static bool number_in(const char *dir, const char *name, const char *key, uint64_t *v)
{
    char path[PATH_MAX + 64], text[4096], *end;
    const char *at = text;
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    if (read_file(path, text, sizeof text) == 0)
        return false;
    for (size_t n = key != NULL ? strlen(key) : 0; n != 0; at++) {
        if (strncmp(at, key, n) == 0 && at[n] == ' ') {
            at += n + 1;
            break;
        }
        at = strchr(at, '\n');
        if (at == NULL)
            return false;
    }
    *v = strtoull(at, &end, 10);
    return end != at; /* "max" is no number */
}

/* The path of this process in the hierarchy that has the memory controller: of v1 in a line
 * "4:memory:/path", of v2 in "0::/path". */
static const char *own_path(char *list, bool *v1)
{
    const char *v2 = NULL, *found = NULL;
    char *rest = NULL;
    for (char *line = strtok_r(list, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        char *names = strchr(line, ':'), *path = names != NULL ? strchr(names + 1, ':') : NULL;
        if (path == NULL)
            continue;
        *path++ = '\0';
        if (names[1] == '\0')
            v2 = path;
        for (const char *s = strstr(names + 1, "memory"); s != NULL; s = strstr(s + 1, "memory"))
            if ((s[-1] == ':' || s[-1] == ',') && (s[6] == '\0' || s[6] == ','))
                found = path;
    }
    *v1 = found != NULL;
    return found != NULL ? found : v2;
}

bool mt_cgroup_read(struct mt_cgroup *out, const char *list, const char *root)
{
    char text[4096], dir[PATH_MAX];
    bool v1;
    const char *path, *limit, *peak, *events;
    size_t least;
    uint64_t v;
    memset(out, 0, sizeof *out);
    if (read_file(list, text, sizeof text) == 0 || (path = own_path(text, &v1)) == NULL)
        return false;
    limit = v1 ? "memory.limit_in_bytes" : "memory.max";
    peak = v1 ? "memory.max_usage_in_bytes" : "memory.peak";
    events = v1 ? "memory.oom_control" : "memory.events";
    least = (size_t)snprintf(dir, sizeof dir, "%s%s", root, v1 ? "/memory" : "");
    if (least + strlen(path) >= sizeof dir)
        return false;
    memcpy(dir + least, path, strlen(path) + 1);
    /* in a container the path may be the host's, and what is mounted the container's own group */
    if (!number_in(dir, events, "oom_kill", &out->kills)) {
        dir[least] = '\0';
        if (!number_in(dir, events, "oom_kill", &out->kills))
            return false;
    }
    (void)number_in(dir, peak, NULL, &out->peak);
    for (;;) { /* the least of its own and of those above */
        char *slash;
        if (number_in(dir, limit, NULL, &v) && v < NO_LIMIT && (out->limit == 0 || v < out->limit))
            out->limit = v;
        slash = strrchr(dir, '/');
        if (strlen(dir) <= least || slash == NULL)
            return true;
        *(slash < dir + least ? dir + least : slash) = '\0';
    }
}
