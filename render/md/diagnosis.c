/* The diagnosis to paste into a ticket. Lists are cut: a ticket wants what matters, --format json
 * has all. */
#include "render/md/impl.h"
#include "analysis/base/words.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

enum {
    OTHERS = 8,
    EVIDENCE = 8,
    OCC_ROWS = 16,
    STEP_ROWS = 6,
    GROWTH_ROWS = 6,
    AUDIT_ROWS = 6,
    PIN_ROWS = 5,
    NAME = 160
};

static void md(struct mt_out *o, const char *s) { mt_md(o, s, strlen(s)); }
static void code(struct mt_out *o, const char *s)
{
    mt_md_code(o, s, mt_utf8_cut(s, strlen(s), NAME));
}

void mt_md_top(const struct mt_report *r, struct mt_out *o)
{
    unsigned no = 0;
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    const struct mt_combined *after = mt_diagnosis_combined(r->diagnosis);
    char words[MT_SAVING_WORDS], note[MT_ADVICE_NOTE];
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_advice *d = &list[i];
        bool first = true;
        if (!d->is_top)
            continue;
        if (no++ == 0)
            mt_putf(o, "**%s**\n\n", mt_report_first(r));
        mt_putf(o, "%u. ", no);
        md(o, d->card->title);
        for (uint32_t l = 0; l < d->card->n_set && l < MT_FIX_MAX_LINES; l++) {
            if ((d->lines >> l & 1) == 0)
                continue;
            mt_puts(o, first ? ": " : ", ");
            mt_md_code(o, mt_advice_line(d, l), strlen(mt_advice_line(d, l)));
            if (mt_advice_note(d, l, note)[0] != '\0') {
                mt_puts(o, " (");
                md(o, note);
                mt_puts(o, ")");
            }
            first = false;
        }
        if (d->current != NULL) {
            mt_puts(o, "; set now: ");
            code(o, d->current);
        }
        if (d->saving.known) {
            mt_puts(o, "; frees ");
            md(o, mt_saving_words(words, &d->saving));
        }
        mt_puts(o, "\n");
    }
    if (mt_report_no_first(r) != NULL) {
        md(o, mt_report_no_first(r));
        mt_puts(o, "\n\n");
    }
    if (no == 0)
        return;
    mt_puts(o, "\n");
    if (after != NULL && after->sentence != NULL && after->sentence[0] != '\0') {
        mt_puts(o, "**");
        md(o, after->sentence);
        mt_puts(o, "**\n\n");
    }
}

void mt_md_cause(const struct mt_report *r, struct mt_out *o)
{
    const struct mt_cause *c = mt_report_cause(r);
    if (c == NULL)
        return;
    if (c->evidence.n != 0)
        mt_puts(o, "**Why**\n\n");
    for (uint32_t i = 0; i < c->evidence.n && i < EVIDENCE; i++) {
        mt_puts(o, "- ");
        md(o, c->evidence.p[i].text);
        mt_puts(o, "\n");
    }
    if (c->evidence.n != 0)
        mt_puts(o, "\n");
    for (uint32_t i = 0; i < c->what_ifs.n; i++) {
        char words[1024], a[32];
        const struct mt_what_if *w = &c->what_ifs.p[i];
        if (i == 0)
            mt_puts(o, "| would the request have fitted | | would lack |\n|---|---|---:|\n");
        mt_puts(o, "| ");
        md(o, mt_what_if_condition(words, sizeof words, w));
        mt_putf(o, " | %s | %s |\n", w->fits ? "yes" : "no",
                w->fits ? "" : mt_fmt_bytes(a, w->short_by));
    }
    if (c->what_ifs.n != 0)
        mt_puts(o, "\n");
}

static void expected(const struct mt_device_analysis *d, struct mt_out *o)
{
    char a[32], b[48], c[48], ph[128];
    for (uint32_t i = 0; mt_has_expected(d) && i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        if (i == 0)
            mt_puts(
                o, "| role | phase | measured | expected | | how |\n|---|---|---:|---:|---|---|\n");
        mt_putf(o, "| %s | ", mt_role_words((enum mt_role)e->role));
        md(o, mt_words_phase(ph, sizeof ph, (enum mt_phase)e->phase, MT_PH_NONE));
        mt_putf(o, " | %s | %s | %s%s%s | ", mt_fmt_bytes(a, e->measured), mt_expect_bytes(b, e),
                e->more ? "**" : "", mt_expect_answer(c, e), e->more ? "**" : "");
        md(o, e->text);
        if (e->extra != NULL) {
            mt_puts(o, "; ");
            md(o, e->extra);
        }
        mt_puts(o, " |\n");
    }
    if (mt_has_expected(d))
        mt_puts(o, "\n");
}

void mt_md_roles(const struct mt_device_analysis *d, struct mt_out *o)
{
    const struct mt_role_facts *f = &d->roles;
    char notes[MT_ROLE_NOTES][MT_ROLE_NOTE], a[32], b[32], c[32];
    uint8_t order[MT_ROLE_COUNT];
    unsigned n = mt_role_order(f->at_focus, order);
    bool past = mt_roles_have_past(d);
    if (!mt_has_roles(d))
        return;
    mt_putf(o, "| what it is for | %s | share |%s\n|---|---:|---:|%s\n", mt_focus_words(d),
            past ? " highest |" : "", past ? "---:|" : "");
    for (unsigned i = 0; i < n; i++) {
        uint64_t bytes = f->at_focus[order[i]];
        mt_putf(o, "| %s | %s | %s |", mt_role_words((enum mt_role)order[i]),
                mt_fmt_bytes(a, bytes), mt_fmt_percent(b, bytes, d->focus.live));
        if (past)
            mt_putf(o, " %s |", mt_fmt_bytes(c, f->peak[order[i]]));
        mt_puts(o, "\n");
    }
    mt_puts(o, "\n");
    n = mt_role_notes(notes, d);
    for (unsigned i = 0; i < n; i++) {
        mt_puts(o, "- ");
        md(o, notes[i]);
        mt_puts(o, "\n");
    }
    if (n != 0)
        mt_puts(o, "\n");
    expected(d, o);
}

void mt_md_occurrences(const struct mt_device_analysis *d, struct mt_out *o)
{
    struct mt_occ_sum sum[MT_PH_COUNT];
    unsigned n = mt_occ_sums(&d->roles, sum);
    char a[32], b[32], c[32], ph[128], at[256];
    if (mt_forecast_sentence(d) != NULL) {
        md(o, mt_forecast_sentence(d));
        mt_puts(o, "\n\n");
    }
    for (unsigned i = 0; i < n && i < OCC_ROWS; i++) {
        if (i == 0)
            mt_puts(
                o,
                "| phase | times | highest peak | live at that peak | left behind | of no use |\n"
                "|---|---:|---:|---|---:|---:|\n");
        mt_puts(o, "| ");
        md(o, mt_words_phase(ph, sizeof ph, sum[i].phase, MT_PH_NONE));
        mt_putf(o, " | %s | %s | %s | %s | %s |\n", mt_fmt_count(ph, sum[i].n),
                mt_fmt_bytes(a, sum[i].top->peak),
                mt_role_words_list(at, sizeof at, sum[i].top->peak_roles, 3),
                mt_fmt_bytes(b, sum[i].retained), mt_fmt_bytes(c, sum[i].useless));
    }
    if (n != 0) {
        mt_puts(o, "\n");
        md(o, mt_occ_note);
        mt_puts(o, "\n\n");
    }
}

void mt_md_whose(const struct mt_report *r, struct mt_out *o)
{
    const struct mt_device_analysis *d = mt_report_device(r);
    char place[256];
    if (d == NULL || !mt_has_others(r))
        return;
    mt_puts(o, "From here on about ");
    md(o, mt_row_place(r, mt_diagnosis_rank(r->diagnosis), d, place, sizeof place));
    mt_puts(o, ".\n\n");
}

void mt_md_others(const struct mt_report *r, struct mt_out *o)
{
    const struct mt_device_analysis *d;
    uint32_t i = 0, j = UINT32_MAX, n = 0;
    char place[256], words[512], count[32];
    while ((d = mt_next_other(r, &i, &j)) != NULL && n < OTHERS) {
        n++;
        mt_puts(o, "- ");
        md(o, mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place));
        mt_puts(o, ": ");
        md(o, mt_device_words(words, sizeof words, d));
        mt_puts(o, "\n");
    }
    if (d != NULL)
        mt_putf(o, "- and %s more devices\n", mt_fmt_count(count, mt_row_count(r) - 1 - n));
    if (n != 0)
        mt_puts(o, "\n");
}

static void growth(const struct mt_role_facts *f, struct mt_out *o)
{
    char a[32], b[32], c[40];
    for (uint32_t i = 0; i < f->growth.n && i < GROWTH_ROWS; i++) {
        const struct mt_growth *g = &f->growth.p[i];
        if (i == 0)
            mt_puts(o, "| grows per step | who | role | from | to | steps | confidence "
                       "|\n|---:|---|---|---:|---:|---:|---|\n");
        mt_putf(o, "| %s | ", mt_slope_words(c, g->slope));
        code(o, g->label);
        mt_putf(o, " | %s | %s | %s | %u | %s |\n", mt_role_words((enum mt_role)g->role),
                mt_fmt_bytes(a, g->first), mt_fmt_bytes(b, g->last), (unsigned)g->n_steps,
                mt_conf_phrase(g->conf));
    }
    if (f->growth.n != 0)
        mt_puts(o, "\n");
}

void mt_md_steps(const struct mt_device_analysis *d, struct mt_out *o)
{
    const struct mt_role_facts *f = &d->roles;
    char a[32], b[32], c[32], e[32];
    uint32_t row[STEP_ROWS], n = f->steps.n >= 2 ? mt_step_rows(f, row, STEP_ROWS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_step *s = &f->steps.p[row[i]];
        if (i == 0)
            mt_putf(o, "| step of %s | at its begin | peak | at its end |\n|---:|---:|---:|---:|\n",
                    mt_fmt_count(a, f->n_steps_all));
        mt_putf(o, "| %s | %s | %s | %s |\n", mt_fmt_count(e, (uint64_t)row[i] + 1),
                mt_fmt_bytes(a, s->live_begin), mt_fmt_bytes(b, s->peak),
                mt_fmt_bytes(c, s->live_end));
    }
    if (n != 0)
        mt_puts(o, "\n");
    growth(f, o);
}

static void audit_table(const struct mt_audit *a, struct mt_out *o)
{
    char b[64];
    mt_puts(o, "\n|");
    for (uint32_t c = 0; c < a->n_columns; c++)
        mt_putf(o, " %s |", a->column[c]);
    mt_puts(o, "\n|");
    for (uint32_t c = 0; c < a->n_columns; c++)
        mt_puts(o, mt_cell_is_number(a, c) ? "---:|" : "---|");
    mt_puts(o, "\n");
    for (uint32_t i = 0; i < a->rows.n && i < AUDIT_ROWS; i++) {
        mt_puts(o, "|");
        for (uint32_t c = 0; c < a->n_columns; c++) {
            const struct mt_cell *cell = &a->rows.p[i].cell[c];
            const char *s = mt_cell_words(b, cell);
            mt_puts(o, " ");
            if (cell->kind == MT_CELL_TEXT)
                mt_md(o, s, mt_utf8_cut(s, strlen(s), NAME));
            else
                mt_puts(o, s);
            mt_puts(o, " |");
        }
        mt_puts(o, "\n");
    }
}

void mt_md_audits(const struct mt_device_analysis *d, struct mt_out *o)
{
    for (uint32_t i = 0; d->audits != NULL && i < d->audits->v.n; i++) {
        const struct mt_audit *a = &d->audits->v.p[i];
        mt_putf(o, "**%s%s.** ", a->title, a->finding ? ", to act on" : "");
        md(o, a->sentence);
        mt_puts(o, "\n");
        if (a->finding && a->rows.n != 0 && a->n_columns != 0)
            audit_table(a, o);
        mt_puts(o, "\n");
    }
}

void mt_md_pins(const struct mt_device_analysis *d, struct mt_out *o)
{
    const struct mt_cause *c = d->cause;
    struct mt_pin_group g[MT_PIN_GROUPS];
    char a[32], b[32], e[32], ph[128];
    unsigned n = c != NULL ? mt_pin_groups(c, g) : 0;
    for (unsigned i = 0; i < n && i < PIN_ROWS; i++) {
        const struct mt_pin *p = g[i].first;
        if (i == 0)
            mt_putf(o,
                    "| segments (of %s that live blocks hold, with %s free) | free | live | held "
                    "by | from "
                    "|\n|---:|---:|---:|---|---|\n",
                    mt_fmt_count(a, c->n_pins_all), mt_fmt_bytes(b, c->pinned_free));
        mt_putf(o, "| %s | %s | %s | ", mt_fmt_count(a, g[i].n), mt_fmt_bytes(b, g[i].free),
                mt_fmt_bytes(e, g[i].block_bytes));
        code(o, p->label);
        mt_puts(o, " | ");
        md(o,
           mt_words_phase(ph, sizeof ph, (enum mt_phase)p->attr.phase, (enum mt_phase)p->attr.sub));
        mt_puts(o, " |\n");
    }
    if (n != 0)
        mt_puts(o, "\n");
}
