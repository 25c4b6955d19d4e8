/* skew.h -- one device beside the others of its job: work that is not divided evenly, and memory
 * that other ranks hold on a card that is not theirs. */
#ifndef MT_CAUSE_SKEW_H
#define MT_CAUSE_SKEW_H

#include "analysis/facts/analysis.h"

/* Bytes of roles that grow with the tokens of a batch. */
uint64_t mt_tokens_in(const uint64_t role[MT_ROLE_COUNT]);

/* Asks whether memory ran out on `device` of a because it held much more than the others: the other
 * devices of the snapshot, or the other ranks (all[n], a among them). Where it did, the cause says
 * so: kind, sentence, evidence, what-if, skew. Stays silent where nothing failed. *changed: advice
 * on it is to be asked for again. 1, or 0 = out of memory. */
int mt_cause_skew(struct mt_analysis *a, uint32_t device, struct mt_analysis *const *all,
                  uint32_t n, bool *changed);

#endif
