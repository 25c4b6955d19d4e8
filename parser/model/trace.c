#include "parser/model/trace.h"

#include "parser/model/driver.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *mt_device_kind_name(enum mt_device_kind k)
{
    return k == MT_DEV_HOST ? "host" : k == MT_DEV_CPU ? "cpu" : "cuda";
}

const char *mt_action_name(enum mt_action a)
{
    static const char *const names[MT_ACT_COUNT] = {
        [MT_ACT_OTHER] = "other",
        [MT_ACT_ALLOC] = "alloc",
        [MT_ACT_FREE_REQUESTED] = "free_requested",
        [MT_ACT_FREE_COMPLETED] = "free_completed",
        [MT_ACT_SEGMENT_ALLOC] = "segment_alloc",
        [MT_ACT_SEGMENT_FREE] = "segment_free",
        [MT_ACT_SEGMENT_MAP] = "segment_map",
        [MT_ACT_SEGMENT_UNMAP] = "segment_unmap",
        [MT_ACT_OOM] = "oom",
        [MT_ACT_SNAPSHOT] = "snapshot",
        [MT_ACT_ANNOTATE] = "annotate",
    };
    return (unsigned)a < MT_ACT_COUNT ? names[a] : "other";
}

const char *mt_block_state_name(enum mt_block_state s)
{
    return s == MT_BLOCK_ACTIVE         ? "active_allocated"
           : s == MT_BLOCK_PENDING_FREE ? "active_pending_free"
                                        : "inactive";
}

struct mt_trace *mt_trace_new(void)
{
    struct mt_trace *t = mt_calloc(1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->meta.rank = -1;
    t->meta.name_number = -1;
    t->meta.pid = -1;
    if (!mt_strpool_init(&t->str) || MT_VEC_PUSH(&t->frames) == NULL ||
        MT_VEC_PUSH(&t->stacks) == NULL || MT_VEC_PUSH(&t->lanes) == NULL) {
        mt_trace_free(t);
        return NULL;
    }
    return t;
}

static void events_done(struct mt_events *e)
{
    for (uint32_t i = 0; i < e->n_chunks; i++)
        mt_free(e->chunk[i]);
    mt_free(e->chunk);
    MT_VEC_DONE(&e->stretches);
    mt_arena_done(&e->times);
    memset(e, 0, sizeof *e);
}

void mt_trace_drop_events(struct mt_trace *t)
{
    for (uint32_t i = 0; i < t->devices.n; i++) {
        uint64_t n = t->devices.p[i].events.n;
        events_done(&t->devices.p[i].events);
        t->devices.p[i].events.n = n;
    }
}

void mt_trace_forget(struct mt_trace *t)
{
    MT_VEC_DONE(&t->frames);
    MT_VEC_DONE(&t->functions);
    MT_VEC_DONE(&t->files);
    MT_VEC_DONE(&t->stacks);
    MT_VEC_DONE(&t->lanes);
    MT_VEC_DONE(&t->segments);
    MT_VEC_DONE(&t->blocks);
    MT_VEC_DONE(&t->ranges);
    MT_VEC_DONE(&t->notes);
    MT_VEC_DONE(&t->fx);
    MT_VEC_DONE(&t->settings);
}

void mt_trace_free(struct mt_trace *t)
{
    if (t == NULL)
        return;
    for (uint32_t i = 0; i < t->devices.n; i++)
        events_done(&t->devices.p[i].events);
    mt_strpool_done(&t->str);
    mt_trace_forget(t);
    MT_VEC_DONE(&t->devices);
    MT_VEC_DONE(&t->unknown_keys);
    MT_VEC_DONE(&t->unknown_actions);
    MT_VEC_DONE(&t->diags);
    mt_driver_free(t->driver);
    mt_free(t->meta.input);
    mt_free(t->meta.member);
    mt_free(t->meta.encoding);
    mt_free(t->meta.host);
    mt_free(t);
}

const struct mt_fx *mt_fx_of(const struct mt_trace *t, mt_frame_id frame)
{
    uint32_t from = 0, to = t->fx.n;
    while (from < to) {
        uint32_t at = from + (to - from) / 2;
        if (t->fx.p[at].frame == frame)
            return &t->fx.p[at];
        if (t->fx.p[at].frame < frame)
            from = at + 1;
        else
            to = at;
    }
    return NULL;
}

const struct mt_note *mt_note_of(const struct mt_trace *t, uint32_t device, uint64_t event,
                                 enum mt_note_kind kind)
{
    uint32_t from = 0, to = t->notes.n;
    while (from < to) {
        uint32_t at = from + (to - from) / 2;
        const struct mt_note *n = &t->notes.p[at];
        bool before = n->device != device ? n->device < device
                      : n->event != event ? n->event < event
                                          : n->kind < kind;
        if (n->device == device && n->event == event && n->kind == kind)
            return n;
        if (before)
            from = at + 1;
        else
            to = at;
    }
    return NULL;
}

void mt_trace_diag(struct mt_trace *t, enum mt_diag_level level, bool has_offset, uint64_t offset,
                   const char *fmt, ...)
{
    char buf[1024];
    va_list ap;
    struct mt_diag *d;
    mt_str_id id;
    if (level == MT_DIAG_DAMAGE)
        t->damaged = true;
    t->n_diags++;
    if (t->diags.n >= MT_MAX_DIAGS)
        return;
    va_start(ap, fmt);
    if (vsnprintf(buf, sizeof buf, fmt, ap) < 0)
        buf[0] = '\0';
    va_end(ap);
    id = mt_strpool_add(&t->str, buf, strlen(buf));
    if (id == MT_STR_FAIL || (d = MT_VEC_PUSH(&t->diags)) == NULL)
        return;
    d->level = level;
    d->has_offset = has_offset;
    d->offset = offset;
    d->text = id;
}

const char *mt_trace_pytorch(const struct mt_trace *t)
{
    uint64_t events = 0, timed = 0;
    bool pools = false, notes = t->notes.n != 0;
    if (t->meta.pytorch != NULL)
        return t->meta.pytorch;
    for (uint32_t i = 0; i < t->devices.n; i++) {
        events += t->devices.p[i].events.n;
        timed += t->devices.p[i].n_with_time;
    }
    for (uint32_t i = 0; i < t->segments.n; i++)
        pools |= t->segments.p[i].pool_known && !t->segments.p[i].is_host;
    if (t->meta.has_host)
        return "2.14 or newer";
    if (t->meta.legacy_blocks)
        return t->meta.has_device_traces ? "2.0" : "1.13 or older";
    if (t->meta.has_annotations)
        return notes ? "2.8 or newer" : "2.5 or newer";
    if (t->meta.has_settings)
        return "2.3 or newer";
    if (pools)
        return timed != 0 ? "2.2 or newer" : events != 0 ? "2.1, or torch_npu" : "2.1 or newer";
    return NULL;
}
