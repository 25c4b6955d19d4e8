/* saved_report.h -- `report` of a report: one that was read back is written again in another
 * format.
 */
#ifndef MT_CLI_SAVED_REPORT_H
#define MT_CLI_SAVED_REPORT_H

#include "cli/report_read.h"

/* Whether what was read is one report of memtrace and nothing else; *status: what the command
 * returns, after a message, where that is not so. */
bool mt_saved_report_alone(const struct mt_reading *in, enum mt_exit *status);
/* MT_EXIT_OK; MT_EXIT_USAGE after a message where the options ask for what only a snapshot gives,
 * and the report of that name is read back. */
enum mt_exit mt_saved_options(const struct mt_cli *c, const char *name);
/* The same of --config, --args and --log, which say nothing of a baseline beside it. */
enum mt_exit mt_saved_run_options(const struct mt_cli *c, const char *name);
/* Both, and that it can be written as c->format says. */
bool mt_saved_report_ok(const struct mt_reading *in, enum mt_exit *status);
/* Writes it as c->format says. */
enum mt_exit mt_saved_report_write(const struct mt_reading *in, const char *path);

/* Whether names are to be hidden and s, the report of that name (NULL: one that is known to), has
 * them still, then after a
 * message: what is read back cannot be redacted any more. One that is redacted already is good, and
 * that is said. */
bool mt_saved_shows_names(const struct mt_cli *c, const char *name, const struct mt_saved *s);

#endif
