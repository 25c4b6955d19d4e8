/* fake_app.h -- inside the fake application. */
#ifndef FAKE_APP_H
#define FAKE_APP_H

#include "fake.h"

#include <stdbool.h>

/* ---- fake_app_calls.c: the driver, each call with its line of truth ---- */

/* Entry points: A(name, base name for cuGetProcAddress, first version that has it, callback id,
 * operation). */
#define FAKE_APIS(A)                                                                               \
    A(cuMemAlloc_v2, cuMemAlloc, 3020, 243, "mem_alloc")                                           \
    A(cuMemAllocPitch_v2, cuMemAllocPitch, 3020, 244, "mem_alloc")                                 \
    A(cuMemFree_v2, cuMemFree, 3020, 245, "mem_free")                                              \
    A(cuMemAllocManaged, cuMemAllocManaged, 6000, 371, "managed_alloc")                            \
    A(cuMemAllocHost_v2, cuMemAllocHost, 3020, 294, "host_alloc")                                  \
    A(cuMemHostAlloc, cuMemHostAlloc, 2020, 39, "host_alloc")                                      \
    A(cuMemFreeHost, cuMemFreeHost, 2000, 38, "host_free")                                         \
    A(cuMemHostRegister_v2, cuMemHostRegister, 6050, 379, "host_register")                         \
    A(cuMemHostUnregister, cuMemHostUnregister, 4000, 302, "host_unregister")                      \
    A(cuMemAllocAsync, cuMemAllocAsync, 11020, 598, "async_alloc")                                 \
    A(cuMemAllocAsync_ptsz, cuMemAllocAsync_ptsz, 11020, 599, "async_alloc")                       \
    A(cuMemFreeAsync, cuMemFreeAsync, 11020, 600, "async_free")                                    \
    A(cuMemFreeAsync_ptsz, cuMemFreeAsync_ptsz, 11020, 601, "async_free")                          \
    A(cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync, 11020, 611, "async_alloc")                 \
    A(cuMemPoolCreate, cuMemPoolCreate, 11020, 607, "pool_create")                                 \
    A(cuMemPoolDestroy, cuMemPoolDestroy, 11020, 608, "pool_destroy")                              \
    A(cuMemPoolTrimTo, cuMemPoolTrimTo, 11020, 602, "pool_trim")                                   \
    A(cuMemPoolSetAttribute, cuMemPoolSetAttribute, 11020, 603, "pool_attribute")                  \
    A(cuMemPoolGetAttribute, cuMemPoolGetAttribute, 11020, 604, "pool_attribute")                  \
    A(cuMemAddressReserve, cuMemAddressReserve, 10020, 547, "vmm_reserve")                         \
    A(cuMemAddressFree, cuMemAddressFree, 10020, 548, "vmm_address_free")                          \
    A(cuMemCreate, cuMemCreate, 10020, 549, "vmm_create")                                          \
    A(cuMemRelease, cuMemRelease, 10020, 550, "vmm_release")                                       \
    A(cuMemMap, cuMemMap, 10020, 551, "vmm_map")                                                   \
    A(cuMemUnmap, cuMemUnmap, 10020, 552, "vmm_unmap")                                             \
    A(cuMemSetAccess, cuMemSetAccess, 10020, 553, "vmm_access")                                    \
    A(cuMemExportToShareableHandle, cuMemExportToShareableHandle, 10020, 554, "vmm_export")        \
    A(cuMemImportFromShareableHandle, cuMemImportFromShareableHandle, 10020, 555, "vmm_import")    \
    A(cuMemRetainAllocationHandle, cuMemRetainAllocationHandle, 11000, 565, "vmm_retain")          \
    A(cuMulticastCreate, cuMulticastCreate, 12010, 706, "multicast_create")                        \
    A(cuMulticastAddDevice, cuMulticastAddDevice, 12010, 707, "other")                             \
    A(cuMulticastBindMem, cuMulticastBindMem, 12010, 708, "multicast_bind")                        \
    A(cuMulticastUnbind, cuMulticastUnbind, 12010, 710, "multicast_unbind")                        \
    A(cuIpcGetMemHandle, cuIpcGetMemHandle, 4010, 328, "ipc_export")                               \
    A(cuIpcOpenMemHandle_v2, cuIpcOpenMemHandle, 11000, 567, "ipc_open")                           \
    A(cuIpcCloseMemHandle, cuIpcCloseMemHandle, 4010, 330, "ipc_close")                            \
    A(cuMemPoolImportFromShareableHandle, cuMemPoolImportFromShareableHandle, 11020, 614,          \
      "pool_create")                                                                               \
    A(cuMemPoolImportPointer, cuMemPoolImportPointer, 11020, 616, "ipc_open")                      \
    A(cuImportExternalMemory, cuImportExternalMemory, 10000, 485, "vmm_import")                    \
    A(cuExternalMemoryGetMappedBuffer, cuExternalMemoryGetMappedBuffer, 10000, 486, "ipc_open")    \
    A(cuExternalMemoryGetMappedMipmappedArray, cuExternalMemoryGetMappedMipmappedArray, 10000,     \
      487, "array_create")                                                                         \
    A(cuDestroyExternalMemory, cuDestroyExternalMemory, 10000, 488, "vmm_release")                 \
    A(cuArrayCreate_v2, cuArrayCreate, 3020, 272, "array_create")                                  \
    A(cuArray3DCreate_v2, cuArray3DCreate, 3020, 274, "array_create")                              \
    A(cuArrayDestroy, cuArrayDestroy, 2000, 89, "array_destroy")                                   \
    A(cuMipmappedArrayCreate, cuMipmappedArrayCreate, 5000, 347, "array_create")                   \
    A(cuMipmappedArrayDestroy, cuMipmappedArrayDestroy, 5000, 349, "array_destroy")                \
    A(cuGraphAddMemAllocNode, cuGraphAddMemAllocNode, 11040, 638, "graph_alloc_node")              \
    A(cuGraphAddMemFreeNode, cuGraphAddMemFreeNode, 11040, 639, "graph_free_node")                 \
    A(cuGraphAddNode, cuGraphAddNode, 12020, 712, "graph_alloc_node")                              \
    A(cuGraphAddNode_v2, cuGraphAddNode, 12030, 723, "graph_alloc_node")                           \
    A(cuDeviceGraphMemTrim, cuDeviceGraphMemTrim, 11040, 640, "graph_trim")                        \
    A(cuGraphInstantiate_v2, cuGraphInstantiate, 11000, 578, "graph_instantiate")                  \
    A(cuGraphInstantiateWithFlags, cuGraphInstantiateWithFlags, 11040, 643, "graph_instantiate")   \
    A(cuGraphUpload, cuGraphUpload, 11010, 580, "graph_upload")                                    \
    A(cuGraphExecDestroy, cuGraphExecDestroy, 10000, 516, "graph_exec_destroy")                    \
    A(cuCtxCreate_v2, cuCtxCreate, 3020, 235, "context_create")                                    \
    A(cuCtxCreate_v3, cuCtxCreate, 11040, 645, "context_create")                                   \
    A(cuCtxCreate_v4, cuCtxCreate, 12050, 757, "context_create")                                   \
    A(cuCtxDestroy_v2, cuCtxDestroy, 4000, 322, "context_destroy")                                 \
    A(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, 7000, 386, "context_retain")             \
    A(cuDevicePrimaryCtxRelease_v2, cuDevicePrimaryCtxRelease, 11000, 544, "context_release")      \
    A(cuDevicePrimaryCtxReset_v2, cuDevicePrimaryCtxReset, 11000, 545, "context_reset")            \
    A(cuModuleLoad, cuModuleLoad, 2000, 18, "module_load")                                         \
    A(cuModuleLoadData, cuModuleLoadData, 2000, 19, "module_load")                                 \
    A(cuModuleLoadDataEx, cuModuleLoadDataEx, 2010, 20, "module_load")                             \
    A(cuModuleLoadFatBinary, cuModuleLoadFatBinary, 2000, 21, "module_load")                       \
    A(cuModuleUnload, cuModuleUnload, 2000, 22, "module_unload")                                   \
    A(cuLibraryLoadData, cuLibraryLoadData, 12000, 678, "module_load")                             \
    A(cuLibraryLoadFromFile, cuLibraryLoadFromFile, 12000, 679, "module_load")                     \
    A(cuLibraryUnload, cuLibraryUnload, 12000, 680, "module_unload")                               \
    A(cuMemGetInfo_v2, cuMemGetInfo, 3020, 242, "mem_info")                                        \
    A(cuCtxSetLimit, cuCtxSetLimit, 3010, 136, "context_limit")                                    \
    A(cuLaunchKernelEx, cuLaunchKernelEx, 11080, 0, "")                                            \
    A(cuInit, cuInit, 2000, 0, "")                                                                 \
    A(cuDeviceGetCount, cuDeviceGetCount, 2000, 0, "")                                             \
    A(cuCtxSetCurrent, cuCtxSetCurrent, 4000, 0, "")                                               \
    A(cuCtxSynchronize, cuCtxSynchronize, 2000, 0, "")                                             \
    A(cuGraphCreate, cuGraphCreate, 10000, 0, "")                                                  \
    A(cuGraphDestroy, cuGraphDestroy, 10000, 0, "")                                                \
    A(cuGraphLaunch, cuGraphLaunch, 10000, 0, "")                                                  \
    A(cuMemPoolExportToShareableHandle, cuMemPoolExportToShareableHandle, 11020, 0, "")            \
    A(cuMemPoolExportPointer, cuMemPoolExportPointer, 11020, 0, "")                                \
    A(cuStreamCreate, cuStreamCreate, 2000, 0, "")                                                 \
    A(cuStreamDestroy_v2, cuStreamDestroy, 4000, 0, "")                                            \
    A(cuStreamSynchronize, cuStreamSynchronize, 2000, 0, "")                                       \
    A(cuDeviceGetDefaultMemPool, cuDeviceGetDefaultMemPool, 11020, 0, "")                          \
    A(cuMemFutureAlloc, cuMemFutureAlloc, 13050, 0, "")

#define FAKE_API_ENUM(name, base, since, id, op) API_##name,
enum fake_api { FAKE_APIS(FAKE_API_ENUM) API_N };
#undef FAKE_API_ENUM

/* A call that was made: what its line of truth says. */
struct told {
    enum fake_api api;
    int result;
    uint64_t addr, size, handle, offset, stream, context, pool, free, total, t0, t1;
    uint32_t device, flags, location;
    bool has_device; /* from an argument */
};

enum owner { OWNER_APP, OWNER_TORCH, OWNER_NCCL, OWNER_CUBLAS, OWNER_CUMEM, OWNER_TMS, OWNER_N };
extern const char *const owner_file[OWNER_N];

struct app_thread {
    enum owner owner;
    uint64_t context, rng;
    uint32_t device;
};
extern __thread struct app_thread self;

#define OOM 2
typedef uint64_t word;
/* loads libcuda and calls cuInit once; 0 or a CUresult (or -1: no libcuda) */
int app_cuda(void);
bool app_has(enum fake_api api);    /* this driver version has it */
void app_truth_start(void);         /* files of this process image; also after fork */
void app_end_line(const char *how); /* last line: how the process is about to end */
/* primary context of the device, current on this thread; retained once per device */
int app_device(int ordinal);
int app_open_owner(enum owner o);
void app_thread_start(const struct app_thread *like, unsigned index);
uint64_t app_rand(void);
/* The call itself: through the owner's library; counted, not yet told. */
int app_call(struct told *t, const word a[8]);
void app_tell(const struct told *t);
/* Both, for calls without out-values. */
int app_simple(struct told *t, const word a[8]);
void app_told_range(const char *op, const char *name, const char *domain, int source, uint64_t id);
void app_held(const char *phase, const uint64_t bytes[8]);

int c_alloc(uint64_t *out, uint64_t size);
int c_pitch(uint64_t *out, uint64_t width, uint64_t height);
int c_free(uint64_t p);
int c_managed(uint64_t *out, uint64_t size);
int c_host(void **p, uint64_t size, unsigned flags, bool by_alloc_host);
int c_host_free(void *p);
int c_register(void *p, uint64_t size, unsigned flags);
int c_unregister(void *p);
int c_async(uint64_t *out, uint64_t size, uint64_t stream, uint64_t pool, bool per_thread);
int c_async_free(uint64_t p, uint64_t stream, bool per_thread);
int c_pool_create(uint64_t *out, unsigned device);
int c_pool_destroy(uint64_t pool);
int c_pool_trim(uint64_t pool, uint64_t keep);
int c_pool_attr(uint64_t pool, int attr, uint64_t *value, bool set);
int c_reserve(uint64_t *out, uint64_t size, uint64_t hint);
int c_address_free(uint64_t p, uint64_t size);
int c_create(uint64_t *out, uint64_t size, int location, int id, int handle_type);
int c_release(uint64_t h);
int c_map(uint64_t p, uint64_t size, uint64_t offset, uint64_t h);
int c_unmap(uint64_t p, uint64_t size);
int c_access(uint64_t p, uint64_t size);
int c_export(uint64_t h, int *fd);
int c_import(uint64_t *out, int fd);
int c_retain(uint64_t *out, uint64_t addr);
int c_multicast(uint64_t *out, uint64_t size);
int c_ipc_get(unsigned char out[64], uint64_t p);
int c_ipc_open(uint64_t *p, const unsigned char handle[64]);
int c_ipc_close(uint64_t p);
/* floats */
int c_array(uint64_t *out, uint64_t width, uint64_t height, uint64_t depth, unsigned levels);
int c_array_free(uint64_t h, bool mipmapped);
/* how 0: AddMemAllocNode, 1: AddNode, 2: AddNode_v2 */
int c_graph_alloc(uint64_t graph, uint64_t *p, uint64_t size, int how);
int c_graph_free(uint64_t graph, uint64_t p, int how);
int c_instantiate(uint64_t *out, uint64_t graph, bool flags);
int c_upload(uint64_t exec, uint64_t stream);
int c_exec_destroy(uint64_t exec);
int c_graph_trim(unsigned device);
int c_context(uint64_t *out, unsigned device, int version);
int c_context_destroy(uint64_t c);
int c_retain_primary(uint64_t *out, unsigned device);
int c_release_primary(unsigned device);
int c_reset_primary(unsigned device);
int c_module(uint64_t *out, enum fake_api api, const char *what);
int c_module_unload(uint64_t m, bool library);
int c_launch(uint64_t m); /* a kernel of it */
int c_limit(int limit, uint64_t value);
int c_meminfo(uint64_t *free_, uint64_t *total);
int c_set_current(uint64_t context);
int c_synchronize(void);
int c_graph_create(uint64_t *g);
int c_graph_destroy(uint64_t g);
int c_graph_launch(uint64_t exec);
int c_stream(uint64_t *s);
int c_stream_destroy(uint64_t s);
int c_stream_synchronize(uint64_t s);
int c_default_pool(uint64_t *pool, unsigned device);
int c_future(uint64_t *p, uint64_t size);

/* ---- scenarios ---- */

struct scenario {
    const char *name, *help;
    void (*run)(const char *arg); /* text behind the colon, "" when there is none */
    bool cuda;                    /* needs a context */
    bool parallel;                /* runs on every thread of threads:N */
};
extern const struct scenario mem_scenarios[], import_scenarios[], nvtx_scenarios[],
    train_scenarios[], process_scenarios[]; /* end with a NULL name */
/* one word of the command line; 0, or the exit status of a usage error */
int app_run(const char *word_);
uint64_t app_number(const char **arg, uint64_t dflt); /* takes the number and the colon behind it */
void app_die_oom(const char *who, uint64_t size);     /* what a program does that cannot go on */

/* fake_app_nvtx.c. The struct is laid out as nvtxEventAttributes_t. */
struct nvtx_attributes {
    uint16_t version, size;
    uint32_t category;
    int32_t color_type;
    uint32_t color;
    int32_t payload_type, reserved0;
    uint64_t payload;
    int32_t message_type; /* 1 text, 3 registered string */
    const void *message;
};
void nvtx_push(const char *name);
void nvtx_pop(void);
void nvtx_mark(const char *name);
uint64_t nvtx_start(const char *name);
void nvtx_end(uint64_t id);

#endif
