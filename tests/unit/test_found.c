/* Settings in a run's folder: which files count, which of them ran, and below what. */
#include "analysis/setup/found.h"
#include "mt_test.h"
#include "frameworks.h"

static struct mt_found found;
static struct mt_runconf *rc;
static struct mt_err err;

static void begin(void)
{
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_found_init(&found, mt_test_frameworks(), &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
}

static void end(void)
{
    mt_found_done(&found);
    mt_runconf_free(rc);
}

static void add(const char *name, const char *text)
{
    const struct mt_found_kind *kind = mt_found_kind_of(&found, name);
    MT_ASSERT(kind != NULL);
    MT_CHECK_EQ(mt_found_add(&found, kind, name, text, strlen(text), &err), MT_OK);
}

static void use(void) { MT_CHECK_EQ(mt_found_use(&found, rc, &err), MT_OK); }

/* "" where the file is used. */
static const char *why(const char *name)
{
    const struct mt_found_file *f = mt_found_find(&found, name);
    MT_CHECK(f != NULL && f->is_used == (f->why[0] == '\0'));
    return f != NULL ? f->why : "(null)";
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

#define SHARE "actor_rollout_ref.rollout.gpu_memory_utilization"
#define SHAPE                                                                                      \
    "{\"model_type\": \"qwen2\", \"num_hidden_layers\": 28, \"hidden_size\": 3584, "               \
    "\"num_attention_heads\": 28}"

MT_TEST(names)
{
    static const struct {
        const char *path;
        int as;
    } all[] = {{".hydra/config.yaml", MT_FOUND_COMPOSED},
               {"run/2026-01-02/.hydra/config.yaml", MT_FOUND_COMPOSED},
               {".hydra/overrides.yaml", MT_FOUND_OVERRIDES},
               {".hydra/hydra.yaml", MT_FOUND_NOTHING},
               {"a/config.json", MT_FOUND_MODEL},
               {"adapter_config.json", MT_FOUND_MODEL},
               {"generation_config.json", MT_FOUND_NOTHING},
               {"my_config.json", MT_FOUND_CONFIG},
               {"job.toml", MT_FOUND_CONFIG},
               {"hydra/config.yaml", MT_FOUND_CONFIG},
               {"a/b/run.sh", MT_FOUND_SCRIPT},
               {"go.sbatch", MT_FOUND_SCRIPT},
               {".git/config.json", -1},
               {".hydra/sub/config.yaml", -1},
               {"x/.venv/lib/x.json", -1},
               {".run.sh", -1},
               {"rank0.pickle", -1},
               {"train.log", -1},
               {"README.md", -1},
               {"", -1}};
    begin();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct mt_found_kind *k = mt_found_kind_of(&found, all[i].path);
        if ((k != NULL ? k->as : -1) != all[i].as)
            MT_FAIL_AT("%s", all[i].path);
    }
    end();
}

MT_TEST(what_ran)
{
    begin();
    add("r/.hydra/config.yaml", "actor_rollout_ref:\n  rollout:\n    gpu_memory_utilization: 0.6\n"
                                "    name: vllm\n");
    add("r/.hydra/overrides.yaml", "- " SHARE "=0.6\n- critic.strategy=fsdp\n");
    add("r/.hydra/hydra.yaml", "hydra: {}\n");
    add("r/config.json", SHAPE);
    add("r/run.sh", "#!/bin/bash\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\n"
                    "python -m verl.trainer.main_ppo " SHARE "=0.6\n");
    add("r/old.sh", "python -m verl.trainer.main_ppo " SHARE "=0.8\n");
    add("r/train.yaml", "actor_rollout_ref:\n  actor:\n    ppo_mini_batch_size: 64\n");
    add("r/x.yaml", "a: 1\n");
    add("r/y.yaml", "a: [1\n");
    use();
    MT_CHECK_STR(why("r/.hydra/config.yaml"), "");
    MT_CHECK_STR(why("r/.hydra/overrides.yaml"), "");
    MT_CHECK_STR(why("r/.hydra/hydra.yaml"), "settings of Hydra itself");
    MT_CHECK_STR(why("r/config.json"), "");
    MT_CHECK_STR(why("r/run.sh"), "");
    MT_CHECK_STR(why("r/old.sh"), "r/.hydra/config.yaml says what ran");
    MT_CHECK_STR(why("r/train.yaml"), "r/.hydra/config.yaml says what ran");
    MT_CHECK_STR(why("r/x.yaml"), "no settings of a framework that memtrace knows");
    MT_CHECK_HAS(why("r/y.yaml"), "cannot be read: line 2");
    MT_CHECK_STR(get("gpu_memory_utilization"), "0.6");
    MT_CHECK_STR(where("gpu_memory_utilization"), "r/.hydra/config.yaml:3");
    MT_CHECK_STR(where("critic.strategy"), "r/.hydra/overrides.yaml");
    MT_CHECK_STR(where("max_split_size_mb"), "r/run.sh:2");
    MT_CHECK_STR(get("heads"), "28");
    MT_CHECK_STR(get("mini_batch"), "(null)");
    end();
}

MT_TEST(contradictions)
{
    begin(); /* two scripts, two runs of Hydra, two models: which of them? */
    add("a.sh", "python -m verl.trainer.main_ppo " SHARE "=0.6\n");
    add("b.sh", "python -m verl.trainer.main_ppo " SHARE "=0.8\n");
    add("c.sh", "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:64\npython -m x " SHARE "=$V\n");
    add("1/.hydra/config.yaml", "actor_rollout_ref: {actor: {ppo_mini_batch_size: 64}}\n");
    add("2/.hydra/config.yaml", "actor_rollout_ref: {actor: {ppo_mini_batch_size: 32}}\n");
    add("config.json", SHAPE);
    add("m/config.json", "{\"num_hidden_layers\": 36}");
    use();
    MT_CHECK_STR(why("a.sh"), "contradicts b.sh (share of the card for the inference engine), and "
                              "which of them ran is not known: --config names it");
    MT_CHECK_HAS(why("b.sh"), "contradicts a.sh");
    MT_CHECK_STR(why("c.sh"), "");
    MT_CHECK_HAS(why("1/.hydra/config.yaml"), "contradicts 2/.hydra/config.yaml");
    MT_CHECK_HAS(why("2/.hydra/config.yaml"), "contradicts 1/.hydra/config.yaml");
    MT_CHECK_HAS(why("config.json"), "contradicts m/config.json (layers)");
    MT_CHECK_HAS(why("m/config.json"), "contradicts config.json (layers)");
    MT_CHECK_STR(get("gpu_memory_utilization"), "(null)");
    MT_CHECK_STR(get("heads"), "(null)");
    MT_CHECK_STR(get("max_split_size_mb"), "64");
    end();

    begin(); /* copies are one; files for two frameworks are two runs */
    add("config.json", SHAPE);
    add("ckpt/config.json", SHAPE);
    add("a.yaml", "actor_rollout_ref: {actor: {ppo_mini_batch_size: 64}}\n");
    add("b.yaml",
        "sglang: {mem_fraction_static: 0.8}\nactor: {mb_spec: {max_tokens_per_mb: 99}}\n");
    use();
    MT_CHECK_STR(why("config.json"), "");
    MT_CHECK_STR(why("ckpt/config.json"), "the same as config.json");
    MT_CHECK_HAS(why("a.yaml"), "is for another framework than b.yaml");
    MT_CHECK_HAS(why("b.yaml"), "is for another framework than a.yaml");
    end();

    begin(); /* an engine that was started by itself, beside a trainer and alone */
    add("train.yaml", "actor_rollout_ref: {actor: {ppo_mini_batch_size: 64}}\n");
    add("judge.sh", "vllm serve x --gpu-memory-utilization 0.9 --max-num-seqs 8\n");
    use();
    MT_CHECK_STR(why("train.yaml"), "");
    MT_CHECK_STR(why("judge.sh"), "is for an engine alone, and train.yaml for what trains");
    MT_CHECK_STR(get("max_num_seqs"), "(null)");
    end();
    begin();
    add("serve.sh", "vllm serve x --gpu-memory-utilization 0.9 --max-num-seqs 8\n");
    use();
    MT_CHECK_STR(why("serve.sh"), "");
    MT_CHECK_STR(get("max_num_seqs"), "8");
    end();

    begin(); /* one flag may be anybody's */
    add("get.sh", "huggingface-cli download --model x\n");
    add("empty.sh", "");
    add("model/config.json", "{\"architectures\": [\"X\"]}");
    use();
    MT_CHECK_STR(why("get.sh"), "no settings of a framework that memtrace knows");
    MT_CHECK_STR(why("empty.sh"), "no settings of a framework that memtrace knows");
    MT_CHECK_HAS(why("model/config.json"), "no model's");
    end();
}

/* What was given holds, and of a found model nothing is mixed in. */
MT_TEST(given)
{
    const char *text = SHARE "=0.4 num_hidden_layers=12";
    begin();
    MT_CHECK_EQ(mt_conf_args(&rc->conf, text, strlen(text), "own.yaml", false, &err), MT_OK);
    MT_CHECK_EQ(mt_runconf_added(rc, MT_FROM_CONFIG, &err), MT_OK);
    add(".hydra/config.yaml", "actor_rollout_ref:\n  rollout:\n    gpu_memory_utilization: 0.6\n"
                              "    name: vllm\n");
    add("config.json", SHAPE);
    use();
    MT_CHECK_STR(get("gpu_memory_utilization"), "0.4");
    MT_CHECK_STR(get("engine"), "vllm");
    MT_CHECK_STR(why("config.json"), "the model's shape was given");
    MT_CHECK_STR(get("heads"), "(null)");
    end();
}

MT_TEST(limits)
{
    char *big = mt_calloc(MT_FOUND_BYTES + 2, 1), name[32];
    begin();
    memset(big, '#', MT_FOUND_BYTES + 1);
    add("big.yaml", big);
    for (unsigned i = 0; i < MT_FOUND_MAX + 3; i++) {
        snprintf(name, sizeof name, "%u.yaml", i);
        add(name, "a: 1\n");
    }
    use();
    MT_CHECK_STR(why("big.yaml"), "too large for a file of settings");
    MT_CHECK_EQ(found.files.n, MT_FOUND_MAX);
    MT_CHECK_EQ(found.n_more, 4);
    end();
    mt_free(big);
}

MT_TEST(overlays)
{
    struct mt_framework_rules *fw = NULL;
    const char *text = "{\"schema_version\": 1, \"run_files\": [{\"file\": \"*.cfg\", \"as\": "
                       "\"config\", \"says\": \"ours\"}, {\"file\": \"*.sh\", \"as\": "
                       "\"nothing\", \"says\": \"never\"}]}",
               *bad = "{\"schema_version\": 1, \"run_files\": [{\"file\": \"x\", \"as\": "
                      "\"settings\", \"says\": \"x\"}]}";
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_framework_rules_load(&fw, text, strlen(text), "mine.json", &err), MT_OK);
    MT_CHECK_EQ(mt_found_init(&found, fw, &err), MT_OK);
    MT_CHECK_STR(mt_found_kind_of(&found, "a.cfg")->says, "ours");
    MT_CHECK_STR(mt_found_kind_of(&found, "a.sh")->says, "never");
    mt_found_done(&found);
    mt_framework_rules_free(fw);
    MT_CHECK_EQ(mt_framework_rules_load(&fw, bad, strlen(bad), "mine.json", &err), MT_OK);
    MT_CHECK_EQ(mt_found_init(&found, fw, &err), MT_EINPUT);
    MT_CHECK_HAS(err.msg, "mine.json: file x: field \"as\": \"settings\" is not one of nothing");
    mt_found_done(&found);
    mt_framework_rules_free(fw);
}

MT_TEST(out_of_memory)
{
    for (uint64_t n = 1;; n += n < 40 ? 1 : 37) {
        enum mt_rc r;
        memset(&err, 0, sizeof err);
        rc = NULL;
        mt_mem_fail_after(n);
        r = mt_found_init(&found, mt_test_frameworks(), &err);
        if (r == MT_OK)
            r = mt_runconf_new(&rc, mt_test_frameworks(), &err);
        for (int i = 0; i < 2 && r == MT_OK; i++)
            r = mt_found_add(&found, mt_found_kind_of(&found, "a.sh"), i == 0 ? "a.sh" : "b.sh",
                             SHARE "=0.8\n", sizeof SHARE + 4, &err);
        if (r == MT_OK)
            r = mt_found_use(&found, rc, &err);
        mt_mem_fail_after(0);
        if (r == MT_OK)
            MT_CHECK_STR(get("gpu_memory_utilization"), "0.8");
        else
            MT_CHECK_EQ(r, MT_ENOMEM);
        end();
        if (r == MT_OK)
            break;
    }
}

MT_MAIN(MT_RUN(names) MT_RUN(what_ran) MT_RUN(contradictions) MT_RUN(given) MT_RUN(limits)
            MT_RUN(overlays) MT_RUN(out_of_memory))
