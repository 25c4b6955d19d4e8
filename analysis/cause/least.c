/* The smallest change by the numbers alone: what the failed request lacked, and whose bytes that
 * could be. It is said where no rule fits, so that no failure goes without a change. Where nothing
 * failed: how high the highest point would be without what the line made that has most of it. */
#include "analysis/cause/impl.h"
#include "analysis/base/frames.h"
#include "analysis/base/words.h"
#include "analysis/cause/verdict.h"

#include <stdio.h>
#include <string.h>

/* What the request and what is known to come after it lack. Holes that would have been enough in
 * one piece were in the way rather than of use. */
static uint64_t lacking(const struct mt_cause *c, const struct mt_oom *o)
{
    uint64_t holes = o->at.holes_known ? o->at.free_usable : 0,
             asked = o->request + c->pass_to_come + c->state_to_come, have = o->device_free;
    if (have + holes < o->request)
        have += holes;
    return asked > have ? asked - have : 0;
}

/* Whether a block is of the work at hand: no weights, and nothing that an optimizer or an engine
 * keeps. */
static bool is_work(const struct mt_moment *m, uint64_t born)
{
    uint8_t role = m->w->fate[born].role;
    return mt_is_transient(role) || role == MT_ROLE_UNKNOWN || role == MT_ROLE_DATA;
}

/* What a line has made in turns before and keeps at that event: none was let go of since the first
 * of them. Weights, states and caches are made one by one to stay. n 0 = there are no two. */
struct turns {
    uint64_t bytes;
    uint32_t n;
};

static struct turns kept_by(const struct mt_moment *m, mt_frame_id line, uint64_t at,
                            uint32_t *known)
{
    struct turns out = {0, 0};
    uint64_t first = UINT64_MAX;
    for (uint32_t i = 0; line != 0 && i < m->n_held; i++) {
        const struct mt_held *h = &m->held[i];
        if (h->event == UINT64_MAX || h->pending || mt_moment_line(m, h->stack, known) != line ||
            !is_work(m, h->event))
            continue;
        out.bytes += h->size;
        first = h->event < first ? h->event : first;
        out.n++;
    }
    for (uint64_t i = first; first != UINT64_MAX && i < at; i++) {
        const struct mt_event *e = mt_event_at(m->w->r->d, i);
        if (e->action == MT_ACT_ALLOC && m->w->fate[i].freed < at &&
            mt_moment_line(m, e->stack, known) == line)
            return (struct turns){0, 0};
    }
    return out.n < 2 ? (struct turns){0, 0} : out;
}

/* The highest live bytes of the recording without what that line made for the work at hand. */
static uint64_t highest_without(const struct mt_moment *m, mt_frame_id line, uint32_t *known)
{
    const struct mt_device *d = m->w->r->d;
    int64_t live = 0, most = INT64_MIN, of_line = 0, at_focus = 0;
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        uint32_t born = m->w->fate[i].freed;
        if (e->action == MT_ACT_ALLOC) {
            live += (int64_t)e->size;
            if (mt_moment_line(m, e->stack, known) == line && is_work(m, i))
                of_line += (int64_t)e->size;
        } else if (e->action == MT_ACT_FREE_COMPLETED) {
            live -= (int64_t)e->size;
            if (born < i && mt_moment_line(m, mt_event_at(d, born)->stack, known) == line &&
                is_work(m, born))
                of_line -= (int64_t)e->size;
        }
        most = live - of_line > most ? live - of_line : most;
        if ((int64_t)i == m->d->focus.event)
            at_focus = live;
    }
    most += (int64_t)m->d->focus.live - at_focus; /* what was there before the recording */
    return most > 0 ? (uint64_t)most : 0;
}

/* ---- where nothing failed ---- */

/* Blocks of a line that passes before the last one made and that are still there. */
static struct turns left_by_passes(const struct mt_moment *m, mt_frame_id line, uint32_t *known)
{
    struct turns out = {0, 0};
    for (uint32_t i = 0; m->call_of != NULL && i < m->w->there.n; i++) {
        uint32_t born = m->w->there.p[i];
        mt_stack_id stack = mt_event_at(m->w->r->d, born)->stack;
        mt_frame_id call = m->call_of[stack];
        if (call == 0 || born + 1 >= m->call_began[call] || mt_moment_line(m, stack, known) != line)
            continue;
        out.bytes += mt_event_at(m->w->r->d, born)->size;
        out.n++;
    }
    return out;
}

static int of_peak(struct mt_cause *c, const struct mt_moment *m)
{
    enum { OF_LIVE = 3, IN = 10, WORTH = 20 }; /* as a maker's; a twentieth less is worth a word */
    enum { MANY = 8 };                         /* as kept.c has it: fewer are layers or results */
    const struct mt_device_analysis *d = m->d;
    const struct mt_owner *most = d->owners.n != 0 ? &d->owners.p[0] : NULL,
                          *next = d->owners.n > 1 ? &d->owners.p[1] : NULL;
    uint32_t *known;
    uint64_t without = 0;
    mt_frame_id line;
    char text[1024], beside[400] = "", turns[80] = "";
    struct turns left;
    bool is = false;
    if (most == NULL || most->stack == 0 || most->bytes / OF_LIVE < d->focus.live / IN ||
        d->withheld != NULL || d->sums_only || d->end_state_only || d->focus.event < 0 ||
        m->w->fate == NULL || d->kind != MT_DEV_CUDA ||
        (c->next.headroom_known && c->next.headroom > d->capacity / 2)) /* nothing is near */
        return 1;
    known = mt_calloc((size_t)m->w->r->t->stacks.n + 1, sizeof *known);
    if (known == NULL)
        return 0;
    line = mt_moment_line(m, most->stack, known);
    if (line != 0) {
        without = highest_without(m, line, known);
        is = without < d->focus.live - d->focus.live / WORTH;
        left = left_by_passes(m, line, known);
        if (left.n >= MANY && !mt_phase_is(m->phase, MT_TRAINS | MT_SETS_UP)) { /* no graph */
            c->left = left.bytes;
            (void)snprintf(turns, sizeof turns, ", in %u blocks that earlier passes left",
                           (unsigned)left.n);
        }
        if (next != NULL && next->stack != 0 && next->bytes / OF_LIVE >= d->focus.live / IN)
            (void)snprintf(beside, sizeof beside, "; beside it %.300s has %s", next->label,
                           MT_BYTES(next->bytes));
    }
    mt_free(known);
    if (!is)
        return 1;
    (void)snprintf(
        text, sizeof text,
        "The smallest change by the numbers is at %.300s, which has %s of the highest "
        "point%s%s. Without all that this line makes it would be %s in place of %s; what of it is "
        "let go of before, made in pieces, in a smaller type or kept on the host is a part of "
        "that.",
        most->label, MT_BYTES(most->bytes), turns, beside, MT_BYTES(without),
        MT_BYTES(d->focus.live));
    c->least = mt_strndup(text, strlen(text));
    return c->least != NULL;
}

/* ---- where a request failed ---- */

int mt_cause_least(struct mt_cause *c, const struct mt_moment *m)
{
    const struct mt_device_analysis *d = m->d;
    const struct mt_owner *most = d->owners.n != 0 ? &d->owners.p[0] : NULL;
    uint64_t lacks = m->oom != NULL ? lacking(c, m->oom) : 0;
    struct turns kept = {0, 0};
    char text[1536], asker[256] = "";
    const char *at_least = "";
    static const char after[] =
        ". That serves this request; what comes after it, this recording does not show.";
    int n = 0;
    if (m->oom == NULL)
        return of_peak(c, m);
    if (lacks == 0 || m->oom->request == 0 || d->withheld != NULL || d->sums_only ||
        m->oom->device_free >= mt_segment_size(m->oom->request))
        return 1;
    if (m->oom->stack != 0)
        (void)mt_stack_label(m->w->r->t, m->oom->stack, asker, sizeof asker);
    if (asker[0] != '\0' && m->w->fate != NULL && !mt_phase_is(m->phase, MT_SETS_UP)) {
        uint32_t *known = mt_calloc((size_t)m->w->r->t->stacks.n + 1, sizeof *known);
        if (known == NULL)
            return 0;
        kept = kept_by(m, mt_moment_line(m, m->oom->stack, known), m->oom->event, known);
        mt_free(known);
    }
    if (kept.bytes != 0 && kept.bytes >= lacks) {
        at_least = "at least ";
        n = snprintf(
            text, sizeof text,
            "The smallest change by the numbers is at least %s less of the %s that %s made "
            "in %u turns before and keeps: each let go of before the next is made, or kept "
            "on the host, since each turn that is left adds to it",
            MT_BYTES(lacks), MT_BYTES(kept.bytes), asker, (unsigned)kept.n);
    }
    if (most != NULL && most->stack != 0 && most->bytes >= lacks && n >= 0 &&
        (size_t)n < sizeof text)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s %s%s less of the %s that %.300s holds: let go of before, made in pieces, "
                      "in a smaller type, or kept on the host",
                      n != 0 ? ". Or" : "The smallest change by the numbers is", at_least,
                      MT_BYTES(lacks), MT_BYTES(most->bytes), most->label);
    if (lacks <= m->oom->request && at_least[0] == '\0' && n >= 0 && (size_t)n < sizeof text)
        n += snprintf(text + n, sizeof text - (size_t)n,
                      "%s %s less in the request of %s%s%s: in pieces, or in a smaller type",
                      n != 0 ? ". Or" : "The smallest change by the numbers is", MT_BYTES(lacks),
                      MT_BYTES(m->oom->request), asker[0] != '\0' ? " at " : "", asker);
    if (n <= 0 || (size_t)n >= sizeof text - sizeof after)
        return 1;
    (void)snprintf(text + n, sizeof text - (size_t)n, "%s", c->left_open ? after : ".");
    c->least = mt_strndup(text, strlen(text));
    return c->least != NULL;
}
