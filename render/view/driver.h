/* view/driver.h -- what every renderer says of the driver's recording in the same way: names of
 * holders, phases of the job. */
#ifndef MT_VIEW_DRIVER_H
#define MT_VIEW_DRIVER_H

#include "render/view/rows.h"

/* The driver's sentence beside a headline that comes from elsewhere; NULL when the driver has the
 * headline, or saw nothing. */
const char *mt_report_second(const struct mt_report *r);
const char *mt_driver_kind_words(
    const struct mt_driverdiag *j); /* "Out of memory in a driver call" */

/* "NCCL: libnccl.so.2" */
char *mt_driver_holder(char buf[MT_WHO], const struct mt_ledger *l, enum mt_holder h,
                       const char *library);
/* "-1.20 GiB" */
char *mt_fmt_signed(char buf[40], int64_t bytes);
/* Seconds after the beginning of the GPU's recording: "12.345 s". */
char *mt_driver_moment(char buf[40], const struct mt_driverdiag *j, uint64_t time_ns);
/* "ended with status 1", "killed by signal 9" */
char *mt_driver_end(char buf[64], const struct mt_process *p);
/* " went to sleep", " woke", " mapped" the first time. */
const char *mt_driver_sleep_words(const struct mt_driverdiag *j, uint32_t sleep);
/* "at the failure" or "at the peak": the moment of a ledger's rows. */
const char *mt_ledger_focus_words(const struct mt_ledger *l);

/* One line for each phase of a job. */
struct mt_phase_sum {
    enum mt_phase phase;
    uint64_t n, ns, peak;
    uint32_t peak_ledger;
};
/* Phases in order of their first occurrence; returns how many (at most MT_PH_COUNT). Ranges of one
 * phase that overlap, in several processes, are one. */
unsigned mt_driver_phase_sums(const struct mt_driverdiag *j, struct mt_phase_sum out[MT_PH_COUNT]);

/* That the inputs are not of one job, and which belong together; or that the rank that failed is
 * not among them; NULL = nothing says so. */
const char *mt_report_same_job(const struct mt_report *r);

#endif
