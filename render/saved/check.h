/* check.h -- a report against limits, in the formats of `memtrace check`. */
#ifndef MT_SAVED_CHECK_H
#define MT_SAVED_CHECK_H

#include "analysis/compare/check.h"
#include "render/base/out.h"

void mt_check_text(const struct mt_check *c, struct mt_out *o);
void mt_check_github(const struct mt_check *c, struct mt_out *o); /* commands of a workflow */
void mt_check_junit(const struct mt_check *c, struct mt_out *o);
void mt_check_json(const struct mt_check *c, struct mt_out *o);

#endif
