/* Models that a job builds on the card while it is recorded: weights made in nested constructors of
 * its own files, before the first pass, and alive throughout. A constructor may also make a replay
 * buffer or a mask: so the model has to be trained, or to have layers. */
#include "analysis/base/frames.h"
#include "analysis/roles/impl.h"
#include "parser/model/intern.h"
#include "parser/base/text.h"

#include <string.h>

struct built {
    struct mt_rwork *k;
    /* by stack: what called the outermost constructor of the job's own files, where two or more
     * are nested; else 0 */
    mt_stack_id *caller;
    uint8_t *often;       /* by stack: blocks of it that stay, up to 2 */
    uint8_t *is_model;    /* bit per caller */
    uint32_t first, last; /* events: of the first pass over a model, of the last */
};

static bool is_own(const struct mt_trace *t, struct mt_file_kinds *kinds, mt_str_id file)
{
    return (mt_file_kind(kinds, t, file) & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) == MT_FILE_PYTHON &&
           !mt_file_is_packaged(mt_str(t, file));
}

/* A caller's stack has a smaller id than the stacks of what it calls. 1, 0 = none is nested, -1 =
 * out of memory. */
static int find_constructors(struct built *b)
{
    const struct mt_trace *t = b->k->r->t;
    mt_str_id name = mt_strpool_find(&t->str, "__init__", 8);
    mt_stack_id *outer; /* the caller of the outermost constructor + 1; 0 = in none */
    struct mt_file_kinds kinds = {0};
    int any = 0;
    if (name == MT_STR_FAIL)
        return 0;
    outer = mt_calloc((size_t)t->stacks.n + 1, sizeof *outer);
    b->caller = mt_calloc((size_t)t->stacks.n + 1, sizeof *b->caller);
    if (outer == NULL || b->caller == NULL || !mt_file_kinds_init(&kinds, t)) {
        mt_free(outer);
        return -1;
    }
    for (uint32_t i = 1; i < t->stacks.n; i++) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[i].frame];
        uint32_t up = t->stacks.p[i].parent < i ? t->stacks.p[i].parent : 0;
        bool is_init = f->name == name && is_own(t, &kinds, f->file);
        outer[i] = outer[up] == 0 && is_init ? up + 1 : outer[up];
        b->caller[i] = b->caller[up] == 0 && is_init && outer[up] != 0 ? outer[up] : b->caller[up];
        any |= b->caller[i] != 0;
    }
    mt_file_kinds_done(&kinds);
    mt_free(outer);
    return any;
}

static bool is_pass(const struct mt_region *g)
{
    return g->group == MT_G_FORWARD || g->group == MT_G_BACKWARD || g->group == MT_G_OPTIMIZER;
}

/* Whether an allocation may be a weight: before the passes, and there after the last of them, or
 * until an optimizer makes it anew. */
static bool may_be_weight(const struct built *b, uint32_t i)
{
    const struct mt_event *e = mt_event_at(b->k->r->d, i);
    uint32_t freed = b->k->w->fate[i].freed, at;
    if (e->action != MT_ACT_ALLOC || b->caller[e->stack] == 0)
        return false;
    if (freed > b->last)
        return true;
    at = mt_region_at(b->k, freed);
    return at != UINT32_MAX && b->k->regions.p[at].group == MT_G_OPTIMIZER;
}

static int collect(struct built *b)
{
    for (uint32_t i = 0; i < b->first; i++) {
        const struct mt_event *e = mt_event_at(b->k->r->d, i);
        struct mt_size_use *u;
        if (!may_be_weight(b, i))
            continue;
        if ((u = mt_size_use(b->k, e->size, true)) == NULL)
            return 0;
        u->built = true;
        if (++b->often[e->stack] >= 2) {
            mt_stack_id caller = b->caller[e->stack];
            b->often[e->stack] = 2;
            b->is_model[caller / 8] |= (uint8_t)(1u << caller % 8);
        }
    }
    return 1;
}

/* Where the trace trains, sizes that neither a backward pass nor an optimizer makes are buffers. */
static bool note_trained(struct built *b)
{
    bool trains = false;
    for (uint32_t g = 0; g < b->k->regions.n; g++) {
        const struct mt_region *r = &b->k->regions.p[g];
        if (r->group != MT_G_BACKWARD && r->group != MT_G_OPTIMIZER)
            continue;
        trains = true;
        for (uint32_t i = r->first; i <= r->last_alloc; i++) {
            const struct mt_event *e = mt_event_at(b->k->r->d, i);
            struct mt_size_use *u =
                e->action == MT_ACT_ALLOC ? mt_size_use(b->k, e->size, false) : NULL;
            if (u != NULL)
                u->trained = true;
        }
    }
    return trains;
}

static void mark(struct built *b, bool trains)
{
    for (uint32_t i = 0; i < b->first; i++) {
        const struct mt_event *e = mt_event_at(b->k->r->d, i);
        const struct mt_size_use *u;
        mt_stack_id caller;
        if (!may_be_weight(b, i))
            continue;
        caller = b->caller[e->stack];
        u = mt_size_use(b->k, e->size, false);
        if (trains ? u != NULL && u->trained : (b->is_model[caller / 8] >> caller % 8 & 1) != 0)
            b->k->w->fate[i].life |= MT_SEEN_BUILT;
    }
}

int mt_built_find(struct mt_rwork *k)
{
    struct built b = {.k = k, .first = mt_n_events(k)};
    int found = find_constructors(&b), ok = found >= 0;
    bool passes = false;
    const struct mt_device_analysis *o = k->r->out;
    b.last = o->ooms.n != 0 ? (uint32_t)o->ooms.p[0].event : b.first - 1;
    for (uint32_t g = k->regions.n; g-- > 0;)
        if (is_pass(&k->regions.p[g])) {
            b.last = passes ? b.last : k->regions.p[g].last_alloc;
            b.first = k->regions.p[g].first;
            passes = true;
        }
    if (found > 0) {
        b.often = mt_calloc((size_t)k->r->t->stacks.n + 1, 1);
        b.is_model = mt_calloc(k->r->t->stacks.n / 8 + 1u, 1);
        ok = b.often != NULL && b.is_model != NULL && collect(&b);
        if (ok)
            mark(&b, note_trained(&b));
    }
    mt_free(b.caller);
    mt_free(b.often);
    mt_free(b.is_model);
    return ok;
}
