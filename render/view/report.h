/* report.h -- what a report is made of.
 *
 * All renderers (render/html, text, md, json, dump, export) are pure: same input, same bytes; no
 * clock, locale, working directory or hash seed enters. Every byte of the input passes one of the
 * escaping functions of render/escape.h. Errors are those of the sink (out->error). */
#ifndef MT_REPORT_H
#define MT_REPORT_H

#include "analysis/facts/analysis.h"
#include "analysis/ledger/driver.h"
#include "analysis/run/same_job.h"
#include "analysis/run/lint.h"
#include "render/base/out.h"
#include "analysis/advice/lines.h"
#include "analysis/phases/phases.h"

struct mt_packs; /* render/pack/pack.h */
struct mt_rank {
    const struct mt_trace *trace;
    const struct mt_analysis *analysis;
    const struct mt_packs *packs; /* its tracks, for the page; NULL = not packed */
};

struct mt_unread { /* a member or input that could not be read at all */
    char *name, *message;
};

struct mt_report {
    const struct mt_rank *ranks; /* in order of rank number where known, else of input */
    uint32_t n_ranks, primary;   /* primary: the rank the verdict speaks for */
    /* what the driver saw; NULL without a memtrace trace. n_ranks may be 0 then */
    const struct mt_driverdiag *driver;
    const struct mt_same_job
        *same_job;                 /* whether the inputs are of one job; NULL = not asked for */
    const struct mt_logs *logs;    /* NULL = none were read */
    const struct mt_logdiag *diag; /* of the logs; NULL without them */
    const struct mt_runconf *conf; /* settings of the run; NULL = not asked for */
    const struct mt_lint *lint;    /* NULL = not looked for */
    const struct mt_unread *unread;
    uint32_t n_unread;
    uint64_t n_ignored;  /* files beside the snapshots that are none */
    const char *title;   /* NULL = made from the input's name */
    const char *command; /* the command line without its output path; "" = unknown */
    const char *version; /* "0.1.0" */
    const struct mt_phase_rules *phases;
    /* of a page, in bytes: detail is given up to keep it; 0 = as large as it gets */
    uint64_t max_size;
    int columns; /* of the terminal; 0 = 80 */
    bool color;  /* ANSI colours */
};

/* True when the report is written from damaged input (exit status 3): a damaged trace or an unread
 * member. */
bool mt_report_damaged(const struct mt_report *r);

#endif
