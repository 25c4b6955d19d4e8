#include "render/saved/diff.h"

#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 20 }; /* rows of a table; the JSON has all */

static void put_left_out(const struct mt_paper *k, uint32_t n, const char *why)
{
    char words[120];
    (void)snprintf(words, sizeof words, "and %u more that %s", (unsigned)n, why);
    mt_paper_line(k, n != 0 ? words : NULL);
}

static void put_rows(const struct mt_diff_report *r, const struct mt_paper *k,
                     const struct mt_compare_rows *rows, const char *head, const char *heading,
                     const char *(*words)(const char *id))
{
    struct mt_grid g = {.heads = {head, "#first", "#second", "#change"}, .n = 4};
    char label[2 * MT_LABEL + 40], cut[MT_LABEL];
    uint32_t shown = 0, smaller = 0, beyond = 0;
    for (uint32_t i = 0; i < rows->list.n; i++) {
        const struct mt_compare_row *row = &rows->list.p[i];
        bool counts = mt_diff_counts(r->diff, row, r->thousandths);
        if (!counts || shown >= MOST) {
            smaller += !counts && row->bytes[0] != row->bytes[1];
            beyond += counts;
            continue;
        }
        shown++;
        (void)snprintf(label, sizeof label, "%s",
                       words != NULL ? words(row->label) : mt_words_label(cut, row->label));
        if (row->was != NULL) {
            size_t n = strlen(label);
            (void)snprintf(label + n, sizeof label - n, " (was %s)", mt_words_label(cut, row->was));
        }
        mt_grid_cell(&g, label);
        mt_grid_bytes(&g, row->in[0], row->bytes[0]);
        mt_grid_bytes(&g, row->in[1], row->bytes[1]);
        mt_grid_change(&g, !mt_diff_is_figure(r->diff, rows) || (row->in[0] && row->in[1]),
                       mt_compare_change(row));
    }
    if (shown == 0 && mt_compare_left_out(rows) == 0)
        return;
    mt_grid_put(&g, k, heading);
    put_left_out(k, beyond, "changed (--format json has all)");
    put_left_out(k, smaller, "changed by less than --threshold");
    put_left_out(k, mt_compare_left_out(rows), "were not compared: there are too many");
}

static void put_settings(const struct mt_diff *d, const struct mt_paper *k)
{
    struct mt_grid g = {.heads = {"setting", "first", "second"}, .n = 3};
    for (uint32_t i = 0; i < d->settings.n; i++) {
        const struct mt_diff_setting *s = &d->settings.p[i];
        mt_grid_cell(&g, s->key);
        for (int side = 0; side < 2; side++)
            mt_grid_cell(&g, !s->in[side]                ? "not set"
                             : s->value[side] == NULL    ? "not known"
                             : s->value[side][0] == '\0' ? "set"
                                                         : s->value[side]);
    }
    mt_grid_put(&g, k, "Settings that differ");
}

static void put_lints(const struct mt_diff *d, const struct mt_paper *k)
{
    for (uint32_t i = 0; i < d->lints.n; i++) {
        char words[900];
        const struct mt_diff_lint *l = &d->lints.p[i];
        if (i == 0)
            mt_paper_heading(k, "Warnings, new and gone");
        (void)snprintf(words, sizeof words, "%s: %.800s", l->is_new ? "New" : "Gone", l->sentence);
        mt_paper_item(k, words);
    }
    if (d->lints.n != 0 && k->format == MT_PAPER_MD)
        mt_putc(k->o, '\n');
}

const char *mt_diff_title(const struct mt_diff_report *r, bool is_short, char *buf, size_t cap)
{
    const char *name[2] = {r->name[0], r->name[1]};
    if (is_short)
        mt_diff_names(r, name);
    (void)snprintf(buf, cap, "%.280s beside %.280s", name[0], name[1]);
    return buf;
}

void mt_diff_put(const struct mt_diff_report *r, const struct mt_paper *k)
{
    const struct mt_diff *d = r->diff;
    struct mt_sentence promised = {"", 0};
    char title[600];
    bool is_short = k->format != MT_PAPER_TEXT;
    mt_paper_title(k, mt_diff_title(r, is_short, title, sizeof title));
    mt_paper_heading(k, "What changed");
    mt_paper_line(k, d->sentence.buf);
    mt_diff_promised(d, &promised);
    mt_paper_line(k, promised.buf);
    for (uint32_t i = 0; i < d->other.n; i++)
        mt_paper_line(k, d->other.p[i]);
    if (k->format == MT_PAPER_HTML)
        mt_diff_pictures(r, k->o);
    put_settings(d, k);
    put_rows(r, k, &d->roles, "role", "What the memory is for, at the moment that matters",
             mt_diff_role_words);
    put_rows(r, k, &d->phases, "phase", "Live bytes while a phase holds, at its highest", NULL);
    put_rows(r, k, &d->owners, "holder", "Who holds it, at the moment that matters", NULL);
    put_rows(r, k, &d->ranks, "device", "Live bytes of each device, at its highest", NULL);
    put_rows(r, k, &d->log, "of the failure", "What the logs say of the failure",
             mt_diff_log_words);
    put_lints(d, k);
}
