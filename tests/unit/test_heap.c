/* Where malloc() takes its memory from once a program is about to read. */
#define _GNU_SOURCE /* sbrk() */
#include "parser/base/big.h"
#include "parser/base/heap.h"
#include "tests/unit/mt_test.h"

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

/* Whether the mapping of p is one that the kernel was told to put into huge pages. */
static bool is_advised(const void *p)
{
    FILE *f = fopen("/proc/self/smaps", "r");
    char line[512];
    bool here = false, advised = false;
    while (f != NULL && fgets(line, sizeof line, f) != NULL) {
        uintptr_t from, to;
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &from, &to) == 2)
            here = from <= (uintptr_t)p && (uintptr_t)p < to;
        else if (here && strncmp(line, "VmFlags:", 8) == 0)
            advised = strstr(line, " hg") != NULL;
    }
    if (f != NULL)
        fclose(f);
    return advised;
}

static bool has_huge_pages(void)
{
    return access("/sys/kernel/mm/transparent_hugepage", F_OK) == 0;
}

MT_TEST(what_is_freed_is_kept_in_huge_pages)
{
    unsigned char *volatile p, *volatile q;
    uintptr_t old;
    mt_heap_prepare();
#if defined(__GLIBC__)
    if (!mt_big_has_pages())
        return;
    p = malloc(3 * MIB); /* else a mapping of its own */
    MT_ASSERT(p != NULL);
    old = (uintptr_t)p;
    MT_CHECK((uintptr_t)p + 3 * MIB <= (uintptr_t)sbrk(0));
    memset(p, 1, 3 * MIB);
    if (has_huge_pages())
        MT_CHECK(is_advised(p + 3 * MIB - 1)); /* the region begins below 2 MiB */
    free(p);
    q = malloc(3 * MIB);
    MT_CHECK_EQ((uintptr_t)q, old);
    free(q);
    MT_CHECK(!is_advised(&old)); /* the stack is not: the question can be answered with no */
#else
    (void)p, (void)q, (void)old, (void)is_advised, (void)has_huge_pages;
#endif
}

MT_MAIN(MT_RUN(what_is_freed_is_kept_in_huge_pages))
