/* fail_alloc.c -- preloaded into the program by out_of_memory.py: the allocation of number
 * MT_FAIL_AT fails, and with MT_FAIL_ON every one behind it. MT_FAIL_COUNT names a file for how
 * many there were. Of the whole process: libraries and threads too. */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* glibc's own names of its allocator */
extern void *__libc_malloc(size_t n);              /* NOLINT */
extern void *__libc_calloc(size_t n, size_t size); /* NOLINT */
extern void *__libc_realloc(void *p, size_t n);    /* NOLINT */

static atomic_long count, at;
static atomic_int on;

static int fails(void)
{
    long n = atomic_fetch_add(&count, 1) + 1, limit = atomic_load(&at);
    if (limit == 0 || (atomic_load(&on) ? n < limit : n != limit))
        return 0;
    errno = ENOMEM;
    return 1;
}

#pragma GCC visibility push(default) /* NOLINTBEGIN: the names of the parameters are its own too   \
                                      */
void *malloc(size_t n) { return fails() ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return fails() ? NULL : __libc_realloc(p, n); }
/* NOLINTEND */
#pragma GCC visibility pop

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("MT_FAIL_AT");
    atomic_store(&on, getenv("MT_FAIL_ON") != NULL);
    atomic_store(&count, 0); /* the loader's own are not counted */
    atomic_store(&at, text != NULL ? strtol(text, NULL, 10) : 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("MT_FAIL_COUNT");
    long n = atomic_load(&count);
    FILE *f;
    atomic_store(&at, 0);
    if (name == NULL || (f = fopen(name, "w")) == NULL)
        return;
    (void)fprintf(f, "%ld\n", n);
    (void)fclose(f);
}
