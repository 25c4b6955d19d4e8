/* Audit of the weight sync: how large its buckets are, how many are alive together, whether it
 * makes a full copy, what outlives it. */
#include "analysis/audit/impl.h"
#include "analysis/base/words.h"

#include <string.h>

enum {
    /* A full copy of a model has at least so many blocks; a single larger one is a copy in one
     * piece. Chosen by hand: 4 changes the audit in 1 of 387 reports, 64 in none. */
    MIN_COPY = 16,
    MIN_LEFT = 1 << 20 /* 1 MiB: less is a scale or a counter that belongs to the weights */
};

int mt_pass_sync(struct mt_pass *p, const struct mt_change *c)
{
    const struct mt_occurrence *o =
        p->occ < p->f->occurrences.n ? &p->f->occurrences.p[p->occ] : NULL;
    struct mt_sync *s;
    if (o == NULL || o->phase != MT_PH_WEIGHT_SYNC || p->i < o->first || p->i > o->last)
        return 1;
    if (p->syncs.n == 0 || p->syncs.p[p->syncs.n - 1].occurrence != p->occ) {
        s = MT_VEC_PUSH(&p->syncs); /* at most as many as occurrences, which are bounded */
        if (s == NULL)
            return 0;
        s->occurrence = p->occ;
    }
    s = &p->syncs.p[p->syncs.n - 1];
    if (c->is_alloc) {
        s->born += c->size;
        s->born_blocks++;
        if (s->born > s->born_peak) {
            s->born_peak = s->born;
            s->born_peak_blocks = s->born_blocks;
            s->born_event = p->i;
        }
    } else if (c->born != UINT64_MAX && c->born >= o->first) {
        s->born -= c->size < s->born ? c->size : s->born;
        s->born_blocks -= s->born_blocks != 0;
    }
    if (c->role != MT_ROLE_WEIGHT_SYNC)
        return 1;
    if (c->is_alloc) {
        s->buckets++;
        s->bytes += c->size;
        s->alive++;
        s->alive_bytes += c->size;
        s->largest = c->size > s->largest ? c->size : s->largest;
        s->alive_peak = s->alive > s->alive_peak ? s->alive : s->alive_peak;
        if (s->alive_bytes > s->alive_peak_bytes) {
            s->alive_peak_bytes = s->alive_bytes;
            s->alive_event = p->i;
        }
    } else if (c->born != UINT64_MAX && c->born >= o->first) {
        s->alive -= s->alive != 0;
        s->alive_bytes -= c->size < s->alive_bytes ? c->size : s->alive_bytes;
    }
    return 1;
}

/* Failed or cut in the middle: what is live then says nothing of what outlives a sync. */
static bool is_unfinished(const struct mt_pass *p, const struct mt_sync *s)
{
    const struct mt_occurrence *o = &p->f->occurrences.p[s->occurrence];
    bool failed =
        p->d->focus_is_oom && p->d->ooms.p[0].event >= o->first && p->d->ooms.p[0].event <= o->last;
    return failed || s->occurrence + 1 >= p->f->occurrences.n;
}

int mt_audit_sync(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"When",
                                           "Buffers",
                                           "Largest",
                                           "Most alive",
                                           "Alive together",
                                           "All it allocated, together",
                                           "Left at its end",
                                           NULL};
    uint64_t largest = 0, together = 0, n_together = 0, most = 0, first_left = 0, last_left = 0,
             max_left = 0, n_whole = 0;
    uint64_t together_event = 0, most_event = 0, left_event = 0;
    /* Shards are no measure of a whole model, and two or three large tensors are no copy of one. */
    uint64_t weights =
        p->f->peak[MT_ROLE_UNSHARDED] == 0 && p->param_peak > p->f->peak[MT_ROLE_ENGINE_WEIGHTS]
            ? p->param_peak
            : p->f->peak[MT_ROLE_ENGINE_WEIGHTS];
    struct mt_audit *a;
    char step[32];
    bool copy = false;
    if (p->syncs.n == 0)
        return 1;
    a = mt_audit_new(out, "weight_sync", "Weight sync", headings);
    if (a == NULL)
        return 0;
    for (uint32_t i = 0; i < p->syncs.n; i++) {
        const struct mt_sync *s = &p->syncs.p[i];
        const struct mt_occurrence *o = &p->f->occurrences.p[s->occurrence];
        bool cut = is_unfinished(p, s);
        uint64_t rest = cut ? 0 : o->retained_roles[MT_ROLE_WEIGHT_SYNC];
        if (!mt_audit_add(a, cut ? "tcbcbb-" : "tcbcbbb", mt_step_words(step, o->step), s->buckets,
                          s->largest, s->alive_peak, s->alive_peak_bytes, s->born_peak, rest))
            return 0;
        largest = s->largest > largest ? s->largest : largest;
        if (s->alive_peak_bytes > together) {
            together = s->alive_peak_bytes;
            n_together = s->alive_peak;
            together_event = s->alive_event;
        }
        if (s->born_peak > most) {
            most = s->born_peak;
            most_event = s->born_event;
        }
        copy = copy || (weights != 0 && s->born_peak >= weights - weights / 10 &&
                        (s->born_peak_blocks >= MIN_COPY || s->largest >= weights - weights / 10));
        first_left = n_whole == 0 ? rest : first_left;
        last_left = cut ? last_left : rest;
        n_whole += !cut;
        if (rest > max_left) {
            max_left = rest;
            left_event = o->last;
        }
    }
    if (max_left < MIN_LEFT)
        max_left = 0;
    a->bytes = max_left != 0 ? max_left : most;
    if (most != 0)
        a->event = (int64_t)(max_left != 0          ? left_event
                             : copy || largest == 0 ? most_event
                                                    : together_event);
    a->finding = copy || max_left != 0;
    if (max_left != 0)
        return mt_audit_say(a,
                            "Buffers of the weight sync outlive it: %s were still live at the end "
                            "of one (%s after the first sync, "
                            "%s after the last); the largest buffer has %s.",
                            MT_BYTES(max_left), MT_BYTES(first_left), MT_BYTES(last_left),
                            MT_BYTES(largest));
    if (copy)
        return mt_audit_say(a,
                            "A sync has up to %s of its own on the card at once, at least as much "
                            "as the weights (%s): a full copy. The "
                            "largest buffer has %s.",
                            MT_BYTES(most), MT_BYTES(weights), MT_BYTES(largest));
    if (largest == 0)
        return mt_audit_say(
            a,
            "A sync has up to %s of its own on the card at once; none of it is known as a bucket.",
            MT_BYTES(most));
    return mt_audit_say(a, "The largest buffer has %s; up to %llu are alive together (%s)%s.",
                        MT_BYTES(largest), (unsigned long long)n_together, MT_BYTES(together),
                        last_left + first_left != 0 ? ", and less than 1 MiB outlives a sync"
                        : n_whole != 0              ? ", and none outlives its sync"
                                                    : "");
}
