#include "render/stack_view.h"

#include <stdio.h>

static enum mt_line_kind kind_of(const struct mt_frame_view *v)
{
    if (!v->is_python)
        return MT_LINE_CPP;
    return v->is_internal ? MT_LINE_TORCH : MT_LINE_FRAME;
}

uint32_t mt_stack_lines(const struct mt_trace *t, mt_stack_id s, struct mt_stack_line out[MT_STACK_LINES])
{
    struct mt_frame_view v;
    bool fold = false;
    uint32_t n = 0;
    for (mt_stack_id i = s; i != 0 && !fold; i = t->stacks.p[i].parent) {
        mt_frame_describe(t, t->stacks.p[i].frame, &v);
        fold = kind_of(&v) == MT_LINE_FRAME;
    }
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        enum mt_line_kind kind;
        mt_frame_describe(t, t->stacks.p[i].frame, &v);
        kind = fold ? kind_of(&v) : MT_LINE_FRAME;
        if (n > 0 && kind != MT_LINE_FRAME && out[n - 1].kind == kind) {
            out[n - 1].n++;
        } else if (n == MT_STACK_LINES) { /* the last line becomes the count of what is left out */
            if (out[n - 1].kind != MT_LINE_MORE) {
                out[n - 1].n = out[n - 1].kind == MT_LINE_FRAME ? 1 : out[n - 1].n;
                out[n - 1].kind = MT_LINE_MORE;
            }
            out[n - 1].n++;
        } else {
            out[n].kind = kind;
            out[n].n = 1;
            out[n].v = v;
            n++;
        }
    }
    return n;
}

const char *mt_stack_line_words(const struct mt_stack_line *l, char buf[MT_LINE_WORDS])
{
    const char *what = l->kind == MT_LINE_TORCH ? "torch" : l->kind == MT_LINE_CPP ? "C++" : "more";
    buf[0] = '\0';
    if (l->kind != MT_LINE_FRAME)
        (void)snprintf(buf, MT_LINE_WORDS, "\xe2\x80\xa6 %u %s frame%s", (unsigned)l->n, what, l->n == 1 ? "" : "s");
    return buf;
}
