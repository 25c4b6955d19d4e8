/* metrics.h -- the numbers of a diagnosis by name, for rules and for docs/diagnosis.md: each measured in the trace, computed from it, or read from
 * the run's settings. analysis/metrics.def lists all names with unit and meaning; role.<id> and peak.<id>, setting.<logical name> are families. */
#ifndef MT_METRICS_H
#define MT_METRICS_H

#include "analysis/analysis.h"
#include "analysis/expr.h"
#include "analysis/roles.h"

struct mt_runconf; /* analysis/runconf.h; may be NULL */
struct mt_metrics; /* values of one device, const after mt_metrics_make() */
enum mt_rc mt_metrics_make(struct mt_metrics **out, const struct mt_analysis *a, const struct mt_device_analysis *d,
                           const struct mt_runconf *conf);
void mt_metrics_free(struct mt_metrics *m);
struct mt_value mt_metric_get(void *metrics, const char *name, size_t n); /* an mt_expr_lookup */
bool mt_metric_exists(void *unused, const char *name, size_t n);          /* for mt_expr_compile() */

#endif
