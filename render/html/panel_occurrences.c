/* Each phase at its highest: who was live at that peak, what it left behind, what was there without
 * use. */
#include "render/base/escape.h"
#include "render/html/kit.h"
#include "render/html/other_devices.h"
#include "render/svg/spark.h"
#include "render/svg/stack.h"

#include "parser/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { SHOWN = 64, BAR_HEIGHT = 10 };

static bool has(const struct mt_page *p)
{
    return p->dev != NULL && p->dev->roles.occurrences.n != 0;
}

static uint64_t highest(const struct mt_role_facts *f)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < f->occurrences.n; i++)
        most = f->occurrences.p[i].peak > most ? f->occurrences.p[i].peak : most;
    return most;
}

static void owners(struct mt_out *o, const struct mt_occurrence *occ,
                   const struct mt_role_palette *pal, uint64_t whole)
{
    struct mt_stack_bar b;
    char words[256];
    (void)mt_role_words_list(words, sizeof words, occ->peak_roles, 3);
    mt_puts(o, "<td class=\"at\">");
    mt_stack_open(&b, o, whole, BAR_HEIGHT, words);
    mt_stack_roles(&b, occ->peak_roles, NULL, MT_ROLE_COUNT, pal);
    mt_stack_close(&b);
    mt_puts(o, "<small>");
    mt_h_words(o, words, SIZE_MAX);
    mt_puts(o, "</small></td>");
}

static void or_none(struct mt_out *o, uint64_t bytes)
{
    if (bytes != 0)
        mt_h_td_bytes(o, bytes);
    else
        mt_h_td_text(o, "-");
}

static void all(const struct mt_role_facts *f, struct mt_out *o, const struct mt_role_palette *pal,
                uint64_t whole)
{
    static const char *const heads[] = {"Phase",         "#Step",     "#Length",
                                        "#At its begin", "#Peak",     "Live at that peak",
                                        "#Left behind",  "#Of no use"};
    uint32_t shown = f->occurrences.n < SHOWN ? f->occurrences.n : SHOWN;
    char words[MT_WORDS];
    if (shown < f->n_occurrences_all)
        mt_putf(o, "<details class=\"more\"><summary>The first %u of all %s, in order</summary>\n",
                (unsigned)shown, mt_fmt_count(words, f->n_occurrences_all));
    else
        mt_putf(o, "<details class=\"more\"><summary>All %u, in order</summary>\n",
                (unsigned)shown);
    mt_h_table(o, "Every time a phase ran", heads, 8);
    for (uint32_t i = 0; i < shown; i++) {
        const struct mt_occurrence *c = &f->occurrences.p[i];
        mt_putf(o, "<tr><th scope=\"row\" data-event=\"%" PRIu64 "\" data-to=\"%" PRIu64 "\">",
                c->first, c->last);
        mt_html_s(o, MT_PHASE_CELL(c->phase, MT_PH_NONE));
        mt_puts(o, "</th>");
        if (c->step == UINT32_MAX)
            mt_h_td_text(o, "-");
        else
            mt_h_td_count(o, (uint64_t)c->step + 1);
        mt_h_td_text(o, mt_span_words(words, c->t0_ns, c->t1_ns));
        mt_h_td_bytes(o, c->live_begin);
        mt_h_td_bytes_at(o, c->peak, c->peak_event);
        owners(o, c, pal, whole);
        or_none(o, c->retained);
        or_none(o, c->useless);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    mt_puts(o, "</details>\n");
}

/* The peak of a phase from one time to the next. v: room for all occurrences. */
static void td_spark(const struct mt_role_facts *f, struct mt_out *o, enum mt_phase phase,
                     uint64_t whole, uint64_t *v)
{
    unsigned n = 0;
    char label[64];
    for (uint32_t i = 0; i < f->occurrences.n; i++)
        if (f->occurrences.p[i].phase == phase)
            v[n++] = f->occurrences.p[i].peak;
    (void)snprintf(label, sizeof label, "%speak of each of %u times",
                   f->occurrences.n < f->n_occurrences_all ? "the first: " : "", n);
    mt_puts(o, "<td class=\"n\">");
    mt_svg_spark(o, v, n, whole, mt_color_hex(5), label);
    mt_puts(o, "</td>");
}

static void device(const struct mt_page *p, const struct mt_device_analysis *d, struct mt_out *o,
                   bool full)
{
    (void)p;
    static const char *const once[] = {
        "Phase",        "#Times",    "#Allocated", "#Highest peak", "Live at that peak",
        "#Left behind", "#Of no use"};
    static const char *const often[] = {"Phase",         "#Times",
                                        "#Allocated",    "#Peak, time by time",
                                        "#Highest peak", "Live at that peak",
                                        "#Left behind",  "#Of no use"};
    const struct mt_role_facts *f = &d->roles;
    struct mt_occ_sum sum[MT_PH_COUNT];
    struct mt_role_palette pal;
    unsigned n = mt_occ_sums(f, sum);
    bool spark = f->occurrences.n > n;
    uint64_t whole = highest(f), *v = spark ? mt_calloc(f->occurrences.n, sizeof *v) : NULL;
    if (spark && v == NULL) {
        o->error = o->error != 0 ? o->error : ENOMEM;
        return;
    }
    mt_role_palette_build(&pal, f);
    if (full && mt_forecast_sentence(d) != NULL) {
        mt_puts(o, "<p>");
        mt_h_words(o, mt_forecast_sentence(d), SIZE_MAX);
        mt_puts(o, "</p>\n");
    }
    if (full) {
        mt_puts(o, "<p class=\"note\">");
        mt_html_s(o, mt_occ_note);
        mt_puts(o, "</p>\n");
    }
    mt_h_table(o, "Each phase at its highest", spark ? often : once, spark ? 8 : 7);
    for (unsigned i = 0; i < n; i++) {
        mt_puts(o, "<tr><th scope=\"row\">");
        mt_html_s(o, MT_PHASE_CELL(sum[i].phase, MT_PH_NONE));
        mt_puts(o, "</th>");
        mt_h_td_count(o, sum[i].n);
        mt_h_td_bytes(o, sum[i].alloc_bytes);
        if (spark)
            td_spark(f, o, sum[i].phase, whole, v);
        mt_h_td_bytes_at(o, sum[i].top->peak, full ? sum[i].top->peak_event : MT_NO_EVENT);
        owners(o, sum[i].top, &pal, whole);
        or_none(o, sum[i].retained);
        or_none(o, sum[i].useless);
        mt_puts(o, "</tr>\n");
    }
    mt_h_table_end(o);
    if (full && f->occurrences.n > n)
        all(f, o, &pal, whole);
    mt_free(v);
}

static bool occurs(const struct mt_device_analysis *d) { return d->roles.occurrences.n != 0; }

static char *words(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    char size[32];
    (void)snprintf(buf, cap, "at most %s", mt_fmt_bytes(size, highest(&d->roles)));
    return buf;
}

static void draw(const struct mt_page *p, struct mt_out *o)
{
    mt_h_devices(p, o, occurs, device, words);
}

const struct mt_panel mt_panel_occurrences = {"occurrences", "Each phase at its highest", has,
                                              draw};
