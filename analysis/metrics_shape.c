/* What is not said is not known: a product with an unknown factor is unknown, and says which factor. */
#include "analysis/metrics_shape.h"
#include "analysis/metrics.h"

#include <stdio.h>
#include <string.h>

double mt_run_number(const struct mt_runconf *conf, const char *name)
{
    struct mt_runconf_hit hit;
    struct mt_value v;
    if (conf == NULL || !mt_runconf_find(conf, name, &hit))
        return 0;
    v = mt_setting_number(hit.value);
    return v.known && v.v > 0 && v.v < 1e15 ? v.v : 0;
}

static const char *word(const struct mt_runconf *conf, const char *name)
{
    struct mt_runconf_hit hit;
    return conf != NULL && mt_runconf_find(conf, name, &hit) ? hit.value : NULL;
}

/* The first of several keys that is set; framework's own ones and those of a model's config.json. */
static double first_of(const struct mt_runconf *conf, const char *const *keys)
{
    double v = 0;
    for (; *keys != NULL && v <= 0; keys++)
        v = mt_run_number(conf, *keys);
    return v;
}

static bool is_set(const struct mt_runconf *conf, const char *key)
{
    struct mt_runconf_hit hit;
    return conf != NULL && mt_runconf_find(conf, key, &hit) && !hit.is_default && !mt_runconf_is_false(hit.value);
}

/* ---- the model ---- */

/* Families with the usual decoder layer: four projections, gate, up and down, two norms. */
static bool is_usual(const char *type)
{
    static const char *const known[] = {"llama", "qwen2", "qwen3", "mistral"};
    for (size_t i = 0; type != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i]) == 0)
            return true;
    return false;
}

static void count_params(struct mt_run_shape *s, const struct mt_runconf *conf)
{
    static const char *const inner_keys[] = {"intermediate_size", "text_config.intermediate_size", "--ffn-hidden-size", NULL};
    static const char *const head_keys[] = {"head_dim", "text_config.head_dim", "--kv-channels", NULL};
    static const char *const expert_keys[] = {"num_experts", "num_local_experts", "n_routed_experts", "--num-experts", NULL};
    double inner = first_of(conf, inner_keys), head = first_of(conf, head_keys), heads = mt_run_number(conf, "heads"),
           kv = mt_run_number(conf, "kv_heads"), outer;
    const char *type = word(conf, "model_type"), *missing = NULL, *tie = word(conf, "tie_word_embeddings");
    bool flags = is_set(conf, "--swiglu"),
         tied = flags ? !is_set(conf, "--untie-embeddings-and-output-weights") : mt_runconf_is_true(tie);
    s->layers = mt_run_number(conf, "layers");
    s->hidden = mt_run_number(conf, "hidden");
    s->vocab = mt_run_number(conf, "vocab");
    if (kv <= 0 && flags)
        kv = heads;
    if (head <= 0 && heads > 0)
        head = s->hidden / heads;
    s->kv_width = kv * head;
    missing = s->layers <= 0   ? "layers"
              : s->hidden <= 0 ? "hidden size"
              : heads <= 0     ? "attention heads"
              : kv <= 0        ? "heads of keys and values"
              : inner <= 0     ? "width of the MLP"
              : s->vocab <= 0  ? "vocabulary"
                               : NULL;
    if (missing != NULL)
        (void)snprintf(s->no_params, sizeof s->no_params,
                       "the model's shape (%s) is not among the settings; its config.json, given with --config, says it",
                       missing);
    else if (first_of(conf, expert_keys) > 0)
        (void)snprintf(s->no_params, sizeof s->no_params, "the model has experts, whose division is not computed");
    else if (!flags && !is_usual(type))
        (void)snprintf(s->no_params, sizeof s->no_params, "how the layers of this model type are built is not known");
    if (s->no_params[0] != '\0')
        return;
    outer = s->vocab * s->hidden * (tied ? 1 : 2) + s->hidden;
    s->params = outer + s->layers * (2 * s->hidden * heads * head + 2 * s->hidden * s->kv_width + 3 * s->hidden * inner +
                                     2 * s->hidden);
    if (s->params >= 1e14) { /* no model: a setting that is no shape */
        s->params = 0;
        (void)snprintf(s->no_params, sizeof s->no_params, "the model's shape among the settings makes no model");
    }
}

/* ---- who has which part ---- */

static double world(const struct mt_runconf *conf)
{
    static const char *const pairs[][2] = {{"trainer.n_gpus_per_node", "trainer.nnodes"},
                                           {"--actor-num-gpus-per-node", "--actor-num-nodes"},
                                           {"cluster.gpus_per_node", "cluster.num_nodes"}};
    double v = mt_run_number(conf, "WORLD_SIZE");
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && v <= 0; i++)
        v = mt_run_number(conf, pairs[i][0]) * mt_run_number(conf, pairs[i][1]);
    return v;
}

static void divide(struct mt_run_shape *s, const struct mt_frameworks *fw, const struct mt_runconf *conf)
{
    double all = world(conf), cp = mt_run_number(conf, "cp"), dp = mt_run_number(conf, "dp");
    s->tp = mt_run_number(conf, "tp");
    s->pp = mt_run_number(conf, "pp");
    s->rollout_tp = mt_run_number(conf, "rollout_tp");
    s->sharded = s->layout == MT_LAYOUT_SAME && (fw->fsdp1 || fw->fsdp2);
    if (s->layout == MT_LAYOUT_SAME && !s->sharded) {
        s->shards = s->tp = s->pp = 1;
        return;
    }
    if (s->sharded && mt_run_number(conf, "actor_rollout_ref.actor.fsdp_config.fsdp_size") > 0)
        s->shards = mt_run_number(conf, "actor_rollout_ref.actor.fsdp_config.fsdp_size");
    else if (fw->main == MT_FW_MEGATRON && !is_set(conf, "--use-distributed-optimizer"))
        s->shards = conf != NULL && conf->any ? 1 : 0;
    else if (dp > 0)
        s->shards = dp * (cp > 0 ? cp : 1); /* context-parallel ranks hold shards too */
    else if (s->layout == MT_LAYOUT_MEGATRON && s->tp > 0 && s->pp > 0)
        s->shards = all / (s->tp * s->pp);
    else if (s->sharded)
        s->shards = all;
    if (s->shards < 1)
        s->shards = 0;
    if (s->sharded && fw->main == MT_FW_VERL)
        s->tp = s->pp = 1; /* its FSDP engines have neither */
}

/* ---- layout and optimizer ---- */

static double elem_of(const char *type)
{
    static const struct {
        const char *word;
        double bytes;
    } types[] = {{"fp32", 4}, {"float32", 4}, {"bf16", 2}, {"bfloat16", 2}, {"fp16", 2}, {"float16", 2}};
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].word) == 0)
            return types[i].bytes;
    return 0;
}

static bool ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), k = strlen(end);
    return n >= k && strcmp(s + n - k, end) == 0;
}

/* What the frames say of the optimizer: 1 = Adam in the parameters' type, -1 = another one. */
static int optimizer_of_frames(const struct mt_trace *t)
{
    static const char *const adam[] = {"torch/optim/adam.py", "torch/optim/adamw.py"};
    static const char *const other[] = {"torch/optim/sgd.py", "torch/optim/adagrad.py", "torch/optim/rmsprop.py",
                                        "torch/optim/adafactor.py"};
    int found = 0;
    for (uint32_t i = 0; i < t->functions.n; i++) {
        const char *file = mt_str(t, t->functions.p[i].file);
        if (strstr(file, "bitsandbytes/") != NULL || strstr(file, "torchao/") != NULL)
            return -1;
        for (size_t k = 0; k < sizeof other / sizeof *other; k++)
            if (ends_with(file, other[k]))
                return -1;
        for (size_t k = 0; k < sizeof adam / sizeof *adam; k++)
            found = ends_with(file, adam[k]) ? 1 : found;
    }
    return found;
}

static void optimizer(struct mt_run_shape *s, const struct mt_trace *t, const struct mt_runconf *conf)
{
    const char *set = word(conf, "optimizer");
    int frames = optimizer_of_frames(t);
    if (set != NULL && (strcmp(set, "adam_bf16") == 0 || strstr(set, "8bit") != NULL || strstr(set, "sgd") != NULL))
        s->no_states = "the layout of this optimizer's state is not computed";
    else if (frames < 0)
        s->no_states = "the layout of this optimizer's state is not computed";
    else if (frames > 0 ||
             (set != NULL && (strcmp(set, "adam") == 0 || strcmp(set, "AdamW") == 0 || strcmp(set, "adamw") == 0)))
        s->states = 2;
    else
        s->no_states = "neither settings nor frames name the optimizer";
}

void mt_run_shape_make(struct mt_run_shape *s, const struct mt_trace *t, const struct mt_frameworks *fw,
                       const struct mt_runconf *conf)
{
    memset(s, 0, sizeof *s);
    if (fw->megatron_core || fw->main == MT_FW_MEGATRON) {
        s->layout = MT_LAYOUT_MEGATRON;
        s->elem = 2;
    } else if (fw->deepspeed || fw->main == MT_FW_DEEPSPEED) {
        s->no_layout = "DeepSpeed's configuration, which is not read, decides what it divides and keeps in 32 bits";
    } else {
        s->layout = MT_LAYOUT_SAME;
        s->elem = elem_of(word(conf, "dtype"));
    }
    s->lora = is_set(conf, "lora_rank");
    s->on_host = is_set(conf, "offload_policy") || (fw->main == MT_FW_AREAL && is_set(conf, "param_offload")) ||
                 (s->layout == MT_LAYOUT_MEGATRON && is_set(conf, "--optimizer-cpu-offload"));
    divide(s, fw, conf);
    count_params(s, conf);
    optimizer(s, t, conf);
}
