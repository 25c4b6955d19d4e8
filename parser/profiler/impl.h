/* profiler/impl.h -- what the files of this room share: one recording of torch.profiler on its way
 * to the builder.
 *
 * A trace has its events in any order, so nothing can be built before its end. What is kept until
 * then is small, and given back as it is used: an operator or Python function costs 8 bytes, a
 * memory event 16, hardly any of them more (log.c). */
#ifndef MT_PROFILER_IMPL_H
#define MT_PROFILER_IMPL_H

#include "parser/profiler/event.h"
#include "parser/profiler/feed.h"

#define MT_PF_NO_THREAD UINT32_MAX

/* ---- labels.c, slices.c: operators and Python functions, by thread ---- */

/* A name with what it stands for. Of equal ones there is one. */
struct mt_pf_label {
    mt_frame_id frame;             /* 0 = it makes no frame */
    uint32_t first_outer, n_outer; /* older recordings: the Python frames around an operator */
    bool is_python;
};

/* A name seen lately, at the place that a few of its bytes tell: to compare a name is cheaper than
 * to hash it. */
enum { MT_PF_LATELY_BITS = 9, MT_PF_LATELY_NAME = 120 };
struct mt_pf_lately {
    unsigned char name[128]; /* a multiple of 64 */
    uint32_t label;          /* index + 1; 0 = empty */
    uint8_t n;
    bool is_python;
};

/* Entries of different length, written one after the other and then read once. Zeroed = empty. */
struct mt_pf_log {
    struct mt_pf_page *first, *last;
    uint8_t *at, *stop;         /* where the last page goes on; its end */
    const uint8_t *from, *till; /* of the first page: what is not read yet, once it is being read */
    uint64_t n;
};

/* Slices of one kind. libkineto writes all operators first, then all Python functions, and only
 * each kind is in the order of its begins. */
struct mt_pf_lane {
    struct mt_pf_log log; /* start, length and label of each slice */
    int64_t last_ts;      /* of the slice before */
    bool unsorted;        /* a slice begins before the one before it */
};
enum { MT_PF_PYTHON, MT_PF_OPERATOR, MT_PF_KINDS };

struct mt_pf_thread {
    uint64_t key;
    struct mt_pf_lane lane[MT_PF_KINDS];
};

struct mt_pf_range { /* a user annotation */
    int64_t ts, end;
    mt_str_id name;
};

/* ---- memory events ---- */

enum mt_pf_flag { MT_PF_ADDR = 1, MT_PF_TOTALS = 2, MT_PF_OOM = 4 /* bytes were refused */ };
struct mt_pf_mem {
    int64_t ts; /* ns, by the clock of the file */
    uint64_t addr, allocated, reserved;
    uint64_t place; /* among the memory events of the file */
    int64_t bytes;  /* below 0: freed */
    uint64_t
        where; /* mt_pf_where(): in one word, as it is that of the event before, nearly always */
};
/* thread: MT_PF_NO_THREAD = not known. device: -1 = the CPU; up to 1023. */
static inline uint64_t mt_pf_where(uint32_t thread, int device, unsigned flags)
{
    return (uint64_t)thread << 16 | (uint64_t)(device + 1) << 3 | flags;
}
static inline uint32_t mt_pf_thread_of(const struct mt_pf_mem *m)
{
    return (uint32_t)(m->where >> 16);
}
static inline int mt_pf_device_of(const struct mt_pf_mem *m)
{
    return (int)(m->where >> 3 & 0x1fff) - 1;
}
static inline unsigned mt_pf_flags_of(const struct mt_pf_mem *m) { return m->where & 7; }

/* Memory events that are in order of their times. */
enum { MT_PF_RUNS = 16 };
struct mt_pf_run {
    struct mt_pf_log log;
    struct mt_pf_mem last; /* what the next one is told apart from; while they are read, the next */
    bool has_head;         /* while they are read: there is a next one */
};

struct mt_pf_device { /* of deviceProperties */
    int64_t id;
    uint64_t memory;
};

struct mt_pf {
    struct mt_json j;
    struct mt_builder *b;
    struct mt_trace *t;
    const struct mt_limits *lim;
    MT_VEC(struct mt_pf_label) labels;
    MT_VEC(mt_frame_id) outer;
    struct mt_pf_seen *seen; /* labels by the hash of their text */
    struct mt_pf_lately *lately;
    uint32_t n_seen, cap_seen;
    MT_VEC(struct mt_pf_thread) threads;
    uint32_t last_thread;
    uint32_t *thread_slot; /* index + 1 */
    struct mt_pf_before before;
    struct mt_pf_run runs[MT_PF_RUNS];
    unsigned n_runs;
    uint64_t n_mem;
    bool unsorted_mem, has_device; /* unsorted_mem: the last of the runs is none */
    MT_VEC(struct mt_pf_range) ranges;
    MT_VEC(struct mt_pf_device) props;
    int64_t base_ns;         /* added to every time */
    bool has_base, is_trace; /* is_trace: traceEvents, or a list of events */
    bool has_profile_memory, has_with_stack;
    int64_t pid; /* of the first memory event; -1 = none yet */
    uint64_t n_events, n_bad, n_other_process, n_lost_threads, n_cpu;
    bool has_cpu_op, has_python;
};

/* fail.c: both return 0 with j.fail and j.why set */
int mt_pf_nomem(struct mt_pf *f);
int mt_pf_refused(struct mt_pf *f); /* the builder's reason becomes ours */

/* walk.c: reads the whole document; 0 with j.fail and j.why set */
int mt_pf_walk(struct mt_pf *f);

/* event.c: one event, p at '{' and end behind its '}'. 0 = out of memory, said. What is no event of
 * interest is passed over, what cannot be read is counted. */
int mt_pf_event(struct mt_pf *f, const unsigned char *p, const unsigned char *end);
/* The next event, if it is laid out as libkineto does and whole before the end of the window: then
 * *behind is what follows it, else NULL and nothing was done. */
int mt_pf_next(struct mt_pf *f, const unsigned char *p, const unsigned char *end,
               const unsigned char **behind);

/* labels.c. outer: "file(line): function;..." innermost first, or empty */
int mt_pf_other_label(struct mt_pf *f, struct mt_pf_text name, bool is_python,
                      struct mt_pf_text outer, uint32_t *label);
void mt_pf_labels_done(struct mt_pf *f);
static inline bool mt_pf_is_kept(struct mt_pf_text name, struct mt_pf_text outer)
{
    return outer.n == 0 && name.n >= 8 && name.n <= MT_PF_LATELY_NAME;
}
/* Of one that is kept. */
static inline struct mt_pf_lately *mt_pf_lately(const struct mt_pf *f, struct mt_pf_text name,
                                                bool is_python)
{
    uint64_t end, before;
    memcpy(&end, name.p + name.n - 8, sizeof end);
    memcpy(&before, name.n < 16 ? name.p : name.p + name.n - 16, sizeof before);
    end = end * UINT64_C(0x9e3779b97f4a7c15) + before + name.n + is_python;
    return &f->lately[end * UINT64_C(0xbf58476d1ce4e5b9) >> (64 - MT_PF_LATELY_BITS)];
}
static inline int mt_pf_label(struct mt_pf *f, struct mt_pf_text name, bool is_python,
                              struct mt_pf_text outer, uint32_t *label)
{
    if (f->lately != NULL && mt_pf_is_kept(name, outer)) {
        const struct mt_pf_lately *l = mt_pf_lately(f, name, is_python);
        if (l->n == name.n && l->is_python == is_python &&
            mt_pf_same_name(l->name, name.p, name.n)) {
            *label = l->label - 1;
            return 1;
        }
    }
    return mt_pf_other_label(f, name, is_python, outer, label);
}

/* slices.c */
uint32_t mt_pf_other_thread(struct mt_pf *f, uint64_t key);
/* MT_PF_NO_THREAD: too many, or no memory */
static inline uint32_t mt_pf_thread(struct mt_pf *f, uint64_t key)
{
    return f->last_thread < f->threads.n && f->threads.p[f->last_thread].key == key
               ? f->last_thread
               : mt_pf_other_thread(f, key);
}
/* The stack of a thread at a time; times have to go forward for each thread. 0 = fails. */
struct mt_pf_walk;
struct mt_pf_walk *mt_pf_walk_new(struct mt_pf *f); /* NULL = no memory */
int mt_pf_stack_at(struct mt_pf_walk *w, uint32_t thread, int64_t ts, mt_stack_id *stack);
void mt_pf_walk_free(struct mt_pf_walk *w);
void mt_pf_slices_done(struct mt_pf *f);

/* ---- log.c ---- */
enum { MT_PF_ENTRY = 96 };
uint8_t *mt_pf_log_page(struct mt_pf_log *l);
const uint8_t *mt_pf_log_turn(struct mt_pf_log *l);
void mt_pf_log_done(struct mt_pf_log *l);
/* For MT_PF_ENTRY bytes; NULL = no memory. */
static inline uint8_t *mt_pf_log_room(struct mt_pf_log *l)
{
    return l->stop - l->at >= MT_PF_ENTRY ? l->at : mt_pf_log_page(l);
}
static inline void mt_pf_log_wrote(struct mt_pf_log *l, uint8_t *end)
{
    l->at = end;
    l->n++;
}
/* The next entry, or NULL; what was read is given back. MT_PF_ENTRY bytes may be looked at. */
static inline const uint8_t *mt_pf_log_next(struct mt_pf_log *l)
{
    return l->from != l->till ? l->from : mt_pf_log_turn(l);
}
static inline void mt_pf_log_read(struct mt_pf_log *l, const uint8_t *end)
{
    l->from = end;
    l->n--;
}
/* Words of which the lowest bytes come first, so that the rest of one may be written over. */
static inline uint64_t mt_pf_lowest_first(uint64_t v)
{
#if !(defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
    uint8_t bytes[8];
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)(v >> (8 * i));
    memcpy(&v, bytes, sizeof v);
#endif
    return v;
}
static inline void mt_pf_put_word(uint8_t *p, uint64_t v)
{
    v = mt_pf_lowest_first(v);
    memcpy(p, &v, sizeof v);
}
static inline uint64_t mt_pf_get_word(const uint8_t *p)
{
    uint64_t v;
    memcpy(&v, p, sizeof v);
    return mt_pf_lowest_first(v); /* there and back are the same */
}
/* Numbers in groups of 7 bits, signed ones with the sign in the lowest. */
static inline uint8_t *mt_pf_put(uint8_t *p, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        *p++ = (uint8_t)(v | 128);
    *p++ = (uint8_t)v;
    return p;
}
static inline uint8_t *mt_pf_put_signed(uint8_t *p, int64_t v)
{
    return mt_pf_put(p, (uint64_t)v << 1 ^ (v < 0 ? UINT64_MAX : 0));
}
static inline const uint8_t *mt_pf_get(const uint8_t *p, uint64_t *v)
{
    unsigned shift = 0;
    uint64_t u = 0;
    for (; *p >= 128; p++, shift += 7)
        u |= (uint64_t)(*p & 127) << shift;
    *v = u | (uint64_t)*p++ << shift;
    return p;
}
static inline const uint8_t *mt_pf_get_signed(const uint8_t *p, int64_t *v)
{
    uint64_t u;
    p = mt_pf_get(p, &u);
    *v = (int64_t)(u >> 1 ^ (0 - (u & 1)));
    return p;
}

/* An entry is a part of one word: two bits say which of these widths it has, and behind them are
 * how much later it begins than the one before, its length and its label. The fourth is two bits
 * alone, with all three as numbers of any size behind a whole word. */
struct mt_pf_widths {
    uint8_t later, length, label, bytes;
};
static const struct mt_pf_widths mt_pf_widths[] = {
    {13, 15, 10, 5}, {15, 19, 12, 6}, {21, 25, 16, 8}};
enum { MT_PF_N_WIDTHS = sizeof mt_pf_widths / sizeof *mt_pf_widths };

/* Which of the three is the first that has room: none is narrower than the one before. */
static inline unsigned mt_pf_width(uint64_t later, uint64_t length, uint64_t label)
{
    unsigned n = 0;
    for (unsigned i = 0; i < MT_PF_N_WIDTHS; i++) {
        const struct mt_pf_widths *w = &mt_pf_widths[i];
        n += (later >> w->later | length >> w->length | label >> w->label) != 0;
    }
    return n;
}

static inline uint8_t *mt_pf_put_slice(uint8_t *p, uint64_t later, uint64_t length, uint64_t label)
{
    unsigned which = mt_pf_width(later, length, label);
    uint64_t word = which;
    if (which == MT_PF_N_WIDTHS) {
        mt_pf_put_word(p, word);
        return mt_pf_put(mt_pf_put(mt_pf_put(p + sizeof word, later), length), label);
    }
    word |= (later | (length | label << mt_pf_widths[which].length) << mt_pf_widths[which].later)
            << 2;
    mt_pf_put_word(p, word);
    return p + mt_pf_widths[which].bytes;
}

static inline const uint8_t *mt_pf_get_slice(const uint8_t *p, uint64_t *later, uint64_t *length,
                                             uint64_t *label)
{
    uint64_t word = mt_pf_get_word(p);
    struct mt_pf_widths w;
    if ((word & 3) == MT_PF_N_WIDTHS)
        return mt_pf_get(mt_pf_get(mt_pf_get(p + sizeof word, later), length), label);
    w = mt_pf_widths[word & 3];
    word >>= 2;
    *later = word & ((UINT64_C(1) << w.later) - 1);
    *length = word >> w.later & ((UINT64_C(1) << w.length) - 1);
    *label = word >> w.later >> w.length & ((UINT64_C(1) << w.label) - 1);
    return p + w.bytes;
}

/* One more slice of a thread. */
static inline int mt_pf_slice(struct mt_pf *f, uint32_t thread, int64_t ts, int64_t dur,
                              struct mt_pf_text name, bool is_python, struct mt_pf_text outer)
{
    struct mt_pf_lane *l = &f->threads.p[thread].lane[is_python ? MT_PF_PYTHON : MT_PF_OPERATOR];
    uint32_t label = 0;
    uint8_t *p;
    if (!mt_pf_label(f, name, is_python, outer, &label))
        return 0;
    if ((p = mt_pf_log_room(&l->log)) == NULL)
        return mt_pf_nomem(f);
    l->unsorted = l->unsorted || (ts < l->last_ts && l->log.n != 0);
    p = mt_pf_put_slice(p, (uint64_t)ts - (uint64_t)l->last_ts, (uint64_t)dur, label);
    mt_pf_log_wrote(&l->log, p);
    l->last_ts = ts;
    return 1;
}

/* ---- order.c: memory events ---- */
int mt_pf_mem_put(struct mt_pf *f, struct mt_pf_mem *m); /* sets its place */
/* After the last one: the first. Sorts by time what is not; 0 = out of memory. */
int mt_pf_mem_begin(struct mt_pf *f);
/* By time, of equal times as in the file. */
bool mt_pf_mem_next(struct mt_pf *f, struct mt_pf_mem *m);
void mt_pf_mem_done(struct mt_pf *f);

/* ---- build.c ---- */
int mt_pf_build(struct mt_pf *f);
#endif
