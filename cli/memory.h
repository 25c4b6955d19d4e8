/* memory.h -- how much memory a run may hold unless --max-memory says so. */
#ifndef MT_CLI_MEMORY_H
#define MT_CLI_MEMORY_H

#include <stdint.h>

/* Bytes: at most `most`, and three quarters of the machine's memory or of its cgroup's limit; 0 =
 * not known, or none. A file made for it unpacks to a thousand times its size: a message of ours is
 * better than the kernel's choice of a process. */
uint64_t mt_memory_share(uint64_t most, uint64_t ram, uint64_t cgroup);

/* mt_memory_share() of this machine and this process. */
uint64_t mt_memory_here(uint64_t most);

#endif
