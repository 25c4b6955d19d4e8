#include "render/stack_view.h"

#include <stdio.h>
#include <string.h>

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

/* The n-th frame of somebody's own code, from the innermost; 0 = there are fewer. */
static mt_frame_id own_frame(const struct mt_trace *t, mt_stack_id s, uint32_t n)
{
    struct mt_frame_view v;
    for (; s != 0; s = t->stacks.p[s].parent) {
        mt_frame_describe(t, t->stacks.p[s].frame, &v);
        if (v.is_python && !v.is_internal && n-- == 0)
            return t->stacks.p[s].frame;
    }
    return 0;
}

bool mt_owner_origin(const struct mt_trace *t, const struct mt_device_analysis *d, uint32_t i, uint32_t shown,
                     struct mt_frame_view *out)
{
    enum { DEEPEST = 16 };
    uint32_t n = d->owners.n < shown ? d->owners.n : shown;
    for (uint32_t depth = 1; depth <= DEEPEST; depth++) {
        mt_frame_id mine = 0;
        bool alone = true;
        for (uint32_t k = 0; k < n; k++) {
            if (k == i || strcmp(d->owners.p[k].label, d->owners.p[i].label) != 0)
                continue;
            alone = false;
            if (mine == 0 && (mine = own_frame(t, d->owners.p[i].stack, depth)) == 0)
                return false;
            if (own_frame(t, d->owners.p[k].stack, depth) != mine) {
                mt_frame_describe(t, mine, out);
                return true;
            }
        }
        if (alone)
            return false;
    }
    return false;
}
