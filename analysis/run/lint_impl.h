/* lint_impl.h -- what lint.c, lint_facts.c and lint_frames.c share. */
#ifndef MT_LINT_IMPL_H
#define MT_LINT_IMPL_H

#include "analysis/run/lint.h"

struct mt_lint_fact {
    char text[448];  /* numbers, put in for %f */
    char where[200]; /* "run.log:12"; "" */
};
/* Whether a fact of lint.json holds. known: false for a name that does not exist. */
bool mt_lint_fact(const struct mt_lint_in *in, const char *name, struct mt_lint_fact *out,
                  bool *known);

/* lint_frames.c: the failure that is diagnosed, of a log or a snapshot, went through this function
 * of a file with this end. */
bool mt_lint_failed_in(const struct mt_lint_in *in, const char *file, const char *function,
                       struct mt_lint_fact *out);

/* lint_near.c: keys that are nearly those of the run's framework. */
bool mt_lint_near(const struct mt_lint_in *in, struct mt_lint_fact *out);

/* lint_script.c: a script sets this variable on a line of its own and does not export it. */
bool mt_lint_unexported(const struct mt_lint_in *in, const char *name, struct mt_lint_fact *out);

#endif
