/* Audits of training: the first optimizer step, FSDP gathers that stay, frees that wait for a
 * stream. */
#include "analysis/audit/impl.h"
#include "analysis/base/words.h"
#include "analysis/base/frames.h"

#include <stdio.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static bool in_optimizer(struct mt_attr a)
{
    return a.sub == MT_PH_OPTIMIZER || a.sub == MT_PH_OPTIM_STATE_INIT;
}

void mt_pass_step(struct mt_pass *p, const struct mt_change *c)
{
    const struct mt_step *first = p->f->steps.n > 0 ? &p->f->steps.p[0] : NULL;
    const struct mt_step *second = p->f->steps.n > 1 ? &p->f->steps.p[1] : NULL;
    if (first != NULL && p->i >= first->first && p->i <= first->last) {
        uint64_t state = p->role[MT_ROLE_OPTIM_STATE] + p->role[MT_ROLE_BEFORE];
        if (!p->state_seen && c->is_alloc && c->role == MT_ROLE_OPTIM_STATE &&
            in_optimizer(p->r->attr[p->i])) {
            p->state_seen = true;
            p->state_event = p->i;
            p->state_older = p->role[MT_ROLE_OPTIM_STATE] > c->size;
            p->state_base = state - c->size;
        }
        if (p->state_seen) /* an optimizer that makes its state anew frees the old one */
            p->state_now = state;
        if (!p->state_seen && p->live > p->before_state)
            p->before_state = p->live;
    }
    if (second != NULL && !p->second_done && p->i >= second->first && p->i <= second->last) {
        p->second_done = c->is_alloc && in_optimizer(p->r->attr[p->i]);
        if (!p->second_done && p->live > p->second_peak)
            p->second_peak = p->live;
    }
}

int mt_audit_first_step(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"What", "Bytes", NULL};
    uint64_t born = p->state_now > p->state_base ? p->state_now - p->state_base : 0,
             predicted = p->before_state + born;
    struct mt_audit *a;
    bool tight;
    if (!p->state_seen || p->state_older ||
        born < MIB) /* older: the trace does not begin before the first step */
        return 1;
    a = mt_audit_new(out, "first_step", "First optimizer step", headings);
    if (a == NULL)
        return 0;
    if (!mt_audit_add(a, "tb", "highest live in step 1 before its optimizer state",
                      p->before_state) ||
        !mt_audit_add(a, "tb", "optimizer state that appeared in step 1", born) ||
        !mt_audit_add(a, "tb", "predicted for step 2: their sum", predicted) ||
        (p->second_peak != 0 &&
         !mt_audit_add(a, "tb", "measured in step 2 before its optimizer step", p->second_peak)))
        return 0;
    tight = p->d->capacity != 0 && predicted > p->d->capacity;
    a->finding = tight || (p->d->focus_is_oom && p->d->focus.event >= 0 &&
                           mt_step_at(p->f, (uint64_t)p->d->focus.event) == 1);
    a->bytes = born;
    a->event = (int64_t)p->state_event;
    if (p->second_peak != 0)
        return mt_audit_say(a,
                            "The first optimizer step set up %s of state: before it step 1 held %s "
                            "at most, step 2 before its "
                            "optimizer step %s%s.",
                            MT_BYTES(born), MT_BYTES(p->before_state), MT_BYTES(p->second_peak),
                            tight ? "; the sum of the first two is more than the card has" : "");
    return mt_audit_say(a,
                        "The first optimizer step set up %s of state, so step 2 needs about %s "
                        "where step 1 needed %s%s; step 1 says "
                        "nothing about whether the job fits.",
                        MT_BYTES(born), MT_BYTES(predicted), MT_BYTES(p->before_state),
                        tight ? ", more than the card has" : "");
}

/* Ends a window of gathers: it lasts until no more than one block of its largest size is alive (the
 * root's parameters may stay gathered). Gathers stayed in the window when two fifths of its bytes,
 * the largest block aside, were alive at once. A gather has a buffer and the parameters that are
 * copied out of it, so two layers of many, one at work and one prefetched, are less than two
 * fifths. A window of fewer than MIN_GROUPS layers proves nothing: two of four are half. With 3
 * groups the audit changes in 6 of 387 reports, with 24 in 1. */
void mt_window_end(struct mt_pass *p)
{
    enum { MIN_GROUPS = 8 };
    const struct mt_window *w = &p->window;
    if (w->groups >= MIN_GROUPS && (w->peak - w->largest) / 4 >= (w->bytes - w->largest) / 10 &&
        w->peak > p->kept.peak)
        p->kept = *w;
    p->window = (struct mt_window){w->alive, w->alive_blocks, w->alive_blocks, w->alive,
                                   w->alive, w->alive,        w->alive_blocks, p->i,
                                   0};
}

static void in_window(struct mt_pass *p, const struct mt_change *c)
{
    struct mt_window *w = &p->window;
    if (!c->is_alloc) {
        w->alive -= c->size < w->alive ? c->size : w->alive;
        w->alive_blocks -= w->alive_blocks != 0;
        if (w->alive <= w->largest)
            mt_window_end(p);
        return;
    }
    w->groups += !p->in_group;
    p->in_group = true;
    w->alive += c->size;
    w->alive_blocks++;
    w->blocks++;
    w->bytes += c->size;
    w->largest = c->size > w->largest ? c->size : w->largest;
    if (w->alive > w->peak) {
        w->peak = w->alive;
        w->peak_blocks = w->alive_blocks;
        w->peak_event = p->i;
    }
    if (w->peak > p->gathers_peak) {
        p->gathers_peak = w->peak;
        p->gathers_peak_blocks = w->peak_blocks;
        p->gathers_event = w->peak_event;
    }
    p->gathers_largest = w->largest > p->gathers_largest ? w->largest : p->gathers_largest;
}

int mt_pass_gather(struct mt_pass *p, const struct mt_change *c)
{
    struct mt_site *s;
    bool ok;
    if (c->born == UINT64_MAX) /* before the trace: nothing to compare with */
        return 1;
    if (c->is_alloc)
        mt_pass_unit(p, c->size);
    in_window(p, c);
    s = mt_site_of(&p->gathers, mt_change_stack(p, c), &ok);
    if (s == NULL)
        return ok;
    if (!c->is_alloc) {
        s->alive_bytes -= c->size < s->alive_bytes ? c->size : s->alive_bytes;
        return 1;
    }
    s->blocks++;
    s->bytes += c->size;
    s->largest = c->size > s->largest ? c->size : s->largest;
    s->alive_bytes += c->size;
    s->alive_peak = s->alive_bytes > s->alive_peak ? s->alive_bytes : s->alive_peak;
    return 1;
}

int mt_audit_gathers(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const headings[] = {"Gathered by", "Blocks",         "Bytes",
                                           "Largest",     "Alive together", NULL};
    struct mt_audit *a;
    uint64_t n = 0, waits = p->f->pending_at_focus[MT_ROLE_UNSHARDED];
    char label[512];
    if (p->gathers.v.n == 0)
        return 1;
    a = mt_audit_new(out, "fsdp_gathers", "FSDP gathers", headings);
    if (a == NULL)
        return 0;
    mt_sites_sort(&p->gathers);
    for (uint32_t i = 0; i < p->gathers.v.n; i++) {
        const struct mt_site *s = &p->gathers.v.p[i];
        n += s->blocks;
        if (!mt_audit_add(a, "tcbbb", mt_stack_label(p->r->t, s->stack, label, sizeof label),
                          s->blocks, s->bytes, s->largest, s->alive_peak))
            return 0;
    }
    a->rows_left_out += p->gathers.left_out;
    a->finding = p->kept.peak != 0;
    out->kept_gathers = p->kept.peak;
    a->bytes = a->finding ? p->kept.peak : p->gathers_peak;
    a->event = mt_link_event((int64_t)(a->finding ? p->kept.peak_event : p->gathers_event));
    if (a->finding && waits > p->kept.peak / 2)
        return mt_audit_say(a,
                            "Gathered parameters stay though the program lets go of them: of %llu "
                            "gathers in a row (%s), %llu were "
                            "alive together with %s, %s of it freed and waiting for another stream "
                            "at the moment that matters.",
                            (unsigned long long)p->kept.blocks, MT_BYTES(p->kept.bytes),
                            (unsigned long long)p->kept.peak_blocks, MT_BYTES(p->kept.peak),
                            MT_BYTES(waits));
    if (a->finding)
        return mt_audit_say(
            a,
            "Gathered parameters stay: of %llu gathers in a row (%s), %llu were alive together "
            "with %s; with "
            "resharding after the forward only a layer or two would be (or their frees come late).",
            (unsigned long long)p->kept.blocks, MT_BYTES(p->kept.bytes),
            (unsigned long long)p->kept.peak_blocks, MT_BYTES(p->kept.peak));
    return mt_audit_say(a,
                        "%llu gather%s of unsharded parameters go with their layer: at most %llu "
                        "alive together (%s), the largest "
                        "has %s.",
                        (unsigned long long)n, n == 1 ? "" : "s",
                        (unsigned long long)p->gathers_peak_blocks, MT_BYTES(p->gathers_peak),
                        MT_BYTES(p->gathers_largest));
}

/* The completion that most often follows at once is not looked up. */
int mt_pass_asked(struct mt_pass *p, const struct mt_event *e)
{
    const struct mt_event *next =
        p->i + 1 < p->r->d->events.n ? mt_event_at(p->r->d, p->i + 1) : NULL;
    uint32_t unused;
    bool had;
    p->pending += e->size;
    p->at_once = next != NULL && next->action == MT_ACT_FREE_COMPLETED && next->addr == e->addr;
    if (p->at_once) {
        if (p->asked.n != 0)
            (void)mt_addrmap_take(&p->asked, e->addr, &unused); /* asked for twice */
        return 1;
    }
    return mt_addrmap_put(&p->asked, e->addr,
                          (uint32_t)(p->i < UINT32_MAX - 1 ? p->i : UINT32_MAX - 1), &had, &unused);
}

int mt_pass_waited(struct mt_pass *p, const struct mt_change *c, const struct mt_event *e)
{
    struct mt_site *s;
    uint64_t ns, asked_ns, done_ns, waited;
    uint32_t at;
    bool ok;
    if (!mt_addrmap_take(&p->asked, e->addr, &at))
        return 1;
    waited = p->pending;
    p->pending -= c->size < p->pending ? c->size : p->pending;
    if (at + UINT64_C(1) >= p->i || at >= p->r->d->events.n)
        return 1;
    if (waited > p->delayed_peak) { /* nothing was allocated while it waited */
        p->delayed_peak = waited;
        p->delayed_event = at;
    }
    asked_ns = mt_event_ns(p->r->d, at);
    done_ns = mt_event_ns(p->r->d, p->i);
    ns = asked_ns != 0 && done_ns > asked_ns ? done_ns - asked_ns : asked_ns != 0 ? 0 : p->i - at;
    s = mt_site_of(&p->delayed, mt_change_stack(p, c), &ok);
    if (s == NULL)
        return ok;
    s->blocks++;
    s->bytes += c->size;
    s->largest = c->size > s->largest ? c->size : s->largest;
    s->longest = ns > s->longest ? ns : s->longest;
    s->byte_time += (double)c->size * (double)ns;
    return 1;
}

int mt_audit_delayed(struct mt_audits *out, struct mt_pass *p)
{
    static const char *const by_time[] = {"Allocated by", "Frees",        "Bytes", "Largest",
                                          "Longest wait", "Bytes x time", NULL};
    static const char *const by_event[] = {
        "Allocated by",         "Frees",          "Bytes", "Largest",
        "Longest wait, events", "Bytes x events", NULL};
    bool clock = p->d->first_ns != 0;
    uint64_t n = 0, bytes = 0;
    struct mt_audit *a;
    char label[512], wait[48], weight[64];
    for (uint32_t i = 0; i < p->delayed.v.n; i++)
        bytes += p->delayed.v.p[i].bytes;
    if (bytes < MIB && p->d->focus.pending < MIB) /* scalars and messages of a few bytes */
        return 1;
    a = mt_audit_new(out, "record_stream", "Frees that wait for a stream",
                     clock ? by_time : by_event);
    if (a == NULL)
        return 0;
    mt_sites_sort(&p->delayed);
    for (uint32_t i = 0; i < p->delayed.v.n; i++) {
        const struct mt_site *s = &p->delayed.v.p[i];
        uint64_t product = s->byte_time < 1e30
                               ? (uint64_t)(s->byte_time / (clock ? 1e9 : 1.0) < 1e18
                                                ? s->byte_time / (clock ? 1e9 : 1.0)
                                                : 1e18)
                               : 0;
        if (clock)
            (void)snprintf(wait, sizeof wait, "%llu.%03llu ms",
                           (unsigned long long)(s->longest / 1000000),
                           (unsigned long long)(s->longest / 1000 % 1000));
        else
            (void)snprintf(wait, sizeof wait, "%llu", (unsigned long long)s->longest);
        (void)snprintf(weight, sizeof weight, "%s%s", MT_BYTES(product), clock ? " s" : "");
        n += s->blocks;
        if (!mt_audit_add(a, "tcbbtt", mt_stack_label(p->r->t, s->stack, label, sizeof label),
                          s->blocks, s->bytes, s->largest, wait, weight))
            return 0;
    }
    a->rows_left_out += p->delayed.left_out;
    a->bytes = p->delayed_peak;
    a->event = p->delayed_peak != 0 ? (int64_t)p->delayed_event : MT_NO_LINK;
    a->finding = p->d->focus.pending != 0 && p->d->focus.pending >= p->d->focus.live / 10;
    return mt_audit_say(a,
                        "%llu free%s of %s in all completed later than asked for (record_stream, "
                        "or another stream still at "
                        "work); up to %s waited at once, %s of it at the moment that matters.",
                        (unsigned long long)n, n == 1 ? "" : "s", MT_BYTES(bytes),
                        MT_BYTES(p->delayed_peak), MT_BYTES(p->d->focus.pending));
}
