/* What the memory is for: roles at the moment that matters, over the phases and the steps. */
#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/rows.h"

#include <stdio.h>
#include <string.h>

void mt_section_roles(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    const char *heads[6] = {"Role", NULL, "#Share"};
    uint64_t sum = 0, waiting = 0;
    uint8_t order[MT_ROLE_COUNT];
    unsigned n, n_heads = 3;
    bool past;
    char at[64];
    if (d == NULL || !mt_has_roles(d))
        return;
    past = mt_roles_have_past(d);
    n = mt_role_order(d->roles.at_focus, order);
    for (unsigned i = 0; i < n; i++) {
        sum += d->roles.at_focus[order[i]];
        waiting += d->roles.pending_at_focus[order[i]];
    }
    for (unsigned i = 0; k->format == MT_IN_HTML && past && i < MT_ROLE_COUNT; i++)
        if (d->roles.at_focus[i] == 0 && d->roles.peak[i] != 0) /* of other moments */
            order[n++] = (uint8_t)i;
    mt_heading(k, "What the memory is for", NULL);
    MT_ROW(k, "  role                        {0:>11}   share[ {1:>12} {2:>12}]",
           "| what it is for | {0} | share |[ {1} |]\n|---|---:|---:|{3:=}\n", mt_focus_words(d),
           past ? "highest" : NULL, past ? "allocated" : NULL, past ? "---:|" : NULL);
    (void)snprintf(at, sizeof at, "#Live %s", mt_focus_words(d));
    heads[1] = at;
    if (waiting != 0)
        heads[n_heads++] = "#Waiting to be freed";
    if (past) {
        heads[n_heads++] = "#Highest in the trace";
        heads[n_heads++] = "#Allocated in all";
    }
    mt_table(k, "Roles", heads, n_heads);
    for (unsigned i = 0; i < n; i++) {
        unsigned role = order[i];
        uint64_t pending = d->roles.pending_at_focus[role];
        MT_DATA(k, "  {0:<27} {1:>11} {2:>7}[ {3:>12} {4:>12}][  {5} waiting to be freed]",
                "| {0} | {1} | {2:=} |[ {3} |]\n",
                "<tr><th scope=\"row\">{0:c}</th>{1:t}{2:t}[{6:t}][{3:t}{4:t}]</tr>\n",
                mt_as_role(role), mt_as_bytes(d->roles.at_focus[role]),
                mt_as_share(d->roles.at_focus[role], d->focus.live),
                mt_known(past, mt_as_bytes(d->roles.peak[role]), NULL),
                mt_known(past, mt_as_bytes(d->roles.alloc_bytes[role]), NULL),
                mt_known(pending != 0, mt_as_bytes(pending), NULL),
                mt_known(waiting != 0, mt_as_bytes(pending), NULL));
    }
    MT_DATA(k, NULL, NULL,
            past
                ? "<tr class=\"sum\"><th scope=\"row\">all</th>{0:t}<td class=\"n\">{1}</td>[{2:t}]"
                  "<td></td><td></td></tr>\n"
                : "<tr class=\"sum\"><th scope=\"row\">all</th>{0:t}<td class=\"n\">{1}</td>[{2:t}]"
                  "</tr>\n",
            mt_as_bytes(sum), mt_as_share(sum, d->focus.live),
            mt_known(waiting != 0, mt_as_bytes(waiting), NULL));
    k->end(k);
}

void mt_section_role_notes(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    char notes[MT_ROLE_NOTES][MT_ROLE_NOTE];
    unsigned n = d != NULL && k->dev == NULL && mt_has_roles(d) ? mt_role_notes(notes, d) : 0;
    if (n != 0)
        MT_NOTE(k, "<ul class=\"evidence\">\n");
    for (unsigned i = 0; i < n; i++)
        MT_ROW3(k, "  |{0}", "- {0}\n", "<li>{0:w}</li>\n", notes[i]);
    if (n != 0)
        MT_NOTE(k, "</ul>\n");
    k->end(k);
}

/* Of which roles nothing is to be expected, once for every reason. */
static void not_known(struct mt_sink *k, const struct mt_expected *x)
{
    for (uint32_t i = 0; i < x->v.n; i++) {
        char roles[400] = "";
        bool is_first = !x->v.p[i].known;
        for (uint32_t j = 0; j < i && is_first; j++)
            is_first = x->v.p[j].known || strcmp(x->v.p[j].text, x->v.p[i].text) != 0;
        for (uint32_t j = i; j < x->v.n && is_first; j++) {
            const struct mt_expect *e = &x->v.p[j];
            size_t n = strlen(roles);
            if (!e->known && strcmp(e->text, x->v.p[i].text) == 0)
                (void)snprintf(roles + n, sizeof roles - n, "%s%s in %s (%s measured)",
                               n != 0 ? ", " : "", mt_role_words((enum mt_role)e->role),
                               MT_PHASE_WORDS(e->phase, MT_PH_NONE), MT_BYTES(e->measured));
        }
        if (is_first)
            MT_ROW(k, "  - |not known for {0}: {1}", "- not known for {0}: {1}\n", roles,
                   x->v.p[i].text);
    }
    k->end(k);
}

void mt_section_expected(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    bool any = false;
    if (d == NULL || !mt_has_roles(d) || !mt_has_expected(d))
        return;
    mt_heading(k, "Expected beside measured", NULL);
    for (uint32_t i = 0; i < d->expected->v.n; i++)
        any |= d->expected->v.p[i].known;
    if (any)
        MT_ROW0(k, NULL,
                "| role | phase | measured | expected | | how |\n|---|---|---:|---:|---|---|\n");
    MT_NOTE(k, "<h3>Expected beside measured</h3>\n<p class=\"note\">The highest of a role in a "
               "phase, and what the model and the settings of the run ask for.</p>\n");
    MT_TABLE(k, "Expected beside measured", "Role", "Phase", "#Measured", "#Expected", "Answer",
             "How it is computed");
    for (uint32_t i = 0; i < d->expected->v.n; i++) {
        const struct mt_expect *e = &d->expected->v.p[i];
        char bytes[48], answer[48];
        if (!e->known && k->format != MT_IN_HTML)
            continue;
        MT_DATA(k,
                e->more
                    ? "!  ! |{0} in {1}: {2} measured, {3} expected: {4}\n      |{5}\n      |{6}"
                    : "  - |{0} in {1}: {2} measured, {3} expected: {4}\n      |{5}\n      |{6}",
                e->more ? "| {0} | {1} | {2} | {3} | **{4:=}** | {5}[; {6}] |\n"
                        : "| {0} | {1} | {2} | {3} | {4:=} | {5}[; {6}] |\n",
                e->more ? "<tr><th scope=\"row\">{0}</th><td>{7}</td>{2:t}{3:t}<td><span "
                          "class=\"flag\">{4}</span></td><td>{5:w600}[<br>{6:w600}]</td></tr>\n"
                        : "<tr><th scope=\"row\">{0}</th><td>{7}</td>{2:t}{3:t}<td>{4}</td><td>"
                          "{5:w600}[<br>{6:w600}]</td></tr>\n",
                mt_as_words(mt_role_words((enum mt_role)e->role)),
                mt_as_words(MT_PHASE_WORDS(e->phase, MT_PH_NONE)), mt_as_bytes(e->measured),
                mt_as_words(mt_expect_bytes(bytes, e)), mt_as_words(mt_expect_answer(answer, e)),
                mt_as_words(e->text), mt_as_words(e->extra), mt_as_phase(e->phase, MT_PH_NONE));
    }
    k->end(k);
    if (k->format != MT_IN_HTML)
        not_known(k, d->expected);
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

/* The bytes of the roles at the peak of a phase, in a bar as wide as the highest of all is. */
static struct mt_datum roles_at(const struct mt_occurrence *o, uint64_t highest, const char *words)
{
    struct mt_datum d = mt_as(MT_D_ROLES, words, o->peak, highest);
    d.bytes = o->peak_roles;
    return d;
}

static struct mt_datum or_none(uint64_t bytes)
{
    return mt_known(bytes != 0, mt_as_bytes(bytes), "-");
}

/* Every time that a phase ran. */
static void all_occurrences(struct mt_sink *k, const struct mt_device_analysis *d, uint64_t highest)
{
    const struct mt_role_facts *f = &d->roles;
    enum { SHOWN = 64 };
    uint32_t shown = f->occurrences.n < SHOWN ? f->occurrences.n : SHOWN;
    char few[256], span[MT_WORDS], name[MT_WORDS];
    MT_ROW3(k, NULL, NULL,
            shown < f->n_occurrences_all
                ? "<details class=\"more\"><summary>The first {0} of all {1}, in order</summary>\n"
                : "<details class=\"more\"><summary>All {0}, in order</summary>\n",
            MT_COUNT(shown), MT_COUNT(f->n_occurrences_all));
    MT_TABLE(k, "Every time a phase ran", "Phase", "#Step", "#Length", "#At its begin", "#Peak",
             "Live at that peak", "#Left behind", "#Of no use");
    for (uint32_t i = 0; i < shown; i++) {
        const struct mt_occurrence *o = &f->occurrences.p[i];
        struct mt_datum phase = mt_at(mt_as_phase(o->phase, MT_PH_NONE), (int64_t)o->last);
        phase.since = (int64_t)o->first;
        phase.words = mt_occ_name(name, d, o->phase);
        MT_DATA(k, NULL, NULL,
                "<tr><th scope=\"row\"{0:v}>{0}</th>{1:t}{2:t}{3:t}{4:t}{5:t}{6:t}{7:t}</tr>\n",
                phase, mt_known(o->step != UINT32_MAX, mt_as_count((uint64_t)o->step + 1), "-"),
                mt_as_words(mt_span_words(span, o->t0_ns, o->t1_ns)), mt_as_bytes(o->live_begin),
                mt_at(mt_as_bytes(o->peak), o->peak_event),
                roles_at(o, highest, mt_role_words_list(few, sizeof few, o->peak_roles, 3)),
                or_none(o->retained), or_none(o->useless));
    }
    k->end(k);
    MT_NOTE(k, "</details>\n");
}

void mt_section_occurrences(struct mt_sink *k, const struct mt_report *r)
{
    enum { NAME = 26 };
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    struct mt_occ_sum sum[MT_PH_COUNT];
    unsigned n = d != NULL ? mt_occ_sums(&d->roles, sum) : 0;
    bool often = d != NULL && d->roles.occurrences.n > n;
    static const char *const once[] = {
        "Phase",        "#Times",    "#Allocated", "#Highest peak", "Live at that peak",
        "#Left behind", "#Of no use"};
    static const char *const again[] = {"Phase",         "#Times",
                                        "#Allocated",    "#Peak, time by time",
                                        "#Highest peak", "Live at that peak",
                                        "#Left behind",  "#Of no use"};
    char many[256], few[256];
    uint64_t highest = 0;
    if (d == NULL)
        return;
    for (unsigned i = 0; i < n; i++)
        highest = sum[i].top->peak > highest ? sum[i].top->peak : highest;
    if (n != 0)
        mt_heading(k, "Each phase at its highest", NULL);
    if (k->dev == NULL) {
        MT_ROW3(k, n != 0 ? "  |{0}" : NULL, "{0}\n\n", n != 0 ? "<p>{0:w}</p>\n" : NULL,
                mt_forecast_sentence(d));
        MT_ROW3(k, NULL, NULL, n != 0 ? "<p class=\"note\">{0}</p>\n" : NULL, mt_occ_note(d));
    }
    if (n == 0)
        return;
    MT_ROW0(k, "  phase                       times        peak left behind   of no use",
            "| phase | times | highest peak | live at that peak | left behind | of no use |\n"
            "|---|---:|---:|---|---:|---:|\n");
    mt_table(k, "Each phase at its highest", often ? again : once, often ? 8 : 7);
    for (unsigned i = 0; i < n && i < mt_most3(k, n, 16, n); i++) {
        const struct mt_occurrence *top = sum[i].top;
        char name[MT_WORDS];
        bool is_long = strlen(mt_occ_name(name, d, sum[i].phase)) > NAME;
        MT_DATA(
            k,
            is_long ? "  |{0}\n  {7:<26} {1:>6} {2:>11} {3:>11} {4:>11}\n      |at the peak: {5}"
                    : "  {0:<26} {1:>6} {2:>11} {3:>11} {4:>11}\n      |at the peak: {5}",
            "| {0} | {1} | {2} | {6:=} | {3} | {4} |\n",
            often ? "<tr><th scope=\"row\">{0}</th>{1:t}{9:t}{12:t}{2:t}{6:t}{10:t}{11:t}</tr>\n"
                  : "<tr><th scope=\"row\">{0}</th>{1:t}{9:t}{2:t}{6:t}{10:t}{11:t}</tr>\n",
            mt_as_words(name), mt_as_count(sum[i].n),
            mt_at(mt_as_bytes(top->peak), top->peak_event), mt_as_bytes(sum[i].retained),
            mt_as_bytes(sum[i].useless),
            mt_as_words(mt_role_words_list(many, sizeof many, top->peak_roles, 4)),
            roles_at(top, highest, mt_role_words_list(few, sizeof few, top->peak_roles, 3)),
            mt_as_words(NULL), mt_as_phase(sum[i].phase, MT_PH_NONE),
            mt_as_bytes(sum[i].alloc_bytes), or_none(sum[i].retained), or_none(sum[i].useless),
            mt_as(MT_D_PEAKS, "", sum[i].phase, highest));
    }
    k->end(k);
    MT_ROW(k, "  |{0}", "{0}\n\n", mt_occ_note(d));
    if (often && k->dev == NULL)
        all_occurrences(k, d, highest);
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
    MT_NOTE(k,
            "<h3>What grows</h3>\n<p class=\"note\">Bytes that one place holds at the same "
            "point of successive steps; the first step, which sets up state, is left out.</p>\n");
    MT_TABLE(k, "What grows from step to step", "Held by", "For", "#Per step", "#From", "#To",
             "#Steps compared", "#Fit", "Confidence");
    for (uint32_t i = 0; i < f->growth.n && i < mt_most3(k, 12, 6, UINT32_MAX); i++) {
        const struct mt_growth *g = &f->growth.p[i];
        MT_DATA(k,
                "~4  {0:>11} per step  {1}\n               |{2}, {3} to {4} over {5} steps, "
                "fit {6} %, confidence {7}",
                "| {0:=} | {1:`160} | {2} | {3} | {4} | {5} | {7} |\n",
                "<tr><th scope=\"row\">{1:n200}</th><td>{2}</td>{0:t}{3:t}{4:t}{5:t}<td "
                "class=\"n\">{6} %</td><td>{7}</td></tr>\n",
                mt_as_words(mt_slope_words(slope, g->slope)), mt_as_words(g->label),
                mt_as_role(g->role), mt_at(mt_as_bytes(g->first), (int64_t)g->first_event),
                mt_at(mt_as_bytes(g->last), (int64_t)g->last_event), mt_as_count(g->n_steps),
                mt_as_count(mt_fit_percent(g)), mt_as_words(mt_conf_phrase(g->conf)));
    }
    k->end(k);
}

static void step(struct mt_sink *k, const struct mt_role_facts *f, uint32_t i)
{
    const struct mt_step *s = &f->steps.p[i];
    struct mt_datum no = mt_at(mt_as_count((uint64_t)i + 1), (int64_t)s->last);
    char span[MT_WORDS];
    no.since = (int64_t)s->first;
    MT_DATA(k, "  {0:>6} {1:>11} {2:>11} {3:>11} {4:>11} {5:>13}[  {6}]",
            "| {0} | {2} | {3} | {4} |\n",
            "<tr><th scope=\"row\"{0:v}>{0}[ <small>{6}</small>]</th>{1:t}{2:t}{3:t}{4:t}{5:t}"
            "</tr>\n",
            no, mt_as_words(mt_span_words(span, s->t0_ns, s->t1_ns)), mt_as_bytes(s->live_begin),
            mt_at(mt_as_bytes(s->peak), s->peak_event), mt_as_bytes(s->live_end),
            mt_as_count(s->n_micros), mt_as_words(s->whole ? NULL : "in part"));
}

void mt_section_steps(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    const struct mt_role_facts *f = d != NULL ? &d->roles : NULL;
    static const struct mt_forms gap = {"     ...", NULL,
                                        "<tr><td colspan=\"6\">\xe2\x80\xa6</td></tr>\n"};
    uint32_t row[12], n;
    if (f == NULL)
        return;
    n = f->steps.n >= 2 ? mt_step_rows(f, row, mt_most(k, 12, 6)) : 0;
    if (n != 0) {
        mt_heading(k, "Steps", NULL);
        MT_ROW3(k,
                "  |{0} steps, found by {1}.\n"
                "    step      length    at begin        peak      at end micro-batches",
                "| step of {0} | at its begin | peak | at its end |\n|---:|---:|---:|---:|\n",
                "<p class=\"note\">{0} steps, found by {1}.</p>\n", MT_COUNT(f->n_steps_all),
                f->steps_from);
        MT_TABLE(k, "Steps", "Step", "#Length", "#At its begin", "#Peak", "#At its end",
                 "#Micro-batches");
    }
    for (uint32_t i = 0; i < n; i++) {
        if (i != 0 && row[i] != row[i - 1] + 1)
            mt_row(k, &gap, NULL, 0);
        step(k, f, row[i]);
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

/* A row of an audit's table, of heads (cell NULL) or cells; a form for its columns. */
static void audit_row(struct mt_sink *k, const struct mt_audit *a, const struct mt_cell *cell)
{
    struct mt_datum datum[MT_AUDIT_COLUMNS];
    char form[MT_AUDIT_COLUMNS * 32 + 32], words[MT_AUDIT_COLUMNS][64];
    int used = snprintf(form, sizeof form, k->format == MT_IN_HTML ? "<tr>" : "|");
    for (uint32_t c = 0; c < a->n_columns; c++) {
        bool is_text = cell != NULL && cell[c].kind == MT_CELL_TEXT;
        datum[c] = cell == NULL                    ? mt_as_words(a->column[c])
                   : cell[c].kind == MT_CELL_BYTES ? mt_as_bytes(cell[c].number)
                                                   : mt_as_words(mt_cell_words(words[c], &cell[c]));
        used += snprintf(form + used, sizeof form - (size_t)used,
                         k->format != MT_IN_HTML   ? is_text ? " {%u:.160} |" : " {%u:=} |"
                         : is_text                 ? "<td>{%u:n200}</td>"
                         : mt_cell_is_number(a, c) ? "{%u:t}"
                                                   : "<td>{%u}</td>",
                         (unsigned)c);
    }
    (void)snprintf(form + used, sizeof form - (size_t)used,
                   k->format == MT_IN_HTML ? "</tr>\n" : "\n");
    mt_row_data(k, &(const struct mt_forms){NULL, form, form}, datum, a->n_columns);
}

static void audit_table(struct mt_sink *k, const struct mt_audit *a)
{
    char name[MT_AUDIT_COLUMNS][80];
    const char *heads[MT_AUDIT_COLUMNS];
    for (uint32_t c = 0; c < a->n_columns; c++) {
        (void)snprintf(name[c], sizeof name[c], "%s%s", mt_cell_is_number(a, c) ? "#" : "",
                       a->column[c]);
        heads[c] = name[c];
    }
    mt_table(k, a->title, heads, a->n_columns);
    if (k->format == MT_IN_MD) {
        MT_ROW0(k, NULL, "\n");
        audit_row(k, a, NULL);
        MT_ROW0(k, NULL, "|");
        for (uint32_t c = 0; c < a->n_columns; c++)
            MT_ROW0(k, NULL, mt_cell_is_number(a, c) ? "---:|" : "---|");
        MT_ROW0(k, NULL, "\n");
    }
    for (uint32_t i = 0; i < a->rows.n && i < mt_most(k, a->rows.n, 6); i++)
        audit_row(k, a, a->rows.p[i].cell);
    if (k->format == MT_IN_HTML)
        k->end(k);
}

static void audit(struct mt_sink *k, const struct mt_audit *a)
{
    enum { ROWS = 12 };
    uint32_t rows = mt_most3(k, ROWS, ROWS, UINT32_MAX);
    uint64_t more = a->rows_left_out + (a->rows.n > rows ? a->rows.n - rows : 0);
    bool has_table = a->rows.n != 0 && a->n_columns != 0 && k->dev == NULL;
    char line[2048];
    MT_DATA(k, a->finding ? "!  ! |{0}\n    |{1}" : "*  >4|{0}\n    |{1}",
            a->finding ? "**{0:=}, to act on.** {1}\n" : "**{0:=}.** {1}\n",
            "<details class=\"advice\"{2:=}><summary>[<span class=\"flag\">{3}</span> ]<b>{0}</b>: "
            "{1:w1000}</summary>\n{4:h<p class=\"note\">In the timeline: |</p>\n}",
            mt_as_words(a->title), mt_as_words(a->sentence),
            mt_as_words(a->finding && k->dev == NULL ? " open" : NULL),
            mt_as_words(a->finding ? "To act on" : NULL), mt_at(mt_as_words(NULL), a->event));
    for (uint32_t n = 0; k->format == MT_IN_TEXT && n < a->rows.n && n < rows; n++)
        MT_ROW(k, "    - |{0}", NULL, row_words(line, sizeof line, a, a->rows.p[n].cell));
    if (has_table && (k->format == MT_IN_HTML || a->finding))
        audit_table(k, a);
    if (more != 0)
        MT_ROW3(k, "    - and {0} more rows", NULL,
                has_table ? "<p class=\"note\">{0} more rows.</p>\n" : NULL, MT_COUNT(more));
    MT_NOTE(k, "</details>\n");
    k->end(k);
}

void mt_section_audits(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_sink_device(k, r);
    if (d == NULL || d->audits == NULL || d->audits->v.n == 0)
        return;
    mt_heading(k, "What was checked", NULL);
    for (unsigned pass = 0; pass < 2; pass++) /* what asks for something first */
        for (uint32_t i = 0; i < d->audits->v.n; i++)
            if (d->audits->v.p[i].finding == (pass == 0))
                audit(k, &d->audits->v.p[i]);
}
