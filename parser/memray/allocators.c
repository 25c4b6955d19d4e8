/* memray/allocators.c -- the numbers by which recordings name what got or freed memory. */
#include "parser/memray/impl.h"

#define NONE                                                                                       \
    {                                                                                              \
        MT_MR_MALLOC, false, false                                                                 \
    }
#define MALLOC                                                                                     \
    {                                                                                              \
        MT_MR_MALLOC, false, true                                                                  \
    }
#define FREE                                                                                       \
    {                                                                                              \
        MT_MR_MALLOC, true, true                                                                   \
    }
#define PYTHON                                                                                     \
    {                                                                                              \
        MT_MR_PYTHON, false, true                                                                  \
    }
#define PYTHON_FREE                                                                                \
    {                                                                                              \
        MT_MR_PYTHON, true, true                                                                   \
    }
#define MMAP                                                                                       \
    {                                                                                              \
        MT_MR_MMAP, false, true                                                                    \
    }
#define MUNMAP                                                                                     \
    {                                                                                              \
        MT_MR_MMAP, true, true                                                                     \
    }

/* clang-format off */
/* PyMalloc's free, malloc, calloc, realloc; free, malloc, realloc, calloc, posix_memalign,
 * aligned_alloc, memalign, valloc, pvalloc; mmap, munmap */
static const struct mt_mr_allocator since_12[MT_MR_ALLOCATORS] = {
    NONE,
    PYTHON_FREE, PYTHON, PYTHON, PYTHON,
    FREE, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC,
    MMAP, MUNMAP,
};
/* the same in another order */
static const struct mt_mr_allocator since_7[MT_MR_ALLOCATORS] = {
    NONE,
    MALLOC, FREE, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC, MALLOC,
    MMAP, MUNMAP,
    PYTHON, PYTHON, PYTHON, PYTHON_FREE,
};
/* clang-format on */

const struct mt_mr_allocator *mt_mr_allocators(uint32_t version)
{
    return version >= 12 ? since_12 : since_7;
}
