/* memray/impl.h -- what the files of this room share: one recording of memray on its way to the
 * builder.
 *
 * Records come in order and refer only to what came before, so all is built as it is read. What is
 * kept is what is live, and one entry for each distinct stack. */
#ifndef MT_MEMRAY_IMPL_H
#define MT_MEMRAY_IMPL_H

#include "parser/base/source.h"
#include "parser/profiler/feed.h"

enum mt_mr_end {
    MT_MR_GOING,
    MT_MR_TRAILER, /* memray ended it itself */
    MT_MR_KILLED,  /* nothing but zeros follow: the process died while it recorded */
    MT_MR_CUT,     /* the input ends inside */
    MT_MR_BROKEN,  /* m->why says what stands there */
    MT_MR_FATAL    /* out of memory or over a limit: m->why */
};

/* By what a process gets memory. */
enum mt_mr_kind { MT_MR_MALLOC, MT_MR_MMAP, MT_MR_PYTHON, MT_MR_KINDS };

struct mt_mr_allocator {
    uint8_t kind; /* enum mt_mr_kind */
    bool frees, known;
};
enum { MT_MR_ALLOCATORS = 16 }; /* the first is none */

/* One part of all that is live, and how much of the peak it was. */
struct mt_mr_share {
    int64_t at_peak, since;
    uint64_t n_peaks; /* that it knows of */
};

struct mt_mr_thread {
    uint64_t tid;
    mt_frame_id frame; /* the outermost of its stacks; its name is filled in at the end */
    mt_str_id name;    /* 0 = none was recorded */
    uint32_t root;
    MT_VEC(uint32_t) calls; /* nodes, innermost last */
};

/* A call and the calls around it. */
struct mt_mr_node {
    uint32_t parent, depth;
    mt_frame_id frame;
    mt_stack_id stack[2]; /* 0 = not asked for yet; the second: got by mmap */
    /* the last call inside of it: most are made again and again; inner 0 = none yet */
    uint32_t inner;
    int32_t inner_at;
    uint64_t inner_code;
};

struct mt_mr_code {
    mt_str_id name, file;
    int64_t line;
    uint8_t *table; /* where which line begins, as Python packs it */
    size_t n;
};

struct mt_mr_native {
    uint64_t ip;
    uint32_t parent, generation; /* of the modules that `frame` was found by; 0 = none yet */
    mt_frame_id frame;
};

struct mt_mr_module {
    uint64_t begin, end, base;
    mt_str_id path;
};

/* A slot of the table of blocks. A block that was freed keeps its slot, as programs get the same
 * addresses again and again, until the table is full and made anew. */
struct mt_mr_block {
    uint64_t addr, size;
    mt_stack_id stack;
    uint32_t owner; /* mt_mr_owner(), or one of these, which no owner is */
};
enum { MT_MR_EMPTY, MT_MR_GONE };

struct mt_mr_range {
    uint64_t begin, end, key; /* key: the address that the trace has it by */
    mt_stack_id stack;
    uint32_t thread;
};
enum { MT_MR_RANGES = 256 };
struct mt_mr_chunk {
    uint64_t high; /* no range of it ends behind that */
    uint32_t n;    /* at least one, by their begin */
    struct mt_mr_range r[MT_MR_RANGES];
};

struct mt_mr {
    struct mt_source *src;
    struct mt_builder *b;
    struct mt_trace *t;
    const struct mt_limits *lim;
    enum mt_mr_end end;
    struct mt_err why;
    uint64_t record_at; /* where the record begins that is being read */
    uint64_t n_records;

    /* the header */
    uint32_t version, python;
    bool has_native, is_aggregated, traces_python;
    uint64_t n_told; /* allocations, by the header; 0 where the process died */
    int64_t start_ms, end_ms, pid;
    uint64_t main_tid, n_skipped;
    uint8_t allocator;
    const struct mt_mr_allocator *allocators;

    /* what the next record is told apart from */
    uint64_t last_address, last_frame, last_line, last_ip, last_native;
    uint64_t recent[16]; /* addresses, the latest at n_recent - 1, and before 0 comes 15 */
    unsigned n_recent;

    /* stacks.c, native.c */
    MT_VEC(struct mt_mr_thread) threads;
    struct mt_pf_map thread_by_tid;
    uint32_t thread; /* of this record; index + 1 */
    MT_VEC(struct mt_mr_node) nodes;
    struct mt_pf_map node_by_call, frame_by_id, code_by_id, frame_by_code;
    MT_VEC(struct mt_mr_code) codes;
    MT_VEC(mt_frame_id) ids; /* of a stack being made */
    mt_frame_id by_mmap;
    MT_VEC(struct mt_mr_native) natives;
    MT_VEC(struct mt_mr_module) modules;
    bool modules_sorted;
    uint32_t generation;
    struct mt_pf_map stack_by_native;
    uint64_t n_with_native;

    /* heap.c */
    uint64_t now_ns; /* 0 = not known */
    struct {
        struct mt_mr_block *p;
        uint32_t n, cap; /* n: that are not empty, up to three quarters */
    } blocks;            /* by a hash of the address */
    struct mt_pf_map range_by_begin;
    MT_VEC(struct mt_mr_chunk *) chunks; /* by the begin of their first */
    MT_VEC(struct mt_mr_range) parts;    /* of ranges that an munmap takes a piece of */
    uint64_t n_made_up;
    uint64_t live, peak, n_peaks;
    MT_VEC(struct mt_mr_share) shares; /* of each thread by kind */
    uint64_t rss, rss_high, rss_at_peak;
    uint64_t n_allocs, n_old_frees, n_lost_frees, n_odd, n_parts, overlaid;

    /* aggregated.c */
    struct mt_mr_aggregated *a;
};

/* ---- bytes.c: all return 1, or 0 with m->end set ---- */
int mt_mr_nomem(struct mt_mr *m);
int mt_mr_refused(struct mt_mr *m); /* the builder's reason becomes ours */
int mt_mr_broken(struct mt_mr *m, const char *what);
int mt_mr_fixed(struct mt_mr *m, void *to, size_t n);
/* n numbers of fixed width, the lowest byte first: those machines write recordings */
int mt_mr_fixed32(struct mt_mr *m, uint32_t *to);
int mt_mr_fixed64(struct mt_mr *m, uint64_t *to, unsigned n);
int mt_mr_long_varint(struct mt_mr *m, uint64_t *v); /* of any length, anywhere */
int mt_mr_string(struct mt_mr *m, mt_str_id *id);    /* id may be NULL */
static inline int mt_mr_byte(struct mt_mr *m, uint8_t *v)
{
    if (m->src->cur == m->src->end)
        return mt_mr_fixed(m, v, 1);
    *v = *m->src->cur++;
    return 1;
}
/* Most numbers have up to three bytes, and the window ends behind few. */
static inline int mt_mr_varint(struct mt_mr *m, uint64_t *v)
{
    const unsigned char *p = m->src->cur;
    unsigned n;
    if (m->src->end - p < 3)
        return mt_mr_long_varint(m, v);
    n = p[0] < 128 ? 1 : p[1] < 128 ? 2 : p[2] < 128 ? 3 : 0;
    if (n == 0)
        return mt_mr_long_varint(m, v);
    *v = p[0] & 127u;
    if (n > 1)
        *v |= (p[1] & 127u) << 7;
    if (n > 2)
        *v |= (uint64_t)p[2] << 14;
    m->src->cur += n;
    return 1;
}
static inline int mt_mr_signed(struct mt_mr *m, int64_t *v)
{
    uint64_t u;
    if (!mt_mr_varint(m, &u))
        return 0;
    *v = (int64_t)(u >> 1 ^ (0 - (u & 1)));
    return 1;
}
/* Adds what is read. */
static inline int mt_mr_delta(struct mt_mr *m, uint64_t *last)
{
    int64_t by;
    if (!mt_mr_signed(m, &by))
        return 0;
    *last += (uint64_t)by;
    return 1;
}

/* ---- head.c ---- */
int mt_mr_head(struct mt_mr *m);

/* ---- records.c, aggregated.c: until m->end says why not further ---- */
void mt_mr_records(struct mt_mr *m);
void mt_mr_aggregated(struct mt_mr *m);
bool mt_mr_aggregated_any(const struct mt_mr *m);
int mt_mr_aggregated_build(struct mt_mr *m);
uint64_t mt_mr_live_end(const struct mt_mr *m);
void mt_mr_aggregated_done(struct mt_mr *m);

/* ---- stacks.c ---- */
int mt_mr_thread(struct mt_mr *m, uint64_t tid); /* from now on it is this one */
int mt_mr_thread_name(struct mt_mr *m);          /* reads the name of this one */
int mt_mr_thread_of(struct mt_mr *m, uint64_t tid, uint32_t *index); /* index + 1 */
int mt_mr_code(struct mt_mr *m);                                     /* reads a code object */
int mt_mr_frame(struct mt_mr *m, uint64_t id, mt_str_id name, mt_str_id file, int64_t line);
int mt_mr_frame_of_id(struct mt_mr *m, uint64_t id, mt_frame_id *frame);
int mt_mr_frame_of_code(struct mt_mr *m, uint64_t code, int64_t at, mt_frame_id *frame);
int mt_mr_push(struct mt_mr *m, mt_frame_id frame);
/* By its code, or from version 7 to 11 its number (at: 0). */
int mt_mr_call(struct mt_mr *m, uint64_t code, int64_t at);
void mt_mr_pop(struct mt_mr *m, uint32_t n);
int mt_mr_stack(struct mt_mr *m, uint64_t native, enum mt_mr_kind kind, mt_stack_id *stack);
/* Adds the frame that tells mapped memory from other. */
int mt_mr_mmap_id(struct mt_mr *m);
/* From Python frames, innermost first, in m->ids, from n_before on. */
int mt_mr_stack_of(struct mt_mr *m, uint32_t thread, mt_stack_id *stack);
int mt_mr_name_threads(struct mt_mr *m);
void mt_mr_stacks_done(struct mt_mr *m);

/* ---- lines.c: the line of an instruction; 0 = not known ---- */
uint32_t mt_mr_line(uint32_t python, const uint8_t *table, size_t n, int64_t first, int64_t at);

/* ---- native.c ---- */
int mt_mr_native_index(struct mt_mr *m); /* reads one */
int mt_mr_maps(struct mt_mr *m);         /* all modules are told anew */
int mt_mr_module(struct mt_mr *m);       /* reads one, with its segments */
/* Adds the native frames around an allocation to m->ids, as far as the interpreter if has_python.
 */
int mt_mr_native_ids(struct mt_mr *m, uint64_t native, bool has_python);

/* ---- quick.c: reads frequent records, up to one that is not for it (1), or m->end (0) ---- */
int mt_mr_quick(struct mt_mr *m);

/* ---- heap.c, live.h ---- */
int mt_mr_make_room(struct mt_mr *m); /* for another block */
int mt_mr_map(struct mt_mr *m, uint64_t addr, uint64_t size, mt_stack_id stack);
int mt_mr_unmap(struct mt_mr *m, uint64_t addr, uint64_t size);
void mt_mr_now(struct mt_mr *m, int64_t ms); /* since the epoch; 0 or less = not known */
void mt_mr_rss(struct mt_mr *m, uint64_t rss);
/* How much of the peak a thread had (index + 1), or a kind. */
uint64_t mt_mr_thread_at_peak(const struct mt_mr *m, uint32_t thread);
uint64_t mt_mr_kind_at_peak(const struct mt_mr *m, enum mt_mr_kind kind);
void mt_mr_heap_done(struct mt_mr *m);

/* ---- said.c: what the report has to know about the recording ---- */
void mt_mr_say(struct mt_mr *m);

/* ---- allocators.c ---- */
const struct mt_mr_allocator *mt_mr_allocators(uint32_t version);
/* By its number in the file. */
static inline const struct mt_mr_allocator *mt_mr_allocator(const struct mt_mr *m, unsigned id)
{
    return &m->allocators[id < MT_MR_ALLOCATORS ? id : 0];
}
#endif
