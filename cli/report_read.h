/* report_read.h -- from the options of a report to its diagnosis. */
#ifndef MT_REPORT_READ_H
#define MT_REPORT_READ_H

#include "cli/load.h"
#include "cli/merge.h"
#include "cli/ranks.h"
#include "cli/rules_load.h"
#include "cli/run_inputs.h"

struct mt_redact;

/* A report of memtrace's own among the inputs. */
struct mt_saved_input {
    struct mt_saved *report;
    char *name; /* "report.html", "run42: report.json" */
};

struct mt_reading {
    const struct mt_cli *c;
    struct mt_load load;
    struct mt_cli_rules rules;
    struct mt_run_inputs run; /* logs and settings */
    struct mt_redact *redact;
    struct mt_diagnosis *diagnosis;
    MT_VEC(struct mt_saved_input) saved; /* then nothing is diagnosed */
    struct mt_ranks ranks;
    char **files;          /* of the inputs, those that are read ahead */
    struct mt_merge merge; /* of summaries; mt_saved_merged() makes a report of it */
    uint64_t max_size;     /* of the report, in bytes */
    const char *at;        /* what is being analysed, for the progress */
};

/* Reads rules, settings, logs and inputs into a diagnosis and finishes it, unless what it read is
 * reports. *shown: c as the report
 * may show it, redacted; it lives as long as r. MT_EXIT_OK, or with a message printed what the
 * command returns. mt_reading_done() in any case. */
enum mt_exit mt_report_read(struct mt_reading *r, const struct mt_cli *c, struct mt_cli *shown);
/* Exit status of a report that was written. */
enum mt_exit mt_reading_status(const struct mt_reading *r);
void mt_reading_done(struct mt_reading *r);

#endif
