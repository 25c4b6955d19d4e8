/* pickle/impl.h -- inside of the pickle reader: its value stack, its containers, its memo. Only its
 * own room includes it.
 *
 * The reader is a pull machine over an explicit stack. It executes nothing, recurses nowhere and
 * builds no object graph: a container on the stack is a small node that knows its role in a memory
 * snapshot (parser/model/schema.h), and its items go to the builder as soon as they are whole. A
 * finished container leaves behind at most a stack, frame or pair id in its memo entry. */
#ifndef MT_PICKLE_IMPL_H
#define MT_PICKLE_IMPL_H

#include "parser/model/builder.h"
#include "parser/base/limits.h"
#include "parser/base/source.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- opcodes (pickle/ops.c) ---- */

enum pk_class {
    PK_UNKNOWN_BYTE = 0,
    PK_SUBSET, /* what a snapshot needs */
    PK_REFUSED /* a pickle opcode, but never in a snapshot: calls code, imports, or juggles objects
                */
};
struct pk_op {
    const char *name;
    uint8_t cls;      /* enum pk_class */
    uint8_t operands; /* bytes of fixed-size operand after the opcode */
    uint8_t protocol; /* protocol that introduced it */
};
extern const struct pk_op mt_pk_ops[256];

/* ---- numbers and text of protocol 0 (pickle/text.c) ---- */

/* Decimal integer with sign, optional L behind it; type MT_T_ABSENT when it is none. */
struct mt_val mt_pk_int_text(const unsigned char *s, size_t n);
bool mt_pk_float_text(const unsigned char *s, size_t n, double *out);
/* Two's complement, little-endian, any length. */
struct mt_val mt_pk_int_bytes(const unsigned char *s, size_t n);
/* raw-unicode-escape to UTF-8 (lone surrogates in three bytes, as in the binary opcodes); out holds
 * n * 2 bytes; returns the length, SIZE_MAX when an escape is broken. */
size_t mt_pk_raw_unicode(const unsigned char *s, size_t n, unsigned char *out);

/* ---- the machine ---- */

#define PK_NONE UINT32_MAX

/* Tags of stack values and memo entries next to enum mt_type. */
#define PK_T_NODE ((enum mt_type)14) /* an open container; id = index into nodes */
#define PK_T_SIDE 15u                /* memo only: a scalar in pk.side */
#define PK_ID_BITS 28
#define PK_ID_MASK ((1u << PK_ID_BITS) - 1)

enum { PK_PARTS = 7 };
struct pk_node {
    struct mt_val result; /* what it stands for, once closed */
    /* frame: name, file name, line, what it stands for; pool id: its two numbers */
    struct mt_val part[PK_PARTS];
    /* is_record: what it holds so far; stays with the node for the next dict */
    struct mt_rec *rec;
    mt_frame_id *ids;    /* list: the frames so far; stays with the node */
    struct mt_val *text; /* MT_R_TEXT: the parts so far; stays with the node */
    uint32_t n_text, cap_text;
    uint64_t n;          /* items consumed */
    uint64_t fetched_at; /* offset of the opcode that fetched it while it was on the stack */
    uint32_t n_ids, cap_ids;
    uint32_t memo;         /* its memo entry + 1, 0 = none */
    uint32_t n_new_stacks; /* is_record: as pk.n_new_stacks, of pairs it has already */
    uint32_t next_free;
    uint32_t ordinal; /* trace: index of its device */
    mt_str_id path;   /* settings: dotted path */
    uint8_t role;     /* enum mt_schema_role */
    uint8_t key;      /* enum mt_key under which it hangs */
    uint8_t parts;    /* bits: part[i] of a frame is set */
    bool is_dict, is_record, closed, mixed, filled, host;
};

/* What lies above a MARK. marks[0] is the bottom of the stack. */
struct pk_mark {
    uint32_t base; /* first value above it */
    uint32_t node; /* the container just below it, which its items go to; PK_NONE: a tuple */
    uint8_t item;  /* streams: enum mt_schema_role of the records */
    /* node is a list of records: an item is consumed as soon as the next one opens */
    bool streams;
    bool dropped; /* values of a tuple were let go: too many to matter */
};

struct pk_shape {
    uint64_t bits, mask; /* the bytes that get the key; none yet: no bytes are like it */
    uint64_t bit;        /* of the key, in mt_rec.have */
    uint8_t key, wide;   /* enum mt_key, and how many bytes */
    /* a short text written out as the value, with the opcode that stores it: the last one here */
    uint8_t text_wide;
    mt_str_id text;
    uint64_t text_bits, text_mask;
};
enum { PK_SHAPES = 16 };

enum { PK_SCRATCH = 512 };
enum { PK_TEXTS = 8 };
struct pk_text {
    uint64_t bits; /* its bytes: fewer than PK_TEXTS */
    mt_str_id id;
    bool known;
};

/* A kind of entries (pickle/like.c): its pieces, with what differs between them. */
enum pk_hole {
    PK_HOLE_NONE, /* the end of the entry */
    PK_HOLE_ADDR,
    PK_HOLE_SIZE,
    PK_HOLE_TIME,
    PK_HOLE_FRAMES, /* gets of them, and the end of their list */
    PK_HOLE_STACK,  /* a list that the memo has */
    PK_HOLES
};
enum { PK_LIKES = 8, PK_LIKE_BITS = 8, PK_PIECES = 5, PK_PUTS = 6, PK_PIECE_BYTES = 56 };
#define PK_PUT_STACK UINT32_MAX /* in the place of the entry: the stack of the event */
struct pk_piece {
    uint64_t bits[PK_PIECE_BYTES / 8], mask[PK_PIECE_BYTES / 8];
    uint8_t n;    /* bytes */
    uint8_t hole; /* enum pk_hole: what follows */
};
struct pk_like {
    struct pk_piece piece[PK_PIECES];
    uint32_t put[PK_PUTS]; /* entries of the memo that it stores, in order */
    uint32_t n_pieces, n_puts;
    uint32_t n_steps; /* without the frames */
    struct mt_event_kind kind;
};

enum pk_stop {
    PK_RUNNING = 0,
    PK_DONE,
    PK_CUT /* the bytes end */,
    PK_DAMAGED,
    PK_REFUSE,
    PK_FAIL
};

struct pk {
    struct mt_source *src;
    const struct mt_limits *lim;
    struct mt_trace *t;
    struct mt_builder *b;
    struct mt_err err; /* why it stopped */
    enum pk_stop stop;
    const unsigned char *op; /* the opcode being executed, inside the window */
    struct mt_val *stack;
    uint32_t sp, limit, cap; /* limit: the height at which pk_push takes the slow way */
    struct pk_mark *mark;    /* the current one */
    MT_VEC(struct pk_mark) marks;
    MT_VEC(struct pk_node) nodes;
    uint32_t free_node, n_open;
    uint32_t *memo; /* tag << PK_ID_BITS | id; 0 = never stored */
    uint32_t n_memo, cap_memo, n_stored;
    MT_VEC(struct mt_val) side; /* memoised scalars: no known pickler writes them */
    uint8_t *key_of;            /* enum mt_key by string id */
    uint32_t n_key_of;
    uint32_t n_top_keys;
    mt_str_id top_keys[8];           /* for "a pickle of a dict with the keys ..." */
    uint64_t seen_top;               /* bit per enum mt_key of the top level */
    mt_frame_id scratch[PK_SCRATCH]; /* one stack, for pickle/fast.c */
    struct pk_stacks *stacks;        /* pickle/stacks.c; NULL until one was read */
    /* stacks that the pairs being taken by pickle/fast.c were the first to have. They count when
     * the dict is whole: damage before that leaves it out */
    uint32_t n_new_stacks;
    /* the keys of the entry before, by their place: the next one has the same */
    struct pk_shape shape[PK_SHAPES + 1];
    struct pk_text text[PK_TEXTS]; /* the last text written out in an entry, by its length */
    struct pk_like like[PK_LIKES];
    uint32_t n_like, next_like;
    /* which it may be, by the bytes that it begins with, as far as all kinds have them */
    uint8_t like_at[1 << PK_LIKE_BITS];
    uint64_t head_mask[2];
    uint64_t n_bad_items, first_bad_item;
    enum mt_schema_role bad_item_role;
    uint64_t steps;
    int protocol;          /* -1: no PROTO opcode */
    unsigned min_protocol; /* bit per protocol whose opcodes were used */
    bool jit;
};

/* Here and below: 1, or 0 with m->stop and m->err set (pickle/fail.c). */
int mt_pk_fail(struct pk *m, enum pk_stop stop, enum mt_rc rc, const char *fmt, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 4, 5)))
#endif
    ;
int mt_pk_nomem(struct pk *m);
int mt_pk_builder_failed(struct pk *m);
static inline uint64_t mt_pk_offset(const struct pk *m)
{
    return m->src->base + (uint64_t)(m->op - m->src->buf);
}

/* Runs until something sets m->stop (pickle/run.c). */
void mt_pk_run(struct pk *m);

static inline bool mt_pk_is_list(const struct pk *m, const struct mt_val *v)
{
    return v->type == PK_T_NODE && !m->nodes.p[v->id].is_dict;
}

/* values (pickle/tree.c) */
int mt_pk_push_slow(struct pk *m, struct mt_val v);
static inline int mt_pk_push(struct pk *m, struct mt_val v)
{
    if (m->sp >= m->limit)
        return mt_pk_push_slow(m, v);
    m->stack[m->sp++] = v;
    return 1;
}
/* The text in the pool, with its key looked up. */
int mt_pk_str(struct pk *m, const unsigned char *s, size_t n, mt_str_id *id);
int mt_pk_push_str(struct pk *m, const unsigned char *s, size_t n);
int mt_pk_open(struct pk *m, bool is_dict);
int mt_pk_mark(struct pk *m);
int mt_pk_close_empty(struct pk *m, bool is_dict); /* DICT, LIST */
int mt_pk_items(struct pk *m);                     /* APPENDS, SETITEMS */
int mt_pk_item(struct pk *m, uint32_t n);          /* APPEND: 1, SETITEM: 2 */
int mt_pk_tuple(struct pk *m, uint32_t n, bool with_mark);
int mt_pk_salvage(struct pk *m);
/* "in the trace of device 0, after 12 entries" */
bool mt_pk_where(const struct pk *m, char *buf, size_t cap);

/* memo (pickle/memo.c) */
int mt_pk_put(struct pk *m, uint32_t at);                        /* the value on top of the stack */
int mt_pk_put_value(struct pk *m, uint32_t at, struct mt_val v); /* v is no open container */
/* The same for what has an id, where nothing is stored yet. */
static inline int mt_pk_put_id(struct pk *m, uint32_t at, struct mt_val v)
{
    if (at >= m->cap_memo || m->memo[at] != 0 || v.id > PK_ID_MASK)
        return mt_pk_put_value(m, at, v);
    if (at >= m->n_memo)
        m->n_memo = at + 1;
    m->n_stored++;
    m->memo[at] = (uint32_t)v.type << PK_ID_BITS | v.id;
    return 1;
}
/* what the container of entry `at` stands for, now that it is closed */
void mt_pk_memo_result(struct pk *m, uint32_t at, uint32_t node, struct mt_val result);
/* pushes what is stored there; the slow way is in pickle/tree.c */
int mt_pk_get_slow(struct pk *m, uint32_t at);
static inline int mt_pk_get(struct pk *m, uint32_t at)
{
    if (at < m->n_memo) {
        uint32_t e = m->memo[at], tag = e >> PK_ID_BITS;
        if (tag >= MT_T_STR && tag <= MT_T_OTHER) {
            struct mt_val v = {.type = (enum mt_type)tag, .id = e & PK_ID_MASK};
            return mt_pk_push(m, v);
        }
    }
    return mt_pk_get_slow(m, at);
}

/* nodes (pickle/node.c) */
int mt_pk_node_new(struct pk *m, uint32_t *index);
void mt_pk_node_release(struct pk *m, uint32_t index);
/* computes its result; items that come later are a cycle */
int mt_pk_node_close(struct pk *m, uint32_t index);
/* stack values lo..hi-1 into the container */
int mt_pk_deliver(struct pk *m, uint32_t index, uint32_t lo, uint32_t hi);

/* The straight line (pickle/fast.c): *at moves over what was taken, which may be nothing */
int mt_pk_frame_gets(struct pk *m, uint32_t node, const unsigned char **at,
                     const unsigned char *end);
int mt_pk_record_pairs(struct pk *m, uint32_t node, const unsigned char **at,
                       const unsigned char *end);
/* '}' in a list of trace entries, *at behind it: this entry and those that follow, as far as they
 * look like the rest. */
int mt_pk_entries(struct pk *m, const unsigned char **at, const unsigned char *end);

/* The key got by memo at p, and in the lower byte its width there; 0 when it is anything else. */
uint32_t mt_pk_known_key(const struct pk *m, const unsigned char *p);

static inline uint32_t mt_pk_le32(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t mt_pk_le64(const unsigned char *p)
{
    return mt_pk_le32(p) | (uint64_t)mt_pk_le32(p + 4) << 32;
}

/* How a number is written behind its opcode: its bytes, or where they are told; whether it is
 * signed. As a table, because which comes next cannot be foretold: a wrong guess at a branch takes
 * as long as fifty instructions. */
struct pk_number {
    uint8_t n, at;
    bool is_signed, is_told;
};
extern const struct pk_number mt_pk_numbers[256];

/* A number at p: what follows it. NULL: none, or one of 8 bytes and more, of which the machine has
 * to see who wrote them. */
static inline const unsigned char *mt_pk_plain_number(const unsigned char *p, struct mt_val *v)
{
    const struct pk_number *k = &mt_pk_numbers[*p];
    const unsigned n = k->is_told ? p[1] : k->n, spare = 64 - n * 8;
    uint64_t bits;
    if (n - 1u >= 7)
        return NULL;
    bits = mt_pk_le64(p + k->at) << spare;
    v->type = MT_T_INT;
    v->u = k->is_signed ? (uint64_t)((int64_t)bits >> spare) : bits >> spare;
    return p + k->at + n;
}

/* The kinds of value that nearly all pairs have, at p: a number, or what the memo has that is no
 * container. NULL: any other. Inline, so that *v stays in registers. */
static inline const unsigned char *mt_pk_plain(const struct pk *m, const unsigned char *p,
                                               struct mt_val *v)
{
    const unsigned op = *p;
    uint32_t i;
    if (op != 'h' && op != 'j')
        return mt_pk_plain_number(p, v);
    i = op == 'h' ? p[1] : mt_pk_le32(p + 1);
    i = i < m->n_memo ? m->memo[i] : 0;
    v->type = (enum mt_type)(i >> PK_ID_BITS);
    v->u = i & PK_ID_MASK;
    return v->type < MT_T_STR || v->type > MT_T_PAIR ? NULL : p + (op == 'h' ? 2 : 5);
}

/* Entries like one before (pickle/like.c). p: behind the '}' of the entry. Returns what is behind
 * the
 * '}' of the next; NULL: pickle/fast.c has to look (or it has failed); *is_known: not because the
 * kind is new. */
const unsigned char *mt_pk_like_take(struct pk *m, const unsigned char *p, const unsigned char *end,
                                     bool *is_known);
/* rec was read from p on, and built; stop: behind the '}' of the next. */
void mt_pk_like_learn(struct pk *m, const struct mt_rec *rec, const unsigned char *p,
                      const unsigned char *stop);

/* Stacks by their bytes (pickle/stacks.c): [p, end) is what lies between MARK and APPENDS, that
 * included. Found: what follows it; else NULL. */
const unsigned char *mt_pk_stack_find(const struct pk *m, const unsigned char *p,
                                      const unsigned char *end, mt_stack_id *id, uint32_t *count);
int mt_pk_stack_note(struct pk *m, const unsigned char *p, const unsigned char *end, mt_stack_id id,
                     uint32_t count);
void mt_pk_shapes_begin(struct pk *m);
void mt_pk_forget(struct pk *m); /* a number of the memo stands for something else now */
void mt_pk_stacks_done(struct pk *m);

/* The whole reader with a count of its steps (opcodes + items consumed), for tests that bound it.
 */
enum mt_rc mt_pickle_read_steps(struct mt_source *src, const struct mt_limits *lim,
                                struct mt_trace *t, struct mt_err *err, uint64_t *steps);

#endif
