/* assets.h -- the files of templates/, embedded at build time. */
#ifndef MT_RENDER_ASSETS_H
#define MT_RENDER_ASSETS_H

#include "analysis/assets.h"

extern const struct mt_asset mt_template_assets[];         /* ends with name == NULL */
const struct mt_asset *mt_template_find(const char *name); /* NULL = the program was built without it */

#endif
