/* What is not said is not known: a product with an unknown factor is unknown, and says which
 * factor. */
#include "analysis/setup/layout.h"
#include "analysis/setup/keys.h"

#include <stdio.h>
#include <string.h>

static bool is_word(const struct mt_runconf *conf, const char *name, const char *is)
{
    const char *v = mt_run_word(conf, name);
    return v != NULL && strcmp(v, is) == 0;
}

/* ---- who has which part ---- */

double mt_run_world(const struct mt_runconf *conf)
{
    double all = mt_run_number(conf, "all_ranks");
    return all > 0 ? all : mt_run_number(conf, "node_gpus") * mt_run_number(conf, "job_nodes");
}

double mt_run_ranks(const struct mt_runconf *conf)
{
    double all = mt_run_world(conf), nodes = mt_run_number(conf, "job_nodes");
    return all > 0 ? all : mt_run_number(conf, "node_ranks") * (nodes > 0 ? nodes : 1);
}

static void divide(struct mt_run_shape *s, const struct mt_frameworks *fw,
                   const struct mt_runconf *conf)
{
    const struct mt_framework *row = mt_framework_at(fw->rules, fw->main);
    double all = mt_run_world(conf), cp = mt_run_number(conf, "cp"), dp = mt_run_number(conf, "dp"),
           fsdp = mt_run_number(conf, "fsdp_size");
    s->tp = mt_run_number(conf, "tp");
    s->pp = mt_run_number(conf, "pp");
    s->rollout_tp = mt_run_number(conf, "rollout_tp");
    s->ep = mt_run_number(conf, "ep");
    s->etp = mt_run_number(conf, "etp");
    if (s->layout == MT_LAYOUT_ZERO) {
        s->shards = all;
        s->tp = s->pp = 1;
        s->sharded = s->zero == 3;
        return;
    }
    s->sharded = s->layout == MT_LAYOUT_SAME && (fw->parts & (MT_PART_FSDP1 | MT_PART_FSDP2)) != 0;
    if (s->layout == MT_LAYOUT_SAME && !s->sharded) {
        s->shards = s->tp = s->pp = 1;
        return;
    }
    if (s->sharded && fsdp > 0)
        s->shards = fsdp;
    else if (row->shards_with[0] != '\0' && !mt_run_is_set(conf, row->shards_with))
        s->shards = conf != NULL && conf->any ? 1 : 0;
    else if (dp > 0)
        s->shards = dp * (cp > 0 ? cp : 1); /* context-parallel ranks hold shards too */
    else if (s->layout == MT_LAYOUT_MEGATRON && s->tp > 0 && s->pp > 0)
        s->shards = all / (s->tp * s->pp);
    else if (s->sharded)
        s->shards = all;
    if (s->shards < 1)
        s->shards = 0;
    if (s->sharded && (row->traits & MT_FWT_FSDP_ALONE) != 0)
        s->tp = s->pp = 1;
}

/* ---- layout and optimizer ---- */

static double elem_of(const char *type)
{
    static const struct {
        const char *word;
        double bytes;
    } types[] = {{"fp32", 4},     {"float32", 4}, {"bf16", 2},
                 {"bfloat16", 2}, {"fp16", 2},    {"float16", 2}};
    if (type != NULL && strncmp(type, "torch.", 6) == 0)
        type += 6;
    for (size_t i = 0; type != NULL && i < sizeof types / sizeof *types; i++)
        if (strcmp(type, types[i].word) == 0)
            return types[i].bytes;
    return 0;
}

/* ---- DeepSpeed ---- */

static bool is_offloaded(const struct mt_runconf *conf, const char *key)
{
    return is_word(conf, key, "cpu") || is_word(conf, key, "nvme");
}

static void zero(struct mt_run_shape *s, const struct mt_trace *t, const struct mt_runconf *conf)
{
    static const char *const stages[] = {"zero_config_stage", "zero_stage"};
    static const char *const halves[] = {"bf16_section", "fp16_section", "bf16", "fp16"};
    double stage = 0, ratio;
    const char *share = mt_run_word(conf, "zero_optim_ratio");
    bool none = false;
    s->no_layout = "ZeRO's stage is not among the settings; DeepSpeed's configuration, given with "
                   "--config, says it";
    for (size_t i = 0; i < sizeof stages / sizeof *stages && stage <= 0; i++) {
        stage = mt_run_number(conf, stages[i]);
        none = none || is_word(conf, stages[i], "0");
    }
    for (uint32_t i = 0; i < t->functions.n && stage <= 0; i++)
        if (strstr(mt_str(t, t->functions.p[i].file), "deepspeed/runtime/zero/stage3.py") != NULL)
            stage = 3;
    if ((stage < 1 && !none) || stage > 3)
        return;
    s->zero = (unsigned)stage;
    if (s->zero == 0 && is_word(conf, "zero_grad_dtype", "fp32")) {
        s->no_layout =
            "how DeepSpeed without ZeRO keeps gradients in 32 bits depends on its version";
        return;
    }
    s->layout = MT_LAYOUT_ZERO;
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++)
        if (mt_runconf_is_true(mt_run_word(conf, halves[i])))
            s->elem = 2;
    if (s->elem <= 0 &&
        (is_word(conf, "mixed_precision", "bf16") || is_word(conf, "mixed_precision", "fp16")))
        s->elem = 2;
    if (s->elem <= 0 && mt_runconf_is_false(mt_run_word(conf, "bf16_section")) &&
        mt_runconf_is_false(mt_run_word(conf, "fp16_section")))
        s->elem = 4;
    s->grad_bytes = is_word(conf, "zero_grad_dtype", "fp32") ? 4 : s->elem;
    s->state_bytes =
        s->optim.factored || s->optim.tensors > s->optim.hidden ||
                s->optim.tensors < s->optim.hidden
            ? 0
            : 4 + 4 * s->optim.tensors + s->optim.bytes; /* flat parts have no matrices */
    if (s->zero == 0 && s->elem > 2 && s->state_bytes > 0)
        s->state_bytes -= 4; /* the plain optimizer, on the parameters themselves */
    s->params_on_host = is_offloaded(conf, "zero_param_device");
    /* so much of stage 3's groups */
    ratio = mt_run_number(conf, "zero_optim_ratio");
    if (s->zero > 0 &&
        (is_offloaded(conf, "zero_optim_device") || mt_run_is_set(conf, "optimizer_offload")))
        s->kept = s->zero == 3 && share != NULL && ratio < 1 ? 1 - ratio : 0;
}

/* ---- Megatron ---- */

/* A field of Megatron's OptimizerConfig: its flag, or as others hand it on. NULL = not set; flag:
 * it is a flag's, with the defaults of Megatron's arguments, not those of the class. */
static const char *optimizer_field(const struct mt_runconf *conf, const char *name, bool *flag)
{
    struct mt_runconf_hit hit;
    bool is_set = mt_runconf_find(conf, name, &hit);
    *flag = is_set && hit.key != NULL && hit.key->key[0] == '-';
    return is_set ? hit.value : NULL;
}

static bool is_on(const char *v, bool flag)
{
    return v != NULL && (mt_runconf_is_true(v) || (flag && v[0] == '\0'));
}

/* HybridDeviceOptimizer (megatron/core/optimizer/cpu_offloading) takes parameters to the host until
 * they are at least this share of all. */
static void partly_offloaded(struct mt_run_shape *s, const struct mt_runconf *conf)
{
    bool by_flag, flag;
    const char *v = optimizer_field(conf, "optimizer_cpu_offload", &by_flag), *share;
    struct mt_value n;
    if (!is_on(v, by_flag))
        return;
    share = optimizer_field(conf, "optimizer_offload_fraction", &flag);
    s->kept = by_flag && share == NULL ? 0 : -1; /* the flag's default is all of it */
    if (share == NULL)
        return;
    n = mt_setting_number(share);
    if (n.known && n.v >= 0 && n.v <= 1)
        s->kept = 1 - n.v;
}

/* Muon keeps a 32-bit copy and one momentum of each matrix of the layers and leaves the rest to
 * Adam (optimizer/muon.py); it does not go together with the distributed optimizer, but a
 * layer-wise one can deal whole tensors out over the ranks (layer_wise_optimizer.py). */
static void megatron_muon(struct mt_run_shape *s, const struct mt_trace *t,
                          const struct mt_runconf *conf)
{
    s->dealt = (s->optim.setting != NULL && strstr(s->optim.setting, "dist") != NULL) ||
               mt_run_is_set(conf, "layer_wise_optimizer");
    for (uint32_t i = 0; i < t->functions.n && !s->dealt; i++)
        s->dealt =
            strstr(mt_str(t, t->functions.p[i].file), "optimizer/layer_wise_optimizer.py") != NULL;
    if (mt_run_is_set(conf, "distributed_optimizer"))
        s->no_states = "how Megatron divides Muon's state beside its distributed optimizer depends "
                       "on its version";
    else if (s->kept < 1)
        s->no_states = "which part of Muon's state is on the host is not computed";
}

/* Bytes of a main parameter and two moments, as --use-precision-aware-optimizer lets them be
 * chosen. Of a 32-bit main parameter Transformer Engine keeps only the 16 bits that the bf16
 * parameter lacks: that depends on its version. */
static void megatron(struct mt_run_shape *s, const struct mt_trace *t,
                     const struct mt_runconf *conf)
{
    static const struct {
        const char *field;
        bool of_state;
    } types[] = {{"exp_avg_dtype", true},
                 {"exp_avg_sq_dtype", true},
                 {"main_params_dtype", true},
                 {"main_grads_dtype", false}};
    const struct mt_optim *o = &s->optim;
    bool flag, aware = is_on(optimizer_field(conf, "precision_aware_optimizer", &flag), true);
    s->layout = MT_LAYOUT_MEGATRON;
    s->elem = 2;
    s->grad_bytes = mt_runconf_is_false(mt_run_word(conf, "grad_reduce_in_fp32")) ? 2 : 4;
    s->state_bytes = o->factored || o->bytes > 0 ? 0 : 4 + 4 * o->tensors;
    for (size_t i = 0; aware && i < sizeof types / sizeof *types; i++) {
        const char *v = optimizer_field(conf, types[i].field, &flag);
        double bytes = v == NULL ? 4 : strcmp(v, "fp8") == 0 ? 1 : elem_of(v);
        if (bytes <= 0)
            s->no_states = "a type that is set for the optimizer's state is not known";
        else if (types[i].of_state)
            s->state_bytes -= 4 - bytes;
        else if (v != NULL)
            s->grad_bytes = bytes;
    }
    partly_offloaded(s, conf);
    if (o->why == NULL && strcmp(o->name, "Muon") == 0)
        megatron_muon(s, t, conf);
}

/* ---- this rank's part of the model ---- */

static void mine(struct mt_run_shape *s, const struct mt_trace *t, const struct mt_runconf *conf)
{
    const struct mt_model *m = &s->model;
    struct mt_model_part part, mtp;
    double all = mt_run_world(conf), ends = m->embed + m->head + m->hidden, from = 0,
           to = m->layers, stage = 0;
    bool split_experts = s->layout == MT_LAYOUT_MEGATRON && m->experts > 0;
    if (!m->known)
        return;
    if (s->tp <= 0 || s->pp <= 0) {
        s->no_mine =
            "how the model is divided (tensor, pipeline parallel) is not among the settings";
        return;
    }
    if (all <= 0 && mt_run_number(conf, "dp") > 0)
        all = mt_run_number(conf, "dp") * s->tp * s->pp *
              (mt_run_number(conf, "cp") > 0 ? mt_run_number(conf, "cp") : 1);
    if (s->pp > 1) {
        s->no_mine =
            t->meta.rank < 0
                ? "which layers this pipeline stage has is not known: no name says the rank"
                : "which layers this pipeline stage has is not known: the number of ranks is not "
                  "among the settings";
        if (t->meta.rank < 0 || all < s->pp || t->meta.rank >= all)
            return;
        /* stages lie outermost in the order of ranks */
        stage = (double)(uint64_t)(t->meta.rank / (all / s->pp));
        if (!mt_model_stage(m, conf, s->pp, stage, &from, &to, &s->no_mine))
            return;
        s->no_mine = NULL;
        /* A tied head is a copy of the embedding on the last stage. */
        ends = (stage < 1 ? m->embed : 0) +
               (stage + 1 >= s->pp ? (m->head > 0 ? m->head : m->embed) + m->hidden : 0);
        if (m->mtp > 0 && stage + 1 >= s->pp && m->head <= 0) {
            s->no_mine = "whether the last stage has its tied head beside the embedding of the MTP "
                         "layers is not computed";
            return;
        }
        ends += m->mtp > 0 && stage + 1 >= s->pp ? m->embed : 0; /* a copy for the MTP layers */
        s->has_stage = true;
        s->stage = stage;
        s->from = from;
        s->to = to;
    }
    part = mt_model_layers(m, from, to);
    if (m->mtp > 0 && to >= m->layers) {
        mtp = mt_model_mtp(m);
        part.dense += mtp.dense;
        part.experts += mtp.experts;
        part.vectors += mtp.vectors;
        part.adapters += mtp.adapters;
    }
    if (split_experts && s->ep <= 0) {
        s->no_mine = "over how many ranks the experts are divided is not among the settings";
        return;
    }
    if (split_experts && s->etp <= 0 && s->tp > 1 && s->ep > 1 && conf != NULL &&
        (mt_framework_at(conf->rules, conf->framework)->traits & MT_FWT_EXPERT_TP) != 0) {
        s->no_mine = "how the experts are divided by tensor parallel is not among the settings";
        return;
    }
    if (s->etp <= 0)
        s->etp = s->tp;
    s->mine = (ends + part.dense) / s->tp;
    s->mine_matrices = (part.dense - part.vectors) / s->tp;
    s->mine_adapters = part.adapters / s->tp;
    if (split_experts) {
        s->mine_experts = part.experts / s->etp / s->ep;
        s->expert_shards = s->shards <= 1 ? s->shards : all / (s->etp * s->ep * s->pp);
    } else {
        s->mine += part.experts / s->tp;
    }
}

void mt_run_shape_make(struct mt_run_shape *s, const struct mt_trace *t,
                       const struct mt_frameworks *fw, const struct mt_runconf *conf)
{
    const struct mt_model *m = &s->model;
    struct mt_model_part part;
    const struct mt_framework *row = mt_framework_at(fw->rules, fw->main);
    bool core = mt_frameworks_have(fw, MT_PART_CORE);
    memset(s, 0, sizeof *s);
    mt_model_make(&s->model, conf, row, core);
    mt_optim_make(&s->optim, t, fw, conf);
    s->params_on_host =
        !core && (mt_run_is_set(conf, "offload_policy") ||
                  (row->host_params[0] != '\0' && mt_run_is_set(conf, row->host_params)));
    s->kept = s->params_on_host ? 0 : 1;
    if (core) {
        megatron(s, t, conf);
    } else if (mt_frameworks_have(fw, MT_PART_ZERO)) {
        zero(s, t, conf);
    } else {
        s->layout = MT_LAYOUT_SAME;
        s->elem = elem_of(mt_run_word(conf, "dtype"));
    }
    s->lora = m->lora;
    s->layers = m->layers;
    s->hidden = m->hidden;
    s->vocab = m->vocab;
    s->kv_width = m->kv_width;
    divide(s, fw, conf);
    (void)snprintf(s->no_params, sizeof s->no_params, "%s", m->missing);
    part = mt_model_layers(m, 0, m->layers);
    if (m->but_vocab)
        s->but_vocab = m->hidden + part.dense + part.experts;
    if (!m->known)
        return;
    s->params = m->embed + m->head + m->hidden + part.dense + part.experts;
    if (s->layout != MT_LAYOUT_UNKNOWN)
        mine(s, t, conf);
}
