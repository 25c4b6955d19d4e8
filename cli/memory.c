#include "cli/memory.h"
#include "capture/capture.h"

#include <unistd.h>

uint64_t mt_memory_share(uint64_t most, uint64_t ram, uint64_t cgroup)
{
    uint64_t there = ram;
    if (cgroup != 0 && (there == 0 || cgroup < there))
        there = cgroup;
    return there != 0 && there / 4 * 3 < most ? there / 4 * 3 : most;
}

uint64_t mt_memory_here(uint64_t most)
{
    struct mt_cgroup group = {0, 0, 0};
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    (void)mt_cgroup_read(&group, MT_CGROUP_LIST, MT_CGROUP_ROOT);
    return mt_memory_share(most, pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : 0,
                           group.limit);
}
