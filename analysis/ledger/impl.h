/* ledger/impl.h -- what the files of the ledger share; nobody else includes it.
 *
 *   driver.c     the passes and what comes of them
 *   world.c      processes and GPUs of all traces, each once; the snapshot of each process
 *   holders.c    names of who holds memory
 *   libraries.c  stacks and calls -> holder and library (analysis/rules/libraries.json)
 *   phases.c     ranges and marks -> which phase held a process at a time
 *   claims.c     what snapshots say of their segments, and the process of each
 *   moves.c      which call began and ended what, for those who look at single calls
 *   columns.c    the curve and the peak of a GPU as time goes on
 *   books.c      who holds what: addresses, handles, mappings, rows
 *   apply.c      one recorded call and its effect
 *   ledger.c     the merge by time, samples
 *   focus.c      the rows at the moment that matters
 *   failures.c   failures and what became of them; sleep and wake
 *   reconcile.c  a snapshot against the books
 *   verdict.c    the sentence */
#ifndef MT_LEDGER_IMPL_H
#define MT_LEDGER_IMPL_H

#include "analysis/ledger/driver.h"
#include "analysis/base/spanset.h"

#include <string.h>

#define MT_HOLD_NAMED MT_HOLD_OTHER /* the holders before it are recorded calls */
#define MT_HOLD_SKIP MT_HOLD_COUNT  /* of a library: look at its caller */
#define MT_SECOND UINT64_C(1000000000)
#define MT_MAX_OOMS 100000u

/* ---- ledger/libraries.c ---- */

struct mt_lib_rule {
    const char *library, *function; /* '*' stands for any bytes; function NULL = any */
    uint8_t holder;                 /* enum mt_holder or MT_HOLD_SKIP */
};
struct mt_libs {
    struct mt_arena arena;
    MT_VEC(struct mt_lib_rule) rule;
    MT_VEC(char *) name; /* of libraries that hold memory; [0] = none */
};
struct mt_who {
    uint8_t holder;
    uint32_t lib; /* in mt_libs.name */
};
/* The owners of one trace's stacks, each found once. */
struct mt_stack_who {
    const struct mt_trace *t;
    struct mt_who *of;  /* by stack id; lib UINT32_MAX = not asked yet */
    uint16_t *of_frame; /* rule + 2, 1 = none, 0 = not asked yet */
};
enum mt_rc mt_libs_load(struct mt_libs *l, const struct mt_driverdiag_opts *o, struct mt_err *err);
void mt_libs_done(struct mt_libs *l);
int mt_stack_who_init(struct mt_stack_who *w, const struct mt_trace *t); /* 1 on success */
void mt_stack_who_done(struct mt_stack_who *w);
/* 0 = out of memory */
int mt_stack_who(struct mt_libs *l, struct mt_stack_who *w, mt_stack_id s, struct mt_who *out);
/* "ncclCommInitRank, called from c10d::... (libtorch_cuda.so)"; "" = nothing
 * known. mt_free() it; NULL = out of memory. */
char *mt_native_site(struct mt_libs *l, struct mt_stack_who *w, mt_stack_id s);

/* ---- ledger/books.c ---- */

enum mt_space {
    MT_SP_DEVICE,
    MT_SP_HANDLE,
    MT_SP_MAPPED,
    MT_SP_RESERVED,
    MT_SP_PINNED,
    MT_SP_ARRAYS,
    MT_SP_SHARED,
    MT_SP_PRIMARY,
    MT_SP_CODE /* refs: its ledger */
};
enum mt_held_flag { MT_HF_MANAGED = 1, MT_HF_IMPORTED = 2, MT_HF_ALIAS = 4, MT_HF_HOST = 8 };

/* Something that a process holds: an allocation, a VMM handle, a mapping, a
 * reservation. */
struct mt_held {
    uint64_t key, size;
    uint64_t link;      /* mapping: its handle; alias: the handle it stands for;
                         allocation: its context */
    uint32_t proc, row; /* row MT_NONE32 = in no sum */
    uint32_t refs;
    uint32_t block; /* of the moves */
    mt_stack_id stack;
    uint8_t space, flags;
    bool used;
};
struct mt_row {
    uint32_t proc, ledger, lib;
    enum mt_holder holder;
    int64_t bytes;
    uint64_t peak, n_live;
};
struct mt_row_slot {
    uint32_t row; /* + 1, 0 = empty */
};

/* Growth of the device that was measured over a call: there is no free of it to wait for. */
struct mt_measured {
    uint64_t size;
    uint32_t row, block;
};

/* The named sum of a GPU as it was lately: a call that is measured by the device's figure may lie
 * beside others. */
enum { MT_LATELY = 1024 };
struct mt_lately {
    uint64_t time_ns[MT_LATELY], named[MT_LATELY]; /* a ring: the sum from that time on */
    uint64_t n;                                    /* ever written */
};

/* A GPU while it is replayed. */
struct mt_ledger_run {
    int64_t by[MT_HOLD_COUNT];
    uint64_t named, managed;
    bool has_sample;
    /* by the last sample: what NVML counts for recorded processes beyond their calls; 0 also where
     * it does not name them */
    int64_t within;
    /* code outside of measured calls: loaded since the last sample; what "unexplained" grew by
     * between samples around such loads */
    bool code_came;
    uint32_t n_code;
    int64_t code_grew;
    uint32_t column;
    uint64_t width;              /* ns of a column */
    uint64_t peak_seq, used_seq; /* events of the highest named sum and the highest sample */
    /* the device's own figure at a sample while the named sum was highest */
    uint64_t peak_used;
    uint64_t n_calls, n_samples;
    struct mt_lately lately;
};

/* A burst of maps or unmaps. */
struct mt_burst {
    uint32_t proc, ledger;
    enum mt_holder who;
    bool is_wake, open;
    uint64_t t0, t1, bytes, n, left;
    bool slept; /* whether the holder has unmapped before */
};

struct mt_pending_oom { /* a failed call that may still turn out to be survived
                         */
    uint64_t time_ns, request;
    uint32_t oom;
    enum mt_holder who;
    bool went_on; /* its process has got memory since the failure */
};
enum { MT_MAX_PENDING = 64 };

struct mt_proc {
    uint32_t driver, process; /* indexes */
    /* ns; its memory is gone after that: its last record, or the last sample that lists it.
     * UINT64_MAX = it outlived the recording */
    uint64_t end_ns;
    bool lossless;
    uint64_t whole_ns;    /* as in struct mt_process */
    uint32_t host;        /* index of the first process on the same host */
    uint32_t only_ledger; /* the ledger of its calls that name no device; MT_NONE32 = not known */
    uint64_t bytes, pinned, managed;
    uint64_t pin_before; /* pinned when the phase of the last pin began */
    uint8_t pin_phase;
    struct mt_driver_process sum;
    uint32_t open_oom; /* its last failure, as long as nothing has changed since; else MT_NONE32 */
    struct mt_pending_oom pending[MT_MAX_PENDING];
    uint32_t n_pending;
    struct mt_claim_sweep *sweep;
};

/* ---- ledger/claims.c ---- */

/* The claims of a process that hold at a time that only moves forward. */
struct mt_claim_sweep {
    const struct mt_claim **by_start;
    uint32_t n, at;
    bool sorted;
    struct mt_spanset live; /* ids: indexes of by_start */
};
/* before the first question */
int mt_claim_sweep_add(struct mt_claim_sweep *s, const struct mt_claims *c);
void mt_claim_sweep_rewind(struct mt_claim_sweep *s);
/* 0 = out of memory */
int mt_claim_sweep_has(struct mt_claim_sweep *s, uint64_t addr, uint64_t size, uint64_t now,
                       bool *yes);
void mt_claim_sweep_done(struct mt_claim_sweep *s);

/* ---- ledger/phases.c ---- */

struct mt_phase_span {
    uint64_t t0;
    uint32_t range; /* index of the job phase + 1; 0 = none */
};
struct mt_phase_spans {
    MT_VEC(struct mt_phase_span) v;
};
struct mt_driver_phases {
    struct mt_phase_spans *coarse, *sub; /* by process of the job */
    /* of processes without a GPU, by the first trace */
    struct mt_phase_spans guide_coarse, guide_sub;
    uint32_t n;
};

/* A moment at which a snapshot is laid beside the books. */
struct mt_probe {
    uint64_t at_ns;
    uint32_t claims, proc, ledger;
    int32_t ordinal;
    bool is_peak; /* the moment of most live bytes, not the dump */
};

/* ---- the whole ---- */

struct mt_books {
    struct mt_driverdiag *driver;
    const struct mt_driverdiag_opts *o;
    struct mt_libs libs;
    struct mt_stack_who *who; /* by driver */
    struct mt_proc *proc;     /* processes of all drivers, each once */
    uint32_t n_procs;
    uint32_t **proc_of;        /* [driver][process] -> proc; MT_NONE32 = told elsewhere */
    uint32_t **ledger_of;      /* [driver][gpu], and one more for calls of no known GPU */
    struct mt_ledger_run *run; /* by ledger */
    struct mt_held *held;
    uint32_t n_held, held_cap;
    MT_VEC(struct mt_row) rows;
    struct mt_row_slot *row_slot;
    uint32_t n_row_slots;
    MT_VEC(struct mt_burst)
    bursts; /* open and closed ones; by (proc, who, ledger) */
    MT_VEC(uint64_t)
    oom_seq; /* by oom: the event after which its state is looked at */
    MT_VEC(uint32_t)
    oom_chain; /* by oom: a later failure for the same thing that decides, or
                MT_NONE32 */
    const struct mt_claims *claims;
    uint32_t n_claims;
    MT_VEC(struct mt_probe) probes; /* by time */
    MT_VEC(uint64_t) by_pid;        /* pid << 32 | proc, sorted */
    struct mt_driver_phases phases;
    MT_VEC(struct mt_measured) measured;
    uint64_t n_moves;
    uint32_t call; /* the one at work; MT_NONE32 = a process ends */
    uint64_t now, seq;
    bool second_pass, nomem;
    /* phases that are open, and the highest named sum since the last began or
     * ended */
    MT_VEC(uint32_t) open_phases;
    uint32_t next_phase;
    uint64_t phase_end; /* of the open phase that ends first */
    uint64_t high_since;
    uint32_t high_ledger;
};

struct mt_held *mt_held_find(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key);
/* A zeroed new entry; NULL when out of memory (b->nomem). The key must not be
 * there. Pointers to entries die with every add and drop. */
struct mt_held *mt_held_add(struct mt_books *b, uint32_t proc, enum mt_space space, uint64_t key);
void mt_held_drop(struct mt_books *b, struct mt_held *h);
/* MT_NONE32 = out of memory */
uint32_t mt_row_of(struct mt_books *b, uint32_t proc, uint32_t ledger, struct mt_who w);
/* The row grows or shrinks; returns what it could not shrink because nothing
 * was left. */
uint64_t mt_row_move(struct mt_books *b, uint32_t row, int64_t delta, int live);
/* Change of the named sum since a time; 0 = too long ago. */
int64_t mt_row_moved(const struct mt_ledger_run *r, uint64_t since);

/* ledger/world.c */
int mt_world_make(struct mt_books *b);
/* The recorded process of that host with that id around that time; MT_NONE32 = none. */
uint32_t mt_proc_listed(const struct mt_books *b, uint32_t host, uint32_t pid, uint64_t t);
/* "GPU 0 of node1 (NVIDIA H100, 80.00 GiB)" */
char *mt_gpu_name(const struct mt_trace *t, uint32_t gpu, uint64_t capacity);

/* ledger/libraries.c: who asked for what the call does; by its stack, by what it does, or by what a
 * snapshot of the process claims. */
struct mt_who mt_call_who(struct mt_books *b, uint32_t proc, const struct mt_call *c);

/* ledger/moves.c; in the first pass, the second says the same */
uint32_t mt_move_begin(struct mt_books *b, uint32_t row, uint64_t size); /* gives the block */
void mt_move_end(struct mt_books *b, uint32_t row, uint64_t size, uint32_t block);
/* What is measured grows or shrinks: the last growth goes first. */
void mt_move_measured(struct mt_books *b, uint32_t row, int64_t delta);

/* ledger/columns.c */
/* ledger/columns.c: whether the sums of a GPU, or of a process, are whole by now. */
bool mt_ledger_is_whole(const struct mt_books *b, uint32_t ledger);
bool mt_proc_is_whole(const struct mt_books *b, uint32_t proc);
void mt_ledger_touch(struct mt_books *b, uint32_t ledger); /* moves the ledger's clock to b->now */
void mt_ledger_grew(struct mt_books *b, uint32_t ledger);  /* after a change */
/* Device used - named - other as of the last sample; never so far below zero
 * that the device would hold less than nothing. */
int64_t mt_ledger_unexplained(const struct mt_ledger_run *r);

/* ledger/apply.c */
void mt_books_apply(struct mt_books *b, uint32_t proc, const struct mt_call *c, uint32_t index);
void mt_books_end(struct mt_books *b,
                  uint32_t proc); /* drops all that a process held: it has ended */

/* ledger.c */
/* one pass over everything; 1 on success */
int mt_books_replay(struct mt_books *b);
/* before the first pass: time span and columns of each */
int mt_ledgers_open(struct mt_books *b);
/* The device's own figure, at b->now; other: bytes of processes that are not
 * recorded. */
void mt_ledger_sample(struct mt_books *b, uint32_t ledger, uint64_t used, uint64_t other);

/* ledger/focus.c */
int mt_ledger_capture(struct mt_books *b, uint32_t ledger); /* the state now is that of the focus */

/* ledger/failures.c */
void mt_oom_failed(struct mt_books *b, uint32_t proc, const struct mt_call *c, uint32_t index,
                   uint32_t ledger);
void mt_oom_succeeded(struct mt_books *b, uint32_t proc, enum mt_holder who, uint64_t size);
/* A sample or cuMemGetInfo of the process right after its failure. */
void mt_oom_free_seen(struct mt_books *b, uint32_t proc, uint32_t ledger, uint64_t free_bytes);
void mt_oom_settle(struct mt_books *b);
int mt_oom_finish(struct mt_books *b); /* labels and phases */
void mt_burst_call(struct mt_books *b, uint32_t row, bool is_wake, uint64_t bytes);
/* physical memory of the row was given back */
void mt_burst_update(struct mt_books *b, uint32_t row);
void mt_burst_end(struct mt_books *b,
                  uint32_t proc); /* drops the open bursts of a process that ended: what goes with a
                                     process is no sleep */
/* whether the holder has unmapped before */
bool mt_burst_slept(const struct mt_books *b, uint32_t proc, uint32_t ledger, enum mt_holder who);
int mt_sleep_finish(struct mt_books *b);

/* reconcile.c */
int mt_reconcile_at(struct mt_books *b, const struct mt_probe *p);

/* ledger/phases.c */
int mt_driver_phases_make(struct mt_books *b);
void mt_driver_phases_done(struct mt_driver_phases *p);
/* opens and closes ranges up to now */
void mt_driver_phases_advance(struct mt_books *b, uint64_t now);
/* The phase of a process at a time: its own marks, else those of the process
 * that drives the job. */
const struct mt_driver_phase *mt_driver_phase_at(const struct mt_books *b, uint32_t proc,
                                                 uint64_t t, bool coarse);

/* ledger/verdict.c */
int mt_driver_verdict(struct mt_books *b);

#endif
