/* capture_calls.c -- driver calls in a loop, timed: what capture.py measures with and without the
 * injected library.
 *
 *   capture_calls loop|mix|vmm THREADS CALLS [FRAMES]
 *
 * loop: cuMemAlloc_v2 and cuMemFree_v2 of one size in turn. mix: random sizes and lifetimes, and a
 * virtual memory call now and then. vmm: create, map, set access, unmap, release of 2 MiB handles.
 * CALLS: of each thread, after some more to get warm; all threads start at once. FRAMES: how many
 * more frames are below the calls. Prints one line: calls that were timed; nanoseconds per call, on
 * the clock and of the CPU, in the thread that calls; CPU nanoseconds per call of the whole
 * process; all calls, the warm ones among them. Needs a libcuda.so.1 that the loader finds: that of
 * tests/mock, or a real one. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct prop {
    int32_t type, handle_types, location_type, location_id;
    void *metadata;
    unsigned char flags[16];
};
struct access {
    int32_t location_type, location_id, flags;
};

static struct {
    int (*init)(unsigned);
    int (*retain)(void **, int);
    int (*set_current)(void *);
    int (*alloc)(uint64_t *, size_t);
    int (*release_block)(uint64_t);
    int (*reserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
    int (*create)(uint64_t *, size_t, const struct prop *, unsigned long long);
    int (*map)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
    int (*access)(uint64_t, size_t, const struct access *, size_t);
    int (*unmap)(uint64_t, size_t);
    int (*release)(uint64_t);
} cu;

struct worker {
    pthread_t thread;
    void *context;
    const char *mode;
    uint64_t calls, done, warm, wall, cpu;
    uint32_t seed;
    unsigned frames, frames_seen;
    bool failed;
};
static pthread_barrier_t start;

static uint64_t now(clockid_t clock)
{
    struct timespec ts;
    clock_gettime(clock, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint32_t draw(uint32_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state;
}

static void loop(struct worker *w)
{
    uint64_t p = 0;
    for (; w->done < w->calls; w->done += 2)
        w->failed |= cu.alloc(&p, 1u << 20) != 0 || cu.release_block(p) != 0;
}

/* A thousand blocks of random sizes; each step frees one and allocates it anew. */
static void mix(struct worker *w)
{
    uint64_t block[1000] = {0}, handle = 0;
    struct prop prop = {.type = 1, .location_type = 1};
    for (; w->done < w->calls; w->done++) {
        uint64_t *p = &block[draw(&w->seed) % 1000];
        if (draw(&w->seed) % 16 == 0) {
            w->failed |=
                cu.create(&handle, (size_t)(1 + draw(&w->seed) % 10) << 21, &prop, 0) != 0 ||
                cu.release(handle) != 0;
            w->done++;
        } else if (*p) {
            w->failed |= cu.release_block(*p) != 0;
            *p = 0;
        } else {
            w->failed |= cu.alloc(p, 512u * (size_t)(1 + draw(&w->seed) % 8192)) != 0;
        }
    }
    for (size_t i = 0; i < sizeof block / sizeof *block; i++) {
        if (block[i]) {
            w->failed |= cu.release_block(block[i]) != 0;
            w->done++;
        }
    }
}

static void vmm(struct worker *w)
{
    enum { N = 64 };
    const size_t size = 2u << 20;
    uint64_t base = 0, handle[N] = {0};
    struct prop prop = {.type = 1, .location_type = 1};
    struct access access = {.location_type = 1, .flags = 3};
    w->failed |= cu.reserve(&base, N * size, 0, 0, 0) != 0;
    w->done++;
    for (; w->done < w->calls && !w->failed; w->done += 4 * N + 1) {
        for (size_t i = 0; i < N; i++)
            w->failed |= cu.create(&handle[i], size, &prop, 0) != 0 ||
                         cu.map(base + i * size, size, 0, handle[i], 0) != 0;
        w->failed |= cu.access(base, N * size, &access, 1) != 0;
        for (size_t i = 0; i < N; i++)
            w->failed |= cu.unmap(base + i * size, size) != 0 || cu.release(handle[i]) != 0;
    }
}

/* Frames that are really there: the volatile pointer keeps the compiler from making a loop of them.
 */
static void (*volatile below)(struct worker *w, unsigned frames);

static void body(struct worker *w, unsigned frames)
{
    if (frames) {
        below(w, frames - 1);
        w->frames_seen++;
    } else if (strcmp(w->mode, "loop") == 0)
        loop(w);
    else if (strcmp(w->mode, "mix") == 0)
        mix(w);
    else
        vmm(w);
}

static void *work(void *arg)
{
    struct worker *w = arg;
    uint64_t calls = w->calls;
    w->failed |= cu.set_current(w->context) != 0;
    w->calls = calls / 20 + 1; /* warm */
    body(w, w->frames);
    w->warm = w->done;
    w->calls = calls;
    w->done = 0;
    pthread_barrier_wait(&start);
    uint64_t wall = now(CLOCK_MONOTONIC), cpu = now(CLOCK_THREAD_CPUTIME_ID);
    body(w, w->frames);
    w->cpu = now(CLOCK_THREAD_CPUTIME_ID) - cpu;
    w->wall = now(CLOCK_MONOTONIC) - wall;
    return NULL;
}

static bool find(void *library, const char *name, void *at)
{
    void *f = dlsym(library, name);
    if (!f)
        fprintf(stderr, "capture_calls: libcuda.so.1 has no %s\n", name);
    memcpy(at, &f, sizeof f);
    return f != NULL;
}

int main(int argc, char **argv)
{
    enum { MOST = 64 };
    static struct worker workers[MOST];
    bool enough = argc == 4 || argc == 5;
    unsigned long threads = enough ? strtoul(argv[2], NULL, 10) : 0,
                  calls = enough ? strtoul(argv[3], NULL, 10) : 0;
    unsigned long frames = argc == 5 ? strtoul(argv[4], NULL, 10) : 0;
    if (threads == 0 || threads > MOST || calls == 0 || frames > 1000) {
        fprintf(stderr, "usage: capture_calls loop|mix|vmm THREADS CALLS [FRAMES]\n");
        return 2;
    }
    below = body;
    void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL), *context = NULL;
    if (!library) {
        fprintf(stderr, "capture_calls: %s\n", dlerror());
        return 1;
    }
    if (!find(library, "cuInit", &cu.init) ||
        !find(library, "cuDevicePrimaryCtxRetain", &cu.retain) ||
        !find(library, "cuCtxSetCurrent", &cu.set_current) ||
        !find(library, "cuMemAlloc_v2", &cu.alloc) ||
        !find(library, "cuMemFree_v2", &cu.release_block) ||
        !find(library, "cuMemAddressReserve", &cu.reserve) ||
        !find(library, "cuMemCreate", &cu.create) || !find(library, "cuMemMap", &cu.map) ||
        !find(library, "cuMemSetAccess", &cu.access) || !find(library, "cuMemUnmap", &cu.unmap) ||
        !find(library, "cuMemRelease", &cu.release))
        return 1;
    if (cu.init(0) != 0 || cu.retain(&context, 0) != 0) {
        fprintf(stderr, "capture_calls: no GPU\n");
        return 1;
    }
    uint64_t process = now(CLOCK_PROCESS_CPUTIME_ID);
    if (pthread_barrier_init(&start, NULL, (unsigned)threads) != 0)
        return 1;
    for (unsigned long i = 0; i < threads; i++) {
        workers[i] = (struct worker){.context = context,
                                     .mode = argv[1],
                                     .calls = calls,
                                     .frames = (unsigned)frames,
                                     .seed = (uint32_t)(i * 7919 + 1)};
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    double wall = 0, cpu = 0;
    uint64_t done = 0, all = 0;
    bool failed = false;
    for (unsigned long i = 0; i < threads; i++) {
        pthread_join(workers[i].thread, NULL);
        wall += (double)workers[i].wall;
        cpu += (double)workers[i].cpu;
        done += workers[i].done;
        all += workers[i].done + workers[i].warm;
        failed |= workers[i].failed;
    }
    process = now(CLOCK_PROCESS_CPUTIME_ID) - process;
    printf("%llu %.1f %.1f %.1f %llu\n", (unsigned long long)done, wall / (double)done,
           cpu / (double)done, (double)process / (double)all, (unsigned long long)all);
    if (failed)
        fprintf(stderr, "capture_calls: a driver call failed\n");
    return failed;
}
