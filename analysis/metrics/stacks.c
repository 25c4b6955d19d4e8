/* metrics/stacks.c -- what stacks and sizes tell beyond the roles of live blocks. */
#include "analysis/metrics/stacks.h"

#include "analysis/base/frames.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/layout.h"

#include <string.h>
#include <strings.h>

#define USED (UINT64_C(1) << 20) /* a device with less than this was only touched */

bool mt_has_several_gpus(const struct mt_analysis *a, const struct mt_runconf *conf)
{
    const struct mt_frameworks *fw = &a->fw;
    uint32_t used = 0;
    for (uint32_t i = 0; i < a->devices.n; i++)
        used += a->devices.p[i].kind == MT_DEV_CUDA && a->devices.p[i].live_peak >= USED;
    return used > 1 ||
           (fw->parts &
            (MT_PART_DDP | MT_PART_FSDP1 | MT_PART_FSDP2 | MT_PART_ZERO | MT_PART_CORE)) != 0 ||
           mt_run_world(conf) > 1 ||
           (a->trace != NULL &&
            (a->trace->meta.rank >= 0 || mt_trace_has_frame(a->trace, "torch/distributed/", "") ||
             mt_trace_has_frame(a->trace, "torch/nn/parallel/", "")));
}

/* Whether a stack goes through a function that computes the entropy. cross_entropy is a loss, and
 * what computes both
 * ("gather_logprobs_entropy") does not tell. */
bool mt_computes_entropy(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const char *name = mt_str(t, t->frames.p[t->stacks.p[s].frame].name);
        if (strstr(name, "entropy") != NULL && strstr(name, "cross_entropy") == NULL &&
            strstr(name, "logprob") == NULL && strstr(name, "log_prob") == NULL)
            return true;
    }
    return false;
}

bool mt_is_loss_chunk(const struct mt_trace *t, mt_stack_id s)
{
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        if (strcmp(mt_str(t, f->name), "_chunk") == 0 &&
            strstr(mt_str(t, f->file), "trl/trainer/sft_trainer.py") != NULL)
            return true;
    }
    return false;
}

double mt_loss_chunk_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    double bytes = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++)
        bytes += mt_is_loss_chunk(t, d->owners.p[i].stack) ? (double)d->owners.p[i].bytes : 0;
    return bytes;
}

enum { IN_ATTENTION = 1, IN_SOFTMAX = 2 };

/* word: in small letters. */
static bool has_word(const char *name, const char *word)
{
    size_t n = strlen(word);
    for (; *name != 0; name++)
        if ((*name | 32) == *word && strncasecmp(name, word, n) == 0)
            return true;
    return false;
}

/* Which of the two a stack goes through, by the names of its Python functions. */
static unsigned scores_of(const struct mt_trace *t, mt_stack_id s)
{
    unsigned in = 0;
    for (; s != 0; s = t->stacks.p[s].parent) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[s].frame];
        const char *name = mt_str(t, f->name);
        if (!mt_file_is_python(mt_str(t, f->file), mt_str_len(t, f->file)))
            continue;
        if (has_word(name, "attention") || has_word(name, "attn"))
            in |= IN_ATTENTION;
        else if (has_word(name, "softmax") && !has_word(name, "log_softmax"))
            in |= IN_SOFTMAX;
    }
    return in;
}

double mt_attention_scores(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    const struct mt_oom *o = d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
    uint64_t scores = 0;
    double bytes = 0;
    if (t == NULL)
        return 0;
    for (uint32_t i = 0; i < d->owners.n; i++)
        if (d->owners.p[i].largest > scores &&
            scores_of(t, d->owners.p[i].stack) == (IN_ATTENTION | IN_SOFTMAX))
            scores = d->owners.p[i].largest;
    for (uint32_t i = 0; i < d->owners.n && scores != 0; i++) {
        const struct mt_owner *w = &d->owners.p[i];
        if ((w->largest == scores || w->largest * 2 == scores || w->largest == scores * 2) &&
            ((scores_of(t, w->stack) & IN_ATTENTION) != 0 ||
             w->attr.sub == MT_PH_BACKWARD)) /* their gradients */
            bytes += (double)w->bytes;
    }
    if (o != NULL && scores != 0 && o->request >= scores / 2 && o->request <= scores * 2 + 511 &&
        ((scores_of(t, o->stack) & IN_ATTENTION) != 0 || o->attr.sub == MT_PH_BACKWARD))
        bytes += (double)o->request;
    return bytes;
}

/* The innermost frame of the program itself, as the owner of a block is named, is a constructor in
 * that file. */
static bool is_of_pool(const struct mt_trace *t, struct mt_file_kinds *kinds, mt_stack_id s)
{
    const struct mt_frame *f;
    mt_frame_id frame;
    if (mt_stack_site(t, kinds, s, &frame) != MT_SITE_PYTHON)
        return false;
    f = &t->frames.p[frame];
    return strcmp(mt_str(t, f->name), "__init__") == 0 &&
           strstr(mt_str(t, f->file), "sglang/srt/mem_cache/memory_pool.py") != NULL;
}

double mt_request_table_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    struct mt_file_kinds kinds = {0};
    double bytes = 0;
    if (t == NULL || !mt_file_kinds_init(&kinds, t))
        return 0;
    for (uint32_t i = 0; i < d->owners.n; i++) {
        const struct mt_owner *o = &d->owners.p[i];
        if (o->blocks == 1 && is_of_pool(t, &kinds, o->stack) && (double)o->bytes > bytes)
            bytes = (double)o->bytes;
    }
    mt_file_kinds_done(&kinds);
    return bytes;
}

static double live_through(const struct mt_device_analysis *d, const struct mt_trace *t,
                           const char *file, const char *function)
{
    double bytes = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++)
        bytes += mt_stack_goes_through(t, d->owners.p[i].stack, file, function)
                     ? (double)d->owners.p[i].bytes
                     : 0;
    return bytes;
}

/* With the request that failed there. */
static double live_and_asked(const struct mt_device_analysis *d, const struct mt_trace *t,
                             const char *file, const char *function)
{
    double bytes = live_through(d, t, file, function);
    if (t != NULL && d->focus_is_oom && d->ooms.n != 0 &&
        mt_stack_goes_through(t, d->ooms.p[0].stack, file, function))
        bytes += (double)d->ooms.p[0].request;
    return bytes;
}

/* vLLM's newer model runner takes the tokens of a prompt in pieces: only the older one's function
 * grows with them. */
static const char prompt_file[] = "vllm/v1/worker/gpu_model_runner.py",
                  prompt_function[] = "_get_prompt_logprobs_dict";

double mt_prompt_logits_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return live_and_asked(d, t, prompt_file, prompt_function);
}

/* EvalLoopContainer.add of the newer, evaluation_loop of older ones: both join through this
 * function. */
double mt_eval_kept_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return live_and_asked(d, t, "transformers/trainer_pt_utils.py", "nested_concat");
}

double mt_stage_outputs_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    static const char stage[] = "torch/distributed/pipelining/stage.py",
                      chunks[] = "torch/distributed/pipelining/microbatch.py";
    double kept = 0, joined = 0;
    for (uint32_t i = 0; t != NULL && i < d->owners.n; i++) {
        const struct mt_owner *w = &d->owners.p[i];
        if (mt_stack_goes_through(t, w->stack, chunks, "merge_chunks"))
            joined += (double)w->largest;
        else if (mt_stack_goes_through(t, w->stack, stage, "forward_one_chunk") &&
                 mt_is_logits_request(&d->roles, w->largest, false))
            kept += (double)(w->bytes - w->largest); /* the micro-batch at work needs its own */
    }
    if (t != NULL && d->focus_is_oom && d->ooms.n != 0 &&
        mt_stack_goes_through(t, d->ooms.p[0].stack, chunks, "merge_chunks"))
        joined += (double)d->ooms.p[0].request;
    return kept + joined;
}

double mt_packed_sync_bytes(const struct mt_device_analysis *d, const struct mt_trace *t,
                            double *largest)
{
    double bytes = 0;
    *largest = 0;
    for (uint32_t i = 0; t != NULL && i <= d->owners.n; i++) {
        bool failed = i == d->owners.n;
        const struct mt_oom *o = failed && d->focus_is_oom && d->ooms.n != 0 ? &d->ooms.p[0] : NULL;
        uint64_t one = !failed ? d->owners.p[i].largest : o != NULL ? o->request : 0;
        if (one == 0 ||
            !mt_stack_goes_through(t, !failed ? d->owners.p[i].stack : o->stack,
                                   "vllm/distributed/weight_transfer/packed_tensor.py", ""))
            continue;
        bytes += !failed ? (double)d->owners.p[i].bytes : (double)one;
        *largest = (double)one > *largest ? (double)one : *largest;
    }
    return bytes;
}

double mt_engine_workspace_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return live_through(d, t, "vllm/v1/worker/workspace.py", "_ensure_workspace_size");
}

double mt_draft_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return live_through(d, t, "vllm/v1/spec_decode/", "") +
           live_through(d, t, "vllm/v1/worker/gpu/spec_decode/", "") +
           live_through(d, t, "sglang/srt/speculative/", "");
}

double mt_loaded_tensor(const struct mt_device_analysis *d)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < d->owners.n; i++)
        if (d->owners.p[i].attr.phase == MT_PH_ROLLOUT_LOAD && d->owners.p[i].largest > most)
            most = d->owners.p[i].largest;
    return (double)most;
}

double mt_sampler_state_bytes(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    return live_through(d, t, "vllm/v1/worker/gpu/sample/", "__init__");
}

/* Bytes for each row and word of the vocabulary, measured in vLLM's own functions on a vocabulary
 * of 151936. A prompt's: the logits, their logarithms in 32 bits, those of the prompt before. A
 * trial run's: the copy in 32 bits, and the sort of PyTorch's top-k and top-p, which takes more
 * than other samplers. */
double mt_sampler_peak(const struct mt_device_analysis *d, const struct mt_trace *t)
{
    enum { PROMPT = 10, TRIAL = 38 };
    const struct mt_oom *o = d->ooms.p;
    double rows = (double)d->roles.logits_tokens * (double)d->roles.vocab;
    if (t == NULL || !d->focus_is_oom || d->ooms.n == 0)
        return 0;
    if (mt_stack_goes_through(t, o->stack, prompt_file, prompt_function))
        return rows * PROMPT;
    return o->attr.phase == MT_PH_ROLLOUT_PROFILE &&
                   mt_stack_goes_through(t, o->stack, "vllm/v1/sample/", "")
               ? rows * TRIAL
               : 0;
}

bool mt_is_logits_request(const struct mt_role_facts *f, uint64_t request, bool backward)
{
    enum { MIN_ROWS = 64, ROUNDED = 511, SHIFTED = 50 };
    uint64_t row = f->vocab_split != 0 ? f->vocab / f->vocab_split * 2 : f->vocab * 2, rows;
    if (row <= ROUNDED || request % row > ROUNDED)
        return false;
    rows = request / row;
    if (rows < MIN_ROWS)
        return false;
    if (backward)
        return rows == f->logits_tokens || rows == f->logits_tokens * 2;
    if (!f->vocab_is_smooth)
        return true;
    /* the copy that shifts labels lacks a token of each sequence */
    for (unsigned wide = 1; wide <= 2; wide++) {
        uint64_t of = f->logits_tokens * wide;
        if (rows <= of && of - rows <= of / SHIFTED)
            return true;
    }
    return false;
}

/* Programs that a file of theirs tells; Unsloth's are copies of TRL's. */
static const struct {
    enum mt_metric metric;
    const char *file, *function;
} runs[] = {
    {MT_METRIC_runs_sft, "trl/trainer/sft_trainer.py", ""},
    {MT_METRIC_runs_sft, "unsloth_compiled_cache/UnslothSFTTrainer.py", ""},
    {MT_METRIC_runs_pairs, "trl/trainer/dpo_trainer.py", ""},
    {MT_METRIC_runs_pairs, "trl/trainer/kto_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/experimental/", ""},
    {MT_METRIC_runs_other, "trl/trainer/online_dpo_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/nash_md_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/xpo_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/ppo_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/cpo_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/orpo_trainer.py", ""},
    {MT_METRIC_runs_other, "trl/trainer/bco_trainer.py", ""},
    {MT_METRIC_runs_hf, "transformers/trainer.py", ""},
    {MT_METRIC_adapters, "peft/tuners/", ""},
    {MT_METRIC_adapters, "torchtune/modules/peft/", ""},
    {MT_METRIC_runs_torchtune, "torchtune/config/_parse.py", ""},
    {MT_METRIC_runs_grpo, "trl/trainer/grpo_trainer.py", ""},
    {MT_METRIC_runs_grpo, "trl/trainer/rloo_trainer.py", ""},
    {MT_METRIC_runs_grpo, "unsloth_compiled_cache/UnslothGRPOTrainer.py", ""},
    {MT_METRIC_runs_grpo, "unsloth_compiled_cache/UnslothRLOOTrainer.py", ""},
    {MT_METRIC_runs_dpo, "openrlhf/trainer/dpo_trainer.py", ""},
    {MT_METRIC_runs_offline, "openrlhf/trainer/sft_trainer.py", ""},
    {MT_METRIC_runs_offline, "openrlhf/trainer/dpo_trainer.py", ""},
    {MT_METRIC_runs_offline, "openrlhf/trainer/rm_trainer.py", ""},
    {MT_METRIC_megatron_loss, "megatron/core/models/common/language_module/language_module.py",
     "compute_language_model_loss"},
    {MT_METRIC_megatron_fp32, "megatron/core/transformer/module.py", "float_conversion"},
};

bool mt_stack_runs(const struct mt_trace *t, enum mt_metric m)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        if (runs[i].metric == m && mt_trace_has_frame(t, runs[i].file, runs[i].function))
            return true;
    return false;
}

struct mt_value mt_metric_of_stack(const struct mt_trace *t, const char *name, size_t n)
{
    /* A process has one trainer: the others are not there, though a traceback shows a part of the
     * program only. */
    static const enum mt_metric one_of[] = {MT_METRIC_runs_sft, MT_METRIC_runs_pairs,
                                            MT_METRIC_runs_other, MT_METRIC_runs_grpo};
    bool is_one = false, other = false;
    for (size_t i = 0; t != NULL && i < sizeof runs / sizeof *runs; i++) {
        const char *known = mt_metric_name(runs[i].metric);
        if (strlen(known) != n || memcmp(known, name, n) != 0)
            continue;
        if (mt_stack_runs(t, runs[i].metric))
            return (struct mt_value){1, true, MT_CONF_MARKED};
        for (size_t k = 0; k < sizeof one_of / sizeof *one_of; k++) {
            is_one = is_one || one_of[k] == runs[i].metric;
            other = other || mt_stack_runs(t, one_of[k]);
        }
        if (is_one && other)
            return (struct mt_value){0, true, MT_CONF_MARKED};
        break;
    }
    return (struct mt_value){0, false, MT_CONF_NONE};
}

bool mt_metric_arm_path(const char *path)
{
    return strstr(path, "aarch64") != NULL || strstr(path, "torch_npu") != NULL;
}

/* "C:\\x\\train.py" */
bool mt_metric_windows_path(const char *path)
{
    return ((path[0] >= 'A' && path[0] <= 'Z') || (path[0] >= 'a' && path[0] <= 'z')) &&
           path[1] == ':' && path[2] == '\\';
}

bool mt_metric_arm(const struct mt_trace *t)
{
    for (uint32_t i = 0; t != NULL && i < t->functions.n; i++) {
        if (mt_metric_arm_path(mt_str(t, t->functions.p[i].file)))
            return true;
    }
    return false;
}
