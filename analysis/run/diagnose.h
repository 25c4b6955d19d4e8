/* run/diagnose.h -- the whole: from all inputs of a run to one diagnosis.
 *
 * Inputs are snapshots, traces of driver calls, logs and settings. They are read one after the
 * other; of a snapshot only the analysis and the claims on its segments stay, its events are given
 * back, so memory is bounded by the largest input. The steps, in this order, because each reads
 * what the ones before it found:
 *
 *   mt_diagnosis_new()     1. What the given logs settle for the settings: framework, refusals.
 *   mt_diagnosis_add()     For each trace, in the order of the inputs:
 *     ..._begin()          2. its settings join those of the run;
 *                          3. capacity: --capacity, else the driver trace that recorded the
 *                             process, else the logs, the recording, memtrace.toml;
 *     mt_rank_job_run()    4. the analysis of a snapshot, with its advice; the events of its
 *                             segments are noted, for claims; events dropped;
 *     ..._end()            5. it is one of the ranks. Of very many, mt_brief_next() (run/brief.h)
 *                             gives back what a row does not need.
 *   mt_diagnosis_finish()  6. Ranks in order of their numbers.
 *                          7. The driver's ledger over all driver traces and claims.
 *                          8. The rank that speaks: the driver's failure may choose it.
 *                          9. The framework: forced, the speaking rank's, that of the settings,
 *                             that of the logs.
 *                         10. Whether the inputs are of one job.
 *                         11. The speaking rank beside the others: skew, and what they hold on its
 *                             card. Then its advice is made again.
 *                         12. The diagnosis of the logs, and advice on it.
 *                         13. Advice on the driver's failure.
 *                         14. Lint of the settings against all of that.
 *                             Advice that would trip it is taken out; settings to try are asked.
 *                         15. What limits the trust in all of that.
 *
 * Thread-safety: a diagnosis and its conf and logs belong to one thread until it is finished, and
 * are const afterwards; what several snapshots may do beside each other is mt_rank_job_run().
 * What a snapshot is told of the settings does not depend on the snapshots before it. Several
 * diagnoses may be made at once and share their rules. */
#ifndef MT_DIAGNOSE_H
#define MT_DIAGNOSE_H

#include "analysis/advice/try.h"
#include "analysis/ledger/driver.h"
#include "analysis/log/diagnose.h"
#include "analysis/run/cause.h"
#include "analysis/run/analyze.h"
#include "analysis/run/lint.h"
#include "analysis/run/quality.h"
#include "analysis/run/rules.h"
#include "analysis/run/same_job.h"
#include "analysis/setup/found.h"
#include "analysis/setup/settings.h"

/* Where the size of the card is from. */
enum mt_capacity_from {
    MT_CAPACITY_UNKNOWN,
    MT_CAPACITY_GIVEN, /* --capacity */
    MT_CAPACITY_DRIVER,
    MT_CAPACITY_LOG,
    MT_CAPACITY_RECORDED, /* the input says it itself */
    MT_CAPACITY_CONFIG    /* memtrace.toml, where nothing else says it */
};
/* "option", "driver", "log", "recording", "config"; NULL = unknown */
const char *mt_capacity_from_name(enum mt_capacity_from from);

enum mt_framework_from {
    MT_FW_FROM_NOTHING,
    MT_FW_FROM_OPTION,   /* --framework */
    MT_FW_FROM_SNAPSHOT, /* of the rank that speaks */
    MT_FW_FROM_RUN       /* its settings or logs */
};

/* Whose sentence is the headline, and whose advice stands under it. */
enum mt_lead {
    MT_LEAD_NOTHING, /* there is no input */
    MT_LEAD_SNAPSHOT,
    MT_LEAD_DRIVER, /* there is no snapshot, or only the driver saw the failure */
    MT_LEAD_LOG     /* a log is all there is, or all that saw the failure */
};

/* One snapshot: a rank of the job, or several of one rank. */
struct mt_rank {
    struct mt_trace *trace; /* without its events */
    struct mt_analysis *analysis;
    struct mt_claims claims; /* on its segments, for the driver's ledger */
    enum mt_capacity_from capacity_from;
    uint32_t order; /* of reading, from 0 */
};

struct mt_diagnose_opts {
    const struct mt_rules *rules; /* must outlive the diagnosis */
    /* Settings of the run; traces add theirs, and the framework is settled in it. NULL = settings
     * are not asked for. Borrowed. */
    struct mt_runconf *conf;
    /* Logs may be added until finish. NULL = none. Borrowed. */
    const struct mt_logs *logs;
    /* What could not be read; may grow until finish. NULL = nothing. Borrowed. */
    const struct mt_skipped *skipped;
    /* Files of settings that were found in a folder. NULL = none was looked for. Borrowed. */
    const struct mt_found *found;
    int framework;          /* forced, -1 = detect */
    int32_t only_device;    /* ordinal of a GPU, -1 = all */
    uint64_t capacity;      /* bytes, 0 = not given */
    uint64_t capacity_else; /* of memtrace.toml, where nothing else says it; 0 = none */
    /* Settings to try, not owned; asked of the rank that speaks. */
    const struct mt_conf_entry *tries;
    uint32_t n_tries;
    bool verify; /* check the sums of the roles after every event */
    struct mt_progress_hook progress;
};

struct mt_diagnosis {
    struct mt_diagnose_opts opts;
    /* By rank number where the name says one, the others after them as they were read. */
    MT_VEC(struct mt_rank) ranks;
    MT_VEC(uint32_t) whole; /* of ranks, those that are not in brief (run/brief.h); until finish */
    /* Snapshots of a process of which one of ranks is a later one that has all of it. */
    MT_VEC(struct mt_rank) earlier;
    MT_VEC(struct mt_trace *) drivers; /* traces of driver calls; they are no ranks */
    uint32_t primary;                  /* the rank that speaks; 0 without ranks */
    int framework;                     /* that settings and advice are for, -1 */
    enum mt_framework_from framework_from;
    struct mt_driverdiag *driver; /* ledger and verdict; NULL without driver traces */
    const struct mt_logs *logs;   /* NULL = none were read */
    struct mt_logdiag *logdiag;   /* NULL without logs */
    const struct mt_runconf *conf;
    /* On the driver's failure and on the log's; a snapshot's is in its analysis. */
    struct mt_advice_list driver_advice, log_advice;
    struct mt_lint *lint;
    struct mt_tried_list tried; /* by --try; n = 0: nothing was asked */
    struct mt_lint *tried_lint; /* with them in force; NULL = nothing was asked */
    struct mt_same_job *same_job;
    const struct mt_skipped *skipped; /* NULL = everything was read */
    const struct mt_found *found;     /* NULL = none was looked for */
    struct mt_quality quality;
};

/* MT_OK or MT_ENOMEM. */
enum mt_rc mt_diagnosis_new(struct mt_diagnosis **out, const struct mt_diagnose_opts *o,
                            struct mt_err *err);
/* Takes over t, also when it fails. detail: gets the fate of every block of a snapshot, NULL =
 * nobody. MT_OK; MT_WARN: t does not have the GPU that was asked for, only its settings were taken;
 * an error in err: t could not be analysed, and the diagnosis is as if it had not been there (but
 * for settings that joined those of the run). */
enum mt_rc mt_diagnosis_add(struct mt_diagnosis *d, struct mt_trace *t,
                            const struct mt_detail_hook *detail, struct mt_err *err);
/* The same in three steps, so that several snapshots are analysed at once: begin and end by the
 * thread that the diagnosis belongs to, in the order of the inputs, run by any. *job NULL: nothing
 * is left to do (a driver's trace; MT_WARN; an error). */
struct mt_rank_job;
enum mt_rc mt_diagnosis_begin(struct mt_diagnosis *d, struct mt_rank_job **job, struct mt_trace *t,
                              const struct mt_detail_hook *detail, struct mt_err *err);
/* May be asked before a trace is begun, and before a log is added: while jobs run, neither a
 * driver's trace may be begun nor anything else be added to conf or logs. */
static inline bool mt_diagnosis_settles(const struct mt_trace *t) { return t->driver != NULL; }
/* Nothing of the diagnosis is changed. After an error it may be run once more, when there is more
 * memory. detail has to live until then. */
enum mt_rc mt_rank_job_run(struct mt_rank_job *job, struct mt_err *err);
/* Takes over job; rc: of the last run. */
enum mt_rc mt_diagnosis_end(struct mt_diagnosis *d, struct mt_rank_job *job, enum mt_rc rc,
                            struct mt_err *err);
void mt_rank_job_free(struct mt_rank_job *job); /* of one that is given up; NULL is fine */
/* Once, after the last input. MT_OK, or an error in err; then only mt_diagnosis_free() may follow.
 */
enum mt_rc mt_diagnosis_finish(struct mt_diagnosis *d, struct mt_err *err);
void mt_diagnosis_free(struct mt_diagnosis *d); /* NULL is fine */

/* All of the above over files, folders and archives. The first input that cannot be read is an
 * error. */
enum mt_rc mt_diagnose(struct mt_diagnosis **out, const struct mt_diagnose_opts *o,
                       const char *const *paths, uint32_t n, struct mt_err *err);

/* run/rank_names.c: gives those their rank whose names end in a number that is one, and says it in
 * their verdicts. 1, or 0 when memory ran out. */
int mt_ranks_by_name(struct mt_rank *ranks, uint32_t n);

/* ---- run/lead.c: what a finished diagnosis comes to ---- */

enum mt_lead mt_diagnosis_lead(const struct mt_diagnosis *d);
/* The rank that speaks; NULL without snapshots. */
const struct mt_rank *mt_diagnosis_rank(const struct mt_diagnosis *d);
/* The one sentence of whoever leads; "" when there is no input. */
const char *mt_diagnosis_sentence(const struct mt_diagnosis *d);
/* The device that the rank's verdict is about; NULL when there is none, or no rank. */
const struct mt_device_analysis *mt_rank_device(const struct mt_rank *k);
/* The same of the rank that speaks. */
const struct mt_device_analysis *mt_diagnosis_device(const struct mt_diagnosis *d);
/* Why, of whoever leads. Of a snapshot it is the return value, and *told is not known; a log or the
 * driver say it in *told, which lives as long as d, and NULL is returned. */
const struct mt_cause *mt_diagnosis_cause(const struct mt_diagnosis *d, struct mt_cause_told *told);
/* Memory ran out, as any of snapshot, driver and logs says. */
bool mt_diagnosis_failed(const struct mt_diagnosis *d);
/* The same for a script: a log that tells of a kill, a damaged history and a state without history
 * do not say. */
enum mt_answer { MT_NO, MT_YES, MT_MAYBE };
enum mt_answer mt_diagnosis_out_of_memory(const struct mt_diagnosis *d);
/* The advice of the report, in the order to try: on the driver's failure where that leads and there
 * is some, else the speaking rank's, else the log's where it leads. *n = how many. */
/* A finding that is there only with the settings that are tried. */
bool mt_diagnosis_trips(const struct mt_diagnosis *d, const struct mt_lint_finding *f);
const struct mt_advice_list *mt_diagnosis_advice_list(const struct mt_diagnosis *d);
const struct mt_advice *mt_diagnosis_advice(const struct mt_diagnosis *d, uint32_t *n);
/* The phase that advice is for. */
void mt_diagnosis_advised_phase(const struct mt_diagnosis *d, enum mt_phase *phase,
                                enum mt_phase *sub);
/* That advice is on the failure that the driver saw. */
bool mt_diagnosis_driver_advises(const struct mt_diagnosis *d);
/* What its first settings do together; NULL where that cannot be told. */
const struct mt_combined *mt_diagnosis_combined(const struct mt_diagnosis *d);

#endif
