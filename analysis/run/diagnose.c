#include "analysis/run/diagnose.h"

#include "analysis/advice/advice.h"
#include "analysis/cause/skew.h"
#include "analysis/cause/verdict.h"
#include "analysis/run/advise_driver.h"
#include "analysis/run/one_process.h"
#include "analysis/run/read_log.h"
#include "analysis/run/refuse.h"
#include "analysis/run/two_books.h"
#include "parser/input/input.h"
#include "parser/model/driver.h"

#include <stdlib.h>
#include <string.h>

static enum mt_rc nomem(const struct mt_diagnosis *d, struct mt_err *err)
{
    return mt_fail(err, MT_ENOMEM, "out of memory: %u snapshots were read; raise --max-memory",
                   d != NULL ? (unsigned)d->ranks.n : 0);
}

/* ---- new ---- */

/* Words that name a program whose files are called as those that the log shows, where no setting
 * says which of the two it is (EasyR1 is a fork of verl and refuses many of verl's keys): that one.
 * So with flags of a library's trainer, and words that name a program with the same flags; and with
 * a piece of a file, whose few names another program has too ("rollout: gpu_memory_utilization").
 */
static void tell_closer(struct mt_runconf *conf, int told)
{
    if (told > MT_FW_NONE && conf->framework > MT_FW_NONE && told != conf->framework &&
        mt_runconf_by_keys(conf) && mt_framework_at(conf->rules, told)->kind == MT_FWK_RL &&
        mt_framework_at(conf->rules, conf->framework)->kind == MT_FWK_RL &&
        (mt_framework_at(conf->rules, conf->framework)->drives >> told & 1) == 0)
        mt_runconf_tell(conf, told);
    if (told > MT_FW_NONE && conf->framework > MT_FW_NONE && !conf->any &&
        mt_framework_at(conf->rules, told)->program_in == (mt_fw)conf->framework)
        mt_runconf_tell(conf, told);
    if (told > MT_FW_NONE && conf->framework > MT_FW_NONE && conf->told < 0 &&
        mt_framework_at(conf->rules, conf->framework)->kind == MT_FWK_TRAINER &&
        mt_framework_at(conf->rules, told)->kind < MT_FWK_TRAINER &&
        mt_framework_shares_settings(conf->rules, told, conf->framework))
        mt_runconf_tell(conf, told);
}

/* Settings or words of one engine alone, and files of another: the first one is compared with the
 * one that ran ("vLLM serves it with --gpu-memory-utilization 0.9"). */
static void tell_engine(struct mt_runconf *conf, int ran)
{
    const struct mt_framework *row =
        conf->framework > MT_FW_NONE ? mt_framework_at(conf->rules, conf->framework) : NULL;
    if (ran <= MT_FW_NONE || row == NULL || row->kind != MT_FWK_ENGINE || conf->framework == ran ||
        (row->drives >> ran & 1) != 0 || !(conf->by_words || (conf->told < 0 && conf->engine_only)))
        return;
    mt_runconf_tell(conf, ran);
    conf->by_words = false;
}

/* What logs say of the run, for conditions about settings. */
static void tell_logs(struct mt_runconf *conf, const struct mt_logs *logs)
{
    mt_runconf_tell(conf, mt_logs_framework(logs));
    if (conf->framework < 0)
        mt_runconf_tell(conf, mt_logs_named(logs));
    if (conf->framework < 0) {
        mt_runconf_tell(conf, mt_logs_told(logs));
        conf->by_words = conf->framework >= 0;
    }
    tell_closer(conf, mt_logs_told(logs));
    tell_engine(conf, mt_logs_engine(logs));
    conf->says = mt_logs_say;
    conf->tries = mt_logs_tried;
    conf->keeps = mt_logs_kept;
    conf->says_of = logs;
    conf->no_expandable = mt_logs_no_expandable(logs);
    conf->host_full = mt_logs_host_ran_out(logs);
    conf->kv_refused =
        mt_logs_have(logs, MT_LOG_VLLM_NO_KV) || mt_logs_have(logs, MT_LOG_SGLANG_NO_KV);
}

enum mt_rc mt_diagnosis_new(struct mt_diagnosis **out, const struct mt_diagnose_opts *o,
                            struct mt_err *err)
{
    struct mt_diagnosis *d = mt_calloc(1, sizeof *d);
    const struct mt_logs *logs = o->logs;
    *out = d;
    if (d == NULL)
        return nomem(d, err);
    d->opts = *o;
    d->conf = o->conf;
    d->skipped = o->skipped;
    d->found = o->found;
    d->framework = -1;
    if (o->conf != NULL && o->framework >= 0) {
        o->conf->framework = o->framework;
        o->conf->forced = true;
    }
    if (o->conf == NULL || logs == NULL)
        return MT_OK;
    tell_logs(o->conf, logs);
    return MT_OK;
}

/* ---- add ---- */

static bool has_gpu(const struct mt_trace *t, int32_t ordinal)
{
    for (uint32_t i = 0; i < t->devices.n; i++)
        if (t->devices.p[i].kind == MT_DEV_CUDA && t->devices.p[i].ordinal == ordinal)
            return true;
    return false;
}

/* The size of the GPU that a snapshot inside a driver trace belongs to; 0 = unknown, or the trace's
 * GPUs differ. */
static uint64_t capacity_by_driver(const struct mt_diagnosis *d, const struct mt_trace *t)
{
    uint64_t size = 0;
    for (uint32_t i = 0; i < d->drivers.n && t->meta.uid != 0; i++) {
        const struct mt_driver *v = d->drivers.p[i]->driver;
        bool is_own = false;
        for (uint32_t k = 0; k < v->processes.n; k++)
            is_own |= v->processes.p[k].uid == t->meta.uid;
        for (uint32_t k = 0; is_own && k < v->gpus.n; k++) {
            if (v->gpus.p[k].total == 0 || (size != 0 && size != v->gpus.p[k].total))
                return 0;
            size = v->gpus.p[k].total;
        }
    }
    return size;
}

static uint64_t find_capacity(const struct mt_diagnosis *d, const struct mt_trace *t,
                              enum mt_capacity_from *from)
{
    uint64_t size = d->opts.capacity;
    *from = MT_CAPACITY_GIVEN;
    if (size == 0) {
        size = capacity_by_driver(d, t);
        *from = MT_CAPACITY_DRIVER;
    }
    if (size == 0 && d->opts.logs != NULL) {
        size = mt_logs_capacity(d->opts.logs, t->devices.n == 1 ? t->devices.p[0].ordinal : -1);
        *from = MT_CAPACITY_LOG;
    }
    for (uint32_t i = 0; size == 0 && i < t->devices.n; i++) {
        size = t->devices.p[i].memory;
        *from = MT_CAPACITY_RECORDED;
    }
    if (size == 0) {
        size = d->opts.capacity_else;
        *from = size != 0 ? MT_CAPACITY_CONFIG : MT_CAPACITY_UNKNOWN;
    }
    return size;
}

/* A snapshot between its settings and its place among the ranks. */
struct mt_rank_job {
    struct mt_rank rank;
    struct mt_analyze_opts opts;
    struct mt_runconf view; /* the settings of the run, with those of this snapshot */
    struct mt_config own;
};

void mt_rank_job_free(struct mt_rank_job *job)
{
    if (job == NULL)
        return;
    mt_conf_done(&job->own);
    mt_claims_done(&job->rank.claims);
    mt_analysis_free(job->rank.analysis);
    mt_trace_free(job->rank.trace);
    mt_free(job);
}

/* The caller frees t when this fails. */
static enum mt_rc begin_snapshot(struct mt_diagnosis *d, struct mt_rank_job **out,
                                 struct mt_trace *t, const struct mt_detail_hook *detail,
                                 struct mt_err *err)
{
    struct mt_rank_job *j = mt_calloc(1, sizeof *j);
    if (j == NULL)
        return nomem(d, err);
    j->opts = (struct mt_analyze_opts){.phases = d->opts.rules->phases,
                                       .fixes = d->opts.rules->fixes,
                                       .roles = d->opts.rules->roles,
                                       .verify = d->opts.verify,
                                       .only_device = d->opts.only_device,
                                       .framework = d->opts.framework,
                                       .progress = d->opts.progress};
    if (detail != NULL)
        j->opts.detail = *detail;
    if (d->opts.conf != NULL) {
        enum mt_rc rc = mt_runconf_own(&j->own, t, err);
        if (rc < 0) {
            mt_rank_job_free(j);
            return rc;
        }
        j->view = *d->opts.conf;
        j->view.own = &j->own;
        j->opts.conf = &j->view;
    }
    j->opts.capacity = find_capacity(d, t, &j->rank.capacity_from);
    j->rank.trace = t;
    *out = j;
    return MT_OK;
}

enum mt_rc mt_rank_job_run(struct mt_rank_job *job, struct mt_err *err)
{
    struct mt_rank *k = &job->rank;
    enum mt_rc rc = mt_analyze(&k->analysis, k->trace, &job->opts, err);
    if (rc < 0)
        return rc;
    rc = mt_claims_note(&k->claims, k->trace, err);
    if (rc < 0) {
        mt_claims_done(&k->claims);
        mt_analysis_free(k->analysis);
        k->analysis = NULL;
        return rc;
    }
    mt_claims_peak(&k->claims, k->analysis);
    mt_trace_drop_events(k->trace);
    return MT_OK;
}

enum mt_rc mt_diagnosis_end(struct mt_diagnosis *d, struct mt_rank_job *job, enum mt_rc rc,
                            struct mt_err *err)
{
    uint32_t *whole = rc >= 0 ? MT_VEC_PUSH(&d->whole) : NULL;
    struct mt_rank *slot = whole != NULL ? MT_VEC_PUSH(&d->ranks) : NULL;
    if (rc >= 0 && slot == NULL) {
        d->whole.n -= whole != NULL;
        rc = nomem(d, err);
    }
    if (slot != NULL) {
        *slot = job->rank;
        slot->order = *whole = d->ranks.n - 1;
        memset(&job->rank, 0, sizeof job->rank);
    }
    mt_rank_job_free(job);
    return rc;
}

enum mt_rc mt_diagnosis_begin(struct mt_diagnosis *d, struct mt_rank_job **job, struct mt_trace *t,
                              const struct mt_detail_hook *detail, struct mt_err *err)
{
    struct mt_trace **slot = t->driver != NULL ? MT_VEC_PUSH(&d->drivers) : NULL;
    enum mt_rc rc = t->driver != NULL && slot == NULL ? nomem(d, err) : MT_OK;
    *job = NULL;
    if (slot != NULL)
        *slot = t;
    if (rc >= 0 && d->opts.conf != NULL)
        rc = mt_runconf_add_trace(d->opts.conf, t, err);
    if (slot != NULL && rc >= 0)
        return rc;
    if (slot != NULL)
        d->drivers.n--; /* freed below */
    if (rc >= 0 && d->opts.only_device >= 0 && !has_gpu(t, d->opts.only_device)) {
        mt_trace_free(t);
        return MT_WARN;
    }
    if (rc >= 0)
        rc = begin_snapshot(d, job, t, detail, err);
    if (rc < 0)
        mt_trace_free(t);
    return rc;
}

enum mt_rc mt_diagnosis_add(struct mt_diagnosis *d, struct mt_trace *t,
                            const struct mt_detail_hook *detail, struct mt_err *err)
{
    struct mt_rank_job *job = NULL;
    enum mt_rc rc = mt_diagnosis_begin(d, &job, t, detail, err);
    return job != NULL ? mt_diagnosis_end(d, job, mt_rank_job_run(job, err), err) : rc;
}

/* ---- finish ---- */

static int by_rank(const void *pa, const void *pb)
{
    const struct mt_rank *a = pa, *b = pb;
    int32_t ra = a->trace->meta.rank, rb = b->trace->meta.rank;
    if ((ra < 0) != (rb < 0))
        return ra < 0 ? 1 : -1;
    if (ra != rb)
        return ra < rb ? -1 : 1;
    return a->order < b->order ? -1 : 1;
}

/* What the driver saw, over all traces of it. */
static enum mt_rc make_ledger(struct mt_diagnosis *d, struct mt_err *err)
{
    struct mt_driverdiag_opts o = {.phases = d->opts.rules->phases,
                                   .capacity = d->opts.capacity,
                                   .overlay = d->opts.rules->overlay,
                                   .overlay_len = d->opts.rules->overlay_len,
                                   .overlay_name = d->opts.rules->overlay_name};
    struct mt_claims *claims;
    enum mt_rc rc;
    if (d->drivers.n == 0)
        return MT_OK;
    claims = mt_calloc((size_t)d->ranks.n + 1, sizeof *claims);
    if (claims == NULL)
        return nomem(d, err);
    rc = MT_OK;
    for (uint32_t i = 0; i < d->ranks.n && rc >= 0; i++) {
        rc = mt_claims_make(&d->ranks.p[i].claims, err);
        claims[i] = d->ranks.p[i].claims;
    }
    if (rc >= 0)
        rc = mt_driverdiag_make(&d->driver, (const struct mt_trace *const *)d->drivers.p,
                                d->drivers.n, claims, d->ranks.n, &o, err);
    mt_free(claims);
    return rc;
}

/* Of the ranks that are whole the one that speaks; what is in brief has no words. *spare: room for
 * as many as there are ranks. */
static uint32_t first_of_whole(const struct mt_diagnosis *d, const struct mt_analysis **spare)
{
    uint32_t n = 0, best;
    for (uint32_t i = 0; i < d->ranks.n; i++)
        if (!d->ranks.p[i].analysis->is_brief)
            spare[n++] = d->ranks.p[i].analysis;
    best = mt_primary_rank(spare, n);
    for (uint32_t i = 0; i < d->ranks.n; i++)
        if (n != 0 && d->ranks.p[i].analysis == spare[best])
            return i;
    return 0;
}

/* The rank that speaks: that of the process which the driver's verdict is about, when only the
 * driver saw it fail. spare: as above. */
static uint32_t choose_primary(const struct mt_diagnosis *d, const struct mt_analysis **spare)
{
    const struct mt_driver_oom *o = d->driver != NULL && d->driver->kind == MT_V_OOM
                                        ? &d->driver->ooms.p[d->driver->oom]
                                        : NULL;
    uint32_t best = mt_better_book(d->ranks.p, d->ranks.n, first_of_whole(d, spare));
    if (o == NULL || mt_verdict_is_oom(d->ranks.p[best].analysis->verdict.kind))
        return best;
    for (uint32_t i = 0; i < d->ranks.n; i++)
        if (!d->ranks.p[i].analysis->is_brief &&
            mt_claims_process(&d->ranks.p[i].claims, d->driver->drivers.p[o->driver]) == o->process)
            return i;
    return best;
}

static void settle_framework(struct mt_diagnosis *d)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    struct mt_runconf *conf = d->opts.conf;
    int by_snapshot =
        k != NULL && k->analysis->fw.main > MT_FW_NONE ? (int)k->analysis->fw.main : -1;
    if (conf != NULL && d->opts.logs != NULL) /* logs may be among the inputs */
        tell_logs(conf, d->opts.logs);
    if (d->opts.framework >= 0)
        by_snapshot = d->opts.framework;
    if (conf != NULL && !conf->forced && by_snapshot >= 0) {
        conf->framework = by_snapshot;
        conf->forced = true;
        conf->by_trace = d->opts.framework < 0;
    }
    d->framework = conf != NULL ? conf->framework : by_snapshot;
    d->framework_from = d->opts.framework >= 0 ? MT_FW_FROM_OPTION
                        : d->framework < 0     ? MT_FW_FROM_NOTHING
                        : by_snapshot >= 0     ? MT_FW_FROM_SNAPSHOT
                                               : MT_FW_FROM_RUN;
}

static enum mt_rc diagnose_logs(struct mt_diagnosis *d, struct mt_err *err)
{
    struct mt_logdiag_opts o = {.fixes = d->opts.rules->fixes,
                                .phases = d->opts.rules->phases,
                                .framework = d->framework,
                                .conf = d->conf};
    if (d->opts.logs == NULL || d->opts.logs->files.n == 0)
        return MT_OK;
    d->logs = d->opts.logs;
    if (d->opts.conf != NULL && d->ranks.n == 0 && mt_runconf_is_fragment(d->opts.conf))
        d->opts.conf->is_partial = true;
    if (d->opts.conf != NULL && d->ranks.n == 0 &&
        mt_logs_told_values(d->logs, d->opts.conf, err) != MT_OK)
        return MT_ENOMEM;
    if (d->opts.conf != NULL && d->ranks.n == 0)
        mt_logs_told_model(d->logs, d->opts.conf);
    return mt_logdiag_make(&d->logdiag, d->logs, &o, &d->log_advice, err);
}

/* The lints see the settings that are tried as well as those of the run. */
static enum mt_rc try_settings(struct mt_diagnosis *d, const struct mt_lint_in *as_is,
                               struct mt_err *err)
{
    const struct mt_rank *k = mt_diagnosis_rank(d);
    struct mt_frameworks fw = {.rules = mt_fix_rules_frameworks(d->opts.rules->fixes),
                               .main = d->framework > 0 ? (mt_fw)d->framework : MT_FW_NONE};
    struct mt_try_in in = {.a = k != NULL ? k->analysis : NULL,
                           .fw = k != NULL ? &k->analysis->fw : &fw,
                           .phase = d->logdiag != NULL ? d->logdiag->phase : MT_PH_UNATTRIBUTED,
                           .sub = d->logdiag != NULL ? d->logdiag->sub : MT_PH_NONE,
                           .rules = d->opts.rules->fixes,
                           .conf = d->conf};
    struct mt_lint_in with = *as_is;
    struct mt_runconf conf;
    enum mt_rc rc = mt_advice_try(&d->tried, &in, d->opts.tries, d->opts.n_tries, err);
    if (rc < 0 || d->conf == NULL)
        return rc;
    conf = *d->conf;
    conf.tried = d->opts.tries;
    conf.n_tried = d->opts.n_tries;
    with.conf = &conf;
    return mt_lint_make(&d->tried_lint, &with, err);
}

/* Settings that contradict each other, no advice that would, and what is tried. */
static enum mt_rc lint(struct mt_diagnosis *d, const struct mt_analysis *const *analyses,
                       struct mt_err *err)
{
    struct mt_lint_in in = {.conf = d->conf,
                            .logs = d->opts.logs,
                            .logdiag = d->logdiag,
                            .analyses = analyses,
                            .n_analyses = d->ranks.n,
                            .driver = d->driver,
                            .fixes = d->opts.rules->fixes};
    struct mt_rank *k = d->primary < d->ranks.n ? &d->ranks.p[d->primary] : NULL;
    struct mt_advice_list *const others[] = {&d->driver_advice, &d->log_advice};
    uint32_t n = 0;
    enum mt_rc rc = mt_lint_make(&d->lint, &in, err);
    if (rc >= 0 && k != NULL)
        rc = mt_refuse_advice(&k->analysis->advice, &in, d->lint, &n, err);
    if (rc >= 0 && n != 0)
        rc = mt_advise_again(k->analysis, in.fixes, d->conf, err);
    for (size_t i = 0; i < sizeof others / sizeof *others && rc >= 0; i++) {
        rc = mt_refuse_advice(others[i], &in, d->lint, &n, err);
        if (rc >= 0 && n != 0)
            mt_advice_fill_top(others[i]->p, others[i]->n);
    }
    return rc >= 0 && d->opts.n_tries != 0 ? try_settings(d, &in, err) : rc;
}

static enum mt_rc tell_jobs_apart(struct mt_diagnosis *d, const struct mt_trace *const *traces,
                                  const struct mt_analysis *const *analyses, struct mt_err *err)
{
    struct mt_same_job_in in = {.traces = traces,
                                .analyses = analyses,
                                .n = d->ranks.n,
                                .drivers = (const struct mt_trace *const *)d->drivers.p,
                                .n_drivers = d->drivers.n,
                                .logs = d->opts.logs,
                                .conf = d->conf,
                                .primary = d->primary,
                                .capacity_else = d->opts.capacity == 0 ? d->opts.capacity_else : 0};
    return mt_same_job_make(&d->same_job, &in, err);
}

/* The rank that speaks beside the others of its job: what it lacks they may have. */
static enum mt_rc compare_ranks(struct mt_diagnosis *d, struct mt_err *err)
{
    struct mt_analysis **all, *a = d->primary < d->ranks.n ? d->ranks.p[d->primary].analysis : NULL;
    bool changed = false, ok;
    if (d->ranks.n < 2 || d->same_job->groups.n != 0)
        return MT_OK;
    all = mt_calloc(d->ranks.n, sizeof *all);
    if (all == NULL)
        return nomem(d, err);
    for (uint32_t i = 0; i < d->ranks.n; i++)
        all[i] = d->ranks.p[i].analysis;
    ok = mt_cause_skew(a, a->verdict.device, all, d->ranks.n, &changed);
    mt_free(all);
    if (!ok)
        return nomem(d, err);
    if (!changed)
        return MT_OK;
    mt_advice_list_done(&a->advice);
    a->advice = (struct mt_advice_list){.p = NULL};
    return mt_advise(a, d->opts.rules->fixes, d->conf, err);
}

enum mt_rc mt_diagnosis_finish(struct mt_diagnosis *d, struct mt_err *err)
{
    const struct mt_analysis **analyses = mt_calloc((size_t)d->ranks.n + 1, sizeof *analyses);
    const struct mt_trace **traces = mt_calloc((size_t)d->ranks.n + 1, sizeof *traces);
    enum mt_rc rc = analyses != NULL && traces != NULL ? MT_OK : nomem(d, err);
    if (rc < 0)
        goto out;
    if (!mt_ranks_by_name(d->ranks.p, d->ranks.n)) {
        rc = nomem(d, err);
        goto out;
    }
    if (d->ranks.n > 1)
        qsort(d->ranks.p, d->ranks.n, sizeof *d->ranks.p, by_rank);
    rc = make_ledger(d, err); /* which wants the claims of every moment */
    if (rc >= 0 && mt_set_earlier_aside(d) != MT_OK)
        rc = nomem(d, err);
    if (rc < 0)
        goto out;
    d->primary = d->ranks.n != 0 ? choose_primary(d, analyses) : 0;
    for (uint32_t i = 0; i < d->ranks.n; i++) {
        analyses[i] = d->ranks.p[i].analysis;
        traces[i] = d->ranks.p[i].trace;
    }
    settle_framework(d);
    rc = tell_jobs_apart(d, traces, analyses, err);
    if (rc >= 0)
        rc = compare_ranks(d, err);
    if (rc >= 0)
        rc = diagnose_logs(d, err);
    if (rc >= 0 && d->driver != NULL)
        rc = mt_driverdiag_advise(&d->driver_advice, d->driver, d->opts.rules->fixes, d->conf,
                                  d->framework, err);
    if (rc >= 0)
        rc = lint(d, analyses, err);
    if (rc >= 0 && !mt_quality_make(d))
        rc = nomem(d, err);
out:
    mt_free(analyses);
    mt_free(traces);
    return rc < 0 ? rc : MT_OK;
}

static void free_rank(struct mt_rank *k)
{
    mt_analysis_free(k->analysis);
    mt_claims_done(&k->claims);
    mt_trace_free(k->trace);
}

void mt_diagnosis_free(struct mt_diagnosis *d)
{
    if (d == NULL)
        return;
    mt_driverdiag_free(d->driver);
    mt_logdiag_free(d->logdiag);
    mt_advice_list_done(&d->driver_advice);
    mt_advice_list_done(&d->log_advice);
    mt_lint_free(d->lint);
    mt_lint_free(d->tried_lint);
    mt_tried_done(&d->tried);
    mt_same_job_free(d->same_job);
    mt_quality_done(&d->quality);
    for (uint32_t i = 0; i < d->ranks.n; i++)
        free_rank(&d->ranks.p[i]);
    MT_VEC_DONE(&d->ranks);
    MT_VEC_DONE(&d->whole);
    for (uint32_t i = 0; i < d->earlier.n; i++)
        free_rank(&d->earlier.p[i]);
    MT_VEC_DONE(&d->earlier);
    for (uint32_t i = 0; i < d->drivers.n; i++)
        mt_trace_free(d->drivers.p[i]);
    MT_VEC_DONE(&d->drivers);
    mt_free(d);
}

/* ---- all at once ---- */

static enum mt_rc add_path(struct mt_diagnosis *d, const char *path, struct mt_err *err)
{
    struct mt_input_opts o = {.limits = MT_LIMITS_DEFAULT};
    struct mt_input *in = NULL;
    enum mt_rc rc = mt_input_open(&in, path, &o, err);
    while (rc >= 0) {
        struct mt_trace *t = NULL;
        rc = mt_input_next(in, &t, err);
        if (rc < 0 || t == NULL)
            break;
        rc = mt_diagnosis_add(d, t, NULL, err);
    }
    mt_input_close(in);
    return rc;
}

enum mt_rc mt_diagnose(struct mt_diagnosis **out, const struct mt_diagnose_opts *o,
                       const char *const *paths, uint32_t n, struct mt_err *err)
{
    struct mt_diagnosis *d = NULL;
    enum mt_rc rc = mt_diagnosis_new(&d, o, err);
    for (uint32_t i = 0; rc >= 0 && i < n; i++)
        rc = add_path(d, paths[i], err);
    if (rc >= 0)
        rc = mt_diagnosis_finish(d, err);
    if (rc < 0) {
        mt_diagnosis_free(d);
        d = NULL;
    }
    *out = d;
    return rc < 0 ? rc : MT_OK;
}
