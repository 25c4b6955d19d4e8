/* Rows of the report's sections in a panel. */
#include "render/html/kit.h"

#include "render/base/escape.h"

#include <string.h>

static void put_cell(struct mt_out *o, const char *cell, const char *spec)
{
    size_t max = mt_form_cut(cell, spec + 1);
    switch (*spec) {
    case '=': mt_puts(o, cell); break;
    case 'n': mt_h_name(o, cell[0] != '\0' ? cell : NULL, max); break;
    case 'w': mt_h_words(o, cell, max); break;
    default: mt_html_s(o, cell); break;
    }
}

static void put_row(struct mt_sink *k, const char *form, const char *const *cell, unsigned n)
{
    mt_form_put(k->o, form, strlen(form), cell, n, put_cell);
}

static void put_nothing(struct mt_sink *k) { (void)k; }

void mt_h_rows(struct mt_out *o, const struct mt_page *p,
               void (*section)(struct mt_sink *k, const struct mt_report *r))
{
    struct mt_sink k = {o, MT_IN_HTML, put_row, NULL, put_nothing, NULL};
    section(&k, p->r);
}
