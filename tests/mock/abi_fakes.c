/* abi_fakes.c -- compiled only where the CUDA Toolkit is installed: what the fakes take for the
 * ABI, compared with NVIDIA's headers. Nothing of it runs: it compiles, or it does not. */
#include <cuda.h>
#include <cupti.h>
#include <nvtx3/nvToolsExt.h>

#include "fake_app.h"
#include "fake_cuda.h"
#include "fake_cupti.h"

#include <stddef.h>

#define SAME(what, ok) _Static_assert(ok, "differs from the header: " what);
#define FIELD(ours, theirs, a, b)                                                                  \
    SAME(#ours " " #a, offsetof(ours, a) == offsetof(theirs, b) &&                                 \
                           sizeof(((ours *)0)->a) == sizeof(((theirs *)0)->b))

#if CUPTI_API_VERSION >= 130000
/* The header turns these names into those of their newest version; here they mean themselves. */
#undef cuGetProcAddress
#undef cuDeviceGetUuid
#undef cuIpcOpenMemHandle
#undef cuGraphAddNode
/* The function of fake drivers only. */
#define CUPTI_DRIVER_TRACE_CBID_cuMemFutureAlloc 815
typedef struct {
    CUdeviceptr *dptr;
    size_t bytesize;
} cuMemFutureAlloc_params;

/* Callback id, number of bytes, and place and size of each argument. */
#define ALL(id, f)                                                                                 \
    SAME(#f, (int)CUPTI_DRIVER_TRACE_CBID_##f == (id))                                             \
    SAME(#f, sizeof(struct p_##f) == sizeof(f##_params))
#define ARG(f, a) FIELD(struct p_##f, f##_params, a, a)
/* clang-format off */
#define FAKE_F0(g, id, f) SAME(#f, (int)CUPTI_DRIVER_TRACE_CBID_##f == (id))
#define FAKE_F1(g, id, f, A, a) struct p_##f { A a; }; ALL(id, f) ARG(f, a)
#define FAKE_F2(g, id, f, A, a, B, b) struct p_##f { A a; B b; }; ALL(id, f) ARG(f, a) ARG(f, b)
#define FAKE_F3(g, id, f, A, a, B, b, C, c) struct p_##f { A a; B b; C c; }; ALL(id, f) ARG(f, a) ARG(f, b) ARG(f, c)
#define FAKE_F4(g, id, f, A, a, B, b, C, c, D, d) \
    struct p_##f { A a; B b; C c; D d; }; ALL(id, f) ARG(f, a) ARG(f, b) ARG(f, c) ARG(f, d)
#define FAKE_F5(g, id, f, A, a, B, b, C, c, D, d, E, e) \
    struct p_##f { A a; B b; C c; D d; E e; }; ALL(id, f) ARG(f, a) ARG(f, b) ARG(f, c) ARG(f, d) ARG(f, e)
#define FAKE_F6(g, id, f, A, a, B, b, C, c, D, d, E, e, F, h) \
    struct p_##f { A a; B b; C c; D d; E e; F h; }; ALL(id, f) ARG(f, a) ARG(f, b) ARG(f, c) ARG(f, d) ARG(f, e) ARG(f, h)
#define FAKE_F8(g, id, f, A, a, B, b, C, c, D, d, E, e, F, h, G, i, H, j) \
    struct p_##f { A a; B b; C c; D d; E e; F h; G i; H j; }; \
    ALL(id, f) ARG(f, a) ARG(f, b) ARG(f, c) ARG(f, d) ARG(f, e) ARG(f, h) ARG(f, i) ARG(f, j)
#include "fake_cuda.def"
#include "fake_cuda_undef.h"
/* clang-format on */

FIELD(struct record_memory, CUpti_ActivityMemory4, address, address)
FIELD(struct record_memory, CUpti_ActivityMemory4, memory_kind, memoryKind)
FIELD(struct record_memory, CUpti_ActivityMemory4, timestamp, timestamp)
FIELD(struct record_memory, CUpti_ActivityMemory4, pid, processId)
FIELD(struct record_memory, CUpti_ActivityMemory4, stream, streamId)
FIELD(struct record_memory, CUpti_ActivityMemory4, name, name)
FIELD(struct record_memory, CUpti_ActivityMemory4, is_async, isAsync)
FIELD(struct record_memory, CUpti_ActivityMemory4, pool_type, memoryPoolConfig.memoryPoolType)
FIELD(struct record_memory, CUpti_ActivityMemory4, pool, memoryPoolConfig.address)
FIELD(struct record_memory, CUpti_ActivityMemory4, threshold, memoryPoolConfig.releaseThreshold)
FIELD(struct record_memory, CUpti_ActivityMemory4, pool_size, memoryPoolConfig.pool.size)
FIELD(struct record_memory, CUpti_ActivityMemory4, utilized, memoryPoolConfig.utilizedSize)
FIELD(struct record_memory, CUpti_ActivityMemory4, source, source)
SAME("Memory4", sizeof(struct record_memory) == sizeof(CUpti_ActivityMemory4))
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, device, deviceId)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, keep, minBytesToKeep)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, address, address)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, threshold, releaseThreshold)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, timestamp, timestamp)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, utilized, utilizedSize)
FIELD(struct record_pool, CUpti_ActivityMemoryPool3, managed, isManagedPool)
SAME("MemoryPool3", sizeof(struct record_pool) == sizeof(CUpti_ActivityMemoryPool3))

FIELD(struct fc_subscriber_params, CUpti_SubscriberParams, struct_size, structSize)
FIELD(struct fc_subscriber_params, CUpti_SubscriberParams, name, subscriberName)
FIELD(struct fc_subscriber_params, CUpti_SubscriberParams, old_name, oldSubscriberName)
FIELD(struct fc_subscriber_params, CUpti_SubscriberParams, old_size, oldSubscriberSize)

FIELD(struct fake_node, CUgraphNodeParams, type, type)
FIELD(struct fake_node, CUgraphNodeParams, u.alloc, alloc)
FIELD(struct fake_node, CUgraphNodeParams, u.free, free)
SAME("CUgraphNodeParams", sizeof(struct fake_node) == sizeof(CUgraphNodeParams))
FIELD(struct fake_multicast_prop, CUmulticastObjectProp, n_devices, numDevices)
FIELD(struct fake_multicast_prop, CUmulticastObjectProp, size, size)
FIELD(struct fake_multicast_prop, CUmulticastObjectProp, flags, flags)
#endif

FIELD(struct fake_cbdata, CUpti_CallbackData, site, callbackSite)
FIELD(struct fake_cbdata, CUpti_CallbackData, function_name, functionName)
FIELD(struct fake_cbdata, CUpti_CallbackData, params, functionParams)
FIELD(struct fake_cbdata, CUpti_CallbackData, return_value, functionReturnValue)
FIELD(struct fake_cbdata, CUpti_CallbackData, symbol_name, symbolName)
FIELD(struct fake_cbdata, CUpti_CallbackData, context, context)
FIELD(struct fake_cbdata, CUpti_CallbackData, context_uid, contextUid)
FIELD(struct fake_cbdata, CUpti_CallbackData, correlation_data, correlationData)
FIELD(struct fake_cbdata, CUpti_CallbackData, correlation_id, correlationId)
SAME("CUpti_CallbackData", sizeof(struct fake_cbdata) == sizeof(CUpti_CallbackData))

FIELD(struct fake_resource, CUpti_ResourceData, context, context)
FIELD(struct fake_resource, CUpti_ResourceData, descriptor, resourceDescriptor)
SAME("CUpti_ResourceData", sizeof(struct fake_resource) == sizeof(CUpti_ResourceData))
FIELD(struct fake_code, CUpti_ModuleResourceData, id, moduleId)
FIELD(struct fake_code, CUpti_ModuleResourceData, size, cubinSize)
SAME("CUpti_ModuleResourceData", sizeof(struct fake_code) == sizeof(CUpti_ModuleResourceData))
FIELD(struct fake_location, CUmemLocation, type, type)
FIELD(struct fake_location, CUmemLocation, id, id)
FIELD(struct fake_alloc_prop, CUmemAllocationProp, handle_types, requestedHandleTypes)
FIELD(struct fake_alloc_prop, CUmemAllocationProp, location, location)
FIELD(struct fake_alloc_prop, CUmemAllocationProp, flags, allocFlags)
SAME("CUmemAllocationProp", sizeof(struct fake_alloc_prop) == sizeof(CUmemAllocationProp))
FIELD(struct fake_access, CUmemAccessDesc, flags, flags)
SAME("CUmemAccessDesc", sizeof(struct fake_access) == sizeof(CUmemAccessDesc))
FIELD(struct fake_pool_props, CUmemPoolProps, location, location)
SAME("CUmemPoolProps", sizeof(struct fake_pool_props) == sizeof(CUmemPoolProps))
FIELD(struct fake_alloc_node, CUDA_MEM_ALLOC_NODE_PARAMS_v1, bytes, bytesize)
FIELD(struct fake_alloc_node, CUDA_MEM_ALLOC_NODE_PARAMS_v1, dptr, dptr)
SAME("CUDA_MEM_ALLOC_NODE_PARAMS",
     sizeof(struct fake_alloc_node) == sizeof(CUDA_MEM_ALLOC_NODE_PARAMS_v1))
FIELD(struct fake_array_desc, CUDA_ARRAY_DESCRIPTOR, format, Format)
FIELD(struct fake_array_desc, CUDA_ARRAY_DESCRIPTOR, channels, NumChannels)
FIELD(struct fake_array3d_desc, CUDA_ARRAY3D_DESCRIPTOR, depth, Depth)
FIELD(struct fake_array3d_desc, CUDA_ARRAY3D_DESCRIPTOR, flags, Flags)
SAME("CUDA_ARRAY3D_DESCRIPTOR", sizeof(struct fake_array3d_desc) == sizeof(CUDA_ARRAY3D_DESCRIPTOR))
SAME("CUipcMemHandle", sizeof(struct fake_ipc) == sizeof(CUipcMemHandle))

#define EQUAL(a, b) SAME(#b, (int)(a) == (int)(b))
EQUAL(FAKE_OOM, CUDA_ERROR_OUT_OF_MEMORY)
EQUAL(FAKE_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT)
EQUAL(FAKE_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED)
EQUAL(FAKE_NO_DEVICE, CUDA_ERROR_NO_DEVICE)
EQUAL(FAKE_ALREADY_MAPPED, CUDA_ERROR_ALREADY_MAPPED)
EQUAL(FAKE_CONTEXT_DESTROYED, CUDA_ERROR_CONTEXT_IS_DESTROYED)
EQUAL(FAKE_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED)
EQUAL(FAKE_NOT_FOUND, CUDA_ERROR_NOT_FOUND)
EQUAL(FC_BUSY, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
EQUAL(FC_MAX_LIMIT, CUPTI_ERROR_MAX_LIMIT_REACHED)
EQUAL(FC_INVALID_KIND, CUPTI_ERROR_INVALID_KIND)
EQUAL(FC_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED)

FIELD(struct nvtx_attributes, nvtxEventAttributes_t, color, color)
FIELD(struct nvtx_attributes, nvtxEventAttributes_t, payload, payload)
FIELD(struct nvtx_attributes, nvtxEventAttributes_t, message_type, messageType)
FIELD(struct nvtx_attributes, nvtxEventAttributes_t, message, message)
SAME("nvtxEventAttributes_t", sizeof(struct nvtx_attributes) == sizeof(nvtxEventAttributes_t))
