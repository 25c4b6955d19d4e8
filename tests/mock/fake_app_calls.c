/* fake_app_calls.c -- the fake application's way to the driver: loads it as the CUDA runtime does,
 * and keeps the ground truth. */
#include "fake_app.h"
#include "fake_cuda.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

typedef int (*driver_fn)(word, word, word, word, word, word, word, word);

static const struct {
    const char *name, *base;
    int since;
    uint32_t cbid;
    const char *op;
} apis[API_N] = {
#define ROW(name, base, since, id, op) {#name, #base, since, id, op},
    FAKE_APIS(ROW)
#undef ROW
};
const char *const owner_file[OWNER_N] = {"",
                                         "libc10_cuda.so",
                                         "libnccl.so.2",
                                         "libcublas.so.12",
                                         "cumem_allocator.abi3.so",
                                         "torch_memory_saver.abi3.so"};

__thread struct app_thread self;
static __thread long tid;

static driver_fn fns[API_N];
typedef int (*owner_fn)(driver_fn, const word *);
static _Atomic(owner_fn) owner_call[OWNER_N];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int driver_version;

/* ---- truth ---- */

struct counts {
    _Atomic uint64_t calls, ranges;
};
static struct counts no_counts;
static struct counts *counts = &no_counts;
static int truth_fd = -1;
static char truth_base[512];
static _Atomic uint64_t n_lines;

void app_truth_start(void)
{
    const char *dir = getenv("FAKE_TRUTH");
    counts = &no_counts;
    if (truth_fd >= 0)
        close(truth_fd);
    truth_fd = -1;
    tid = 0;
    atomic_store(&n_lines, 0);
    if (!dir || !*dir)
        return;
    char path[sizeof truth_base + 16];
    for (int n = 0; n < 1000; n++) {
        snprintf(truth_base, sizeof truth_base, "%s/%ld.%d", dir, (long)getpid(), n);
        snprintf(path, sizeof path, "%s.count", truth_base);
        int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd < 0 && errno == EEXIST)
            continue;
        void *p = MAP_FAILED;
        if (fd >= 0 && !ftruncate(fd, sizeof *counts))
            p = mmap(NULL, sizeof *counts, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        if (fd >= 0)
            close(fd);
        if (p != MAP_FAILED)
            counts = p;
        break;
    }
    if (fake_env_u64("FAKE_TRUTH_LINES", 1)) {
        snprintf(path, sizeof path, "%s.truth", truth_base);
        truth_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    }
}

static uint64_t now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static long my_tid(void)
{
    if (!tid)
        tid = syscall(SYS_gettid);
    return tid;
}

struct line {
    char text[1024];
    size_t n;
};

static void add(struct line *l, const char *key, uint64_t v)
{
    if (v && l->n < sizeof l->text - 64)
        l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, ",\"%s\":%llu", key,
                                 (unsigned long long)v);
}

static void add_text(struct line *l, const char *key, const char *s)
{
    l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, ",\"%s\":\"", key);
    for (; *s && l->n < sizeof l->text - 64; s++) {
        unsigned char c = (unsigned char)*s;
        if (c == '"' || c == '\\' || c < 32)
            l->n += (size_t)snprintf(l->text + l->n, sizeof l->text - l->n, "\\u%04x", c);
        else
            l->text[l->n++] = (char)c;
    }
    l->text[l->n++] = '"';
}

static void line_start(struct line *l, const char *op)
{
    l->n = (size_t)snprintf(l->text, sizeof l->text, "{\"n\":%llu,\"tid\":%ld,\"op\":\"%s\"",
                            (unsigned long long)(atomic_fetch_add(&n_lines, 1) + 1), my_tid(), op);
}

static void line_end(struct line *l)
{
    memcpy(l->text + l->n, "}\n", 2);
    if (write(truth_fd, l->text, l->n + 2) < 0) {
        /* A test that fills the disk looks at the counters. */
    }
}

void app_tell(const struct told *t)
{
    if (truth_fd < 0 || !apis[t->api].cbid)
        return;
    struct line l;
    line_start(&l, apis[t->api].op);
    add_text(&l, "api", apis[t->api].name);
    l.n += (size_t)snprintf(l.text + l.n, sizeof l.text - l.n, ",\"cbid\":%u,\"result\":%d",
                            apis[t->api].cbid, t->result);
    add(&l, "addr", t->addr);
    add(&l, "size", t->size);
    add(&l, "handle", t->handle);
    add(&l, "offset", t->offset);
    add(&l, "stream", t->stream);
    add(&l, "device", t->has_device ? t->device : t->context ? self.device : 0);
    add(&l, "context", t->context);
    add(&l, "pool", t->pool);
    add(&l, "flags", t->flags);
    add(&l, "location", t->location);
    add(&l, "free", t->free);
    add(&l, "total", t->total);
    if (self.owner)
        add_text(&l, "owner", owner_file[self.owner]);
    add(&l, "t0", t->t0);
    add(&l, "t1", t->t1);
    line_end(&l);
}

void app_told_range(const char *op, const char *name, const char *domain, int source, uint64_t id)
{
    atomic_fetch_add(&counts->ranges, 1);
    if (truth_fd < 0)
        return;
    struct line l;
    line_start(&l, op);
    if (name)
        add_text(&l, "name", name);
    add_text(&l, "domain", domain);
    l.n += (size_t)snprintf(l.text + l.n, sizeof l.text - l.n, ",\"source\":%d", source);
    add(&l, "id", id);
    add(&l, "t1", now());
    line_end(&l);
}

void app_end_line(const char *how)
{
    if (truth_fd < 0)
        return;
    struct line l;
    line_start(&l, "end");
    add_text(&l, "how", how);
    line_end(&l);
}

/* One JSON line per phase of `train`: what each owner holds on the device by the recorded calls. */
void app_held(const char *phase, const uint64_t bytes[8])
{
    static const char *const names[8] = {"app",   "torch", "nccl",    "cublas",
                                         "cumem", "tms",   "context", "module"};
    if (!*truth_base)
        return;
    char path[sizeof truth_base + 16], text[1024];
    snprintf(path, sizeof path, "%s.held", truth_base);
    int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return;
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    int n = snprintf(
        text, sizeof text, "{\"phase\":\"%s\",\"device\":%u,\"realtime\":%llu,\"t\":%llu", phase,
        self.device, (unsigned long long)t.tv_sec * 1000000000u + (unsigned long long)t.tv_nsec,
        (unsigned long long)now());
    for (int i = 0; i < 8; i++)
        n += snprintf(text + n, sizeof text - (size_t)n, ",\"%s\":%llu", names[i],
                      (unsigned long long)bytes[i]);
    n += snprintf(text + n, sizeof text - (size_t)n, "}\n");
    if (write(fd, text, (size_t)n) < 0)
        perror("fake_app: FAKE_TRUTH");
    close(fd);
}

/* ---- the driver ---- */

static int load(void)
{
    void *lib = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib)
        return -1;
    int (*proc)(const char *, void **, int, uint64_t, int *) = NULL;
    int (*version)(int *) = NULL;
    void *p = dlsym(lib, "cuGetProcAddress_v2");
    memcpy(&proc, &p, sizeof p);
    p = dlsym(lib, "cuDriverGetVersion");
    memcpy(&version, &p, sizeof p);
    if (!proc || !version || version(&driver_version))
        return -1;
    for (unsigned i = 0; i < API_N; i++) {
        /* As the runtime does: by base name and version. What is newer than the driver is not
         * there. */
        int status = 0;
        p = NULL;
        if (apis[i].since <= driver_version || i == API_cuMemFutureAlloc)
            proc(apis[i].base, &p, apis[i].since, 0, &status);
        if (!p && i == API_cuMemFutureAlloc)
            p = dlsym(lib, apis[i].name);
        memcpy(&fns[i], &p, sizeof p);
    }
    return fns[API_cuInit] ? 0 : -1;
}

int app_cuda(void)
{
    static int state, result; /* 1: loaded */
    pthread_mutex_lock(&lock);
    if (!state) {
        result = load();
        state = 1;
    }
    int r = result;
    pthread_mutex_unlock(&lock);
    if (r)
        return r;
    struct told t = {.api = API_cuInit};
    return app_call(&t, (word[8]){0});
}

bool app_has(enum fake_api api) { return fns[api] != NULL; }

int app_open_owner(enum owner o)
{
    char path[4200];
    ssize_t n = readlink("/proc/self/exe", path, 4096);
    if (o == OWNER_APP || atomic_load(&owner_call[o]))
        return 0;
    if (n <= 0)
        return -1;
    path[n] = 0;
    snprintf(strrchr(path, '/'), 100, "/mock/owners/%s", owner_file[o]);
    void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *p = lib ? dlsym(lib, "fake_owner_call") : NULL;
    owner_fn f;
    memcpy(&f, &p, sizeof f);
    if (!f) {
        fprintf(stderr, "fake_app: cannot load %s: %s\n", path, dlerror());
        return -1;
    }
    atomic_store(&owner_call[o], f);
    return 0;
}

int app_call(struct told *t, const word a[8])
{
    driver_fn f = fns[t->api];
    if (!f)
        return t->result = 500;
    t->context = self.context;
    bool counted = apis[t->api].cbid != 0;
    if (truth_fd >= 0)
        t->t0 = now();
    t->result = self.owner ? atomic_load(&owner_call[self.owner])(f, a)
                           : f(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7]);
    if (counted)
        atomic_fetch_add(&counts->calls, 1);
    if (truth_fd >= 0)
        t->t1 = now();
    return t->result;
}

int app_simple(struct told *t, const word a[8])
{
    app_call(t, a);
    app_tell(t);
    return t->result;
}

void app_thread_start(const struct app_thread *like, unsigned index)
{
    self = *like;
    self.rng += (uint64_t)index * 0x9e3779b97f4a7c15u;
    if (self.context)
        c_set_current(self.context);
}

uint64_t app_rand(void)
{
    uint64_t z = self.rng += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

int app_device(int ordinal)
{
    static uint64_t primary[FAKE_MAX_GPUS];
    int r = app_cuda();
    if (r || ordinal < 0 || ordinal >= (int)FAKE_MAX_GPUS)
        return r ? r : 101;
    if (!primary[ordinal])
        r = c_retain_primary(&primary[ordinal], (unsigned)ordinal);
    if (!r)
        r = c_set_current(primary[ordinal]);
    if (!r) {
        self.context = primary[ordinal];
        self.device = (uint32_t)ordinal;
    }
    return r;
}

/* ---- one function per call ---- */

#define P(p) ((word)(uintptr_t)(p))
#define A8(...) ((word[8]){__VA_ARGS__})

/* For calls whose only result is one 64-bit value, which goes to *out and into *field. */
static int with_out(struct told *t, const word a[8], uint64_t *out, const uint64_t *value,
                    uint64_t *field)
{
    if (!app_call(t, a)) {
        *out = *value;
        *field = *value;
    }
    app_tell(t);
    return t->result;
}
#define OUT(field, ...) with_out(&t, A8(__VA_ARGS__), out, &v, &t.field)

int c_alloc(uint64_t *out, uint64_t size)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuMemAlloc_v2, .size = size};
    return OUT(addr, P(&v), size);
}

int c_pitch(uint64_t *out, uint64_t width, uint64_t height)
{
    uint64_t v = 0, pitch = 0;
    struct told t = {.api = API_cuMemAllocPitch_v2, .size = width * height};
    if (!app_call(&t, A8(P(&v), P(&pitch), width, height, 16))) {
        *out = t.addr = v;
        t.offset = pitch;
        t.size = pitch * height;
    }
    app_tell(&t);
    return t.result;
}

int c_free(uint64_t p)
{
    struct told t = {.api = API_cuMemFree_v2, .addr = p};
    return app_simple(&t, A8(p));
}

int c_managed(uint64_t *out, uint64_t size)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuMemAllocManaged, .size = size, .flags = 1};
    return OUT(addr, P(&v), size, 1);
}

int c_host(void **p, uint64_t size, unsigned flags, bool by_alloc_host)
{
    uint64_t v = 0, got = 0, *out = &got;
    struct told t = {.api = by_alloc_host ? API_cuMemAllocHost_v2 : API_cuMemHostAlloc,
                     .size = size,
                     .flags = by_alloc_host ? 0 : flags};
    OUT(addr, P(&v), size, flags);
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): a driver deals in addresses */
    *p = (void *)(uintptr_t)got;
    return t.result;
}

int c_host_free(void *p)
{
    struct told t = {.api = API_cuMemFreeHost, .addr = P(p)};
    return app_simple(&t, A8(P(p)));
}

int c_register(void *p, uint64_t size, unsigned flags)
{
    struct told t = {.api = API_cuMemHostRegister_v2, .addr = P(p), .size = size, .flags = flags};
    return app_simple(&t, A8(P(p), size, flags));
}

int c_unregister(void *p)
{
    struct told t = {.api = API_cuMemHostUnregister, .addr = P(p)};
    return app_simple(&t, A8(P(p)));
}

int c_async(uint64_t *out, uint64_t size, uint64_t stream, uint64_t pool, bool per_thread)
{
    uint64_t v = 0;
    struct told t = {.api = per_thread ? API_cuMemAllocAsync_ptsz : API_cuMemAllocAsync,
                     .size = size,
                     .stream = stream};
    if (!pool)
        return OUT(addr, P(&v), size, stream);
    t.api = API_cuMemAllocFromPoolAsync;
    t.pool = pool;
    return OUT(addr, P(&v), size, pool, stream);
}

int c_async_free(uint64_t p, uint64_t stream, bool per_thread)
{
    struct told t = {.api = per_thread ? API_cuMemFreeAsync_ptsz : API_cuMemFreeAsync,
                     .addr = p,
                     .stream = stream};
    return app_simple(&t, A8(p, stream));
}

int c_pool_create(uint64_t *out, unsigned device)
{
    uint64_t v = 0;
    struct fake_pool_props props = {.type = 1, .location = {.type = 1, .id = (int)device}};
    struct told t = {
        .api = API_cuMemPoolCreate, .location = 1, .device = device, .has_device = true};
    return OUT(pool, P(&v), P(&props));
}

int c_pool_destroy(uint64_t pool)
{
    struct told t = {.api = API_cuMemPoolDestroy, .pool = pool};
    return app_simple(&t, A8(pool));
}

int c_pool_trim(uint64_t pool, uint64_t keep)
{
    struct told t = {.api = API_cuMemPoolTrimTo, .pool = pool, .size = keep};
    return app_simple(&t, A8(pool, keep));
}

int c_pool_attr(uint64_t pool, int attr, uint64_t *value, bool set)
{
    struct told t = {.api = set ? API_cuMemPoolSetAttribute : API_cuMemPoolGetAttribute,
                     .pool = pool,
                     .flags = (uint32_t)attr};
    if (!app_call(&t, A8(pool, (word)attr, P(value))))
        t.size = *value;
    app_tell(&t);
    return t.result;
}

int c_reserve(uint64_t *out, uint64_t size, uint64_t hint)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuMemAddressReserve, .size = size};
    return OUT(addr, P(&v), size, 0, hint, 0);
}

int c_address_free(uint64_t p, uint64_t size)
{
    struct told t = {.api = API_cuMemAddressFree, .addr = p, .size = size};
    return app_simple(&t, A8(p, size));
}

int c_create(uint64_t *out, uint64_t size, int location, int id, int handle_type)
{
    uint64_t v = 0;
    struct fake_alloc_prop prop = {
        .type = 1, .handle_types = handle_type, .location = {.type = location, .id = id}};
    struct told t = {.api = API_cuMemCreate, .size = size};
    app_call(&t, A8(P(&v), size, P(&prop), 0));
    if (!t.result || t.result == OOM) {
        t.location = (uint32_t)location;
        t.has_device = location == 1;
        t.device = (uint32_t)id;
    }
    if (!t.result)
        *out = t.handle = v;
    app_tell(&t);
    return t.result;
}

int c_release(uint64_t h)
{
    struct told t = {.api = API_cuMemRelease, .handle = h};
    return app_simple(&t, A8(h));
}

int c_map(uint64_t p, uint64_t size, uint64_t offset, uint64_t h)
{
    struct told t = {.api = API_cuMemMap, .addr = p, .size = size, .offset = offset, .handle = h};
    return app_simple(&t, A8(p, size, offset, h));
}

int c_unmap(uint64_t p, uint64_t size)
{
    struct told t = {.api = API_cuMemUnmap, .addr = p, .size = size};
    return app_simple(&t, A8(p, size));
}

int c_access(uint64_t p, uint64_t size)
{
    struct fake_access access = {.location = {.type = 1, .id = (int)self.device}, .flags = 3};
    struct told t = {.api = API_cuMemSetAccess, .addr = p, .size = size};
    return app_simple(&t, A8(p, size, P(&access), 1));
}

int c_export(uint64_t h, int *fd)
{
    struct told t = {.api = API_cuMemExportToShareableHandle, .handle = h, .flags = 1};
    return app_simple(&t, A8(P(fd), h, 1, 0));
}

int c_import(uint64_t *out, int fd)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuMemImportFromShareableHandle, .flags = 1};
    return OUT(handle, P(&v), (word)fd, 1);
}

int c_retain(uint64_t *out, uint64_t addr)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuMemRetainAllocationHandle, .addr = addr};
    return OUT(handle, P(&v), addr);
}

/* A multicast object over this device, bound to nothing yet. */
int c_multicast(uint64_t *out, uint64_t size)
{
    uint64_t v = 0;
    struct fake_multicast_prop prop = {.n_devices = 1, .size = size, .handle_types = 1};
    struct told t = {.api = API_cuMulticastCreate, .size = size};
    if (OUT(handle, P(&v), P(&prop)))
        return t.result;
    struct told d = {
        .api = API_cuMulticastAddDevice, .handle = v, .device = self.device, .has_device = true};
    return app_simple(&d, A8(v, self.device));
}

int c_ipc_get(unsigned char out[64], uint64_t p)
{
    struct told t = {.api = API_cuIpcGetMemHandle, .addr = p};
    return app_simple(&t, A8(P(out), p));
}

/* The handle is passed by value: not through an owner. */
int c_ipc_open(uint64_t *p, const unsigned char handle[64])
{
    int (*f)(fake_ptr *, struct fake_ipc, unsigned) = NULL;
    struct fake_ipc h;
    memcpy(&f, &fns[API_cuIpcOpenMemHandle_v2], sizeof f);
    memcpy(&h, handle, sizeof h);
    struct told t = {.api = API_cuIpcOpenMemHandle_v2, .flags = 1, .context = self.context};
    enum owner owner = self.owner;
    self.owner = OWNER_APP;
    fake_ptr v = 0;
    t.t0 = now();
    t.result = f(&v, h, 1);
    atomic_fetch_add(&counts->calls, 1);
    t.t1 = now();
    if (!t.result)
        *p = t.addr = v;
    app_tell(&t);
    self.owner = owner;
    return t.result;
}

int c_ipc_close(uint64_t p)
{
    struct told t = {.api = API_cuIpcCloseMemHandle, .addr = p};
    return app_simple(&t, A8(p));
}

#define FORMAT_FLOAT 0x20
int c_array(uint64_t *out, uint64_t width, uint64_t height, uint64_t depth, unsigned levels)
{
    uint64_t v = 0;
    struct fake_array_desc flat = {
        .width = width, .height = height, .format = FORMAT_FLOAT, .channels = 1};
    struct fake_array3d_desc deep = {
        .width = width, .height = height, .depth = depth, .format = FORMAT_FLOAT, .channels = 1};
    struct told t = {.api = levels  ? API_cuMipmappedArrayCreate
                            : depth ? API_cuArray3DCreate_v2
                                    : API_cuArrayCreate_v2};
    t.size = width * height * (depth ? depth : 1) * 4;
    for (unsigned i = 1; i < levels; i++) /* squares of powers of two only */
        t.size += width * height * 4 >> 2 * i;
    return OUT(handle, P(&v), levels || depth ? P(&deep) : P(&flat), levels);
}

int c_array_free(uint64_t h, bool mipmapped)
{
    struct told t = {.api = mipmapped ? API_cuMipmappedArrayDestroy : API_cuArrayDestroy,
                     .handle = h};
    return app_simple(&t, A8(h));
}

int c_graph_alloc(uint64_t graph, uint64_t *p, uint64_t size, int how)
{
    uint64_t node = 0;
    struct fake_node n = {.type = 10};
    n.u.alloc.pool.type = 1;
    n.u.alloc.pool.location = (struct fake_location){.type = 1, .id = (int)self.device};
    n.u.alloc.bytes = size;
    struct told t = {.api = how == 0   ? API_cuGraphAddMemAllocNode
                            : how == 1 ? API_cuGraphAddNode
                                       : API_cuGraphAddNode_v2,
                     .handle = graph,
                     .size = size,
                     .location = 1,
                     .device = self.device,
                     .has_device = true};
    if (how == 0)
        app_call(&t, A8(P(&node), graph, 0, 0, P(&n.u.alloc)));
    else if (how == 1)
        app_call(&t, A8(P(&node), graph, 0, 0, P(&n)));
    else
        app_call(&t, A8(P(&node), graph, 0, 0, 0, P(&n)));
    if (!t.result)
        *p = t.addr = n.u.alloc.dptr;
    app_tell(&t);
    return t.result;
}

int c_graph_free(uint64_t graph, uint64_t p, int how)
{
    /* the operation of a free node added by cuGraphAddNode has no line of its own in the table
     * above */
    (void)how;
    uint64_t node = 0;
    struct told t = {.api = API_cuGraphAddMemFreeNode, .handle = graph, .addr = p};
    return app_simple(&t, A8(P(&node), graph, 0, 0, p));
}

int c_instantiate(uint64_t *out, uint64_t graph, bool flags)
{
    uint64_t v = 0;
    struct told t = {.api = flags ? API_cuGraphInstantiateWithFlags : API_cuGraphInstantiate_v2,
                     .flags = flags ? 1 : 0};
    return flags ? OUT(handle, P(&v), graph, 1) : OUT(handle, P(&v), graph, 0, 0, 0);
}

int c_upload(uint64_t exec, uint64_t stream)
{
    struct told t = {.api = API_cuGraphUpload, .handle = exec, .stream = stream};
    return app_simple(&t, A8(exec, stream));
}

int c_exec_destroy(uint64_t exec)
{
    struct told t = {.api = API_cuGraphExecDestroy, .handle = exec};
    return app_simple(&t, A8(exec));
}

int c_graph_trim(unsigned device)
{
    struct told t = {.api = API_cuDeviceGraphMemTrim, .device = device, .has_device = true};
    return app_simple(&t, A8(device));
}

int c_context(uint64_t *out, unsigned device, int version)
{
    uint64_t v = 0;
    struct told t = {.api = version == 2   ? API_cuCtxCreate_v2
                            : version == 3 ? API_cuCtxCreate_v3
                                           : API_cuCtxCreate_v4,
                     .device = device,
                     .has_device = true};
    if (version == 2)
        return OUT(handle, P(&v), 0, device);
    return version == 3 ? OUT(handle, P(&v), 0, 0, 0, device) : OUT(handle, P(&v), 0, 0, device);
}

int c_context_destroy(uint64_t c)
{
    struct told t = {.api = API_cuCtxDestroy_v2, .handle = c};
    return app_simple(&t, A8(c));
}

int c_retain_primary(uint64_t *out, unsigned device)
{
    uint64_t v = 0;
    struct told t = {.api = API_cuDevicePrimaryCtxRetain, .device = device, .has_device = true};
    return OUT(handle, P(&v), device);
}

int c_release_primary(unsigned device)
{
    struct told t = {.api = API_cuDevicePrimaryCtxRelease_v2, .device = device, .has_device = true};
    return app_simple(&t, A8(device));
}

int c_reset_primary(unsigned device)
{
    struct told t = {.api = API_cuDevicePrimaryCtxReset_v2, .device = device, .has_device = true};
    return app_simple(&t, A8(device));
}

int c_module(uint64_t *out, enum fake_api api, const char *what)
{
    uint64_t v = 0;
    struct told t = {.api = api};
    return OUT(handle, P(&v), P(what), 0, 0, 0, 0, 0, 0);
}

int c_module_unload(uint64_t m, bool library)
{
    struct told t = {.api = library ? API_cuLibraryUnload : API_cuModuleUnload, .handle = m};
    return app_simple(&t, A8(m));
}

int c_limit(int limit, uint64_t value)
{
    struct told t = {.api = API_cuCtxSetLimit, .flags = (uint32_t)limit, .offset = value};
    return app_simple(&t, A8((word)limit, value));
}

int c_meminfo(uint64_t *free_, uint64_t *total)
{
    size_t f = 0, all = 0;
    struct told t = {.api = API_cuMemGetInfo_v2};
    if (!app_call(&t, A8(P(&f), P(&all)))) {
        *free_ = t.free = f;
        *total = t.total = all;
    }
    app_tell(&t);
    return t.result;
}

/* ---- calls that are not recorded ---- */

static int plain(enum fake_api api, const word a[8])
{
    struct told t = {.api = api};
    return app_call(&t, a);
}
int c_set_current(uint64_t context) { return plain(API_cuCtxSetCurrent, A8(context)); }
int c_synchronize(void) { return plain(API_cuCtxSynchronize, A8(0)); }
int c_graph_create(uint64_t *g) { return plain(API_cuGraphCreate, A8(P(g), 0)); }
int c_graph_destroy(uint64_t g) { return plain(API_cuGraphDestroy, A8(g)); }
int c_launch(uint64_t m) { return plain(API_cuLaunchKernelEx, A8(P(&m), m, 0, 0)); }
int c_graph_launch(uint64_t exec) { return plain(API_cuGraphLaunch, A8(exec, 0)); }
int c_stream(uint64_t *s) { return plain(API_cuStreamCreate, A8(P(s), 1)); }
int c_stream_destroy(uint64_t s) { return plain(API_cuStreamDestroy_v2, A8(s)); }
int c_stream_synchronize(uint64_t s) { return plain(API_cuStreamSynchronize, A8(s)); }
int c_default_pool(uint64_t *pool, unsigned device)
{
    return plain(API_cuDeviceGetDefaultMemPool, A8(P(pool), device));
}
int c_future(uint64_t *p, uint64_t size) { return plain(API_cuMemFutureAlloc, A8(P(p), size)); }
