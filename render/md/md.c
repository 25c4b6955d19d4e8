/* The report to paste into a ticket: short, tables only where they help, nothing that a name could
 * turn into markup. */
#include "render/md/md.h"

#include "render/base/escape.h"
#include "render/sections/sections.h"

#include <string.h>

struct md {
    struct mt_sink sink; /* first: the sections know it alone */
    bool is_open;        /* a list or a table, which a blank line ends */
};

static void put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i, void *ctx)
{
    (void)i;
    (void)ctx;
    switch (*spec) {
    case '=': mt_puts(o, cell); break;
    case '`': mt_md_code(o, cell, mt_form_cut(cell, spec + 1)); break;
    case '.': mt_md(o, cell, mt_form_cut(cell, spec + 1)); break;
    default: mt_md(o, cell, strlen(cell)); break;
    }
}

static void put_row(struct mt_sink *k, const char *form, const char *const *cell,
                    const struct mt_datum *datum, unsigned n)
{
    (void)datum;
    size_t len = strlen(form);
    if (!mt_form_says(form, len, cell, n))
        return;
    mt_form_put(k->o, form, len, cell, n, put_cell, NULL);
    ((struct md *)k)->is_open = len < 2 || memcmp(form + len - 2, "\n\n", 2) != 0;
}

static void put_heading(struct mt_sink *k, const char *words)
{
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
    struct md m = {
        .sink = {
            .o = o, .format = MT_IN_MD, .row = put_row, .heading = put_heading, .end = end_list}};
    mt_sections(&m.sink, r);
}
