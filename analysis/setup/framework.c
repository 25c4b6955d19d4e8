/* Which framework a trace comes from. A directory that merely has a framework's name proves nothing
 * (people keep their own scripts in
 * ~/trl), so a file counts when it lies where a package lies: directly under site-packages, or at a
 * place inside the package that the framework itself has (verl/workers, areal/engine). */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* memmem */
#endif
#include "analysis/setup/framework.h"

#include "parser/base/mem.h"

#include <string.h>

static const struct {
    const char *id, *words;
} names[MT_FW_COUNT] = {
    [MT_FW_NONE] = {"none", "plain PyTorch"},
    [MT_FW_VERL] = {"verl", "verl"},
    [MT_FW_AREAL] = {"areal", "AReaL"},
    [MT_FW_SLIME] = {"slime", "slime"},
    [MT_FW_RELAX] = {"relax", "Relax"},
    [MT_FW_OPENRLHF] = {"openrlhf", "OpenRLHF"},
    [MT_FW_TRL] = {"trl", "TRL"},
    [MT_FW_NEMORL] = {"nemorl", "NeMo-RL"},
    [MT_FW_SKYRL] = {"skyrl", "SkyRL"},
    [MT_FW_ROLL] = {"roll", "ROLL"},
    [MT_FW_PRIME_RL] = {"prime_rl", "prime-rl"},
    [MT_FW_SWIFT] = {"swift", "ms-swift"},
    [MT_FW_MEGATRON] = {"megatron", "Megatron-LM"},
    [MT_FW_TORCHTITAN] = {"torchtitan", "torchtitan"},
    [MT_FW_DEEPSPEED] = {"deepspeed", "DeepSpeed"},
    [MT_FW_TRANSFORMERS] = {"transformers", "Hugging Face Trainer"},
    [MT_FW_LIGHTNING] = {"lightning", "Lightning"},
    [MT_FW_ACCELERATE] = {"accelerate", "Accelerate"},
    [MT_FW_LLAMAFACTORY] = {"llamafactory", "LLaMA-Factory"},
    [MT_FW_AXOLOTL] = {"axolotl", "Axolotl"},
    [MT_FW_UNSLOTH] = {"unsloth", "Unsloth"},
    [MT_FW_TORCHTUNE] = {"torchtune", "torchtune"},
    [MT_FW_VLLM] = {"vllm", "vLLM"},
    [MT_FW_SGLANG] = {"sglang", "SGLang"},
    [MT_FW_NANOVLLM] = {"nanovllm", "nano-vLLM"},
    [MT_FW_MINISGL] = {"minisgl", "mini-sglang"},
};

const char *mt_framework_id(enum mt_framework f)
{
    return (unsigned)f < MT_FW_COUNT ? names[f].id : "?";
}
const char *mt_framework_words(enum mt_framework f)
{
    return (unsigned)f < MT_FW_COUNT ? names[f].words : "?";
}

bool mt_framework_is_rl(enum mt_framework f) { return f >= MT_FW_VERL && f <= MT_FW_SWIFT; }

int mt_framework_find(const char *id)
{
    for (int i = 0; i < MT_FW_COUNT; i++)
        if (strcmp(names[i].id, id) == 0)
            return i;
    return -1;
}

/* Where each package keeps its files: the package, then what may come next. A name with a dot is a
 * file. */
static const struct {
    const char *package;
    enum mt_framework fw;
    const char *inside; /* separated by spaces */
} packages[] = {
    {"verl", MT_FW_VERL,
     "workers trainer utils models single_controller checkpoint_engine experimental third_party "
     "tools interactions"},
    {"areal", MT_FW_AREAL,
     "engine trainer utils experimental api core infra workflow reward scheduler launcher models "
     "thirdparty"},
    {"slime", MT_FW_SLIME, "backends utils ray rollout observability router"},
    {"relax", MT_FW_RELAX, "backends utils engine distributed components core"},
    {"openrlhf", MT_FW_OPENRLHF, "trainer models utils cli datasets"},
    {"trl", MT_FW_TRL,
     "trainer generation models extras scripts core.py import_utils.py experimental rewards"},
    {"unsloth_compiled_cache", MT_FW_UNSLOTH, /* copies of TRL's trainers that Unsloth writes */
     "UnslothGRPOTrainer.py UnslothSFTTrainer.py UnslothDPOTrainer.py UnslothRLOOTrainer.py "
     "UnslothKTOTrainer.py "
     "UnslothRewardTrainer.py"},
    {"nemo_rl", MT_FW_NEMORL,
     "models algorithms distributed environments experience utils data evals"},
    {"skyrl", MT_FW_SKYRL, "backends train tinker utils"},
    /* a package of its own before 2026, a folder of skyrl/backends since */
    {"skyrl_train", MT_FW_SKYRL,
     "workers distributed inference_servers inference_engines weight_sync weights_manager.py "
     "entrypoints trainer.py "
     "fully_async_trainer.py model_wrapper.py models.py utils generators training_batch.py mtp "
     "patches"},
    {"roll", MT_FW_ROLL, "pipeline distributed third_party platforms"},
    {"prime_rl", MT_FW_PRIME_RL,
     "trainer inference orchestrator transports entrypoints weights utils configs"},
    {"swift", MT_FW_SWIFT,
     "rlhf_trainers trainers rl_core pipelines megatron infer_engine rollout llm template tuners "
     "sequence_parallel ray_utils"},
    {"megatron", MT_FW_MEGATRON, "core training legacy bridge post_training rl inference"},
    {"torchtitan", MT_FW_TORCHTITAN,
     "train.py trainer.py models components distributed tools experiments protocols"},
    {"deepspeed", MT_FW_DEEPSPEED,
     "runtime ops utils comm moe sequence inference compile __init__.py"},
    {"transformers", MT_FW_TRANSFORMERS,
     "trainer.py trainer_seq2seq.py models generation modeling_utils.py integrations utils "
     "pipelines"},
    {"lightning", MT_FW_LIGHTNING, "pytorch fabric"},
    {"pytorch_lightning", MT_FW_LIGHTNING,
     "loops strategies trainer core plugins callbacks utilities accelerators"},
    {"lightning_fabric", MT_FW_LIGHTNING, "strategies plugins wrappers.py fabric.py utilities"},
    {"accelerate", MT_FW_ACCELERATE,
     "accelerator.py optimizer.py hooks.py utils big_modeling.py data_loader.py launchers.py "
     "state.py"},
    {"llamafactory", MT_FW_LLAMAFACTORY, "train model data hparams extras launcher.py cli.py v1"},
    {"axolotl", MT_FW_AXOLOTL,
     "core cli train.py loaders monkeypatch integrations kernels evaluate.py"},
    {"unsloth", MT_FW_UNSLOTH, "models kernels trainer.py"},
    {"unsloth_zoo", MT_FW_UNSLOTH,
     "gradient_checkpointing.py fused_losses rl_replacements.py vllm_utils.py loss_utils.py"},
    {"torchtune", MT_FW_TORCHTUNE, "config training modules models rlhf generation _cli"},
    {"vllm", MT_FW_VLLM,
     "v1 worker engine entrypoints model_executor attention device_allocator compilation "
     "distributed executor "
     "lora platforms sequence.py utils"},
    {"vllm_ascend", MT_FW_VLLM,
     "worker models ops attention device_allocator compilation distributed core sample platform.py "
     "utils.py"},
    {"sglang", MT_FW_SGLANG, "srt lang api.py launch_server.py multimodal_gen"},
    {"nanovllm", MT_FW_NANOVLLM, "engine layers models utils llm.py"},
    {"minisgl", MT_FW_MINISGL,
     "engine scheduler layers models kvcache attention moe kernel server llm distributed core.py"},
};

static bool in_list(const char *list, const char *word, size_t n)
{
    while (*list != '\0') {
        size_t len = strcspn(list, " ");
        if (len == n && memcmp(list, word, n) == 0)
            return true;
        list += len + (list[len] == ' ');
    }
    return false;
}

static enum mt_framework package_at(const char *word, size_t n, const char *next, size_t next_n)
{
    for (size_t i = 0; i < sizeof packages / sizeof *packages; i++)
        if (strlen(packages[i].package) == n && memcmp(packages[i].package, word, n) == 0 &&
            (next == NULL || in_list(packages[i].inside, next, next_n)))
            return packages[i].fw;
    return MT_FW_NONE;
}

/* The package below site-packages; without one, the innermost place that looks like the inside of a
 * package. */
enum mt_framework mt_framework_of_path(const char *path, size_t n)
{
    const char *word = NULL, *end = path + n;
    size_t word_n = 0;
    bool is_below_packages = false;
    enum mt_framework found = MT_FW_NONE;
    for (const char *p = path; p < end; p++) {
        const char *start = p;
        size_t len;
        while (p < end && *p != '/')
            p++;
        len = (size_t)(p - start);
        if (len == 0)
            continue;
        if (is_below_packages)
            return package_at(start, len, NULL, 0);
        is_below_packages = in_list("site-packages dist-packages", start, len);
        if (word != NULL) {
            enum mt_framework here = package_at(word, word_n, start, len);
            found = here != MT_FW_NONE ? here : found;
        }
        word = start;
        word_n = len;
    }
    return found;
}

#define CHUNKED_LOSS "_chunked_cross_entropy_loss"

static bool has(const char *s, size_t n, const char *word)
{
    return memmem(s, n, word, strlen(word)) != NULL;
}

/* Path with '/' only, its last bytes when it is long. */
static size_t normal(char *out, size_t cap, const char *s, size_t n)
{
    if (n > cap) {
        s += n - cap;
        n = cap;
    }
    for (size_t i = 0; i < n; i++)
        out[i] = s[i] == '\\' ? '/' : s[i];
    return n;
}

static void note_components(struct mt_frameworks *fw, const char *file, size_t n, const char *name,
                            size_t name_n)
{
    bool has_torch = has(file, n, "torch/");
    if (has(file, n, "megatron/core/")) {
        fw->megatron_core = true;
        if (has(file, n, "megatron/core/tensor_parallel/random.py") &&
            in_list("checkpoint backward", name, name_n))
            fw->checkpointing = true;
    }
    if (in_list("backward", name, name_n) &&
        (has(file, n, "llamafactory/model/model_utils/checkpointing.py") ||
         has(file, n, "axolotl/monkeypatch/gradient_checkpointing/") ||
         has(file, n, "unsloth_zoo/gradient_checkpointing.py")))
        fw->checkpointing = true; /* their own, which keep the inputs of layers on the host */
    if (has(file, n, "torchinductor_") || has(file, n, "<eval_with_key>"))
        fw->compiled = true;
    if (!has_torch)
        return;
    if (has(file, n, "torch/distributed/fsdp/_fully_shard/") ||
        has(file, n, "torch/distributed/_composable/fsdp/"))
        fw->fsdp2 = true;
    else if (has(file, n, "torch/distributed/fsdp/"))
        fw->fsdp1 = true;
    if (has(file, n, "torch/nn/parallel/distributed.py"))
        fw->ddp = true;
    if (has(file, n, "torch/utils/checkpoint.py"))
        fw->checkpointing = true;
    if (has(file, n, "torch/_inductor/") || has(file, n, "torch/_functorch/_aot_autograd/"))
        fw->compiled = true;
}

static enum mt_framework most(const uint64_t *frames, enum mt_framework first,
                              enum mt_framework last)
{
    enum mt_framework best = MT_FW_NONE;
    for (int i = (int)first; i <= (int)last; i++)
        if (frames[i] != 0 && (best == MT_FW_NONE || frames[i] > frames[best]))
            best = (enum mt_framework)i;
    return best;
}

/* The first two drive TRL's trainers, Unsloth rewrites them; each has settings of its own. */
static const enum mt_framework tuners[] = {MT_FW_LLAMAFACTORY, MT_FW_AXOLOTL, MT_FW_UNSLOTH,
                                           MT_FW_TORCHTUNE};

bool mt_framework_is_program(enum mt_framework f)
{
    for (size_t i = 0; i < sizeof tuners / sizeof *tuners; i++)
        if (f == tuners[i])
            return true;
    return mt_framework_is_rl(f);
}

bool mt_framework_runs_in(enum mt_framework f, const char *path, size_t n)
{
    if (f == MT_FW_TRANSFORMERS)
        return has(path, n, "transformers/trainer");
    if (f == MT_FW_LLAMAFACTORY)
        return !has(path, n,
                    "llamafactory/v1/"); /* another program by the same name, with other settings */
    return f != MT_FW_TORCHTUNE || has(path, n, "torchtune/config/") ||
           has(path, n, "torchtune/_cli/");
}

enum mt_framework mt_framework_program(const uint64_t n[MT_FW_COUNT])
{
    enum mt_framework best = most(n, MT_FW_VERL, MT_FW_SWIFT);
    if (best == MT_FW_TRL && n[MT_FW_SWIFT] != 0) /* ms-swift's trainers are made from TRL's, too */
        best = MT_FW_SWIFT;
    for (size_t i = 0;
         (best == MT_FW_NONE || best == MT_FW_TRL) && i < sizeof tuners / sizeof *tuners; i++)
        if (n[tuners[i]] != 0)
            return tuners[i];
    return best;
}

/* TRL's loss in chunks checkpoints each of them: that says nothing of the layers. 1 when something
 * else is checkpointed, -1 = out of memory. A caller's stack comes before those of what it calls.
 */
static int checkpoints_more_than_loss(const struct mt_trace *t)
{
    unsigned char *in_loss = mt_calloc((size_t)t->stacks.n + 1, 1);
    int more = in_loss != NULL ? 0 : -1;
    for (uint32_t i = 1; more == 0 && i < t->stacks.n; i++) {
        const struct mt_frame *f = &t->frames.p[t->stacks.p[i].frame];
        mt_stack_id up = t->stacks.p[i].parent;
        const char *name = mt_str(t, f->name);
        in_loss[i] = (up < i && in_loss[up]) || strcmp(name, CHUNKED_LOSS) == 0;
        more = !in_loss[i] && strcmp(name, "checkpoint") == 0 &&
               strstr(mt_str(t, f->file), "torch/utils/checkpoint.py") != NULL;
    }
    mt_free(in_loss);
    return more;
}

bool mt_frameworks_detect(const struct mt_trace *t, struct mt_frameworks *out)
{
    /* The one that drives wins over those it drives: Lightning runs on DeepSpeed, the Trainer on
     * Accelerate. */
    static const enum mt_framework trainers[] = {MT_FW_LIGHTNING, MT_FW_TORCHTITAN,
                                                 MT_FW_MEGATRON,  MT_FW_TRANSFORMERS,
                                                 MT_FW_DEEPSPEED, MT_FW_ACCELERATE};
    /* of the frames, those that show more than the use of a library */
    uint64_t running[MT_FW_COUNT] = {0};
    int more = 1;
    bool chunked = false;
    memset(out, 0, sizeof *out);
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const struct mt_function *f = &t->functions.p[i];
        const char *name = mt_str(t, f->name);
        size_t name_n = mt_str_len(t, f->name);
        char file[4096];
        size_t n = normal(file, sizeof file, mt_str(t, f->file), mt_str_len(t, f->file));
        enum mt_framework fw;
        if (n == 0 || n == 2) { /* "??": C++ */
            out->ddp = out->ddp || has(name, name_n, "c10d::Reducer::");
            continue;
        }
        note_components(out, file, n, name, name_n);
        chunked = chunked ||
                  (strcmp(name, CHUNKED_LOSS) == 0 && has(file, n, "trl/trainer/sft_trainer.py"));
        fw = mt_framework_of_path(file, n);
        if (fw == MT_FW_NONE)
            continue;
        out->frames[fw] += f->n_frames;
        running[fw] += mt_framework_runs_in(fw, file, n) ? f->n_frames : 0;
    }
    if (out->checkpointing && chunked && (more = checkpoints_more_than_loss(t)) < 0)
        return false;
    out->checkpointing = out->checkpointing && more;
    out->deepspeed = out->frames[MT_FW_DEEPSPEED] != 0;
    out->main = mt_framework_program(running);
    for (size_t i = 0; out->main == MT_FW_NONE && i < sizeof trainers / sizeof *trainers; i++)
        if (running[trainers[i]] != 0)
            out->main = trainers[i];
    out->engine = most(out->frames, MT_FW_VLLM, MT_FW_MINISGL);
    return true;
}
