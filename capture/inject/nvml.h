/* nvml.h -- NVML behind a few calls, for samples.c alone. Opened on the writer thread, never on the
 * job's. */
#ifndef MTI_NVML_H
#define MTI_NVML_H

#include "capture/inject/abi_nvml.h"

#include <stdbool.h>

#define MTI_USES_MAX 256u /* processes of one GPU; MPS and pools of workers have more than 64 */

/* Of the whole device. */
struct mti_nvml_memory {
    uint64_t used, free, total;
};
struct mti_nvml_use {
    uint32_t pid; /* in the pid namespace of the host */
    uint64_t used;
};

/* Loads and initialises; writes the STATUS that says which NVML, or why there is none. At most once
 * a process. */
bool mti_nvml_open(void);

/* The device that CUDA calls by this UUID (NULL: not known) or PCI address; never by index, which
 * counts differently. */
enum mti_nvml_found {
    MTI_NVML_NONE,
    MTI_NVML_GPU,
    MTI_NVML_MIG,
    MTI_NVML_PARENT /* of a MIG device that NVML does not show */
};
enum mti_nvml_found mti_nvml_find(const unsigned char *uuid, const char *pci,
                                  mti_nvml_device *device, int *error);

/* Both [any] once open: enum mti_nvml_result. At most MTI_USES_MAX uses are given. */
int mti_nvml_memory(mti_nvml_device device, struct mti_nvml_memory *m);
int mti_nvml_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n);
const char *mti_nvml_error(int error);

/* True when the last calls took more than 5 ms each. */
bool mti_nvml_slow(void);

/* "GPU-8a6b...": room for 41 bytes. */
void mti_uuid_text(const unsigned char uuid[16], const char *kind, char *out);

/* In a forked child. */
void mti_nvml_forget(void);

#endif
