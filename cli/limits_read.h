/* limits_read.h -- the limits of `check`: --max, and a file of them. */
#ifndef MT_LIMITS_READ_H
#define MT_LIMITS_READ_H

#include "analysis/compare/check.h"
#include "cli/cli.h"
#include "cli/redact/redact.h"

struct mt_limit_list {
    MT_VEC(struct mt_limit) list;
};
/* MT_EXIT_OK, or MT_EXIT_USAGE or MT_EXIT_FAILED with a message printed. redact: hides where the
 * limits were set; NULL = nothing is hidden. */
enum mt_exit mt_limits_read(struct mt_limit_list *l, const struct mt_cli *c,
                            struct mt_redact *redact);
void mt_limits_done(struct mt_limit_list *l);

#endif
