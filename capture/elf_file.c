/* elf_file.c -- what an ELF file says about itself, through libelf. */
#include "capture/parts.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "GLIBC_2.34" */
static void take_version(const char *s, struct mt_elf_facts *out)
{
    char *end;
    unsigned long major, minor;
    if (s == NULL || strncmp(s, "GLIBC_", 6) != 0)
        return;
    major = strtoul(s + 6, &end, 10);
    minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
    if (major < 100 && minor < 1000 &&
        (major > out->glibc_major || (major == out->glibc_major && minor > out->glibc_minor))) {
        out->glibc_major = (unsigned)major;
        out->glibc_minor = (unsigned)minor;
    }
}

static void read_versions(Elf *e, struct mt_elf_facts *out)
{
    for (Elf_Scn *scn = NULL; (scn = elf_nextscn(e, scn)) != NULL;) {
        GElf_Shdr sh;
        Elf_Data *data;
        GElf_Verneed need;
        int at = 0;
        if (gelf_getshdr(scn, &sh) == NULL || sh.sh_type != SHT_GNU_verneed ||
            (data = elf_getdata(scn, NULL)) == NULL)
            continue;
        for (unsigned i = 0; i < 1000 && gelf_getverneed(data, at, &need) != NULL; i++) {
            GElf_Vernaux aux;
            int b = at + (int)need.vn_aux;
            for (unsigned j = 0; j < 1000 && gelf_getvernaux(data, b, &aux) != NULL; j++) {
                take_version(elf_strptr(e, sh.sh_link, aux.vna_name), out);
                if (aux.vna_next == 0 || aux.vna_next > 4096)
                    break;
                b += (int)aux.vna_next;
            }
            if (need.vn_next == 0 || need.vn_next > 65536)
                break;
            at += (int)need.vn_next;
        }
    }
}

bool mt_elf_read(const char *path, struct mt_elf_facts *out)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    struct stat st;
    GElf_Ehdr head;
    size_t n = 0;
    bool has_interpreter = false, has_dynamic = false;
    Elf *e;

    memset(out, 0, sizeof *out);
    if (fd < 0)
        return false;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode)) {
        (void)close(fd);
        return false;
    }
    (void)elf_version(EV_CURRENT);
    e = elf_begin(fd, ELF_C_READ_MMAP, NULL);
    if (e != NULL && elf_kind(e) == ELF_K_ELF && gelf_getehdr(e, &head) != NULL &&
        elf_getphdrnum(e, &n) == 0) {
        out->is_elf = true;
        out->is_64 = gelf_getclass(e) == ELFCLASS64;
        out->machine = head.e_machine;
        for (size_t i = 0; i < n && i < 4096; i++) {
            GElf_Phdr ph;
            if (gelf_getphdr(e, (int)i, &ph) == NULL)
                break;
            has_interpreter |= ph.p_type == PT_INTERP;
            has_dynamic |= ph.p_type == PT_DYNAMIC;
        }
        out->is_static =
            !has_interpreter && (head.e_type == ET_EXEC || (head.e_type == ET_DYN && !has_dynamic));
        /* A static PIE has a dynamic section but no interpreter, as a library has; only a program
         * is asked here. */
        out->is_static |= !has_interpreter && head.e_type == ET_DYN && (st.st_mode & 0111) != 0 &&
                          head.e_entry != 0;
        read_versions(e, out);
    }
    if (e != NULL)
        (void)elf_end(e);
    (void)close(fd);
    return true;
}

uint16_t mt_elf_here(void)
{
    struct mt_elf_facts f;
    return mt_elf_read("/proc/self/exe", &f) && f.is_elf ? f.machine : 0;
}
