/* Where nothing failed: what would be the first to. Every trace gets the phase and the largest role
 * of its peak. A cause needs a card that was all but full, or growth that is certain.
 * docs/diagnosis.md, section "Next to fail", has every limit. */
#include "analysis/cause/impl.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

enum { TEXT = 1024 };

static unsigned largest_role(const uint64_t role[MT_ROLE_COUNT])
{
    unsigned best = MT_ROLE_UNKNOWN;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        best = role[r] > role[best] ? r : best;
    return best;
}

/* Bytes of the growth that is certain, and the sum of its slopes in bytes per step: confidence
 * MARKED (on a line), over four steps or more. Three steps lie on a line by chance. */
static uint64_t sure_growth(const struct mt_moment *m, double *slope)
{
    uint64_t sure = 0;
    *slope = 0;
    for (uint32_t i = 0; i < m->f->growth.n; i++) {
        const struct mt_growth *g = &m->f->growth.p[i];
        if (g->conf != MT_CONF_MARKED || g->n_steps < 4 || g->last <= g->first)
            continue;
        sure += g->last - g->first;
        *slope += g->slope > 0 ? g->slope : 0;
    }
    return sure;
}

/* Whether an engine filled the card on purpose: it sizes its KV cache by what it was given. */
static bool is_filled_on_purpose(const struct mt_moment *m)
{
    return mt_phase_is(m->phase, MT_OF_ENGINE) && m->role[MT_ROLE_KV_CACHE] >= m->d->focus.live / 3;
}

static void measure_headroom(struct mt_forecast *n, const struct mt_moment *m)
{
    const struct mt_device_analysis *d = m->d;
    n->made = true;
    n->attr = d->focus_attr;
    n->role = (uint8_t)largest_role(m->role);
    n->role_bytes = m->role[n->role];
    n->live = d->focus.live;
    n->reserved = d->focus.reserved;
    n->capacity = d->capacity;
    n->headroom_known = d->capacity != 0 && d->capacity >= n->live;
    n->headroom = n->headroom_known ? d->capacity - n->live : 0;
    /* 5 % left, 4 GiB of 80: contexts, NCCL and rounding take about half of that. 2 % where an
     * engine fills the card on purpose. Of 387 reports 8 name another cause with 10 %, 5 with 2.5
     * %; for the engine 1 with 5 %, none with 1 %. */
    n->tight = n->headroom_known && n->headroom < d->capacity / (is_filled_on_purpose(m) ? 50 : 20);
}

/* ---- causes of a card that is all but full ---- */

/* As in cause.c; without an engine's private pools, which may be unmapped while it sleeps. */
static uint64_t stale_bytes(const struct mt_moment *m)
{
    return mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) ? m->engine - m->engine_private
           : mt_phase_is(m->phase, MT_OF_ENGINE)     ? m->training
                                                     : 0;
}

static enum mt_cause_kind cause_of_full_card(const struct mt_moment *m)
{
    uint64_t live = m->d->focus.live;
    if (m->pending >= live / 10 && m->pending != 0)
        return MT_CAUSE_PENDING_FREES;
    if (stale_bytes(m) >= live / 10 && stale_bytes(m) != 0)
        return MT_CAUSE_STALE_ENGINE;
    if (m->role[MT_ROLE_LOGITS] >= live / 4 && largest_role(m->role) == MT_ROLE_LOGITS)
        return MT_CAUSE_GIANT_TENSOR;
    if (m->residue >= live / 5 && m->residue != 0)
        return MT_CAUSE_LEAK;
    return MT_CAUSE_CAPACITY;
}

/* Fragmentation to come: the card is reserved to a twentieth, a fifth of it is free in segments
 * that live blocks hold, and no hole is as large as a quarter of that. Fills c->pins when it is so.
 */
static int look_for_pins(struct mt_cause *c, struct mt_moment *m, struct mt_phaser *ph)
{
    const struct mt_device_analysis *d = m->d;
    uint64_t most = 0;
    if (!c->next.headroom_known || d->focus.reserved < d->capacity - d->capacity / 20 ||
        !d->focus.holes_known || d->focus.reserved_free < d->capacity / 5 ||
        d->focus.reserved > d->capacity)
        return 1;
    if (!mt_moment_fill(m, ph) || !mt_moment_pins(m, c))
        return 0;
    for (uint32_t i = 0; i < c->pins.n; i++)
        most = c->pins.p[i].largest_free > most ? c->pins.p[i].largest_free : most;
    if (c->pinned_free >= d->capacity / 5 && most < c->pinned_free / 4) {
        c->kind = MT_CAUSE_FRAGMENTATION;
        c->next.tight = true;
        return 1;
    }
    for (uint32_t i = 0; i < c->pins.n; i++)
        mt_free(c->pins.p[i].label);
    MT_VEC_DONE(&c->pins);
    c->n_pins_all = c->pinned_free = 0;
    return 1;
}

/* ---- words ---- */

static int replace_text(char **out, const char *text)
{
    mt_free(*out);
    *out = mt_strndup(text, strlen(text));
    return *out != NULL;
}

/* The cause in the words that end "Next to fail: training (backward), ...". */
static void word_cause(char *s, size_t cap, const struct mt_cause *c, const struct mt_moment *m,
                       enum mt_cause_kind kind)
{
    switch ((int)kind) {
    case MT_CAUSE_PENDING_FREES:
        (void)snprintf(
            s, cap,
            "%s of it had been freed by the program and waited for another stream (record_stream)",
            MT_BYTES(m->pending));
        break;
    case MT_CAUSE_STALE_ENGINE:
        (void)snprintf(s, cap, "%s of it %s, which this phase does not need",
                       MT_BYTES(stale_bytes(m)),
                       mt_phase_is(m->phase, MT_NEEDS_NO_ENGINE) ? "KV cache and engine weights"
                                                                 : mt_cause_trainers(m));
        break;
    case MT_CAUSE_GIANT_TENSOR:
        (void)snprintf(s, cap, "%s of it logits and their gradient",
                       MT_BYTES(m->role[MT_ROLE_LOGITS]));
        break;
    case MT_CAUSE_LEAK:
        (void)snprintf(s, cap, "%s of it temporaries that earlier phases left behind",
                       MT_BYTES(m->residue));
        break;
    case MT_CAUSE_FRAGMENTATION:
        (void)snprintf(s, cap, "and %s more free, but in segments that live blocks hold",
                       MT_BYTES(c->pinned_free));
        break;
    default:
        (void)snprintf(s, cap, "%s of it %s", MT_BYTES(c->next.role_bytes),
                       mt_role_words((enum mt_role)c->next.role));
        break;
    }
}

static int word_forecast(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_forecast *n = &c->next;
    char text[TEXT], reason[256];
    struct mt_phase_in_words ph = mt_phase_in_words(n->attr.phase, n->attr.sub, true);
    int k;
    word_cause(reason, sizeof reason, c, m,
               n->tight || c->kind == MT_CAUSE_PENDING_FREES ? c->kind : MT_CAUSE_NONE);
    if (n->tight)
        k = snprintf(text, sizeof text,
                     "Next to fail: %s. At its peak %s of the card's %s were live, %s; at most %s "
                     "(%u %%) were left.",
                     ph.s, MT_BYTES(n->live), MT_BYTES(n->capacity), reason, MT_BYTES(n->headroom),
                     (unsigned)((double)n->headroom * 100 / (double)n->capacity));
    else if (n->headroom_known)
        k = snprintf(text, sizeof text,
                     "Nothing was near its limit. The highest point is in %s: %s of the card's %s "
                     "were live, %s; at most %s "
                     "(%u %%) were left for more, and for what is outside PyTorch.",
                     ph.s, MT_BYTES(n->live), MT_BYTES(n->capacity), reason, MT_BYTES(n->headroom),
                     (unsigned)((double)n->headroom * 100 / (double)n->capacity));
    else
        k = snprintf(
            text, sizeof text,
            "The highest point, and the first to run short, is in %s: %s were live, %s. How much "
            "room was left is not known%s.",
            ph.s, MT_BYTES(n->live), reason,
            n->capacity == 0
                ? (m->d->kind != MT_DEV_CUDA ? "" : " without the card's size (--capacity)")
                : ": PyTorch's books hold more than the card has, as with an engine that sleeps");
    if (c->last_result > n->live / 50 && k > 0 && (size_t)k < sizeof text)
        k += snprintf(text + k, sizeof text - (size_t)k,
                      c->keeps_results
                          ? " %s of it was kept of earlier passes, which %.160s lets go of only "
                            "when it is over."
                          : " %s of it was the result of the pass before, which %.160s lets go of "
                            "only when the next one is there.",
                      MT_BYTES(c->last_result), c->last_result_line);
    if (n->steps_left != 0 && k > 0 && (size_t)k < sizeof text)
        (void)snprintf(
            text + k, sizeof text - (size_t)k,
            " At the rate at which it grows that is used up after about %llu more steps.",
            (unsigned long long)n->steps_left);
    return replace_text(&c->next.sentence, text);
}

static int add_evidence(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_forecast *n = &c->next;
    if (n->headroom_known &&
        !mt_cause_evidence_add(c, n->headroom,
                               "The card has %s; %s were live and %s reserved at the peak. "
                               "Contexts, NCCL and cuBLAS outside PyTorch "
                               "need room too.",
                               MT_BYTES(n->capacity), MT_BYTES(n->live), MT_BYTES(n->reserved)))
        return 0;
    for (unsigned r = 0; r < MT_ROLE_COUNT; r++)
        if (m->role[r] >= n->live / 10 && m->role[r] != 0 &&
            !mt_cause_evidence_add(c, m->role[r], "%s of the %s live: %s.", MT_BYTES(m->role[r]),
                                   MT_BYTES(n->live), mt_role_words((enum mt_role)r)))
            return 0;
    if (m->residue >= n->live / 20 && m->residue != 0 &&
        !mt_cause_evidence_add(c, m->residue,
                               "%s of temporaries from before this stretch of %s were still live.",
                               MT_BYTES(m->residue), MT_PHASE_WORDS(m->phase, MT_PH_NONE)))
        return 0;
    return c->n_pins_all == 0 ||
           mt_cause_evidence_add(c, c->pinned_free,
                                 "%s is free in %llu segment%s that live blocks hold.",
                                 MT_BYTES(c->pinned_free), (unsigned long long)c->n_pins_all,
                                 c->n_pins_all == 1 ? "" : "s");
}

int mt_cause_next(struct mt_cause *c, struct mt_moment *m, struct mt_phaser *ph)
{
    const struct mt_device_analysis *d = m->d;
    struct mt_forecast *n = &c->next;
    /* half of what is live is of no use any more, whatever the card has */
    bool waits = d->kind == MT_DEV_CUDA && d->focus.pending >= d->focus.live / 2;
    double slope;
    uint64_t sure = sure_growth(m, &slope);
    c->known = d->withheld == NULL && !d->end_state_only && d->n_events != 0;
    if (!c->known || d->focus.live == 0)
        return 1;
    measure_headroom(n, m);
    /* certain growth fails sooner or later, on a card of any size */
    if (sure != 0 && sure >= d->focus.live / 10) {
        c->kind = MT_CAUSE_LEAK;
        c->conf = MT_CONF_INFERRED;
        if (n->headroom_known && slope >= 1 && (double)n->headroom / slope < 1e6)
            n->steps_left = (uint64_t)((double)n->headroom / slope) + 1;
        n->tight = false;
        return word_forecast(c, m);
    }
    if (d->kind != MT_DEV_CUDA)
        n->tight = false;
    if (waits || n->tight) {
        if (!mt_moment_fill(m, ph))
            return 0;
        c->kind = waits ? MT_CAUSE_PENDING_FREES : cause_of_full_card(m);
    } else if (d->kind == MT_DEV_CUDA) {
        if (!look_for_pins(c, m, ph) || (m->n_held == 0 && !mt_moment_fill(m, ph)) ||
            !mt_moment_maker(m))
            return 0;
    }
    if (!word_forecast(c, m))
        return 0;
    if (!n->tight && !waits)
        return 1;
    c->conf = MT_CONF_INFERRED;
    return replace_text(&c->sentence, n->sentence) && add_evidence(c, m);
}
