/* Advice: the right rules for a verdict, in the right order, and none that the trace rules out. */
#include "analysis/advice/advice.h"
#include "analysis/metrics/metrics.h"
#include "parser/model/intern.h"
#include "tests/unit/mt_test.h"
#include "frameworks.h"

static struct mt_fix_rules *load(void)
{
    struct mt_fix_rules *r = NULL;
    struct mt_err err = {0};
    enum mt_rc rc = mt_fix_rules_load(&r, mt_test_frameworks(), NULL, 0, NULL, &err);
    MT_CHECK_EQ(rc, MT_OK);
    if (rc != MT_OK)
        printf("# %s\n", err.msg);
    return r;
}

enum { FSDP = 1, MCORE = 2, FRAG = 4, GRADS = 8, INFER = 16, HOST = 32 };

static uint32_t choose(const struct mt_fix_rules *r, const struct mt_trace *t, mt_fw main,
                       mt_fw engine, int flags, enum mt_phase phase, enum mt_phase sub,
                       struct mt_advice *out)
{
    struct mt_frameworks fw = {0};
    struct mt_advice_query q = {.rules = r, .trace = t, .fw = &fw, .phase = phase, .sub = sub};
    uint32_t n;
    MT_CHECK(t == NULL || mt_frameworks_detect(mt_test_frameworks(), t, &fw));
    fw.rules = mt_test_frameworks();
    fw.main = main;
    fw.engine = engine;
    mt_test_part(&fw, (flags & FSDP) != 0, (flags & MCORE) != 0);
    q.cause = (flags & HOST) != 0 ? MT_CAUSE_HOST : MT_CAUSE_NONE;
    MT_CHECK_EQ(mt_metrics_told(&q.metrics, mt_fix_rules_metrics(r), NULL, t, false), MT_OK);
    mt_metrics_place(q.metrics, q.phase, q.sub);
    mt_metrics_set(q.metrics, MT_METRIC_gradients_dominate, (flags & GRADS) != 0, MT_CONF_MARKED);
    mt_metrics_set(q.metrics, MT_METRIC_inference_only, (flags & INFER) != 0, MT_CONF_MARKED);
    if ((flags & FRAG) != 0)
        mt_metrics_set(q.metrics, MT_METRIC_fragmented, 1, MT_CONF_MARKED);
    n = mt_advice_select(&q, out);
    mt_metrics_free(q.metrics);
    for (uint32_t i = 0; n != UINT32_MAX && i < n;
         i++) /* which rules is what counts here, not their texts */
        mt_advice_done(&out[i]);
    return n;
}

/* Index of a card in the list, n when it is not there. "V01/up": that variant of V01; "V06": the
 * rule's own card; with `any`, any card of the rule. */
static uint32_t place(const struct mt_advice *a, uint32_t n, const char *word, bool any)
{
    char card[64];
    for (uint32_t i = 0; i < n; i++) {
        snprintf(card, sizeof card, "%s%s%s", a[i].rule->id, a[i].card->name[0] ? "/" : "",
                 a[i].card->name);
        if (strcmp(card, word) == 0 || (any && strcmp(a[i].rule->id, word) == 0))
            return i;
    }
    return n;
}

/* What has to hold for a list of advice, as words: "A B C": A stands before B, and B before C,
 * whatever stands between; "*A": A is also one of the three on top; "!A": no card of A is there.
 * One line for each word that does not hold. */
static void expect(const struct mt_advice *a, uint32_t n, const char *words)
{
    char text[256], *save = NULL, *before = NULL;
    uint32_t last = 0;
    snprintf(text, sizeof text, "%s", words);
    for (char *w = strtok_r(text, " ", &save); w != NULL; w = strtok_r(NULL, " ", &save)) {
        bool gone = *w == '!', top = *w == '*';
        uint32_t at = place(a, n, w + (gone || top), gone);
        mt_n_checks++;
        if (gone && at < n)
            MT_FAIL_AT("%s is offered", w + 1);
        if (gone)
            continue;
        if (at == n)
            MT_FAIL_AT("%s is not offered", w);
        else if (top && !a[at].is_top)
            MT_FAIL_AT("%s is not among the first three", w + 1);
        else if (before != NULL && at < last)
            MT_FAIL_AT("%s stands before %s", w, before);
        if (at < n) {
            last = at;
            before = w;
        }
    }
}

/* Pairs, not lists: a rule that is added may stand anywhere between. Each line has the three that
 * come first, what comes later for a reason of its own, and what must not be there. */
MT_TEST(selection)
{
    const struct {
        mt_fw main, engine;
        int flags;
        enum mt_phase phase, sub;
        const char *want;
    } want[] = {
        /* verl. Its Megatron rules are no advice under FSDP, nor FSDP's under Megatron. */
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_INIT, MT_PH_NONE, "*V01/down V34 V32 !V17"},
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_INIT, MT_PH_NONE, "*V01/down V34 V17 !V32"},
        /* a KV cache that found no room wants a larger share; vLLM's flags are not SGLang's */
        {FW(verl), FW(vllm), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "*V01/up V34 B14 B15 !B48"},
        {FW(verl), FW(sglang), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "*V01/up V34 B34 !B14 !B15"},
        {FW(verl), FW(sglang), 0, MT_PH_ROLLOUT_DECODE, MT_PH_NONE,
         "*V01/down *V02 V36 V35 B17 !V03 !B14 !B41 !B51"},
        {FW(verl), FW(vllm), 0, MT_PH_ROLLOUT_DECODE, MT_PH_NONE, "*V01/down *V02 V36 V35 V03"},
        {FW(verl), FW(vllm), 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "*V02 V03 V01/down !B19"},
        {FW(verl), FW(sglang), 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "*V02 B19 V01/down !V03"},
        /* each pass by keys of its own, before what merely fits (V05); the reference has no entropy
         * to compute (V25), the critic neither that nor a head over the vocabulary (B23) */
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_LOGP_OLD, MT_PH_LOGITS,
         "*V06/logp V09 V25 B23 V29 V05 !V17 !V20 !B100"},
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_LOGP_REF, MT_PH_FORWARD,
         "*V06/ref V09/ref B23 B100 V20 V05 !V22 !V23 !V25 !V29"},
        /* nothing tells of a backend: the usual one, FSDP (V20 is for Megatron) */
        {FW(verl), MT_FW_NONE, 0, MT_PH_VALUES, MT_PH_FORWARD,
         "*V06/values V09/values V30 !V20 !V25 !V29 !B23"},
        /* training: the actor's keys for the actor, the critic's for the critic; expandable
         * segments (B01) and what explains (B12) after all that makes less */
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOGITS,
         "*V06 B23 V26 B01 B12 !V07 !V08 !V14 !V30"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "*V12 V06 V04 V15 B01 B12 !V07 !V08 !V13 !V14 !V16 !V30"},
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_BACKWARD,
         "*V14 V06 V04 B100 B01 !V12 !V15 !V29 !V32 !B25"},
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_TRAIN_CRITIC, MT_PH_FORWARD,
         "*V14/critic V08 V07 !V13 !V16 !V30 !B100"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_CRITIC, MT_PH_FORWARD,
         "*V13 V08 V07 V16 V30 B01 !V04 !V06 !V12 !V15 !V29 !B23"},
        /* the SFT trainers have none of the actor's keys, nor its engine */
        {FW(verl_sft), MT_FW_NONE, FSDP, MT_PH_TRAIN, MT_PH_FORWARD,
         "*V12 V06 V04 V15 V29 !V05 !V07 !V25 !B34"},
        /* the tip that says why gradients are whole (B24) before what is to be set */
        {FW(verl), MT_FW_NONE, FSDP | GRADS, MT_PH_TRAIN_ACTOR, MT_PH_BACKWARD,
         "B24 *V33 B21 V12 !V14 !V24"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_GRAD_CLIP, "*V32 B06 B21 !V24 !B46"},
        /* states that appear in the first step (B07) are no setting: after them */
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER,
         "*V24 B32 B07 !B06 !B08 !B21"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER,
         "*B21 B08 B32 B06 B07 !V24"},
        {FW(verl), FW(vllm), FSDP, MT_PH_WEIGHT_SYNC, MT_PH_NONE,
         "*B22 V01/down V02 B13 !V17 !B36 !B48"},
        {FW(verl), MT_FW_NONE, MCORE, MT_PH_ROLLOUT_WAKE_SLEEP, MT_PH_NONE,
         "*V01/down V17 V19 B34 !V18 !V22"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_ONLOAD_OFFLOAD,
         "*V01/down V22 B34 !V17 !V19 !V21"},
        {FW(verl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_COMM, "*B04 B10 V01/down B03 !B36"},
        /* fragmentation's row before the phase's; B02 is for runs that cannot have B01 */
        {FW(verl), MT_FW_NONE, FSDP | FRAG, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "*B01 V05 B04 V12 V06 !B02"},
        {FW(verl), MT_FW_NONE, 0, MT_PH_CKPT_SAVE, MT_PH_NONE, "*V01/down B04 B33 !B64 !B84"},
        {FW(verl), MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_NONE,
         "*V06 *V04 *V01/down P06 B39 !V43 !V44"},
        /* that of another machine (V39) is no advice; the second allocator is only a tip */
        {FW(verl), MT_FW_NONE, HOST, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "*V37 *V40 *V42 V41 V38 !V39 !V06 !V12"},
        /* AReaL: what is Archon's (A14, A16) is no advice under FSDP */
        {FW(areal), MT_FW_NONE, FSDP, MT_PH_INIT, MT_PH_NONE, "*A06/down A21 A01 B33 !A14"},
        {FW(areal), FW(sglang), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE,
         "*A06/up A09 B33 !B34 !A26 !A27 !B14"},
        {FW(areal), FW(sglang), 0, MT_PH_ROLLOUT_PREFILL, MT_PH_NONE,
         "*A05 A09 A06/down B17 B18 A02 !A27"},
        {FW(areal), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOSS,
         "*A04 A11 A12 A13 !A14 !A16 !A28"},
        /* nothing is kept for a backward (A11) */
        {FW(areal), MT_FW_NONE, FSDP, MT_PH_LOGP, MT_PH_FORWARD, "*A04 A12 A02 !A11"},
        {FW(areal), MT_FW_NONE, FSDP | GRADS, MT_PH_TRAIN, MT_PH_BACKWARD,
         "*B28/reshard A17 A01 !A14"},
        {FW(areal), MT_FW_NONE, FSDP, MT_PH_TRAIN, MT_PH_OPTIMIZER, "*A18 A17 B07 A20 !B06 !A14"},
        {FW(areal), MT_FW_NONE, 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "*A22 A23 A24 B36 !A30 !B28"},
        {FW(areal), MT_FW_NONE, FRAG, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "*B01 *B28/pad B04 A22 !B02"},
        /* Relax, slime and bare Megatron share a column, but not every flag: X19 is Relax's alone,
         * bare Megatron has neither the budget (X09) nor the packing (X11) of both */
        {FW(relax), MT_FW_NONE, MCORE, MT_PH_INIT, MT_PH_NONE, "*X20/down B46 B50 X01 B27"},
        {FW(relax), MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_LOSS, "*X16 *X11 X09 X08 X12"},
        {FW(relax), MT_FW_NONE, MCORE, MT_PH_TRAIN_ACTOR, MT_PH_FORWARD,
         "*X08 X11 X09 X15 X13 X12 B94 B26 B27 !X10 !X16 !V12"},
        {FW(slime), MT_FW_NONE, MCORE, MT_PH_LOGP, MT_PH_NONE, "*X10 X16 X09 !X08 !X11"},
        {FW(slime), FW(sglang), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE,
         "*X20/up B33 !B34 !B14 !P08"},
        {FW(relax), MT_FW_NONE, 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "*X17 X20/down B36 !B22"},
        {FW(relax), MT_FW_NONE, 0, MT_PH_ONLOAD_OFFLOAD, MT_PH_NONE, "*X20/down X19 B04 !B34"},
        {FW(slime), MT_FW_NONE, 0, MT_PH_ONLOAD_OFFLOAD, MT_PH_NONE, "*X20/down B04 !B34 !X19"},
        {FW(relax), MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_COMM, "*X06 X02 X19/up B04 B36 B03"},
        {FW(slime), MT_FW_NONE, MCORE, MT_PH_TRAIN, MT_PH_OPTIMIZER, "*X13 X14 B26 B07 !B06"},
        {FW(megatron), MT_FW_NONE, MCORE, MT_PH_TRAIN, MT_PH_FORWARD,
         "*X08 X12 B26 B27 B01 !X09 !X11 !X15"},
        {FW(relax), MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_COMM, "*B02 B04 X06 X19/up !B01 !B45"},
        /* the others: their own keys before PyTorch's, and no keys of one another or of the engine
         * that they start */
        {FW(openrlhf), MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "*B30 *B44 B01 !B31 !P01"},
        {FW(trl), MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_LOSS, "*B31 B09 B01 !B44 !B30 !P02"},
        {FW(nemorl), FW(vllm), 0, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "*B29 B33 !B41 !P08"},
        {FW(skyrl), FW(vllm), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE, "*B52 B34 B33 !B14 !P08"},
        {FW(roll), FW(sglang), 0, MT_PH_WEIGHT_SYNC, MT_PH_NONE, "*B53 B33 !B48 !P08"},
        {FW(prime_rl), MT_FW_NONE, FSDP, MT_PH_TRAIN_ACTOR, MT_PH_LOSS, "*B54 B01 B33 !P02"},
        {FW(swift), MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "*B55 B01 !B44 !B31 !P01"},
        /* no framework: plain PyTorch only; P04 where a recording or something recomputed speaks
           for it */
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_FORWARD, "*P01 P02 B01 !P04 !B44 !P05 !P09"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_BACKWARD,
         "*P01 P02 B01 !P04 !P05 !P09"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_UNATTRIBUTED, MT_PH_OPTIMIZER, "*B06 B08 P03 B07 !P01"},
        /* nothing is trained: no backward to save for, no gradients to accumulate */
        {MT_FW_NONE, MT_FW_NONE, INFER, MT_PH_UNATTRIBUTED, MT_PH_FORWARD,
         "*P09 P10 P05 P11 !P01 !P02 !P04"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_LOGP, MT_PH_FORWARD, "*P09 P10 P05 P11 !P01 !P02 !P04"},
        {MT_FW_NONE, MT_FW_NONE, 0, MT_PH_ROLLOUT_GENERATE, MT_PH_FORWARD,
         "*P09 P05 P11 !P01 !P10 !P08"},
        {MT_FW_NONE, MT_FW_NONE, FRAG, MT_PH_TRAIN, MT_PH_LOSS, "*B01 B04 P02 P01 !B02"},
        {FW(transformers), MT_FW_NONE, 0, MT_PH_TRAIN, MT_PH_LOSS, "*P02 B09 P01 B01 !P04 !B31"},
        /* an engine by itself, with its own flags */
        {MT_FW_NONE, FW(vllm), 0, MT_PH_ROLLOUT_KV_ALLOC, MT_PH_NONE,
         "*P08/down *B15/bytes *B14 !P16 !B48 !V01"},
        {MT_FW_NONE, FW(sglang), 0, MT_PH_ROLLOUT_DECODE, MT_PH_NONE,
         "*P05 *P08/down *B17 !B49 !B14 !B41 !B51"},
    };
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    MT_ASSERT(r != NULL && out != NULL);
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        int failed = mt_n_failed;
        uint32_t n = choose(r, NULL, want[i].main, want[i].engine, want[i].flags, want[i].phase,
                            want[i].sub, out);
        expect(out, n, want[i].want);
        if (mt_n_failed == failed)
            continue;
        printf("# case %d, \"%s\", has:", (int)i, want[i].want);
        for (uint32_t k = 0; k < n; k++)
            printf(" %s%s%s%s", out[k].is_top ? "*" : "", out[k].rule->id,
                   out[k].card->name[0] ? "/" : "", out[k].card->name);
        printf("\n");
    }
    free(out);
    mt_fix_rules_free(r);
}

/* On top are the first three settings that stand in a row of order.json, and what merely fits
 * comes after the rows. Rules about leaks stand in rows without the right to the top. */
static uint32_t wrong_places(const struct mt_advice *a, uint32_t n)
{
    uint32_t bad = 0, settings = 0;
    bool rest = false;
    for (uint32_t i = 0; i < n; i++) {
        bool may = a[i].in_row && !a[i].is_filler && a[i].rule->kind == MT_FIX_SETTING;
        bad += a[i].in_row && rest;
        bad += a[i].is_top != (may && settings < 3);
        settings += may;
        rest = rest || (!a[i].in_row && (a[i].rule->phases & 1u << MT_FIX_LEAK) == 0);
    }
    return bad;
}

/* Whatever the verdict: no rule twice, nothing withheld, at most three on top, no framework's rule
 * for another framework's job. */
MT_TEST(selection_invariants)
{
    struct mt_fix_rules *r = load();
    struct mt_advice *out = calloc(400, sizeof *out);
    uint64_t n_advice = 0;
    MT_ASSERT(r != NULL && out != NULL);
    for (int main = 0; main < mt_framework_count(mt_test_frameworks()); main++) {
        for (int phase = 0; phase < MT_PH_COUNT; phase++) {
            for (int sub = (main + phase) % (int)MT_TEST_STRIDE; sub < MT_PH_COUNT;
                 sub += (int)MT_TEST_STRIDE) {
                uint32_t n, top = 0, bad;
                if (mt_phase_is((unsigned)phase, MT_COARSE) ==
                    mt_phase_is((unsigned)sub, MT_COARSE))
                    continue;
                n = choose(r, NULL, (mt_fw)main, (sub & 1) != 0 ? FW(vllm) : MT_FW_NONE,
                           sub & (FSDP | FRAG), (enum mt_phase)phase, (enum mt_phase)sub, out);
                bad = wrong_places(out, n);
                for (uint32_t i = 0; i < n; i++) {
                    const struct mt_fix_rule *rule = out[i].rule;
                    uint64_t who = mt_framework_kind(mt_test_frameworks(), MT_FWK_LIBRARY) |
                                   1ull << FW(vllm) | (main > 0 ? 1ull << main : 0);
                    top += out[i].is_top;
                    bad += !rule->offered || (rule->frameworks & who) == 0;
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
    const struct {
        const char *file, *name;
        mt_fw main;
        int flags;
        enum mt_phase sub;
        const char *gone, *kept;
    } want[] = {
        {"/usr/lib/python3/site-packages/torch/utils/checkpoint.py", "checkpoint", FW(verl), FSDP,
         MT_PH_FORWARD, "V12", "V06"},
        {"C:\\py\\torch\\utils\\checkpoint.py", "checkpoint", FW(verl), FSDP, MT_PH_FORWARD, "V12",
         "V06"},
        {"/mine/mytorch/utils/checkpoint.py", "checkpoint", FW(verl), FSDP, MT_PH_FORWARD, "V14",
         "V12"},
        {"megatron/core/tensor_parallel/random.py", "checkpoint", FW(slime), MCORE, MT_PH_FORWARD,
         "X08", "X09"},
        {"megatron/core/tensor_parallel/random.py", "fork", FW(slime), MCORE, MT_PH_FORWARD, "B23",
         "X08"},
        {"/x/torch_memory_saver/entrypoint.py", "region", MT_FW_NONE, FRAG, MT_PH_FORWARD, "B01",
         "B02"},
        {"/x/torch_memory_saver.py", "region", MT_FW_NONE, FRAG, MT_PH_FORWARD, "B02", "B01"},
        {"/x/torch/distributed/fsdp/_fully_shard/_fsdp_param.py", "unshard", FW(verl), FSDP,
         MT_PH_GRAD_CLIP, "V32", "B06"},
        {"/x/torch/distributed/fsdp/_flat_param.py", "unshard", FW(verl), FSDP, MT_PH_GRAD_CLIP,
         "V12", "V32"},
        {"/x/areal/experimental/engine/archon_engine.py", "train_batch", FW(areal), 0,
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
    a.fw.main = FW(verl);
    mt_test_part(&a.fw, true, false);
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
    expect(a.advice.p, a.advice.n, "*V12 V06 B25 !B24");
    forget(&a);

    row->at_focus = 400;
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    expect(a.advice.p, a.advice.n, "B24 *V33 B21 V12");
    forget(&a);

    a.verdict.kind = MT_V_OOM_FRAGMENTATION;
    MT_CHECK_EQ(mt_advise(&a, r, NULL, &err), MT_OK);
    expect(a.advice.p, a.advice.n, "*B01 V05 B04 V12 !B02");
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
    mt_test_free_frameworks();
    MT_CHECK_EQ(mt_mem_used(), 0);
}

/* What is on by default stands behind the rest, keeps its order, and leaves its place in the three.
 */
MT_TEST(usual_settings_last)
{
    static const struct mt_fix_rule rule = {.id = "x", .group = "", .kind = MT_FIX_SETTING};
    static const bool usual[] = {true, false, true, false, false};
    struct mt_advice list[5];
    memset(list, 0, sizeof list);
    for (uint32_t i = 0; i < 5; i++) {
        list[i].rule = &rule;
        list[i].lines = i;
        list[i].in_row = true;
        list[i].is_late = usual[i];
        list[i].is_top = i < 3;
    }
    mt_advice_late_last(list, 0, 5);
    {
        static const uint64_t order[] = {1, 3, 4, 0, 2};
        for (uint32_t i = 0; i < 5; i++) {
            MT_CHECK_EQ(list[i].lines, order[i]);
            MT_CHECK_EQ(list[i].is_top, i < 3);
        }
    }
}

MT_MAIN(MT_RUN(usual_settings_last) MT_RUN(selection) MT_RUN(selection_invariants)
            MT_RUN(settings_already_on) MT_RUN(frames_that_rule_out) MT_RUN(from_an_analysis))
