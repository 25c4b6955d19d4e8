/* json/quality.h -- what limits the trust in a report, and members that every part of it has. */
#ifndef MT_JSON_QUALITY_H
#define MT_JSON_QUALITY_H

#include "render/base/jsonw.h"
#include "render/view/report.h"

/* "rank"; null where none is known */
void mt_json_rank(struct mt_jsonw *w, const struct mt_trace *t);
/* "bytes_by_confidence" */
void mt_json_by_conf(struct mt_jsonw *w, const uint64_t bytes[MT_CONF_COUNT]);
void mt_json_quality(struct mt_jsonw *w, const struct mt_report *r); /* "quality" */

#endif
