/* setup/shape.h -- keys that no table has, told by the shape of their names. Inside the room only.
 */
#ifndef MT_SETUP_SHAPE_H
#define MT_SETUP_SHAPE_H

#include "analysis/setup/settings.h"

/* Of the entries whose key's last component has that shape and none of s->unlike in it, and whose
 * value is a whole number, or on or off where s is a switch, the one that holds; NULL = there is
 * none. */
const struct mt_conf_entry *mt_runconf_shaped(const struct mt_runconf *rc,
                                              const struct mt_runconf_setting *s,
                                              const char *shape);
/* Whether the run has a truth value under the name of `key` with a word before it:
 * "--actor_gradient_checkpointing" for "--gradient-checkpointing". *out: the entry of the model
 * that is trained; NULL = they differ, or are of another model or the opposite: then the key's
 * default is not known to hold. What is only evaluated or asked says nothing. */
bool mt_runconf_prefixed(const struct mt_runconf *rc, const char *key,
                         const struct mt_conf_entry **out);
/* Whether an entry's value is a whole number, or on or off, in rc->countable then. */
bool mt_runconf_countable(const struct mt_conf_entry *e);

/* A key, however it is written, has that shape of s and none of s->unlike. */
bool mt_runconf_has_shape(const struct mt_runconf_setting *s, const char *shape, const char *key);

#endif
