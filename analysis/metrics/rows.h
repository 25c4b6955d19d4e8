/* metrics/rows.h -- what a row of metrics.json comes to. */
#ifndef MT_METRICS_ROWS_H
#define MT_METRICS_ROWS_H

#include "analysis/facts/analysis.h"
#include "analysis/metrics/rules.h"

/* The value for a device: 0 where nothing is of such a frame. Unknown: a row with an expression;
 * "seen" without the trace (t NULL). conf may be NULL. */
struct mt_value mt_metric_row_of(const struct mt_metric_row *row,
                                 const struct mt_device_analysis *d, const struct mt_trace *t,
                                 const struct mt_runconf *conf,
                                 const struct mt_framework_rules *rules);
/* The value of a row with an expression, other metrics as `lookup` knows them: never surer than
 * inferred. */
struct mt_value mt_metric_row_is(const struct mt_metric_row *row, mt_expr_lookup lookup, void *arg);
/* The metric of that name by the traceback of a log (t, may be NULL), by its innermost line of code
 * (may be NULL) and by what the run's commands start (conf, may be NULL): a program that neither
 * has may run all the same, unless one that excludes it is there. Unknown for what is no row
 * "seen". */
struct mt_value mt_metric_of_failure(const struct mt_metric_rules *r, const struct mt_trace *t,
                                     const char *code, const struct mt_runconf *conf,
                                     const char *name, size_t n);

#endif
