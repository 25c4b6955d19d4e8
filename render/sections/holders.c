/* Who holds memory: phases, owners, segments. */
#include "render/sections/impl.h"

#include "render/view/diagnosis.h"
#include "render/view/rows.h"
#include "render/view/stack.h"

#include <stdio.h>
#include <string.h>

/* ---- phases ---- */

static bool has_curve(const struct mt_device_analysis *d)
{
    return d->withheld == NULL && !d->end_state_only;
}

/* Neither allocated anything, as far as the format says so, nor was there when it mattered. */
static bool is_empty(const struct mt_sink *k, const struct mt_device_analysis *d,
                     const struct mt_phase_row *p)
{
    bool says_allocated = k->format != MT_IN_HTML || has_curve(d);
    return p->at_focus == 0 && (!says_allocated || p->n_allocs == 0);
}

static uint64_t weight(const struct mt_phase_row *p)
{
    return p->at_focus > p->alloc_bytes ? p->at_focus : p->alloc_bytes;
}

/* Where there are many rows, those that are not among the largest are folded away. */
static bool is_minor(const struct mt_sink *k, const struct mt_device_analysis *d, uint32_t row)
{
    enum { SHOWN = 24 };
    uint32_t larger = 0;
    if (k->format != MT_IN_HTML || d->phases.n <= SHOWN)
        return false;
    for (uint32_t i = 0; i < d->phases.n; i++)
        larger += weight(&d->phases.p[i]) > weight(&d->phases.p[row]) ||
                  (i < row && weight(&d->phases.p[i]) == weight(&d->phases.p[row]));
    return larger >= SHOWN;
}

static struct mt_datum first_or_last(char words[MT_WORDS], const struct mt_device_analysis *d,
                                     const struct mt_phase_row *p, bool last)
{
    uint64_t event = last ? p->last_event : p->first_event;
    if (p->n_allocs == 0)
        return mt_as_words("-");
    if (d->timeline.has_time)
        (void)mt_moment_words(words, d, 0, last ? p->last_ns : p->first_ns);
    else
        (void)mt_fmt_count(words, event);
    return mt_at(mt_as_words(words), (int64_t)event);
}

static void phase(struct mt_sink *k, const struct mt_device_analysis *d,
                  const struct mt_phase_row *p)
{
    bool is_older = p->phase == MT_PH_UNATTRIBUTED && p->sub == MT_PH_NONE && p->n_allocs == 0 &&
                    !d->end_state_only;
    bool has_peak = p->peak_inside_event != MT_NO_EVENT && d->withheld == NULL;
    struct mt_datum name = mt_as_phase(p->phase, p->sub);
    char first[MT_WORDS], last[MT_WORDS], conf[MT_WORDS];
    name.words = is_older ? "before recording, unattributed" : NULL;
    MT_DATA(
        k, "  {0:<34} {1:>11} {2:>11} {3:>11} {4:>7}", "| {0} | {1} | {2:=} | {3} | {4:=} |\n",
        has_curve(d)
            ? "<tr><th scope=\"row\">{0:c}</th>{3:t}{4:t}{2:b}{7:t}{1:t}<td class=\"n\">{5:a}</td>"
              "<td class=\"n\">{6:a}</td><td>{8}</td></tr>\n"
            : "<tr><th scope=\"row\">{0:c}</th>{3:t}{4:t}</tr>\n",
        name, mt_as_bytes(p->alloc_bytes),
        mt_known(has_peak, mt_at(mt_as_bytes(p->peak_inside), p->peak_inside_event), "-"),
        mt_as_bytes(p->at_focus), mt_as_share(p->at_focus, d->focus.live),
        first_or_last(first, d, p, false), first_or_last(last, d, p, true),
        mt_as_bytes(p->retained), mt_as_words(mt_conf_words(conf, p->by_conf)));
}

/* What is asked for first stands next to the name: a narrow screen shows no more. */
static void phase_table(struct mt_sink *k, const struct mt_device_analysis *d)
{
    char at[64];
    (void)snprintf(at, sizeof at, "#Live %s", mt_focus_words(d));
    if (!has_curve(d))
        MT_TABLE(k, "Phases", "Phase of birth", at, "#Share");
    else
        MT_TABLE(k, "Phases", "Phase", at, "#Share", "#Peak inside", "#Retained at its end",
                 "#Allocated", d->timeline.has_time ? "#First" : "#First event",
                 d->timeline.has_time ? "#Last" : "#Last event", "Confidence");
}

static void phase_sum(struct mt_sink *k, const struct mt_device_analysis *d)
{
    uint64_t sum = 0, allocated = 0;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        sum += d->phases.p[i].at_focus;
        allocated += d->phases.p[i].alloc_bytes;
    }
    MT_DATA(k, NULL, NULL,
            has_curve(d)
                ? "<tr class=\"sum\"><th scope=\"row\">all phases</th>{1:t}<td "
                  "class=\"n\">{2}</td><td></td>"
                  "<td></td>{0:t}<td></td><td></td><td></td></tr>\n"
                : "<tr class=\"sum\"><th scope=\"row\">all phases</th>{1:t}<td class=\"n\">{2}"
                  "</td></tr>\n",
            mt_as_bytes(allocated), mt_as_bytes(sum), mt_as_share(sum, d->focus.live));
}

void mt_section_phases(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    uint32_t minor = 0, n = 0;
    for (uint32_t i = 0; d != NULL && i < d->phases.n; i++)
        n += !is_empty(k, d, &d->phases.p[i]);
    if (d == NULL || (k->format == MT_IN_HTML ? d->phases.n : n) == 0)
        return;
    mt_heading(k, "Phases", NULL);
    MT_ROW3(
        k, "  phase                                allocated peak inside {0:>11}   share",
        "| phase | allocated | peak inside | {0} | share |\n|---|---:|---:|---:|---:|\n",
        "<details class=\"help\"><summary>What the columns mean</summary>\n<p>[{1:=} ]{2:=} How "
        "sure a phase is: <a href=\"#quality\">Data quality</a>.</p>\n</details>\n",
        mt_focus_words(d),
        has_curve(d) && d->timeline.has_time ? "Times count from the first event of the device."
                                             : NULL,
        has_curve(d)
            ? "\xe2\x80\x9cPeak inside\xe2\x80\x9d is the highest live memory of the whole "
              "device while the phase ran; \xe2\x80\x9cretained\xe2\x80\x9d is what was "
              "allocated in it and still live when it last ended; a part in brackets ends "
              "where the next part of its phase begins."
            : "By the stacks of the live blocks.");
    phase_table(k, d);
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (!is_empty(k, d, &d->phases.p[i])) {
            if (is_minor(k, d, i))
                minor++;
            else
                phase(k, d, &d->phases.p[i]);
        }
    phase_sum(k, d);
    k->end(k);
    if (minor == 0)
        return;
    MT_ROW3(k, NULL, NULL, "<details class=\"more\"><summary>{0} smaller phases</summary>\n",
            MT_COUNT(minor));
    phase_table(k, d);
    for (uint32_t i = 0; i < d->phases.n; i++)
        if (!is_empty(k, d, &d->phases.p[i]) && is_minor(k, d, i))
            phase(k, d, &d->phases.p[i]);
    k->end(k);
    MT_NOTE(k, "</details>\n");
}

/* ---- owners ---- */

static void owner_table(struct mt_sink *k, const char *label)
{
    MT_TABLE(k, label, "#", "Allocated by", "#Bytes", "#Share", "#Blocks", "#Largest", "Born in");
}

void mt_section_owners(struct mt_sink *k, const struct mt_report *r)
{
    enum { UNFOLDED = 25 };
    const struct mt_rank *rank = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    uint32_t max = mt_most3(k, 15, 10, UINT32_MAX);
    bool html = k->format == MT_IN_HTML;
    char words[256];
    uint64_t rest;
    if (d == NULL || d->owners.n == 0)
        return;
    rest = d->owners_rest_bytes;
    (void)snprintf(words, sizeof words, "Who holds memory %s (%s live)", mt_focus_words(d),
                   MT_BYTES(d->focus.live));
    mt_heading(k, words, NULL);
    MT_ROW0(k, NULL,
            "| bytes | share | blocks | who | phase of birth |\n|---:|---:|---:|---|---|\n");
    owner_table(k, "Owners");
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if (i >= max) {
            rest += o->bytes;
            continue;
        }
        if (html && i == UNFOLDED) {
            k->end(k);
            MT_ROW3(k, NULL, NULL,
                    "<details class=\"more\"><summary>{0} smaller owners</summary>\n",
                    MT_COUNT(d->owners.n - UNFOLDED));
            owner_table(k, "Smaller owners");
        }
        MT_DATA(
            k,
            k->is_screen ? "~  {0:>10} {1:>7} {3}"
                         : "~  {0:>10} {1:>7} {3}\n                     {2} block{6}, {4}[, {7}]\n"
                           "                     |from {5}",
            "| {0} | {1:=} | {2} | {3:`}[ from {5:`}] | {4}[, {7}] |\n",
            "<tr><td class=\"n\">{8}</td><th scope=\"row\">{3:o}</th>{0:t}{1:t}{2:t}{9:t}"
            "<td>{4:c}[ <small>{7}</small>]</td></tr>\n",
            mt_as_bytes(o->bytes), mt_as_share(o->bytes, d->focus.live), mt_as_count(o->blocks),
            mt_as(MT_D_OWNER, o->label, i, i < UNFOLDED), mt_as_phase(o->attr.phase, o->attr.sub),
            mt_as_words(!html && mt_owner_origin(words, sizeof words, rank->trace, d, i, max)
                            ? words
                            : NULL),
            mt_as_words(mt_plural(o->blocks)),
            mt_as_words(o->birth == MT_BIRTH_IN_TRACE || d->end_state_only
                            ? NULL
                            : "allocated before recording began"),
            mt_as_count((uint64_t)i + 1), mt_as_bytes(o->largest));
    }
    k->end(k);
    if (html && d->owners.n > UNFOLDED)
        MT_NOTE(k, "</details>\n");
    if (rest != 0)
        MT_ROW3(k, "  {0:>10} {1:>7} {2} other places", NULL,
                "<p class=\"note\">{2} other places hold {0} together.</p>\n", MT_BYTES(rest),
                MT_SHARE(rest, d->focus.live),
                MT_COUNT(d->n_owners_all - (d->owners.n < max ? d->owners.n : max)));
}

/* ---- segments ---- */

void mt_section_pins(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_cause *c = d != NULL ? d->cause : NULL;
    struct mt_pin_group g[MT_PIN_GROUPS];
    unsigned n;
    if (c == NULL || c->pins.n == 0)
        return;
    mt_heading(k, "What keeps segments from being given back", NULL);
    MT_ROW3(
        k, "  |{0} is free in {1} segment{2} that live blocks hold[; {3}].",
        "| segments (of {1} that live blocks hold, with {0} free) | free | live | held by | from "
        "|\n|---:|---:|---:|---|---|\n",
        "<p class=\"note\">{0} is free in {1} segment{2} that live blocks hold[; {3}]. A segment "
        "goes back to the device only when nothing in it is live.</p>\n",
        MT_BYTES(c->pinned_free), MT_COUNT(c->n_pins_all), mt_plural(c->n_pins_all),
        c->n_pins_all > c->pins.n ? "those with the most are listed" : NULL);
    MT_TABLE(k, "Segments that are held", "Held by", "For", "Born in", "#Segments", "#Free in them",
             "#Largest hole", "#Live in them");
    n = mt_pin_groups(c, g);
    for (unsigned i = 0; i < n && i < mt_most(k, n, 5); i++) {
        const struct mt_pin *p = g[i].first;
        MT_DATA(k, "  - |{1} of {2} free in {0} of them, held by {3}: {4:.160} ({5}, from {6})",
                "| {0} | {1} | {3} | {4:`160} | {6} |\n",
                "<tr><th scope=\"row\">{4:n200}</th><td>{5}</td><td>{7}{7:h, |}</td>{0:t}{1:t}"
                "{8:t}{3:t}</tr>\n",
                mt_as_count(g[i].n), mt_as_bytes(g[i].free), mt_as_bytes(g[i].total),
                mt_as_bytes(g[i].block_bytes), mt_as_words(p->label),
                mt_as_words(mt_role_words((enum mt_role)p->role)),
                mt_as_words(MT_PHASE_WORDS(p->attr.phase, p->attr.sub)),
                mt_at(mt_as_phase(p->attr.phase, p->attr.sub), p->event),
                mt_as_bytes(g[i].largest_free));
    }
    k->end(k);
}

static void pool_table(struct mt_sink *k, const struct mt_pool_rows *rows)
{
    uint32_t most = mt_most3(k, 20, 0, UINT32_MAX);
    MT_TABLE(k, "Segments by pool and stream", "Pool", "Stream", "Blocks", "#Segments", "#Reserved",
             "#In use", "#Rounding", "#Free", "#Free of it", "#Free blocks", "#Largest free");
    for (uint32_t i = 0; i < rows->n && i < most; i++) {
        const struct mt_pool_row *p = &rows->p[i];
        bool is_private = p->pool[0] != 0 || p->pool[1] != 0;
        char pool[64] = "default", name[160], stream[32] = "default", blocks[32];
        if (is_private)
            (void)snprintf(pool, sizeof pool, "(%llu, %llu)", (unsigned long long)p->pool[0],
                           (unsigned long long)p->pool[1]);
        if (p->stream != 0)
            (void)snprintf(stream, sizeof stream, "%#llx", (unsigned long long)p->stream);
        (void)snprintf(blocks, sizeof blocks, "%s%s", p->is_large ? "large" : "small",
                       p->is_expandable ? ", expandable" : "");
        (void)snprintf(name, sizeof name, "%s %s%s", pool, blocks,
                       p->stream != 0 ? ", side stream" : "");
        MT_DATA(k, "  {0:<27} {1:>6} {2:>10} {3:>10} {4:>10} {5:>10}\n~1      mostly {6}", NULL,
                is_private ? "<tr><th scope=\"row\">private pool {7}[ <small>mostly {6:n160}"
                             "</small>]</th><td>{9}</td><td>{10}</td>{1:t}{2:t}{3:t}{11:t}{4:t}"
                             "{12:t}{13:t}{5:t}</tr>\n"
                           : "<tr><th scope=\"row\">{7} pool[ <small>{8}</small>][ <small>mostly "
                             "{6:n160}</small>]</th><td>{9}</td><td>{10}</td>{1:t}{2:t}{3:t}{11:t}"
                             "{4:t}{12:t}{13:t}{5:t}</tr>\n",
                mt_as_words(name), mt_as_count(p->n_segments), mt_as_bytes(p->reserved),
                mt_as_bytes(p->active), mt_as_bytes(p->free), mt_as_bytes(p->largest_free),
                mt_as_words(p->label), mt_as_words(pool),
                mt_as_words(p->pool_known ? NULL : "(not recorded)"), mt_as_words(stream),
                mt_as_words(blocks),
                mt_as_bytes(p->active > p->active_requested ? p->active - p->active_requested : 0),
                mt_as_share(p->free, p->reserved), mt_as_count(p->n_free_blocks));
    }
    k->end(k);
    if (rows->n > most)
        MT_ROW(k, "  and {0} more rows (see --format json)", NULL, MT_COUNT(rows->n - most));
}

/* At the moment that matters, where its segments could be laid out; else, and folded on the page
 * beside it, at the dump. */
void mt_section_pools(struct mt_sink *k, const struct mt_report *r)
{
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    bool at = d != NULL && d->pools_at.n != 0 && !d->end_state_only;
    char heading[64];
    if (d == NULL || (d->pools.n == 0 && !at))
        return;
    (void)snprintf(heading, sizeof heading, "Segments %s", at ? mt_focus_words(d) : "at the end");
    mt_heading(k, heading, NULL);
    MT_ROW0(k, "  pool, stream                number   reserved     active       free    largest",
            NULL);
    MT_ROW3(k, NULL, NULL, "<p class=\"note\">Segments {0}. {1:=}</p>\n",
            at ? mt_focus_words(d) : "at the dump",
            "A request is served only from segments of its own pool, stream and size class: free "
            "memory in another row does not help it.");
    pool_table(k, at ? &d->pools_at : &d->pools);
    if (!at || k->format != MT_IN_HTML || d->pools.n == 0)
        return;
    MT_NOTE(k, "<details class=\"more\"><summary>The same at the dump</summary>\n");
    pool_table(k, &d->pools);
    MT_NOTE(k, "</details>\n");
}
