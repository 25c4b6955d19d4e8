/* json/roles.h -- the members of a device that speak of roles, steps and growth. */
#ifndef MT_JSON_ROLES_H
#define MT_JSON_ROLES_H

#include "render/base/jsonw.h"
#include "render/view/report.h"

void mt_json_roles(struct mt_jsonw *w, const struct mt_device_analysis *d);
/* NULL = none */
const char *mt_json_pool_role(const struct mt_device_analysis *d, const struct mt_pool_row *p);

#endif
