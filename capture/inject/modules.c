/* modules.c -- which loaded object a code address belongs to. The list is read
 * anew only when a library was loaded or unloaded since (dlpi_adds, dlpi_subs).
 * A MODULE record is written on the first use of a module, so that the 500
 * libraries of a Python process cost nothing. No allocation: fixed tables.
 * Callers hold the lock of stacks.c. */
#define _GNU_SOURCE
#include "capture/inject/cupti.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <unistd.h>

#define MAX_MODULES 4096u
#define TEXT_BYTES (512u << 10)
#define MAX_BUILD_ID 32u
#define N_OURS 4

struct module {
    uintptr_t base, end;
    uint32_t path, path_len; /* in text */
    uint32_t id;             /* 0 = not used yet */
    uint8_t build_id[MAX_BUILD_ID], build_id_len;
    bool main_program;
};

static struct module modules[MAX_MODULES]; /* live ones, sorted by base */
static struct module fresh[MAX_MODULES];
static size_t n_modules;
static char text[TEXT_BYTES];
static uint32_t text_used;
static uint32_t next_id;
static unsigned long long seen_adds, seen_subs;
static _Atomic uint32_t unloads;
/* Ranges left out of stacks: read without the lock. */
static _Atomic uintptr_t ours_lo[N_OURS], ours_hi[N_OURS];

struct scan {
    size_t n;
    unsigned long long adds, subs;
    bool first, main_seen;
};

static uint32_t keep_text(const char *s, size_t n)
{
    if (n > TEXT_BYTES - text_used)
        return UINT32_MAX;
    memcpy(text + text_used, s, n);
    text_used += (uint32_t)n;
    return text_used - (uint32_t)n;
}

static void find_build_id(struct module *m, const ElfW(Phdr) * ph, uintptr_t load)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr) */
    const unsigned char *p = (const unsigned char *)(load + ph->p_vaddr);
    size_t left = ph->p_memsz;
    while (left >= sizeof(ElfW(Nhdr))) {
        ElfW(Nhdr) n;
        memcpy(&n, p, sizeof n);
        size_t name = ((size_t)n.n_namesz + 3) & ~(size_t)3,
               desc = ((size_t)n.n_descsz + 3) & ~(size_t)3;
        if (name > left - sizeof n || desc > left - sizeof n - name)
            return;
        if (n.n_type == NT_GNU_BUILD_ID && n.n_namesz == 4 && !memcmp(p + sizeof n, "GNU", 4) &&
            n.n_descsz <= MAX_BUILD_ID) {
            m->build_id_len = (uint8_t)n.n_descsz;
            memcpy(m->build_id, p + sizeof n + name, n.n_descsz);
            return;
        }
        p += sizeof n + name + desc;
        left -= sizeof n + name + desc;
    }
}

/* Notes that only debuggers read need not be in memory, whatever their header says. */
static bool is_loaded(const struct dl_phdr_info *info, const ElfW(Phdr) * ph)
{
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *l = &info->dlpi_phdr[i];
        if (l->p_type == PT_LOAD && (l->p_flags & PF_R) && ph->p_vaddr >= l->p_vaddr &&
            ph->p_vaddr - l->p_vaddr <= l->p_filesz &&
            ph->p_memsz <= l->p_filesz - (ph->p_vaddr - l->p_vaddr))
            return true;
    }
    return false;
}

/* The entry of the old list with the same place and name, so that its id stays.
 */
static const struct module *known(uintptr_t base, uintptr_t end, const char *path, size_t len)
{
    size_t lo = 0, hi = n_modules;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (modules[mid].base < base)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == n_modules || modules[lo].base != base || modules[lo].end != end)
        return NULL;
    if (modules[lo].main_program && !len)
        return &modules[lo];
    return modules[lo].path_len == len && !memcmp(text + modules[lo].path, path, len) ? &modules[lo]
                                                                                      : NULL;
}

static void describe(struct module *m, const struct dl_phdr_info *info, const char *path,
                     size_t len)
{
    char exe[1024];
    if (m->main_program && !len) {
        ssize_t n = readlink("/proc/self/exe", exe, sizeof exe);
        path = exe;
        len = n > 0 ? (size_t)n : 0;
    }
    m->path = keep_text(path, len);
    m->path_len = m->path == UINT32_MAX ? 0 : (uint32_t)len;
    m->path = m->path == UINT32_MAX ? 0 : m->path;
    for (size_t i = 0; i < info->dlpi_phnum; i++)
        if (info->dlpi_phdr[i].p_type == PT_NOTE && !m->build_id_len &&
            is_loaded(info, &info->dlpi_phdr[i]))
            find_build_id(m, &info->dlpi_phdr[i], info->dlpi_addr);
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct scan *s = arg;
    (void)size;
    s->adds = info->dlpi_adds;
    s->subs = info->dlpi_subs;
    if (s->first) { /* unchanged: one object is enough to know */
        s->first = false;
        if (n_modules && s->adds == seen_adds && s->subs == seen_subs)
            return 1;
    }
    uintptr_t lo = UINTPTR_MAX, hi = 0;
    for (size_t i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
        if (ph->p_type != PT_LOAD)
            continue;
        if (info->dlpi_addr + ph->p_vaddr < lo)
            lo = info->dlpi_addr + ph->p_vaddr;
        if (info->dlpi_addr + ph->p_vaddr + ph->p_memsz > hi)
            hi = info->dlpi_addr + ph->p_vaddr + ph->p_memsz;
    }
    bool main_program = !s->main_seen;
    s->main_seen = true;
    if (lo >= hi || s->n == MAX_MODULES)
        return 0;
    lo &= ~(uintptr_t)4095;
    const char *path = info->dlpi_name ? info->dlpi_name : "";
    size_t len = strnlen(path, 4096);
    const struct module *old = known(lo, hi, path, len);
    struct module *m = &fresh[s->n++];
    if (old) {
        *m = *old;
        return 0;
    }
    *m = (struct module){.base = lo, .end = hi, .main_program = main_program};
    describe(m, info, path, len);
    return 0;
}

/* One step of sort(): what is at i goes down to its place in the heap m[0..n). */
static void sink(struct module *m, size_t n, size_t i)
{
    struct module one = m[i];
    for (size_t k; (k = 2 * i + 1) < n; i = k) {
        k += k + 1 < n && m[k + 1].base > m[k].base;
        if (m[k].base <= one.base)
            break;
        m[i] = m[k];
    }
    m[i] = one;
}

/* By base, in place: qsort() of glibc before 2.37 allocates, and an allocation that registers host
 * memory with CUDA would come back here. */
static void sort(struct module *m, size_t n)
{
    for (size_t i = n / 2; i-- > 0;)
        sink(m, n, i);
    while (n > 1) {
        struct module last = m[--n];
        m[n] = m[0];
        m[0] = last;
        sink(m, n, 0);
    }
}

/* This library (unless it is linked into the program), libcupti and libcuda are
 * left out of stacks. */
static void find_ours(void)
{
    size_t n = 0;
    uintptr_t self = (uintptr_t)&find_ours;
    for (size_t i = 0; i < n_modules && n < N_OURS; i++) {
        const struct module *m = &modules[i];
        char name[128];
        const char *path = text + m->path;
        size_t len = m->path_len, cut = len;
        while (cut > 0 && path[cut - 1] != '/')
            cut--;
        len = len - cut < sizeof name - 1 ? len - cut : sizeof name - 1;
        memcpy(name, path + cut, len);
        name[len] = 0;
        bool driver = !strncmp(name, "libcuda.so", 10) || !strncmp(name, "libcupti.", 9) ||
                      !strncmp(name, "libcupti-", 9) || !strncmp(name, "libcupti_", 9);
        if (driver || (!m->main_program && self >= m->base && self < m->end)) {
            ours_lo[n] = m->base;
            ours_hi[n++] = m->end;
        }
    }
    for (; n < N_OURS; n++)
        ours_lo[n] = ours_hi[n] = 0;
}

void mti_modules_refresh(void)
{
    struct scan s = {.first = true};
    dl_iterate_phdr(on_object, &s);
    if (!s.n)
        return;
    sort(fresh, s.n);
    memcpy(modules, fresh, s.n * sizeof fresh[0]);
    n_modules = s.n;
    if (s.subs != seen_subs)
        unloads++;
    seen_adds = s.adds;
    seen_subs = s.subs;
    find_ours();
}

bool mti_code_is_ours(uintptr_t pc)
{
    for (size_t i = 0; i < N_OURS; i++)
        if (pc >= atomic_load_explicit(&ours_lo[i], memory_order_relaxed) &&
            pc < atomic_load_explicit(&ours_hi[i], memory_order_relaxed))
            return true;
    return false;
}

uint32_t mti_modules_unloads(void) { return atomic_load_explicit(&unloads, memory_order_relaxed); }

static bool emit_module(struct module *m)
{
    struct mti_w w;
    if (!mti_begin(&w, MT_WR_MODULE, 5 * MT_VARINT_MAX + m->path_len + m->build_id_len))
        return false;
    mti_u(&w, next_id + 1);
    mti_u(&w, m->base);
    mti_u(&w, m->end - m->base);
    mti_str(&w, text + m->path, m->path_len);
    mti_str(&w, m->build_id, m->build_id_len);
    mti_end(&w);
    m->id = ++next_id;
    return true;
}

uint32_t mti_module_named(const char *name)
{
    struct mti_w w;
    size_t n = strlen(name);
    if (!mti_begin(&w, MT_WR_MODULE, 5 * MT_VARINT_MAX + n))
        return 0;
    mti_u(&w, ++next_id);
    mti_u(&w, 0);
    mti_u(&w, 0);
    mti_str(&w, name, n);
    mti_str(&w, "", 0);
    mti_end(&w);
    return next_id;
}

uint32_t mti_module_of(uintptr_t pc, uint64_t *offset)
{
    size_t lo = 0, hi = n_modules;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (modules[mid].base <= pc)
            lo = mid + 1;
        else
            hi = mid;
    }
    *offset = pc;
    if (!lo || pc >= modules[lo - 1].end)
        return 0;
    struct module *m = &modules[lo - 1];
    if (!m->id && !emit_module(m))
        return 0;
    *offset = pc - m->base;
    return m->id;
}

void mti_modules_forget(void)
{
    /* Another thread may have been at it when the process forked: read all anew. */
    n_modules = 0;
    text_used = 0;
    next_id = 0;
}
