/* driver.h -- what the GPU driver really did: the model of a memtrace trace (trace.gz), beside the
 * snapshots attached to it.
 *
 * Reached as mt_trace.driver; NULL in the trace of a snapshot. Filled by parser/native/reader.c,
 * or by parser/nsys of what Nsight Systems exports; const once the trace is sealed, freed with it.
 * Strings, frames and stacks are ids of the same mt_trace. Times are CLOCK_REALTIME ns. All sizes
 * bytes. One mt_driver may hold the processes of several hosts (traces can be concatenated). A
 * sealed driver may be read from many threads. */
#ifndef MT_DRIVER_H
#define MT_DRIVER_H

#include "parser/model/trace.h"
#include "parser/model/wire.h"

#define MT_NONE32 UINT32_MAX

struct mt_module {
    uint64_t base, size;
    mt_str_id path, build_id; /* build_id in hex */
    uint32_t process;
};

/* A GPU. Two are the same if host and UUID agree; without a UUID (host, PCI id); without both
 * (process, ordinal). */
struct mt_gpu {
    mt_str_id uuid, pci, name, host;
    uint64_t total; /* 0 = unknown */
};

/* How a process names a GPU. */
struct mt_gpu_view {
    uint32_t process, gpu; /* gpu: index into gpus */
    uint32_t index;        /* as in the records */
    int32_t ordinal;       /* CUDA ordinal after CUDA_VISIBLE_DEVICES; -1 = not visible to CUDA */
};

enum mt_end {
    MT_END_UNKNOWN,
    MT_END_EXIT,
    MT_END_STATUS,
    MT_END_SIGNAL,
    MT_END_GONE,
    MT_END_RUNNING
};

struct mt_process {
    uint64_t uid;
    uint32_t pid, ppid;
    mt_str_id host, exe, command; /* command: argv quoted for a shell; exe: path */
    /* short: "python -m verl.trainer.main_ppo" -> "verl.trainer.main_ppo"; else the program's base
     * name */
    mt_str_id name;
    int32_t rank, local_rank;   /* from RANK, LOCAL_RANK and their likes; -1 = unknown */
    uint64_t first_ns, last_ns; /* of its records */
    enum mt_end end;
    int32_t end_status; /* exit status or signal */
    bool has_cuda;      /* a driver call was recorded */
    uint64_t n_chunks, n_missing, n_records, n_dropped;
    /* From then on the recording is whole; 0 = from its beginning. What is older was let go: of it
     * there are the calls whose effect was still there at that time, with the time at which they
     * were made, and failures. */
    uint64_t whole_ns;
    uint64_t n_let_go, n_failures_let_go; /* records, and of them failures */
    uint32_t first_call, n_calls;         /* in calls[], in order of time */
    uint32_t first_attr, n_attrs;         /* in attrs[] */
};

struct mt_process_attr {
    uint32_t process;
    mt_str_id key, value;
};

struct mt_call {
    uint64_t time_ns; /* when it returned */
    uint64_t addr, size, handle, context;
    /* measured growth of the device's used memory over the call; 0 = none or not measured */
    int64_t change;
    mt_stack_id stack; /* native frames, innermost first; 0 = none */
    uint32_t process;
    uint32_t dur_ns; /* saturates */
    uint32_t cbid;   /* with MT_WIRE_CBID_RUNTIME */
    uint32_t result; /* CUresult, 0 = success */
    uint32_t tid;
    uint32_t gpu;     /* index into gpus; MT_NONE32 = unknown */
    uint32_t corr;    /* CUPTI correlation id, 0 = none */
    uint32_t rare;    /* mt_call_rare() */
    uint16_t op;      /* enum mt_wire_op; unknown ones are OTHER */
    uint8_t location; /* CUmemLocationType, 0 = not said */
    uint8_t has_change;
};

/* Fields that few calls have. They lie beside struct mt_call because a trace can have ten million
 * calls. */
struct mt_call_rare {
    uint64_t offset, stream, pool;
    uint64_t free, total; /* MEM_INFO */
    uint32_t flags;       /* of the call */
    mt_str_id name;       /* of an API without an op, or file of a module; 0 = none */
};

/* CUPTI's own activity records. The ledger never adds them; they are only compared with it. */
struct mt_activity {
    uint64_t time_ns, addr, size, utilized;
    mt_str_id name, source;
    uint32_t process, gpu, corr;
    uint8_t op;   /* CUpti_ActivityMemoryOperationType: 1 alloc, 2 release */
    uint8_t kind; /* CUpti_ActivityMemoryKind */
    /* a MEMORY_POOL record: op 1 created, 2 destroyed, 3 trimmed; size = size of the pool */
    bool is_pool;
};

struct mt_gpu_sample {
    uint64_t time_ns, used, free, total;
    uint32_t process; /* who sampled */
    uint32_t gpu;
    uint32_t first_use, n_uses; /* in uses[] */
    uint8_t why;                /* enum mt_wire_why */
};
struct mt_gpu_use { /* one process on a GPU, as NVML sees it */
    uint32_t pid;   /* in NVML's own pid namespace */
    uint64_t used;  /* UINT64_MAX = not told */
};

struct mt_host_sample {
    uint64_t time_ns, rss, rss_peak, anon, shared, pinned;
    uint32_t process;
};

struct mt_nvtx {           /* a range, or a mark (t0 == t1 and is_mark) */
    uint64_t t0_ns, t1_ns; /* t1 0 = never closed */
    mt_str_id name, domain;
    uint32_t process, tid;
    uint8_t source;                /* enum mt_wire_source */
    bool is_mark, is_thread_range; /* thread range: push/pop, nested; else start/end */
};

struct mt_status {
    uint64_t time_ns;
    mt_str_id text;
    uint32_t process; /* MT_NONE32 = the launcher */
    uint16_t code;    /* enum mt_wire_status */
    uint8_t level;    /* 0 note, 1 loss, 2 not recording */
};

struct mt_loss { /* totals at the end */
    uint32_t process;
    uint32_t what; /* enum mt_wire_loss */
    uint64_t count, bytes;
};

struct mt_thread { /* a name that a thread had */
    uint32_t process, tid;
    mt_str_id name;
};

struct mt_attachment {
    mt_str_id name, kind; /* kind: "torch_snapshot", "text" */
    uint64_t bytes, read; /* read < bytes: parts are missing */
    uint64_t uid;         /* of the process it belongs to; 0 = unknown */
    mt_str_id text;       /* of kind "text": its first 64 KiB; 0 = none */
};

struct mt_driver {
    MT_VEC(struct mt_process) processes;  /* sorted by (host, first_ns, pid, uid) */
    MT_VEC(struct mt_process_attr) attrs; /* sorted by process */
    MT_VEC(struct mt_gpu) gpus;           /* sorted by (host, pci, uuid) */
    MT_VEC(struct mt_gpu_view) views;
    MT_VEC(struct mt_call) calls; /* by process, then time */
    MT_VEC(struct mt_call_rare) rare;
    MT_VEC(struct mt_activity) activities;
    MT_VEC(struct mt_gpu_sample) samples; /* by time */
    MT_VEC(struct mt_gpu_use) uses;
    MT_VEC(struct mt_host_sample) host_samples; /* by time */
    MT_VEC(struct mt_nvtx) ranges;              /* by (t0, process, tid) */
    MT_VEC(struct mt_module) modules;
    MT_VEC(struct mt_thread) threads;  /* by process, tid */
    MT_VEC(struct mt_status) statuses; /* by time */
    MT_VEC(struct mt_loss) losses;
    MT_VEC(struct mt_attachment) attachments;
    MT_VEC(struct mt_process_attr) launch; /* process = MT_NONE32 */
    MT_VEC(mt_str_id)
    frame_module; /* by frame id, as far as it goes: base name of the module of a native frame; 0 =
                     not known */
    uint64_t n_chunks, n_missing, n_duplicates, n_unknown_records;
};

/* Frames of native stacks: name = symbol, demangled, or "libx.so+0x1234" where it has none; file =
 * base name of the module for frames without a source file; line 0. */

/* all zero where there is none */
const struct mt_call_rare *mt_call_rare(const struct mt_driver *d, const struct mt_call *c);
/* "vmm_create"; "other" */
const char *mt_op_name(enum mt_wire_op op);
const char *mt_end_name(enum mt_end e);
/* Value of an attribute of a process ("env.RANK"), or NULL. */
const char *mt_process_attr(const struct mt_trace *t, uint32_t process, const char *key);
void mt_driver_free(struct mt_driver *d); /* called by mt_trace_free; NULL is fine */

#endif
