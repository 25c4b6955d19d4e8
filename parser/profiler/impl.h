/* profiler/impl.h -- what the files of this room share: one recording of torch.profiler on its way
 * to the builder.
 *
 * A trace has its events in any order, so nothing can be built before its end. What is kept until
 * then is small, and given back as it is used: an operator or Python function costs 5 to 10 bytes,
 * a memory event about 20 (log.c). */
#ifndef MT_PROFILER_IMPL_H
#define MT_PROFILER_IMPL_H

#include "parser/profiler/event.h"
#include "parser/profiler/feed.h"

#define MT_PF_NO_THREAD UINT32_MAX

/* ---- slices.c: operators and Python functions, by thread ---- */

/* A name with what it stands for. Of equal ones there is one. */
struct mt_pf_label {
    mt_frame_id frame;             /* 0 = it makes no frame */
    uint32_t first_outer, n_outer; /* older recordings: the Python frames around an operator */
    bool is_python;
};

/* Entries of different length, written one after the other and then read once. Zeroed = empty. */
struct mt_pf_log {
    struct mt_pf_page *first, *last;
    size_t read; /* of the first page */
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
    uint64_t place;  /* among the memory events of the file */
    int64_t bytes;   /* below 0: freed */
    uint32_t thread; /* MT_PF_NO_THREAD: not known */
    int16_t device;  /* -1 = the CPU */
    uint8_t flags;
};

/* Memory events that are in order of their times. */
enum { MT_PF_RUNS = 16 };
struct mt_pf_run {
    struct mt_pf_log log;
    struct mt_pf_mem last; /* what the next one is told apart from */
    struct mt_pf_mem head; /* while they are read: the next one */
    bool has_head;
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

/* slices.c */
uint32_t mt_pf_thread(struct mt_pf *f, uint64_t key); /* MT_PF_NO_THREAD: too many, or no memory */
/* outer: "file(line): function;..." innermost first, or empty */
int mt_pf_slice(struct mt_pf *f, uint32_t thread, int64_t ts, int64_t dur, struct mt_pf_text name,
                bool is_python, struct mt_pf_text outer);
/* The stack of a thread at a time; times have to go forward for each thread. 0 = fails. */
struct mt_pf_walk;
struct mt_pf_walk *mt_pf_walk_new(struct mt_pf *f); /* NULL = no memory */
int mt_pf_stack_at(struct mt_pf_walk *w, uint32_t thread, int64_t ts, mt_stack_id *stack);
void mt_pf_walk_free(struct mt_pf_walk *w);
void mt_pf_slices_done(struct mt_pf *f);

/* ---- log.c ---- */
uint8_t *mt_pf_log_room(struct mt_pf_log *l); /* for MT_PF_ENTRY bytes; NULL = no memory */
enum { MT_PF_ENTRY = 80 };
void mt_pf_log_wrote(struct mt_pf_log *l, const uint8_t *end);
/* The next entry, or NULL; what was read is given back. */
const uint8_t *mt_pf_log_next(struct mt_pf_log *l);
void mt_pf_log_read(struct mt_pf_log *l, const uint8_t *end);
void mt_pf_log_done(struct mt_pf_log *l);
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
