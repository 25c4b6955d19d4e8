/* kept.h -- --keep, --last, --all, --max-mb: which part of a long recording stays. */
#ifndef MT_CLI_KEPT_H
#define MT_CLI_KEPT_H

#include "capture/capture.h"
#include "cli/cli.h"

/* Into what a recorder is told. False with a message printed: they contradict each other, or one is
 * too large. */
bool mt_what_is_kept(const struct mt_cli *c, struct mt_launch_opts *o);

#endif
