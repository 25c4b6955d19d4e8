/* merge.h -- summaries of many ranks as one report: the one of the earliest failure, with all ranks
 * in its `ranks`. Of the others nothing is kept but a row for each device. */
#ifndef MT_CLI_MERGE_H
#define MT_CLI_MERGE_H

#include "analysis/fleet/fleet.h"
#include "parser/saved/saved.h"

struct mt_merge {
    struct mt_fleet fleet;
    struct mt_saved *lead; /* who speaks; owned */
    char *lead_name;
    uint32_t lead_row; /* by which it speaks, before they are sorted; undefined without has_row */
    bool has_row;
    bool damaged;     /* something is wrong with the inputs */
    uint32_t n;       /* reports that were added */
    char *unredacted; /* the first that has its names although names are to be hidden; NULL */
};

/* Takes over report. 0 after a message. */
int mt_merge_add(struct mt_merge *m, struct mt_saved *report, const char *name);
/* The merged report in m->lead, where there is more than one; says what is wrong with the inputs.
 * 0 after a message. */
int mt_merge_finish(struct mt_merge *m, const char *command);
void mt_merge_done(struct mt_merge *m);

#endif
