/* json_text.h -- a JSON text that a person wrote (settings, rules) as the nodes of cJSON.
 *
 * cJSON is called through this header alone where text is parsed: its allocator is set here, once,
 * to that of mem.h. Thread-safety: any number of threads may parse, print and delete at once. */
#ifndef MT_JSON_TEXT_H
#define MT_JSON_TEXT_H

#include "parser/base/err.h"

#include <stddef.h>

struct cJSON;

/* Parses text[0, n), which may begin with a byte order mark. The caller frees *out with
 * cJSON_Delete(). On failure *out is NULL. MT_EINPUT: bad syntax, a NUL byte, or something behind
 * the value; err->offset is the byte and the message "NAME: line 2, column 11: ..."; a name of NULL
 * leaves the first part out. MT_ENOMEM: out of memory, which cJSON reports like bad syntax. */
enum mt_rc mt_json_text(struct cJSON **out, const char *text, size_t n, const char *name,
                        struct mt_err *err);

#endif
