/* Lint rules and the diagnosis of logs: for each finding a case that has it, and one that is close
 * and has not. */
#include "analysis/advice/advice.h"
#include "analysis/run/lint.h"
#include "build_driver.h"
#include "mt_test.h"
#include "analysis/advice/lines.h"
#include "frameworks.h"

#define OOM_(request, free, unallocated, others)                                                   \
    "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate " request              \
    " GiB. GPU 0 has a total capacity of 80.00 GiB of "                                            \
    "which " free " GiB is free. " others "Including non-PyTorch memory, this process has 70.00 "  \
    "GiB memory in use. Of the allocated memory "                                                  \
    "50.00 GiB is allocated by PyTorch, and " unallocated                                          \
    " GiB is reserved by PyTorch but unallocated. If reserved but unallocated memory "             \
    "is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
#define VLLM_LINE "Available KV cache memory: 1.00 GiB\n"
#define CONTEXTS                                                                                   \
    "Process 1 has 1.00 GiB memory in use. Process 2 has 1.10 GiB memory in use. Process 3 has "   \
    "1.05 GiB memory in use. "

static struct mt_runconf *conf;
static struct mt_fix_rules *fixes;
static struct mt_logs logs;
static struct mt_logdiag *diag;
static struct mt_advice_list advice; /* on it */
static struct mt_lint *lint;

static void run(const char *args, const char *log)
{
    struct mt_err err;
    struct mt_logdiag_opts o = {.fixes = fixes, .framework = -1};
    struct mt_lint_in in = {.logs = &logs, .fixes = fixes};
    memset(&err, 0, sizeof err);
    memset(&logs, 0, sizeof logs);
    logs.rules = mt_test_frameworks();
    MT_CHECK_EQ(mt_runconf_new(&conf, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_conf_args(&conf->conf, args, strlen(args), "--args", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(conf, MT_FROM_ARGS, &err), MT_OK);
    if (log != NULL) {
        struct mt_log_file *f = MT_VEC_PUSH(&logs.files);
        struct mt_source *src = NULL;
        MT_CHECK(f != NULL);
        MT_CHECK_EQ(mt_source_mem(&src, log, strlen(log)), MT_OK);
        MT_CHECK_EQ(
            mt_log_read(&f->log, src, mt_framework_log_packages(mt_test_frameworks()), NULL, &err),
            MT_OK);
        mt_source_free(src);
        f->name = mt_strndup("run.log", 7);
        o.framework = conf->framework;
        o.conf = conf;
        MT_CHECK_EQ(mt_logdiag_make(&diag, &logs, &o, &advice, &err), MT_OK);
    }
    in.conf = conf;
    in.logdiag = diag;
    MT_CHECK_EQ(mt_lint_make(&lint, &in, &err), MT_OK);
}

static void done(void)
{
    mt_lint_free(lint);
    mt_logdiag_free(diag);
    mt_advice_list_done(&advice);
    mt_logs_done(&logs);
    mt_runconf_free(conf);
    conf = NULL;
    lint = NULL;
    diag = NULL;
}

static const struct mt_lint_finding *find(const char *id)
{
    for (uint32_t i = 0; i < lint->findings.n; i++)
        if (strcmp(lint->findings.p[i].id, id) == 0)
            return &lint->findings.p[i];
    return NULL;
}

#define AR "actor_rollout_ref."
#define VERL_VLLM AR "rollout.name=vllm "
static const struct {
    const char *id, *args, *log; /* has it */
    const char *not_args, *not_log;
} cases[] = {
    {"expandable-sleep", VERL_VLLM "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL,
     VERL_VLLM AR
     "rollout.free_cache_engine=False PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     NULL},
    {"expandable-sleep",
     "--vllm-enable-sleep-mode --vllm-gpu-memory-utilization 0.3 "
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     NULL, AR "rollout.name=sglang PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL},
    {"sleep-frees-nothing", "",
     "Sleep mode freed 0.00 GiB memory, 63.15 GiB memory is still in use.", "",
     "Sleep mode freed 60.00 GiB memory, 3.15 GiB memory is still in use."},
    {"pool-refused", "", "AssertionError: Expandable segments are not compatible with memory pool.",
     "", VLLM_LINE},
    {"alloc-conf-alias", VERL_VLLM "PYTORCH_ALLOC_CONF=expandable_segments:True", NULL,
     VERL_VLLM
     "PYTORCH_ALLOC_CONF=expandable_segments:True PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     NULL},
    {"split-size-expandable",
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True,max_split_size_mb:128", NULL,
     "PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128", NULL},
    {"gc-expandable",
     "PYTORCH_ALLOC_CONF=expandable_segments:True,garbage_collection_threshold:0.8", NULL,
     "PYTORCH_ALLOC_CONF=garbage_collection_threshold:0.8", NULL},
    {"hint-already-on", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     OOM_("2.00", "1.00", "0.10", ""), "", OOM_("2.00", "1.00", "0.10", "")},
    {"fragmentation-expandable-off", "", OOM_("2.00", "1.00", "12.00", ""),
     "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", OOM_("2.00", "1.00", "12.00", "")},
    {"saver-expandable",
     "sglang.enable_memory_saver=True PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL,
     "sglang.enable_memory_saver=True", NULL},
    {"foreign-at-oom", "", OOM_("2.00", "1.00", "0.10", "Process 7 has 9.00 GiB memory in use. "),
     "", OOM_("2.00", "1.00", "0.10", "")},
    {"contexts-on-one-gpu", "", OOM_("2.00", "1.00", "0.10", CONTEXTS), "",
     OOM_("2.00", "1.00", "0.10",
          "Process 1 has 1.00 GiB memory in use. Process 2 has 5.10 GiB memory in use. ")},
    {"engine-start-share", "",
     "ValueError: Free memory on device (3.25/79.50 GiB) on startup is less than desired GPU "
     "memory utilization (0.9, 71.50 "
     "GiB).",
     "", VLLM_LINE},
    {"sleep-residue", "",
     "(W pid=1) Sleep mode freed 70 GiB memory, 4.11 GiB memory is still in use.\n(W pid=1) Sleep "
     "mode freed 62 GiB memory, "
     "11.57 GiB memory is "
     "still in use.\n(W pid=1) Sleep mode freed 50 GiB memory, 25.00 GiB memory is still in use.\n",
     "",
     "(W pid=1) Sleep mode freed 70 GiB memory, 4.11 GiB memory is still in use.\n(W pid=1) Sleep "
     "mode freed 62 GiB memory, "
     "4.12 GiB memory is "
     "still in use.\n(W pid=1) Sleep mode freed 50 GiB memory, 4.10 GiB memory is still in use.\n"},
    {"torch-counts-more", "",
     "After X, memory allocated (GB): 5.50, memory reserved (GB): 198.68, device memory used/total "
     "(GB): 23.75/140.00",
     "",
     "After X, memory allocated (GB): 5.50, memory reserved (GB): 98.68, device memory used/total "
     "(GB): 123.75/140.00"},
    {"snapshot-without-recording", "--memory-snapshot-dir /x", NULL,
     "--memory-snapshot-dir /x --record-memory-history", NULL},
    {"profile-memory-without-profiler", "--profile-with-memory", NULL,
     "--profile-with-memory --use-pytorch-profiler", NULL},
    {"dead-micro-batch", AR "actor.use_dynamic_bsz=True " AR "actor.ppo_micro_batch_size_per_gpu=1",
     NULL, AR "actor.use_dynamic_bsz=False " AR "actor.ppo_micro_batch_size_per_gpu=1", NULL},
    {"expandable-sleep",
     "trainer.placement.colocate_all=true PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", NULL,
     "--sleep_level 1 --vllm_max_model_len 9 PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
     NULL}, /* ms-swift switches it off for the engine */
    {"skyrl-micro-batch",
     "trainer.max_tokens_per_microbatch=4096 trainer.micro_train_batch_size_per_gpu=8", NULL,
     "trainer.max_tokens_per_microbatch=-1 trainer.micro_train_batch_size_per_gpu=8", NULL},
    {"roll-offload-nccl", "actor_train.offload_nccl=true", NULL, "actor_train.offload_nccl=false",
     NULL},
    {"roll-cpu-optimizer", "actor_train.strategy_args.strategy_config.optimizer_cpu_offload=true",
     NULL, "actor_train.strategy_args.strategy_config.use_distributed_optimizer=true", NULL},
    {"swift-sleep", "--sleep_level 1 --vllm_mode server", NULL,
     "--sleep_level 1 --vllm_mode colocate", NULL},
    {"dead-graph-sizes",
     AR "rollout.enforce_eager=True " AR "rollout.cudagraph_capture_sizes=[1,2]", NULL,
     AR "rollout.enforce_eager=True " AR "rollout.cudagraph_capture_sizes=null", NULL},
    {"activation-offload-megatron",
     AR "model.enable_activation_offload=True " AR "actor.strategy=megatron", NULL,
     AR "model.enable_activation_offload=True " AR "actor.strategy=fsdp", NULL},
    {"chunking-under-ref", AR "ref.entropy_from_logits_with_chunking=True", NULL,
     AR "ref.entropy_from_logits_with_chunking=True " AR
        "actor.entropy_from_logits_with_chunking=True",
     NULL},
    {"ulysses-padding",
     AR "actor.ulysses_sequence_parallel_size=2 " AR "model.use_remove_padding=False", NULL,
     AR "actor.ulysses_sequence_parallel_size=2 " AR "model.use_remove_padding=True", NULL},
    {"ulysses-megatron", AR "actor.ulysses_sequence_parallel_size=2 " AR "actor.strategy=megatron",
     NULL, AR "actor.ulysses_sequence_parallel_size=1 " AR "actor.strategy=megatron", NULL},
    {"heads-divide", "num_attention_heads=40 actor.backend=fsdp:d2c16", NULL,
     "num_attention_heads=40 actor.backend=fsdp:d2c8", NULL},
    {"offload-policy-excludes",
     AR "actor.fsdp_config.offload_policy=True " AR "actor.fsdp_config.param_offload=True", NULL,
     AR "actor.fsdp_config.offload_policy=True", NULL},
    {"offload-policy-fsdp1", AR "actor.fsdp_config.offload_policy=True " AR "actor.strategy=fsdp",
     NULL, AR "actor.fsdp_config.offload_policy=True " AR "actor.strategy=fsdp2", NULL},
    {"tokens-below-sequence",
     AR "actor.use_dynamic_bsz=True data.max_prompt_length=2048 data.max_response_length=4096 " AR
        "actor.ppo_max_token_len_per_gpu=4096",
     NULL,
     AR "actor.use_dynamic_bsz=True data.max_prompt_length=2048 data.max_response_length=4096 " AR
        "actor.ppo_max_token_len_per_gpu=4096 " AR "actor.ulysses_sequence_parallel_size=2",
     NULL},
    {"areal-tokens-below-sequence",
     "actor.mb_spec.max_tokens_per_mb=4096 train_dataset.max_length=1024 "
     "gconfig.max_new_tokens=8192",
     NULL,
     "actor.mb_spec.max_tokens_per_mb=9216 train_dataset.max_length=1024 "
     "gconfig.max_new_tokens=8192",
     NULL},
    {"per-layer-step-optimizer",
     "actor.fsdp.per_layer_optim_step=true actor.optimizer.type=adam_bf16", NULL,
     "actor.fsdp.per_layer_optim_step=true actor.optimizer.type=adam", NULL},
    {"memory-efficient-load", "actor.fsdp.memory_efficient_load=true actor.init_from_scratch=true",
     NULL, "actor.fsdp.memory_efficient_load=true", NULL},
    {"cpu-offload-precision", "--optimizer-cpu-offload", NULL,
     "--optimizer-cpu-offload --use-precision-aware-optimizer", NULL},
    {"precision-aware-whole",
     "--use-precision-aware-optimizer --tensor-model-parallel-size 2 --micro-batch-size 1", NULL,
     "--use-precision-aware-optimizer --tensor-model-parallel-size 2 --micro-batch-size 1 "
     "--use-distributed-optimizer",
     NULL},
    {"precision-aware-whole", "--use-precision-aware-optimizer --recompute-granularity selective",
     NULL, "--use-precision-aware-optimizer --max-tokens-per-gpu 1 --update-weight-buffer-size 3",
     NULL}, /* slime sets it itself */
    {"cpu-offload-half",
     "+" AR "actor.optim.override_optimizer_config.optimizer_offload_fraction=1.0", NULL,
     "+" AR "actor.optim.override_optimizer_config.optimizer_offload_fraction=1.0 +" AR
     "actor.optim.override_optimizer_config.optimizer_cpu_offload=True",
     NULL},
    {"recompute-full", "--recompute-granularity full", NULL,
     "--recompute-granularity full --recompute-method uniform", NULL},
    {"recompute-selective", "--recompute-granularity selective --recompute-num-layers 1", NULL,
     "--recompute-granularity selective", NULL},
    {"main-grads-bf16", "--main-grads-dtype bf16 --accumulate-allreduce-grads-in-fp32", NULL,
     "--main-grads-dtype bf16", NULL},
    {"micro-batch-dynamic", "--micro-batch-size 1 --use-dynamic-batch-size", NULL,
     "--micro-batch-size 1", NULL},
    {"log-probs-chunk-rows", "--log-probs-chunk-size 4", NULL, "--log-probs-chunk-size 1024", NULL},
    {"A08", "train_dataset.batch_size=64 actor.mb_spec.max_tokens_per_mb=4096",
     "Before update_actor, memory allocated (GB): 50.00, memory reserved (GB): 60.00, device "
     "memory used/total (GB): "
     "70.00/80.00\n" OOM_("12.00", "1.00", "0.10", ""),
     "train_dataset.batch_size=64 actor.mb_spec.max_tokens_per_mb=4096", VLLM_LINE},
    {"margin-without-offload", "--train-memory-margin-bytes 5", NULL,
     "--train-memory-margin-bytes 5 --colocate", NULL},
    {"backuper-host-only", "--disable-weights-backuper", NULL, "--update-weight-buffer-size 1",
     NULL},
    {"backuper-with-ref", "--disable-weights-backuper --ref-load /x", NULL,
     "--disable-weights-backuper", NULL},
    {"preload-overwritten", "LD_PRELOAD=/x/libtcmalloc.so.4 --offload-train", NULL,
     "LD_PRELOAD=/x/libtcmalloc.so.4:/y/torch_memory_saver.so --offload-train", NULL},
    {"mini-batch-below-gpus", AR "actor.ppo_mini_batch_size=4 trainer.n_gpus_per_node=8", NULL,
     AR "actor.ppo_mini_batch_size=4 " AR "rollout.n=2 trainer.n_gpus_per_node=8", NULL},
    {"adapter-names-nothing",
     "--actor_model_name_or_path x/gpt-j-6b --actor_lora_module_name decoder.layers.", NULL,
     "--actor_model_name_or_path x/opt-6.7b --actor_lora_module_name decoder.layers.", NULL},
    {"not-exported", "", "CUDA_VISIBLE_DEVICES=0,1\ntorchrun fit.py --lr 1\n", "",
     "CUDA_VISIBLE_DEVICES=0,1 torchrun fit.py --lr 1\n"},
    {"near-key", AR "rollout.gpu_memory_utilisation=0.5 " AR "actor.strategy=fsdp", NULL,
     AR "rollout.gpu_memory_utilization=0.5 " AR "actor.strategy=fsdp", NULL},
    {"near-key", "--max-token-per-gpu 8192 --update-weight-buffer-size 1 --use-kl-loss", NULL,
     "--max-tokens-per-g 8192 --update-weight-buffer-size 1 --use-kl-loss", NULL},
    /* what fix rules know of keys in guides */
    {"V18", AR "actor.megatron.grad_offload=True", NULL, AR "actor.megatron.grad_offload=False",
     NULL},
    {"V21", AR "actor.fsdp_config.cpu_offload=True", NULL,
     AR "actor.fsdp_config.param_offload=True", NULL},
    {"V21", AR "actor.fsdp_config.offload_params=True", NULL,
     AR "actor.fsdp_config.offload_policy=True", NULL},
    {"V43", "global_profiler.enabled=True " AR "actor.use_dynamic_bsz=True", NULL,
     "global_profiler.global_tool_config.torch_memory.stack_depth=32", NULL},
    {"A25", "allocation_mode=sglang:d4+fsdp:d4 actor.backend=fsdp:d4", NULL,
     "allocation_mode=sglang.d4+d4 actor.backend=fsdp actor.gradient_checkpointing=true", NULL},
    {"areal-rollouts-at-the-top", "max_concurrent_rollouts=256 actor.gradient_checkpointing=true",
     NULL, "rollout.max_concurrent_rollouts=256", NULL},
    {"memray-recorder", "--memory-recorder memray --memory-snapshot-dir /x --max-tokens-per-gpu 1",
     NULL, "--memory-recorder torch --max-tokens-per-gpu 1", NULL},
    {"A26", "tp_size=2 actor.gradient_checkpointing=true", NULL,
     "sglang.tp_size=2 actor.gradient_checkpointing=true", NULL},
    {"A27", "actor.sglang.mem_fraction_static=0.8", NULL, "sglang.mem_fraction_static=0.8", NULL},
    {"A28", "gconfig.max_tokens_per_mb=1", NULL, "actor.mb_spec.max_tokens_per_mb=1", NULL},
    {"A29", "sp_size=2 actor.gradient_checkpointing=true", NULL, "actor.backend=fsdp:d2c2", NULL},
};

MT_TEST(each_rule)
{
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct mt_lint_finding *f;
        run(cases[i].args, cases[i].log);
        f = find(cases[i].id);
        if (f == NULL)
            MT_FAIL_AT("%s is not found in: %s %s", cases[i].id, cases[i].args,
                       cases[i].log != NULL ? cases[i].log : "");
        else if (f->where[0] == '\0' || f->sentence[0] == '\0' || f->why[0] == '\0' ||
                 f->remedy[0] == '\0' || f->source[0] == '\0' || strchr(f->sentence, '%') != NULL)
            MT_FAIL_AT("%s is not whole: %s (%s)", cases[i].id, f->sentence, f->where);
        done();
        run(cases[i].not_args, cases[i].not_log);
        if (find(cases[i].id) != NULL)
            MT_FAIL_AT("%s is found in: %s %s", cases[i].id, cases[i].not_args,
                       cases[i].not_log != NULL ? cases[i].not_log : "");
        done();
        mt_n_checks += 2;
    }
}

/* A usual job with nothing wrong. */
MT_TEST(quiet)
{
    run(VERL_VLLM AR "rollout.gpu_memory_utilization=0.5 " AR "actor.use_dynamic_bsz=True " AR
                     "actor.ppo_max_token_len_per_gpu=16384 "
                     "data.max_prompt_length=2048 data.max_response_length=8192 " AR
                     "model.enable_gradient_checkpointing=True",
        VLLM_LINE "Sleep mode freed 60.00 GiB memory, 3.15 GiB memory is still in use.\n");
    MT_CHECK_EQ(lint->findings.n, 0);
    MT_CHECK_EQ(diag->cause, MT_CAUSE_NONE);
    MT_CHECK(diag->asks && advice.n > 0); /* a short text is one that somebody asks with */
    done();
    run("", NULL);
    MT_CHECK_EQ(lint->findings.n, 0);
    done();
}

MT_TEST(order_and_place)
{
    run("--log-probs-chunk-size 4 --disable-weights-backuper --optimizer-cpu-offload", NULL);
    for (uint32_t i = 1; i < lint->findings.n; i++)
        MT_CHECK(lint->findings.p[i - 1].level <= lint->findings.p[i].level);
    MT_CHECK_EQ(lint->findings.n, 3);
    MT_CHECK_STR(lint->findings.p[0].where, "--args");
    MT_CHECK_STR(mt_lint_level_name(lint->findings.p[0].level), "error");
    MT_CHECK(strstr(find("log-probs-chunk-rows")->sentence, "--log-probs-chunk-size 4 ") != NULL);
    done();
}

/* ---- the diagnosis of a log ---- */

static void cause(const char *log, enum mt_cause_kind want, const char *confidence)
{
    run("", log);
    MT_CHECK_STR(mt_cause_log_id(diag->cause), mt_cause_log_id(want));
    MT_CHECK_STR(diag->confidence, confidence);
    MT_CHECK(diag->sentence[0] != '\0');
}

MT_TEST(causes)
{
    cause(OOM_("12.00", "1.00", "0.10", ""), MT_CAUSE_CAPACITY, "high");
    done();
    cause(OOM_("2.00", "1.00", "12.00", ""), MT_CAUSE_FRAGMENTATION, "high");
    done();
    cause(OOM_("4.00", "1.00", "6.00", ""), MT_CAUSE_FRAGMENTATION, "medium");
    done();
    /* holes of a twentieth of what is reserved, and four times as much held by others */
    cause(OOM_("2.00", "1.00", "2.50", ""), MT_CAUSE_FOREIGN, "low");
    done();
    /* the ends of many segments are no fragmentation, however small the request */
    cause(OOM_("0.50", "0.10", "0.90", ""), MT_CAUSE_FOREIGN, "low");
    done();
    cause(OOM_("2.00", "1.00", "1.20", ""), MT_CAUSE_FOREIGN,
          "low"); /* by what remains of the card */
    done();
    cause(OOM_("2.00", "1.00", "0.10", "Process 7 has 9.00 GiB memory in use. "), MT_CAUSE_FOREIGN,
          "medium");
    done();
    /* a twentieth of the card was given back after the failure; of a fifth no card is full */
    cause(OOM_("2.00", "4.00", "0.10", ""), MT_CAUSE_CAPACITY, "medium");
    done();
    cause(OOM_("2.00", "16.00", "0.10", ""), MT_CAUSE_LIMIT, "low");
    done();
    cause("CUDA out of memory. Tried to allocate 2.00 GiB", MT_CAUSE_UNKNOWN, "low");
    done();
    cause("Killed\n", MT_CAUSE_KILLED, "low");
    MT_CHECK(advice.n > 0);
    done();
    cause("MemoryError\nKilled\n", MT_CAUSE_HOST, "high");
    done();
    cause("Killed\nNCCL WARN Failed to CUDA calloc 8 bytes\n", MT_CAUSE_OUTSIDE, "medium");
    MT_CHECK_EQ(diag->request, 8);
    done();
    cause("CUDA Error: out of memory at /x/cumem_allocator.cpp:62", MT_CAUSE_OUTSIDE, "medium");
    MT_CHECK_EQ(diag->phase, MT_PH_ROLLOUT_WAKE_SLEEP);
    done();
    cause("RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.",
          MT_CAUSE_ENGINE_SHARE, "high");
    done();
    cause("nothing\n", MT_CAUSE_NONE, "none");
    done();
}

MT_TEST(sentence)
{
    run("", "(W pid=4711) Before update_actor, memory allocated (GB): 50.00, memory reserved (GB): "
            "60.00, device memory "
            "used/total (GB): "
            "70.00/80.00\n(W pid=4711) " OOM_("2.00", "1.00", "12.00",
                                              "Process 99 has 5.00 GiB memory in use. "));
    MT_CHECK_STR(diag->sentence, "Rank 3 (pid 4711) on GPU 0, in actor update, asked for 2.00 GiB "
                                 "and 1.00 GiB of 80.00 GiB were free: PyTorch "
                                 "held 62.00 GiB (12.00 "
                                 "GiB of it reserved but unallocated), this process outside "
                                 "PyTorch 8.00 GiB, other processes 5.00 GiB, 4.00 GiB of the card "
                                 "in no process that is named.");
    MT_CHECK_EQ(diag->phase, MT_PH_TRAIN_ACTOR);
    MT_CHECK_EQ(mt_logs_capacity(&logs, 0), (uint64_t)80 << 30);
    MT_CHECK_EQ(mt_logs_capacity(&logs, -1), (uint64_t)80 << 30);
    MT_CHECK_EQ(mt_logs_framework(&logs), -1);
    done();
    run("", "[relax/backends/megatron/actor.py] a\n[/w/relax/verl/x.py] b\n[verl/mine.py] "
            "c\nverl/mine.py d\n" OOM_("2.00", "1.00", "12.00", ""));
    MT_CHECK_EQ(mt_logs_framework(&logs), FW(relax)); /* verl/mine.py is no file of verl */
    done();
    /* nothing but a process's name */
    run("", "(FSDPPolicyWorkerBase pid=7) " OOM_("2.00", "1.00", "12.00", ""));
    MT_CHECK_EQ(mt_logs_framework(&logs), FW(skyrl));
    done();
    run("", "  File \"/x/site-packages/swift/rlhf_trainers/grpo_trainer.py\", line 9, in f\n" OOM_(
                "2.00", "1.00", "12.00", ""));
    MT_CHECK_EQ(mt_logs_framework(&logs), FW(swift));
    done();
    /* Cards of two sizes: nothing is settled. */
    run("", "After X, memory allocated (GB): 1, memory reserved (GB): 1, device memory used/total "
            "(GB): 1/80\n"
            "After X, memory allocated (GB): 1, memory reserved (GB): 1, device memory used/total "
            "(GB): 1/40\n");
    MT_CHECK_EQ(mt_logs_capacity(&logs, -1), 0);
    done();
}

/* In a container this process stands among the others, under a number it does not know. */
MT_TEST(own_pid_is_hidden)
{
    run("", "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 80.00 "
            "GiB of which 1.00 GiB is "
            "free. Process 7 has "
            "78.00 GiB memory in use. Process 8 has 0.50 GiB memory in use. Of the allocated "
            "memory 76.00 GiB is allocated by "
            "PyTorch, and 0.50 "
            "GiB is reserved by PyTorch but unallocated.");
    MT_CHECK_EQ(diag->this_process, (uint64_t)78 << 30);
    MT_CHECK_EQ(diag->others, (uint64_t)1 << 29);
    MT_CHECK_STR(mt_cause_log_id(diag->cause), "capacity");
    done();
}

/* Advice on a log: values of the settings, and of the line itself; nothing leaks when memory ends.
 */
MT_TEST(share_of_a_log)
{
    static const char log[] = "ValueError: Free memory on device (31.25/79.15 GiB) on startup is "
                              "less than desired GPU memory "
                              "utilization (0.6, 47.49 GiB).";
    const char *typed = NULL, *now = NULL;
    run(AR "rollout.gpu_memory_utilization=0.6", log);
    for (uint32_t i = 0; i < advice.n; i++) {
        if (strcmp(advice.p[i].rule->id, "V01") == 0) {
            typed = mt_advice_line(&advice.p[i], 0);
            now = advice.p[i].current;
        }
    }
    MT_CHECK_STR(typed, AR "rollout.gpu_memory_utilization=0.39");
    MT_CHECK_HAS(now, "0.6 (--args)");
    for (uint64_t after = 1; after < 60; after++) {
        struct mt_logdiag_opts o = {.fixes = fixes, .framework = conf->framework, .conf = conf};
        struct mt_logdiag *d = NULL;
        struct mt_advice_list list = {.n = 0};
        struct mt_err err = {.rc = MT_OK};
        enum mt_rc rc;
        mt_mem_fail_after(after);
        rc = mt_logdiag_make(&d, &logs, &o, &list, &err);
        mt_mem_fail_after(0);
        MT_CHECK(rc == MT_OK || (rc == MT_ENOMEM && d == NULL));
        mt_logdiag_free(d);
        mt_advice_list_done(&list);
    }
    done();
}

MT_TEST(host_advice)
{
    bool preload = false;
    run("", "Out of memory: Killed process 1 (python) total-vm:1kB, anon-rss:1kB\n");
    for (uint32_t i = 0; i < advice.n; i++)
        for (uint32_t k = 0; k < advice.p[i].card->n_set; k++)
            preload |= strstr(advice.p[i].card->set[k].text,
                              "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/"
                              "libtcmalloc.so.4${LD_PRELOAD:+:$LD_PRELOAD}") != NULL;
    MT_CHECK(preload);
    done();
}

/* ---- by the driver's calls ---- */

static bool job_has(const struct mt_driverdiag *j, const char *id, const char *words)
{
    struct mt_lint_in in = {.fixes = fixes, .driver = j, .conf = conf};
    struct mt_err err;
    const struct mt_lint_finding *f;
    bool found;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_lint_make(&lint, &in, &err), MT_OK);
    f = find(id);
    found = f != NULL;
    if (found) {
        MT_CHECK(f->where[0] != '\0');
        MT_CHECK_HAS(f->sentence, words);
    }
    mt_lint_free(lint);
    lint = NULL;
    return found;
}

static char gpu_name[] = "GPU 0";

MT_TEST(residue_by_calls)
{
    struct mt_ledger l = {.name = gpu_name};
    struct mt_sleep s[7];
    struct mt_driverdiag j = {.ledgers = {.p = &l, .n = 1}, .sleeps = {.p = s, .n = 7}};
    memset(s, 0, sizeof s);
    for (unsigned i = 0; i < 7; i++) { /* a wake between two sleeps */
        s[i].who = MT_HOLD_ENGINE;
        s[i].is_wake = (i & 1) != 0;
        s[i].left = s[i].is_wake ? 60 * BD_GIB : i * BD_GIB;
    }
    MT_CHECK(job_has(&j, "sleep-residue", "0 B after the first, 6.00 GiB after the last of 4"));
    s[4].left = s[2].left + 64 * BD_MIB; /* one that grows by next to nothing */
    MT_CHECK(!job_has(&j, "sleep-residue", ""));
    s[4].left = 4 * BD_GIB;
    s[4].process = s[6].process = 1; /* two processes, twice each */
    MT_CHECK(!job_has(&j, "sleep-residue", ""));
    s[4].process = s[6].process = 0;
    for (unsigned i = 0; i < 7; i++)
        s[i].who = MT_HOLD_TORCH;
    MT_CHECK(!job_has(&j, "sleep-residue", ""));
}

MT_TEST(counters_above_the_card)
{
    struct mt_ledger l = {.name = gpu_name, .capacity = 80 * BD_GIB};
    struct mt_reconcile r = {.torch_reserved = 120 * BD_GIB, .unmapped = 60 * BD_GIB};
    struct mt_driverdiag j = {.ledgers = {.p = &l, .n = 1}, .reconciled = {.p = &r, .n = 1}};
    MT_CHECK(job_has(&j, "torch-counts-more", "120.00 GiB of 80.00 GiB"));
    r.unmapped = 10 * BD_GIB; /* sleeping does not explain it */
    MT_CHECK(!job_has(&j, "torch-counts-more", ""));
    r.unmapped = 60 * BD_GIB;
    l.capacity = 0;
    MT_CHECK(!job_has(&j, "torch-counts-more", ""));
    l.capacity = 80 * BD_GIB;
    r.ledger = MT_NONE32;
    MT_CHECK(!job_has(&j, "torch-counts-more", ""));
}

/* The library of torch_memory_saver on the stack of a call; the same call of another one. */
MT_TEST(saver_by_calls)
{
    static const char args[] = "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True";
    static const char *const stacks[] = {"torch_memory_saver.abi3.so:malloc|python3:main",
                                         BD_CUMEM};
    struct mt_err err;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_runconf_new(&conf, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_conf_args(&conf->conf, args, strlen(args), "--args", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(conf, MT_FROM_ARGS, &err), MT_OK);
    for (unsigned i = 0; i < 2; i++) {
        struct bd x = bd_new();
        const struct mt_trace *t;
        struct mt_trace *made;
        struct mt_driverdiag j = {.drivers = {.p = &t, .n = 1}};
        (void)bd_process(&x, "node1", 1, "train", 0, bd_gpu(&x, "node1", "GPU-1", 80 * BD_GIB));
        (void)bd_vmm(&x, MT_WO_VMM_CREATE, 0, BD_GIB, 7, stacks[i]);
        t = made = bd_done(&x);
        MT_CHECK_EQ(job_has(&j, "saver-expandable", "torch_memory_saver"), i == 0);
        mt_trace_free(made);
    }
    mt_runconf_free(conf);
    conf = NULL;
}

MT_TEST(bare_contexts)
{
    struct mt_ledger_row w[8];
    struct mt_ledger l = {.name = gpu_name, .rows = {.p = w, .n = 5}};
    struct mt_driverdiag j = {.ledgers = {.p = &l, .n = 1}};
    memset(w, 0, sizeof w);
    for (unsigned i = 0; i < 4; i++)
        w[i] = (struct mt_ledger_row){
            .holder = MT_HOLD_CONTEXT, .process = i, .bytes = (int64_t)(500 * BD_MIB)};
    w[4] = (struct mt_ledger_row){
        .holder = MT_HOLD_TORCH, .process = 3, .bytes = (int64_t)(40 * BD_GIB)};
    MT_CHECK(job_has(&j, "contexts-on-one-gpu", "3 processes of up to 500.0 MiB"));
    w[4].process = 2; /* its own rank, and another that works here as well */
    w[5] = (struct mt_ledger_row){
        .holder = MT_HOLD_ENGINE, .process = 3, .bytes = (int64_t)(8 * BD_GIB)};
    l.rows.n = 6;
    MT_CHECK(!job_has(&j, "contexts-on-one-gpu", ""));
    l.rows.n = 5;
    w[0].bytes = (int64_t)(900 * BD_MIB); /* not of one size */
    MT_CHECK(!job_has(&j, "contexts-on-one-gpu", ""));
}

static void load_fixes(void)
{
    struct mt_err err;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_fix_rules_load(&fixes, mt_test_frameworks(), NULL, 0, NULL, &err), MT_OK);
}

MT_TEST(set_up) { load_fixes(); }
MT_TEST(tear_down) { mt_fix_rules_free(fixes); }

MT_MAIN(MT_RUN(set_up) MT_RUN(each_rule) MT_RUN(quiet) MT_RUN(order_and_place) MT_RUN(causes)
            MT_RUN(sentence) MT_RUN(own_pid_is_hidden) MT_RUN(share_of_a_log) MT_RUN(host_advice)
                MT_RUN(residue_by_calls) MT_RUN(counters_above_the_card) MT_RUN(saver_by_calls)
                    MT_RUN(bare_contexts) MT_RUN(tear_down))
