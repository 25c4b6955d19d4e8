/* Between one training and the next. A job that trains several models in turn, or works out
 * gradients for each of several checkpoints, sets the next one up when the last is done, in the
 * same functions as before the first. Phases are carried from event to event, so that would be
 * training, too. It is none where the same lines were come to before the first backward pass, and
 * again only when many steps had been taken without them: what loads a batch comes with each. */
#include "analysis/phases/impl.h"
#include "analysis/base/addrmap.h"
#include "analysis/base/frames.h"
#include "parser/base/mem.h"

/* Chosen by hand: steps of an optimizer between two comings; of backward passes, where no step made
 * anything, more, for several may be of one step. */
enum { STEPS = 3, PASSES = 8 };

/* Lines of the job's own that make two stacks the same place, the innermost ones: a script may have
 * a line for each of its trainings, further out. */
enum { LINES = 3, LINE_BITS = 21 };

static bool is_made(const struct mt_event *e)
{
    return e->action == MT_ACT_ALLOC || e->action == MT_ACT_OOM;
}

/* What is counted: steps of the optimizer, or backward passes. */
struct turns {
    unsigned kind; /* MT_IN_OPTIMIZER or MT_IN_BACKWARD */
    uint32_t n;
    bool in, trained; /* trained: a backward pass has come */
};

static void note_turn(struct turns *u, struct mt_attr a)
{
    bool in = mt_phase_is(a.sub, u->kind);
    u->n += in && !u->in;
    u->in = in;
    u->trained = u->trained || mt_phase_is(a.sub, MT_IN_BACKWARD);
}

/* By place: the turn in which it came last, + 1; first before any backward pass, and never again
 * without many turns in between. */
struct coming {
    uint32_t last;
    bool is_rare, again;
};

static bool may_be_set_up(const struct mt_event *e, struct mt_attr a)
{
    return is_made(e) && e->stack != 0 && a.sub == MT_PH_NONE && mt_attr_conf(a) <= MT_CONF_CARRIED;
}

static void note_coming(struct coming *c, const struct turns *u, uint32_t apart)
{
    if (c->last == 0)
        c->is_rare = !u->trained;
    else if (c->last != u->n + 1) {
        c->is_rare = c->is_rare && u->n + 1 - c->last >= apart;
        c->again = true;
    }
    c->last = u->n + 1;
}

/* The place of a stack; 0 = it has no such lines, or too many files to tell them apart. */
static uint64_t place_of(const struct mt_trace *t, struct mt_file_kinds *files, mt_stack_id s)
{
    uint64_t place = 0;
    unsigned n = 0;
    if (t->frames.n >> LINE_BITS != 0)
        return 0;
    for (; s != 0 && n < LINES; s = t->stacks.p[s].parent) {
        mt_frame_id f = t->stacks.p[s].frame;
        if ((mt_file_kind(files, t, t->frames.p[f].file) & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) !=
            MT_FILE_PYTHON)
            continue;
        place = place << LINE_BITS | f;
        n++;
    }
    return place;
}

/* By stack, in *of, the first stack of its place; 0 = none. False = out of memory. */
static bool find_places(const struct mt_trace *t, mt_stack_id *of)
{
    struct mt_addrmap first = {NULL, 0, 0};
    struct mt_file_kinds files;
    bool ok = mt_file_kinds_init(&files, t);
    for (uint32_t s = 1; ok && s < t->stacks.n; s++) {
        uint64_t place = place_of(t, &files, s);
        bool had;
        uint32_t first_of = s, old;
        if (place == 0)
            continue;
        if (!mt_addrmap_get(&first, place, &first_of))
            ok = mt_addrmap_put(&first, place, s, &had, &old) != 0;
        of[s] = first_of;
    }
    mt_file_kinds_done(&files);
    mt_addrmap_done(&first);
    return ok;
}

static bool steps_are_seen(const struct mt_device *d, const struct mt_attr *out)
{
    for (uint64_t i = 0; i < d->events.n; i++)
        if (is_made(mt_event_at(d, i)) && mt_phase_is(out[i].sub, MT_IN_OPTIMIZER))
            return true;
    return false;
}

/* Marks what belongs to no training. place: by stack. */
static void mark(const struct mt_device *d, struct mt_attr *out, const mt_stack_id *place,
                 struct coming *of)
{
    bool steps = steps_are_seen(d, out);
    struct turns u = {.kind = steps ? MT_IN_OPTIMIZER : MT_IN_BACKWARD};
    uint64_t first = d->events.n; /* event of the first backward pass */
    bool outside = false;
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        if (is_made(e))
            note_turn(&u, out[i]);
        first = u.trained && first == d->events.n ? i : first;
        if (may_be_set_up(e, out[i]))
            note_coming(&of[place[e->stack]], &u, steps ? STEPS : PASSES);
    }
    for (uint64_t i = first; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        const struct coming *c = &of[place[e->stack]];
        if (is_made(e)) /* what comes behind it, as a free, goes with it */
            outside = place[e->stack] != 0 && may_be_set_up(e, out[i]) && c->is_rare && c->again;
        if (!outside || !mt_phase_is(out[i].phase, MT_TRAINS) || out[i].sub != MT_PH_NONE ||
            mt_attr_conf(out[i]) > MT_CONF_CARRIED)
            continue;
        out[i].phase = MT_PH_UNATTRIBUTED;
        out[i].rule_conf = MT_METHOD_OUTSIDE << 4 | MT_CONF_NONE;
    }
}

/* Whether anything is called training that no stack says is. */
static bool is_asked(const struct mt_device *d, const struct mt_attr *out)
{
    bool trained = false;
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        trained = trained || mt_phase_is(out[i].sub, MT_IN_BACKWARD);
        if (trained && may_be_set_up(e, out[i]) && mt_phase_is(out[i].phase, MT_TRAINS))
            return true;
    }
    return false;
}

int mt_between_find(const struct mt_trace *t, const struct mt_device *d, struct mt_attr *out)
{
    size_t n = (size_t)t->stacks.n + 1;
    mt_stack_id *place;
    struct coming *of;
    bool ok;
    if (!is_asked(d, out))
        return 1;
    place = mt_calloc(n, sizeof *place);
    of = mt_calloc(n, sizeof *of);
    ok = place != NULL && of != NULL && find_places(t, place);
    if (ok)
        mark(d, out, place, of);
    mt_free(place);
    mt_free(of);
    return ok;
}
