/* attach_place.c -- where a thread of another process may be stopped and made to call dlopen().
 *
 * A thread that holds a lock of the allocator, of the loader or of the C library's threads would
 * wait for itself there. Those locks are held only while code of these libraries runs, or what they
 * call. So a thread is at a good place in any other code; in the C library it is at one where it
 * waits in the kernel for something that none of those locks is held for. A library with an
 * allocator of its own is told by its symbols: it defines malloc. */
#define _GNU_SOURCE 1
#include "capture/attach_call.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <fcntl.h>
#include <gelf.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NAMES 6u

/* ---- symbols ---- */

struct opened {
    int fd;
    Elf *elf;
};

/* A file whose path is another's now is read through the kernel, which only root may. */
static int open_mapped(pid_t pid, const struct mt_mapped_file *f)
{
    static const char gone[] = " (deleted)";
    size_t n = strlen(f->name), k = sizeof gone - 1;
    char *path = n > k && strcmp(f->name + n - k, gone) == 0
                     ? mt_text("/proc/%ld/map_files/%llx-%llx", (long)pid,
                               (unsigned long long)f->start, (unsigned long long)f->part_end)
                     : mt_strndup(f->name, n);
    int fd = path != NULL ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) : -1;
    mt_free(path);
    return fd;
}

/* The very file that is mapped there, as its first bytes say. */
static bool open_file(struct opened *o, const struct mt_call_places *p,
                      const struct mt_mapped_file *f)
{
    unsigned char here[sizeof(Elf64_Ehdr)], there[sizeof(Elf64_Ehdr)];
    struct stat st;
    o->elf = NULL;
    o->fd = open_mapped(p->pid, f);
    if (o->fd < 0)
        return false;
    if (fstat(o->fd, &st) == 0 && S_ISREG(st.st_mode) &&
        pread(o->fd, here, sizeof here, 0) == (ssize_t)sizeof here &&
        pread(p->memory, there, sizeof there, (off_t)f->start) == (ssize_t)sizeof there &&
        memcmp(here, there, sizeof here) == 0) {
        (void)elf_version(EV_CURRENT);
        o->elf = elf_begin(o->fd, ELF_C_READ_MMAP, NULL);
    }
    if (o->elf != NULL && elf_kind(o->elf) == ELF_K_ELF)
        return true;
    if (o->elf != NULL)
        (void)elf_end(o->elf);
    (void)close(o->fd);
    return false;
}

static void close_file(const struct opened *o)
{
    (void)elf_end(o->elf);
    (void)close(o->fd);
}

/* What its addresses begin with, where its first bytes are mapped. */
static uint64_t lowest_address(Elf *e)
{
    uint64_t low = UINT64_MAX;
    size_t n = 0;
    (void)elf_getphdrnum(e, &n);
    for (size_t i = 0; i < n && i < 4096; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(e, (int)i, &ph) != NULL && ph.p_type == PT_LOAD && ph.p_vaddr < low)
            low = ph.p_vaddr & ~UINT64_C(4095);
    }
    return low != UINT64_MAX ? low : 0;
}

/* Addresses, as the file has them, of functions that it exports; those that are known stay. */
static unsigned look_up(Elf *e, const char *const *names, uint64_t *at, unsigned n)
{
    unsigned found = 0;
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e, scn)) != NULL;) {
        GElf_Shdr sh;
        Elf_Data *data;
        if (gelf_getshdr(scn, &sh) == NULL || sh.sh_type != SHT_DYNSYM || sh.sh_entsize == 0 ||
            (data = elf_getdata(scn, NULL)) == NULL)
            continue;
        for (int i = 1; i < (int)(sh.sh_size / sh.sh_entsize); i++) {
            GElf_Sym sym;
            const char *name;
            if (gelf_getsym(data, i, &sym) == NULL || sym.st_shndx == SHN_UNDEF ||
                GELF_ST_TYPE(sym.st_info) != STT_FUNC || sym.st_value == 0 ||
                (name = elf_strptr(e, sh.sh_link, sym.st_name)) == NULL)
                continue;
            for (unsigned k = 0; k < n; k++)
                if (at[k] == 0 && strcmp(name, names[k]) == 0) {
                    at[k] = sym.st_value;
                    found++;
                }
        }
    }
    return found;
}

/* Where they are in the process. */
static bool find_functions(const struct mt_call_places *p, const struct mt_mapped_file *f,
                           const char *const *names, uint64_t *at, unsigned n)
{
    uint64_t here[NAMES] = {0};
    struct opened o;
    if (!open_file(&o, p, f))
        return false;
    (void)look_up(o.elf, names, here, n);
    for (unsigned i = 0; i < n; i++)
        if (at[i] == 0 && here[i] != 0)
            at[i] = here[i] - lowest_address(o.elf) + f->start;
    close_file(&o);
    return true;
}

/* Parts of the GNU C library beside it, which were files of their own before 2.34; and what walks
 * through the loader's list with its lock, for an exception of C++. */
static bool is_beside_libc(const struct mt_mapped_file *f)
{
    static const char *const names[] = {"libpthread", "libdl.",    "libdl-",
                                        "librt.",     "libgcc_s.", NULL};
    unsigned i = 0;
    while (names[i] != NULL && !mt_mapped_is(f, names[i]))
        i++;
    return names[i] != NULL || mt_mapped_is_loader(f);
}

static enum mt_locks locks_of(const struct mt_call_places *p, struct mt_mapped_file *f)
{
    static const char *const name[] = {"malloc"};
    uint64_t at = 0;
    if (f->locks == MT_LOCKS_UNKNOWN)
        f->locks = mt_mapped_is_libc(f)                            ? MT_LOCKS_LIBC
                   : is_beside_libc(f)                             ? MT_LOCKS_SOME
                   : find_functions(p, f, name, &at, 1) && at == 0 ? MT_LOCKS_NONE
                                                                   : MT_LOCKS_SOME;
    return f->locks;
}

/* ---- an instruction that stops a thread ---- */

#if defined(__aarch64__)
#define TRAP_BYTES 4u
static bool is_trap(const unsigned char *at) /* brk, with any number */
{
    uint32_t w =
        (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    return (w & 0xffe0001fu) == 0xd4200000u;
}
#else
#define TRAP_BYTES 1u
static bool is_trap(const unsigned char *at) { return *at == 0xcc; } /* int3 */
#endif

static uint64_t find_trap(const struct mt_call_places *p, const struct mt_code *c)
{
    unsigned char buf[4096];
    for (uint64_t at = c->from; at < c->to; at += sizeof buf) {
        ssize_t n = pread(p->memory, buf, sizeof buf, (off_t)at);
        for (size_t i = 0; n > 0 && i + TRAP_BYTES <= (size_t)n; i += TRAP_BYTES)
            if (is_trap(buf + i))
                return at + i;
    }
    return 0;
}

/* ---- all of it ---- */

static void find_all(struct mt_call_places *p)
{
    static const char *const names[NAMES] = {"mmap",   "munmap", "__errno_location",
                                             "dlopen", "dlsym",  "dlerror"};
    uint64_t at[NAMES] = {0};
    for (uint32_t i = 0; i < p->maps.files.n; i++) {
        const struct mt_mapped_file *f = &p->maps.files.p[i];
        /* before 2.34 dlopen() was in a library of its own */
        if (mt_mapped_is_libc(f) || mt_mapped_is(f, "libdl"))
            (void)find_functions(p, f, names, at, NAMES);
    }
    p->f_mmap = at[0];
    p->f_munmap = at[1];
    p->f_errno = at[2];
    p->f_dlopen = at[3];
    p->f_dlsym = at[4];
    p->f_dlerror = at[5];
    for (uint32_t i = 0; i < p->maps.code.n && p->trap == 0; i++) {
        const struct mt_code *c = &p->maps.code.p[i];
        if (c->file != MT_NO_FILE && mt_mapped_is_libc(&p->maps.files.p[c->file]))
            p->trap = find_trap(p, c);
    }
}

enum mt_rc mt_call_places_find(struct mt_call_places *out, pid_t pid, struct mt_err *err)
{
    char *path = mt_text("/proc/%ld/mem", (long)pid);
    memset(out, 0, sizeof *out);
    out->pid = pid;
    out->memory = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    mt_free(path);
    if (out->memory < 0)
        return mt_fail(err, MT_EIO, "process %ld: its memory cannot be written to", (long)pid);
    if (!mt_maps_read(&out->maps, pid))
        return mt_fail(err, MT_EIO, "process %ld: what is mapped in it cannot be read", (long)pid);
    find_all(out);
    if (out->f_mmap != 0 && out->f_munmap != 0 && out->f_errno != 0 && out->f_dlopen != 0 &&
        out->f_dlsym != 0 && out->f_dlerror != 0 && out->trap != 0)
        return MT_OK;
    return mt_fail(err, MT_EIO,
                   "process %ld: %s is not found in its C library (was the library's file replaced "
                   "since the process began? Then root may attach to it)",
                   (long)pid, out->trap == 0 ? "an instruction to stop at" : "dlopen()");
}

void mt_call_places_done(struct mt_call_places *p)
{
    mt_maps_done(&p->maps);
    if (p->memory >= 0)
        (void)close(p->memory);
    memset(p, 0, sizeof *p);
    p->memory = -1;
}

/* ---- what a thread does ---- */

/* "7 0x7f01 0x2 ... SP PC": the call, its six arguments, and where it was made; "-1 SP PC";
 * "running". */
bool mt_thread_doing(struct mt_thread_doing *out, pid_t pid, pid_t tid)
{
    char text[512], *at = text, *end, *name = mt_text("task/%ld/syscall", (long)tid);
    unsigned long long v[9];
    size_t got, n = 0;
    bool ok = name != NULL && mt_process_read(pid, name, text, sizeof text, &got);
    mt_free(name);
    memset(out, 0, sizeof *out);
    if (!ok)
        return false;
    for (; n < sizeof v / sizeof *v; n++, at = end) {
        v[n] = strtoull(at, &end, n == 0 ? 10 : 16);
        if (end == at)
            break;
    }
    out->in_call = n == sizeof v / sizeof *v;
    if (out->in_call) {
        out->number = (long)v[0];
        out->op = (unsigned long)v[2];
        out->sp = v[7];
        out->pc = v[8];
    }
    return true;
}

/* Calls that wait for something outside of the process, or for other threads: none is made by the
 * allocator, and the loader, which reads files, makes its own. Those two wait for their own locks
 * by a plain FUTEX_WAIT; semaphores and conditions do by the one with a set of bits. */
bool mt_thread_waits(const struct mt_thread_doing *d)
{
    switch (d->number) {
#ifdef SYS_poll
    case SYS_poll:
#endif
#ifdef SYS_select
    case SYS_select:
#endif
#ifdef SYS_epoll_wait
    case SYS_epoll_wait:
#endif
    case SYS_ppoll:
    case SYS_pselect6:
    case SYS_epoll_pwait:
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
#ifdef SYS_accept /* a call of SYS_socketcall on i386 and s390x */
    case SYS_accept:
#endif
    case SYS_accept4:
    case SYS_recvfrom:
    case SYS_recvmsg:
    case SYS_wait4:
    case SYS_waitid:
    case SYS_read: return true;
    case SYS_futex: return (d->op & (unsigned long)FUTEX_CMD_MASK) == FUTEX_WAIT_BITSET;
    default: return false;
    }
}

/* The file whose code is there; NULL = of none, or no code. */
static struct mt_mapped_file *file_at(struct mt_maps *m, uint64_t pc)
{
    for (uint32_t i = 0; i < m->code.n; i++)
        if (pc >= m->code.p[i].from && pc < m->code.p[i].to)
            return m->code.p[i].file != MT_NO_FILE ? &m->files.p[m->code.p[i].file] : NULL;
    return NULL;
}

bool mt_place_in_loader(struct mt_call_places *p, uint64_t pc)
{
    const struct mt_mapped_file *f = file_at(&p->maps, pc);
    return f != NULL && mt_mapped_is_loader(f);
}

/* Stopped in the call that it was seen in. On AArch64 the kernel has gone back to the instruction
 * of the call, to make it again. */
static bool still_waits(const struct mt_thread_doing *d, uint64_t pc, uint64_t sp)
{
#if defined(__aarch64__)
    bool same = d->pc == pc || d->pc == pc + 4;
#else
    bool same = d->pc == pc;
#endif
    return d->in_call && same && d->sp == sp && mt_thread_waits(d);
}

bool mt_place_is_safe(struct mt_call_places *p, uint64_t pc, uint64_t sp,
                      const struct mt_thread_doing *doing)
{
    struct mt_mapped_file *f = file_at(&p->maps, pc);
    enum mt_locks locks = f != NULL ? locks_of(p, f) : MT_LOCKS_SOME;
    return locks == MT_LOCKS_NONE || (locks == MT_LOCKS_LIBC && still_waits(doing, pc, sp));
}
