/* clang-format off */
/* fake.h -- the stand-ins for libcuda, libcupti, libcudart and libnvidia-ml, and how a test steers
 * and checks them.
 *
 * Build products (target `fakes`), in the build folder: tests/mock/<variant>/ with libcuda.so.1,
 * libnvidia-ml.so.1, libcudart.so.N and cuda13: libcupti.so.13   cuda12: libcupti.so.12   cuda118:
 * libcupti.so.11.8   hashed: libcupti-1a2b3c4d.so.13   nocupti: none tests/mock/owners/:
 * libc10_cuda.so, libnccl.so.2, libcublas.so.12, cumem_allocator.abi3.so,
 * torch_memory_saver.abi3.so (a function each that calls the driver, so that stacks name them);
 * tests/fake_app and tests/fake_tree, which dlopen libcuda.so.1 as the CUDA runtime does. A test
 * puts one variant's folder into LD_LIBRARY_PATH. The fakes use no declarations of capture/inject:
 * they are a second, independent reading of the ABI; where the CUDA Toolkit is installed they are
 * compared with its headers (abi_fakes.c).
 *
 * libcuda: cuInit loads CUDA_INJECTION64_PATH as the real driver does (once, on the calling thread,
 * before it looks at devices, silently when it cannot). A forked child of a process that called
 * cuInit gets CUDA_ERROR_NOT_INITIALIZED from everything. Environment of the fakes:
 *   FAKE_GPUS=1            number of devices, at most 16; CUDA_VISIBLE_DEVICES is honoured (indices
 *                          or GPU-... prefixes)
 *   FAKE_TOTAL_MB=81920    memory of each; allocations beyond it fail with
 *                          CUDA_ERROR_OUT_OF_MEMORY
 *   FAKE_CONTEXT_MB=500    what a context takes (seen in cuMemGetInfo and NVML)
 *   FAKE_MODULE_MB=8       what a module or library takes, given back by its unload: under
 *                          CUDA_MODULE_LOADING=EAGER at its load, under LAZY (the default from 12.2
 *                          on) at the first cuLaunchKernelEx of it (a function's handle is the
 *                          module's). Then CUPTI's resource callbacks tell of an image of 5/8 of that
 *   FAKE_GRAPH_KB=1024     what an instantiated graph takes; its alloc nodes are taken at upload or
 *                          launch and kept until cuDeviceGraphMemTrim after cuGraphExecDestroy
 *   FAKE_OTHER_MB=0        held by a process (pid 999999) that is not part of the job
 *   FAKE_ROUND_KB=0        cuMemAlloc takes multiples of this; 0 = exactly what was asked for
 *   FAKE_DRIVER=13000      cuDriverGetVersion (default: 13000, 12060 or 11080 by variant); fake_app
 *                          calls what that version has
 *   FAKE_CUINIT=100        cuInit fails with this after it has loaded the injected library
 *   FAKE_TEARDOWN=1        the driver's own exit handler runs before that of the injected library:
 *                          then everything answers CUDA_ERROR_DEINITIALIZED, without callbacks
 *   FAKE_CUDART=quiet      libcudart reaches the driver without driver callbacks (runtime callbacks
 *                          only)
 *   FAKE_STATE=FILE        memory shared by all processes of the "machine" (below); created when it
 *                          is missing
 *   FAKE_CUPTI=a,b,...     modes of libcupti:
 *     busy[:NAME]          cuptiSubscribe answers 39; _v2 tells the holder's NAME (default "nsys")
 *     error                what needs a driver answers 999 (15 by 11.8); a flush at exit then
 *                          crashes, as the real one does
 *     subscribe:N          cuptiSubscribe answers N
 *     activity:N           cuptiActivityEnable answers N
 *     slow:MS              Subscribe, ActivityEnable and FlushAll take MS (200)
 *     nosubscribe          everything answers 0 but no callback is ever called
 *     silent:N             callbacks stop after N of them (ENTER and EXIT count one each)
 *     finalized:N          after N callbacks somebody calls cuptiFinalize
 *     taken:N              after N activity records somebody registers other activity callbacks, as
 *                          Kineto does
 *     drop:N               every Nth activity record is dropped and counted
 *     keeps                no activity record's buffer comes back, and no buffer at all is a crash
 *                          before 13
 *     future               knows callback ids beyond 13.0 (815 = cuMemFutureAlloc, which libcuda
 *                          always has)
 *     stride:N             MEMORY2 records of N bytes
 *   FAKE_NVML=a,b,...      modes of libnvidia-ml:
 *     missing, error       nvmlInit answers 12, 999
 *     slow[:MS]            every query takes MS (300)
 *     late:MS              the memory is that of MS ago
 *     init:MS              nvmlInit alone takes MS
 *     noperm               memory queries answer 4
 *     mig                  memory and processes are not supported (3), as by MIG parents
 *     nopids               no process list (3)
 * Device memory is counted per machine in FAKE_STATE when set (so that several processes share a
 * GPU), else per process. What a dead process held is given back when somebody looks. Pools take and
 * give back 32 MiB blocks; everything else takes what was asked for. MEMORY2 records are made of
 * cuMemAlloc, Pitch, Managed, host allocation, arrays and stream-ordered calls; none of VMM,
 * cuMemHostRegister, IPC, graph nodes, modules and failures. MEMORY_POOL records of create, destroy
 * and trim.
 *
 * Ground truth: when FAKE_TRUTH=DIR is set, the application (not the fakes) appends one line of
 * JSON per completed driver call to DIR/<pid>.<n>.truth (n counts the images and forks of one pid),
 * and, before that, counts it in the mmap'd DIR/<pid>.<n>.count: u64 number of completed calls,
 * then u64 number of completed ranges and marks; each is incremented after the call returned: after
 * a kill -9 every call counted must be in the trace. FAKE_TRUTH_LINES=0 keeps the counters only
 * (for speed).
 *   {"n":1,"tid":7,"op":"mem_alloc","api":"cuMemAlloc_v2","cbid":243,"result":0,"addr":..,"size":..,"handle":..,"offset":..,
 *    "stream":..,"device":..,"context":..,"pool":..,"flags":..,"location":..,"free":..,"total":..,"owner":"libnccl.so.2","t0":..,"t1":..}
 * n counts per file from 1; op is a name of MT_WIRE_OPS in parser/model/wire.h; fields that are 0
 * are left out (not n, tid, op, cbid, result); out-values only when the call succeeded; t0, t1 =
 * CLOCK_MONOTONIC ns around the call; device = ordinal of the argument or the current context;
 * context = the current context when the call was made; owner = the .so whose code called the
 * driver, left out for the program itself. Calls through libcudart (scenario rt) and
 * cuMemFutureAlloc are not in the truth. Ranges and marks: op range_push, range_pop, range_start,
 * range_end, mark with "name", "domain", "source" (0 NVTX, 1 memtrace API), "id". A last line
 * {"op":"end","how":...} is written just before the process ends in a way that it knows of.
 * `train` writes one line per phase to DIR/<pid>.<n>.held:
 * {"phase":..,"device":..,"realtime":..,"t":..,"app":..,"torch":..,"nccl":..,
 * "cublas":..,"cumem":..,"tms":..,"context":..,"module":..}: device bytes by owner by the calls so
 * far; context and module = what the fake driver takes for them; the graph (FAKE_GRAPH_KB and its
 * memory) is in none of them. The last line has phase "end".
 *
 * fake_app SCENARIO[:ARGUMENT]... runs scenarios in order in one process; `fake_app help` lists
 * them. `threads:N` makes those that follow run on N threads each; count 0 = for ever. `exec` gives
 * the words that follow to a new image; `fork:a,b` and `spawn:a,b` run a child. Errors that stop a
 * scenario go to stderr; the status is that of `exit:N`, 1 after a fatal out of memory, else 0.
 * fake_tree [WORKERS [MS]]: a driver without CUDA that marks phases, workers that train, one
 * killed, one that outlives it. */
/* clang-format on */
#ifndef FAKE_H
#define FAKE_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FAKE_EXPORT __attribute__((visibility("default")))
#define FAKE_MAX_GPUS 16u
#define FAKE_SLOTS 512u
#define FAKE_OTHER_PID 999999u
#define FAKE_MB ((uint64_t)1 << 20)

/* FAKE_STATE: what each process holds on each (physical) device. A slot belongs to the process that
 * holds a POSIX record lock on its first byte: the kernel lets go of it at exit, kill -9 and exec.
 * All zero is a valid state. */
struct fake_slot {
    _Atomic uint32_t pid; /* 0 = free */
    uint32_t pad;
    _Atomic uint64_t used[FAKE_MAX_GPUS];
};
struct fake_state {
    _Atomic uint64_t generation; /* of the last change of owners */
    _Atomic uint32_t n_slots;    /* slots that were ever used */
    uint32_t pad[13];
    struct fake_slot slots[FAKE_SLOTS];
};

/* fake_state.c, in libcuda and libnvidia-ml. */
/* NULL = FAKE_STATE unset or unusable */
struct fake_state *fake_state_open(void);
/* of this process; NULL = none free */
struct fake_slot *fake_state_claim(struct fake_state *s);
/* gives back what dead processes hold */
void fake_state_reap(struct fake_state *s);
uint64_t fake_state_used(struct fake_state *s, unsigned gpu); /* sum over processes */
uint64_t fake_env_u64(const char *name, uint64_t dflt);
/* Value of mode `name` in a list as FAKE_CUPTI: NULL = not there, "" = without a value. */
const char *fake_mode(const char *list, const char *name, char *buf, size_t size);

/* What all three say about GPU i. */
void fake_gpu_uuid(unsigned i, unsigned char uuid[16]);
void fake_gpu_uuid_text(unsigned i, char text[41]); /* "GPU-" ... */
unsigned fake_gpu_bus(unsigned i);
#define FAKE_GPU_NAME "Fake H100 80GB HBM3"

/* ---- libcuda <-> libcupti, libcudart: exported by libcuda as `fake_cuda_hooks` ---- */

/* As CUpti_CallbackData. */
struct fake_cbdata {
    uint32_t site; /* 0 = enter, 1 = exit */
    const char *function_name;
    const void *params;
    void *return_value;
    const char *symbol_name;
    void *context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
};

/* What an activity record is made of. */
struct fake_memory {
    uint32_t op, kind, correlation, device, context, stream; /* op 1 = allocation, 2 = release */
    uint64_t address, bytes, pc;
    uint32_t is_async, pool_type;
    uint64_t pool, threshold, pool_size, utilized;
};
struct fake_mempool {
    uint32_t op, correlation, device; /* op 1 created, 2 destroyed, 3 trimmed */
    uint64_t keep, pool, size, threshold, utilized;
};

/* As CUpti_ResourceData and CUpti_ModuleResourceData. */
struct fake_resource {
    void *context, *handle;
    const void *descriptor;
};
struct fake_code {
    uint32_t id;
    size_t size;
    const char *image;
};

#define FAKE_CBIDS 1024u
#define FAKE_RESOURCES 64u
struct fake_hooks {
    uint32_t version; /* FAKE_HOOKS */
    _Atomic uint32_t correlation;
    /* Set by libcupti. masks: a byte per callback id; [0] driver domain, [1] runtime domain; NULL =
     * no subscriber. */
    _Atomic(const unsigned char *) masks[2];
    _Atomic(const unsigned char *) resources; /* the same of the resource domain */
    void (*resource)(uint32_t cbid, const struct fake_resource *r);
    _Atomic uint32_t activity; /* bit 0 MEMORY2, bit 1 MEMORY_POOL */
    void (*callback)(uint32_t domain, uint32_t cbid, const struct fake_cbdata *data);
    void (*memory)(const struct fake_memory *m);
    void (*mempool)(const struct fake_mempool *m);
    /* Offered by libcuda. */
    int (*initialised)(void);
    void *(*current)(void);
    uint32_t (*context_uid)(void *context);
    uint32_t (*context_device)(void *context); /* CUDA ordinal; UINT32_MAX = no context */
    uint32_t (*stream_id)(void *stream);
    const char *(*callback_name)(uint32_t cbid);
    struct fake_state *(*state)(void); /* as libcuda counts: also without FAKE_STATE */
    /* of the thread: id of its next driver calls; runtime calls share theirs */
    uint32_t *(*correlation_override)(void);
    int *(*quiet)(void); /* of the thread: no driver callbacks */
};
#define FAKE_HOOKS 2u

#endif
