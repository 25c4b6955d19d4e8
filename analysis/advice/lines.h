/* advice/lines.h -- what a reader sees of an advice: its lines as they are typed, and what is said
 * beside them. */
#ifndef MT_ADVICE_LINES_H
#define MT_ADVICE_LINES_H

#include "analysis/advice/rules.h"

/* Line i of an advice's card as it is typed, its key and its value. */
const char *mt_advice_line(const struct mt_advice *a, uint32_t i);
const char *mt_advice_key(const struct mt_advice *a, uint32_t i);
const char *mt_advice_value(const struct mt_advice *a, uint32_t i);
/* What is said beside it into buf: its note and, where it holds, its caution; "" = nothing. Returns
 * buf. */
#define MT_ADVICE_NOTE 1024
const char *mt_advice_note(const struct mt_advice *a, uint32_t i, char buf[MT_ADVICE_NOTE]);

#endif
