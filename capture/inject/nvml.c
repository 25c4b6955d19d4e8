/* nvml.c -- NVML behind a few calls, by one of two ways (nvml_ways.h). */
#include "capture/inject/inject.h"
#include "capture/inject/nvml_ways.h"

#include <stdio.h>
#include <string.h>

#define SLOW_NS 5000000u
#define TIMES 8u

static struct {
    bool tried, usable;
    _Atomic uint32_t took[TIMES]; /* us, of the last calls */
    _Atomic unsigned calls;
    _Atomic bool slow;
} N;

#define WAY(f) (mti_set.nvml_inside ? mti_inside_##f : mti_page_##f)

const char *mti_nvml_error(int error) { return WAY(error)(error); }
bool mti_nvml_slow(void) { return atomic_load(&N.slow); }

bool mti_nvml_open(void)
{
    char said[256] = "";
    if (N.tried)
        return N.usable;
    N.tried = true;
    N.usable = WAY(open)(said, sizeof said);
    mti_status(MT_ST_NVML, N.usable ? 0 : 1, "%s%s",
               N.usable ? "" : "no samples of the device: ", said);
    return N.usable;
}

void mti_uuid_text(const unsigned char uuid[16], const char *kind, char *out)
{
    static const char hex[] = "0123456789abcdef";
    size_t n = strlen(kind);
    memcpy(out, kind, n);
    for (unsigned i = 0; i < 16; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            out[n++] = '-';
        out[n++] = hex[uuid[i] >> 4];
        out[n++] = hex[uuid[i] & 15];
    }
    out[n] = '\0';
}

enum mti_nvml_found mti_nvml_find(const unsigned char *uuid, const char *pci,
                                  mti_nvml_device *device, int *error)
{
    return WAY(find)(uuid, pci, device, error);
}

/* The median of the last calls, and of no fewer than three: one that was interrupted does not
 * count, also where it is the first (with it, what the context took was not measured). */
static void timed(uint64_t ns)
{
    uint32_t t[TIMES] = {0}, us = ns / 1000 < UINT32_MAX ? (uint32_t)(ns / 1000) : UINT32_MAX;
    unsigned n = atomic_fetch_add(&N.calls, 1);
    atomic_store(&N.took[n % TIMES], us);
    unsigned have = n + 1 < TIMES ? n + 1 : TIMES;
    for (unsigned i = 0; i < have; i++) {
        uint32_t x = atomic_load(&N.took[i]);
        unsigned k = i;
        for (; k > 0 && t[k - 1] > x; k--)
            t[k] = t[k - 1];
        t[k] = x;
    }
    atomic_store(&N.slow, have >= 3 && t[have / 2] > SLOW_NS / 1000);
}

int mti_nvml_memory(mti_nvml_device device, struct mti_nvml_memory *m)
{
    uint64_t begin = mti_now();
    int e = WAY(memory)(device, m);
    timed(mti_now() - begin);
    return e;
}

int mti_nvml_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n)
{
    return WAY(uses)(device, uses, n);
}

void mti_nvml_forget(void)
{
    N.tried = N.usable = false;
    atomic_store(&N.slow, false);
    atomic_store(&N.calls, 0);
    mti_inside_forget();
    mti_page_forget();
}
