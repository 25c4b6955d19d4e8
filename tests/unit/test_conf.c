/* Settings: YAML, JSON, TOML, scripts, command lines; asked for by key and by name. */
#include "analysis/setup/keys.h"
#include "mt_test.h"
#include "frameworks.h"

static struct mt_runconf *rc;
static struct mt_err err;

static void open_conf(void)
{
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
}

static enum mt_rc file(const char *text, const char *name)
{
    enum mt_rc r = mt_conf_file(&rc->conf, text, strlen(text), name, &err);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_CONFIG, &err), MT_OK);
    return r;
}

static void args(const char *text)
{
    MT_CHECK_EQ(mt_conf_args(&rc->conf, text, strlen(text), "--args", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_ARGS, &err), MT_OK);
}

static const char *get(const char *key)
{
    const char *v = mt_runconf_get(rc, key);
    return v != NULL ? v : "(null)";
}

static const char *where(const char *key)
{
    static char buf[300];
    struct mt_runconf_hit hit;
    return mt_runconf_find(rc, key, &hit) && hit.entry != NULL
               ? mt_runconf_where(buf, sizeof buf, hit.entry)
               : "(null)";
}

MT_TEST(yaml)
{
    open_conf();
    MT_CHECK_EQ(file("actor_rollout_ref:\n"
                     "  rollout: {gpu_memory_utilization: 0.5, name: vllm}\n"
                     "  actor:\n"
                     "    ppo_max_token_len_per_gpu: 8192\n"
                     "    dynamic: ${x.y}\n"
                     "    list: [1, two, 3.5]\n"
                     "    deep:\n"
                     "      - a: 1\n"
                     "      - [2, 3]\n"
                     "    empty: []\n"
                     "anchor: &a 7\n"
                     "alias: *a\n"
                     "quoted: \"a: b # c\"\n"
                     "none:\n",
                     "run.yaml"),
                MT_OK);
    MT_CHECK_STR(get("tokens_per_gpu"), "8192");
    MT_CHECK_STR(where("tokens_per_gpu"), "run.yaml:4");
    MT_CHECK_STR(get("gpu_memory_utilization"), "0.5");
    MT_CHECK_STR(get("actor_rollout_ref.actor.list"), "[1, two, 3.5]");
    MT_CHECK_STR(get("actor_rollout_ref.actor.deep.0.a"), "1");
    MT_CHECK_STR(get("actor_rollout_ref.actor.deep.1"), "[2, 3]");
    MT_CHECK_STR(get("actor_rollout_ref.actor.empty"), "[]");
    MT_CHECK_STR(get("actor_rollout_ref.actor.dynamic"), "(null)");
    MT_CHECK_STR(get("alias"), "(null)");
    MT_CHECK_STR(get("anchor"), "7");
    MT_CHECK_STR(get("quoted"), "a: b # c");
    MT_CHECK_STR(get("none"), "");
    MT_CHECK_STR(get("max_prompt_len"), "(null)");
    MT_CHECK_EQ(rc->framework, FW(verl));
    mt_runconf_free(rc);
}

MT_TEST(json)
{
    open_conf();
    MT_CHECK_EQ(file("{\"a\": {\"b\": [1, \"x\", null], \"c\": true, \"d\": [{\"e\": 1.5}]}, "
                     "\"vocab_size\": 151936}",
                     "config.json"),
                MT_OK);
    MT_CHECK_STR(get("a.b"), "[1, x, null]");
    MT_CHECK_STR(get("a.c"), "true");
    MT_CHECK_STR(get("a.d.0.e"), "1.5");
    MT_CHECK_STR(get("vocab"), "151936");
    MT_CHECK_STR(where("vocab"), "config.json");
    mt_runconf_free(rc);
}

/* As prime-rl and torchtitan write it. */
MT_TEST(toml)
{
    open_conf();
    MT_CHECK_EQ(file("max_steps = 1_000 # a comment\r\n"
                     "seq_len = 131_072\n"
                     "site.\"a b\" . 'c.d' = \"x\\t\\\"y\\\" # z\"\n"
                     "long = \"\"\"\n  one\n  two\\\n   three\"\"\"\"\n"
                     "raw = '''it's \\n'''\n"
                     "lists = [ [1, 2], [\"a\"] ]\n"
                     "names = [\n  \"q_proj\", # first\n  'k_proj',\n]\n"
                     "none = []\n"
                     "[trainer]\n"
                     "[trainer.model]\n"
                     "cp = 4\n"
                     "optim_cpu_offload = false\n"
                     "lora = { rank = 16, more.alpha = 32.0 }\n"
                     "[trainer.model.ac_offloading]\n"
                     "[[train.source]]\n"
                     "id = 1\n"
                     "[train.source.args]\n"
                     "x = 2\n"
                     "[[train.source]]\n"
                     "id = 3\n"
                     "[train.source.args]\n"
                     "x = 4\n"
                     "[[train.source.deep]]\n"
                     "y = 5\n"
                     "[ resume ]",
                     "rl.toml"),
                MT_OK);
    MT_CHECK_STR(get("tokens_per_gpu"), "131072");
    MT_CHECK_STR(where("tokens_per_gpu"), "rl.toml:2");
    MT_CHECK_STR(get("max_steps"), "1000");
    MT_CHECK_STR(get("site.a b.c.d"), "x\t\"y\" # z");
    MT_CHECK_STR(get("long"), "  one\n  twothree\"");
    MT_CHECK_STR(get("raw"), "it's \\n");
    MT_CHECK_STR(get("lists.0"), "[1, 2]");
    MT_CHECK_STR(get("lists.1"), "[a]");
    MT_CHECK_STR(get("names"), "[q_proj, k_proj]");
    MT_CHECK_STR(get("none"), "[]");
    MT_CHECK_STR(get("trainer"), "(null)"); /* only tables below it */
    MT_CHECK_STR(get("cp"), "4");
    MT_CHECK_STR(where("cp"), "rl.toml:17");
    MT_CHECK_STR(get("optimizer_offload"), "false");
    MT_CHECK_STR(get("lora_rank"), "16");
    MT_CHECK_STR(get("trainer.model.lora.more.alpha"), "32.0");
    MT_CHECK_STR(get("activation_offload"), ""); /* an empty table switches on */
    MT_CHECK_STR(get("train.source.0.args.x"), "2");
    MT_CHECK_STR(get("train.source.1.args.x"), "4");
    MT_CHECK_STR(get("train.source.1.deep.0.y"), "5");
    MT_CHECK_STR(get("resume"), "");
    MT_CHECK_EQ(rc->framework, FW(prime_rl));
    mt_runconf_free(rc);
}

/* As an editor on Windows leaves it; and keys that are too long are left out whole, in quotes as
 * without. */
MT_TEST(toml_of_others)
{
    static char text[2 * MT_CONF_KEY + 64];
    open_conf();
    MT_CHECK_EQ(file("long = \"\"\"\r\none\r\ntwo\"\"\"\r\nraw = '''\r\n'''\r\n", "x.toml"), MT_OK);
    MT_CHECK_STR(get("long"), "one\r\ntwo");
    MT_CHECK_STR(get("raw"), "");
    (void)snprintf(text, sizeof text, "\"%0*d\" = 1\n%0*d = 2\n", (int)MT_CONF_KEY + 1, 7,
                   (int)MT_CONF_KEY + 1, 7);
    MT_CHECK_EQ(file(text, "x.toml"), MT_OK);
    MT_CHECK_EQ(rc->conf.entries.n, 2);
    MT_CHECK_EQ(rc->conf.n_dropped, 2);
    mt_runconf_free(rc);
}

MT_TEST(toml_is_wrong)
{
    static const struct {
        const char *text, *says;
    } of[] = {
        {"a = 1\nb\n", "line 2: this is no TOML: '=' is expected"},
        {"a = \"b\nc = 1", "line 1: this is no TOML: a string does not end"},
        {"a = [1, 2\nb = 3", "a list does not end"},
        {"a = {b = 1", "an inline table does not end"},
        {"[a\nb = 1", "']' is expected"},
        {"[[a]\n", "']' is expected"},
        {"a = \n", "a value is expected"},
        {"a = \"b\" c\n", "the end of the line is expected"},
        {"= 1", "a key is expected"},
        {"a = = 3", "line 1: this is no TOML: what is no number, date, true or false"},
        {"a = tru", "what is no number"},
        {"a = 01", "what is no number"},
        {"a = 1__0", "what is no number"},
        {"a = 1 b = 2", "what is no number"},
        {"a = [1, 0xg]", "what is no number"},
        {"a = 1.", "what is no number"},
        {"a = 2026-1-1", "what is no number"},
        {"a = \"\\z\"", "a string has a backslash"},
        {"a = \"\\\n\"", "a string has a backslash"},
        {"a = \"\\u00g9\"", "a string has a backslash"},
        {"\"\"\"a\"\"\" = 1", "a key has three quotes"},
        {"a = 1\nb = 2\na = 3", "line 3: this is no TOML: a key is set twice"},
        {"a = {b = 1, b = 2}", "a key is set twice"},
        {"a.b = 1\na = 2", "a key is set twice"},
        {"a = 1\na.b = 2", "a value is set that has no keys"},
        {"a = 1\n[a.b]", "a value is set that has no keys"},
        {"a = 1\n[a]", "a value is set that has no keys"},
        {"[a]\nb = 1\n[a]", "line 3: this is no TOML: a table stands twice"},
        {"[[a]]\n[a]", "a table stands twice"},
        {"[a]\n[[a]]", "a table stands twice"},
        {"a = []\n[[a]]", "a value is set that has no keys"},
        {"[a.b]\nc = 1\n[a]\nb.d = 2", "a table is added to"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        open_conf();
        MT_CHECK_EQ(file(of[i].text, "x.toml"), MT_EINPUT);
        MT_CHECK_HAS(err.msg, of[i].says);
        mt_runconf_free(rc);
    }
    open_conf();
    MT_CHECK_EQ(file("a = 1\n[b\n", "x.toml"), MT_EINPUT);
    MT_CHECK_STR(get("a"), "(null)"); /* half a file is no run's settings */
    mt_runconf_free(rc);
}

/* What looks like a mistake and is none. */
MT_TEST(toml_is_right)
{
    static const char *const all[] = {
        "a = 1979-05-27T07:32:00Z\nb = 1979-05-27 07:32:00.5-07:00\nc = 07:32:00\nd = 1979-05-27",
        "a = 0xDEAD_beef\nb = 0o755\nc = 0b1101\nd = +1_000\ne = -0\nf = 6.02e+23\ng = -0.0",
        "a = inf\nb = -nan\nc = 1e5\nd = 1_0.0_1\ne = [ 1, 2, ]\nf = {}\ng = 0",
        "[a.b]\nc = 1\n[a]\nd = 2\n[a.b.e]\nf = 1",
        "[[a]]\nb = 1\n[[a]]\nb = 2\n[a.c]\nd = 1\n[[a]]\n[a.c]\nd = 2",
        "a.b = 1\na.c = 2\n[d]\na.b = 1\na.c = 2",
        "\"a.b\" = 1\na.b = 2\n\"\" = 3",
        "a = [{b = 1}, {b = 2}]\n[c]\na = {b.c = 1, b.d = 2}",
        "a = \"\\u00e9\\e\\x41\\t\"\nb = \"\"\"x\\  \n  y\"\"\"\nc = 'C:\\z'",
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        open_conf();
        if (file(all[i], "x.toml") != MT_OK)
            MT_FAIL_AT("%s: %s", all[i], err.msg);
        mt_runconf_free(rc);
    }
}

MT_TEST(bad_files)
{
    open_conf();
    MT_CHECK_EQ(file("a: [b\nc: }", "x.yaml"), MT_EINPUT);
    MT_CHECK(strstr(err.msg, "line 2") != NULL);
    MT_CHECK_EQ(file("{\"a\": \n1,, }", "x.json"), MT_EINPUT);
    MT_CHECK(strstr(err.msg, "line 2") != NULL);
    MT_CHECK_EQ(file("just a text", "x.txt"), MT_EINPUT);
    MT_CHECK_EQ(file("", "x.yaml"), MT_EINPUT);
    MT_CHECK_EQ(file("{\"a\": 1", "x.json"), MT_EINPUT);
    MT_CHECK_EQ(file("[1, 2]", "x.yaml"), MT_EINPUT);
    mt_runconf_free(rc);
}

MT_TEST(script)
{
    open_conf();
    MT_CHECK_EQ(
        file("#!/bin/bash\n"
             "set -x\n"
             "export PYTORCH_CUDA_ALLOC_CONF=\"expandable_segments:True,max_split_size_mb:128\"\n"
             "max_len=2048 # tokens\n"
             "N=${FOO:-3}\n"
             "LD_PRELOAD=/usr/lib/libtcmalloc.so python3 -m verl.trainer.main_ppo --config-path=/x "
             "\\\n"
             "    data.max_response_length=$max_len \\\n"
             "    data.max_prompt_length=\"${max_len}\" \\\n"
             "    +actor_rollout_ref.x.y='a b' ~trainer.logger trainer.n=${N} \\\n"
             "    --max-tokens-per-gpu 8192 --offload --cuda_graph_bs 1 2 4 --lr=-1e-5 $@\n"
             "python3 train.py --colocate ${MODEL_ARGS[@]} --offload-train \"${CKPT_ARGS[@]}\" \\\n"
             "    --debug-train-only $@ --seed ${SEEDS[0]}\n"
             "echo done; other k.v=1\n",
             "run.sh"),
        MT_OK);
    MT_CHECK_STR(get("PYTORCH_CUDA_ALLOC_CONF.expandable_segments"), "True");
    MT_CHECK_STR(get("expandable_segments"), "True");
    MT_CHECK_STR(get("max_split_size_mb"), "128");
    MT_CHECK_STR(where("max_split_size_mb"), "run.sh:3");
    MT_CHECK_STR(get("max_response_len"), "2048");
    MT_CHECK_STR(where("max_response_len"), "run.sh:7");
    MT_CHECK_STR(get("max_prompt_len"), "2048");
    MT_CHECK_STR(get("actor_rollout_ref.x.y"), "a b");
    MT_CHECK_STR(get("trainer.logger"), "(null)");
    MT_CHECK_STR(get("trainer.n"), "(null)");
    MT_CHECK_STR(get("LD_PRELOAD"), "/usr/lib/libtcmalloc.so");
    MT_CHECK_STR(get("--max-tokens-per-gpu"), "8192");
    MT_CHECK_STR(get("--max_tokens_per_gpu"), "8192");
    MT_CHECK_STR(get("--offload"), "");
    MT_CHECK(mt_runconf_is_true(mt_runconf_get(rc, "--offload")));
    MT_CHECK_STR(get("--cuda-graph-bs"), "1");
    MT_CHECK_STR(get("--lr"), "-1e-5");
    MT_CHECK_STR(get("--colocate"), "");
    MT_CHECK_STR(get("--offload-train"), "");
    MT_CHECK_STR(get("--debug-train-only"), "");
    MT_CHECK_STR(get("--seed"), "(null)");
    MT_CHECK_STR(get("k.v"), "1");
    MT_CHECK_STR(get("max_len"), "(null)");
    mt_runconf_free(rc);
}

MT_TEST(precedence)
{
    open_conf();
    args("actor_rollout_ref.rollout.gpu_memory_utilization=0.7 data.max_prompt_length=1 "
         "data.max_prompt_length=2 "
         "PYTORCH_ALLOC_CONF=a:1");
    file("actor_rollout_ref: {rollout: {gpu_memory_utilization: 0.5, enforce_eager: True}}\n",
         "a.yaml");
    MT_CHECK_STR(get("gpu_memory_utilization"), "0.7");
    MT_CHECK_STR(where("gpu_memory_utilization"), "--args");
    MT_CHECK_STR(get("enforce_eager"), "True");
    MT_CHECK_STR(get("max_prompt_len"), "2");
    MT_CHECK_STR(get("PYTORCH_ALLOC_CONF.a"), "1");
    args("~data.max_prompt_length");
    MT_CHECK_STR(get("max_prompt_len"), "(null)");
    mt_runconf_free(rc);
}

MT_TEST(defaults)
{
    struct mt_runconf_hit hit;
    open_conf();
    MT_CHECK(!mt_runconf_find(rc, "gpu_memory_utilization", &hit)); /* of which framework? */
    args("actor_rollout_ref.actor.use_dynamic_bsz=True");
    MT_CHECK(mt_runconf_find(rc, "gpu_memory_utilization", &hit));
    MT_CHECK(hit.is_default);
    MT_CHECK_STR(hit.value, "0.5");
    MT_CHECK_STR(get("gpu_memory_utilization"), "(null)");
    mt_runconf_free(rc);
    MT_CHECK(mt_runconf_get(NULL, "tp") == NULL);
}

static const char *found(const char *text, bool *by_default)
{
    static char buf[64];
    struct mt_runconf_hit hit;
    bool is;
    open_conf();
    args(text);
    is = mt_runconf_find(rc, "grad_ckpt", &hit);
    *by_default = is && hit.is_default;
    (void)snprintf(buf, sizeof buf, "%s %s", is && hit.entry != NULL ? hit.entry->key : "-",
                   is && hit.value != NULL ? hit.value : "-");
    mt_runconf_free(rc);
    return buf;
}

/* A switch takes no flag whose value is quoted, but a flag that is quoted whole. */
MT_TEST(quoted_flags)
{
    open_conf();
    args("--do_this --name='x y' --also \"--other=1\" --last=\"z\"");
    MT_CHECK_STR(get("--do-this"), "");
    MT_CHECK_STR(get("--name"), "x y");
    MT_CHECK_STR(get("--also"), "--other=1");
    MT_CHECK_STR(get("--last"), "z");
    mt_runconf_free(rc);
}

/* What is set under a key's name with a word before it goes before the key's default. */
MT_TEST(words_before_a_key)
{
    bool by_default;
#define HF "--per_device_train_batch_size 1 --learning_rate 1e-5 --num_train_epochs 2 "
    MT_CHECK_STR(found(HF, &by_default), "- False");
    MT_CHECK(by_default);
    MT_CHECK_STR(found(HF "--policy_gradient_checkpointing", &by_default),
                 "policy_gradient_checkpointing ");
    MT_CHECK(!by_default);
    MT_CHECK_STR(found(HF "--student-gradient-checkpointing true", &by_default),
                 "student-gradient-checkpointing true");
    MT_CHECK_STR(found("--student_gradient_checkpointing", &by_default),
                 "student_gradient_checkpointing ");
    /* what trains, before what scores; two that differ, the opposite, another model: untold */
    MT_CHECK_STR(found(HF "--generator_gradient_checkpointing --value_gradient_checkpointing 0",
                       &by_default),
                 "generator_gradient_checkpointing ");
    MT_CHECK_STR(found(HF "--a_gradient_checkpointing 1 --b_gradient_checkpointing 0", &by_default),
                 "- -");
    MT_CHECK_STR(found(HF "--no_gradient_checkpointing", &by_default), "- -");
    MT_CHECK_STR(found(HF "--value_gradient_checkpointing", &by_default), "- -");
    /* of what is never trained it says nothing, nor does a number or the end of another word */
    MT_CHECK_STR(found(HF "--teacher_gradient_checkpointing", &by_default), "- False");
    MT_CHECK_STR(found(HF "--mygradient_checkpointing --x_gradient_checkpointing 7", &by_default),
                 "- False");
    MT_CHECK_STR(
        found(HF "--gradient_checkpointing False --policy_gradient_checkpointing", &by_default),
        "gradient_checkpointing False");
#undef HF
}

/* One key of each framework, by its name. */
MT_TEST(frameworks)
{
    const struct {
        const char *args, *name, *value;
        int framework;
    } of[] = {
        {"actor.mb_spec.max_tokens_per_mb=4096", "tokens_per_gpu", "4096", FW(areal)},
        {"actor.backend=fsdp:d2t4c2 gconfig.max_new_tokens=9", "tp", "4", FW(areal)},
        {"actor.backend=fsdp:d2c2", "cp", "2", FW(areal)},
        {"actor.backend=fsdp:d2c2", "pp", "1", FW(areal)},
        {"rollout.backend=sglang:d4", "engine", "sglang", FW(areal)},
        {"--max-tokens-per-gpu 8192 --rollout-max-response-len 5", "max_response_len", "5", -1},
        {"--vllm_gpu_memory_utilization 0.3 --max_completion_length 7", "max_response_len", "7",
         FW(trl)},
        {"policy.generation.vllm_cfg.gpu_memory_utilization=0.6", "gpu_memory_utilization", "0.6",
         FW(nemorl)},
        {"trainer.max_tokens_per_microbatch=16384", "tokens_per_gpu", "16384", FW(skyrl)},
        /* up to skyrl-train 0.4 */
        {"generator.gpu_memory_utilization=0.7", "gpu_memory_utilization", "0.7", FW(skyrl)},
        {"actor_train.strategy_args.strategy_config.tensor_model_parallel_size=2", "tp", "2",
         FW(roll)},
        {"--trainer.model.cp 2 --seq-len 4096", "tokens_per_gpu", "4096", FW(prime_rl)},
        {"--sleep_level 1 --max_length 2048", "max_prompt_len", "2048", FW(swift)},
        {"--vllm.gpu_memory_utilization 0.4 --train.max_tokens_per_gpu 1", "gpu_memory_utilization",
         "0.4", FW(openrlhf)},
        {"--gpu-memory-utilization 0.9 --max-num-seqs 4", "max_num_seqs", "4", FW(vllm)},
        {"--mem-fraction-static=0.8", "gpu_memory_utilization", "0.8", FW(sglang)},
        {"--num-attention-heads 40 --micro-batch-size 1", "heads", "40", -1},
        {"--cutoff_len 4096 --finetuning_type lora --per_device_train_batch_size 4", "max_seq_len",
         "4096", FW(llamafactory)},
        {"cutoff_len=4096 finetuning_type=full per_device_train_batch_size=4", "micro_batch", "4",
         FW(llamafactory)},
        {"--sequence-len 8192 --sample-packing=true --micro-batch-size 2", "packing", "true",
         FW(axolotl)},
        {"sequence_len=8192 sample_packing=true micro_batch_size=2 gradient_checkpointing=true",
         "micro_batch", "2", FW(axolotl)},
        {"tokenizer.max_seq_len=512 enable_activation_checkpointing=True batch_size=2", "grad_ckpt",
         "True", FW(torchtune)},
        {"--training.local_batch_size 8 --training.seq_len 4096", "max_seq_len", "4096",
         FW(torchtitan)},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        open_conf();
        args(of[i].args);
        MT_CHECK_STR(get(of[i].name), of[i].value);
        if (of[i].framework >= 0)
            MT_CHECK_EQ(rc->framework, of[i].framework);
        mt_runconf_free(rc);
    }
}

/* Which framework the run has is believed where its own keys say so, or a log. */
MT_TEST(framework_of_the_run)
{
    const struct {
        const char *args;
        int run;
    } of[] = {
        {"actor.backend=fsdp:d8 rollout.backend=sglang:d8", FW(areal)},
        /* Relax has the same flags */
        {"--max-tokens-per-gpu 9216 --sglang-mem-fraction-static 0.7", FW(slime)},
        {"actor_rollout_ref.rollout.name=vllm", FW(verl)},
        {"trainer.strategy=fsdp generator.inference_engine.gpu_memory_utilization=0.8", FW(skyrl)},
        {"actor_train.infer_batch_size=4", FW(roll)},
        {"--trainer.model.seq-len 8192 --inference.vllm.gpu-memory-utilization 0.9", FW(prime_rl)},
        /* up to 0.8.0 */
        {"--inference.gpu-memory-utilization 0.9", FW(prime_rl)},
        /* ms-swift has them too */
        {"--vllm_gpu_memory_utilization 0.5 --per_device_train_batch_size 2", FW(trl)},
        {"--vllm_gpu_memory_utilization 0.5 --sleep_level 1 --per_device_train_batch_size 2",
         FW(swift)},
        /* anybody's */
        {"--seq-len 4096 --model.name x --max_length 7 prompt_length=9 response_length=9", -1},
        /* also Megatron's own */
        {"--global-batch-size 8 --hidden-size 4096", -1},
        /* an engine alone */
        {"--max-num-seqs 4", -1},
        {"learning_rate=1", -1},
        {"--finetuning_type lora --cutoff_len 2048 --per_device_train_batch_size 8",
         FW(llamafactory)},
        {"sequence_len=4096 micro_batch_size=1", FW(axolotl)},
        {"enable_activation_offloading=True", FW(torchtune)},
        /* of all programs that have these, the one that the others are made from */
        {"--per_device_train_batch_size 8", FW(transformers)},
        {"--per_device_train_batch_size 8 --gradient_checkpointing False", FW(transformers)},
        {"--per_device_train_batch_size 8 --max_completion_length 512", FW(trl)},
        /* Megatron's flags as well */
        {"--bf16 --fp16", -1},
        /* what was started says more than keys */
        {"swift sft --per_device_train_batch_size 8", FW(swift)},
        {"NPROC_PER_NODE=2 megatron sft --micro_batch_size 1", FW(swift)},
        {"torchrun --nproc_per_node 8 /home/u/ms-swift/swift/cli/_megatron/sft.py "
         "--tensor_model_parallel_size 2",
         FW(swift)},
        {"deepspeed --module openrlhf.cli.train_sft --micro_train_batch_size 2", FW(openrlhf)},
        {"uv run examples/run_grpo_math.py policy.train_micro_batch_size=4", FW(nemorl)},
        {"accelerate launch -m axolotl.cli.train x.yml --micro_batch_size 1", FW(axolotl)},
        {"python -m verl.trainer.fsdp_sft_trainer data.micro_batch_size_per_gpu=8", FW(verl_sft)},
        {"python3 -m verl.trainer.main config=c.yaml data.max_prompt_length=9", FW(easyr1)},
        {"torchrun --standalone run_clm.py --per_device_train_batch_size 8", FW(transformers)},
        {"vllm serve m --max-num-seqs 4; python -m verl.trainer.main_ppo "
         "actor_rollout_ref.rollout.name=vllm",
         FW(verl)},
        /* a script of somebody's: one option in common is chance, two are none, and a library's
           are there to be taken over */
        {"python run_x.py --offload_model True --seed 3", -1},
        {"torchrun --nproc_per_node 8 run_x.py --model-path m --seed 3", -1},
        {"python run_x.py --offload_model True --sleep_level 1", FW(swift)},
        {"python run_x.py --per_device_train_batch_size 8", FW(transformers)},
    };
    struct mt_runconf_hit hit;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        open_conf();
        args(of[i].args);
        if (mt_runconf_run(rc) != of[i].run)
            MT_FAIL_AT("%s of %s", of[i].args, "mt_runconf_run");
        MT_CHECK_EQ(rc->any, strstr(of[i].args, "learning_rate") == NULL &&
                                 strstr(of[i].args, "response_length") == NULL &&
                                 strstr(of[i].args, "--seed") == NULL &&
                                 strstr(of[i].args, "bf16") == NULL);
        mt_runconf_free(rc);
    }
    open_conf();
    MT_CHECK_EQ(mt_runconf_run(NULL), -1);
    MT_CHECK_EQ(mt_runconf_run(rc), -1);
    args("--max-tokens-per-gpu 9216");
    mt_runconf_tell(rc, FW(relax));
    MT_CHECK_EQ(mt_runconf_run(rc), FW(relax));
    args("--sglang-mem-fraction-static 0.7"); /* more keys do not take it back */
    MT_CHECK_EQ(mt_runconf_run(rc), FW(relax));
    MT_CHECK(mt_runconf_find(rc, "train_memory_margin", &hit) && hit.is_default);
    mt_runconf_tell(rc, -1);
    MT_CHECK_EQ(mt_runconf_run(rc), FW(slime));
    rc->forced = true;
    rc->framework = FW(trl);
    mt_runconf_tell(rc, FW(relax));
    MT_CHECK_EQ(mt_runconf_run(rc), FW(trl));
    mt_runconf_free(rc);
}

/* What memtrace merely computes with is found by its name, and tells no framework: the flags are
 * Megatron's, the path is verl's. */
/* Which backend and engine settings name: a value, else the place of keys; no default. */
MT_TEST(backend_of_the_run)
{
    static const struct {
        const char *text;
        const char *names[3];
    } cases[] = {
        {"actor_rollout_ref.actor.strategy=fsdp2 actor_rollout_ref.rollout.name=sglang",
         {"fsdp", "sglang"}},
        {"actor_rollout_ref.actor.strategy=megatron actor_rollout_ref.actor.fsdp_config.x=1",
         {"megatron"}},
        {"actor_rollout_ref.actor.megatron.param_offload=True", {"megatron"}},
        {"--config-name=ppo_megatron_trainer.yaml actor_rollout_ref.model.path=x", {"megatron"}},
        {"actor_rollout_ref.actor.megatron.a=1 actor_rollout_ref.actor.fsdp_config.b=1", {NULL}},
        {"actor.backend=archon:d4", {"archon"}},
        {"rollout.backend=vllm:d2 actor.backend=fsdp:d4", {"vllm", "fsdp"}},
        {"trainer.placement.colocate_all=true trainer.policy_mini_batch_size=8", {NULL}},
        {"x=1", {NULL}}};
    MT_CHECK_EQ(mt_run_names(NULL), 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t want = 0;
        open_conf();
        args(cases[i].text);
        for (const char *const *n = cases[i].names; *n != NULL; n++)
            want |= MT_FW_BIT(mt_test_framework(*n));
        if (mt_run_names(rc) != want)
            MT_FAIL_AT("%s of %s", cases[i].text, "mt_run_names");
        mt_runconf_free(rc);
    }
    /* the lines of a log name the package, the settings the program in it */
    open_conf();
    mt_runconf_tell(rc, FW(verl));
    args("data.micro_batch_size_per_gpu=4 model.partial_pretrain=x");
    MT_CHECK_EQ(rc->framework, FW(verl_sft));
    mt_runconf_tell(rc, FW(areal));
    MT_CHECK_EQ(rc->framework, FW(areal));
    mt_runconf_free(rc);
}

MT_TEST(quiet)
{
    const char *text = "--swiglu trainer.nnodes=4";
    open_conf();
    MT_CHECK_EQ(mt_conf_args(&rc->conf, text, strlen(text), "x", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_ARGS, &err), MT_OK);
    MT_CHECK_STR(mt_runconf_get(rc, "swiglu"), "");
    MT_CHECK_STR(mt_runconf_get(rc, "job_nodes"), "4");
    MT_CHECK_EQ(rc->framework, -1);
    MT_CHECK(!rc->any);
    mt_runconf_free(rc);
}

/* Every setting of the table is found by its name when any of its keys is set, in the spelling of
 * the table. */
MT_TEST(every_key)
{
    open_conf();
    MT_CHECK(rc->settings.n > 40);
    for (uint32_t i = 0; i < rc->settings.n; i++) {
        const struct mt_runconf_setting s = rc->settings.p[i];
        for (uint32_t k = 0; k < s.n; k++) {
            const struct mt_runconf_key key = rc->keys.p[s.first + k];
            struct mt_runconf *one = NULL;
            char text[700];
            const char *want = s.is_switch                     ? "false"
                               : key.part == NULL              ? "3"
                               : strcmp(key.part, "name") == 0 ? "fsdp"
                                                               : "2";
            MT_CHECK(key.part == NULL || strlen(key.part) == 1 || strcmp(key.part, "name") == 0);
            MT_CHECK_EQ(mt_runconf_new(&one, mt_test_frameworks(), &err), MT_OK);
            snprintf(text, sizeof text, "%s=%s", key.key,
                     key.part != NULL ? "fsdp:d2t2p2c2e2"
                     : s.is_switch    ? "false"
                                      : "3");
            for (char *star = text; (star = strchr(star, '*')) != NULL;)
                *star = 'a'; /* a shape: some name of it */
            MT_CHECK_EQ(mt_conf_args(&one->conf, text, strlen(text), "x", false, &err), MT_OK);
            MT_CHECK_EQ(mt_runconf_added(one, MT_FROM_ARGS, &err), MT_OK);
            if (mt_framework_is_main(one->rules, key.framework) && key.framework != MT_FW_NONE)
                mt_runconf_tell(one, key.framework); /* "--train-batch-size" has two meanings */
            if (mt_runconf_get(one, s.name) == NULL ||
                strcmp(mt_runconf_get(one, s.name), want) != 0)
                MT_FAIL_AT("%s by %s", s.name, text);
            mt_runconf_free(one);
        }
    }
    mt_runconf_free(rc);
}

/* Keys that no table has, by their shape: the last component, however it is spelt; what is a batch
 * of something else is none, nor what is no number, nor one of two that are alike. */
MT_TEST(shapes)
{
    static const struct {
        const char *args, *value;
    } cases[] = {
        {"--imgs-per-gpu 6", "6"},
        {"trainer.stage2.MicroBatchSize=1 --batch_size 64", "64"},
        {"trainer.stage2.micro_batch_size_x=1 --batch_size 64", "1"},
        {"--eval_batch_size 8", NULL},
        {"--global-batch-size 512 --num_train_batch_size_warmups 2", NULL},
        {"--imgs-per-gpu auto", NULL},
        {"--batch_size 4 --batch_size 9", "9"},
        {"model.max_tokens_per_gpu=4096", NULL},
        /* a number of parts, of samples of something, of seconds */
        {"--micro_batches 8 --batch_size 64", "64"},
        {"--n_micro_batch 8", NULL},
        {"--n_samples_per_prompt 4", NULL},
        {"--cuda_graph_max_bs 128 --map_batch_size 1", NULL},
        {"--max_duration 43200", NULL},
        /* by the place above it: what trains, and nothing where that is not told */
        {"train.batch_size=8 val.batch_size=64 tokenizer.batch_size=1000", "8"},
        {"data.batch_size=8 collect.batch_size=4", "8"},
        {"encoder.batch_size=8 decoder.batch_size=4", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        open_conf();
        mt_runconf_tell(rc, FW(pytorch));
        args(cases[i].args);
        MT_CHECK_STR(get("script_batch"), cases[i].value != NULL ? cases[i].value : "(null)");
        mt_runconf_free(rc);
    }
}

MT_TEST(ray_environment)
{
    open_conf();
    args("+ray_kwargs.ray_init.runtime_env.env_vars.PYTORCH_CUDA_ALLOC_CONF='expandable_segments:"
         "True' "
         "--runtime-env-json '{\"env_vars\": {\"NCCL_CUMEM_ENABLE\": \"0\"}}' -- python train.py");
    MT_CHECK_STR(get("expandable_segments"), "True");
    MT_CHECK_STR(get("NCCL_CUMEM_ENABLE"), "0");
    mt_runconf_free(rc);
}

MT_TEST(hostile)
{
    size_t n = (size_t)1 << 20;
    char *p = malloc(n + 1);
    static const char *const pieces[] = {
        "[[a.b]]\n", "[a]\n",    "a=[{",       "a=\"\"\"", "\"\".", "a=[",    "[",
        "{a: ",      "- ",       "a: &x *x\n", "a=$a",     "$(",    "\"",     "'",
        "--",        "A=$A$A\n", "${a",        "`",        "\\\n",  "a.b=1 ", "? "};
    MT_CHECK(p != NULL);
    for (size_t i = 0; p != NULL && i < sizeof pieces / sizeof *pieces; i++) {
        size_t k = strlen(pieces[i]);
        for (size_t at = 0; at < n; at++)
            p[at] = pieces[i][at % k];
        p[n] = '\0';
        open_conf();
        (void)mt_conf_file(&rc->conf, p, n, "x.yaml", &err);
        (void)mt_conf_file(&rc->conf, p, n, "x.sh", &err);
        (void)mt_conf_file(&rc->conf, p, n, "x.toml", &err);
        (void)mt_conf_args(&rc->conf, p, n, "--args", false, &err);
        MT_CHECK(rc->conf.entries.n <= MT_CONF_ENTRIES);
        MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_CONFIG, &err), MT_OK);
        mt_runconf_free(rc);
    }
    free(p);
    /* Bytes that are no text. */
    open_conf();
    MT_CHECK_EQ(mt_conf_file(&rc->conf, "{\"a\": \0 1}", 11, "x.json", &err), MT_EINPUT);
    (void)mt_conf_file(&rc->conf, "a: \xff\xfe\0\1", 7, "x.yaml", &err);
    MT_CHECK_EQ(mt_conf_args(&rc->conf, "--\0a=1 a\0b=2 c=3\0x d=4", 22, "--args", false, &err),
                MT_OK);
    MT_CHECK_EQ(rc->conf.n_dropped, 1);
    MT_CHECK_EQ(rc->conf.n_cut, 1);
    MT_CHECK(rc->conf.entries.n == 2 && strcmp(rc->conf.entries.p[0].value, "3") == 0 &&
             strcmp(rc->conf.entries.p[1].key, "d") == 0);
    mt_runconf_free(rc);
}

MT_TEST(out_of_memory)
{
    static const char yaml[] = "a: {b: [1, 2], c: 3}\nd:\n  - e: 1\n";
    static const char json[] = "{\"a\": {\"b\": [1, 2]}}";
    static const char toml[] = "[[a.b]]\n[a.b.c]\n\"d\" = [1, {e = 'f'}]\ng = [\"h\"]\n[i]\n";
    static const char sh[] = "#!/bin/sh\nA=1\nB=$A x --k v c.d=$B PYTORCH_ALLOC_CONF=a:1,b:2\n";
    const char *const texts[] = {yaml, json, sh, toml};
    uint64_t held = mt_mem_used();
    for (int i = 0; i < 4; i++) {
        enum mt_rc r = MT_ENOMEM;
        for (uint64_t k = 1; k < 400 && r == MT_ENOMEM; k++) {
            struct mt_config c;
            memset(&c, 0, sizeof c);
            mt_mem_fail_after(k);
            r = mt_conf_file(&c, texts[i], strlen(texts[i]), texts[i] == toml ? "x.toml" : "x",
                             &err);
            mt_mem_fail_after(0);
            mt_conf_done(&c);
        }
        MT_CHECK_EQ(r, MT_OK);
    }
    {
        enum mt_rc r = MT_ENOMEM;
        for (uint64_t k = 1; k < 20000 && r == MT_ENOMEM; k += 97) {
            mt_mem_fail_after(k);
            r = mt_runconf_new(&rc, mt_test_frameworks(), &err);
            mt_mem_fail_after(0);
            if (r == MT_OK)
                mt_runconf_free(rc);
        }
        MT_CHECK_EQ(r, MT_OK);
    }
    MT_CHECK_EQ(mt_mem_used(), held);
}

MT_TEST(words)
{
    uint64_t v = 0;
    MT_CHECK(mt_runconf_is_true("TRUE") && mt_runconf_is_true("1") &&
             !mt_runconf_is_true("False") && !mt_runconf_is_true(NULL));
    MT_CHECK(mt_runconf_is_false("null") && mt_runconf_is_false("False") &&
             !mt_runconf_is_false("") && !mt_runconf_is_false("x"));
    MT_CHECK(mt_runconf_number("8192", &v) && v == 8192);
    MT_CHECK(!mt_runconf_number("8k", &v) && !mt_runconf_number("", &v) &&
             !mt_runconf_number("99999999999999999999", &v));
}

MT_MAIN(MT_RUN(yaml) MT_RUN(json) MT_RUN(toml) MT_RUN(toml_of_others) MT_RUN(toml_is_wrong)
            MT_RUN(toml_is_right) MT_RUN(bad_files) MT_RUN(script) MT_RUN(precedence)
                MT_RUN(defaults) MT_RUN(quoted_flags) MT_RUN(words_before_a_key) MT_RUN(frameworks)
                    MT_RUN(framework_of_the_run) MT_RUN(backend_of_the_run) MT_RUN(quiet)
                        MT_RUN(every_key) MT_RUN(shapes) MT_RUN(ray_environment) MT_RUN(hostile)
                            MT_RUN(out_of_memory) MT_RUN(words))
