/* report_read.c -- from the options of a report to its diagnosis. */
#include "cli/report_read.h"

#include "cli/formats.h"
#include "cli/redaction.h"
#include "parser/input/input.h"

#include <string.h>

static void analysing(void *arg, uint64_t done, uint64_t total)
{
    struct mt_reading *r = arg;
    mt_progress_show(&r->load.progress, "analysing", r->at, done, total, false);
}

/* 0 after a message. */
static int begin(struct mt_reading *r)
{
    struct mt_diagnose_opts o = {.rules = &r->rules.rules,
                                 .conf = r->run.conf,
                                 .logs = &r->run.logs,
                                 .skipped = &r->load.skipped,
                                 .found = &r->run.found,
                                 .framework = r->rules.framework,
                                 .only_device = r->c->device,
                                 .capacity = r->rules.capacity,
                                 .capacity_else = r->rules.capacity_else,
                                 .tries = r->run.tries.entries.p,
                                 .n_tries = r->run.tries.entries.n,
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
    struct mt_reading *r = arg;
    struct mt_packs packs = {.max_size = r->max_size}, *slot = &packs;
    struct mt_detail_hook detail = {mt_pack_device, &packs};
    bool packed =
        (mt_report_formats[r->c->format].traits & MT_FORMAT_IS_PAGE) != 0 && t->driver == NULL;
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

/* For mt_load.report. A page's own member says nothing. */
static int keep_report(void *arg, const char *input, const char *member, struct mt_saved *report)
{
    struct mt_reading *r = arg;
    const char *name = strcmp(input, "-") == 0 ? "standard input" : input;
    struct mt_saved_input s = {report, NULL}, *slot;
    s.name = member != NULL && strcmp(member, MT_PAGE_REPORT) != 0 ? mt_load_name(name, member)
                                                                   : mt_strndup(name, strlen(name));
    slot = s.name != NULL ? MT_VEC_PUSH(&r->saved) : NULL;
    if (slot != NULL) {
        *slot = s;
        return 1;
    }
    mt_saved_free(report);
    mt_free(s.name);
    mt_say("out of memory; raise --max-memory");
    return 0;
}

/* Names that are in no trace, then what all inputs come to. 0 after a message. */
static int diagnose(struct mt_reading *r, struct mt_cli *shown)
{
    struct mt_err err;
    enum mt_rc rc;
    if (!mt_redact_logs(r->redact, &r->run.logs) ||
        !mt_redact_skipped(r->redact, &r->load.skipped) ||
        !mt_redact_found(r->redact, &r->run.found) || !mt_redact_cli(r->redact, shown)) {
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

/* Rules and settings, which are checked before the inputs are read. */
static enum mt_exit prepare(struct mt_reading *r)
{
    enum mt_exit status = mt_cli_rules_load(&r->rules, r->c);
    if (status != MT_EXIT_OK)
        return status;
    if (!mt_redact_open(&r->redact, r->c, r->rules.rules.frameworks) ||
        !mt_run_inputs_load(&r->run, r->c, &r->rules) || !begin(r))
        return MT_EXIT_FAILED;
    r->run.redact = r->redact;
    if (mt_redact_conf(r->redact, r->run.conf, 0))
        return MT_EXIT_OK;
    mt_say("out of memory; raise --max-memory");
    return MT_EXIT_FAILED;
}

enum mt_exit mt_report_read(struct mt_reading *r, const struct mt_cli *c, struct mt_cli *shown)
{
    enum mt_exit status;
    memset(r, 0, sizeof *r);
    r->c = c;
    r->max_size = c->max_size != 0 ? c->max_size : MT_MAX_SIZE_DEFAULT;
    status = prepare(r);
    if (status != MT_EXIT_OK)
        return status;
    r->load.redact = r->redact;
    r->load.text = mt_run_inputs_text;
    r->load.text_arg = &r->run;
    r->load.report = keep_report;
    r->load.report_arg = r;
    r->load.found = &r->run.found;
    r->load.taken = r->run.taken;
    mt_load_inputs(&r->load, c, visit, r);
    if (r->load.failed)
        return MT_EXIT_FAILED;
    if (r->saved.n != 0)
        return MT_EXIT_OK;
    if (r->diagnosis->ranks.n == 0 && r->diagnosis->drivers.n == 0 && r->load.n_logs == 0) {
        if (r->load.n_read > 0)
            mt_say(
                "--device %ld: no snapshot has that GPU; 'memtrace info' lists the ones there are",
                (long)c->device);
        return MT_EXIT_FAILED; /* and every input that cannot be read has had its message */
    }
    return diagnose(r, shown) ? MT_EXIT_OK : MT_EXIT_FAILED;
}

enum mt_exit mt_reading_status(const struct mt_reading *r)
{
    enum mt_exit status = mt_load_status(&r->load);
    return status == MT_EXIT_OK && r->run.cut ? MT_EXIT_DAMAGED : status;
}

void mt_reading_done(struct mt_reading *r)
{
    for (uint32_t i = 0; i < r->packs.n; i++)
        mt_packs_done(&r->packs.p[i]);
    MT_VEC_DONE(&r->packs);
    for (uint32_t i = 0; i < r->saved.n; i++) {
        mt_saved_free(r->saved.p[i].report);
        mt_free(r->saved.p[i].name);
    }
    MT_VEC_DONE(&r->saved);
    mt_diagnosis_free(r->diagnosis);
    mt_load_done(&r->load);
    mt_run_inputs_done(&r->run);
    mt_cli_rules_done(&r->rules);
    mt_redact_close(r->redact);
}
