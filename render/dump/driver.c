/* The lines of `memtrace dump` for a trace of driver calls. Process and GPU numbers are those of
 * the lines "process" and "gpu"; members that are 0 or unknown are left out of calls and
 * activities. Addresses and handles are numbers, uids hexadecimal as in file names. */
#include "render/dump/impl.h"

#include <stdio.h>

static void uid(struct mt_dump *d, uint64_t v)
{
    char buf[24];
    (void)snprintf(buf, sizeof buf, "%016llx", (unsigned long long)v);
    mt_jw_ks(&d->w, "uid", buf);
}

/* Only what says something. */
static void some(struct mt_dump *d, const char *key, uint64_t v)
{
    if (v != 0)
        mt_jw_ku(&d->w, key, v);
}

static void some_str(struct mt_dump *d, const char *key, mt_str_id id)
{
    if (id != 0)
        mt_dump_str(d, key, id);
}

static void gpu(struct mt_dump *d, uint32_t g)
{
    if (g != MT_NONE32)
        mt_jw_ku(&d->w, "gpu", g);
}

static void processes(struct mt_dump *d)
{
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->launch.n; i++) {
        mt_dump_begin(d, "launch");
        mt_dump_str(d, "key", v->launch.p[i].key);
        mt_dump_str(d, "value", v->launch.p[i].value);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->processes.n; i++) {
        const struct mt_process *p = &v->processes.p[i];
        mt_dump_begin(d, "process");
        mt_jw_ku(&d->w, "process", i);
        uid(d, p->uid);
        mt_jw_ku(&d->w, "pid", p->pid);
        mt_jw_ku(&d->w, "ppid", p->ppid);
        mt_dump_str(d, "host", p->host);
        mt_dump_str(d, "name", p->name);
        mt_dump_str(d, "exe", p->exe);
        mt_dump_str(d, "command", p->command);
        if (p->rank >= 0)
            mt_jw_ki(&d->w, "rank", p->rank);
        if (p->local_rank >= 0)
            mt_jw_ki(&d->w, "local_rank", p->local_rank);
        mt_jw_ku(&d->w, "first_ns", p->first_ns);
        mt_jw_ku(&d->w, "last_ns", p->last_ns);
        mt_jw_kb(&d->w, "has_cuda", p->has_cuda);
        mt_jw_ku(&d->w, "calls", p->n_calls);
        mt_jw_ku(&d->w, "records", p->n_records);
        mt_jw_ku(&d->w, "chunks", p->n_chunks);
        mt_jw_ku(&d->w, "missing_chunks", p->n_missing);
        mt_jw_ku(&d->w, "dropped_records", p->n_dropped);
        if (p->whole_ns != 0) {
            mt_jw_ku(&d->w, "whole_time_ns", p->whole_ns);
            mt_jw_ku(&d->w, "records_let_go", p->n_let_go);
        }
        mt_dump_end(d);
        mt_dump_begin(d, "end");
        mt_jw_ku(&d->w, "process", i);
        mt_jw_ks(&d->w, "how", mt_end_name(p->end));
        if (p->end == MT_END_STATUS || p->end == MT_END_SIGNAL)
            mt_jw_ki(&d->w, p->end == MT_END_SIGNAL ? "signal" : "status", p->end_status);
        mt_dump_end(d);
        for (uint32_t k = 0; k < p->n_attrs; k++) {
            mt_dump_begin(d, "attr");
            mt_jw_ku(&d->w, "process", i);
            mt_dump_str(d, "key", v->attrs.p[p->first_attr + k].key);
            mt_dump_str(d, "value", v->attrs.p[p->first_attr + k].value);
            mt_dump_end(d);
        }
    }
    for (uint32_t i = 0; i < v->threads.n; i++) {
        mt_dump_begin(d, "thread");
        mt_jw_ku(&d->w, "process", v->threads.p[i].process);
        mt_jw_ku(&d->w, "tid", v->threads.p[i].tid);
        mt_dump_str(d, "name", v->threads.p[i].name);
        mt_dump_end(d);
    }
}

static void gpus(struct mt_dump *d)
{
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->gpus.n; i++) {
        mt_dump_begin(d, "gpu");
        mt_jw_ku(&d->w, "gpu", i);
        mt_dump_str(d, "host", v->gpus.p[i].host);
        mt_dump_str(d, "uuid", v->gpus.p[i].uuid);
        mt_dump_str(d, "pci", v->gpus.p[i].pci);
        mt_dump_str(d, "name", v->gpus.p[i].name);
        mt_jw_ku(&d->w, "total", v->gpus.p[i].total);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->views.n; i++) {
        mt_dump_begin(d, "gpu_view");
        mt_jw_ku(&d->w, "process", v->views.p[i].process);
        gpu(d, v->views.p[i].gpu);
        if (v->views.p[i].index != MT_NONE32)
            mt_jw_ku(&d->w, "index", v->views.p[i].index);
        mt_jw_ki(&d->w, "ordinal", v->views.p[i].ordinal);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->modules.n; i++) {
        const struct mt_module *m = &v->modules.p[i];
        mt_dump_begin(d, "module");
        mt_jw_ku(&d->w, "process", m->process);
        mt_jw_ku(&d->w, "base", m->base);
        mt_jw_ku(&d->w, "size", m->size);
        mt_dump_str(d, "path", m->path);
        mt_dump_str(d, "build_id", m->build_id);
        mt_dump_end(d);
    }
}

static void calls(struct mt_dump *d)
{
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->calls.n && d->w.o->error == 0; i++) {
        const struct mt_call *c = &v->calls.p[i];
        const struct mt_call_rare *r = mt_call_rare(v, c);
        uint32_t stack = mt_dump_stack(d, c->stack);
        mt_dump_begin(d, "call");
        mt_jw_ku(&d->w, "process", c->process);
        mt_jw_ku(&d->w, "time_ns", c->time_ns);
        mt_jw_ku(&d->w, "dur_ns", c->dur_ns);
        mt_jw_ku(&d->w, "tid", c->tid);
        mt_jw_ks(&d->w, "op", mt_op_name((enum mt_wire_op)c->op));
        mt_jw_ku(&d->w, "cbid", c->cbid);
        some_str(d, "name", r->name);
        mt_jw_ku(&d->w, "result", c->result);
        gpu(d, c->gpu);
        some(d, "addr", c->addr);
        some(d, "size", c->size);
        some(d, "handle", c->handle);
        some(d, "offset", r->offset);
        some(d, "stream", r->stream);
        some(d, "pool", r->pool);
        some(d, "context", c->context);
        some(d, "flags", r->flags);
        some(d, "location", c->location);
        if (c->op == MT_WO_MEM_INFO || r->total != 0) {
            mt_jw_ku(&d->w, "free", r->free);
            mt_jw_ku(&d->w, "total", r->total);
        }
        if (c->has_change)
            mt_jw_ki(&d->w, "change", c->change);
        some(d, "corr", c->corr);
        some(d, "stack", stack);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->activities.n && d->w.o->error == 0; i++) {
        const struct mt_activity *a = &v->activities.p[i];
        mt_dump_begin(d, a->is_pool ? "pool_activity" : "activity");
        mt_jw_ku(&d->w, "process", a->process);
        mt_jw_ku(&d->w, "time_ns", a->time_ns);
        mt_jw_ku(&d->w, "op", a->op);
        if (!a->is_pool)
            mt_jw_ku(&d->w, "kind", a->kind);
        gpu(d, a->gpu);
        mt_jw_ku(&d->w, "addr", a->addr);
        mt_jw_ku(&d->w, "size", a->size);
        some(d, "utilized", a->utilized);
        some(d, "corr", a->corr);
        some_str(d, "name", a->name);
        some_str(d, "source", a->source);
        mt_dump_end(d);
    }
}

static void samples(struct mt_dump *d)
{
    static const char *const whys[] = {"periodic", "oom", "start", "end"};
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->samples.n; i++) {
        const struct mt_gpu_sample *s = &v->samples.p[i];
        mt_dump_begin(d, "gpu_sample");
        mt_jw_ku(&d->w, "process", s->process);
        mt_jw_ku(&d->w, "time_ns", s->time_ns);
        gpu(d, s->gpu);
        mt_jw_ks(&d->w, "why", s->why < sizeof whys / sizeof *whys ? whys[s->why] : "unknown");
        mt_jw_ku(&d->w, "used", s->used);
        mt_jw_ku(&d->w, "free", s->free);
        mt_jw_ku(&d->w, "total", s->total);
        mt_jw_key(&d->w, "processes");
        mt_jw_open(&d->w, '[');
        for (uint32_t k = s->first_use; k < s->first_use + s->n_uses; k++) {
            mt_jw_open(&d->w, '{');
            mt_jw_ku(&d->w, "pid", v->uses.p[k].pid);
            if (v->uses.p[k].used != UINT64_MAX)
                mt_jw_ku(&d->w, "used", v->uses.p[k].used);
            mt_jw_close(&d->w, '}');
        }
        mt_jw_close(&d->w, ']');
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->host_samples.n; i++) {
        const struct mt_host_sample *s = &v->host_samples.p[i];
        mt_dump_begin(d, "host_sample");
        mt_jw_ku(&d->w, "process", s->process);
        mt_jw_ku(&d->w, "time_ns", s->time_ns);
        mt_jw_ku(&d->w, "rss", s->rss);
        mt_jw_ku(&d->w, "rss_peak", s->rss_peak);
        mt_jw_ku(&d->w, "anonymous", s->anon);
        mt_jw_ku(&d->w, "shared", s->shared);
        mt_jw_ku(&d->w, "pinned", s->pinned);
        mt_dump_end(d);
    }
}

static void ranges(struct mt_dump *d)
{
    static const char *const sources[] = {"nvtx", "api", "hook"};
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->ranges.n; i++) {
        const struct mt_nvtx *r = &v->ranges.p[i];
        mt_dump_begin(d, r->is_mark ? "mark" : "range");
        mt_jw_ku(&d->w, "process", r->process);
        mt_jw_ku(&d->w, "tid", r->tid);
        mt_dump_str(d, "name", r->name);
        some_str(d, "domain", r->domain);
        mt_jw_ks(&d->w, "source",
                 r->source < sizeof sources / sizeof *sources ? sources[r->source] : "unknown");
        if (r->is_mark) {
            mt_jw_ku(&d->w, "time_ns", r->t0_ns);
        } else {
            mt_jw_ks(&d->w, "scope", r->is_thread_range ? "thread" : "process");
            mt_jw_ku(&d->w, "t0_ns", r->t0_ns);
            mt_jw_ku(&d->w, "t1_ns", r->t1_ns);
        }
        mt_dump_end(d);
    }
}

static void rest(struct mt_dump *d)
{
    static const char *const whats[] = {"", "records", "activity", "stacks", "strings", "chunks"};
    static const char *const levels[] = {"note", "loss", "not recording"};
    const struct mt_driver *v = d->t->driver;
    for (uint32_t i = 0; i < v->statuses.n; i++) {
        const struct mt_status *s = &v->statuses.p[i];
        mt_dump_begin(d, "status");
        if (s->process != MT_NONE32)
            mt_jw_ku(&d->w, "process", s->process);
        mt_jw_ku(&d->w, "time_ns", s->time_ns);
        mt_jw_ku(&d->w, "code", s->code);
        mt_jw_ks(&d->w, "level",
                 s->level < sizeof levels / sizeof *levels ? levels[s->level] : "unknown");
        mt_dump_str(d, "text", s->text);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->losses.n; i++) {
        const struct mt_loss *l = &v->losses.p[i];
        mt_dump_begin(d, "loss");
        mt_jw_ku(&d->w, "process", l->process);
        mt_jw_ks(&d->w, "what",
                 l->what != 0 && l->what < sizeof whats / sizeof *whats ? whats[l->what]
                                                                        : "unknown");
        mt_jw_ku(&d->w, "count", l->count);
        mt_jw_ku(&d->w, "bytes", l->bytes);
        mt_dump_end(d);
    }
    for (uint32_t i = 0; i < v->attachments.n; i++) {
        const struct mt_attachment *a = &v->attachments.p[i];
        mt_dump_begin(d, "attachment");
        mt_dump_str(d, "name", a->name);
        mt_dump_str(d, "kind", a->kind);
        uid(d, a->uid);
        mt_jw_ku(&d->w, "bytes", a->bytes);
        mt_jw_ku(&d->w, "read", a->read);
        some_str(d, "text", a->text);
        mt_dump_end(d);
    }
}

void mt_dump_driver(struct mt_dump *d)
{
    processes(d);
    gpus(d);
    calls(d);
    samples(d);
    ranges(d);
    rest(d);
}
