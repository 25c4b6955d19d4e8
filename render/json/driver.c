/* What the driver saw, as JSON: docs/json.md, "job". */
#include "render/json/impl.h"
#include "render/view/driver.h"

#include <string.h>

enum { MAX_CHECKS = 2000 };

static void str(struct mt_jsonw *w, const char *key, const struct mt_trace *t, mt_str_id id)
{
    mt_jw_key(w, key);
    if (id == 0)
        mt_jw_null(w);
    else
        mt_jw_str(w, mt_str(t, id), mt_str_len(t, id));
}

static void text(struct mt_jsonw *w, const char *key, const char *s)
{
    mt_jw_ks(w, key, s != NULL && s[0] != '\0' ? s : NULL);
}

/* Index in "processes", by which all the others name a process. */
static void process_ref(struct mt_jsonw *w, const struct mt_driverdiag *j, uint32_t driver,
                        uint32_t process)
{
    mt_jw_key(w, "process");
    for (uint32_t i = 0; i < j->processes.n; i++) {
        if (j->processes.p[i].driver == driver && j->processes.p[i].process == process) {
            mt_jw_u(w, i);
            return;
        }
    }
    mt_jw_null(w);
}

static void rows(struct mt_jsonw *w, const struct mt_driverdiag *j, const char *key,
                 const struct mt_ledger_row *row, uint32_t n)
{
    mt_jw_key(w, key);
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < n; i++) {
        const struct mt_ledger_row *r = &row[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "holder", mt_holder_id(r->holder));
        mt_jw_ks(w, "library", r->library);
        process_ref(w, j, r->driver, r->process);
        mt_jw_ki(w, "bytes", r->bytes);
        mt_jw_known(w, "peak_bytes", r->process != MT_NONE32, r->peak);
        mt_jw_ku(w, "live_allocations", r->n_live);
        mt_jw_ku(w, "reserved_unmapped_bytes", r->reserved_va);
        text(w, "site", r->label);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void columns(struct mt_jsonw *w, const struct mt_ledger *l)
{
    mt_jw_key(w, "columns");
    mt_jw_open_line(w, '{'); /* thousands of numbers */
    for (int h = 0; h < MT_HOLD_COUNT; h++) {
        mt_jw_key(w, mt_holder_id((enum mt_holder)h));
        mt_jw_open(w, '[');
        for (uint32_t c = 0; c < l->n_columns; c++)
            mt_jw_i(w, l->by_holder[(size_t)c * MT_HOLD_COUNT + (size_t)h]);
        mt_jw_close(w, ']');
    }
    mt_jw_key(w, "used");
    mt_jw_open(w, '[');
    for (uint32_t c = 0; c < l->n_columns; c++) {
        if (l->used[c] != 0)
            mt_jw_u(w, l->used[c]);
        else
            mt_jw_null(w);
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "phase");
    mt_jw_open(w, '[');
    for (uint32_t c = 0; c < l->n_columns; c++)
        mt_jw_s(w, mt_phase_id((enum mt_phase)l->phase[c]));
    mt_jw_close(w, ']');
    mt_jw_close_line(w, '}');
}

static void checks(struct mt_jsonw *w, const struct mt_ledger *l)
{
    uint32_t step = l->checks.n / MAX_CHECKS + 1;
    mt_jw_ku(w, "samples", l->checks.n);
    mt_jw_ku(w, "max_unexplained_bytes", l->max_unexplained);
    mt_jw_key(w, "checks");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < l->checks.n; i += step) { /* all of them, or evenly spaced ones */
        const struct mt_ledger_check *c = &l->checks.p[i];
        mt_jw_open(w, '{');
        mt_jw_ku(w, "time_ns", c->time_ns);
        mt_jw_ku(w, "used_bytes", c->used);
        mt_jw_ku(w, "recorded_bytes", c->named);
        mt_jw_ku(w, "other_bytes", c->other);
        mt_jw_ki(w, "unexplained_bytes", c->unexplained);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void code(struct mt_jsonw *w, const struct mt_ledger *l)
{
    mt_jw_key(w, "code");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < l->code.n && i < MT_JSON_LISTED; i++) {
        const struct mt_ledger_code *c = &l->code.p[i];
        mt_jw_open(w, '{');
        mt_jw_ks(w, "holder", mt_holder_id(c->holder));
        mt_jw_ks(w, "library", c->library);
        mt_jw_ku(w, "modules", c->n);
        mt_jw_ku(w, "image_bytes", c->image);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_ku(w, "code_grew_bytes", l->code_grew);
}

static void ledger(struct mt_jsonw *w, const struct mt_driverdiag *j, const struct mt_ledger *l)
{
    const struct mt_trace *t = j->drivers.p[l->driver];
    const struct mt_gpu *g = l->gpu < t->driver->gpus.n ? &t->driver->gpus.p[l->gpu] : NULL;
    mt_jw_open(w, '{');
    mt_jw_ks(w, "name", l->name);
    str(w, "host", t, g != NULL ? g->host : 0);
    str(w, "uuid", t, g != NULL ? g->uuid : 0);
    str(w, "pci", t, g != NULL ? g->pci : 0);
    mt_jw_known(w, "capacity_bytes", l->capacity != 0, l->capacity);
    mt_jw_kb(w, "records_lost", l->records_lost);
    mt_jw_ku(w, "first_time_ns", l->t0_ns);
    mt_jw_ku(w, "last_time_ns", l->t1_ns);
    mt_jw_ku(w, "recorded_peak_bytes", l->peak_named);
    mt_jw_known(w, "recorded_peak_time_ns", l->peak_ns != 0, l->peak_ns);
    mt_jw_known(w, "used_peak_bytes", l->checks.n != 0, l->peak_used);
    mt_jw_known(w, "used_peak_time_ns", l->checks.n != 0, l->peak_used_ns);
    mt_jw_ku(w, "managed_peak_bytes", l->managed_peak);
    mt_jw_key(w, "focus");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "is", l->focus_is_oom ? "oom" : "peak");
    mt_jw_known(w, "time_ns", l->focus_ns != 0, l->focus_ns);
    mt_jw_ku(w, "recorded_bytes", l->focus_named);
    mt_jw_known(w, "used_bytes", l->focus_used != 0, l->focus_used);
    mt_jw_key(w, "unexplained_bytes");
    if (l->focus_used != 0)
        mt_jw_i(w, l->focus_unexplained);
    else
        mt_jw_null(w);
    mt_jw_ku(w, "unexplained_in_processes_bytes", l->focus_within);
    code(w, l);
    rows(w, j, "rows", l->rows.p, l->rows.n);
    mt_jw_close(w, '}');
    checks(w, l);
    columns(w, l);
    mt_jw_close(w, '}');
}

static void gpu_ref(struct mt_jsonw *w, uint32_t ledger)
{
    mt_jw_known(w, "ledger", ledger != MT_NONE32, ledger);
}

/* The first failures are listed. The one that the sentence is about takes the last place where it
 * comes later. */
static bool is_beyond(const struct mt_driverdiag *j)
{
    return j->kind == MT_V_OOM && j->oom >= MT_JSON_LISTED;
}

static void failures(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    mt_jw_ku(w, "failure_count", j->ooms.n);
    mt_jw_key(w, "failures");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->ooms.n && i < MT_JSON_LISTED; i++) {
        const struct mt_driver_oom *o =
            &j->ooms.p[i == MT_JSON_LISTED - 1 && is_beyond(j) ? j->oom : i];
        const struct mt_call *c = &j->drivers.p[o->driver]->driver->calls.p[o->call];
        mt_jw_open(w, '{');
        process_ref(w, j, o->driver, o->process);
        gpu_ref(w, o->ledger);
        mt_jw_ku(w, "time_ns", o->time_ns);
        mt_jw_ks(w, "call", mt_op_name((enum mt_wire_op)c->op));
        mt_jw_ku(w, "request_bytes", o->request);
        mt_jw_known(w, "device_free_bytes", o->free != 0, o->free);
        mt_jw_ks(w, "holder", mt_holder_id(o->who));
        mt_jw_ks(w, "library", o->library);
        text(w, "site", o->label);
        mt_jw_kb(w, "host_memory", o->is_host);
        mt_jw_kb(w, "survived", o->survived);
        mt_jw_kb(w, "fatal", o->is_fatal);
        mt_jw_kb(w, "in_wake", o->in_wake);
        mt_json_phase(w, o->phase, o->sub);
        str(w, "mark", j->drivers.p[o->driver], o->phase_mark);
        mt_jw_key(w, "held_bytes");
        mt_jw_open(w, '{');
        for (int h = 0; h < MT_HOLD_COUNT; h++)
            mt_jw_ku(w, mt_holder_id((enum mt_holder)h), o->held[h]);
        mt_jw_close(w, '}');
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void sleeps(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    mt_jw_key(w, "sleeps");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->sleeps.n; i++) {
        const struct mt_sleep *s = &j->sleeps.p[i];
        mt_jw_open(w, '{');
        process_ref(w, j, s->driver, s->process);
        gpu_ref(w, s->ledger);
        mt_jw_ks(w, "holder", mt_holder_id(s->who));
        mt_jw_ks(w, "is", s->is_wake ? "wake" : "sleep");
        mt_jw_ku(w, "first_time_ns", s->t0_ns);
        mt_jw_ku(w, "last_time_ns", s->t1_ns);
        mt_jw_ku(w, "bytes", s->bytes);
        mt_jw_ku(w, "calls", s->n_calls);
        mt_jw_ku(w, "left_bytes", s->left);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void reconciled(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    mt_jw_key(w, "reconciled");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->reconciled.n; i++) {
        const struct mt_reconcile *r = &j->reconciled.p[i];
        mt_jw_open(w, '{');
        process_ref(w, j, r->driver, r->process);
        mt_jw_ku(w, "snapshot", r->rank);
        mt_jw_ki(w, "device", r->ordinal);
        mt_jw_ku(w, "time_ns", r->at_ns);
        mt_jw_ku(w, "torch_reserved_bytes", r->torch_reserved);
        mt_jw_ku(w, "matched_bytes", r->matched);
        mt_jw_ku(w, "unmapped_bytes", r->unmapped);
        mt_jw_ku(w, "unseen_bytes", r->unseen);
        mt_jw_ku(w, "driver_held_bytes", r->driver_held);
        mt_jw_ku(w, "idle_bytes", r->idle);
        mt_jw_key(w, "asleep");
        mt_jw_open(w, '[');
        for (int k = 0; k < MT_MAX_GONE && r->gone[k].site != NULL; k++) {
            mt_jw_open(w, '{');
            mt_jw_ks(w, "site", r->gone[k].site);
            mt_jw_ku(w, "bytes", r->gone[k].bytes);
            mt_jw_close(w, '}');
        }
        mt_jw_close(w, ']');
        rows(w, j, "others", r->others.p, r->others.n);
        mt_jw_kb(w, "adds_up", r->adds_up);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void phases(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    struct mt_phase_sum sum[MT_PH_COUNT];
    unsigned n = mt_driver_phase_sums(j, sum);
    mt_jw_key(w, "phase_ranges");
    mt_jw_open(w, '[');
    for (unsigned i = 0; i < n; i++) {
        mt_jw_open(w, '{');
        mt_jw_ks(w, "phase", mt_phase_id(sum[i].phase));
        mt_jw_ku(w, "occurrences", sum[i].n);
        mt_jw_ku(w, "duration_ns", sum[i].ns);
        mt_jw_ku(w, "recorded_peak_bytes", sum[i].peak);
        gpu_ref(w, sum[i].peak_ledger);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void processes(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    mt_jw_key(w, "processes");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->processes.n; i++) {
        const struct mt_driver_process *p = &j->processes.p[i];
        const struct mt_trace *t = j->drivers.p[p->driver];
        const struct mt_process *q = &t->driver->processes.p[p->process];
        mt_jw_open(w, '{');
        str(w, "name", t, q->name);
        str(w, "host", t, q->host);
        mt_jw_ku(w, "pid", q->pid);
        mt_jw_key(w, "rank");
        if (q->rank >= 0)
            mt_jw_i(w, q->rank);
        else
            mt_jw_null(w);
        mt_jw_ks(w, "end", mt_end_name(q->end));
        mt_jw_key(w, "end_status");
        if (q->end == MT_END_STATUS || q->end == MT_END_SIGNAL)
            mt_jw_i(w, q->end_status);
        else
            mt_jw_null(w);
        mt_jw_ku(w, "calls", q->n_calls);
        mt_jw_ku(w, "failed_calls", p->n_failed);
        mt_jw_ku(w, "out_of_memory_calls", p->n_ooms);
        gpu_ref(w, p->ledger);
        mt_jw_ku(w, "peak_bytes", p->peak);
        mt_jw_ku(w, "pinned_peak_bytes", p->pinned_peak);
        mt_jw_ku(w, "pinned_end_bytes", p->pinned_end);
        mt_jw_ku(w, "pinned_grown_bytes", p->pinned_grown);
        mt_jw_ku(w, "imports", p->n_imported);
        mt_jw_ku(w, "unmatched_frees", p->n_unmatched_frees);
        mt_jw_ku(w, "lost_frees", p->n_lost_frees);
        mt_jw_ku(w, "missing_chunks", q->n_missing);
        mt_jw_ku(w, "dropped_records", q->n_dropped);
        if (q->whole_ns != 0) {
            mt_jw_ku(w, "whole_time_ns", q->whole_ns);
            mt_jw_ku(w, "records_let_go", q->n_let_go);
        }
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

void mt_json_driver(struct mt_jsonw *w, const struct mt_driverdiag *j)
{
    mt_jw_key(w, "job");
    mt_jw_open(w, '{');
    mt_jw_ks(w, "kind", j->kind == MT_V_EMPTY ? "none" : mt_verdict_kind_name(j->kind));
    mt_jw_ks(w, "sentence", j->sentence);
    text(w, "because", j->because);
    mt_jw_known(w, "failure", j->kind == MT_V_OOM, is_beyond(j) ? MT_JSON_LISTED - 1 : j->oom);
    mt_jw_ku(w, "survived_failures", j->n_survived);
    text(w, "unrecorded", j->unrecorded);
    mt_jw_key(w, "cgroup");
    mt_jw_open(w, '{');
    mt_jw_ku(w, "limit_bytes", j->host.limit);
    mt_jw_ku(w, "peak_bytes", j->host.peak);
    mt_jw_ku(w, "oom_kills", j->host.kills);
    mt_jw_close(w, '}');
    mt_jw_key(w, "ledgers");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < j->ledgers.n; i++)
        ledger(w, j, &j->ledgers.p[i]);
    mt_jw_close(w, ']');
    failures(w, j);
    sleeps(w, j);
    reconciled(w, j);
    phases(w, j);
    processes(w, j);
    mt_jw_close(w, '}');
}
