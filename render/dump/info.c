/* `memtrace info`: what a file is, without a diagnosis. */
#include "parser/base/text.h"
#include "render/dump/dump.h"
#include "render/dump/impl.h"
#include "render/base/escape.h"
#include "render/base/jsonw.h"

#include <stdio.h>
#include <string.h>

static const char not_told[] = "not told by its fields";

static const char *producer(const struct mt_trace *t)
{
    if (t->meta.torch_jit_pickler)
        return "torch::jit::Pickler (C++)";
    if (t->meta.format == MT_FMT_PICKLE)
        return "Python pickle";
    return t->meta.is_npu_table                ? "torch_npu's profiler"
           : t->meta.format == MT_FMT_JSON     ? "JSON"
           : t->meta.format == MT_FMT_PROFILER ? "torch.profiler"
           : t->meta.format == MT_FMT_MEMRAY   ? "memray"
                                               : "unknown";
}

static const char *completeness(const struct mt_trace *t, const struct mt_device *d, char *buf,
                                size_t cap)
{
    if (t->damaged)
        return "damaged: see the diagnoses";
    if (d->ring_overflowed == 1)
        return "ring buffer overflowed: the beginning is lost";
    if (d->events.n == 0)
        return "no history: recording was off when the snapshot was taken, or the file is state "
               "only";
    if (d->events.n == 1 && d->n_by_action[MT_ACT_ALLOC] == 0)
        return "state only: one entry is what enabled=\"state\" leaves";
    if (d->ring_max_entries != 0 && d->events.n >= d->ring_max_entries)
        return "ring buffer full: the beginning may be lost";
    if (d->ring_max_entries != 0 || d->ring_overflowed == 0) {
        (void)snprintf(buf, cap, "whole since recording began");
        return buf;
    }
    return d->events.n % 1000 == 0 &&
                   (t->meta.format == MT_FMT_PICKLE || t->meta.format == MT_FMT_JSON)
               ? "a round number of entries: the ring buffer may have lost the beginning"
               : "no sign of loss";
}

static void input_name(struct mt_out *o, const struct mt_meta *m)
{
    const char *in = m->input ? m->input : "-";
    mt_term(o, in, strlen(in));
    if (m->member != NULL) {
        mt_puts(o, ": ");
        mt_term(o, m->member, strlen(m->member));
    }
}

static void device(const struct mt_trace *t, const struct mt_device *d, struct mt_out *o)
{
    char a[40], b[40], c[40], buf[80];
    uint64_t segments = 0, blocks = 0, reserved = 0;
    unsigned n = 0;
    for (uint32_t i = 0; i < t->segments.n; i++) {
        const struct mt_segment *s = &t->segments.p[i];
        if (mt_segment_is_on(s, d->ordinal, d->kind)) {
            segments++;
            blocks += s->n_blocks;
            reserved += s->total;
        }
    }
    mt_putf(o,
            d->kind == MT_DEV_CUDA   ? "  device %d\n"
            : d->kind == MT_DEV_HOST ? "  pinned host memory\n"
                                     : "  host memory\n",
            d->ordinal);
    if (d->has_totals)
        mt_putf(o, "    at its end    %s live, %s%s\n", mt_fmt_bytes(a, d->live_end),
                d->reserved_end != 0 ? mt_fmt_bytes(b, d->reserved_end) : "what was",
                d->reserved_end != 0 ? " reserved" : " reserved was not recorded");
    else if (segments == 0)
        mt_puts(o, "    segments      none: what was reserved and live is not told\n");
    else
        mt_putf(o, "    segments      %s with %s block%s, %s reserved\n", mt_fmt_count(a, segments),
                mt_fmt_count(b, blocks), mt_plural(blocks, "", "s"), mt_fmt_bytes(c, reserved));
    mt_putf(o, "    events        %s%s", d->events.n ? mt_fmt_count(a, d->events.n) : "none",
            d->events.n ? ": " : "");
    for (int act = 0; act < MT_ACT_COUNT; act++)
        if (d->n_by_action[act] != 0)
            mt_putf(o, "%s%s %s", n++ ? ", " : "", mt_fmt_count(a, d->n_by_action[act]),
                    mt_action_name((enum mt_action)act));
    mt_putc(o, '\n');
    if (d->events.n != 0) {
        mt_putf(o, "    stacks        on %s of the events\n",
                mt_fmt_percent(a, d->n_with_stack, d->events.n));
        if (d->n_with_time == d->events.n)
            mt_putf(o, "    time          %s from %s\n",
                    mt_fmt_seconds(a, mt_event_ns(d, d->events.n - 1) - mt_event_ns(d, 0)),
                    mt_fmt_utc(b, mt_event_ns(d, 0)));
        else
            mt_putf(o, "    time          %s\n",
                    d->n_with_time ? "on some of the events" : "not recorded");
    }
    if (d->ring_max_entries != 0)
        mt_putf(o, "    ring buffer   %s entries\n", mt_fmt_count(a, d->ring_max_entries));
    mt_putf(o, "    completeness  %s\n", completeness(t, d, buf, sizeof buf));
}

static void diagnoses(const struct mt_trace *t, struct mt_out *o)
{
    for (uint32_t i = 0; i < t->diags.n; i++) {
        const struct mt_diag *d = &t->diags.p[i];
        mt_puts(o, d->level == MT_DIAG_DAMAGE ? "  damaged         " : "  note            ");
        mt_term(o, mt_str(t, d->text), mt_str_len(t, d->text));
        if (d->has_offset)
            mt_putf(o, " (offset %llu)", (unsigned long long)d->offset);
        mt_putc(o, '\n');
    }
}

/* Of PyTorch's allocator: those that decide much, by name. */
static void settings(const struct mt_trace *t, struct mt_out *o)
{
    static const char *const said[] = {"PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF",
                                       "expandable_segments"};
    char a[40];
    if (t->settings.n == 0)
        return;
    mt_putf(o, "  allocator       %s setting%s", mt_fmt_count(a, t->settings.n),
            mt_plural(t->settings.n, "", "s"));
    for (unsigned k = 0, n = 0; k < sizeof said / sizeof *said; k++)
        for (uint32_t i = 0; i < t->settings.n; i++) {
            const struct mt_setting *x = &t->settings.p[i];
            if (strcmp(mt_str(t, x->key), said[k]) != 0 || mt_str_len(t, x->value) == 0)
                continue;
            mt_putf(o, "%s%s ", n++ == 0 ? ": " : ", ", said[k]);
            mt_term(o, mt_str(t, x->value),
                    mt_utf8_cut(mt_str(t, x->value), mt_str_len(t, x->value), 120));
        }
    mt_putc(o, '\n');
}

static void seen(const struct mt_trace *t, const char *what, const struct mt_counted *c,
                 struct mt_out *o)
{
    char a[40];
    mt_puts(o, what);
    mt_term(o, mt_str(t, c->name), mt_str_len(t, c->name));
    mt_putf(o, ", %s time%s\n", mt_fmt_count(a, c->n), mt_plural(c->n, "", "s"));
}

void mt_render_info(const struct mt_trace *t, struct mt_out *o)
{
    const struct mt_meta *m = &t->meta;
    char a[40], b[40];
    input_name(o, m);
    mt_putc(o, '\n');
    if (t->driver != NULL) {
        mt_info_driver(t, o);
        diagnoses(t, o);
        return;
    }
    mt_putf(o, "  format          %s%s",
            m->is_timeline                 ? "memory timeline of "
            : m->is_npu_table              ? "operator_memory.csv of "
            : m->format == MT_FMT_PROFILER ? "Chrome trace of "
            : m->format == MT_FMT_MEMRAY   ? "recording of "
                                           : "PyTorch memory snapshot, ",
            producer(t));
    if (m->format == MT_FMT_PICKLE)
        mt_putf(o, " protocol %d", m->pickle_protocol);
    if (m->encoding != NULL && m->encoding[0])
        mt_putf(o, ", in %s", m->encoding);
    if (m->format != MT_FMT_PROFILER && m->format != MT_FMT_MEMRAY)
        mt_putf(o, "\n  PyTorch         %s",
                mt_trace_pytorch(t) != NULL ? mt_trace_pytorch(t) : not_told);
    mt_putf(o, "\n  size            %s", mt_fmt_bytes(a, m->bytes));
    if (m->input_bytes != 0 && m->input_bytes != m->bytes)
        mt_putf(o, " in an input of %s", mt_fmt_bytes(b, m->input_bytes));
    mt_putc(o, '\n');
    if (m->sha256[0])
        mt_putf(o, "  sha256          %s\n", m->sha256);
    if (m->rank >= 0)
        mt_putf(o, "  rank            %d\n", m->rank);
    if (m->pid >= 0)
        mt_putf(o, "  pid             %lld\n", (long long)m->pid);
    if (m->host != NULL) {
        mt_puts(o, "  host            ");
        mt_term(o, m->host, strlen(m->host));
        mt_putc(o, '\n');
    }
    if (t->n_distinct_stacks == 0)
        mt_puts(o, "  stacks          none recorded\n");
    else
        mt_putf(o, "  stacks          %s distinct, of %s frame%s\n",
                mt_fmt_count(a, t->n_distinct_stacks), mt_fmt_count(b, t->frames.n - 1u),
                mt_plural(t->frames.n - 1u, "", "s"));
    if (t->ranges.n != 0)
        mt_putf(o, "  annotations     %s named range%s\n", mt_fmt_count(a, t->ranges.n),
                mt_plural(t->ranges.n, "", "s"));
    settings(t, o);
    for (uint32_t i = 0; i < t->devices.n; i++)
        device(t, &t->devices.p[i], o);
    for (uint32_t i = 0; i < t->unknown_keys.n; i++)
        seen(t, "  unknown key     ", &t->unknown_keys.p[i], o);
    for (uint32_t i = 0; i < t->unknown_actions.n; i++)
        seen(t, "  unknown action  ", &t->unknown_actions.p[i], o);
    diagnoses(t, o);
}

void mt_render_info_json(const struct mt_trace *t, struct mt_out *o)
{
    const struct mt_meta *m = &t->meta;
    struct mt_jsonw jw, *w = &jw;
    char buf[80];
    mt_jw_init(w, o, true);
    mt_jw_open(w, '{');
    if (t->driver != NULL) {
        mt_info_driver_json(t, w);
        mt_jw_close(w, '}');
        mt_putc(o, '\n');
        return;
    }
    mt_jw_ks(w, "input", m->input);
    mt_jw_ks(w, "member", m->member);
    mt_jw_ks(w, "format", mt_format_name(m->format));
    mt_jw_ks(w, "producer", producer(t));
    if (m->format == MT_FMT_PICKLE)
        mt_jw_ki(w, "pickle_protocol", m->pickle_protocol);
    mt_jw_ks(w, "encoding", m->encoding != NULL && m->encoding[0] ? m->encoding : NULL);
    mt_jw_ks(w, "pytorch", mt_trace_pytorch(t) != NULL ? mt_trace_pytorch(t) : not_told);
    mt_jw_ku(w, "bytes", m->bytes);
    mt_jw_ku(w, "input_bytes", m->input_bytes);
    mt_jw_ks(w, "sha256", m->sha256[0] ? m->sha256 : NULL);
    mt_jw_key(w, "rank");
    if (m->rank >= 0)
        mt_jw_i(w, m->rank);
    else
        mt_jw_null(w);
    mt_jw_key(w, "pid");
    if (m->pid >= 0)
        mt_jw_i(w, m->pid);
    else
        mt_jw_null(w);
    mt_jw_ks(w, "host", m->host);
    mt_jw_kb(w, "damaged", t->damaged);
    mt_jw_ku(w, "distinct_stacks", t->n_distinct_stacks);
    mt_jw_ku(w, "frames", t->frames.n - 1u);
    mt_jw_ku(w, "annotations", t->ranges.n);
    mt_jw_key(w, "devices");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < t->devices.n; i++) {
        const struct mt_device *d = &t->devices.p[i];
        mt_jw_open(w, '{');
        mt_jw_ki(w, "device", d->ordinal);
        mt_jw_ks(w, "kind", mt_device_kind_name(d->kind));
        mt_jw_ku(w, "events", d->events.n);
        mt_jw_key(w, "actions");
        mt_jw_open(w, '{');
        for (int act = 0; act < MT_ACT_COUNT; act++)
            if (d->n_by_action[act] != 0)
                mt_jw_ku(w, mt_action_name((enum mt_action)act), d->n_by_action[act]);
        mt_jw_close(w, '}');
        mt_jw_ku(w, "events_with_stack", d->n_with_stack);
        mt_jw_ku(w, "events_with_time", d->n_with_time);
        mt_jw_ku(w, "first_time_ns", d->events.n ? mt_event_ns(d, 0) : 0);
        mt_jw_ku(w, "last_time_ns", d->events.n ? mt_event_ns(d, d->events.n - 1) : 0);
        mt_jw_ks(w, "completeness", completeness(t, d, buf, sizeof buf));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
    mt_putc(o, '\n');
}
