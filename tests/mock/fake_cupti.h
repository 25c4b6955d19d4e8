/* fake_cupti.h -- inside the fake libcupti; one source for 11.8, 12.x and 13.x: FAKE_CUPTI_MAJOR =
 * 11, 12 or 13. */
#ifndef FAKE_CUPTI_H
#define FAKE_CUPTI_H

#include "fake.h"

#include <stdbool.h>

/* CUptiResult values */
enum {
    FC_OK = 0,
    FC_INVALID_PARAMETER = 1,
    FC_INVALID_CONTEXT = 3,
    FC_PARAMETER_SIZE = 10,
    FC_MAX_LIMIT = 12,
    FC_NOT_INITIALIZED = 15,
    FC_INVALID_KIND = 21,
    FC_BUSY = 39,
    FC_UNKNOWN = 999
};

struct fc_subscriber_params { /* as CUpti_SubscriberParams of 13.0 */
    size_t struct_size;
    const char *name;
    char *old_name;
    size_t old_size;
};

/* As CUpti_ActivityMemory4; older versions end earlier. */
struct record_memory {
    uint32_t kind, op, memory_kind, correlation;
    uint64_t address, bytes, timestamp, pc;
    uint32_t pid, device, context, stream;
    const char *name;
    uint32_t is_async, pad1, pool_type, pad2;
    uint64_t pool, threshold, pool_size, utilized;
    const char *source;
};
/* As CUpti_ActivityMemoryPool3. */
struct record_pool {
    uint32_t kind, op, type, correlation, pid, device;
    uint64_t keep, address, size, threshold, timestamp, utilized;
    uint8_t managed, pad[7];
};

typedef void (*fc_callback)(void *userdata, uint32_t domain, uint32_t cbid, const void *data);
typedef void (*fc_request)(uint8_t **buffer, size_t *size, size_t *max_records);
typedef void (*fc_complete)(void *context, uint32_t stream, uint8_t *buffer, size_t size,
                            size_t valid);

/* A mode of FAKE_CUPTI; value of N, or dflt; *is: whether the mode is on. */
uint64_t fc_mode(const char *name, uint64_t dflt, bool *is);
/* 0, or what an entry point that needs the driver answers in this process: sets *out. */
int fc_driver(struct fake_hooks **out);
void fc_slow(void);
bool fc_dead(void); /* the exit handlers of libcupti have run */

/* fake_cupti_activity.c */
void fc_memory(const struct fake_memory *m);
void fc_mempool(const struct fake_mempool *m);
void fc_activity_reset(void); /* cuptiFinalize */

#endif
