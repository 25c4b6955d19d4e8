/* framework_fields.h -- fields of rule files that name frameworks of the reader's registry. */
#ifndef MT_FRAMEWORK_FIELDS_H
#define MT_FRAMEWORK_FIELDS_H

#include "analysis/base/rule_read.h"
#include "analysis/setup/framework.h"

/* MT_EINPUT: there is none of that id; the message lists those that are. */
enum mt_rc mt_rule_framework(const struct mt_rule_reader *r, const char *field, const char *id,
                             mt_fw *out);
MT_RULE_GET(mt_get_framework);  /* mt_fw: an id, never MT_FW_NONE */
MT_RULE_GET(mt_get_frameworks); /* uint64_t: a list of ids as bits MT_FW_BIT() */

#endif
