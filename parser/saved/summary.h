/* summary.h -- a report made small enough to be carried to others of its job (docs/summary.md). */
#ifndef MT_SAVED_SUMMARY_H
#define MT_SAVED_SUMMARY_H

#include "parser/base/text.h"
#include "parser/saved/saved.h"

enum { MT_SUMMARY_VERSION = 1, MT_SUMMARY_LEVELS = 12 };

/* Whether a report that was read back is a summary. */
bool mt_saved_is_summary(const struct mt_saved *s);
/* The text of the summary of s. level: how often the lists are halved, from 0; detail: nothing is
 * left out. out->failed: out of memory. */
void mt_saved_summary(struct mt_text *out, const struct mt_saved *s, uint32_t level, bool detail);

#endif
