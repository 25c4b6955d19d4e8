/* Advice: the right rules for a verdict, in the right order, and none that the trace rules out. */
#include "analysis/advice/advice.h"
#include "parser/model/intern.h"
#include "tests/unit/mt_test.h"

static struct mt_fix_rules *load(void)
{
    struct mt_fix_rules *r = NULL;
    struct mt_err err = {0};
    enum mt_rc rc = mt_fix_rules_load(&r, NULL, 0, NULL, &err);
    MT_CHECK_EQ(rc, MT_OK);
    if (rc != MT_OK)
        printf("# %s\n", err.msg);
    return r;
}

enum { FSDP = 1, MCORE = 2, FRAG = 4, GRADS = 8, INFER = 16, HOST = 32 };

static uint32_t choose(const struct mt_fix_rules *r, const struct mt_trace *t,
                       enum mt_framework main, enum mt_framework engine, int flags,
                       enum mt_phase phase, enum mt_phase sub, struct mt_advice *out)
{
    struct mt_frameworks fw = {.main = main, .engine = engine};
    struct mt_advice_query q = {.rules = r, .trace = t, .fw = &fw, .phase = phase, .sub = sub};
    uint32_t n;
    fw.fsdp2 = (flags & FSDP) != 0;
    fw.megatron_core = (flags & MCORE) != 0;
    q.fragmentation = (flags & FRAG) != 0;
    q.gradients_dominate = (flags & GRADS) != 0;
    q.inference_only = (flags & INFER) != 0;
    q.host_memory = (flags & HOST) != 0;
    n = mt_advice_select(&q, out);
    for (uint32_t i = 0; n != UINT32_MAX && i < n;
         i++) /* which rules is what counts here, not their texts */
        mt_advice_done(&out[i]);
    return n;
}

/* "V06 V09/x" of the first `limit` entries; only_top: of the top ones. */
static void words(const struct mt_advice *a, uint32_t n, bool only_top, size_t limit, char *buf,
                  size_t cap)
{
    size_t k = 0;
    buf[0] = 0;
    for (uint32_t i = 0; i < n && limit > 0 && k < cap; i++) {
        if (only_top && !a[i].is_top)
            continue;
        k += (size_t)snprintf(buf + k, cap - k, "%s%s%s%s", k > 0 ? " " : "", a[i].rule->id,
                              a[i].card->name[0] ? "/" : "", a[i].card->name);
        limit--;
    }
}

static size_t count_words(const char *s)
{
    size_t n = *s != 0;
    for (; *s != 0; s++)
        n += *s == ' ';
    return n;
}

MT_TEST(selection)
{
    static const struct {
        enum mt_framework main, engine;
        int flags;
        enum mt_phase phase, sub;
        const char *first, *top;
    } want[] = {
        /* verl: rows of the order of trial, with what cannot apply left out */
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_INIT, MT_PH_NONE, "V01/down V34 V32 B33",
         "V01/down V34 V32"},
        {MT_FW_VERL, MT_FW_NONE, MCORE, MT_PH_INIT, MT_PH_NONE, "V01/down V34 V17 B33", NULL},
        {MT_FW_VERL, MT_FW_VLLM, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "V01/up V34 B14 B15",
         "V01/up V34 B14"},
        {MT_FW_VERL, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "V01/up V34 B34",
         "V01/up V34 B34"},
        {MT_FW_VERL, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_DECODE, MT_PH_NONE, "V01/down V36 V35 B17",
         "V01/down V36 V35"},
        {MT_FW_VERL, MT_FW_VLLM, 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "V02 V03", "V02 V03 V01/down"},
        {MT_FW_VERL, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "V02 B19",
         "V02 B19 V01/down"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_LOGP_OLD, MT_PH_LOGITS, "V06/logp V09 V25 B23 V29 V05",
         "V06/logp V25 B23"},
        {MT_FW_VERL, MT_FW_NONE, MCORE, MT_PH_LOGP_REF, MT_PH_FORWARD, "V06/logp V09 B23 V20",
         "V06/logp B23 V20"},
        {MT_FW_VERL, MT_FW_NONE, 0, MT_PH_VALUES, MT_PH_FORWARD, "V06/logp V09 V30", NULL},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOGITS, "V06 B23 V26 V04 V05 V29",
         "V06 B23 V26"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "V12 V06 V04 V15 V29 B25 B01", "V12 V06 V04"},
        {MT_FW_VERL, MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_BACKWARD, "V06 V04 B25 V14 B01",
         "V06 V04 B25"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_CRITIC, MT_PH_FORWARD, "V13 V08 V07 V16 V30",
         "V13 V08 V07"},
        {MT_FW_VERL, MT_FW_NONE, FSDP | GRADS, MT_PH_TRAIN_ACTOR, MT_PH_BACKWARD,
         "B24 V33 B21 B23 V32", "V33 B21 B23"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_GRAD_CLIP, "V32 B06", NULL},
        {MT_FW_VERL, MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER, "V24 B32 B06 B07",
         "V24 B32 B06"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER, "B21 B08 B32 B06 B07",
         "B21 B08 B32"},
        {MT_FW_VERL, MT_FW_VLLM, FSDP, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "B22 V01/down V02 B13",
         "B22 V01/down V02"},
        {MT_FW_VERL, MT_FW_NONE, MCORE, MT_PH_ROLLOUT_WAKE_SLEEP, MT_PH_NONE,
         "V01/down V17 V19 B34", "V01/down V17 V19"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_ONLOAD_OFFLOAD, "V01/down V22 B34",
         "V01/down V22 B34"},
        {MT_FW_VERL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_COMM, "B04 B10 V01/down B03",
         "B04 B10 V01/down"},
        {MT_FW_VERL, MT_FW_NONE, FSDP | FRAG, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "B01 V05 B04 V12 V06", "B01 V05 B04"},
        {MT_FW_VERL, MT_FW_NONE, 0, MT_PH_CKPT_SAVE, MT_PH_NONE, "V01/down B04 B33",
         "V01/down B04"},
        {MT_FW_VERL, MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_NONE, "P06 B39", ""},
        {MT_FW_VERL, MT_FW_NONE, HOST, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD, "V40 V42 V41 V37",
         "V40 V42"},
        /* AReaL */
        {MT_FW_AREAL, MT_FW_NONE, FSDP, MT_PH_INIT, MT_PH_NONE, "A06/down A21 A01 B33",
         "A06/down A21 A01"},
        {MT_FW_AREAL, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "A06/up A09",
         "A06/up A09 B34"},
        {MT_FW_AREAL, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_PREFILL, MT_PH_NONE,
         "A05 A09 A06/down B17 B18", "A05 A09 A06/down"},
        {MT_FW_AREAL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOSS, "A04 A11 A12 A13",
         "A04 A11 A12"},
        {MT_FW_AREAL, MT_FW_NONE, FSDP, MT_PH_LOGP, MT_PH_FORWARD, "A04 A12", NULL},
        {MT_FW_AREAL, MT_FW_NONE, FSDP | GRADS, MT_PH_TRAIN, MT_PH_BACKWARD, "B28/reshard A17 A01",
         NULL},
        {MT_FW_AREAL, MT_FW_NONE, FSDP, MT_PH_TRAIN, MT_PH_OPTIMIZER, "A18 A17 A20 B06 B07",
         "A18 A17 A20"},
        {MT_FW_AREAL, MT_FW_NONE, 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "A22 A23 A24 B36", "A22 A24"},
        {MT_FW_AREAL, MT_FW_NONE, FRAG, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "B28/pad B01 B04 A22",
         "B28/pad B01 B04"},
        /* Relax, slime and bare Megatron share a column, but not every flag */
        {MT_FW_RELAX, MT_FW_NONE, MCORE, MT_PH_INIT, MT_PH_NONE, "X20/down B46 B50 X01 B27",
         "X20/down B46 B50"},
        {MT_FW_RELAX, MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_LOSS, "X11 X09 X16 X15 X08 X13",
         "X11 X09 X16"},
        {MT_FW_RELAX, MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD, "X08 X09 X12 B26 B27",
         NULL},
        {MT_FW_SLIME, MT_FW_NONE, MCORE, MT_PH_LOGP, MT_PH_NONE, "X10 X16 X09", "X10 X16 X09"},
        {MT_FW_SLIME, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "X20/up B34",
         "X20/up B34"},
        {MT_FW_RELAX, MT_FW_NONE, 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "X17 X20/down B36",
         "X17 X20/down"},
        {MT_FW_RELAX, MT_FW_NONE, 0, MT_PH_ONLOAD_OFFLOAD, MT_PH_NONE, "B34 X20/down X19 B04",
         "B34 X20/down X19"},
        {MT_FW_SLIME, MT_FW_NONE, 0, MT_PH_ONLOAD_OFFLOAD, MT_PH_NONE, "B34 X20/down B04", NULL},
        {MT_FW_RELAX, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_COMM, "B04 X06 X19/up B36 B03 B10",
         "B04 X19/up B03"},
        {MT_FW_SLIME, MT_FW_NONE, MCORE, MT_PH_TRAIN, MT_PH_OPTIMIZER, "X13 X14 B26 B06 B07",
         "X13 B26 B06"},
        {MT_FW_MEGATRON, MT_FW_NONE, MCORE, MT_PH_TRAIN, MT_PH_FORWARD, "X08 X12 B26 B27 B01",
         "X08 X12 B26"},
        {MT_FW_RELAX, MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_COMM, "B02 B04 X06", "B02 B04 X19/up"},
        /* the others */
        {MT_FW_OPENRLHF, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "B44 B30", "B44 B30 B01"},
        {MT_FW_TRL, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_LOSS, "B31 B09", "B31 B09 B01"},
        {MT_FW_NEMORL, MT_FW_VLLM, 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "B29", "B29"},
        {MT_FW_SKYRL, MT_FW_VLLM, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "B52", "B52 B34"},
        {MT_FW_ROLL, MT_FW_SGLANG, 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "B53", "B53"},
        {MT_FW_PRIME_RL, MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOSS, "B54", "B54 B01"},
        {MT_FW_SWIFT, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "B44 B55", "B44 B55 B01"},
        /* no framework: plain PyTorch only */
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "P01 P02 P04 B01", "P01 P02 P04"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_BACKWARD, "P01 P02 P04 B01", NULL},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_OPTIMIZER, "B06 B08 P03 B07",
         "B06 B08 P03"},
        {MT_FW_NONE, MT_FW_NONE, INFER, MT_PH_UNATTRIBUTED, MT_PH_FORWARD, "P09 P10 P05",
         "P09 P10 P05"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_LOGP, MT_PH_FORWARD, "P09 P10 P05", NULL},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_ROLLOUT_GENERATE, MT_PH_FORWARD, "P09 P05", "P09 P05"},
        {MT_FW_NONE, MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_LOSS, "B01 B04 P02", "B01 B04 P02"},
        {MT_FW_TRANSFORMERS, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_LOSS, "P02 B09 P01 P04", NULL},
        {MT_FW_NONE, MT_FW_VLLM, 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "P08/down P16 B14 B15",
         "P08/down P16 B14"},
        {MT_FW_NONE, MT_FW_SGLANG, 0, MT_PH_ROLLOUT_DECODE, MT_PH_NONE, "P05 B49 P08/down B17",
         NULL},
    };
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    MT_ASSERT(r != NULL && out != NULL);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        char got[512];
        int failed = mt_n_failed;
        uint32_t n = choose(r, NULL, want[i].main, want[i].engine, want[i].flags, want[i].phase,
                            want[i].sub, out);
        words(out, n, false, count_words(want[i].first), got, sizeof got);
        MT_CHECK_STR(got, want[i].first);
        words(out, n, true, 9, got, sizeof got);
        if (want[i].top != NULL)
            MT_CHECK_STR(got, want[i].top);
        if (mt_n_failed != failed) {
            words(out, n, false, 99, got, sizeof got);
            printf("# case %d: all: %s\n", (int)i, got);
        }
    }
    free(out);
    mt_fix_rules_free(r);
}

/* Whatever the verdict: no rule twice, nothing withheld, at most three on top, no framework's rule
 * for another framework's job. */
MT_TEST(selection_invariants)
{
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    uint64_t n_advice = 0;
    MT_ASSERT(r != NULL && out != NULL);
    for (int main = 0; main < MT_FW_COUNT; main++) {
        for (int phase = 0; phase < MT_PH_COUNT; phase++) {
            for (int sub = 0; sub < MT_PH_COUNT; sub++) {
                uint32_t n, top = 0, bad = 0;
                if (mt_phase_is((unsigned)phase, MT_COARSE) ==
                    mt_phase_is((unsigned)sub, MT_COARSE))
                    continue;
                n = choose(r, NULL, (enum mt_framework)main,
                           (sub & 1) != 0 ? MT_FW_VLLM : MT_FW_NONE, sub & (FSDP | FRAG),
                           (enum mt_phase)phase, (enum mt_phase)sub, out);
                for (uint32_t i = 0; i < n; i++) {
                    const struct mt_fix_rule *rule = out[i].rule;
                    uint64_t who =
                        MT_FIX_FW_LIBRARY | 1ull << MT_FW_VLLM | (main > 0 ? 1ull << main : 0);
                    top += out[i].is_top;
                    bad += !rule->offered || (rule->frameworks & who) == 0;
                    bad += out[i].is_top && rule->kind != MT_FIX_SETTING;
                    bad += rule->kind == MT_FIX_SETTING && out[i].lines == 0;
                    bad += out[i].card->n_set < 64 && out[i].lines >> out[i].card->n_set != 0;
                    for (uint32_t k = 0; k < i; k++)
                        bad += out[k].rule == rule;
                }
                n_advice += n;
                if (bad != 0 || top > 3)
                    MT_FAIL_AT("framework %d, phase %d, sub-phase %d: %u bad, %u on top", main,
                               phase, sub, bad, top);
                mt_n_checks++;
            }
        }
    }
    MT_CHECK(n_advice > 1000);
    free(out);
    mt_fix_rules_free(r);
}

/* ---- what the trace itself rules out ---- */

static uint32_t n_of(const struct mt_advice *a, uint32_t n, const char *id)
{
    uint32_t k = 0;
    for (uint32_t i = 0; i < n; i++)
        k += strcmp(a[i].rule->id, id) == 0;
    return k;
}

static void add_setting(struct mt_trace *t, const char *key, const char *value)
{
    struct mt_setting *s = MT_VEC_PUSH(&t->settings);
    s->key = mt_strpool_add(&t->str, key, strlen(key));
    s->value = mt_strpool_add(&t->str, value, strlen(value));
}

static void add_frame(struct mt_trace *t, const char *file, const char *name)
{
    struct mt_frame *f = MT_VEC_PUSH(&t->frames);
    f->file = mt_strpool_add(&t->str, file, strlen(file));
    f->name = mt_strpool_add(&t->str, name, strlen(name));
}

MT_TEST(settings_already_on)
{
    static const struct {
        const char *key, *value;
        uint32_t b01;
    } want[] = {
        {"expandable_segments", "True", 0},
        {"allocator_settings.expandable_segments", "True", 0},
        {"expandable_segments", "true", 0},
        {"expandable_segments", "False", 1},
        {"not_expandable_segments", "True", 1},
    };
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    struct mt_segment *s;
    struct mt_trace *t;
    uint32_t n;
    MT_ASSERT(r != NULL && out != NULL);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        t = mt_trace_new();
        MT_ASSERT(t != NULL);
        add_setting(t, want[i].key, want[i].value);
        n = choose(r, t, MT_FW_NONE, MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_FORWARD, out);
        MT_CHECK_EQ(n_of(out, n, "B01"), want[i].b01);
        mt_trace_free(t);
    }
    /* an expandable segment proves the setting */
    t = mt_trace_new();
    MT_ASSERT(t != NULL);
    s = MT_VEC_PUSH(&t->segments);
    MT_ASSERT(s != NULL);
    s->is_expandable = 1;
    n = choose(r, t, MT_FW_NONE, MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_FORWARD, out);
    MT_CHECK_EQ(n_of(out, n, "B01"), 0);
    MT_CHECK_EQ(n_of(out, n, "B02"), 0); /* made for runs that cannot have them */
    mt_trace_free(t);
    free(out);
    mt_fix_rules_free(r);
}

MT_TEST(frames_that_rule_out)
{
    static const struct {
        const char *file, *name;
        enum mt_framework main;
        int flags;
        enum mt_phase sub;
        const char *gone, *kept;
    } want[] = {
        {"/usr/lib/python3/site-packages/torch/utils/checkpoint.py", "checkpoint", MT_FW_VERL, FSDP,
         MT_PH_FORWARD, "V12", "V06"},
        {"C:\\py\\torch\\utils\\checkpoint.py", "checkpoint", MT_FW_VERL, FSDP, MT_PH_FORWARD,
         "V12", "V06"},
        {"/mine/mytorch/utils/checkpoint.py", "checkpoint", MT_FW_VERL, FSDP, MT_PH_FORWARD, "V14",
         "V12"},
        {"megatron/core/tensor_parallel/random.py", "checkpoint", MT_FW_SLIME, MCORE, MT_PH_FORWARD,
         "X08", "X09"},
        {"megatron/core/tensor_parallel/random.py", "fork", MT_FW_SLIME, MCORE, MT_PH_FORWARD,
         "B23", "X08"},
        {"/x/torch_memory_saver/entrypoint.py", "region", MT_FW_NONE, FRAG, MT_PH_FORWARD, "B01",
         "B02"},
        {"/x/torch_memory_saver.py", "region", MT_FW_NONE, FRAG, MT_PH_FORWARD, "B02", "B01"},
        {"/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py", "unshard", MT_FW_VERL, FSDP,
         MT_PH_GRAD_CLIP, "V32", "B06"},
        {"/x/torch/distributed/fsdp/_flat_param.py", "unshard", MT_FW_VERL, FSDP, MT_PH_GRAD_CLIP,
         "V12", "V32"},
        {"/x/areal/experimental/engine/archon_engine.py", "train_batch", MT_FW_AREAL, 0,
         MT_PH_FORWARD, "A13", "A16"},
        /* a rule that needs one */
        {"/x/transformers/models/qwen2_vl/modeling_qwen2_vl.py", "forward", MT_FW_NONE, 0,
         MT_PH_FORWARD, "B84", "B85"},
        {"/x/transformers/models/llama/modeling_llama.py", "forward", MT_FW_NONE, 0, MT_PH_FORWARD,
         "B85", "P01"},
    };
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    MT_ASSERT(r != NULL && out != NULL);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_trace *t = mt_trace_new();
        uint32_t n;
        MT_ASSERT(t != NULL);
        while (t->frames.n == 0)
            add_frame(t, "", ""); /* id 0 */
        add_frame(t, want[i].file, want[i].name);
        MT_ASSERT(mt_intern_functions(t));
        n = choose(r, t, want[i].main, MT_FW_NONE, want[i].flags, MT_PH_TRAIN_ACTOR, want[i].sub,
                   out);
        if (n_of(out, n, want[i].gone) != 0 || n_of(out, n, want[i].kept) != 1)
            printf("# case %d\n", (int)i);
        MT_CHECK_EQ(n_of(out, n, want[i].gone), 0);
        MT_CHECK_EQ(n_of(out, n, want[i].kept), 1);
        mt_trace_free(t);
    }
    free(out);
    mt_fix_rules_free(r);
}

static void forget(struct mt_analysis *a)
{
    for (uint32_t i = 0; i < a->advice.n; i++)
        mt_advice_done(&a->advice.p[i]);
    MT_VEC_DONE(&a->advice);
}

/* mt_advise: the bytes at the moment that matters decide between activations and gradients. */
MT_TEST(from_an_analysis)
{
    struct mt_fix_rules *r = load();
    struct mt_analysis a = {0};
    struct mt_device_analysis *d = MT_VEC_PUSH(&a.devices);
    struct mt_phase_row *row;
    struct mt_err err = {0};
    MT_ASSERT(r != NULL && d != NULL);
    a.fw.main = MT_FW_VERL;
    a.fw.fsdp2 = true;
    a.verdict.kind = MT_V_PEAK;
    a.verdict.phase = MT_PH_TRAIN_ACTOR;
    a.verdict.sub = MT_PH_BACKWARD;
    row = MT_VEC_PUSH(&d->phases);
    MT_ASSERT(row != NULL);
    *row = (struct mt_phase_row){.phase = MT_PH_TRAIN_ACTOR, .sub = MT_PH_FORWARD, .at_focus = 100};
    row = MT_VEC_PUSH(&d->phases);
    MT_ASSERT(row != NULL);
    *row = (struct mt_phase_row){.phase = MT_PH_TRAIN_ACTOR, .sub = MT_PH_BACKWARD, .at_focus = 40};

    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    MT_ASSERT(a.advice.n > 3);
    MT_CHECK_STR(a.advice.p[0].rule->id, "V12");
    forget(&a);

    row->at_focus = 400;
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    MT_ASSERT(a.advice.n > 3);
    MT_CHECK_STR(a.advice.p[0].rule->id, "B24");
    forget(&a);

    a.verdict.kind = MT_V_OOM_FRAGMENTATION;
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    MT_ASSERT(a.advice.n > 3);
    MT_CHECK_STR(a.advice.p[0].rule->id, "B01");
    forget(&a);

    a.verdict.kind = MT_V_EMPTY;
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    MT_CHECK_EQ(a.advice.n, 0);

    a.verdict.kind = MT_V_PEAK;
    mt_mem_fail_after(1);
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_ENOMEM);
    mt_mem_fail_after(0);
    MT_VEC_DONE(&d->phases);
    MT_VEC_DONE(&a.devices);
    mt_fix_rules_free(r);
    MT_CHECK_EQ(mt_mem_used(), 0);
}

MT_MAIN(MT_RUN(selection) MT_RUN(selection_invariants) MT_RUN(settings_already_on)
            MT_RUN(frames_that_rule_out) MT_RUN(from_an_analysis))
