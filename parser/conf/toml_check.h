/* conf/toml_check.h -- what a TOML document must not say. */
#ifndef MT_CONF_TOML_CHECK_H
#define MT_CONF_TOML_CHECK_H

#include "parser/base/strpool.h"

#include <stdbool.h>

/* Whether an unquoted value is one: true, false, a number, a date or a time. */
bool mt_toml_is_value(const char *s, size_t n);

/* What is wrong with the first byte, at *at, that no document may have; NULL = there is none. */
const char *mt_toml_bad_byte(const char *text, size_t n, size_t *at);

/* The character that "u00e9", "U0001f600" or "x41" stands for, as behind a backslash, in UTF-8. How
 * many bytes; 0: none begins there. */
size_t mt_toml_code(const char *s, size_t n, char utf8[4]);

/* The paths that were set or opened so far. A dot in a name is no byte '.' here. */
struct mt_toml_names {
    struct mt_strpool paths;
    MT_VEC(uint8_t) kind;
};
bool mt_toml_names_init(struct mt_toml_names *t); /* false = out of memory; done() all the same */
void mt_toml_names_done(struct mt_toml_names *t);

/* What is wrong with setting the path, of which bytes from `from` on are of the key itself (0, or
 * where the dot stands behind its table); NULL = nothing. mt_toml_no_memory in that case. */
const char *mt_toml_set(struct mt_toml_names *t, const char *path, size_t from, size_t n);
/* The same of a header. */
const char *mt_toml_open(struct mt_toml_names *t, const char *path, size_t n, bool is_array);
extern const char mt_toml_no_memory[];

#endif
