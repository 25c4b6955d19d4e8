/* Rules that hold for one line of a function: a reference model that the trainer's own loss calls
 * in a `with torch.no_grad()` block, after its policy. No frame shows the block; that the function
 * calls two models, and from which line the second, is seen. */
#include "analysis/base/frames.h"
#include "analysis/phases/mark.h"

#include <string.h>

/* The Python frame nearest to the inner end of every stack; a caller's stack comes before those of
 * what it calls. */
static mt_frame_id *python_frames(const struct mt_trace *t)
{
    mt_frame_id *at = mt_calloc((size_t)t->stacks.n + 1, sizeof *at);
    for (uint32_t i = 1; at != NULL && i < t->stacks.n; i++) {
        const struct mt_stack_node *s = &t->stacks.p[i];
        mt_str_id file = t->frames.p[s->frame].file;
        bool is_python = mt_file_is_python(mt_str(t, file), mt_str_len(t, file));
        at[i] = is_python ? s->frame : s->parent < i ? at[s->parent] : 0;
    }
    return at;
}

struct lines {
    mt_str_id function, call;
    const struct mt_phase_rule *rule;
    uint32_t low, high; /* of the lines that call; 0 = none does */
};

static bool is_in(const struct mt_trace *t, const struct lines *l, mt_frame_id id)
{
    const struct mt_frame *f = &t->frames.p[id];
    return id != 0 && f->name == l->function &&
           mt_path_ends(mt_str(t, f->file), mt_str_len(t, f->file), l->rule->file_suffix,
                        (uint32_t)strlen(l->rule->file_suffix));
}

static void find_lines(const struct mt_trace *t, const mt_frame_id *python, struct lines *l)
{
    for (uint32_t i = 1; i < t->stacks.n; i++) {
        const struct mt_stack_node *s = &t->stacks.p[i];
        mt_frame_id caller = s->parent < i ? python[s->parent] : 0;
        uint32_t line;
        if (t->frames.p[s->frame].name != l->call || python[i] != s->frame || !is_in(t, l, caller))
            continue;
        line = t->frames.p[caller].line;
        l->low = l->low == 0 || line < l->low ? line : l->low;
        l->high = line > l->high ? line : l->high;
    }
}

static int mark_line(const struct mt_phaser *p, const struct lines *l, uint32_t rule,
                     struct mt_pool *marks, uint16_t *of_frame)
{
    const struct mt_trace *t = p->t;
    for (uint32_t i = 1; i < t->frames.n; i++) {
        struct mt_marks m;
        uint32_t index;
        if (t->frames.p[i].line != l->high || !is_in(t, l, i))
            continue;
        memcpy(&m, mt_pool_at(marks, of_frame[i]), sizeof m);
        m.c = (uint16_t)rule;
        if (!mt_pool_add(marks, &m, &index) || index > UINT16_MAX)
            return 0;
        of_frame[i] = (uint16_t)index;
    }
    return 1;
}

int mt_mark_lines(const struct mt_phaser *p, struct mt_pool *marks, uint16_t *of_frame)
{
    const struct mt_trace *t = p->t;
    mt_frame_id *python = NULL;
    int ok = 1;
    for (uint32_t i = MT_METHOD_COUNT; ok && i < p->rules->rule.n; i++) {
        const struct mt_phase_rule *r = &p->rules->rule.p[i];
        struct lines l = {.rule = r};
        if (!(p->rules->code.p[i].flags & MT_RF_LAST_CALL))
            continue;
        l.function = mt_strpool_find(&t->str, r->function, strlen(r->function));
        l.call = mt_strpool_find(&t->str, r->last_call, strlen(r->last_call));
        if (l.function == MT_STR_FAIL || l.call == MT_STR_FAIL)
            continue; /* no frame of this trace has that name */
        if (python == NULL && (python = python_frames(t)) == NULL)
            return 0;
        find_lines(t, python, &l);
        if (l.high > l.low)
            ok = mark_line(p, &l, i, marks, of_frame);
    }
    mt_free(python);
    return ok;
}
