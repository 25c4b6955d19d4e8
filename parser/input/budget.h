/* budget.h -- what all inputs of a run may take together: files, and seconds.
 *
 * A limit per archive bounds nothing: 400 archives of 4,096 files are a megabyte. Zeroed it is no
 * budget; mt_budget_start() makes one. Thread-safety: any thread may ask and take. */
#ifndef MT_BUDGET_H
#define MT_BUDGET_H

#include "parser/base/limits.h"

#include <stdatomic.h>
#include <stdbool.h>

struct mt_budget {
    int64_t started;          /* CLOCK_MONOTONIC, in ms */
    _Atomic uint32_t n_files; /* in archives and folders, and in those inside them */
};

/* Begins to count, at 0 files and now. */
void mt_budget_start(struct mt_budget *b);
/* Takes one file; false: max_members are taken. */
bool mt_budget_file(struct mt_budget *b, const struct mt_limits *lim);
/* What is left of max_time in ms, 0 = nothing; -1 = there is no such limit. */
int mt_budget_ms(const struct mt_budget *b, const struct mt_limits *lim);

#endif
