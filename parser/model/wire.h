/* wire.h -- the layout of a memtrace trace (trace.gz) and of the spool files it is made from:
 * docs/trace-format.md, version 1.
 *
 * Shared by the injected library, which writes it, the collector and the reader; the only file of
 * the project that the injected library includes. Header only, no allocation, no I/O. Everything is
 * little-endian; the accessors below are byte-wise, so they are right on any machine and for any
 * alignment. Nothing here may change its meaning within version 1: add record types, operations and
 * field bits at the end instead; a reader skips record types and field bits it does not know.
 *
 * A trace is a sequence of gzip members; each holds one chunk: a 64-byte header, then records. A
 * record is varint type, varint length, `length` bytes of payload. varint = LEB128, at most 10
 * bytes. zigzag = signed as (n << 1) ^ (n >> 63). Delta state starts anew in every chunk. */
#ifndef MT_WIRE_H
#define MT_WIRE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* ---- chunk header ---- */

#define MT_WIRE_MAGIC                                                                              \
    "MTCHUNK\001" /* 8 bytes; the last is the major version: a reader refuses one it does not know \
                   */
#define MT_WIRE_HEADER 64u
#define MT_WIRE_MAX_CHUNK (4u << 20) /* no chunk, header included, is larger */

enum mt_wire_header_at {
    MT_WH_MAGIC = 0,
    /* u64: the process image, unique over processes, execs and hosts; 0 = the launcher */
    MT_WH_UID = 8,
    MT_WH_SEQ = 16, /* u64: counts from 0 per (uid, kind); a missing number is a lost chunk */
    /* u64 ns: CLOCK_REALTIME and CLOCK_MONOTONIC read together when the chunk was opened */
    MT_WH_REALTIME = 24,
    MT_WH_MONOTONIC = 32, /* u64 ns; record times are MONOTONIC, start delta state here */
    MT_WH_USED = 40,      /* u32: bytes of records after the header */
    /* u32: number of them; informative, stored before MT_WH_USED: one ahead after a kill between */
    MT_WH_RECORDS = 44,
    MT_WH_PID = 48,    /* u32: as the process saw itself */
    MT_WH_KIND = 52,   /* u16: enum mt_wire_kind */
    MT_WH_MINOR = 54,  /* u16: minor version, 0 */
    MT_WH_DROPPED = 56 /* u64: records dropped by this process up to the opening of this chunk */
};

enum mt_wire_kind {
    MT_WK_PROCESS = 1, /* written by the injected library in the process */
    MT_WK_ATTACH = 2,  /* one part of an attached file: an ATTACH record, then one BLOB record */
    /* written afterwards by the collector about uid: SYMBOL, END, ATTR, STATUS */
    MT_WK_COLLECT = 3,
    MT_WK_LAUNCH = 4, /* uid 0: about the whole capture: ATTR, STATUS */
    /* written by the injected library: what it kept of PROCESS chunks that it let go. Begins with
     * CHECKPOINT: part of the checkpoint, numbered from 0. Without: definitions, of which some may
     * be there twice, numbered from 2^32 */
    MT_WK_KEPT = 5
};

/* gzip FEXTRA subfield "MT" of every member, so that a damaged file can be resynchronised and a
 * member skipped unread. */
#define MT_WIRE_EXTRA 24u /* u64 uid, u64 seq, u32 raw size (header + used), u16 kind, u16 zero */

/* ---- records ---- */

/* "timed" payloads begin with: zigzag(time - previous time), zigzag(tid - previous tid). previous =
 * that of the previous timed record of the chunk; at the start of a chunk MT_WH_MONOTONIC and
 * MT_WH_PID. All ids are per uid and given out from 1; 0 = none. A str is varint length + bytes (no
 * NUL); text is what the process had, not necessarily UTF-8. */
enum mt_wire_type {
    MT_WR_STRING = 1, /* id, rest of the payload = the bytes */
    /* str key, str value: one fact about the process; see docs/trace-format.md for the keys */
    MT_WR_ATTR = 2,
    MT_WR_THREAD = 3, /* tid, str name */
    /* id, base address, size of the mapping, str path, str build-id (raw bytes) */
    MT_WR_MODULE = 4,
    /* id, n, then n times: module id, offset in the module (address - base); innermost first */
    MT_WR_STACK = 5,
    MT_WR_DEVICE = 6,  /* index, ordinal + 1 (0 = not visible to CUDA here), total bytes, str uuid
                          "GPU-...", str pci, str name */
    MT_WR_CONTEXT = 7, /* context handle value, device index */
    /* timed; op, cbid, duration ns, fields mask, then the fields in order of their bits */
    MT_WR_CALL = 8,
    /* timed (time of the activity record, as MONOTONIC); op, kind, mask, fields: enum
       mt_wire_mem2_field */
    MT_WR_MEMORY2 = 9,
    /* timed; operation, device ordinal, zigzag delta of address, size, release threshold, utilized
       size */
    MT_WR_MEMPOOL = 10,
    MT_WR_RANGE_PUSH = 11,  /* timed; domain string id, name string id, source: per-thread stack */
    MT_WR_RANGE_POP = 12,   /* timed; domain string id, source */
    MT_WR_RANGE_START = 13, /* timed; domain string id, name string id, source, range id */
    MT_WR_RANGE_END = 14,   /* timed; domain string id, source, range id */
    MT_WR_MARK = 15,        /* timed; domain string id, name string id, source */
    MT_WR_GPU_SAMPLE = 16,  /* timed; device index, why, used, free, total (all of the device), n,
                               then n times: pid, used bytes */
    /* timed; rss, peak rss, anonymous, shared, locked/pinned by driver calls (bytes) */
    MT_WR_HOST_SAMPLE = 17,
    /* timed; code (enum mt_wire_status), level (0 note, 1 loss, 2 not recording), str text */
    MT_WR_STATUS = 18,
    MT_WR_LOSS = 19, /* timed; what (enum mt_wire_loss), count, bytes: totals so far */
    MT_WR_END = 20,  /* timed; how (enum mt_wire_end), zigzag status or signal */
    /* module id, offset, str function, str source file, line (0 = unknown) */
    MT_WR_SYMBOL = 21,
    /* attachment id, part number from 0, parts in all (0 = unknown), total bytes, str name, str
       kind */
    MT_WR_ATTACH = 22,
    MT_WR_BLOB = 23, /* bytes of the attachment */
    /* First record of each KEPT chunk of a checkpoint, and once more with the number of parts as
     * the last record of the last one. First seq that is left: PROCESS chunks below it were let go,
     * and count as not there where they are there; zigzag(time - MT_WH_MONOTONIC): from then on the
     * recording is whole, what this chunk holds of earlier times is what was live then, and
     * failures; zigzag(start of the recording - MT_WH_MONOTONIC); parts (0 = not said here);
     * records, calls, failures let go */
    MT_WR_CHECKPOINT = 24
};

enum mt_wire_source {
    MT_WS_NVTX = 0,
    MT_WS_API = 1 /* memtrace_push, _pop, _mark */,
    MT_WS_HOOK = 2 /* set by memtrace itself */
};
enum mt_wire_why { MT_WY_PERIODIC = 0, MT_WY_OOM = 1, MT_WY_START = 2, MT_WY_END = 3 };

/* Fields of MT_WR_CALL, present when the bit is set, in this order. "delta" = zigzag against the
 * previous value of the same field in the chunk (0 at its start), which is then updated. */
enum mt_wire_field {
    MT_WF_RESULT = 1 << 0, /* CUresult; absent = 0, success */
    MT_WF_ADDR = 1 << 1,   /* delta: device or host address, in or out */
    MT_WF_SIZE = 1 << 2,   /* bytes asked for, of code its image; for frees absent */
    MT_WF_HANDLE = 1 << 3, /* delta: allocation, graph, module, array, context handle */
    MT_WF_OFFSET = 1 << 4, /* offset in the handle (map), pitch (pitched alloc) */
    MT_WF_STREAM = 1 << 5, /* stream handle value */
    /* CUDA ordinal of the call: from its argument, or of the current context */
    MT_WF_DEVICE = 1 << 6,
    MT_WF_CONTEXT = 1 << 7, /* delta: current context */
    MT_WF_POOL = 1 << 8,    /* delta: memory pool handle */
    MT_WF_FLAGS = 1 << 9,   /* flags argument of the call */
    MT_WF_STACK = 1 << 10,  /* stack id */
    MT_WF_FREE = 1 << 11,   /* cuMemGetInfo: free bytes of the device */
    MT_WF_TOTAL = 1 << 12,  /* cuMemGetInfo: total bytes of the device */
    /* CUmemLocationType of cuMemCreate and pools: 1 device, 2 host, 3/4 host NUMA */
    MT_WF_LOCATION = 1 << 13,
    /* zigzag: bytes by which the device's used memory grew over the call, measured (NVML) */
    MT_WF_CHANGE = 1 << 14,
    MT_WF_NAME = 1 << 15, /* string id: unknown API's name, file of a module */
    MT_WF_CORR = 1 << 16  /* delta: CUPTI correlation id */
};

enum mt_wire_mem2_field {
    MT_WM_ADDR = 1 << 0, /* delta, shares the state of MT_WF_ADDR */
    MT_WM_SIZE = 1 << 1,
    MT_WM_DEVICE = 1 << 2,  /* CUDA ordinal */
    MT_WM_CONTEXT = 1 << 3, /* CUPTI context id, absent = none */
    MT_WM_STREAM = 1 << 4,  /* CUPTI stream id, absent = none */
    MT_WM_CORR = 1 << 5,    /* delta, shares the state of MT_WF_CORR */
    MT_WM_POOL = 1 << 6,    /* delta: address of the pool */
    MT_WM_POOL_TYPE = 1 << 7,
    MT_WM_UTILIZED = 1 << 8,
    MT_WM_NAME = 1 << 9,    /* string id: variable name of a static allocation */
    MT_WM_SOURCE = 1 << 10, /* string id: shared object */
    MT_WM_PC = 1 << 11
};

/* What a driver call did. MT_OP(symbol, name, effect): effect on memory when it succeeds. cbid says
 * which entry point it was; runtime API entry points (recorded only when no driver call was seen
 * below them) have MT_WIRE_CBID_RUNTIME added. */
#define MT_WIRE_CBID_RUNTIME 0x10000u
/* No call: CUPTI told of it from within one (CODE_LOAD, CODE_UNLOAD). */
#define MT_WIRE_CBID_RESOURCE 0x20000u
/* Flag of CODE_LOAD: it came within a call whose change was measured, and is in that. */
#define MT_WIRE_CODE_MEASURED 1u
#define MT_WIRE_OPS(MT_OP)                                                                         \
    MT_OP(OTHER, "other", NONE)                                                                    \
    MT_OP(MEM_ALLOC, "mem_alloc", DEVICE_ADD)                                                      \
    MT_OP(MEM_FREE, "mem_free", DEVICE_SUB)                                                        \
    MT_OP(MANAGED_ALLOC, "managed_alloc", MANAGED_ADD)                                             \
    MT_OP(HOST_ALLOC, "host_alloc", HOST_ADD)                                                      \
    MT_OP(HOST_FREE, "host_free", HOST_SUB)                                                        \
    MT_OP(HOST_REGISTER, "host_register", HOST_ADD)                                                \
    MT_OP(HOST_UNREGISTER, "host_unregister", HOST_SUB)                                            \
    MT_OP(ASYNC_ALLOC, "async_alloc", POOL_ADD)                                                    \
    MT_OP(ASYNC_FREE, "async_free", POOL_SUB)                                                      \
    MT_OP(POOL_CREATE, "pool_create", NONE)                                                        \
    MT_OP(POOL_DESTROY, "pool_destroy", NONE)                                                      \
    MT_OP(POOL_TRIM, "pool_trim", NONE)                                                            \
    MT_OP(POOL_ATTRIBUTE, "pool_attribute", NONE)                                                  \
    MT_OP(VMM_RESERVE, "vmm_reserve", NONE)                                                        \
    MT_OP(VMM_ADDRESS_FREE, "vmm_address_free", NONE)                                              \
    MT_OP(VMM_CREATE, "vmm_create", VMM)                                                           \
    MT_OP(VMM_RELEASE, "vmm_release", VMM)                                                         \
    MT_OP(VMM_MAP, "vmm_map", VMM)                                                                 \
    MT_OP(VMM_UNMAP, "vmm_unmap", VMM)                                                             \
    MT_OP(VMM_ACCESS, "vmm_access", NONE)                                                          \
    MT_OP(VMM_EXPORT, "vmm_export", NONE)                                                          \
    MT_OP(VMM_IMPORT, "vmm_import", VMM)                                                           \
    MT_OP(VMM_RETAIN, "vmm_retain", VMM)                                                           \
    MT_OP(MULTICAST_CREATE, "multicast_create", NONE)                                              \
    MT_OP(MULTICAST_BIND, "multicast_bind", NONE)                                                  \
    MT_OP(MULTICAST_UNBIND, "multicast_unbind", NONE)                                              \
    MT_OP(IPC_EXPORT, "ipc_export", NONE)                                                          \
    MT_OP(IPC_OPEN, "ipc_open", NONE)                                                              \
    MT_OP(IPC_CLOSE, "ipc_close", NONE)                                                            \
    MT_OP(ARRAY_CREATE, "array_create", HANDLE_ADD)                                                \
    MT_OP(ARRAY_DESTROY, "array_destroy", HANDLE_SUB)                                              \
    MT_OP(GRAPH_ALLOC_NODE, "graph_alloc_node", NONE)                                              \
    MT_OP(GRAPH_FREE_NODE, "graph_free_node", NONE)                                                \
    MT_OP(GRAPH_INSTANTIATE, "graph_instantiate", CHANGE)                                          \
    MT_OP(GRAPH_UPLOAD, "graph_upload", CHANGE)                                                    \
    MT_OP(GRAPH_EXEC_DESTROY, "graph_exec_destroy", CHANGE)                                        \
    MT_OP(GRAPH_TRIM, "graph_trim", CHANGE)                                                        \
    MT_OP(CONTEXT_CREATE, "context_create", CHANGE)                                                \
    MT_OP(CONTEXT_DESTROY, "context_destroy", CHANGE)                                              \
    MT_OP(CONTEXT_RETAIN, "context_retain", CHANGE)                                                \
    MT_OP(CONTEXT_RELEASE, "context_release", CHANGE)                                              \
    MT_OP(CONTEXT_RESET, "context_reset", CHANGE)                                                  \
    MT_OP(MODULE_LOAD, "module_load", CHANGE)                                                      \
    MT_OP(MODULE_UNLOAD, "module_unload", CHANGE)                                                  \
    MT_OP(MEM_INFO, "mem_info", NONE)                                                              \
    MT_OP(CONTEXT_LIMIT, "context_limit", CHANGE)                                                  \
    MT_OP(CODE_LOAD, "code_load", NONE)                                                            \
    MT_OP(CODE_UNLOAD, "code_unload", NONE)

/* One module of a process: CUPTI's number of it, in a context. */
static inline uint64_t mt_code_key(uint64_t context, uint64_t module)
{
    return context * UINT64_C(0x9e3779b97f4a7c15) ^ module;
}

#define MT_OP_ENUM(sym, name, effect) MT_WO_##sym,
enum mt_wire_op { MT_WIRE_OPS(MT_OP_ENUM) MT_WO_COUNT };
#undef MT_OP_ENUM

enum mt_wire_status {
    MT_ST_STARTED = 1,       /* text: version of the library */
    MT_ST_CUPTI_MISSING = 2, /* no libcupti was found; text: where it was looked for */
    MT_ST_CUPTI_VERSION = 3, /* text: path and version of the libcupti in use */
    /* another profiler holds the one subscription; text: its name when known */
    MT_ST_SUBSCRIBER_BUSY = 4,
    MT_ST_CUPTI_ERROR = 5,      /* text: call and error */
    MT_ST_CALLBACK_REFUSED = 6, /* text: how many callback ids this libcupti does not know */
    MT_ST_MEMORY2_OFF = 7,      /* secondary records are not taken; text: why */
    MT_ST_ACTIVITY_TAKEN = 8,   /* another tool replaced the activity buffers */
    /* the spool could not be allocated on disk: crash safety is off; text: why */
    MT_ST_SPOOL_MEMORY = 9,
    MT_ST_DISK_FULL = 10,   /* writing failed; text: errno */
    MT_ST_SIZE_CAP = 11,    /* --max-mb was reached: events are dropped from here on */
    MT_ST_STALLED = 12,     /* a call was held for a second: records are dropped since */
    MT_ST_NVML = 13,        /* text: version, or why there are no samples */
    MT_ST_FORKED = 14,      /* text: pid of the parent */
    MT_ST_UNKNOWN_API = 15, /* text: names of memory APIs of a newer driver that were called */
    MT_ST_TORCH = 16,       /* text: what the Python hook did */
    MT_ST_DRIVER = 17,      /* text: driver version */
    MT_ST_STACKS = 18,      /* text: why stacks are off */
    MT_ST_SILENT = 19,      /* callbacks stopped: CUPTI was shut down by somebody else */
    MT_ST_WRITER = 20,      /* no thread could be started for writing: no samples */
    MT_ST_RING = 21,        /* only the newest is kept; text: the limits, or why they do not hold */
    MT_ST_ATTACHED = 22     /* the process ran already when its recording began */
};
enum mt_wire_loss {
    MT_LO_RECORDS = 1,  /* records dropped: spool full or size cap */
    MT_LO_ACTIVITY = 2, /* activity records that CUPTI dropped */
    MT_LO_STACKS = 3,   /* stacks not kept: table full */
    MT_LO_STRINGS = 4,
    MT_LO_CHUNKS = 5 /* chunks that could not be written */
};
enum mt_wire_end {
    MT_WE_EXIT = 1,   /* exit handlers ran (written by the process) */
    MT_WE_STATUS = 2, /* exit status, seen by the launcher */
    MT_WE_SIGNAL = 3, /* killed by a signal, seen by the launcher */
    MT_WE_GONE = 4,   /* no exit handler ran: _exit, exec, a signal; seen by the collector */
    MT_WE_RUNNING = 5 /* still alive when the trace was collected, or when it was detached */
};

/* ---- spool file ---- */

/* mt-<host>-<pid>-<uid, 16 hex digits>.spool: a header page, then MT_SPOOL_CHUNKS slots of
 * MT_SPOOL_CHUNK bytes, then activity buffers. A slot whose state is OPEN or FULL holds a chunk as
 * above: its header is complete when the state becomes OPEN, and MT_WH_USED is stored (release)
 * after the bytes of each record, so whatever `used` covers is whole. A slot that is FREE holds
 * nothing. The same chunk may be in the .gz beside it and here: (uid, kind, seq) says so, and the
 * copy with more bytes wins. mt-<host>-<pid>-<uid>.gz: the finished chunks, one gzip member each.
 * The process holds flock(LOCK_EX) on the .spool while it lives.
 *
 * A recording that keeps the newest only (MEMTRACE_KEEP_MB, MEMTRACE_LAST_S) has its finished
 * chunks in mt-<host>-<pid>-<uid>.<number>.gz, numbered from 0, of which the oldest are let go;
 * what is defined in those is then in the .gz, and mt-<host>-<pid>-<uid>.base.gz, replaced by
 * rename, is the newest checkpoint. A chunk below the checkpoint's first seq is one that was let
 * go. Who reads while the process runs opens the numbered files before the base. */
#define MT_SPOOL_MAGIC "MTSPOOL\001"
#define MT_SPOOL_PAGE 4096u
enum mt_spool_at {
    MT_SP_MAGIC = 0,
    MT_SP_UID = 8,       /* u64 */
    MT_SP_PID = 16,      /* u32 */
    MT_SP_CHUNK = 20,    /* u32 bytes of a slot */
    MT_SP_CHUNKS = 24,   /* u32 number of slots */
    MT_SP_ACT_SIZE = 28, /* u32 bytes of an activity buffer */
    MT_SP_ACTS = 32,     /* u32 number of them */
    MT_SP_STRIDE2 = 36,  /* u32 size of a MEMORY2 record of this CUPTI, 0 = none taken */
    MT_SP_STRIDEP = 40,  /* u32 size of a MEMORY_POOL record */
    /* u64: REALTIME - MONOTONIC at the start, for activity records left in a buffer */
    MT_SP_CLOCKDIFF = 48,
    MT_SP_DROPPED = 56, /* u64 records dropped so far */
    MT_SP_STATES = 64   /* u32 per slot, then u32 per activity buffer: enum mt_spool_state */
};
enum mt_spool_state { MT_SS_FREE = 0, MT_SS_OPEN = 1, MT_SS_FULL = 2, MT_SS_WRITING = 3 };

/* ---- primitives ---- */

#define MT_VARINT_MAX 10u

static inline uint64_t mt_zigzag(int64_t v)
{
    return ((uint64_t)v << 1) ^ (v < 0 ? UINT64_MAX : 0);
}
static inline int64_t mt_unzigzag(uint64_t v) { return (int64_t)(v >> 1) ^ -(int64_t)(v & 1); }

/* Writes v at p (room for MT_VARINT_MAX bytes); returns the end. */
static inline unsigned char *mt_put_varint(unsigned char *p, uint64_t v)
{
    while (v >= 128) {
        *p++ = (unsigned char)(v | 128);
        v >>= 7;
    }
    *p++ = (unsigned char)v;
    return p;
}

/* Reads one varint of [*p, end); 0 when it is cut off or does not fit 64 bits, and *p stays. */
static inline int mt_get_varint(const unsigned char **p, const unsigned char *end, uint64_t *out)
{
    const unsigned char *q = *p;
    uint64_t v = 0;
    for (unsigned shift = 0; q < end && shift < 64; shift += 7) {
        unsigned char b = *q++;
        if (shift == 63 && b > 1)
            return 0;
        v |= (uint64_t)(b & 127) << shift;
        if (b < 128) {
            *p = q;
            *out = v;
            return 1;
        }
    }
    return 0;
}

static inline void mt_put16(unsigned char *p, uint16_t v)
{
    p[0] = (unsigned char)v;
    p[1] = (unsigned char)(v >> 8);
}
static inline void mt_put32(unsigned char *p, uint32_t v)
{
    mt_put16(p, (uint16_t)v);
    mt_put16(p + 2, (uint16_t)(v >> 16));
}
static inline void mt_put64(unsigned char *p, uint64_t v)
{
    mt_put32(p, (uint32_t)v);
    mt_put32(p + 4, (uint32_t)(v >> 32));
}
static inline uint16_t mt_get16(const unsigned char *p) { return (uint16_t)(p[0] | p[1] << 8); }
static inline uint32_t mt_get32(const unsigned char *p)
{
    return mt_get16(p) | (uint32_t)mt_get16(p + 2) << 16;
}
static inline uint64_t mt_get64(const unsigned char *p)
{
    return mt_get32(p) | (uint64_t)mt_get32(p + 4) << 32;
}

#endif
