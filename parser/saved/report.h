/* report.h -- the parts of a saved report that more than one asks for, found by what they say and
 * never by where they stand in their array. */
#ifndef MT_SAVED_REPORT_H
#define MT_SAVED_REPORT_H

#include "parser/saved/saved.h"
#include "parser/saved/value.h"

/* The device that the verdict is about; NULL = no snapshot is behind the verdict. */
const struct cJSON *mt_saved_device(const struct cJSON *root);
/* Whether a row of phases[] or owners[] is of that device; of any where there is none. */
bool mt_saved_is_of(const struct cJSON *row, const struct cJSON *device);
/* Whether it was written with --redact. */
bool mt_saved_is_redacted(const struct cJSON *root);
/* 1 = memory ran out, 0 = it did not, -1 = the report does not know. */
int mt_saved_ran_out(const struct cJSON *root);
/* "rank 3, device 0"; "" where neither is known. Returns buf. */
enum { MT_SAVED_PLACE = 64 };
char *mt_saved_place(char buf[MT_SAVED_PLACE], const struct cJSON *device);

#endif
