/* builder.h -- the one way into a struct mt_trace. Both snapshot readers feed it records in file
 * order; it interns, checks, repairs legacy forms, and seals. Calls return 1, or 0 when out of
 * memory or over a limit; then b->err says which and the reader stops with b->err.rc. Everything
 * given before stays usable. */
#ifndef MT_BUILDER_H
#define MT_BUILDER_H

#include "parser/base/limits.h"
#include "parser/model/schema.h"
#include "parser/model/trace.h"

enum mt_type {
    MT_T_ABSENT = 0,
    MT_T_NONE,
    MT_T_BOOL,  /* i */
    MT_T_INT,   /* i: fits int64 */
    MT_T_UINT,  /* u: 2^63 .. 2^64-1 */
    MT_T_BIG,   /* an integer outside 64 bits: unusable as a size, counted */
    MT_T_FLOAT, /* d */
    MT_T_STR,   /* id: mt_str_id */
    MT_T_STACK, /* id: mt_stack_id (a list of frames) */
    MT_T_FRAME, /* id: mt_frame_id */
    MT_T_PAIR,  /* id: index from mt_build_pair (a pool id) */
    MT_T_OTHER  /* a container that was walked over */
};

struct mt_val {
    enum mt_type type;
    union {
        int64_t i;
        uint64_t u;
        double d;
        /* the lower half of u on every machine: readers set u where all of it is at hand */
        struct {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
            uint32_t upper;
#endif
            uint32_t id;
        };
    };
};

/* The scalar members of one dict, by key. Reset with mt_rec_reset() before each dict: only `have`
 * is cleared. When a key occurs twice the last one wins, as in Python. */
struct mt_rec {
    uint64_t have; /* bit k: v[k] is set */
    struct mt_val v[MT_K_COUNT];
};
_Static_assert(MT_K_COUNT <= 64, "mt_rec.have has 64 bits");
static inline void mt_rec_reset(struct mt_rec *r) { r->have = 0; }
static inline void mt_rec_set(struct mt_rec *r, enum mt_key k, struct mt_val v)
{
    /* member by member: a 16-byte copy of what was just written in two parts stalls the store
     * buffer */
    r->v[k].type = v.type;
    r->v[k].u = v.u;
    r->have |= UINT64_C(1) << k;
}

struct mt_builder; /* opaque */

/* NULL when out of memory; t is borrowed */
struct mt_builder *mt_builder_new(struct mt_trace *t, const struct mt_limits *lim);
void mt_builder_free(struct mt_builder *b);
const struct mt_err *mt_builder_err(const struct mt_builder *b);

/* Interning. Ids are valid for the trace. */
int mt_build_str(struct mt_builder *b, const void *s, size_t n, mt_str_id *id);
int mt_build_frame(struct mt_builder *b, mt_str_id name, mt_str_id file, uint32_t line,
                   mt_frame_id *id);
/* from NAME, FILENAME, LINE, and FX_* where they are; missing = none */
int mt_build_frame_rec(struct mt_builder *b, const struct mt_rec *r, mt_frame_id *id);
/* MT_R_TEXT: a list's strings joined, or a dict's "key: value, key: value" (part: key, value ...);
 * what is long is cut. */
int mt_build_text(struct mt_builder *b, const struct mt_val *part, uint32_t n, bool is_dict,
                  mt_str_id *id);
/* innermost first; n == 0 gives 0. Cheap for a stack seen before (one 128-bit hash of the ids). */
int mt_build_stack(struct mt_builder *b, const mt_frame_id *ids, uint32_t n, mt_stack_id *id);
int mt_build_pair(struct mt_builder *b, uint64_t p0, uint64_t p1, uint32_t *id);

/* Segments: begin when its dict opens, blocks and histories as their dicts close, then the
 * segment's own record when it closes. mt_build_history() calls belong to the block whose
 * mt_build_block() comes next. */
int mt_build_segment_begin(struct mt_builder *b);
int mt_build_history(struct mt_builder *b, const struct mt_rec *r);
int mt_build_block(struct mt_builder *b, const struct mt_rec *r);
int mt_build_segment(struct mt_builder *b, const struct mt_rec *r);
int mt_build_host_segment(struct mt_builder *b, const struct mt_rec *r);

/* Events: name the device when its trace list opens (ordinal = index in device_traces). */
int mt_build_trace_begin(struct mt_builder *b, uint32_t ordinal, enum mt_device_kind kind);
int mt_build_event(struct mt_builder *b, const struct mt_rec *r);
/* What an event is apart from its numbers; lane 0: the default stream and pool. */
struct mt_event_kind {
    uint16_t lane;
    uint8_t action, flags; /* enum mt_action, mt_event_flag */
};
/* The same without a record, for recordings that have no streams, pools and notes: addr as
 * struct mt_event has it, time_ns 0 = not recorded, stack 0 = none. A size that no device has is
 * counted and read as 0. */
int mt_build_plain_event(struct mt_builder *b, struct mt_event_kind kind, uint64_t addr,
                         uint64_t size, uint64_t time_ns, mt_stack_id stack);
/* r is what mt_build_event() took last: true when a record that has another address, size, time and
 * stack, and all else the same, is a plain event of this kind. */
bool mt_build_repeats(const struct mt_builder *b, const struct mt_rec *r,
                      struct mt_event_kind *kind);
/* In place of segments, after the last event of the device: see struct mt_device. */
void mt_build_totals(struct mt_builder *b, enum mt_device_kind kind, int32_t ordinal,
                     uint64_t live_end, uint64_t reserved_end, uint64_t memory);

int mt_build_annotation(struct mt_builder *b, const struct mt_rec *r);
/* prefix: dotted path of the enclosing keys, 0 at the first level; key as a string of its own */
int mt_build_setting(struct mt_builder *b, mt_str_id prefix, mt_str_id key, struct mt_val v);
/* trace_alloc_max_entries / trace_alloc_overflowed; device -1 = all */
int mt_build_ring(struct mt_builder *b, enum mt_key key, int32_t device, struct mt_val v);

/* counted, up to 64 distinct */
int mt_build_unknown_key(struct mt_builder *b, const void *s, size_t n);
/* a key of the top level */
void mt_build_saw_key(struct mt_builder *b, enum mt_key k);
void mt_build_saw_bare_list(struct mt_builder *b);

/* True when something that only a memory snapshot has was seen: segments or device_traces as a key,
 * or a segment in a bare list. */
bool mt_build_is_snapshot(const struct mt_builder *b);

/* Sorts, pairs annotations, checks, seals. Call once, also after a truncated input (then with a
 * damage diagnosis already added). */
int mt_build_finish(struct mt_builder *b);

#endif
