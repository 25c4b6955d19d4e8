#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/driver.h"

#include <stdio.h>

static const char *form_of(const struct mt_sink *k, const struct mt_forms *forms)
{
    return k->format == MT_IN_TEXT ? forms->text : k->format == MT_IN_MD ? forms->md : forms->html;
}

void mt_row(struct mt_sink *k, const struct mt_forms *forms, const char *const *cell, unsigned n)
{
    const char *form = form_of(k, forms);
    if (form != NULL)
        k->row(k, form, cell, NULL, n);
}

/* Those of the datum, in buf where it has none of its own. */
static const char *words_of(char buf[MT_WORDS], const struct mt_datum *d)
{
    if (d->words != NULL)
        return d->words;
    switch (d->kind) {
    case MT_D_WORDS: break;
    case MT_D_BYTES: return mt_fmt_bytes(buf, d->n);
    case MT_D_SIGNED: return mt_fmt_signed(buf, (int64_t)d->n);
    case MT_D_COUNT: return mt_fmt_count(buf, d->n);
    case MT_D_SHARE: return mt_fmt_percent(buf, d->n, d->of);
    case MT_D_PHASE:
        (void)snprintf(buf, MT_WORDS, "%s", MT_PHASE_CELL((unsigned)d->n, (unsigned)d->of));
        return buf;
    case MT_D_ROLE: return mt_role_words((enum mt_role)d->n);
    case MT_D_HOLDER: return mt_holder_words((enum mt_holder)d->n);
    case MT_D_ROLES:
    case MT_D_PEAKS:
    case MT_D_OWNER: break;
    }
    return "";
}

void mt_row_data(struct mt_sink *k, const struct mt_forms *forms, const struct mt_datum *datum,
                 unsigned n)
{
    const char *form = form_of(k, forms), *cell[MT_MAX_CELLS];
    char words[MT_MAX_CELLS][MT_WORDS];
    for (unsigned i = 0; form != NULL && i < n && i < MT_MAX_CELLS; i++)
        cell[i] = words_of(words[i], &datum[i]);
    if (form != NULL)
        k->row(k, form, cell, datum, n < MT_MAX_CELLS ? n : MT_MAX_CELLS);
}

void mt_table(struct mt_sink *k, const char *label, const char *const *heads, unsigned n)
{
    if (k->table != NULL)
        k->table(k, label, heads, n);
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
        MT_ROW3(k, k->is_screen ? "  and {0} more" : "  and {0} more (see --format json)", NULL,
                "<p class=\"note\">{0} more are in the JSON report.</p>\n", MT_COUNT(n));
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
