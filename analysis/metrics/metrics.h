/* metrics.h -- the numbers of a diagnosis by name, for rules and for docs/diagnosis.md: each
 * measured in the trace, computed from it, or read from the run's settings.
 * analysis/metrics/metrics.def lists the names of what C measures, analysis/rules/metrics.json
 * those of rows, each with unit and meaning; role.<id>, peak.<id>, life.<id> and setting.<logical
 * name> are families. */
#ifndef MT_METRICS_H
#define MT_METRICS_H

#include "analysis/facts/analysis.h"
#include "analysis/base/expr.h"
#include "analysis/metrics/rules.h"
#include "analysis/roles/roles.h"

enum mt_metric {
#define MT_METRIC(name, unit, words) MT_METRIC_##name,
#include "analysis/metrics/metrics.def"
#undef MT_METRIC
    MT_METRIC_COUNT
};
const char *mt_metric_name(enum mt_metric m);
const char *mt_metric_words(enum mt_metric m); /* one line */

struct mt_runconf; /* analysis/setup/settings.h; may be NULL */
/* values of one device; asking for a row computes it, so two threads may not ask at once */
struct mt_metrics;
/* All that is given must stay alive. */
enum mt_rc mt_metrics_make(struct mt_metrics **out, const struct mt_analysis *a,
                           const struct mt_device_analysis *d, const struct mt_metric_rules *rules,
                           const struct mt_runconf *conf);
/* Numbers of which only those are known that mt_metrics_set() says: of a log, of a driver trace, of
 * a snapshot without bytes by role. Machine and kind of failure are the usual ones until they are
 * set; settings and the phase (mt_metrics_place()) tell what they can. t: a snapshot; of_failure: t
 * is the traceback of a failure, or NULL, and the phase is that of the failure. */
enum mt_rc mt_metrics_told(struct mt_metrics **out, const struct mt_metric_rules *rules,
                           const struct mt_runconf *conf, const struct mt_trace *t,
                           bool of_failure);
void mt_metrics_set(struct mt_metrics *m, enum mt_metric which, double v, enum mt_conf conf);
/* After mt_metrics_told() of a failure: its innermost line of code, which has to live as long. */
void mt_metrics_code(struct mt_metrics *m, const char *code);
/* After mt_metrics_told(). */
void mt_metrics_place(struct mt_metrics *m, enum mt_phase phase, enum mt_phase sub);
void mt_metrics_free(struct mt_metrics *m);
/* Whether the bytes by role are there. With them a condition has to hold; without them hardly any
 * can be known, and only what is known not to hold keeps a rule away. */
bool mt_metrics_have_roles(const struct mt_metrics *m);
/* A metric by its name, where it is known and above 0; else 0. */
double mt_metric_above_0(struct mt_metrics *m, const char *name);
/* The metric role.NAME of a role; 0 = not known, too. */
double mt_metrics_of_role(struct mt_metrics *m, enum mt_role role);
/* Of the metric grown, what is of one role. */
double mt_metrics_grown(const struct mt_metrics *m, enum mt_role role);
/* Bytes of a role at the focus that wait for a stream. */
double mt_metrics_pending(const struct mt_metrics *m, enum mt_role role);
/* What was still to come after the failed request, at least; left: the share of each role that
 * stays, there too. */
double mt_metrics_to_come(const struct mt_metrics *m, const double left[MT_ROLE_COUNT]);
/* `saving` bytes at the focus, as far as no other moment of the phase stands in the way; left: the
 * share of each role that stays. */
double mt_metrics_peak_saving(const struct mt_metrics *m, const double left[MT_ROLE_COUNT],
                              double saving);
/* The two numbers that depend on the rule that is looked at. */
void mt_metrics_rule(struct mt_metrics *m, struct mt_value current, struct mt_value proposed);
struct mt_value mt_metric_get(void *metrics, const char *name, size_t n); /* an mt_expr_lookup */
/* Paths that only machines with ARM processors or NPUs have. */
bool mt_metric_arm_path(const char *path);
bool mt_metric_windows_path(const char *path);
bool mt_metric_arm(const struct mt_trace *t); /* t may be NULL */
/* For mt_expr_compile(). names: a struct mt_metric_names. */
struct mt_metric_names {
    const struct mt_runconf *settings;   /* knows the names of settings; NULL = there are none */
    const struct mt_metric_rules *rules; /* NULL = no rows */
};
bool mt_metric_exists(void *names, const char *name, size_t n);

#endif
