/* assets.h -- the files of templates/, embedded at build time. */
#ifndef MT_HTML_ASSETS_H
#define MT_HTML_ASSETS_H

#include "render/base/out.h"

#include <stdbool.h>
#include <stddef.h>

struct mt_asset {
    const char *name;          /* path below templates/ */
    const unsigned char *data; /* not NUL-terminated */
    size_t size;
};

extern const struct mt_asset mt_template_assets[]; /* ends with name == NULL */
/* NULL = the program was built without it */
const struct mt_asset *mt_template_find(const char *name);
/* The style sheets, in the order of their names after report.css; false = the same. */
bool mt_template_css(struct mt_out *o);

#endif
