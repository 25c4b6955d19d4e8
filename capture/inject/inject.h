/* inject.h -- inside the injected library: what its parts give each other. Nothing here is visible
 * outside (hidden symbols).
 *
 * The rule above all: never hurt the job. No function here fails visibly, prints, exits, installs a
 * signal handler, or throws; errno is preserved by every function that the job's threads can reach;
 * an error becomes a STATUS record and recording goes on with less. No link to libcuda or libcupti.
 * Includes: C library, zlib, parser/model/wire.h. Only env.c calls getenv. Thread-safety:
 * everything marked [any] may be called from any thread at any time after mti_start(). */
#ifndef MTI_INJECT_H
#define MTI_INJECT_H

#include "parser/model/wire.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* ---- env.c: settings, from rows of env.def; the one place that calls getenv ---- */

struct mti_settings {
    const char *spool;  /* MEMTRACE_SPOOL: existing folder; NULL = do not record */
    const char *cupti;  /* MEMTRACE_CUPTI: path of a libcupti, NULL = find it */
    uint64_t max_bytes; /* MEMTRACE_MAX_MB: 0; cap of the .gz of this process, which ends there; 0 =
                           none */
    /* MEMTRACE_KEEP_MB: 256; the newest so many bytes are kept (ring.h), where max_bytes is 0; 0 =
     * all is kept */
    uint64_t keep_bytes;
    uint32_t last_s;      /* MEMTRACE_LAST_S: what is older is let go; 0 = what fits is kept */
    uint32_t flush_ms;    /* MEMTRACE_FLUSH_MS: 500 */
    uint32_t sample_ms;   /* MEMTRACE_SAMPLE_MS: 500; 0 = no periodic samples */
    uint32_t stack_depth; /* MEMTRACE_STACK_DEPTH: 24 */
    bool stacks;          /* MEMTRACE_STACKS: 1 */
    bool code;            /* MEMTRACE_CODE */
    bool memory2;         /* MEMTRACE_MEMORY2: 0 */
    bool nvml;            /* MEMTRACE_NVML: 1 */
    bool nvml_inside;     /* MEMTRACE_NVML_INSIDE: 0 */
    bool spool_make;      /* MEMTRACE_SPOOL_MAKE: 0; make the spool folder, not those above it */
    /* MEMTRACE_TORCH: 1: snapshot hook (used by python.c and sitecustomize) */
    bool torch;
    bool anonymous_spool; /* MEMTRACE_ANONYMOUS_SPOOL: 0; tests: behave as where the disk is full */
};
extern struct mti_settings mti_set; /* filled once by mti_start() */
void mti_env_read(struct mti_settings *s);
/* identity.c asks for the recorded variables: value of NAME or NULL. */
const char *mti_env(const char *name);
/* Settings of an attached process, which has none of them in its environment: lines of NAME=value.
 * False: they are too long. */
#define MTI_GIVEN_MAX 8192u
bool mti_env_give(const char *settings);
const char *mti_env_given(void); /* each ended by a NUL; an empty one is the end */

/* ---- life.c: start, fork, exit ---- */

enum mti_state {
    MTI_OFF,
    MTI_STARTING,
    MTI_ON,
    MTI_FAILED,
    MTI_FORKED,  /* child of a recording process, not yet restarted */
    MTI_DETACHED /* was recorded, and is not any more: attach.c */
};
extern _Atomic int mti_state;
extern uint64_t mti_uid; /* of this process image: realtime ns ^ pid << 40, never 0 */
extern pid_t mti_pid;

/* Starts recording in this process if it is not: settings, spool file, writer thread, identity
 * records. Idempotent, thread-safe, and restarts in a forked child that calls it. True when
 * recording. Called by both Initialize functions and by the API. */
bool mti_start(void);
static inline bool mti_on(void);

/* True on the outermost entry of the library in this thread; every true must be paired with
 * mti_leave(). False: a call made by the library itself (NVML, CUPTI, dlopen inside a callback): do
 * nothing. Saves and restores errno. [any] */
bool mti_enter(void);
void mti_leave(void);

/* Registers f to run at exit, before the writer is stopped; f runs at most once, in the process
 * that registered it (not in a fork). */
void mti_at_exit(void (*f)(void));

/* ---- spool.c: records into the chunk that is open, under one mutex ---- */

/* Delta state of the open chunk. */
struct mti_delta {
    uint64_t time, tid, addr, handle, context, pool, corr;
};

/* A record under construction. Usage:
 *     struct mti_w w;
 *     if (mti_begin(&w, MT_WR_CALL, room)) { mti_timed(&w, ns); mti_u(&w, op); ...; mti_end(&w); }
 * mti_begin() takes the lock and makes room for `room` payload bytes (at most MTI_MAX_RECORD);
 * false = dropped and counted (not recording, cap reached, all slots full for a second). Between
 * begin and end only the mti_* writers below may be called: no other lock, no syscall, no
 * allocation. All [any]. */
#define MTI_MAX_RECORD 65536u
struct mti_w {
    unsigned char *p, *end, *start;
    struct mti_delta *d; /* of the chunk; committed with the record */
    unsigned type;
};
bool mti_begin(struct mti_w *w, unsigned type, size_t room);
void mti_end(struct mti_w *w);
/* What this thread writes between the two gets through when the cap is reached or the disk is full:
 * the failure that everybody waits for, and what lies around it. Does not nest. [any] */
void mti_urgent(bool on);
void mti_u(struct mti_w *w, uint64_t v); /* varint */
void mti_s(struct mti_w *w, int64_t v);  /* zigzag varint */
/* zigzag of v - *prev; *prev = v */
void mti_delta(struct mti_w *w, uint64_t *prev, uint64_t v);
void mti_str(struct mti_w *w, const void *s, size_t n);   /* varint length + bytes */
void mti_bytes(struct mti_w *w, const void *s, size_t n); /* bytes alone */
/* time and tid of the caller */
void mti_timed(struct mti_w *w, uint64_t mono_ns);
void mti_timed_tid(struct mti_w *w, uint64_t mono_ns, uint32_t tid); /* for another thread */

uint64_t mti_now(void); /* CLOCK_MONOTONIC ns */
uint32_t mti_tid(void); /* cached gettid; names the thread (THREAD record) on first use */

/* Spool file: mti_start() calls open; the fork child calls forget (unmaps, closes, keeps nothing).
 */
bool mti_spool_open(void);
void mti_spool_forget(void);
void mti_spool_lock(void);   /* atfork prepare */
void mti_spool_unlock(void); /* atfork parent */

/* Activity buffers carved from the spool, 8-byte aligned; NULL when none is free. State FULL =
 * handed to CUPTI (readable post mortem). */
void *mti_act_take(size_t *size);
void mti_act_give(void *p); /* after its records were copied; zeroes the first record's kind */
bool mti_act_is_ours(const void *p);
/* tells post-mortem readers the record sizes */
void mti_spool_strides(uint32_t memory2, uint32_t pool);

/* ---- writer.c: the thread that turns full or old chunks into gzip members; periodic work ---- */

bool mti_writer_start(void);
void mti_writer_stop(void); /* flushes everything; used at exit */
/* Runs f on the writer thread and waits for it: `patience` ns for it to begin, `most` for it to
 * end; without a writer on this one. False when f has not ended; a late f may still run. `result`
 * may be NULL. One at a time: others wait for as long to begin. For what calls out of the library
 * at exit or from within a driver call. [any] */
typedef uint64_t mti_errand_fn(uint64_t argument);
#define MTI_EXIT_NS UINT64_C(2000000000)
bool mti_writer_run(mti_errand_fn *f, uint64_t argument, uint64_t patience, uint64_t most,
                    uint64_t *result);
void mti_writer_wake(void); /* [any] a chunk is full */
/* Called on the writer thread every flush_ms; registered by samples.c and activity.c. */
void mti_periodic(void (*f)(void));
/* The same on demand as soon as possible (a sample on OOM). [any] */
void mti_request_sample(void);
/* Set by mti_request_sample(), taken by samples.c: tells a sample that was asked for from a
 * periodic one. */
extern _Atomic bool mti_sample_asked;

/* ---- emit.c: typed records ---- */

/* Id of a string, new ones are emitted as STRING. 0 when the table is full (65 536) or not
 * recording. Bounded memory. [any] */
uint32_t mti_string(const char *s, size_t n);
void mti_attr(const char *key, const char *value);
#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void mti_status(enum mt_wire_status code, int level, const char *fmt, ...); /* each (code, text) at most 16 times [any] */
void mti_loss(enum mt_wire_loss what, uint64_t count,
              uint64_t bytes); /* adds; emitted with the next periodic work and at the end [any] */

/* A driver call; fields as in enum mt_wire_field, those of `mask` are written. */
struct mti_call {
    uint64_t t0, t1; /* mono ns: enter, exit */
    uint64_t addr, size, handle, offset, stream, context, pool, free, total;
    int64_t change;
    uint32_t op, cbid, mask, result, device, flags, stack, location, name, corr;
};
void mti_emit_call(const struct mti_call *c); /* [any] */

/* ---- identity.c: who this process is: command line, host, chosen environment, redacted ---- */

void mti_identity(void); /* emits the ATTR records; called once by mti_start() */

/* ---- samples.c: NVML and /proc ---- */

/* registers periodic work; opens NVML on the writer thread, not on the caller's */
void mti_samples_start(void);
/* Used bytes of the GPU right now, by NVML on the writer thread; false when there is no NVML, it is
 * not open yet, it has been slow (> 5 ms), or the answer takes longer than 50 ms. [any] */
bool mti_gpu_used(uint32_t ordinal, uint64_t *used);
/* Whether it is worth waiting for the first answer: NVML is being opened, or about to be. [any] */
bool mti_gpu_comes(uint32_t ordinal);
/* CUDA ordinal -> UUID, once known from the driver (cupti side calls it); emits DEVICE, whose index
 * is the ordinal. uuid: 16 raw bytes or NULL; pci "0000:3b:00.0". */
void mti_device_seen(uint32_t ordinal, const unsigned char uuid[16], const char *pci,
                     const char *name, uint64_t total);
/* Host memory pinned by driver calls, kept by callbacks.c, shown in HOST_SAMPLE. */
extern _Atomic uint64_t mti_pinned;

/* ---- nvtx.c / api.c: exported InitializeInjectionNvtx2, InitializeInjectionNvtx, memtrace_push,
 * memtrace_pop, memtrace_mark ----------- */

/* ---- python.c: the snapshot hook where PYTHONPATH did not reach: Py_AddPendingCall ---- */

/* Called by InitializeInjection; false without a Python in the process or when torch is off. */
bool mti_python_start(void);

/* ---- cupti_*.c, callbacks.c, activity.c ---- */

void mti_cupti_start(void); /* called once by InitializeInjection on the thread that is in cuInit */

/* ---- stacks.c ---- */

void mti_stacks_start(void); /* before the first callback: loads the unwinder, reads the modules */
/* Id of the calling thread's native stack, without the library's own frames, libcupti's and
 * libcuda's; 0 = off or table full. New modules and stacks are emitted. The offset of a frame is
 * that of the return address less one, so that it lies inside the call; module 0: code that belongs
 * to no module, the offset is then the address. A module's base is the address of its first mapped
 * page. [any] */
uint32_t mti_stack(void);
/* After fork: everything per process begins anew. */
void mti_stacks_forget(void);
void mti_emit_forget(void);
void mti_samples_forget(void);
void mti_cupti_forget(void);

static inline bool mti_on(void)
{
    return atomic_load_explicit(&mti_state, memory_order_acquire) == MTI_ON;
}

#define MTI_EXPORT __attribute__((visibility("default")))

#endif
