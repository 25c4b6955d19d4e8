/* Who holds memory: ranks, phases, owners, segments. */
#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/rows.h"
#include "render/view/stack.h"

#include <stdio.h>
#include <string.h>

/* Names of files are longer than numbers of ranks. */
static int width_of_places(const struct mt_report *r)
{
    char place[256];
    size_t width = 16;
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t j = 0; j < r->diagnosis->ranks.p[i].analysis->devices.n; j++) {
            size_t n = strlen(mt_row_place(r, &r->diagnosis->ranks.p[i],
                                           &r->diagnosis->ranks.p[i].analysis->devices.p[j], place,
                                           sizeof place));
            width = n > width ? n : width;
        }
    return width > 72 ? 72 : (int)width;
}

void mt_section_ranks(struct mt_sink *k, const struct mt_report *r)
{
    char live[40], reserved[40], place[256], form[96];
    if (mt_row_count(r) < 2)
        return;
    (void)snprintf(form, sizeof form, "{5}{0:<%d} {6} {1:>11}  reserved {2:>11}[  {3}][  {4}]",
                   width_of_places(r));
    mt_heading(k, r->diagnosis->ranks.n > 1 ? "Ranks and devices" : "Devices", NULL);
    MT_ROW0(k, NULL,
            "| rank and device | peak live | peak reserved | OOM |\n|---|---:|---:|---|\n");
    for (uint32_t i = 0; i < r->diagnosis->ranks.n; i++)
        for (uint32_t j = 0; j < r->diagnosis->ranks.p[i].analysis->devices.n; j++) {
            const struct mt_device_analysis *d = &r->diagnosis->ranks.p[i].analysis->devices.p[j];
            bool own = i == r->diagnosis->primary && d == mt_rank_device(&r->diagnosis->ranks.p[i]);
            bool oom = d->ooms.n != 0;
            MT_ROW(k, form, "| {0} | {1}{7:=} | {2} | {8} |\n",
                   mt_row_place(r, &r->diagnosis->ranks.p[i], d, place, sizeof place),
                   mt_row_live(live, d), mt_row_reserved(reserved, d), oom ? "OOM" : NULL,
                   r->diagnosis->ranks.p[i].trace->damaged ? "damaged" : NULL, own ? "> " : "  ",
                   mt_row_has_peak(d) ? "peak" : "live",
                   mt_row_has_peak(d) || mt_state_unknown(d) ? NULL : " (at the dump)",
                   oom && own ? "yes, this report"
                   : oom      ? "yes"
                              : NULL);
        }
    k->end(k);
}

void mt_section_phases(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    if (d == NULL)
        return;
    for (uint32_t i = 0, n = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        bool none = p->phase == MT_PH_UNATTRIBUTED && p->sub == MT_PH_NONE;
        bool has_peak = p->peak_inside_event != MT_NO_EVENT && d->withheld == NULL;
        if (p->n_allocs == 0 && p->at_focus == 0)
            continue;
        if (n++ == 0) {
            mt_heading(k, "Phases", NULL);
            MT_ROW(k,
                   "  phase                                allocated peak inside {0:>11}   share",
                   "| phase | allocated | peak inside | {0} | share |\n|---|---:|---:|---:|---:|\n",
                   d->focus_is_oom     ? "at the OOM"
                   : d->end_state_only ? "at the end"
                                       : "at the peak");
        }
        MT_ROW(
            k, "  {0:<34} {1:>11} {2:>11} {3:>11} {4:>7}", "| {0} | {1} | {2:=} | {3} | {4:=} |\n",
            none && p->n_allocs == 0 && k->format == MT_IN_TEXT ? "before recording, unattributed"
                                                                : MT_PHASE_CELL(p->phase, p->sub),
            MT_BYTES(p->alloc_bytes), MT_BYTES_OR(has_peak, p->peak_inside, "-"),
            MT_BYTES(p->at_focus), MT_SHARE(p->at_focus, d->focus.live));
    }
    k->end(k);
}

void mt_section_owners(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_rank *rank = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    uint32_t max = mt_most(k, 15, 10);
    char words[256];
    uint64_t rest;
    if (d == NULL || d->owners.n == 0)
        return;
    rest = d->owners_rest_bytes;
    (void)snprintf(words, sizeof words, "Who holds memory %s (%s live)",
                   d->focus_is_oom                    ? "at the OOM"
                   : d->withheld || d->end_state_only ? "in the recorded state"
                                                      : "at the peak",
                   MT_BYTES(d->focus.live));
    mt_heading(k, words, NULL);
    MT_ROW0(k, NULL,
            "| bytes | share | blocks | who | phase of birth |\n|---:|---:|---:|---|---|\n");
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        bool none = o->attr.phase == MT_PH_UNATTRIBUTED && o->attr.sub == MT_PH_NONE;
        bool born = o->birth == MT_BIRTH_IN_TRACE;
        if (i >= max) {
            rest += o->bytes;
            continue;
        }
        MT_ROW(k,
               "~  {0:>10} {1:>7} {3}\n                     {2} block{7}, {4}\n"
               "                     |from {6}",
               "| {0} | {1:=} | {2} | {3:`}[ from {6:`}] | {5} |\n", MT_BYTES(o->bytes),
               MT_SHARE(o->bytes, d->focus.live), MT_COUNT(o->blocks), o->label,
               none && born ? "phase unknown"
               : none       ? "allocated before recording began"
                            : MT_PHASE_WORDS(o->attr.phase, o->attr.sub),
               none && born ? "unknown"
               : none       ? "before recording"
                            : MT_PHASE_WORDS(o->attr.phase, o->attr.sub),
               mt_owner_origin(words, sizeof words, rank->trace, d, i, max) ? words : NULL,
               mt_plural(o->blocks));
    }
    k->end(k);
    if (rest != 0)
        MT_ROW(k, "  {0:>10} {1:>7} {2} other places", NULL, MT_BYTES(rest),
               MT_SHARE(rest, d->focus.live),
               MT_COUNT(d->n_owners_all - (d->owners.n < max ? d->owners.n : max)));
}

void mt_section_pins(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_cause *c = d != NULL ? d->cause : NULL;
    struct mt_pin_group g[MT_PIN_GROUPS];
    unsigned n;
    if (c == NULL || c->pins.n == 0)
        return;
    mt_heading(k, "What keeps segments from being given back", NULL);
    MT_ROW(
        k, "  |{0} is free in {1} segment{2} that live blocks hold[; {3}].",
        "| segments (of {1} that live blocks hold, with {0} free) | free | live | held by | from "
        "|\n|---:|---:|---:|---|---|\n",
        MT_BYTES(c->pinned_free), MT_COUNT(c->n_pins_all), mt_plural(c->n_pins_all),
        c->n_pins_all > c->pins.n ? "those with the most" : NULL);
    n = mt_pin_groups(c, g);
    for (unsigned i = 0; i < n && i < mt_most(k, n, 5); i++) {
        const struct mt_pin *p = g[i].first;
        MT_ROW(k, "  - |{1} of {2} free in {0} of them, held by {3}: {4:.160} ({5}, from {6})",
               "| {0} | {1} | {3} | {4:`160} | {6} |\n", MT_COUNT(g[i].n), MT_BYTES(g[i].free),
               MT_BYTES(g[i].total), MT_BYTES(g[i].block_bytes), p->label,
               mt_role_words((enum mt_role)p->role), MT_PHASE_WORDS(p->attr.phase, p->attr.sub));
    }
    k->end(k);
}

void mt_section_pools(struct mt_sink *k, const struct mt_report *r)
{
    enum { SHOWN = 20 };
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    if (d == NULL || d->pools.n == 0)
        return;
    mt_heading(k, "Segments at the end", NULL);
    MT_ROW0(k, "  pool, stream                number   reserved     active       free    largest",
            NULL);
    for (uint32_t i = 0; i < d->pools.n && i < SHOWN; i++) {
        const struct mt_pool_row *p = &d->pools.p[i];
        char pool[64] = "default", name[96];
        if (p->pool_known && (p->pool[0] != 0 || p->pool[1] != 0))
            (void)snprintf(pool, sizeof pool, "(%llu,%llu)", (unsigned long long)p->pool[0],
                           (unsigned long long)p->pool[1]);
        (void)snprintf(name, sizeof name, "%s %s%s%s", pool, p->is_large ? "large" : "small",
                       p->is_expandable ? ", expandable" : "",
                       p->stream != 0 ? ", side stream" : "");
        MT_ROW(k, "  {0:<27} {1:>6} {2:>10} {3:>10} {4:>10} {5:>10}\n~1      mostly {6}", NULL,
               name, MT_COUNT(p->n_segments), MT_BYTES(p->reserved), MT_BYTES(p->active),
               MT_BYTES(p->free), MT_BYTES(p->largest_free), p->label);
    }
    if (d->pools.n > SHOWN)
        MT_ROW(k, "  and {0} more rows (see --format json)", NULL, MT_COUNT(d->pools.n - SHOWN));
}
