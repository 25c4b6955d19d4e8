/* rows.h -- what the text and the Markdown report say in common: the same facts, worded once. */
#ifndef MT_ROWS_H
#define MT_ROWS_H

#include "render/view/report.h"

/* Rows of the table of ranks and devices, and what stands in one: the peak, or without a curve the
 * state at the dump. */
uint32_t mt_row_count(const struct mt_report *r);
bool mt_row_has_peak(const struct mt_device_analysis *d);
char *mt_row_live(char *buf, const struct mt_device_analysis *d); /* in words; buf of 40 */
char *mt_row_reserved(char *buf, const struct mt_device_analysis *d);
/* Pinned host memory that the same process holds beside its GPUs; NULL = none, or d is it. */
const struct mt_device_analysis *mt_row_pinned(const struct mt_rank *k,
                                               const struct mt_device_analysis *d);
/* The size of a request that failed: "4.94 GiB", "a size that is not known". */
char *mt_row_request(char *buf, const struct mt_oom *o);

/* "rank 3, device 0", "snapshot.pickle, device 1": names a row among several ranks. */
char *mt_row_place(const struct mt_report *r, const struct mt_rank *k,
                   const struct mt_device_analysis *d, char *buf, size_t cap);
/* Title of the report: the given one, else the file name of the input (with member). */
char *mt_report_title(const struct mt_report *r, char *buf, size_t cap);

#endif
