/* fake_cuda_mem.c -- memory by address: device, managed, pinned, arrays, IPC; modules; the table of
 * all objects. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- the table ---- */

#define SHARDS 64u
#define BUCKETS 1024u
static struct shard {
    pthread_mutex_t lock;
    struct fake_obj *bucket[BUCKETS];
} shards[SHARDS];
static pthread_once_t shards_once = PTHREAD_ONCE_INIT;

static void shards_init(void)
{
    for (unsigned i = 0; i < SHARDS; i++)
        pthread_mutex_init(&shards[i].lock, NULL);
}

static uint64_t mix(uint64_t k) { return (k ^ k >> 31) * 0x9e3779b97f4a7c15u; }

static struct shard *shard_of(uint64_t key, struct fake_obj ***bucket)
{
    uint64_t h = mix(key >> 6);
    struct shard *s = &shards[h >> 58];
    *bucket = &s->bucket[h >> 40 & (BUCKETS - 1)];
    pthread_once(&shards_once, shards_init);
    return s;
}

struct fake_obj *fake_new(uint64_t key, unsigned kind, uint64_t size, uint64_t charged,
                          unsigned device, uint32_t context)
{
    struct fake_obj *o = malloc(sizeof *o);
    if (!o)
        return NULL;
    *o = (struct fake_obj){.key = key,
                           .size = size,
                           .charged = charged,
                           .kind = kind,
                           .device = device,
                           .context = context,
                           .refs = 1};
    struct fake_obj **b;
    struct shard *s = shard_of(key, &b);
    pthread_mutex_lock(&s->lock);
    o->next = *b;
    *b = o;
    pthread_mutex_unlock(&s->lock);
    return o;
}

static struct fake_obj *lookup(uint64_t key, unsigned kinds, bool take)
{
    struct fake_obj **b;
    struct shard *s = shard_of(key, &b);
    pthread_mutex_lock(&s->lock);
    struct fake_obj *o;
    while ((o = *b) && (o->key != key || !(o->kind & kinds)))
        b = &o->next;
    if (o && take)
        *b = o->next;
    pthread_mutex_unlock(&s->lock);
    return o;
}
struct fake_obj *fake_find(uint64_t key, unsigned kinds) { return lookup(key, kinds, false); }
struct fake_obj *fake_take(uint64_t key, unsigned kinds) { return lookup(key, kinds, true); }

/* Gives back what o stands for. */
static void obj_release(struct fake_obj *o)
{
    if (o->kind & (FAKE_K_DEVICE | FAKE_K_MANAGED | FAKE_K_IPC | FAKE_K_IMPORTED))
        fake_va_give(o->key, o->size);
    if (o->kind == FAKE_K_HOST)
        munmap((void *)(uintptr_t)o->key,
               o->size); /* NOLINT(performance-no-int-to-ptr): a driver deals in addresses */
    fake_refund(o->device, o->charged);
    free(o);
}

void fake_free_of_context(uint32_t context)
{
    pthread_once(&shards_once, shards_init);
    for (unsigned i = 0; i < SHARDS; i++) {
        pthread_mutex_lock(&shards[i].lock);
        for (unsigned j = 0; j < BUCKETS; j++)
            for (struct fake_obj **b = &shards[i].bucket[j], *o; (o = *b);) {
                if (o->context != context) {
                    b = &o->next;
                    continue;
                }
                *b = o->next;
                obj_release(o);
            }
        pthread_mutex_unlock(&shards[i].lock);
    }
}

/* ---- device addresses ---- */

static _Atomic uint64_t va_next = 0x100000000000u; /* below what the kernel gives to programs */
static struct va_class {
    pthread_mutex_t lock;
    uint64_t *free;
    size_t n, cap;
} va_classes[48] = {{.lock = PTHREAD_MUTEX_INITIALIZER}};
static pthread_once_t va_once = PTHREAD_ONCE_INIT;

static void va_init(void)
{
    for (unsigned i = 0; i < 48; i++)
        pthread_mutex_init(&va_classes[i].lock, NULL);
}

static unsigned va_class_of(uint64_t size)
{
    return size <= 512 ? 9 : (unsigned)(64 - __builtin_clzll(size - 1));
}

uint64_t fake_va_take(uint64_t size)
{
    unsigned k = va_class_of(size);
    if (k >= 46)
        return 0;
    pthread_once(&va_once, va_init);
    struct va_class *c = &va_classes[k];
    uint64_t a = 0;
    pthread_mutex_lock(&c->lock);
    if (c->n)
        a = c->free[--c->n];
    pthread_mutex_unlock(&c->lock);
    if (a)
        return a;
    /* Aligned by always taking multiples of 2 MiB or of the class's own power of two below that. */
    uint64_t take = (uint64_t)1 << k, align = take < 2 * FAKE_MB ? take : 2 * FAKE_MB;
    uint64_t at = atomic_fetch_add(&va_next, take + align);
    return (at + align - 1) & ~(align - 1);
}

void fake_va_give(uint64_t addr, uint64_t size)
{
    struct va_class *c = &va_classes[va_class_of(size)];
    pthread_mutex_lock(&c->lock);
    if (c->n == c->cap) {
        size_t cap = c->cap ? c->cap * 2 : 64;
        uint64_t *p = realloc(c->free, cap * sizeof *p);
        if (p) {
            c->free = p;
            c->cap = cap;
        }
    }
    if (c->n < c->cap)
        c->free[c->n++] = addr;
    pthread_mutex_unlock(&c->lock);
}

uint64_t fake_handle_new(void)
{
    static _Atomic uint64_t next = 0x550000000000u;
    return atomic_fetch_add(&next, 64);
}

/* ---- device and managed memory ---- */

static uint64_t rounded(uint64_t n)
{
    return fake_m.round ? (n + fake_m.round - 1) / fake_m.round * fake_m.round : n;
}

static int device_alloc(fake_ptr *out, uint64_t size, enum fake_kind kind, uint32_t activity_kind)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!out || !size)
        return FAKE_INVALID_VALUE;
    uint64_t charged = kind == FAKE_K_MANAGED ? 0 : rounded(size);
    if (size > (uint64_t)1 << 45 || !fake_charge(c->ordinal, charged))
        return FAKE_OOM;
    uint64_t a = fake_va_take(size);
    if (!a || !fake_new(a, kind, size, charged, c->ordinal, c->uid)) {
        fake_refund(c->ordinal, charged);
        return FAKE_OOM;
    }
    *out = a;
    fake_memory2(1, activity_kind, a, size, c->ordinal, c->uid);
    return FAKE_OK;
}

int fake_cuMemAlloc_v2(fake_ptr *dptr, size_t bytesize)
{
    return device_alloc(dptr, bytesize, FAKE_K_DEVICE, 3);
}
int fake_cuMemFutureAlloc(fake_ptr *dptr, size_t bytesize)
{
    return device_alloc(dptr, bytesize, FAKE_K_DEVICE, 3);
}

int fake_cuMemAllocPitch_v2(fake_ptr *dptr, size_t *pPitch, size_t WidthInBytes, size_t Height,
                            unsigned ElementSizeBytes)
{
    if (!pPitch || (ElementSizeBytes != 4 && ElementSizeBytes != 8 && ElementSizeBytes != 16))
        return FAKE_INVALID_VALUE;
    size_t pitch = (WidthInBytes + 511) & ~(size_t)511;
    if (Height && pitch > SIZE_MAX / Height)
        return FAKE_INVALID_VALUE;
    int r = device_alloc(dptr, pitch * Height, FAKE_K_DEVICE, 3);
    if (!r)
        *pPitch = pitch;
    return r;
}

int fake_cuMemAllocManaged(fake_ptr *dptr, size_t bytesize, unsigned flags)
{
    if (flags != 1 && flags != 2)
        return FAKE_INVALID_VALUE;
    return device_alloc(dptr, bytesize, FAKE_K_MANAGED, 5);
}

int fake_cuMemFree_v2(fake_ptr dptr)
{
    int r = FAKE_OK;
    if (!fake_current(&r))
        return r;
    struct fake_obj *o = fake_take(dptr, FAKE_K_DEVICE | FAKE_K_MANAGED | FAKE_K_IMPORTED);
    if (!o)
        return fake_find(dptr, FAKE_K_ASYNC) ? fake_cuMemFreeAsync(dptr, NULL) : FAKE_INVALID_VALUE;
    fake_memory2(2, o->kind == FAKE_K_MANAGED ? 5 : 3, o->key, o->size, o->device, o->context);
    obj_release(o);
    return FAKE_OK;
}

int fake_cuMemGetInfo_v2(size_t *free_, size_t *total)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!free_ || !total)
        return FAKE_INVALID_VALUE;
    *free_ = fake_free_bytes(c->ordinal);
    *total = fake_m.total;
    return FAKE_OK;
}

int fake_cuPointerGetAttribute(void *data, int attribute, fake_ptr ptr)
{
    struct fake_obj *o =
        fake_find(ptr, FAKE_K_DEVICE | FAKE_K_MANAGED | FAKE_K_HOST | FAKE_K_ASYNC);
    if (!data || !o)
        return FAKE_INVALID_VALUE;
    switch (attribute) {
    case 2: *(unsigned *)data = o->kind == FAKE_K_HOST ? 1 : 2; return FAKE_OK; /* memory type */
    case 9: *(int *)data = (int)o->device; return FAKE_OK;                      /* device ordinal */
    default: return FAKE_INVALID_VALUE;
    }
}

/* ---- host memory ---- */

int fake_cuMemHostAlloc(void **pp, size_t bytesize, unsigned Flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!pp || !bytesize || Flags > 7)
        return FAKE_INVALID_VALUE;
    void *p = mmap(NULL, bytesize, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return FAKE_OOM;
    if (!fake_new((uintptr_t)p, FAKE_K_HOST, bytesize, 0, c->ordinal, c->uid)) {
        munmap(p, bytesize);
        return FAKE_OOM;
    }
    *pp = p;
    fake_memory2(1, 2, (uintptr_t)p, bytesize, c->ordinal, c->uid);
    return FAKE_OK;
}
int fake_cuMemAllocHost_v2(void **pp, size_t bytesize)
{
    return fake_cuMemHostAlloc(pp, bytesize, 0);
}

int fake_cuMemFreeHost(void *p)
{
    int r = FAKE_OK;
    if (!fake_current(&r))
        return r;
    struct fake_obj *o = fake_take((uintptr_t)p, FAKE_K_HOST);
    if (!o)
        return FAKE_INVALID_VALUE;
    fake_memory2(2, 2, o->key, o->size, o->device, o->context);
    obj_release(o);
    return FAKE_OK;
}

int fake_cuMemHostRegister_v2(void *p, size_t bytesize, unsigned Flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!p || !bytesize || Flags > 15)
        return FAKE_INVALID_VALUE;
    if (fake_find((uintptr_t)p, FAKE_K_REGISTERED))
        return FAKE_ALREADY_REGISTERED;
    return fake_new((uintptr_t)p, FAKE_K_REGISTERED, bytesize, 0, c->ordinal, c->uid) ? FAKE_OK
                                                                                      : FAKE_OOM;
}

int fake_cuMemHostUnregister(void *p)
{
    struct fake_obj *o = fake_take((uintptr_t)p, FAKE_K_REGISTERED);
    if (!o)
        return FAKE_NOT_REGISTERED;
    obj_release(o);
    return FAKE_OK;
}

/* ---- IPC ---- */

struct ipc {
    uint32_t magic, pid;
    uint64_t addr, size, pad;
};

int fake_cuIpcGetMemHandle(struct fake_ipc *pHandle, fake_ptr dptr)
{
    struct fake_obj *o = fake_find(dptr, FAKE_K_DEVICE);
    if (!pHandle || !o)
        return FAKE_INVALID_VALUE;
    struct ipc h = {
        .magic = 0x69706331, .pid = (uint32_t)getpid(), .addr = o->key, .size = o->size};
    memset(pHandle, 0, sizeof *pHandle);
    memcpy(pHandle, &h, sizeof h);
    return FAKE_OK;
}

int fake_cuIpcOpenMemHandle_v2(fake_ptr *pdptr, struct fake_ipc handle, unsigned Flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    struct ipc h;
    memcpy(&h, &handle, sizeof h);
    if (!pdptr || h.magic != 0x69706331 || Flags > 1)
        return FAKE_INVALID_VALUE;
    if (h.pid == (uint32_t)getpid()) /* the exporter itself cannot open it */
        return FAKE_INVALID_CONTEXT;
    uint64_t a = fake_va_take(h.size);
    if (!a || !fake_new(a, FAKE_K_IPC, h.size, 0, c->ordinal, c->uid))
        return FAKE_OOM;
    *pdptr = a;
    return FAKE_OK;
}
int fake_cuIpcOpenMemHandle(fake_ptr *pdptr, struct fake_ipc handle, unsigned Flags)
{
    return fake_cuIpcOpenMemHandle_v2(pdptr, handle, Flags);
}

int fake_cuIpcCloseMemHandle(fake_ptr dptr)
{
    struct fake_obj *o = fake_take(dptr, FAKE_K_IPC);
    if (!o)
        return FAKE_INVALID_VALUE;
    obj_release(o);
    return FAKE_OK;
}

/* ---- arrays ---- */

static uint64_t texel(int format, unsigned channels)
{
    uint64_t n = format == 0x20 || format == 3 || format == 10  ? 4
                 : format == 2 || format == 9 || format == 0x10 ? 2
                                                                : 1;
    return n * channels;
}

static int array_new(void **out, uint64_t bytes, enum fake_kind kind)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!out || !bytes)
        return FAKE_INVALID_VALUE;
    if (!fake_charge(c->ordinal, bytes))
        return FAKE_OOM;
    uint64_t h = fake_handle_new();
    if (!fake_new(h, kind, bytes, bytes, c->ordinal, c->uid)) {
        fake_refund(c->ordinal, bytes);
        return FAKE_OOM;
    }
    *out = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    fake_memory2(1, 4, h, bytes, c->ordinal, c->uid);
    return FAKE_OK;
}

static int array_free(void *h, enum fake_kind kind)
{
    struct fake_obj *o = fake_take((uintptr_t)h, kind);
    if (!o)
        return FAKE_INVALID_HANDLE;
    fake_memory2(2, 4, o->key, o->size, o->device, o->context);
    obj_release(o);
    return FAKE_OK;
}

int fake_cuArrayCreate_v2(void **pHandle, const struct fake_array_desc *d)
{
    if (!d || !d->width || d->channels > 4)
        return FAKE_INVALID_VALUE;
    return array_new(pHandle,
                     d->width * (d->height ? d->height : 1) * texel(d->format, d->channels),
                     FAKE_K_ARRAY);
}

static uint64_t array3d_bytes(const struct fake_array3d_desc *d)
{
    if (!d || !d->width || d->channels > 4)
        return 0;
    return d->width * (d->height ? d->height : 1) * (d->depth ? d->depth : 1) *
           texel(d->format, d->channels);
}
int fake_cuArray3DCreate_v2(void **pHandle, const struct fake_array3d_desc *d)
{
    return array_new(pHandle, array3d_bytes(d), FAKE_K_ARRAY);
}
int fake_cuArrayDestroy(void *hArray) { return array_free(hArray, FAKE_K_ARRAY); }

int fake_cuMipmappedArrayCreate(void **pHandle, const struct fake_array3d_desc *d,
                                unsigned numMipmapLevels)
{
    uint64_t bytes = array3d_bytes(d), sum = 0;
    for (unsigned i = 0; i < numMipmapLevels && i < 16 && bytes; i++, bytes /= 4)
        sum += bytes;
    return array_new(pHandle, sum, FAKE_K_MIPMAP);
}
int fake_cuMipmappedArrayDestroy(void *h) { return array_free(h, FAKE_K_MIPMAP); }

/* ---- modules: their images never go through an allocation call ---- */

/* `refs` of a module says whether its code is on the device. */
enum { LOADED = 6, UNLOADS = 7 };

static void tell_code(uint32_t id, const struct fake_obj *o)
{
    const unsigned char *mask =
        atomic_load_explicit(&fake_cuda_hooks.resources, memory_order_acquire);
    if (!mask || !mask[id])
        return;
    struct fake_code code = {
        .id = (uint32_t)(o->key >> 4), .size = fake_m.module / 8 * 5, .image = "image"};
    struct fake_resource r = {.context = fake_current(NULL), .descriptor = &code};
    fake_cuda_hooks.resource(id, &r);
}

static int bring_code(struct fake_obj *o)
{
    if (o->refs)
        return FAKE_OK;
    if (!fake_charge(o->device, fake_m.module))
        return FAKE_OOM;
    o->charged = fake_m.module;
    o->refs = 1;
    tell_code(LOADED, o);
    return FAKE_OK;
}

int fake_cuLaunchKernelEx(const void *config, void *f, void **kernelParams, void **extra)
{
    (void)kernelParams, (void)extra;
    struct fake_obj *o = fake_find((uintptr_t)f, FAKE_K_MODULE | FAKE_K_LIBRARY);
    return !config ? FAKE_INVALID_VALUE : !o ? FAKE_INVALID_HANDLE : bring_code(o);
}

static int module_load(void **out, const void *what, enum fake_kind kind)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    if (!out || !what)
        return FAKE_INVALID_VALUE;
    uint64_t h = fake_handle_new();
    struct fake_obj *o = fake_new(h, kind, 0, 0, c->ordinal, c->uid);
    if (!o)
        return FAKE_OOM;
    o->refs = 0;
    r = fake_m.lazy ? FAKE_OK : bring_code(o);
    if (r) {
        free(fake_take(h, kind));
        return r;
    }
    *out = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

static int module_unload(void *h, enum fake_kind kind)
{
    struct fake_obj *o = fake_take((uintptr_t)h, kind);
    if (!o)
        return FAKE_INVALID_HANDLE;
    if (kind & (FAKE_K_MODULE | FAKE_K_LIBRARY) && o->refs)
        tell_code(UNLOADS, o);
    obj_release(o);
    return FAKE_OK;
}

int fake_cuModuleLoad(void **module, const char *fname)
{
    if (fname && access(fname, R_OK))
        return FAKE_FILE_NOT_FOUND;
    return module_load(module, fname, FAKE_K_MODULE);
}
int fake_cuModuleLoadData(void **module, const void *image)
{
    return module_load(module, image, FAKE_K_MODULE);
}
int fake_cuModuleLoadDataEx(void **module, const void *image, unsigned numOptions, int *options,
                            void **optionValues)
{
    if (numOptions && (!options || !optionValues))
        return FAKE_INVALID_VALUE;
    return module_load(module, image, FAKE_K_MODULE);
}
int fake_cuModuleLoadFatBinary(void **module, const void *fatCubin)
{
    return module_load(module, fatCubin, FAKE_K_MODULE);
}
int fake_cuModuleUnload(void *hmod) { return module_unload(hmod, FAKE_K_MODULE); }

int fake_cuLibraryLoadData(void **library, const void *code, int *jitOptions,
                           void **jitOptionsValues, unsigned numJitOptions, int *libraryOptions,
                           void **libraryOptionValues, unsigned numLibraryOptions)
{
    if ((numJitOptions && (!jitOptions || !jitOptionsValues)) ||
        (numLibraryOptions && (!libraryOptions || !libraryOptionValues)))
        return FAKE_INVALID_VALUE;
    return module_load(library, code, FAKE_K_LIBRARY);
}
int fake_cuLibraryLoadFromFile(void **library, const char *fileName, int *jitOptions,
                               void **jitOptionsValues, unsigned numJitOptions, int *libraryOptions,
                               void **libraryOptionValues, unsigned numLibraryOptions)
{
    if (fileName && access(fileName, R_OK))
        return FAKE_FILE_NOT_FOUND;
    return fake_cuLibraryLoadData(library, fileName, jitOptions, jitOptionsValues, numJitOptions,
                                  libraryOptions, libraryOptionValues, numLibraryOptions);
}
int fake_cuLibraryUnload(void *library) { return module_unload(library, FAKE_K_LIBRARY); }

/* ---- streams ---- */

int fake_cuStreamCreate(void **phStream, unsigned Flags)
{
    int r = FAKE_OK;
    struct fake_context *c = fake_current(&r);
    if (!c)
        return r;
    uint64_t h = fake_handle_new();
    if (!phStream || Flags > 1 || !fake_new(h, FAKE_K_STREAM, 0, 0, c->ordinal, c->uid))
        return FAKE_INVALID_VALUE;
    *phStream = (void *)(uintptr_t)h; /* NOLINT(performance-no-int-to-ptr) */
    return FAKE_OK;
}

int fake_cuStreamDestroy_v2(void *hStream) { return module_unload(hStream, FAKE_K_STREAM); }

int fake_cuStreamSynchronize(void *hStream)
{
    if ((uintptr_t)hStream > 2 && !fake_find((uintptr_t)hStream, FAKE_K_STREAM))
        return FAKE_INVALID_HANDLE;
    fake_pools_trim();
    return FAKE_OK;
}
