/* nvml_inside.c -- NVML in this process. The library is loaded at run time and never shut down:
 * others in the process may use it too. */
#include "capture/inject/inject.h"
#include "capture/inject/nvml_ways.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

static struct {
    void *library;
#define MTI_F(member, symbol, parameters) int(*member) parameters;
    MTI_NVML_FUNCTIONS(MTI_F)
#undef MTI_F
    const char *(*error)(int);
    bool tried, usable;
    _Atomic bool no_memory2; /* the function is there but this driver does not know it */
    _Atomic unsigned inside; /* threads that are in NVML now */
} N;

const char *mti_inside_error(int error)
{
    const char *text = N.error != NULL ? N.error(error) : NULL;
    return text != NULL                      ? text
           : error == MTI_NVML_NO_PERMISSION ? "no permission"
                                             : "unknown error";
}

/* Object pointer to function pointer, as dlsym() needs it. */
static void set(void *slot, const char *symbol)
{
    void *p = dlsym(N.library, symbol);
    memcpy(slot, &p, sizeof p);
}

bool mti_inside_open(char *said, size_t room)
{
    char version[64] = "", driver[64] = "";
    if (N.tried)
        return N.usable;
    N.tried = true;
    if (N.library == NULL)
        N.library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (N.library == NULL) {
        const char *why = dlerror();
        (void)snprintf(said, room, "%s", why != NULL ? why : "libnvidia-ml.so.1 is not there");
        return false;
    }
#define MTI_F(member, symbol, parameters) set(&N.member, symbol);
    MTI_NVML_FUNCTIONS(MTI_F)
#undef MTI_F
    set(&N.error, "nvmlErrorString");
    if (N.init == NULL || (N.memory1 == NULL && N.memory2 == NULL) ||
        (N.by_uuid == NULL && N.by_pci == NULL)) {
        (void)snprintf(said, room, "libnvidia-ml.so.1 lacks the functions that are needed");
        return false;
    }
    atomic_fetch_add(&N.inside, 1);
    int e = N.init();
    if (e == MTI_NVML_OK && N.version != NULL)
        (void)N.version(version, sizeof version);
    if (e == MTI_NVML_OK && N.driver != NULL)
        (void)N.driver(driver, sizeof driver);
    atomic_fetch_sub(&N.inside, 1);
    if (e != MTI_NVML_OK) {
        (void)snprintf(said, room, "nvmlInit_v2: %s (%d)", mti_inside_error(e), e);
        return false;
    }
    (void)snprintf(said, room, "NVML %s, driver %s; used bytes are %s the driver's reserve",
                   version[0] != '\0' ? version : "?", driver[0] != '\0' ? driver : "?",
                   N.memory2 == NULL ? "with" : "without");
    N.usable = true;
    return true;
}

enum mti_nvml_found mti_inside_find(const unsigned char *uuid, const char *pci,
                                    mti_nvml_device *device, int *error)
{
    enum mti_nvml_found found = MTI_NVML_NONE;
    char text[48], theirs[96] = "";
    *error = MTI_NVML_NOT_FOUND;
    atomic_fetch_add(&N.inside, 1);
    if (uuid != NULL && N.by_uuid != NULL) {
        mti_uuid_text(uuid, "GPU-", text);
        if ((*error = N.by_uuid(text, device)) == MTI_NVML_OK)
            found = MTI_NVML_GPU;
        else {
            mti_uuid_text(uuid, "MIG-", text);
            if (N.by_uuid(text, device) == MTI_NVML_OK)
                found = MTI_NVML_MIG;
        }
    }
    if (found == MTI_NVML_NONE && pci != NULL && pci[0] != '\0' && N.by_pci != NULL &&
        (*error = N.by_pci(pci, device)) == MTI_NVML_OK) {
        found = MTI_NVML_GPU;
        if (uuid != NULL && N.uuid != NULL &&
            N.uuid(*device, theirs, sizeof theirs) == MTI_NVML_OK) {
            mti_uuid_text(uuid, "GPU-", text);
            if (strcmp(text, theirs) != 0)
                found = MTI_NVML_PARENT;
        }
    }
    atomic_fetch_sub(&N.inside, 1);
    return found;
}

int mti_inside_memory(mti_nvml_device device, struct mti_nvml_memory *m)
{
    int e = MTI_NVML_NO_FUNCTION;
    atomic_fetch_add(&N.inside, 1);
    if (N.memory2 != NULL && !atomic_load(&N.no_memory2)) {
        struct mti_nvml_memory2 v = {.version = MTI_NVML_MEMORY2};
        e = N.memory2(device, &v);
        /* Not free = total - used: that would count the driver's reserve as free. */
        *m = (struct mti_nvml_memory){v.used, v.free, v.total};
    }
    if ((e == MTI_NVML_NO_FUNCTION || e == MTI_NVML_NOT_SUPPORTED) && N.memory1 != NULL) {
        struct mti_nvml_memory1 v = {0, 0, 0};
        int e1 = N.memory1(device, &v);
        if (e1 == MTI_NVML_OK && N.memory2 != NULL)
            atomic_store(&N.no_memory2, true);
        e = e1;
        *m = (struct mti_nvml_memory){v.used, v.free, v.total};
    }
    atomic_fetch_sub(&N.inside, 1);
    return e;
}

int mti_inside_uses(mti_nvml_device device, struct mti_nvml_use *uses, unsigned *n)
{
    struct mti_nvml_process2 p2[MTI_USES_MAX];
    struct mti_nvml_process1 p1[MTI_USES_MAX];
    int (*f)(mti_nvml_device, unsigned *, struct mti_nvml_process2 *) =
        N.processes3 != NULL ? N.processes3 : N.processes2;
    unsigned count = MTI_USES_MAX;
    int e = MTI_NVML_NO_FUNCTION;
    *n = 0;
    memset(p2, 0, sizeof p2);
    memset(p1, 0, sizeof p1);
    atomic_fetch_add(&N.inside, 1);
    if (f != NULL)
        e = f(device, &count, p2);
    bool first = e == MTI_NVML_NO_FUNCTION && N.processes1 != NULL;
    if (first) {
        count = MTI_USES_MAX;
        e = N.processes1(device, &count, p1);
    }
    atomic_fetch_sub(&N.inside, 1);
    if (e ==
        MTI_NVML_SIZE) /* more processes than room: what they gave, if anything, is of no use */
        return e;
    for (unsigned i = 0; e == MTI_NVML_OK && i < count && i < MTI_USES_MAX; i++)
        uses[(*n)++] = first ? (struct mti_nvml_use){p1[i].pid, p1[i].used}
                             : (struct mti_nvml_use){p2[i].pid, p2[i].used};
    return e;
}

/* A child that was forked while a thread was in NVML may find a lock of NVML taken for ever: it
 * goes without. */
void mti_inside_forget(void)
{
    N.tried = atomic_exchange(&N.inside, 0) > 0;
    N.usable = false;
}
