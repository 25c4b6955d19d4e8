/* json_form.h -- what mt_jsonw wrote dense (jsonw.h), as it writes it with two spaces per level,
 * byte for byte. */
#ifndef MT_JSON_FORM_H
#define MT_JSON_FORM_H

#include "render/base/out.h"

/* A text with line ends in it is copied: they are there already. */
void mt_json_pretty(struct mt_out *o, const char *text, size_t n);

#endif
