/* builder_impl.h -- state shared by the files of the builder; nobody else includes it. */
#ifndef MT_BUILDER_IMPL_H
#define MT_BUILDER_IMPL_H

#include "parser/model/builder.h"
#include "parser/model/intern.h"

#include <string.h>

/* devices of one process: c10::DeviceIndex is an int8_t */
enum { MAX_ORDINAL = 128 };
/* of a request that failed: PyTorch itself stops at 1 EiB, before it writes an entry */
#define MAX_REQUEST (UINT64_C(1) << 60)
/* no device has 64 PiB: a larger number is damage, or -1 read as unsigned */
#define MAX_BYTES_VALUE (UINT64_C(1) << 56)

enum { MT_MAX_PAIRS = 4096, MT_PAIR_SLOTS = 2 * MT_MAX_PAIRS };
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

/* A text of a forward pass that was read already. */
enum { MT_SAID = 1024 };
struct mt_said {
    mt_str_id text; /* 0 = none */
    mt_stack_id stack;
};

struct mt_builder {
    struct mt_trace *t;
    struct mt_limits lim;
    struct mt_err err;
    struct mt_intern intern;
    mt_str_id action_id[MT_ACT_COUNT], state_id[4], na_id, end_id, large_id;
    MT_VEC(struct mt_pair) pairs;
    uint32_t last_pair;
    uint16_t *pair_slot; /* index + 1; a hostile file may alternate between thousands */
    uint16_t *lane_slot;
    uint16_t last_lane;
    /* the segment under construction */
    uint32_t n_owned_blocks; /* blocks before this index belong to a closed segment */
    uint32_t n_history;
    mt_stack_id history_stack;
    uint64_t history_size;
    /* the trace under construction */
    uint32_t next_ordinal, cur_device;
    enum mt_device_kind next_kind;
    bool in_trace, in_segments; /* where a damaged input would be cut */
    uint64_t n_events;
    struct mt_event *next; /* of cur_device, with `room` events that can be written from there on */
    uint64_t room;
    MT_VEC(struct mt_mark) marks;
    MT_VEC(struct mt_ring) ring;
    struct mt_ring ring_all;
    struct mt_said said[MT_SAID];
    uint8_t *has_fx; /* by frame */
    uint32_t n_has_fx;
    bool saw_segments, saw_traces;
    uint64_t n_segment_records, n_valid_segments, n_bad_records, n_bad_values, n_lost_lanes,
        n_lost_pools;
};

int mt_b_nomem(struct mt_builder *b); /* fills b->err, returns 0 */
int mt_b_value_text(struct mt_builder *b, struct mt_val v, mt_str_id *id);
/* builder_text.c: what the record says that a frame of generated code stands for; the stack of a
 * traceback in a text */
int mt_b_fx(struct mt_builder *b, const struct mt_rec *r, mt_frame_id frame);
int mt_b_forward_stack(struct mt_builder *b, mt_str_id text, mt_stack_id *stack);
int mt_b_count(struct mt_builder *b, struct mt_counted **p, uint32_t *n, uint32_t *cap,
               mt_str_id name);
struct mt_device *mt_b_device(struct mt_builder *b, int32_t ordinal, enum mt_device_kind kind,
                              uint32_t *index);

/* ---- members of a record, by type ---- */

static inline int has(const struct mt_rec *r, enum mt_key k) { return (int)(r->have >> k & 1); }

static inline mt_str_id str_of(const struct mt_rec *r, enum mt_key k)
{
    return has(r, k) && r->v[k].type == MT_T_STR ? r->v[k].id : 0;
}

static inline mt_stack_id stack_of(const struct mt_rec *r, enum mt_key k)
{
    return has(r, k) && r->v[k].type == MT_T_STACK ? r->v[k].id : 0;
}

/* Any unsigned 64-bit number; negative ones keep their bits, as addresses on some platforms do. */
static inline uint64_t u64_of(const struct mt_rec *r, enum mt_key k)
{
    const struct mt_val *v = &r->v[k];
    if (!has(r, k))
        return 0;
    return v->type == MT_T_INT || v->type == MT_T_BOOL || v->type == MT_T_UINT ? v->u : 0;
}

static inline int64_t i64_of(const struct mt_rec *r, enum mt_key k)
{
    return (int64_t)u64_of(r, k);
}

/* A number of bytes: what cannot be one is counted and read as 0, so that no sum can overflow. */
static inline uint64_t bytes_below(struct mt_builder *b, const struct mt_rec *r, enum mt_key k,
                                   uint64_t limit)
{
    const struct mt_val *v = &r->v[k];
    if (!has(r, k))
        return 0;
    if (v->type == MT_T_INT && v->i >= 0 && v->u < limit)
        return v->u;
    b->n_bad_values++;
    return 0;
}
static inline uint64_t bytes_of(struct mt_builder *b, const struct mt_rec *r, enum mt_key k)
{
    return bytes_below(b, r, k, MAX_BYTES_VALUE);
}

static inline int truth_of(const struct mt_rec *r, enum mt_key k) { return u64_of(r, k) != 0; }

static inline int pair_of(const struct mt_builder *b, const struct mt_rec *r, enum mt_key k,
                          uint64_t out[2])
{
    out[0] = out[1] = 0;
    if (!has(r, k) || r->v[k].type != MT_T_PAIR || r->v[k].id >= b->pairs.n)
        return 0;
    memcpy(out, b->pairs.p[r->v[k].id].v, sizeof b->pairs.p[0].v);
    return 1;
}

#endif
