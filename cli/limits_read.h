/* limits_read.h -- the limits of `check`: --max, and a file of them. */
#ifndef MT_LIMITS_READ_H
#define MT_LIMITS_READ_H

#include "analysis/compare/check.h"
#include "cli/cli.h"

struct mt_limit_list {
    MT_VEC(struct mt_limit) list;
};
/* MT_EXIT_OK, or MT_EXIT_USAGE or MT_EXIT_FAILED with a message printed. */
enum mt_exit mt_limits_read(struct mt_limit_list *l, const struct mt_cli *c);
/* Of a place that is too long its end, where the line is. line: ":8" or "", a few letters. */
void mt_limit_set_in(struct mt_limit *l, const char *where, const char *line);
void mt_limits_done(struct mt_limit_list *l);

#endif
