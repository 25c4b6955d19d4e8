/* The result of the pass before: `out = model(x)` in a loop lets go of the old value when the new
 * one is there, so a pass runs beside the result of the one before. Proven by frees: a block of a
 * forward pass is let go of at the very line through which it was made, after a later pass has made
 * another one from the same stack. What is made and let go of so within one pass (x = layer(x)) is
 * its own input, and no result. Nor is a cache, which the next pass reads: roles/grown.c tells.
 * What hooks or a list keep of every pass is proven the same way, and told from it: blocks of
 * passes before the last one are still there when it is let go of, at the line whose function ends.
 */
#include "analysis/cause/impl.h"
#include "analysis/base/calls.h"

#include <string.h>

/* Of a stack; side by side, because stacks come in any order. */
struct of_stack {
    /* bits of the frames that it goes through, where a block of it is there that may be a result;
     * else 0 */
    uint64_t asked;
    uint32_t last;    /* event + 1 of its last block */
    mt_frame_id call; /* m->call_of */
    /* the pass that it belongs to; event + 1 of the first block of that pass, and of the one before
     */
    uint32_t pass, first, before;
    bool gathers;
};

struct finding {
    struct mt_moment *m;
    uint32_t *began;   /* as m->call_began, up to the event at hand */
    mt_frame_id call;  /* of the block at hand */
    mt_frame_id *near; /* by stack: its innermost Python frame, where that is a line asked of */
    struct of_stack *of;
    struct mt_file_kinds files;
    int64_t at;
};

/* By frame: whether some stack that is asked of goes through it; a line of the job's own. */
enum { THROUGH = 1, THROUGH_OWN };

static uint64_t bit_of(mt_frame_id frame) { return UINT64_C(1) << (frame % 64); }

static bool goes_through(const struct mt_trace *t, mt_stack_id s, mt_frame_id frame)
{
    for (; s != 0; s = t->stacks.p[s].parent)
        if (t->stacks.p[s].frame == frame)
            return true;
    return false;
}

/* The stack of a free: PyTorch notes it with the request, and with the completion too. */
static mt_stack_id stack_of_free(const struct mt_device *d, uint64_t i)
{
    const struct mt_event *e = mt_event_at(d, i), *asked;
    if (e->stack != 0 || i == 0)
        return e->stack;
    asked = mt_event_at(d, i - 1);
    return asked->action == MT_ACT_FREE_REQUESTED && asked->addr == e->addr ? asked->stack : 0;
}

static bool may_be_result(const struct mt_moment *m, uint64_t born)
{
    unsigned role = m->w->fate[born].role;
    return mt_phase_is(m->w->r->attr[born].sub, MT_IN_FORWARD) &&
           (mt_is_transient(role) || role == MT_ROLE_UNKNOWN || role == MT_ROLE_KV_CACHE);
}

/* A graph that nobody asked for goes with the call that made it: its own blocks are no results.
 * Layers alike make passes of their own there, so that these tell nothing. */
static bool keeps_for_none(const struct mt_moment *m, uint32_t born)
{
    mt_stack_id stack = mt_event_at(m->w->r->d, born)->stack;
    return m->call_of[stack] != 0 && mt_phase_keeps_for_none(m->w->r->attr[born]);
}

/* The line at which a block was let go of for its successor; 0 = not so, or known. Few lines are
 * one that is asked of, so the event of the free is looked at first, and then that of the birth,
 * which lies anywhere. */
static mt_frame_id line_of(struct finding *f, uint32_t born, uint64_t freed)
{
    const struct mt_replay *r = f->m->w->r;
    mt_frame_id line = f->near[stack_of_free(r->d, freed)];
    mt_stack_id stack;
    struct of_stack *of;
    if (line == 0)
        return 0;
    stack = mt_event_at(r->d, born)->stack;
    of = &f->of[stack];
    if ((of->asked & bit_of(line)) == 0 || !goes_through(r->t, stack, line))
        return 0;
    of->gathers = of->gathers || born + 1 < of->before;
    if (line == f->m->result_line[stack] || f->m->w->grown[stack] || of->last == 0 ||
        of->last - 1 == born || !may_be_result(f->m, born) ||
        (f->began[of->call] <= born + 1 &&
         (keeps_for_none(f->m, born) ||
          mt_micro_at(f->m->f, of->last - 1) == mt_micro_at(f->m->f, born))))
        return 0;
    return line;
}

static void note_birth(struct finding *f, struct of_stack *of, uint64_t event)
{
    uint32_t pass = mt_micro_at(f->m->f, event);
    if (pass == UINT32_MAX)
        pass = f->began[of->call];
    if (of->first == 0 || pass != of->pass) {
        of->before = of->first;
        of->first = (uint32_t)event + 1;
        of->pass = pass;
    }
    of->last = (uint32_t)event + 1;
}

/* Goes through events: when the line that calls the model was come to (the block is the first one
 * in that call), and with `frees` the line at which blocks are let go of, by stack. */
static void look_at(struct finding *f, uint64_t from, uint64_t end, bool frees)
{
    const struct mt_replay *r = f->m->w->r;
    for (uint64_t i = from; i < end && i < r->d->events.n; i++) {
        const struct mt_event *e = mt_event_at(r->d, i);
        if (e->action == MT_ACT_ALLOC || e->action == MT_ACT_OOM) {
            struct of_stack *of = &f->of[e->stack];
            const mt_frame_id line = of->call;
            if (line != f->call && line != 0)
                f->began[line] = (uint32_t)i + 1;
            f->call = line;
            if (e->action == MT_ACT_ALLOC && of->asked != 0)
                note_birth(f, of, i);
        } else if (frees && e->action == MT_ACT_FREE_COMPLETED &&
                   f->m->w->fate[i].freed != MT_NEVER) {
            uint32_t born = f->m->w->fate[i].freed;
            mt_frame_id line = line_of(f, born, i);
            if (line != 0)
                f->m->result_line[mt_event_at(r->d, born)->stack] = line;
        }
    }
}

/* Fills m->result_line and m->call_began. After a failure the exception lets go of all that its
 * frames held: that tells nothing. Nor does what comes after the moment where nothing is asked. */
static void find_lines(struct finding *f, bool any)
{
    uint64_t behind = (uint64_t)f->at + 1;
    look_at(f, 0, behind, any);
    memcpy(f->m->call_began, f->began, (f->m->w->r->t->frames.n + 1) * sizeof *f->began);
    if (any && f->m->oom == NULL)
        look_at(f, behind, f->m->w->r->d->events.n, true);
}

bool mt_is_last_result(const struct mt_moment *m, uint64_t event)
{
    uint32_t micro;
    mt_stack_id stack;
    if (m->result_line == NULL || event == UINT64_MAX)
        return false;
    stack = mt_event_at(m->w->r->d, event)->stack;
    if (m->result_line[stack] == 0 || !may_be_result(m, event))
        return false;
    if (m->call_of[stack] != 0 && m->call_began[m->call_of[stack]] > event + 1)
        return true;
    micro = mt_micro_at(m->f, event);
    return micro != UINT32_MAX && m->result.micro != UINT32_MAX && micro < m->result.micro;
}

/* Other stacks have no block of which it is asked. False = none has. */
static bool find_asked(struct finding *f, uint8_t *through)
{
    const struct mt_roles *w = f->m->w;
    const struct mt_trace *t = w->r->t;
    bool any = false;
    for (uint32_t k = 0; k < w->there.n; k++) {
        const mt_stack_id s = mt_event_at(w->r->d, w->there.p[k])->stack;
        if (f->of[s].asked != 0 || !may_be_result(f->m, w->there.p[k]))
            continue;
        any = true;
        for (mt_stack_id up = s; up != 0; up = t->stacks.p[up].parent) {
            mt_frame_id id = t->stacks.p[up].frame;
            f->of[s].asked |= bit_of(id);
            if (through[id] == 0)
                through[id] =
                    (mt_file_kind(&f->files, t, t->frames.p[id].file) & MT_FILE_INTERNAL) == 0
                        ? THROUGH_OWN
                        : THROUGH;
        }
    }
    for (mt_stack_id s = 0; s < t->stacks.n; s++) {
        f->of[s].call = f->m->call_of[s];
        if (through[f->near[s]] != THROUGH_OWN)
            f->near[s] = 0;
    }
    return any;
}

/* Adds what is live at the moment, and names the line of most of it. */
static void add_live(struct finding *f)
{
    struct mt_moment *m = f->m;
    const struct mt_replay *r = m->w->r;
    uint64_t most = 0;
    for (uint32_t k = 0; k < m->w->there.n; k++) {
        const uint32_t i = m->w->there.p[k];
        const struct mt_event *e = mt_event_at(r->d, i);
        if (!mt_is_last_result(m, i))
            continue;
        m->result.bytes += e->size;
        m->result.first = m->result.first == 0 ? i : m->result.first;
        if (e->size > most) {
            most = e->size;
            m->result.line = m->result_line[e->stack];
            m->result.is_of_all = f->of[e->stack].gathers;
        }
    }
}

int mt_moment_result(struct mt_moment *m)
{
    const struct mt_trace *t = m->w->r->t;
    struct finding f = {.m = m, .at = m->d->focus.event};
    size_t n = (size_t)t->stacks.n + 1, n_frames = (size_t)t->frames.n + 1;
    uint8_t *through;
    int ok;
    if (!mt_is_of_tensors(t) || m->w->fate == NULL || m->d->withheld != NULL || f.at < 0 ||
        f.at == MT_NO_EVENT)
        return 1;
    f.of = mt_calloc(n, sizeof *f.of);
    f.near = mt_calloc(n, sizeof *f.near);
    through = mt_calloc(n_frames, sizeof *through);
    f.began = mt_calloc(n_frames, sizeof *f.began);
    m->result_line = mt_calloc(n, sizeof *m->result_line);
    m->call_of = mt_calloc(n, sizeof *m->call_of);
    m->call_began = mt_calloc(n_frames, sizeof *m->call_began);
    ok = f.of != NULL && f.near != NULL && through != NULL && f.began != NULL &&
         m->result_line != NULL && m->call_of != NULL && m->call_began != NULL &&
         mt_file_kinds_init(&f.files, t);
    if (ok) {
        mt_stack_calls(t, &f.files, m->call_of, f.near);
        m->result.micro = mt_micro_at(m->f, (uint64_t)f.at);
        find_lines(&f, find_asked(&f, through));
        add_live(&f);
        mt_file_kinds_done(&f.files);
    }
    mt_free(f.of);
    mt_free(f.near);
    mt_free(through);
    mt_free(f.began);
    return ok;
}
