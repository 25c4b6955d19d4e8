/* run/quality.h -- what limits the trust in a diagnosis. */
#ifndef MT_QUALITY_H
#define MT_QUALITY_H

#include "analysis/facts/analysis.h"

struct mt_unread { /* a member or input that could not be read at all */
    char *name, *message;
};
enum { MT_IGNORED_NAMED = 64 };
/* What stood among the inputs and is not in the diagnosis. */
struct mt_skipped {
    MT_VEC(struct mt_unread) unread;
    uint64_t n_ignored;               /* files beside the snapshots that nothing was taken from */
    MT_VEC(struct mt_unread) ignored; /* the first of them, and why */
};

struct mt_quality {
    bool damaged; /* a trace is damaged, or an input could not be read (exit status 3) */
    /* One sentence each, most important first, at most MT_MAX_CAVEATS; names of the input in them
     * are raw. */
    MT_VEC(char *) caveats;
};
enum { MT_MAX_CAVEATS = 160 };

struct mt_diagnosis;
/* Fills d->quality, which is empty, from all else of d. false = out of memory; what there is can be
 * freed all the same. */
bool mt_quality_make(struct mt_diagnosis *d);
void mt_quality_done(struct mt_quality *q);

#endif
