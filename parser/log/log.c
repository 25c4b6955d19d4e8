/* log.c -- from one line of a log to what it says about memory. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

enum { MAX_OTHERS = 64 }; /* processes named in one sentence */

/* "Process 123 has 5.00 GiB memory in use." for each other process that the driver lets this one
 * see. */
static void other_processes(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact of = l->facts.p[l->facts.n - 1];
    const char *p = s;
    got g;
    for (int i = 0;
         i < MAX_OTHERS && (p = mt_log_find(p, "Process %n has %b memory in use", &g)) != NULL;
         i++) {
        struct mt_log_fact *f = mt_log_blank(l, MT_LOG_OTHER_PROC, number);
        if (f == NULL)
            return;
        f->value[0] = g.v[0];
        f->value[1] = g.v[1];
        f->gpu = of.gpu;
        f->rank = of.rank;
        f->pid = of.pid;
    }
}

/* "KSampler", "VAEDecode": the class of a node. "Total", "GPU" and the like are words. */
static bool is_node(const char *s)
{
    unsigned upper = 0, lower = 0;
    for (; *s != ' '; s++) {
        upper += *s >= 'A' && *s <= 'Z';
        lower += *s >= 'a' && *s <= 'z';
    }
    return upper >= 2 && lower != 0;
}

/* Its first words alone, as ComfyUI shows them: on a line of their own, or behind the name of the
 * node, "Exception Message:** " and "Exception during processing !!! ". In a sentence of
 * somebody's own other words follow. */
static bool stands_alone(const char *s, const char *p)
{
    const char *end = p + strlen("Allocation on device");
    const char *first = s + strspn(s, " \t*-");
    end += strspn(end, " ");
    end += strspn(end, "0123456789");
    end += strspn(end, " \r.");
    if (*end != '\0')
        return false;
    return first == p ||
           (p - s >= 4 && (strncmp(p - 4, "!!! ", 4) == 0 || strncmp(p - 4, ":** ", 4) == 0)) ||
           (p - s >= 2 && memchr(first, ' ', (size_t)(p - first)) == p - 1 && is_node(first));
}

const char *mt_log_async(const char *s)
{
    const char *p = strstr(s, "Allocation on device");
    return p != NULL && ((p - s >= 18 && strncmp(p - 18, "OutOfMemoryError: ", 18) == 0) ||
                         strstr(p, "would exceed allowed memory") != NULL || stands_alone(s, p))
               ? p
               : NULL;
}

/* PyTorch on cudaMallocAsync: "Allocation on device 0 would exceed allowed memory. (out of
 * memory)", and in the lines that follow "Requested               : 1.50 GiB" and so on; some
 * programs print no more than its first words. */
static int torch_async(struct mt_log *l, uint64_t number, const char *s)
{
    static const struct {
        const char *pattern;
        enum mt_log_oom_value value;
    } parts[] = {{"Currently allocated : %b", MT_LO_ALLOCATED},
                 {"Requested : %b", MT_LO_REQUEST},
                 {"Device limit : %b", MT_LO_CAPACITY},
                 {"Free (according to CUDA): %b", MT_LO_FREE},
                 {"memory fraction) : %b", MT_LO_ALLOWED}};
    const char *p = mt_log_async(s);
    struct mt_log_fact *f;
    got g;
    if (p == NULL)
        return 0;
    f = mt_log_add(l, MT_LOG_TORCH_OOM, number, s);
    if (f == NULL)
        return 1;
    mt_log_keep_text(f, "async", 5);
    if (mt_log_find(p, "Allocation on device %n", &g) != NULL)
        f->gpu = mt_log_small(g.v[0]);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        f->value[parts[i].value] = mt_log_value(p, parts[i].pattern);
    if (f->value[MT_LO_ALLOWED] != MT_LOG_NONE &&
        f->value[MT_LO_ALLOWED] >= f->value[MT_LO_CAPACITY])
        f->value[MT_LO_ALLOWED] = MT_LOG_NONE; /* PyTorch prints "no limit" as an enormous number */
    return 1;
}

static bool follows_first_half(const struct mt_log *l, uint64_t number)
{
    uint32_t i = l->facts.n;
    while (i > 0 && l->facts.p[i - 1].kind == MT_LOG_OTHER_PROC)
        i--;
    return i > 0 && l->facts.p[i - 1].kind == MT_LOG_TORCH_OOM &&
           l->facts.p[i - 1].line + 1 == number;
}

static char platform_of(const char *s)
{
    return strstr(s, "NPU out of memory") != NULL || strstr(s, "(NPU ") != NULL ? 'N'
           : strstr(s, "HIP out of memory") != NULL                             ? 'H'
           : strstr(s, "XPU out of memory") != NULL ||
                   strstr(s, "can NOT allocate memory block") != NULL
               ? 'X'
               : 0;
}

static int torch_oom(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    struct mt_log_fact *f;
    got g, half;
    /* PyTorch says no more of a request of that size */
    bool absurd = strstr(s, "ried to allocate more than 1EB memory") != NULL;
    /* Intel's GPUs */
    uint64_t block = mt_log_value(s, "allocate memory block with size larger than %b");
    int n;
    if (!absurd && mt_log_find(s, "ried to allocate %b", &g) == NULL &&
        mt_log_find(s, "ried to alocate %b", &g) == NULL) { /* typed */
        /* a terminal cut the number itself */
        if (glued == s || mt_log_find(glued, "ried to allocate %b", &g) == NULL)
            return 0;
        s = glued;
    }
    if (strstr(s, "out of memory") == NULL && strstr(s, "OutOfMemoryError") == NULL &&
        block == MT_LOG_NONE) {
        /* its second half: alone, or after a first half that has read it already */
        if ((strstr(s, "has a total capacity of") == NULL &&
             mt_log_find(s, "(GPU %n; %b total capacity", &half) == NULL) ||
            follows_first_half(l, number))
            return 0;
    }
    f = mt_log_add(l, MT_LOG_TORCH_OOM, number, s);
    if (f == NULL)
        return 1;
    f->value[MT_LO_REQUEST] = absurd ? MT_LOG_EXA : g.v[0];
    f->platform = platform_of(s);
    mt_log_stack_method(l, number, f, s);
    n = mt_log_torch_sentence(f, s);
    if (glued != s && mt_log_torch_sentence(f, glued) <= n)
        mt_log_torch_sentence(f, s);
    else
        s = glued;
    mt_log_torch_typed(f, s, s == glued);
    f->use_not_known = mt_log_use_not_known(s);
    f->hints_expandable = strstr(s, "expandable_segments") != NULL;
    if (block != MT_LOG_NONE) {
        f->value[MT_LO_ALLOWED] = block;
        mt_log_keep_text(f, "block", 5);
    }
    mt_log_observed(l, f);
    other_processes(l, number, s);
    return 1;
}

/* "Free memory on device cuda:0 (3.2/79.1 GiB) on startup is less than desired GPU memory
 * utilization (0.9, 71.2 GiB)" */
static int vllm_startup(struct mt_log *l, uint64_t number, const char *s)
{
    static const char lead[] = "Free memory on device";
    const char *p = strstr(s, lead);
    struct mt_log_fact *f;
    got g, want, where;
    if (p == NULL || mt_log_find(p, "(%G/%G GiB) on startup", &g) == NULL ||
        mt_log_find(p, "memory utilization (%r, %b)", &want) == NULL)
        return 0;
    f = mt_log_add(l, MT_LOG_VLLM_STARTUP, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = g.v[0];
    f->value[1] = g.v[1];
    f->value[2] = want.v[0];
    f->value[3] = want.v[1];
    if (mt_log_find(p, "device cuda:%n", &where) != NULL)
        f->gpu = mt_log_small(where.v[0]);
    return 1;
}

static bool kv_needed(const char *s, got *g)
{
    return mt_log_find(
               s, "(%b KV cache is needed, which is larger than the available KV cache memory (%b)",
               g) != NULL ||
           mt_log_find(
               s,
               "(%b) KV cache is needed, which is larger than the available KV cache memory (%b)",
               g) != NULL;
}

/* "Error in memory profiling. Initial free memory 82.94 GiB, current free memory 90.17 GiB." and
 * "The model's max seq len (8192) is larger than the maximum number of tokens that can be stored in
 * KV cache (6048)." */
static int vllm_refuses(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    struct mt_log_fact *f;
    got g;
    if (strstr(s, "Error in memory profiling. Initial free memory") != NULL) {
        f = mt_log_add(l, MT_LOG_VLLM_MEASURE, number, s);
        if (f != NULL &&
            (mt_log_find(s, "Initial free memory %b, current free memory %b", &g) != NULL ||
             mt_log_find(s, "Initial free memory %n, current free memory %n", &g) != NULL)) {
            f->value[0] = g.v[0];
            f->value[1] = g.v[1];
        }
        return 1;
    }
    if (mt_log_find(s,
                    "max seq len (%n) is larger than the maximum number of tokens that can be "
                    "stored in KV cache (%n)",
                    &g) != NULL) {
        f = mt_log_add(l, MT_LOG_VLLM_NO_KV, number, s);
        if (f != NULL) {
            f->value[2] = g.v[0];
            f->value[3] = g.v[1];
        }
        return 1;
    }
    if (!kv_needed(s, &g)) {
        if (glued == s || !kv_needed(glued, &g))
            return 0;
        s = glued;
    }
    f = mt_log_add(l, MT_LOG_VLLM_NO_KV, number, s);
    if (f != NULL) {
        f->value[0] = g.v[0];
        f->value[1] = g.v[1];
        f->value[3] = mt_log_value(s, "estimated maximum model length is %n");
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
    } else if (strstr(s, "KV Cache is allocated") != NULL ||
               strstr(s, "KV Cache allocated") != NULL) {
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
    f = mt_log_add(l, kind, number, s);
    if (f != NULL) {
        f->value[0] = a;
        f->value[1] = b;
    }
    return 1;
}

/* "Decode out of memory. Try to lower your batch size.", and in the lines that follow "Try to
 * allocate 148 tokens." and what was left. */
static int sglang_full(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f;
    if (strstr(s, " out of memory. Try to lower your batch size") == NULL &&
        strstr(s, "Out of memory. Try to lower your batch size") == NULL)
        return 0;
    f = mt_log_add(l, MT_LOG_SGLANG_KV_FULL, number, s);
    if (f != NULL) {
        f->value[0] = mt_log_value(s, "Try to allocate %n tokens");
        f->value[1] = mt_log_value(s, "vailable tokens: %n");
        if (f->value[1] == MT_LOG_NONE)
            f->value[1] = mt_log_value(s, "valiable tokens: %n"); /* misspelt for long */
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
    f = mt_log_add(l, MT_LOG_VLLM_GRAPHS, number, s);
    if (f != NULL)
        f->value[0] = took;
    return 1;
}

enum { LONGEST_PATH = 1024 };

static bool in_path(char c, bool windows)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '.' || c == '/' || (windows && c == '\\');
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
static bool has_package(const struct mt_log *l, const char *p, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (i != 0 && p[i - 1] != '/')
            continue;
        for (const char *const *name = l->packages; *name != NULL; name++) {
            size_t k = strlen(*name);
            if (n - i > k + 1 && p[i + k] == '/' && memcmp(p + i, *name, k) == 0)
                return true;
        }
    }
    return false;
}

/* Nothing of a path stands before it: a blank, a quote, a bracket. */
static bool begins_path(const char *line, const char *p)
{
    return p == line || strchr(" \t\"'(=[", p[-1]) != NULL;
}

/* C:\Users, in a string also C:\\Users; "a:\b" is no path. */
static bool names_drive(const char *s)
{
    for (const char *p = s; (p = strstr(p, ":\\")) != NULL; p++)
        if (p > s && mt_log_is_letter(p[-1]) && begins_path(s, p - 1) &&
            strspn(p + 2, "\\abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.") >
                1)
            return true;
    return false;
}

/* A path from the root on, of two folders or more. */
static bool names_root(const char *s)
{
    for (const char *p = s; (p = strchr(p, '/')) != NULL; p++) {
        size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz0123456789_-.");
        if (begins_path(s, p) && mt_log_is_letter(p[1]) && p[1 + n] == '/')
            return true;
    }
    return false;
}

/* The machine's architecture: of `uname -a`, of a library's path, of a wheel's name. And how its
 * paths begin. */
static void note_machine(struct mt_log *l, const char *s)
{
    l->n_arm += strstr(s, "aarch64") != NULL;
    l->n_x86 += strstr(s, "x86_64") != NULL;
    l->n_windows += names_drive(s);
    l->n_unix += names_root(s);
    l->n_async += strstr(s, "kernel errors might be asynchronously reported") != NULL;
}

/* The framework's files that a line names by their ending: of tracebacks, or before what it logs,
 * and checkpoints in its folder. */
static void note_paths_of(struct mt_log *l, const char *s, const char *ending)
{
    bool windows = strstr(s, ending) != NULL && names_drive(s);
    for (const char *p = s; (p = strstr(p, ending)) != NULL;) {
        const char *b = p, *e = p + 3;
        char path[LONGEST_PATH];
        size_t n;
        p = e;
        if (in_path(*e, false))
            continue;
        while (b > s && in_path(b[-1], windows) && e - b < LONGEST_PATH)
            b--;
        n = mt_log_slashes(path, sizeof path, b, e);
        if (has_package(l, path, n))
            count_path(l, path, n);
    }
}

static void note_paths(struct mt_log *l, const char *s)
{
    if (l->packages == NULL)
        return;
    note_paths_of(l, s, ".py");
    note_paths_of(l, s, ".pt");
}

bool mt_log_breaks_off(const char *s)
{
    static const char words[] = "CUDA out of memory. Tried to allocate ";
    const char *p = strstr(s, "rror: ");
    size_t n = p != NULL ? strlen(p + 6) : 0;
    return n >= 5 && n < sizeof words && strncmp(p + 6, words, n) == 0;
}

/* Two processes wrote at once: two sentences in one line. */
static int torch_ooms(struct mt_log *l, uint64_t number, const char *s, const char *glued)
{
    static const char words[] = "out of memory. Tried to allocate";
    const char *first = strstr(s, words), *second = first != NULL ? strstr(first + 1, words) : NULL;
    char *one;
    if (second == NULL)
        return torch_oom(l, number, s, glued);
    one = mt_strndup(s, (size_t)(second - s));
    if (one == NULL) {
        l->no_memory = true;
        return 1;
    }
    torch_oom(l, number, one, one);
    mt_free(one);
    torch_ooms(l, number, second, second);
    return 1;
}

static bool is_kill(enum mt_log_kind k)
{
    return k == MT_LOG_RAY_KILL || k == MT_LOG_KERNEL_KILL || k == MT_LOG_KILLED;
}

/* Ray's sentence about a worker that died, whose reasons stand in the next lines. */
static bool is_wrapped_death(const char *s)
{
    return strstr(s, "Worker exit type") != NULL && strstr(s, "Worker exit detail") != NULL &&
           strstr(s, "OOM killer") == NULL;
}

int mt_log_line(struct mt_log *l, uint64_t number, const char *line, const char *joined,
                const char *glued)
{
    /* A long sentence is wrapped in tickets; then the following lines belong to it. */
    bool is_whole =
        strstr(line, "unallocated") != NULL || strstr(line, "reserved in total") != NULL;
    bool is_part = !is_whole && (strstr(line, "ried to allocate") != NULL ||
                                 strstr(line, "out of memory.") != NULL || mt_log_breaks_off(line));
    const char *file = strstr(line, "File \"");
    /* a traceback and what it led to on one line: a collector took the newlines out */
    bool flat =
        file != NULL && (strstr(file, "rror:") != NULL || strstr(file, "out of memory") != NULL);
    bool frames = flat && mt_log_stack_line(l, number, line, line);
    uint32_t before = l->facts.n;
    int found;
    mt_log_step_line(l, number, line);
    mt_log_said_line(l, number, line);
    mt_log_actor_line(l, number, line);
    found = torch_ooms(l, number, is_part ? joined : line, is_part ? glued : line) ||
            torch_async(l, number, joined) || mt_log_observer(l, number, line) ||
            mt_log_ray(l, number, line, glued) ||
            (!flat && mt_log_stack_line(l, number, line, glued)) || mt_log_usage(l, number, line) ||
            mt_log_counters(l, number, line) || mt_log_npu_record(l, number, line) ||
            mt_log_cards(l, number, line) || mt_log_rocm_json(l, number, line) ||
            mt_log_memray(l, number, line) || mt_log_begun(l, number, line) ||
            mt_log_ggml(l, number, line) || mt_log_tensorflow(l, number, line) ||
            sglang(l, number, line) || sglang_full(l, number, joined) ||
            vllm_graphs(l, number, line) || vllm_startup(l, number, joined) ||
            vllm_refuses(l, number, joined, glued) ||
            mt_log_kill(l, number, is_wrapped_death(line) ? joined : line) ||
            mt_log_bare(l, number, line);
    if (!found && !mt_log_settings_line(l, number, line) &&
        !mt_log_override_list(l, number, line) && !mt_log_flag_list(l, number, line)) {
        mt_log_stack_close(l, line);
        mt_log_code_line(l, number, line);
    }
    for (uint32_t i = before; i < l->facts.n; i++)
        if (mt_log_has_stack(l->facts.p[i].kind) || is_kill(l->facts.p[i].kind))
            mt_log_step_take(l, &l->facts.p[i]);
    mt_log_cut_line(l, number, line);
    note_paths(l, line);
    note_machine(l, line);
    mt_log_launcher(l, number, line);
    mt_log_program_line(l, line);
    mt_log_version_line(l, number, line);
    mt_log_hint_line(l, number, line);
    return l->no_memory ? -1 : found || frames;
}
