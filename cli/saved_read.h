/* saved_read.h -- inputs as the report that is made of them: what `diff` and `check` look at. */
#ifndef MT_SAVED_READ_H
#define MT_SAVED_READ_H

#include "cli/report_read.h"

/* What was diagnosed as the report that `report --format json` writes. MT_EXIT_OK, or with a
 * message printed MT_EXIT_FAILED. */
enum mt_exit mt_saved_diagnosed(struct mt_saved **out, const struct mt_reading *in,
                                const struct mt_cli *shown);
/* Summaries that were read, and whatever was diagnosed beside them, as the one report of in->saved;
 * nothing where there are none. MT_EXIT_OK, or with a message printed MT_EXIT_FAILED. */
enum mt_exit mt_saved_merged(struct mt_reading *in, const struct mt_cli *shown);
/* Of all that one command reads. */
struct mt_saved_seen {
    bool damaged;    /* part of an input is missing */
    uint32_t n_made; /* reports made of snapshots or logs, not read back */
};
/* The n inputs as one report: one that memtrace wrote is read back, everything else is diagnosed as
 * `report` would. Adds to *seen. A report that is read back cannot be redacted any more: that is
 * refused here; of the other options the caller asks mt_saved_options() where nothing was made.
 * MT_EXIT_OK, or with a message printed what the command returns. */
enum mt_exit mt_saved_of(struct mt_saved **out, const struct mt_cli *c, char **inputs, int n,
                         struct mt_saved_seen *seen);

#endif
