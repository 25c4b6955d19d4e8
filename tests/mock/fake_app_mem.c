/* fake_app_mem.c -- scenarios of the fake application that use memory. */
#include "fake_app.h"

#include <dlfcn.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MB FAKE_MB

/* Loops of n rounds; 0 = until the process ends. */
#define ROUNDS(arg, dflt)                                                                          \
    for (uint64_t left_ = app_number(&(arg), dflt), forever_ = left_ == 0; forever_ || left_;      \
         left_ -= !forever_)

/* ---- the call loop and random calls ---- */

static void steady(const char *arg)
{
    uint64_t p;
    ROUNDS(arg, 1000)
    {
        if (!c_alloc(&p, 2 * MB))
            c_free(p);
    }
}

static uint64_t some_size(void)
{
    uint64_t r = app_rand();
    switch (r >> 60) {
    case 0: return 1 + (r & 0xfff);
    case 1:
    case 2: return 512 * (1 + (r & 0x7ff));
    case 3:
    case 4:
    case 5: return 20 * MB;
    default: return 2 * MB * (1 + (r & 15));
    }
}

#define LIVE 64
static void alloc(const char *arg)
{
    uint64_t live[LIVE] = {0};
    ROUNDS(arg, 1000)
    {
        uint64_t *p = &live[app_rand() % LIVE];
        if (*p)
            c_free(*p);
        *p = 0;
        if (c_alloc(p, some_size()))
            *p = 0;
    }
    for (unsigned i = 0; i < LIVE; i++)
        if (live[i])
            c_free(live[i]);
}

static void leak(const char *arg)
{
    uint64_t size = app_number(&arg, 100) * MB, n = app_number(&arg, 1), p;
    while (n--)
        c_alloc(&p, size);
}

/* One expandable segment: PyTorch reserves, then maps handles as it grows and unmaps them when it
 * shrinks. */
static void expandable(unsigned handles, uint64_t chunk)
{
    uint64_t base, size = (uint64_t)handles * chunk;
    if (c_reserve(&base, size, 0))
        return;
    unsigned mapped = 0;
    uint64_t h;
    for (; mapped < handles; mapped++) {
        if (c_create(&h, chunk, 1, (int)self.device, 0))
            break;
        c_map(base + mapped * chunk, chunk, 0, h);
        c_release(h); /* mapped memory needs no handle */
    }
    if (mapped)
        c_access(base, mapped * chunk);
    while (mapped--)
        c_unmap(base + mapped * chunk, chunk);
    c_address_free(base, size);
}

static void vmm(const char *arg)
{
    ROUNDS(arg, 10) { expandable(8, 20 * MB); }
}

static void expand(const char *arg)
{
    uint64_t n = app_number(&arg, 64), chunk = app_number(&arg, 20) * MB;
    expandable((unsigned)n, chunk);
}

static void async(const char *arg)
{
    uint64_t live[LIVE] = {0}, stream = 0;
    c_stream(&stream);
    ROUNDS(arg, 1000)
    {
        uint64_t *p = &live[app_rand() % LIVE];
        if (*p)
            c_async_free(*p, stream, false);
        *p = 0;
        if (c_async(p, some_size(), stream, 0, false))
            *p = 0;
        if (app_rand() % 256 == 0)
            c_stream_synchronize(stream);
    }
    for (unsigned i = 0; i < LIVE; i++)
        if (live[i])
            c_async_free(live[i], stream, false);
    c_stream_synchronize(stream);
    c_stream_destroy(stream);
}

/* A handle in its life: mapped whole or in parts, retained, its reference dropped before or after
 * the unmapping. */
static void random_vmm(uint64_t r)
{
    uint64_t base, h, again, size = 2 * MB * (1 + (r & 7)), f, t;
    if (c_reserve(&base, size, 0))
        return;
    if (!c_create(&h, size, r & 64 ? 1 : 2, (int)self.device, r & 128 ? 1 : 0)) {
        bool halves = size > 2 * MB && r & 256;
        uint64_t first = halves ? 2 * MB : size;
        c_map(base, first, 0, h);
        if (halves)
            c_map(base + first, size - first, first, h);
        c_access(base, size);
        if (r & 512)
            c_release(h);
        if (r & 1024 && !c_retain(&again, base))
            c_release(again);
        if (r & 2048)
            c_meminfo(&f, &t);
        c_unmap(base, size);
        if (!(r & 512))
            c_release(h);
    }
    c_address_free(base, size);
}

static void random_calls(const char *arg)
{
    uint64_t live[LIVE] = {0}, pooled[LIVE] = {0}, f, t;
    void *host;
    ROUNDS(arg, 1000)
    {
        uint64_t r = app_rand(), *p = &live[r % LIVE], *q = &pooled[r >> 8 & (LIVE - 1)];
        switch (r >> 16 & 15) {
        case 0: random_vmm(app_rand()); break;
        case 1:
            if (!c_host(&host, 1 + (r & 0xffff), r & 3, r & 4))
                c_host_free(host);
            break;
        case 2: c_meminfo(&f, &t); break;
        case 3:
        case 4:
        case 5:
            if (*q)
                c_async_free(*q, 0, false);
            *q = 0;
            if (c_async(q, some_size(), 0, 0, false))
                *q = 0;
            break;
        default:
            if (*p)
                c_free(*p);
            *p = 0;
            if (r & 1 << 20 ? c_alloc(p, some_size()) : c_managed(p, some_size()))
                *p = 0;
        }
    }
    for (unsigned i = 0; i < LIVE; i++) {
        if (live[i])
            c_free(live[i]);
        if (pooled[i])
            c_async_free(pooled[i], 0, false);
    }
}

/* ---- one kind each ---- */

static void host(const char *arg)
{
    (void)arg;
    void *a = NULL, *b = NULL;
    static unsigned char fixed[1 << 16];
    c_host(&a, 64 * MB, 0, true);
    c_host(&b, 3 * MB + 4096, 3, false);
    c_register(fixed, sizeof fixed, 1);
    c_register(fixed, sizeof fixed, 1); /* 712: it is registered already */
    c_unregister(fixed);
    c_host_free(a);
    c_host_free(b);
}

static void pools(const char *arg)
{
    (void)arg;
    uint64_t pool = 0, a = 0, b = 0, v = 64 * MB, stream = 0;
    if (c_pool_create(&pool, self.device))
        return;
    c_pool_attr(pool, 4, &v, true);
    c_stream(&stream);
    c_async(&a, 48 * MB, stream, pool, false);
    c_async(&b, 100 * MB, stream, pool, false);
    c_pool_attr(pool, 5, &v, false);
    c_pool_attr(pool, 7, &v, false);
    c_async_free(b, stream, false);
    c_synchronize();
    c_pool_trim(pool, 16 * MB);
    c_async_free(a, 0, true);
    c_pool_destroy(pool);
    c_async(&a, MB, 0, 0, true);
    c_async_free(a, 0, true);
    c_stream_destroy(stream);
}

static void managed(const char *arg)
{
    uint64_t size = app_number(&arg, 100) * MB, p = 0;
    if (!c_managed(&p, size))
        c_free(p);
}

static void pitch(const char *arg)
{
    (void)arg;
    uint64_t p = 0;
    if (!c_pitch(&p, 1000, 3000))
        c_free(p);
}

static void arrays(const char *arg)
{
    (void)arg;
    uint64_t a = 0, b = 0, c = 0;
    c_array(&a, 1024, 1024, 0, 0);
    c_array(&b, 64, 64, 64, 0);
    c_array(&c, 512, 512, 0, 5);
    c_array_free(a, false);
    c_array_free(b, false);
    c_array_free(c, true);
    c_array_free(a, false); /* 400: gone already */
}

static void graphs(const char *arg)
{
    uint64_t n = app_number(&arg, 1);
    while (n--) {
        uint64_t g = 0, p[3] = {0}, e1 = 0, e2 = 0;
        if (c_graph_create(&g))
            return;
        c_graph_alloc(g, &p[0], 64 * MB, 0);
        if (app_has(API_cuGraphAddNode))
            c_graph_alloc(g, &p[1], 32 * MB, 1);
        if (app_has(API_cuGraphAddNode_v2))
            c_graph_alloc(g, &p[2], 16 * MB, 2);
        c_graph_free(g, p[0], 0);
        c_instantiate(&e1, g, false);
        c_instantiate(&e2, g, true);
        c_upload(e1, 0);
        c_graph_launch(e1);
        c_graph_launch(e2);
        c_exec_destroy(e1);
        c_exec_destroy(e2);
        c_graph_trim(self.device);
        c_graph_destroy(g);
    }
}

static void contexts(const char *arg)
{
    (void)arg;
    struct app_thread before = self;
    uint64_t c = 0, p = 0, f, t;
    for (int version = 2; version <= 4; version++) {
        enum fake_api api = version == 2   ? API_cuCtxCreate_v2
                            : version == 3 ? API_cuCtxCreate_v3
                                           : API_cuCtxCreate_v4;
        if (!app_has(api) || c_context(&c, before.device, version))
            continue;
        self.context = c;
        c_alloc(&p, 10 * MB); /* goes with its context */
        c_meminfo(&f, &t);
        c_context_destroy(c);
        self = before;
        c_set_current(self.context);
    }
    uint64_t again = 0;
    c_retain_primary(&again, self.device);
    c_release_primary(self.device);
}

/* The primary context, with all that is in it. */
static void reset(const char *arg)
{
    (void)arg;
    unsigned device = self.device;
    uint64_t c = 0, p = 0;
    c_alloc(&p, 100 * MB);
    c_set_current(0);
    self.context = 0;
    c_reset_primary(device);
    c_alloc(&p, MB); /* 201: no context */
    if (!c_retain_primary(&c, device) && !c_set_current(c))
        self.context = c;
    c_alloc(&p, 5 * MB);
    c_free(p);
}

static void modules(const char *arg)
{
    (void)arg;
    static const enum fake_api loads[] = {API_cuModuleLoad,       API_cuModuleLoadData,
                                          API_cuModuleLoadDataEx, API_cuModuleLoadFatBinary,
                                          API_cuLibraryLoadData,  API_cuLibraryLoadFromFile};
    uint64_t m = 0;
    for (unsigned i = 0; i < 6; i++)
        if (app_has(loads[i]) && !c_module(&m, loads[i], "/proc/self/exe")) {
            c_launch(m);
            c_module_unload(m, i >= 4);
        }
    c_module(&m, API_cuModuleLoad, "/nonexistent.cubin"); /* 301 */
}

/* Modules that stay, each with two launches. */
static void kernels(const char *arg)
{
    uint64_t n = app_number(&arg, 4), m = 0;
    while (n-- && !c_module(&m, API_cuModuleLoadData, "image")) {
        c_launch(m);
        c_launch(m);
    }
}

static void limits(const char *arg)
{
    c_limit(0, app_number(&arg, 8192)); /* the stack of each thread */
}

static void launches(const char *arg)
{
    uint64_t n = app_number(&arg, 1), g = 0, p = 0, e = 0;
    if (c_graph_create(&g) || c_graph_alloc(g, &p, 64 * MB, 0) || c_instantiate(&e, g, true))
        return;
    while (n--)
        c_graph_launch(e);
}

static void meminfo(const char *arg)
{
    uint64_t f, t;
    ROUNDS(arg, 1) { c_meminfo(&f, &t); }
}

static void share(const char *arg)
{
    (void)arg;
    uint64_t h = 0, again = 0, base = 0;
    int fd = -1;
    if (c_create(&h, 64 * MB, 1, (int)self.device, 1))
        return;
    c_export(h, &fd);
    if (!c_import(&again, fd)) {
        if (!c_reserve(&base, 64 * MB, 0)) {
            c_map(base, 64 * MB, 0, again);
            c_access(base, 64 * MB);
            c_release(h); /* the memory stays: the other handle and the mapping have it */
            c_unmap(base, 64 * MB);
            c_address_free(base, 64 * MB);
        }
        c_release(again);
    }
    if (fd >= 0)
        close(fd);
    uint64_t mc = 0;
    if (app_has(API_cuMulticastCreate) && !c_multicast(&mc, 64 * MB))
        c_release(mc);
}

/* Another process opens this one's memory. */
static void ipc(const char *arg)
{
    uint64_t size = app_number(&arg, 32) * MB, p = 0, own = 0;
    unsigned char handle[64] = {0};
    char text[16 + 2 * sizeof handle] = "ipcopen:";
    if (c_alloc(&p, size) || c_ipc_get(handle, p))
        return;
    c_ipc_open(&own, handle); /* 201: not in the process that exported it */
    for (size_t i = 0; i < sizeof handle; i++)
        snprintf(text + 8 + 2 * i, 3, "%02x", handle[i]);
    char program[] = "fake_app", *const argv[] = {program, text, NULL};
    pid_t pid;
    if (!posix_spawn(&pid, "/proc/self/exe", NULL, NULL, argv, environ))
        waitpid(pid, NULL, 0);
    c_free(p);
}

static void ipcopen(const char *arg)
{
    unsigned char handle[64] = {0};
    for (size_t i = 0; i < sizeof handle && arg[2 * i] && arg[2 * i + 1]; i++) {
        char two[3] = {arg[2 * i], arg[2 * i + 1], 0};
        handle[i] = (unsigned char)strtoul(two, NULL, 16);
    }
    uint64_t p = 0;
    if (!c_ipc_open(&p, handle))
        c_ipc_close(p);
}

/* Calls that fail, one of each kind of error. */
static void errors(const char *arg)
{
    (void)arg;
    uint64_t p = 0, h = 0;
    void *hp = NULL;
    c_alloc(&p, 0);
    c_free(0x1234);
    c_host(&hp, 0, 0, false);
    c_release(0x99);
    c_map(0x200000, 2 * MB, 0, 0x99);
    c_unmap(0x200000, 2 * MB);
    c_create(&h, 12345, 1, (int)self.device, 0);
    c_address_free(0x200000, 2 * MB);
    c_async_free(0x4321, 0, false);
    c_pool_destroy(0x77);
    c_unregister(&p);
    c_exec_destroy(0x55);
}

/* ---- engines: sleep and wake, NCCL ---- */

#define REGIONS 12
/* Weights and KV cache of an engine: reserved once; every wake maps new memory at the same
 * addresses. */
static void sleeper(const char *arg, enum owner owner)
{
    uint64_t rounds = app_number(&arg, 2), size = app_number(&arg, 100) * MB, base[REGIONS],
             h[REGIONS];
    enum owner before = self.owner;
    size -= size % (2 * MB);
    if (app_open_owner(owner) || !size)
        return;
    self.owner = owner;
    for (unsigned i = 0; i < REGIONS; i++)
        if (c_reserve(&base[i], size, 0))
            base[i] = 0;
    for (uint64_t k = 0; k < rounds; k++) {
        for (unsigned i = 0; i < REGIONS; i++) {
            h[i] = 0;
            if (base[i] && !c_create(&h[i], size, 1, (int)self.device, 0)) {
                c_map(base[i], size, 0, h[i]);
                c_access(base[i], size);
            }
        }
        for (unsigned i = 0; i < REGIONS; i++)
            if (h[i]) {
                c_unmap(base[i], size);
                c_release(h[i]);
            }
    }
    for (unsigned i = 0; i < REGIONS; i++)
        if (base[i])
            c_address_free(base[i], size);
    self.owner = before;
}
static void cumem(const char *arg) { sleeper(arg, OWNER_CUMEM); }
static void tms(const char *arg) { sleeper(arg, OWNER_TMS); }

/* A communicator: device buffers through VMM with a shareable handle, a host buffer in a NUMA node,
 * small plain allocations; freed as ncclCuMemFree does: retain, release, unmap, release. */
static void nccl(const char *arg)
{
    uint64_t n = app_number(&arg, 8), p = 0, h, base, again;
    enum owner before = self.owner;
    if (app_open_owner(OWNER_NCCL))
        return;
    self.owner = OWNER_NCCL;
    c_alloc(&p, 8192);
    for (uint64_t i = 0; i < n; i++) {
        bool on_host = i % 4 == 3;
        uint64_t size = 2 * MB * (1 + i % 5);
        if (c_create(&h, size, on_host ? 3 : 1, on_host ? 0 : (int)self.device, 1))
            break;
        if (!c_reserve(&base, size, 0)) {
            int fd = -1;
            c_map(base, size, 0, h);
            c_access(base, size);
            if (!on_host && !c_export(h, &fd))
                close(fd);
            if (!c_retain(&again, base)) {
                c_release(again);
                c_unmap(base, size);
                c_release(again);
            }
            c_address_free(base, size);
        }
    }
    c_free(p);
    self.owner = before;
}

/* ---- out of memory ---- */

void app_die_oom(const char *who, uint64_t size)
{
    fprintf(stderr, "fake_app: %s: CUDA out of memory. Tried to allocate %llu MiB.\n", who,
            (unsigned long long)(size >> 20));
    app_end_line("oom");
    exit(1);
}

/* As PyTorch: a failed allocation, the cached blocks are released, the second attempt succeeds.
 * `oom:fatal`: it does not. */
static void oom(const char *arg)
{
    uint64_t held[64], n = 0, f = 0, t = 0, p = 0;
    bool fatal = strstr(arg, "fatal") != NULL;
    enum owner before = self.owner, owner = strstr(arg, "nccl")    ? OWNER_NCCL
                                            : strstr(arg, "cumem") ? OWNER_CUMEM
                                                                   : before;
    if (c_meminfo(&f, &t) || app_open_owner(owner))
        return;
    uint64_t block = (f / 40 + 1) / (2 * MB) * (2 * MB) + 2 * MB;
    while (n < 64 && !c_alloc(&held[n], block))
        n++;
    self.owner = owner;
    uint64_t big = 8 * block;
    int r = c_alloc(&p, big);
    if (r == OOM && !fatal) {
        self.owner = before;
        for (unsigned i = 0; i < 10 && n; i++)
            c_free(held[--n]);
        self.owner = owner;
        r = c_alloc(&p, big);
    }
    if (r)
        app_die_oom(owner ? owner_file[owner] : "app", big);
    c_free(p);
    self.owner = before;
    while (n)
        c_free(held[--n]);
}

/* The allocation that cannot be had, survived: nothing is held. */
static void oom_once(const char *arg)
{
    uint64_t size = app_number(&arg, 1 << 20) * MB, p, h;
    if (!c_alloc(&p, size))
        c_free(p);
    if (!c_create(&h, size, 1, (int)self.device, 0))
        c_release(h);
    if (!c_async(&p, size, 0, 0, false))
        c_async_free(p, 0, false);
}

/* ---- through the runtime library ---- */

/* Its calls are not in the truth: what it hands to the driver depends on FAKE_CUDART. */
static void runtime(const char *arg)
{
    static const char *const names[] = {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"};
    void *lib = NULL;
    for (int i = 0; i < 3 && !lib; i++) {
        lib = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
        if (lib && !dlsym(lib, "fake_cudart")) /* a real one of this machine */
            lib = NULL;
    }
    int (*malloc_)(void **, size_t) = NULL, (*free_)(void *) = NULL,
                            (*host_)(void **, size_t) = NULL, (*host_free)(void *) = NULL;
    void *p;
    if (!lib || !(p = dlsym(lib, "cudaMalloc"))) {
        fprintf(stderr, "fake_app: no libcudart\n");
        return;
    }
    memcpy(&malloc_, &p, sizeof p);
    p = dlsym(lib, "cudaFree");
    memcpy(&free_, &p, sizeof p);
    p = dlsym(lib, "cudaMallocHost");
    memcpy(&host_, &p, sizeof p);
    p = dlsym(lib, "cudaFreeHost");
    memcpy(&host_free, &p, sizeof p);
    if (!free_ || !host_ || !host_free)
        return;
    ROUNDS(arg, 10)
    {
        void *a = NULL, *b = NULL;
        if (!malloc_(&a, 3 * MB))
            free_(a);
        if (!host_(&b, MB))
            host_free(b);
    }
    malloc_(&p, (size_t)1 << 50); /* out of memory */
}

/* A function of a driver that is newer than anything the recorder knows. */
static void future(const char *arg)
{
    (void)arg;
    uint64_t p = 0;
    if (!c_future(&p, 7 * MB))
        c_free(p);
}

/* ---- speed ---- */

static double seconds(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* bench:KIND:MILLISECONDS; a line on stdout per thread: kind, calls of this thread, ns per call. */
static void bench(const char *arg)
{
    char kind[32];
    size_t n = strcspn(arg, ":");
    snprintf(kind, sizeof kind, "%.*s", (int)n, arg);
    arg += n + (arg[n] == ':');
    double limit = (double)app_number(&arg, 1000) / 1000, t0 = seconds(), t;
    uint64_t calls = 0, p, h, base = 0, f, total;
    if (!strcmp(kind, "vmm") && c_reserve(&base, 2 * MB, 0))
        return;
    do {
        for (int i = 0; i < 64; i++) {
            if (base) {
                if (!c_create(&h, 2 * MB, 1, (int)self.device, 0)) {
                    c_map(base, 2 * MB, 0, h);
                    c_unmap(base, 2 * MB);
                    c_release(h);
                }
                calls += 4;
            } else if (kind[0] == 'i') {
                c_meminfo(&f, &total);
                calls++;
            } else if (kind[0] == 'a') {
                if (!c_async(&p, 2 * MB, 0, 0, false))
                    c_async_free(p, 0, false);
                calls += 2;
            } else {
                if (!c_alloc(&p, kind[0] == 'r' ? some_size() : 2 * MB))
                    c_free(p);
                calls += 2;
            }
        }
        t = seconds();
    } while (t - t0 < limit);
    printf("bench %s calls=%llu ns_per_call=%.1f\n", kind, (unsigned long long)calls,
           (t - t0) * 1e9 / (double)calls);
    fflush(stdout);
}

const struct scenario mem_scenarios[] = {
    {"alloc", "N allocations and frees of random sizes, up to 64 live (1000)", alloc, true, true},
    {"random", "N random calls of all kinds (1000; 0 = for ever)", random_calls, true, true},
    {"steady", "N times the same allocation and its free (1000; 0 = for ever)", steady, true, true},
    {"vmm", "N expandable segments of 8 x 20 MiB made and unmade (10; 0 = for ever)", vmm, true,
     true},
    {"expand", "N:MB one expandable segment of N handles of MB (64:20)", expand, true, true},
    {"async", "N stream-ordered allocations and frees (1000; 0 = for ever)", async, true, true},
    {"leak", "MB:N allocations that stay (100:1)", leak, true, true},
    {"host", "pinned and registered host memory", host, true, false},
    {"pools", "a memory pool in all its calls", pools, true, true},
    {"managed", "MB managed memory (100)", managed, true, true},
    {"pitch", "a pitched allocation", pitch, true, true},
    {"arrays", "arrays, 2D, 3D and mipmapped", arrays, true, true},
    {"graphs", "N graphs with memory nodes (1)", graphs, true, true},
    {"contexts", "contexts beside the primary one", contexts, true, false},
    {"reset", "resets the primary context", reset, true, false},
    {"modules", "modules and libraries", modules, true, true},
    {"kernels", "N modules that stay, a kernel of each launched twice (4)", kernels, true, true},
    {"limits", "BYTES of stack for each thread of a kernel (8192)", limits, true, true},
    {"launches", "N launches of a graph with 64 MiB that was not uploaded (1)", launches, true,
     true},
    {"meminfo", "N cuMemGetInfo (1; 0 = for ever)", meminfo, true, true},
    {"share", "export and import of a handle, a multicast object", share, true, true},
    {"ipc", "MB shared with a child by cuIpc (32)", ipc, true, false},
    {"ipcopen", "HEX the child of ipc", ipcopen, true, false},
    {"errors", "calls that fail", errors, true, true},
    {"cumem",
     "N:MB an engine sleeps and wakes N times, 12 regions of MB, from cumem_allocator (2:100)",
     cumem, true, true},
    {"tms", "N:MB the same from torch_memory_saver", tms, true, true},
    {"nccl", "N communicator buffers from libnccl (8)", nccl, true, true},
    {"oom", "[fatal|nccl|cumem] out of memory, survived by a second attempt or not", oom, true,
     false},
    {"oom1", "MB allocations that cannot be had (1 TiB), survived", oom_once, true, true},
    {"rt", "N calls through libcudart (10)", runtime, false, true},
    {"future", "calls cuMemFutureAlloc", future, true, true},
    {"bench", "KIND:MS ns per call; steady, random, vmm, async, info", bench, true, true},
    {NULL, NULL, NULL, false, false}};
