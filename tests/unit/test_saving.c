/* What a rule would change and save: metrics, proposals, suppression by settings, order, and
 * several rules together. */
#include "analysis/cause/cause.h"
#include "parser/model/intern.h"
#include "tests/unit/advice_bench.h"
#include "analysis/advice/lines.h"
#include "analysis/setup/keys.h"
#include "frameworks.h"

static void micro(struct bench *b, uint64_t tokens, uint64_t peak)
{
    struct mt_micro *m = MT_VEC_PUSH(&b->d->roles.micros);
    MT_ASSERT(m != NULL);
    *m = (struct mt_micro){
        .has_backward = true, .phase = MT_PH_TRAIN_ACTOR, .tokens_bytes = tokens, .peak = peak};
}

MT_TEST(metrics)
{
    struct bench b;
    struct mt_metric_names names, none = {NULL, NULL};
    setup(&b,
          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 "
          "actor_rollout_ref.rollout.enforce_eager=True",
          NULL);
    names = (struct mt_metric_names){b.conf, mt_fix_rules_metrics(b.rules)};
    role(&b, MT_ROLE_PARAM, 4 * GIB);
    role(&b, MT_ROLE_OPTIM_STATE, 8 * GIB);
    role(&b, MT_ROLE_ACTIVATION, 20 * GIB);
    role(&b, MT_ROLE_LOGITS, 10 * GIB);
    role(&b, MT_ROLE_TEMP, GIB);
    b.d->roles.peak[MT_ROLE_LOGITS] = 11 * GIB;
    b.d->roles.life_at_focus[MT_LIFE_MICRO] = 5 * GIB;
    b.d->roles.vocab = 151936;
    b.d->roles.vocab_split = 2;
    b.d->roles.logits_tokens = 8192;
    b.d->roles.logits_elem = 2;
    MT_CHECK_EQ(metric(&b, "live"), 43 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "role.logits"), 10 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "peak.logits"), 11 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "life.micro_batch"), 5 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "setting.tokens_per_gpu"), 16384);
    MT_CHECK_EQ(metric(&b, "setting.enforce_eager"), 1);
    /* verl's own default: the keys that are set show verl */
    MT_CHECK_EQ(metric(&b, "setting.lora_rank"), 0);
    MT_CHECK_EQ(metric(&b, "setting.heads"), -1);
    MT_CHECK_EQ(metric(&b, "token_bytes"), 31 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "token_ratio") * 100, 50);
    MT_CHECK_EQ(metric(&b, "tokens"), 8192);
    MT_CHECK_EQ(metric(&b, "logits_bytes"), 8192.0 * 75968 * 2);
    MT_CHECK_EQ(metric(&b, "expected_logits"), 8192.0 * 75968 * 10);
    MT_CHECK_EQ(metric(&b, "optimizer_per_param_byte"), 2);
    MT_CHECK_EQ(metric(&b, "optimizer_bytes_per_param"), 8); /* fp32, verl's default */
    MT_CHECK_EQ(metric(&b, "in_training"), 1);
    MT_CHECK_EQ(metric(&b, "in_backward"), 1);
    MT_CHECK_EQ(metric(&b, "in_rollout"), 0);
    MT_CHECK_EQ(metric(&b, "request"), -1);
    MT_CHECK_EQ(metric(&b, "capacity"), -1);
    MT_CHECK_EQ(metric(&b, "no_such_metric"), -1);
    MT_CHECK(!mt_metric_exists(&names, "no_such_metric", 14));
    MT_CHECK(!mt_metric_exists(&names, "setting.nonsense", 16));
    MT_CHECK(!mt_metric_exists(&none, "setting.vocab", 13));
    MT_CHECK(mt_metric_exists(&names, "setting.vocab", 13) &&
             mt_metric_exists(&names, "role.kv_cache", 13));
    MT_CHECK(mt_metric_exists(&names, "runs_sft", 8) && !mt_metric_exists(&none, "runs_sft", 8));

    fail(&b, 4 * GIB, GIB);
    b.d->focus.free_usable = GIB / 2;
    b.d->capacity = 60 * GIB;
    MT_CHECK_EQ(metric(&b, "shortfall"), 2.5 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "foreign"), 15 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "token_request"), 4 * (double)GIB);
    MT_CHECK_EQ(metric(&b, "optim_request"), 0);
    b.a.verdict.sub = MT_PH_OPTIMIZER;
    MT_CHECK_EQ(metric(&b, "token_request"), 0);
    MT_CHECK_EQ(metric(&b, "optim_request"), 4 * (double)GIB);
    /* temporaries of the optimizer are no activations */
    MT_CHECK_EQ(metric(&b, "token_bytes"), 30 * (double)GIB);
    teardown(&b);
}

/* peak = 1 GiB + 3 bytes per byte of the block that tells the tokens */
MT_TEST(fit_over_micro_batches)
{
    struct bench b;
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 8 * GIB);
    MT_CHECK_EQ(metric(&b, "fit_slope"), -1);
    for (uint64_t i = 1; i <= 4; i++)
        micro(&b, i * 100 * MIB, GIB + 3 * i * 100 * MIB);
    MT_CHECK_EQ(metric(&b, "fit_slope") * 1000 + 0.5, 3000);
    MT_CHECK_EQ(metric(&b, "fit_bytes") / (double)MIB + 0.5, 1200);
    MT_CHECK_EQ(metric(&b, "batch_spread"), 4);
    MT_CHECK_EQ(metric(&b, "micro_batches"), 4);
    teardown(&b);
}

MT_TEST(numbers_of_settings)
{
    const struct {
        const char *text;
        double v;
    } want[] = {{"16384", 16384}, {"0.45", 0.45}, {"-1", -1},    {"True", 1},  {"false", 0},
                {"", 1},          {"full", 1},    {"null", -77}, {"1e5", -77}, {"12x", -77},
                {"-", -77},       {".", -77},     {"on", 1}};
    for (size_t i = 0; i < sizeof want / sizeof want[0]; i++) {
        struct mt_value v = mt_setting_number(want[i].text);
        double got = v.known ? v.v : -77;
        mt_n_checks++;
        if (got < want[i].v - 1e-9 || got > want[i].v + 1e-9)
            MT_FAIL_AT("\"%s\": %g, not %g", want[i].text, got, want[i].v);
    }
    MT_CHECK(!mt_setting_number(NULL).known);
}

/* The tokens that were there, halved; never below one sequence; nothing where the run is there
 * already. */
MT_TEST(token_budget)
{
    struct bench b;
    const struct mt_advice *v;
    setup(&b, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    role(&b, MT_ROLE_PARAM, 4 * GIB);
    v = advise(&b, "V06");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->proposed, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192");
    MT_CHECK_STR(v->proposed_value, "8192");
    MT_CHECK_STR(mt_advice_line(v, 0), v->proposed);
    MT_CHECK_HAS(v->current, "ppo_max_token_len_per_gpu: 16384 (--args");
    MT_CHECK(v->saving.known && v->saving.bytes == 8 * GIB && v->saving.low < v->saving.bytes &&
             v->saving.high > v->saving.bytes);
    teardown(&b);

    setup(&b,
          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384 data.max_prompt_length=4096 "
          "data.max_response_length=8192",
          NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    v = advise(&b, "V06");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->proposed_value, "12288");
    MT_CHECK_EQ(v->saving.bytes, 4 * GIB);
    teardown(&b);

    setup(&b,
          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=12288 data.max_prompt_length=4096 "
          "data.max_response_length=8192",
          NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V06") == NULL);
    teardown(&b);

    /* the budget is per GPU: a sequence that two of them divide fits into half of it */
    setup(&b,
          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=12288 data.max_prompt_length=4096 "
          "data.max_response_length=8192 "
          "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2",
          NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    v = advise(&b, "V06");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->proposed_value, "6144");
    teardown(&b);

    /* the failed request shrinks with the tokens: just enough of them */
    setup(&b, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    fail(&b, 4 * GIB, 3 * GIB);
    v = advise(&b, "V06");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(strtol(v->proposed_value, NULL, 10) / 256 * 256,
                strtol(v->proposed_value, NULL, 10));
    MT_CHECK(strtol(v->proposed_value, NULL, 10) >= 14336 &&
             strtol(v->proposed_value, NULL, 10) <= 14848); /* 1 - 1.8 / 20 = 0.91, at most 0.9 */
    MT_CHECK(b.a.combined.fits_known && b.a.combined.fits);
    teardown(&b);
}

static enum mt_settled_why settled(const struct bench *b, const char *id)
{
    for (uint32_t i = 0; i < b->a.advice.settled.n; i++)
        if (strcmp(b->a.advice.settled.p[i].rule->id, id) == 0)
            return b->a.advice.settled.p[i].why;
    return MT_SETTLED_NOT;
}

/* On already, by the run or by default: never typed again. */
MT_TEST(settings_suppress)
{
    struct bench b;
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V12") != NULL);
    teardown(&b);
    setup(&b, "actor_rollout_ref.model.enable_gradient_checkpointing=True", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V12") == NULL);
    MT_CHECK(advise(&b, "V15") != NULL);
    teardown(&b);
    /* verl: checkpointing is on by default: nothing to type, but the trace contradicts it */
    setup(&b, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=8192", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V12") == NULL);
    MT_CHECK_EQ(settled(&b, "V12"), MT_SETTLED_FINDING);
    teardown(&b);
    /* what another setting makes pointless */
    setup(&b, "actor_rollout_ref.actor.use_dynamic_bsz=True", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V04") == NULL && advise(&b, "V05") == NULL && advise(&b, "V06") != NULL);
    teardown(&b);
    setup(&b, "actor_rollout_ref.actor.use_dynamic_bsz=False", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    MT_CHECK(advise(&b, "V04") != NULL && advise(&b, "V06") == NULL);
    teardown(&b);
}

/* verl's engine is kept awake by a setting: its sleep, or a smaller share (B101); not where it has
 * GPUs of its own. SGLang and vLLM mean different things by that share. */
MT_TEST(engine_kept_awake)
{
#define AWAKE                                                                                      \
    "actor_rollout_ref.rollout.free_cache_engine=False "                                           \
    "actor_rollout_ref.rollout.gpu_memory_utilization=0.85 "
    static const struct {
        const char *args, *proposed, *says;
    } want[] = {
        {AWAKE, "actor_rollout_ref.rollout.gpu_memory_utilization=0.8", "vLLM: a share of the"},
        {AWAKE "actor_rollout_ref.rollout.name=sglang",
         "actor_rollout_ref.rollout.gpu_memory_utilization=0.8", "SGLang: a share of what is free"},
        {AWAKE "rollout.nnodes=1", NULL, NULL},
        {"actor_rollout_ref.rollout.gpu_memory_utilization=0.85", NULL, NULL},
        {NULL, NULL, NULL},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct bench b;
        const struct mt_advice *v;
        setup(&b, want[i].args, NULL);
        role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
        v = advise(&b, "B101");
        MT_CHECK_EQ(v != NULL, want[i].proposed != NULL);
        if (v != NULL && want[i].proposed != NULL) {
            MT_CHECK_STR(v->proposed, want[i].proposed);
            MT_CHECK_HAS(v->card->set[v->proposed_line].note, want[i].says);
        }
        teardown(&b);
    }
#undef AWAKE
}

/* Offloading between phases does nothing inside one. */
MT_TEST(between_phases_and_inside)
{
    struct bench b;
    const struct mt_advice *v;
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_PARAM, 4 * GIB);
    role(&b, MT_ROLE_OPTIM_STATE, 8 * GIB);
    role(&b, MT_ROLE_KV_CACHE, 10 * GIB);
    MT_CHECK(advise(&b, "V22") == NULL);
    MT_CHECK(advise(&b, "B21") != NULL);
    v = advise(&b, "B34");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(v->saving.bytes, 10 * GIB);
    b.a.verdict.phase = MT_PH_ROLLOUT_GENERATE;
    b.a.verdict.sub = MT_PH_NONE;
    v = advise(&b, "V22");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(v->saving.bytes, 12 * GIB);
    MT_CHECK(advise(&b, "B21") == NULL && advise(&b, "B34") == NULL);
    b.a.verdict.phase = MT_PH_LOGP_OLD; /* the parameters are needed there */
    v = advise(&b, "V22");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(v->saving.bytes, 8 * GIB);
    teardown(&b);
}

/* Rules that shrink the same do not add up, and each finds only what the one before it left. */
MT_TEST(together)
{
    static const char one_number[] = "{\"schema_version\": 1, \"fixes\": [{\"id\": \"mine\", "
                                     "\"framework\": [\"verl\"], \"kind\": \"setting\", "
                                     "\"phases\": [\"forward_backward\"], \"title\": \"t\", "
                                     "\"why\": \"w\", \"set\": [{\"syntax\": \"hydra\", "
                                     "\"key\": \"k\", \"value\": \"1\"}], \"when\": \"live > 0\", "
                                     "\"saving\": {\"bytes\": \"4G\", \"low\": \"4G\", "
                                     "\"high\": \"4G\", \"confidence\": \"high\", \"from\": "
                                     "[\"unknown\"]}, \"constraints\": \"none\", \"cost\": "
                                     "\"none\", \"source\": \"s\", \"status\": \"DOC\"}]}";
    struct bench b;
    uint64_t sum = 0, n = 0;
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    role(&b, MT_ROLE_LOGITS, 4 * GIB);
    role(&b, MT_ROLE_PARAM, 2 * GIB);
    (void)advise(&b, "");
    for (uint32_t i = 0; i < b.a.advice.n; i++) {
        if (b.a.advice.p[i].is_top && b.a.advice.p[i].saving.known) {
            sum += b.a.advice.p[i].saving.bytes;
            n++;
        }
    }
    MT_CHECK_EQ(n, b.a.combined.n);
    MT_CHECK(n > 1 && b.a.combined.saving.known);
    MT_CHECK(b.a.combined.saving.bytes < sum && b.a.combined.saving.bytes <= 22 * GIB);
    MT_CHECK(!b.a.combined.fits_known);
    fail(&b, 4 * GIB, GIB); /* where one is enough, one is to be changed */
    (void)advise(&b, "");
    n = 0;
    for (uint32_t i = 0; i < b.a.advice.n; i++)
        n += b.a.advice.p[i].is_top;
    MT_CHECK_EQ(n, 1);
    MT_CHECK(b.a.combined.n == 1 && b.a.combined.fits_known && b.a.combined.fits);
    MT_CHECK(b.a.advice.p[0].is_top && b.a.advice.p[0].fits_known && b.a.advice.p[0].lacking == 0);
    MT_CHECK_HAS(b.a.combined.sentence, "the failed request of 4.00 GiB would have fitted");
    MT_CHECK_HAS(b.a.combined.sentence, " less than the 26.00 GiB needed at this moment (");
    teardown(&b);

    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 2 * GIB);
    role(&b, MT_ROLE_BEFORE, 10 * GIB);
    fail(&b, 64 * GIB, GIB);
    b.a.verdict.sub = MT_PH_OPTIM_STATE_INIT;
    (void)advise(&b, "");
    MT_CHECK(b.a.combined.fits_known && !b.a.combined.fits);
    MT_CHECK_HAS(b.a.combined.sentence, "would not have fitted");
    teardown(&b);

    setup(&b, NULL, one_number); /* a range of one number is no range */
    role(&b, MT_ROLE_UNKNOWN, 10 * GIB);
    MT_CHECK(advise(&b, "mine") != NULL);
    MT_CHECK_EQ(b.a.combined.saving.low, 4 * GIB);
    MT_CHECK_EQ(b.a.combined.saving.high, 4 * GIB);
    MT_CHECK_STR(b.a.combined.sentence,
                 "With this setting: about 4.00 GiB less than the 10.00 GiB live at this moment.");
    teardown(&b);

    setup(&b, NULL, NULL); /* what has no figure is not counted among those that have */
    b.a.fw.main = FW(areal);
    b.a.verdict.phase = MT_PH_ROLLOUT_GENERATE;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_ENGINE_WEIGHTS, 8 * GIB);
    (void)advise(&b, "");
    n = 0;
    for (uint32_t i = 0; i < b.a.advice.n; i++)
        n += b.a.advice.p[i].is_top;
    MT_CHECK_EQ(n, 3);
    MT_CHECK_EQ(b.a.combined.n, 1);
    MT_CHECK_HAS(b.a.combined.sentence,
                 "With the one of these settings that has a figure: about 4.00 GiB less");
    teardown(&b);

    setup(&b, NULL, NULL); /* nothing that saves: nothing is said */
    role(&b, MT_ROLE_UNKNOWN, 10 * GIB);
    (void)advise(&b, "");
    MT_CHECK(!b.a.combined.saving.known);
    MT_CHECK_STR(b.a.combined.sentence, "");
    teardown(&b);
}

/* 0.18 of 10 GiB, times 100, divided by 18: in binary fractions a little less than 10 GiB. */
MT_TEST(a_saving_is_the_nearest_whole_number)
{
    static const char text[] = "{\"schema_version\": 1, \"fixes\": [{\"id\": \"mine\", "
                               "\"framework\": [\"verl\"], \"kind\": \"setting\", "
                               "\"phases\": [\"forward_backward\"], \"title\": \"t\", "
                               "\"why\": \"w\", \"set\": [{\"syntax\": \"hydra\", "
                               "\"key\": \"k\", \"value\": \"1\"}], \"when\": \"live > 0\", "
                               "\"saving\": {\"bytes\": \"live * 0.18 * 100 / 18\", "
                               "\"confidence\": \"high\", \"from\": [\"unknown\"]}, "
                               "\"constraints\": \"none\", \"cost\": \"none\", "
                               "\"source\": \"s\", \"status\": \"DOC\"}]}";
    struct bench b;
    const struct mt_advice *v;
    setup(&b, NULL, text);
    role(&b, MT_ROLE_UNKNOWN, 10 * GIB);
    v = advise(&b, "mine");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(v->saving.bytes, 10 * GIB);
    teardown(&b);
}

/* Without a failed request another moment of the phase may become the highest: it is that far that
 * a change saves. */
MT_TEST(next_peak_is_the_bound)
{
    struct bench b;
    const struct mt_advice *v;
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    role(&b, MT_ROLE_PARAM, 4 * GIB);
    b.d->curve.n = 2;
    b.d->curve.phase = mt_calloc(2, 1);
    b.d->curve.bytes = mt_calloc(2 * MT_ROLE_COUNT, sizeof *b.d->curve.bytes);
    b.d->curve.high = mt_calloc(2, sizeof *b.d->curve.high);
    MT_ASSERT(b.d->curve.phase != NULL && b.d->curve.bytes != NULL && b.d->curve.high != NULL);
    b.d->curve.phase[0] = b.d->curve.phase[1] = MT_PH_TRAIN_ACTOR;
    /* in order of time: the lower one first */
    b.d->curve.bytes[MT_ROLE_OPTIM_TEMP] = 12 * GIB;
    b.d->curve.bytes[MT_ROLE_PARAM] = 4 * GIB;
    b.d->curve.bytes[MT_ROLE_COUNT + MT_ROLE_ACTIVATION] = 16 * GIB;
    b.d->curve.bytes[MT_ROLE_COUNT + MT_ROLE_PARAM] = 4 * GIB;
    mt_role_curve_sort(&b.d->curve);
    v = advise(&b, "V12");
    MT_ASSERT(v != NULL);
    MT_CHECK_EQ(v->saving.bytes, 4 * GIB);
    b.d->curve.phase[0] = MT_PH_WEIGHT_SYNC; /* another phase has a peak of its own */
    mt_role_curve_sort(&b.d->curve);
    v = advise(&b, "V12");
    MT_ASSERT(v != NULL);
    MT_CHECK(v->saving.bytes > 13 * GIB);
    teardown(&b);
}

static struct mt_advice entry(const struct mt_fix_rule *r, uint64_t bytes)
{
    struct mt_advice a = {.rule = r, .card = &r->card, .in_row = true};
    a.saving.known = bytes != 0;
    a.saving.bytes = bytes;
    return a;
}

MT_TEST(order)
{
    struct bench b;
    struct mt_advice list[5];
    const char *want[] = {"V15", "V12", "B25", "V06", "V29"};
    setup(&b, NULL, NULL);
    list[0] = entry(mt_fix_rule_find(b.rules, "V06"), 50);
    list[1] = entry(mt_fix_rule_find(b.rules, "V15"), 95);
    list[2] = entry(mt_fix_rule_find(b.rules, "B25"), 0);   /* keeps its place */
    list[3] = entry(mt_fix_rule_find(b.rules, "V12"), 100); /* a tie: the one that stood first */
    list[4] = entry(mt_fix_rule_find(b.rules, "V29"), 10);
    mt_advice_rank(list, 0, 5);
    for (int i = 0; i < 5; i++)
        MT_CHECK_STR(list[i].rule->id, want[i]);
    mt_advice_mark_top(list, 5);
    MT_CHECK(list[0].is_top && list[1].is_top && list[2].is_top && !list[3].is_top);
    /* two ways to cut the same count once */
    list[0] = entry(mt_fix_rule_find(b.rules, "V06"), 50);
    list[1] = entry(mt_fix_rule_find(b.rules, "V04"), 49);
    list[2] = entry(mt_fix_rule_find(b.rules, "V12"), 40);
    mt_advice_mark_top(list, 3);
    MT_CHECK(list[0].is_top && !list[1].is_top && list[2].is_top);
    /* of formulas without their numbers one is named; the next gives way to a rule with a figure,
     * not to an empty place */
    list[0] = entry(mt_fix_rule_find(b.rules, "V34"), 0);
    list[1] = entry(mt_fix_rule_find(b.rules, "V36"), 0);
    list[2] = entry(mt_fix_rule_find(b.rules, "V12"), 40);
    list[3] = entry(mt_fix_rule_find(b.rules, "V29"), 30);
    mt_advice_mark_top(list, 4);
    MT_CHECK(list[0].is_top && !list[1].is_top && list[2].is_top && list[3].is_top);
    mt_advice_mark_top(list, 3);
    MT_CHECK(list[0].is_top && list[1].is_top && list[2].is_top);
    teardown(&b);
}

static mt_stack_id add_stack(struct mt_trace *t, const char *name)
{
    struct mt_frame *f = MT_VEC_PUSH(&t->frames);
    struct mt_stack_node *s = MT_VEC_PUSH(&t->stacks);
    if (f == NULL || s == NULL)
        abort();
    f->file = mt_strpool_add(&t->str, "verl/utils/torch_functional.py", 30);
    f->name = mt_strpool_add(&t->str, name, strlen(name));
    *s = (struct mt_stack_node){.frame = t->frames.n - 1};
    return t->stacks.n - 1;
}

/* The entropy can be recomputed only where training computes it: its bytes are there, its request
 * failed, or the run is set so. */
MT_TEST(entropy_in_training)
{
    static const struct {
        const char *function, *args;
        enum mt_phase phase;
        bool failed, offered;
    } of[] = {
        {"entropy_from_logits", NULL, MT_PH_TRAIN_ACTOR, false, true},
        {"entropy_from_logits", NULL, MT_PH_TRAIN_ACTOR, true, true},
        {"entropy_from_logits", NULL, MT_PH_LOGP_OLD, false, false},
        {"cross_entropy", NULL, MT_PH_TRAIN_ACTOR, false, false},
        {"gather_logprobs_entropy", NULL, MT_PH_TRAIN_ACTOR, true, false},
        {"logprobs_from_logits", NULL, MT_PH_TRAIN_ACTOR, false, false},
        {"logprobs_from_logits", "actor_rollout_ref.actor.entropy_coeff=0.001", MT_PH_TRAIN_ACTOR,
         false, true},
        {"logprobs_from_logits", "actor_rollout_ref.actor.entropy_coeff=0", MT_PH_TRAIN_ACTOR,
         false, false},
        {"entropy_from_logits", "actor_rollout_ref.actor.entropy_checkpointing=True",
         MT_PH_TRAIN_ACTOR, false, false},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct bench b;
        struct mt_trace *t = mt_trace_new();
        struct mt_owner *o;
        mt_stack_id s;
        setup(&b, of[i].args, NULL);
        b.a.verdict.sub = MT_PH_LOSS;
        role(&b, MT_ROLE_LOGITS, 16 * GIB);
        b.d->roles.vocab = 151936;
        b.d->roles.logits_tokens = 16384;
        b.d->roles.logits_elem = 2;
        MT_ASSERT(t != NULL && MT_VEC_PUSH(&t->frames) != NULL && MT_VEC_PUSH(&t->stacks) != NULL);
        s = add_stack(t, of[i].function);
        if (of[i].failed) {
            fail(&b, 4 * GIB, GIB);
            b.d->ooms.p[0].stack = s;
            b.d->ooms.p[0].attr.phase = (uint8_t)of[i].phase;
        } else {
            o = MT_VEC_PUSH(&b.d->owners);
            MT_ASSERT(o != NULL);
            o->stack = s;
            o->bytes = 8 * GIB;
            o->attr.phase = (uint8_t)of[i].phase;
        }
        MT_ASSERT(mt_intern_functions(t));
        b.a.trace = t;
        MT_CHECK_EQ(advise(&b, "V26") != NULL, of[i].offered);
        teardown(&b);
        mt_trace_free(t);
    }
}

/* A key counts for the framework of the trace, and what is not set has its default, where settings
 * are known at all. */
MT_TEST(settings_of_this_framework)
{
    struct bench b;
    const struct mt_advice *v;
    setup(&b, NULL, NULL);
    b.a.verdict.phase = MT_PH_ROLLOUT_GENERATE;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_TEMP, 16 * GIB);
    v = advise(&b, "V36");
    MT_CHECK(v != NULL && v->current == NULL && !v->saving.known);
    teardown(&b);
    setup(&b, "actor_rollout_ref.rollout.name=vllm", NULL);
    b.a.verdict.phase = MT_PH_ROLLOUT_GENERATE;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_TEMP, 16 * GIB);
    v = advise(&b, "V36");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->current, "actor_rollout_ref.rollout.max_num_batched_tokens: 8192 (default)");
    MT_CHECK_STR(v->proposed, "actor_rollout_ref.rollout.max_num_batched_tokens=4096");
    MT_CHECK_EQ(v->saving.bytes, 8 * GIB);
    teardown(&b);
    setup(&b,
          "actor_rollout_ref.rollout.max_num_batched_tokens=32768 --max-tokens-per-gpu 1 "
          "--micro-batch-size 1",
          NULL);
    b.a.verdict.phase = MT_PH_ROLLOUT_GENERATE;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_TEMP, 16 * GIB);
    MT_CHECK_EQ(b.conf->framework, FW(slime)); /* the keys alone: more of them */
    v = advise(&b, "V36");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->proposed, "actor_rollout_ref.rollout.max_num_batched_tokens=16384");
    MT_CHECK_EQ(v->saving.bytes, 8 * GIB);
    teardown(&b);
}

/* A key that has moved is typed as the version at hand knows it. */
MT_TEST(moved_key)
{
    struct bench b;
    struct mt_trace *t = mt_trace_new();
    const struct mt_advice *v;
    struct mt_frame *f;
    static const char file[] = "/x/verl/workers/engine/fsdp/transformer_impl.py";
    setup(&b, NULL, NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    v = advise(&b, "V29");
    MT_ASSERT(v != NULL && t != NULL);
    MT_CHECK_STR(v->proposed, "actor_rollout_ref.actor.ulysses_sequence_parallel_size=2");
    f = MT_VEC_PUSH(&t->frames);
    MT_ASSERT(f != NULL && MT_VEC_PUSH(&t->frames) != NULL);
    f = &t->frames.p[t->frames.n - 1];
    f->file = mt_strpool_add(&t->str, file, strlen(file));
    f->name = mt_strpool_add(&t->str, "forward_step", 12);
    MT_ASSERT(mt_intern_functions(t));
    b.a.trace = t;
    v = advise(&b, "V29");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->proposed,
                 "actor_rollout_ref.actor.fsdp_config.ulysses_sequence_parallel_size=2");
    teardown(&b);
    mt_trace_free(t);
}

/* An allocation string made of the present one; what cannot be computed is not typed as if it were.
 */
MT_TEST(layouts)
{
    static const struct {
        /* NULL = none: the card tells the form; "" = no card, for the string is known and goes no
         * further */
        const char *args, *rule, *proposed;
    } want[] = {
        {"actor.backend=fsdp:d4 rollout.backend=sglang:d4", "A12", "actor.backend: \"fsdp:d2c2\""},
        {"actor.backend=fsdp:d8t2c2", "A12", "actor.backend: \"fsdp:d4t2c4\""},
        {"actor.backend=d4p1t1", "A12", "actor.backend: \"d2p1t1c2\""},
        {"allocation_mode=sglang.d4p1t1+d4p1t1 actor.lr=1", "A12",
         "allocation_mode: \"sglang.d4p1t1+d2p1t1c2\""},
        {"allocation_mode=sglang:d4+fsdp:d4", "A12", "allocation_mode: \"sglang:d4+fsdp:d2c2\""},
        {"actor.backend=fsdp:d4 num_attention_heads=30", "A12", "actor.backend: \"fsdp:d2c2\""},
        {"actor.backend=fsdp:d4c2 num_attention_heads=30", "A12", ""}, /* 4 does not divide 30 */
        {"actor.backend=fsdp:d1", "A12", ""},
        {"actor.backend=fsdp:d3", "A12", ""},
        {"actor.backend=fsdp:d0", "A12", ""},
        {"actor.backend=fsdp", "A12", NULL},
        {"actor.backend=fsdp:", "A12", NULL},
        {"actor.backend=megatron:(attn:d4|ffn:d2e2)", "A12", NULL},
        {"actor.backend=fsdp:d4x2", "A12", NULL},
        {"actor.backend=fsdp:d99999999999999999999", "A12", ""},
        {"actor.backend=fsdp:d4c99999999999999999999", "A12", ""},
        {"allocation_mode=d4+d4", "A12", NULL}, /* which is the trainer's? */
        {"allocation_mode=sglang:d4+fsdp:d4+fsdp:d4", "A12", NULL},
        {"allocation_mode=sglang:d4", "A12", NULL},
        {"allocation_mode=++", "A12", NULL},
        {"actor.backend=$BACKEND", "A12", NULL},
        {"actor.lr=1", "A12", NULL},
        {"actor.backend=fsdp:d4", "A13", "actor.backend: \"fsdp:d2t2\""},
        {"actor.backend=fsdp:d4 num_key_value_heads=1", "A13", ""}, /* FSDP copies none of them */
        {"actor.backend=fsdp:d4 num_key_value_heads=1", "A12", "actor.backend: \"fsdp:d2c2\""},
        /* AReaL 0.3: the name alone, and the layout in the one string */
        {"actor.backend=fsdp allocation_mode=sglang.d4p1t1+d4p1t1", "A12",
         "allocation_mode: \"sglang.d4p1t1+d2p1t1c2\""},
    };
    for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
        struct bench b;
        const struct mt_advice *v;
        setup(&b, want[i].args, NULL);
        b.a.fw.main = FW(areal);
        role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
        v = advise(&b, want[i].rule);
        if (want[i].proposed != NULL && want[i].proposed[0] == '\0') {
            MT_CHECK(v == NULL);
            teardown(&b);
            continue;
        }
        MT_ASSERT(v != NULL);
        if ((v->proposed != NULL) != (want[i].proposed != NULL))
            printf("# %s: %s\n", want[i].args, v->proposed != NULL ? v->proposed : "nothing");
        MT_CHECK_EQ(v->proposed != NULL, want[i].proposed != NULL);
        if (v->proposed != NULL && want[i].proposed != NULL)
            MT_CHECK_STR(v->proposed, want[i].proposed);
        else
            MT_CHECK_HAS(mt_advice_line(v, 0), "<");
        teardown(&b);
    }
    {
        struct bench b; /* tensor parallelism of FSDP: the settings name another backend */
        setup(&b, "actor.backend=megatron:d4", NULL);
        b.a.fw.main = FW(areal);
        role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
        MT_CHECK(advise(&b, "A13") == NULL);
        teardown(&b);
    }
}

static uint32_t without_a_trace(struct bench *b, const struct mt_trace *t, enum mt_phase phase,
                                bool host, bool arm, struct mt_advice *out)
{
    struct mt_advice_query q = {.rules = b->rules,
                                .fw = &b->a.fw,
                                .phase = phase,
                                .sub = MT_PH_NONE,
                                .conf = b->conf,
                                .trace = t};
    uint32_t n;
    q.cause = host ? MT_CAUSE_HOST : MT_CAUSE_NONE;
    MT_CHECK_EQ(mt_metrics_told(&q.metrics, mt_fix_rules_metrics(b->rules), b->conf, t, false),
                MT_OK);
    mt_metrics_place(q.metrics, q.phase, q.sub);
    mt_metrics_set(q.metrics, MT_METRIC_arm, arm, MT_CONF_MARKED);
    n = mt_advice_select(&q, out);
    mt_metrics_free(q.metrics);
    for (uint32_t i = 0; n != UINT32_MAX && i < n; i++)
        mt_advice_done(&out[i]);
    return n;
}

static bool gives(const struct mt_advice *list, uint32_t n, const char *id)
{
    for (uint32_t i = 0; i < n; i++) {
        if (strcmp(list[i].rule->id, id) == 0)
            return true;
    }
    return false;
}

/* Of a log alone most conditions cannot be known; those about settings, the machine and the
 * recording can. */
MT_TEST(without_numbers)
{
    struct mt_advice *out = calloc(400, sizeof *out);
    struct mt_trace *t = mt_trace_new();
    struct bench b;
    uint32_t n;
    MT_ASSERT(out != NULL && t != NULL);

    setup(&b, NULL, NULL);
    n = without_a_trace(&b, NULL, MT_PH_UNATTRIBUTED, false, false, out);
    MT_CHECK(gives(out, n, "P06") && !gives(out, n, "B37") && !gives(out, n, "B38"));
    n = without_a_trace(&b, t, MT_PH_UNATTRIBUTED, false, false, out);
    MT_CHECK(!gives(out, n, "P06") && gives(out, n, "B37") && gives(out, n, "B38"));
    n = without_a_trace(&b, NULL, MT_PH_TRAIN_ACTOR, true, false, out);
    MT_CHECK(gives(out, n, "V37") && gives(out, n, "V38") && !gives(out, n, "V39"));
    n = without_a_trace(&b, NULL, MT_PH_TRAIN_ACTOR, true, true, out);
    MT_CHECK(!gives(out, n, "V37") && !gives(out, n, "V38") && gives(out, n, "V39"));
    n = without_a_trace(&b, NULL, MT_PH_TRAIN_ACTOR, false, false, out);
    MT_CHECK(gives(out, n, "V12") && gives(out, n, "V15"));
    teardown(&b);

    setup(&b,
          "LD_PRELOAD=/usr/lib/libtcmalloc.so.4 "
          "actor_rollout_ref.model.enable_gradient_checkpointing=True",
          NULL);
    n = without_a_trace(&b, NULL, MT_PH_TRAIN_ACTOR, true, false, out);
    MT_CHECK(!gives(out, n, "V37") && !gives(out, n, "V38"));
    n = without_a_trace(&b, NULL, MT_PH_TRAIN_ACTOR, false, false, out);
    MT_CHECK(!gives(out, n, "V12") && gives(out, n, "V15"));
    teardown(&b);
    mt_trace_free(t);
    free(out);
}

/* The share of the engine: larger where its log says that nothing was left in it, smaller where the
 * card ran out. */
MT_TEST(direction_of_the_share)
{
    struct bench b;
    const struct mt_advice *v;
    setup(&b, NULL, NULL);
    b.a.verdict.phase = MT_PH_ROLLOUT_KV_ALLOC;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_ENGINE_WEIGHTS, 16 * GIB);
    fail(&b, 4 * GIB, GIB);
    v = advise(&b, "V01");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->card->name, "down");
    teardown(&b);

    setup(&b, NULL, NULL);
    b.conf->kv_refused = true;
    b.a.verdict.phase = MT_PH_ROLLOUT_PROFILE;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_ENGINE_WEIGHTS, 16 * GIB);
    v = advise(&b, "V01");
    MT_ASSERT(v != NULL);
    MT_CHECK_STR(v->card->name, "up");
    teardown(&b);

    setup(&b, NULL, NULL);
    b.conf->kv_refused = true; /* of another attempt: here the card ran out */
    b.a.verdict.phase = MT_PH_ROLLOUT_KV_ALLOC;
    b.a.verdict.sub = MT_PH_NONE;
    role(&b, MT_ROLE_ENGINE_WEIGHTS, 16 * GIB);
    fail(&b, 4 * GIB, GIB);
    v = advise(&b, "V01");
    MT_CHECK(v == NULL);
    teardown(&b);
}

static void refuse(const char *fields, const char *complaint)
{
    char text[2000];
    struct mt_fix_rules *r = NULL;
    struct mt_err err = {0};
    snprintf(text, sizeof text,
             "{\"schema_version\": 1, \"fixes\": [{\"id\": \"mine\", \"framework\": [\"verl\"], "
             "\"kind\": \"tip\", \"phases\": [\"loss\"], \"title\": \"t\", \"why\": \"w\", "
             "\"set\": [], \"constraints\": \"none\", \"cost\": \"none\", \"source\": \"s\", "
             "\"status\": \"DOC\", %s}]}",
             fields);
    MT_CHECK_EQ(mt_fix_rules_load(&r, mt_test_frameworks(), text, strlen(text), "mine.json", &err),
                MT_EINPUT);
    MT_CHECK_HAS(err.msg, "rule mine");
    MT_CHECK_HAS(err.msg, complaint);
    mt_fix_rules_free(r);
}

MT_TEST(mistakes_in_rules)
{
    refuse("\"when\": \"role.logit > 1\"", "a name that does not exist");
    refuse("\"when\": \"setting.tokens > 1\"", "a name that does not exist");
    refuse("\"when\": \"live >\"", "is missing at the end");
    refuse("\"when\": 3", "field \"when\": has to be a text");
    refuse("\"current\": \"nonsense\"", "settings.json");
    refuse("\"saving\": {\"bytes\": \"live\", \"confidence\": \"high\"}",
           "field \"from\": is missing");
    refuse("\"saving\": {\"bytes\": \"live\", \"confidence\": \"sure\", \"from\": [\"param\"]}",
           "not one of high, medium, low");
    refuse("\"saving\": {\"bytes\": \"live\", \"confidence\": \"low\", \"from\": [\"parameters\"]}",
           "neither a role id");
    refuse("\"saving\": {\"confidence\": \"low\", \"from\": [\"param\"]}", "field \"bytes\"");
    refuse("\"saving\": {\"bytes\": \"live\", \"confidence\": \"low\", \"from\": [\"param\"], "
           "\"x\": 1}",
           "field \"x\": is not known");
}

/* Numbers at the end of their range neither overflow nor stop. */
MT_TEST(hostile_numbers)
{
    struct bench b;
    setup(&b,
          "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=999999999999999999999999999 "
          "data.max_prompt_length=-5",
          NULL);
    for (int r = 0; r < MT_ROLE_COUNT; r++)
        b.d->roles.at_focus[r] = UINT64_MAX / 2;
    b.d->focus.live = b.d->focus.reserved = UINT64_MAX;
    b.d->roles.vocab = b.d->roles.logits_tokens = UINT64_MAX;
    b.d->roles.logits_elem = UINT64_MAX;
    fail(&b, UINT64_MAX, 0);
    for (int i = 0; i < 5; i++)
        micro(&b, UINT64_MAX - (uint64_t)i * (UINT64_MAX / 6), UINT64_MAX);
    for (int phase = 0; phase < MT_PH_COUNT; phase++) {
        b.a.verdict.phase =
            mt_phase_is((unsigned)phase, MT_COARSE) ? (enum mt_phase)phase : MT_PH_UNATTRIBUTED;
        b.a.verdict.sub =
            mt_phase_is((unsigned)phase, MT_COARSE) ? MT_PH_NONE : (enum mt_phase)phase;
        (void)advise(&b, "");
        MT_CHECK(b.a.combined.sentence != NULL);
    }
    teardown(&b);
}

/* What an engine holds in pools of its own may be unmapped: only the card's size says whether it is
 * there. */
MT_TEST(an_engine_that_may_sleep)
{
    for (int known = 0; known < 3; known++) {
        struct bench b;
        struct mt_role_pool *p;
        const struct mt_advice *v;
        setup(&b, NULL, NULL);
        role(&b, MT_ROLE_LOGITS, 40 * GIB);
        role(&b, MT_ROLE_KV_CACHE, 20 * GIB);
        role(&b, MT_ROLE_ENGINE_WEIGHTS, 10 * GIB);
        p = MT_VEC_PUSH(&b.d->roles.pools);
        MT_ASSERT(p != NULL);
        *p = (struct mt_role_pool){{0, 2}, MT_ROLE_KV_CACHE};
        b.a.verdict.phase = MT_PH_LOGP_OLD;
        b.a.verdict.sub = MT_PH_LOGITS;
        fail(&b, 8 * GIB, 3 * GIB);
        /* 71 reserved and 3 free */
        b.d->capacity = known == 0 ? 0 : known == 1 ? 80 * GIB : 50 * GIB;
        /* an engine sleeps in a log-prob pass unless it is seen to be there */
        MT_CHECK((advise(&b, "B34") != NULL) == (known == 1));
        b.a.verdict.phase = MT_PH_TRAIN;
        b.a.verdict.sub = MT_PH_LOSS;
        v = advise(&b, "B34");
        MT_ASSERT(v != NULL);
        MT_CHECK_EQ(v->saving.bytes, known == 2 ? 6 * GIB : 30 * GIB);
        MT_CHECK_EQ(v->saving.low, known == 1 ? 20 * GIB : 0);
        MT_CHECK_EQ(v->saving.conf, known == 0 ? MT_FIX_LOW : MT_FIX_HIGH);
        b.a.verdict.phase = MT_PH_INFER; /* a model of its own may need its cache */
        MT_CHECK(advise(&b, "B34") == NULL);
        MT_VEC_DONE(&b.d->roles.pools);
        teardown(&b);
    }
}

/* Memory that is kept comes first where it is the cause; what grows is taken from the roles that it
 * has. */
MT_TEST(a_leak_is_mended_first)
{
    for (int is_cause = 0; is_cause < 2; is_cause++) {
        struct bench b;
        struct mt_growth *g;
        struct mt_cause cause = {.kind = is_cause ? MT_CAUSE_LEAK : MT_CAUSE_CAPACITY};
        const struct mt_advice *v;
        setup(&b, NULL, NULL);
        role(&b, MT_ROLE_LOGITS, 30 * GIB);
        role(&b, MT_ROLE_UNKNOWN, 12 * GIB);
        fail(&b, 8 * GIB, 3 * GIB);
        g = MT_VEC_PUSH(&b.d->roles.growth);
        MT_ASSERT(g != NULL);
        *g = (struct mt_growth){.role = MT_ROLE_UNKNOWN,
                                .n_steps = 8,
                                .first = GIB,
                                .last = 11 * GIB,
                                .slope = 1e9,
                                .r2 = 1,
                                .conf = MT_CONF_MARKED};
        b.d->cause = &cause;
        v = advise(&b, "B33");
        MT_ASSERT(v != NULL);
        MT_CHECK_EQ(v->saving.bytes, 10 * GIB);
        MT_CHECK_EQ(v->saving.high, 10 * GIB); /* no more than that has grown */
        MT_CHECK_EQ(v == &b.a.advice.p[0], is_cause);
        MT_CHECK(v->is_top || !is_cause);
        g->conf = MT_CONF_LOW; /* seen, not counted */
        v = advise(&b, "B33");
        MT_CHECK(v != NULL && !v->saving.known);
        b.d->cause = NULL;
        MT_VEC_DONE(&b.d->roles.growth);
        teardown(&b);
    }
}

MT_TEST(no_memory)
{
    struct bench b;
    int failed = 0;
    setup(&b, "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384", NULL);
    role(&b, MT_ROLE_ACTIVATION, 16 * GIB);
    for (uint64_t n = 1; n < 60; n++) {
        struct mt_err err = {0};
        enum mt_rc rc;
        mt_mem_fail_after(n);
        rc = mt_advise(&b.a, b.rules, b.conf, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || rc == MT_ENOMEM);
        failed += rc == MT_ENOMEM;
        forget(&b);
    }
    MT_CHECK(failed > 3);
    teardown(&b);
}

MT_MAIN(MT_RUN(metrics) MT_RUN(fit_over_micro_batches) MT_RUN(numbers_of_settings)
            MT_RUN(token_budget) MT_RUN(settings_suppress) MT_RUN(engine_kept_awake)
                MT_RUN(between_phases_and_inside) MT_RUN(together)
                    MT_RUN(a_saving_is_the_nearest_whole_number) MT_RUN(next_peak_is_the_bound)
                        MT_RUN(order) MT_RUN(entropy_in_training) MT_RUN(settings_of_this_framework)
                            MT_RUN(moved_key) MT_RUN(layouts) MT_RUN(without_numbers)
                                MT_RUN(direction_of_the_share) MT_RUN(mistakes_in_rules)
                                    MT_RUN(hostile_numbers) MT_RUN(an_engine_that_may_sleep)
                                        MT_RUN(a_leak_is_mended_first) MT_RUN(no_memory))
