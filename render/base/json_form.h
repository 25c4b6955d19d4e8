/* json_form.h -- what mt_jsonw wrote with two spaces per level, without them, and back again byte
 * for byte: a report in a page takes a fifth less so. */
#ifndef MT_JSON_FORM_H
#define MT_JSON_FORM_H

#include "render/base/out.h"

/* text is what mt_jsonw wrote; of what is in one line there (mt_jsonw.pretty false for a while) a
 * blank before its bracket says so. */
void mt_json_dense(struct mt_out *o, const char *text, size_t n);
/* The same back. A text with line ends in it is copied: nobody took them out. */
void mt_json_pretty(struct mt_out *o, const char *text, size_t n);

#endif
