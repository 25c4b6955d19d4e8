/* A softmax of a product is an attention where a second product has values weighed by it: that one
 * is smaller than the scores. Pairs that are matched, or a routing, have the first product and the
 * softmax alone, and read the whole matrix: no fused attention has it. Told by C++ frames, function
 * by function, once a call is over: the next one begins with its product, or nothing failed. Events
 * are let go of before it is asked. */
#include "analysis/roles/impl.h"
#include "analysis/base/frames.h"
#include "parser/base/mem.h"

#include <string.h>

struct function {
    mt_frame_id frame;
    uint64_t product, softmax; /* of the call at hand; 0 = not yet */
    bool weighs, over;         /* it multiplies values; a call without that is over */
};

/* AT_PYTHON: what is further out is no operation */
enum what { NEITHER, PRODUCT, SOFTMAX, AT_PYTHON };

static enum what of_frame(const struct mt_trace *t, const struct mt_frame *f)
{
    const char *name = mt_str(t, f->name);
    if (mt_file_is_python(mt_str(t, f->file), mt_str_len(t, f->file)))
        return AT_PYTHON;
    if (strstr(name, "::bmm::") != NULL)
        return PRODUCT;
    return strstr(name, "softmax") != NULL && strstr(name, "log_softmax") == NULL &&
                   strstr(name, "backward") == NULL
               ? SOFTMAX
               : NEITHER;
}

/* frame: by frame, enum what; stacks share their frames. */
static enum what made_by(const struct mt_trace *t, const uint8_t *frame, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent)
        if (frame[t->stacks.p[s].frame] != NEITHER)
            return frame[t->stacks.p[s].frame] == AT_PYTHON ? NEITHER : frame[t->stacks.p[s].frame];
    return NEITHER;
}

static void add(struct function *f, enum what what, uint64_t size)
{
    if (what == SOFTMAX && f->product != 0)
        f->softmax = size;
    if (what != PRODUCT)
        return;
    if (f->softmax != 0 && size < f->softmax && size != f->product) {
        f->weighs = true;
        return;
    }
    f->over = f->over || f->softmax != 0;
    f->product = size;
    f->softmax = 0;
}

int mt_unweighted_find(struct mt_rwork *k)
{
    const struct mt_trace *t = k->r->t;
    size_t n = (size_t)t->stacks.n + 1;
    MT_VEC(struct function) all = {0};
    uint8_t *in = mt_calloc((size_t)t->frames.n + 1, sizeof *in), *what = NULL; /* what: by stack */
    uint32_t *of = NULL, soft = 0; /* of: by stack, its function in `all`, and 1 */
    int ok = in != NULL;
    for (uint32_t i = 0; ok && i < t->frames.n; i++)
        soft += (in[i] = (uint8_t)of_frame(t, &t->frames.p[i])) == SOFTMAX;
    if (!ok || soft == 0) {
        mt_free(in);
        return ok;
    }
    what = mt_calloc(n, sizeof *what);
    of = mt_calloc(n, sizeof *of);
    ok = what != NULL && of != NULL;
    for (mt_stack_id s = 1; ok && s < t->stacks.n; s++) {
        mt_frame_id frame = 0;
        struct function *f;
        if ((what[s] = (uint8_t)made_by(t, in, s)) == NEITHER ||
            mt_stack_site(t, NULL, s, &frame) != MT_SITE_PYTHON)
            continue;
        for (uint32_t i = 0; i < all.n && of[s] == 0; i++)
            if (mt_frames_are_one_function(t, all.p[i].frame, frame))
                of[s] = i + 1;
        if (of[s] != 0)
            continue;
        ok = (f = MT_VEC_PUSH(&all)) != NULL;
        if (ok) {
            *f = (struct function){.frame = frame};
            of[s] = all.n;
        }
    }
    for (uint64_t i = 0; ok && all.n != 0 && i < k->r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(k->r->d, i);
        if (e->action == MT_ACT_ALLOC && of[e->stack] != 0)
            add(&all.p[of[e->stack] - 1], (enum what)what[e->stack], e->size);
    }
    for (uint32_t i = 0; ok && i < all.n; i++) {
        const struct function *f = &all.p[i];
        bool over = f->over || (f->softmax != 0 && k->r->out->ooms.n == 0);
        mt_frame_id *at;
        if (!over || f->weighs)
            continue;
        ok = (at = MT_VEC_PUSH(&k->out->unweighted)) != NULL;
        if (ok)
            *at = f->frame;
    }
    MT_VEC_DONE(&all);
    mt_free(in);
    mt_free(of);
    mt_free(what);
    return ok;
}
