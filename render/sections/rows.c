#include "render/sections/impl.h"

#include <stdio.h>

void mt_row(struct mt_sink *k, const struct mt_forms *forms, const char *const *cell, unsigned n)
{
    const char *form = k->format == MT_IN_TEXT ? forms->text
                       : k->format == MT_IN_MD ? forms->md
                                               : forms->html;
    if (form != NULL)
        k->row(k, form, cell, n);
}

void mt_heading(struct mt_sink *k, const char *text, const char *md)
{
    const char *words = k->format == MT_IN_TEXT ? text : k->format == MT_IN_MD ? md : NULL;
    if (words != NULL)
        k->heading(k, words);
}

void mt_row_more(struct mt_sink *k, uint64_t n)
{
    if (n != 0)
        MT_ROW(k, "  and {0} more (see --format json)", NULL, MT_COUNT(n));
}

struct mt_cell_text mt_cell_count(uint64_t n)
{
    struct mt_cell_text t = {""};
    (void)mt_fmt_count(t.s, n);
    return t;
}

struct mt_cell_text mt_cell_share(uint64_t part, uint64_t whole)
{
    struct mt_cell_text t = {""};
    (void)mt_fmt_percent(t.s, part, whole);
    return t;
}

struct mt_cell_text mt_cell_seconds(uint64_t ns)
{
    struct mt_cell_text t = {""};
    (void)mt_fmt_seconds(t.s, ns);
    return t;
}

struct mt_cell_text mt_cell_or(bool is_known, uint64_t bytes, const char *other)
{
    struct mt_cell_text t = {""};
    if (is_known)
        (void)mt_fmt_bytes(t.s, bytes);
    else
        (void)snprintf(t.s, sizeof t.s, "%s", other);
    return t;
}
