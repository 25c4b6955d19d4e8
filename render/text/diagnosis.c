/* The diagnosis in the terminal report: what to change, why, what for, when. */
#include "render/text/impl.h"
#include "analysis/base/words.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

enum { LINE = 2048, STEP_ROWS = 12, AUDIT_ROWS = 12, EVIDENCE = 12 };

/* ---- advice ---- */

static void field(struct mt_text *x, const char *name, const char *value)
{
    char line[LINE];
    if (value == NULL || value[0] == '\0' || strcmp(value, "none") == 0)
        return;
    (void)snprintf(line, sizeof line, "%s: %s", name, value);
    mt_text_wrap(x, "     ", "     ", line);
}

static void settings(struct mt_text *x, const struct mt_advice *a)
{
    char note[MT_ADVICE_NOTE];
    for (uint32_t i = 0; i < a->card->n_set && i < MT_FIX_MAX_LINES; i++) {
        if ((a->lines >> i & 1) == 0)
            continue;
        if (a->card->set[i].syntax == MT_FIX_TEXT) { /* words, nothing to type */
            mt_text_wrap(x, "       ", "       ", mt_advice_line(a, i));
        } else {
            mt_puts(x->o, "       ");
            mt_text_style(x, "36");
            mt_term(x->o, mt_advice_line(a, i), strlen(mt_advice_line(a, i)));
            mt_text_style(x, "0");
            mt_putc(x->o, '\n');
        }
        if (mt_advice_note(a, i, note)[0] != '\0')
            mt_text_wrap(x, "         ", "         ", note);
    }
}

static void card(struct mt_text *x, const struct mt_advice *a, unsigned no, bool whole)
{
    char lead[16], words[MT_SAVING_WORDS];
    (void)snprintf(lead, sizeof lead, "%3u. ", no);
    mt_text_wrap(x, lead, "     ", a->card->title);
    settings(x, a);
    field(x, "Set now", a->current);
    if (a->saving.known)
        field(x, "Frees", mt_saving_words(words, &a->saving));
    else if (!whole)
        field(x, "Frees: not computed", mt_saving_missing(a));
    mt_text_wrap(x, "     ", "     ", a->card->why);
    if (!whole)
        return;
    field(x, "Of the saving", a->saving_of != NULL && a->saving.known ? a->saving_of->note : NULL);
    field(x, "Constraints", a->card->constraints);
    field(x, "Cost", a->card->cost);
    (void)snprintf(lead, sizeof lead, "[%.12s]", a->rule->id);
    field(x, lead, a->rule->source);
}

void mt_text_top(struct mt_text *x, const struct mt_report *r)
{
    unsigned no = 0;
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    const struct mt_combined *after = mt_diagnosis_combined(r->diagnosis);
    for (uint32_t i = 0; i < n; i++) {
        if (!list[i].is_top)
            continue;
        if (no == 0)
            mt_text_heading(x, mt_report_first(r));
        card(x, &list[i], ++no, false);
    }
    if (mt_report_no_first(r) != NULL)
        mt_text_wrap(x, "  ", "  ", mt_report_no_first(r));
    if (no != 0 && after != NULL && after->sentence != NULL && after->sentence[0] != '\0') {
        mt_text_style(x, "1");
        mt_text_wrap(x, "  => ", "     ", after->sentence);
        mt_text_style(x, "0");
    }
}

void mt_text_advice(struct mt_text *x, const struct mt_report *r)
{
    unsigned no = 0;
    uint32_t n;
    const struct mt_advice *list = mt_diagnosis_advice(r->diagnosis, &n);
    if (n != 0)
        mt_text_heading(x, "All advice, in the order to try");
    for (unsigned pass = 0; pass < 2;
         pass++) /* those to change first have the same numbers above */
        for (uint32_t i = 0; i < n; i++)
            if (list[i].is_top == (pass == 0))
                card(x, &list[i], ++no, true);
}

/* ---- cause ---- */

void mt_text_cause(struct mt_text *x, const struct mt_report *r)
{
    const struct mt_cause *c = mt_report_cause(r);
    if (c == NULL)
        return;
    if (c->evidence.n != 0)
        mt_text_heading(x, "Why");
    for (uint32_t i = 0; i < c->evidence.n && i < EVIDENCE; i++)
        mt_text_wrap(x, "  - ", "    ", c->evidence.p[i].text);
    if (c->what_ifs.n != 0)
        mt_text_heading(x, "Would the request have fitted?");
    for (uint32_t i = 0; i < c->what_ifs.n; i++)
        mt_text_wrap(x, c->what_ifs.p[i].fits ? "  yes  " : "  no   ", "       ",
                     c->what_ifs.p[i].text);
}

/* ---- roles ---- */

static void expected(struct mt_text *x, const struct mt_device_analysis *d)
{
    char a[48], b[48], c[32], ph[128], line[LINE];
    for (uint32_t i = 0; mt_has_expected(d) && i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        if (i == 0)
            mt_text_heading(x, "Expected beside measured");
        if (!e->known) {
            (void)snprintf(line, sizeof line,
                           "%s in %s: %s measured; what to expect is not known: %s",
                           mt_role_words((enum mt_role)e->role),
                           mt_words_phase(ph, sizeof ph, (enum mt_phase)e->phase, MT_PH_NONE),
                           mt_fmt_bytes(c, e->measured), e->text);
            mt_text_wrap(x, "  - ", "    ", line);
            continue;
        }
        (void)snprintf(line, sizeof line, "%s in %s: %s measured, %s expected: %s",
                       mt_role_words((enum mt_role)e->role),
                       mt_words_phase(ph, sizeof ph, (enum mt_phase)e->phase, MT_PH_NONE),
                       mt_fmt_bytes(c, e->measured), mt_expect_bytes(a, e), mt_expect_answer(b, e));
        mt_text_style(x, e->more ? "1;33" : "0");
        mt_text_wrap(x, e->more ? "  ! " : "  - ", "    ", line);
        mt_text_style(x, "0");
        mt_text_wrap(x, "      ", "      ", e->text);
        if (e->extra != NULL)
            mt_text_wrap(x, "      ", "      ", e->extra);
    }
}

static void place_of(struct mt_text *x, const char *lead, const char *place, const char *end)
{
    char line[LINE];
    (void)snprintf(line, sizeof line, "%s%.300s%s", lead, place, end);
    mt_text_wrap(x, "  ", "    ", line);
}

void mt_text_whose(struct mt_text *x, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_report_device(r);
    char place[256];
    if (d == NULL || !mt_has_others(r))
        return;
    mt_putc(x->o, '\n');
    place_of(x, "The sections from here on are about ",
             mt_row_place(r, mt_diagnosis_rank(r->diagnosis), d, place, sizeof place), ".");
}

void mt_text_others(struct mt_text *x, const struct mt_report *r)
{
    enum { SHOWN = 8 };
    const struct mt_device_analysis *d;
    uint32_t i = 0, j = UINT32_MAX, n = 0;
    char place[256], words[512], end[600], count[32];
    while ((d = mt_next_other(r, &i, &j)) != NULL && n < SHOWN) {
        if (n++ == 0)
            mt_text_heading(x, "The other devices");
        (void)snprintf(end, sizeof end, ": %s", mt_device_words(words, sizeof words, d));
        place_of(x, "", mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place), end);
    }
    if (d != NULL)
        mt_putf(x->o, "  and %s more (see --format json)\n",
                mt_fmt_count(count, mt_row_count(r) - 1 - SHOWN));
}

void mt_text_roles(struct mt_text *x, const struct mt_device_analysis *d)
{
    const struct mt_role_facts *f = &d->roles;
    char notes[MT_ROLE_NOTES][MT_ROLE_NOTE], a[32], b[32], c[32], e[32], share[32];
    uint8_t order[MT_ROLE_COUNT];
    unsigned n = mt_role_order(f->at_focus, order);
    bool past = mt_roles_have_past(d);
    if (!mt_has_roles(d))
        return;
    mt_text_heading(x, "What the memory is for");
    mt_putf(x->o, "  %-27s %11s %7s%s\n", "role", mt_focus_words(d), "share",
            past ? "      highest    allocated" : "");
    for (unsigned i = 0; i < n; i++) {
        unsigned role = order[i];
        mt_putf(x->o, "  %-27s %11s %7s", mt_role_words((enum mt_role)role),
                mt_fmt_bytes(a, f->at_focus[role]),
                mt_fmt_percent(share, f->at_focus[role], d->focus.live));
        if (past)
            mt_putf(x->o, " %12s %12s", mt_fmt_bytes(b, f->peak[role]),
                    mt_fmt_bytes(c, f->alloc_bytes[role]));
        if (f->pending_at_focus[role] != 0)
            mt_putf(x->o, "  %s waiting to be freed", mt_fmt_bytes(e, f->pending_at_focus[role]));
        mt_putc(x->o, '\n');
    }
    n = mt_role_notes(notes, d);
    for (unsigned i = 0; i < n; i++)
        mt_text_wrap(x, "  ", "  ", notes[i]);
    expected(x, d);
}

/* ---- occurrences ---- */

void mt_text_occurrences(struct mt_text *x, const struct mt_device_analysis *d)
{
    struct mt_occ_sum sum[MT_PH_COUNT];
    unsigned n = mt_occ_sums(&d->roles, sum);
    char a[32], b[32], c[32], ph[128], at[256], line[LINE];
    if (n == 0)
        return;
    mt_text_heading(x, "Each phase at its highest");
    if (mt_forecast_sentence(d) != NULL)
        mt_text_wrap(x, "  ", "  ", mt_forecast_sentence(d));
    mt_putf(x->o, "  %-26s %6s %11s %11s %11s\n", "phase", "times", "peak", "left behind",
            "of no use");
    for (unsigned i = 0; i < n; i++) {
        /* a line of its own */
        if (strlen(mt_words_phase(ph, sizeof ph, sum[i].phase, MT_PH_NONE)) > 26) {
            mt_text_wrap(x, "  ", "  ", ph);
            ph[0] = '\0';
        }
        mt_puts(x->o, "  ");
        mt_text_padded(x, ph, 26);
        mt_putf(x->o, " %6s %11s %11s %11s\n", mt_fmt_count(ph, sum[i].n),
                mt_fmt_bytes(a, sum[i].top->peak), mt_fmt_bytes(b, sum[i].retained),
                mt_fmt_bytes(c, sum[i].useless));
        (void)snprintf(line, sizeof line, "at the peak: %s",
                       mt_role_words_list(at, sizeof at, sum[i].top->peak_roles, 4));
        mt_text_wrap(x, "      ", "      ", line);
    }
    mt_text_wrap(x, "  ", "  ", mt_occ_note);
}

/* ---- steps and growth ---- */

static void growth(struct mt_text *x, const struct mt_role_facts *f)
{
    char a[32], b[32], c[40], line[256];
    for (uint32_t i = 0; i < f->growth.n && i < STEP_ROWS; i++) {
        const struct mt_growth *g = &f->growth.p[i];
        if (i == 0)
            mt_text_heading(x, "Grows from step to step");
        mt_putf(x->o, "  %11s per step  ", mt_slope_words(c, g->slope));
        mt_text_clipped(x, g->label, x->width > 70 ? x->width - 28 : 42);
        mt_putc(x->o, '\n');
        (void)snprintf(line, sizeof line, "%s, %s to %s over %u steps, fit %u %%, confidence %s",
                       mt_role_words((enum mt_role)g->role), mt_fmt_bytes(a, g->first),
                       mt_fmt_bytes(b, g->last), (unsigned)g->n_steps, mt_fit_percent(g),
                       mt_conf_phrase(g->conf));
        mt_text_wrap(x, "               ", "               ", line);
    }
}

void mt_text_steps(struct mt_text *x, const struct mt_device_analysis *d)
{
    const struct mt_role_facts *f = &d->roles;
    char a[32], b[32], c[32], e[32], span[MT_WORDS], line[LINE];
    uint32_t row[STEP_ROWS], n = f->steps.n >= 2 ? mt_step_rows(f, row, STEP_ROWS) : 0;
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_step *s = &f->steps.p[row[i]];
        if (i == 0) {
            mt_text_heading(x, "Steps");
            (void)snprintf(line, sizeof line, "%s steps, found by %s.",
                           mt_fmt_count(a, f->n_steps_all), f->steps_from);
            mt_text_wrap(x, "  ", "  ", line);
            mt_putf(x->o, "  %6s %11s %11s %11s %11s %13s\n", "step", "length", "at begin", "peak",
                    "at end", "micro-batches");
        } else if (row[i] != row[i - 1] + 1) {
            mt_puts(x->o, "     ...\n");
        }
        mt_putf(x->o, "  %6s %11s %11s %11s %11s %13u%s\n", mt_fmt_count(e, (uint64_t)row[i] + 1),
                mt_span_words(span, s->t0_ns, s->t1_ns), mt_fmt_bytes(a, s->live_begin),
                mt_fmt_bytes(b, s->peak), mt_fmt_bytes(c, s->live_end), (unsigned)s->n_micros,
                s->whole ? "" : "  in part");
    }
    growth(x, f);
}

/* ---- audits ---- */

static void audit(struct mt_text *x, const struct mt_audit *a)
{
    char b[64];
    mt_text_style(x, a->finding ? "1;33" : "1");
    mt_text_wrap(x, a->finding ? "  ! " : "  ", "    ", a->title);
    mt_text_style(x, "0");
    mt_text_wrap(x, "    ", "    ", a->sentence);
    for (uint32_t i = 0; i < a->rows.n && i < AUDIT_ROWS && a->n_columns != 0; i++) {
        char line[LINE] = "";
        size_t used = 0;
        for (uint32_t c = 0; c < a->n_columns && used + 1 < sizeof line; c++) {
            const struct mt_cell *cell = &a->rows.p[i].cell[c];
            int k;
            if (cell->kind == MT_CELL_NONE || mt_cell_words(b, cell)[0] == '\0' ||
                (c == 0 && strcmp(mt_cell_words(b, cell), "-") == 0))
                continue;
            k = c == 0 ? snprintf(line, sizeof line, "%s", mt_cell_words(b, cell))
                       : snprintf(line + used, sizeof line - used, "%s%s%s%s",
                                  used == 0 ? ""
                                  : c == 1  ? ": "
                                            : ", ",
                                  a->n_columns > 2 ? a->column[c] : "", a->n_columns > 2 ? " " : "",
                                  mt_cell_words(b, cell));
            used = k < 0 ? used : used + (size_t)k;
        }
        mt_text_wrap(x, "    - ", "      ", line);
    }
    if (a->rows.n > AUDIT_ROWS || a->rows_left_out != 0)
        mt_putf(x->o, "    - and %s more rows\n",
                mt_fmt_count(b, a->rows_left_out +
                                    (a->rows.n > AUDIT_ROWS ? a->rows.n - AUDIT_ROWS : 0)));
}

void mt_text_audits(struct mt_text *x, const struct mt_device_analysis *d)
{
    if (d->audits == NULL || d->audits->v.n == 0)
        return;
    mt_text_heading(x, "Looked at");
    for (uint32_t i = 0; i < d->audits->v.n; i++)
        audit(x, &d->audits->v.p[i]);
}

/* ---- what holds segments ---- */

void mt_text_pins(struct mt_text *x, const struct mt_device_analysis *d)
{
    const struct mt_cause *c = d->cause;
    struct mt_pin_group g[MT_PIN_GROUPS];
    char a[32], b[32], e[32], count[32], ph[128], line[LINE];
    unsigned n;
    if (c == NULL || c->pins.n == 0)
        return;
    mt_text_heading(x, "What keeps segments from being given back");
    (void)snprintf(line, sizeof line, "%s is free in %s segment%s that live blocks hold%s.",
                   mt_fmt_bytes(a, c->pinned_free), mt_fmt_count(b, c->n_pins_all),
                   c->n_pins_all == 1 ? "" : "s",
                   c->n_pins_all > c->pins.n ? "; those with the most" : "");
    mt_text_wrap(x, "  ", "  ", line);
    n = mt_pin_groups(c, g);
    for (unsigned i = 0; i < n; i++) {
        const struct mt_pin *p = g[i].first;
        (void)snprintf(
            line, sizeof line, "%s of %s free in %s of them, held by %s: %.160s (%s, from %s)",
            mt_fmt_bytes(a, g[i].free), mt_fmt_bytes(b, g[i].total), mt_fmt_count(count, g[i].n),
            mt_fmt_bytes(e, g[i].block_bytes), p->label, mt_role_words((enum mt_role)p->role),
            mt_words_phase(ph, sizeof ph, (enum mt_phase)p->attr.phase,
                           (enum mt_phase)p->attr.sub));
        mt_text_wrap(x, "  - ", "    ", line);
    }
}
