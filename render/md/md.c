/* The report to paste into a ticket: short, tables only where they help, nothing that a name could
 * turn into markup. */
#include "render/md/impl.h"
#include "render/md/md.h"

#include "analysis/base/words.h"
#include "render/view/diagnosis.h"
#include "render/base/escape.h"
#include "render/view/driver.h"
#include "render/view/run.h"
#include "render/view/view.h"
#include "render/view/stack.h"

#include <string.h>

static void md(struct mt_out *o, const char *s) { mt_md(o, s, strlen(s)); }
static void code(struct mt_out *o, const char *s) { mt_md_code(o, s, strlen(s)); }

static void facts(struct mt_out *o, const struct mt_rank *k, const struct mt_device_analysis *d)
{
    struct mt_fact f[16];
    unsigned n = mt_facts(k, d, f, 16);
    mt_puts(o, "| | |\n|---|---|\n");
    for (unsigned i = 0; i < n; i++) {
        mt_putf(o, "| %s | ", f[i].name);
        md(o, f[i].value);
        mt_puts(o, " |\n");
    }
    mt_puts(o, "\n");
}

static void phases(struct mt_out *o, const struct mt_device_analysis *d)
{
    char a[40], b[40], c[40], s[40], ph[128];
    mt_putf(o, "| phase | allocated | peak inside | %s | share |\n|---|---:|---:|---:|---:|\n",
            d->focus_is_oom     ? "at the OOM"
            : d->end_state_only ? "at the end"
                                : "at the peak");
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        if (p->n_allocs == 0 && p->at_focus == 0)
            continue;
        mt_puts(o, "| ");
        md(o, p->phase == MT_PH_UNATTRIBUTED && p->sub == MT_PH_NONE
                  ? "unattributed"
                  : mt_words_phase(ph, sizeof ph, p->phase, p->sub));
        mt_putf(o, " | %s | %s | %s | %s |\n", mt_fmt_bytes(a, p->alloc_bytes),
                p->peak_inside_event == MT_NO_EVENT || d->withheld
                    ? "-"
                    : mt_fmt_bytes(b, p->peak_inside),
                mt_fmt_bytes(c, p->at_focus), mt_fmt_percent(s, p->at_focus, d->focus.live));
    }
    mt_puts(o, "\n");
}

static void owners(struct mt_out *o, const struct mt_trace *t, const struct mt_device_analysis *d)
{
    enum { SHOWN = 10 };
    char a[40], b[40], c[40], ph[128], line[256];
    if (d->owners.n == 0)
        return;
    mt_puts(o, "| bytes | share | blocks | who | phase of birth |\n|---:|---:|---:|---|---|\n");
    for (uint32_t i = 0; i < d->owners.n && i < SHOWN; i++) {
        const struct mt_owner *w = &d->owners.p[i];
        mt_putf(o, "| %s | %s | %s | ", mt_fmt_bytes(a, w->bytes),
                mt_fmt_percent(b, w->bytes, d->focus.live), mt_fmt_count(c, w->blocks));
        code(o, w->label);
        if (mt_owner_origin(line, sizeof line, t, d, i, SHOWN)) {
            mt_puts(o, " from ");
            code(o, line);
        }
        mt_puts(o, " | ");
        md(o, w->attr.phase == MT_PH_UNATTRIBUTED && w->attr.sub == MT_PH_NONE
                  ? (w->birth == MT_BIRTH_IN_TRACE ? "unknown" : "before recording")
                  : mt_words_phase(ph, sizeof ph, (enum mt_phase)w->attr.phase,
                                   (enum mt_phase)w->attr.sub));
        mt_puts(o, " |\n");
    }
    mt_puts(o, "\n");
}

static void ranks(struct mt_out *o, const struct mt_report *r)
{
    char a[40], b[40], place[256];
    if (mt_row_count(r) < 2)
        return;
    mt_puts(o, "| rank and device | peak live | peak reserved | OOM |\n|---|---:|---:|---|\n");
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++) {
        for (uint32_t j = 0; j < r->diagnosis->ranks.p[i].analysis->devices.n; j++) {
            const struct mt_device_analysis *d = &r->diagnosis->ranks.p[i].analysis->devices.p[j];
            mt_puts(o, "| ");
            md(o, mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place));
            mt_putf(o, " | %s%s | %s | %s |\n", mt_row_live(a, d),
                    mt_row_has_peak(d) || mt_state_unknown(d) ? "" : " (at the dump)",
                    mt_row_reserved(b, d),
                    d->ooms.n == 0 ? ""
                    : i == r->diagnosis->primary &&
                            d == mt_verdict_device(&r->diagnosis->ranks.p[i])
                        ? "yes, this report"
                        : "yes");
        }
    }
    mt_puts(o, "\n");
}

void mt_render_md(const struct mt_report *r, struct mt_out *o)
{
    enum { MAX_CAVEATS = 64 };
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_verdict_device(k);
    const struct mt_verdict *v = k != NULL ? &k->analysis->verdict : NULL;
    const char *because, *second = mt_report_second(r);
    const char *cause = mt_report_cause_sentence(r);
    bool job = mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER,
         log = mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG, folded;
    struct mt_caveat *cav = mt_calloc(MAX_CAVEATS, sizeof *cav);
    char title[512];
    unsigned n;
    if (cav == NULL) {
        o->error = o->error ? o->error : 12;
        return;
    }
    mt_puts(o, "### memtrace: ");
    md(o, mt_report_title(r, title, sizeof title));
    mt_puts(o, "\n\n**");
    md(o, log         ? r->diagnosis->logdiag->sentence
          : job       ? r->diagnosis->driver->sentence
          : v != NULL ? v->sentence
                      : "Nothing could be read.");
    mt_puts(o, "**\n\n");
    if (mt_report_same_job(r) != NULL) {
        mt_puts(o, "> ");
        md(o, mt_report_same_job(r));
        mt_puts(o, "\n\n");
    }
    because = log         ? r->diagnosis->logdiag->because
              : job       ? r->diagnosis->driver->because
              : v != NULL ? v->because
                          : "";
    if (because[0] != '\0') {
        md(o, because);
        mt_puts(o, "\n\n");
    }
    if (cause != NULL) {
        md(o, cause);
        mt_puts(o, "\n\n");
    }
    if (job && v != NULL)
        second = v->sentence;
    if (second != NULL) {
        mt_puts(o, job ? "The snapshot: " : "The driver: ");
        md(o, second);
        mt_puts(o, "\n\n");
        if (log && r->diagnosis->driver->because[0] != '\0') {
            md(o, r->diagnosis->driver->because);
            mt_puts(o, "\n\n");
        }
    }
    if (mt_report_log_second(r) != NULL) {
        mt_puts(o, "The log: ");
        md(o, mt_report_log_second(r));
        mt_puts(o, "\n\n");
    }
    mt_md_top(r, o);
    mt_md_cause(r, o);
    /* a ticket shows the answer; GitHub and GitLab open the rest */
    folded = d != NULL || r->diagnosis->driver != NULL;
    if (folded)
        mt_puts(o, "<details><summary>Numbers, phases, owners</summary>\n\n");
    if (d != NULL)
        facts(o, k, d);
    if (r->diagnosis->driver != NULL)
        mt_md_job(r, o);
    ranks(o, r);
    mt_md_whose(r, o);
    if (d != NULL)
        mt_md_roles(d, o);
    if (d != NULL) {
        phases(o, d);
        mt_md_occurrences(d, o);
        mt_md_steps(d, o);
        mt_md_audits(d, o);
        mt_md_others(r, o);
        owners(o, k->trace, d);
        mt_md_pins(d, o);
    }
    mt_md_run(r, o);
    n = mt_caveats(r, k, cav, MAX_CAVEATS);
    for (unsigned i = 0; i < n; i++) {
        mt_puts(o, "- ");
        md(o, cav[i].text);
        mt_puts(o, "\n");
    }
    mt_puts(o, n != 0 ? "\n" : "");
    mt_puts(o, folded ? "</details>\n\n" : "");
    mt_putf(o, "<sub>memtrace %s", r->version);
    if (r->command[0]) {
        mt_puts(o, ": ");
        code(o, r->command);
    }
    mt_puts(o, "</sub>\n");
    mt_free(cav);
}
