/* rules_field.h -- how `memtrace rules` writes one field of a rule. */
#ifndef MT_RULES_FIELD_H
#define MT_RULES_FIELD_H

#include "render/base/out.h"

/* A label in a column of its own, the text wrapped beside it; nothing where the text is NULL or
 * empty. */
void mt_rules_field(struct mt_out *o, const char *label, const char *text, int width);
/* What the letter of a rule's status means; "" = no such letter. */
const char *mt_rules_status(char status);

#endif
