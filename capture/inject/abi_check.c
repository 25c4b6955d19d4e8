/* abi_check.c -- the library's own declarations against the real headers:
 * compiled only where cuda.h and cupti.h were found. Nothing of it is in the
 * binary. CUDA 11.8 headers lack what came later: guarded. */
#include <cuda.h>
#include <cupti.h>

#include "capture/inject/abi_cuda.h"
#include "capture/inject/abi_cupti.h"

#define SAME(what, ours, real) _Static_assert((long long)(ours) == (long long)(real), what)
#define SIZE(ours, real) SAME("size of " #real, sizeof(ours), sizeof(real))
#define FIELD(ours, a, real, b)                                                                    \
    SAME("place of " #real "." #b, offsetof(ours, a), offsetof(real, b));                          \
    SAME("width of " #real "." #b, sizeof(((ours *)0)->a), sizeof(((real *)0)->b))

/* ---- calls: number, size of the parameters ---- */

#define MTI_CALLS_CUDA CUDA_VERSION
#define cuMemHostAlloc_v2_params cuMemHostAlloc_params /* the header has no other */
#define MTI_CALL(symbol, id, op, shape)                                                            \
    SAME("callback id of " #symbol, id, CUPTI_DRIVER_TRACE_CBID_##symbol);                         \
    SIZE(struct mti_p_##shape, symbol##_params);
#define MTI_RUNTIME(symbol, id, op, shape)                                                         \
    SAME("callback id of " #symbol, id, CUPTI_RUNTIME_TRACE_CBID_##symbol);                        \
    SIZE(struct mti_p_##shape, symbol##_params);
#include "capture/inject/calls.def"

SAME("callback id of cuGraphLaunch", MTI_CBID_GRAPH_LAUNCH, CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch);
SAME("callback id of cuGraphLaunch_ptsz", MTI_CBID_GRAPH_LAUNCH_PTSZ,
     CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz);
SAME("callback id of cuDriverGetVersion", MTI_CUPTI_CBID_VERSION,
     CUPTI_DRIVER_TRACE_CBID_cuDriverGetVersion);

/* ---- parameters: place of every field that is read ---- */

#define P(shape, a, symbol, b) FIELD(struct mti_p_##shape, a, symbol##_params, b)
P(alloc, out, cuMemAlloc_v2, dptr);
P(alloc, bytes, cuMemAlloc_v2, bytesize);
P(alloc, bytes, cuMemAllocHost_v2, bytesize);
P(alloc_flags, bytes, cuMemHostAlloc, bytesize);
P(alloc_flags, flags, cuMemHostAlloc, Flags);
P(alloc_flags, flags, cuMemAllocManaged, flags);
P(alloc_pitch, pitch, cuMemAllocPitch_v2, pPitch);
P(alloc_pitch, width, cuMemAllocPitch_v2, WidthInBytes);
P(alloc_pitch, height, cuMemAllocPitch_v2, Height);
P(alloc_pitch, element, cuMemAllocPitch_v2, ElementSizeBytes);
P(rt_pitch, height, cudaMallocPitch_v3020, height);
P(free, address, cuMemFree_v2, dptr);
P(free, address, cuMemFreeHost, p);
P(free, address, cuIpcCloseMemHandle, dptr);
P(register, address, cuMemHostRegister_v2, p);
P(register, bytes, cuMemHostRegister_v2, bytesize);
P(register, flags, cuMemHostRegister_v2, Flags);
P(async_alloc, bytes, cuMemAllocAsync, bytesize);
P(async_alloc, stream, cuMemAllocAsync, hStream);
P(pool_alloc, pool, cuMemAllocFromPoolAsync, pool);
P(pool_alloc, stream, cuMemAllocFromPoolAsync, hStream);
P(async_free, address, cuMemFreeAsync, dptr);
P(async_free, stream, cuMemFreeAsync, hStream);
P(pool_create, props, cuMemPoolCreate, poolProps);
P(pool_trim, keep, cuMemPoolTrimTo, minBytesToKeep);
P(pool_attr, attribute, cuMemPoolSetAttribute, attr);
P(pool_attr, value, cuMemPoolSetAttribute, value);
P(reserve, bytes, cuMemAddressReserve, size);
P(reserve, address, cuMemAddressReserve, addr);
P(range, bytes, cuMemUnmap, size);
P(create, out, cuMemCreate, handle);
P(create, bytes, cuMemCreate, size);
P(create, prop, cuMemCreate, prop);
P(handle, handle, cuMemRelease, handle);
P(map, address, cuMemMap, ptr);
P(map, bytes, cuMemMap, size);
P(map, offset, cuMemMap, offset);
P(map, handle, cuMemMap, handle);
P(access, bytes, cuMemSetAccess, size);
P(access, count, cuMemSetAccess, count);
P(export, handle, cuMemExportToShareableHandle, handle);
P(export, type, cuMemExportToShareableHandle, handleType);
P(import, out, cuMemImportFromShareableHandle, handle);
P(import, type, cuMemImportFromShareableHandle, shHandleType);
P(retain, out, cuMemRetainAllocationHandle, handle);
P(retain, address, cuMemRetainAllocationHandle, addr);
#if CUDA_VERSION >= 12010
P(mc_create, prop, cuMulticastCreate, prop);
P(mc_device, device, cuMulticastAddDevice, dev);
P(mc_bind, handle, cuMulticastBindMem, mcHandle);
P(mc_bind, offset, cuMulticastBindMem, mcOffset);
P(mc_bind, bytes, cuMulticastBindMem, size);
P(mc_bind_addr, address, cuMulticastBindAddr, memptr);
P(mc_bind_addr, bytes, cuMulticastBindAddr, size);
P(mc_unbind, device, cuMulticastUnbind, dev);
P(mc_unbind, offset, cuMulticastUnbind, mcOffset);
P(mc_unbind, bytes, cuMulticastUnbind, size);
SIZE(struct mti_cu_multicast_prop, CUmulticastObjectProp);
FIELD(struct mti_cu_multicast_prop, size, CUmulticastObjectProp, size);
#endif
P(ipc_get, address, cuIpcGetMemHandle, dptr);
P(ipc_open, out, cuIpcOpenMemHandle_v2, pdptr);
P(ipc_open, flags, cuIpcOpenMemHandle_v2, Flags);
P(pool_import, out, cuMemPoolImportFromShareableHandle, pool_out);
P(pool_import, type, cuMemPoolImportFromShareableHandle, handleType);
P(pool_pointer, out, cuMemPoolImportPointer, ptr_out);
P(pool_pointer, pool, cuMemPoolImportPointer, pool);
P(ext_import, out, cuImportExternalMemory, extMem_out);
P(ext_import, desc, cuImportExternalMemory, memHandleDesc);
P(ext_buffer, out, cuExternalMemoryGetMappedBuffer, devPtr);
P(ext_buffer, handle, cuExternalMemoryGetMappedBuffer, extMem);
P(ext_buffer, desc, cuExternalMemoryGetMappedBuffer, bufferDesc);
P(ext_mipmap, out, cuExternalMemoryGetMappedMipmappedArray, mipmap);
P(handle, handle, cuDestroyExternalMemory, extMem);
P(array, desc, cuArrayCreate_v2, pAllocateArray);
P(array3d, desc, cuArray3DCreate_v2, pAllocateArray);
P(mipmap, levels, cuMipmappedArrayCreate, numMipmapLevels);
P(node_alloc, graph, cuGraphAddMemAllocNode, hGraph);
P(node_alloc, params, cuGraphAddMemAllocNode, nodeParams);
P(node_free, address, cuGraphAddMemFreeNode, dptr);
#if CUDA_VERSION >= 12020
P(add_node, params, cuGraphAddNode, nodeParams);
FIELD(struct mti_cu_node_params, type, CUgraphNodeParams, type);
SAME("place of CUgraphNodeParams.alloc", offsetof(struct mti_cu_node_params, u),
     offsetof(CUgraphNodeParams, alloc));
SAME("place of CUgraphNodeParams.free", offsetof(struct mti_cu_node_params, u),
     offsetof(CUgraphNodeParams, free));
#endif
#if CUDA_VERSION >= 12030
P(add_node2, params, cuGraphAddNode_v2, nodeParams);
#endif
P(device, device, cuDeviceGraphMemTrim, device);
P(device, device, cuDevicePrimaryCtxRelease_v2, dev);
P(inst_flags, flags, cuGraphInstantiateWithFlags, flags);
P(upload, stream, cuGraphUpload, hStream);
P(upload, handle, cuGraphLaunch, hGraph);
P(ctx_limit, limit, cuCtxSetLimit, limit);
P(ctx_limit, value, cuCtxSetLimit, value);
P(ctx_retain, device, cuDevicePrimaryCtxRetain, dev);
P(ctx_create2, flags, cuCtxCreate_v2, flags);
P(ctx_create2, device, cuCtxCreate_v2, dev);
P(ctx_create3, flags, cuCtxCreate_v3, flags);
P(ctx_create3, device, cuCtxCreate_v3, dev);
#if CUDA_VERSION >= 12050
P(ctx_create4, flags, cuCtxCreate_v4, flags);
P(ctx_create4, device, cuCtxCreate_v4, dev);
#endif
#if CUDA_VERSION >= 12040
P(green_create, device, cuGreenCtxCreate, dev);
P(green_create, flags, cuGreenCtxCreate, flags);
#endif
P(mod_file, file, cuModuleLoad, fname);
#if CUDA_VERSION >= 12000
P(lib_file, file, cuLibraryLoadFromFile, fileName);
P(lib_data, code, cuLibraryLoadData, code);
#endif
P(mem_info, free, cuMemGetInfo_v2, free);
P(mem_info, total, cuMemGetInfo_v2, total);

/* ---- structures and numbers of cuda.h ---- */

SIZE(struct mti_cu_uuid, CUuuid);
SIZE(struct mti_cu_ipc_handle, CUipcMemHandle);
SIZE(struct mti_cu_external, CUDA_EXTERNAL_MEMORY_HANDLE_DESC);
FIELD(struct mti_cu_external, type, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, type);
FIELD(struct mti_cu_external, size, CUDA_EXTERNAL_MEMORY_HANDLE_DESC, size);
SIZE(struct mti_cu_external_buffer, CUDA_EXTERNAL_MEMORY_BUFFER_DESC);
FIELD(struct mti_cu_external_buffer, offset, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, offset);
FIELD(struct mti_cu_external_buffer, bytes, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, size);
FIELD(struct mti_cu_external_buffer, flags, CUDA_EXTERNAL_MEMORY_BUFFER_DESC, flags);
SIZE(struct mti_cu_mem_location, CUmemLocation);
SIZE(struct mti_cu_alloc_prop, CUmemAllocationProp);
FIELD(struct mti_cu_alloc_prop, location, CUmemAllocationProp, location);
SIZE(struct mti_cu_pool_props, CUmemPoolProps);
FIELD(struct mti_cu_pool_props, location, CUmemPoolProps, location);
#if CUDA_VERSION >= 12020
FIELD(struct mti_cu_pool_props, max_size, CUmemPoolProps, maxSize);
#endif
SIZE(struct mti_cu_array_desc, CUDA_ARRAY_DESCRIPTOR);
FIELD(struct mti_cu_array_desc, format, CUDA_ARRAY_DESCRIPTOR, Format);
FIELD(struct mti_cu_array_desc, channels, CUDA_ARRAY_DESCRIPTOR, NumChannels);
SIZE(struct mti_cu_array3d_desc, CUDA_ARRAY3D_DESCRIPTOR);
FIELD(struct mti_cu_array3d_desc, depth, CUDA_ARRAY3D_DESCRIPTOR, Depth);
FIELD(struct mti_cu_array3d_desc, format, CUDA_ARRAY3D_DESCRIPTOR, Format);
FIELD(struct mti_cu_array3d_desc, flags, CUDA_ARRAY3D_DESCRIPTOR, Flags);
SIZE(struct mti_cu_node_alloc, CUDA_MEM_ALLOC_NODE_PARAMS);
FIELD(struct mti_cu_node_alloc, bytes, CUDA_MEM_ALLOC_NODE_PARAMS, bytesize);
FIELD(struct mti_cu_node_alloc, address, CUDA_MEM_ALLOC_NODE_PARAMS, dptr);

SAME("CUDA_SUCCESS", MTI_CU_SUCCESS, CUDA_SUCCESS);
SAME("CUDA_ERROR_INVALID_VALUE", MTI_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
SAME("CUDA_ERROR_OUT_OF_MEMORY", MTI_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
SAME("location", MTI_CU_LOCATION_DEVICE, CU_MEM_LOCATION_TYPE_DEVICE);
#if CUDA_VERSION >= 12020
SAME("location", MTI_CU_LOCATION_HOST, CU_MEM_LOCATION_TYPE_HOST);
SAME("location", MTI_CU_LOCATION_HOST_NUMA, CU_MEM_LOCATION_TYPE_HOST_NUMA);
#endif
SAME("node", MTI_CU_NODE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_MEM_ALLOC);
SAME("node", MTI_CU_NODE_MEM_FREE, CU_GRAPH_NODE_TYPE_MEM_FREE);
SAME("pool attribute", MTI_CU_POOL_RELEASE_THRESHOLD, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD);
SAME("pool attribute", MTI_CU_POOL_RESERVED_CURRENT, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
SAME("pool attribute", MTI_CU_POOL_USED_HIGH, CU_MEMPOOL_ATTR_USED_MEM_HIGH);
SAME("format", MTI_CU_FORMAT_U8, CU_AD_FORMAT_UNSIGNED_INT8);
SAME("format", MTI_CU_FORMAT_U16, CU_AD_FORMAT_UNSIGNED_INT16);
SAME("format", MTI_CU_FORMAT_U32, CU_AD_FORMAT_UNSIGNED_INT32);
SAME("format", MTI_CU_FORMAT_S8, CU_AD_FORMAT_SIGNED_INT8);
SAME("format", MTI_CU_FORMAT_S16, CU_AD_FORMAT_SIGNED_INT16);
SAME("format", MTI_CU_FORMAT_S32, CU_AD_FORMAT_SIGNED_INT32);
SAME("format", MTI_CU_FORMAT_HALF, CU_AD_FORMAT_HALF);
SAME("format", MTI_CU_FORMAT_FLOAT, CU_AD_FORMAT_FLOAT);
SAME("format", MTI_CU_FORMAT_BC1, CU_AD_FORMAT_BC1_UNORM);
SAME("format", MTI_CU_FORMAT_BC1_SRGB, CU_AD_FORMAT_BC1_UNORM_SRGB);
SAME("format", MTI_CU_FORMAT_BC2, CU_AD_FORMAT_BC2_UNORM);
SAME("format", MTI_CU_FORMAT_BC3_SRGB, CU_AD_FORMAT_BC3_UNORM_SRGB);
SAME("format", MTI_CU_FORMAT_BC4, CU_AD_FORMAT_BC4_UNORM);
SAME("format", MTI_CU_FORMAT_BC4_S, CU_AD_FORMAT_BC4_SNORM);
SAME("format", MTI_CU_FORMAT_BC5, CU_AD_FORMAT_BC5_UNORM);
SAME("format", MTI_CU_FORMAT_BC7_SRGB, CU_AD_FORMAT_BC7_UNORM_SRGB);
SAME("format", MTI_CU_FORMAT_NORM_FIRST, CU_AD_FORMAT_UNORM_INT8X1);
SAME("format", MTI_CU_FORMAT_NORM_LAST, CU_AD_FORMAT_SNORM_INT16X4);
SAME("array flag", MTI_CU_ARRAY_SPARSE, CUDA_ARRAY3D_SPARSE);
SAME("array flag", MTI_CU_ARRAY_DEFERRED, CUDA_ARRAY3D_DEFERRED_MAPPING);

/* ---- CUPTI ---- */

SAME("result", MTI_CUPTI_SUCCESS, CUPTI_SUCCESS);
SAME("result", MTI_CUPTI_INVALID_PARAMETER, CUPTI_ERROR_INVALID_PARAMETER);
SAME("result", MTI_CUPTI_NOT_INITIALIZED, CUPTI_ERROR_NOT_INITIALIZED);
SAME("result", MTI_CUPTI_MULTIPLE_SUBSCRIBERS, CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED);
SAME("result", MTI_CUPTI_UNKNOWN, CUPTI_ERROR_UNKNOWN);
SAME("domain", MTI_CUPTI_DRIVER, CUPTI_CB_DOMAIN_DRIVER_API);
SAME("domain", MTI_CUPTI_RUNTIME, CUPTI_CB_DOMAIN_RUNTIME_API);
SAME("domain", MTI_CUPTI_RESOURCE, CUPTI_CB_DOMAIN_RESOURCE);
SAME("resource", MTI_CUPTI_MODULE_LOADED, CUPTI_CBID_RESOURCE_MODULE_LOADED);
SAME("resource", MTI_CUPTI_MODULE_UNLOADS, CUPTI_CBID_RESOURCE_MODULE_UNLOAD_STARTING);
SIZE(struct mti_cupti_resource, CUpti_ResourceData);
FIELD(struct mti_cupti_resource, context, CUpti_ResourceData, context);
FIELD(struct mti_cupti_resource, descriptor, CUpti_ResourceData, resourceDescriptor);
SIZE(struct mti_cupti_module, CUpti_ModuleResourceData);
FIELD(struct mti_cupti_module, id, CUpti_ModuleResourceData, moduleId);
FIELD(struct mti_cupti_module, bytes, CUpti_ModuleResourceData, cubinSize);
SAME("site", MTI_CUPTI_ENTER, CUPTI_API_ENTER);
SAME("site", MTI_CUPTI_EXIT, CUPTI_API_EXIT);
SAME("kind", MTI_CUPTI_MEMORY2, CUPTI_ACTIVITY_KIND_MEMORY2);
SAME("kind", MTI_CUPTI_MEMORY_POOL, CUPTI_ACTIVITY_KIND_MEMORY_POOL);
SAME("attribute", MTI_CUPTI_ATTR_PREALLOCATE, CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_PRE_ALLOCATE_VALUE);
#if CUPTI_API_VERSION >= 21
SAME("attribute", MTI_CUPTI_ATTR_PER_THREAD_BUFFER, CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER);
#endif
#if CUPTI_API_VERSION >= 130000
SAME("domain", MTI_CUPTI_STATE, CUPTI_CB_DOMAIN_STATE);
SAME("state", MTI_CUPTI_FATAL_ERROR, CUPTI_CBID_STATE_FATAL_ERROR);
SAME("state", MTI_CUPTI_ERROR, CUPTI_CBID_STATE_ERROR);
SAME("state", MTI_CUPTI_WARNING, CUPTI_CBID_STATE_WARNING);
SIZE(struct mti_cupti_state_data, CUpti_StateData);
FIELD(struct mti_cupti_state_data, message, CUpti_StateData, notification.message);
FIELD(struct mti_cupti_subscriber, name, CUpti_SubscriberParams, subscriberName);
FIELD(struct mti_cupti_subscriber, old_name, CUpti_SubscriberParams, oldSubscriberName);
FIELD(struct mti_cupti_subscriber, old_size, CUpti_SubscriberParams, oldSubscriberSize);
SAME("size of a name", MTI_CUPTI_OLD_NAME, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN);
#endif
#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 130200
SAME("size of the parameters", MTI_CUPTI_SUBSCRIBER_SIZE, CUpti_SubscriberParams_STRUCT_SIZE);
SAME("first unknown driver call", MTI_CUPTI_CBID_KNOWN, CUPTI_DRIVER_TRACE_CBID_SIZE);
#endif

SIZE(struct mti_cupti_data, CUpti_CallbackData);
FIELD(struct mti_cupti_data, site, CUpti_CallbackData, callbackSite);
FIELD(struct mti_cupti_data, function, CUpti_CallbackData, functionName);
FIELD(struct mti_cupti_data, params, CUpti_CallbackData, functionParams);
FIELD(struct mti_cupti_data, result, CUpti_CallbackData, functionReturnValue);
FIELD(struct mti_cupti_data, context, CUpti_CallbackData, context);
FIELD(struct mti_cupti_data, context_uid, CUpti_CallbackData, contextUid);
FIELD(struct mti_cupti_data, correlation_data, CUpti_CallbackData, correlationData);
FIELD(struct mti_cupti_data, correlation_id, CUpti_CallbackData, correlationId);

#if CUPTI_API_VERSION >= 24
typedef CUpti_ActivityMemory4 real_memory;
SIZE(struct mti_cupti_memory, CUpti_ActivityMemory4);
FIELD(struct mti_cupti_memory, source, CUpti_ActivityMemory4, source);
#else
typedef CUpti_ActivityMemory3 real_memory;
#endif
SAME("size of CUpti_ActivityMemory2", MTI_CUPTI_MEMORY2_SIZE, sizeof(CUpti_ActivityMemory2));
SAME("size of CUpti_ActivityMemory3", MTI_CUPTI_MEMORY3_SIZE, sizeof(CUpti_ActivityMemory3));
FIELD(struct mti_cupti_memory, operation, real_memory, memoryOperationType);
FIELD(struct mti_cupti_memory, memory_kind, real_memory, memoryKind);
FIELD(struct mti_cupti_memory, correlation, real_memory, correlationId);
FIELD(struct mti_cupti_memory, address, real_memory, address);
FIELD(struct mti_cupti_memory, bytes, real_memory, bytes);
FIELD(struct mti_cupti_memory, timestamp, real_memory, timestamp);
FIELD(struct mti_cupti_memory, pc, real_memory, PC);
FIELD(struct mti_cupti_memory, process, real_memory, processId);
FIELD(struct mti_cupti_memory, device, real_memory, deviceId);
FIELD(struct mti_cupti_memory, context, real_memory, contextId);
FIELD(struct mti_cupti_memory, stream, real_memory, streamId);
FIELD(struct mti_cupti_memory, name, real_memory, name);
FIELD(struct mti_cupti_memory, is_async, real_memory, isAsync);
FIELD(struct mti_cupti_memory, pool_type, real_memory, memoryPoolConfig.memoryPoolType);
FIELD(struct mti_cupti_memory, pool_address, real_memory, memoryPoolConfig.address);
FIELD(struct mti_cupti_memory, pool_threshold, real_memory, memoryPoolConfig.releaseThreshold);
FIELD(struct mti_cupti_memory, pool_size, real_memory, memoryPoolConfig.pool.size);
FIELD(struct mti_cupti_memory, pool_utilized, real_memory, memoryPoolConfig.utilizedSize);

#if CUPTI_API_VERSION >= 130000
typedef CUpti_ActivityMemoryPool3 real_pool;
SIZE(struct mti_cupti_pool, CUpti_ActivityMemoryPool3);
FIELD(struct mti_cupti_pool, is_managed, CUpti_ActivityMemoryPool3, isManagedPool);
#else
typedef CUpti_ActivityMemoryPool2 real_pool;
#endif
SAME("size of CUpti_ActivityMemoryPool", MTI_CUPTI_POOL_SIZE, sizeof(CUpti_ActivityMemoryPool));
SAME("size of CUpti_ActivityMemoryPool2", MTI_CUPTI_POOL2_SIZE, sizeof(CUpti_ActivityMemoryPool2));
FIELD(struct mti_cupti_pool, operation, real_pool, memoryPoolOperationType);
FIELD(struct mti_cupti_pool, pool_type, real_pool, memoryPoolType);
FIELD(struct mti_cupti_pool, correlation, real_pool, correlationId);
FIELD(struct mti_cupti_pool, device, real_pool, deviceId);
FIELD(struct mti_cupti_pool, keep, real_pool, minBytesToKeep);
FIELD(struct mti_cupti_pool, address, real_pool, address);
FIELD(struct mti_cupti_pool, size, real_pool, size);
FIELD(struct mti_cupti_pool, threshold, real_pool, releaseThreshold);
FIELD(struct mti_cupti_pool, timestamp, real_pool, timestamp);
FIELD(struct mti_cupti_pool, utilized, real_pool, utilizedSize);

typedef int mti_abi_checked; /* a file must declare something */
