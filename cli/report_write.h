/* report_write.h -- a report to the file or standard output that was asked for, whole or not at
 * all.
 */
#ifndef MT_REPORT_WRITE_H
#define MT_REPORT_WRITE_H

#include "cli/cli.h"
#include "cli/load.h"

/* In the format, size and compression that c asks for. path: NULL or "-" = standard output.
 * MT_EXIT_OK, or MT_EXIT_FAILED with a message printed and nothing left behind. */
struct mt_report;
enum mt_exit mt_report_write(const struct mt_cli *c, const struct mt_report *report,
                             const char *path, struct mt_progress *progress);

#endif
