/* setup/shape.h -- keys that no table has, told by the shape of their names. Inside the room only.
 */
#ifndef MT_SETUP_SHAPE_H
#define MT_SETUP_SHAPE_H

#include "analysis/setup/settings.h"

/* Of the entries whose key's last component has that shape and none of s->unlike in it, and whose
 * value is a whole number, the one that holds; NULL = there is none. */
const struct mt_conf_entry *mt_runconf_shaped(const struct mt_runconf *rc,
                                              const struct mt_runconf_setting *s,
                                              const char *shape);
/* Whether an entry's value is a whole number, in rc->countable then. */
bool mt_runconf_countable(const struct mt_conf_entry *e);

#endif
