/* attach_maps.c -- /proc/PID/maps: which files a process has mapped, and where there is code. */
#include "capture/attach_call.h"
#include "capture/live.h"
#include "capture/parts.h"

#include <stdlib.h>
#include <string.h>

struct line {
    uint64_t from, to;
    bool runs;
    const char *path; /* NULL = none */
    size_t n_path;
};

/* "7f01-7f02 r-xp 00001000 fd:00 123   /usr/lib/libc.so.6" */
static bool read_line(struct line *l, const char *text, size_t n)
{
    const char *at = memchr(text, '/', n);
    char *end;
    l->from = strtoull(text, &end, 16);
    if (*end != '-')
        return false;
    l->to = strtoull(end + 1, &end, 16);
    if (end[0] != ' ' || end + 5 > text + n)
        return false;
    l->runs = end[3] == 'x';
    l->path = at;
    l->n_path = at != NULL ? n - (size_t)(at - text) : 0;
    return true;
}

/* The parts of a file follow each other. */
static bool add_file(struct mt_maps *m, const struct line *l)
{
    struct mt_mapped_file *f = m->files.n > 0 ? &m->files.p[m->files.n - 1] : NULL;
    if (f != NULL && strlen(f->name) == l->n_path && memcmp(f->name, l->path, l->n_path) == 0)
        return true;
    f = MT_VEC_PUSH(&m->files);
    if (f == NULL)
        return false;
    *f = (struct mt_mapped_file){mt_strndup(l->path, l->n_path), l->from, l->to, MT_LOCKS_UNKNOWN};
    if (f->name == NULL)
        m->files.n--;
    return f->name != NULL;
}

static bool add_code(struct mt_maps *m, const struct line *l)
{
    struct mt_code *c = MT_VEC_PUSH(&m->code);
    if (c != NULL)
        *c = (struct mt_code){l->from, l->to, l->path != NULL ? m->files.n - 1 : MT_NO_FILE};
    return c != NULL;
}

bool mt_maps_read(struct mt_maps *out, pid_t pid)
{
    char *text = mt_malloc(MT_ENVIRON_MAX);
    size_t got;
    bool ok = text != NULL && mt_process_read(pid, "maps", text, MT_ENVIRON_MAX, &got);
    memset(out, 0, sizeof *out);
    for (const char *at = text; ok && *at != '\0';) {
        size_t n = strcspn(at, "\n");
        struct line l;
        if (read_line(&l, at, n))
            ok = (l.path == NULL || add_file(out, &l)) && (!l.runs || add_code(out, &l));
        at += n + (at[n] == '\n');
    }
    mt_free(text);
    if (!ok)
        mt_maps_done(out);
    return ok;
}

void mt_maps_done(struct mt_maps *m)
{
    for (uint32_t i = 0; i < m->files.n; i++)
        mt_free(m->files.p[i].name);
    MT_VEC_DONE(&m->files);
    MT_VEC_DONE(&m->code);
}

bool mt_mapped_is(const struct mt_mapped_file *f, const char *begin)
{
    return strncmp(mt_base_name(f->name), begin, strlen(begin)) == 0;
}

bool mt_mapped_is_libc(const struct mt_mapped_file *f)
{
    return mt_mapped_is(f, "libc.so.6") || mt_mapped_is(f, "libc-2.");
}

bool mt_mapped_is_loader(const struct mt_mapped_file *f)
{
    return mt_mapped_is(f, "ld-linux") || mt_mapped_is(f, "ld-2.");
}
