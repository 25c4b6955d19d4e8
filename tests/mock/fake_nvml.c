/* fake_nvml.c -- the fake libnvidia-ml: what NVML says about the fake machine.
 */
#include "fake.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* nvmlReturn_t values */
enum {
    NV_OK = 0,
    NV_UNINITIALIZED = 1,
    NV_INVALID_ARGUMENT = 2,
    NV_NOT_SUPPORTED = 3,
    NV_NO_PERMISSION = 4,
    NV_NOT_FOUND = 6,
    NV_INSUFFICIENT_SIZE = 7,
    NV_DRIVER_NOT_LOADED = 9,
    NV_LIBRARY_NOT_FOUND = 12,
    NV_VERSION_MISMATCH = 25,
    NV_UNKNOWN = 999
};

struct nv_memory {
    unsigned long long total, free, used;
};
struct nv_memory_v2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
struct nv_process_v1 {
    unsigned pid;
    unsigned long long used;
};
struct nv_process_v2 { /* of the _v2 and the _v3 function */
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance;
};
struct nv_pci {
    char legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};
_Static_assert(sizeof(struct nv_memory_v2) == 40 && sizeof(struct nv_process_v2) == 24 &&
                   sizeof(struct nv_pci) == 68,
               "layout of nvml.h");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int inits;
static unsigned n_gpus;
static uint64_t total, other;
static struct fake_state *state;
static char handles[FAKE_MAX_GPUS];

static bool mode(const char *name, uint64_t dflt, uint64_t *value)
{
    char buf[32];
    const char *v = fake_mode(getenv("FAKE_NVML"), name, buf, sizeof buf);
    if (v && value)
        *value = *v ? strtoull(v, NULL, 10) : dflt;
    return v != NULL;
}

static void slow(const char *how)
{
    uint64_t ms = 0;
    if (mode(how, 300, &ms))
        nanosleep(&(struct timespec){.tv_sec = (time_t)(ms / 1000),
                                     .tv_nsec = (long)(ms % 1000) * 1000000},
                  NULL);
}

/* Without FAKE_STATE the libcuda in this process knows what it holds. */
static struct fake_state *the_state(void)
{
    if (state)
        return state;
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
    struct fake_hooks *h = lib ? (struct fake_hooks *)dlsym(lib, "fake_cuda_hooks") : NULL;
    return h && h->initialised() ? h->state() : NULL;
}

FAKE_EXPORT int nvmlInit_v2(void);
int nvmlInit_v2(void)
{
    slow("slow");
    slow("init");
    if (mode("missing", 0, NULL))
        return NV_LIBRARY_NOT_FOUND;
    if (mode("error", 0, NULL))
        return NV_UNKNOWN;
    pthread_mutex_lock(&lock);
    if (!inits++) {
        n_gpus = (unsigned)fake_env_u64("FAKE_GPUS", 1);
        n_gpus = n_gpus > FAKE_MAX_GPUS ? FAKE_MAX_GPUS : n_gpus;
        total = fake_env_u64("FAKE_TOTAL_MB", 81920) * FAKE_MB;
        other = fake_env_u64("FAKE_OTHER_MB", 0) * FAKE_MB;
        if (!state)
            state = fake_state_open();
    }
    pthread_mutex_unlock(&lock);
    return NV_OK;
}
FAKE_EXPORT int nvmlInit(void);
int nvmlInit(void) { return nvmlInit_v2(); }
FAKE_EXPORT int nvmlInitWithFlags(unsigned flags);
int nvmlInitWithFlags(unsigned flags) { return (void)flags, nvmlInit_v2(); }

FAKE_EXPORT int nvmlShutdown(void);
int nvmlShutdown(void)
{
    pthread_mutex_lock(&lock);
    int r = inits ? NV_OK : NV_UNINITIALIZED;
    inits -= inits > 0;
    pthread_mutex_unlock(&lock);
    return r;
}

/* Index of a device handle; -1: *error. */
static int device(const void *h, int *error)
{
    ptrdiff_t i = (const char *)h - handles;
    pthread_mutex_lock(&lock);
    bool init = inits > 0;
    pthread_mutex_unlock(&lock);
    *error = !init                                   ? NV_UNINITIALIZED
             : !h || i < 0 || i >= (ptrdiff_t)n_gpus ? NV_INVALID_ARGUMENT
                                                     : NV_OK;
    return *error ? -1 : (int)i;
}

FAKE_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
int nvmlDeviceGetCount_v2(unsigned *count)
{
    int r = NV_OK;
    device(handles, &r);
    if (r == NV_UNINITIALIZED || !count)
        return count ? r : NV_INVALID_ARGUMENT;
    *count = n_gpus;
    return NV_OK;
}
FAKE_EXPORT int nvmlDeviceGetCount(unsigned *count);
int nvmlDeviceGetCount(unsigned *count) { return nvmlDeviceGetCount_v2(count); }

FAKE_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out);
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **out)
{
    int r = NV_OK;
    device(handles, &r);
    if (r == NV_UNINITIALIZED)
        return r;
    if (!out || index >= n_gpus)
        return NV_INVALID_ARGUMENT;
    *out = &handles[index];
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetHandleByUUID(const char *uuid, void **out);
int nvmlDeviceGetHandleByUUID(const char *uuid, void **out)
{
    char text[41];
    for (unsigned i = 0; uuid && out && i < n_gpus; i++) {
        fake_gpu_uuid_text(i, text);
        if (!strcmp(uuid, text))
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    }
    return uuid && out ? NV_NOT_FOUND : NV_INVALID_ARGUMENT;
}

FAKE_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out);
int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **out)
{
    unsigned domain, bus, dev;
    if (!id || !out || sscanf(id, "%x:%x:%x", &domain, &bus, &dev) != 3) /* NOLINT(cert-err34-c) */
        return NV_INVALID_ARGUMENT;
    for (unsigned i = 0; i < n_gpus; i++)
        if (!domain && !dev && fake_gpu_bus(i) == bus)
            return nvmlDeviceGetHandleByIndex_v2(i, out);
    return NV_NOT_FOUND;
}

FAKE_EXPORT int nvmlDeviceGetUUID(void *h, char *uuid, unsigned length);
int nvmlDeviceGetUUID(void *h, char *uuid, unsigned length)
{
    int r;
    int i = device(h, &r);
    if (i < 0)
        return r;
    if (!uuid || length < 41)
        return NV_INSUFFICIENT_SIZE;
    fake_gpu_uuid_text((unsigned)i, uuid);
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetName(void *h, char *name, unsigned length);
int nvmlDeviceGetName(void *h, char *name, unsigned length)
{
    int r;
    if (device(h, &r) < 0)
        return r;
    if (!name || length <= strlen(FAKE_GPU_NAME))
        return NV_INSUFFICIENT_SIZE;
    snprintf(name, length, "%s", FAKE_GPU_NAME);
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetIndex(void *h, unsigned *index);
int nvmlDeviceGetIndex(void *h, unsigned *index)
{
    int r;
    int i = device(h, &r);
    if (i < 0 || !index)
        return i < 0 ? r : NV_INVALID_ARGUMENT;
    *index = (unsigned)i;
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetPciInfo_v3(void *h, struct nv_pci *pci);
int nvmlDeviceGetPciInfo_v3(void *h, struct nv_pci *pci)
{
    int r;
    int i = device(h, &r);
    if (i < 0 || !pci)
        return i < 0 ? r : NV_INVALID_ARGUMENT;
    memset(pci, 0, sizeof *pci);
    pci->bus = fake_gpu_bus((unsigned)i);
    pci->device_id = 0x233010de;
    snprintf(pci->legacy, sizeof pci->legacy, "0000:%02X:00.0", pci->bus);
    snprintf(pci->bus_id, sizeof pci->bus_id, "00000000:%02X:00.0", pci->bus);
    return NV_OK;
}

static int memory(void *h, uint64_t *used)
{
    slow("slow");
    int r;
    int i = device(h, &r);
    if (i < 0)
        return r;
    if (mode("noperm", 0, NULL))
        return NV_NO_PERMISSION;
    if (mode("mig", 0, NULL))
        return NV_NOT_SUPPORTED;
    struct fake_state *s = the_state();
    if (s)
        fake_state_reap(s);
    *used = other + (s ? fake_state_used(s, (unsigned)i) : 0);
    slow("late");
    if (*used > total) /* another thread is about to give back what it could not have */
        *used = total;
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo(void *h, struct nv_memory *m);
int nvmlDeviceGetMemoryInfo(void *h, struct nv_memory *m)
{
    uint64_t used = 0;
    int r = m ? memory(h, &used) : NV_INVALID_ARGUMENT;
    if (!r)
        *m = (struct nv_memory){.total = total, .free = total - used, .used = used};
    return r;
}

FAKE_EXPORT int nvmlDeviceGetMemoryInfo_v2(void *h, struct nv_memory_v2 *m);
int nvmlDeviceGetMemoryInfo_v2(void *h, struct nv_memory_v2 *m)
{
    uint64_t used = 0;
    if (!m)
        return NV_INVALID_ARGUMENT;
    if (m->version != (sizeof *m | 2u << 24))
        return NV_VERSION_MISMATCH;
    int r = memory(h, &used);
    if (!r)
        *m = (struct nv_memory_v2){
            .version = m->version, .total = total, .free = total - used, .used = used};
    return r;
}

struct one {
    unsigned pid;
    uint64_t used;
};

static int processes(void *h, struct one *list, unsigned *n)
{
    slow("slow");
    int r;
    int i = device(h, &r);
    if (i < 0)
        return r;
    if (mode("noperm", 0, NULL))
        return NV_NO_PERMISSION;
    if (mode("nopids", 0, NULL) || mode("mig", 0, NULL))
        return NV_NOT_SUPPORTED;
    *n = 0;
    if (other)
        list[(*n)++] = (struct one){FAKE_OTHER_PID, other};
    struct fake_state *s = the_state();
    if (s)
        fake_state_reap(s);
    uint32_t slots = s ? atomic_load(&s->n_slots) : 0;
    for (uint32_t k = 0; k < slots && k < FAKE_SLOTS; k++) {
        uint32_t pid = atomic_load(&s->slots[k].pid);
        uint64_t used = atomic_load(&s->slots[k].used[i]);
        if (pid && used)
            list[(*n)++] = (struct one){pid, used};
    }
    return NV_OK;
}

FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses(void *h, unsigned *count,
                                                     struct nv_process_v1 *infos);
int nvmlDeviceGetComputeRunningProcesses(void *h, unsigned *count, struct nv_process_v1 *infos)
{
    struct one list[FAKE_SLOTS + 1];
    unsigned n = 0;
    int r = count ? processes(h, list, &n) : NV_INVALID_ARGUMENT;
    if (r)
        return r;
    bool fits = *count >= n && infos;
    *count = n;
    for (unsigned i = 0; fits && i < n; i++)
        infos[i] = (struct nv_process_v1){.pid = list[i].pid, .used = list[i].used};
    return fits || !n ? NV_OK : NV_INSUFFICIENT_SIZE;
}

FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *count,
                                                        struct nv_process_v2 *infos);
int nvmlDeviceGetComputeRunningProcesses_v3(void *h, unsigned *count, struct nv_process_v2 *infos)
{
    struct one list[FAKE_SLOTS + 1];
    unsigned n = 0;
    int r = count ? processes(h, list, &n) : NV_INVALID_ARGUMENT;
    if (r)
        return r;
    bool fits = *count >= n && infos;
    *count = n;
    for (unsigned i = 0; fits && i < n; i++)
        infos[i] = (struct nv_process_v2){.pid = list[i].pid,
                                          .used = list[i].used,
                                          .gpu_instance = UINT32_MAX,
                                          .compute_instance = UINT32_MAX};
    return fits || !n ? NV_OK : NV_INSUFFICIENT_SIZE;
}
FAKE_EXPORT int nvmlDeviceGetComputeRunningProcesses_v2(void *h, unsigned *count,
                                                        struct nv_process_v2 *infos);
int nvmlDeviceGetComputeRunningProcesses_v2(void *h, unsigned *count, struct nv_process_v2 *infos)
{
    return nvmlDeviceGetComputeRunningProcesses_v3(h, count, infos);
}

FAKE_EXPORT int nvmlDeviceGetMigMode(void *h, unsigned *current, unsigned *pending);
int nvmlDeviceGetMigMode(void *h, unsigned *current, unsigned *pending)
{
    int r;
    if (device(h, &r) < 0)
        return r;
    if (!current || !pending)
        return NV_INVALID_ARGUMENT;
    *current = *pending = mode("mig", 0, NULL);
    return NV_OK;
}

FAKE_EXPORT int nvmlSystemGetDriverVersion(char *version, unsigned length);
int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
    int r = NV_OK;
    device(handles, &r);
    if (r == NV_UNINITIALIZED)
        return r;
    if (!version || length < 16)
        return NV_INSUFFICIENT_SIZE;
    snprintf(version, length, "580.00.fake");
    return NV_OK;
}

FAKE_EXPORT int nvmlSystemGetNVMLVersion(char *version, unsigned length);
int nvmlSystemGetNVMLVersion(char *version, unsigned length)
{
    if (!version || length < 16)
        return NV_INSUFFICIENT_SIZE;
    snprintf(version, length, "13.580.00.fake");
    return NV_OK;
}

FAKE_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version);
int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
    if (!version)
        return NV_INVALID_ARGUMENT;
    *version = (int)fake_env_u64("FAKE_DRIVER", 13000);
    return NV_OK;
}

FAKE_EXPORT const char *nvmlErrorString(int result);
const char *nvmlErrorString(int result)
{
    switch (result) {
    case NV_OK: return "Success";
    case NV_UNINITIALIZED: return "Uninitialized";
    case NV_INVALID_ARGUMENT: return "Invalid Argument";
    case NV_NOT_SUPPORTED: return "Not Supported";
    case NV_NO_PERMISSION: return "Insufficient Permissions";
    case NV_NOT_FOUND: return "Not Found";
    case NV_INSUFFICIENT_SIZE: return "Insufficient Size";
    case NV_DRIVER_NOT_LOADED: return "Driver Not Loaded";
    case NV_LIBRARY_NOT_FOUND: return "NVML Shared Library Not Found";
    case NV_VERSION_MISMATCH: return "Argument version mismatch";
    default: return "Unknown Error";
    }
}
