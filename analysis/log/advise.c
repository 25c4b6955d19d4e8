/* log/advise.c -- advice on what a log says, without the numbers of a trace: conditions that need
 * those are passed over. */
#include "analysis/advice/advice.h"
#include "analysis/log/diagnose.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/layout.h"
#include "analysis/setup/settings.h"
#include "parser/base/text.h"

#include <stdio.h>
#include <string.h>

/* Paths and words in the lines tell the machine. */
static bool on_arm(const struct mt_logs *logs)
{
    uint64_t arm = 0, x86 = 0;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        arm += log->n_arm;
        x86 += log->n_x86;
        for (uint32_t k = 0; k < log->paths.n; k++) {
            if (mt_metric_arm_path(log->paths.p[k].path))
                return true;
        }
    }
    return arm > x86; /* a list of wheels names both */
}

static bool names_file(const struct mt_log *log, const char *word)
{
    for (uint32_t k = 0; k < log->paths.n; k++)
        if (strstr(log->paths.p[k].path, word) != NULL)
            return true;
    return false;
}

/* The trainer's backend, where no frame tells it: the names of its files, where only one backend is
 * named: "verl/workers/fsdp_workers.py". */
static void of_paths(struct mt_frameworks *fw, const struct mt_logs *logs)
{
    uint64_t named = 0;
    for (int f = 1; f < mt_framework_count(fw->rules); f++) {
        const char *word = mt_framework_at(fw->rules, f)->in_log_files;
        for (uint32_t i = 0; word[0] != '\0' && i < logs->files.n; i++)
            if (names_file(&logs->files.p[i].log, word))
                named |= MT_FW_BIT(f);
    }
    for (const uint64_t *family = mt_framework_families(fw->rules); *family != 0; family++)
        if ((mt_frameworks_seen(fw) & *family) != 0)
            named &= ~*family;
    for (int f = 1; named != 0 && (named & (named - 1)) == 0 && f < mt_framework_count(fw->rules);
         f++)
        if ((named & ~fw->seen) >> f & 1) {
            fw->seen |= named;
            fw->parts |= mt_framework_at(fw->rules, f)->parts;
        }
}

/* The engine that such a line comes from, by its kind or by the process that wrote it. */
static mt_fw engine_of(const struct mt_framework_rules *r, const struct mt_log_fact *f)
{
    mt_fw fw = mt_framework_of_log_line(r, mt_log_kind_name(f->kind));
    if (fw == MT_FW_NONE)
        fw = mt_framework_of_process(r, f->who);
    return fw != MT_FW_NONE && mt_framework_at(r, fw)->kind == MT_FWK_ENGINE ? fw : MT_FW_NONE;
}

/* The engine of the job: the failed line's, else its traceback's, else the one that other lines
 * come from, where it is one. */
static mt_fw job_engine(const struct mt_framework_rules *r, const struct mt_logs *logs,
                        const struct mt_log_fact *f, const struct mt_log_place *place)
{
    mt_fw one = engine_of(r, f);
    if (one == MT_FW_NONE && place != NULL) /* one that calls another's helpers, not that one */
        one = mt_framework_top(r, place->fw.frames, mt_framework_kind(r, MT_FWK_ENGINE));
    for (uint32_t i = 0; one == MT_FW_NONE && i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            mt_fw e = engine_of(r, &log->facts.p[k]);
            if (e != MT_FW_NONE && one != MT_FW_NONE && e != one)
                return MT_FW_NONE;
            one = e != MT_FW_NONE ? e : one;
        }
    }
    return one;
}

/* The failure is in the engine's own code: the innermost file of a known program is the engine's,
 * not a trainer's that calls it. */
static bool is_engines(const struct mt_framework_rules *r, const struct mt_log_fact *f,
                       const struct mt_log_place *place)
{
    if (engine_of(r, f) != MT_FW_NONE)
        return true;
    for (uint32_t i = place != NULL ? place->stack->frames.n : 0; i-- > 0;) {
        const char *file = place->stack->frames.p[i].file;
        mt_fw fw = mt_framework_of_path(r, file, strlen(file));
        if (fw != MT_FW_NONE)
            return mt_framework_at(r, fw)->kind == MT_FWK_ENGINE;
    }
    return false;
}

/* Others have the card, or words say what ran; nothing in the log does, and it is an engine alone.
 * Or a command serves by it, and the traceback is PyTorch's inner end of one. */
static bool engine_alone(const struct mt_framework_rules *r, const struct mt_logdiag *d,
                         const struct mt_log_fact *f, const struct mt_log_place *place,
                         int framework, const struct mt_runconf *conf)
{
    bool served = conf != NULL && mt_runconf_serves(conf);
    if (f->kind != MT_LOG_TORCH_OOM || framework <= MT_FW_NONE ||
        mt_framework_at(r, framework)->kind != MT_FWK_ENGINE)
        return false;
    if (served && place != NULL)
        return mt_frameworks_seen(&place->fw) == 0 && !mt_phase_is(d->phase, MT_TRAINS);
    return (d->cause == MT_CAUSE_FOREIGN || served || (conf != NULL && conf->by_words)) &&
           place == NULL && d->phase == MT_PH_UNATTRIBUTED;
}

/* A program that does little else than to train. */
static bool trains(const struct mt_framework_rules *r, mt_fw fw)
{
    enum mt_fw_kind kind = mt_framework_at(r, fw)->kind;
    return fw != MT_FW_NONE && (kind == MT_FWK_TUNER || kind == MT_FWK_TRAINER);
}

static void say(struct mt_metrics *m, enum mt_metric which, double v)
{
    mt_metrics_set(m, which, v, MT_CONF_MARKED);
}

/* Whether settings name that row: "named.ID" among the numbers. */
static bool is_named(struct mt_metrics *m, const char *id)
{
    char name[64];
    int n = snprintf(name, sizeof name, "named.%s", id);
    return n > 0 && (size_t)n < sizeof name && mt_metric_get(m, name, (size_t)n).v > 0;
}

/* "uses_ID" of a row, or "uses_ID2" of one of its versions: which of them is there is not known. */
static void say_uses(struct mt_metrics *m, const char *id, bool is_in)
{
    static const char uses[] = "uses_";
    size_t n = strlen(id);
    for (int i = 0; i < MT_METRIC_COUNT; i++) {
        const char *name = mt_metric_name((enum mt_metric)i);
        if (strncmp(name, uses, sizeof uses - 1) == 0 &&
            strncmp(name + sizeof uses - 1, id, n) == 0 &&
            (!is_in || name[sizeof uses - 1 + n] == '\0'))
            say(m, (enum mt_metric)i, is_in);
    }
}

/* The one of a family that a text speaks of, where it speaks of no other. */
static uint64_t only_said(const struct mt_framework_rules *r, uint64_t family,
                          const struct mt_runconf *conf)
{
    uint64_t said = 0;
    for (int f = 1; conf != NULL && conf->says != NULL && f < mt_framework_count(r); f++)
        if ((family >> f & 1) != 0 && conf->says(conf->says_of, mt_framework_at(r, f)->id))
            said |= MT_FW_BIT(f);
    return (said & (said - 1)) == 0 ? said : 0;
}

/* Backend and engine, where settings or else the traceback tell one of a family: the others of it
 * are not there then. Nor is what drives a program that the traceback shows: it would stand above
 * that one. */
static void of_families(struct mt_metrics *m, const struct mt_frameworks *fw,
                        const struct mt_runconf *conf)
{
    uint64_t seen = mt_frameworks_seen(fw), told = 0;
    for (int f = 1; f < mt_framework_count(fw->rules); f++)
        if (is_named(m, mt_framework_at(fw->rules, f)->id))
            told |= MT_FW_BIT(f);
    if ((fw->parts & MT_PART_ZERO) != 0) { /* ZeRO shards: nothing else does */
        say(m, MT_METRIC_uses_fsdp1, 0);
        say(m, MT_METRIC_uses_fsdp2, 0);
    }
    for (const uint64_t *family = mt_framework_families(fw->rules); *family != 0; family++) {
        uint64_t in = (told & *family) != 0 ? told & *family : seen & *family;
        if (in == 0)
            in = only_said(fw->rules, *family, conf);
        for (int f = 1; f < mt_framework_count(fw->rules); f++) {
            const struct mt_framework *row = mt_framework_at(fw->rules, f);
            if ((*family >> f & 1) != 0 && (in != 0 || (row->drives & seen) != 0))
                say_uses(m, row->id, (in >> f & 1) != 0);
        }
    }
}

/* An engine refuses its longest sequence, and says how long one may be. */
static void of_sequence(struct mt_metrics *m, const struct mt_log_fact *f)
{
    const uint64_t *v = f->value;
    if (f->kind != MT_LOG_VLLM_NO_KV)
        return;
    if (v[3] != MT_LOG_NONE && v[3] > 0)
        say(m, MT_METRIC_kv_tokens, (double)v[3]);
    if (v[2] != MT_LOG_NONE)
        say(m, MT_METRIC_kv_longest, (double)v[2]);
    if (v[0] != MT_LOG_NONE && v[1] != MT_LOG_NONE && v[0] > v[1])
        say(m, MT_METRIC_kv_lack, (double)(v[0] - v[1]));
}

/* What the line says of an engine's share. */
static void of_share(struct mt_metrics *m, const struct mt_logdiag *d, const struct mt_log_fact *f)
{
    uint64_t foreign = 0, torch = mt_logdiag_torch(d);
    /* cudaMallocAsync says no more than what is allocated: it counts where others are the cause */
    if (!d->by_words && d->capacity != MT_LOG_NONE && d->free != MT_LOG_NONE &&
        torch != MT_LOG_NONE && (d->reserved != MT_LOG_NONE || d->cause == MT_CAUSE_FOREIGN) &&
        d->capacity > d->free + torch)
        foreign = d->capacity - d->free - torch;
    else if (torch == MT_LOG_NONE && d->others_named && d->others != MT_LOG_NONE)
        foreign = d->others;
    if (f->kind == MT_LOG_VLLM_NO_KV || f->kind == MT_LOG_VLLM_KV ||
        f->kind == MT_LOG_VLLM_PROFILE || f->kind == MT_LOG_SGLANG_NO_KV ||
        f->kind == MT_LOG_SGLANG_KV_FULL)
        say(m, MT_METRIC_kv_refused, 1);
    say(m, MT_METRIC_kv_nothing, mt_logdiag_kv_nothing(d, f));
    if (f->kind == MT_LOG_VLLM_STARTUP && f->value[0] != MT_LOG_NONE && f->value[0] != 0 &&
        f->value[1] != MT_LOG_NONE && f->value[1] != 0) {
        say(m, MT_METRIC_startup_free, (double)f->value[0] / (double)f->value[1]);
        /* nothing of it is the engine's */
        foreign = f->value[1] - (f->value[0] < f->value[1] ? f->value[0] : f->value[1]);
    }
    if (f->kind == MT_LOG_VLLM_MEASURE)
        say(m, MT_METRIC_startup_free, 1); /* it was not refused for its share */
    if (foreign != 0)
        say(m, MT_METRIC_foreign, (double)foreign);
    if (torch != MT_LOG_NONE)
        say(m, MT_METRIC_torch_held, (double)torch);
}

/* Below the data loader of PyTorch. */
static bool in_loader(const struct mt_log_fact *f, const struct mt_log_place *place)
{
    for (uint32_t i = 0; place != NULL && i < place->stack->frames.n; i++)
        if (strstr(place->stack->frames.p[i].file, "torch/utils/data/") != NULL)
            return true;
    return f->kind == MT_LOG_KILLED && strcmp(f->text, "loader") == 0;
}

/* A word of a name's kind, alone or as a part: "q", "xq", "q_heads", "query_states". */
static bool is_called(const char *p, size_t n, char letter, const char *word)
{
    char low = (char)(p[0] | 32);
    return (n == 1 && low == letter) || (n > 2 && low == letter && p[1] == '_') ||
           (n > 2 && (p[n - 1] | 32) == letter && p[n - 2] == '_') ||
           (n == 2 && (p[1] | 32) == letter && low == 'x') ||
           (n >= strlen(word) && strncmp(p, word, strlen(word)) == 0);
}

/* The line of code multiplies queries with keys: scores that are written out. */
static bool makes_scores(const char *code)
{
    static const char *const products[] = {"matmul(", "bmm(", "einsum(", " @ "};
    bool product = false, query = false, key = false;
    for (size_t i = 0; i < sizeof products / sizeof *products; i++)
        product |= strstr(code, products[i]) != NULL;
    for (const char *p = code; product && *p != '\0';) {
        size_t n = strspn(p, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789");
        query |= n != 0 && is_called(p, n, 'q', "query");
        key |= n != 0 && is_called(p, n, 'k', "key");
        p += n != 0 ? n : 1;
    }
    return query && key;
}

/* An attention asked, as the innermost frames call themselves, or as their line of code does. */
static bool in_attention(const struct mt_log_place *place)
{
    uint32_t n = place != NULL ? place->stack->frames.n : 0;
    for (uint32_t i = n > 4 ? n - 4 : 0; i < n; i++)
        if (strstr(place->stack->frames.p[i].function, "attention") != NULL ||
            strstr(place->stack->frames.p[i].file, "attention") != NULL)
            return true;
    return place != NULL &&
           (makes_scores(place->stack->code) || strstr(place->stack->code, "attention") != NULL ||
            strstr(place->stack->code, "attn = ") != NULL);
}

/* The innermost line of code joins a list that something filled before: torch.cat(outs). Not inside
 * a model's forward, where such lists are of one pass. */
static bool in_collect(const struct mt_log_place *place)
{
    static const char *const joins[] = {"torch.cat(", "torch.stack(", "torch.concat(",
                                        "torch.vstack("};
    uint32_t n = place != NULL ? place->stack->frames.n : 0;
    const char *function = n != 0 ? place->stack->frames.p[n - 1].function : "";
    if (n == 0 || strstr(function, "forward") != NULL ||
        mt_file_is_packaged(place->stack->frames.p[n - 1].file))
        return false;
    for (size_t i = 0; i < sizeof joins / sizeof *joins; i++) {
        const char *p = strstr(place->stack->code, joins[i]), *e;
        if (p == NULL)
            continue;
        p += strlen(joins[i]);
        for (e = p; (*e >= 'a' && *e <= 'z') || (*e >= 'A' && *e <= 'Z') || *e == '_' ||
                    (*e >= '0' && *e <= '9') || *e == '.';)
            e++;
        if (e > p && (*e == ')' || *e == ','))
            return true;
    }
    return false;
}

/* Which memory of the host it is. */
static void of_host(struct mt_metrics *m, const struct mt_logdiag *d, const struct mt_logs *logs,
                    const struct mt_log_fact *f, const struct mt_log_place *place)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    static const enum mt_metric of_hint[MT_LH_COUNT] = {
        [MT_LH_LOAD] = MT_METRIC_host_loads,  [MT_LH_RESUME] = MT_METRIC_host_resumes,
        [MT_LH_DATA] = MT_METRIC_host_data,   [MT_LH_OFFLOAD] = MT_METRIC_host_optimizer,
        [MT_LH_SPILL] = MT_METRIC_host_store, [MT_LH_IMAGES] = MT_METRIC_host_images};
    bool fails = f->kind == MT_LOG_HOST_OOM;
    say(m, MT_METRIC_host_shared, fails && f->text[0] == 's');
    say(m, MT_METRIC_host_pinned, fails && f->text[0] == 'p');
    say(m, MT_METRIC_host_refused, fails && f->text[0] == '\0' && f->value[0] != MT_LOG_NONE);
    if (fails && f->text[0] == '\0' && f->value[0] != MT_LOG_NONE)
        say(m, MT_METRIC_host_request, (double)f->value[0]);
    if (f->kind == MT_LOG_RAY_KILL && f->value[2] != MT_LOG_NONE && f->value[0] != MT_LOG_NONE &&
        f->value[2] < f->value[0] && !mt_logs_have(logs, MT_LOG_HOST_PROC))
        say(m, MT_METRIC_killed_part, (double)f->value[2] / (double)f->value[0]);
    say(m, MT_METRIC_host_trainer,
        strcmp(f->text, "Ray") == 0 || log->n_launcher != 0 ||
            mt_logs_have(logs, MT_LOG_HOST_USAGE));
    say(m, MT_METRIC_in_loader, in_loader(f, place));
    for (int h = 0; h < MT_LH_COUNT; h++)
        say(m, of_hint[h], mt_logdiag_hint(d, log, (enum mt_log_hint)h) != 0);
}

static uint64_t apart(uint64_t a, uint64_t b) { return a > b ? a - b : b - a; }

/* torch_memory_saver's margin: refused what would have fitted. */
static int refused(const struct mt_logdiag *d, const struct mt_logs *logs)
{
    int most = 0;
    for (uint32_t i = 0; i < logs->files.n; i++) {
        const struct mt_log *log = &logs->files.p[i].log;
        for (uint32_t k = 0; k < log->facts.n; k++) {
            const struct mt_log_fact *f = &log->facts.p[k];
            bool is_it = d->request != MT_LOG_NONE && f->value[1] != MT_LOG_NONE &&
                         apart(d->request, f->value[1]) <= MT_LOG_ROUNDED;
            if (f->kind == MT_LOG_RETRIED && f->value[4] != MT_LOG_NONE &&
                f->value[1] <= f->value[2] && most < 1 + is_it)
                most = 1 + is_it;
        }
    }
    return most;
}

static bool is_of(const struct mt_log_fact *f, const char *whose)
{
    return f->kind == MT_LOG_CUDA_OOM && strcmp(f->text, whose) == 0;
}

/* What the settings say that the model takes, whatever it is doing. */
static bool is_told(struct mt_metrics *m, const char *name)
{
    return mt_metric_above_0(m, name) > 0;
}

/* A size that the settings tell, where it is more than that part of the card; else 0. Of a card
 * whose size is not known nothing is more than a part. */
static double more_than(struct mt_metrics *m, const struct mt_logdiag *d, const char *name,
                        double part)
{
    struct mt_value v = mt_metric_get(m, name, strlen(name));
    double card = d->model.estimate.card;
    return v.known && (part <= 0 || (card > 0 && v.v > part * card)) ? v.v : 0;
}

/* The failed process is an engine alone, and PyTorch holds more than the engine's share: what it
 * makes of the cache, it makes of what the weights leave of the share. By a quarter more, since
 * passes may go beyond it; at all, where the text says that it failed as it was started. */
static bool is_over_share(const struct mt_framework_rules *r, const struct mt_frameworks *fw,
                          struct mt_metrics *m, const struct mt_logdiag *d,
                          const struct mt_log_fact *f)
{
    static const char name[] = "setting.gpu_memory_utilization";
    struct mt_value share = mt_metric_get(m, name, sizeof name - 1);
    uint64_t torch = mt_logdiag_torch(d);
    return f->kind == MT_LOG_TORCH_OOM && d->phase == MT_PH_UNATTRIBUTED && share.known &&
           share.v > 0 && share.v < 1 && torch != MT_LOG_NONE && d->capacity != MT_LOG_NONE &&
           mt_framework_at(r, fw->main)->kind == MT_FWK_ENGINE &&
           (double)torch > (is_told(m, "told_start") ? 1.0 : 1.25) * share.v * (double)d->capacity;
}

/* What PyTorch had reserved and did not use is the margin of any full card. */
static bool are_few(const struct mt_logdiag *d)
{
    uint64_t held = mt_logdiag_torch(d);
    return d->cause != MT_CAUSE_FRAGMENTATION && held != MT_LOG_NONE &&
           d->unallocated != MT_LOG_NONE && mt_logdiag_cached(d) < held / 10;
}

static void fill(struct mt_metrics *m, const struct mt_logdiag *d, const struct mt_logs *logs,
                 const struct mt_log_fact *f, const struct mt_log_place *place,
                 const struct mt_logdiag_sizes *told, const struct mt_runconf *conf)
{
    const struct mt_log *log = &logs->files.p[d->file].log;
    char platform = f->platform == 0 && mt_logdiag_on_windows(log) ? 'W' : f->platform;
    bool asked = d->request != MT_LOG_NONE;
    char thing[MT_LOG_CONTRAST];
    say(m, MT_METRIC_arm, on_arm(logs));
    say(m, MT_METRIC_windows, platform == 'W');
    say(m, MT_METRIC_system_untold, log->n_windows + log->n_unix == 0 && platform == 0);
    say(m, MT_METRIC_npu, platform == 'N');
    say(m, MT_METRIC_hip, platform == 'H');
    say(m, MT_METRIC_xpu, platform == 'X');
    say(m, MT_METRIC_oom,
        f->kind == MT_LOG_TORCH_OOM || f->kind == MT_LOG_CUT ||
            (f->kind >= MT_LOG_NCCL_OOM && f->kind <= MT_LOG_CUBLAS_OOM));
    say(m, MT_METRIC_torch_refused, f->kind == MT_LOG_TORCH_OOM || f->kind == MT_LOG_CUT);
    say(m, MT_METRIC_growth, 0); /* a log shows one moment */
    say(m, MT_METRIC_last_result, 0);
    if (mt_logs_have(logs, MT_LOG_CUMEM_OOM) || mt_logs_have(logs, MT_LOG_SAVER_OOM) ||
        mt_logs_have(logs, MT_LOG_SLEEP) || mt_logdiag_unmapped(d) || d->is_asleep)
        say(m, MT_METRIC_sleeps, 1);
    if (asked && d->request != MT_LOG_EXA)
        say(m, MT_METRIC_request, (double)d->request);
    if (d->model.estimate.card > 0)
        say(m, MT_METRIC_capacity, d->model.estimate.card);
    say(m, MT_METRIC_beyond_card, asked && d->capacity != MT_LOG_NONE && d->request > d->capacity);
    /* no packing of what PyTorch had reserved would have made room */
    if (asked && d->free != MT_LOG_NONE && d->unallocated != MT_LOG_NONE &&
        d->free + mt_logdiag_cached(d) < d->request) {
        say(m, MT_METRIC_too_little, 1);
        say(m, MT_METRIC_fragmented, 0);
    }
    if (f->rank > 0) /* the first may be alone */
        say(m, MT_METRIC_several_gpus, 1);
    if (in_attention(place))
        say(m, MT_METRIC_in_attention, 1);
    if (place != NULL && mt_logdiag_steps_itself(d, place->stack))
        say(m, MT_METRIC_steps_itself, 1);
    say(m, MT_METRIC_outside_pass, place != NULL && mt_logdiag_outside(d, place->stack));
    say(m, MT_METRIC_kv_short, d->kv_short != MT_LOG_NONE ? (double)d->kv_short : 0);
    say(m, MT_METRIC_host_killed,
        f->kind == MT_LOG_KILLED || (f->kind == MT_LOG_KERNEL_KILL && f->value[0] == MT_LOG_NONE));
    say(m, MT_METRIC_in_collect, in_collect(place));
    say(m, MT_METRIC_in_float, d->in_float);
    if (mt_logdiag_own_outside(d) >= MT_LOG_MUCH_OUTSIDE)
        say(m, MT_METRIC_own_outside, (double)mt_logdiag_own_outside(d));
    say(m, MT_METRIC_untold_outside, d->is_untold);
    say(m, MT_METRIC_ranks_here, d->are_ranks ? d->n_alike : 0);
    say(m, MT_METRIC_jax, is_of(f, "XLA"));
    say(m, MT_METRIC_tensorflow, is_of(f, "TensorFlow"));
    if (is_of(f, "llama.cpp"))
        say(m, MT_METRIC_ggml, 1 + (f->value[1] != MT_LOG_NONE ? (double)f->value[1] : 0));
    say(m, MT_METRIC_full_before, mt_logdiag_full_before(d));
    say(m, MT_METRIC_unsized, !asked && d->capacity == MT_LOG_NONE && strcmp(f->text, "talk") != 0);
    say(m, MT_METRIC_capped, d->allowed != MT_LOG_NONE);
    of_share(m, d, f);
    of_sequence(m, f);
    mt_logdiag_of_model(m, d);
    mt_logdiag_of_sizes(m, told, conf);
    if (mt_logdiag_contrast(thing, log) != 0)
        say(m, MT_METRIC_contrast, 1);
    of_host(m, d, logs, f, place);
    say(m, MT_METRIC_margin_refused, refused(d, logs));
    say(m, MT_METRIC_host_full, d->both || d->cause == MT_CAUSE_HOST);
    if (mt_logs_torch(logs) != 0)
        say(m, MT_METRIC_torch_at_most, mt_logs_torch(logs));
    say(m, MT_METRIC_no_expandable, mt_logs_no_expandable(logs));
}

bool mt_logdiag_advise(struct mt_advice_list *list, struct mt_logdiag *d,
                       const struct mt_logs *logs, const struct mt_logdiag_opts *o,
                       const struct mt_log_fact *f, const struct mt_log_place *place)
{
    const struct mt_framework_rules *r = logs->rules;
    struct mt_frameworks fw;
    struct mt_advice_query q = {.rules = o->fixes,
                                .fw = &fw,
                                .phase = d->phase,
                                .sub = d->sub,
                                .cause = d->cause,
                                .conf = o->conf};
    struct mt_logdiag_sizes told;
    enum mt_fw_kind kind;
    uint32_t first;
    bool engines, is_engine, ok, by_words = o->conf != NULL && o->conf->by_words;
    if (o->fixes == NULL || d->cause == MT_CAUSE_NONE || d->cause == MT_CAUSE_SETTING ||
        d->request == MT_LOG_EXA)
        return true; /* nothing to save; or no saving helps a size that was computed wrongly */
    if ((f->kind == MT_LOG_HOST_OOM && strcmp(f->text, "shared by Ray") == 0) || f->platform == 'T')
        return true; /* what the sentence says of an object store, of a TPU, is all that helps */
    if (f->kind == MT_LOG_CUT && d->phase == MT_PH_UNATTRIBUTED && d->sub == MT_PH_NONE)
        return true; /* whether memory was out is not known, and what ran is not either */
    memset(&fw, 0, sizeof fw);
    if (place != NULL)
        fw = place->fw;
    fw.rules = r;
    q.trace = place != NULL ? place->trace : NULL;
    if (o->framework >= 0) /* what the settings say goes before the traceback */
        fw.main = (mt_fw)o->framework;
    fw.engine = job_engine(r, logs, f, place);
    for (int i = 1; i < mt_framework_count(r); i++) /* helpers of another engine */
        if (mt_framework_at(r, fw.engine)->drives >> i & 1)
            fw.frames[i] = 0;
    of_paths(&fw, logs);
    if (fw.engine != MT_FW_NONE && fw.frames[fw.engine] == 0)
        fw.frames[fw.engine] = 1;
    mt_logdiag_sizes(&told, &logs->files.p[d->file].log);
    mt_logdiag_card_size(d, &told, &logs->files.p[d->file].log);
    if (mt_metrics_told(&q.metrics, mt_fix_rules_metrics(o->fixes), q.conf, q.trace, true) != MT_OK)
        return false;
    told.launches = f->rank >= 0;
    mt_logdiag_sizes_by_rules(&told, q.metrics);
    if (!mt_logdiag_model(d, &logs->files.p[d->file].log, &told, &fw, place, q.conf)) {
        mt_metrics_free(q.metrics);
        return false;
    }
    mt_metrics_code(q.metrics, place != NULL ? place->stack->code : NULL);
    d->model.in_float = is_told(q.metrics, "engine_in_float");
    if (d->model.in_float)
        mt_logdiag_served_in_float(d);
    mt_logdiag_model_by_words(d, q.metrics, &told, mt_framework_at(r, fw.main), q.conf);
    kind = mt_framework_at(r, fw.main)->kind;
    is_engine = kind == MT_FWK_ENGINE;
    if (kind == MT_FWK_RL)
        told.runs = false; /* "the inference engine": such a job trains, whatever else it does */
    fill(q.metrics, d, logs, f, place, &told, q.conf);
    of_families(q.metrics, &fw, q.conf);
    engines = is_engines(r, f, place) || engine_alone(r, d, f, place, o->framework, o->conf);
    d->engine = fw.engine != MT_FW_NONE ? mt_framework_at(r, fw.engine)->words : NULL;
    d->may_have_engine = fw.engine != MT_FW_NONE || kind == MT_FWK_RL || is_engine ||
                         is_told(q.metrics, "told_vllm");
    d->engine_failed = is_engines(r, f, place);
    d->model.beyond = more_than(q.metrics, d, "engine_weights_told", 0.97);
    d->model.on_card = more_than(q.metrics, d, "engine_weights_told", 0);
    d->model.is_over_share = is_over_share(r, &fw, q.metrics, d, f);
    say(q.metrics, MT_METRIC_over_share, d->model.is_over_share);
    if (d->model.is_over_share)
        q.phase = MT_PH_ROLLOUT_LOAD;
    if (mt_logdiag_served_outside(d))
        q.phase = MT_PH_ROLLOUT_LOAD, q.cause = MT_CAUSE_CAPACITY;
    if (mt_logdiag_served_over(d) && !is_engine &&
        (q.phase == MT_PH_UNATTRIBUTED || mt_phase_is(q.phase, MT_TRAINS)))
        q.phase = MT_PH_INIT, q.sub = MT_PH_NONE; /* no pass matters before they fit */
    if (d->model.states > 0)
        d->model.held = more_than(q.metrics, d, "states_told", 0.5);
    if (d->cause == MT_CAUSE_FOREIGN && f->kind != MT_LOG_TORCH_OOM)
        q.cause = MT_CAUSE_NONE; /* what the phase has makes room */
    if (f->kind == MT_LOG_VLLM_WARMUP && f->value[0] != MT_LOG_NONE)
        say(q.metrics, MT_METRIC_trial_sequences, (double)f->value[0]);
    if (f->kind != MT_LOG_VLLM_MEASURE && engines) {
        say(q.metrics, MT_METRIC_engine_failed, 1);
        if (q.phase == MT_PH_UNATTRIBUTED || q.phase == MT_PH_INFER) /* nothing says otherwise */
            q.phase = MT_PH_ROLLOUT_GENERATE;
    }
    if (by_words && q.phase == MT_PH_UNATTRIBUTED && place == NULL && trains(r, fw.main) &&
        d->cause != MT_CAUSE_HOST && d->cause != MT_CAUSE_KILLED)
        /* what such a program does, where nothing says otherwise */
        q.phase = is_told(q.metrics, "uses_only") ? MT_PH_INFER : MT_PH_TRAIN;
    if (d->cut && d->phase == MT_PH_ROLLOUT_INIT && f->kind == MT_LOG_TORCH_OOM && engines)
        q.phase = MT_PH_ROLLOUT_PROFILE; /* what an engine that starts asks PyTorch for at once */
    if (f->kind == MT_LOG_SGLANG_KV_FULL)
        q.phase = MT_PH_ROLLOUT_KV_ALLOC; /* what makes the cache larger */
    if (q.phase == MT_PH_UNATTRIBUTED && q.sub == MT_PH_FORWARD &&
        !mt_framework_is_program(r, fw.main))
        q.sub = MT_PH_NONE;       /* whether it trains, nothing tells: what helps in any pass */
    if (mt_logdiag_no_torch(f)) { /* their own cards ask for no phase */
        q.phase = MT_PH_UNATTRIBUTED;
        q.sub = MT_PH_NONE;
    }
    mt_metrics_place(q.metrics, q.phase, q.sub);
    mt_logdiag_of_pass(q.metrics, d, q.phase);
    d->tried_batch = is_told(q.metrics, "tried_batch");
    d->tried_length = is_told(q.metrics, "tried_length") || is_told(q.metrics, "kept_side");
    d->pieces_told = (d->cause == MT_CAUSE_UNKNOWN || d->by_words) &&
                     mt_logdiag_told_pieces(&logs->files.p[d->file].log, logs->phases);
    d->growth_told = (d->cause == MT_CAUSE_UNKNOWN || d->by_words) && mt_log_is_talk(f) &&
                     mt_logdiag_told_growth(&logs->files.p[d->file].log, logs->phases);
    if (d->growth_told)
        q.cause = MT_CAUSE_LEAK; /* what is kept comes first */
    if (d->cause == MT_CAUSE_FRAGMENTATION || mt_logdiag_fits_joined(d) ||
        (d->cause == MT_CAUSE_FOREIGN && mt_logdiag_has_holes(d)) || d->pieces_told)
        say(q.metrics, MT_METRIC_fragmented, 1);
    say(q.metrics, MT_METRIC_few_pieces, are_few(d));
    mt_logdiag_made_of(d, q.metrics, f, &told, engines || is_engine);
    if (d->made_of.what == MT_LOG_OF_MATRIX && d->made_of.is_sure)
        q.phase = MT_PH_ROLLOUT_LOAD;
    if (d->made_of.what == MT_LOG_OF_FLAT && q.phase == MT_PH_UNATTRIBUTED)
        q.phase = MT_PH_TRAIN, q.sub = MT_PH_OPTIMIZER;
    if (d->sub == MT_PH_LOGITS && d->request != MT_LOG_NONE && d->request != MT_LOG_EXA)
        say(q.metrics, MT_METRIC_logits_request, (double)d->request);
    first = list->n;
    ok = mt_advice_add(&q, list);
    mt_logdiag_ground(list, first, d, f, r, q.conf);
    mt_metrics_free(q.metrics);
    return ok;
}
