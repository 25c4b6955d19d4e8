/* contexts.c -- whose device a context is; the few questions that are put to the driver itself
 * (names of devices, free memory), always inside mti_enter() so that the callbacks they cause are
 * not recorded; measured changes. */
#define _GNU_SOURCE
#include "capture/inject/attach.h"
#include "capture/inject/cupti.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

#define SLOTS 256u
#define MAX_DEVICES 64u

static struct {
    mti_cu_version_fn version;
    mti_cu_ctx_device_fn ctx_device;
    mti_cu_ctx_current_fn ctx_current;
    mti_cu_uuid_fn uuid;
    mti_cu_text_fn name, pci;
    mti_cu_total_fn total;
    mti_cu_info_fn info;
    mti_cu_count_fn count;
    mti_cu_primary_fn primary;
} cu;

static struct {
    _Atomic uint64_t context; /* 0 = free */
    _Atomic uint32_t device;  /* ordinal + 1; 0 = being written just now */
} slots[SLOTS];
static _Atomic uint64_t devices_seen;
static _Atomic bool version_said;
static bool lazy;

/* Budget of measured changes: a fiftieth of the time since the first, and 200 ms. */
static _Atomic uint64_t measure_since, measure_spent;
/* In all, of a process, and only for a context. The process that asks NVML has it open before the
 * job begins, so a millisecond is the rule; in the process it has to be opened first. */
#define PATIENCE_NS (mti_set.nvml_inside ? UINT64_C(1000000000) : UINT64_C(100000000))
static _Atomic uint64_t waited;

static void *look(void *lib, const char *name) { return lib ? dlsym(lib, name) : NULL; }

#define LOOK(member, name)                                                                         \
    do {                                                                                           \
        void *p_ = look(lib, name);                                                                \
        memcpy(&cu.member, &p_, sizeof p_);                                                        \
    } while (0)

void mti_cuda_open(void)
{
    /* Only the one that is mapped: it called us. The reference stays, as the driver does. */
    void *lib = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!lib)
        lib = dlopen("libcuda.so", RTLD_LAZY | RTLD_NOLOAD);
    LOOK(version, "cuDriverGetVersion");
    LOOK(ctx_device, "cuCtxGetDevice");
    LOOK(ctx_current, "cuCtxGetCurrent");
    LOOK(uuid, "cuDeviceGetUuid_v2");
    if (!cu.uuid)
        LOOK(uuid, "cuDeviceGetUuid");
    LOOK(name, "cuDeviceGetName");
    LOOK(pci, "cuDeviceGetPCIBusId");
    LOOK(total, "cuDeviceTotalMem_v2");
    LOOK(info, "cuMemGetInfo_v2");
    LOOK(count, "cuDeviceGetCount");
    LOOK(primary, "cuDevicePrimaryCtxGetState");
    const char *loading = mti_env("CUDA_MODULE_LOADING");
    uint32_t version = 0;
    (void)mti_cuda_version(&version);
    /* The default of Linux since 12.2; to be had since 11.7. */
    lazy = loading && *loading ? !strcmp(loading, "LAZY") && version >= 11070 : version >= 12020;
}

bool mti_code_is_lazy(void) { return lazy; }

bool mti_cuda_version(uint32_t *version)
{
    int v = 0;
    if (!cu.version || cu.version(&v) != MTI_CU_SUCCESS || v <= 0)
        return false;
    *version = (uint32_t)v;
    return true;
}

void mti_device_used(uint32_t ordinal)
{
    if (ordinal >= MAX_DEVICES ||
        atomic_fetch_or_explicit(&devices_seen, UINT64_C(1) << ordinal, memory_order_relaxed) >>
                ordinal &
            1)
        return;
    struct mti_cu_uuid uuid;
    char pci[32] = "", name[128] = "";
    size_t total = 0;
    /* no such device, or too early to ask */
    if (cu.total && cu.total(&total, (int)ordinal) != MTI_CU_SUCCESS) {
        atomic_fetch_and_explicit(&devices_seen, ~(UINT64_C(1) << ordinal), memory_order_relaxed);
        return;
    }
    bool has_uuid = cu.uuid && cu.uuid(&uuid, (int)ordinal) == MTI_CU_SUCCESS;
    if (!cu.pci || cu.pci(pci, (int)sizeof pci, (int)ordinal) != MTI_CU_SUCCESS)
        pci[0] = 0;
    if (!cu.name || cu.name(name, (int)sizeof name, (int)ordinal) != MTI_CU_SUCCESS)
        name[0] = 0;
    pci[sizeof pci - 1] = name[sizeof name - 1] = 0;
    for (char *p = pci; *p; p++)
        if (*p >= 'A' && *p <= 'F')
            *p = (char)(*p - 'A' + 'a');
    mti_device_seen(ordinal, has_uuid ? uuid.bytes : NULL, pci, name, total);
    uint32_t v = 0;
    if (!atomic_exchange_explicit(&version_said, true, memory_order_relaxed)) {
        mti_cupti_probe(&v);
        if (v)
            mti_status(MT_ST_DRIVER, 0, "CUDA driver %u.%u", v / 1000, v % 1000 / 10);
    }
}

void mti_devices_there(void)
{
    int n = 0, active;
    unsigned flags;
    if (!cu.count || !cu.primary || cu.count(&n) != MTI_CU_SUCCESS)
        return; /* cuInit was not called yet */
    for (int i = 0; i < n; i++)
        if (cu.primary(i, &flags, &active) == MTI_CU_SUCCESS && active)
            mti_device_used((uint32_t)i);
}

static uint32_t home(uint64_t context)
{
    return (uint32_t)((context >> 4) * 0x9e3779b97f4a7c15u >> 48) & (SLOTS - 1);
}

static bool lookup(uint64_t context, uint32_t *ordinal)
{
    uint32_t at = home(context);
    for (uint32_t n = 0; n < 8; n++, at = (at + 1) & (SLOTS - 1)) {
        if (atomic_load_explicit(&slots[at].context, memory_order_acquire) == context) {
            uint32_t device = atomic_load_explicit(&slots[at].device, memory_order_relaxed);
            *ordinal = device - 1;
            return device != 0;
        }
    }
    return false;
}

void mti_context_is(uint64_t context, uint32_t ordinal)
{
    uint32_t was;
    if (!context || (lookup(context, &was) && was == ordinal))
        return;
    mti_device_used(ordinal);
    struct mti_w w;
    if (mti_begin(&w, MT_WR_CONTEXT, 2 * MT_VARINT_MAX)) {
        mti_u(&w, context);
        mti_u(&w, ordinal);
        mti_end(&w);
    }
    uint32_t at = home(context);
    for (uint32_t n = 0; n < 8; n++, at = (at + 1) & (SLOTS - 1)) {
        uint64_t expected = 0;
        /* Taken twice by two threads at once: both entries say the same. */
        if (atomic_compare_exchange_strong(&slots[at].context, &expected, context) ||
            expected == context) {
            atomic_store_explicit(&slots[at].device, ordinal + 1, memory_order_release);
            return;
        }
    }
    mti_context_gone(0); /* crowded: ask again from now on */
}

bool mti_has_context(uint32_t ordinal)
{
    for (uint32_t i = 0; i < SLOTS; i++)
        if (atomic_load_explicit(&slots[i].context, memory_order_relaxed) &&
            atomic_load_explicit(&slots[i].device, memory_order_relaxed) == ordinal + 1)
            return true;
    return false;
}

void mti_context_gone(uint64_t context)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        uint64_t is = atomic_load_explicit(&slots[i].context, memory_order_relaxed);
        if (is && (!context || is == context)) {
            atomic_store_explicit(&slots[i].device, 0, memory_order_relaxed);
            atomic_store_explicit(&slots[i].context, 0, memory_order_release);
        }
    }
}

bool mti_context_device(uint64_t context, bool may_ask, uint32_t *ordinal)
{
    if (!context)
        return false;
    if (lookup(context, ordinal))
        return true;
    if (!may_ask)
        return false;
    uint64_t current = 0;
    int device = -1;
    uint32_t id = UINT32_MAX;
    if (cu.ctx_current && cu.ctx_device && cu.ctx_current(&current) == MTI_CU_SUCCESS &&
        current == context && cu.ctx_device(&device) == MTI_CU_SUCCESS && device >= 0)
        id = (uint32_t)device;
    else if (!mti_cupti.device_id || mti_cupti.device_id(context, &id) != MTI_CUPTI_SUCCESS)
        return false;
    if (id >= MAX_DEVICES)
        return false;
    mti_context_is(context, id);
    *ordinal = id;
    return true;
}

bool mti_cuda_mem_info(uint64_t *free_bytes, uint64_t *total)
{
    size_t f = 0, t = 0;
    if (!cu.info || cu.info(&f, &t) != MTI_CU_SUCCESS)
        return false;
    *free_bytes = f;
    *total = t;
    return true;
}

bool mti_measure(uint32_t ordinal, bool patient, uint64_t *used, uint64_t *asked)
{
    if (!mti_set.nvml)
        return false;
    uint64_t t = mti_now(), since = 0;
    if (atomic_compare_exchange_strong(&measure_since, &since, t))
        since = t;
    uint64_t spent = atomic_load_explicit(&measure_spent, memory_order_relaxed);
    if (spent > UINT64_C(200000000) + (t - since) / 50)
        return false;
    bool ok = mti_gpu_used(ordinal, used);
    /* NVML opens on another thread; a context is worth waiting for, as it is what nothing else
     * records. */
    while (!ok && patient && mti_gpu_comes(ordinal) &&
           atomic_load_explicit(&waited, memory_order_relaxed) < PATIENCE_NS) {
        nanosleep(&(struct timespec){.tv_nsec = 1000000},
                  NULL); /* or longer: timer slack, throttling */
        uint64_t now = mti_now();
        atomic_fetch_add_explicit(&waited, now - t, memory_order_relaxed);
        t = now; /* waiting is not measuring: the end of the call has a claim to the budget */
        ok = mti_gpu_used(ordinal, used);
    }
    atomic_fetch_add_explicit(&measure_spent, mti_now() - t, memory_order_relaxed);
    *asked = t;
    return ok;
}

void mti_contexts_forget(void)
{
    for (uint32_t i = 0; i < SLOTS; i++) {
        slots[i].context = 0;
        slots[i].device = 0;
    }
    devices_seen = 0;
    version_said = false;
    measure_since = measure_spent = waited = 0;
}
