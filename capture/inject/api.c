/* api.c -- memtrace_push(), memtrace_pop(), memtrace_mark(): phases marked by the program itself
 * (capture/include/memtrace.h), also in a process without CUDA that only loaded this library. */
#include "capture/inject/ranges.h"

#include <string.h>

#define NAME_MAX_BYTES 4096u

MTI_EXPORT void memtrace_push(const char *name);
MTI_EXPORT void memtrace_pop(void);
MTI_EXPORT void memtrace_mark(const char *name);

static struct mti_range range_of(const char *name)
{
    return (struct mti_range){MT_WS_API, NULL, NULL, name,
                              name != NULL ? strnlen(name, NAME_MAX_BYTES) : 0};
}

void memtrace_push(const char *name)
{
    struct mti_range r = range_of(name);
    if (!mti_enter())
        return;
    mti_range_push(&r);
    mti_leave();
}

void memtrace_pop(void)
{
    if (!mti_enter())
        return;
    mti_range_pop(MT_WS_API, NULL);
    mti_leave();
}

void memtrace_mark(const char *name)
{
    struct mti_range r = range_of(name);
    if (!mti_enter())
        return;
    mti_range_mark(&r);
    mti_leave();
}
