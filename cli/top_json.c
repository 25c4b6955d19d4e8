/* top_json.c -- `memtrace top --json`: one object on one line for each look. */
#include "cli/top.h"
#include "render/base/escape.h"

#include <string.h>

static void text(struct mt_out *o, const char *key, const char *value)
{
    mt_putf(o, "\"%s\":", key);
    if (value != NULL)
        mt_json_str(o, value, strlen(value));
    else
        mt_puts(o, "null");
}

static void number(struct mt_out *o, const char *key, int64_t v)
{
    mt_putf(o, ",\"%s\":%lld", key, (long long)v);
}

static void phase(struct mt_out *o, enum mt_phase ph)
{
    mt_putc(o, ',');
    text(o, "phase", ph != MT_PH_NONE ? mt_phase_id(ph) : NULL);
}

static void owner(const struct mt_top *t, struct mt_out *o, uint32_t id)
{
    const struct mt_top_owner *w = id < t->owners.n ? &t->owners.p[id] : NULL;
    text(o, "holder", mt_holder_id(w != NULL ? w->holder : MT_HOLD_UNKNOWN));
    mt_putc(o, ',');
    text(o, "library", w != NULL ? w->library : NULL);
}

static void device(const struct mt_top *t, struct mt_out *o, const struct mt_top_device *d)
{
    mt_putc(o, '{');
    text(o, "host", d->host);
    number(o, "index", d->index);
    mt_putc(o, ',');
    text(o, "uuid", d->uuid);
    mt_putc(o, ',');
    text(o, "name", d->name);
    number(o, "total", (int64_t)d->total);
    if (d->sampled != 0) {
        number(o, "used", mt_top_used(d));
        number(o, "used_ns", (int64_t)d->sampled);
    } else {
        mt_puts(o, ",\"used\":null,\"used_ns\":null");
    }
    number(o, "recorded", d->recorded);
    number(o, "other", d->other);
    number(o, "rest", mt_top_rest(d));
    number(o, "processes", d->n_processes);
    phase(o, d->phase);
    mt_puts(o, ",\"owners\":[");
    for (uint32_t i = 0; i < d->rows.n; i++) {
        mt_puts(o, i > 0 ? ",{" : "{");
        owner(t, o, d->rows.p[i].owner);
        number(o, "bytes", d->rows.p[i].bytes);
        number(o, "grown", d->rows.p[i].grown);
        mt_putc(o, '}');
    }
    mt_puts(o, "]}");
}

static void process(struct mt_top *t, struct mt_out *o, const struct mt_live_process *p)
{
    mt_putc(o, '{');
    text(o, "host", p->host);
    number(o, "pid", p->pid);
    mt_putc(o, ',');
    text(o, "name", mt_live_name(p));
    if (mt_live_rank(p) >= 0)
        number(o, "rank", mt_live_rank(p));
    else
        mt_puts(o, ",\"rank\":null");
    mt_putf(o, ",\"runs\":%s", p->runs ? "true" : "false");
    number(o, "held", mt_top_held(p));
    number(o, "rss", (int64_t)p->rss);
    number(o, "calls", (int64_t)mt_live_calls(p));
    number(o, "failures", (int64_t)p->n_ooms);
    number(o, "lost", (int64_t)mt_live_lost(p));
    phase(o, mt_top_phase_or_guide(t, p));
    mt_putc(o, '}');
}

static void what(const struct mt_top *t, struct mt_out *o, const char *key,
                 const struct mt_top_what *w)
{
    mt_putf(o, ",\"%s\":", key);
    if (w->process == NULL) {
        mt_puts(o, "null");
        return;
    }
    mt_putc(o, '{');
    owner(t, o, w->owner);
    number(o, "bytes", w->bytes);
    number(o, "time_ns", (int64_t)w->time_ns);
    number(o, "span_ns", (int64_t)w->span_ns);
    mt_putc(o, ',');
    text(o, "host", w->process->host);
    number(o, "pid", w->process->pid);
    if (w->device != NULL)
        number(o, "index", w->device->index);
    else
        mt_puts(o, ",\"index\":null");
    mt_putc(o, '}');
}

void mt_top_json(struct mt_top *t, struct mt_out *o)
{
    const char *comma = "";
    mt_putf(o, "{\"time_ns\":%llu,\"recordings\":[", (unsigned long long)t->now);
    for (uint32_t i = 0; i < t->lives.n; i++) {
        mt_puts(o, i > 0 ? "," : "");
        mt_json_str(o, t->lives.p[i]->dir, strlen(t->lives.p[i]->dir));
    }
    mt_puts(o, "],\"devices\":[");
    for (uint32_t i = 0; i < t->devices.n; i++) {
        mt_puts(o, i > 0 ? "," : "");
        device(t, o, &t->devices.p[i]);
    }
    mt_puts(o, "],\"processes\":[");
    for (uint32_t l = 0; l < t->lives.n; l++)
        for (uint32_t i = 0; i < t->lives.p[l]->processes.n; i++) {
            mt_puts(o, comma);
            process(t, o, t->lives.p[l]->processes.p[i]);
            comma = ",";
        }
    mt_puts(o, "]");
    number(o, "failures", (int64_t)t->n_failures);
    what(t, o, "last_failure", &t->failure);
    what(t, o, "growth", &t->growth);
    mt_puts(o, "}\n");
}
