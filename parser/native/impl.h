/* native/impl.h -- what the parts of the reader of memtrace's own traces share; only
 * its own room includes it.
 *
 * Chunks are decoded as they come. Strings, stacks, modules and devices that a record refers to may
 * be defined later, or in a chunk that was lost. So ids stay raw until native/finish.c resolves
 * them. */
#ifndef MT_NATIVE_IMPL_H
#define MT_NATIVE_IMPL_H

#include "parser/model/driver.h"
#include "parser/model/intern.h"
#include "parser/model/reader.h"

/* ---- native/table.c: 64-bit keys to 32-bit values; key 0 is never used ---- */

struct mt_idmap {
    uint64_t *key;
    uint32_t *val;
    uint32_t n, cap;
};
uint32_t mt_idmap_get(const struct mt_idmap *m, uint64_t key); /* MT_NONE32 = absent */
/* the first one stays; 1 on success */
int mt_idmap_put(struct mt_idmap *m, uint64_t key, uint32_t val);
void mt_idmap_done(struct mt_idmap *m);

enum mt_native_id {
    MT_ID_STRING = 1,
    MT_ID_MODULE,
    MT_ID_STACK,
    MT_ID_PART /* of an attachment */
};
#define MT_ID_MAX ((UINT64_C(1) << 36) - 1)
#define MT_MAX_PROCESSES ((UINT32_C(1) << 24) - 1)
static inline uint64_t mt_id_key(enum mt_native_id kind, uint32_t process, uint64_t id)
{
    return (uint64_t)kind << 60 | (uint64_t)process << 36 | id;
}

/* A chunk that was seen, to know its copies. */
struct mt_seen_chunk {
    uint64_t uid, seq, realtime;
    uint32_t used;
    uint32_t kind;
};
struct mt_seen_table {
    MT_VEC(struct mt_seen_chunk) list;
    uint32_t *slot, n_slots; /* index + 1 */
};
/* The entry of the same chunk: a new one with used 0 when there was none; NULL when out of memory.
 */
struct mt_seen_chunk *mt_seen_chunk(struct mt_seen_table *s, const struct mt_seen_chunk *key);
void mt_seen_done(struct mt_seen_table *s);

/* ---- raw forms, until the end ---- */

enum { MT_MAX_GPUS = 256 }; /* that one process can name */

struct mt_native_process {
    uint64_t max_seq, n_seqs;                                       /* of its PROCESS chunks */
    uint64_t ordinals[MT_MAX_GPUS / 64], indexes[MT_MAX_GPUS / 64]; /* that its records mention */
    /* + MONOTONIC = REALTIME, of its chunks so far */
    uint64_t to_real;
    uint32_t n_attrs;
    bool has_clock;
    uint8_t end_rank; /* how much the END record that was kept says */
    /* of its checkpoint: which chunk is the first that is left, and how many parts of it there are
     * and should be */
    uint64_t first_seq, parts, parts_said;
    bool has_chunks, has_checkpoint;
};
struct mt_native_view {
    uint32_t process, index;
    int32_t ordinal;
    uint32_t order; /* of arrival */
    uint64_t total;
    mt_str_id uuid, pci, name, host;
    uint32_t gpu;
};
struct mt_native_context {
    uint64_t handle;
    uint32_t process, index, order;
};
struct mt_native_pc {
    uint64_t offset;
    uint32_t module; /* raw id */
};
struct mt_native_stack {
    uint32_t process, first, n;
    mt_stack_id id; /* once resolved */
};
struct mt_native_symbol {
    uint64_t offset;
    uint32_t process, module, line, order;
    mt_str_id function, file;
};
struct mt_native_range {
    uint64_t time_ns, id;
    uint32_t process, tid, domain, name; /* raw string ids */
    uint32_t order;
    uint8_t type, source; /* enum mt_wire_type */
};

/* ---- the reader's state ---- */

struct mt_native {
    struct mt_source *src;
    const struct mt_limits *lim;
    struct mt_trace *t;
    struct mt_driver *d;
    struct mt_err *err;
    enum mt_rc rc; /* < 0: reading stopped, err says why */
    struct mt_idmap uids, ids;
    struct mt_seen_table seen;
    struct mt_intern intern;
    MT_VEC(struct mt_native_process) procs; /* beside d->processes */
    MT_VEC(struct mt_native_view) views;
    MT_VEC(struct mt_native_context) contexts;
    MT_VEC(struct mt_native_stack) stacks;
    MT_VEC(struct mt_native_pc) pcs;
    MT_VEC(struct mt_native_symbol) symbols;
    MT_VEC(struct mt_native_range) ranges;
    /* template of an empty call: copying it is a few wide stores, and memset() of that size a slow
     * string instruction */
    struct mt_call blank;
    bool unsorted; /* calls or activities, by process and time */
    uint64_t n_events, n_bad_records, n_cut_chunks, n_odd_chunks, n_undefined, n_lost_attachments;
    /* of the chunk being decoded */
    uint64_t time, tid, addr, handle, context, pool, corr; /* delta states */
    uint64_t to_real;                                      /* + monotonic = realtime */
    uint64_t chunk_ns;                                     /* realtime of the header's monotonic */
    uint32_t process;                                      /* MT_NONE32: the launcher */
    uint16_t kind;
    bool mute; /* these records were in the shorter copy: only the delta states matter */
    uint64_t uid;
    uint32_t attachment; /* of the next BLOB; MT_NONE32 = none, or a part that was there */
    uint64_t part;
};

/* Stops reading. Returns 0. (native/fail.c) */
int mt_native_nomem(struct mt_native *n);
/* Counts one more entry of the model against --max-events. */
static inline int mt_native_count(struct mt_native *n)
{
    if (n->n_events++ < n->lim->max_events)
        return 1;
    n->rc = mt_fail(n->err, MT_ELIMIT,
                    "more than %llu records of calls, ranges and samples (raise --max-events)",
                    (unsigned long long)n->lim->max_events);
    return 0;
}

/* The string of a raw id; 0 when its definition was lost. */
static inline mt_str_id mt_native_string(struct mt_native *n, uint32_t process, uint32_t id)
{
    uint32_t s = id != 0 ? mt_idmap_get(&n->ids, mt_id_key(MT_ID_STRING, process, id)) : 0;
    if (s != MT_NONE32)
        return s;
    n->n_undefined++;
    return 0;
}

/* A payload being read. After a failed read everything is 0 and bad is set. */
struct mt_cursor {
    const unsigned char *p, *end;
    bool bad;
};
/* The bytes from p on as a number, and where it ends; NULL when it does not end. Up to eight at
 * once, without a branch for each: the window of a source may be read a little beyond its end
 * (parser/base/source.c), and what is found there is not used. By value, so that who reads a record
 * has the cursor in registers. */
struct mt_varint {
    const unsigned char *next;
    uint64_t v;
};
static inline struct mt_varint mt_varint_long(const unsigned char *p, const unsigned char *end)
{
    uint64_t v = mt_get64(p), stop = ~v & UINT64_C(0x8080808080808080);
    if (stop != 0) {
        unsigned n = (unsigned)__builtin_ctzll(stop) / 8 + 1;
        if (n > (size_t)(end - p))
            return (struct mt_varint){NULL, 0};
        v &= stop ^ (stop - 1); /* those n bytes */
        v = (v & UINT64_C(0x007f007f007f007f)) | (v & UINT64_C(0x7f007f007f007f00)) >> 1;
        v = (v & UINT64_C(0x00003fff00003fff)) | (v & UINT64_C(0x3fff00003fff0000)) >> 2;
        v = (v & UINT64_C(0x000000000fffffff)) | (v & UINT64_C(0x0fffffff00000000)) >> 4;
        return (struct mt_varint){p + n, v};
    }
    return mt_get_varint(&p, end, &v) ? (struct mt_varint){p, v} : (struct mt_varint){NULL, 0};
}
static inline uint64_t mt_cur_u(struct mt_cursor *c)
{
    struct mt_varint x;
    if (c->p < c->end && *c->p < 128) /* most */
        return *c->p++;
    if (c->end - c->p >= 2 && c->p[1] < 128) { /* and most of the others */
        x.v = (c->p[0] & 127u) | (unsigned)c->p[1] << 7;
        c->p += 2;
        return x.v;
    }
    x = mt_varint_long(c->p, c->end);
    if (x.next == NULL) {
        c->bad = true;
        c->p = c->end;
        return 0;
    }
    c->p = x.next;
    return x.v;
}
static inline uint64_t mt_cur_delta(struct mt_cursor *c, uint64_t *state)
{
    return *state += (uint64_t)mt_unzigzag(mt_cur_u(c));
}
/* Beyond 32 bits is damage. */
static inline uint32_t mt_cur_u32(struct mt_cursor *c)
{
    uint64_t v = mt_cur_u(c);
    if (v <= UINT32_MAX)
        return (uint32_t)v;
    c->bad = true;
    return 0;
}
/* A timed payload's beginning: time on the wall clock and thread. */
static inline uint64_t mt_cur_timed(struct mt_cursor *c, struct mt_native *n, uint32_t *tid)
{
    uint64_t time = mt_cur_delta(c, &n->time);
    *tid = (uint32_t)mt_cur_delta(c, &n->tid);
    return time + n->to_real;
}

static inline bool mt_native_before(uint32_t process, uint64_t time, uint32_t process2,
                                    uint64_t time2)
{
    return process != process2 ? process < process2 : time < time2;
}

/* native/call.c, native/record.c: one record each; 1 = go on (the cursor says that it was damaged),
 * 0 = stop, n->rc is set. */
int mt_native_call(struct mt_native *n, struct mt_cursor *from);
int mt_native_memory2(struct mt_native *n, struct mt_cursor *from);
int mt_native_mempool(struct mt_native *n, struct mt_cursor *c);
int mt_native_record(struct mt_native *n, uint64_t type, struct mt_cursor *c);

/* native/kept.c: what a recording that keeps the newest holds of what it let go. */

/* Whether the chunk of n->process counts: of what was let go, and of a second checkpoint, nothing
 * does. */
bool mt_native_is_left(struct mt_native *n, const unsigned char *h, uint32_t used);
int mt_native_checkpoint(struct mt_native *n, struct mt_cursor *c);

/* native/finish.c and its parts: resolve, sort, say what is missing. 1 on success. */
int mt_native_finish(struct mt_native *n);
/* native/stack.c: frames and stacks into the trace */
int mt_native_stacks(struct mt_native *n);
/* native/gpu.c: views and GPUs, then those of calls and samples */
int mt_native_gpus(struct mt_native *n);
int mt_native_ranges(struct mt_native *n);     /* native/range.c */
int mt_native_identities(struct mt_native *n); /* native/identity.c: names, ranks, command lines */
/* native/sort.c: everything into the order that driver.h promises */
int mt_native_sort(struct mt_native *n);
/* After mt_native_gpus(). MT_NONE32 = unknown. */
uint32_t mt_native_gpu_of(const struct mt_native *n, uint32_t process, bool by_ordinal,
                          uint32_t which);
uint32_t mt_native_gpu_of_context(const struct mt_native *n, uint32_t process, uint64_t handle);

#endif
