/* What the files of collect alone share: a collection while it is made. */
#ifndef MT_CAPTURE_COLLECT_JOB_H
#define MT_CAPTURE_COLLECT_JOB_H

#include "capture/parts.h"

struct mt_collect_job {
    const struct mt_collect_opts *o;
    struct mt_collection *c;
    struct mt_scan scan;
    struct mt_trace_out out;
    struct mt_symbols *symbols;
    struct mt_tally *tallies; /* one per process of the scan */
    uint64_t done, launch_seq, last_ns;
    bool stopped;
    struct mt_err *err;
};

/* "Out of memory"; and that `name` of the folder could not be read; ENOMEM is the first. */
enum mt_rc mt_collect_no_memory(struct mt_collect_job *j);
enum mt_rc mt_collect_unread(struct mt_collect_job *j, const char *name, int error);
/* `more` bytes of `name` are done. False: stop, by wish or as the trace cannot be written. */
bool mt_collect_go_on(struct mt_collect_job *j, const char *name, uint64_t more);
/* Attaches all files of the scan (collect_files.c). */
enum mt_rc mt_collect_files(struct mt_collect_job *j);

#endif
