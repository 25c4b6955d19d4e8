/* follow.h -- what the two files that follow a recording share. */
#ifndef MT_CAPTURE_FOLLOW_H
#define MT_CAPTURE_FOLLOW_H

#include "capture/live.h"
#include "capture/parts.h"

struct mt_live_read {
    struct mt_tally tally;
    struct mt_watch watch;
    struct mt_table stacks; /* id -> owner */
    uint64_t gz_at;         /* bytes of the .gz that were read */
    /* Of a recording that keeps the newest: the numbered file that is read next, and what of it
     * was. */
    uint64_t number, number_at;
    bool is_numbered;
    char *name;
    uint32_t unknown; /* owner of calls without a stack */
    bool has_unknown;
};

/* follow_process.c: a new one; NULL = out of memory */
struct mt_live_process *mt_live_process_new(struct mt_live *l, const struct mt_found *f);
void mt_live_process_free(struct mt_live_process *p);
/* It holds nothing any more. */
void mt_live_process_end(struct mt_live_process *p);

#endif
