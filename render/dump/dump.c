/* `memtrace dump`: the normalised model, one JSON object per line. The golden form of every reader:
 * two encodings of one snapshot give the same lines, so stacks and strings are numbered in order of
 * their first use here, not by their ids in the trace. */
#include "render/dump/dump.h"

#include "render/dump/impl.h"

static void pool(struct mt_dump *d, const uint64_t p[2])
{
    mt_jw_key(&d->w, "pool");
    mt_jw_open(&d->w, '[');
    mt_jw_u(&d->w, p[0]);
    mt_jw_u(&d->w, p[1]);
    mt_jw_close(&d->w, ']');
}

static void meta(struct mt_dump *d)
{
    const struct mt_meta *m = &d->t->meta;
    mt_dump_begin(d, "meta");
    mt_jw_ks(&d->w, "input", m->input);
    mt_jw_ks(&d->w, "member", m->member);
    mt_jw_ks(&d->w, "format", mt_format_name(m->format));
    if (m->format == MT_FMT_PICKLE)
        mt_jw_ki(&d->w, "pickle_protocol", m->pickle_protocol);
    if (m->format != MT_FMT_MEMTRACE && m->format != MT_FMT_NSYS)
        mt_jw_kb(&d->w, "torch_jit_pickler", m->torch_jit_pickler);
    mt_jw_ku(&d->w, "bytes", m->bytes);
    mt_dump_end(d);
}

static void segments(struct mt_dump *d)
{
    for (uint32_t i = 0; i < d->t->segments.n; i++) {
        const struct mt_segment *s = &d->t->segments.p[i];
        uint32_t stack = mt_dump_stack(d, s->stack);
        mt_dump_begin(d, s->is_host ? "host_segment" : "segment");
        mt_jw_ki(&d->w, "device", s->device);
        mt_jw_ku(&d->w, "addr", s->addr);
        mt_jw_ku(&d->w, "total", s->total);
        mt_jw_ku(&d->w, "allocated", s->allocated);
        mt_jw_ku(&d->w, "active", s->active);
        mt_jw_ku(&d->w, "requested", s->requested);
        mt_jw_ki(&d->w, "stream", s->stream);
        mt_jw_kb(&d->w, "large", s->is_large);
        mt_jw_kb(&d->w, "expandable", s->is_expandable);
        if (s->pool_known)
            pool(d, s->pool);
        mt_jw_ku(&d->w, "stack", stack);
        mt_dump_end(d);
        for (uint32_t k = s->first_block; k < s->first_block + s->n_blocks; k++) {
            const struct mt_block *b = &d->t->blocks.p[k];
            stack = mt_dump_stack(d, b->stack);
            mt_dump_begin(d, "block");
            mt_jw_ku(&d->w, "addr", b->addr);
            mt_jw_ku(&d->w, "size", b->size);
            mt_jw_ku(&d->w, "requested", b->requested);
            mt_jw_ks(&d->w, "state", mt_block_state_name((enum mt_block_state)b->state));
            mt_jw_ku(&d->w, "stack", stack);
            mt_dump_end(d);
        }
    }
}

static void notes(struct mt_dump *d, uint32_t dev, uint64_t event, uint32_t *at)
{
    static const char *const names[] = {"compile_context", "user_metadata", "internal_metadata",
                                        "category"};
    const struct mt_note *n = d->t->notes.p;
    while (*at < d->t->notes.n &&
           (n[*at].device < dev || (n[*at].device == dev && n[*at].event < event)))
        (*at)++;
    for (; *at < d->t->notes.n && n[*at].device == dev && n[*at].event == event; (*at)++)
        if (n[*at].kind == MT_NOTE_FORWARD)
            mt_jw_ku(&d->w, "forward_stack", mt_dump_stack(d, n[*at].stack));
        else
            mt_dump_str(d, names[n[*at].kind], n[*at].text);
}

static void events(struct mt_dump *d, uint32_t dev)
{
    const struct mt_device *v = &d->t->devices.p[dev];
    uint32_t at = 0;
    for (uint64_t i = 0; i < v->events.n; i++) {
        const struct mt_event *e = mt_event_at(v, i);
        const struct mt_lane *l = &d->t->lanes.p[e->lane];
        const struct mt_note *forward = mt_note_of(d->t, dev, i, MT_NOTE_FORWARD);
        uint32_t stack = mt_dump_stack(d, e->stack);
        if (forward != NULL) /* its own line, before this one */
            (void)mt_dump_stack(d, forward->stack);
        mt_dump_begin(d, "event");
        mt_jw_ki(&d->w, "device", v->ordinal);
        mt_jw_ku(&d->w, "n", i);
        mt_jw_ks(&d->w, "action", mt_action_name((enum mt_action)e->action));
        mt_jw_ku(&d->w, e->action == MT_ACT_OOM ? "device_free" : "addr", e->addr);
        mt_jw_ku(&d->w, "size", e->size);
        mt_jw_ki(&d->w, "stream", l->stream);
        if (mt_event_ns(v, i) != 0)
            mt_jw_ku(&d->w, "time_ns", mt_event_ns(v, i));
        if (e->flags & MT_EV_POOL_KNOWN)
            pool(d, l->pool);
        mt_jw_ku(&d->w, "stack", stack);
        notes(d, dev, i, &at);
        mt_dump_end(d);
    }
}

static void rest(struct mt_dump *d)
{
    const struct mt_trace *t = d->t;
    for (uint32_t i = 0; i < t->ranges.n; i++) {
        mt_dump_begin(d, "range");
        mt_dump_str(d, "name", t->ranges.p[i].name);
        mt_jw_ki(&d->w, "device", t->ranges.p[i].device);
        mt_jw_ku(&d->w, "t0_ns", t->ranges.p[i].t0_ns);
        mt_jw_ku(&d->w, "t1_ns", t->ranges.p[i].t1_ns);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < t->settings.n; i++) {
        mt_dump_begin(d, "setting");
        mt_dump_str(d, "key", t->settings.p[i].key);
        mt_dump_str(d, "value", t->settings.p[i].value);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < t->unknown_keys.n + t->unknown_actions.n; i++) {
        bool key = i < t->unknown_keys.n;
        const struct mt_counted *c =
            key ? &t->unknown_keys.p[i] : &t->unknown_actions.p[i - t->unknown_keys.n];
        mt_dump_begin(d, key ? "unknown_key" : "unknown_action");
        mt_dump_str(d, "name", c->name);
        mt_jw_ku(&d->w, "count", c->n);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < t->diags.n; i++) {
        mt_dump_begin(d, "diagnosis");
        mt_jw_ks(&d->w, "level", t->diags.p[i].level == MT_DIAG_DAMAGE ? "damage" : "note");
        if (t->diags.p[i].has_offset)
            mt_jw_ku(&d->w, "offset", t->diags.p[i].offset);
        mt_dump_str(d, "text", t->diags.p[i].text);
        mt_dump_end(d);
    }
}

void mt_render_dump(const struct mt_trace *t, struct mt_out *o, bool with_meta)
{
    struct mt_dump d = {.t = t};
    d.w.o = o;
    d.number = mt_calloc(t->stacks.n, sizeof *d.number);
    if (d.number == NULL) {
        o->error = o->error ? o->error : 12 /* ENOMEM */;
        return;
    }
    if (with_meta)
        meta(&d);
    if (t->driver != NULL)
        mt_dump_driver(&d);
    segments(&d);
    for (uint32_t i = 0; i < t->devices.n; i++) {
        const struct mt_device *v = &t->devices.p[i];
        mt_dump_begin(&d, "device");
        mt_jw_ki(&d.w, "device", v->ordinal);
        mt_jw_ks(&d.w, "kind", mt_device_kind_name(v->kind));
        mt_jw_ku(&d.w, "events", v->events.n);
        if (v->ring_max_entries != 0)
            mt_jw_ku(&d.w, "max_entries", v->ring_max_entries);
        if (v->ring_overflowed >= 0)
            mt_jw_kb(&d.w, "overflowed", v->ring_overflowed != 0);
        mt_dump_end(&d);
        events(&d, i);
    }
    rest(&d);
    mt_free(d.number);
}
