/* cmd_report.c -- read every input into one diagnosis and write the report about it. */
#include "cli/formats.h"
#include "cli/load.h"
#include "cli/open.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/redaction.h"
#include "cli/report_write.h"
#include "cli/rules_load.h"
#include "cli/run_inputs.h"
#include "cli/term.h"
#include "render/pack/pack.h"

#include <string.h>

struct report {
    const struct mt_cli *c;
    struct mt_load load;
    struct mt_cli_rules rules;
    struct mt_run_inputs run; /* logs and settings */
    struct mt_redact *redact;
    struct mt_diagnosis *diagnosis;
    MT_VEC(struct mt_packs) packs; /* by order of the snapshots, for the page */
    const char *at;                /* what is being analysed, for the progress */
};

static bool has_trait(const struct mt_cli *c, unsigned trait)
{
    return (mt_report_formats[c->format].traits & trait) != 0;
}

static uint64_t max_size(const struct mt_cli *c)
{
    return c->max_size != 0 ? c->max_size : MT_MAX_SIZE_DEFAULT;
}

static void analysing(void *arg, uint64_t done, uint64_t total)
{
    struct report *r = arg;
    mt_progress_show(&r->load.progress, "analysing", r->at, done, total, false);
}

/* 0 after a message. */
static int begin(struct report *r)
{
    struct mt_diagnose_opts o = {.rules = &r->rules.rules,
                                 .conf = r->run.conf,
                                 .logs = &r->run.logs,
                                 .skipped = &r->load.skipped,
                                 .framework = r->rules.framework,
                                 .only_device = r->c->device,
                                 .capacity = r->c->capacity,
                                 .verify = r->c->verify,
                                 .progress = {analysing, r}};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (mt_diagnosis_new(&r->diagnosis, &o, &err) >= 0)
        return 1;
    mt_say_err(NULL, &err);
    return 0;
}

static int visit(void *arg, struct mt_trace *t)
{
    struct report *r = arg;
    struct mt_packs packs = {.max_size = max_size(r->c)}, *slot = &packs;
    struct mt_detail_hook detail = {mt_pack_device, &packs};
    bool packed = has_trait(r->c, MT_FORMAT_IS_PAGE) && t->driver == NULL;
    struct mt_err err;
    enum mt_rc rc;
    char label[1024];

    memset(&err, 0, sizeof err);
    r->at = mt_trace_label(t, label, sizeof label);
    rc = mt_diagnosis_add(r->diagnosis, t, packed ? &detail : NULL, &err);
    mt_progress_erase(&r->load.progress);
    if (rc == MT_OK && packed)
        slot = MT_VEC_PUSH(&r->packs);
    if (rc == MT_OK && slot != NULL) {
        *slot = packs;
        return 1;
    }
    mt_packs_done(&packs);
    if (rc == MT_WARN)
        mt_say("%s: has no GPU %ld; left out", label, (long)r->c->device);
    else if (rc >= 0)
        mt_say("out of memory; raise --max-memory");
    if (rc >= 0)
        return rc == MT_WARN;
    mt_say_err(label, &err);
    r->load.n_read--;
    return mt_load_unread(&r->load, label, &err);
}

/* Names that are in no trace, then what all inputs come to. 0 after a message. */
static int diagnose(struct report *r, struct mt_cli *shown)
{
    struct mt_err err;
    enum mt_rc rc;
    if (!mt_redact_logs(r->redact, &r->run.logs) ||
        !mt_redact_skipped(r->redact, &r->load.skipped) || !mt_redact_cli(r->redact, shown)) {
        mt_say("out of memory");
        return 0;
    }
    memset(&err, 0, sizeof err);
    if (r->diagnosis->drivers.n != 0)
        mt_progress_show(&r->load.progress, "analysing", "the driver's calls", 0, 0, false);
    rc = mt_diagnosis_finish(r->diagnosis, &err);
    mt_progress_erase(&r->load.progress);
    mt_load_explain(&r->load, &err);
    if (rc < 0)
        mt_say_err(NULL, &err);
    else if (r->diagnosis->same_job->sentence != NULL)
        mt_say("warning: %s", r->diagnosis->same_job->sentence);
    return rc >= 0;
}

static enum mt_exit report(struct report *r, const char *path)
{
    struct mt_cli shown = *r->c;
    struct mt_report report = {.diagnosis = r->diagnosis,
                               .packs = r->packs.p,
                               .version = MEMTRACE_VERSION,
                               .max_size = max_size(r->c),
                               .columns = mt_term_width(1)};
    bool to_stdout = path == NULL || strcmp(path, "-") == 0;
    enum mt_exit status;
    char *command;
    if (!diagnose(r, &shown))
        return MT_EXIT_FAILED;
    command = mt_command_line(&shown);
    if (command == NULL) {
        mt_say("out of memory");
        return MT_EXIT_FAILED;
    }
    report.title = shown.title != NULL && shown.title[0] != '\0' ? shown.title : NULL;
    report.command = command;
    report.color = to_stdout && has_trait(r->c, MT_FORMAT_IN_COLOR) && mt_term_color(1);
    status = mt_report_write(r->c, &report, path, &r->load.progress);
    mt_free(command);
    if (status != MT_EXIT_OK)
        return status;
    if (r->c->open)
        mt_open_page(path);
    status = mt_load_status(&r->load);
    return status == MT_EXIT_OK && r->run.cut ? MT_EXIT_DAMAGED : status;
}

/* What the options exclude before anything is read; 0 after a message. */
static int is_allowed(const struct mt_cli *c, const char *path)
{
    if (c->open &&
        (path == NULL || strcmp(path, "-") == 0 || !has_trait(c, MT_FORMAT_IS_PAGE) || c->gzip)) {
        mt_say("--open shows a page that was written to a file: not with --gzip, --output - or "
               "another --format than html");
        return 0;
    }
    return 1;
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
    if (!is_allowed(c, path)) {
        status = MT_EXIT_USAGE;
        goto out;
    }
    /* Output path, rules and settings are checked before the inputs are read. */
    if (!mt_output_check(path, c->force, c->inputs, c->n_inputs))
        goto out;
    status = mt_cli_rules_load(&r.rules, c);
    if (status != MT_EXIT_OK)
        goto out;
    status = MT_EXIT_FAILED;
    if (!mt_redact_open(&r.redact, c, r.rules.rules.frameworks) ||
        !mt_run_inputs_load(&r.run, c, &r.rules) || !begin(&r))
        goto out;
    if (!mt_redact_conf(r.redact, r.run.conf)) {
        mt_say("out of memory; raise --max-memory");
        goto out;
    }
    r.load.redact = r.redact;
    r.load.text = mt_run_inputs_text;
    r.load.text_arg = &r.run;
    mt_load_inputs(&r.load, c, visit, &r);
    if (r.load.failed)
        goto out;
    if (r.diagnosis->ranks.n == 0 && r.diagnosis->drivers.n == 0 && r.load.n_logs == 0) {
        if (r.load.n_read > 0)
            mt_say(
                "--device %ld: no snapshot has that GPU; 'memtrace info' lists the ones there are",
                (long)c->device);
        goto out; /* and every input that cannot be read has had its message */
    }
    status = report(&r, path);
out:
    for (uint32_t i = 0; i < r.packs.n; i++)
        mt_packs_done(&r.packs.p[i]);
    MT_VEC_DONE(&r.packs);
    mt_diagnosis_free(r.diagnosis);
    mt_load_done(&r.load);
    mt_run_inputs_done(&r.run);
    mt_cli_rules_done(&r.rules);
    mt_redact_close(r.redact);
    mt_free(made);
    return status;
}
