/* What a product needs and the settings do not say is named; a family whose layers differ from the
 * ones below is not counted. */
#include "analysis/setup/model.h"
#include "analysis/setup/keys.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Families with the usual decoder layer: four projections (or latent attention), gate, up and down,
 * two norms; with experts or without. */
static bool is_usual(const char *type)
{
    static const char *const known[] = {"llama",       "qwen2",     "qwen3",     "mistral",
                                        "mixtral",     "qwen2_moe", "qwen3_moe", "deepseek_v2",
                                        "deepseek_v3", "kimi_k2",   "glm4_moe",  "glm4",
                                        "phi3",        "internlm2", "baichuan",  "chatglm"};
    for (size_t i = 0; type != NULL && i < sizeof known / sizeof *known; i++)
        if (strcmp(type, known[i]) == 0)
            return true;
    return false;
}

/* ---- layers ---- */

/* One matrix of a layer: its elements, and what Adafactor keeps of it. */
static double matrix(struct mt_model *m, double in, double out, double times)
{
    m->factors += m->layers * times * (in + out);
    return in * out * times;
}

static void project(struct mt_model *m, const char *name, double in, double out)
{
    for (size_t i = 0; i < sizeof m->projection / sizeof *m->projection; i++)
        if (m->projection[i].name == NULL) {
            m->projection[i].name = name;
            m->projection[i].in = in;
            m->projection[i].out = out;
            m->attention += matrix(m, in, out, 1);
            return;
        }
}

static const char *attention(struct mt_model *m, const struct mt_runconf *conf, double heads,
                             double kv, double head)
{
    double latent = mt_run_number(conf, "kv_lora_rank"), q = mt_run_number(conf, "q_lora_rank"),
           nope = mt_run_number(conf, "qk_nope_head_dim"),
           rope = mt_run_number(conf, "qk_rope_head_dim"),
           value = mt_run_number(conf, "v_head_dim");
    m->attention = 2 * m->hidden;
    if (latent <= 0) {
        if (kv <= 0)
            return "heads of keys and values";
        project(m, "q_proj", m->hidden, heads * head);
        project(m, "k_proj", m->hidden, kv * head);
        project(m, "v_proj", m->hidden, kv * head);
        project(m, "o_proj", heads * head, m->hidden);
        return NULL;
    }
    if (nope <= 0 || rope <= 0 || value <= 0)
        return "head sizes of the latent attention";
    m->latent = latent + rope;
    project(m, "kv_a_proj_with_mqa", m->hidden, latent + rope);
    project(m, "kv_b_proj", latent, heads * (nope + value));
    project(m, "o_proj", heads * value, m->hidden);
    if (q > 0) {
        project(m, "q_a_proj", m->hidden, q);
        project(m, "q_b_proj", q, heads * (nope + rope));
    } else {
        project(m, "q_proj", m->hidden, heads * (nope + rope));
    }
    m->attention += latent + (q > 0 ? q : 0);
    return NULL;
}

/* "([0]*3+[1]*58)", one layer in one, or nothing: the layers before the first with experts; -1 =
 * another pattern. */
static double dense_before(const char *pattern, double layers)
{
    double zeros = 0, ones = 0;
    if (pattern == NULL || strcmp(pattern, "1") == 0)
        return 0;
    for (const char *p = pattern; *p != '\0';) {
        unsigned long n = 1;
        char *end;
        bool is_one;
        if (*p == '(' || *p == ')' || *p == '+' || *p == ' ' || *p == '"' || *p == '\'') {
            p++;
            continue;
        }
        if (p[0] != '[' || (p[1] != '0' && p[1] != '1') || p[2] != ']')
            return -1;
        is_one = p[1] == '1';
        p += 3;
        if (*p == '*') {
            n = strtoul(p + 1, &end, 10);
            if (end == p + 1 || n > 100000)
                return -1;
            p = end;
        }
        if (!is_one && ones > 0)
            return -1;
        *(is_one ? &ones : &zeros) += (double)n;
    }
    return zeros + ones >= layers && zeros + ones <= layers ? zeros : -1;
}

static const char *experts(struct mt_model *m, const struct mt_runconf *conf, double inner)
{
    double n = mt_run_number(conf, "num_experts"),
           width = mt_run_number(conf, "moe_intermediate_size"),
           gated = mt_run_number(conf, "gated_shared_width"),
           shared = gated > 0 ? gated : mt_run_number(conf, "shared_width"),
           more = mt_run_number(conf, "n_shared_experts"),
           step = mt_run_number(conf, "decoder_sparse_step");
    const char *only = mt_run_word(conf, "mlp_only_layers");
    m->first_dense = m->layers;
    if (n <= 0)
        return NULL;
    if (width <= 0)
        width = inner;
    if (shared <= 0)
        shared = more * width;
    m->first_dense = mt_run_number(conf, "first_k_dense_replace");
    if (m->first_dense <= 0)
        m->first_dense = dense_before(mt_run_word(conf, "moe_layer_freq"), m->layers);
    if (m->first_dense < 0 || m->first_dense > m->layers || step > 1 ||
        (only != NULL && strchr(only, ',') != NULL) || mt_run_number(conf, "moe_layer_freq") > 1)
        return "which layers have experts";
    m->shared = m->hidden * n + 3 * m->hidden * shared;
    if (gated > 0)
        m->shared += m->hidden; /* the gate of Qwen's shared expert */
    m->experts = n * 3 * m->hidden * width;
    m->n_experts = n;
    m->width = width;
    m->shared_width = shared;
    m->factors = 0; /* of fused experts it is not known */
    return NULL;
}

/* ---- adapters ---- */

static bool names(const char *list, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = list; (p = strstr(p, name)) != NULL; p++) {
        char before = p == list ? ' ' : p[-1], after = p[n];
        if (strchr(" ,[('\"", before) != NULL && strchr(" ,])'\"", after) != NULL)
            return true;
    }
    return false;
}

static const char *const every[] = {"all-linear", "all_linear", "all"};

static bool is_every(const char *targets)
{
    for (size_t i = 0; i < sizeof every / sizeof *every; i++)
        if (names(targets, every[i]))
            return true;
    return false;
}

/* PEFT's: one pair of matrices for each linear layer that is named. Experts count as linear layers
 * of their own; where they are one tensor (transformers from 5 on) they get none, so the sum is a
 * limit. */
static void peft_adapters(struct mt_model *m, const char *targets, double rank)
{
    static const char *const parts[] = {"gate_proj", "up_proj", "down_proj"};
    bool all = is_every(targets);
    for (size_t i = 0;
         i < sizeof m->projection / sizeof *m->projection && m->projection[i].name != NULL; i++)
        if (all || names(targets, m->projection[i].name))
            m->adapter.attention += rank * (m->projection[i].in + m->projection[i].out);
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (!all && !names(targets, parts[i]))
            continue;
        m->adapter.mlp += rank * (m->hidden + m->inner);
        m->adapter.moe += rank * m->n_experts * (m->hidden + m->width);
        m->adapter.moe += m->shared_width > 0 ? rank * (m->hidden + m->shared_width) : 0;
    }
    if (all &&
        m->n_experts >
            0) /* the router, and the gate of a shared expert, where they are linear layers */
        m->adapter.moe +=
            rank * (m->hidden + m->n_experts) + (m->shared_width > 0 ? rank * (m->hidden + 1) : 0);
}

/* Megatron-Bridge's (peft/lora.py): on the fused projections of Megatron-Core. */
static const char *bridge_adapters(struct mt_model *m, const struct mt_runconf *conf,
                                   const char *targets, double rank)
{
    const char *type = mt_run_word(conf, "core_lora_type");
    double q = m->projection[0].out, kv = m->projection[1].out;
    bool mlp = names(targets, "linear_fc1") || names(targets, "linear_fc2");
    if (type != NULL && strcmp(type, "lora") != 0)
        return "only adapters are trained, and those of this type are not computed";
    if (m->latent > 0 || (mlp && m->experts > 0))
        return "only adapters are trained (LoRA), and Megatron's of experts or of latent attention "
               "are not computed";
    if (names(targets, "linear_qkv"))
        m->adapter.attention += rank * (m->hidden + q + 2 * kv);
    if (names(targets, "linear_proj"))
        m->adapter.attention += rank * (q + m->hidden);
    if (names(targets, "linear_fc1"))
        m->adapter.mlp += rank * (m->hidden + 2 * m->inner);
    if (names(targets, "linear_fc2"))
        m->adapter.mlp += rank * (m->inner + m->hidden);
    return NULL;
}

static void adapters(struct mt_model *m, const struct mt_runconf *conf,
                     const struct mt_framework *row, bool megatron)
{
    double rank = megatron ? mt_run_number(conf, "core_lora_rank") : 0;
    const char *targets = mt_run_word(conf, megatron ? "core_lora_targets" : "lora_targets");
    if (rank <= 0)
        rank = mt_run_number(conf, "lora_rank");
    if (rank <= 0)
        rank = mt_run_number(conf, "adapter_rank");
    if (rank <= 0 && mt_run_word(conf, "peft_type") != NULL)
        rank = mt_run_number(conf, "peft_rank");
    m->lora = rank > 0 || mt_run_is_set(conf, "lora_rank");
    if (!m->lora)
        return;
    if (targets == NULL && (megatron ? row->lora_targets_core : row->lora_targets)[0] != '\0')
        targets = megatron ? row->lora_targets_core : row->lora_targets;
    m->no_adapters = "only adapters are trained (LoRA), and their size is not known";
    if (rank <= 0 || !m->known)
        return;
    m->no_adapters =
        "only adapters are trained (LoRA), and which layers have them is not among the settings";
    if (targets == NULL)
        return;
    m->no_adapters = NULL;
    if (megatron)
        m->no_adapters = bridge_adapters(m, conf, targets, rank);
    else
        peft_adapters(m, targets, rank);
    if (m->no_adapters == NULL && mt_model_layers(m, 0, m->layers).adapters <= 0)
        m->no_adapters =
            "only adapters are trained (LoRA), and the layers named for them are not known here";
}

/* ---- the model ---- */

void mt_model_make(struct mt_model *m, const struct mt_runconf *conf,
                   const struct mt_framework *row, bool megatron)
{
    double inner = mt_run_number(conf, "intermediate_size"), head = mt_run_number(conf, "head_dim"),
           heads = mt_run_number(conf, "heads"), kv = mt_run_number(conf, "kv_heads"), all;
    const char *type = mt_run_word(conf, "model_type"), *missing;
    struct mt_runconf_hit hit;
    bool flags = mt_run_is_set(conf, "swiglu"),
         tied = flags ? !mt_run_is_set(conf, "untied_head")
                      : mt_runconf_is_true(mt_run_word(conf, "tie_word_embeddings"));
    memset(m, 0, sizeof *m);
    if (conf != NULL && mt_runconf_find(conf, "layers", &hit) && hit.model != NULL)
        (void)snprintf(m->named, sizeof m->named, ", of %.64s as the model is called", hit.model);
    m->layers = mt_run_number(conf, "layers");
    m->hidden = mt_run_number(conf, "hidden");
    m->vocab = mt_run_number(conf, "vocab");
    if (kv <= 0 && flags)
        kv = heads;
    if (head <= 0 && heads > 0)
        head = m->hidden / heads;
    m->kv_width = kv * head;
    m->inner = inner;
    m->mtp = megatron ? mt_run_number(conf, "mtp_layers") : 0;
    missing = m->layers <= 0   ? "layers"
              : m->hidden <= 0 ? "hidden size"
              : heads <= 0     ? "attention heads"
                               : attention(m, conf, heads, kv, head);
    if (missing == NULL)
        missing = inner <= 0 ? "width of the MLP" : NULL;
    if (!flags && type != NULL && !is_usual(type))
        m->kv_width = m->latent = 0;
    if (missing == NULL) {
        m->mlp = matrix(m, m->hidden, inner, 3);
        m->embed = m->vocab * m->hidden;
        m->head = tied ? 0 : m->embed;
        m->factors +=
            m->layers * 2 * m->hidden + m->hidden + (tied ? 1 : 2) * (m->vocab + m->hidden);
        missing = experts(m, conf, inner);
    }
    if (missing == NULL && m->vocab <= 0) {
        m->but_vocab = flags || is_usual(type);
        missing = "vocabulary";
    }
    if (missing != NULL)
        (void)snprintf(m->missing, sizeof m->missing,
                       "the model's shape (%s) is not among the settings; its config.json, given "
                       "with --config, says it",
                       missing);
    else if (!flags && !is_usual(type))
        (void)snprintf(m->missing, sizeof m->missing,
                       "how the layers of this model type are built is not known");
    all = m->embed + m->head + m->layers * (m->attention + m->mlp + m->shared + m->experts);
    if (m->missing[0] == '\0' && !(all < 1e14)) /* no model: a setting that is no shape */
        (void)snprintf(m->missing, sizeof m->missing,
                       "the model's shape among the settings makes no model");
    m->known = m->missing[0] == '\0';
    adapters(m, conf, row, megatron);
}

struct mt_model_part mt_model_layers(const struct mt_model *m, double from, double to)
{
    double dense = to < m->first_dense     ? to - from
                   : from < m->first_dense ? m->first_dense - from
                                           : 0,
           rest = to - from - dense;
    return (struct mt_model_part){(to - from) * m->attention + dense * m->mlp + rest * m->shared,
                                  rest * m->experts, (to - from) * 2 * m->hidden,
                                  (to - from) * m->adapter.attention + dense * m->adapter.mlp +
                                      rest * m->adapter.moe};
}

/* Each is a projection of hidden state and embedding, three norms, and one more layer like the
 * last. */
struct mt_model_part mt_model_mtp(const struct mt_model *m)
{
    struct mt_model_part p = mt_model_layers(m, m->layers - 1, m->layers);
    return (struct mt_model_part){m->mtp * (p.dense + 2 * m->hidden * m->hidden + 3 * m->hidden),
                                  m->mtp * p.experts, m->mtp * (p.vectors + 3 * m->hidden),
                                  m->mtp * p.adapters};
}

bool mt_model_stage(const struct mt_model *m, const struct mt_runconf *conf, double stages,
                    double stage, double *from, double *to, const char **why)
{
    double first = mt_run_number(conf, "first_stage_layers"),
           last = mt_run_number(conf, "last_stage_layers"),
           middle = stages - (first > 0) - (last > 0),
           each = middle > 0 ? (m->layers - first - last) / middle : 0;
    *why = "how the layers are divided over the pipeline stages is not computed for these settings";
    if (mt_run_is_set(conf, "stage_layout") || mt_run_is_set(conf, "embedding_as_layer") ||
        mt_run_is_set(conf, "loss_as_layer") || stage < 0 || stage >= stages || each * middle < 0 ||
        (middle > 0 && (each < 1 || each > (double)(uint64_t)each)))
        return false;
    if (middle <= 0 && (first + last > m->layers || first + last < m->layers))
        return false;
    *from = stage > 0 ? (first > 0 ? first + (stage - 1) * each : stage * each) : 0;
    *to = stage < 1 && first > 0 ? first : stage + 1 >= stages ? m->layers : *from + each;
    return true;
}
