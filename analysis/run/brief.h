/* run/brief.h -- of very many ranks most are kept in brief, so that memory does not grow with their
 * detail.
 *
 * Of a rank in brief there is what a row of it says and what is held against other ranks: file,
 * times, bytes at the start, the end and the highest moment, by role there, failures, the highest
 * moment of each phase, what was wrong with the input. Curves, holders, stacks, advice and claims
 * on segments are given back. mt_analysis.is_brief says so. */
#ifndef MT_RUN_BRIEF_H
#define MT_RUN_BRIEF_H

#include "analysis/run/diagnose.h"

enum {
    MT_BRIEF_FROM = 64,  /* as many ranks are all whole */
    MT_BRIEF_WHOLE = 32, /* of more, so many stay whole */
    MT_BRIEF_STEPS = 8,  /* whole steps of a device that are kept in brief, the last ones */
    MT_BRIEF_OOMS = 64   /* failures of one device that are kept in brief */
};

/* Once more are whole than may be, makes one brief: never the one that would speak, and only after
 * the others any of those that failed first, hold the most or the least. Which one depends on the
 * ranks and the order in which they were read alone. Returns its `order`; MT_NONE32 where none was
 * made: there are few enough, they are needed beside a driver's trace, or there is no memory for
 * it. Before mt_diagnosis_finish(), by the thread that the diagnosis belongs to. */
uint32_t mt_brief_next(struct mt_diagnosis *d);

#endif
