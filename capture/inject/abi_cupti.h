/* abi_cupti.h -- what the injected library must know of CUPTI's binary interface, in its own
 * declarations: callbacks, subscription, activity records of kinds MEMORY2 and MEMORY_POOL. From
 * CUPTI 11.8 (version 18) to 13.x (130000 and more); numbers of cupti_*.h, compared with the real
 * headers by abi_check.c where there are any. */
#ifndef MTI_ABI_CUPTI_H
#define MTI_ABI_CUPTI_H

#include <stddef.h>
#include <stdint.h>

enum mti_cupti_result {
    MTI_CUPTI_SUCCESS = 0,
    MTI_CUPTI_INVALID_PARAMETER = 1,
    MTI_CUPTI_NOT_INITIALIZED = 15,
    MTI_CUPTI_MULTIPLE_SUBSCRIBERS = 39,
    MTI_CUPTI_UNKNOWN = 999
};

enum mti_cupti_domain {
    MTI_CUPTI_DRIVER = 1,
    MTI_CUPTI_RUNTIME = 2,
    MTI_CUPTI_RESOURCE = 3,
    MTI_CUPTI_STATE = 6
};
enum mti_cupti_resource_id { MTI_CUPTI_MODULE_LOADED = 6, MTI_CUPTI_MODULE_UNLOADS = 7 };
enum mti_cupti_site { MTI_CUPTI_ENTER = 0, MTI_CUPTI_EXIT = 1 };
enum mti_cupti_state { MTI_CUPTI_FATAL_ERROR = 1, MTI_CUPTI_ERROR = 2, MTI_CUPTI_WARNING = 3 };
enum mti_cupti_kind { MTI_CUPTI_MEMORY2 = 49, MTI_CUPTI_MEMORY_POOL = 50 };
enum mti_cupti_attribute { MTI_CUPTI_ATTR_PREALLOCATE = 6, MTI_CUPTI_ATTR_PER_THREAD_BUFFER = 9 };
/* Driver calls below this id are known, by cupti_driver_cbid.h of 13.0; what a newer CUPTI adds is
 * looked up by name. */
#define MTI_CUPTI_CBID_KNOWN 807u
/* From this version on (CUDA 12.9) CUPTI takes "no buffer" for an answer; older ones crash
 * (pytorch/kineto #1534). */
#define MTI_CUPTI_TAKES_NONE 27u
#define MTI_CBID_GRAPH_LAUNCH 514u
#define MTI_CBID_GRAPH_LAUNCH_PTSZ 515u
#define MTI_CUPTI_CBID_VERSION 2u  /* cuDriverGetVersion */
#define MTI_CUPTI_NONE 0xffffffffu /* no context, no stream */

struct mti_cupti_data { /* CUpti_CallbackData */
    int32_t site;
    const char *function;
    const void *params;
    void *result; /* int * */
    const char *symbol;
    uint64_t context;
    uint32_t context_uid;
    uint64_t *correlation_data;
    uint32_t correlation_id;
};

struct mti_cupti_resource { /* CUpti_ResourceData */
    uint64_t context, stream;
    const void *descriptor;
};

struct mti_cupti_module { /* CUpti_ModuleResourceData; only while the callback lasts */
    uint32_t id;
    size_t bytes; /* of the image */
    const char *image;
};

struct mti_cupti_state_data { /* CUpti_StateData */
    int32_t result;
    const char *message;
};

struct mti_cupti_subscriber { /* CUpti_SubscriberParams; the last field is of 13.2 and later */
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
    uint8_t allow_multiple;
    uint8_t padding[7];
};
#define MTI_CUPTI_SUBSCRIBER_SIZE offsetof(struct mti_cupti_subscriber, allow_multiple)
#define MTI_CUPTI_SUBSCRIBER_MULTI_SIZE (offsetof(struct mti_cupti_subscriber, allow_multiple) + 1)
#define MTI_CUPTI_OLD_NAME 64u

/* CUpti_ActivityMemory2, 3 and 4: each continues the one before. */
struct mti_cupti_memory {
    int32_t kind, operation, memory_kind;
    uint32_t correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, pad1;
    int32_t pool_type;
    uint32_t pad2;
    uint64_t pool_address, pool_threshold, pool_size;
    uint64_t pool_utilized; /* Memory3: 11.6 and later */
    const char *source;     /* Memory4: 12.6 and later */
};
#define MTI_CUPTI_MEMORY2_SIZE offsetof(struct mti_cupti_memory, pool_utilized)
#define MTI_CUPTI_MEMORY3_SIZE offsetof(struct mti_cupti_memory, source)
#define MTI_CUPTI_MEMORY4_SIZE sizeof(struct mti_cupti_memory)

/* CUpti_ActivityMemoryPool, 2 and 3. */
struct mti_cupti_pool {
    int32_t kind, operation, pool_type;
    uint32_t correlation;
    uint32_t process, device;
    size_t keep;
    uint64_t address, size, threshold, timestamp;
    uint64_t utilized;          /* Pool2: 11.6 and later */
    uint8_t is_managed, pad[7]; /* Pool3: 13.0 and later */
};
#define MTI_CUPTI_POOL_SIZE offsetof(struct mti_cupti_pool, utilized)
#define MTI_CUPTI_POOL2_SIZE offsetof(struct mti_cupti_pool, is_managed)
#define MTI_CUPTI_POOL3_SIZE sizeof(struct mti_cupti_pool)

typedef void (*mti_cupti_callback_fn)(void *user, int domain, uint32_t cbid, const void *data);
typedef void (*mti_cupti_request_fn)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*mti_cupti_complete_fn)(uint64_t context, uint32_t stream, uint8_t *buffer,
                                      size_t size, size_t valid);

/* Functions of libcupti: MTI_F(member, symbol, parameters); cupti_find.c looks all of them up,
 * absent ones are NULL. */
#define MTI_CUPTI_FUNCTIONS(MTI_F)                                                                 \
    MTI_F(get_version, cuptiGetVersion, (uint32_t * version))                                      \
    MTI_F(result_string, cuptiGetResultString, (int result, const char **text))                    \
    MTI_F(subscribe, cuptiSubscribe, (void **subscriber, mti_cupti_callback_fn f, void *user))     \
    MTI_F(subscribe_v2, cuptiSubscribe_v2,                                                         \
          (void **subscriber, mti_cupti_callback_fn f, void *user,                                 \
           struct mti_cupti_subscriber *params))                                                   \
    MTI_F(unsubscribe, cuptiUnsubscribe, (void *subscriber))                                       \
    MTI_F(enable_callback, cuptiEnableCallback,                                                    \
          (uint32_t on, void *subscriber, int domain, uint32_t cbid))                              \
    MTI_F(callback_state, cuptiGetCallbackState,                                                   \
          (uint32_t * on, void *subscriber, int domain, uint32_t cbid))                            \
    MTI_F(callback_name, cuptiGetCallbackName, (int domain, uint32_t cbid, const char **name))     \
    MTI_F(get_timestamp, cuptiGetTimestamp, (uint64_t * ns))                                       \
    MTI_F(device_id, cuptiGetDeviceId, (uint64_t context, uint32_t * device))                      \
    MTI_F(activity_enable, cuptiActivityEnable, (int kind))                                        \
    MTI_F(activity_disable, cuptiActivityDisable, (int kind))                                      \
    MTI_F(activity_register, cuptiActivityRegisterCallbacks,                                       \
          (mti_cupti_request_fn request, mti_cupti_complete_fn complete))                          \
    MTI_F(activity_flush, cuptiActivityFlushAll, (uint32_t flag))                                  \
    MTI_F(activity_next, cuptiActivityGetNextRecord,                                               \
          (uint8_t * buffer, size_t valid, void **record))                                         \
    MTI_F(activity_dropped, cuptiActivityGetNumDroppedRecords,                                     \
          (uint64_t context, uint32_t stream, size_t * dropped))                                   \
    MTI_F(activity_attribute, cuptiActivitySetAttribute, (int attribute, size_t *size, void *value))

#endif
