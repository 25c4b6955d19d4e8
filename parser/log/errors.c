/* log/errors.c -- how programs other than PyTorch report that the GPU's memory ran out, and lines
 * that only mention such an error. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

/* The letters between "CUDA" and "error" ("CUDA runtime error"), and between that and what it says
 * ("error /x/a.cuh:368 'out of memory'"). */
enum { KIND = 16, PLACE = 200 };

/* Whose, by what stands in such a line. */
static const struct {
    const char *sign, *whose;
} programs[] = {
    {"[TM]", "TurboMind"},
    {"turbomind", "TurboMind"},
    {"ggml", "llama.cpp"},
    {"GGML", "llama.cpp"},
    {"deep_ep", "DeepEP"},
    {"DeepEP", "DeepEP"},
    {"DeepGEMM", "DeepGEMM"},
    {"deep_gemm", "DeepGEMM"},
    {"onnxruntime", "ONNX"},
    {"ONNXRuntime", "ONNX"},
    {"TransformerEngine", "Transformer Engine"},
    {"cupy", "CuPy"},
    {"rmm", "RAPIDS"},
    {"ctranslate2", "CTranslate2"},
    {"custom_all_reduce", "a custom all-reduce"},
};

static bool one_of(const char *p, size_t n, const char *const *words, size_t n_words)
{
    for (size_t i = 0; i < n_words; i++)
        if (strlen(words[i]) == n && memcmp(words[i], p, n) == 0)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

bool mt_log_is_code(const char *s, const char *at, size_t n)
{
    static const char *const before[] = {"case",  "return", "enum",   "define",
                                         "throw", "raise",  "except", "catch"};
    static const char *const after[] = {"is",     "if",  "means", "indicates",
                                        "errors", "can", "may",   "should"};
    const char *line = s + strspn(s, " \t"), *p = at, *word, *e = at + n,
               *next = e + strspn(e, " \t");
    if (strncmp(line, "/*", 2) == 0 || *line == '*' || *line == '#')
        return true;
    for (const char *c = s; (c = strstr(c, "//")) != NULL && c < at; c += 2)
        if (c == s || c[-1] != ':') /* no address */
            return true;
    while (p > s && (p[-1] == ' ' || p[-1] == '\t'))
        p--;
    if (p - s >= 2 && p[-1] == '=' && (p[-2] == '=' || p[-2] == '!'))
        return true;
    if (p > s && (p[-1] == '`' || p[-1] == '|'))
        return true;
    for (word = p; word > s && is_letter(word[-1]);)
        word--;
    if (one_of(word, (size_t)(p - word), before, sizeof before / sizeof *before))
        return true;
    if (*e == ';' || *e == '`' || *next == '|' || (*next == '=' && next != e) ||
        (*e == ')' && (e[1] == ';' || e[1 + strspn(e + 1, " ")] == '{')))
        return true;
    for (n = 0; is_letter(next[n]);)
        n++;
    return one_of(next, n, after, sizeof after / sizeof *after);
}

/* The text without regard to case, as people type it. */
static const char *find(const char *s, const char *small)
{
    size_t n = strlen(small), k;
    for (; *s != '\0'; s++) {
        for (k = 0; k < n && (s[k] >= 'A' && s[k] <= 'Z' ? s[k] | 32 : s[k]) == small[k];)
            k++;
        if (k == n)
            return s;
    }
    return NULL;
}

/* "error", "failure", "Error" within the first letters behind the name of the interface; its end.
 */
static const char *error_word(const char *p)
{
    static const char *const words[] = {"error", "failure"};
    for (int i = 0; i < KIND && *p != '\0'; i++, p++) {
        for (size_t k = 0; k < sizeof words / sizeof *words; k++)
            if (find(p, words[k]) == p)
                return p + strlen(words[k]);
        if (!is_letter(*p) && *p != ' ')
            break;
    }
    return NULL;
}

/* Where "CUDA runtime error ...: out of memory" begins; *hip: HIP's. */
static const char *of_gpu(const char *s, bool *hip)
{
    static const char *const names[] = {"cuda", "hip"}, memory[] = "out of memory";
    if (find(s, memory) == NULL) /* most lines */
        return NULL;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        for (const char *p = s; (p = find(p, names[i])) != NULL; p++) {
            const char *e = error_word(p + strlen(names[i])),
                       *m = e != NULL ? find(e, memory) : NULL;
            size_t to = e != NULL ? strcspn(e, ".?!") : 0; /* another sentence */
            const char *stop = NULL;
            while (e != NULL && e[to] != '\0' && e[to + 1] != ' ')
                to += 1 + strcspn(e + to + 1, ".?!");
            stop = e != NULL && e[to] != '\0' ? e + to : NULL;
            if (m != NULL && m - e <= PLACE && (stop == NULL || stop > m) && !is_letter(*e) &&
                (p == s || !is_letter(p[-1]))) {
                *hip = i == 1;
                return p;
            }
        }
    }
    return NULL;
}

/* vLLM's allocator of its sleep mode, whatever the words were typed like. */
bool mt_log_is_cumem(const char *s) { return find(s, "cumem_allocator") != NULL; }

/* Files of PyTorch, of THC's time, that its errors name. */
static const struct {
    const char *file;
    enum mt_log_cuda what;
    uint16_t torch_at_most; /* 0 = newer ones have that line too */
} of_thc[] = {
    {"/THC/generic/THCStorage", MT_LG_TENSOR, 100},
    {"/THC/THCStorage", MT_LG_TENSOR, 100},
    {"/THC/generic/THCTensor", MT_LG_TENSOR, 100},
    {"/THC/THCTensor", MT_LG_TENSOR, 100},
    {"/THC/THCGeneral", MT_LG_START, 0},
};

void mt_log_thc(struct mt_log_fact *f, const char *s)
{
    for (size_t i = 0; f->kind == MT_LOG_CUDA_OOM && i < sizeof of_thc / sizeof *of_thc; i++) {
        if (strstr(s, of_thc[i].file) == NULL)
            continue;
        f->cuda = of_thc[i].what;
        f->torch_at_most = of_thc[i].torch_at_most;
        return;
    }
}

int mt_log_gpu_error(struct mt_log *l, uint64_t number, const char *s)
{
    bool hip = false;
    const char *whose = "";
    struct mt_log_fact *f;
    if (of_gpu(s, &hip) == NULL)
        return 0;
    f = mt_log_add(l, mt_log_is_cumem(s) ? MT_LOG_CUMEM_OOM : MT_LOG_CUDA_OOM, number, s);
    if (f == NULL || f->kind == MT_LOG_CUMEM_OOM)
        return 1;
    mt_log_thc(f, s);
    if (hip)
        whose = "HIP";
    for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
        if (strstr(s, programs[i].sign) != NULL) {
            whose = programs[i].whose;
            break;
        }
    }
    mt_log_keep_text(f, whose, strlen(whose));
    f->platform = hip ? 'H' : 0;
    return 1;
}

int mt_log_first_try(struct mt_log *l, uint64_t number, const char *s)
{
    static const char *const forms[] = {
        /* PyTorch, before it empties its cache and tries once more */
        "failed with OOM on device %n while trying to allocate %n bytes (free: %n, total: %n)",
        ("memory mapping failed with OOM on device %n while trying to map %n bytes (free: %n, "
         "total: %n)"),
        /* torch_memory_saver, which leaves a margin free: PyTorch then does the same */
        "return OOM since memory_margin_bytes=%n (alloc)size=%n free_bytes=%n",
    };
    struct mt_log_fact *f;
    got g;
    bool saver;
    if (mt_log_find(s, forms[0], &g) == NULL && mt_log_find(s, forms[1], &g) == NULL &&
        mt_log_find(s, forms[2], &g) == NULL)
        return 0;
    saver = g.n == 3;
    f = mt_log_add(l, MT_LOG_RETRIED, number, s);
    if (f == NULL)
        return 1;
    mt_log_keep_text(f, saver ? "torch_memory_saver" : "PyTorch", saver ? 18 : 7);
    if (saver) {
        f->value[4] = g.v[0];
    } else {
        f->gpu = mt_log_small(g.v[0]);
        f->value[3] = g.v[3];
    }
    f->value[1] = g.v[1];
    f->value[2] = g.v[2];
    return 1;
}

int mt_log_pool_error(struct mt_log *l, uint64_t number, const char *s)
{
    const char *p = strstr(s, "CUDA Error: "), *e = p != NULL ? strstr(p, " at ") : NULL;
    struct mt_log_fact *f;
    if (e == NULL || strstr(e, "cumem_allocator") == NULL || find(p + 12, "out of") == p + 12)
        return 0;
    f = mt_log_add(l, MT_LOG_POOL_ERROR, number, s);
    if (f != NULL)
        mt_log_keep_text(f, p + 12, (size_t)(e - p) - 12);
    return 1;
}

int mt_log_xla_card(struct mt_log *l, uint64_t number, const char *s)
{
    enum { BELOW = 2 };
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    got g;
    if (f == NULL || f->kind != MT_LOG_CUDA_OOM || strcmp(f->text, "XLA") != 0 ||
        number - f->line > BELOW ||
        mt_log_find(s, "Reported by CUDA: Free memory/Total memory: %n/%n", &g) == NULL)
        return 0;
    f->value[1] = g.v[0];
    f->value[2] = g.v[1];
    return 1;
}
