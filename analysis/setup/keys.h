/* setup/keys.h -- numbers of what the run was set to. */
#ifndef MT_METRICS_RUN_H
#define MT_METRICS_RUN_H

#include "analysis/metrics/metrics.h"
#include "analysis/setup/settings.h"

/* Whether a is b, however it is written; b in small letters. */
bool mt_metric_same_word(const char *a, const char *b);
/* A setting of the run, or the framework's default; conf may be NULL. Not known: neither is, or it
 * is no number. */
struct mt_value mt_metric_setting(const struct mt_runconf *conf, const char *name, size_t n);

#endif
