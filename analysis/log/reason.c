/* log/reason.c -- the diagnosis of a log in sentences: why memory ran out. */
#include "analysis/log/diagnose.h"
#include "analysis/base/words.h"

#include <string.h>

/* Twice the card's size or more is a shape that nobody meant: the side of a square of 4-byte
 * numbers says which one. */
static void say_side(struct mt_sentence *t, uint64_t bytes)
{
    uint64_t side = 0;
    for (uint64_t bit = UINT64_C(1) << 31; bit != 0; bit >>= 1)
        if ((side + bit) * (side + bit) <= bytes / 4)
            side += bit;
    mt_words_add(t,
                 " A square matrix of so many bytes has about %llu thousand numbers of 4 bytes a "
                 "side: look for such a length among the shapes.",
                 (unsigned long long)(side / 1000));
}

static void because_request(struct mt_sentence *t, const struct mt_logdiag *d)
{
    uint64_t times = d->request / d->capacity;
    if (times < 2) {
        mt_words_add(t, "The request alone is larger than the card: nobody else is in its way.");
        return;
    }
    mt_words_add(t, "The request alone is %llu times the card: nobody else is in its way.",
                 (unsigned long long)times);
    say_side(t, d->request);
}

static void without_others(struct mt_sentence *t, const struct mt_logdiag *d)
{
    mt_words_add(t, "Without %s %s of %s the request would have fitted.",
                 d->own_guessed ? "about" : "the", MT_BYTES(d->others),
                 d->n_others == 1 ? "the other process" : "other processes");
    if (d->are_ranks)
        mt_words_add(t,
                     " %u of them hold%s about as much as this one, %s: most "
                     "likely other ranks of it are on this card, and each needs a card of its own.",
                     (unsigned)d->n_alike, d->n_alike == 1 ? "s" : "",
                     d->are_siblings ? "and their numbers follow each other, as of one launch"
                                     : "in a job of several ranks");
    else if (d->mate > 0)
        mt_words_add(
            t,
            " Process %lld writes into this log too: it is of the same job, and two of its "
            "processes share the card.",
            (long long)d->mate);
    else if (d->may_have_engine)
        mt_words_add(t, " An inference engine of the same job is such a process as well.");
}

/* A context takes a few hundred MiB; the rest PyTorch did not allocate. */
static void because_outside(struct mt_sentence *t, const struct mt_logdiag *d)
{
    mt_words_add(t,
                 "%sThis process holds %s of the card outside PyTorch, and without them the "
                 "request would have fitted. A CUDA context takes about half a GiB; the rest is "
                 "NCCL's buffers, captured CUDA graphs, cuBLAS and cuDNN, DeepEP or NVSHMEM, or "
                 "another library in the same process. A snapshot of PyTorch does not show it.",
                 t->n != 0 ? " " : "", MT_BYTES(d->outside));
}

static void because_overcount(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->is_spilled)
        mt_words_add(t, "That is more than the card has: the driver keeps the rest in the host's "
                        "memory, which is slow (Windows does, unless its CUDA sysmem fallback is "
                        "switched off). What is used has to shrink by the difference first.");
    else if (d->is_asleep)
        mt_words_add(t, "That is more than the card has: PyTorch goes on counting what an engine's "
                        "sleep mode unmapped, which it does not see. How much of the card it "
                        "really had, the line does not say.");
    else
        mt_words_add(t, "That is more than the card has: an inference engine that sleeps in this "
                        "process unmapped the rest, which PyTorch does not see, or the driver "
                        "keeps it in the host's memory, as Windows does.");
}

static void because_torch(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_log_fact *f)
{
    char a[32], b[32];
    switch ((int)d->cause) {
    case MT_CAUSE_FRAGMENTATION:
        mt_words_add(t,
                     "PyTorch had reserved %s more than it used, and %s were asked for: there were "
                     "bytes enough%s, but not in one piece, or in pools that serve other streams.",
                     mt_words_bytes(a, d->unallocated), mt_words_bytes(b, d->request),
                     d->unallocated >= d->request ? "" : " together with what was free");
        if (d->uncured && d->may_have_engine)
            mt_words_add(t, " Expandable segments, which keep them together, are not among the "
                            "changes: an engine that sleeps in the same process refuses them, and "
                            "the text does not rule that out.");
        break;
    case MT_CAUSE_FOREIGN:
        if (mt_log_or_zero(d->others) > mt_log_or_zero(mt_log_minus(d->request, d->free)))
            without_others(t, d);
        else
            mt_words_add(
                t,
                "%s of the card are neither free nor held by PyTorch in this process, and without "
                "them the request would have fitted. Whose they are the line does not say: another "
                "process's, an inference engine's of the same job, or this process's own outside "
                "PyTorch (CUDA, NCCL, a simulator or a renderer that draws on the card).",
                mt_words_bytes(
                    a, mt_log_minus(mt_log_minus(d->capacity, d->free), mt_logdiag_torch(d))));
        if (mt_logdiag_has_holes(d))
            mt_words_add(t,
                         " The %s that PyTorch had reserved and did not use would have sufficed as "
                         "well, in one piece.",
                         mt_words_bytes(a, d->unallocated));
        break;
    case MT_CAUSE_OUTSIDE:
        if (!mt_logdiag_served_outside(d)) /* the weights are said instead */
            because_outside(t, d);
        break;
    case MT_CAUSE_REQUEST: because_request(t, d); break;
    case MT_CAUSE_LIMIT:
        if (strcmp(f->text, "block") == 0)
            mt_words_add(t,
                         "The platform allocates no single block above %s (Intel's driver: "
                         "UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1 "
                         "lifts that where it can).",
                         mt_words_bytes(a, d->allowed));
        else if (f->platform == 'X' && d->request >= MT_LOG_LARGE_BLOCK)
            mt_words_add(t, "Intel's driver allocates no block of 4 GiB or more on many cards, "
                            "however much is free, unless the "
                            "environment has UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1.");
        else if (d->allowed != MT_LOG_NONE)
            mt_words_add(t, "The process may use %s (set_per_process_memory_fraction).",
                         mt_words_bytes(a, d->allowed));
        else
            mt_words_add(t, "More was free than was asked for: a limit of the process or of its "
                            "allocator refused, or somebody else gave "
                            "memory back between the failure and the message.");
        break;
    case MT_CAUSE_CAPACITY:
        if (f->platform == 'M')
            mt_words_add(
                t, "Apple's GPU shares the host's memory, and PyTorch stops at a limit in it: "
                   "PYTORCH_MPS_HIGH_WATERMARK_RATIO (1.7 times what "
                   "Apple recommends by default; 0.0 takes it away, and the machine may then swap "
                   "or hang).");
        else if (mt_logdiag_overcounts(d) && d->this_process == MT_LOG_NONE)
            because_overcount(t, d);
        else if (mt_logdiag_had_room(d))
            mt_words_add(t,
                         "%s were free when PyTorch asked for its message, after the failure, and "
                         "%s would have done: others or PyTorch itself gave them back in between, "
                         "or the driver keeps them. The card was full, and using less is the cure.",
                         mt_words_bytes(a, d->free),
                         mt_words_bytes(b, mt_logdiag_segment(d->request)));
        else if (d->free != MT_LOG_NONE && d->free >= d->request &&
                 d->free < mt_logdiag_segment(d->request))
            mt_words_add(t,
                         "PyTorch takes such blocks from segments of %s, for which the %s that "
                         "were free had no room.",
                         mt_words_bytes(a, mt_logdiag_segment(d->request)),
                         mt_words_bytes(b, d->free));
        else if (mt_logdiag_full_before(d))
            mt_words_add(t,
                         "Next to nothing was free when %s were asked for to load or build the "
                         "model, and by the line this process had nothing yet: somebody else, "
                         "or what a library takes as it starts, has the card.",
                         mt_words_bytes(a, d->request));
        else if (d->capacity != MT_LOG_NONE && d->capacity >= 100 &&
                 d->request / 3 >= d->capacity / 4)
            mt_words_add(t,
                         "The request alone is %llu %% of the card: what asks for so much has to "
                         "ask for less, by smaller batches, images or sequences, or an attention "
                         "that does not write out its scores.",
                         (unsigned long long)(d->request / (d->capacity / 100)));
        else if (mt_logdiag_unmapped(d))
            break; /* of what is not in use nobody knows how much is on the card */
        else if (mt_logdiag_has_holes(d))
            mt_words_add(t,
                         "The %s that PyTorch had reserved and did not use would have sufficed for "
                         "this request, but not in pieces. %s: the next requests need it too.",
                         mt_words_bytes(a, mt_logdiag_cached(d)),
                         mt_logdiag_cached(d) >= d->reserved / 10
                             ? "What is loaded was not all there yet"
                             : "That is little of what it holds");
        else if (d->unallocated != MT_LOG_NONE && d->unallocated >= d->request)
            mt_words_add(t,
                         "Of what PyTorch had reserved only %s were not in use, less than a "
                         "thirtieth: the ends of many segments, as "
                         "on any full card.",
                         mt_words_bytes(a, d->unallocated));
        else if (mt_logdiag_fits_joined(d))
            mt_words_add(t,
                         "The %s that PyTorch had reserved and did not use would have sufficed "
                         "together with what was free, but not in "
                         "pieces: what keeps the pieces together may be just enough.",
                         mt_words_bytes(a, d->unallocated));
        else if (d->unallocated != MT_LOG_NONE)
            mt_logdiag_say_no_pieces(t, d);
        break;
    default:
        if (d->request == MT_LOG_EXA)
            mt_words_add(t, "No card holds that: the size was computed wrongly, from broken or "
                            "unexpected metadata. Look at what the "
                            "traceback was loading or gathering, and at errors before this one.");
        else if (strcmp(f->text, "async") == 0)
            mt_words_add(t, "The allocator is cudaMallocAsync, and its numbers, which follow in "
                            "PyTorch's own message, are not in this "
                            "log.");
        else if (strcmp(f->text, "nvml") == 0)
            mt_words_add(t, "PyTorch failed over its own message: it asks NVML who holds the card, "
                            "and NVML does not answer here (Jetson, "
                            "WSL, some containers and mismatched drivers). It asks only after an "
                            "allocation has failed.");
        else if (strcmp(f->text, "head") == 0)
            mt_words_add(t, "The sentence with the numbers is the last line of that traceback, "
                            "which is not in this log.");
        else if (strcmp(f->text, "ray") == 0)
            mt_words_add(t, "The sentence with the numbers stands at the end of that process's own "
                            "traceback, which is not in this "
                            "log. Ray's error of a full host has the same name.");
        else if (d->free == MT_LOG_NONE && d->request != MT_LOG_NONE &&
                 d->capacity != MT_LOG_NONE && d->reserved != MT_LOG_NONE)
            mt_words_add(t,
                         "PyTorch held only %s of the card's %s, and the line does not say what "
                         "was free: others held the rest, "
                         "or the platform refuses a block of that size.",
                         mt_words_bytes(a, d->reserved), mt_words_bytes(b, d->capacity));
        else if (d->grows)
            break;
        else if (d->by_words)
            mt_words_add(t, "No error's own line is in the text: the numbers are a person's.");
        else if (mt_log_is_talk(f))
            mt_words_add(t, "No error's own line with numbers is in the text.");
        else if (d->request != MT_LOG_NONE &&
                 (mt_logdiag_torch(d) != MT_LOG_NONE || d->capacity != MT_LOG_NONE))
            mt_words_add(t, "The line does not say what was free, which would tell the cause.");
        else if (d->request != MT_LOG_NONE)
            mt_words_add(t, "The line has no more numbers to tell a cause from.");
        else
            mt_words_add(t, "The line has no numbers to tell a cause from.");
        break;
    }
}

static void because_weights(struct mt_sentence *t, const struct mt_logdiag *d)
{
    mt_words_add(t,
                 "The weights of the model that the %s are %s in %s bits on each card "
                 "of its engine: more than the card has for them, whatever the engine's share.",
                 d->model.by_words ? "text names" : "settings name",
                 MT_BYTES((uint64_t)d->model.beyond), d->model.in_float ? "32" : "16");
    if (d->model.in_float)
        mt_words_add(t, " The settings ask for 32: in 16 they take half of that.");
}

static void because_states(struct mt_sentence *t, const struct mt_logdiag *d)
{
    mt_words_add(t,
                 "%sBy the settings the parameters, gradients and optimizer's state of what is "
                 "trained take at least %s of each card, whatever runs.",
                 t->n != 0 ? " " : "", MT_BYTES((uint64_t)d->model.held));
}

/* An error of CUDA without a number. */
static void because_cuda(struct mt_sentence *t, const struct mt_logdiag *d)
{
    static const char outside[] = "What such a call needs - a graph, a kernel's stack, a library's "
                                  "handle - lies outside PyTorch, which or others had left too "
                                  "little free; the line says no more.";
    switch (d->whose) {
    case MT_WHOSE_TENSOR:
        mt_words_add(t, "That is where PyTorch before 1.0 makes room for a tensor, which the card "
                        "had not. The line says neither how much it was nor who held the rest.");
        break;
    case MT_WHOSE_OTHERS:
        mt_words_add(t, "It failed where this process begins to use the card, before anything ran: "
                        "most likely others had it then, another job or an earlier run that is "
                        "still alive. The line says no more.");
        break;
    case MT_WHOSE_MOVED:
        mt_words_add(t, "The line puts something on the card. PyTorch up to 1.0 says no more when "
                        "its own allocator finds no room for a tensor; a newer one says how many "
                        "bytes, and fails so where others had the card before this process used "
                        "it.");
        break;
    case MT_WHOSE_OLD_WORDS:
        mt_words_add(t,
                     "PyTorch up to 1.0 says no more when its own allocator finds no room: then "
                     "the tensor of that line was too much for the card. In a newer one a call of "
                     "CUDA failed. %s",
                     outside);
        break;
    case MT_WHOSE_UNTOLD: mt_words_add(t, "%s", outside); break;
    }
}

bool mt_logdiag_kv_nothing(const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    return d->kv_short != MT_LOG_NONE || f->kind == MT_LOG_SGLANG_NO_KV ||
           (f->kind == MT_LOG_VLLM_KV && f->value[0] == 0) ||
           (f->kind == MT_LOG_VLLM_NO_KV && f->value[0] == MT_LOG_NONE &&
            f->value[2] == MT_LOG_NONE && f->value[3] == MT_LOG_NONE);
}

/* How much of a card the weights of the model have that the settings name. */
static void say_weights(struct mt_sentence *t, const struct mt_logdiag *d)
{
    if (d->model.on_card > 0)
        mt_words_add(
            t,
            " By its name or shape the model has %s%s of weights in %s bits on each card of its "
            "engine.",
            d->model.by_name ? "at least " : "", MT_BYTES((uint64_t)d->model.on_card),
            d->model.in_float ? "32" : "16");
}

/* An engine's weights are loaded whatever its share is. */
static void because_over_share(struct mt_sentence *t, const struct mt_logdiag *d)
{
    mt_words_add(t,
                 "%sThe %s that PyTorch holds are more than the share of the card that the engine "
                 "is set to: most likely its weights, which no share bounds.",
                 t->n != 0 ? " " : "", MT_BYTES(mt_logdiag_torch(d)));
    say_weights(t, d);
    if (d->model.on_card > 0 && (double)mt_logdiag_torch(d) > 1.3 * d->model.on_card)
        mt_words_add(t, " It holds far more than that: see whether the model is divided over the "
                        "cards as it is set to be.");
}

static void because_other(struct mt_sentence *t, const struct mt_logdiag *d,
                          const struct mt_log_fact *f)
{
    char a[32];
    switch ((int)f->kind) {
    case MT_LOG_NCCL_OOM:
        mt_words_add(t, "NCCL allocates outside PyTorch: what PyTorch keeps reserved without using "
                        "it is not free for NCCL.");
        break;
    case MT_LOG_CUMEM_OOM:
        mt_words_add(t, "This is where vLLM maps its memory again when it wakes: something else "
                        "held the card at that moment, mostly what the trainer keeps reserved.");
        break;
    case MT_LOG_SAVER_OOM:
        mt_words_add(t, "This is where memory that was given back is mapped again, when SGLang's "
                        "engine or the trainer wakes: "
                        "something else held the "
                        "card at that moment. Confirm that the other one had gone to sleep, or "
                        "lower the engine's share.");
        break;
    case MT_LOG_VLLM_WARMUP:
        mt_words_add(t, "That comes on top of the engine's share: a smaller share or fewer "
                        "sequences at once leave room for it.");
        break;
    case MT_LOG_VLLM_MEASURE:
        mt_words_add(t, "vLLM computes its KV cache from the difference and refuses when it is not "
                        "less: another process, or this one, gave memory back meanwhile. Start "
                        "engines one after the other, and let what was there before finish first.");
        break;
    case MT_LOG_CUDA_OOM:
        if (strncmp(f->text, "NVIDIA", 6) == 0) {
            mt_words_add(t, "That is a line of the system's log. Where processor and GPU share "
                            "their memory (GB10, GH200, Jetson) "
                            "both run out together, the page cache included: leave the host room, "
                            "and give an engine a smaller "
                            "share.");
            break;
        }
        if (strcmp(f->text, "TurboMind") == 0) {
            mt_words_add(t, "LMDeploy's engine gives its KV cache the share cache_max_entry_count "
                            "of the memory that is free at start, 0.8 "
                            "by default: a smaller one leaves room for what each batch needs.");
            break;
        }
        if (f->platform == 'T') {
            mt_words_add(t,
                         "%sa smaller batch, shorter sequences, the program split over more "
                         "chips, or jax.checkpoint for what a backward pass keeps.",
                         f->text[3] != '\0'
                             ? "What other arrays and programs hold there is not in the line: "
                             : "The compiler counts before anything runs: ");
            break;
        }
        if (d->cause == MT_CAUSE_REQUEST) {
            because_request(t, d);
            break;
        }
        if (strcmp(f->text, "XLA") == 0) {
            mt_words_add(
                t, "JAX takes three quarters of the card when it starts, and lives in that: "
                   "XLA_PYTHON_CLIENT_MEM_FRACTION sets "
                   "the share, XLA_PYTHON_CLIENT_PREALLOCATE=false lets it grow as it needs.");
            break;
        }
        if (strcmp(f->text, "TensorFlow") == 0) {
            mt_words_add(t, "TensorFlow takes nearly all of the card when it starts, and lives in "
                            "that: a tensor of this size found no room there. How much of it was "
                            "in use, the line does not say; the table that TensorFlow's allocator "
                            "(bfc_allocator) writes before it does.");
            break;
        }
        if (strcmp(f->text, "llama.cpp") == 0) {
            mt_words_add(t, "It puts the layers that it is told to on the card, with their part of "
                            "the KV cache, and a compute buffer beside them; what does not fit "
                            "stays on the host only where fewer layers are asked for.");
            break;
        }
        because_cuda(t, d);
        break;
    case MT_LOG_NPU_OOM:
        mt_words_add(
            t,
            "CANN and HCCL allocate outside PyTorch: what PyTorch keeps reserved without using it "
            "is not free for them. HCCL "
            "takes two buffers of HCCL_BUFFSIZE (200 MB each by default) for every communicator.");
        break;
    case MT_LOG_HOST_OOM:
        if (strcmp(f->text, "shared by Ray") == 0)
            mt_words_add(
                t,
                "Ray's object store was full, which lies in shared memory (/dev/shm): a larger one "
                "(--object-store-memory of ray start), "
                "and as much --shm-size for the container, or fewer and smaller objects at once.");
        else if (f->text[0] == 's')
            mt_words_add(t, "Shared memory (/dev/shm) was full, not the whole host: start the "
                            "container with --shm-size=16g or --ipc=host, "
                            "or use fewer data loader workers.");
        else if (f->text[0] == 'l')
            mt_words_add(t, "The memory that a network card (InfiniBand, RoCE) works on is locked, "
                            "and a process may lock no more than its limit: neither the host's "
                            "memory nor the GPU's was out. `ulimit -l` shows that limit; "
                            "unlimited is what NCCL needs (docker run --ulimit memlock=-1, "
                            "/etc/security/limits.conf, LimitMEMLOCK=infinity of the service).");
        else if (f->text[0] != '\0' && !mt_log_is_talk(f))
            mt_words_add(t, "CUDA says \"out of memory\" of host memory that cannot be pinned as "
                            "well. Pinned memory is never swapped: "
                            "it has to fit beside everything else of the node, and WSL allows only "
                            "a part of it. Unpinned (pin_memory "
                            "off, in the data loader or in what offloads) it is slower, and needs "
                            "none of that.");
        else if (f->value[0] != MT_LOG_NONE && f->value[0] > MT_LOG_GIANT) {
            mt_words_add(t, "So much in one piece hardly any host has left: it is the request that "
                            "is too large, not the host that is full.");
            say_side(t, f->value[0]);
        }
        break;
    case MT_LOG_KILLED:
        if (strcmp(f->text, "loader") == 0)
            mt_words_add(t, "Each of them holds a copy of the dataset object and the samples that "
                            "it has prepared: fewer workers "
                            "(num_workers), or smaller samples and a smaller prefetch_factor.");
        break;
    case MT_LOG_CUBLAS_OOM:
        mt_words_add(
            t, "cuBLAS allocates its handle outside PyTorch, which had left too little free.");
        break;
    case MT_LOG_VLLM_STARTUP:
        mt_words_add(t,
                     "gpu_memory_utilization %llu.%02llu is a share of the whole card, whatever "
                     "others already hold of it; at most %llu.%02llu would have started.",
                     (unsigned long long)f->value[2] / 10000,
                     (unsigned long long)f->value[2] / 100 % 100,
                     (unsigned long long)(mt_log_or_zero(f->value[1]) > 0
                                              ? f->value[0] / (f->value[1] / 100 + 1) / 100
                                              : 0),
                     (unsigned long long)(mt_log_or_zero(f->value[1]) > 0
                                              ? f->value[0] / (f->value[1] / 100 + 1) % 100
                                              : 0));
        break;
    case MT_LOG_SGLANG_KV_FULL:
        if (f->value[0] != MT_LOG_NONE && f->value[1] != MT_LOG_NONE && f->value[1] >= f->value[0])
            mt_words_add(t, "More tokens were left than were asked for: the cache is handed out in "
                            "pages, and each request needs a page "
                            "of its own. ");
        mt_words_add(t, "The KV cache has a fixed size, set at start from the engine's share: a "
                        "larger share, fewer requests at once or "
                        "shorter sequences. This is no lack of memory on the card.");
        break;
    case MT_LOG_VLLM_KV:
    case MT_LOG_VLLM_PROFILE:
    case MT_LOG_VLLM_NO_KV:
    case MT_LOG_SGLANG_NO_KV:
        if (d->kv_short != MT_LOG_NONE) {
            mt_words_add(t,
                         "The KV cache is what remains of the engine's share: weights and the "
                         "trial run alone take %s more than the whole of it. The share has to be "
                         "larger by more than that; where the card does not have it, the weights "
                         "have to be fewer on it (more GPUs, or quantised ones), or a step of the "
                         "engine smaller.",
                         mt_words_bytes(a, d->kv_short));
            break;
        }
        if (mt_logdiag_kv_nothing(d, f)) {
            mt_words_add(t, "The KV cache is what remains of the engine's share, of which weights "
                            "and the trial run leave nothing. The share has to be larger, where "
                            "the card has room for that; or the weights fewer on it (more GPUs, "
                            "or quantised ones), or a step of the engine smaller.");
            say_weights(t, d);
            break;
        }
        mt_words_add(t, "The KV cache is what remains of the engine's share after its weights: "
                        "here the share has to be larger, or the longest sequence shorter.");
        if (f->kind == MT_LOG_VLLM_NO_KV && f->value[2] == MT_LOG_NONE &&
            f->value[3] != MT_LOG_NONE)
            mt_words_add(t, " By vLLM's own estimate %llu tokens would fit.",
                         (unsigned long long)f->value[3]);
        break;
    case MT_LOG_WORKSPACE:
        mt_words_add(t, "It is a buffer of a fixed size, set at start, however much of the card is "
                        "free: SGLANG_FLASHINFER_WORKSPACE_SIZE (SGLang) or "
                        "VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE (vLLM), in bytes");
        if (f->value[0] != MT_LOG_NONE)
            mt_words_add(t, ", more than %llu, which one request of it alone needs",
                         (unsigned long long)f->value[0]);
        mt_words_add(t, ". Fewer tokens or sequences at once need less of it.");
        break;
    case MT_LOG_COUNTERS:
        mt_words_add(t, "The line of the failure itself, with what was asked for and what was "
                        "free, is not in this log.");
        break;
    case MT_LOG_POOL_REFUSED:
        mt_words_add(t, "vLLM's sleep mode needs a memory pool of its own, which this version does "
                        "not combine with expandable segments.");
        break;
    case MT_LOG_KERNEL_KILL:
        if (f->value[2] == 1)
            mt_words_add(t, "It was the limit of a control group that was reached - of a "
                            "container, or of a job of Slurm's -, "
                            "not the whole host's "
                            "memory: that limit can be raised.");
        break;
    case MT_LOG_CUT:
        mt_words_add(t, "The lines behind the last frame name the error; PyTorch's has what was "
                        "asked for, what was free and who held the rest. What is advised is for "
                        "want of GPU memory in that phase, and only if it was that.");
        break;
    case MT_LOG_RAY_KILL:
        if (f->value[1] != MT_LOG_NONE && f->value[0] != MT_LOG_NONE && f->value[1] >= f->value[0])
            mt_words_add(t,
                         "%s of the node's memory was left when Ray's memory monitor stepped in.",
                         mt_words_bytes(a, f->value[1] - f->value[0]));
        break;
    default: break;
    }
    (void)d;
}

/* nvml.h of usedGpuMemory: "Under WDDM, NVML_VALUE_NOT_AVAILABLE is always reported", which is -1;
 * below WSL lies Windows' own driver. */
static void because_not_known(struct mt_sentence *t)
{
    mt_words_add(t,
                 "%s17179869184 GiB is no amount and asks for nothing: 2^64 bytes are what the "
                 "driver answers where it does not know what a process has, as on Windows and WSL. "
                 "The other amounts hold.",
                 t->n != 0 ? " " : "");
}

void mt_logdiag_because(struct mt_sentence *t, const struct mt_logdiag *d,
                        const struct mt_log_fact *f)
{
    if (f->kind == MT_LOG_TORCH_OOM && d->model.beyond > 0) {
        because_weights(t, d); /* nothing else matters then */
        return;
    }
    if (f->kind == MT_LOG_TORCH_OOM) {
        because_torch(t, d, f);
        mt_logdiag_say_short(t, d);
    }
    if (f->use_not_known)
        because_not_known(t);
    if (d->rest_by_words)
        mt_words_add(t,
                     "%sThe error's line has the request alone: the other amounts stand beside "
                     "it.",
                     t->n != 0 ? " " : "");
    if (f->kind == MT_LOG_TORCH_OOM && d->model.is_over_share)
        because_over_share(t, d);
    if (f->kind == MT_LOG_TORCH_OOM && d->cause == MT_CAUSE_CAPACITY && d->model.held > 0)
        because_states(t, d);
    else if (f->kind == MT_LOG_TORCH_OOM || f->kind == MT_LOG_CUDA_OOM) {
        mt_logdiag_say_estimate(t, d);
        mt_logdiag_say_served(t, d);
        mt_logdiag_say_budget(t, d);
    }
    if (f->kind == MT_LOG_TORCH_OOM && d->cause != MT_CAUSE_OUTSIDE &&
        mt_logdiag_own_outside(d) >= MT_LOG_MUCH_OUTSIDE &&
        mt_logdiag_own_outside(d) >= d->capacity / 20)
        because_outside(t, d);
    if (f->kind == MT_LOG_TORCH_OOM)
        return;
    because_other(t, d, f);
}
