/* log/facts.c -- each fact of a log in a few words. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

#include <stdio.h>
#include <string.h>

static const char *bytes(char buf[32], uint64_t v)
{
    if (v != MT_LOG_NONE)
        return mt_words_bytes(buf, v);
    (void)snprintf(buf, 32, "an unknown size");
    return buf;
}

static void share(char *buf, size_t cap, const char *what, uint64_t v)
{
    char b[32];
    size_t n = strlen(buf);
    if (v != MT_LOG_NONE && n < cap)
        (void)snprintf(buf + n, cap - n, "%s%s %s", n != 0 ? ", " : "", what, mt_words_bytes(b, v));
}

static char *torch_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    char b[32];
    if (f->value[MT_LO_REQUEST] == MT_LOG_NONE) {
        if (strcmp(f->text, "ray") == 0)
            (void)snprintf(buf, MT_FACT_WORDS, "Ray names an OutOfMemoryError%s%s",
                           f->who[0] != '\0' ? " of " : "", f->who);
        else if (strcmp(f->text, "head") == 0)
            (void)snprintf(buf, MT_FACT_WORDS, "a notebook's traceback of an OutOfMemoryError");
        else
            (void)snprintf(buf, MT_FACT_WORDS, "PyTorch could not allocate");
        return buf;
    }
    (void)snprintf(buf, MT_FACT_WORDS, "PyTorch could not allocate %s%s",
                   f->value[MT_LO_REQUEST] == MT_LOG_EXA ? "more than " : "",
                   bytes(b, f->value[MT_LO_REQUEST]));
    share(buf, MT_FACT_WORDS, "free", f->value[MT_LO_FREE]);
    share(buf, MT_FACT_WORDS, "of", f->value[MT_LO_CAPACITY]);
    share(buf, MT_FACT_WORDS, "allocated", f->value[MT_LO_ALLOCATED]);
    share(buf, MT_FACT_WORDS, "reserved but unallocated", f->value[MT_LO_UNALLOCATED]);
    return buf;
}

static char *usage_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    buf[0] = '\0';
    share(buf, MT_FACT_WORDS, "allocated", f->value[0]);
    share(buf, MT_FACT_WORDS, "reserved", f->value[1]);
    share(buf, MT_FACT_WORDS, "device used", f->value[2]);
    share(buf, MT_FACT_WORDS, "of", f->value[3]);
    if (f->text[0] != '\0') {
        char all[MT_FACT_WORDS];
        (void)snprintf(all, sizeof all, "%s: %.200s", f->text, buf);
        memcpy(buf, all, sizeof all);
    }
    return buf;
}

/* What PyTorch's allocator counts of itself. */
static char *counter_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    static const struct {
        enum mt_log_counter which;
        const char *what;
    } sizes[] = {{MT_LC_ALLOCATED, "allocated"},
                 {MT_LC_ALLOCATED_PEAK, "at most"},
                 {MT_LC_RESERVED, "reserved"},
                 {MT_LC_RESERVED_PEAK, "at most"},
                 {MT_LC_SPLIT, "free in pieces between blocks in use"}};
    size_t n;
    buf[0] = '\0';
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        share(buf, MT_FACT_WORDS, sizes[i].what, f->value[sizes[i].which]);
    n = strlen(buf);
    if (f->value[MT_LC_RETRIES] != MT_LOG_NONE && n < MT_FACT_WORDS)
        n += (size_t)snprintf(buf + n, MT_FACT_WORDS - n, ", %llu %s",
                              (unsigned long long)f->value[MT_LC_RETRIES],
                              f->value[MT_LC_RETRIES] == 1 ? "retry" : "retries");
    if (f->value[MT_LC_OOMS] != MT_LOG_NONE && n < MT_FACT_WORDS)
        (void)snprintf(buf + n, MT_FACT_WORDS - n, ", %llu failure%s",
                       (unsigned long long)f->value[MT_LC_OOMS],
                       f->value[MT_LC_OOMS] == 1 ? "" : "s");
    return buf;
}

static char *card_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    char a[32], b[32];
    if (f->kind == MT_LOG_CARD)
        (void)snprintf(buf, MT_FACT_WORDS, "%s: %s of %s in use", f->text, bytes(a, f->value[0]),
                       bytes(b, f->value[1]));
    else if (f->kind == MT_LOG_CARD_PROC)
        (void)snprintf(buf, MT_FACT_WORDS, "%s (process %llu) has %s of the card",
                       f->text[0] != '\0' ? f->text : "a process", (unsigned long long)f->value[0],
                       bytes(a, f->value[1]));
    else
        (void)snprintf(buf, MT_FACT_WORDS, "%s, a part of CANN, has %s of the card, at most %s",
                       f->text, bytes(a, f->value[0]), bytes(b, f->value[1]));
    return buf;
}

static char *record_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    (void)snprintf(buf, MT_FACT_WORDS, "torch_npu's profiler: %s", f->text);
    share(buf, MT_FACT_WORDS, "allocated at most", f->value[0]);
    share(buf, MT_FACT_WORDS, "reserved at most", f->value[1]);
    return buf;
}

static char *heap_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    if (f->kind == MT_LOG_HEAP)
        (void)snprintf(buf, MT_FACT_WORDS, "memray: host memory of one process");
    else
        (void)snprintf(buf, MT_FACT_WORDS, "memray: %s", f->text);
    if (f->kind == MT_LOG_HEAP)
        share(buf, MT_FACT_WORDS, "at most", f->value[0]);
    share(buf, MT_FACT_WORDS, "allocated in all", f->value[f->kind == MT_LOG_HEAP]);
    return buf;
}

static char *asked(char buf[MT_FACT_WORDS], const char *who, uint64_t v)
{
    char b[32];
    if (v != MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "%s could not allocate %s", who, mt_words_bytes(b, v));
    else
        (void)snprintf(buf, MT_FACT_WORDS, "%s could not allocate", who);
    return buf;
}

static char *kill_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    char a[32], b[32];
    if (f->kind == MT_LOG_RAY_KILL && f->value[0] == MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "Ray's memory monitor killed a worker");
    else if (f->kind == MT_LOG_RAY_KILL)
        (void)snprintf(buf, MT_FACT_WORDS, "Ray killed %s: host memory %s of %s",
                       f->text[0] != '\0' ? f->text : "a worker", bytes(a, f->value[0]),
                       bytes(b, f->value[1]));
    else if (f->value[0] == MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "%s reports a kill for want of host memory",
                       f->text[0] != '\0' ? f->text : "the scheduler");
    else if (f->value[1] != MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "the kernel killed %s (pid %llu) with %s resident",
                       f->text[0] != '\0' ? f->text : "a process", (unsigned long long)f->value[0],
                       mt_words_bytes(a, f->value[1]));
    else
        (void)snprintf(buf, MT_FACT_WORDS, "the kernel killed %s (pid %llu)",
                       f->text[0] != '\0' ? f->text : "a process", (unsigned long long)f->value[0]);
    return buf;
}

static char *retried_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    char a[32], b[32], c[32];
    if (f->value[4] != MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "%s refused %s: %s were free, and it leaves %s of them",
                       f->text, bytes(a, f->value[1]), bytes(b, f->value[2]),
                       bytes(c, f->value[4]));
    else if (f->value[1] != MT_LOG_NONE)
        (void)snprintf(
            buf, MT_FACT_WORDS,
            "%s: no %s at the first try, %s were free; it empties its cache and tries again",
            f->text, bytes(a, f->value[1]), bytes(b, f->value[2]));
    else if (f->value[0] != MT_LOG_NONE)
        (void)snprintf(buf, MT_FACT_WORDS, "%s: the KV cache was full, %llu request%s put off",
                       f->text, (unsigned long long)f->value[0],
                       f->value[0] == 1 ? " was" : "s were");
    else
        (void)snprintf(buf, MT_FACT_WORDS, "%s: an allocation did not fit and was tried again",
                       f->text);
    return buf;
}

/* The lines of the inference engines. */
static char *engine_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    const uint64_t *v = f->value;
    char a[32], b[32], c[32], d[32];
    buf[0] = '\0';
    switch ((int)f->kind) {
    case MT_LOG_VLLM_WEIGHTS:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM: weights took %s", bytes(a, v[0]));
        break;
    case MT_LOG_VLLM_BUDGET:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM may use %s: %llu.%02llu %% of %s", bytes(a, v[2]),
                       (unsigned long long)v[1] / 100, (unsigned long long)v[1] % 100,
                       bytes(b, v[0]));
        break;
    case MT_LOG_VLLM_PROFILE:
        (void)snprintf(buf, MT_FACT_WORDS,
                       "vLLM: weights %s, outside PyTorch %s, activation peak %s, KV cache %s",
                       bytes(a, v[0]), bytes(b, v[1]), bytes(c, v[2]), bytes(d, v[3]));
        break;
    case MT_LOG_VLLM_KV: /* vLLM prints what is missing as a negative size */
        if (v[1] != MT_LOG_NONE) {
            (void)snprintf(buf, MT_FACT_WORDS, "vLLM: nothing left for the KV cache, %s too little",
                           bytes(a, v[1]));
            break;
        }
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM: %s for the KV cache",
                       v[0] != 0 ? bytes(a, v[0]) : "nothing left");
        break;
    case MT_LOG_VLLM_TOKENS:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM: KV cache of %llu tokens",
                       (unsigned long long)v[0]);
        break;
    case MT_LOG_VLLM_BLOCKS:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM: KV cache of %llu blocks",
                       (unsigned long long)v[0]);
        break;
    case MT_LOG_VLLM_GRAPHS:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM: CUDA graphs took %s", bytes(a, v[0]));
        break;
    case MT_LOG_VLLM_STARTUP:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM did not start: %s of %s free, wanted %s",
                       bytes(a, v[0]), bytes(b, v[1]), bytes(c, v[3]));
        break;
    case MT_LOG_VLLM_NO_KV:
        if (v[0] != MT_LOG_NONE)
            (void)snprintf(buf, MT_FACT_WORDS,
                           "vLLM: the KV cache of one sequence needs %s, its share leaves %s",
                           bytes(a, v[0]), bytes(b, v[1]));
        else if (v[2] != MT_LOG_NONE)
            (void)snprintf(buf, MT_FACT_WORDS,
                           "vLLM: the longest sequence has %llu tokens, its share leaves room for "
                           "%llu in the KV cache",
                           (unsigned long long)v[2], (unsigned long long)v[3]);
        else
            (void)snprintf(buf, MT_FACT_WORDS, "vLLM: its share leaves nothing for the KV cache");
        break;
    case MT_LOG_VLLM_WARMUP:
        if (v[0] != MT_LOG_NONE)
            (void)snprintf(buf, MT_FACT_WORDS,
                           "vLLM: no memory left to try itself out with %llu requests",
                           (unsigned long long)v[0]);
        else
            (void)snprintf(buf, MT_FACT_WORDS, "vLLM: no memory left to try itself out");
        break;
    case MT_LOG_VLLM_MEASURE:
        if (v[0] != MT_LOG_NONE)
            (void)snprintf(buf, MT_FACT_WORDS,
                           "vLLM: free memory went from %s to %s while it measured its own",
                           bytes(a, v[0]), bytes(b, v[1]));
        else
            (void)snprintf(buf, MT_FACT_WORDS, "vLLM: free memory grew while it measured its own");
        break;
    case MT_LOG_VLLM_BEGUN:
    case MT_LOG_SGLANG_BEGUN:
        (void)snprintf(buf, MT_FACT_WORDS, "%s: %s",
                       f->kind == MT_LOG_VLLM_BEGUN ? "vLLM" : "SGLang",
                       f->text[0] == 'l' ? "loading begins" : "capturing of CUDA graphs begins");
        share(buf, MT_FACT_WORDS, "free", v[0]);
        share(buf, MT_FACT_WORDS, "at last", v[1]);
        break;
    case MT_LOG_SAVE_BEGUN:
        (void)snprintf(buf, MT_FACT_WORDS, "saving of a checkpoint begins");
        break;
    case MT_LOG_POOL_ERROR:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM's sleep-mode allocator: the driver says \"%s\"",
                       f->text);
        break;
    case MT_LOG_SLEEP:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM went to sleep: freed %s, %s still in use",
                       bytes(a, v[0]), bytes(b, v[1]));
        break;
    case MT_LOG_SGLANG_WEIGHTS:
        (void)snprintf(buf, MT_FACT_WORDS, "SGLang: weights took %s, %s left", bytes(a, v[1]),
                       bytes(b, v[0]));
        break;
    case MT_LOG_SGLANG_KV:
        (void)snprintf(buf, MT_FACT_WORDS, "SGLang: KV cache of %s", bytes(a, v[1]));
        break;
    case MT_LOG_SGLANG_POOL:
        (void)snprintf(buf, MT_FACT_WORDS, "SGLang: pools are allocated, %s left", bytes(a, v[0]));
        break;
    case MT_LOG_SGLANG_GRAPHS:
        (void)snprintf(buf, MT_FACT_WORDS, "SGLang: CUDA graphs took %s, %s left", bytes(a, v[0]),
                       bytes(b, v[1]));
        break;
    case MT_LOG_SGLANG_KV_FULL:
        if (v[0] != MT_LOG_NONE && v[1] != MT_LOG_NONE)
            (void)snprintf(buf, MT_FACT_WORDS,
                           "SGLang: no room in the KV cache for %llu tokens more, %llu were left",
                           (unsigned long long)v[0], (unsigned long long)v[1]);
        else
            (void)snprintf(buf, MT_FACT_WORDS, "SGLang: no room left in the KV cache");
        break;
    case MT_LOG_SGLANG_NO_KV:
        (void)snprintf(buf, MT_FACT_WORDS, "SGLang: its share leaves nothing for the KV cache");
        break;
    case MT_LOG_POOL_REFUSED:
        (void)snprintf(buf, MT_FACT_WORDS, "vLLM's sleep mode refuses expandable_segments");
        break;
    default: break;
    }
    return buf;
}

char *mt_log_fact_words(char buf[MT_FACT_WORDS], const struct mt_log_fact *f)
{
    char b[32];
    if (mt_log_is_talk(f)) {
        if (f->platform == 'R')
            return strcpy(buf, "somebody names an OOM of Ray, whose monitor watches the host");
        (void)snprintf(buf, MT_FACT_WORDS, "somebody says that %s %s",
                       f->kind == MT_LOG_HOST_OOM ? "the host's memory" : "memory",
                       f->platform == MT_LOG_GROWS ? "keeps growing" : "ran out");
        return buf;
    }
    switch ((int)f->kind) {
    case MT_LOG_TORCH_OOM: return torch_words(buf, f);
    case MT_LOG_TORCH_USAGE: return usage_words(buf, f);
    case MT_LOG_COUNTERS: return counter_words(buf, f);
    case MT_LOG_CARD:
    case MT_LOG_CARD_PROC:
    case MT_LOG_NPU_PART: return card_words(buf, f);
    case MT_LOG_NPU_RECORD: return record_words(buf, f);
    case MT_LOG_HEAP:
    case MT_LOG_HEAP_PLACE: return heap_words(buf, f);
    case MT_LOG_NCCL_OOM: return asked(buf, "NCCL", f->value[0]);
    case MT_LOG_CUMEM_OOM: return asked(buf, "vLLM's sleep-mode allocator", MT_LOG_NONE);
    case MT_LOG_SAVER_OOM: return asked(buf, "torch_memory_saver", MT_LOG_NONE);
    case MT_LOG_CUDA_OOM:
        if (f->platform == 'T' && f->text[3] != '\0') {
            char a[32];
            (void)snprintf(buf, MT_FACT_WORDS, "XLA could not allocate %s on the TPU, %s were free",
                           bytes(b, f->value[0]), bytes(a, f->value[1]));
            return buf;
        }
        if (f->platform == 'T') {
            char a[32];
            (void)snprintf(buf, MT_FACT_WORDS,
                           "XLA compiled a program that needs %s of the %s that the TPU has",
                           bytes(b, f->value[0]), bytes(a, f->value[1]));
            return buf;
        }
        if (strcmp(f->text, "llama.cpp") == 0) {
            static const char *const what[] = {"", " for the weights", " for the KV cache",
                                               " for its compute buffer"};
            (void)snprintf(buf, MT_FACT_WORDS, "llama.cpp could not allocate %s%s",
                           f->value[0] != MT_LOG_NONE ? bytes(b, f->value[0]) : "memory",
                           f->value[1] <= MT_LB_COMPUTE ? what[f->value[1]] : "");
            return buf;
        }
        if (strcmp(f->text, "XLA") == 0 && f->value[2] != MT_LOG_NONE) {
            char a[32], c[32];
            (void)snprintf(buf, MT_FACT_WORDS, "XLA could not allocate %s, %s of %s were free",
                           bytes(b, f->value[0]), bytes(a, f->value[1]), bytes(c, f->value[2]));
            return buf;
        }
        if (f->cuda == MT_LG_TENSOR)
            return asked(buf, "PyTorch's storage of tensors", MT_LOG_NONE);
        (void)snprintf(buf, MT_FACT_WORDS, "a call of %s could not allocate%s%s",
                       f->text[0] != '\0' ? f->text : "CUDA", f->value[0] != MT_LOG_NONE ? " " : "",
                       f->value[0] != MT_LOG_NONE ? bytes(b, f->value[0]) : "");
        return buf;
    case MT_LOG_CUT:
        (void)snprintf(buf, MT_FACT_WORDS, "a traceback ends here, before the error's own line");
        return buf;
    case MT_LOG_NPU_OOM: return asked(buf, "CANN, the runtime of the NPU,", f->value[0]);
    case MT_LOG_CUBLAS_OOM: return asked(buf, "cuBLAS", MT_LOG_NONE);
    case MT_LOG_HOST_OOM:
        if (f->text[0] == 's')
            return asked(buf, "a process that shares memory with others", f->value[0]);
        if (f->text[0] == 'l')
            return asked(buf, "a network card, of the memory that it locks,", f->value[0]);
        return asked(buf,
                     f->text[0] != '\0' && !mt_log_is_talk(f) ? "a call that pins host memory"
                                                              : "the host",
                     f->value[0]);
    case MT_LOG_HOST_USAGE:
        (void)snprintf(buf, MT_FACT_WORDS, "host memory %s in use, %llu.%02llu %%",
                       bytes(b, f->value[0]), (unsigned long long)f->value[1] / 100,
                       (unsigned long long)f->value[1] % 100);
        return buf;
    case MT_LOG_RETRIED: return retried_words(buf, f);
    case MT_LOG_KERNEL_LIMIT:
        (void)snprintf(
            buf, MT_FACT_WORDS,
            "a kernel wants %llu bytes of a multiprocessor's shared memory, there are %llu",
            (unsigned long long)mt_log_or_zero(f->value[0]),
            (unsigned long long)mt_log_or_zero(f->value[1]));
        return buf;
    case MT_LOG_RAY_KILL:
    case MT_LOG_KERNEL_KILL: return kill_words(buf, f);
    case MT_LOG_KILLED:
        (void)snprintf(buf, MT_FACT_WORDS,
                       strcmp(f->text, "Ray") == 0        ? "a worker of Ray died"
                       : strcmp(f->text, "launcher") == 0 ? "a launcher ends its processes"
                       : f->text[0] != '\0'               ? "a worker of the data loader died"
                                                          : "killed by a signal");
        if (f->value[MT_LK_CLASS] == 1)
            (void)snprintf(buf, MT_FACT_WORDS, "a worker of Ray died: %s", f->who);
        return buf;
    case MT_LOG_HOST_PROC:
        (void)snprintf(buf, MT_FACT_WORDS, "process %llu, %s, has %s of the host",
                       (unsigned long long)f->value[0], f->text, bytes(b, f->value[1]));
        return buf;
    case MT_LOG_STOPPED: {
        static const char *const why[] = {
            [MT_LS_NONE] = "",
            [MT_LS_TIME] = "its time limit was over",
            [MT_LS_PREEMPTED] = "it was preempted, for another job",
            [MT_LS_NODE] = "a node failed",
            [MT_LS_REQUEUED] = "it was put back into the queue",
            [MT_LS_CANCELLED] = "it was cancelled, by its owner or an administrator",
            [MT_LS_STEP] =
                "the step was cancelled, by somebody or because one of its tasks failed"};
        (void)snprintf(buf, MT_FACT_WORDS, "the scheduler stopped the job: %s",
                       why[f->value[0] <= MT_LS_STEP ? f->value[0] : MT_LS_NONE]);
        return buf;
    }
    case MT_LOG_ILLEGAL:
        (void)snprintf(buf, MT_FACT_WORDS, "a kernel read or wrote where it may not");
        return buf;
    case MT_LOG_WORKSPACE: {
        char a[32];
        (void)snprintf(buf, MT_FACT_WORDS, "FlashInfer's workspace is too small: %s needed, %s %s",
                       bytes(b, f->value[0]),
                       f->value[1] != MT_LOG_NONE ? bytes(a, f->value[1]) : "less", "there");
        return buf;
    }
    case MT_LOG_OTHER_PROC:
        (void)snprintf(buf, MT_FACT_WORDS, "process %llu has %s of the card",
                       (unsigned long long)f->value[0], bytes(b, f->value[1]));
        return buf;
    default: return engine_words(buf, f);
    }
}

const char *mt_log_device(const struct mt_log_fact *f)
{
    return f->platform == 'N' ? "NPU" : f->platform == 'T' ? "TPU" : "GPU";
}

char *mt_log_who(char buf[96], const struct mt_log_fact *f)
{
    size_t n = 0;
    buf[0] = '\0';
    if (f->rank >= 0)
        n += (size_t)snprintf(buf + n, 96 - n, "rank %d", (int)f->rank);
    if (f->pid >= 0)
        n += (size_t)snprintf(buf + n, 96 - n, "%spid %lld", n != 0 ? ", " : "", (long long)f->pid);
    if (f->gpu >= 0)
        (void)snprintf(buf + n, 96 - n, "%s%s %d", n != 0 ? ", " : "", mt_log_device(f),
                       (int)f->gpu);
    return buf;
}

uint64_t mt_log_fact_used(const struct mt_log_fact *f)
{
    uint64_t total = MT_LOG_NONE, free = MT_LOG_NONE;
    if (f->kind == MT_LOG_TORCH_USAGE)
        return f->value[2];
    if (f->kind == MT_LOG_CARD)
        return f->value[0];
    if (f->kind == MT_LOG_TORCH_OOM) {
        total = f->value[MT_LO_CAPACITY];
        free = f->value[MT_LO_FREE];
    } else if (f->kind == MT_LOG_VLLM_STARTUP) {
        total = f->value[1];
        free = f->value[0];
    }
    return total != MT_LOG_NONE && free != MT_LOG_NONE && free <= total ? total - free
                                                                        : MT_LOG_NONE;
}

uint64_t mt_log_fact_torch(const struct mt_log_fact *f)
{
    return f->kind == MT_LOG_TORCH_USAGE ? f->value[1]
           : f->kind == MT_LOG_COUNTERS  ? f->value[MT_LC_RESERVED]
           : f->kind == MT_LOG_TORCH_OOM ? f->value[MT_LO_RESERVED]
                                         : MT_LOG_NONE;
}

bool mt_logdiag_no_torch(const struct mt_log_fact *f)
{
    static const char *const whose[] = {"XLA", "TensorFlow", "llama.cpp"};
    for (size_t i = 0; f->kind == MT_LOG_CUDA_OOM && i < sizeof whose / sizeof *whose; i++)
        if (strcmp(f->text, whose[i]) == 0)
            return true;
    return f->platform == 'T';
}

bool mt_log_is_failure(enum mt_log_kind k)
{
    switch ((int)k) {
    case MT_LOG_TORCH_OOM:
    case MT_LOG_NCCL_OOM:
    case MT_LOG_CUMEM_OOM:
    case MT_LOG_SAVER_OOM:
    case MT_LOG_CUDA_OOM:
    case MT_LOG_NPU_OOM:
    case MT_LOG_CUBLAS_OOM:
    case MT_LOG_VLLM_STARTUP:
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_VLLM_WARMUP:
    case MT_LOG_VLLM_MEASURE:
    case MT_LOG_SGLANG_KV_FULL:
    case MT_LOG_SGLANG_NO_KV:
    case MT_LOG_POOL_REFUSED:
    case MT_LOG_WORKSPACE:
    case MT_LOG_RAY_KILL:
    case MT_LOG_KERNEL_KILL:
    case MT_LOG_HOST_OOM:
    case MT_LOG_KILLED:
    case MT_LOG_CUT: return true;
    default: return false;
    }
}
