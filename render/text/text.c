/* The report for a terminal: good enough alone over ssh. */
#include "render/text/text.h"

#include "analysis/base/words.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/view/rows.h"
#include "render/view/run.h"
#include "render/view/stack.h"
#include "render/text/impl.h"
#include "render/view/view.h"

#include <stdio.h>
#include <string.h>

/* A chart of 8 rows of half blocks: one character shows the highest state of its share of the
 * columns. */
static void chart(struct mt_text *x, const struct mt_device_analysis *d)
{
    enum { ROWS = 8, MAX_W = 100 };
    static const char *const part[] = {" ",      "\u2581", "\u2582", "\u2583", "\u2584",
                                       "\u2585", "\u2586", "\u2587", "\u2588"};
    const struct mt_timeline *t = d->by_event.n_columns != 0
                                      ? &d->by_event
                                      : &d->timeline; /* few columns: no room for waiting */
    uint64_t high[MAX_W] = {0},
             top = d->reserved_peak > d->live_peak ? d->reserved_peak : d->live_peak;
    uint32_t w = (uint32_t)(x->width > 40 ? x->width - 14 : 26);
    char b[32];
    if (w > MAX_W)
        w = MAX_W;
    if (t->n_columns < 2 || top == 0)
        return;
    if (w > t->n_columns)
        w = t->n_columns;
    for (uint32_t c = 0; c < t->n_columns; c++) {
        uint32_t k = (uint32_t)((uint64_t)c * w / t->n_columns);
        if (t->total[c] > high[k])
            high[k] = t->total[c];
    }
    mt_text_heading(x, t->has_time ? "Live memory over time" : "Live memory over events");
    for (int row = ROWS - 1; row >= 0; row--) {
        char label[16] = "";
        if (row == ROWS - 1)
            (void)snprintf(label, sizeof label, "%s", mt_fmt_bytes(b, top));
        else if (row == 0)
            (void)snprintf(label, sizeof label, "0");
        mt_putf(x->o, "%11s |", label);
        for (uint32_t k = 0; k < w; k++) {
            uint64_t eighths = (uint64_t)((double)high[k] / (double)top * (ROWS * 8) + 0.5);
            uint64_t base = (uint64_t)row * 8;
            mt_puts(x->o, part[eighths <= base ? 0 : eighths - base >= 8 ? 8 : eighths - base]);
        }
        mt_putc(x->o, '\n');
    }
    if (t->has_time)
        mt_putf(x->o, "%11s  0 s%*s\n", "", (int)w - 3, mt_fmt_seconds(b, t->x1 - t->x0));
    else
        mt_putf(x->o, "%11s  event 0%*s\n", "", (int)w - 7, mt_fmt_count(b, t->x1));
}

static void phases(struct mt_text *x, const struct mt_device_analysis *d)
{
    char a[40], b[40], e[40], ph[128];
    bool any = false;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        if (p->n_allocs == 0 && p->at_focus == 0)
            continue;
        if (!any) {
            mt_text_heading(x, "Phases");
            mt_putf(x->o, "  %-34s %11s %11s %11s %7s\n", "phase", "allocated", "peak inside",
                    d->focus_is_oom     ? "at the OOM"
                    : d->end_state_only ? "at the end"
                                        : "at the peak",
                    "share");
            any = true;
        }
        mt_puts(x->o, "  ");
        if (p->phase == MT_PH_UNATTRIBUTED && p->sub == MT_PH_NONE)
            mt_text_padded(x, p->n_allocs ? "unattributed" : "before recording, unattributed", 34);
        else
            mt_text_padded(x, mt_words_phase(ph, sizeof ph, p->phase, p->sub), 34);
        mt_putf(x->o, " %11s %11s %11s %7s\n", mt_fmt_bytes(a, p->alloc_bytes),
                p->peak_inside_event == MT_NO_EVENT || d->withheld
                    ? "-"
                    : mt_fmt_bytes(b, p->peak_inside),
                mt_fmt_bytes(e, p->at_focus), mt_fmt_percent(ph, p->at_focus, d->focus.live));
    }
}

static void owners(struct mt_text *x, const struct mt_trace *t, const struct mt_device_analysis *d,
                   uint32_t max)
{
    char a[40], b[40], ph[128], line[256];
    uint64_t rest = d->owners_rest_bytes;
    if (d->owners.n == 0)
        return;
    (void)snprintf(line, sizeof line, "Who holds memory %s (%s live)",
                   d->focus_is_oom                    ? "at the OOM"
                   : d->withheld || d->end_state_only ? "in the recorded state"
                                                      : "at the peak",
                   mt_fmt_bytes(a, d->focus.live));
    mt_text_heading(x, line);
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if (i >= max) {
            rest += o->bytes;
            continue;
        }
        mt_putf(x->o, "  %10s %7s ", mt_fmt_bytes(a, o->bytes),
                mt_fmt_percent(b, o->bytes, d->focus.live));
        mt_text_clipped(x, o->label, x->width > 70 ? x->width - 21 : 48);
        mt_putf(x->o, "\n                     %s block%s, %s", mt_fmt_count(a, o->blocks),
                o->blocks == 1 ? "" : "s",
                o->attr.phase == MT_PH_UNATTRIBUTED && o->attr.sub == MT_PH_NONE
                    ? (o->birth == MT_BIRTH_IN_TRACE ? "phase unknown"
                                                     : "allocated before recording began")
                    : mt_words_phase(ph, sizeof ph, (enum mt_phase)o->attr.phase,
                                     (enum mt_phase)o->attr.sub));
        mt_puts(x->o, "\n");
        if (mt_owner_origin(line, sizeof line, t, d, i, max))
            mt_text_wrap(x, "                     from ", "                     ", line);
    }
    if (rest != 0)
        mt_putf(x->o, "  %10s %7s %s other places\n", mt_fmt_bytes(a, rest),
                mt_fmt_percent(b, rest, d->focus.live),
                mt_fmt_count(line, d->n_owners_all - (d->owners.n < max ? d->owners.n : max)));
}

static void pools(struct mt_text *x, const struct mt_device_analysis *d)
{
    char a[40], b[40], c[40], e[40], name[96];
    if (d->pools.n == 0)
        return;
    mt_text_heading(x, "Segments at the end");
    mt_putf(x->o, "  %-27s %6s %10s %10s %10s %10s\n", "pool, stream", "number", "reserved",
            "active", "free", "largest");
    for (uint32_t i = 0; i < d->pools.n && i < 20; i++) {
        const struct mt_pool_row *p = &d->pools.p[i];
        char pool[64] = "default";
        if (p->pool_known && (p->pool[0] != 0 || p->pool[1] != 0))
            (void)snprintf(pool, sizeof pool, "(%llu,%llu)", (unsigned long long)p->pool[0],
                           (unsigned long long)p->pool[1]);
        (void)snprintf(name, sizeof name, "%s %s%s%s", pool, p->is_large ? "large" : "small",
                       p->is_expandable ? ", expandable" : "",
                       p->stream != 0 ? ", side stream" : "");
        mt_puts(x->o, "  ");
        mt_text_padded(x, name, 27);
        mt_putf(x->o, " %6s %10s %10s %10s %10s\n", mt_fmt_count(name, p->n_segments),
                mt_fmt_bytes(a, p->reserved), mt_fmt_bytes(b, p->active), mt_fmt_bytes(c, p->free),
                mt_fmt_bytes(e, p->largest_free));
        if (p->label != NULL && p->label[0] != '\0') {
            mt_puts(x->o, "      mostly ");
            (void)mt_text_clipped(x, p->label, x->width - 14);
            mt_putc(x->o, '\n');
        }
    }
    if (d->pools.n > 20)
        mt_putf(x->o, "  and %u more rows (see --format json)\n", d->pools.n - 20);
}

static void ranks(struct mt_text *x, const struct mt_report *r)
{
    char a[40], b[40], place[256];
    int width = 16;
    if (mt_row_count(r) < 2)
        return;
    mt_text_heading(x, r->diagnosis->ranks.n > 1 ? "Ranks and devices" : "Devices");
    for (uint32_t i = 0; i < r->diagnosis->ranks.n;
         i++) /* names of files are longer than numbers of ranks */
        for (uint32_t j = 0; j < r->diagnosis->ranks.p[i].analysis->devices.n; j++) {
            size_t n = strlen(mt_row_place(r, &r->diagnosis->ranks.p[i],
                                           &r->diagnosis->ranks.p[i].analysis->devices.p[j], place,
                                           sizeof place));
            width = n > 72 ? 72 : (int)n > width ? (int)n : width;
        }
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++) {
        const struct mt_analysis *an = r->diagnosis->ranks.p[i].analysis;
        for (uint32_t j = 0; j < an->devices.n; j++) {
            const struct mt_device_analysis *d = &an->devices.p[j];
            mt_puts(x->o,
                    i == r->diagnosis->primary && d == mt_verdict_device(&r->diagnosis->ranks.p[i])
                        ? "> "
                        : "  ");
            mt_text_padded(x, mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place),
                           width);
            mt_putf(x->o, " %s %11s  reserved %11s%s%s\n", mt_row_has_peak(d) ? "peak" : "live",
                    mt_row_live(a, d), mt_row_reserved(b, d), d->ooms.n ? "  OOM" : "",
                    r->diagnosis->ranks.p[i].trace->damaged ? "  damaged" : "");
        }
    }
}

/* The driver's sentence leads when only the driver saw the failure; else it comes second. */
static void headline(struct mt_text *x, const struct mt_report *r, const struct mt_verdict *v,
                     const struct mt_device_analysis *d)
{
    const char *second = mt_report_second(r);
    const char *cause = mt_report_cause_sentence(r);
    bool job = mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER;
    if (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG) {
        mt_text_heading(x, mt_log_cause_words(r->diagnosis->logdiag->cause));
        mt_text_wrap(x, "  ", "  ", r->diagnosis->logdiag->sentence);
        if (r->diagnosis->logdiag->because[0] != '\0')
            mt_text_wrap(x, "  ", "  ", r->diagnosis->logdiag->because);
        if (second != NULL)
            mt_text_wrap(x, "  The driver: ", "  ", second);
        if (second != NULL && r->diagnosis->driver->because[0] != '\0')
            mt_text_wrap(x, "  ", "  ", r->diagnosis->driver->because);
        return;
    }
    mt_text_heading(x, job ? r->diagnosis->driver->kind == MT_DV_OOM ? "OUT OF MEMORY" : "Verdict"
                       : d != NULL && d->ooms.n ? "OUT OF MEMORY"
                                                : "Verdict");
    if (job) {
        mt_text_wrap(x, "  ", "  ", r->diagnosis->driver->sentence);
        if (r->diagnosis->driver->because[0] != '\0')
            mt_text_wrap(x, "  ", "  ", r->diagnosis->driver->because);
        second = v != NULL ? v->sentence : NULL;
    } else if (v != NULL) {
        mt_text_wrap(x, "  ", "  ", v->sentence);
        if (v->because[0])
            mt_text_wrap(x, "  ", "  ", v->because);
        if (cause != NULL)
            mt_text_wrap(x, "  ", "  ", cause);
    }
    if (second != NULL)
        mt_text_wrap(x, job ? "  The snapshot: " : "  The driver: ", "  ", second);
    if (mt_report_log_second(r) != NULL)
        mt_text_wrap(x, "  The log: ", "  ", mt_report_log_second(r));
}

void mt_render_text(const struct mt_report *r, struct mt_out *o)
{
    enum { MAX_FACTS = 16 };
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_verdict_device(k);
    const struct mt_verdict *v = k != NULL ? &k->analysis->verdict : NULL;
    int columns = r->columns != 0 ? r->columns : 80;
    struct mt_text x = {o, columns < 60 ? 60 : columns > 160 ? 160 : columns, r->color};
    struct mt_fact facts[MAX_FACTS];
    struct mt_caveat *cav = mt_calloc(MT_MAX_CAVEATS, sizeof *cav);
    char title[512];
    if (cav == NULL) {
        o->error = o->error ? o->error : 12;
        return;
    }
    mt_text_style(&x, "2");
    mt_puts(o, "memtrace  ");
    mt_report_title(r, title, sizeof title);
    mt_term(o, title, strlen(title));
    mt_text_style(&x, "0");
    mt_putc(o, '\n');
    headline(&x, r, v, d);
    if (mt_report_same_job(r) != NULL) {
        mt_text_style(&x, "1;33");
        mt_text_wrap(&x, "  ", "  ", mt_report_same_job(r));
        mt_text_style(&x, "0");
    }
    if (mt_report_damaged(r)) {
        mt_text_style(&x, "1;33");
        mt_puts(o, "  The input is damaged or incomplete: see \"Data quality\" below.\n");
        mt_text_style(&x, "0");
    }
    mt_text_top(&x, r);
    mt_text_cause(&x, r);
    if (d != NULL) {
        unsigned n = mt_facts(k, d, facts, MAX_FACTS);
        mt_text_heading(&x, "Numbers");
        for (unsigned i = 0; i < n; i++)
            mt_putf(o, "  %-22s %s\n", facts[i].name, facts[i].value);
        chart(&x, d);
    }
    if (r->diagnosis->driver != NULL)
        mt_text_job(&x, r);
    mt_text_whose(&x, r);
    if (d != NULL)
        mt_text_roles(&x, d);
    ranks(&x, r);
    if (d != NULL) {
        phases(&x, d);
        mt_text_occurrences(&x, d);
        mt_text_steps(&x, d);
        mt_text_audits(&x, d);
        mt_text_others(&x, r);
        owners(&x, k->trace, d, 15);
        mt_text_pins(&x, d);
        pools(&x, d);
    }
    mt_text_lint(&x, r);
    mt_text_run(&x, r);
    mt_text_logs(&x, r);
    mt_text_advice(&x, r);
    {
        unsigned n = mt_caveats(r, k, cav, MT_MAX_CAVEATS);
        if (n != 0)
            mt_text_heading(&x, "Data quality");
        for (unsigned i = 0; i < n; i++)
            mt_text_wrap(&x, "  - ", "    ", cav[i].text);
    }
    mt_putf(o, "\nmemtrace %s", r->version);
    if (r->command[0]) {
        mt_puts(o, ": ");
        mt_term(o, r->command, strlen(r->command));
    }
    mt_putc(o, '\n');
    mt_free(cav);
}
