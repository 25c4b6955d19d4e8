/* view.h -- what every renderer has to say in the same way: names of ranks, devices, phases and
 * moments.
 *
 * All functions are pure. Buffers have the size named; the text in them is not escaped for any
 * output and, where it holds a name of the input, has to pass render/base/escape.h. */
#ifndef MT_VIEW_H
#define MT_VIEW_H

#include "analysis/base/words.h"
#include "render/view/report.h"

#include <stddef.h>

/* The heading of the first settings of the advice: nothing has to be changed where nothing failed.
 * buf may be used for it. */
#define MT_FIRST 128
const char *mt_report_first(char buf[MT_FIRST], const struct mt_report *r);
/* What stands there instead after a failure without any; NULL = nothing. */
const char *mt_report_no_first(const struct mt_report *r);
/* Why none of what is advised has a figure; NULL where one has, or none could. */
const char *mt_report_no_figures(const struct mt_report *r);

/* "at the OOM", "at the peak", "at the dump" */
const char *mt_focus_words(const struct mt_device_analysis *d);
const char *mt_birth_words(enum mt_birth b); /* "before the trace" */

#define MT_WORDS 128
/* "Out of memory: one giant tensor"; the cause is that of its device, or NULL. buf may be used. */
const char *mt_verdict_words(char buf[MT_WORDS], enum mt_verdict_kind k,
                             const struct mt_cause *cause);
/* "event 3,737", "at the start" */
char *mt_event_words(char buf[MT_WORDS], int64_t event);
/* "1.204 s" after the first event of the device where there is a clock, else "event 3,737". */
char *mt_moment_words(char buf[MT_WORDS], const struct mt_device_analysis *d, int64_t event,
                      uint64_t time_ns);
/* "marked 92.1 %": the confidence that most bytes have; "-" when there are none. */
char *mt_conf_words(char buf[MT_WORDS], const uint64_t by_conf[MT_CONF_COUNT]);
/* "pickle, protocol 4", "JSON" and what else is peculiar. */
char *mt_format_words(char buf[MT_WORDS], const struct mt_meta *m);

#endif
