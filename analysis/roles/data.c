/* Data of the job's own: what its own code put on the card outside of any call of a model, and
 * later passes found there: a data set, an index, a replay buffer, tables. No frame says what such
 * a block is, and nothing that a model is made of has its size. What a line leaves behind again and
 * again is none: results, or a leak. A copy to the card and a computation look the same; both are
 * the job's to hold or to let go. */
#include "analysis/roles/impl.h"
#include "analysis/base/calls.h"

#include <stdlib.h>

struct look {
    const struct mt_rwork *k;
    MT_VEC(uint32_t) born; /* events that make data, in their order */
    struct mt_file_kinds files;
    mt_frame_id *line, *near; /* by stack */
    uint64_t *model;          /* sizes of weights, gradients and states, sorted */
    uint32_t n_model;
    uint32_t *least, *most;   /* by stack: in front of which pass its blocks were made */
    int64_t focus, last_pass; /* first event of the last pass that was whole by the focus; -1 */
    uint32_t first_pass;      /* event */
};

static int by_size(const void *pa, const void *pb)
{
    const uint64_t *a = pa, *b = pb;
    return *a < *b ? -1 : *a > *b;
}

static bool is_of_model(unsigned role)
{
    return role == MT_ROLE_PARAM || role == MT_ROLE_GRAD || role == MT_ROLE_OPTIM_STATE;
}

static int find_sizes(struct look *l)
{
    const struct mt_rwork *k = l->k;
    uint32_t n = 0;
    for (uint32_t i = 0; i < mt_n_events(k); i++)
        n += is_of_model(k->w->fate[i].role);
    for (uint32_t i = 0; i < k->r->old.n; i++)
        n += is_of_model(k->w->old_role[i]);
    if ((l->model = mt_calloc((size_t)n + 1, sizeof *l->model)) == NULL)
        return 0;
    for (uint32_t i = 0; i < mt_n_events(k); i++)
        if (is_of_model(k->w->fate[i].role) && mt_event_at(k->r->d, i)->action == MT_ACT_ALLOC)
            l->model[l->n_model++] = mt_event_at(k->r->d, i)->size;
    for (uint32_t i = 0; i < k->r->old.n; i++)
        if (is_of_model(k->w->old_role[i]))
            l->model[l->n_model++] = k->r->old.p[i].size;
    qsort(l->model, l->n_model, sizeof *l->model, by_size);
    return 1;
}

static void find_passes(struct look *l)
{
    const struct mt_role_facts *f = l->k->out;
    l->first_pass = f->micros.n != 0 ? (uint32_t)f->micros.p[0].first : 0;
    l->last_pass = -1;
    for (uint32_t i = 0; i < f->micros.n && (int64_t)f->micros.p[i].last < l->focus; i++)
        l->last_pass = (int64_t)f->micros.p[i].first;
}

/* By its life and its phase alone: a whole pass came after its birth, or all of them. Few blocks
 * are, and of most recordings none: nothing else is asked then. */
static bool may_be_data(const struct mt_rwork *k, uint32_t i)
{
    const struct mt_attr a = k->r->attr[i];
    return k->w->fate[i].role == MT_ROLE_UNKNOWN && mt_event_at(k->r->d, i)->stack != 0 &&
           a.sub == MT_PH_NONE && !mt_phase_is(a.phase, MT_OF_ENGINE | MT_SWITCHES | MT_INTERRUPTS);
}

static int find_born(struct look *l)
{
    int64_t end = l->last_pass > (int64_t)l->first_pass ? l->last_pass : l->first_pass;
    end = end < l->focus + 1 ? end : l->focus + 1;
    for (uint32_t i = 0; i < l->k->w->there.n && (int64_t)l->k->w->there.p[i] < end; i++) {
        uint32_t *at;
        if (!may_be_data(l->k, l->k->w->there.p[i]))
            continue;
        if ((at = MT_VEC_PUSH(&l->born)) == NULL)
            return 0;
        *at = l->k->w->there.p[i];
    }
    return 1;
}

/* By the line that made it, and by its size. */
static bool is_data(struct look *l, uint32_t i)
{
    const struct mt_trace *t = l->k->r->t;
    const struct mt_event *e = mt_event_at(l->k->r->d, i);
    mt_frame_id frame = 0;
    return l->line[e->stack] == 0 &&
           bsearch(&e->size, l->model, l->n_model, sizeof *l->model, by_size) == NULL &&
           mt_stack_site(t, &l->files, e->stack, &frame) == MT_SITE_PYTHON &&
           (mt_file_kind(&l->files, t, t->frames.p[frame].file) & MT_FILE_INTERNAL) == 0;
}

/* Where the line comes back between other passes, what it leaves may be results, or a leak; or a
 * bank that was filled pass by pass and is read since: passes ran after it without any more of it.
 */
static void note_place(struct look *l, uint32_t i)
{
    mt_stack_id stack = mt_event_at(l->k->r->d, i)->stack;
    uint32_t place = mt_micro_at(l->k->out, i) + 2; /* 1 = before the first */
    if (l->least[stack] == 0 || place < l->least[stack])
        l->least[stack] = place;
    if (place > l->most[stack])
        l->most[stack] = place;
}

/* Passes, the one at hand among them; chosen by hand: results may wait for one or two. */
enum { READ_SINCE = 3 };

static bool is_filled(const struct look *l, mt_stack_id stack, uint32_t last)
{
    return l->least[stack] == l->most[stack] || l->most[stack] + READ_SINCE <= last;
}

static void label(struct look *l)
{
    uint32_t last = l->last_pass >= 0 ? mt_micro_at(l->k->out, (uint64_t)l->last_pass) + 2 : 0;
    uint32_t n = 0, events = mt_n_events(l->k);
    for (uint32_t i = 0; i < l->born.n; i++)
        if (is_data(l, l->born.p[i]))
            note_place(l, l->born.p[n++] = l->born.p[i]);
    for (uint32_t i = 0; i < n; i++) {
        struct mt_fate *f = &l->k->w->fate[l->born.p[i]];
        mt_stack_id stack = mt_event_at(l->k->r->d, l->born.p[i])->stack;
        if (!is_filled(l, stack, last))
            continue;
        f->role = MT_ROLE_DATA;
        f->why = MT_WHY_LIFE;
        if (f->freed < events)
            l->k->w->fate[f->freed].role = MT_ROLE_DATA;
    }
}

/* 0 = out of memory. */
static int look_at(struct look *l)
{
    const struct mt_trace *t = l->k->r->t;
    size_t n = (size_t)t->stacks.n + 1;
    l->line = mt_calloc(n, sizeof *l->line);
    l->near = mt_calloc(n, sizeof *l->near);
    l->least = mt_calloc(n, sizeof *l->least);
    l->most = mt_calloc(n, sizeof *l->most);
    if (l->line == NULL || l->near == NULL || l->least == NULL || l->most == NULL ||
        !find_sizes(l) || !mt_file_kinds_init(&l->files, t))
        return 0;
    mt_stack_calls(t, &l->files, l->line, l->near);
    label(l);
    mt_file_kinds_done(&l->files);
    return 1;
}

int mt_data_find(struct mt_rwork *k, int64_t focus)
{
    struct look l = {.k = k, .focus = focus};
    int ok;
    if (k->out->micros.n == 0)
        return 1;
    find_passes(&l);
    ok = find_born(&l) && (l.born.n == 0 || look_at(&l));
    mt_free(l.line);
    mt_free(l.near);
    mt_free(l.least);
    mt_free(l.most);
    mt_free(l.model);
    MT_VEC_DONE(&l.born);
    return ok;
}
