/* trace.h -- the one model: what a memory snapshot says, independent of how it was encoded.
 *
 * Built by exactly one reader through parser/model/builder.h, then sealed and const. Everything
 * reachable from a struct mt_trace is owned by it and dies with mt_trace_free(). Ids are indexes
 * into its arrays; id 0 of strings, frames and stacks means "none". Sizes are bytes, times are
 * nanoseconds of CLOCK_REALTIME (0 = unknown). Field facts: PyTorch's c10/cuda/CUDACachingAllocator
 * and torch/csrc/cuda/memory_snapshot.cpp, see docs/inputs.md. Thread-safety: a sealed trace may be
 * read from many threads. */
#ifndef MT_TRACE_H
#define MT_TRACE_H

#include "parser/base/err.h"
#include "parser/base/mem.h"
#include "parser/base/strpool.h"

#include <stdbool.h>
#include <stdint.h>

typedef uint32_t mt_frame_id;
typedef uint32_t mt_stack_id; /* 0 = no stack was recorded (absent or empty) */

struct mt_frame {
    mt_str_id name, file;
    uint32_t line;
};

/* Distinct (name, file) of the frames: what matters to rules, which do not look at lines. */
struct mt_function {
    mt_str_id name, file;
    uint32_t n_frames;
};

/* A stack is its innermost frame plus the stack of the caller: walking `parent` goes outward. */
struct mt_stack_node {
    mt_frame_id frame;
    mt_stack_id parent;
};

enum mt_action {
    /* an action this version does not know; kept so that event numbers are those of the file */
    MT_ACT_OTHER,
    MT_ACT_ALLOC,
    MT_ACT_FREE_REQUESTED,
    MT_ACT_FREE_COMPLETED,
    MT_ACT_SEGMENT_ALLOC,
    MT_ACT_SEGMENT_FREE,
    MT_ACT_SEGMENT_MAP,
    MT_ACT_SEGMENT_UNMAP,
    MT_ACT_OOM,      /* addr holds device_free: free bytes of the device at that moment */
    MT_ACT_SNAPSHOT, /* size holds the active bytes at that call */
    MT_ACT_ANNOTATE,
    MT_ACT_COUNT
};
static inline bool mt_action_is_segment(unsigned a)
{
    return a >= MT_ACT_SEGMENT_ALLOC && a <= MT_ACT_SEGMENT_UNMAP;
}
const char *mt_action_name(enum mt_action a); /* PyTorch's word; "other" */

/* When it was recorded: mt_event_ns(). */
struct mt_event {
    uint64_t addr;
    /* alloc, free: bytes asked by the caller; segment events: real bytes; oom: the failed request
     */
    uint64_t size;
    mt_stack_id stack;
    uint16_t lane;  /* index into mt_trace.lanes */
    uint8_t action; /* enum mt_action */
    uint8_t flags;  /* enum mt_event_flag */
};
enum mt_event_flag { MT_EV_POOL_KNOWN = 1 /* the entry carried pool_id, so lane.pool is a fact */ };

/* Where an allocation is served from. Pool (0,0) is the default pool. */
struct mt_lane {
    int64_t stream;
    uint64_t pool[2];
};

/* The times of a stretch of events, as wide as they need: by event, than the first. Those of a
 * snapshot or profile are whole microseconds and lie milliseconds apart, those of memray change
 * once in hundreds of events: two bytes an event, or none. */
#define MT_STRETCH_SHIFT 6
#define MT_STRETCH_EVENTS (1u << MT_STRETCH_SHIFT)
struct mt_stretch {
    uint64_t first_ns;
    union {
        uint16_t *us;    /* later, none earlier */
        int32_t *ns;     /* later */
        uint64_t *whole; /* since the epoch: some is further from the first */
    };
    enum mt_stretch_width { MT_STRETCH_ONE, MT_STRETCH_US, MT_STRETCH_NS, MT_STRETCH_WHOLE } width;
};

/* Events of one device in chunks, so that a growing trace never copies. */
#define MT_CHUNK_SHIFT 18
#define MT_CHUNK_EVENTS (1u << MT_CHUNK_SHIFT)
struct mt_events {
    struct mt_event **chunk;
    uint32_t n_chunks, cap_chunks;
    uint64_t n;
    MT_VEC(struct mt_stretch) stretches;
    struct mt_arena times;
};

enum mt_device_kind {
    MT_DEV_CUDA,
    MT_DEV_HOST, /* pinned host memory: host_segments / host_traces */
    MT_DEV_CPU   /* the host: tensors on the CPU, of a profiler's trace that has no others; all that
                    memray records */
};
const char *mt_device_kind_name(enum mt_device_kind k); /* "cuda", "host", "cpu" */

struct mt_device {
    int32_t ordinal; /* as the process saw it */
    enum mt_device_kind kind;
    struct mt_events events;
    uint64_t n_by_action[MT_ACT_COUNT];
    uint64_t bytes_by_action[MT_ACT_COUNT]; /* sums of the sizes */
    /* one of them does not fit: the trace is damaged or made up */
    bool sums_overflow;
    uint64_t n_with_stack, n_with_time;
    uint64_t last_time_ns;     /* the highest of all; 0 = none has a time */
    uint64_t ring_max_entries; /* trace_alloc_max_entries, 0 = unknown */
    int8_t ring_overflowed;    /* trace_alloc_overflowed: 1, 0, -1 = unknown */
    bool no_requests;          /* frees were recorded, but not when they were requested */
    /* the input ends inside this trace: what happened between its last entry and the end state is
     * lost */
    bool is_cut;
    /* The recording has no segments: what was live and reserved after its last event (reserved 0 =
     * not recorded), and the bytes of the card (0 = not recorded). */
    bool has_totals;
    uint64_t live_end, reserved_end, memory;
};

enum mt_block_state { MT_BLOCK_INACTIVE, MT_BLOCK_ACTIVE, MT_BLOCK_PENDING_FREE };
const char *mt_block_state_name(enum mt_block_state s); /* PyTorch's word */

struct mt_block {
    uint64_t addr;
    uint64_t size;      /* what the allocator handed out, rounded */
    uint64_t requested; /* what the caller asked; meaningless when inactive */
    mt_stack_id stack;
    uint32_t segment;
    uint8_t state; /* enum mt_block_state */
};

struct mt_segment {
    uint64_t addr, total, allocated, active, requested;
    int64_t stream;
    uint64_t pool[2];
    int32_t device;
    mt_stack_id stack;
    uint32_t first_block, n_blocks;
    uint8_t is_large, is_expandable, pool_known, is_host;
};

/* A named interval: record_function annotation (external_annotations). */
struct mt_range {
    uint64_t t0_ns, t1_ns; /* 0 = that end was not recorded */
    mt_str_id name;
    int32_t device;
};

/* Things few events carry: (device index, event, kind, text). Sorted by device, event. */
enum mt_note_kind {
    MT_NOTE_COMPILE_CONTEXT,
    MT_NOTE_USER_METADATA, /* of a dict "key: value, key: value" */
    MT_NOTE_INTERNAL_METADATA,
    MT_NOTE_CATEGORY,
    MT_NOTE_FORWARD /* of an allocation in the backward pass: what its forward was, in `stack` */
};
struct mt_note {
    uint32_t device;
    uint64_t event;
    mt_str_id text;
    mt_stack_id stack;
    uint8_t kind;
};

/* What a frame of generated code stands for, by PyTorch itself (augment_with_fx_traces=True). */
struct mt_fx {
    mt_frame_id frame;
    mt_str_id op, name, target; /* of the node in its graph; 0 = not said */
    /* the line of the program, and its code: "h = self.lm_head(h)"; 0 = not said */
    mt_frame_id line;
    mt_str_id code;
};

struct mt_setting {
    /* dotted key; value in PyTorch's spelling: True, False, None, numbers, text */
    mt_str_id key, value;
};

struct mt_counted {
    mt_str_id name;
    uint64_t n;
};

enum mt_diag_level { MT_DIAG_NOTE, MT_DIAG_DAMAGE };
struct mt_diag {
    enum mt_diag_level level;
    bool has_offset;
    uint64_t offset;
    mt_str_id text;
};

enum mt_format {
    MT_FMT_UNKNOWN,
    MT_FMT_PICKLE,
    MT_FMT_JSON,
    MT_FMT_MEMTRACE, /* trace.gz: see mt_trace.driver */
    MT_FMT_PROFILER, /* Chrome trace of torch.profiler */
    MT_FMT_MEMRAY,   /* recording of memray */
    MT_FMT_NSYS      /* export of Nsight Systems: see mt_trace.driver */
};

struct mt_meta {
    /* how it was encoded */
    enum mt_format format;
    int pickle_protocol;    /* 0..5 */
    bool torch_jit_pickler; /* written by the C++ pickler */
    bool is_timeline;       /* of the profiler: bytes by category alone */
    bool is_npu_table;      /* of torch_npu's profiler: operator_memory.csv */
    bool mostly_mapped;     /* of memray: at the peak, by mmap rather than by an allocator */
    bool is_bare_list;      /* torch.cuda.memory_snapshot(): segments only */
    bool legacy_blocks;     /* 1.13/2.0 blocks with history and without address */
    bool has_device_traces; /* the key was there, even when empty */
    bool has_annotations, has_settings, has_host;
    uint64_t bytes; /* decompressed bytes consumed */
    /* where it came from; set by the input layer */
    char *input;          /* path as given, or "-" */
    char *member;         /* name inside the archive, directory or page; NULL = the input itself */
    char *encoding;       /* "gzip", "zip", "html", "gzip, tar" ...; "" = plain */
    char sha256[65];      /* of the input as given; "" = not computed */
    uint64_t input_bytes; /* size of the input as given; 0 = unknown */
    int32_t rank;         /* from the file name; -1 = unknown */
    int32_t name_number;  /* mt_name_number(), where it says no rank; -1 = none */
    int64_t pid;          /* from the file name; -1 = unknown */
    char *host;           /* from the file name; NULL = unknown */
    uint64_t uid;         /* of the process, for a snapshot inside a trace.gz; 0 = unknown */
    /* what mt_trace_pytorch() said before what tells it was given back; NULL = it is there */
    const char *pytorch;
};

struct mt_driver;

struct mt_trace {
    struct mt_strpool str;
    MT_VEC(struct mt_frame) frames;
    /* made when the trace is sealed: distinct pairs of name and file, and distinct files */
    MT_VEC(struct mt_function) functions;
    MT_VEC(mt_str_id) files;
    MT_VEC(struct mt_stack_node) stacks; /* by stack id; shared callers are stored once */
    MT_VEC(struct mt_lane) lanes;
    /* sorted by (kind, ordinal); only those with events or segments */
    MT_VEC(struct mt_device) devices;
    MT_VEC(struct mt_segment) segments; /* sorted by (is_host, device, addr) */
    MT_VEC(struct mt_block) blocks;     /* in segment order, by address inside a segment */
    MT_VEC(struct mt_range) ranges;
    MT_VEC(struct mt_note) notes;
    MT_VEC(struct mt_fx) fx; /* by frame */
    MT_VEC(struct mt_setting) settings;
    MT_VEC(struct mt_counted) unknown_keys, unknown_actions;
    MT_VEC(struct mt_diag) diags; /* bounded to MT_MAX_DIAGS */
    uint64_t n_diags;
    uint64_t n_distinct_stacks; /* whole stacks seen, as opposed to tree nodes */
    /* the input ends before the last segment: the end state is not whole */
    bool segments_cut;
    bool damaged; /* something is missing: exit status 3 */
    bool sealed;
    struct mt_driver *driver; /* what the driver did (parser/model/driver.h); NULL for a snapshot */
    struct mt_meta meta;
};
#define MT_MAX_DIAGS 64

struct mt_trace *mt_trace_new(void); /* NULL when out of memory */
/* Gives back the records of a trace whose analysis is done: frames, functions, stacks, lanes,
 * segments, blocks, ranges, notes and settings. Its devices, texts and what was wrong with it stay.
 */
void mt_trace_forget(struct mt_trace *t);
void mt_trace_free(struct mt_trace *t);
/* Gives the event arrays back; counts stay. For reports over many ranks. */
void mt_trace_drop_events(struct mt_trace *t);
static inline const char *mt_str(const struct mt_trace *t, mt_str_id id)
{
    return t->str.ref.p[id].p;
}
static inline uint32_t mt_str_len(const struct mt_trace *t, mt_str_id id)
{
    return t->str.ref.p[id].len;
}
static inline bool mt_segment_is_on(const struct mt_segment *s, int32_t ordinal,
                                    enum mt_device_kind kind)
{
    return s->device == ordinal && (s->is_host != 0) == (kind == MT_DEV_HOST);
}
/* Whether its blocks are tensors. memray has all that a process holds: nothing of a model can be
 * told from sizes and phases there. */
static inline bool mt_is_of_tensors(const struct mt_trace *t)
{
    return t->meta.format != MT_FMT_MEMRAY;
}
static inline const struct mt_event *mt_event_at(const struct mt_device *d, uint64_t i)
{
    return &d->events.chunk[i >> MT_CHUNK_SHIFT][i & (MT_CHUNK_EVENTS - 1)];
}

/* 0 = not recorded */
static inline uint64_t mt_event_ns(const struct mt_device *d, uint64_t i)
{
    const struct mt_stretch *s = &d->events.stretches.p[i >> MT_STRETCH_SHIFT];
    uint64_t k = i & (MT_STRETCH_EVENTS - 1);
    switch (s->width) {
    case MT_STRETCH_US: return s->first_ns + (uint64_t)s->us[k] * 1000;
    case MT_STRETCH_NS: return s->first_ns + (uint64_t)(int64_t)s->ns[k];
    case MT_STRETCH_WHOLE: return s->whole[k];
    case MT_STRETCH_ONE: break;
    }
    return s->first_ns;
}

/* NULL: the frame is of no generated code, or nobody said what it stands for. */
const struct mt_fx *mt_fx_of(const struct mt_trace *t, mt_frame_id frame);
/* The note of that kind of that event; NULL = there is none. */
const struct mt_note *mt_note_of(const struct mt_trace *t, uint32_t device, uint64_t event,
                                 enum mt_note_kind kind);

/* Adds a diagnosis; text is copied. Never fails (a lost one is counted). */
#if defined(__GNUC__)
__attribute__((format(printf, 5, 6)))
#endif
void mt_trace_diag(struct mt_trace *t, enum mt_diag_level level, bool has_offset, uint64_t offset, const char *fmt, ...);

/* Which PyTorch wrote a snapshot, as far as the presence of fields tells: "2.5 or newer"; NULL = it
 * does not. */
const char *mt_trace_pytorch(const struct mt_trace *t);

#endif
