/* log_match.h -- patterns of log lines: text with holes. Private to parser/log*.c.
 *
 * Holes: %b size with unit, %G a number that means GiB, %n whole number, %r fraction in 1/10000, %t text up to the next character of the
 * pattern (at most 95 bytes). A blank matches any run of blanks, also none before a hole. A pattern may occur anywhere in a line. Matching
 * is linear in the line. */
#ifndef MT_LOG_MATCH_H
#define MT_LOG_MATCH_H

#include "parser/log.h"

struct mt_log_got {
    uint64_t v[MT_LOG_VALUES];
    int n;
    const char *text;
    size_t n_text;
};

/* End of the first match in s, or NULL. */
const char *mt_log_find(const char *s, const char *pattern, struct mt_log_got *g);
/* First hole of the first match, or MT_LOG_NONE. */
uint64_t mt_log_value(const char *s, const char *pattern);

#endif
