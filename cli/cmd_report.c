/* cmd_report.c -- read every rank, analyse it, give its events back, and write one report over all
 * of them. */
#include "cli/formats.h"
#include "cli/gzip_out.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/open.h"
#include "cli/output.h"
#include "cli/ranks.h"
#include "cli/redact/redact.h"
#include "cli/rules_load.h"
#include "cli/run_inputs.h"
#include "cli/term.h"
#include "analysis/advice/advice.h"
#include "analysis/run/lint.h"
#include "parser/model/driver.h"
#include "render/view/driver.h"
#include "render/view/view.h"
#include "analysis/run/analyze.h"
#include "analysis/cause/verdict.h"
#include "analysis/run/advise_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct report {
    const struct mt_cli *c;
    struct mt_load load;
    struct mt_rules rules;
    struct mt_ranks ranks;
    struct mt_driverdiag *driver;
    struct mt_same_job *same_job; /* whether they are one */
    struct mt_run_inputs run;     /* logs and settings */
    struct mt_redact *redact;
    const char *at; /* what is being analysed, for the progress */
    struct mt_logdiag *diag;
    struct mt_lint *lint;
};

static bool has_trait(const struct mt_cli *c, unsigned trait)
{
    return (mt_report_formats[c->format].traits & trait) != 0;
}

static bool has_device(const struct mt_trace *t, int32_t ordinal)
{
    for (uint32_t i = 0; i < t->devices.n; i++)
        if (t->devices.p[i].kind == MT_DEV_CUDA && t->devices.p[i].ordinal == ordinal)
            return true;
    return false;
}

static int out_of_memory(const struct report *r)
{
    mt_say("out of memory: %u snapshots were read; raise --max-memory", (unsigned)r->ranks.list.n);
    return 0;
}

/* The size of the GPU that a snapshot inside a trace belongs to, when all GPUs of the trace have
 * the same. */
static uint64_t capacity_of(const struct report *r, const struct mt_trace *t)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < r->ranks.drivers.n && t->meta.uid != 0; i++) {
        const struct mt_driver *d = r->ranks.drivers.p[i]->driver;
        bool mine = false;
        for (uint32_t k = 0; k < d->processes.n; k++)
            mine |= d->processes.p[k].uid == t->meta.uid;
        for (uint32_t k = 0; mine && k < d->gpus.n; k++) {
            if (d->gpus.p[k].total == 0 || (size != 0 && size != d->gpus.p[k].total))
                return 0;
            size = d->gpus.p[k].total;
        }
    }
    return size;
}

/* What a trace says of the settings of its run. */
static int add_settings(struct report *r, const struct mt_trace *t)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    return mt_runconf_add_trace(r->run.conf, t, &err) == MT_OK ? 1 : out_of_memory(r);
}

static int visit_driver(struct report *r, struct mt_trace *t)
{
    return mt_ranks_add_driver(&r->ranks, t) ? add_settings(r, t) : out_of_memory(r);
}

static void analysing(void *arg, uint64_t done, uint64_t total)
{
    struct report *r = arg;
    mt_progress_show(&r->load.progress, "analysing", r->at, done, total, false);
}

static uint64_t max_size(const struct mt_cli *c)
{
    return c->max_size != 0 ? c->max_size : MT_MAX_SIZE_DEFAULT;
}

static int visit(void *arg, struct mt_trace *t)
{
    struct report *r = arg;
    struct mt_analyze_opts opts = {
        .phases = r->rules.phases,
        .fixes = r->rules.fixes,
        .roles = r->rules.roles,
        .verify = r->c->verify,
        .only_device = r->c->device,
        .framework = r->c->framework,
        .capacity = r->c->capacity,
        .conf = r->run.conf,
        .progress = {analysing, r},
    };
    struct mt_analysis *a = NULL;
    struct mt_packs packs = {.max_size = max_size(r->c)};
    struct mt_err err;
    enum mt_rc rc;
    char label[1024];

    if (t->driver != NULL)
        return visit_driver(r, t);
    r->at = mt_trace_label(t, label, sizeof label);
    if (opts.capacity == 0)
        opts.capacity = capacity_of(r, t);
    if (opts.capacity == 0)
        opts.capacity =
            mt_logs_capacity(&r->run.logs, t->devices.n == 1 ? t->devices.p[0].ordinal : -1);
    if (!add_settings(r, t)) {
        mt_trace_free(t);
        return 0;
    }
    if (r->c->device >= 0 && !has_device(t, r->c->device)) {
        mt_say("%s: has no GPU %ld; left out", label, (long)r->c->device);
        mt_trace_free(t);
        return 1;
    }
    memset(&err, 0, sizeof err);
    if (has_trait(r->c, MT_FORMAT_IS_PAGE))
        opts.detail = (struct mt_detail_hook){mt_pack_device, &packs};
    rc = mt_analyze(&a, t, &opts, &err);
    mt_progress_erase(&r->load.progress);
    if (rc < 0) {
        mt_packs_done(&packs);
        mt_say_err(label, &err);
        r->load.n_read--;
        mt_trace_free(t);
        return mt_load_unread(&r->load, label, &err);
    }
    return mt_ranks_add(&r->ranks, t, a, &packs) ? 1 : out_of_memory(r);
}

/* What the driver saw, over all traces of it; 0 after a message. */
static int make_job(struct report *r)
{
    struct mt_driverdiag_opts opts = {.phases = r->rules.phases,
                                      .capacity = r->c->capacity,
                                      .overlay = r->rules.overlay,
                                      .overlay_len = r->rules.overlay_len,
                                      .overlay_name = r->c->rules_file};
    struct mt_err err;
    enum mt_rc rc;
    memset(&err, 0, sizeof err);
    mt_progress_show(&r->load.progress, "analysing", "the driver's calls", 0, 0, false);
    rc = mt_ranks_driver(&r->driver, &r->ranks, &opts, &err);
    mt_progress_erase(&r->load.progress);
    if (rc < 0)
        mt_say_err(r->rules.overlay != NULL ? r->c->rules_file : r->c->inputs[0], &err);
    return rc >= 0;
}

/* Whether all of this is one job; 0 after a message. */
static int tell_jobs(struct report *r, const struct mt_analysis *const *analyses, uint32_t primary)
{
    struct mt_same_job_in in = {.analyses = analyses,
                                .n = r->ranks.list.n,
                                .drivers = (const struct mt_trace *const *)r->ranks.drivers.p,
                                .n_drivers = r->ranks.drivers.n,
                                .logs = &r->run.logs,
                                .conf = r->run.conf,
                                .primary = primary};
    const struct mt_trace **traces = mt_calloc((size_t)in.n + 1, sizeof *traces);
    struct mt_err err;
    enum mt_rc rc = MT_ENOMEM;
    memset(&err, 0, sizeof err);
    for (uint32_t i = 0; traces != NULL && i < in.n; i++)
        traces[i] = r->ranks.list.p[i].trace;
    in.traces = traces;
    if (traces != NULL)
        rc = mt_same_job_make(&r->same_job, &in, &err);
    mt_free(traces);
    if (rc < 0)
        return out_of_memory(r);
    if (r->same_job->sentence != NULL)
        mt_say("warning: %s", r->same_job->sentence);
    return 1;
}

/* The rank of the report: that of the process which the driver's verdict is about, when only the
 * driver saw it. */
static uint32_t choose_primary(const struct report *r, const struct mt_analysis *const *analyses)
{
    const struct mt_driver_oom *o = r->driver != NULL && r->driver->kind == MT_DV_OOM
                                        ? &r->driver->ooms.p[r->driver->oom]
                                        : NULL;
    uint32_t best = mt_primary_rank(analyses, r->ranks.list.n);
    if (o == NULL || mt_verdict_is_oom(analyses[best]->verdict.kind))
        return best;
    for (uint32_t i = 0; i < r->ranks.list.n; i++)
        if (mt_claims_process(&r->ranks.list.p[i].claims, r->driver->drivers.p[o->driver]) ==
            o->process)
            return i;
    return best;
}

/* The framework that the report is about, for settings and advice; the snapshots know best. */
static void settle_framework(struct report *r, const struct mt_analysis *primary)
{
    /* logs may be among the inputs */
    mt_runconf_tell(r->run.conf, mt_logs_framework(&r->run.logs));
    if (primary == NULL || r->run.conf->forced || primary->fw.main <= MT_FW_NONE)
        return;
    r->run.conf->framework = (int)primary->fw.main;
    r->run.conf->forced = true;
}

static int diagnose_run(struct report *r, const struct mt_analysis *const *analyses, uint32_t n)
{
    const char *expandable = mt_runconf_get(r->run.conf, "expandable_segments");
    struct mt_logdiag_opts o = {.fixes = r->rules.fixes,
                                .phases = r->rules.phases,
                                .framework = r->run.conf->framework,
                                .expandable = mt_runconf_is_true(expandable),
                                .conf = r->run.conf};
    struct mt_lint_in in = {.conf = r->run.conf,
                            .logs = &r->run.logs,
                            .analyses = analyses,
                            .n_analyses = n,
                            .driver = r->driver,
                            .fixes = r->rules.fixes};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (r->run.logs.files.n != 0 && mt_logdiag_make(&r->diag, &r->run.logs, &o, &err) < 0)
        return out_of_memory(r);
    if (r->driver != NULL && mt_driverdiag_advise(r->driver, r->rules.fixes, r->run.conf,
                                                  r->run.conf->framework, &err) < 0)
        return out_of_memory(r);
    in.diag = r->diag;
    if (mt_lint_make(&r->lint, &in, &err) < 0) {
        mt_say_err(NULL, &err);
        return 0;
    }
    return 1;
}

static int forget(void *ctx, const void *p, size_t n)
{
    (void)ctx;
    (void)p;
    (void)n;
    return 0;
}

/* Whether the report is no larger than was asked for; it is written to nowhere to know. 0 after a
 * message. */
static int fits(const struct report *r, const struct mt_report *report)
{
    struct mt_out o = {.write = forget};
    if (r->c->max_size == 0)
        return 1;
    mt_report_formats[r->c->format].render(report, &o);
    if (mt_out_finish(&o) != 0 || o.n <= r->c->max_size)
        return 1; /* writing it will say what is wrong */
    mt_say("the report is %llu bytes long, more than --max-size allows (%llu)%s; raise it, or look "
           "at one GPU with --device",
           (unsigned long long)o.n, (unsigned long long)r->c->max_size,
           has_trait(r->c, MT_FORMAT_IS_PAGE) ? " even without any exact events" : "");
    return 0;
}

/* *size: bytes of the report as it is read, compressed or not. 0 after a message. */
static int write_out(const struct report *r, const struct mt_report *report, struct mt_output *out,
                     uint64_t *size)
{
    struct mt_gzip_out gz;
    if (!r->c->gzip) {
        mt_report_formats[r->c->format].render(report, &out->out);
        *size = out->out.n;
        return 1;
    }
    if (!mt_gzip_out_open(&gz, &out->out))
        return out_of_memory(r);
    mt_report_formats[r->c->format].render(report, &gz.out);
    *size = gz.out.n;
    mt_gzip_out_close(&gz);
    return 1;
}

/* What is written passes here, so that the progress can say how much. */
struct counted {
    struct mt_progress *p;
    const char *name;
    int (*write)(void *ctx, const void *bytes, size_t n);
    void *ctx;
    uint64_t n;
};
static int count_write(void *ctx, const void *bytes, size_t n)
{
    struct counted *k = ctx;
    k->n += n;
    mt_progress_show(k->p, "writing", k->name, k->n, 0, true);
    return k->write(k->ctx, bytes, n);
}

/* All names that are in no trace. */
static int redact_rest(struct report *r, struct mt_cli *shown)
{
    return mt_redact_logs(r->redact, &r->run.logs) &&
           mt_redact_unread(r->redact, r->load.unread.p, r->load.unread.n) &&
           mt_redact_cli(r->redact, shown);
}

static enum mt_exit write_report(struct report *r, const char *path)
{
    struct mt_cli shown = *r->c;
    struct mt_report report;
    struct mt_rank *ranks = NULL;
    const struct mt_analysis **analyses = NULL;
    char *command = NULL;
    struct mt_output out;
    struct counted counted;
    enum mt_exit status = MT_EXIT_FAILED;
    uint64_t size = 0;
    int ok;
    uint32_t n = r->ranks.list.n;
    bool to_stdout = path == NULL || strcmp(path, "-") == 0;

    mt_ranks_sort(&r->ranks);
    if (r->ranks.drivers.n != 0 && !make_job(r))
        goto out;
    ranks = mt_calloc((size_t)n + 1, sizeof *ranks);
    analyses = mt_calloc((size_t)n + 1, sizeof *analyses);
    command = redact_rest(r, &shown) ? mt_command_line(&shown) : NULL;
    if (ranks == NULL || analyses == NULL || command == NULL) {
        mt_say("out of memory");
        goto out;
    }
    for (uint32_t i = 0; i < n; i++) {
        ranks[i].trace = r->ranks.list.p[i].trace;
        ranks[i].analysis = analyses[i] = r->ranks.list.p[i].analysis;
        ranks[i].packs = has_trait(r->c, MT_FORMAT_IS_PAGE) ? &r->ranks.list.p[i].packs : NULL;
    }
    memset(&report, 0, sizeof report);
    report.primary = n != 0 ? choose_primary(r, analyses) : 0;
    settle_framework(r, n != 0 ? analyses[report.primary] : NULL);
    if (!diagnose_run(r, analyses, n) || !tell_jobs(r, analyses, report.primary))
        goto out;
    report.same_job = r->same_job;
    report.logs = r->run.logs.files.n != 0 ? &r->run.logs : NULL;
    report.diag = r->diag;
    report.conf = r->run.conf;
    report.lint = r->lint;
    report.ranks = ranks;
    report.n_ranks = n;
    report.driver = r->driver;
    report.unread = r->load.unread.p;
    report.n_unread = r->load.unread.n;
    report.n_ignored = r->load.n_ignored;
    report.title = shown.title != NULL && shown.title[0] != '\0' ? shown.title : NULL;
    report.command = command;
    report.version = MEMTRACE_VERSION;
    report.phases = r->rules.phases;
    report.max_size = max_size(r->c);
    report.columns = mt_term_width(1);
    report.color = to_stdout && has_trait(r->c, MT_FORMAT_IN_COLOR) && mt_term_color(1);

    if (!fits(r, &report) || !mt_output_open(&out, path, r->c->force))
        goto out;
    counted = (struct counted){&r->load.progress, to_stdout ? "standard output" : path,
                               out.out.write, out.out.ctx, 0};
    out.out.write = count_write;
    out.out.ctx = &counted;
    ok = write_out(r, &report, &out, &size);
    (void)mt_out_finish(&out.out); /* an error stays in it until the commit */
    out.out.write = counted.write;
    out.out.ctx = counted.ctx;
    mt_progress_erase(&r->load.progress);
    if (!ok) {
        mt_output_discard(&out);
        goto out;
    }
    status = mt_output_commit(&out, r->c->force);
    if (status != MT_EXIT_OK)
        goto out;
    status = mt_load_status(&r->load);
    if (status == MT_EXIT_OK && r->run.cut)
        status = MT_EXIT_DAMAGED;
    if (has_trait(r->c, MT_FORMAT_IS_PAGE) && size > report.max_size)
        mt_say("%s: %llu bytes, more than the %llu it should have: its tables alone take that; "
               "--device shows one GPU",
               to_stdout ? "the page" : path, (unsigned long long)size,
               (unsigned long long)report.max_size);
    if (!to_stdout && !r->c->quiet)
        mt_tell("%s written: %s", path,
                mt_report_log_leads(&report)      ? r->diag->sentence
                : mt_report_driver_leads(&report) ? r->driver->sentence
                                                  : analyses[report.primary]->verdict.sentence);
    if (r->c->open)
        mt_open_page(path);
out:
    mt_free(command);
    mt_free(analyses);
    mt_free(ranks);
    return status;
}

enum mt_exit mt_cmd_report(const struct mt_cli *c)
{
    struct report r;
    enum mt_exit status = MT_EXIT_FAILED;
    char *made = NULL;
    const char *path = c->output;

    memset(&r, 0, sizeof r);
    r.c = c;
    if (c->max_size > MT_MAX_SIZE_MOST && !c->any_size) {
        mt_say("--max-size: more than 25MB cannot be attached to a ticket; --any-size allows it "
               "all the same");
        return MT_EXIT_USAGE;
    }
    if (path == NULL && has_trait(c, MT_FORMAT_IS_PAGE)) {
        path = made =
            mt_output_default_name(c->inputs[0], mt_report_formats[c->format].name, c->gzip);
        if (made == NULL) {
            mt_say("out of memory");
            goto out;
        }
    }
    if (c->open &&
        (path == NULL || strcmp(path, "-") == 0 || !has_trait(c, MT_FORMAT_IS_PAGE) || c->gzip)) {
        mt_say("--open shows a page that was written to a file: not with --gzip, --output - or "
               "another --format than html");
        status = MT_EXIT_USAGE;
        goto out;
    }
    /* Before an hour of reading, not after it. */
    if (!mt_output_check(path, c->force, c->inputs, c->n_inputs) || !mt_rules_load(&r.rules, c) ||
        !mt_redact_open(&r.redact, c) || !mt_run_inputs_load(&r.run, c))
        goto out;
    if (!mt_redact_conf(r.redact, r.run.conf)) {
        (void)out_of_memory(&r);
        goto out;
    }
    r.load.redact = r.redact;
    r.load.text = mt_run_inputs_text;
    r.load.text_arg = &r.run;
    mt_load_inputs(&r.load, c, visit, &r);
    if (r.load.failed)
        goto out;
    if (r.ranks.list.n == 0 && r.ranks.drivers.n == 0 && r.load.n_logs == 0) {
        if (r.load.n_read > 0)
            mt_say(
                "--device %ld: no snapshot has that GPU; 'memtrace info' lists the ones there are",
                (long)c->device);
        goto out; /* and every input that cannot be read has had its message */
    }
    status = write_report(&r, path);
out:
    mt_driverdiag_free(r.driver);
    mt_same_job_free(r.same_job);
    mt_ranks_done(&r.ranks);
    mt_load_done(&r.load);
    mt_logdiag_free(r.diag);
    mt_lint_free(r.lint);
    mt_run_inputs_done(&r.run);
    mt_rules_done(&r.rules);
    mt_redact_close(r.redact);
    mt_free(made);
    return status;
}
