/* json.h -- the report for programs: docs/json.md is its contract. */
#ifndef MT_JSON_H
#define MT_JSON_H

#include "render/view/report.h"

void mt_render_json(const struct mt_report *r, struct mt_out *o);
/* Without its blanks, as a page carries it: a fifth less. mt_json_pretty() brings them back. */
void mt_render_json_dense(const struct mt_report *r, struct mt_out *o);

#endif
