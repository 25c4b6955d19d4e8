/* settled.h -- before a test forks: the recorder's thread, if there is one, has begun.
 *
 * AddressSanitizer's runtime takes its allocator's lock while a thread starts, and does not let go
 * of it in a child that is forked meanwhile (clang 14): the child then waits for ever. It happened
 * in 3 of 180 runs on one busy core. glibc's allocator has no such window. */
#ifndef SETTLED_H
#define SETTLED_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* A thread has the name of its process until it gives itself one, which is the first thing that the
 * recorder's thread does. */
static inline bool settled_is_named(void)
{
    bool named = false;
    DIR *d = opendir("/proc/self/task");
    unsigned n = 0;
    for (struct dirent *e; d && (e = readdir(d)) != NULL;) {
        char path[300], name[32] = "";
        if (e->d_name[0] == '.')
            continue;
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        FILE *f = fopen(path, "re");
        if (f && fgets(name, sizeof name, f))
            named |= !strcmp(name, "memtrace\n");
        if (f)
            fclose(f);
        n++;
    }
    if (d)
        closedir(d);
    return named || n < 2;
}

/* Ten seconds at most: a process whose recorder has no thread goes on as well. */
static inline void settled(void)
{
    const struct timespec t = {.tv_nsec = 1000000};
    for (int i = 0; i < 10000 && !settled_is_named(); i++)
        nanosleep(&t, NULL);
}

#endif
