/* log/model.c -- what the run's settings say that its model takes of a card, where no recording
 * shows it. */
#include "analysis/log/diagnose.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/keys.h"
#include "analysis/setup/layout.h"

#include <stdio.h>
#include <string.h>

static bool is_word(char c)
{
    return mt_log_is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* A folder that a trainer made, "checkpoint-1281", "v0-20250103-101112": the model's is above it.
 */
static bool is_of_run(const char *folder)
{
    return strncmp(folder, "checkpoint", 10) == 0 || strncmp(folder, "global_step", 11) == 0 ||
           (folder[0] == 'v' && mt_log_is_digit(folder[1]) && strchr(folder, '-') != NULL);
}

/* Where the part of a path begins that is the model's own. */
static const char *own_folder(const char *path, size_t *n)
{
    size_t end = strlen(path);
    for (;;) {
        size_t from;
        while (end > 0 && path[end - 1] == '/')
            end--;
        for (from = end; from > 0 && path[from - 1] != '/';)
            from--;
        *n = end - from;
        if (from == 0 || !is_of_run(path + from))
            return path + from;
        end = from;
    }
}

/* "13" of "/models/my-13b-chat", "3" of "$llama3b_path": the size that a name has in it. 0 = none,
 * or one of "8x7B". */
static double billions(const char *path)
{
    size_t length;
    const char *name = own_folder(path, &length);
    for (const char *p = name; p < name + length; p++) {
        double n;
        const char *first = p;
        if (!mt_log_is_digit(*p))
            continue;
        n = mt_logdiag_number_at(p, &p);
        if ((*p == 'b' || *p == 'B') && !is_word(p[1]) && n >= 0.1 && n < 2000)
            return first > name && first[-1] == 'x' ? 0 : n;
        p--;
    }
    return 0;
}

/* Names round: nine tenths are there for certain. */
static double by_size(const struct mt_runconf *conf)
{
    struct mt_runconf_hit hit;
    if (!mt_runconf_find(conf, "model_path", &hit) || hit.entry == NULL || hit.entry->value == NULL)
        return 0;
    return billions(hit.entry->value) * 0.9e9;
}

/* FSDP is what such a framework runs on unless its settings name another backend. */
static bool is_fsdp_by_default(const struct mt_frameworks *fw, const struct mt_runconf *conf)
{
    uint64_t named = mt_run_names(conf);
    for (int f = 1; f < mt_framework_count(fw->rules); f++)
        if ((named >> f & 1) != 0 && strcmp(mt_framework_at(fw->rules, f)->one_of, "backend") == 0)
            return (mt_framework_at(fw->rules, f)->parts & MT_PART_FSDP2) != 0;
    return (mt_framework_at(fw->rules, fw->main)->traits & MT_FWT_FSDP_ALONE) != 0 &&
           (fw->parts & MT_PART_CORE) == 0;
}

/* ---- what each card has of the model that is trained ---- */

static bool has_part(const char *text, const char *const *parts)
{
    for (; *parts != NULL; parts++)
        if (strstr(text, *parts) != NULL)
            return true;
    return false;
}

/* Words of keys, of the model's name and of the script's that speak of adapters, of frozen, smaller
 * or divided weights, or of an optimizer with less state: less than the whole model in Adam's way
 * may be trained. What such a key is called, each script decides, so any of them is enough. */
static bool may_train_less(const struct mt_runconf *conf)
{
    static const char *const keys[] = {"lora",    "peft",       "adapter", "quant",  "bit",
                                       "freez",   "frozen",     "tune",    "tuning", "prefix",
                                       "pre_seq", "galore",     "badam",   "apollo", "lomo",
                                       "only",    "device_map", NULL};
    static const char *const names[] = {"4bit", "8bit", "int4", "int8", "gptq", "awq",
                                        "bnb",  "fp8",  "lora", "gguf", NULL};
    struct mt_runconf_hit all = {.entry = NULL};
    if (mt_runconf_find(conf, "finetuning", &all) && all.value != NULL &&
        strcmp(all.value, "full") != 0)
        return true;
    for (uint32_t i = 0; i < conf->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &conf->conf.entries.p[i];
        char value[256];
        if (e->value == NULL &&
            (e == all.entry || (strcmp(e->key, "finetune") != 0 &&
                                strncmp(e->key, "save_", 5) != 0 && has_part(e->key, keys))))
            return true; /* what it is set to is not known */
        if (e->value == NULL || strncmp(e->key, "save_", 5) == 0) /* of a checkpoint's parts */
            continue;
        if (e != all.entry && has_part(e->key, keys) && strcmp(e->key, "finetune") != 0 &&
            !mt_runconf_is_false(e->value))
            return true;
        (void)snprintf(value, sizeof value, "%s", e->value);
        for (char *p = value; *p != '\0'; p++)
            *p = (char)(*p >= 'A' && *p <= 'Z' ? *p | 32 : *p);
        if (has_part(value, names))
            return true;
    }
    for (uint32_t i = 0; i < conf->conf.started.n; i++)
        if (has_part(conf->conf.started.p[i], names))
            return true;
    return false;
}

/* "--lora_rank 256", "r: 128": adapters alone may be as many as a vocabulary's matrices. */
static bool has_high_rank(const struct mt_runconf *conf)
{
    const char *end;
    for (uint32_t i = 0; i < conf->conf.entries.n; i++) {
        const struct mt_conf_entry *e = &conf->conf.entries.p[i];
        const char *key = e->key + strspn(e->key, "-");
        bool is_rank = strcmp(key, "r") == 0 || strstr(key, "lora_r") != NULL ||
                       strstr(key, "lora-r") != NULL || strstr(key, "lora.r") != NULL;
        if (is_rank && e->value != NULL && mt_logdiag_number_at(e->value, &end) > 64)
            return true;
    }
    return false;
}

static bool trains(const struct mt_runconf *conf)
{
    struct mt_runconf_hit hit;
    return mt_run_is_set(conf, "do_train") || mt_runconf_find(conf, "train_rate", &hit) ||
           mt_runconf_find(conf, "train_length", &hit);
}

/* Under ZeRO: 16-bit parameters and gradients; 32-bit parameters and two moments, 12 bytes of each
 * (deepspeed/runtime/zero). What a part divides by is left out where it is not known. */
static double of_zero(const struct mt_run_shape *s, double params, double n)
{
    double part = n >= 1 ? 1 / n : 0, all = 2 * (s->zero < 3 ? 1 : part);
    if (s->kept >= 1)
        all += 2 * (s->zero < 2 ? 1 : part) + 12 * (s->zero < 1 ? 1 : part);
    return params * all;
}

/* At least: parameters and gradients in the type of the parameters, and the two moments of Adam,
 * which trains where the settings name no other. allocated: what PyTorch held at the failure, or
 * MT_LOG_NONE; ran: a pass of a training is under way. 0 = nothing can be said. */
static double states(const struct mt_run_shape *s, const struct mt_runconf *conf, double params,
                     uint64_t allocated, bool ran)
{
    bool is_named = mt_run_word(conf, "optimizer") != NULL;
    double moments = s->optim.why == NULL ? s->optim.tensors : 2, all;
    if (s->lora || s->params_on_host || (s->optim.why != NULL && is_named))
        return 0;
    if (s->layout == MT_LAYOUT_SAME && s->sharded)
        return s->shards >= 1 && s->elem > 0 ? params * s->elem * (2 + moments) / s->shards : 0;
    if (s->layout != MT_LAYOUT_ZERO || may_train_less(conf) || !trains(conf) || moments < 2)
        return 0;
    /* fewer bytes are allocated than the whole model has in 16 bits: it is not here as it is named
     */
    if (s->zero < 3 && allocated != MT_LOG_NONE && (double)allocated < 1.9 * params)
        return 0;
    all = of_zero(s, params, s->shards >= 1 ? s->shards : mt_run_ranks(conf));
    /* it trains with less than that: something in the script is otherwise than its settings say */
    return ran && allocated != MT_LOG_NONE && all > (double)allocated ? 0 : all;
}

/* What is known of a training's size, by settings or else by words. */
static void estimate(struct mt_logdiag *d, const struct mt_logdiag_sizes *told,
                     const struct mt_run_shape *s, const struct mt_runconf *conf)
{
    bool none = conf == NULL || conf->conf.entries.n == 0;
    if (!told->trains && !mt_phase_is(d->phase, MT_TRAINS) && (none || !trains(conf)))
        return;
    if (!d->model.budget.part && (none || !may_train_less(conf))) /* of those mostly an adapter */
        mt_logdiag_estimate(d, told, s, conf, d->model.budget.params, mt_run_ranks(conf));
    if (!none)
        mt_logdiag_estimate_logits(d, s, conf);
}

bool mt_logdiag_model(struct mt_logdiag *d, const struct mt_log *log,
                      const struct mt_logdiag_sizes *told, const struct mt_frameworks *fw,
                      const struct mt_log_place *place, const struct mt_runconf *conf)
{
    struct mt_run_shape s;
    struct mt_frameworks own = *fw;
    struct mt_trace *none = NULL;
    bool is_set = conf != NULL && conf->conf.entries.n != 0,
         spoken = conf != NULL && conf->spoken != 0;
    double params = 0;
    if (!is_set && log->prose.n == 0)
        return true;
    if (place == NULL && (none = mt_trace_new()) == NULL)
        return false;
    if (is_set && is_fsdp_by_default(fw, conf))
        own.parts |= MT_PART_FSDP2;
    if (mt_run_number(conf, "zero_config_stage") > 0 || mt_run_number(conf, "zero_stage") > 0)
        own.parts |= MT_PART_ZERO;
    mt_run_shape_make(&s, place != NULL ? place->trace : none, &own, conf);
    if (is_set && !(spoken && told->smaller)) /* of how many bits each is, only the text tells */
        params = s.params > 0 ? s.params : by_size(conf);
    d->model.by_words = spoken;
    d->model.by_name = !(s.params > 0);
    d->model.params = params;
    d->model.is_set = is_set;
    if (is_set)
        d->model.states = states(&s, conf, params, d->allocated, mt_phase_is(d->phase, MT_TRAINS));
    mt_logdiag_size(d, told, &s, is_set ? by_size(conf) / 0.9 : 0);
    if (is_set && has_high_rank(conf))
        d->model.budget.share = 0;
    estimate(d, told, &s, conf);
    if (!is_set || !may_train_less(conf) || s.lora || told->adapters || d->model.budget.part)
        mt_logdiag_served(d, told, &s, conf, mt_framework_at(fw->rules, fw->main)->kind);
    if (mt_framework_at(fw->rules, fw->main)->kind == MT_FWK_TUNER)
        d->model.estimate.alone = 0; /* most of them train adapters where nothing says otherwise */
    mt_logdiag_budget(d, told, &s, conf);
    mt_trace_free(none);
    return true;
}

void mt_logdiag_model_by_words(struct mt_logdiag *d, struct mt_metrics *m,
                               const struct mt_logdiag_sizes *told, const struct mt_framework *main,
                               const struct mt_runconf *conf)
{
    if (main->kind != MT_FWK_ENGINE || conf == NULL || !conf->by_words || d->model.params > 0 ||
        d->model.is_set || told->billions <= 0 || told->less || told->trains || told->gpus > 1 ||
        mt_metric_above_0(m, "told_smaller") > 0)
        return;
    d->model.params = told->billions * 1e9;
    d->model.by_words = true;
}
