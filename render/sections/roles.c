/* What the memory is for: roles at the moment that matters, over the phases and the steps. */
#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

static void expected(struct mt_sink *k, const struct mt_device_analysis *d)
{
    if (!mt_has_expected(d))
        return;
    mt_heading(k, "Expected beside measured", NULL);
    MT_ROW0(k, NULL,
            "| role | phase | measured | expected | | how |\n|---|---|---:|---:|---|---|\n");
    for (uint32_t i = 0; i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        char bytes[48], answer[48];
        MT_ROW(k,
               !e->known ? "  - |{0} in {1}: {2} measured; what to expect is not known: {5}"
               : e->more
                   ? "!  ! |{0} in {1}: {2} measured, {3} expected: {4}\n      |{5}\n      |{6}"
                   : "  - |{0} in {1}: {2} measured, {3} expected: {4}\n      |{5}\n      |{6}",
               e->more ? "| {0} | {1} | {2} | {3} | **{4:=}** | {5}[; {6}] |\n"
                       : "| {0} | {1} | {2} | {3} | {4:=} | {5}[; {6}] |\n",
               mt_role_words((enum mt_role)e->role), MT_PHASE_WORDS(e->phase, MT_PH_NONE),
               MT_BYTES(e->measured), mt_expect_bytes(bytes, e), mt_expect_answer(answer, e),
               e->text, e->extra);
    }
    k->end(k);
}

void mt_section_roles(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    char notes[MT_ROLE_NOTES][MT_ROLE_NOTE];
    uint8_t order[MT_ROLE_COUNT];
    unsigned n;
    bool past;
    if (d == NULL || !mt_has_roles(d))
        return;
    past = mt_roles_have_past(d);
    n = mt_role_order(d->roles.at_focus, order);
    mt_heading(k, "What the memory is for", NULL);
    MT_ROW(k, "  role                        {0:>11}   share[ {1:>12} {2:>12}]",
           "| what it is for | {0} | share |[ {1} |]\n|---|---:|---:|{3:=}\n", mt_focus_words(d),
           past ? "highest" : NULL, past ? "allocated" : NULL, past ? "---:|" : NULL);
    for (unsigned i = 0; i < n; i++) {
        unsigned role = order[i];
        uint64_t pending = d->roles.pending_at_focus[role];
        MT_ROW(k, "  {0:<27} {1:>11} {2:>7}[ {3:>12} {4:>12}][  {5} waiting to be freed]",
               "| {0} | {1} | {2:=} |[ {3} |]\n", mt_role_words((enum mt_role)role),
               MT_BYTES(d->roles.at_focus[role]), MT_SHARE(d->roles.at_focus[role], d->focus.live),
               MT_BYTES_OR(past, d->roles.peak[role], ""),
               MT_BYTES_OR(past, d->roles.alloc_bytes[role], ""),
               MT_BYTES_OR(pending != 0, pending, ""));
    }
    k->end(k);
    n = mt_role_notes(notes, d);
    for (unsigned i = 0; i < n; i++)
        MT_ROW(k, "  |{0}", "- {0}\n", notes[i]);
    k->end(k);
    expected(k, d);
}

/* ---- the devices that the verdict is not about ---- */

void mt_section_whose(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    char place[256];
    if (d != NULL && mt_has_others(r))
        MT_ROW(k, "\n  >4|The sections from here on are about {0}.", "From here on about {0}.\n\n",
               mt_row_place(r, mt_diagnosis_rank(r->diagnosis), d, place, sizeof place));
}

void mt_section_others(struct mt_sink *k, const struct mt_report *r)
{
    enum { SHOWN = 8 };
    const struct mt_device_analysis *d;
    uint32_t i = 0, j = UINT32_MAX, n = 0;
    char place[256], words[512];
    if (mt_diagnosis_device(r->diagnosis) == NULL)
        return;
    while ((d = mt_next_other(r, &i, &j)) != NULL && n < SHOWN) {
        if (n++ == 0)
            mt_heading(k, "The other devices", NULL);
        MT_ROW(k, "  >4|{0}: {1}", "- {0}: {1}\n",
               mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place),
               mt_device_words(words, sizeof words, d));
    }
    if (d != NULL)
        MT_ROW(k, "  and {0} more (see --format json)", "- and {0} more devices\n",
               MT_COUNT(mt_row_count(r) - 1 - SHOWN));
    k->end(k);
}

/* ---- occurrences and steps ---- */

void mt_section_occurrences(struct mt_sink *k, const struct mt_report *r)
{
    enum { NAME = 26 };
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    struct mt_occ_sum sum[MT_PH_COUNT];
    unsigned n = d != NULL ? mt_occ_sums(&d->roles, sum) : 0;
    char many[256], few[256];
    if (d == NULL)
        return;
    if (n != 0)
        mt_heading(k, "Each phase at its highest", NULL);
    MT_ROW(k, n != 0 ? "  |{0}" : NULL, "{0}\n\n", mt_forecast_sentence(d));
    if (n == 0)
        return;
    MT_ROW0(k, "  phase                       times        peak left behind   of no use",
            "| phase | times | highest peak | live at that peak | left behind | of no use |\n"
            "|---|---:|---:|---|---:|---:|\n");
    for (unsigned i = 0; i < n && i < mt_most(k, n, 16); i++) {
        const struct mt_occurrence *top = sum[i].top;
        struct mt_phase_in_words name = mt_phase_in_words(sum[i].phase, MT_PH_NONE, true);
        bool is_long = strlen(name.s) > NAME;
        MT_ROW(k,
               is_long ? "  |{0}\n  {7:<26} {1:>6} {2:>11} {3:>11} {4:>11}\n      |at the peak: {5}"
                       : "  {0:<26} {1:>6} {2:>11} {3:>11} {4:>11}\n      |at the peak: {5}",
               "| {0} | {1} | {2} | {6:=} | {3} | {4} |\n", name.s, MT_COUNT(sum[i].n),
               MT_BYTES(top->peak), MT_BYTES(sum[i].retained), MT_BYTES(sum[i].useless),
               mt_role_words_list(many, sizeof many, top->peak_roles, 4),
               mt_role_words_list(few, sizeof few, top->peak_roles, 3));
    }
    k->end(k);
    MT_ROW(k, "  |{0}", "{0}\n\n", mt_occ_note);
}

static void growth(struct mt_sink *k, const struct mt_role_facts *f)
{
    char slope[40];
    if (f->growth.n == 0)
        return;
    mt_heading(k, "Grows from step to step", NULL);
    MT_ROW0(k, NULL,
            "| grows per step | who | role | from | to | steps | confidence |\n"
            "|---:|---|---|---:|---:|---:|---|\n");
    for (uint32_t i = 0; i < f->growth.n && i < mt_most(k, 12, 6); i++) {
        const struct mt_growth *g = &f->growth.p[i];
        MT_ROW(k,
               "~4  {0:>11} per step  {1}\n               |{2}, {3} to {4} over {5} steps, "
               "fit {6} %, confidence {7}",
               "| {0:=} | {1:`160} | {2} | {3} | {4} | {5} | {7} |\n",
               mt_slope_words(slope, g->slope), g->label, mt_role_words((enum mt_role)g->role),
               MT_BYTES(g->first), MT_BYTES(g->last), MT_COUNT(g->n_steps),
               MT_COUNT(mt_fit_percent(g)), mt_conf_phrase(g->conf));
    }
    k->end(k);
}

void mt_section_steps(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_role_facts *f = d != NULL ? &d->roles : NULL;
    char span[MT_WORDS];
    uint32_t row[12], n;
    if (f == NULL)
        return;
    n = f->steps.n >= 2 ? mt_step_rows(f, row, mt_most(k, 12, 6)) : 0;
    if (n != 0) {
        mt_heading(k, "Steps", NULL);
        MT_ROW(k,
               "  |{0} steps, found by {1}.\n"
               "    step      length    at begin        peak      at end micro-batches",
               "| step of {0} | at its begin | peak | at its end |\n|---:|---:|---:|---:|\n",
               MT_COUNT(f->n_steps_all), f->steps_from);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_step *s = &f->steps.p[row[i]];
        if (i != 0 && row[i] != row[i - 1] + 1)
            MT_ROW0(k, "     ...", NULL);
        MT_ROW(k, "  {0:>6} {1:>11} {2:>11} {3:>11} {4:>11} {5:>13}[  {6}]",
               "| {0} | {2} | {3} | {4} |\n", MT_COUNT((uint64_t)row[i] + 1),
               mt_span_words(span, s->t0_ns, s->t1_ns), MT_BYTES(s->live_begin), MT_BYTES(s->peak),
               MT_BYTES(s->live_end), MT_COUNT(s->n_micros), s->whole ? NULL : "in part");
    }
    k->end(k);
    growth(k, f);
}

/* ---- audits ---- */

/* The cells of a row that say something: "name: 12 MiB, 3 blocks". */
static char *row_words(char *buf, size_t cap, const struct mt_audit *a, const struct mt_cell *cell)
{
    char b[64];
    size_t used = 0;
    buf[0] = '\0';
    for (uint32_t c = 0; c < a->n_columns && used + 1 < cap; c++) {
        const char *words = mt_cell_words(b, &cell[c]);
        int n;
        if (cell[c].kind == MT_CELL_NONE || words[0] == '\0' || (c == 0 && strcmp(words, "-") == 0))
            continue;
        n = snprintf(buf + used, cap - used, "%s%s%s%s",
                     used == 0 ? ""
                     : c == 1  ? ": "
                               : ", ",
                     c != 0 && a->n_columns > 2 ? a->column[c] : "",
                     c != 0 && a->n_columns > 2 ? " " : "", words);
        used = n < 0 ? used : used + (size_t)n;
    }
    return buf;
}

static void audit_table(struct mt_sink *k, const struct mt_audit *a)
{
    char b[64];
    MT_ROW0(k, NULL, "\n|");
    for (uint32_t c = 0; c < a->n_columns; c++)
        MT_ROW(k, NULL, " {0:=} |", a->column[c]);
    MT_ROW0(k, NULL, "\n|");
    for (uint32_t c = 0; c < a->n_columns; c++)
        MT_ROW0(k, NULL, mt_cell_is_number(a, c) ? "---:|" : "---|");
    for (uint32_t i = 0; i < a->rows.n && i < 6; i++) {
        MT_ROW0(k, NULL, "\n|");
        for (uint32_t c = 0; c < a->n_columns; c++) {
            const struct mt_cell *cell = &a->rows.p[i].cell[c];
            MT_ROW0(k, NULL, " ");
            MT_ROW(k, NULL, cell->kind == MT_CELL_TEXT ? "{0:.160}" : "{0:=}",
                   mt_cell_words(b, cell));
            MT_ROW0(k, NULL, " |");
        }
    }
    MT_ROW0(k, NULL, "\n");
}

void mt_section_audits(struct mt_sink *k, const struct mt_report *r)
{
    enum { ROWS = 12 };
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    char line[2048];
    if (d == NULL || d->audits == NULL || d->audits->v.n == 0)
        return;
    mt_heading(k, "Looked at", NULL);
    for (uint32_t i = 0; i < d->audits->v.n; i++) {
        const struct mt_audit *a = &d->audits->v.p[i];
        uint64_t more = a->rows_left_out + (a->rows.n > ROWS ? a->rows.n - ROWS : 0);
        MT_ROW(k, a->finding ? "!  ! |{0}\n    |{1}" : "*  >4|{0}\n    |{1}",
               a->finding ? "**{0:=}, to act on.** {1}\n" : "**{0:=}.** {1}\n", a->title,
               a->sentence);
        for (uint32_t n = 0; n < a->rows.n && n < ROWS; n++)
            MT_ROW(k, "    - |{0}", NULL, row_words(line, sizeof line, a, a->rows.p[n].cell));
        if (more != 0)
            MT_ROW(k, "    - and {0} more rows", NULL, MT_COUNT(more));
        if (a->finding && a->rows.n != 0 && a->n_columns != 0)
            audit_table(k, a);
        k->end(k);
    }
}
