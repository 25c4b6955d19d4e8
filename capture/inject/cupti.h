/* cupti.h -- what the CUPTI side of the injected library shares among its own files: finding
 * libcupti, subscribing, decoding driver calls, contexts, activity buffers, the module map. Rules
 * and conventions as in inject.h. */
#ifndef MTI_CUPTI_H
#define MTI_CUPTI_H

#include "capture/inject/abi_cuda.h"
#include "capture/inject/abi_cupti.h"
#include "capture/inject/inject.h"

/* ---- cupti_find.c ---- */

struct mti_cupti {
#define MTI_F(member, symbol, parameters) int(*member) parameters;
    MTI_CUPTI_FUNCTIONS(MTI_F)
#undef MTI_F
    uint32_t version; /* 18 = 11.8 ... 28 = 12.9; from 13.0 on 130000 and more */
    char path[1024];
};
extern struct mti_cupti mti_cupti;
/* Takes the libcupti of the process, or loads one. False: there is none, a STATUS says where it was
 * looked for. */
bool mti_cupti_find(void);

/* ---- cupti_start.c ---- */

const char *mti_cupti_error(int result); /* text of a CUptiResult; never NULL */
void mti_cupti_probe_seen(void);         /* callbacks.c: the heartbeat call came through */
bool mti_cupti_probe(uint32_t *version); /* makes it; true = its callback did not come */

/* ---- decode.c ---- */

/* Fills c from the parameters; c->op and c->result are set before. False: nothing to record. */
typedef bool (*mti_decoder)(const void *params, struct mti_call *c);
struct mti_row {
    mti_decoder decode;
    uint16_t cbid;
    uint8_t op;
};
/* NULL: not in calls.def. */
const struct mti_row *mti_row_driver(uint32_t cbid);
const struct mti_row *mti_row_runtime(uint32_t cbid);
/* The whole tables. */
const struct mti_row *mti_rows_driver(size_t *n);
const struct mti_row *mti_rows_runtime(size_t *n);
/* Device named by the arguments of a call at its ENTER, where it is one that makes or drops a
 * context; false = none. */
bool mti_row_device(const struct mti_row *row, const void *params, uint32_t *ordinal);

/* ---- arrays.c ---- */

/* The least an array of this description takes; 0 = unknown, or nothing (sparse, mapped later). */
uint64_t mti_array_bytes(const struct mti_cu_array3d_desc *d, uint32_t levels);

/* ---- callbacks.c ---- */

void mti_callback(void *user, int domain, uint32_t cbid, const void *data);
/* Ids of memory functions that a newer CUPTI has and calls.def has not; enables nothing itself. */
size_t mti_unknown_ids(uint32_t *ids, size_t room);
extern _Atomic bool mti_driver_up; /* a driver call has succeeded: cuInit is over */
void mti_callbacks_forget(void);

/* ---- code.c ---- */

/* CUPTI says that a module was loaded, or is about to go; from within a driver call of this thread.
 * measured: of one whose change is. Asks the driver nothing. */
void mti_code(uint32_t id, const struct mti_cupti_resource *d, bool measured);

/* ---- graphs.c: graphs that were made, and not launched yet. [any] ---- */

void mti_graph_made(uint64_t exec);
/* Whether it waits for its first launch or upload; true once. */
bool mti_graph_first(uint64_t exec);
void mti_graphs_forget(void);

/* ---- contexts.c ---- */

void mti_cuda_open(void);                 /* looks up the functions of the libcuda that is mapped */
bool mti_cuda_version(uint32_t *version); /* 13000; calls the driver */
/* Ordinal of a context's device; announces both on first sight. may_ask: may call the driver about
 * it, which needs it to be alive, and mti_enter(). [any] */
bool mti_context_device(uint64_t context, bool may_ask, uint32_t *ordinal);
/* known from the call that made it */
void mti_context_is(uint64_t context, uint32_t ordinal);
void mti_context_gone(uint64_t context); /* 0 = all of them */
/* one of the device is known to be there */
bool mti_has_context(uint32_t ordinal);
/* code takes memory at its first launch, not when it is loaded */
bool mti_code_is_lazy(void);
/* announces a device on first sight; inside mti_enter() */
void mti_device_used(uint32_t ordinal);
/* of the calling thread's context; inside mti_enter() */
bool mti_cuda_mem_info(uint64_t *free_bytes, uint64_t *total);
/* Used bytes of a device for a measured change, within a budget of time; patient: waits for the
 * first answer of NVML, at most 100 ms in all (a second where it is in the process). *asked: when
 * the question was put that was answered, on the clock of mti_now(). */
bool mti_measure(uint32_t ordinal, bool patient, uint64_t *used, uint64_t *asked);
void mti_contexts_forget(void);

/* ---- pinned.c ---- */

void mti_pinned_add(uint64_t address, uint64_t bytes);
void mti_pinned_sub(uint64_t address);
void mti_pinned_forget(void);

/* ---- activity.c ---- */

bool mti_activity_start(void);     /* strides, buffers, kinds; false = off, with a STATUS */
void mti_activity_expected(void);  /* a call was seen that leaves an activity record. [any] */
void mti_activity_flush(bool end); /* the periodic one and the one at the end */
void mti_activity_stop(void);      /* a last flush, and no kind any more */
void mti_activity_forget(void);

/* ---- modules.c ---- */

/* The module map has no lock of its own: stacks.c holds its own around all of these but
 * mti_code_is_ours(). */
void mti_modules_refresh(void); /* if libraries were loaded or unloaded since */
/* Module of a code address, 0 = none; *offset from its base. Emits MODULE on first use. */
uint32_t mti_module_of(uintptr_t pc, uint64_t *offset);
/* Emits a module that is no file of the process, for what no code is known of; 0 = not recording */
uint32_t mti_module_named(const char *name);
bool mti_code_is_ours(uintptr_t pc); /* this library, libcupti, libcuda. [any] */
uint32_t mti_modules_unloads(void);  /* how many unloads were noticed. [any] */
void mti_modules_forget(void);

#endif
