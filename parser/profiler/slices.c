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

struct mt_pf_seen {
    struct mt_json_hash key;
    uint32_t label; /* index + 1; 0 = empty */
};

/* ---- labels ---- */

static int frame(struct mt_pf *f, struct mt_pf_text name, struct mt_pf_text file, uint32_t line,
                 mt_frame_id *id)
{
    mt_str_id a, b = 0;
    return (mt_build_str(f->b, name.p, name.n, &a) &&
            (file.n == 0 || mt_build_str(f->b, file.p, file.n, &b)) &&
            mt_build_frame(f->b, a, b, line, id)) ||
           mt_pf_refused(f);
}

static bool is_digit(unsigned char c) { return c - (unsigned)'0' < 10; }

/* "path/file.py(123): function" into its parts. */
static bool python_parts(struct mt_pf_text s, struct mt_pf_text *name, struct mt_pf_text *file,
                         uint32_t *line)
{
    for (size_t i = 2; i + 3 < s.n; i++) {
        size_t k = i;
        uint64_t n = 0, unit = 1;
        if (s.p[i] != ')' || s.p[i + 1] != ':' || s.p[i + 2] != ' ')
            continue;
        for (; k > 0 && is_digit(s.p[k - 1]) && i - k < 9; k--, unit *= 10)
            n += unit * (s.p[k - 1] - (unsigned)'0');
        if (k == i || k < 2 || s.p[k - 1] != '(')
            continue;
        *file = (struct mt_pf_text){s.p, k - 1};
        *name = (struct mt_pf_text){s.p + i + 3, s.n - i - 3};
        *line = (uint32_t)n;
        return true;
    }
    return false;
}

/* "nn.Module: Linear_12" is the twelfth of its class: all are one place in the code. */
static struct mt_pf_text without_number(struct mt_pf_text s)
{
    static const char module[] = "nn.Module: ";
    size_t n = s.n;
    if (n < sizeof module || memcmp(s.p, module, sizeof module - 1) != 0)
        return s;
    while (n > 0 && is_digit(s.p[n - 1]))
        n--;
    if (n > sizeof module && n < s.n && s.p[n - 1] == '_')
        s.n = n - 1;
    return s;
}

static int python_frame(struct mt_pf *f, struct mt_pf_text s, mt_frame_id *id)
{
    struct mt_pf_text name, file;
    uint32_t line;
    *id = 0;
    if (python_parts(s, &name, &file, &line))
        return frame(f, name, file, line, id);
    /* "<built-in method empty of type object at 0x7f...>": the operator inside says it better */
    if (s.n == 0 || s.p[0] == '<')
        return 1;
    return frame(f, without_number(s), (struct mt_pf_text){NULL, 0}, 0, id);
}

/* "file(line): function;file(line): function" */
static int outer_frames(struct mt_pf *f, struct mt_pf_label *l, struct mt_pf_text s)
{
    l->first_outer = f->outer.n;
    while (s.n != 0 && l->n_outer < f->lim->max_frames) {
        const unsigned char *semi = memchr(s.p, ';', s.n);
        size_t n = semi != NULL ? (size_t)(semi - s.p) : s.n;
        mt_frame_id id, *slot;
        if (!python_frame(f, (struct mt_pf_text){s.p, n}, &id))
            return 0;
        if (id != 0) {
            if ((slot = MT_VEC_PUSH(&f->outer)) == NULL)
                return mt_pf_nomem(f);
            *slot = id;
            l->n_outer++;
        }
        s.p += n;
        s.n -= n;
        if (s.n != 0) {
            s.p++;
            s.n--;
        }
    }
    return 1;
}

static int grow_seen(struct mt_pf *f)
{
    uint32_t cap = f->cap_seen != 0 ? f->cap_seen * 2 : 1024;
    struct mt_pf_seen *p = mt_calloc(cap, sizeof *p);
    if (p == NULL)
        return mt_pf_nomem(f);
    for (uint32_t i = 0; i < f->cap_seen; i++) {
        uint32_t at = (uint32_t)f->seen[i].key.lo & (cap - 1);
        if (f->seen[i].label == 0)
            continue;
        while (p[at].label != 0)
            at = (at + 1) & (cap - 1);
        p[at] = f->seen[i];
    }
    mt_free(f->seen);
    f->seen = p;
    f->cap_seen = cap;
    return 1;
}

static int label_of(struct mt_pf *f, struct mt_pf_text name, bool is_python,
                    struct mt_pf_text outer, uint32_t *label)
{
    struct mt_json_hash h = f->j.simd->hash(name.p, name.n), more;
    struct mt_pf_label *l;
    uint32_t at;
    if (outer.n != 0) {
        more = f->j.simd->hash(outer.p, outer.n);
        h.lo ^= more.lo * UINT64_C(0x9e3779b97f4a7c15);
        h.hi ^= more.hi * UINT64_C(0x9e3779b97f4a7c15);
    }
    h.lo ^= is_python;
    if (f->n_seen * 2 >= f->cap_seen && !grow_seen(f))
        return 0;
    for (at = (uint32_t)h.lo & (f->cap_seen - 1); f->seen[at].label != 0;
         at = (at + 1) & (f->cap_seen - 1)) {
        if (f->seen[at].key.lo == h.lo && f->seen[at].key.hi == h.hi) {
            *label = f->seen[at].label - 1;
            return 1;
        }
    }
    if ((l = MT_VEC_PUSH(&f->labels)) == NULL)
        return mt_pf_nomem(f);
    *label = f->labels.n - 1;
    l->is_python = is_python;
    if (is_python ? !python_frame(f, name, &l->frame)
                  : !frame(f, name, (struct mt_pf_text){NULL, 0}, 0, &l->frame))
        return 0;
    if (!outer_frames(f, l, outer))
        return 0;
    f->seen[at].key = h;
    f->seen[at].label = *label + 1;
    f->n_seen++;
    return 1;
}

/* ---- logs ---- */

uint32_t mt_pf_thread(struct mt_pf *f, uint64_t key)
{
    struct mt_pf_thread *t;
    uint32_t at;
    if (f->last_thread < f->threads.n && f->threads.p[f->last_thread].key == key)
        return f->last_thread;
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

int mt_pf_slice(struct mt_pf *f, uint32_t thread, int64_t ts, int64_t dur, struct mt_pf_text name,
                bool is_python, struct mt_pf_text outer)
{
    struct mt_pf_lane *t = &f->threads.p[thread].lane[is_python ? MT_PF_PYTHON : MT_PF_OPERATOR];
    uint32_t label = 0;
    uint8_t *p;
    if (!label_of(f, name, is_python, outer, &label))
        return 0;
    if ((p = mt_pf_log_room(&t->log)) == NULL)
        return mt_pf_nomem(f);
    t->unsorted = t->unsorted || (ts < t->last_ts && t->log.n != 0);
    p = mt_pf_put_signed(p, ts - t->last_ts);
    p = mt_pf_put(p, (uint64_t)dur);
    p = mt_pf_put(p, label);
    mt_pf_log_wrote(&t->log, p);
    t->last_ts = ts;
    return 1;
}

/* ---- the walk ---- */

struct slice {
    int64_t ts, end;
    uint32_t label;
};

/* Of one lane. */
struct track {
    int64_t ts;
    struct slice *all; /* of a log that is not in order */
    uint64_t n_all, at;
    struct slice next;
    bool has_next;
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
    uint64_t dur, label;
    int64_t delta;
    if (w->all != NULL) {
        if (w->at == w->n_all)
            return false;
        *s = w->all[w->at++];
        return true;
    }
    if ((p = mt_pf_log_next(l)) == NULL)
        return false;
    p = mt_pf_get(mt_pf_get(mt_pf_get_signed(p, &delta), &dur), &label);
    mt_pf_log_read(l, p);
    w->ts += delta;
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
    w->has_next = read_slice(&t->log, w, &w->next);
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
static bool next_slice(struct mt_pf_thread *t, struct state *w, int64_t ts, struct slice *s)
{
    struct track *first = NULL;
    for (int i = 0; i < MT_PF_KINDS; i++) {
        struct track *x = &w->track[i];
        if (x->has_next && x->next.ts <= ts &&
            (first == NULL || x->next.ts < first->next.ts ||
             (x->next.ts == first->next.ts && x->next.end > first->next.end)))
            first = x;
    }
    if (first == NULL)
        return false;
    *s = first->next;
    first->has_next = read_slice(&t->lane[first - w->track].log, first, &first->next);
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
    if (MT_VEC_PUSH(&w->open) == NULL)
        return mt_pf_nomem(f);
    for (i = w->open.n - 1; i > 0 && w->open.p[i - 1].ts == s.ts && w->open.p[i - 1].end < s.end;
         i--)
        w->open.p[i] = w->open.p[i - 1];
    w->open.p[i] = s;
    return 1;
}

static int add_frame(struct mt_pf_walk *w, mt_frame_id id)
{
    mt_frame_id *slot;
    if (id == 0 || w->frames.n >= w->f->lim->max_frames)
        return 1;
    if ((slot = MT_VEC_PUSH(&w->frames)) == NULL)
        return mt_pf_nomem(w->f);
    *slot = id;
    return 1;
}

/* The frames at time ts, innermost first. */
static int make_stack(struct mt_pf_walk *w, struct state *o, int64_t ts)
{
    const struct mt_pf_label *outer = NULL;
    bool has_python = false;
    w->frames.n = 0;
    o->changed = false;
    for (uint32_t i = o->open.n; i-- > 0;) {
        const struct mt_pf_label *l = &w->f->labels.p[o->open.p[i].label];
        if (o->open.p[i].end < ts) { /* overlaps with one that is still open */
            o->changed = true;
            continue;
        }
        has_python = has_python || l->is_python;
        if (outer == NULL && l->n_outer != 0)
            outer = l;
        if (!add_frame(w, l->frame))
            return 0;
    }
    for (uint32_t i = 0; !has_python && outer != NULL && i < outer->n_outer; i++)
        if (!add_frame(w, w->f->outer.p[outer->first_outer + i]))
            return 0;
    return mt_build_stack(w->f->b, w->frames.p, w->frames.n, &o->stack) || mt_pf_refused(w->f);
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
    MT_VEC_DONE(&f->labels);
    MT_VEC_DONE(&f->outer);
    mt_free(f->seen);
    mt_free(f->thread_slot);
}
