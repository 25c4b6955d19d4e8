/* The pass that feeds all audits, and the tables they fill. */
#include "analysis/audit/impl.h"
#include "analysis/base/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint32_t mt_step_of(const struct mt_role_facts *f, uint64_t event)
{
    uint32_t lo = 0, hi = f->steps.n;
    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;
        if (f->steps.p[mid].last < event)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->steps.n && f->steps.p[lo].first <= event ? lo : UINT32_MAX;
}

char *mt_step_words(char buf[32], uint32_t step)
{
    if (step == UINT32_MAX)
        (void)snprintf(buf, 32, "-");
    else
        (void)snprintf(buf, 32, "step %u", step + 1);
    return buf;
}

struct mt_site *mt_site_of(struct mt_sites *s, mt_stack_id stack, bool *ok)
{
    struct mt_site *site;
    uint32_t at, unused;
    bool had;
    *ok = true;
    if (mt_addrmap_get(&s->at, (uint64_t)stack << 9, &at))
        return &s->v.p[at];
    if (s->v.n >= MT_AUDIT_MAX) {
        s->left_out++;
        return NULL;
    }
    site = MT_VEC_PUSH(&s->v);
    *ok = site != NULL && mt_addrmap_put(&s->at, (uint64_t)stack << 9, s->v.n - 1, &had, &unused);
    if (!*ok)
        return NULL;
    site->stack = stack;
    return site;
}

static int by_bytes(const void *pa, const void *pb)
{
    const struct mt_site *a = pa, *b = pb;
    if (a->bytes != b->bytes)
        return a->bytes > b->bytes ? -1 : 1;
    return a->stack < b->stack ? -1 : a->stack > b->stack;
}

void mt_sites_sort(struct mt_sites *s)
{
    mt_addrmap_done(&s->at);
    if (s->v.n > 1)
        qsort(s->v.p, s->v.n, sizeof *s->v.p, by_bytes);
}

struct mt_audit *mt_audit_new(struct mt_audits *out, const char *id, const char *title,
                              const char *const *headings)
{
    struct mt_audit *a = MT_VEC_PUSH(&out->v);
    if (a == NULL)
        return NULL;
    a->id = id;
    a->title = title;
    a->event = MT_NO_LINK;
    while (a->n_columns < MT_AUDIT_COLUMNS && headings[a->n_columns] != NULL) {
        a->column[a->n_columns] = headings[a->n_columns];
        a->n_columns++;
    }
    return a;
}

int mt_audit_add(struct mt_audit *a, const char *cells, ...)
{
    struct mt_audit_row *row;
    va_list ap;
    int ok = 1;
    if (a->rows.n >= MT_AUDIT_ROWS) {
        a->rows_left_out++;
        return 1;
    }
    row = MT_VEC_PUSH(&a->rows);
    if (row == NULL)
        return 0;
    for (uint32_t i = 0; i < MT_AUDIT_COLUMNS; i++)
        row->cell[i].kind = MT_CELL_NONE;
    va_start(ap, cells);
    for (uint32_t i = 0; i < MT_AUDIT_COLUMNS && cells[i] != '\0'; i++) {
        struct mt_cell *c = &row->cell[i];
        if (cells[i] == 't') {
            const char *s = va_arg(ap, const char *);
            c->kind = MT_CELL_TEXT;
            c->text = mt_strndup(s, strlen(s));
            ok = ok && c->text != NULL;
        } else if (cells[i] == 'b' || cells[i] == 'c') {
            c->kind = cells[i] == 'b' ? MT_CELL_BYTES : MT_CELL_COUNT_;
            c->number = va_arg(ap, uint64_t);
        }
    }
    va_end(ap);
    return ok;
}

int mt_audit_say(struct mt_audit *a, const char *fmt, ...)
{
    char text[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    mt_free(a->sentence);
    a->sentence = mt_strndup(text, strlen(text));
    return a->sentence != NULL;
}

static void take(uint64_t *from, uint64_t bytes) { *from = *from > bytes ? *from - bytes : 0; }

/* Roles of what was live before the first event: blocks that are freed in the trace, and ghosts. */
static void begin(struct mt_pass *p)
{
    for (uint32_t i = 0; i < p->r->old.n; i++) {
        uint8_t role = p->w->old_role != NULL ? p->w->old_role[i] : MT_ROLE_BEFORE;
        p->role[role] += p->r->old.p[i].size;
        p->live += p->r->old.p[i].size;
    }
}

static struct mt_change freed(struct mt_pass *p, const struct mt_event *e)
{
    struct mt_change c = {false, e->size, UINT64_MAX, MT_ROLE_BEFORE};
    uint32_t born = p->w->fate[p->i].freed;
    if (born != MT_NEVER && born < p->i) {
        c.born = born;
        c.role = p->w->fate[p->i].role; /* as that of its allocation */
    } else if (p->old_at <
               p->r->old.n) { /* frees without an allocation come in the order of r->old */
        c.role = p->w->old_role != NULL ? p->w->old_role[p->old_at] : MT_ROLE_BEFORE;
        p->old_at++;
    }
    return c;
}

static int change(struct mt_pass *p, const struct mt_event *e)
{
    struct mt_change c;
    if (e->action == MT_ACT_ALLOC) {
        c = (struct mt_change){true, e->size, p->i, p->w->fate[p->i].role};
    } else {
        c = freed(p, e);
    }
    if (mt_may_move(p, e) && !mt_pass_move(p, &c, e)) /* looks at the bytes before */
        return 0;
    if (c.is_alloc) {
        p->role[c.role] += c.size;
        p->live += c.size;
    } else {
        take(&p->role[c.role], c.size);
        take(&p->live, c.size);
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

static inline void enter(struct mt_pass *p)
{
    while (p->occ + 1 < p->f->occurrences.n && p->f->occurrences.p[p->occ + 1].first <= p->i)
        p->occ++;
    p->occ_end =
        p->occ + 1 < p->f->occurrences.n ? p->f->occurrences.p[p->occ + 1].first : UINT64_MAX;
    p->in_sync =
        p->occ < p->f->occurrences.n && p->f->occurrences.p[p->occ].phase == MT_PH_WEIGHT_SYNC;
}

static int walk(struct mt_pass *p)
{
    begin(p);
    p->stack_move = mt_calloc((size_t)p->r->t->stacks.n + 1, 1);
    if (p->stack_move == NULL)
        return 0;
    if (p->f->steps.n != 0)
        p->steps_end = p->f->steps.p[p->f->steps.n > 1].last + 1;
    for (p->i = 0; p->i < p->r->d->events.n; p->i++) {
        const struct mt_event *e = mt_event_at(p->r->d, p->i);
        if (p->i >= p->occ_end)
            enter(p);
        if (e->action == MT_ACT_ALLOC || e->action == MT_ACT_FREE_COMPLETED) {
            if (!change(p, e))
                return 0;
        } else if (e->action == MT_ACT_FREE_REQUESTED && !mt_pass_asked(p, e)) {
            return 0;
        }
    }
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
    if (d->withheld == NULL && w->fate != NULL && f->made)
        ok = walk(&p) && mt_audit_sleep(out, &p) && mt_audit_sync(out, &p) &&
             mt_audit_graphs(out, &p);
    ok = ok && mt_audit_expandable(out, &p);
    if (d->withheld == NULL && w->fate != NULL && f->made)
        ok = ok && mt_audit_first_step(out, &p) && mt_audit_gathers(out, &p) &&
             mt_audit_delayed(out, &p);
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
