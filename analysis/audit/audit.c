/* The pass that feeds all audits. */
#include "analysis/audit/impl.h"

#include <string.h>

static void subtract(uint64_t *from, uint64_t bytes) { *from = *from > bytes ? *from - bytes : 0; }

/* Adds the roles of what was live before the first event: blocks that the trace frees, and ghosts,
 * which are never freed. */
static void begin_pass(struct mt_pass *p)
{
    for (uint32_t i = 0; i < p->r->old.n; i++) {
        uint8_t role = p->w->old_role != NULL ? p->w->old_role[i] : MT_ROLE_BEFORE;
        p->role[role] += p->r->old.p[i].size;
        p->live += p->r->old.p[i].size;
    }
}

static struct mt_change freed_block(struct mt_pass *p, const struct mt_event *e)
{
    struct mt_change c = {false, e->size, UINT64_MAX, MT_ROLE_BEFORE};
    uint32_t born = p->w->fate[p->i].freed;
    if (born != MT_NEVER && born < p->i) {
        c.born = born;
        c.role = p->w->fate[p->i].role;   /* the role of its allocation */
    } else if (p->old_at < p->r->old.n) { /* r->old is in the order of the frees that have no
                                             allocation in the trace */
        c.role = p->w->old_role != NULL ? p->w->old_role[p->old_at] : MT_ROLE_BEFORE;
        p->old_at++;
    }
    return c;
}

static int apply_change(struct mt_pass *p, const struct mt_event *e)
{
    struct mt_change c;
    if (e->action == MT_ACT_ALLOC) {
        c = (struct mt_change){true, e->size, p->i, p->w->fate[p->i].role};
    } else {
        c = freed_block(p, e);
    }
    if (mt_may_move(p, e) &&
        !mt_pass_move(p, &c, e)) /* before the change: it needs the bytes of the moment before */
        return 0;
    if (c.is_alloc) {
        p->role[c.role] += c.size;
        p->live += c.size;
    } else {
        subtract(&p->role[c.role], c.size);
        subtract(&p->live, c.size);
    }
    if (p->role[MT_ROLE_PARAM] > p->param_peak)
        p->param_peak = p->role[MT_ROLE_PARAM];
    if (p->i < p->steps_end)
        mt_pass_step(p, &c);
    if (c.is_alloc)
        p->in_group = p->in_group && c.role == MT_ROLE_UNSHARDED;
    return (!p->in_sync || mt_pass_sync(p, &c)) &&
           (c.role != MT_ROLE_GRAPH_POOL || mt_pass_graph(p, &c, e)) &&
           (c.role != MT_ROLE_UNSHARDED || mt_pass_gather(p, &c)) && mt_pass_delayed(p, &c, e);
}

static inline void enter_occurrence(struct mt_pass *p)
{
    while (p->occ + 1 < p->f->occurrences.n && p->f->occurrences.p[p->occ + 1].first <= p->i)
        p->occ++;
    p->occ_end =
        p->occ + 1 < p->f->occurrences.n ? p->f->occurrences.p[p->occ + 1].first : UINT64_MAX;
    p->in_sync =
        p->occ < p->f->occurrences.n && p->f->occurrences.p[p->occ].phase == MT_PH_WEIGHT_SYNC;
}

static int walk_events(struct mt_pass *p)
{
    begin_pass(p);
    p->stack_move = mt_calloc((size_t)p->r->t->stacks.n + 1, 1);
    if (p->stack_move == NULL)
        return 0;
    if (p->f->steps.n != 0)
        p->steps_end = p->f->steps.p[p->f->steps.n > 1].last + 1;
    for (uint64_t i = 0, n = p->r->d->events.n; i < n; i++) {
        const struct mt_event *e = mt_event_at(p->r->d, i);
        p->i = i;
        if (i >= p->occ_end)
            enter_occurrence(p);
        if (e->action == MT_ACT_ALLOC || e->action == MT_ACT_FREE_COMPLETED) {
            if (!apply_change(p, e))
                return 0;
        } else if (e->action == MT_ACT_FREE_REQUESTED && !mt_pass_asked(p, e)) {
            return 0;
        }
    }
    p->i = p->r->d->events.n;
    mt_window_end(p);
    if (p->moving)
        memcpy(p->moves.p[p->moves.n - 1].after, p->role, sizeof p->role);
    return 1;
}

enum mt_rc mt_audits_make(struct mt_audits *out, const struct mt_roles *w,
                          const struct mt_role_facts *f, const struct mt_device_analysis *d,
                          struct mt_phaser *ph)
{
    struct mt_pass p = {.w = w, .f = f, .d = d, .ph = ph, .r = w->r};
    int ok = 1;
    memset(out, 0, sizeof *out);
    if (d->kind == MT_DEV_CPU) /* they are about what is on a card */
        return MT_OK;
    if (d->withheld == NULL && w->fate != NULL && f->made)
        ok = walk_events(&p) && mt_audit_sleep(out, &p) && mt_audit_sync(out, &p) &&
             mt_audit_graphs(out, &p);
    ok = ok && mt_audit_expandable(out, &p);
    if (d->withheld == NULL && w->fate != NULL && f->made)
        ok = ok && mt_audit_first_step(out, &p) && mt_audit_gathers(out, &p) &&
             mt_audit_unit(out, &p) && mt_audit_delayed(out, &p);
    MT_VEC_DONE(&p.moves);
    MT_VEC_DONE(&p.syncs);
    MT_VEC_DONE(&p.graphs);
    MT_VEC_DONE(&p.gathers.v);
    MT_VEC_DONE(&p.delayed.v);
    mt_addrmap_done(&p.gathers.at);
    mt_addrmap_done(&p.delayed.at);
    mt_addrmap_done(&p.asked);
    mt_addrmap_done(&p.graph_of);
    mt_free(p.stack_move);
    if (ok)
        return MT_OK;
    mt_audits_done(out);
    return MT_ENOMEM;
}

void mt_audits_done(struct mt_audits *a)
{
    for (uint32_t i = 0; i < a->v.n; i++) {
        struct mt_audit *v = &a->v.p[i];
        for (uint32_t k = 0; k < v->rows.n; k++)
            for (uint32_t c = 0; c < MT_AUDIT_COLUMNS; c++)
                mt_free(v->rows.p[k].cell[c].text);
        MT_VEC_DONE(&v->rows);
        mt_free(v->sentence);
    }
    MT_VEC_DONE(&a->v);
}
