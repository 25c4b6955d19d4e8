/* ledger/driver.h -- several processes on shared GPUs: the byte ledger of each device, failures of
 * the driver, sleep and wake, and how a snapshot's view agrees with the driver's.
 *
 * Input: the driver models of the traces (parser/model/driver.h) and, where there are snapshots of
 * the same processes, their claims. Sizes are bytes, times CLOCK_REALTIME ns. Everything in struct
 * mt_driverdiag is owned by it; it refers to the traces by pointer, which must outlive it (their
 * calls too). Const after mt_driverdiag_make(). What the numbers mean: docs/ledger.md. */
#ifndef MT_LEDGER_DRIVER_H
#define MT_LEDGER_DRIVER_H

#include "analysis/facts/analysis.h"
#include "parser/model/driver.h"

/* Who holds device memory. Names are data: analysis/rules/libraries.json maps libraries to the
 * first five and gives their words. */
enum mt_holder {
    MT_HOLD_TORCH,  /* allocations of PyTorch's caching allocator */
    MT_HOLD_ENGINE, /* pools of the inference engine: cumem_allocator, torch_memory_saver */
    MT_HOLD_NCCL,   /* NCCL and other communication libraries */
    MT_HOLD_MATH,   /* cuBLAS, cuBLASLt, cuDNN, cuSOLVER, cuFFT ... workspaces */
    /* CUDA graphs: graph memory nodes, and growth measured over instantiate and upload */
    MT_HOLD_GRAPHS,
    MT_HOLD_CONTEXT,     /* contexts and modules: growth measured over their calls */
    MT_HOLD_LIBRARY,     /* another library, named */
    MT_HOLD_UNKNOWN,     /* recorded, but without a stack */
    MT_HOLD_OTHER,       /* processes that are not in the trace, as NVML tells */
    MT_HOLD_UNEXPLAINED, /* device used - everything above: signed, never spread */
    MT_HOLD_COUNT
};
const char *mt_holder_id(enum mt_holder h);    /* "torch", "engine", ... */
const char *mt_holder_words(enum mt_holder h); /* "PyTorch", "engine pools" ... */

/* What a snapshot says about its process's segments, kept after its events are dropped. */
struct mt_claim {                      /* one stretch of address space that PyTorch held */
    uint64_t addr, size, t0_ns, t1_ns; /* t0 0 = since before the trace; t1 0 = still at the dump */
    uint64_t pool[2];
    int32_t ordinal;
    bool is_expandable;
};
struct mt_segment_event {
    struct mt_event e;
    uint64_t ns;
    uint32_t device; /* index in the trace */
};
struct mt_claims {
    /* until mt_claims_make(): few runs have the driver trace that asks for the claims */
    MT_VEC(struct mt_segment_event) events;
    bool is_noted;
    MT_VEC(struct mt_claim) list;
    uint64_t dump_ns; /* time of the last event; 0 = unknown */
    int64_t pid;      /* -1 = unknown */
    uint64_t uid;     /* from the attachment's name; 0 = unknown */
    char *host;       /* NULL = unknown */
    int32_t rank;
    const struct mt_trace *trace;
    /* when the most was live by its analysis, where nothing failed; 0 = not known. Set by the
     * caller */
    uint64_t peak_ns;
    int32_t peak_ordinal;
};
/* What the claims are made of; before mt_trace_drop_events(). The rest of the trace has to stay. */
enum mt_rc mt_claims_note(struct mt_claims *out, const struct mt_trace *t, struct mt_err *err);
/* Fills the list, once. Nothing where nothing was noted. */
enum mt_rc mt_claims_make(struct mt_claims *c, struct mt_err *err);
void mt_claims_done(struct mt_claims *c);
/* fills peak_ns and peak_ordinal */
void mt_claims_peak(struct mt_claims *c, const struct mt_analysis *a);

/* When the snapshot was taken, as the hook that took it noted in the driver's trace; 0 = it did
 * not. */
uint64_t mt_claims_taken(const struct mt_claims *c, const struct mt_trace *t);

/* The process of a driver that a snapshot was taken in; MT_NONE32 = cannot be told. */
uint32_t mt_claims_process(const struct mt_claims *c, const struct mt_trace *t);

/* One line of the ledger at a moment: (process, holder, library). */
struct mt_ledger_row {
    enum mt_holder holder;
    /* index of the driver and of the process in it; MT_NONE32 for OTHER and UNEXPLAINED */
    uint32_t driver, process;
    char *library;         /* "libnccl.so.2"; NULL where the holder says it all */
    int64_t bytes;         /* at the focus */
    uint64_t peak, n_live; /* its own peak; live allocations at the focus */
    uint64_t reserved_va;  /* virtual address space reserved and not mapped, at the focus */
    char *label;           /* site of the largest live allocation; "" = unknown */
};

/* Where the named owners and the device's own figure meet. */
struct mt_ledger_check {
    uint64_t time_ns, used, named, other;
    int64_t unexplained; /* used - named - other, exactly */
};

/* A call after which somebody holds memory of a GPU, or no longer: by it the sums go up and down.
 */
struct mt_ledger_move {
    uint64_t time_ns, size;
    uint32_t block; /* its number on this GPU, from 0, in the order in which they begin */
    /* call: index in the calls of driver; MT_NONE32 where its process has ended */
    uint32_t driver, process, call;
    bool begins;
    uint8_t holder, phase, sub; /* enum mt_holder; of its process at that time */
};
enum { MT_MAX_MOVES = 1 << 20 }; /* of a job; a GPU that has its part of more keeps none */

/* Code that lies on a GPU and is in no owner's bytes, of those who launched it first. The size is
 * that of the images, which is not what the device takes. */
struct mt_ledger_code {
    enum mt_holder holder;
    char *library; /* as of a row */
    uint32_t n;    /* modules */
    uint64_t image;
};

struct mt_ledger {
    uint32_t driver, gpu; /* index of a driver that knows it, and there */
    char *name;           /* "GPU 0 of node1 (NVIDIA H100, 80 GiB)" */
    uint64_t capacity;    /* 0 = unknown */
    uint64_t t0_ns, t1_ns;
    /* From then on the sums are whole: the latest beginning of what was kept of the processes that
     * used it; 0 = all was kept. Nothing is said of an earlier time, and t0_ns is not before it. */
    uint64_t whole_ns;
    /* <= MT_TL_COLUMNS, by time; each shows the state at its highest instant of the named sum */
    uint32_t n_columns;
    /* n_columns * MT_HOLD_COUNT; OTHER and UNEXPLAINED from the last sample before the instant */
    int64_t *by_holder;
    uint64_t *named; /* sum over the first eight */
    /* named + OTHER + UNEXPLAINED: the last sample, moved by what was recorded since; 0 = no sample
     * yet */
    uint64_t *used;
    uint8_t *phase; /* enum mt_phase of the column; MT_PH_UNATTRIBUTED where none */
    uint64_t peak_named, peak_ns, peak_used, peak_used_ns;
    uint64_t focus_ns; /* the first fatal failure, else the peak */
    bool focus_is_oom;
    uint64_t focus_named, focus_used, focus_free; /* used 0 = no sample by then */
    int64_t focus_unexplained;
    /* of it, by NVML's figures of the recorded processes: theirs beyond what their calls say */
    uint64_t focus_within;
    /* Code loaded outside of measured calls, at the focus, largest first; and how much more
     * "unexplained" was after than before, between samples with such a load between them. */
    MT_VEC(struct mt_ledger_code) code;
    uint64_t code_grew;
    uint64_t focus_seq; /* place of that moment in the replay */
    /* at the focus, largest first; with a sample they add up to focus_used */
    MT_VEC(struct mt_ledger_row) rows;
    MT_VEC(struct mt_ledger_check) checks; /* one per sample */
    uint64_t max_unexplained;              /* largest magnitude over the checks */
    /* managed memory: shown apart, since it may be on the host; in no sum above */
    uint64_t managed_peak, managed_focus;
    /* by time; those that have begun and not ended add up to the named sum */
    MT_VEC(struct mt_ledger_move) moves;
    uint32_t n_blocks;
    bool moves_left_out;
    /* of memory pools, at CUPTI's record with the most not in use: compared, never added */
    uint64_t pool_size, pool_used;
    bool checks_are_mem_info; /* no NVML sample: the device's figure is cuMemGetInfo's */
    /* NVML's process ids are of another pid namespace: OTHER cannot be told */
    bool foreign_pids;
    /* records of a process on it are lost: UNEXPLAINED is what was not recorded, and the device's
     * figure at a failure is that of the failed call */
    bool records_lost;
};

/* The same as mt_holder_words(); UNEXPLAINED is "not recorded" where records are lost. l may be
 * NULL. */
const char *mt_ledger_holder_words(const struct mt_ledger *l, enum mt_holder h);
/* Of what is unexplained at the focus, what is the recorded processes' own; NULL = nothing to say.
 */
enum { MT_WITHIN = 160 };
const char *mt_ledger_within_words(const struct mt_ledger *l, char buf[static MT_WITHIN]);
/* A sentence on the code that is in it; NULL = nothing is known of any. */
enum { MT_CODE_WORDS = 400 };
const char *mt_ledger_code_words(const struct mt_ledger *l, char buf[static MT_CODE_WORDS]);

/* A driver call that failed for want of memory. */
struct mt_driver_oom {
    uint32_t driver, call, process, ledger; /* ledger MT_NONE32 = GPU unknown */
    uint64_t time_ns, request;
    uint64_t free;      /* of the device right then, 0 = not known */
    bool survived;      /* the process asked again and got it, or went on allocating */
    bool is_host;       /* pinned host memory */
    uint64_t pinned;    /* of it: what the process had pinned when the call failed */
    enum mt_holder who; /* whose call it was */
    char *library, *label;
    enum mt_phase phase, sub;
    /* name of the range that said so, in the driver's trace; 0 = none */
    mt_str_id phase_mark;
    /* an engine's create, once it has unmapped: its first mappings are no wake */
    bool in_wake;
    /* the last thing its process asked for: the one to look at in this process */
    bool is_fatal;
    /* by holder on that GPU at that moment; OTHER and UNEXPLAINED (>= 0) as of the last sample */
    uint64_t held[MT_HOLD_COUNT];
};

/* A burst of unmaps or maps of one holder: an engine going to sleep or waking. */
struct mt_sleep {
    uint32_t driver, process, ledger;
    enum mt_holder who;
    bool is_wake;
    uint64_t t0_ns, t1_ns, bytes, n_calls;
    uint64_t left; /* held by the same process and holder afterwards */
};

/* Phases on a process: ranges of its own, or those of the process that drives the job (same launch,
 * no GPU), on the common clock. */
struct mt_driver_phase {
    uint32_t driver, process; /* where the range was recorded */
    enum mt_phase phase;
    mt_str_id name;
    uint64_t t0_ns, t1_ns;
    uint64_t peak_named; /* highest named sum on any GPU inside it */
    uint32_t peak_ledger;
    /* on peak_ledger at its end, by holder; 0 while it has not ended */
    uint64_t left[MT_HOLD_OTHER];
};

/* Blocks that PyTorch has in use in memory that the driver has unmapped, of one site. */
struct mt_gone {
    char *site; /* "eagle_worker.py:120 load_draft_model" */
    uint64_t bytes;
};
enum { MT_MAX_GONE = 4 };

/* What the same holder kept at the end of one phase, step after step, before a failure in it. */
struct mt_driver_growth {
    enum mt_holder who;
    mt_str_id name; /* of the range, in the trace of driver */
    uint32_t driver;
    uint32_t n;           /* ends of that phase that were compared; 0 = it did not grow */
    uint64_t first, last; /* after the first and the last of them */
};

/* A snapshot against the driver, at the snapshot's dump (or last event): two totals that meet. */
struct mt_reconcile {
    uint32_t driver, process, rank; /* rank: index in the report's ranks */
    uint32_t ledger;                /* of its device */
    int32_t ordinal;
    uint64_t at_ns;
    uint64_t torch_reserved; /* what PyTorch believes it holds */
    /* of it, driver allocations and mappings at the same addresses at that time */
    uint64_t matched;
    /* of it, address space of pools that the driver has unmapped (asleep) */
    uint64_t unmapped;
    /* of matched, segments of the common pool without a block in use: empty_cache() */
    uint64_t idle;
    /* the largest, first; site NULL from where there are no more */
    struct mt_gone gone[MT_MAX_GONE];
    /* of it, no driver call recorded: allocated before recording, or lost; the rest */
    uint64_t unseen;
    /* what this process holds of the device, by recorded calls */
    uint64_t driver_held;
    /* driver_held - matched, by holder and library: adds up exactly */
    MT_VEC(struct mt_ledger_row) others;
    /* torch_reserved == matched + unmapped + unseen and driver_held == matched + sum(others) */
    bool adds_up;
};

/* What PyTorch counted as reserved when the most was live, and how much of it the driver had
 * unmapped by then. */
struct mt_books_peak {
    uint32_t rank, ledger; /* as of mt_reconcile */
    uint64_t at_ns, reserved, unmapped;
};
/* Whether the snapshot's peak must not be compared with the device: 256 MiB or more, and 2 % or
 * more of what was reserved, was unmapped. Less may be clock skew. */
static inline bool mt_books_peak_counts(const struct mt_books_peak *p)
{
    return p->unmapped >= UINT64_C(256) << 20 && p->unmapped >= p->reserved / 50;
}

/* What one recorded process held, over all its GPUs. */
struct mt_driver_process {
    uint32_t driver, process;
    uint32_t ledger;        /* of the GPU where it held most; MT_NONE32 = none */
    uint64_t peak, peak_ns; /* device bytes by recorded calls */
    uint64_t pinned_peak;   /* host memory allocated or registered through the driver */
    /* of it when the process was gone, and how much it had grown since the phase of its last pin
     * began */
    uint64_t pinned_end;
    uint64_t pinned_grown;
    uint8_t pinned_phase;       /* coarse; of that phase */
    uint64_t n_ooms, n_failed;  /* calls that failed for want of memory, and for any reason */
    uint64_t n_unmatched_frees; /* frees of what was not seen allocated */
    uint64_t n_lost_frees;      /* allocations at an address that was still held */
    /* imports of other processes' memory: not counted as this process's */
    uint64_t n_imported;
};

/* The driver's name of a call that takes memory, as people look for it: "cuMemCreate". cbid: of the
 * call, 0 = the usual one of that operation. */
const char *mt_driver_call_words(enum mt_wire_op op, uint32_t cbid);

struct mt_driverdiag {
    MT_VEC(const struct mt_trace *) drivers; /* traces with a driver model */
    MT_VEC(struct mt_ledger) ledgers;        /* one per GPU that was used, worst first */
    MT_VEC(struct mt_driver_oom) ooms;       /* by time */
    MT_VEC(struct mt_sleep) sleeps;
    MT_VEC(struct mt_driver_phase) phases; /* by time */
    MT_VEC(struct mt_reconcile) reconciled;
    MT_VEC(struct mt_books_peak) books_peaks;
    /* those recorded, by driver and process; a process of two traces once */
    MT_VEC(struct mt_driver_process) processes;
    uint64_t n_survived;       /* of ooms: PyTorch's release-and-retry and the like */
    enum mt_verdict_kind kind; /* MT_V_OOM, MT_V_PEAK, or MT_V_EMPTY: nothing was recorded */
    /* index of the one the verdict speaks of, when kind is MT_V_OOM */
    uint32_t oom;
    struct mt_driver_growth growth; /* before the failure `oom` */
    /* PyTorch's idle bytes on its GPU, by a snapshot of up to 30 s later; 0 = none, or no snapshot
     */
    uint64_t idle, idle_ns;
    char *sentence;   /* one sentence on what the driver saw; "" when there is nothing */
    char *because;    /* the numbers behind it */
    char *unrecorded; /* why (some) processes were not recorded; NULL = all were */
    /* The cgroup of the job, as the launcher saw it at the end: processes that the kernel killed
     * for want of host memory meanwhile, the limit, the most that was ever charged; 0 = none, or
     * not told. */
    struct {
        uint64_t kills, limit, peak;
    } host;
};

/* Whether memory ran out: in a call, or on the host. */
static inline bool mt_driver_failed(const struct mt_driverdiag *j)
{
    return j->kind == MT_V_OOM || j->host.kills != 0;
}

struct mt_driverdiag_opts {
    const struct mt_phase_rules *phases;
    uint64_t capacity; /* --capacity, 0 = from the trace */
    /* --rules: its "libraries" come before the built-in ones; NULL = none */
    const char *overlay, *overlay_name;
    size_t overlay_len;
};
/* traces: those with ->driver; claims: of the snapshots, claims[i].rank_index = i in the report's
 * order. */
/* Reads the overlay's and the built-in rows of libraries, and keeps nothing: MT_OK, or what is
 * wrong with them. */
enum mt_rc mt_lib_rules_check(const char *overlay, size_t n, const char *name, struct mt_err *err);
enum mt_rc mt_driverdiag_make(struct mt_driverdiag **out, const struct mt_trace *const *traces,
                              uint32_t n_traces, const struct mt_claims *claims, uint32_t n_claims,
                              const struct mt_driverdiag_opts *o, struct mt_err *err);
void mt_driverdiag_free(struct mt_driverdiag *j);

/* Whose call it was, for who has its frames and no trace (memtrace top): by the same rules as the
 * ledger's. */
struct mt_owner_rules;
struct mt_owner_frame {
    const char *library, *function; /* base name of the file; "" = not known */
};
enum mt_rc mt_owner_rules_new(struct mt_owner_rules **out, const struct mt_driverdiag_opts *o,
                              struct mt_err *err);
void mt_owner_rules_free(struct mt_owner_rules *r);
/* Whether a rule for that library looks at the function; else it may be left out. */
bool mt_owner_needs_function(const struct mt_owner_rules *r, const char *library);
/* Innermost first. *library: of the frame that decided, where the holder has several; NULL. */
enum mt_holder mt_owner_of(const struct mt_owner_rules *r, const struct mt_owner_frame *f,
                           uint32_t n, const char **library);

/* "rank 3, verl.trainer.main_ppo, pid 4711", "-" where there is no such process; names in it are
 * raw. */
#define MT_WHO 256
char *mt_driver_who(char buf[MT_WHO], const struct mt_driverdiag *j, uint32_t driver,
                    uint32_t process);

#endif
