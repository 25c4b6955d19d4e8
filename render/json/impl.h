/* json/impl.h -- members of the JSON report, by the file that writes them. */
#ifndef MT_JSON_IMPL_H
#define MT_JSON_IMPL_H

#include "render/base/jsonw.h"
#include "render/view/view.h"

/* Lists that grow with the input hold so many rows at most; a count beside each says how many there
 * are. */
enum { MT_JSON_LISTED = 1024 };

/* ---- quality.c ---- */

/* "phase", "sub_phase" (null = none), and both as people read them: "phase_name" */
void mt_json_phase(struct mt_jsonw *w, enum mt_phase phase, enum mt_phase sub);
/* "rank"; null where none is known */
void mt_json_rank(struct mt_jsonw *w, const struct mt_trace *t);
/* "bytes_by_confidence" */
void mt_json_by_conf(struct mt_jsonw *w, const uint64_t bytes[MT_CONF_COUNT]);
/* "quality": what limits the trust in the report */
void mt_json_saving(struct mt_jsonw *w, const struct mt_saving *s, const char *bytes,
                    const char *low, const char *high);
/* What the settings to change first do together; null where that cannot be computed. a: with every
 * set of those that one may choose; NULL = without. */
void mt_json_after(struct mt_jsonw *w, const struct mt_combined *c, const struct mt_analysis *a);
void mt_json_quality(struct mt_jsonw *w, const struct mt_report *r);

/* ---- roles.c: the members of a device that speak of roles, steps and growth ---- */

void mt_json_roles(struct mt_jsonw *w, const struct mt_device_analysis *d);
/* NULL = none */
const char *mt_json_pool_role(const struct mt_device_analysis *d, const struct mt_pool_row *p);

/* ---- advice.c, curve.c ---- */

/* "advice", "advice_settled", "after", "tried" */
void mt_json_advice(struct mt_jsonw *w, const struct mt_report *r);
/* "curve" of a device */
void mt_json_curve(struct mt_jsonw *w, const struct mt_device_analysis *d);

/* ---- cause.c ---- */

/* "cause" of the report */
void mt_json_cause(struct mt_jsonw *w, const struct mt_report *r);
/* "cause" and "audits" of a device */
void mt_json_device_cause(struct mt_jsonw *w, const struct mt_device_analysis *d);

/* ---- driver.c, run.c ---- */

/* "job": what the driver saw */
void mt_json_driver(struct mt_jsonw *w, const struct mt_driverdiag *j);
/* settings, lint findings and logs */
void mt_json_run(struct mt_jsonw *w, const struct mt_report *r);

#endif
