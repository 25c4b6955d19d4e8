/* Which of the requests that failed counts. A library tries a large workspace and goes on with a
 * smaller one: that is no failure. A job that catches a failure and goes on may fail again: the
 * last one ended it, but not one that its own handler ran into. */
#include "analysis/base/frames.h"
#include "analysis/replay/replay.h"

#include <string.h>

/* Events to look at on either side; Python frames of a call in which the code goes on: an
 * operation, its module and the wrappers of a module call. Chosen by hand; of 13 failures of one
 * pass on an H100 the twelve of cuDNN lie within. */
enum { LOOK = 64, DEPTH = 64, INNER = 6 };
#define CONV "torch/nn/modules/conv.py"

/* Python frames of a stack, innermost first; DEPTH + 1 = there are more. */
static uint32_t python_frames(const struct mt_trace *t, mt_stack_id s, mt_frame_id out[DEPTH])
{
    uint32_t n = 0;
    while (s != 0 && s < t->stacks.n) {
        mt_frame_id f = t->stacks.p[s].frame;
        mt_str_id file = t->frames.p[f].file;
        mt_stack_id up = t->stacks.p[s].parent;
        if (mt_file_is_python(mt_str(t, file), mt_str_len(t, file))) {
            if (n == DEPTH)
                return DEPTH + 1;
            out[n++] = f;
        }
        s = up < s ? up : 0;
    }
    return n;
}

/* Of one call of Python: frames of C++ differ between what an operation asks for, its output and a
 * workspace. */
static bool is_one_call(const struct mt_trace *t, mt_stack_id x, mt_stack_id y)
{
    mt_frame_id a[DEPTH], b[DEPTH];
    uint32_t n, m;
    if (x == y)
        return true;
    n = python_frames(t, x, a);
    m = python_frames(t, y, b);
    return n == m && n != 0 && n <= DEPTH && memcmp(a, b, n * sizeof *a) == 0;
}

/* The two stacks part in the innermost calls only. An exception that somebody catches leaves more
 * of them. */
static bool goes_on_inside(const struct mt_trace *t, mt_stack_id failed, mt_stack_id next)
{
    mt_frame_id a[DEPTH], b[DEPTH];
    uint32_t n = python_frames(t, failed, a), m = python_frames(t, next, b), common = 0;
    if (n > DEPTH || m > DEPTH)
        return false;
    while (common < n && common < m && a[n - 1 - common] == b[m - 1 - common])
        common++;
    return n == 0 ? m == 0 : common != 0 && n - common <= INNER;
}

/* A convolution, by PyTorch's module or by a C++ frame of the library: the one operation that is
 * known to ask for workspaces and to do without (aten/src/ATen/native/cudnn/Conv_v8.cpp,
 * try_plans). Any other failure is one, however the job goes on. */
static bool is_convolution(const struct mt_trace *t, mt_stack_id s)
{
    bool is_first = true;
    for (uint32_t n = 0; n < 2 * DEPTH && s != 0 && s < t->stacks.n; n++) { /* the innermost */
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        const char *file = mt_str(t, f->file), *name = mt_str(t, f->name);
        mt_stack_id up = t->stacks.p[s].parent;
        if (mt_file_is_python(file, mt_str_len(t, f->file))) {
            if (is_first && (mt_path_ends(file, mt_str_len(t, f->file), CONV, sizeof CONV - 1)))
                return true;
            is_first = false;
        } else if (strstr(name, "cudnn") != NULL || strstr(name, "miopen") != NULL) {
            return true;
        }
        s = up < s ? up : 0;
    }
    return false;
}

/* What the operation asked for before is still there when the next one asks: an exception would
 * have let go of it first. */
bool mt_oom_is_a_try(const struct mt_replay *r, uint64_t i)
{
    const struct mt_event *e = mt_event_at(r->d, i), *had = NULL;
    uint64_t from = i + 1;
    if (e->stack == 0)
        return false;
    for (uint64_t k = i; had == NULL && k-- > 0 && i - k <= LOOK;) {
        const struct mt_event *b = mt_event_at(r->d, k);
        if (b->action == MT_ACT_ALLOC) {
            had = b;
            from = k + 1;
        }
        if ((b->action == MT_ACT_ALLOC || b->action == MT_ACT_OOM) &&
            !is_one_call(r->t, b->stack, e->stack))
            return false;
    }
    if (had == NULL || !is_convolution(r->t, e->stack))
        return false;
    for (uint64_t k = from; k < r->d->events.n && k <= i + LOOK; k++) {
        const struct mt_event *b = mt_event_at(r->d, k);
        if ((b->action == MT_ACT_FREE_REQUESTED || b->action == MT_ACT_FREE_COMPLETED) &&
            b->addr == had->addr)
            return false;
        /* the next request may be the one that fails */
        if (k > i && (b->action == MT_ACT_ALLOC || b->action == MT_ACT_OOM) && b->stack != e->stack)
            return goes_on_inside(r->t, e->stack, b->stack);
    }
    return false;
}

bool mt_oom_is_next(const struct mt_device_analysis *o, mt_stack_id stack, uint64_t n_allocs)
{
    const struct mt_oom *p = o->ooms.n != 0 ? &o->ooms.p[o->oom_counts] : NULL;
    return p == NULL || n_allocs - p->n_allocs >= MT_GOES_ON ||
           (stack != 0 && stack == p->stack && n_allocs != p->n_allocs); /* tried again */
}

void mt_ooms_decide(struct mt_device_analysis *o)
{
    struct mt_oom counts;
    if (o->ooms.n == 0 || o->oom_counts == 0)
        return;
    counts = o->ooms.p[o->oom_counts];
    memmove(o->ooms.p + 1, o->ooms.p, o->oom_counts * sizeof *o->ooms.p);
    o->ooms.p[0] = counts;
}
