/* view/driver.h -- what every renderer says of a job in the same way: which
 * verdict leads, names of processes, what limits the trust. */
#ifndef MT_DRIVERDIAG_VIEW_H
#define MT_DRIVERDIAG_VIEW_H

#include "render/view/rows.h"

#define MT_WHO 256

/* The driver's sentence beside a snapshot's headline; NULL when it leads or
 * there is none. */
const char *mt_report_second(const struct mt_report *r);
const char *mt_driver_kind_words(
    const struct mt_driverdiag *j); /* "Out of memory in a driver call" */

/* "rank 3, verl.trainer.main_ppo, pid 4711"; names in it are raw. */
char *mt_driver_who(char buf[MT_WHO], const struct mt_driverdiag *j, uint32_t driver,
                    uint32_t process);
/* "NCCL: libnccl.so.2" */
char *mt_driver_holder(char buf[MT_WHO], enum mt_holder h, const char *library);
/* "-1.20 GiB" */
char *mt_fmt_signed(char buf[40], int64_t bytes);
/* Seconds after the beginning of the GPU's recording: "12.345 s". */
char *mt_driver_moment(char buf[40], const struct mt_driverdiag *j, uint64_t time_ns);
/* "ended with status 1", "killed by signal 9" */
char *mt_driver_end(char buf[64], const struct mt_process *p);
/* " went to sleep", " woke", " mapped" the first time. */
const char *mt_driver_sleep_words(const struct mt_driverdiag *j, uint32_t sleep);
/* What "at the OOM" or "at the peak" is for a ledger. */
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

/* Adds sentences about the recording; returns the new count. */
unsigned mt_driverdiag_caveats(const struct mt_report *r, struct mt_caveat *out, unsigned n,
                               unsigned max);
/* The same of why snapshots are missing, as far as the recorder noted it; equal sentences of
 * several processes are one (torch_notes.c). */
unsigned mt_torch_caveats(const struct mt_driverdiag *j, struct mt_caveat *out, unsigned n,
                          unsigned max);

/* That the inputs are not of one job, and which belong together; or that the rank that failed is
 * not among them; NULL = nothing says so. */
const char *mt_report_same_job(const struct mt_report *r);
#endif
