/* symbols.c -- names for native frames, from the symbol tables of the very files that were loaded
 * (build id compared), or from their separate debug files. Modules stay open, because the ranks of
 * a job share them. */
#include "capture/parts.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MODULES_OPEN 512u
#define FUNCTIONS_MAX (8u << 20)

struct function {
    uint64_t at, size;
    uint32_t name, table; /* offset in the string table of section `table` */
};

struct opened {
    char *path;
    unsigned char build_id[32];
    uint32_t n_build_id;
    int fd;
    Elf *elf;     /* NULL: looked for in vain */
    uint64_t low; /* address in the file of the first byte that is loaded */
    MT_VEC(struct function) functions;
};

struct mt_symbols {
    MT_VEC(struct opened) modules;
    void *cxx; /* handle of the C++ runtime */
    char *(*demangle)(const char *, char *, size_t *, int *);
    char *plain; /* a name without its version */
    char *buf;   /* of the C library's own heap: __cxa_demangle() grows it */
    size_t cap;
};

struct mt_symbols *mt_symbols_new(void)
{
    struct mt_symbols *s = mt_calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    (void)elf_version(EV_CURRENT);
    s->cxx = dlopen("libstdc++.so.6", RTLD_NOW | RTLD_LOCAL);
    if (s->cxx != NULL) {
        void *f = dlsym(s->cxx, "__cxa_demangle");
        memcpy(&s->demangle, &f, sizeof f);
    }
    return s;
}

static void close_module(struct opened *o)
{
    if (o->elf != NULL)
        (void)elf_end(o->elf);
    if (o->fd >= 0)
        (void)close(o->fd);
    MT_VEC_DONE(&o->functions);
    mt_free(o->path);
}

void mt_symbols_free(struct mt_symbols *s)
{
    void (*release)(void *) = free; /* of what the C++ runtime gave */
    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->modules.n; i++)
        close_module(&s->modules.p[i]);
    MT_VEC_DONE(&s->modules);
    release(s->buf);
    mt_free(s->plain);
    if (s->cxx != NULL)
        (void)dlclose(s->cxx);
    mt_free(s);
}

/* The build id of an ELF file; 0 = none. */
static uint32_t build_id_of(Elf *e, unsigned char out[32])
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e, scn)) != NULL;) {
        GElf_Shdr sh;
        Elf_Data *data;
        if (gelf_getshdr(scn, &sh) == NULL || sh.sh_type != SHT_NOTE ||
            (data = elf_getdata(scn, NULL)) == NULL)
            continue;
        for (size_t at = 0, name, desc;;) {
            GElf_Nhdr nh;
            at = gelf_getnote(data, at, &nh, &name, &desc);
            if (at == 0)
                break;
            if (nh.n_type == NT_GNU_BUILD_ID && nh.n_namesz == 4 && nh.n_descsz > 0 &&
                nh.n_descsz <= 32 && memcmp((const char *)data->d_buf + name, "GNU", 4) == 0) {
                memcpy(out, (const char *)data->d_buf + desc, nh.n_descsz);
                return nh.n_descsz;
            }
        }
    }
    return 0;
}

static Elf *open_elf(const char *path, const unsigned char *build_id, uint32_t n_build_id, int *fd)
{
    unsigned char id[32];
    struct stat st;
    uint32_t n;
    Elf *e = NULL;

    *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (*fd < 0)
        return NULL;
    if (fstat(*fd, &st) == 0 && S_ISREG(st.st_mode))
        e = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
    if (e != NULL && elf_kind(e) == ELF_K_ELF) {
        n = build_id_of(e, id);
        if (n == n_build_id && memcmp(id, build_id, n) == 0)
            return e;
    }
    if (e != NULL)
        (void)elf_end(e);
    (void)close(*fd);
    *fd = -1;
    return NULL;
}

/* Offsets count from where the module was mapped: from its lowest segment. */
static uint64_t lowest(Elf *e)
{
    uint64_t low = UINT64_MAX;
    size_t n = 0;
    if (elf_getphdrnum(e, &n) != 0)
        return 0;
    for (size_t i = 0; i < n && i < 4096; i++) {
        GElf_Phdr ph;
        if (gelf_getphdr(e, (int)i, &ph) != NULL && ph.p_type == PT_LOAD && ph.p_vaddr < low)
            low = ph.p_vaddr;
    }
    return low != UINT64_MAX ? low & ~UINT64_C(4095) : 0;
}

static int by_address(const void *a, const void *b)
{
    const struct function *x = a, *y = b;
    if (x->at != y->at)
        return x->at < y->at ? -1 : 1;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return x->name < y->name ? -1 : x->name > y->name;
}

static bool read_functions(struct opened *o, GElf_Word type)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(o->elf, scn)) != NULL;) {
        GElf_Shdr sh;
        Elf_Data *data;
        size_t n;
        if (gelf_getshdr(scn, &sh) == NULL || sh.sh_type != type || sh.sh_entsize == 0 ||
            (data = elf_getdata(scn, NULL)) == NULL)
            continue;
        n = data->d_size / sh.sh_entsize;
        for (size_t i = 0; i < n && i < FUNCTIONS_MAX; i++) {
            GElf_Sym sym;
            struct function *f;
            if (gelf_getsym(data, (int)i, &sym) == NULL)
                break;
            if ((GELF_ST_TYPE(sym.st_info) != STT_FUNC &&
                 GELF_ST_TYPE(sym.st_info) != STT_GNU_IFUNC) ||
                sym.st_shndx == SHN_UNDEF)
                continue;
            f = MT_VEC_PUSH(&o->functions);
            if (f == NULL)
                return false;
            *f = (struct function){
                .at = sym.st_value, .size = sym.st_size, .name = sym.st_name, .table = sh.sh_link};
        }
    }
    return o->functions.n > 0;
}

/* A file that was stripped may have its symbols under /usr/lib/debug. */
static void try_debug_file(struct opened *o)
{
    char hex[65];
    char *path;
    struct opened d = {.fd = -1};
    if (o->n_build_id < 2)
        return;
    for (uint32_t i = 0; i < o->n_build_id; i++) {
        hex[2 * (size_t)i] = "0123456789abcdef"[o->build_id[i] >> 4];
        hex[2 * (size_t)i + 1] = "0123456789abcdef"[o->build_id[i] & 15];
    }
    hex[2 * (size_t)o->n_build_id] = '\0';
    path = mt_text("/usr/lib/debug/.build-id/%.2s/%s.debug", hex, hex + 2);
    if (path == NULL)
        return;
    d.elf = open_elf(path, o->build_id, o->n_build_id, &d.fd);
    mt_free(path);
    if (d.elf == NULL)
        return;
    if (!read_functions(&d, SHT_SYMTAB)) {
        close_module(&d);
        return;
    }
    (void)elf_end(o->elf);
    (void)close(o->fd);
    o->elf = d.elf;
    o->fd = d.fd;
    o->functions.p = d.functions.p;
    o->functions.n = d.functions.n;
    o->functions.cap = d.functions.cap;
}

static struct opened *module(struct mt_symbols *s, const struct mt_tally_module *m)
{
    struct opened *o;
    for (uint32_t i = 0; i < s->modules.n; i++) {
        o = &s->modules.p[i];
        if (o->n_build_id == m->n_build_id &&
            memcmp(o->build_id, m->build_id, m->n_build_id) == 0 && strcmp(o->path, m->path) == 0)
            return o;
    }
    if (s->modules.n >= MODULES_OPEN || (o = MT_VEC_PUSH(&s->modules)) == NULL)
        return NULL;
    o->fd = -1;
    o->n_build_id = m->n_build_id;
    memcpy(o->build_id, m->build_id, m->n_build_id);
    o->path = mt_strndup(m->path, strlen(m->path));
    if (o->path == NULL) {
        s->modules.n--;
        return NULL;
    }
    if (o->path[0] != '/' ||
        (o->elf = open_elf(o->path, o->build_id, o->n_build_id, &o->fd)) == NULL)
        return o;
    o->low = lowest(o->elf);
    if (!read_functions(o, SHT_SYMTAB)) {
        MT_VEC_DONE(&o->functions);
        try_debug_file(o);
        if (o->functions.n == 0)
            (void)read_functions(o, SHT_DYNSYM);
    }
    if (o->functions.n > 1)
        qsort(o->functions.p, o->functions.n, sizeof *o->functions.p, by_address);
    return o;
}

static const char *demangled(struct mt_symbols *s, const char *name)
{
    int status = -1;
    char *p;
    if (strchr(name, '@') != NULL) { /* "memcpy@@GLIBC_2.14": the version is no part of the name */
        mt_free(s->plain);
        s->plain = mt_strndup(name, strcspn(name, "@"));
        name = s->plain != NULL ? s->plain : name;
    }
    if (s->demangle == NULL || strncmp(name, "_Z", 2) != 0 || strlen(name) > 8192)
        return name;
    p = s->demangle(name, s->buf, &s->cap, &status);
    if (p == NULL || status != 0)
        return name;
    s->buf = p;
    /* cppcheck-suppress returnDanglingLifetime ; it points to the name, not to status */
    return s->buf;
}

const char *mt_symbols_find(struct mt_symbols *s, const struct mt_tally_module *m, uint64_t offset)
{
    struct opened *o = m->path != NULL && offset > 0 ? module(s, m) : NULL;
    const struct function *f;
    uint64_t at;
    uint32_t lo = 0, hi;
    const char *name;

    if (o == NULL || o->elf == NULL)
        return NULL;
    at = o->low + offset - 1; /* a return address may already be the next function's first byte */
    for (hi = o->functions.n; lo < hi;) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (o->functions.p[mid].at <= at)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == 0)
        return NULL;
    f = &o->functions.p[lo - 1];
    if (at - f->at >= f->size)
        return NULL;
    name = elf_strptr(o->elf, f->table, f->name);
    return name != NULL && name[0] != '\0' ? demangled(s, name) : NULL;
}
