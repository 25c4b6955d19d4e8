/* Rows of the report's sections in a panel. */
#include "render/html/kit.h"

#include "render/base/escape.h"
#include "render/svg/ledger.h"
#include "render/svg/spark.h"
#include "render/svg/stack.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

struct rows {
    struct mt_sink sink; /* first: the sections know it alone */
    const struct mt_page *p;
    const struct mt_datum *datum; /* of the row that is written; NULL = words alone */
    unsigned n_datum;
    bool in_table; /* of mt_h_has_rows(): a row was put */
};

static bool has_color(const struct mt_datum *d)
{
    return d->kind == MT_D_PHASE || d->kind == MT_D_HOLDER || d->kind == MT_D_ROLE;
}

/* Of the row, where it is not a datum that has one. */
static unsigned color_of(const struct rows *x, const struct mt_datum *d)
{
    for (unsigned i = 0; i < x->n_datum && !has_color(d); i++)
        if (has_color(&x->datum[i]))
            d = &x->datum[i];
    return d->kind == MT_D_PHASE    ? x->p->pal.of[d->n][d->of]
           : d->kind == MT_D_HOLDER ? mt_holder_color((enum mt_holder)d->n)
           : d->kind == MT_D_ROLE   ? mt_role_color((unsigned)d->n)
                                    : MT_COLOR_UNATTRIBUTED;
}

static void put_roles(struct mt_out *o, const struct mt_datum *d)
{
    enum { HEIGHT = 10 };
    struct mt_stack_bar b;
    mt_puts(o, "<td class=\"at\">");
    mt_stack_open(&b, o, d->of, HEIGHT, d->words);
    mt_stack_roles(&b, d->bytes, NULL, MT_ROLE_COUNT);
    mt_stack_close(&b);
    mt_puts(o, "<small>");
    mt_h_words(o, d->words, SIZE_MAX);
    mt_puts(o, "</small></td>");
}

/* The peak of a phase from one time to the next. */
static void put_peaks(struct rows *x, struct mt_out *o, const struct mt_datum *d)
{
    const struct mt_role_facts *f = &(x->sink.dev != NULL ? x->sink.dev : x->p->dev)->roles;
    uint64_t *v = mt_calloc(f->occurrences.n, sizeof *v);
    unsigned n = 0;
    char label[64];
    if (v == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < f->occurrences.n; i++)
        if (f->occurrences.p[i].phase == d->n)
            v[n++] = f->occurrences.p[i].peak;
    (void)snprintf(label, sizeof label, "%speak of each of %u times",
                   f->occurrences.n < f->n_occurrences_all ? "the first: " : "", n);
    mt_puts(o, "<td class=\"n\">");
    mt_svg_spark(o, v, n, d->of, mt_color_hex(5), label);
    mt_puts(o, "</td>");
    mt_free(v);
}

/* Whether the datum has a moment, and one of the device of the page's timeline. */
static bool is_at(const struct rows *x, const struct mt_datum *d)
{
    return x->sink.dev == NULL && d->event != MT_NO_EVENT;
}

static void put_td(struct rows *x, struct mt_out *o, const char *cell, const struct mt_datum *d)
{
    char exact[32];
    switch (d->kind) {
    case MT_D_BYTES: mt_h_td_bytes_at(o, d->n, is_at(x, d) ? d->event : MT_NO_EVENT); break;
    case MT_D_SIGNED:
        mt_putf(o, "<td class=\"n\" title=\"%s%s bytes\">%s</td>", (int64_t)d->n < 0 ? "-" : "",
                mt_fmt_count(exact, (int64_t)d->n < 0 ? 0 - d->n : d->n), cell);
        break;
    case MT_D_SHARE: mt_h_td_share(o, d->n, d->of, color_of(x, d)); break;
    case MT_D_ROLES: put_roles(o, d); break;
    case MT_D_PEAKS: put_peaks(x, o, d); break;
    case MT_D_WORDS:
    case MT_D_COUNT:
    case MT_D_PHASE:
    case MT_D_ROLE:
    case MT_D_OWNER:
    case MT_D_HOLDER: mt_h_td_text(o, cell); break;
    }
}

static void put_datum(struct rows *x, struct mt_out *o, const char *cell, const char *spec,
                      const struct mt_datum *d)
{
    bool is_here = is_at(x, d);
    char exact[32];
    size_t n;
    switch (*spec) {
    case 't': put_td(x, o, cell, d); break;
    case 'c':
        mt_h_swatch(o, color_of(x, d));
        if (spec[1] == 'n')
            mt_h_name(o, cell, mt_form_cut(cell, spec + 2));
        else
            mt_html_s(o, cell);
        break;
    case 'o': mt_h_owner(o, x->p, (uint32_t)d->n, d->of != 0); break;
    case 'b':
        if (is_here && d->kind == MT_D_BYTES) {
            mt_putf(o, "<td class=\"n\" title=\"%s bytes\">", mt_fmt_count(exact, d->n));
            mt_h_event(o, x->p, d->event, cell);
            mt_puts(o, "</td>");
        } else {
            put_td(x, o, cell, d);
        }
        break;
    case 'a':
        if (is_here)
            mt_h_event(o, x->p, d->event, cell);
        else
            mt_html_s(o, cell);
        break;
    case 'h':
        if (!is_here || d->event < 0 || d->since < 0 || !mt_page_has_timeline(x->p))
            break;
        n = strcspn(spec + 1, "|}");
        mt_put(o, spec + 1, n);
        mt_h_when(o, x->p, "", d->since, d->event);
        spec += 1 + n + (spec[1 + n] == '|');
        mt_put(o, spec, strcspn(spec, "}"));
        break;
    case 'v':
        if (is_here)
            mt_putf(o, " data-event=\"%" PRId64 "\" data-to=\"%" PRId64 "\"", d->since, d->event);
        break;
    default: break;
    }
}

static void put_cell(struct mt_out *o, const char *cell, const char *spec, unsigned i, void *ctx)
{
    struct rows *x = ctx;
    size_t max = mt_form_cut(cell, spec + 1);
    switch (*spec) {
    case '=': mt_puts(o, cell); break;
    case 'n': mt_h_name(o, cell[0] != '\0' ? cell : NULL, max); break;
    case 'w': mt_h_words(o, cell, max); break;
    case '}': mt_html_s(o, cell); break;
    default: put_datum(x, o, cell, spec, &x->datum[i]); break;
    }
}

static void put_row(struct mt_sink *k, const char *form, const char *const *cell,
                    const struct mt_datum *datum, unsigned n)
{
    struct rows *x = (struct rows *)k;
    size_t len = strlen(form);
    x->datum = datum;
    x->n_datum = datum != NULL ? n : 0;
    if (mt_form_says(form, len, cell, n))
        mt_form_put(k->o, form, len, cell, n, put_cell, x);
}

static void put_table(struct mt_sink *k, const char *label, const char *const *heads, unsigned n)
{
    mt_h_table(k->o, label, heads, n);
    ((struct rows *)k)->in_table = true;
}

static void end(struct mt_sink *k)
{
    if (((struct rows *)k)->in_table)
        mt_h_table_end(k->o);
    ((struct rows *)k)->in_table = false;
}

static struct mt_sink sink_of(struct mt_out *o)
{
    return (struct mt_sink){
        .o = o, .format = MT_IN_HTML, .row = put_row, .table = put_table, .end = end};
}

void mt_h_rows(struct mt_out *o, const struct mt_page *p, mt_section *section,
               const struct mt_device_analysis *dev)
{
    struct rows x = {.sink = sink_of(o), .p = p};
    x.sink.dev = dev != p->dev ? dev : NULL;
    section(&x.sink, p->r);
}

void mt_h_advice_rows(struct mt_out *o, const struct mt_page *p, mt_section *section,
                      const struct mt_advice *a)
{
    struct rows x = {.sink = sink_of(o), .p = p};
    x.sink.advice = a;
    section(&x.sink, p->r);
}

void mt_h_ledger_rows(struct mt_out *o, const struct mt_page *p, const struct mt_ledger *l)
{
    struct rows x = {.sink = sink_of(o), .p = p};
    x.sink.ledger = l;
    mt_section_ledger(&x.sink, p->r);
}

static void note_row(struct mt_sink *k, const char *form, const char *const *cell,
                     const struct mt_datum *datum, unsigned n)
{
    (void)datum;
    ((struct rows *)k)->in_table |= mt_form_says(form, strlen(form), cell, n);
}

static void note_end(struct mt_sink *k) { (void)k; }

bool mt_h_has_rows(const struct mt_page *p, mt_section *section,
                   const struct mt_device_analysis *dev)
{
    struct mt_out none = {.error = 0};
    struct rows x = {.sink = {.o = &none, .format = MT_IN_HTML, .row = note_row, .end = note_end},
                     .p = p};
    x.sink.dev = dev;
    section(&x.sink, p->r);
    return x.in_table;
}
