/* builder_impl.h -- state shared by builder.c and builder_finish.c; nobody else includes it. */
#ifndef MT_BUILDER_IMPL_H
#define MT_BUILDER_IMPL_H

#include "parser/builder.h"
#include "parser/intern.h"

struct mt_pair {
    uint64_t v[2];
};
struct mt_mark { /* one half of an annotation */
    uint64_t time_ns;
    mt_str_id name;
    int32_t device;
    bool is_end;
};
struct mt_ring {
    uint64_t max;
    int8_t overflowed; /* -1 = not said */
};

struct mt_builder {
    struct mt_trace *t;
    struct mt_limits lim;
    struct mt_err err;
    struct mt_intern intern;
    mt_str_id action_id[MT_ACT_COUNT], state_id[4], na_id, end_id, large_id;
    MT_VEC(struct mt_pair) pairs;
    uint32_t last_pair;
    uint16_t *lane_slot;
    uint16_t last_lane;
    /* the segment under construction */
    uint32_t n_owned_blocks; /* blocks before this index belong to a closed segment */
    uint32_t n_history;
    mt_stack_id history_stack;
    uint64_t history_size;
    /* the trace under construction */
    uint32_t next_ordinal, cur_device;
    bool next_is_host;
    uint64_t n_events;
    MT_VEC(struct mt_mark) marks;
    MT_VEC(struct mt_ring) ring;
    struct mt_ring ring_all;
    bool saw_segments, saw_traces;
    uint64_t n_segment_records, n_valid_segments, n_bad_records, n_bad_values, n_lost_lanes, n_lost_pools;
};

int mt_b_nomem(struct mt_builder *b); /* fills b->err, returns 0 */
int mt_b_count(struct mt_builder *b, struct mt_counted **p, uint32_t *n, uint32_t *cap, mt_str_id name);
struct mt_device *mt_b_device(struct mt_builder *b, int32_t ordinal, enum mt_device_kind kind, uint32_t *index);

#endif
