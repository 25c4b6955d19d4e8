/* log/ggml.c -- llama.cpp and what is made of it (Ollama, llamafile), which have no PyTorch: the
 * line of the failed allocation, and those behind it that say what it was for. */
#include "parser/log/match.h"

#include <string.h>

typedef struct mt_log_got got;

enum { NEAR = 6 }; /* lines from the failure to the one that says what it was for */

/* ggml/src/ggml-alloc.c, src/llama-model.cpp, src/llama-kv-cache.cpp, src/llama-context.cpp. */
static enum mt_log_buffer buffer_of(const char *s)
{
    return strstr(s, "kv cache") != NULL ? MT_LB_CACHE
           : strstr(s, "compute") != NULL || strstr(s, "ggml_gallocr_reserve") != NULL
               ? MT_LB_COMPUTE
           : strstr(s, "error loading model") != NULL ? MT_LB_WEIGHTS
                                                      : MT_LB_NONE;
}

/* "ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 1: cudaMalloc
 * failed: out of memory"; Vulkan's, Metal's; the last one alone where nothing else was pasted. */
static bool failed(const char *s, uint64_t *bytes, int32_t *gpu)
{
    const char *of = strstr(s, "failed to allocate "), *size;
    got g;
    *bytes = MT_LOG_NONE;
    *gpu = -1;
    if (strstr(s, "cudaMalloc failed: out of memory") != NULL) { /* anybody's words */
        bool sized = mt_log_find(s, "allocating %b on device %n", &g) != NULL;
        if (sized) {
            *bytes = g.v[0];
            *gpu = mt_log_small(g.v[1]);
        }
        return sized || strstr(s, "ggml") != NULL || strstr(s, "GGML") != NULL ||
               strstr(s, "llama") != NULL;
    }
    if (mt_log_find(s, "ggml_vulkan: Device memory allocation of size %n failed", &g) != NULL ||
        (strstr(s, "ggml_") != NULL &&
         mt_log_find(s, "failed to allocate buffer, size = %b", &g) != NULL)) {
        *bytes = g.v[0];
        return true;
    }
    size = of != NULL ? mt_log_find(of, " buffer of size %n", &g) : NULL;
    if (size == NULL || (strstr(s, "alloc_tensor_range") == NULL && strstr(s, "ggml_") == NULL) ||
        strncmp(of + 19, "CPU", 3) == 0)
        return false;
    *bytes = g.v[0];
    if (mt_log_find(of, "failed to allocate CUDA%n", &g) != NULL ||
        mt_log_find(of, "failed to allocate ROCm%n", &g) != NULL ||
        mt_log_find(of, "failed to allocate Vulkan%n", &g) != NULL)
        *gpu = mt_log_small(g.v[0]);
    return true;
}

int mt_log_ggml(struct mt_log *l, uint64_t number, const char *s)
{
    struct mt_log_fact *f = l->facts.n != 0 ? &l->facts.p[l->facts.n - 1] : NULL;
    bool near = f != NULL && f->kind == MT_LOG_CUDA_OOM && strcmp(f->text, "llama.cpp") == 0 &&
                number - f->line <= NEAR,
         is_failure;
    enum mt_log_buffer what = near && f->value[1] == MT_LOG_NONE ? buffer_of(s) : MT_LB_NONE;
    uint64_t bytes;
    int32_t gpu;
    if (what != MT_LB_NONE)
        f->value[1] = (uint64_t)what;
    is_failure = strstr(s, "alloc") != NULL && failed(s, &bytes, &gpu);
    if (!is_failure || (near && (bytes == f->value[0] || strstr(s, "cudaMalloc") == NULL)))
        return what != MT_LB_NONE || is_failure;
    f = mt_log_add(l, MT_LOG_CUDA_OOM, number, s);
    if (f == NULL)
        return 1;
    f->value[0] = bytes;
    f->gpu = gpu;
    mt_log_keep_text(f, "llama.cpp", 9);
    if (buffer_of(s) != MT_LB_NONE)
        f->value[1] = (uint64_t)buffer_of(s);
    return 1;
}
