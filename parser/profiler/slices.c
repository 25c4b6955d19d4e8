/* profiler/slices.c -- which operators and Python functions were open on a thread when it
 * allocated.
 *
 * The logs of a thread hold its operators and its Python functions in the order of the file, as
 * differences. At the end both are walked once beside the thread's memory events, with the open
 * slices on a stack. PyTorch writes each kind in the order of its begins; where a file does not,
 * that log alone is unpacked and sorted. */
#include "parser/base/secret.h"
#include "parser/profiler/impl.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_THREADS = 4096, THREAD_SLOTS = 2 * MAX_THREADS };

/* ---- logs ---- */

uint32_t mt_pf_other_thread(struct mt_pf *f, uint64_t key)
{
    struct mt_pf_thread *t;
    uint32_t at;
    if (f->thread_slot == NULL &&
        (f->thread_slot = mt_calloc(THREAD_SLOTS, sizeof *f->thread_slot)) == NULL) {
        mt_pf_nomem(f);
        return MT_PF_NO_THREAD;
    }
    for (at = mt_hash_one(key) & (THREAD_SLOTS - 1); f->thread_slot[at] != 0;
         at = (at + 1) & (THREAD_SLOTS - 1))
        if (f->threads.p[f->thread_slot[at] - 1].key == key)
            return f->last_thread = f->thread_slot[at] - 1;
    if (f->threads.n == MAX_THREADS) {
        f->n_lost_threads++;
        return MT_PF_NO_THREAD;
    }
    if ((t = MT_VEC_PUSH(&f->threads)) == NULL) {
        mt_pf_nomem(f);
        return MT_PF_NO_THREAD;
    }
    t->key = key;
    f->thread_slot[at] = f->threads.n;
    return f->last_thread = f->threads.n - 1;
}

/* ---- the walk ---- */

struct slice {
    int64_t ts, end;
    uint32_t label;
};

#define NEVER INT64_MAX /* after every time of an event */

/* Of one lane. */
struct track {
    int64_t ts;
    struct slice *all; /* of a log that is not in order */
    uint64_t n_all, at;
    struct slice next; /* its ts: NEVER = there is none */
};

/* Of one thread. */
struct state {
    struct track track[MT_PF_KINDS];
    bool begun;
    MT_VEC(struct slice) open;
    bool changed; /* since `stack` was made */
    mt_stack_id stack;
};

struct mt_pf_walk {
    struct mt_pf *f;
    struct state *of; /* by thread */
    uint32_t n;
    MT_VEC(mt_frame_id) frames;
};

static bool read_slice(struct mt_pf_log *l, struct track *w, struct slice *s)
{
    const uint8_t *p;
    uint64_t later, dur, label;
    if (w->all != NULL) {
        if (w->at == w->n_all)
            return false;
        *s = w->all[w->at++];
        return true;
    }
    if ((p = mt_pf_log_next(l)) == NULL)
        return false;
    p = mt_pf_get_slice(p, &later, &dur, &label);
    mt_pf_log_read(l, p);
    w->ts = (int64_t)((uint64_t)w->ts + later);
    *s = (struct slice){w->ts, w->ts + (int64_t)dur, (uint32_t)label};
    return true;
}

static int by_begin(const void *pa, const void *pb)
{
    const struct slice *a = pa, *b = pb;
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->end != b->end)
        return a->end > b->end ? -1 : 1; /* the outer one first */
    return a->label < b->label ? -1 : a->label > b->label;
}

static inline void advance(struct mt_pf_log *l, struct track *w)
{
    if (!read_slice(l, w, &w->next))
        w->next.ts = NEVER;
}

static int begin_lane(struct mt_pf *f, struct mt_pf_lane *t, struct track *w)
{
    if (t->unsorted) {
        uint64_t n = 0;
        struct slice *all = mt_malloc_big(t->log.n * sizeof *all);
        if (all == NULL)
            return mt_pf_nomem(f);
        while (read_slice(&t->log, w, &all[n]))
            n++;
        qsort(all, n, sizeof *all, by_begin);
        w->all = all;
        w->n_all = n;
    }
    advance(&t->log, w);
    return 1;
}

static int begin(struct mt_pf *f, struct mt_pf_thread *t, struct state *w)
{
    w->begun = w->changed = true;
    for (int i = 0; i < MT_PF_KINDS; i++)
        if (!begin_lane(f, &t->lane[i], &w->track[i]))
            return 0;
    return 1;
}

/* The next slice of the thread that begins until ts. A function that begins and ends with an
 * operator is around it. */
static inline bool next_slice(struct mt_pf_thread *t, struct state *w, int64_t ts, struct slice *s)
{
    const struct slice *python = &w->track[MT_PF_PYTHON].next;
    const struct slice *op = &w->track[MT_PF_OPERATOR].next;
    int first = op->ts < python->ts || (op->ts == python->ts && op->end > python->end)
                    ? MT_PF_OPERATOR
                    : MT_PF_PYTHON;
    if (w->track[first].next.ts > ts)
        return false;
    *s = w->track[first].next;
    advance(&t->lane[first].log, &w->track[first]);
    return true;
}

/* Opens a slice. Of two that begin in one tick of the clock the longer one is the outer one. */
static int open_slice(struct mt_pf *f, struct state *w, struct slice s)
{
    uint32_t i;
    while (w->open.n != 0 && w->open.p[w->open.n - 1].end <= s.ts)
        w->open.n--;
    w->changed = true;
    if (w->open.n >= f->lim->max_frames)
        return 1;
    if (w->open.n == w->open.cap &&
        !mt_vec_grow((void **)&w->open.p, &w->open.cap, w->open.n + 1, sizeof *w->open.p))
        return mt_pf_nomem(f);
    w->open.n++;
    for (i = w->open.n - 1; i > 0 && w->open.p[i - 1].ts == s.ts && w->open.p[i - 1].end < s.end;
         i--)
        w->open.p[i] = w->open.p[i - 1];
    w->open.p[i] = s;
    return 1;
}

/* Room for n frames; 0 = out of memory. */
static int room(struct mt_pf_walk *w, uint32_t n)
{
    return n <= w->frames.cap ||
           mt_vec_grow((void **)&w->frames.p, &w->frames.cap, n, sizeof *w->frames.p) ||
           mt_pf_nomem(w->f);
}

/* The frames at time ts, innermost first. */
static int make_stack(struct mt_pf_walk *w, struct state *o, int64_t ts)
{
    const struct mt_pf_label *outer = NULL;
    bool has_python = false;
    uint32_t n = 0, most = w->f->lim->max_frames;
    o->changed = false;
    if (!room(w, o->open.n))
        return 0;
    for (uint32_t i = o->open.n; i-- > 0;) {
        const struct mt_pf_label *l = &w->f->labels.p[o->open.p[i].label];
        if (o->open.p[i].end < ts) { /* overlaps with one that is still open */
            o->changed = true;
            continue;
        }
        has_python = has_python || l->is_python;
        if (outer == NULL && l->n_outer != 0)
            outer = l;
        w->frames.p[n] = l->frame;
        n += l->frame != 0;
    }
    if (!has_python && outer != NULL) {
        if (!room(w, n + outer->n_outer))
            return 0;
        for (uint32_t i = 0; i < outer->n_outer && n < most; i++) {
            w->frames.p[n] = w->f->outer.p[outer->first_outer + i];
            n += w->frames.p[n] != 0;
        }
    }
    return mt_build_stack(w->f->b, w->frames.p, n, &o->stack) || mt_pf_refused(w->f);
}

int mt_pf_stack_at(struct mt_pf_walk *w, uint32_t thread, int64_t ts, mt_stack_id *stack)
{
    struct mt_pf_thread *t;
    struct state *o;
    struct slice next;
    *stack = 0;
    if (thread >= w->n)
        return 1;
    t = &w->f->threads.p[thread];
    o = &w->of[thread];
    if (!o->begun && !begin(w->f, t, o))
        return 0;
    while (next_slice(t, o, ts, &next))
        if (!open_slice(w->f, o, next))
            return 0;
    while (o->open.n != 0 && o->open.p[o->open.n - 1].end < ts) {
        o->open.n--;
        o->changed = true;
    }
    if (o->changed && !make_stack(w, o, ts))
        return 0;
    *stack = o->stack;
    return 1;
}

struct mt_pf_walk *mt_pf_walk_new(struct mt_pf *f)
{
    struct mt_pf_walk *w = mt_calloc(1, sizeof *w);
    if (w == NULL || (w->of = mt_calloc((size_t)f->threads.n + 1, sizeof *w->of)) == NULL) {
        mt_free(w);
        mt_pf_nomem(f);
        return NULL;
    }
    w->f = f;
    w->n = f->threads.n;
    return w;
}

void mt_pf_walk_free(struct mt_pf_walk *w)
{
    for (uint32_t i = 0; w != NULL && i < w->n; i++) {
        for (int k = 0; k < MT_PF_KINDS; k++)
            mt_free(w->of[i].track[k].all);
        MT_VEC_DONE(&w->of[i].open);
    }
    if (w != NULL) {
        mt_free(w->of);
        MT_VEC_DONE(&w->frames);
    }
    mt_free(w);
}

void mt_pf_slices_done(struct mt_pf *f)
{
    for (uint32_t i = 0; i < f->threads.n; i++)
        for (int k = 0; k < MT_PF_KINDS; k++)
            mt_pf_log_done(&f->threads.p[i].lane[k].log);
    MT_VEC_DONE(&f->threads);
    mt_free(f->thread_slot);
}
