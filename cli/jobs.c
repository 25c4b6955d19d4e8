#define _GNU_SOURCE /* sched_getaffinity() */
#include "cli/jobs.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mt_jobs_quota(const char *text)
{
    char *end = NULL;
    uint64_t quota = strtoull(text, &end, 10), period = strtoull(end, NULL, 10);
    if (quota == 0 || period == 0) /* "max" is no number */
        return 0;
    quota = (quota - 1) / period + 1;
    return quota < UINT32_MAX ? (uint32_t)quota : 0;
}

static uint32_t quota_of(const char *folder)
{
    char path[600], text[64] = "";
    FILE *f;
    (void)snprintf(path, sizeof path, "/sys/fs/cgroup%s/cpu.max", folder);
    if ((f = fopen(path, "re")) == NULL)
        return 0;
    if (fgets(text, sizeof text, f) == NULL)
        text[0] = '\0';
    (void)fclose(f);
    return mt_jobs_quota(text);
}

/* Of the process's own cgroup and all that hold it, the least; 0 = none. */
static uint32_t quota_here(void)
{
    char line[512] = "", *at = NULL;
    FILE *f = fopen("/proc/self/cgroup", "re");
    uint32_t least = quota_of(""), q;
    while (f != NULL && at == NULL && fgets(line, sizeof line, f) != NULL)
        if (strncmp(line, "0::/", 4) == 0)
            at = line + 3;
    if (f != NULL)
        (void)fclose(f);
    if (at == NULL)
        return least;
    at[strcspn(at, "\n")] = '\0';
    while (at[0] != '\0' && at[1] != '\0') {
        if ((q = quota_of(at)) != 0 && (least == 0 || q < least))
            least = q;
        *strrchr(at, '/') = '\0';
    }
    return least;
}

uint32_t mt_jobs_here(void)
{
    cpu_set_t set;
    int n = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : MT_JOBS_MOST;
    uint32_t quota = quota_here(), jobs = n > 0 ? (uint32_t)n : 1;
    if (quota != 0 && quota < jobs)
        jobs = quota;
    return jobs < MT_JOBS_MOST ? jobs : MT_JOBS_MOST;
}
