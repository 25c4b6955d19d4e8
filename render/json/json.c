/* The analysis as JSON for scripts. The names are documented in docs/json.md and stay stable; sizes
 * are integers in bytes. */
#include "render/json/json.h"

#include "render/json/impl.h"
#include "render/view/driver.h"
#include "render/view/run.h"
#include "render/view/diagnosis.h"
#include "render/view/stack.h"
#include "render/view/fleet.h"
#include "render/view/rows.h"
#include "render/json/ranks.h"
#include "render/view/view.h"

#include <errno.h>
#include <string.h>

enum { SCHEMA_VERSION = 1 };

/* The program's own line behind one of generated code. */
static void stands_for(struct mt_jsonw *w, const struct mt_trace *t, const struct mt_fx *x)
{
    if (x == NULL || x->line == 0)
        return;
    mt_jw_key(w, "stands_for");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "name", mt_str(t, t->frames.p[x->line].name));
    mt_jw_ks(w, "file", mt_str(t, t->frames.p[x->line].file));
    mt_jw_ku(w, "line", t->frames.p[x->line].line);
    mt_jw_ks(w, "code", x->code != 0 ? mt_str(t, x->code) : NULL);
    mt_jw_close(w, '}');
}

static void frames_as(struct mt_jsonw *w, const char *key, const struct mt_report *r,
                      const struct mt_trace *t, struct mt_file_kinds *kinds, mt_stack_id s)
{
    bool is_whole = r->all_frames || !mt_stack_has_own(t, kinds, s);
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (mt_stack_id i = s; i != 0; i = t->stacks.p[i].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[i].frame];
        if (!is_whole && !mt_frame_is_own(t, kinds, t->stacks.p[i].frame))
            continue;
        mt_jw_open(w, '{');
        mt_jw_key(w, "name");
        mt_jw_str(w, mt_str(t, f->name), mt_str_len(t, f->name));
        mt_jw_key(w, "file");
        mt_jw_str(w, mt_str(t, f->file), mt_str_len(t, f->file));
        mt_jw_ku(w, "line", f->line);
        stands_for(w, t, mt_fx_of(t, t->stacks.p[i].frame));
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void log_frames(struct mt_jsonw *w, const struct mt_log_stack *s)
{
    mt_jw_key(w, "frames");
    mt_jw_open(w, '[');
    for (uint32_t i = s != NULL ? s->frames.n : 0; i-- > 0;) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "name", s->frames.p[i].function);
        mt_jw_ks(w, "file", s->frames.p[i].file);
        mt_jw_ku(w, "line", s->frames.p[i].line);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

/* Of a block of the backward pass those of its forward as well, where they were recorded. */
static void frames(struct mt_jsonw *w, const struct mt_report *r, const struct mt_trace *t,
                   struct mt_file_kinds *kinds, mt_stack_id s, mt_stack_id forward)
{
    frames_as(w, "frames", r, t, kinds, s);
    if (forward != 0)
        frames_as(w, "forward_frames", r, t, kinds, forward);
}

static void attribution(struct mt_jsonw *w, const struct mt_report *r, struct mt_attr a)
{
    const struct mt_phase_rule *rule =
        r->diagnosis->opts.rules != NULL
            ? mt_phase_rule_at(r->diagnosis->opts.rules->phases, mt_attr_rule(a))
            : NULL;
    mt_json_phase(w, (enum mt_phase)a.phase, (enum mt_phase)a.sub);
    mt_jw_ks(w, "rule", rule ? rule->id : NULL);
    mt_jw_ks(w, "confidence", mt_conf_name(mt_attr_conf(a)));
}

static void state(struct mt_jsonw *w, const struct mt_state *s)
{
    mt_jw_key(w, "event");
    if (s->event == MT_NO_EVENT)
        mt_jw_null(w);
    else
        mt_jw_i(w, s->event);
    mt_jw_known(w, "time_ns", s->time_ns != 0, s->time_ns);
    mt_jw_ku(w, "live_bytes", s->live);
    mt_jw_ku(w, "pending_free_bytes", s->pending);
    mt_jw_ku(w, "reserved_bytes", s->reserved);
    mt_jw_ku(w, "reserved_free_bytes", s->reserved_free);
    mt_jw_known(w, "largest_hole_bytes", s->holes_known, s->largest_free);
    mt_jw_known(w, "largest_usable_hole_bytes", s->holes_known, s->largest_usable);
    mt_jw_known(w, "usable_free_bytes", s->holes_known, s->free_usable);
    mt_jw_known(w, "holes", s->holes_known, s->n_holes);
}

/* The headline is the driver's: the same keys, and what only a snapshot knows is null. */
static void job_verdict(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_driverdiag *j = r->diagnosis->driver;
    const struct mt_driver_oom *o = j->kind == MT_V_OOM ? &j->ooms.p[j->oom] : NULL;
    const struct mt_process *p =
        o != NULL ? &j->drivers.p[o->driver]->driver->processes.p[o->process] : NULL;
    const struct mt_meta *m = &j->drivers.p[o != NULL ? o->driver : 0]->meta;
    mt_jw_ks(w, "kind", o != NULL ? "driver_oom" : j->kind == MT_V_PEAK ? "driver_peak" : "empty");
    mt_json_phase(w, o != NULL ? o->phase : MT_PH_UNATTRIBUTED, o != NULL ? o->sub : MT_PH_NONE);
    mt_jw_ks(
        w, "confidence",
        mt_conf_name(o != NULL && o->phase != MT_PH_UNATTRIBUTED ? MT_CONF_MARKED : MT_CONF_NONE));
    mt_jw_key(w, "rank");
    if (p != NULL && p->rank >= 0)
        mt_jw_i(w, p->rank);
    else
        mt_jw_null(w);
    mt_jw_ks(w, "device", NULL);
    mt_jw_ks(w, "input", m->input);
    mt_jw_ks(w, "member", m->member);
    mt_jw_ks(w, "sentence", j->sentence);
    mt_jw_ks(w, "because", j->because[0] != '\0' ? j->because : NULL);
    mt_jw_known(w, "request_bytes", o != NULL, o != NULL ? o->request : 0);
    mt_jw_ks(w, "site", o != NULL && o->label[0] != '\0' ? o->label : NULL);
    log_frames(w, NULL);
}

/* A log is all there is. */
static void log_verdict(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_logdiag *d = r->diagnosis->logdiag;
    const struct mt_log_file *file =
        d->cause != MT_CAUSE_NONE ? &r->diagnosis->logs->files.p[d->file] : NULL;
    const struct mt_log_fact *f = file != NULL ? &file->log.facts.p[d->fact] : NULL;
    bool has_rank = f != NULL && f->rank >= 0, has_gpu = f != NULL && f->gpu >= 0;
    mt_jw_ks(w, "kind", file != NULL ? "log" : "empty");
    mt_json_phase(w, d->phase, d->sub);
    mt_jw_ks(w, "confidence",
             mt_conf_name(d->phase != MT_PH_UNATTRIBUTED || d->sub != MT_PH_NONE ? MT_CONF_LOW
                                                                                 : MT_CONF_NONE));
    mt_jw_known(w, "rank", has_rank, has_rank ? (uint64_t)f->rank : 0);
    mt_jw_known(w, "device", has_gpu, has_gpu ? (uint64_t)f->gpu : 0);
    mt_jw_ks(w, "input", file != NULL ? file->name : r->diagnosis->logs->files.p[0].name);
    mt_jw_ks(w, "member", NULL);
    mt_jw_ks(w, "sentence", d->sentence);
    mt_jw_ks(w, "because", d->because[0] != '\0' ? d->because : NULL);
    mt_jw_known(w, "request_bytes", d->request != MT_LOG_NONE, d->request);
    mt_jw_ks(w, "site", d->site);
    log_frames(w, f != NULL && d->site != NULL ? &file->log.stacks.p[f->stack - 1] : NULL);
}

static void snapshot_verdict(struct mt_jsonw *w, const struct mt_report *r, const struct mt_rank *k)
{
    const struct mt_verdict *v = &k->analysis->verdict;
    const struct mt_device_analysis *d = mt_rank_device(k);
    const struct mt_oom *o = d != NULL && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    mt_jw_ks(w, "kind", mt_verdict_kind_name(v->kind));
    mt_json_phase(w, v->phase, v->sub);
    mt_jw_ks(w, "confidence", mt_conf_name(v->conf));
    mt_json_rank(w, k->trace);
    mt_jw_key(w, "device");
    if (k->analysis->devices.n != 0)
        mt_jw_i(w, k->analysis->devices.p[v->device].ordinal);
    else
        mt_jw_null(w);
    mt_jw_ks(w, "input", k->trace->meta.input);
    mt_jw_ks(w, "member", k->trace->meta.member);
    mt_jw_ks(w, "sentence", v->sentence);
    mt_jw_ks(w, "because", v->because[0] ? v->because : NULL);
    mt_jw_known(w, "event", v->event >= 0, v->event >= 0 ? (uint64_t)v->event : 0);
    mt_jw_known(w, "request_bytes", o != NULL && o->request != 0, o != NULL ? o->request : 0);
    mt_jw_ks(w, "site", o != NULL && o->stack != 0 ? o->label : NULL);
    frames(w, r, k->trace, NULL, o != NULL ? o->stack : 0, o != NULL ? o->forward : 0);
}

static void verdict(struct mt_jsonw *w, const struct mt_report *r)
{
    const struct mt_rank *k = mt_diagnosis_rank(r->diagnosis);
    const struct mt_frameworks *fw = k != NULL ? &k->analysis->fw : NULL;
    mt_jw_key(w, "verdict");
    mt_jw_open(w, '{');
    if (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG)
        log_verdict(w, r);
    else if (mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER)
        job_verdict(w, r);
    else if (k != NULL)
        snapshot_verdict(w, r, k);
    mt_jw_key(w, "out_of_memory");
    if (mt_diagnosis_out_of_memory(r->diagnosis) != MT_MAYBE)
        mt_jw_b(w, mt_diagnosis_out_of_memory(r->diagnosis) == MT_YES);
    else
        mt_jw_null(w);
    mt_jw_known(w, "device_index",
                mt_diagnosis_lead(r->diagnosis) == MT_LEAD_SNAPSHOT &&
                    mt_diagnosis_device(r->diagnosis) != NULL,
                0); /* EACH_DEVICE begins with it */
    mt_jw_ks(w, "framework", fw != NULL ? mt_framework_at(fw->rules, fw->main)->id : NULL);
    mt_jw_ks(w, "engine",
             fw == NULL || fw->engine == MT_FW_NONE ? NULL
                                                    : mt_framework_at(fw->rules, fw->engine)->id);
    if (r->diagnosis->driver != NULL) {
        mt_jw_ks(w, "from",
                 mt_diagnosis_lead(r->diagnosis) == MT_LEAD_LOG      ? "log"
                 : mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER ? "driver"
                                                                     : "snapshot");
        mt_jw_ks(w, "second",
                 mt_diagnosis_lead(r->diagnosis) == MT_LEAD_DRIVER
                     ? k != NULL ? k->analysis->verdict.sentence : NULL
                     : mt_report_second(r));
    }
    mt_jw_close(w, '}');
}

static void oom(struct mt_jsonw *w, const struct mt_report *r, const struct mt_trace *t,
                const struct mt_device_analysis *d, const struct mt_oom *o)
{
    bool is_known = d->withheld == NULL;
    const struct mt_note *graph;
    mt_jw_open(w, '{');
    mt_jw_ku(w, "event", o->event);
    mt_jw_known(w, "time_ns", o->time_ns != 0, o->time_ns);
    mt_jw_known(w, "request_bytes", o->request != 0, o->request);
    mt_jw_known(w, "device_free_bytes", !d->sums_only, o->device_free);
    mt_jw_known(w, "live_bytes", is_known, o->at.live);
    mt_jw_known(w, "reserved_bytes", is_known, o->at.reserved);
    mt_jw_known(w, "pending_free_bytes", is_known, o->at.pending);
    mt_jw_known(w, "reserved_free_bytes", is_known, o->at.reserved_free);
    mt_jw_known(w, "usable_free_bytes", o->at.holes_known, o->at.free_usable);
    mt_jw_known(w, "largest_usable_hole_bytes", o->at.holes_known, o->at.largest_usable);
    mt_jw_ki(w, "stream", o->stream);
    attribution(w, r, o->attr);
    mt_jw_ks(w, "site", o->label);
    frames(w, r, t, NULL, o->stack, o->forward);
    graph = mt_note_of(t, d->device, o->event, MT_NOTE_COMPILE_CONTEXT);
    if (graph != NULL)
        mt_jw_ks(w, "compile_context", mt_str(t, graph->text));
    mt_jw_close(w, '}');
}

static void pools(struct mt_jsonw *w, const struct mt_device_analysis *d)
{
    mt_jw_key(w, "pools");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->pools.n; i++) {
        const struct mt_pool_row *p = &d->pools.p[i];
        mt_jw_open(w, '{');
        mt_jw_key(w, "pool_id");
        if (p->pool_known) {
            mt_jw_open(w, '[');
            mt_jw_u(w, p->pool[0]);
            mt_jw_u(w, p->pool[1]);
            mt_jw_close(w, ']');
        } else {
            mt_jw_null(w);
        }
        mt_jw_ki(w, "stream", p->stream);
        mt_jw_ks(w, "size_class", p->is_large ? "large" : "small");
        mt_jw_kb(w, "expandable", p->is_expandable);
        mt_jw_ks(w, "label", p->label[0] ? p->label : NULL);
        mt_jw_ks(w, "role", mt_json_pool_role(d, p));
        mt_jw_ku(w, "segments", p->n_segments);
        mt_jw_ku(w, "reserved_bytes", p->reserved);
        mt_jw_ku(w, "active_bytes", p->active);
        mt_jw_ku(w, "active_requested_bytes", p->active_requested);
        mt_jw_ku(w, "free_bytes", p->free);
        mt_jw_ku(w, "free_blocks", p->n_free_blocks);
        mt_jw_ku(w, "largest_free_bytes", p->largest_free);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

/* at: its place in devices[], which is what tells two inputs without a rank from each other. */
static void where(struct mt_jsonw *w, const struct mt_rank *k, const struct mt_device_analysis *d,
                  uint32_t at)
{
    mt_json_rank(w, k->trace);
    mt_jw_ki(w, "device", d->ordinal);
    mt_jw_ku(w, "device_index", at);
}

static void device(struct mt_jsonw *w, const struct mt_report *r, const struct mt_rank *k,
                   const struct mt_device_analysis *d, uint32_t at)
{
    bool curve = d->withheld == NULL;
    mt_jw_open(w, '{');
    mt_jw_ks(w, "input", k->trace->meta.input);
    mt_jw_ks(w, "member", k->trace->meta.member);
    where(w, k, d, at);
    mt_jw_ks(w, "host", k->trace->meta.host);
    mt_jw_ks(w, "kind", mt_device_kind_name(d->kind));
    mt_jw_ku(w, "events", d->n_events);
    mt_jw_ks(w, "withheld", d->withheld);
    mt_jw_key(w, "peak_event");
    if (curve)
        mt_jw_i(w, d->peak_event);
    else
        mt_jw_null(w);
    mt_jw_known(w, "peak_time_ns", d->peak_ns != 0, d->peak_ns);
    mt_jw_known(w, "live_start_bytes", curve, d->live_start);
    mt_jw_known(w, "live_peak_bytes", curve, d->live_peak);
    mt_jw_known(w, "live_end_bytes", !mt_state_unknown(d), d->live_end);
    mt_jw_known(w, "pending_free_peak_bytes", curve, d->pending_peak);
    mt_jw_ku(w, "pending_free_end_bytes", d->pending_end);
    mt_jw_known(w, "reserved_start_bytes", curve, d->reserved_start);
    mt_jw_known(w, "reserved_peak_bytes", curve, d->reserved_peak);
    mt_jw_known(w, "reserved_end_bytes", !mt_state_unknown(d), d->reserved_end);
    mt_jw_ku(w, "rounding_end_bytes", d->rounding_loss);
    mt_jw_known(w, "capacity_bytes", d->capacity != 0, d->capacity);
    mt_jw_ks(w, "capacity_from", d->capacity != 0 ? mt_capacity_from_name(k->capacity_from) : NULL);
    mt_jw_known(w, "first_time_ns", d->first_ns != 0, d->first_ns);
    mt_jw_known(w, "last_time_ns", d->last_ns != 0, d->last_ns);
    mt_jw_ku(w, "allocations", d->n_allocs);
    mt_jw_ku(w, "allocated_bytes", d->alloc_bytes);
    mt_jw_key(w, "blocks");
    mt_jw_open(w, '{');
    for (int b = 0; b < MT_BIRTH_COUNT; b++) {
        mt_jw_key(w, mt_birth_name((enum mt_birth)b));
        mt_jw_open(w, '{');
        mt_jw_ku(w, "count", d->birth_blocks[b]);
        mt_jw_ku(w, "bytes", d->birth_bytes[b]);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, '}');
    mt_jw_key(w, "focus");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "is", d->focus_is_oom ? "oom" : !curve || d->end_state_only ? "end_state" : "peak");
    state(w, &d->focus);
    mt_jw_close(w, '}');
    mt_jw_ku(w, "oom_count", d->ooms.n);
    mt_jw_key(w, "ooms");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->ooms.n && i < MT_JSON_LISTED; i++)
        oom(w, r, k->trace, d, &d->ooms.p[i]);
    mt_jw_close(w, ']');
    mt_json_curve(w, d);
    pools(w, d);
    mt_json_roles(w, d);
    mt_json_device_cause(w, d);
    mt_jw_close(w, '}');
}

static void phases(struct mt_jsonw *w, const struct mt_rank *k, const struct mt_device_analysis *d,
                   uint32_t at)
{
    for (uint32_t i = 0; i < d->phases.n; i++) {
        const struct mt_phase_row *p = &d->phases.p[i];
        bool allocs = p->n_allocs != 0;
        if (!allocs && p->at_focus == 0 && p->retained == 0)
            continue;
        mt_jw_open(w, '{');
        where(w, k, d, at);
        mt_json_phase(w, p->phase, p->sub);
        mt_jw_ku(w, "occurrences", p->n_occurrences);
        mt_jw_ku(w, "allocations", p->n_allocs);
        mt_jw_ku(w, "allocated_bytes", p->alloc_bytes);
        mt_jw_known(w, "first_event", allocs, p->first_event);
        mt_jw_known(w, "last_event", allocs, p->last_event);
        mt_jw_known(w, "first_time_ns", allocs && p->first_ns != 0, p->first_ns);
        mt_jw_known(w, "last_time_ns", allocs && p->last_ns != 0, p->last_ns);
        mt_jw_known(w, "peak_inside_bytes",
                    p->peak_inside_event != MT_NO_EVENT && d->withheld == NULL, p->peak_inside);
        mt_jw_ku(w, "retained_bytes", p->retained);
        mt_jw_ku(w, "at_focus_bytes", p->at_focus);
        mt_json_by_conf(w, p->by_conf);
        mt_jw_close(w, '}');
    }
}

static void owners(struct mt_jsonw *w, const struct mt_report *r, const struct mt_rank *k,
                   const struct mt_device_analysis *d, uint32_t at)
{
    struct mt_file_kinds kinds = {NULL}; /* hundreds of stacks are of the same few files */
    bool made = d->owners.n > 1 && mt_file_kinds_init(&kinds, k->trace);
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        mt_jw_open(w, '{');
        where(w, k, d, at);
        mt_jw_ks(w, "label", o->label);
        mt_jw_ku(w, "bytes", o->bytes);
        mt_jw_ku(w, "blocks", o->blocks);
        mt_jw_ku(w, "largest_block_bytes", o->largest);
        attribution(w, r, o->attr);
        mt_jw_ks(w, "born", mt_birth_name(o->birth));
        mt_jw_known(w, "first_event", o->first_event != UINT64_MAX, o->first_event);
        frames(w, r, k->trace, made ? &kinds : NULL, o->stack, o->forward);
        mt_jw_close(w, '}');
    }
    mt_file_kinds_done(&kinds);
}

static uint32_t n_drivers(const struct mt_report *r)
{
    return r->diagnosis->driver != NULL ? r->diagnosis->driver->drivers.n : 0;
}

/* The i-th input: traces of the driver, snapshots, those of which a later one has all. */
static const struct mt_trace *input_trace(const struct mt_report *r, uint32_t i)
{
    const struct mt_diagnosis *d = r->diagnosis;
    if (i < n_drivers(r))
        return d->driver->drivers.p[i];
    i -= n_drivers(r);
    return i < d->ranks.n ? d->ranks.p[i].trace : d->earlier.p[i - d->ranks.n].trace;
}

static void settings_files(struct mt_jsonw *w, const struct mt_found *f)
{
    mt_jw_key(w, "settings_files");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; f != NULL && i < f->files.n; i++) {
        if (!f->files.p[i].is_used)
            continue;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "file", f->files.p[i].name);
        mt_jw_ks(w, "says", f->files.p[i].kind->says);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void config_files(struct mt_jsonw *w, const struct mt_report *r)
{
    if (r->n_config == 0)
        return;
    mt_jw_key(w, "config_files");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < r->n_config; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "file", r->config[i].file);
        mt_jw_key(w, "keys");
        mt_jw_open(w, '[');
        for (uint32_t k = 0; k < r->config[i].n_keys; k++)
            mt_jw_s(w, r->config[i].keys[k]);
        mt_jw_close(w, ']');
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void provenance(struct mt_jsonw *w, const struct mt_report *r)
{
    mt_jw_key(w, "provenance");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "memtrace_version", r->version);
    mt_jw_ks(w, "command", r->command[0] ? r->command : NULL);
    mt_jw_kb(w, "redacted", r->redacted);
    settings_files(w, r->diagnosis->found);
    mt_jw_ku(w, "settings_files_left_out",
             r->diagnosis->found != NULL ? r->diagnosis->found->n_more : 0);
    config_files(w, r);
    mt_jw_key(w, "inputs");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < n_drivers(r) + r->diagnosis->ranks.n + r->diagnosis->earlier.n; i++) {
        const struct mt_trace *t = input_trace(r, i);
        const struct mt_meta *m = &t->meta;
        mt_jw_open(w, '{');
        mt_jw_ks(w, "input", m->input);
        mt_jw_ks(w, "member", m->member);
        mt_jw_ks(w, "encoding", m->encoding != NULL && m->encoding[0] ? m->encoding : NULL);
        mt_jw_ks(w, "format",
                 m->format == MT_FMT_PICKLE     ? "pickle"
                 : m->format == MT_FMT_JSON     ? "json"
                 : m->format == MT_FMT_MEMTRACE ? "memtrace"
                 : m->format == MT_FMT_PROFILER ? "profiler"
                 : m->format == MT_FMT_MEMRAY   ? "memray"
                 : m->format == MT_FMT_NSYS     ? "nsys"
                                                : "unknown");
        mt_jw_ks(w, "pytorch",
                 m->format == MT_FMT_PICKLE || m->format == MT_FMT_JSON ? mt_trace_pytorch(t)
                                                                        : NULL);
        mt_jw_known(w, "input_bytes", m->input_bytes != 0, m->input_bytes);
        mt_jw_ku(w, "decoded_bytes", m->bytes);
        mt_jw_ks(w, "sha256", m->sha256[0] ? m->sha256 : NULL);
        mt_json_rank(w, t);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_close(w, '}');
}

/* Of several: a single one stands in devices[] alone. */
static void ranks(struct mt_jsonw *w, const struct mt_report *r)
{
    struct mt_fleet f;
    if (mt_row_count(r) < 2)
        return;
    if (mt_report_fleet(&f, r)) {
        mt_jw_key(w, "ranks");
        mt_json_ranks(w, &f);
    } else {
        w->o->error = w->o->error != 0 ? w->o->error : ENOMEM;
    }
    mt_fleet_done(&f);
}

/* Calls body for every device of every rank that is whole, the at-th of all: that of the verdict
 * first, then the others of its rank. */
#define EACH_DEVICE(r, call)                                                                       \
    for (uint32_t pass = 0, at = 0; pass < 3; pass++)                                              \
        for (uint32_t i = 0; i < (r)->diagnosis->ranks.n; i++) {                                   \
            const struct mt_rank *k = &(r)->diagnosis->ranks.p[i];                                 \
            for (uint32_t j = 0; !k->analysis->is_brief && j < k->analysis->devices.n; j++) {      \
                const struct mt_device_analysis *d = &k->analysis->devices.p[j];                   \
                if (pass == (d == mt_diagnosis_device((r)->diagnosis) ? 0u                         \
                             : i == (r)->diagnosis->primary           ? 1u                         \
                                                                      : 2u)) {                               \
                    call;                                                                          \
                    at++;                                                                          \
                }                                                                                  \
            }                                                                                      \
        }

static void report(struct mt_jsonw *w, const struct mt_report *r)
{
    mt_jw_open(w, '{');
    mt_jw_ki(w, "schema_version", SCHEMA_VERSION);
    verdict(w, r);
    mt_json_cause(w, r);
    mt_jw_key(w, "devices");
    mt_jw_open(w, '[');
    EACH_DEVICE(r, device(w, r, k, d, at))
    mt_jw_close(w, ']');
    mt_jw_key(w, "phases");
    mt_jw_open(w, '[');
    EACH_DEVICE(r, phases(w, k, d, at))
    mt_jw_close(w, ']');
    mt_jw_key(w, "owners");
    mt_jw_open(w, '[');
    EACH_DEVICE(r, owners(w, r, k, d, at))
    mt_jw_close(w, ']');
    ranks(w, r);
    mt_json_advice(w, r);
    if (r->diagnosis->driver != NULL)
        mt_json_driver(w, r->diagnosis->driver);
    mt_json_run(w, r);
    mt_json_quality(w, r);
    provenance(w, r);
    mt_jw_close(w, '}');
}

void mt_render_json(const struct mt_report *r, struct mt_out *o)
{
    struct mt_jsonw w;
    mt_jw_init(&w, o, true);
    report(&w, r);
    mt_putc(o, '\n');
}

void mt_render_json_dense(const struct mt_report *r, struct mt_out *o)
{
    struct mt_jsonw w;
    mt_jw_init(&w, o, false);
    w.dense = true;
    report(&w, r);
}
