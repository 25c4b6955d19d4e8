/* abi_nvml.h -- the few functions and structures of NVML that are used, in our own words (they are
 * documented in NVIDIA's NVML API reference), so that no header is needed to build. All are found
 * by dlsym() in libnvidia-ml.so.1. */
#ifndef MTI_ABI_NVML_H
#define MTI_ABI_NVML_H

#include <stddef.h>
#include <stdint.h>

enum mti_nvml_result {
    MTI_NVML_OK = 0,
    MTI_NVML_NOT_SUPPORTED = 3,
    MTI_NVML_NO_PERMISSION = 4,
    MTI_NVML_NOT_FOUND = 6,
    MTI_NVML_SIZE = 7, /* more room is needed; the count says how much */
    MTI_NVML_DRIVER_NOT_LOADED = 9,
    MTI_NVML_NO_FUNCTION = 13,
    MTI_NVML_GPU_LOST = 15
};

/* nvmlDeviceGetMemoryInfo: `used` includes what the driver and firmware keep for themselves. */
struct mti_nvml_memory1 {
    unsigned long long total, free, used;
};

/* nvmlDeviceGetMemoryInfo_v2: `version` goes in; what the driver keeps is in `reserved`, and `used`
 * is without it: total = reserved + used + free. */
struct mti_nvml_memory2 {
    unsigned version;
    unsigned long long total, reserved, free, used;
};
#define MTI_NVML_MEMORY2 ((unsigned)sizeof(struct mti_nvml_memory2) | 2u << 24)
_Static_assert(sizeof(void *) != 8 || sizeof(struct mti_nvml_memory2) == 40, "as in nvml.h");

/* nvmlDeviceGetComputeRunningProcesses (the first version) and its successors _v2 and _v3, which
 * share one structure. `used` is UINT64_MAX where it is not available. */
struct mti_nvml_process1 {
    unsigned pid;
    unsigned long long used;
};
struct mti_nvml_process2 {
    unsigned pid;
    unsigned long long used;
    unsigned gpu_instance, compute_instance; /* UINT32_MAX without MIG */
};
_Static_assert(sizeof(void *) != 8 || sizeof(struct mti_nvml_process2) == 24, "as in nvml.h");

typedef void *mti_nvml_device;

/* MTI_F(member, symbol, parameters) */
#define MTI_NVML_FUNCTIONS(MTI_F)                                                                  \
    MTI_F(init, "nvmlInit_v2", (void))                                                             \
    MTI_F(driver, "nvmlSystemGetDriverVersion", (char *, unsigned))                                \
    MTI_F(version, "nvmlSystemGetNVMLVersion", (char *, unsigned))                                 \
    MTI_F(by_uuid, "nvmlDeviceGetHandleByUUID", (const char *, mti_nvml_device *))                 \
    MTI_F(by_pci, "nvmlDeviceGetHandleByPciBusId_v2", (const char *, mti_nvml_device *))           \
    MTI_F(uuid, "nvmlDeviceGetUUID", (mti_nvml_device, char *, unsigned))                          \
    MTI_F(memory1, "nvmlDeviceGetMemoryInfo", (mti_nvml_device, struct mti_nvml_memory1 *))        \
    MTI_F(memory2, "nvmlDeviceGetMemoryInfo_v2", (mti_nvml_device, struct mti_nvml_memory2 *))     \
    MTI_F(processes1, "nvmlDeviceGetComputeRunningProcesses",                                      \
          (mti_nvml_device, unsigned *, struct mti_nvml_process1 *))                               \
    MTI_F(processes2, "nvmlDeviceGetComputeRunningProcesses_v2",                                   \
          (mti_nvml_device, unsigned *, struct mti_nvml_process2 *))                               \
    MTI_F(processes3, "nvmlDeviceGetComputeRunningProcesses_v3",                                   \
          (mti_nvml_device, unsigned *, struct mti_nvml_process2 *))

#endif
