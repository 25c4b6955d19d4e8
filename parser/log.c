/* log.c -- from one line of a log to what it says about memory. */
#include "parser/log_match.h"

#include <string.h>

typedef struct mt_log_got got;

enum { MAX_OTHERS = 64 }; /* processes named in one sentence */

static int32_t small(uint64_t v) { return v <= INT32_MAX ? (int32_t)v : -1; }

/* A fact without values; MT_OK with *out = NULL when there are too many. */
static struct mt_log_fact *blank_fact(struct mt_log *l, enum mt_log_kind kind, uint64_t number)
{
    struct mt_log_fact *f;
    if (l->facts.n >= MT_LOG_MAX_FACTS) {
        l->n_dropped++;
        return NULL;
    }
    f = MT_VEC_PUSH(&l->facts);
    if (f == NULL) {
        l->no_memory = true;
        return NULL;
    }
    f->kind = kind;
    f->line = number;
    for (int i = 0; i < MT_LOG_VALUES; i++)
        f->value[i] = MT_LOG_NONE;
    f->gpu = f->rank = -1;
    f->pid = -1;
    return f;
}

/* First hole of the pattern where it matches before `end`. */
static uint64_t before(const char *s, const char *end, const char *pattern)
{
    got g;
    const char *e = mt_log_find(s, pattern, &g);
    return e != NULL && (end == NULL || e <= end) ? g.v[0] : MT_LOG_NONE;
}

struct mt_log_writer mt_log_writer(const char *s, const char *end)
{
    static const char *const ranks[] = {"[rank%n", "[Rank %n", "Rank %n:", "Worker rank=%n", "RankID:%n"};
    static const char *const pids[] = {"pid=%n", "(PID:%n,"};
    uint64_t pid = MT_LOG_NONE, rank = MT_LOG_NONE;
    for (size_t i = 0; i < sizeof pids / sizeof *pids && pid == MT_LOG_NONE; i++)
        pid = before(s, end, pids[i]);
    for (size_t i = 0; i < sizeof ranks / sizeof *ranks && rank == MT_LOG_NONE; i++)
        rank = before(s, end, ranks[i]);
    return (struct mt_log_writer){pid <= INT32_MAX ? (int64_t)pid : -1, rank != MT_LOG_NONE ? small(rank) : -1};
}

/* Kinds that a traceback can lead to. */
static bool has_stack(enum mt_log_kind k)
{
    return k == MT_LOG_TORCH_OOM || (k >= MT_LOG_NCCL_OOM && k <= MT_LOG_CUBLAS_OOM) ||
           (k >= MT_LOG_VLLM_STARTUP && k <= MT_LOG_VLLM_MEASURE) || k == MT_LOG_SGLANG_NO_KV || k == MT_LOG_POOL_REFUSED ||
           k == MT_LOG_HOST_OOM;
}

static struct mt_log_fact *add(struct mt_log *l, enum mt_log_kind kind, uint64_t number, const char *line)
{
    struct mt_log_fact *f = blank_fact(l, kind, number);
    struct mt_log_writer who;
    if (f == NULL)
        return NULL;
    who = mt_log_writer(line, NULL);
    f->rank = who.rank;
    f->pid = who.pid;
    if (has_stack(kind))
        mt_log_stack_take(l, number, f, who);
    return f;
}

static void keep_text(struct mt_log_fact *f, const char *p, size_t n)
{
    while (n > 0 && p[n - 1] == ' ')
        n--;
    mt_printable(f->text, sizeof f->text, p, n);
}

/* "Process 123 has 5.00 GiB memory in use." for each other process that the driver lets this one see. */
static void other_processes(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact of = l->facts.p[l->facts.n - 1];
    const char *p = s;
    got g;
    for (int i = 0; i < MAX_OTHERS && (p = mt_log_find(p, "Process %n has %b memory in use", &g)) != NULL; i++) {
        struct mt_log_fact *f = blank_fact(l, MT_LOG_OTHER_PROC, number);
        if (f == NULL)
            return;
        f->value[0] = g.v[0];
        f->value[1] = g.v[1];
        f->gpu = of.gpu;
        f->rank = of.rank;
        f->pid = of.pid;
    }
}

/* To PyTorch 2.0: everything in one pair of brackets. */
static bool old_sentence(struct mt_log_fact *f, const char *s)
{
    got g;
    if (mt_log_find(s, "(GPU %n; %b total capacity", &g) == NULL && mt_log_find(s, "(NPU %n; %b total capacity", &g) == NULL)
        return false;
    f->gpu = small(g.v[0]);
    f->value[MT_LO_CAPACITY] = g.v[1];
    f->value[MT_LO_ALLOCATED] = mt_log_value(s, "capacity; %b already allocated");
    f->value[MT_LO_FREE] = mt_log_value(s, "already allocated; %b free");
    if (f->value[MT_LO_FREE] == MT_LOG_NONE)
        f->value[MT_LO_FREE] = mt_log_value(s, "current active; %b free"); /* torch_npu has one more number */
    f->value[MT_LO_RESERVED] = mt_log_value(s, "; %b reserved in total by PyTorch");
    f->value[MT_LO_ALLOWED] = mt_log_value(s, "; %b allowed");
    f->value[MT_LO_UNALLOCATED] = mt_log_value(s, "free; %b cached"); /* to 1.3 */
    if (f->value[MT_LO_ALLOCATED] == MT_LOG_NONE)
        return true;
    if (f->value[MT_LO_RESERVED] == MT_LOG_NONE && f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE)
        f->value[MT_LO_RESERVED] = f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED];
    else if (f->value[MT_LO_RESERVED] != MT_LOG_NONE && f->value[MT_LO_RESERVED] >= f->value[MT_LO_ALLOCATED])
        f->value[MT_LO_UNALLOCATED] = f->value[MT_LO_RESERVED] - f->value[MT_LO_ALLOCATED];
    return true;
}

static int torch_oom(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    got g;
    bool absurd = strstr(s, "ried to allocate more than 1EB memory") != NULL; /* all that is said of such a size */
    if ((!absurd && mt_log_find(s, "ried to allocate %b", &g) == NULL) ||
        (strstr(s, "out of memory") == NULL && strstr(s, "OutOfMemoryError") == NULL))
        return 0;
    f = add(l, MT_LOG_TORCH_OOM, number, s);
    if (f == NULL)
        return 1;
    f->value[MT_LO_REQUEST] = absurd ? MT_LOG_EXA : g.v[0];
    f->hints_expandable = strstr(s, "expandable_segments") != NULL;
    if (old_sentence(f, s))
        return 1;
    /* 2.1 misspelt it */
    if (mt_log_find(s, "PU %n has a total capacity of %b", &g) != NULL ||
        mt_log_find(s, "PU %n has a total capacty of %b", &g) != NULL) {
        f->gpu = small(g.v[0]);
        f->value[MT_LO_CAPACITY] = g.v[1];
    }
    f->value[MT_LO_FREE] = mt_log_value(s, "of which %b is free");
    f->value[MT_LO_THIS] = mt_log_value(s, "this process has %b memory in use");
    f->value[MT_LO_ALLOWED] = mt_log_value(s, ". %b allowed;");
    f->value[MT_LO_ALLOCATED] = mt_log_value(s, "allocated memory %b is allocated by PyTorch");
    f->value[MT_LO_PRIVATE] = mt_log_value(s, "with %b allocated in private pools");
    f->value[MT_LO_UNALLOCATED] = mt_log_value(s, "and %b is reserved by PyTorch but unallocated");
    if (f->value[MT_LO_ALLOCATED] != MT_LOG_NONE && f->value[MT_LO_UNALLOCATED] != MT_LOG_NONE)
        f->value[MT_LO_RESERVED] = f->value[MT_LO_ALLOCATED] + f->value[MT_LO_UNALLOCATED];
    other_processes(l, number, s);
    return 1;
}

/* Lines that say one thing. The values of the holes become value[0..]. `and`: the line must hold this too. */
struct row {
    enum mt_log_kind kind;
    const char *pattern, *and;
};
static const struct row rows[] = {
    {MT_LOG_NCCL_OOM, "Failed to CUDA calloc async %n bytes", NULL},
    {MT_LOG_NCCL_OOM, "Failed to CUDA calloc %n bytes", NULL},
    {MT_LOG_HOST_OOM, "Failed to CUDA host alloc %n bytes", NULL},
    {MT_LOG_NCCL_OOM, "Cuda failure 2 'out of memory'", NULL},
    {MT_LOG_NCCL_OOM, "Cuda failure 'out of memory'", NULL},
    {MT_LOG_CUMEM_OOM, "CUDA Error: out of memory at", "cumem_allocator"},
    {MT_LOG_CUMEM_OOM, "CUDA Error: out of memory at", "wake_up"},
    {MT_LOG_SAVER_OOM, "error: 2 (", "[torch_memory_saver"},
    {MT_LOG_SAVER_OOM, "error result=2 ", "[torch_memory_saver"},
    {MT_LOG_VLLM_WARMUP, "UDA out of memory occurred when warming up sampler with %n", NULL},
    {MT_LOG_VLLM_WARMUP, "UDA out of memory occurred when warming up pooler", NULL},
    {MT_LOG_CUDA_OOM, "CUDA error: out of memory", NULL},
    {MT_LOG_CUDA_OOM, "HIP error: out of memory", NULL},
    {MT_LOG_CUDA_OOM, "hipErrorOutOfMemory", NULL},
    {MT_LOG_CUDA_OOM, "Triton Error [CUDA]: out of memory", NULL},
    {MT_LOG_CUDA_OOM, "Triton Error [HIP]: out of memory", NULL},
    {MT_LOG_CUDA_OOM, "CUDA_ERROR_OUT_OF_MEMORY", NULL},
    {MT_LOG_CUBLAS_OOM, "CUBLAS_STATUS_ALLOC_FAILED", NULL},
    {MT_LOG_VLLM_PROFILE,
     "model weights take %b; non_torch_memory takes %b; PyTorch activation peak memory takes %b; the rest of the memory "
     "reserved for KV Cache is %b",
     NULL},
    {MT_LOG_VLLM_BUDGET, "total_gpu_memory (%b) x gpu_memory_utilization (%r) = %b", NULL},
    {MT_LOG_VLLM_WEIGHTS, "Model loading took %b", NULL},
    {MT_LOG_VLLM_WEIGHTS, "Loading model weights took %b", NULL},
    {MT_LOG_VLLM_KV, "Available KV cache memory: %b", NULL},
    {MT_LOG_VLLM_TOKENS, "GPU KV cache size: %n tokens", NULL},
    {MT_LOG_VLLM_BLOCKS, "# GPU blocks: %n, # CPU blocks: %n", NULL},
    {MT_LOG_VLLM_BLOCKS, "# CUDA blocks: %n, # CPU blocks: %n", NULL},
    {MT_LOG_VLLM_BLOCKS, "# cuda blocks: %n, # CPU blocks: %n", NULL},
    {MT_LOG_VLLM_NO_KV, "(%b KV cache is needed, which is larger than the available KV cache memory (%b)", NULL},
    {MT_LOG_VLLM_NO_KV, "(%b) KV cache is needed, which is larger than the available KV cache memory (%b)", NULL},
    {MT_LOG_VLLM_NO_KV, "No available memory for the cache blocks", NULL},
    {MT_LOG_SLEEP, "Sleep mode freed %b memory, %b memory is still in use", NULL},
    {MT_LOG_SGLANG_POOL, "Memory pool end. avail mem=%b", NULL},
    {MT_LOG_SGLANG_NO_KV, "Not enough memory. Please try to increase --mem-fraction-static", NULL},
    {MT_LOG_POOL_REFUSED, "Expandable segments are not compatible with memory pool", NULL},
    {MT_LOG_RAY_KILL, "was running was %b / %b", "memory usage threshold"},
    {MT_LOG_RAY_KILL, ") was %b / %b", "memory usage threshold"},
    {MT_LOG_RAY_KILL, "killed due to the node running low on memory", NULL},
    {MT_LOG_RAY_KILL, "killed due to memory pressure (OOM)", NULL},
    {MT_LOG_KERNEL_KILL, "etected %n oom_kill event", NULL},
    {MT_LOG_KERNEL_KILL, "etected %n oom-kill event", NULL},
    {MT_LOG_KERNEL_KILL, ": Out Of Memory", "srun: error"},
    {MT_LOG_KERNEL_KILL, "OOMKilled", NULL},
    {MT_LOG_HOST_OOM, "DefaultCPUAllocator: can't allocate memory: you tried to allocate %n bytes", NULL},
    {MT_LOG_HOST_OOM, "MemoryError: Unable to allocate %b", NULL},
    {MT_LOG_HOST_OOM, "std::bad_alloc", NULL},
    {MT_LOG_HOST_OOM, "Cannot allocate memory", NULL},
    {MT_LOG_KILLED, "line %n: %n Killed", NULL},
    {MT_LOG_KILLED, "exitcode: -9", NULL},
    {MT_LOG_KILLED, "exit code: -9", NULL},
    {MT_LOG_KILLED, "exitcode : -9", NULL},
    {MT_LOG_KILLED, "Signal 9 (SIGKILL)", NULL},
    {MT_LOG_KILLED, "Worker exit type: SYSTEM_ERROR", "OOM killer"},
    {MT_LOG_KILLED, "Worker exit type: SYSTEM_ERROR", "memory limits"},
    {MT_LOG_KILLED, "exit code 137", NULL},
    {MT_LOG_KILLED, "(exitcode: 137", NULL},
    {MT_LOG_KILLED, "SIGKILL", "signal"},
    {MT_LOG_KILLED, "DataLoader worker (pid %n) is killed by signal: Killed", NULL},
};

static int simple(struct mt_log *l, uint64_t number, const char *s)
{
    if (strstr(s, "may not be an issue") != NULL) /* torch_memory_saver, before PyTorch empties its cache and tries again */
        return 0;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct mt_log_fact *f;
        got g, name;
        if (mt_log_find(s, rows[i].pattern, &g) == NULL || (rows[i].and != NULL && strstr(s, rows[i].and) == NULL))
            continue;
        f = add(l, rows[i].kind, number, s);
        if (f == NULL)
            return 1;
        /* Slurm counts events and bash says its own line: neither is a value of the fact. */
        for (int k = 0; f->kind != MT_LOG_KERNEL_KILL && f->kind != MT_LOG_KILLED && k < g.n; k++)
            f->value[k] = g.v[k];
        if (f->kind == MT_LOG_RAY_KILL && mt_log_find(s, "name=%t,", &name) != NULL)
            keep_text(f, name.text, name.n_text);
        if (f->kind == MT_LOG_RAY_KILL && mt_log_find(s, ", pid=%n, memory used", &g) != NULL)
            f->pid = small(g.v[0]);
        if (f->kind == MT_LOG_KILLED && strstr(s, "Worker exit type") != NULL)
            keep_text(f, "Ray", 3);
        if (f->kind == MT_LOG_NCCL_OOM && mt_log_find(s, ":%n:%n [%n]", &g) != NULL) {
            f->pid = small(g.v[0]); /* host:pid:thread [device] */
            f->gpu = small(g.v[2]);
        }
        return 1;
    }
    return 0;
}

/* "Free memory on device cuda:0 (3.2/79.1 GiB) on startup is less than desired GPU memory utilization (0.9, 71.2 GiB)" */
static int vllm_startup(struct mt_log *l, uint64_t number, const char *s)
{
    static const char lead[] = "Free memory on device";
    const char *p = strstr(s, lead);
    struct mt_log_fact *f;
    got g, want, where;
    if (p == NULL || mt_log_find(p, "(%G/%G GiB) on startup", &g) == NULL ||
        mt_log_find(p, "memory utilization (%r, %b)", &want) == NULL)
        return 0;
    f = add(l, MT_LOG_VLLM_STARTUP, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = g.v[0];
    f->value[1] = g.v[1];
    f->value[2] = want.v[0];
    f->value[3] = want.v[1];
    if (mt_log_find(p, "device cuda:%n", &where) != NULL)
        f->gpu = small(where.v[0]);
    return 1;
}

/* "Error in memory profiling. Initial free memory 82.94 GiB, current free memory 90.17 GiB." and "The model's max seq len (8192) is larger
 * than the maximum number of tokens that can be stored in KV cache (6048)." */
static int vllm_refuses(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    got g;
    if (strstr(s, "Error in memory profiling. Initial free memory") != NULL) {
        f = add(l, MT_LOG_VLLM_MEASURE, number, s);
        if (f != NULL && (mt_log_find(s, "Initial free memory %b, current free memory %b", &g) != NULL ||
                          mt_log_find(s, "Initial free memory %n, current free memory %n", &g) != NULL)) {
            f->value[0] = g.v[0];
            f->value[1] = g.v[1];
        }
        return 1;
    }
    if (mt_log_find(s, "max seq len (%n) is larger than the maximum number of tokens that can be stored in KV cache (%n)",
                    &g) == NULL)
        return 0;
    f = add(l, MT_LOG_VLLM_NO_KV, number, s);
    if (f != NULL) {
        f->value[2] = g.v[0];
        f->value[3] = g.v[1];
    }
    return 1;
}

/* Values a and b of one of SGLang's lines; false when it holds neither. */
static bool sglang_values(const char *s, enum mt_log_kind *kind, uint64_t *a, uint64_t *b)
{
    if (strstr(s, "Load weight end") != NULL) {
        *kind = MT_LOG_SGLANG_WEIGHTS;
        *a = mt_log_value(s, "avail mem=%b");
        *b = mt_log_value(s, "mem usage=%b");
    } else if (strstr(s, "KV Cache is allocated") != NULL) {
        *kind = MT_LOG_SGLANG_KV;
        *a = mt_log_value(s, "#tokens: %n");
        *b = mt_log_value(s, "KV size: %b");
        if (*b == MT_LOG_NONE) {
            uint64_t k = mt_log_value(s, "K size: %b"), v = mt_log_value(s, "V size: %b");
            *b = k != MT_LOG_NONE && v != MT_LOG_NONE ? k + v : MT_LOG_NONE;
        }
    } else if (strstr(s, "uda graph end") != NULL) {
        *kind = MT_LOG_SGLANG_GRAPHS;
        *a = mt_log_value(s, "mem usage=%b");
        *b = mt_log_value(s, "avail mem=%b");
    } else {
        return false;
    }
    return *a != MT_LOG_NONE || *b != MT_LOG_NONE;
}

static int sglang(struct mt_log *l, uint64_t number, const char *s)
{
    enum mt_log_kind kind;
    struct mt_log_fact *f;
    uint64_t a, b;
    if (!sglang_values(s, &kind, &a, &b))
        return 0;
    f = add(l, kind, number, s);
    if (f != NULL) {
        f->value[0] = a;
        f->value[1] = b;
    }
    return 1;
}

static int vllm_graphs(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, "Graph capturing finished in");
    uint64_t took = p != NULL ? mt_log_value(p, "took %b") : MT_LOG_NONE;
    struct mt_log_fact *f;
    if (took == MT_LOG_NONE)
        return 0;
    f = add(l, MT_LOG_VLLM_GRAPHS, number, s);
    if (f != NULL)
        f->value[0] = took;
    return 1;
}

/* The text before `end`, from the last of the usual ends of a prefix. */
static void head_text(struct mt_log_fact *f, const char *s, const char *end)
{
    const char *p = end;
    while (p > s && p[-1] != ':' && p[-1] != ']' && p[-1] != ')' && end - p < 90)
        p--;
    while (p < end && *p == ' ')
        p++;
    keep_text(f, p, (size_t)(end - p));
}

static int usage(struct mt_log *l, uint64_t number, const char *s)
{
    got g;
    const char *end = strstr(s, ", memory allocated (GB):");
    struct mt_log_fact *f;
    if (end == NULL || /* the device came later */
        (mt_log_find(end, ", memory allocated (GB): %G, memory reserved (GB): %G, device memory used/total (GB): %G/%G", &g) ==
             NULL &&
         mt_log_find(end, ", memory allocated (GB): %G, memory reserved (GB): %G", &g) == NULL))
        return 0;
    f = add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f != NULL) {
        memcpy(f->value, g.v, (size_t)g.n * sizeof *g.v);
        head_text(f, s, end);
    }
    return 1;
}

/* EasyR1, of the device: "Before vllm offload in sharding manager: 58.32 GB / 79.19 GB." */
static int usage_pair(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, " GB / "), *end = p;
    struct mt_log_fact *f;
    got g;
    while (end != NULL && end > s && end[-1] != ':')
        end--;
    if (p == NULL || end == s || mt_log_find(end - 1, ": %b / %b.", &g) == NULL)
        return 0;
    f = add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f != NULL) {
        f->value[2] = g.v[0];
        f->value[3] = g.v[1];
        head_text(f, s, end - 1);
    }
    return 1;
}

/* slime and Relax: "Memory-Usage before offload model: {'gpu': '0', 'total_GB': 79.1, 'free_GB': ..." */
static int usage_dict(struct mt_log *l, uint64_t number, const char *s)
{
    got g;
    const char *p = strstr(s, "Memory-Usage ");
    struct mt_log_fact *f;
    uint64_t total, used;
    if (p == NULL)
        return 0;
    total = mt_log_value(p, "'total_GB': %G");
    used = mt_log_value(p, "'used_GB': %G");
    if (total == MT_LOG_NONE && used == MT_LOG_NONE)
        return 0;
    f = add(l, MT_LOG_TORCH_USAGE, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = mt_log_value(p, "'allocated_GB': %G");
    f->value[1] = mt_log_value(p, "'reserved_GB': %G");
    f->value[2] = used;
    f->value[3] = total;
    if (mt_log_find(p, "Memory-Usage %t:", &g) != NULL)
        keep_text(f, g.text, g.n_text);
    if (mt_log_find(p, "'gpu': '%n'", &g) != NULL || mt_log_find(p, "'gpu': %n", &g) != NULL)
        f->gpu = small(g.v[0]);
    return 1;
}

static int kernel_kill(struct mt_log *l, uint64_t number, const char *s)
{
    got g;
    struct mt_log_fact *f;
    if (mt_log_find(s, "Killed process %n (%t)", &g) == NULL)
        return 0;
    f = add(l, MT_LOG_KERNEL_KILL, number, s);
    if (f != NULL) {
        f->value[0] = g.v[0];
        keep_text(f, g.text, g.n_text);
        f->value[1] = mt_log_value(s, "anon-rss:%b");
    }
    return 1;
}

/* A line that is nothing but this, perhaps behind "(Worker pid=1)" or "[rank3]:". */
static int whole_line(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = s;
    size_t n;
    for (;;) {
        const char *e = NULL;
        p += strspn(p, " \t");
        if (*p == '(' || *p == '[')
            e = strchr(p, *p == '(' ? ')' : ']');
        if (e == NULL)
            break;
        p = e + 1 + (e[1] == ':');
    }
    n = strlen(p);
    while (n > 0 && p[n - 1] == ' ')
        n--;
    if ((n == 6 && memcmp(p, "Killed", 6) == 0) || (n == 9 && memcmp(p, "\xe5\xb7\xb2\xe6\x9d\x80\xe6\xad\xbb", 9) == 0)) {
        add(l, MT_LOG_KILLED, number, s);
        return 1;
    }
    if ((n == 11 && memcmp(p, "MemoryError", 11) == 0) || (n > 12 && memcmp(p, "MemoryError:", 12) == 0)) {
        add(l, MT_LOG_HOST_OOM, number, s);
        return 1;
    }
    return 0;
}

static bool in_path(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.' ||
           c == '/';
}

static void count_path(struct mt_log *l, const char *p, size_t n)
{
    struct mt_log_path one = {.n = 1}, *at;
    size_t cut = n >= sizeof one.path ? n - (sizeof one.path - 1) : 0;
    memcpy(one.path, p + cut, n - cut); /* nothing but what in_path() takes */
    for (uint32_t i = 0; i < l->paths.n; i++) {
        if (strcmp(l->paths.p[i].path, one.path) == 0) {
            l->paths.p[i].n++;
            return;
        }
    }
    if (l->paths.n >= MT_LOG_MAX_PATHS)
        return;
    at = MT_VEC_PUSH(&l->paths);
    if (at != NULL)
        *at = one;
    l->no_memory |= at == NULL;
}

/* Whether a package's folder is one of those of the path. */
static bool has_package(const char *p, size_t n)
{
    static const char *const packages[] = {"verl/",     "areal/", "slime/",   "relax/",
                                           "openrlhf/", "trl/",   "nemo_rl/", "torch_npu/"};
    for (size_t i = 0; i < n; i++) {
        if (i != 0 && p[i - 1] != '/')
            continue;
        for (size_t k = 0; k < sizeof packages / sizeof *packages; k++)
            if (n - i > strlen(packages[k]) && memcmp(p + i, packages[k], strlen(packages[k])) == 0)
                return true;
    }
    return false;
}

/* The framework's files that a line names: of tracebacks, or before what it logs. */
static void note_paths(struct mt_log *l, const char *s)
{
    for (const char *p = s; (p = strstr(p, ".py")) != NULL;) {
        const char *b = p, *e = p + 3;
        p = e;
        if (in_path(*e))
            continue;
        while (b > s && in_path(b[-1]) && e - b < 1024)
            b--;
        if (has_package(b, (size_t)(e - b)))
            count_path(l, b, (size_t)(e - b));
    }
}

int mt_log_line(struct mt_log *l, uint64_t number, const char *line, const char *joined)
{
    /* A long sentence is wrapped in tickets; then the following lines belong to it. */
    bool is_whole = strstr(line, "unallocated") != NULL || strstr(line, "reserved in total") != NULL;
    const char *s = strstr(line, "ried to allocate") != NULL && !is_whole ? joined : line;
    int found = torch_oom(l, number, s) || mt_log_stack_line(l, number, line) || usage(l, number, line) ||
                usage_dict(l, number, line) || usage_pair(l, number, line) || sglang(l, number, line) ||
                vllm_graphs(l, number, line) || vllm_startup(l, number, joined) || vllm_refuses(l, number, joined) ||
                kernel_kill(l, number, line) || simple(l, number, line) || whole_line(l, number, line);
    note_paths(l, line);
    return l->no_memory ? -1 : found;
}

const char *mt_log_kind_name(enum mt_log_kind k)
{
    static const char *const names[MT_LOG_KIND_COUNT] = {
        [MT_LOG_TORCH_OOM] = "torch_oom",
        [MT_LOG_OTHER_PROC] = "other_process",
        [MT_LOG_NCCL_OOM] = "nccl_oom",
        [MT_LOG_CUMEM_OOM] = "cumem_oom",
        [MT_LOG_SAVER_OOM] = "saver_oom",
        [MT_LOG_CUDA_OOM] = "cuda_oom",
        [MT_LOG_CUBLAS_OOM] = "cublas_oom",
        [MT_LOG_VLLM_WEIGHTS] = "vllm_weights",
        [MT_LOG_VLLM_BUDGET] = "vllm_budget",
        [MT_LOG_VLLM_PROFILE] = "vllm_profile",
        [MT_LOG_VLLM_KV] = "vllm_kv",
        [MT_LOG_VLLM_TOKENS] = "vllm_tokens",
        [MT_LOG_VLLM_BLOCKS] = "vllm_blocks",
        [MT_LOG_VLLM_GRAPHS] = "vllm_graphs",
        [MT_LOG_VLLM_STARTUP] = "vllm_startup",
        [MT_LOG_VLLM_NO_KV] = "vllm_no_kv",
        [MT_LOG_VLLM_WARMUP] = "vllm_warmup",
        [MT_LOG_VLLM_MEASURE] = "vllm_measure",
        [MT_LOG_SLEEP] = "sleep",
        [MT_LOG_SGLANG_WEIGHTS] = "sglang_weights",
        [MT_LOG_SGLANG_KV] = "sglang_kv",
        [MT_LOG_SGLANG_POOL] = "sglang_pool",
        [MT_LOG_SGLANG_GRAPHS] = "sglang_graphs",
        [MT_LOG_SGLANG_NO_KV] = "sglang_no_kv",
        [MT_LOG_POOL_REFUSED] = "pool_refused",
        [MT_LOG_TORCH_USAGE] = "torch_usage",
        [MT_LOG_RAY_KILL] = "ray_kill",
        [MT_LOG_KERNEL_KILL] = "kernel_kill",
        [MT_LOG_HOST_OOM] = "host_oom",
        [MT_LOG_KILLED] = "killed",
    };
    return (unsigned)k < MT_LOG_KIND_COUNT ? names[k] : "unknown";
}
