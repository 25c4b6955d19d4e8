/* What is typed where only a line of a log and the run's settings are at hand: computed from the
 * settings, in keys that this run reads, and nothing where the number cannot go further. */
#include "advice_bench.h"
#include "parser/model/intern.h"
#include "analysis/advice/lines.h"

struct want {
    const char *main, *engine; /* frameworks that are seen; NULL = none */
    const char *args;          /* what the run was set to */
    const char *file, *function;
    enum mt_phase phase, sub;
    const char *rule;
    /* as it is typed; "!key": no line of that key; NULL = the rule is not offered */
    const char *line;
};

#define NO_FRAME NULL, NULL
#define FWD MT_PH_TRAIN_ACTOR, MT_PH_FORWARD
#define LOGP(of) MT_PH_LOGP_##of, MT_PH_FORWARD
#define DECODE MT_PH_ROLLOUT_DECODE, MT_PH_NONE
#define STEP MT_PH_TRAIN_ACTOR, MT_PH_OPTIMIZER
#define SYNC MT_PH_WEIGHT_SYNC, MT_PH_NONE
#define COMM MT_PH_TRAIN, MT_PH_COMM
#define LENGTHS "train_dataset.max_length=1024 gconfig.max_new_tokens=1024 "
#define A_SGLANG "rollout.backend=sglang:d4 actor.backend=fsdp:d4 "
#define A_VLLM "rollout.backend=vllm:d4 actor.backend=fsdp:d4 "
#define OLD "allocation_mode=sglang.d4p1t1+d4p1t1 actor.backend=fsdp "
#define BOTH_SHARES "sglang.mem_fraction_static=0.8 vllm.gpu_memory_utilization=0.6 "
#define RELAX "--rollout-max-prompt-len 1024 --rollout-max-response-len 8192 "
#define DYNAMIC RELAX "--use-dynamic-batch-size "
#define UPLOAD "areal/engine/fsdp_engine.py", "upload_weights"

static const struct want wants[] = {
    /* half, not below the longest, nothing at the floor; the minimum where there was no limit */
    {"areal", NULL, LENGTHS "actor.mb_spec.max_tokens_per_mb=10240", NO_FRAME, FWD, "A04",
     "actor.mb_spec.max_tokens_per_mb: 5120"},
    {"areal", NULL, LENGTHS "actor.mb_spec.max_tokens_per_mb=3000", NO_FRAME, FWD, "A04",
     "actor.mb_spec.max_tokens_per_mb: 2048"},
    {"areal", NULL, LENGTHS "actor.mb_spec.max_tokens_per_mb=2048", NO_FRAME, FWD, "A04", NULL},
    {"areal", NULL, LENGTHS "actor.mb_spec.max_tokens_per_mb=1024", NO_FRAME, FWD, "A04", NULL},
    {"areal", NULL, LENGTHS "actor.lr=1", NO_FRAME, FWD, "A04",
     "actor.mb_spec.max_tokens_per_mb: 2048"},
    {"areal", NULL, NULL, NO_FRAME, FWD, "A04",
     "actor.mb_spec.max_tokens_per_mb: <half of its value>"},
    /* each model its own key */
    {"areal", NULL, LENGTHS "ref.mb_spec.max_tokens_per_mb=9000 actor.lr=1", NO_FRAME, LOGP(REF),
     "A04", "ref.mb_spec.max_tokens_per_mb: 4352"},
    {"areal", NULL, LENGTHS "critic.mb_spec.max_tokens_per_mb=8192 actor.lr=1", NO_FRAME,
     MT_PH_VALUES, MT_PH_FORWARD, "A04", "critic.mb_spec.max_tokens_per_mb: 4096"},
    {"areal", "sglang", A_SGLANG "rollout.max_concurrent_rollouts=128", NO_FRAME, DECODE, "A05",
     "rollout.max_concurrent_rollouts: 64"},
    {"areal", "sglang", A_SGLANG "rollout.consumer_batch_size=256", NO_FRAME, DECODE, "A05",
     "rollout.max_concurrent_rollouts: 128"},
    {"areal", "sglang", A_SGLANG "rollout.max_concurrent_rollouts=1", NO_FRAME, DECODE, "A05",
     NULL},
    /* both sections are in AReaL's own examples: the one of the engine that runs */
    {"areal", "sglang", A_SGLANG BOTH_SHARES, NO_FRAME, DECODE, "A06",
     "sglang.mem_fraction_static: 0.75"},
    {"areal", "sglang", A_SGLANG BOTH_SHARES, NO_FRAME, DECODE, "B92", NULL},
    {"areal", "vllm", A_VLLM BOTH_SHARES, NO_FRAME, DECODE, "B92",
     "vllm.gpu_memory_utilization: 0.55"},
    {"areal", "vllm", A_VLLM BOTH_SHARES, NO_FRAME, DECODE, "A06", NULL},
    {"areal", "vllm", A_VLLM, NO_FRAME, DECODE, "B93", "vllm.max_num_seqs: 128"},
    {"areal", "sglang", A_SGLANG, NO_FRAME, DECODE, "B93", NULL},
    /* what is on already, or what another setting forbids */
    {"areal", NULL, A_SGLANG, NO_FRAME, STEP, "A18", "actor.fsdp.per_layer_optim_step: true"},
    {"areal", NULL, A_SGLANG "actor.fsdp.per_layer_optim_step=true", NO_FRAME, STEP, "A18", NULL},
    {"areal", NULL, A_SGLANG "actor.optimizer.type=sgd", NO_FRAME, STEP, "A18", NULL},
    {"areal", NULL, A_SGLANG "actor.optimizer.type=sgd", NO_FRAME, STEP, "A20", NULL},
    {"areal", NULL, A_SGLANG "actor.optimizer.type=adam", NO_FRAME, STEP, "A20",
     "actor.optimizer.type: sgd"},
    {"areal", NULL, A_SGLANG, NO_FRAME, MT_PH_INIT, MT_PH_NONE, "A21",
     "actor.fsdp.memory_efficient_load: true"},
    {"areal", NULL, A_SGLANG "actor.fsdp.memory_efficient_load=true", NO_FRAME, MT_PH_INIT,
     MT_PH_NONE, "A21", NULL},
    {"areal", NULL, A_SGLANG "actor.init_from_scratch=true", NO_FRAME, MT_PH_INIT, MT_PH_NONE,
     "A21", NULL},
    /* keys that a version does not have */
    {"areal", NULL, OLD, NO_FRAME, STEP, "A18", NULL},
    {"areal", NULL, OLD, NO_FRAME, MT_PH_INIT, MT_PH_NONE, "A21", NULL},
    {"areal", NULL, OLD, NO_FRAME, FWD, "A12", "allocation_mode: \"sglang.d4p1t1+d2p1t1c2\""},
    {"areal", NULL, OLD, UPLOAD, SYNC, "B90",
     "WeightUpdateMeta.from_disk(config.experiment_name, config.trial_name, "
     "config.cluster.fileroot)"},
    {"areal", NULL, OLD, UPLOAD, SYNC, "A30",
     "WeightUpdateMeta.from_fsdp_nccl(..., weight_chunked_mem_mb=512)"},
    {"areal", NULL, OLD, UPLOAD, SYNC, "A22", NULL},
    {"areal", NULL, A_SGLANG, NO_FRAME, SYNC, "A22", "actor.weight_update_mode: disk"},
    {"areal", NULL, A_SGLANG, NO_FRAME, SYNC, "B90", NULL},
    {"areal", NULL, A_SGLANG "actor.weight_update_mode=disk", NO_FRAME, SYNC, "A22", NULL},
    {"areal", "archon", "actor.backend=archon:d4 actor.gradient_checkpointing=true", NO_FRAME, FWD,
     "B91", "actor.archon.ac_mode: full"},
    {"areal", "fsdp", "actor.backend=fsdp:d4", NO_FRAME, FWD, "B91", NULL},
    /* Relax and slime: a budget counts with dynamic batching alone */
    {"relax", NULL, DYNAMIC "--max-tokens-per-gpu 32768", NO_FRAME, FWD, "X09",
     "--max-tokens-per-gpu 16384"},
    {"relax", NULL, DYNAMIC "--max-tokens-per-gpu 12288", NO_FRAME, FWD, "X09",
     "--max-tokens-per-gpu 9216"},
    {"relax", NULL, DYNAMIC "--max-tokens-per-gpu 8192", NO_FRAME, FWD, "X09", NULL},
    {"relax", NULL, DYNAMIC "--max-tokens-per-gpu 8192 --context-parallel-size 2", NO_FRAME, FWD,
     "X09", "--max-tokens-per-gpu 4608"},
    {"relax", NULL, RELAX "--micro-batch-size 4", NO_FRAME, FWD, "X09", NULL},
    {"relax", NULL, RELAX "--micro-batch-size 4", NO_FRAME, FWD, "X11", "--use-dynamic-batch-size"},
    {"relax", NULL, RELAX "--micro-batch-size 4", NO_FRAME, FWD, "X11",
     "--max-tokens-per-gpu 9216"},
    {"relax", NULL, RELAX "--micro-batch-size 4", NO_FRAME, FWD, "X12", "--micro-batch-size 2"},
    {"relax", NULL, RELAX "--micro-batch-size 1", NO_FRAME, FWD, "X12", NULL},
    {"relax", NULL, DYNAMIC "--max-tokens-per-gpu 32768", NO_FRAME, LOGP(OLD), "X10",
     "--log-probs-max-tokens-per-gpu 16384"},
    {"relax", NULL, DYNAMIC "--log-probs-max-tokens-per-gpu 8192", NO_FRAME, LOGP(OLD), "X10",
     NULL},
    {"relax", NULL, DYNAMIC "--log-probs-max-tokens-per-gpu 8192 --max-tokens-per-gpu 32768",
     NO_FRAME, LOGP(OLD), "X09", NULL},
    {"relax", NULL, DYNAMIC "--actor-num-gpus-per-node 8 --tensor-model-parallel-size 2", NO_FRAME,
     FWD, "B94", "--context-parallel-size 2"},
    {"relax", NULL, DYNAMIC "--actor-num-gpus-per-node 4 --tensor-model-parallel-size 4", NO_FRAME,
     FWD, "B94", NULL},
    {"slime", NULL, DYNAMIC "--update-weight-buffer-size 134217728", NO_FRAME, SYNC, "X17",
     "--update-weight-buffer-size 67108864"},
    {"slime", NULL, DYNAMIC "--update-weight-buffer-size 67108864", NO_FRAME, SYNC, "X17", NULL},
    {"relax", NULL, DYNAMIC, NO_FRAME, COMM, "X06", "--enable-cuda-memory-check"},
    {"relax", NULL, DYNAMIC "--enable-cuda-memory-check", NO_FRAME, COMM, "X06", NULL},
    {"relax", NULL, DYNAMIC, NO_FRAME, COMM, "X19", "--train-memory-margin-bytes 2147483648"},
    {"relax", NULL, DYNAMIC "--train-memory-margin-bytes 4294967296", NO_FRAME, FWD, "X19",
     "--train-memory-margin-bytes 2147483648"},
    {"relax", NULL, DYNAMIC, NO_FRAME, FWD, "X19", NULL},
    /* cards with several numbers: each key from its own value, and none at its end */
    {"nemorl", NULL, "policy.train_micro_batch_size=4", NO_FRAME, FWD, "B29",
     "policy.train_micro_batch_size=2"},
    {"nemorl", NULL, "policy.train_micro_batch_size=1", NO_FRAME, FWD, "B29",
     "!policy.train_micro_batch_size"},
    {"nemorl", NULL,
     "policy.dynamic_batching.enabled=true policy.dynamic_batching.train_mb_tokens=16384", NO_FRAME,
     FWD, "B29", "policy.dynamic_batching.train_mb_tokens=8192"},
    {"nemorl", NULL, "policy.train_micro_batch_size=4", NO_FRAME, FWD, "B29",
     "!policy.dynamic_batching.train_mb_tokens"},
    {"nemorl", "vllm", "policy.generation.vllm_cfg.gpu_memory_utilization=0.5", NO_FRAME, DECODE,
     "B29", "policy.generation.vllm_cfg.gpu_memory_utilization=0.45"},
    {"openrlhf", NULL, "--train.micro_batch_size 4", NO_FRAME, FWD, "B30",
     "--train.micro_batch_size 2"},
    {"openrlhf", NULL, "--train.batch_size 128 --ds.zero_stage 2", NO_FRAME, FWD, "B30",
     "!--train.micro_batch_size"},
    {"openrlhf", NULL, "--micro_train_batch_size 8 --zero_stage 2", NO_FRAME, FWD, "B30",
     "--micro_train_batch_size 4"},
    {"openrlhf", NULL, "--actor_num_gpus_per_node 8 --ring_attn_size 2", NO_FRAME, FWD, "B30",
     "--ring_attn_size 4"},
    {"openrlhf", NULL, "--ds.ring_attn_size 2", NO_FRAME, FWD, "B30",
     "--ds.ring_attn_size <a number that divides the GPUs>"},
    {"openrlhf", "vllm", "--vllm.gpu_memory_utilization 0.6", NO_FRAME, DECODE, "B30",
     "--vllm.gpu_memory_utilization 0.55"},
    {"trl", NULL, "--per_device_train_batch_size 8", NO_FRAME, FWD, "B31",
     "per_device_train_batch_size=4"},
    {"trl", NULL, "--per_device_train_batch_size 1", NO_FRAME, FWD, "B31",
     "!per_device_train_batch_size"},
    {"trl", "vllm", "--vllm_gpu_memory_utilization 0.3", NO_FRAME, DECODE, "B31",
     "vllm_gpu_memory_utilization=0.25"},
    {"skyrl", NULL, "trainer.micro_train_batch_size_per_gpu=4", NO_FRAME, FWD, "B52",
     "trainer.micro_train_batch_size_per_gpu=2"},
    {"skyrl", NULL, "trainer.max_tokens_per_microbatch=8192", NO_FRAME, FWD, "B52",
     "trainer.max_tokens_per_microbatch=4096"},
    {"skyrl", NULL, "trainer.max_tokens_per_microbatch=1536", NO_FRAME, FWD, "B52",
     "!trainer.max_tokens_per_microbatch"},
    {"skyrl", NULL, "trainer.strategy=fsdp", NO_FRAME, FWD, "B52",
     "trainer.max_tokens_per_microbatch=1536"},
    {"skyrl", "vllm", "trainer.strategy=fsdp", NO_FRAME, DECODE, "B52",
     "generator.inference_engine.max_num_batched_tokens=4096"},
    {"roll", NULL, "actor_train.model_args.dtype=bf16", NO_FRAME, FWD, "B53",
     "actor_train.training_args.per_device_train_batch_size: 4"},
    {"roll", NULL, "reference.infer_batch_size=4", NO_FRAME, LOGP(REF), "B53",
     "reference.infer_batch_size: 2"},
    {"prime_rl", NULL, "--trainer.model.seq-len 8192", NO_FRAME, FWD, "B54",
     "--trainer.model.seq-len 4096"},
    {"prime_rl", NULL, "--trainer.model.fused-lm-head-token-chunk-size 512", NO_FRAME,
     MT_PH_TRAIN_ACTOR, MT_PH_LOGITS, "B54", "--trainer.model.fused-lm-head-token-chunk-size 256"},
    {"swift", NULL, "--per_device_train_batch_size 4", NO_FRAME, FWD, "B55",
     "--per_device_train_batch_size 2"},
    {"swift", NULL, "--move_model_batches 32", NO_FRAME, SYNC, "B55", "--move_model_batches 64"},
    {NULL, "vllm", "--max-num-seqs 64", NO_FRAME, MT_PH_ROLLOUT_GENERATE, MT_PH_ROLLOUT_SAMPLE,
     "B41", "--max-num-seqs 32"},
    {NULL, "vllm", "--max-num-seqs 1", NO_FRAME, MT_PH_ROLLOUT_GENERATE, MT_PH_ROLLOUT_SAMPLE,
     "B41", NULL},
    {NULL, "sglang", "--cuda-graph-max-bs 160", NO_FRAME, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "B19",
     "--cuda-graph-max-bs 32"},
    {NULL, "sglang", "--cuda-graph-max-bs 16", NO_FRAME, MT_PH_ROLLOUT_GRAPH, MT_PH_NONE, "B19",
     "--cuda-graph-max-bs 8"},
};

static struct mt_trace *one_frame(const char *file, const char *name)
{
    struct mt_trace *t = file != NULL ? mt_trace_new() : NULL;
    struct mt_frame *f = t != NULL ? MT_VEC_PUSH(&t->frames) : NULL;
    struct mt_stack_node *s = t != NULL ? MT_VEC_PUSH(&t->stacks) : NULL;
    if (f == NULL || s == NULL)
        return t;
    f->file = mt_strpool_add(&t->str, file, strlen(file));
    f->name = mt_strpool_add(&t->str, name, strlen(name));
    f->line = 1;
    *s = (struct mt_stack_node){.frame = t->frames.n - 1};
    return mt_intern_functions(t) ? t : NULL;
}

static const struct mt_advice *find(const struct mt_advice *list, uint32_t n, const char *rule)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].rule->id, rule) == 0)
            return &list[i];
    return NULL;
}

static bool types(const struct mt_advice *a, const char *line)
{
    for (uint32_t i = 0; i < a->card->n_set; i++)
        if ((a->lines >> i & 1) != 0 &&
            strcmp(line[0] == '!' ? a->card->set[i].key : mt_advice_line(a, i),
                   line + (line[0] == '!')) == 0)
            return line[0] != '!';
    return line[0] == '!';
}

MT_TEST(from_the_settings_alone)
{
    struct mt_advice *out = calloc(400, sizeof *out);
    MT_ASSERT(out != NULL);
    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const struct want *w = &wants[i];
        struct mt_trace *t = one_frame(w->file, w->function);
        struct bench b;
        const struct mt_advice *a;
        uint32_t n;
        struct mt_advice_query q;
        setup(&b, w->args, NULL);
        b.a.fw.main = w->main != NULL ? mt_test_framework(w->main) : MT_FW_NONE;
        mt_test_part(&b.a.fw, false, false);
        if (w->engine != NULL)
            b.a.fw.frames[mt_test_framework(w->engine)] = 1;
        b.conf->framework = w->args == NULL   ? -1
                            : w->main != NULL ? (int)b.a.fw.main
                                              : (int)mt_test_framework(w->engine);
        q = (struct mt_advice_query){.rules = b.rules,
                                     .fw = &b.a.fw,
                                     .phase = w->phase,
                                     .sub = w->sub,
                                     .conf = b.conf,
                                     .trace = t};
        MT_CHECK_EQ(mt_metrics_told(&q.metrics, mt_fix_rules_metrics(b.rules), b.conf, t, true),
                    MT_OK);
        mt_metrics_place(q.metrics, q.phase, q.sub);
        n = mt_advice_select(&q, out);
        MT_ASSERT(n != UINT32_MAX);
        a = find(out, n, w->rule);
        if ((a != NULL) != (w->line != NULL) || (a != NULL && !types(a, w->line))) {
            MT_FAIL_AT("%s of %s with %s: want %s, got %s", w->rule,
                       w->main != NULL ? w->main : w->engine, w->args != NULL ? w->args : "nothing",
                       w->line != NULL ? w->line : "nothing",
                       a != NULL ? mt_advice_line(a, a->proposed != NULL ? a->proposed_line : 0)
                                 : "nothing");
        }
        mt_n_checks++;
        for (uint32_t k = 0; k < n; k++)
            mt_advice_done(&out[k]);
        mt_metrics_free(q.metrics);
        teardown(&b);
        mt_trace_free(t);
    }
    free(out);
}

MT_MAIN(MT_RUN(from_the_settings_alone))
