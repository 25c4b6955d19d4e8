/* fake_cuda_vmm.c -- virtual memory management: reservations, physical handles with reference
 * counts, mappings, multicast. */
#include "fake_cuda.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE (2 * FAKE_MB)

/* Physical memory: lives while a handle or a mapping refers to it. */
struct phys {
    uint64_t size, charged;
    unsigned device, refs;
};

struct handle {
    fake_handle value;
    struct phys *phys; /* NULL = multicast */
    unsigned refs, maps;
    uint64_t size;
    struct handle *next;
};

struct mapping {
    uint64_t addr, size;
    struct handle *handle;
};

/* One pointer per 2 MiB page, to the mapping that covers it. */
struct reservation {
    uint64_t addr, size;
    struct mapping **page;
};

static pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;
#define HANDLE_BUCKETS 4096u
static struct handle *handles[HANDLE_BUCKETS];
static struct handle *spare; /* values come back, as the driver's do */
static fake_handle last_handle = 0x600000000000u;
static struct reservation *reservations; /* sorted by address */
static size_t n_reservations, cap_reservations;
static uint64_t next_va = 0x300000000000u;

static struct handle **handle_at(fake_handle value)
{
    struct handle **p = &handles[value >> 5 & (HANDLE_BUCKETS - 1)];
    while (*p && (*p)->value != value)
        p = &(*p)->next;
    return p;
}

/* A handle that the program may still use. */
static struct handle *handle_get(fake_handle value)
{
    struct handle *h = *handle_at(value);
    return h && h->refs ? h : NULL;
}

static struct handle *handle_new(struct phys *p, uint64_t size)
{
    struct handle *h = spare;
    fake_handle value = h ? h->value : last_handle + 32;
    if (h)
        spare = h->next;
    else if (!(h = malloc(sizeof *h)))
        return NULL;
    else
        last_handle = value;
    *h = (struct handle){.value = value, .phys = p, .refs = 1, .size = size};
    *handle_at(value) = h; /* not in the table: the end of its chain */
    return h;
}

static void handle_maybe_gone(struct handle *h)
{
    if (h->refs || h->maps)
        return;
    struct handle **at = handle_at(h->value);
    *at = h->next;
    if (h->phys && !--h->phys->refs) {
        fake_refund(h->phys->device, h->phys->charged);
        free(h->phys);
    }
    h->next = spare;
    spare = h;
}

/* Index of the first reservation that ends beyond addr. */
static size_t reservation_index(uint64_t addr)
{
    size_t lo = 0, hi = n_reservations;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (reservations[mid].addr + reservations[mid].size > addr)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

static struct reservation *reservation_of(uint64_t addr, uint64_t size)
{
    size_t i = reservation_index(addr);
    if (i == n_reservations || addr < reservations[i].addr)
        return NULL;
    struct reservation *r = &reservations[i];
    return size <= r->size && addr - r->addr <= r->size - size ? r : NULL;
}

static bool range_free(uint64_t addr, uint64_t size)
{
    size_t i = reservation_index(addr);
    return i == n_reservations || reservations[i].addr >= addr + size;
}

static int reserve(fake_ptr *ptr, uint64_t size, uint64_t align, uint64_t hint)
{
    uint64_t a = hint;
    if (!a || a % align || !range_free(a, size)) {
        /* The lowest hole, so that freed ranges come back, as they do in reality.
         */
        a = next_va;
        for (size_t i = reservation_index(a); i < n_reservations; i++) {
            if (reservations[i].addr >= a + size)
                break;
            a = (reservations[i].addr + reservations[i].size + align - 1) / align * align;
        }
        a = (a + align - 1) / align * align;
    }
    if (a + size < a || a + size > 0x7f0000000000u)
        return FAKE_OOM;
    if (n_reservations == cap_reservations) {
        size_t cap = cap_reservations ? cap_reservations * 2 : 16;
        struct reservation *p = realloc(reservations, cap * sizeof *p);
        if (!p)
            return FAKE_OOM;
        reservations = p;
        cap_reservations = cap;
    }
    struct mapping **page = calloc(size / PAGE, sizeof *page);
    if (!page)
        return FAKE_OOM;
    size_t i = reservation_index(a);
    memmove(reservations + i + 1, reservations + i, (n_reservations - i) * sizeof *reservations);
    reservations[i] = (struct reservation){.addr = a, .size = size, .page = page};
    n_reservations++;
    *ptr = a;
    return FAKE_OK;
}

int fake_cuMemAddressReserve(fake_ptr *ptr, size_t size, size_t alignment, fake_ptr addr,
                             unsigned long long flags)
{
    if (!ptr || !size || size % PAGE || flags || (alignment & (alignment - 1)) ||
        size > (uint64_t)1 << 45)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    int r = reserve(ptr, size, alignment > PAGE ? alignment : PAGE, addr);
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

int fake_cuMemAddressFree(fake_ptr ptr, size_t size)
{
    pthread_mutex_lock(&vmm_lock);
    struct reservation *v = reservation_of(ptr, size);
    int r = v && v->addr == ptr && v->size == size ? FAKE_OK : FAKE_INVALID_VALUE;
    for (uint64_t i = 0; !r && i < size / PAGE; i++)
        if (v->page[i])
            r = FAKE_INVALID_VALUE; /* something is still mapped */
    if (!r) {
        free((void *)v->page);
        size_t at = (size_t)(v - reservations);
        memmove(v, v + 1, (n_reservations - at - 1) * sizeof *v);
        n_reservations--;
    }
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

static int create(fake_handle *out, uint64_t size, const struct fake_location *where)
{
    bool gpu = where->type == 1;
    if (gpu && !fake_ordinal_ok(where->id))
        return FAKE_INVALID_DEVICE;
    unsigned dev = gpu ? (unsigned)where->id : 0;
    uint64_t charged = gpu ? size : 0;
    if (charged && !fake_charge(dev, charged))
        return FAKE_OOM;
    struct phys *p = malloc(sizeof *p);
    struct handle *h = p ? handle_new(p, size) : NULL;
    if (!h) {
        free(p);
        fake_refund(dev, charged);
        return FAKE_OOM;
    }
    *p = (struct phys){.size = size, .charged = charged, .device = dev, .refs = 1};
    *out = h->value;
    return FAKE_OK;
}

int fake_cuMemCreate(fake_handle *handle, size_t size, const struct fake_alloc_prop *prop,
                     unsigned long long flags)
{
    if (!handle || !size || size % PAGE || !prop || prop->type != 1 || flags ||
        prop->location.type < 1 || prop->location.type > 4)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    int r = create(handle, size, &prop->location);
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

int fake_cuMemRelease(fake_handle handle)
{
    pthread_mutex_lock(&vmm_lock);
    struct handle *h = handle_get(handle);
    if (h) {
        h->refs--;
        handle_maybe_gone(h);
    }
    pthread_mutex_unlock(&vmm_lock);
    return h ? FAKE_OK : FAKE_INVALID_VALUE;
}

static int map(uint64_t ptr, uint64_t size, struct handle *h)
{
    struct reservation *v = reservation_of(ptr, size);
    if (!v || (ptr - v->addr) % PAGE)
        return FAKE_INVALID_VALUE;
    uint64_t first = (ptr - v->addr) / PAGE, n = size / PAGE;
    for (uint64_t i = 0; i < n; i++)
        if (v->page[first + i])
            return FAKE_ALREADY_MAPPED;
    struct mapping *m = malloc(sizeof *m);
    if (!m)
        return FAKE_OOM;
    *m = (struct mapping){.addr = ptr, .size = size, .handle = h};
    v->page[first] = m;
    for (uint64_t i = 1; i < n; i++)
        v->page[first + i] = m;
    h->maps++;
    return FAKE_OK;
}

int fake_cuMemMap(fake_ptr ptr, size_t size, size_t offset, fake_handle handle,
                  unsigned long long flags)
{
    if (!size || size % PAGE || offset % PAGE || flags)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    struct handle *h = handle_get(handle);
    int r =
        h && size <= h->size && offset <= h->size - size ? map(ptr, size, h) : FAKE_INVALID_VALUE;
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

/* True when [ptr, ptr+size) is made of whole mappings. */
static bool whole_mappings(const struct reservation *v, uint64_t ptr, uint64_t size)
{
    uint64_t at = ptr, end = ptr + size;
    while (at < end) {
        struct mapping *m = v->page[(at - v->addr) / PAGE];
        if (!m || m->addr != at || m->size > end - at)
            return false;
        at += m->size;
    }
    return true;
}

int fake_cuMemUnmap(fake_ptr ptr, size_t size)
{
    if (!size || size % PAGE)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    struct reservation *v = reservation_of(ptr, size);
    int r = v && !((ptr - v->addr) % PAGE) && whole_mappings(v, ptr, size) ? FAKE_OK
                                                                           : FAKE_INVALID_VALUE;
    for (uint64_t at = ptr; !r && at < ptr + size;) {
        uint64_t first = (at - v->addr) / PAGE;
        struct mapping *m = v->page[first];
        at += m->size;
        memset(v->page + first, 0, m->size / PAGE * sizeof *v->page);
        m->handle->maps--;
        handle_maybe_gone(m->handle);
        free(m);
    }
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

int fake_cuMemSetAccess(fake_ptr ptr, size_t size, const struct fake_access *desc, size_t count)
{
    if (!size || size % PAGE || !desc || !count)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    struct reservation *v = reservation_of(ptr, size);
    int r = v ? FAKE_OK : FAKE_INVALID_VALUE;
    for (uint64_t at = ptr; !r && at < ptr + size; at += PAGE)
        if (!v->page[(at - v->addr) / PAGE])
            r = FAKE_INVALID_VALUE;
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

int fake_cuMemRetainAllocationHandle(fake_handle *handle, void *addr)
{
    if (!handle)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    uint64_t at = (uintptr_t)addr;
    struct reservation *v = reservation_of(at, 1);
    struct mapping *m = v ? v->page[(at - v->addr) / PAGE] : NULL;
    if (m) {
        m->handle->refs++;
        *handle = m->handle->value;
    }
    pthread_mutex_unlock(&vmm_lock);
    return m ? FAKE_OK : FAKE_INVALID_VALUE;
}

int fake_cuMemGetAllocationGranularity(size_t *granularity, const struct fake_alloc_prop *prop,
                                       int option)
{
    if (!granularity || !prop || option < 0 || option > 1)
        return FAKE_INVALID_VALUE;
    *granularity = PAGE;
    return FAKE_OK;
}

/* ---- sharing: a descriptor of a memory file that names the handle ---- */

struct shared {
    uint32_t magic, pid;
    uint64_t value, size;
};
#define SHARED_MAGIC 0x766d6d31u

int fake_cuMemExportToShareableHandle(void *shareableHandle, fake_handle handle, int handleType,
                                      unsigned long long flags)
{
    if (!shareableHandle || handleType != 1 || flags)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    struct handle *h = handle_get(handle);
    struct shared s = {
        .magic = SHARED_MAGIC, .pid = (uint32_t)getpid(), .value = handle, .size = h ? h->size : 0};
    pthread_mutex_unlock(&vmm_lock);
    if (!h)
        return FAKE_INVALID_VALUE;
    int fd = memfd_create("fake-vmm", MFD_CLOEXEC);
    if (fd < 0 || write(fd, &s, sizeof s) != (ssize_t)sizeof s)
        return 999;
    *(int *)shareableHandle = fd;
    return FAKE_OK;
}

/* In the exporting process a second handle of the same memory; in another one memory that is not
 * this process's usage. */
int fake_cuMemImportFromShareableHandle(fake_handle *handle, void *osHandle, int shHandleType)
{
    struct shared s;
    int fd = (int)(intptr_t)osHandle;
    if (!handle || shHandleType != 1 || pread(fd, &s, sizeof s, 0) != (ssize_t)sizeof s ||
        s.magic != SHARED_MAGIC)
        return FAKE_INVALID_VALUE;
    int r = FAKE_OK;
    pthread_mutex_lock(&vmm_lock);
    struct handle *of = s.pid == (uint32_t)getpid() ? *handle_at(s.value) : NULL;
    struct phys *p = of ? of->phys : calloc(1, sizeof *p);
    if (!p || (s.pid == (uint32_t)getpid() && !of)) {
        if (!of)
            free(p);
        r = FAKE_INVALID_VALUE;
    } else {
        struct handle *h = handle_new(p, s.size);
        if (h) {
            p->refs++;
            *handle = h->value;
        } else {
            if (!of)
                free(p);
            r = FAKE_OOM;
        }
    }
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

/* ---- multicast objects: bound memory is somebody else's, the object itself takes none ---- */

int fake_cuMulticastCreate(fake_handle *mcHandle, const struct fake_multicast_prop *prop)
{
    if (!mcHandle || !prop || !prop->n_devices || !prop->size || prop->size % PAGE)
        return FAKE_INVALID_VALUE;
    pthread_mutex_lock(&vmm_lock);
    struct handle *h = handle_new(NULL, prop->size);
    if (h)
        *mcHandle = h->value;
    pthread_mutex_unlock(&vmm_lock);
    return h ? FAKE_OK : FAKE_OOM;
}

static int multicast_check(fake_handle mc, uint64_t offset, uint64_t size)
{
    pthread_mutex_lock(&vmm_lock);
    struct handle *h = handle_get(mc);
    int r =
        h && !h->phys && size <= h->size && offset <= h->size - size ? FAKE_OK : FAKE_INVALID_VALUE;
    pthread_mutex_unlock(&vmm_lock);
    return r;
}

int fake_cuMulticastAddDevice(fake_handle mcHandle, int dev)
{
    return fake_ordinal_ok(dev) ? multicast_check(mcHandle, 0, 0) : FAKE_INVALID_DEVICE;
}

int fake_cuMulticastBindMem(fake_handle mcHandle, size_t mcOffset, fake_handle memHandle,
                            size_t memOffset, size_t size, unsigned long long flags)
{
    pthread_mutex_lock(&vmm_lock);
    struct handle *m = handle_get(memHandle);
    bool ok = m && m->phys && size && size <= m->size && memOffset <= m->size - size && !flags;
    pthread_mutex_unlock(&vmm_lock);
    return ok ? multicast_check(mcHandle, mcOffset, size) : FAKE_INVALID_VALUE;
}

int fake_cuMulticastBindAddr(fake_handle mcHandle, size_t mcOffset, fake_ptr memptr, size_t size,
                             unsigned long long flags)
{
    return memptr && size && !flags ? multicast_check(mcHandle, mcOffset, size)
                                    : FAKE_INVALID_VALUE;
}

int fake_cuMulticastUnbind(fake_handle mcHandle, int dev, size_t mcOffset, size_t size)
{
    return fake_ordinal_ok(dev) ? multicast_check(mcHandle, mcOffset, size) : FAKE_INVALID_DEVICE;
}
