/* json/cause.h -- why memory ran out, and the audits. */
#ifndef MT_JSON_CAUSE_H
#define MT_JSON_CAUSE_H

#include "render/base/jsonw.h"
#include "render/view/view.h"

void mt_json_cause(struct mt_jsonw *w, const struct mt_report *r); /* "cause" of the report */
/* "cause" and "audits" of a device. */
void mt_json_device_cause(struct mt_jsonw *w, const struct mt_device_analysis *d);

#endif
