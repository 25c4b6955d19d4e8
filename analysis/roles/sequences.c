/* How many sequences a batch has, by functions that allocate for each of them. */
#include "analysis/facts/sequences.h"

#include "analysis/base/frames.h"
#include "parser/base/mem.h"

#include <string.h>

enum kind { NOTHING, MOVES, BATCHES };

/* MOVES: the tokens of each sequence become a tensor of 8 bytes a token, at the first of the
 * function's lines that allocate. BATCHES: called once for a micro-batch, and what it makes for
 * each sequence comes from one stack. */
static const struct {
    const char *file, *function;
    enum kind kind;
} known[] = {
    /* slime 624b824a, and since 2025 */
    {"slime/backends/megatron_utils/actor.py", "_get_rollout_data", MOVES},
    {"slime/backends/megatron_utils/data.py", "get_batch", BATCHES},
};
enum { TOKEN = 8, KNOWN = sizeof known / sizeof *known };

struct seen {
    uint32_t line;       /* of the function that moves; 0 = the stack is not in one */
    uint32_t micro, now; /* blocks of this stack in that micro-batch */
    bool batches;
};

/* names: of the known functions in this trace; MT_STR_FAIL = none has it. */
static enum kind kind_of(const struct mt_trace *t, const mt_str_id names[KNOWN], mt_str_id name,
                         mt_str_id file)
{
    for (size_t i = 0; i < KNOWN; i++)
        if (name == names[i] && mt_path_ends(mt_str(t, file), mt_str_len(t, file), known[i].file,
                                             (uint32_t)strlen(known[i].file)))
            return known[i].kind;
    return NOTHING;
}

/* A caller's stack has a smaller id than the stacks of what it calls. */
static void mark_stacks(const struct mt_trace *t, const mt_str_id names[KNOWN], struct seen *s)
{
    for (uint32_t i = 1; i < t->stacks.n; i++) {
        const struct mt_stack_node *node = &t->stacks.p[i];
        const struct mt_frame *f = &t->frames.p[node->frame];
        enum kind kind = kind_of(t, names, f->name, f->file);
        if (node->parent != 0 && node->parent < i)
            s[i] = s[node->parent];
        if (kind == MOVES)
            s[i].line = f->line != 0 ? f->line : 1;
        else if (kind == BATCHES)
            s[i].batches = true;
    }
}

struct walk {
    struct mt_sequences *out;
    uint32_t line;  /* the first that moves */
    uint32_t micro; /* number of the micro-batch */
    uint32_t now,
        /* sequences of this micro-batch and of the one before; 0 = not known, as of the first: the
           trace may begin inside it */
        before;
    bool inside; /* nothing else was allocated since */
};

/* The last micro-batch counts for the largest number only: the trace may end inside it. */
static void count_sequence(struct walk *w, struct seen *s)
{
    if (!w->inside) {
        w->out->packed = w->out->packed || (w->before != 0 && w->now != w->before);
        w->before = w->micro >= 2 ? w->now : 0;
        w->now = 0;
        w->micro++;
        w->inside = true;
    }
    if (s->micro != w->micro) {
        s->micro = w->micro;
        s->now = 0;
    }
    if (++s->now > w->now)
        w->now = s->now;
    if (w->now > w->out->in_micro)
        w->out->in_micro = w->now;
}

int mt_sequences_find(const struct mt_trace *t, const struct mt_device *d, struct mt_sequences *out)
{
    struct walk w = {.out = out, .line = UINT32_MAX};
    mt_str_id names[KNOWN];
    struct seen *s;
    bool any = false;
    memset(out, 0, sizeof *out);
    for (size_t i = 0; i < KNOWN; i++)
        names[i] = mt_strpool_find(&t->str, known[i].function, strlen(known[i].function));
    for (uint32_t i = 0; i < t->functions.n && !any; i++)
        any = kind_of(t, names, t->functions.p[i].name, t->functions.p[i].file) != NOTHING;
    if (!any)
        return 1;
    s = mt_calloc((size_t)t->stacks.n + 1, sizeof *s);
    if (s == NULL)
        return 0;
    mark_stacks(t, names, s);
    for (uint64_t i = 0; i < d->events.n; i++) {
        const struct mt_event *e = mt_event_at(d, i);
        struct seen *at = &s[e->stack];
        if (e->action != MT_ACT_ALLOC)
            continue;
        if (at->line != 0 && at->line < w.line) {
            w.line = at->line;
            out->longest = 0;
        }
        if (at->line == w.line && e->size / TOKEN > out->longest)
            out->longest = e->size / TOKEN;
        if (at->batches)
            count_sequence(&w, at);
        else
            w.inside = false;
    }
    mt_free(s);
    return 1;
}
