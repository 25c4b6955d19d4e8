#include "analysis/cause/verdict.h"

#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/operation.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define MIN_PINNED (UINT64_C(1) << 30)
#define MAX_REQUEST (UINT64_MAX - 2 * MIB) /* rounded up without overflow */

uint64_t mt_segment_size(uint64_t request)
{
    if (request <= MIB)
        return 2 * MIB;
    return request < 10 * MIB ? 20 * MIB : (request + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

static uint64_t pieces_of(const struct mt_oom *o)
{
    return o->at.holes_known ? o->at.free_usable : o->at.reserved_free;
}

/* Whether the free bytes would have been enough in one piece. Holes and the device's free bytes
 * count together, since expandable segments join them. A device whose holes are less than a tenth
 * of the request was full: the holes are what rounding leaves. The shares here were chosen by hand;
 * half or twice as much of each changes no verdict of 387 snapshots. */
static bool in_pieces(const struct mt_device_analysis *d, const struct mt_oom *o)
{
    const struct mt_cause *c = o == &d->ooms.p[0] ? d->cause : NULL;
    uint64_t holes = pieces_of(o);
    if (o->at.holes_known && o->at.largest_usable <= 2 * MIB && holes < o->at.reserved / 20)
        return false; /* ends of segments, none longer than 2 MiB, the step in which they are sized
                       */
    if (holes < o->request / 10 || holes + o->device_free < o->request)
        return false;
    /* The next layer, or the next state, would have failed. A forward pass of which nothing else is
     * known would have had to be nine tenths done, with a tenth of what it had added left. */
    if (c != NULL && (holes + o->device_free - o->request < c->pass_to_come + c->state_to_come ||
                      holes + o->device_free - o->request < c->pass_so_far / 10))
        return false;
    /* In one piece the request would have left less than 2 % free, and the holes are less than 5 %
     * of what is reserved: the card was full, and the next request would have failed. Seen with
     * real optimizers: 5.62 of 5.69 GiB live, 35 MiB of holes and 52 MiB free for 86 MiB. */
    return holes >= o->at.reserved / 20 ||
           holes + o->device_free - o->request >= (o->at.reserved + o->device_free) / 50;
}

/* Joined the pieces would serve this request, and nothing shows what comes after it. Where they are
 * less than this one request, and than half of what is live, they are no reason to say that the
 * card is enough: three jobs with the pieces joined failed at the next request. */
static bool fits_only_here(const struct mt_device_analysis *d, const struct mt_oom *o)
{
    const struct mt_cause *c = o == &d->ooms.p[0] ? d->cause : NULL;
    uint64_t holes = pieces_of(o);
    return c != NULL && c->left_open && holes < o->request && holes < o->at.live / 2 &&
           in_pieces(d, o);
}

/* Where what was free on the device is not known: whether that and the free bytes of PyTorch might
 * have been enough together. Less than a tenth of the request in PyTorch is no fragmentation
 * (in_pieces()), all of it in PyTorch is one. */
static bool may_have_room(const struct mt_device_analysis *d, const struct mt_oom *o)
{
    uint64_t most = d->capacity > o->at.reserved ? d->capacity - o->at.reserved : 0;
    return o->at.reserved_free >= o->request / 10 && o->at.reserved_free < o->request &&
           (d->capacity == 0 || o->at.reserved_free + most >= o->request);
}

enum mt_verdict_kind mt_oom_kind(const struct mt_device_analysis *d, const struct mt_oom *o)
{
    if (o->request == 0) /* an entry whose size no device could have */
        return MT_V_OOM;
    if (o->device_free >= mt_segment_size(o->request))
        return MT_V_OOM_LIMIT;
    if (d->withheld != NULL || (d->sums_only && may_have_room(d, o)))
        return MT_V_OOM;
    return in_pieces(d, o) && !fits_only_here(d, o) ? MT_V_OOM_FRAGMENTATION : MT_V_OOM_CAPACITY;
}

bool mt_fits_only_here(const struct mt_device_analysis *d)
{
    return d->ooms.n != 0 && fits_only_here(d, &d->ooms.p[0]) &&
           mt_oom_kind(d, &d->ooms.p[0]) == MT_V_OOM_CAPACITY;
}

static bool sooner(const struct mt_device_analysis *a, const struct mt_device_analysis *b)
{
    return a->ooms.p[0].time_ns != 0 && b->ooms.p[0].time_ns != 0 &&
           a->ooms.p[0].time_ns < b->ooms.p[0].time_ns;
}

static uint64_t bytes_held(const struct mt_device_analysis *d)
{
    return d->withheld != NULL ? d->live_end : d->live_peak;
}

/* Earliest OOM; else the highest peak. Pinned host memory only when there is nothing else. */
static uint32_t choose_device(const struct mt_analysis *a)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < a->devices.n; i++) {
        const struct mt_device_analysis *d = &a->devices.p[i], *b = &a->devices.p[best];
        bool better;
        if (d->kind != b->kind)
            better = d->kind == MT_DEV_CUDA;
        else if ((d->ooms.n != 0) != (b->ooms.n != 0))
            better = d->ooms.n != 0;
        else
            better = d->ooms.n != 0 ? sooner(d, b) : bytes_held(d) > bytes_held(b);
        if (better)
            best = i;
    }
    return best;
}

static void add_device(struct mt_sentence *t, const struct mt_analysis *a,
                       const struct mt_device_analysis *d, bool capital)
{
    char name[40];
    if (a->trace->meta.rank >= 0)
        mt_words_add(t, "%sank %d, ", capital ? "R" : "r", a->trace->meta.rank);
    (void)mt_words_device(name, d->kind, d->ordinal);
    if (a->trace->meta.rank < 0 && capital)
        name[0] = (char)(name[0] - 'a' + 'A');
    mt_words_add(t, "%s", name);
}

static void add_share_of_card(struct mt_sentence *t, const struct mt_device_analysis *d,
                              uint64_t bytes)
{
    char b[32];
    if (d->capacity == 0)
        return;
    if (bytes > d->capacity) {
        mt_words_add(t,
                     " (more than the %s card has: part of it was not there, an engine that sleeps "
                     "stays in PyTorch's books)",
                     mt_words_bytes(b, d->capacity));
        return;
    }
    mt_words_add(t, ", %u %% of the %s card",
                 (unsigned)((bytes * 100 + d->capacity / 2) / d->capacity),
                 mt_words_bytes(b, d->capacity));
}

/* Adds the numbers that decided between fragmentation, capacity and a limit. */
static void add_oom_reason(const struct mt_device_analysis *d, const struct mt_oom *o,
                           enum mt_verdict_kind kind, struct mt_sentence *why)
{
    char b1[32], b2[32], b3[32];
    const struct mt_state *at = &o->at;
    uint64_t to_come = d->cause != NULL ? d->cause->pass_to_come + d->cause->state_to_come : 0;
    bool only_here = d->cause != NULL && d->cause->fits_only_here && o == &d->ooms.p[0];
    if (d->sums_only) {
        if (d->reserved_peak != 0)
            mt_words_add(why, "%s of what PyTorch held was free, %s than the request. ",
                         MT_BYTES(at->reserved_free),
                         at->reserved_free >= o->request ? "not less" : "less");
        mt_words_add(why, "What was free on the device, and how the free bytes lay, this recording "
                          "does not tell.");
        return;
    }
    mt_words_bytes(b1, at->free_usable);
    mt_words_bytes(b2, o->device_free);
    mt_words_bytes(b3, at->largest_usable);
    if (kind == MT_V_OOM_LIMIT) {
        mt_words_add(
            why,
            "The driver still had %s, enough for the %s segment that the request needs: look for "
            "set_per_process_memory_fraction or a container limit.",
            b2, mt_words_bytes(b1, mt_segment_size(o->request)));
    } else if (kind == MT_V_OOM && d->withheld != NULL) {
        mt_words_add(why, "The state at the failure is not known: %s.", d->withheld);
        return;
    } else if (kind == MT_V_OOM) {
        mt_words_add(
            why,
            "Without the size of the request, capacity and fragmentation cannot be told apart.");
    } else if (!at->holes_known) {
        mt_words_add(
            why,
            "Reserved but not live: %s, against a request of %s; the holes could not be laid out.",
            mt_words_bytes(b1, at->reserved_free), mt_words_bytes(b3, o->request));
    } else if (kind == MT_V_OOM_FRAGMENTATION) {
        if (at->free_usable >= o->request)
            mt_words_add(
                why, "%s was free in the segments that serve this request, more than it asked for",
                b1);
        else
            mt_words_add(why,
                         "%s was free in the segments that serve this request and %s on the "
                         "device, together enough for it",
                         b1, b2);
        mt_words_add(why, ", but the largest hole was %s (%llu hole%s in %llu segment%s).", b3,
                     (unsigned long long)at->n_holes, at->n_holes == 1 ? "" : "s",
                     (unsigned long long)at->n_segments, at->n_segments == 1 ? "" : "s");
    } else if (at->free_usable == 0) {
        mt_words_add(why,
                     "Nothing was free in the segments that serve this request, and only %s on the "
                     "device: no rearrangement would have "
                     "fitted it.",
                     b2);
    } else {
        mt_words_add(
            why,
            "Only %s was free in the segments that serve this request (largest hole %s) "
            "and %s on the device: %s.",
            b1, b3, b2,
            at->free_usable + o->device_free < o->request ? "no rearrangement would have fitted it"
            : only_here
                ? "together enough for it, and nothing shows that they are for what comes next"
                : "even in one piece it would have been just enough for it");
        if (to_come != 0 && at->free_usable + o->device_free >= o->request)
            mt_words_add(why, " The same %s had %s more to ask for.",
                         mt_phase_is(o->attr.sub, MT_IN_OPTIMIZER) ? "step" : "pass",
                         mt_words_bytes(b1, to_come));
    }
    if (at->pending >= at->live / 10 && at->pending != 0)
        mt_words_add(why,
                     " Of the live bytes, %s had been freed already and waited for another stream "
                     "to finish with them (record_stream).",
                     mt_words_bytes(b1, at->pending));
}

/* Less than half as much again is what batches differ by, and less than a MiB is no batch. */
bool mt_asked_more(const struct mt_cause *c)
{
    return c != NULL && c->before_most != 0 && c->request >= MIB &&
           c->request / 3 >= c->before_most / 2;
}

const char *mt_asked_times(char buf[MT_TIMES], const struct mt_cause *c)
{
    (void)snprintf(buf, MT_TIMES, "%.1f", (double)c->request / (double)c->before_most);
    return buf;
}

/* Adds the size of the block that was asked for, and of the segment that PyTorch asked the driver
 * for: PyTorch's own message names the segment. */
static void add_request(struct mt_sentence *s, const struct mt_device_analysis *d,
                        const struct mt_oom *o)
{
    char block[32], segment[32];
    uint64_t size = o->request < MAX_REQUEST ? mt_segment_size(o->request) : o->request;
    if (o->request == 0) {
        mt_words_add(s, "a size that its entry does not tell");
        return;
    }
    mt_words_add(s, "%s", mt_words_bytes(block, o->request));
    if (d->kind == MT_DEV_CUDA && strcmp(block, mt_words_bytes(segment, size)) != 0)
        mt_words_add(s, " (%s from the driver)", segment);
}

/* The line that called the backward pass of a request which the autograd thread made, where that
 * has no Python frames: the last one of the main thread, which waits for it. 0 = not known. */
static mt_stack_id caller_of(const struct mt_analysis *a, const struct mt_device_analysis *d,
                             const struct mt_oom *o)
{
    const struct mt_device *dev = &a->trace->devices.p[d->device];
    mt_frame_id frame;
    if (!mt_phase_is(o->attr.sub, MT_IN_BACKWARD) || o->forward != 0 || d->withheld != NULL)
        return 0;
    if (mt_stack_site(a->trace, NULL, o->stack, &frame) == MT_SITE_PYTHON)
        return 0;
    for (uint64_t i = o->event < dev->events.n ? o->event : 0; i-- > 0;) {
        const struct mt_event *e = mt_event_at(dev, i);
        if (e->action == MT_ACT_ALLOC && e->stack != 0 &&
            mt_stack_site(a->trace, NULL, e->stack, &frame) == MT_SITE_PYTHON &&
            (mt_file_kind(NULL, a->trace, a->trace->frames.p[frame].file) & MT_FILE_INTERNAL) == 0)
            return e->stack;
    }
    return 0;
}

/* Pieces failed this request, but they are little beside what is live, and more may have come. */
static bool is_only_here(const struct mt_device_analysis *d)
{
    enum { LITTLE = 4 }; /* chosen by hand */
    return d->cause != NULL && d->cause->left_open && d->focus.free_usable < d->focus.live / LITTLE;
}

static void oom_sentence(const struct mt_analysis *a, const struct mt_device_analysis *d,
                         const struct mt_oom *o, enum mt_verdict_kind kind, struct mt_sentence *s,
                         struct mt_sentence *why)
{
    char b1[32], b2[32], label[MT_LABEL], line[MT_LABEL], shown[MT_LABEL];
    bool only_here = d->cause != NULL && d->cause->fits_only_here && o == &d->ooms.p[0];
    mt_stack_id caller;
    mt_frame_id frame;
    add_device(s, a, d, true);
    mt_words_add(s, " ran out of memory");
    mt_verdict_phase(s, a->trace, &a->verdict, o->stack);
    mt_words_add(s, ": it asked for ");
    add_request(s, d, o);
    if (o->stack != 0)
        mt_words_add(s, " %s %s",
                     o->forward != 0 ||
                             mt_stack_site(a->trace, NULL, o->stack, &frame) == MT_SITE_PYTHON
                         ? "at"
                         : "in",
                     mt_words_label(label, o->label));
    if (o->stack != 0 && o->forward == 0 &&
        mt_stack_site(a->trace, NULL, o->stack, &frame) == MT_SITE_PYTHON &&
        mt_stack_operation(a->trace, o->stack, shown, sizeof shown))
        mt_words_add(s, " (%s)", shown);
    if ((caller = caller_of(a, d, o)) != 0) {
        (void)mt_stack_label(a->trace, caller, line, sizeof line);
        mt_words_add(s, o->stack != 0 ? " (called by %s)" : " in a backward pass called by %s",
                     mt_words_label(shown, line));
    }
    if ((o->stack != 0 || caller != 0) && !d->sums_only)
        mt_words_add(s, ",");
    if (!d->sums_only)
        mt_words_add(s, " with %s free on the device", mt_words_bytes(b2, o->device_free));
    if (o == &d->ooms.p[0] && mt_asked_more(d->cause))
        mt_words_add(s, "; the request is %s times the %s that this place had asked for before",
                     mt_asked_times(b1, d->cause), mt_words_bytes(b2, d->cause->before_most));
    switch (kind) {
    case MT_V_OOM_CAPACITY:
        mt_words_add(s, only_here
                            ? "; capacity, since nothing shows that what is free in pieces would "
                              "serve more than this request"
                            : "; capacity, not fragmentation");
        break;
    case MT_V_OOM_FRAGMENTATION:
        if (d->cause == NULL || d->cause->kind == MT_CAUSE_FRAGMENTATION)
            mt_words_add(s, is_only_here(d)
                                ? "; fragmentation at this request, and whether the card "
                                  "is enough for what comes after it is not known"
                                : "; fragmentation, not capacity");
        else
            mt_words_add(s, "; %s first, then fragmentation",
                         d->cause->kind == MT_CAUSE_LEAK ? "a leak"
                                                         : mt_cause_words(d->cause->kind));
        break;
    case MT_V_OOM_LIMIT:
        mt_words_add(s, "; neither capacity nor fragmentation, a limit refused it");
        break;
    case MT_V_OOM:
    case MT_V_PEAK:
    case MT_V_END_STATE:
    case MT_V_EMPTY: break;
    }
    if (d->withheld == NULL) {
        mt_words_bytes(b1, o->at.live);
        mt_words_bytes(b2, o->at.reserved);
        if (strcmp(b1, b2) == 0)
            mt_words_add(s, ": all of the %s reserved was live", b2);
        else
            mt_words_add(s, ": %s was live of %s reserved", b1,
                         b2); /* the share of the card, next, is that of the latter */
        add_share_of_card(s, d, o->at.reserved);
        mt_verdict_holder(s, a, d);
    }
    mt_words_add(s, ".");
    add_oom_reason(d, o, kind, why);
}

/* Adds how much host memory the process pinned, where nothing failed: host memory may run out, too.
 */
static void add_pinned(const struct mt_analysis *a, const struct mt_device_analysis *d,
                       struct mt_sentence *why)
{
    for (uint32_t i = 0; d->kind == MT_DEV_CUDA && i < a->devices.n; i++) {
        const struct mt_device_analysis *h = &a->devices.p[i];
        uint64_t reserved = h->withheld != NULL ? h->reserved_end : h->reserved_peak;
        if (h->kind == MT_DEV_HOST && reserved >= MIN_PINNED)
            mt_words_add(why, "%sBeside it the process pinned %s%s of host memory.",
                         why->n != 0 ? " " : "", h->withheld != NULL ? "" : "up to ",
                         MT_BYTES(reserved));
    }
}

static void add_withheld(const struct mt_device_analysis *d, struct mt_sentence *why)
{
    char first = d->withheld[0];
    mt_words_add(why, "%c%s.", first >= 'a' && first <= 'z' ? first - 'a' + 'A' : first,
                 d->withheld + 1);
}

static void peak_sentence(const struct mt_analysis *a, const struct mt_device_analysis *d,
                          enum mt_verdict_kind kind, struct mt_sentence *s, struct mt_sentence *why)
{
    char b1[32], b2[32];
    struct mt_phase_in_words ph = mt_phase_in_words(a->verdict.phase, a->verdict.sub, true);
    bool told = a->verdict.phase != MT_PH_UNATTRIBUTED || a->verdict.sub != MT_PH_NONE;
    if (kind == MT_V_EMPTY) {
        mt_words_add(s,
                     "Nothing was allocated: the snapshot holds no live block and no trace entry.");
        return;
    }
    if (mt_state_unknown(d)) {
        mt_words_add(s, "What ");
        add_device(s, a, d, false);
        mt_words_add(s, " held is not known: the snapshot lists none of its segments, and its "
                        "trace does not say it alone.");
        add_withheld(d, why);
        return;
    }
    if (d->withheld != NULL) {
        mt_words_add(s, "The trace of ");
        add_device(s, a, d, false);
        mt_words_add(s, " is incomplete, so only its end state is reported: %s live in %s reserved",
                     mt_words_bytes(b1, d->live_end), mt_words_bytes(b2, d->reserved_end));
        add_share_of_card(s, d, d->reserved_end);
        add_withheld(d, why);
    } else if (kind == MT_V_PEAK) {
        mt_words_add(s, "No out-of-memory event was recorded");
        if (a->trace->devices.p[d->device].ring_overflowed == 1) /* what came before is lost */
            mt_words_add(s, " in the %s entries that the ring buffer kept",
                         mt_words_count(b1, d->n_events));
        mt_words_add(s, ": ");
        add_device(s, a, d, false);
        mt_words_add(s, " peaked at %s live", mt_words_bytes(b1, d->live_peak));
        if (d->reserved_peak != 0)
            mt_words_add(s, " with %s reserved", mt_words_bytes(b2, d->focus.reserved));
        add_share_of_card(s, d, d->reserved_peak != 0 ? d->focus.reserved : d->live_peak);
        mt_words_add(s, d->capacity != 0 ? "," : "");
        if (d->peak_event < 0)
            mt_words_add(s, " before the first event%s%s", told ? ", most of it from " : "",
                         told ? ph.s : "");
        else
            mt_verdict_phase(s, a->trace, &a->verdict, d->focus_stack);
        if (d->cause != NULL && d->cause->kind == MT_CAUSE_PENDING_FREES)
            mt_words_add(s, ", %s of it let go of already and waiting for another stream",
                         mt_words_bytes(b1, d->focus.pending));
    } else {
        mt_words_add(s, "No history was recorded: ");
        add_device(s, a, d, false);
        mt_words_add(s, " held %s live in %s reserved", mt_words_bytes(b1, d->focus.live),
                     mt_words_bytes(b2, d->focus.reserved));
        add_share_of_card(s, d, d->focus.reserved);
        mt_words_add(s, "%s when the snapshot was taken", d->capacity != 0 ? "," : "");
        if (told)
            mt_words_add(s, ", most of it from %s", ph.s);
        mt_words_add(
            why,
            "The snapshot has no allocation history, so neither the peak before it nor its phase "
            "is known. Record with "
            "torch.cuda.memory._record_memory_history(max_entries=100000) before the first step.");
    }
    mt_verdict_holder(s, a, d);
    mt_words_add(s, ".");
    if (kind == MT_V_PEAK)
        add_pinned(a, d, why);
}

static void phase_of_focus(struct mt_verdict *v, const struct mt_device_analysis *d)
{
    uint64_t best = 0;
    v->phase = MT_PH_UNATTRIBUTED;
    v->sub = MT_PH_NONE;
    v->conf = MT_CONF_NONE;
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        if (p->at_focus > best) {
            best = p->at_focus;
            v->phase = p->phase;
            v->sub = p->sub;
            v->conf = p->phase == MT_PH_UNATTRIBUTED ? MT_CONF_NONE : MT_CONF_MARKED;
        }
    }
}

int mt_verdict_make(struct mt_analysis *a)
{
    static const struct mt_device_analysis nothing;
    struct mt_verdict *v = &a->verdict;
    const struct mt_device_analysis *d = &nothing;
    struct mt_sentence s = {"", 0}, why = {"", 0};
    v->sub = MT_PH_NONE;
    v->event = MT_NO_LINK;
    v->device = choose_device(a);
    v->kind = MT_V_EMPTY;
    if (a->devices.n != 0) {
        d = &a->devices.p[v->device];
        v->event = mt_link_event(d->ooms.n != 0 ? (int64_t)d->ooms.p[0].event : d->focus.event);
        if (d->ooms.n != 0)
            v->kind = mt_oom_kind(d, &d->ooms.p[0]);
        else if (d->n_allocs != 0)
            v->kind = MT_V_PEAK;
        else if (d->live_end != 0 || d->live_start != 0 || d->reserved_end != 0 ||
                 mt_state_unknown(d))
            v->kind = MT_V_END_STATE;
    }
    if (d->ooms.n != 0) {
        v->phase = (enum mt_phase)d->ooms.p[0].attr.phase;
        v->sub = (enum mt_phase)d->ooms.p[0].attr.sub;
        v->conf = mt_attr_conf(d->ooms.p[0].attr);
        oom_sentence(a, d, &d->ooms.p[0], v->kind, &s, &why);
    } else {
        if (d->focus.event < 0 || d->withheld != NULL || v->kind == MT_V_END_STATE ||
            d->focus.event == MT_NO_EVENT) {
            phase_of_focus(v, d);
        } else {
            v->phase = (enum mt_phase)d->focus_attr.phase;
            v->sub = (enum mt_phase)d->focus_attr.sub;
            v->conf = mt_attr_conf(d->focus_attr);
        }
        peak_sentence(a, d, v->kind, &s, &why);
    }
    v->sentence = mt_strndup(s.buf, s.n);
    v->because = mt_strndup(why.buf, why.n);
    return v->sentence != NULL && v->because != NULL;
}

uint32_t mt_primary_rank(const struct mt_analysis *const *a, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) {
        const struct mt_device_analysis *d =
            a[i]->devices.n ? &a[i]->devices.p[a[i]->verdict.device] : NULL;
        const struct mt_device_analysis *b =
            a[best]->devices.n ? &a[best]->devices.p[a[best]->verdict.device] : NULL;
        bool better;
        if (d == NULL || b == NULL)
            better = b == NULL && d != NULL;
        else if ((d->ooms.n != 0) != (b->ooms.n != 0))
            better = d->ooms.n != 0;
        else if (d->ooms.n != 0)
            better = sooner(d, b);
        else if ((d->kind == MT_DEV_CUDA) != (b->kind == MT_DEV_CUDA)) /* the host stands beside */
            better = d->kind == MT_DEV_CUDA;
        else /* every rank of a report has the same capacity, so the highest peak is the fullest */
            better = bytes_held(d) > bytes_held(b);
        if (better)
            best = i;
    }
    return best;
}
