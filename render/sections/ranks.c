/* Every device of every rank, the worst first. */
#include "render/sections/impl.h"

#include "parser/base/mem.h"
#include "render/view/fleet.h"
#include "render/view/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What failed comes first, then what held the most. */
static int worse(const void *a, const void *b)
{
    const struct mt_place *x = a, *y = b;
    bool fx = x->dev->ooms.n != 0, fy = y->dev->ooms.n != 0;
    if (fx != fy)
        return fx ? -1 : 1;
    if (x->live != y->live)
        return x->live > y->live ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

struct mt_place *mt_places(const struct mt_report *r, uint32_t *n)
{
    struct mt_place *at = mt_calloc(mt_row_count(r), sizeof *at);
    *n = 0;
    for (uint32_t i = 0; at != NULL && i < r->diagnosis->ranks.n; i++)
        for (uint32_t j = 0; j < r->diagnosis->ranks.p[i].analysis->devices.n; j++) {
            const struct mt_device_analysis *d = &r->diagnosis->ranks.p[i].analysis->devices.p[j];
            at[*n] = (struct mt_place){&r->diagnosis->ranks.p[i], d,
                                       mt_row_has_peak(d) ? d->live_peak : d->focus.live, *n};
            ++*n;
        }
    if (at != NULL)
        qsort(at, *n, sizeof *at, worse);
    return at;
}

/* Names of files are longer than numbers of ranks. */
static int width_of(const struct mt_report *r, const struct mt_place *at, uint32_t n)
{
    char place[256];
    size_t width = 16;
    for (uint32_t i = 0; i < n; i++) {
        size_t len = strlen(mt_row_place(r, at[i].rank, at[i].dev, place, sizeof place));
        width = len > width ? len : width;
    }
    return width > 72 ? 72 : (int)width;
}

/* "once, asking for 4.94 GiB in training" */
static const char *failures(char *buf, size_t cap, const struct mt_device_analysis *d)
{
    char request[40], times[40];
    const struct mt_oom *m = d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    if (m == NULL)
        return NULL;
    (void)snprintf(times, sizeof times,
                   MT_FIRST_COUNTS(d) ? "%u times, first" : "%u times, at last",
                   (unsigned)d->ooms.n);
    (void)snprintf(buf, cap, "%s asking for %s in %s", d->ooms.n == 1 ? "once," : times,
                   mt_row_request(request, m), MT_PHASE_CELL(m->attr.phase, m->attr.sub));
    return buf;
}

static void row(struct mt_sink *k, const struct mt_report *r, const struct mt_place *at,
                const char *form, uint64_t whole)
{
    const struct mt_device_analysis *d = at->dev;
    bool peak = mt_row_has_peak(d), known = !mt_state_unknown(d), oom = d->ooms.n != 0;
    bool own = d == mt_diagnosis_device(r->diagnosis);
    char place[256], oom_words[160], when[MT_WORDS], live[40], reserved[40];
    MT_DATA(k, form, "| {0} | {1}{7:=} | {2} | {8} |\n",
            own ? "<tr class=\"me\" data-place=\"{0}\"><th scope=\"row\">{0:n120} <small>(the "
                  "verdict)</small></th>{9:t}{10:t}{11:t}<td class=\"n\">{12}</td>{13:t}{14:t}<td "
                  "class=\"n\">{15}</td><td>[<strong class=\"oom\">{16:w}</strong>]{17}[ <small>"
                  "{18}</small>]</td></tr>\n"
                : "<tr data-place=\"{0}\"><th scope=\"row\">{0:n120}</th>{9:t}{10:t}{11:t}<td "
                  "class=\"n\">{12}</td>{13:t}{14:t}<td class=\"n\">{15}</td><td>[<strong "
                  "class=\"oom\">{16:w}</strong>]{17}[ <small>{18}</small>]</td></tr>\n",
            mt_as_words(mt_row_place(r, at->rank, d, place, sizeof place)),
            mt_as_words(mt_row_live(live, d)), mt_as_words(mt_row_reserved(reserved, d)),
            mt_as_words(oom ? "OOM" : NULL),
            mt_as_words(at->rank->trace->damaged ? "damaged" : NULL),
            mt_as_words(own ? "> " : "  "), mt_as_words(peak ? "peak" : "live"),
            mt_as_words(peak || !known ? NULL : " (at the dump)"),
            mt_as_words(oom && own ? "yes, this report"
                        : oom      ? "yes"
                                   : NULL),
            mt_as_count(d->n_events), mt_known(known, mt_as_bytes(at->live), "not known"),
            mt_as_share(at->live, whole),
            mt_as_words(peak ? mt_moment_words(when, d, d->peak_event, d->peak_ns) : "dump"),
            mt_known(known, mt_as_bytes(d->live_end), "-"),
            mt_known(known, mt_as_bytes(peak ? d->reserved_peak : d->reserved_end), "-"),
            mt_known(d->capacity != 0, mt_as_share(at->live, d->capacity), "-"),
            mt_as_words(failures(oom_words, sizeof oom_words, d)), mt_as_words(oom ? NULL : "none"),
            mt_as_words(at->rank->trace->damaged ? "(incomplete input)" : NULL));
}

static void table(struct mt_sink *k)
{
    MT_TABLE(k, "Ranks and devices", "Rank and device", "#Events", "#Peak live", "#Of the highest",
             "#At", "#Live at end", "#Peak reserved", "#Of capacity", "Out of memory");
}

/* Those behind the worst, in one row: from the lowest to the highest. */
static void others(struct mt_sink *k, const struct mt_report *r, const struct mt_place *at,
                   uint32_t n)
{
    const struct mt_place *low = at, *high = at;
    char of_low[256], of_high[256];
    uint32_t failed = 0;
    for (uint32_t i = 0; i < n; i++) {
        low = at[i].live < low->live ? &at[i] : low;
        high = at[i].live > high->live ? &at[i] : high;
        failed += at[i].dev->ooms.n != 0;
    }
    MT_ROW(k, "  |and {0} more, from {1} ({2}) to {3} ({4})[; {5} of them ran out of memory]",
           "| and {0} more | {1} ({2}) to {3} ({4}) | |[ {5} times] |\n", MT_COUNT(n),
           MT_BYTES(low->live), mt_row_place(r, low->rank, low->dev, of_low, sizeof of_low),
           MT_BYTES(high->live), mt_row_place(r, high->rank, high->dev, of_high, sizeof of_high),
           failed != 0 ? MT_COUNT(failed) : NULL);
}

static void put_line(void *arg, const char *words)
{
    MT_ROW3((struct mt_sink *)arg, "  - |{0}", "- {0}\n", "<p class=\"note\">{0:w2000}</p>\n",
            words);
}

/* Many ranks as an answer. False = out of memory. */
static bool folded(struct mt_sink *k, const struct mt_report *r)
{
    enum { ON_SCREEN = 4, IN_FULL = 12 };
    struct mt_fleet f;
    bool ok = mt_report_fleet(&f, r);
    if (ok)
        mt_fleet_say(&f, k->is_screen ? ON_SCREEN : IN_FULL, put_line, k);
    mt_fleet_done(&f);
    return ok;
}

void mt_section_ranks(struct mt_sink *k, const struct mt_report *r)
{
    enum { UNFOLDED = 8, IN_TICKET = 32 };
    struct mt_place *at;
    uint64_t whole = 0;
    uint32_t n, most = k->is_screen ? UNFOLDED : k->format == MT_IN_MD ? IN_TICKET : UINT32_MAX;
    char form[96];
    if (mt_row_count(r) < 2)
        return;
    at = mt_places(r, &n);
    if (at == NULL) {
        k->o->error = k->o->error != 0 ? k->o->error : ENOMEM;
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        whole = at[i].live > whole ? at[i].live : whole;
    (void)snprintf(form, sizeof form, "{5}{0:<%d} {6} {1:>11}  reserved {2:>11}[  {3}][  {4}]",
                   width_of(r, at, n));
    mt_heading(k, r->diagnosis->ranks.n > 1 ? "Ranks and devices" : "Devices", NULL);
    if (n >= MT_FLEET_MANY && !folded(k, r))
        k->o->error = k->o->error != 0 ? k->o->error : ENOMEM;
    if (n >= MT_FLEET_MANY && (k->is_screen || k->format == MT_IN_MD)) {
        k->end(k);
        mt_free(at);
        return;
    }
    MT_ROW0(k, NULL,
            "| rank and device | peak live | peak reserved | OOM |\n|---|---:|---:|---|\n");
    MT_ROW3(k, NULL, NULL, "<p class=\"note\">{0:w2000}</p>\n",
            r->diagnosis->same_job != NULL ? r->diagnosis->same_job->missing : NULL);
    table(k);
    for (uint32_t i = 0; i < n; i++) {
        if (i == most) {
            others(k, r, &at[i], n - i);
            break;
        }
        if (k->format == MT_IN_HTML && i == UNFOLDED) {
            k->end(k);
            MT_ROW3(k, NULL, NULL, "<details class=\"more\"><summary>{0} more</summary>\n",
                    MT_COUNT(n - UNFOLDED));
            table(k);
        }
        row(k, r, &at[i], form, whole);
    }
    k->end(k);
    if (n > UNFOLDED)
        MT_NOTE(k, "</details>\n");
    mt_free(at);
}
