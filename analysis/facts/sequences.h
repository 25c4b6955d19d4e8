/* sequences.h -- what a trace shows of the sequences that are trained on, where a framework moves
 * or masks each by itself. */
#ifndef MT_SEQUENCES_H
#define MT_SEQUENCES_H

#include "parser/model/trace.h"

#include <stdbool.h>

struct mt_sequences {
    uint64_t longest;  /* tokens; 0 = not seen */
    uint32_t in_micro; /* most of them in one micro-batch; 0 = not seen */
    /* whole micro-batches hold different numbers of them: made by tokens, not by a fixed count */
    bool packed;
};

/* Fills *out for one device, whose events are those of the trace. Linear in stacks and events;
 * nothing is done where no such function occurs. 1, or 0 = out of memory. */
int mt_sequences_find(const struct mt_trace *t, const struct mt_device *d,
                      struct mt_sequences *out);

#endif
