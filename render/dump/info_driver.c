/* `memtrace info` of a trace of driver calls: which processes and GPUs, what kinds of calls, what
 * failed, what is missing. */
#include "parser/base/text.h"
#include "render/dump/impl.h"
#include "render/base/escape.h"

#include <stdio.h>
#include <string.h>

struct totals {
    uint64_t by_op[MT_WO_COUNT], failed[MT_WO_COUNT], n_failed, n_oom, n_with_stack, first_ns,
        last_ns;
    uint64_t n_ranges, n_marks;
};

static void add_up(const struct mt_driver *d, struct totals *x)
{
    memset(x, 0, sizeof *x);
    for (uint32_t i = 0; i < d->calls.n; i++) {
        const struct mt_call *c = &d->calls.p[i];
        x->by_op[c->op]++;
        x->failed[c->op] += c->result != 0;
        x->n_failed += c->result != 0;
        x->n_oom += c->result == 2;
        x->n_with_stack += c->stack != 0;
    }
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        if (p->first_ns != 0 && (x->first_ns == 0 || p->first_ns < x->first_ns))
            x->first_ns = p->first_ns;
        if (p->last_ns > x->last_ns)
            x->last_ns = p->last_ns;
    }
    for (uint32_t i = 0; i < d->ranges.n; i++)
        *(d->ranges.p[i].is_mark ? &x->n_marks : &x->n_ranges) += 1;
}

static void term(struct mt_out *o, const struct mt_trace *t, mt_str_id id)
{
    mt_term(o, mt_str(t, id), mt_str_len(t, id));
}

static void ended(const struct mt_process *p, struct mt_out *o)
{
    switch (p->end) {
    case MT_END_EXIT: /* seen by the process itself */
        if (p->end_status == 0) {
            mt_puts(o, "ended normally");
            break;
        }
        mt_putf(o, "ended with status %d", p->end_status);
        break;
    case MT_END_STATUS: mt_putf(o, "ended with status %d", p->end_status); break;
    case MT_END_SIGNAL: mt_putf(o, "killed by signal %d", p->end_status); break;
    case MT_END_GONE: mt_puts(o, "ended without a word (killed, _exit or exec)"); break;
    case MT_END_RUNNING: mt_puts(o, "was still running"); break;
    case MT_END_UNKNOWN: mt_puts(o, "its end is not recorded"); break;
    }
}

static void processes(const struct mt_trace *t, struct mt_out *o)
{
    const struct mt_driver *d = t->driver;
    char a[40], b[40];
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        mt_puts(o, "  process         ");
        term(o, t, p->name);
        mt_putf(o, "%spid %u", p->name != 0 ? ", " : "", p->pid);
        if (p->rank >= 0)
            mt_putf(o, ", rank %d", p->rank);
        if (p->host != 0) {
            mt_puts(o, ", on ");
            term(o, t, p->host);
        }
        mt_putc(o, '\n');
        if (p->command != 0 || p->exe != 0) {
            mt_puts(o, "    command       ");
            term(o, t, p->command != 0 ? p->command : p->exe);
            mt_putc(o, '\n');
        }
        mt_putf(o, "    recorded      %s call%s in %s record%s", mt_fmt_count(a, p->n_calls),
                mt_plural(p->n_calls, "", "s"), mt_fmt_count(b, p->n_records),
                mt_plural(p->n_records, "", "s"));
        if (p->last_ns > p->first_ns)
            mt_putf(o, " over %s", mt_fmt_seconds(a, p->last_ns - p->first_ns));
        if (!p->has_cuda)
            mt_puts(o, ": it made no recorded driver call");
        mt_puts(o, "\n    end           ");
        ended(p, o);
        mt_putc(o, '\n');
        if (p->n_dropped != 0)
            mt_putf(o, "    dropped       %s record%s\n", mt_fmt_count(a, p->n_dropped),
                    mt_plural(p->n_dropped, "", "s"));
        if (p->whole_ns != 0)
            mt_putf(o, "    let go        %s older record%s; the last %s are kept\n",
                    mt_fmt_count(a, p->n_let_go), mt_plural(p->n_let_go, "", "s"),
                    mt_fmt_seconds(b, p->last_ns > p->whole_ns ? p->last_ns - p->whole_ns : 0));
        if (p->n_missing != 0)
            mt_putf(o, "    missing       %s chunk%s\n", mt_fmt_count(a, p->n_missing),
                    mt_plural(p->n_missing, "", "s"));
    }
}

static void gpus(const struct mt_trace *t, struct mt_out *o)
{
    const struct mt_driver *d = t->driver;
    char a[40];
    for (uint32_t i = 0; i < d->gpus.n; i++) {
        const struct mt_gpu *g = &d->gpus.p[i];
        mt_puts(o, "  GPU             ");
        term(o, t, g->name);
        if (g->total != 0)
            mt_putf(o, "%s%s", g->name != 0 ? ", " : "", mt_fmt_bytes(a, g->total));
        for (int k = 0; k < 2; k++) {
            mt_str_id id = k == 0 ? g->pci : g->uuid;
            if (id != 0) {
                mt_puts(o, ", ");
                term(o, t, id);
            }
        }
        if (g->name == 0 && g->total == 0 && g->pci == 0 && g->uuid == 0)
            mt_puts(o, "not described: the record about it is lost");
        if (g->host != 0) {
            mt_puts(o, ", on ");
            term(o, t, g->host);
        }
        mt_putc(o, '\n');
    }
}

static void problems(const struct mt_trace *t, struct mt_out *o)
{
    static const char *const one[] = {"",      "record", "activity record of CUPTI",
                                      "stack", "string", "chunk"};
    static const char *const many[] = {"",       "records", "activity records of CUPTI",
                                       "stacks", "strings", "chunks"};
    const struct mt_driver *d = t->driver;
    char a[40], b[40];
    for (uint32_t i = 0; i < d->statuses.n; i++) {
        const struct mt_status *s = &d->statuses.p[i];
        if (s->level == 0)
            continue;
        mt_puts(o, s->level == 1 ? "  lost            " : "  not recording   ");
        if (s->process != MT_NONE32)
            mt_putf(o, "pid %u: ", d->processes.p[s->process].pid);
        if (s->text != 0)
            term(o, t, s->text);
        else
            mt_putf(o, "the recorder gave no reason (its code is %u)", s->code);
        mt_putc(o, '\n');
    }
    for (uint32_t i = 0; i < d->losses.n; i++) {
        const struct mt_loss *l = &d->losses.p[i];
        mt_putf(o, "  lost            pid %u: %s %s", d->processes.p[l->process].pid,
                mt_fmt_count(a, l->count),
                l->what < sizeof many / sizeof *many
                    ? mt_plural(l->count, one[l->what], many[l->what])
                    : "of other kinds");
        if (l->bytes != 0)
            mt_putf(o, ", %s", mt_fmt_bytes(b, l->bytes));
        mt_putc(o, '\n');
    }
    for (uint32_t i = 0; i < d->attachments.n; i++) {
        const struct mt_attachment *f = &d->attachments.p[i];
        mt_puts(o, "  attached        ");
        term(o, t, f->name);
        mt_putf(o, ", %s", mt_fmt_bytes(a, f->bytes));
        if (f->read < f->bytes)
            mt_putf(o, ", only %s of it is there", mt_fmt_bytes(a, f->read));
        if (f->text != 0) {
            mt_puts(o, ": ");
            mt_term(o, mt_str(t, f->text),
                    mt_utf8_cut(mt_str(t, f->text), mt_str_len(t, f->text), 200));
        }
        mt_putc(o, '\n');
    }
}

void mt_info_driver(const struct mt_trace *t, struct mt_out *o)
{
    const struct mt_driver *d = t->driver;
    const struct mt_meta *m = &t->meta;
    struct totals x;
    char a[40], b[40];
    unsigned n = 0;
    add_up(d, &x);
    mt_puts(o, t->meta.format == MT_FMT_NSYS
                   ? "  format          export of Nsight Systems: what CUDA allocated"
                   : "  format          memtrace trace: what the GPU driver did");
    if (m->encoding != NULL && m->encoding[0])
        mt_putf(o, ", in %s", m->encoding);
    mt_putf(o, "\n  size            %s", mt_fmt_bytes(a, m->bytes));
    if (m->input_bytes != 0 && m->input_bytes != m->bytes)
        mt_putf(o, " in an input of %s", mt_fmt_bytes(b, m->input_bytes));
    if (d->n_chunks != 0 || m->format != MT_FMT_NSYS)
        mt_putf(o, ", %s chunk%s", mt_fmt_count(a, d->n_chunks), mt_plural(d->n_chunks, "", "s"));
    mt_putc(o, '\n');
    if (m->sha256[0])
        mt_putf(o, "  sha256          %s\n", m->sha256);
    for (uint32_t i = 0; i < d->launch.n; i++) {
        const char *key = mt_str(t, d->launch.p[i].key);
        if (strcmp(key, "version") != 0 && strcmp(key, "status") != 0 && strcmp(key, "signal") != 0)
            continue;
        mt_puts(o, strcmp(key, "version") == 0  ? "  written by      memtrace "
                   : strcmp(key, "status") == 0 ? "  the command     ended with status "
                                                : "  the command     was ended by signal ");
        term(o, t, d->launch.p[i].value);
        mt_putc(o, '\n');
    }
    if (x.first_ns != 0)
        mt_putf(o, "  time            %s from %s\n", mt_fmt_seconds(a, x.last_ns - x.first_ns),
                mt_fmt_utc(b, x.first_ns));
    mt_putf(o, "  calls           %s%s", mt_fmt_count(a, d->calls.n), d->calls.n ? ": " : "");
    for (int op = 0; op < MT_WO_COUNT; op++)
        if (x.by_op[op] != 0)
            mt_putf(o, "%s%s %s", n++ ? ", " : "", mt_fmt_count(a, x.by_op[op]),
                    mt_op_name((enum mt_wire_op)op));
    mt_putc(o, '\n');
    if (d->calls.n != 0)
        mt_putf(o, "  stacks          on %s of the calls, %s distinct\n",
                mt_fmt_percent(a, x.n_with_stack, d->calls.n),
                mt_fmt_count(b, t->n_distinct_stacks));
    mt_putf(o, "  failed calls    %s", x.n_failed != 0 ? mt_fmt_count(a, x.n_failed) : "none");
    if (x.n_failed != 0 && x.n_oom == x.n_failed)
        mt_puts(o, ", out of memory:");
    else if (x.n_failed != 0)
        mt_putf(o, ", %s of them out of memory:", x.n_oom != 0 ? mt_fmt_count(a, x.n_oom) : "none");
    n = 0;
    for (int op = 0; op < MT_WO_COUNT && x.n_failed != 0; op++)
        if (x.failed[op] != 0)
            mt_putf(o, "%s %s %s", n++ ? "," : "", mt_fmt_count(a, x.failed[op]),
                    mt_op_name((enum mt_wire_op)op));
    mt_putf(o, "\n  samples         %s of GPUs, %s of processes\n", mt_fmt_count(a, d->samples.n),
            mt_fmt_count(b, d->host_samples.n));
    mt_putf(o, "  phase marks     %s range%s and %s point%s in time\n", mt_fmt_count(a, x.n_ranges),
            mt_plural(x.n_ranges, "", "s"), mt_fmt_count(b, x.n_marks),
            mt_plural(x.n_marks, "", "s"));
    if (d->activities.n != 0)
        mt_putf(o, "  CUPTI records   %s\n", mt_fmt_count(a, d->activities.n));
    gpus(t, o);
    processes(t, o);
    problems(t, o);
}

static void ks(struct mt_jsonw *w, const struct mt_trace *t, const char *key, mt_str_id id)
{
    mt_jw_key(w, key);
    if (id != 0)
        mt_jw_str(w, mt_str(t, id), mt_str_len(t, id));
    else
        mt_jw_null(w);
}

static void processes_json(const struct mt_trace *t, struct mt_jsonw *w)
{
    const struct mt_driver *d = t->driver;
    char buf[24];
    mt_jw_key(w, "processes");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->processes.n; i++) {
        const struct mt_process *p = &d->processes.p[i];
        mt_jw_open(w, '{');
        (void)snprintf(buf, sizeof buf, "%016llx", (unsigned long long)p->uid);
        mt_jw_ks(w, "uid", buf);
        mt_jw_ku(w, "pid", p->pid);
        ks(w, t, "host", p->host);
        ks(w, t, "name", p->name);
        ks(w, t, "command", p->command);
        mt_jw_key(w, "rank");
        if (p->rank >= 0)
            mt_jw_i(w, p->rank);
        else
            mt_jw_null(w);
        mt_jw_ku(w, "calls", p->n_calls);
        mt_jw_ku(w, "records", p->n_records);
        mt_jw_ku(w, "dropped_records", p->n_dropped);
        mt_jw_ku(w, "missing_chunks", p->n_missing);
        mt_jw_ku(w, "first_time_ns", p->first_ns);
        mt_jw_ku(w, "last_time_ns", p->last_ns);
        mt_jw_ks(w, "end", mt_end_name(p->end));
        mt_jw_ki(w, "end_status", p->end_status);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

static void rest_json(const struct mt_trace *t, struct mt_jsonw *w)
{
    const struct mt_driver *d = t->driver;
    mt_jw_key(w, "gpus");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->gpus.n; i++) {
        mt_jw_open(w, '{');
        ks(w, t, "host", d->gpus.p[i].host);
        ks(w, t, "uuid", d->gpus.p[i].uuid);
        ks(w, t, "pci", d->gpus.p[i].pci);
        ks(w, t, "name", d->gpus.p[i].name);
        mt_jw_ku(w, "total", d->gpus.p[i].total);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "statuses");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->statuses.n; i++) {
        const struct mt_status *s = &d->statuses.p[i];
        mt_jw_open(w, '{');
        if (s->process != MT_NONE32)
            mt_jw_ku(w, "pid", d->processes.p[s->process].pid);
        mt_jw_ku(w, "code", s->code);
        mt_jw_ku(w, "level", s->level);
        ks(w, t, "text", s->text);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
    mt_jw_key(w, "attachments");
    mt_jw_open(w, '[');
    for (uint32_t i = 0; i < d->attachments.n; i++) {
        mt_jw_open(w, '{');
        ks(w, t, "name", d->attachments.p[i].name);
        ks(w, t, "kind", d->attachments.p[i].kind);
        mt_jw_ku(w, "bytes", d->attachments.p[i].bytes);
        mt_jw_ku(w, "read", d->attachments.p[i].read);
        mt_jw_close(w, '}');
    }
    mt_jw_close(w, ']');
}

void mt_info_driver_json(const struct mt_trace *t, struct mt_jsonw *w)
{
    const struct mt_driver *d = t->driver;
    const struct mt_meta *m = &t->meta;
    struct totals x;
    add_up(d, &x);
    mt_jw_ks(w, "input", m->input);
    mt_jw_ks(w, "member", m->member);
    mt_jw_ks(w, "format", mt_format_name(m->format));
    mt_jw_ks(w, "encoding", m->encoding != NULL && m->encoding[0] ? m->encoding : NULL);
    mt_jw_ku(w, "bytes", m->bytes);
    mt_jw_ku(w, "input_bytes", m->input_bytes);
    mt_jw_ks(w, "sha256", m->sha256[0] ? m->sha256 : NULL);
    mt_jw_kb(w, "damaged", t->damaged);
    mt_jw_ku(w, "chunks", d->n_chunks);
    mt_jw_ku(w, "missing_chunks", d->n_missing);
    mt_jw_ku(w, "duplicate_chunks", d->n_duplicates);
    mt_jw_ku(w, "unknown_records", d->n_unknown_records);
    mt_jw_ku(w, "first_time_ns", x.first_ns);
    mt_jw_ku(w, "last_time_ns", x.last_ns);
    mt_jw_ku(w, "calls", d->calls.n);
    mt_jw_key(w, "ops");
    mt_jw_open(w, '{');
    for (int op = 0; op < MT_WO_COUNT; op++)
        if (x.by_op[op] != 0)
            mt_jw_ku(w, mt_op_name((enum mt_wire_op)op), x.by_op[op]);
    mt_jw_close(w, '}');
    mt_jw_ku(w, "failed_calls", x.n_failed);
    mt_jw_ku(w, "out_of_memory_calls", x.n_oom);
    mt_jw_ku(w, "calls_with_stack", x.n_with_stack);
    mt_jw_ku(w, "distinct_stacks", t->n_distinct_stacks);
    mt_jw_ku(w, "ranges", x.n_ranges);
    mt_jw_ku(w, "marks", x.n_marks);
    mt_jw_ku(w, "gpu_samples", d->samples.n);
    mt_jw_ku(w, "host_samples", d->host_samples.n);
    mt_jw_ku(w, "cupti_records", d->activities.n);
    processes_json(t, w);
    rest_json(t, w);
}
