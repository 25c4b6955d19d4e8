/* report_write.h -- a report to the file or standard output that was asked for, whole or not at
 * all.
 */
#ifndef MT_REPORT_WRITE_H
#define MT_REPORT_WRITE_H

#include "cli/report_read.h"

/* What was read, unless it is a report, in the format, size and compression that in->c asks for.
 * shown: its options as the report may show them. path: NULL or "-" = standard output. MT_EXIT_OK,
 * or MT_EXIT_FAILED with a message printed and nothing left behind. */
enum mt_exit mt_reading_write(struct mt_reading *in, const struct mt_cli *shown, const char *path);

#endif
