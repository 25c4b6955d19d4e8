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
/* Who wrote the line s, as the text before `end` says (NULL = the whole line). */
struct mt_log_writer mt_log_writer(const char *s, const char *end);

/* ---- log_stack.c ---- */

/* Whether the line is part of a traceback. Out of memory is noted in l. */
bool mt_log_stack_line(struct mt_log *l, uint64_t number, const char *s);
/* The fact is what the writer's last traceback led to. */
void mt_log_stack_take(struct mt_log *l, uint64_t number, struct mt_log_fact *f, struct mt_log_writer who);
void mt_log_stacks_done(struct mt_log *l);

/* First hole of the first match, or MT_LOG_NONE. */
uint64_t mt_log_value(const char *s, const char *pattern);

#endif
