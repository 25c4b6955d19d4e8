/* The report to paste into a ticket: short, tables only where they help, nothing that a name could
 * turn into markup, no folder of whoever made it. */
#include "render/md/md.h"

#include "render/base/escape.h"
#include "render/base/folders.h"
#include "render/sections/sections.h"

#include <errno.h>
#include <string.h>

struct md {
    struct mt_sink sink; /* first: the sections know it alone */
    const struct mt_report *report;
    bool is_open;      /* a list or a table, which a blank line ends */
    struct mt_out row; /* one row, before it is known whether there is room for it */
    uint64_t room;     /* bytes that rows may still take */
    unsigned shut;     /* folds of which the beginning had no room */
    uint64_t left_out; /* rows */
};

/* ---- cells ---- */

/* The same where the path is that of a file of the report: its folders may have blanks in them. */
static size_t folders_of(const char *s, const char *path)
{
    const char *last = path != NULL && *path == '/' ? strrchr(path, '/') : NULL;
    size_t n = last != NULL ? (size_t)(last - path) + 1 : 0;
    return n > 1 && strncmp(s, path, n) == 0 ? n : 0;
}

static size_t folders_known(const char *s, const void *ctx)
{
    const struct mt_diagnosis *d = ctx;
    size_t n = 0;
    for (uint32_t i = 0; n == 0 && i < d->ranks.n; i++)
        n = folders_of(s, d->ranks.p[i].trace->meta.input);
    for (uint32_t i = 0; n == 0 && i < d->drivers.n; i++)
        n = folders_of(s, d->drivers.p[i]->meta.input);
    for (uint32_t i = 0; n == 0 && d->logs != NULL && i < d->logs->files.n; i++)
        n = folders_of(s, d->logs->files.p[i].name);
    for (uint32_t i = 0; n == 0 && d->conf != NULL && i < d->conf->conf.entries.n; i++)
        n = folders_of(s, d->conf->conf.entries.p[i].source);
    return n;
}

static void put_escaped(struct mt_out *o, const char *cell, const char *spec)
{
    switch (*spec) {
    case '=': mt_puts(o, cell); break;
    case '`': mt_md_code(o, cell, mt_form_cut(cell, spec + 1)); break;
    case '.': mt_md(o, cell, mt_form_cut(cell, spec + 1)); break;
    default: mt_md(o, cell, strlen(cell)); break;
    }
}

static void put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i, void *ctx)
{
    struct mt_out m;
    (void)i;
    if (strchr(cell, '/') == NULL) {
        put_escaped(o, cell, spec);
        return;
    }
    put_escaped(o,
                mt_without_folders(&m, cell, folders_known, ((struct md *)ctx)->report->diagnosis),
                spec);
    o->error = o->error != 0 ? o->error : m.error;
    mt_out_done(&m);
}

/* ---- rows ---- */

static bool begins(const char *s, size_t n, const char *with)
{
    while (n > 0 && *s == '\n') {
        s++;
        n--;
    }
    return n >= strlen(with) && memcmp(s, with, strlen(with)) == 0;
}

/* Whether the row is written. What opens and closes a fold goes together. */
static bool is_taken(struct md *m, const char *row, size_t n)
{
    bool opens = begins(row, n, "<details"), closes = begins(row, n, "</details>");
    if (closes && m->shut > 0) {
        m->shut--;
        return false;
    }
    if (closes)
        return true;
    if (n <= m->room) {
        m->room -= n;
        return true;
    }
    m->room = 0; /* the rows that would still fit belong to what is not there */
    m->shut += opens;
    m->left_out++;
    return false;
}

static void put_row(struct mt_sink *k, const char *form, const char *const *cell,
                    const struct mt_datum *datum, unsigned n)
{
    struct md *m = (struct md *)k;
    size_t len = strlen(form);
    (void)datum;
    if (!mt_form_says(form, len, cell, n))
        return;
    if (!mt_out_mem(&m->row)) {
        k->o->error = k->o->error != 0 ? k->o->error : m->row.error;
        return;
    }
    mt_form_put(&m->row, form, len, cell, n, put_cell, m);
    k->o->error = k->o->error != 0 ? k->o->error : mt_out_finish(&m->row);
    if (k->o->error == 0 && is_taken(m, (const char *)m->row.buf, m->row.used)) {
        mt_put(k->o, m->row.buf, m->row.used);
        m->is_open = len < 2 || memcmp(form + len - 2, "\n\n", 2) != 0;
    }
    mt_out_done(&m->row);
}

static void put_heading(struct mt_sink *k, const char *words)
{
    struct md *m = (struct md *)k;
    size_t n = strlen(words) + sizeof "****\n\n";
    if (n > m->room)
        return;
    m->room -= n;
    mt_putf(k->o, "**%s**\n\n", words);
}

static void end_list(struct mt_sink *k)
{
    struct md *m = (struct md *)k;
    if (m->is_open)
        mt_putc(k->o, '\n');
    m->is_open = false;
}

void mt_render_md(const struct mt_report *r, struct mt_out *o)
{
    enum { FOR_ENDS = 2000 }; /* the last rows, which are always there, and blank lines */
    uint64_t size = r->ticket_size != 0 ? r->ticket_size : MT_TICKET_SIZE;
    struct md m = {.sink = {.o = o,
                            .format = MT_IN_MD,
                            .row = put_row,
                            .heading = put_heading,
                            .end = end_list},
                   .report = r,
                   .room = size > FOR_ENDS ? size - FOR_ENDS : 0};
    mt_sections_but_last(&m.sink, r);
    if (m.left_out != 0)
        mt_putf(o,
                "\n%llu more rows have no room in a ticket: the page and the JSON have them.\n\n",
                (unsigned long long)m.left_out);
    m.room = UINT64_MAX;
    mt_section_footer(&m.sink, r);
}
