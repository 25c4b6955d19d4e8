/* Well-known models: which name a path has, and what a run's settings tell by it. */
#include "analysis/setup/keys.h"
#include "analysis/setup/model.h"
#include "mt_test.h"
#include "frameworks.h"

static struct mt_runconf *rc;
static struct mt_err err;

static void open_conf(void)
{
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_runconf_new(&rc, mt_test_frameworks(), &err), MT_OK);
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

static const char *name_of(const char *path)
{
    int i = mt_models_find(&rc->models, path);
    return i < 0 ? "" : rc->models.names.p[i].name;
}

MT_TEST(names)
{
    static const char *const pairs[][2] = {
        {"Qwen/Qwen2.5-7B-Instruct", "Qwen2.5-7B"},
        {"/ckpt/qwen2.5-7b", "Qwen2.5-7B"},
        {"/ckpt/my_qwen2.5_7b_gsm8k/", "Qwen2.5-7B"},
        {"Qwen/Qwen2.5-7B-Instruct-1M", "Qwen2.5-7B"},
        {"Qwen/Qwen2.5-Coder-7B", "Qwen2.5-Coder-7B"},
        {"~/hub/models--Qwen--Qwen3-4B/snapshots/1cfa9a7208912126459214e8b04321603b3df60c",
         "Qwen3-4B"},
        {"/runs/Qwen3-8B-dapo/global_step_40/actor/huggingface", "Qwen3-8B"},
        {"/root/Qwen3-30B-A3B-FP8", "Qwen3-30B-A3B"},
        {"deepseek-ai/DeepSeek-R1-Distill-Qwen-7B", "DeepSeek-R1-Distill-Qwen-7B"},
        {"deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "DeepSeek-R1-0528-Qwen3-8B"},
        {"deepseek-ai/DeepSeek-R1-0528", "DeepSeek-R1"},
        {"meta-llama/Meta-Llama-3.1-8B-Instruct", "Llama-3.1-8B"},
        {"meta-llama/Llama-2-7b-chat-hf", "Llama-2-7B"},
        {"mistralai/Mistral-7B-Instruct-v0.3", "Mistral-7B-Instruct-v0.3"},
        {"microsoft/Phi-4-mini-instruct", "Phi-4-mini"},
        {"zai-org/GLM-4.5-Air", "GLM-4.5-Air"},
        {"lmsys/vicuna-13b-v1.5", "vicuna-13b"},
        {"internlm/internlm2_5-7b-chat", "internlm2_5-7b"},
        {"THUDM/glm-4-9b-chat", "GLM-4-9B"},
        {"THUDM/GLM-4-9B-0414", "GLM-4-9B-0414"},
        {"codellama/CodeLlama-7b-hf", "CodeLlama-7b"},
        {"deepseek-ai/deepseek-coder-6.7b-base", "DeepSeek-Coder-6.7B"},
        /* no name, half a name, another model of that name */
        {"", ""},
        {"/ckpts/my-qwen", ""},
        {"Qwen2.5", ""},
        {"Qwen2.5-70B", ""},
        {"xQwen2.5-7B", ""},
        {"Qwen2.5-7Bx", ""},
        {"Qwen/Qwen2.5-Omni-7B", ""},
        {"Qwen2-Audio-7B-Instruct", ""},
        {"deepseek-ai/DeepSeek-R1-Distill-Foo-3B", ""},
        {"DeepSeek-V3-5layer", ""},
        {"Qwen2.5-7B-pruned-5B", ""},
        {"tiny-random-Llama-3.1-8B", ""},
        {"Qwen2.5-7B-and-Qwen2.5-14B", ""},
        {"/models/Qwen2.5-7B/student-3B", ""},
        {"/models/Qwen2.5-7B/draft", ""},
        {"microsoft/Phi-4-multimodal-instruct", ""},
        {"a-b-c-d-e-f-g-h-i-j-k-l-m-n-o-p-q-r-s-t-u-v-w-Qwen2.5-7B", ""},
    };
    open_conf();
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        MT_CHECK_STR(name_of(pairs[i][0]), pairs[i][1]);
    mt_runconf_free(rc);
}

/* Each row is found by its own names, and has what every model has. */
MT_TEST(rows)
{
    static const char *const always[] = {"model_type", "num_hidden_layers", "hidden_size",
                                         "num_attention_heads", "num_key_value_heads"};
    open_conf();
    MT_CHECK(rc->models.rows.n >= 60);
    for (uint32_t i = 0; i < rc->models.names.n; i++) {
        uint64_t heads = 0, kv = 0;
        MT_CHECK_STR(name_of(rc->models.names.p[i].name), rc->models.names.p[i].name);
        for (size_t k = 0; k < sizeof always / sizeof *always; k++)
            MT_CHECK(mt_models_fact(&rc->models, (int)i, always[k]) != NULL);
        MT_CHECK(mt_runconf_number(mt_models_fact(&rc->models, (int)i, always[3]), &heads));
        MT_CHECK(mt_runconf_number(mt_models_fact(&rc->models, (int)i, always[4]), &kv));
        MT_CHECK(kv > 0 && heads % kv == 0);
    }
    mt_runconf_free(rc);
}

/* Parameters that follow from a row are those that the model's makers count. */
MT_TEST(parameters)
{
    static const struct {
        const char *name;
        double billions;
    } all[] = {{"Qwen2.5-0.5B", 0.494},   {"Qwen2.5-7B", 7.62},       {"Qwen2.5-72B", 72.7},
               {"Qwen3-4B", 4.02},        {"Qwen3-30B-A3B", 30.5},    {"Qwen3-235B-A22B", 235},
               {"Llama-2-7B", 6.74},      {"Llama-3.1-8B", 8.03},     {"Llama-3.1-405B", 406},
               {"Mixtral-8x7B", 46.7},    {"DeepSeek-V2-Lite", 15.7}, {"DeepSeek-V2", 236},
               {"DeepSeek-V3", 671},      {"Kimi-K2", 1026},          {"GLM-4.5-Air", 106.9},
               {"DeepSeek-LLM-7B", 6.91}, {"SmolLM2-135M", 0.1345},   {"TinyLlama-1.1B", 1.1}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct mt_model m;
        struct mt_model_part p;
        char text[200];
        double got;
        open_conf();
        snprintf(text, sizeof text, "actor_rollout_ref.model.path=/x/%s", all[i].name);
        args(text);
        mt_model_make(&m, rc, mt_framework_at(mt_test_frameworks(), FW(verl)), false);
        MT_CHECK(m.known);
        p = mt_model_layers(&m, 0, m.layers);
        got = (m.embed + m.head + m.hidden + p.dense + p.experts) / 1e9;
        if (got < all[i].billions * 0.99 || got > all[i].billions * 1.01)
            MT_FAIL_AT("%s: %.3f billion", all[i].name, got);
        snprintf(text, sizeof text, ", of %s as the model is called", all[i].name);
        MT_CHECK_STR(m.named, text);
        mt_runconf_free(rc);
    }
}

MT_TEST(by_the_name)
{
    struct mt_runconf_hit hit;
    open_conf();
    args("actor_rollout_ref.model.path=/ckpt/Qwen2.5-7B-Instruct");
    MT_CHECK_STR(get("heads"), "28");
    MT_CHECK_STR(get("kv_heads"), "4");
    MT_CHECK_STR(get("layers"), "28");
    MT_CHECK_STR(get("hidden"), "3584");
    MT_CHECK_STR(get("vocab"), "152064");
    MT_CHECK(mt_runconf_find(rc, "heads", &hit));
    MT_CHECK_STR(hit.model, "Qwen2.5-7B");
    MT_CHECK_STR(hit.key->key, "num_attention_heads");
    MT_CHECK_STR(hit.entry->key, "actor_rollout_ref.model.path");
    MT_CHECK(!hit.is_default);
    MT_CHECK_EQ(mt_metric_setting(rc, "heads", 5).conf, MT_CONF_CARRIED);
    MT_CHECK(!mt_runconf_find(rc, "kv_lora_rank", &hit));
    /* a config.json holds, and nothing is mixed in from the name */
    args("num_attention_heads=40");
    MT_CHECK_STR(get("heads"), "40");
    MT_CHECK_EQ(mt_metric_setting(rc, "heads", 5).conf, MT_CONF_MARKED);
    MT_CHECK_STR(get("layers"), "(null)");
    mt_runconf_free(rc);

    open_conf(); /* so does a change of the model, wherever it stands */
    args("actor_rollout_ref.model.path=Qwen2.5-7B "
         "+actor_rollout_ref.model.override_config.num_hidden_layers=4");
    MT_CHECK_STR(get("heads"), "(null)");
    mt_runconf_free(rc);

    open_conf(); /* the vocabulary alone is no shape */
    args("--hf-checkpoint /root/Qwen3-4B --vocab-size 151000 --tensor-model-parallel-size 2");
    MT_CHECK_STR(get("vocab"), "151000");
    MT_CHECK_STR(get("heads"), "32");
    args("--num-layers 4");
    MT_CHECK_STR(get("heads"), "(null)");
    mt_runconf_free(rc);

    open_conf(); /* a path that is not known, or nobody's */
    args("actor_rollout_ref.model.path=$BASE/Qwen2.5-7B");
    MT_CHECK_STR(get("heads"), "(null)");
    args("critic.model.path=Qwen2.5-7B");
    MT_CHECK_STR(get("heads"), "(null)");
    args("model_path=Qwen2.5-7B");
    MT_CHECK_STR(get("heads"), "(null)"); /* the framework's own key comes first */
    mt_runconf_free(rc);

    open_conf();
    args("model_path=Qwen2.5-7B");
    MT_CHECK_STR(get("heads"), "28");
    mt_runconf_free(rc);
}

/* Every framework that has a key for its model: the name tells the heads. */
MT_TEST(every_path)
{
    open_conf();
    for (uint32_t i = 0; i < rc->settings.n; i++) {
        const struct mt_runconf_setting s = rc->settings.p[i];
        for (uint32_t k = 0; strcmp(s.name, "model_path") == 0 && k < s.n; k++) {
            struct mt_runconf *all = rc;
            char text[300];
            open_conf();
            snprintf(text, sizeof text, "%s=Qwen2.5-7B", all->keys.p[s.first + k].key);
            args(text);
            if (strcmp(get("heads"), "28") != 0)
                MT_FAIL_AT("%s", text);
            mt_runconf_free(rc);
            rc = all;
        }
    }
    mt_runconf_free(rc);
}

static enum mt_rc overlay(const char *text)
{
    struct mt_framework_rules *fw = NULL;
    enum mt_rc r;
    memset(&err, 0, sizeof err);
    MT_CHECK_EQ(mt_framework_rules_load(&fw, text, strlen(text), "mine.json", &err), MT_OK);
    r = mt_runconf_new(&rc, fw, &err);
    if (r == MT_OK) {
        MT_CHECK_STR(name_of("/x/our-model-v2-sft"), "Our-Model-v2");
        MT_CHECK_STR(name_of("Qwen2.5-7B-shaved"), "");
        args("model_path=our-model-v2");
        MT_CHECK_STR(get("heads"), "6");
        args("model_path=Qwen2.5-7B");
        MT_CHECK_STR(get("heads"), "30"); /* the overlay's row took the place */
    }
    mt_runconf_free(rc);
    mt_framework_rules_free(fw);
    return r;
}

MT_TEST(overlays)
{
    MT_CHECK_EQ(overlay("{\"schema_version\": 1, \"models\": ["
                        "{\"model\": \"Our-Model-v2\", \"config\": {\"num_attention_heads\": "
                        "\"6\"}, \"source\": \"x\"}, {\"model\": \"Qwen2.5-7B\", \"config\": "
                        "{\"num_attention_heads\": \"30\"}, \"source\": \"x\"}], "
                        "\"unlike_parts\": [{\"part\": \"shave*\"}]}"),
                MT_OK);
    MT_CHECK_EQ(overlay("{\"schema_version\": 1, \"models\": [{\"model\": \"A-1B\", \"config\": "
                        "{\"heads\": \"6\"}, \"source\": \"x\"}]}"),
                MT_EINPUT);
    MT_CHECK_HAS(err.msg, "mine.json: model A-1B: field \"heads\": is no key of a config.json");
    MT_CHECK_EQ(overlay("{\"schema_version\": 1, \"models\": [{\"model\": \"A-1B\", \"config\": "
                        "{\"num_attention_heads\": 6}, \"source\": \"x\"}]}"),
                MT_EINPUT);
    MT_CHECK_HAS(err.msg, "field \"num_attention_heads\": has to be a text");
    MT_CHECK_EQ(overlay("{\"schema_version\": 1, \"models\": [{\"model\": \"A-1B\"}]}"), MT_EINPUT);
    MT_CHECK_HAS(err.msg, "field \"config\": is missing");
    MT_CHECK_EQ(overlay("{\"schema_version\": 1, \"unlike_parts\": [{}]}"), MT_EINPUT);
    MT_CHECK_HAS(err.msg, "field \"part\": is missing");
}

MT_MAIN(MT_RUN(names) MT_RUN(rows) MT_RUN(parameters) MT_RUN(by_the_name) MT_RUN(every_path)
            MT_RUN(overlays))
