#include "render/view/stack.h"

#include <stdio.h>
#include <string.h>

static enum mt_line_kind kind_of(const struct mt_frame_view *v)
{
    if (!v->is_python)
        return MT_LINE_CPP;
    return v->is_internal ? MT_LINE_TORCH : MT_LINE_FRAME;
}

bool mt_frame_is_own(const struct mt_trace *t, struct mt_file_kinds *k, mt_frame_id f)
{
    const struct mt_frame *own = &t->frames.p[mt_frame_own(t, f)];
    return (mt_file_kind(k, t, own->file) & (MT_FILE_PYTHON | MT_FILE_INTERNAL)) == MT_FILE_PYTHON;
}

bool mt_stack_has_own(const struct mt_trace *t, struct mt_file_kinds *k, mt_stack_id s)
{
    while (s != 0 && !mt_frame_is_own(t, k, t->stacks.p[s].frame))
        s = t->stacks.p[s].parent;
    return s != 0;
}

uint32_t mt_stack_lines(const struct mt_trace *t, mt_stack_id s,
                        struct mt_stack_line out[MT_STACK_LINES])
{
    struct mt_frame_view v;
    bool fold = mt_stack_has_own(t, NULL, s);
    uint32_t n = 0;
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
        (void)snprintf(buf, MT_LINE_WORDS, "\xe2\x80\xa6 %u %s frame%s", (unsigned)l->n, what,
                       l->n == 1 ? "" : "s");
    return buf;
}

uint32_t mt_report_asked(const struct mt_report *r, struct mt_stack_line out[MT_STACK_LINES])
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    mt_frame_id site;
    mt_stack_id s;
    if (mt_diagnosis_lead(r->diagnosis) != MT_LEAD_SNAPSHOT || d == NULL || d->ooms.n == 0)
        return 0;
    s = d->ooms.p[0].forward != 0 ? d->ooms.p[0].forward : d->ooms.p[0].stack;
    if (mt_stack_site(k->trace, NULL, s, &site) != MT_SITE_PYTHON)
        while (s != 0 && k->trace->stacks.p[s].frame != site) /* the allocator's own */
            s = k->trace->stacks.p[s].parent;
    return mt_stack_lines(k->trace, s, out);
}

const char *mt_report_graph(const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_device_analysis *d = mt_diagnosis_device(r->diagnosis);
    const struct mt_note *n =
        d != NULL && d->ooms.n != 0
            ? mt_note_of(k->trace, d->device, d->ooms.p[0].event, MT_NOTE_COMPILE_CONTEXT)
            : NULL;
    return n != NULL ? mt_str(k->trace, n->text) : NULL;
}

/* The next frame of somebody's own code from *s outwards; 0 = there is none. *s: what calls it. */
static mt_frame_id next_own(const struct mt_trace *t, mt_stack_id *s)
{
    struct mt_frame_view v;
    while (*s != 0) {
        mt_frame_id f = t->stacks.p[*s].frame;
        mt_frame_describe(t, f, &v);
        *s = t->stacks.p[*s].parent;
        if (v.is_python && !v.is_internal)
            return f;
    }
    return 0;
}

bool mt_owner_origin(char *buf, size_t cap, const struct mt_trace *t,
                     const struct mt_device_analysis *d, uint32_t i, uint32_t shown)
{
    enum { DEEPEST = 12, MOST = 16 };
    uint32_t n = d->owners.n < shown ? d->owners.n : shown, equal = 0;
    mt_stack_id own = d->owners.p[i].stack, at[MOST]; /* in stacks that read the same so far */
    mt_frame_id first = 0, last = 0;
    struct mt_frame_view v;
    int used;
    for (uint32_t k = 0; k < n && equal < MOST; k++) {
        if (k != i && strcmp(d->owners.p[k].label, d->owners.p[i].label) == 0)
            at[equal++] = d->owners.p[k].stack;
    }
    for (uint32_t depth = 0; depth <= DEEPEST && equal != 0; depth++) {
        mt_frame_id here = next_own(t, &own);
        uint32_t before = equal;
        equal = 0;
        for (uint32_t k = 0; k < before; k++)
            if (next_own(t, &at[k]) == here || depth == 0) /* the label has told the innermost */
                at[equal++] = at[k];
        if (equal < before && here != 0) {
            first = first != 0 ? first : here;
            last = here;
        }
    }
    if (first == 0)
        return false;
    mt_frame_describe(t, first, &v);
    used = snprintf(buf, cap, "%s:%u %s", v.file, (unsigned)v.line, v.name);
    if (last != first && used > 0 && (size_t)used < cap) {
        mt_frame_describe(t, last, &v);
        (void)snprintf(buf + used, cap - (size_t)used, ", %s:%u", v.file, (unsigned)v.line);
    }
    return true;
}
