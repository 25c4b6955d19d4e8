/* jobs.h -- how many threads a run may use unless --jobs says so. */
#ifndef MT_JOBS_H
#define MT_JOBS_H

#include <stdint.h>

enum { MT_JOBS_MOST = 64 };

/* The cores that this process may run on, and no more than its cgroup's share of time fills; 1 to
 * MT_JOBS_MOST. */
uint32_t mt_jobs_here(void);

/* "200000 100000" of a cgroup's cpu.max: 2, rounded up; 0 = no limit, or not understood. */
uint32_t mt_jobs_quota(const char *text);

#endif
