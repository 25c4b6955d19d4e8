/* log/sizes.c -- what a person's words around a log tell of the job's size: how large the model is,
 * on how many GPUs, how it is divided. What they name in two ways is not known.
 */
#include "analysis/log/diagnose.h"
#include "analysis/log/spoken.h"
#include "analysis/metrics/metrics.h"
#include "analysis/setup/layout.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

enum { SEVERAL = -1 };

static void settle(double *known, double v)
{
    bool is_same = *known <= v && *known >= v;
    *known = *known == 0 || is_same ? v : SEVERAL;
}

/* "7B", "Qwen2.5-32B", "prover7B", "16B model"; not the active part of "35B-A3B", not "8x7B" as a
 * whole, no tokens or samples. */
static bool is_size(const char *from, const char *p, const char *end, double n)
{
    const char *next = *end != '\0' ? end + 1 + strspn(end + 1, " -") : end;
    bool letters = p > from && mt_log_is_letter(p[-1]),
         one = p - from < 2 || !mt_log_is_letter(p[-2]);
    return (*end == 'B' || *end == 'b') && !mt_log_is_letter(end[1]) && !mt_log_is_digit(end[1]) &&
           n >= 0.1 && n < 2000 && !(letters && one) && strncasecmp(next, "token", 5) != 0 &&
           strncasecmp(next, "sample", 6) != 0;
}

/* One of a list of words begins at p. This is asked of every byte: most are told by the first. */
static bool begins(const char *p, const char *const *words)
{
    for (; *words != NULL; words++)
        if ((*p | 32) == (**words | 32) && strncasecmp(p, *words, strlen(*words)) == 0)
            return true;
    return false;
}

/* A method's letters are a word of their own: "ppo" is no part of "support", "dpo" none of
 * "endpoint". */
static bool has_method(const char *s, const char *p)
{
    static const char *const methods[] = {"sft", "grpo", "ppo", "dpo", "kto", "rlhf", NULL};
    return begins(p, methods) && (p == s || !mt_log_is_letter(p[-1]));
}

static bool has_any(const char *s, const char *const *words)
{
    for (; *s != '\0'; s++)
        if (begins(s, words))
            return true;
    return false;
}

static bool affirms(const char *s, const char *const *words)
{
    for (const char *p = s; *p != '\0'; p++)
        if (begins(p, words) && !mt_log_is_denied(s, p))
            return true;
    return false;
}

/* Training is spoken of: not of weights that were trained before, and it is not denied. */
static bool tells_training(const char *s, const char *const *words)
{
    for (const char *p = s; *p != '\0'; p++)
        if ((begins(p, words) || has_method(s, p)) && !mt_log_is_denied(s, p) &&
            strncasecmp(p, "trained", 7) != 0 &&
            !(p == s && strncasecmp(p, "trainer", 7) == 0)) /* "trainer-1 | ..." is a container */
            return true;
    return false;
}

/* A card's name by its shape: a few capitals and digits, "H100s", "RTX3080", "L40S"; behind a word
 * in capitals too, "RTX A6000". */
static bool is_card(const char *p)
{
    size_t n = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ"), digits;
    if (n >= 3 && n <= 6 && p[n] == ' ' && p[n + 1] >= 'A' && p[n + 1] <= 'Z')
        return is_card(p + n + 1);
    if (n >= 3 && n <= 6 && (p[n] == ' ' || p[n] == '-') && mt_log_is_digit(p[n + 1]))
        n++;
    digits = strspn(p + n, "0123456789");
    return n >= 1 && n <= 7 && digits >= 1 && digits <= 4 && p[n + digits] != '.' &&
           p[n + digits] != '-';
}

/* "8xH100s", "8 * RTX3080", "2x4090", "4 A100 GPUs", "8 GPUs", "4 cards" in Chinese. */
static bool counts_cards(const char *end)
{
    static const char *const of_one[] = {"gpu mem", "gpu util", "gpu usage", "gpu ram",
                                         "卡住",    "卡死",     NULL};
    static const char *const cards[] = {"gpu", "graphics card", "张卡", "张显卡",
                                        "卡",  "块卡",          NULL};
    const char *p = end + strspn(end, " ");
    bool times = *p == 'x' || *p == 'X' || *p == '*';
    if (times)
        p += 1 + strspn(p + 1, " ");
    if (times && strspn(p, "0123456789") == 4 && p[2] == '9' && p[3] == '0')
        return true;
    if (begins(p, of_one))
        return false;
    return (p > end && is_card(p)) || begins(p, cards) ||
           (strncmp(p, "张", 3) == 0 && is_card(p + 3 + strspn(p + 3, " ")));
}

/* "one 24 GB RTX 4090", "a single GPU", in Chinese too: no other card is spoken of. */
static bool is_one_card(const char *p)
{
    static const char *const one[] = {"one ", "single ", NULL},
                             *const alone[] = {"单卡", "单张", "一张卡", "一张显卡", "单gpu", NULL},
                             *const cards[] = {"gpu", "graphics card", "card", NULL};
    if (begins(p, alone))
        return true;
    if (!begins(p, one))
        return false;
    p += strcspn(p, " ") + 1;
    for (int words = 0; words < 4; words++) {
        size_t n = strcspn(p, " ,.;:");
        if (begins(p, cards) || is_card(p) ||
            (n == 4 && strspn(p, "0123456789") == 4 && p[2] == '9' && p[3] == '0'))
            return true;
        if (p[n] != ' ')
            return false;
        p += n + 1;
    }
    return false;
}

static bool tells_one_card(const char *s)
{
    for (const char *p = s; *p != '\0'; p++)
        if ((p == s || !mt_log_is_letter(p[-1])) && is_one_card(p) &&
            (p < s + 6 || memcmp(p - 6, "其中", 6) != 0)) /* "one of the cards" */
            return true;
    return false;
}

/* "GPU Count: 4", "number of GPUs = 8": what ends before the number at p. */
static bool is_count_of_gpus(const char *text, const char *p)
{
    static const char *const ends[] = {"gpu count", "gpus", "gpu_count", "gpu num",
                                       "number of gpu"};
    while (p > text && (p[-1] == ' ' || p[-1] == '*' || p[-1] == '`'))
        p--;
    if (p == text || (p[-1] != ':' && p[-1] != '='))
        return false;
    for (p--; p > text && (p[-1] == ' ' || p[-1] == '*' || p[-1] == '`');)
        p--;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        size_t n = strlen(ends[i]);
        if ((size_t)(p - text) >= n && strncasecmp(p - n, ends[i], n) == 0 &&
            (p - n == text || !mt_log_is_letter(p[-(ptrdiff_t)n - 1])))
            return true;
    }
    return false;
}

static bool is_whole(const char *p, const char *end)
{
    return memchr(p, '.', (size_t)(end - p)) == NULL;
}

/* What stands before a number that counts nothing: "rank 3", "epoch 3", "gpu 0". The last: the
 * third, in Chinese. */
static bool is_ordinal(const char *text, const char *p)
{
    static const char *const words[] = {"epoch ",  "step ",    "iteration ", "iter ",
                                        "rank ",   "gpu ",     "cuda ",      "ubuntu ",
                                        "python ", "version ", "第",         NULL};
    for (const char *const *w = words; *w != NULL; w++) {
        size_t n = strlen(*w);
        if ((size_t)(p - text) >= n && strncasecmp(p - n, *w, n) == 0)
            return true;
    }
    return false;
}

/* nvidia-smi's table: "|   1  NVIDIA H100 80GB HBM3  On |" is card 1, not one card. */
static bool is_index(const char *text, const char *p, const char *end)
{
    while (p > text && p[-1] == ' ')
        p--;
    return p > text && p[-1] == '|' && end[0] == ' ' && end[1] == ' ';
}

/* "4 H100s for train & 4 for inference": the first are those that train. */
static bool is_for_training(const char *end)
{
    const char *p = strstr(end, " for train");
    return p != NULL && strcspn(end, ".,;&") > (size_t)(p - end);
}

static void read_numbers(struct mt_logdiag_sizes *t, const char *text, bool *trains_on)
{
    for (const char *p = text, *end; *p != '\0'; p = end) {
        double n;
        end = p + 1;
        if (!mt_log_is_digit(*p))
            continue;
        n = mt_logdiag_number_at(p, &end);
        if (p > text && (p[-1] == '.' || p[-1] == '_'))
            continue;
        if (is_size(text, p, end, n))
            settle(&t->billions, n);
        else if ((p == text || !mt_log_is_letter(p[-1])) && n >= 1 && n <= 64 && is_whole(p, end) &&
                 ((!is_ordinal(text, p) && !is_index(text, p, end) && counts_cards(end)) ||
                  is_count_of_gpus(text, p))) {
            if (is_for_training(end) && !*trains_on) {
                *trains_on = true;
                t->gpus = n;
            } else if (!*trains_on)
                settle(&t->gpus, n);
        }
    }
}

/* Such a method has a reference model unless it is told to have none; SFT has none. PPO has a
 * critic too. */
static bool refers(const char *s, bool critic)
{
    for (const char *p = s; *p != '\0'; p++)
        if (has_method(s, p) && (critic ? (*p | 32) == 'p' : (*p | 32) != 's'))
            return true;
    return !critic && strstr(s, "reference model") != NULL;
}

static bool names_method(const char *s)
{
    for (const char *p = s; *p != '\0'; p++)
        if (has_method(s, p))
            return true;
    return false;
}

/* Weights of 4 or 8 bits: of what quantises them, no mere number of bits. */
static void read_bits(struct mt_logdiag_sizes *t, const char *s)
{
    static const char *const four[] = {"4bit", "4-bit", "4 bit", "int4",
                                       "nf4",  "qlora", "awq",   NULL},
                             *const eight[] = {
                                 "load_in_8bit", "8-bit quant",   "8bit quant", "int8",
                                 "fp8",          "8-bit weights", NULL};
    if (affirms(s, four))
        settle(&t->bits, 4);
    if (affirms(s, eight))
        settle(&t->bits, 8);
}

/* "CUDA_VISIBLE_DEVICES=0,1,2": as many cards as a process may see. Of two commands the one that
 * has more: an engine beside a training mostly has the fewer. A launcher's own count beats it. */
static void read_visible(struct mt_logdiag_sizes *t, const char *s)
{
    static const char name[] = "VISIBLE_DEVICES=", count[] = "NPROC_PER_NODE=";
    const char *n_is = strstr(s, count), *end;
    if (n_is != NULL && mt_log_is_digit(n_is[sizeof count - 1]))
        t->launched = mt_logdiag_number_at(n_is + sizeof count - 1, &end);
    for (const char *p = s; (p = strstr(p, name)) != NULL;) {
        double n = 0;
        p += sizeof name - 1;
        p += strspn(p, "\"'");
        for (; mt_log_is_digit(*p); p += p[0] == ',' && mt_log_is_digit(p[1])) {
            p += strspn(p, "0123456789");
            n++;
        }
        if (n > t->visible)
            t->visible = n;
    }
}

static const char *const zero3[] = {"zero3",        "zero-3",       "zero 3",       "zero stage 3",
                                    "zero_stage 3", "zero-stage 3", "zero stage-3", NULL};
static const char *const zero2[] = {"zero2",        "zero-2",       "zero 2",       "zero stage 2",
                                    "zero_stage 2", "zero-stage 2", "zero stage-2", NULL};

static bool is_told(struct mt_metrics *m, const char *name)
{
    return mt_metric_above_0(m, name) > 0;
}

void mt_logdiag_sizes_by_rules(struct mt_logdiag_sizes *t, struct mt_metrics *m)
{
    t->said = mt_metric_above_0(m, "said_params");
    t->zero3 = t->zero3 || is_told(m, "named_zero3");
    t->moved = is_told(m, "states_moved");
    t->hosted = is_told(m, "weights_moved");
    t->colocated = is_told(m, "engine_colocated");
    if (is_told(m, "told_adapters"))
        t->adapters = t->less = true;
    t->launches = t->launches || is_told(m, "has_launcher") || is_told(m, "runs_several");
    t->merges = is_told(m, "says_merging") || is_told(m, "converts");
    t->speaks_of_size = is_told(m, "speaks_of_size");
    if (t->bits == 0 && is_told(m, "quantises_by_default"))
        t->bits = SEVERAL; /* 4, or what the script sets */
}

/* A line of code or settings that has weights of 16 bits, or makes adapters. */
static bool sets_half(const char *s)
{
    static const char *const types[] = {"bf16", "fp16", "bfloat16", "float16", NULL},
                             *const on[] = {"true", "torch.", "--", "dtype", NULL};
    return has_any(s, types) && has_any(s, on);
}

/* Mixed precision as trainers have it: with fp16 the weights are in 32 bits, or have a copy in 32.
 */
static bool mixes(const char *s)
{
    static const char *const fp16[] = {"fp16=true", "fp16: true", "--fp16", NULL};
    return has_any(s, fp16);
}

static bool makes_adapters(const char *s)
{
    static const char *const calls[] = {"get_peft_model(", "LoraConfig(", "peft_config=", NULL};
    return has_any(s, calls);
}

void mt_logdiag_sizes(struct mt_logdiag_sizes *t, const struct mt_log *log)
{
    static const char *const nodes[] = {"nodes", "machines", "servers", "6node", "8node", "4node",
                                        "2node", "多机",     "双机",    "台机",  NULL},
                             *const adapters[] = {"lora", "peft", "adapter", NULL},
                             *const smaller[] = {"quant", "4bit", "4-bit", "8bit",  "8-bit",
                                                 "int8",  "int4", "fp8",   "qlora", "offload",
                                                 "awq",   "gptq", "gguf",  "nf4",   "fp4",
                                                 "bnb",   "量化", NULL},
                             *const less[] = {"adafactor",  "galore",     "freez", "frozen",
                                              "prompt tun", "prefix tun", NULL},
                             *const full[] = {"full fine",  "full-fine",   "full param",
                                              "full-param", "full tuning", "full sft",
                                              "全量",       "全参",        NULL},
                             *const trains[] = {"train", "fine-tun", "finetun", "fine tun",
                                                "训练",  "微调",     NULL},
                             *const runs[] = {"inference",  ".generate(", "model.generate",
                                              "generating", "deploy",     "test.py",
                                              "推理",       "生成",       "部署",
                                              NULL},
                             /* that it does not run denies none */
                                 *const shows[] = {"demo ", "demo_", "demo.py", "demo示例", NULL},
                             *const spread[] = {"device_map",        "device map",
                                                "model parallel",    "model-parallel",
                                                "tensor parallel",   "tensor-parallel",
                                                "pipeline parallel", NULL},
                             *const fsdp[] = {"fsdp", NULL};
    static const char *const half[] = {
        "bf16",           "bfloat16", "fp16",   "float16", "half precision",
        "half-precision", "16 bit",   "16-bit", "半精度",  NULL};
    static const char *const wide[] = {"fp32", "float32", "full precision", "全精度", NULL};
    bool trains_on = false, one = false;
    memset(t, 0, sizeof *t);
    t->card = mt_logdiag_card(log);
    for (uint32_t i = 0; i < log->prose.n; i++) {
        const char *s = log->prose.p[i].text, *item = mt_spoken_item(s);
        mt_logdiag_counts(t, s);
        read_visible(t, s);
        t->mixed = t->mixed || mixes(s);
        if (!mt_spoken_is_persons(s)) {
            t->half = t->half || sets_half(s);
            if (makes_adapters(s))
                t->adapters = t->less = true;
            if (item == NULL || strstr(s, " --") != NULL)
                continue;
            s = item; /* "- Model: Foo-7B", "- GPU: 4x A100" */
        }
        read_numbers(t, s, &trains_on);
        mt_logdiag_sides(t, s);
        read_bits(t, s);
        t->method = t->method || names_method(s);
        t->refers = t->refers || refers(s, false);
        t->values = t->values || refers(s, true);
        one = one || tells_one_card(s);
        t->nodes = t->nodes || has_any(s, nodes);
        t->adapters = t->adapters || affirms(s, adapters);
        t->full = t->full || affirms(s, full);
        t->smaller = t->smaller || affirms(s, smaller);
        t->wide = t->wide || affirms(s, wide);
        t->half = t->half || affirms(s, half);
        t->less = t->less || t->adapters || t->smaller || affirms(s, less);
        if (!mt_spoken_is_logged(s)) { /* "(Trainer pid=7)" is a process's name */
            t->trains = t->trains || tells_training(s, trains);
            t->runs = t->runs || affirms(s, runs) || has_any(s, shows);
        }
        t->spread = t->spread || has_any(s, spread);
        t->fsdp = t->fsdp || affirms(s, fsdp);
        t->zero3 = t->zero3 || affirms(s, zero3);
        t->zero2 = t->zero2 || affirms(s, zero2);
    }
    if (t->counted > 0 && t->trained > 0 && t->trained < t->counted / 5)
        t->adapters = t->less = true;
    if (one && t->gpus == 0)
        t->gpus = 1;
    if (t->nodes)
        t->gpus = SEVERAL;
    else if (t->launched >= 1)
        t->gpus = t->launched;
    else if (t->gpus == 0 ||
             (t->visible >= 2 && t->visible < t->gpus)) /* of those in the machine */
        t->gpus = t->visible;
}

/* How many GPUs there are only where no setting says it. */
void mt_logdiag_of_sizes(struct mt_metrics *m, const struct mt_logdiag_sizes *told,
                         const struct mt_runconf *conf)
{
    double gpus = mt_run_ranks(conf);
    mt_metrics_set(m, MT_METRIC_text_trains, told->trains && !told->runs, MT_CONF_MARKED);
    mt_metrics_set(m, MT_METRIC_text_runs, told->runs && !told->trains, MT_CONF_MARKED);
    if (gpus <= 0 && !told->nodes)
        gpus = told->gpus;
    if (gpus > 0)
        mt_metrics_set(m, MT_METRIC_job_gpus, gpus, MT_CONF_MARKED);
    if (gpus > 1 || told->nodes)
        mt_metrics_set(m, MT_METRIC_several_gpus, 1, MT_CONF_MARKED);
}
