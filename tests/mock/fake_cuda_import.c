/* fake_cuda_import.c -- memory of others: pools that are shared, and memory of another interface.
 * None of it takes anything of the device: it is taken where it was made. */
#include "fake_cuda.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct shared_pool {
    uint32_t magic, device;
};
struct shared_pointer {
    uint32_t magic, pad;
    uint64_t size;
};
#define POOL_MAGIC 0x706f6f6cu
#define POINTER_MAGIC 0x706f696eu

/* ---- pools ---- */

int fake_cuMemPoolExportToShareableHandle(void *handle_out, void *pool, int handleType,
                                          unsigned long long flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    uint64_t used;
    if (!c)
        return r;
    if (!handle_out || handleType != 1 || flags || fake_cuMemPoolGetAttribute(pool, 7, &used))
        return FAKE_INVALID_VALUE;
    struct shared_pool s = {.magic = POOL_MAGIC, .device = c->ordinal};
    int fd = memfd_create("fake-pool", MFD_CLOEXEC);
    if (fd < 0 || write(fd, &s, sizeof s) != (ssize_t)sizeof s)
        return 999;
    *(int *)handle_out = fd;
    return FAKE_OK;
}

int fake_cuMemPoolImportFromShareableHandle(void **pool_out, void *handle, int handleType,
                                            unsigned long long flags)
{
    struct shared_pool s;
    int fd = (int)(intptr_t)handle;
    if (!pool_out || handleType != 1 || flags || pread(fd, &s, sizeof s, 0) != (ssize_t)sizeof s ||
        s.magic != POOL_MAGIC)
        return FAKE_INVALID_VALUE;
    struct fake_pool_props props = {.type = 1, .location = {.type = 1, .id = (int)s.device}};
    return fake_cuMemPoolCreate(pool_out, &props);
}

int fake_cuMemPoolExportPointer(struct fake_ipc *shareData_out, fake_ptr ptr)
{
    const struct fake_obj *o = fake_find(ptr, FAKE_K_ASYNC);
    if (!shareData_out || !o)
        return FAKE_INVALID_VALUE;
    struct shared_pointer s = {.magic = POINTER_MAGIC, .size = o->size};
    memset(shareData_out, 0, sizeof *shareData_out);
    memcpy(shareData_out, &s, sizeof s);
    return FAKE_OK;
}

/* An address of memory that is not this process's. */
static int imported(fake_ptr *out, uint64_t size)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    uint64_t a = fake_va_take(size);
    if (!a || !fake_new(a, FAKE_K_IMPORTED, size, 0, c->ordinal, c->uid))
        return FAKE_OOM;
    *out = a;
    return FAKE_OK;
}

int fake_cuMemPoolImportPointer(fake_ptr *ptr_out, void *pool, struct fake_ipc *shareData)
{
    struct shared_pointer s;
    uint64_t used;
    if (!ptr_out || !shareData || fake_cuMemPoolGetAttribute(pool, 7, &used))
        return FAKE_INVALID_VALUE;
    memcpy(&s, shareData, sizeof s);
    return s.magic == POINTER_MAGIC && s.size ? imported(ptr_out, s.size) : FAKE_INVALID_VALUE;
}

/* ---- memory of another interface, by a descriptor of a file ---- */

int fake_cuImportExternalMemory(void **extMem_out, const struct fake_external *d)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!extMem_out || !d || d->type != 1 || d->u.fd < 0 || !d->size || d->flags > 1)
        return FAKE_INVALID_VALUE;
    close(d->u.fd); /* from now on it is the driver's */
    uint64_t h = fake_handle_new();
    if (!fake_new(h, FAKE_K_EXTERNAL, d->size, 0, c->ordinal, c->uid))
        return FAKE_OOM;
    *extMem_out = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

int fake_cuExternalMemoryGetMappedBuffer(fake_ptr *devPtr, void *extMem,
                                         const struct fake_external_buffer *d)
{
    const struct fake_obj *o = fake_find((uintptr_t)extMem, FAKE_K_EXTERNAL);
    if (!devPtr || !o || !d || !d->size || d->flags || d->size > o->size ||
        d->offset > o->size - d->size)
        return FAKE_INVALID_VALUE;
    return imported(devPtr, d->size);
}

int fake_cuExternalMemoryGetMappedMipmappedArray(void **mipmap, void *extMem,
                                                 const struct fake_external_mipmap *d)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!mipmap || !d || !d->levels || !fake_find((uintptr_t)extMem, FAKE_K_EXTERNAL))
        return FAKE_INVALID_VALUE;
    uint64_t h = fake_handle_new();
    if (!fake_new(h, FAKE_K_MIPMAP, 0, 0, c->ordinal, c->uid))
        return FAKE_OOM;
    *mipmap = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    fake_memory2(1, 4, h, 0, c->ordinal, c->uid);
    return FAKE_OK;
}

int fake_cuDestroyExternalMemory(void *extMem)
{
    struct fake_obj *o = fake_take((uintptr_t)extMem, FAKE_K_EXTERNAL);
    free(o);
    return o ? FAKE_OK : FAKE_INVALID_VALUE;
}
