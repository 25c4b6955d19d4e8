/* nvml_ways.h -- the two ways to NVML, for nvml.c and nvml_serve.c alone: in this process
 * (nvml_inside.c), or asked of a process of `memtrace capture` (nvml_page.c).
 *
 * The second is the default. On an H100 (driver 580.159, CUPTI 13.0.1) a process that is subscribed
 * to CUPTI and has NVML open stops for ever in its first cublasCreate(), waiting for a lock of
 * libcuda that it holds itself; without NVML in it, it does not. Why is not known. */
#ifndef MTI_NVML_WAYS_H
#define MTI_NVML_WAYS_H

#include "capture/inject/nvml.h"

#include <stdatomic.h>
#include <stddef.h>

/* ---- nvml_inside.c; results as in nvml.h; said: which NVML, or why there is none ---- */

bool mti_inside_open(char *said, size_t room);
enum mti_nvml_found mti_inside_find(const unsigned char *uuid, const char *pci,
                                    mti_nvml_device *device, int *error);
int mti_inside_memory(mti_nvml_device device, struct mti_nvml_memory *m);
int mti_inside_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n);
const char *mti_inside_error(int error);
void mti_inside_forget(void);

/* ---- the page: a file in the spool folder, mapped by the one that answers and all that ask ----
 */

#define MTI_PAGE_FILE "mt-nvml.part" /* made by `memtrace capture`, of sizeof(struct mti_page) */
#define MTI_PAGE_SLOTS 128u          /* processes that ask */
#define MTI_PAGE_DEVICES 64u

enum mti_page_state { MTI_PAGE_STARTING, MTI_PAGE_OPEN, MTI_PAGE_NONE };
enum mti_question { MTI_ASK_FIND, MTI_ASK_MEMORY, MTI_ASK_USES };
enum mti_slot_state { MTI_SLOT_IDLE, MTI_SLOT_ASKED, MTI_SLOT_ANSWERED };

struct mti_page {
    _Atomic uint32_t state; /* futex: enum mti_page_state */
    _Atomic uint32_t bell;  /* futex: counts questions */
    char said[256];         /* as of mti_inside_open() */
    struct mti_page_slot {
        _Atomic uint32_t owner; /* pid; 0 = free */
        _Atomic uint32_t state; /* futex: enum mti_slot_state */
        /* the question */
        uint32_t what, has_uuid, device; /* device: 1.., as answered to MTI_ASK_FIND */
        unsigned char uuid[16];
        char pci[32];
        /* the answer */
        int32_t error;
        uint32_t found, n;
        char text[64]; /* of the error */
        struct mti_nvml_memory memory;
        struct mti_nvml_use uses[MTI_USES_MAX];
    } slots[MTI_PAGE_SLOTS];
};
_Static_assert(sizeof(_Atomic uint32_t) == 4, "a futex");

/* ---- nvml_page.c: asking. One thread at a time, as the writer's ---- */

#define MTI_NVML_NO_ANSWER 0x7f01 /* an error of ours: the process that answers does not */

bool mti_page_open(char *said, size_t room);
enum mti_nvml_found mti_page_find(const unsigned char *uuid, const char *pci,
                                  mti_nvml_device *device, int *error);
int mti_page_memory(mti_nvml_device device, struct mti_nvml_memory *m);
int mti_page_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n);
const char *mti_page_error(int error);
void mti_page_forget(void);

#endif
