/* intern.h -- frames and stacks by value: the tables behind mt_build_frame() and mt_build_stack().
 */
#ifndef MT_INTERN_H
#define MT_INTERN_H

#include "parser/model/trace.h"

#include <stdbool.h>

struct mt_stack_slot {
    uint64_t lo, hi; /* 128-bit hash of the frame ids */
    mt_stack_id id;  /* 0 = empty */
};

/* Outer parts of stacks: a stack that differs near its inner end is interned without walking all of
 * its callers again. */
struct mt_outer_slot {
    uint64_t lo, hi;
    mt_stack_id id; /* 0 = empty */
    /* fades when others want the place, so that parts which come once do not push out those which
     * come always */
    uint32_t used;
};

struct mt_intern {
    struct mt_trace *t;
    uint32_t *frame_slot, *node_slot; /* ids, 0 = empty; id 0 is never stored */
    uint32_t n_frame_slots, n_node_slots;
    bool frame_tags, node_tags; /* slots hold a byte of the hash above a 24-bit id */
    /* whole stacks: grows to a bound, then replaces, so that memory stays bounded */
    struct mt_stack_slot *seen;
    uint32_t n_seen_slots, n_seen;
    uint64_t *whole;  /* a bit per node: a whole stack begins there */
    uint32_t n_whole; /* words */
    struct mt_outer_slot *outer;
};

/* 1 on success; all calls below likewise */
int mt_intern_init(struct mt_intern *in, struct mt_trace *t);
void mt_intern_done(struct mt_intern *in);
int mt_intern_frame(struct mt_intern *in, mt_str_id name, mt_str_id file, uint32_t line,
                    mt_frame_id *id);
int mt_intern_functions(struct mt_trace *t); /* fills t->functions and t->files; 1 on success */
/* of_frame[id] = index in t->functions, for every frame but 0 */
int mt_functions_of_frames(const struct mt_trace *t, uint32_t *of_frame);
int mt_intern_stack(struct mt_intern *in, const mt_frame_id *ids, uint32_t n, mt_stack_id *id);

#endif
