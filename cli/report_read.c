/* report_read.c -- from the options of a report to its diagnosis. */
#include "cli/report_read.h"

#include "cli/formats.h"
#include "cli/jobs.h"
#include "cli/redaction.h"
#include "parser/input/ahead.h"
#include "parser/input/input.h"
#include "parser/saved/report.h"
#include "parser/saved/summary.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

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
                                 .verify = r->c->verify};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    if (r->load.pool == NULL)
        o.progress = (struct mt_progress_hook){analysing, r};
    if (mt_diagnosis_new(&r->diagnosis, &o, &err) >= 0)
        return 1;
    mt_say_err(NULL, &err);
    return 0;
}

static void show_ranks(struct mt_reading *r)
{
    char ranks[48];
    (void)snprintf(ranks, sizeof ranks, "%llu ranks", (unsigned long long)r->load.n_read);
    mt_progress_show(&r->load.progress, "analysing", ranks, 0, 0, false);
}

static int visit(void *arg, struct mt_trace *t)
{
    struct mt_reading *r = arg;
    struct mt_err err;
    enum mt_rc rc;
    char label[1024];

    memset(&err, 0, sizeof err);
    r->at = mt_trace_label(t, label, sizeof label);
    rc = mt_ranks_add(&r->ranks, t, label, &err);
    mt_progress_erase(&r->load.progress);
    if (r->load.pool != NULL)
        show_ranks(r);
    if (rc == MT_WARN)
        mt_say("%s: has no GPU %ld; left out", label, (long)r->c->device);
    if (rc >= 0)
        return 1;
    mt_say_err(label, &err);
    r->load.n_read--;
    return mt_load_unread(&r->load, label, &err);
}

/* What could not be analysed, once all is read: the same in the same order, however many worked on
 * it. 0 after a message that ends it all. */
static int settle_ranks(struct mt_reading *r)
{
    int ok = 1;
    mt_ranks_wait(&r->ranks);
    mt_progress_erase(&r->load.progress);
    for (uint32_t i = 0; i < r->ranks.failed.n && ok; i++) {
        struct mt_rank_failure *f = &r->ranks.failed.p[i];
        mt_say_err(f->label, &f->err);
        r->load.n_read--;
        ok = mt_load_unread(&r->load, f->label, &f->err);
    }
    if (ok && r->ranks.no_memory)
        mt_say("out of memory; raise --max-memory");
    r->load.failed |= r->ranks.no_memory;
    return ok && !r->ranks.no_memory;
}

/* A log says what the run was set to, which who is analysing reads. */
static int take_log(void *arg, const char *input, const char *member, struct mt_source *src)
{
    struct mt_reading *r = arg;
    mt_ranks_wait(&r->ranks);
    return mt_run_inputs_text(&r->run, input, member, src);
}

/* For mt_load.report. A page's own member says nothing. */
static int keep_report(void *arg, const char *input, const char *member, struct mt_saved *report)
{
    struct mt_reading *r = arg;
    const char *name = strcmp(input, "-") == 0 ? "standard input" : input;
    struct mt_saved_input s = {report, NULL}, *slot;
    s.name = member != NULL && strcmp(member, MT_PAGE_REPORT) != 0 ? mt_load_name(name, member)
                                                                   : mt_strndup(name, strlen(name));
    if (s.name != NULL && mt_saved_is_summary(report)) {
        char *shown = r->redact != NULL ? mt_redact_file_name(r->redact, s.name) : s.name;
        int ok = shown != NULL;
        if (ok && r->redact != NULL && r->merge.unredacted == NULL &&
            !mt_saved_is_redacted(report->root))
            r->merge.unredacted = mt_strndup(s.name, strlen(s.name));
        if (ok) {
            ok = mt_merge_add(&r->merge, report, shown);
        } else {
            mt_saved_free(report);
            mt_say("out of memory; raise --max-memory");
        }
        mt_free(s.name); /* a redacted name is the redactor's own */
        return ok;
    }
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
    r->run.load = &r->load;
    if (!mt_redact_open(&r->redact, r->c, r->rules.rules.frameworks) ||
        !mt_run_inputs_load(&r->run, r->c, &r->rules) || !begin(r))
        return MT_EXIT_FAILED;
    r->run.redact = r->redact;
    if (mt_redact_conf(r->redact, r->run.conf, 0))
        return MT_EXIT_OK;
    mt_say("out of memory; raise --max-memory");
    return MT_EXIT_FAILED;
}

/* One snapshot alone is read and analysed by one thread, which says how far it is. */
static bool has_many(const struct mt_cli *c)
{
    static const char *const ends[] = {".tar", ".tgz", ".zip", ".7z"};
    struct stat st;
    bool many = c->n_inputs > 1 ||
                (c->n_inputs == 1 && stat(c->inputs[0], &st) == 0 && S_ISDIR(st.st_mode));
    for (size_t i = 0; c->n_inputs == 1 && i < sizeof ends / sizeof *ends; i++)
        many |= strstr(c->inputs[0], ends[i]) != NULL;
    return many;
}

/* Threads, where there is work for several. Without them one does it all. */
static void begin_pool(struct mt_reading *r)
{
    uint32_t jobs = r->c->jobs != 0 ? r->c->jobs : mt_jobs_here();
    if (jobs > MT_JOBS_MOST)
        jobs = MT_JOBS_MOST;
    if (jobs > 1 && has_many(r->c))
        r->load.pool = mt_team_new(jobs);
    r->load.unpack_beside = jobs > 1 && r->load.pool == NULL;
}

/* The files that are read before their turn. 0 after a message. */
static int begin_ahead(struct mt_reading *r)
{
    struct mt_input_opts opts = {
        .limits = r->c->limits, .budget = r->c->budget, .sha256 = r->c->sha256, .text = take_log};
    int n = 0;
    if (r->load.pool == NULL)
        return 1;
    r->files = mt_calloc((size_t)r->c->n_inputs + 1, sizeof *r->files);
    for (int i = 0; r->files != NULL && i < r->c->n_inputs; i++)
        if (!r->run.taken[i])
            r->files[n++] = r->c->inputs[i];
    r->load.ahead = r->files != NULL ? mt_ahead_new(r->load.pool, r->files, n, &opts) : NULL;
    if (r->load.ahead == NULL) {
        mt_say("out of memory; raise --max-memory");
        return 0;
    }
    mt_ahead_alone(r->load.ahead, mt_ranks_wait, &r->ranks);
    mt_ahead_go(r->load.ahead);
    return 1;
}

enum mt_exit mt_report_read(struct mt_reading *r, const struct mt_cli *c, struct mt_cli *shown)
{
    enum mt_exit status;
    memset(r, 0, sizeof *r);
    r->c = c;
    r->max_size = c->max_size != 0 ? c->max_size : MT_MAX_SIZE_DEFAULT;
    begin_pool(r);
    status = prepare(r);
    if (status != MT_EXIT_OK)
        return status;
    r->load.redact = r->redact;
    r->load.text = take_log;
    r->load.text_arg = r;
    r->load.report = keep_report;
    r->load.report_arg = r;
    r->load.found = &r->run.found;
    r->load.taken = r->run.taken;
    r->ranks.diagnosis = r->diagnosis;
    r->ranks.pool = r->load.pool;
    r->ranks.all_whole = c->full;
    if ((mt_report_formats[c->format].traits & MT_FORMAT_IS_PAGE) != 0)
        r->ranks.max_size = r->max_size;
    if (!begin_ahead(r))
        return MT_EXIT_FAILED;
    mt_load_inputs(&r->load, c, visit, r);
    if (r->load.failed || !settle_ranks(r))
        return MT_EXIT_FAILED;
    if (r->saved.n != 0)
        return MT_EXIT_OK;
    if (r->merge.n != 0 && r->diagnosis->ranks.n == 0 && r->diagnosis->drivers.n == 0 &&
        r->load.n_logs == 0)
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
    return status == MT_EXIT_OK && (r->run.cut || r->merge.damaged) ? MT_EXIT_DAMAGED : status;
}

void mt_reading_done(struct mt_reading *r)
{
    mt_ranks_done(&r->ranks);
    mt_ahead_free(r->load.ahead);
    mt_team_free(r->load.pool);
    mt_free(r->files);
    for (uint32_t i = 0; i < r->saved.n; i++) {
        mt_saved_free(r->saved.p[i].report);
        mt_free(r->saved.p[i].name);
    }
    MT_VEC_DONE(&r->saved);
    mt_merge_done(&r->merge);
    mt_diagnosis_free(r->diagnosis);
    mt_load_done(&r->load);
    mt_run_inputs_done(&r->run);
    mt_cli_rules_done(&r->rules);
    mt_redact_close(r->redact);
}
