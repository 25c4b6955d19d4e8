/* view/run.h -- what every renderer says of settings, logs and lint findings in the same way. */
#ifndef MT_VIEW_RUN_H
#define MT_VIEW_RUN_H

#include "render/view/view.h"

/* The i-th setting that was set for the run and has a name; false behind the last. Strings live as
 * long as the report; value and key are raw. with_allocator: also what the snapshot itself records.
 */
struct mt_setting_row {
    const struct mt_runconf_setting *setting;
    struct mt_runconf_hit hit;
    const char *value; /* "(not known)" for a variable */
    const char *key;
    char where[300];
};
uint32_t mt_setting_rows(const struct mt_report *r, bool with_allocator, struct mt_setting_row *out,
                         uint32_t max);
#define MT_MAX_SETTING_ROWS 96

/* Lines of the logs worth showing when there is room for max: every failure as far as that goes,
 * the others evenly spaced. Returns how many; in order. */
struct mt_log_row {
    const struct mt_log_file *file;
    const struct mt_log_fact *fact;
    bool is_failure;
};
uint32_t mt_log_rows(const struct mt_logs *l, struct mt_log_row *out, uint32_t max);

/* The sentence of a log beside a headline that comes from elsewhere; NULL when it leads, or tells
 * of nothing. */
const char *mt_report_log_second(const struct mt_report *r);
/* What the log settles for the snapshot beside it: "the same failure as in the snapshot", capacity,
 * other processes. buf of cap; "" = nothing. */
char *mt_log_settles(const struct mt_report *r, char *buf, size_t cap);

#endif
