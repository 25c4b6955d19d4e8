/* Tracks by their device, and stacks as frames. */
#include "render/export/impl.h"

#include "analysis/base/frames.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

const struct mt_export_track *mt_export_track_of(const struct mt_export *x,
                                                 const struct mt_rank *rank, uint32_t device)
{
    for (uint32_t i = 0; i < x->tracks.n; i++)
        if (x->tracks.p[i].trace == rank->trace &&
            x->tracks.p[i].device == rank->analysis->devices.p[device].device)
            return &x->tracks.p[i];
    return NULL;
}

char *mt_export_track_name(char *buf, size_t cap, const struct mt_report *r,
                           const struct mt_rank *rank, const struct mt_device_analysis *d)
{
    const struct mt_meta *m = &rank->trace->meta;
    const char *file = m->member != NULL && m->member[0] != '\0' ? m->member : m->input;
    int n = 0;
    buf[0] = '\0';
    if (m->rank >= 0)
        n = snprintf(buf, cap, "rank %ld, ", (long)m->rank);
    else if (r->diagnosis->ranks.n > 1 && file != NULL)
        n = snprintf(buf, cap, "%.200s, ", file);
    if (n < 0 || (size_t)n >= cap)
        n = 0;
    if (d->kind == MT_DEV_HOST)
        snprintf(buf + n, cap - (size_t)n, "pinned host memory");
    else if (d->kind == MT_DEV_CPU)
        snprintf(buf + n, cap - (size_t)n, "host memory");
    else
        snprintf(buf + n, cap - (size_t)n, "GPU %ld", (long)d->ordinal);
    return buf;
}

void mt_export_frames(const struct mt_trace *t, mt_stack_id s, mt_frame_id out[MT_EXPORT_DEPTH],
                      uint32_t *n, uint32_t *cut)
{
    uint32_t k = 0, depth = 0;
    for (mt_stack_id at = s; at != 0; at = t->stacks.p[at].parent)
        depth++;
    *cut = depth > MT_EXPORT_DEPTH ? depth - MT_EXPORT_DEPTH : 0;
    depth -= *cut;
    for (mt_stack_id at = s; k < depth; at = t->stacks.p[at].parent)
        out[depth - ++k] = t->stacks.p[at].frame;
    *n = depth;
}

char *mt_export_frame_words(char *buf, size_t cap, const struct mt_trace *t, mt_frame_id f)
{
    struct mt_frame_view v;
    mt_frame_describe(t, f, &v);
    if (v.file[0] == '\0' || strcmp(v.file, "??") == 0)
        snprintf(buf, cap, "%s", v.name[0] != '\0' ? v.name : "(frame without a name)");
    else if (v.line == 0)
        snprintf(buf, cap, "%s (%s)", v.name, v.file);
    else
        snprintf(buf, cap, "%s (%s:%lu)", v.name, v.file, (unsigned long)v.line);
    return buf;
}

const char *mt_export_no_frame_words(mt_stack_id s)
{
    return s == MT_EXPORT_LOST ? "(its free is not in the trace)" : "(no stack recorded)";
}
