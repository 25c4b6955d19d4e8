/* fail_calls.c -- preloaded into the program by failing_calls.py: the call of number MT_FAIL_AT
 * fails, and with MT_FAIL_ON every one behind it. MT_FAIL_KIND is alloc (the default: malloc and
 * its like) or io (open, read, write, map, sync, rename ...). MT_FAIL_COUNT names a file for how
 * many calls there were and, with MT_FAIL_SITES, for the numbers of the first, the second and the
 * last call of each place: a place is a call with all that called it, so that what runs ten
 * thousand times the same way is three calls. MT_FAIL_ONLY names the program that it happens to,
 * and not to what that runs. Of the whole process: libraries and threads too, but for the
 * allocations of libarchive: version 3.6 does not look at what they gave
 * (archive_write_add_filter_xz(), archive_read_open1() and archive_entry_set_dev() end with
 * SIGSEGV). */
#define _GNU_SOURCE /* RTLD_NEXT */
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

/* glibc's own names of its allocator */
extern void *__libc_malloc(size_t n);              /* NOLINT */
extern void *__libc_calloc(size_t n, size_t size); /* NOLINT */
extern void *__libc_realloc(void *p, size_t n);    /* NOLINT */

static atomic_long count, at;
static atomic_int on, io, sites;

#define MAX_SITES (1 << 15)
#define MAX_FRAMES 128
static struct site {
    uint64_t stack;
    long first, second, last; /* 0: none yet */
} site[MAX_SITES];
static atomic_flag held = ATOMIC_FLAG_INIT;

static void note_site(long n)
{
    void *frame[MAX_FRAMES];
    uint64_t stack = UINT64_C(14695981039346656037);
    int depth = backtrace(frame, MAX_FRAMES);
    size_t i;
    for (int k = 0; k < depth; k++) {
        stack = (stack ^ (uintptr_t)frame[k]) * UINT64_C(1099511628211);
        stack ^= stack >> 29;
    }
    while (atomic_flag_test_and_set(&held))
        ;
    for (i = (size_t)(stack % MAX_SITES); site[i].first != 0 && site[i].stack != stack;)
        i = (i + 1) % MAX_SITES;
    site[i].stack = stack;
    if (site[i].first == 0)
        site[i].first = n;
    else if (site[i].second == 0)
        site[i].second = n;
    site[i].last = n;
    atomic_flag_clear(&held);
}

static int fails(int is_io, int with)
{
    long n, limit;
    if (is_io != atomic_load(&io))
        return 0;
    n = atomic_fetch_add(&count, 1) + 1;
    if (atomic_load(&sites))
        note_site(n);
    limit = atomic_load(&at);
    if (limit == 0 || (atomic_load(&on) ? n < limit : n != limit))
        return 0;
    errno = with;
    return 1;
}

static uintptr_t archive_from, archive_to; /* code of libarchive */

static int find_archive(struct dl_phdr_info *info, size_t size, void *unused)
{
    (void)size;
    (void)unused;
    if (strstr(info->dlpi_name, "/libarchive.") == NULL)
        return 0;
    for (unsigned i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *h = &info->dlpi_phdr[i];
        if (h->p_type == PT_LOAD && (h->p_flags & PF_X) != 0) {
            archive_from = info->dlpi_addr + h->p_vaddr;
            archive_to = archive_from + h->p_memsz;
        }
    }
    return 1;
}

static int allocation_fails(const void *caller)
{
    uintptr_t code = (uintptr_t)caller;
    return (code < archive_from || code >= archive_to) && fails(0, ENOMEM);
}

/* The function of that name that would have run: a pointer to a function is no pointer to data, so
 * its bytes are copied. */
static void next(void *function, const char *name)
{
    void *p = dlsym(RTLD_NEXT, name);
    memcpy(function, &p, sizeof p);
}

#define IO(type, name, with, bad, params, args)                                                    \
    type name params                                                                               \
    {                                                                                              \
        type(*real) params;                                                                        \
        if (fails(1, with))                                                                        \
            return bad;                                                                            \
        next(&real, #name);                                                                        \
        return real args;                                                                          \
    }

#pragma GCC visibility push(default) /* NOLINTBEGIN: the names of the parameters are its own too   \
                                      */
#define ALLOCATION_FAILS allocation_fails(__builtin_return_address(0))
void *malloc(size_t n) { return ALLOCATION_FAILS ? NULL : __libc_malloc(n); }
void *calloc(size_t n, size_t size) { return ALLOCATION_FAILS ? NULL : __libc_calloc(n, size); }
void *realloc(void *p, size_t n) { return ALLOCATION_FAILS ? NULL : __libc_realloc(p, n); }

int open(const char *path, int flags, ...)
{
    int (*real)(const char *, int, ...);
    va_list ap;
    mode_t mode;
    va_start(ap, flags);
    mode = va_arg(ap, mode_t); /* read, and not used, where there is none */
    va_end(ap);
    if (fails(1, EMFILE))
        return -1;
    next(&real, "open");
    return real(path, flags, mode);
}
IO(int, __open_2, EMFILE, -1, (const char *path, int flags), (path, flags))
IO(FILE *, fopen, EMFILE, NULL, (const char *path, const char *mode), (path, mode))
IO(DIR *, opendir, EMFILE, NULL, (const char *path), (path))
IO(struct dirent *, readdir, EIO, NULL, (DIR * d), (d))
IO(ssize_t, read, EIO, -1, (int fd, void *p, size_t n), (fd, p, n))
IO(ssize_t, __read_chk, EIO, -1, (int fd, void *p, size_t n, size_t room), (fd, p, n, room))
IO(ssize_t, pread, EIO, -1, (int fd, void *p, size_t n, off_t from), (fd, p, n, from))
IO(ssize_t, write, ENOSPC, -1, (int fd, const void *p, size_t n), (fd, p, n))
IO(int, fstat, EIO, -1, (int fd, struct stat *st), (fd, st))
IO(int, stat, EIO, -1, (const char *path, struct stat *st), (path, st))
IO(int, lstat, EIO, -1, (const char *path, struct stat *st), (path, st))
IO(off_t, lseek, EIO, -1, (int fd, off_t to, int whence), (fd, to, whence))
IO(void *, mmap, ENOMEM, MAP_FAILED, (void *p, size_t n, int prot, int flags, int fd, off_t from),
   (p, n, prot, flags, fd, from))
IO(int, ftruncate, EIO, -1, (int fd, off_t n), (fd, n))
IO(int, fchmod, EPERM, -1, (int fd, mode_t mode), (fd, mode))
IO(int, fsync, EIO, -1, (int fd), (fd))
IO(int, rename, EIO, -1, (const char *from, const char *to), (from, to))
IO(int, link, EMLINK, -1, (const char *from, const char *to), (from, to))
/* NOLINTEND */
#pragma GCC visibility pop

__attribute__((constructor)) static void begin(void)
{
    const char *text = getenv("MT_FAIL_AT"), *kind = getenv("MT_FAIL_KIND");
    const char *only = getenv("MT_FAIL_ONLY");
    if (only != NULL && strcmp(only, program_invocation_short_name) != 0)
        text = NULL;
    atomic_store(&io, kind != NULL && strcmp(kind, "io") == 0);
    atomic_store(&on, getenv("MT_FAIL_ON") != NULL);
    (void)dlopen(MT_LIBARCHIVE, RTLD_NOW); /* which the program does later */
    (void)dlopen(MT_LIBSQLITE, RTLD_NOW);
    (void)dl_iterate_phdr(find_archive, NULL);
    if (getenv("MT_FAIL_SITES") != NULL) {
        void *frame[1];
        (void)backtrace(frame, 1); /* the first call loads a library */
        atomic_store(&sites, 1);
    }
    atomic_store(&count, 0); /* the loader's own are not counted */
    atomic_store(&at, text != NULL ? strtol(text, NULL, 10) : 0);
}

__attribute__((destructor)) static void end(void)
{
    const char *name = getenv("MT_FAIL_COUNT"), *only = getenv("MT_FAIL_ONLY");
    long n = atomic_load(&count);
    FILE *f;
    atomic_store(&at, 0);
    atomic_store(&sites, 0);
    if (only != NULL && strcmp(only, program_invocation_short_name) != 0)
        return;
    if (name == NULL || (f = fopen(name, "w")) == NULL)
        return;
    (void)fprintf(f, "%ld\n", n);
    for (size_t i = 0; i < MAX_SITES; i++)
        if (site[i].first != 0)
            (void)fprintf(f, "%ld %ld %ld\n", site[i].first, site[i].second, site[i].last);
    (void)fclose(f);
}
