/* fake_app_train.c -- a small job as RL trainers run them: context, PyTorch's segments, NCCL,
 * cuBLAS, a CUDA graph, an inference engine that sleeps and wakes, phases as NVTX ranges; it ends
 * well or in an out-of-memory error of a chosen library. */
#include "fake_app.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define MB FAKE_MB
enum { CONTEXT = 6, MODULE = 7 }; /* beside enum owner in held[] */

static uint64_t held[8]; /* device bytes by owner, by the calls that were made;
                            context and module: what the fake driver takes */
static char scale_of;    /* 's': everything at a tenth */

static uint64_t scaled(uint64_t mb)
{
    uint64_t n = scale_of == 's' ? (mb + 9) / 10 : mb;
    return (n + n % 2) * MB;
}

static void as(enum owner o)
{
    if (!app_open_owner(o))
        self.owner = o;
}

/* ---- the parts ---- */

#define SEGMENTS 96
static struct {
    uint64_t addr, size;
} segments[SEGMENTS];
static unsigned n_segments;

/* What cudaMalloc gives to PyTorch's caching allocator. On failure it frees what it has cached and
 * tries again. */
static int segment(uint64_t mb)
{
    as(OWNER_TORCH);
    uint64_t p = 0, size = scaled(mb);
    int r = n_segments < SEGMENTS ? c_alloc(&p, size) : OOM;
    if (!r) {
        segments[n_segments].addr = p;
        segments[n_segments++].size = size;
        held[OWNER_TORCH] += size;
    }
    self.owner = OWNER_APP;
    return r;
}

static void drop_segments(unsigned keep)
{
    as(OWNER_TORCH);
    while (n_segments > keep) {
        c_free(segments[--n_segments].addr);
        held[OWNER_TORCH] -= segments[n_segments].size;
    }
    self.owner = OWNER_APP;
}

/* An expandable segment that grows. */
static struct {
    uint64_t base, size, chunk, mapped;
} grown;

static int grow(uint64_t mb)
{
    as(OWNER_TORCH);
    int r = 0;
    uint64_t h;
    if (!grown.base) {
        grown.chunk = 20 * MB;
        grown.size = 8192 * grown.chunk;
        r = c_reserve(&grown.base, grown.size, 0);
    }
    uint64_t n = (scaled(mb) + grown.chunk - 1) / grown.chunk, at = grown.base + grown.mapped;
    for (uint64_t i = 0; i < n && !r; i++) {
        r = c_create(&h, grown.chunk, 1, (int)self.device, 0);
        if (!r) {
            c_map(grown.base + grown.mapped, grown.chunk, 0, h);
            c_release(h);
            grown.mapped += grown.chunk;
            held[OWNER_TORCH] += grown.chunk;
        }
    }
    if (grown.base + grown.mapped > at)
        c_access(at, grown.base + grown.mapped - at);
    self.owner = OWNER_APP;
    return r;
}

static void shrink(void)
{
    as(OWNER_TORCH);
    while (grown.mapped) {
        grown.mapped -= grown.chunk;
        c_unmap(grown.base + grown.mapped, grown.chunk);
        held[OWNER_TORCH] -= grown.chunk;
    }
    self.owner = OWNER_APP;
}

#define REGIONS 16
static struct {
    uint64_t base, size, handle;
} regions[REGIONS];
static uint64_t kv_mb;

/* vLLM's allocator: weights and KV cache; reserved at the first wake, later wakes map new memory at
 * the same addresses. */
static int wake(void)
{
    int r = 0;
    as(OWNER_CUMEM);
    for (unsigned i = 0; i < REGIONS && !r; i++) {
        if (!regions[i].base) {
            regions[i].size = scaled(i < 4 ? 900 : kv_mb);
            r = c_reserve(&regions[i].base, regions[i].size, 0);
        }
        if (!r && !regions[i].handle)
            r = c_create(&regions[i].handle, regions[i].size, 1, (int)self.device, 0);
        if (!r) {
            c_map(regions[i].base, regions[i].size, 0, regions[i].handle);
            c_access(regions[i].base, regions[i].size);
            held[OWNER_CUMEM] += regions[i].size;
        }
    }
    self.owner = OWNER_APP;
    return r;
}

static void go_to_sleep(void)
{
    as(OWNER_CUMEM);
    for (unsigned i = 0; i < REGIONS; i++)
        if (regions[i].handle) {
            c_unmap(regions[i].base, regions[i].size);
            c_release(regions[i].handle);
            regions[i].handle = 0;
            held[OWNER_CUMEM] -= regions[i].size;
        }
    self.owner = OWNER_APP;
}

static int communicator(unsigned buffers, uint64_t mb)
{
    as(OWNER_NCCL);
    uint64_t h, base, size = scaled(mb), p;
    int r = c_alloc(&p, 2 * MB);
    held[OWNER_NCCL] += r ? 0 : 2 * MB;
    for (unsigned i = 0; i < buffers && !r; i++) {
        r = c_create(&h, size, 1, (int)self.device, 1);
        if (!r && !c_reserve(&base, size, 0)) {
            c_map(base, size, 0, h);
            c_access(base, size);
            held[OWNER_NCCL] += size;
        }
    }
    if (!r && !c_create(&h, 4 * MB, 3, 0, 0) && !c_reserve(&base, 4 * MB, 0))
        c_map(base, 4 * MB, 0, h); /* a host buffer: no device memory */
    self.owner = OWNER_APP;
    return r;
}

static void workspace(void)
{
    uint64_t p, m;
    as(OWNER_CUBLAS);
    if (!c_alloc(&p, 32 * MB))
        held[OWNER_CUBLAS] += 32 * MB;
    enum fake_api load =
        app_has(API_cuLibraryLoadData) ? API_cuLibraryLoadData : API_cuModuleLoadData;
    for (int i = 0; i < 4; i++)
        if (!c_module(&m, load, "image") && !c_launch(m))
            held[MODULE] += fake_env_u64("FAKE_MODULE_MB", 8) * MB;
    self.owner = OWNER_APP;
}

/* ---- the job ---- */

static void pause_ms(long ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000}, NULL); }
static long tick = 20;

/* With gate=FILE: at the end of phase N, still in it, FILE.N.here is made and FILE.N waited for. */
static char gate[256];
static unsigned n_phases;

static void wait_at_gate(void)
{
    char path[300];
    snprintf(path, sizeof path, "%s.%u.here", gate, ++n_phases);
    FILE *f = fopen(path, "w");
    if (f)
        fclose(f);
    snprintf(path, sizeof path, "%s.%u", gate, n_phases);
    for (int i = 0; i < 60000 && access(path, F_OK); i++)
        pause_ms(5);
}

static void phase(const char *name) { nvtx_push(name); }
static void phase_end(const char *name)
{
    pause_ms(tick);
    if (gate[0])
        wait_at_gate();
    app_held(name, held);
    nvtx_pop();
}

static void die(enum owner who, uint64_t bytes)
{
    uint64_t f, t;
    c_meminfo(&f, &t); /* as PyTorch does when it words its error */
    app_held("end", held);
    app_die_oom(owner_file[who], bytes);
}

/* Grows PyTorch until only `leave` MB of the device are free. */
static void fill(uint64_t leave)
{
    uint64_t f = 0, t = 0;
    while (!c_meminfo(&f, &t) && f > (leave + 20) * MB) {
        uint64_t mb = (f / MB - leave) / 2;
        as(OWNER_TORCH);
        uint64_t p = 0, size = (mb < 20 ? 20 : mb) / 2 * 2 * MB;
        if (n_segments == SEGMENTS || c_alloc(&p, size))
            break;
        segments[n_segments].addr = p;
        segments[n_segments++].size = size;
        held[OWNER_TORCH] += size;
        self.owner = OWNER_APP;
    }
    self.owner = OWNER_APP;
}

/* The last act of train:oom=WHO. */
static void fatal(const char *who)
{
    uint64_t p, h;
    phase("update_weights");
    go_to_sleep();
    if (!strncmp(who, "nccl", 4)) {
        fill(100);
        as(OWNER_NCCL);
        if (c_create(&h, 512 * MB, 1, (int)self.device, 1))
            die(OWNER_NCCL, 512 * MB);
    } else if (!strncmp(who, "cumem", 5)) {
        fill(regions[0].size / MB * 5 / 2); /* some regions wake, then one cannot */
        if (wake())
            die(OWNER_CUMEM, regions[0].size);
    } else {
        fill(100);
        as(OWNER_TORCH);
        if (c_alloc(&p, 512 * MB)) {
            self.owner = OWNER_APP;
            /* the retry: frees a cached segment, which is not enough */
            unsigned before = n_segments;
            drop_segments(before - 1);
            as(OWNER_TORCH);
            if (c_alloc(&p, 512 * MB))
                die(OWNER_TORCH, 512 * MB);
        }
    }
    fprintf(stderr, "fake_app: train: it fitted\n");
}

static const char *option(const char *arg, const char *name)
{
    const char *at = strstr(arg, name);
    return at ? at + strlen(name) : NULL;
}

/* train[:oom=nccl|cumem|torch][:small][:steps=N][:tick=MS][:gate=FILE] */
static void train(const char *arg)
{
    const char *who = option(arg, "oom="), *n = option(arg, "steps="), *ms = option(arg, "tick="),
               *file = option(arg, "gate=");
    snprintf(gate, sizeof gate, "%.*s", file ? (int)strcspn(file, ":") : 0, file ? file : "");
    uint64_t steps = n ? app_number(&n, 2) : 2, exec = 0, graph = 0, p = 0;
    scale_of = option(arg, "small") ? 's' : 'f';
    kv_mb = 1500;
    tick = ms ? (long)app_number(&ms, 20) : 20;
    memset(held, 0, sizeof held);
    held[CONTEXT] = fake_env_u64("FAKE_CONTEXT_MB", 500) * MB;
    phase("init");
    workspace();
    for (unsigned i = 0; i < 8; i++)
        segment(700);
    communicator(6, 32);
    int r = wake();
    as(OWNER_CUMEM);
    if (!c_graph_create(&graph)) { /* what the engine captures */
        c_graph_alloc(graph, &p, scaled(64), 0);
        c_instantiate(&exec, graph, true);
        c_upload(exec, 0);
    }
    self.owner = OWNER_APP;
    go_to_sleep();
    phase_end("init");
    for (uint64_t step = 0; step < steps && !r; step++) {
        phase("step");
        phase("gen");
        r = wake();
        c_graph_launch(exec);
        phase_end("gen");
        go_to_sleep();
        phase("old_log_prob");
        segment(300);
        segment(300);
        phase_end("old_log_prob");
        phase("update_actor");
        r = r ? r : grow(4000);
        segment(1200);
        phase_end("update_actor");
        drop_segments(8);
        shrink();
        phase("update_weights");
        segment(500);
        phase_end("update_weights");
        drop_segments(8);
        phase_end("step");
    }
    if (r)
        die(OWNER_CUMEM, regions[0].size);
    if (who)
        fatal(who);
    app_held("end", held);
}

const struct scenario train_scenarios[] = {
    {"train",
     "[oom=nccl|cumem|torch][:small][:steps=N][:tick=MS][:gate=FILE] a little RL job; "
     "DIR/<pid>.<n>.held says what each owner holds; it waits at the end of its phase N for FILE.N",
     train, true, false},
    {NULL, NULL, NULL, false, false}};
