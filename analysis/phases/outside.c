/* Behind the function that trains. Phases are carried from event to event, so what a script does
 * when its training is over would be training, too. The function has returned where a stack lacks
 * it: the frames that all stacks have in common from the first event of the training to the last
 * backward pass or step, and the function right below these. Of a script without functions that
 * tells nothing. A pass over a model may be the first one of another training and is left alone
 * (untold.c, goes_on.c). */
#include "analysis/phases/impl.h"
#include "analysis/base/frames.h"
#include "parser/base/mem.h"

#include <string.h>

/* Chosen by hand. DEPTH: of Python frames that are compared; no script calls its training from
 * deeper. PASSES: backward passes; behind one alone the next may be prepared, but no other model is
 * made for that. */
enum { DEPTH = 64, MIN_PASSES = 3 };

static bool is_alloc(const struct mt_device *d, uint64_t i)
{
    return mt_event_at(d, i)->action == MT_ACT_ALLOC;
}

/* The Python frames of a stack that are not PyTorch's own, the outermost first. */
struct path {
    mt_frame_id frame[DEPTH];
    uint32_t n;
};

static void read_path(const struct mt_trace *t, struct mt_file_kinds *files, mt_stack_id s,
                      struct path *out)
{
    mt_frame_id all[4 * DEPTH];
    uint32_t n = 0;
    out->n = 0;
    for (; s != 0; s = t->stacks.p[s].parent) {
        mt_frame_id f = t->stacks.p[s].frame;
        unsigned kind = mt_file_kind(files, t, t->frames.p[f].file);
        if ((kind & MT_FILE_PYTHON) == 0 || (kind & MT_FILE_INTERNAL) != 0)
            continue;
        if (n == sizeof all / sizeof *all) /* deeper than any: the outermost count */
            memmove(all, all + 1, (--n) * sizeof *all);
        all[n++] = f;
    }
    while (n != 0 && out->n < DEPTH)
        out->frame[out->n++] = all[--n];
}

/* Whether a stack begins as another one does, up to `common` frames, and goes on in the same
 * function.
 */
static bool is_inside(const struct mt_trace *t, const struct path *steps, uint32_t common,
                      const struct path *p)
{
    if (p->n <= common)
        return false;
    for (uint32_t i = 0; i < common; i++)
        if (p->frame[i] != steps->frame[i])
            return false;
    return mt_frames_are_one_function(t, p->frame[common], steps->frame[common]);
}

/* Of the training: its first event, its last backward pass or step, and how many passes; whether a
 * model is made after it. */
struct stretch {
    uint64_t from, to;
    uint32_t passes;
    bool sets_up;
};

static struct stretch find_training(const struct mt_device *d, const struct mt_attr *out)
{
    struct stretch s = {0, 0, 0, false};
    bool begun = false, backward = false;
    for (uint64_t i = 0; i < d->events.n; i++) {
        if (!is_alloc(d, i))
            continue;
        if (!begun && mt_phase_is(out[i].phase, MT_TRAINS)) {
            begun = true;
            s.from = i;
        }
        if (mt_phase_is(out[i].sub, MT_IN_BACKWARD | MT_IN_OPTIMIZER)) {
            s.to = i;
            s.sets_up = false;
        }
        s.sets_up = s.sets_up || (s.passes != 0 && mt_phase_is(out[i].phase, MT_SETS_UP));
        s.passes += mt_phase_is(out[i].sub, MT_IN_BACKWARD) && !backward;
        backward = mt_phase_is(out[i].sub, MT_IN_BACKWARD);
    }
    return s;
}

/* What is known of a stack: that it was in the training; whether it is outside of it. */
enum { SEEN = 1, KNOWN = 2, OUTSIDE = 4 };

/* The frames that all of the main thread has in common while it trains, in *common; all: one of
 * its stacks. Some data between two steps counts as well as the steps. False = nothing in common.
 */
static bool find_common(const struct mt_trace *t, const struct mt_device *d,
                        struct mt_file_kinds *files, const struct mt_attr *out,
                        const struct stretch *training, uint8_t *seen, struct path *all,
                        uint32_t *common)
{
    struct path p;
    all->n = 0;
    if (training->passes < (training->sets_up ? 1 : MIN_PASSES))
        return false;
    for (uint64_t i = training->from; i < training->to; i++) {
        mt_stack_id s = mt_event_at(d, i)->stack;
        if (!is_alloc(d, i) || s == 0 || seen[s] != 0 || mt_phase_is(out[i].sub, MT_IN_BACKWARD))
            continue;
        seen[s] = SEEN;
        read_path(t, files, s, &p);
        if (p.n == 0)
            continue;
        if (all->n == 0) {
            *all = p;
            *common = p.n - 1;
        }
        while (*common > 0 && !is_inside(t, all, *common, &p))
            --*common;
        if (*common == 0)
            return false;
    }
    return all->n != 0 && *common > 0;
}

/* Whether the function that trains has returned where a stack is. Another thread's tells nothing.
 */
static bool is_outside(const struct mt_trace *t, struct mt_file_kinds *files,
                       const struct path *steps, uint32_t common, mt_stack_id s, uint8_t *seen)
{
    struct path p;
    if ((seen[s] & KNOWN) == 0) {
        seen[s] |= KNOWN;
        read_path(t, files, s, &p);
        if (p.n != 0 && mt_frames_are_one_function(t, p.frame[0], steps->frame[0]) &&
            !is_inside(t, steps, common, &p))
            seen[s] |= OUTSIDE;
    }
    return (seen[s] & OUTSIDE) != 0;
}

int mt_outside_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    struct path steps;
    struct mt_file_kinds files;
    struct stretch training;
    uint32_t common = 0;
    bool tells;
    uint8_t *seen = mt_calloc((size_t)t->stacks.n + 1, 1);
    if (seen == NULL || !mt_file_kinds_init(&files, t)) {
        mt_free(seen);
        return 0;
    }
    training = find_training(d, out);
    tells = find_common(t, d, &files, out, &training, seen, &steps, &common);
    for (uint64_t i = training.to; tells && i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (e->stack == 0 || out[i].sub != MT_PH_NONE || !mt_phase_is(out[i].phase, MT_TRAINS) ||
            mt_attr_conf(out[i]) > MT_CONF_CARRIED)
            continue;
        if (!is_outside(t, &files, &steps, common, e->stack, seen))
            continue;
        out[i].phase = MT_PH_UNATTRIBUTED;
        out[i].rule_conf = MT_METHOD_OUTSIDE << 4 | MT_CONF_NONE;
    }
    mt_file_kinds_done(&files);
    mt_free(seen);
    return 1;
}
