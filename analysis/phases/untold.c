/* A pass that may train or not. It stands behind training, and its phase would be carried on; but
 * no backward pass ever followed a call of its line, while others did so again and again, and
 * memory runs out before it shows whether it keeps what a backward would want. An evaluation begins
 * so, and so does another kind of training. Where it has kept several blocks, let_go.c or the roles
 * tell. */
#include "analysis/phases/impl.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/calls.h"
#include "parser/base/mem.h"

/* Chosen by hand: passes that were trained before it, and blocks that no longer are one layer's. */
enum { MIN_TRAINED = 3, MIN_KEPT = 4 };

struct look {
    const struct mt_trace *t;
    const struct mt_device *d;
    const struct mt_attr *attr;
    mt_frame_id *line;      /* by stack: that calls its model */
    uint64_t last_backward; /* event */
    uint64_t failed;        /* the first failure behind it; UINT64_MAX = none */
    uint32_t trained;       /* backward passes */
};

static void find_end(struct look *l)
{
    bool backward = false;
    l->failed = UINT64_MAX;
    for (uint64_t i = 0; i < l->d->events.n && l->failed == UINT64_MAX; i++) {
        const struct mt_event *e = mt_event_at(l->d, i);
        bool now = mt_phase_is(l->attr[i].sub, MT_IN_BACKWARD);
        if (e->action == MT_ACT_OOM)
            l->failed = i;
        if (e->action != MT_ACT_ALLOC)
            continue;
        l->trained += now && !backward;
        l->last_backward = now ? i : l->last_backward;
        backward = now;
    }
}

/* The first event of the pass, of which no line was come to before the last backward pass; none
 * where another call is part of it, or where it has kept several blocks. */
static uint64_t find_pass(const struct look *l, mt_frame_id line, bool *ok)
{
    struct mt_addrmap live = {NULL, 0, 0};
    uint64_t first = UINT64_MAX;
    uint32_t n = 0, old;
    bool had, fits = true;
    for (uint64_t i = 0; *ok && fits && i < l->failed; i++) {
        const struct mt_event *e = mt_event_at(l->d, i);
        mt_frame_id at = e->action == MT_ACT_ALLOC ? l->line[e->stack] : 0;
        if (e->action == MT_ACT_FREE_COMPLETED && mt_addrmap_take(&live, e->addr, &old))
            n--;
        if (at == 0)
            continue;
        fits = i > l->last_backward ? at == line : at != line;
        if (i <= l->last_backward)
            continue;
        first = first == UINT64_MAX ? i : first;
        *ok = mt_addrmap_put(&live, e->addr, 0, &had, &old);
        n++;
    }
    mt_addrmap_done(&live);
    return fits && n < MIN_KEPT ? (first != UINT64_MAX ? first : l->failed) : UINT64_MAX;
}

bool mt_phase_untold(struct mt_attr a) { return mt_attr_rule(a) == MT_METHOD_UNTOLD; }

int mt_untold_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    struct look l = {.t = t, .d = d, .attr = out};
    struct mt_file_kinds files;
    uint64_t first = UINT64_MAX;
    size_t n = (size_t)t->stacks.n + 1;
    mt_frame_id *near, line = 0;
    bool ok = true;
    if (d->n_by_action[MT_ACT_OOM] == 0)
        return 1;
    find_end(&l);
    if (l.failed == UINT64_MAX || l.trained < MIN_TRAINED ||
        !mt_phase_is(out[l.failed].phase, MT_TRAINS) || out[l.failed].sub != MT_PH_FORWARD ||
        mt_attr_conf(out[l.failed]) > MT_CONF_CARRIED)
        return 1;
    l.line = mt_calloc(n, sizeof *l.line);
    near = mt_calloc(n, sizeof *near);
    ok = l.line != NULL && near != NULL && mt_file_kinds_init(&files, t);
    if (ok) {
        mt_stack_calls(t, &files, l.line, near);
        mt_file_kinds_done(&files);
        line = l.line[mt_event_at(d, l.failed)->stack];
        first = line != 0 ? find_pass(&l, line, &ok) : UINT64_MAX;
    }
    for (uint64_t i = first; ok && i < d->events.n; i++)
        if (mt_phase_is(out[i].phase, MT_TRAINS) && mt_attr_conf(out[i]) <= MT_CONF_CARRIED) {
            out[i].phase = MT_PH_UNATTRIBUTED;
            out[i].rule_conf = MT_METHOD_UNTOLD << 4 | MT_CONF_CARRIED;
        }
    mt_free(l.line);
    mt_free(near);
    return ok;
}
