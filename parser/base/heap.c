#define _GNU_SOURCE /* sbrk() */
#include "parser/base/heap.h"
#include "parser/base/big.h"
#include "parser/base/mem.h"

#include <stdint.h>
#include <unistd.h>

#if defined(__GLIBC__)

#include <malloc.h>
#include <sys/mman.h>

#define HUGE_PAGE ((uintptr_t)2 << 20)
#define REGION ((uintptr_t)32 << 20) /* addresses: what nobody touches takes no memory */
#define TO_GROW ((size_t)160 << 10)  /* more than a new heap has */

/* Blocks below MT_BIG_MIN come from the heap, which keeps what is freed: else each of them is a
 * mapping of its own, whose pages are cleared anew. A page of 4 KiB takes 1.3 to 1.8 us in a
 * virtual machine, with its end, a huge one 90: of a report of 100,000 events 4,200 faults are 600
 * with this, and a seventh of its time. The heap grows to the whole region first, and nothing of
 * it may be touched before the kernel is told: huge pages come where no page is yet. */
void mt_heap_prepare(void)
{
    uintptr_t skip, length;
    char *from, *to;
    void *volatile first;
    if (!mt_big_has_pages())
        return;
    (void)mallopt(M_MMAP_THRESHOLD, (int)MT_BIG_MIN);
    (void)mallopt(M_TRIM_THRESHOLD, (int)(2 * REGION));
    (void)mallopt(M_TOP_PAD, (int)REGION);
    from = sbrk(0);
    first = mt_malloc(TO_GROW);
    to = sbrk(0);
    (void)mallopt(M_TOP_PAD, (int)HUGE_PAGE);
    mt_free(first);
    if ((uintptr_t)from == UINTPTR_MAX || (uintptr_t)to == UINTPTR_MAX || to <= from)
        return; /* there is no such heap */
    skip = (HUGE_PAGE - (uintptr_t)from % HUGE_PAGE) % HUGE_PAGE;
    length = (uintptr_t)(to - from);
    if (length > skip + (uintptr_t)to % HUGE_PAGE)
        (void)madvise(from + skip, length - skip - (uintptr_t)to % HUGE_PAGE, MADV_HUGEPAGE);
}

#else

void mt_heap_prepare(void) {}

#endif
