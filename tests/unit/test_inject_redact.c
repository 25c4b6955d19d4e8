/* What is taken for a secret when a command line or an environment is recorded, and what is not. */
#include "capture/inject/redact.c" /* NOLINT(bugprone-suspicious-include): it is part of no library that tests link */
#include "tests/unit/mt_test.h"

#define X MTI_REDACTED

/* Arguments that hold a secret and what is left of them. Several arguments: separated by \n. */
static const char *const secrets[][2] = {
    {"--token=abc", "--token=" X},
    {"--token\nabc", "--token\n" X},
    {"--token\n-dash-first", "--token\n" X},
    {"--api-key\nabcdef", "--api-key\n" X},
    {"--api-key=abcdef", "--api-key=" X},
    {"--api_key=a b c", "--api_key=" X},
    {"--apiKey=abc", "--apiKey=" X},
    {"--openaiApiKey\nabc", "--openaiApiKey\n" X},
    {"--password\n12345678", "--password\n" X},
    {"--password=12345678", "--password=" X},
    {"--password\n/x9fk/d8+a", "--password\n" X},
    {"--aws-secret-access-key\n/wJalrXUtn/FEMI", "--aws-secret-access-key\n" X},
    {"PGPASSWORD=abc", "PGPASSWORD=" X},
    {"--pw\nhunter2", "--pw\n" X},
    {"SLACK_WEBHOOK_URL=https://hooks.example.com/services/T0/B0/x", "SLACK_WEBHOOK_URL=" X},
    {"--hub-token\nabc\n--lr\n3", "--hub-token\n" X "\n--lr\n3"},
    {"HF_TOKEN=abc", "HF_TOKEN=" X},
    {"HF_TOKEN_2=abc", "HF_TOKEN_2=" X},
    {"AWS_SECRET_ACCESS_KEY=abc/def", "AWS_SECRET_ACCESS_KEY=" X},
    {"AWS_SECRET_ACCESS_KEY=/abc", "AWS_SECRET_ACCESS_KEY=" X},
    {"wandb.api_key=0123456789abcdef0123456789abcdef01234567", "wandb.api_key=" X},
    {"trainer.logger.key=abc", "trainer.logger.key=" X},
    {"+env.HF_TOKEN=abc", "+env.HF_TOKEN=" X},
    {"++ray_kwargs.ray_init.runtime_env.env_vars.WANDB_API_KEY=abc",
     "++ray_kwargs.ray_init.runtime_env.env_vars.WANDB_API_KEY=" X},
    {"+secrets.first=abc", "+secrets.first=" X},
    {"db.credentials.user=abc", "db.credentials.user=" X},
    {"swanlab.cookie=abc", "swanlab.cookie=" X},
    {"api_keys=[a,b]", "api_keys=" X},
    {"--auth=user", "--auth=" X},
    {"--auth\nuser:word", "--auth\n" X},
    {"-u\nuser:word", "-u\n" X},
    {"env_vars={HF_TOKEN:abc,LR:3}", "env_vars={HF_TOKEN:" X ",LR:3}"},
    {"{\"env_vars\": {\"HF_TOKEN\": \"abc\", \"LR\": \"3\"}}",
     "{\"env_vars\": {\"HF_TOKEN\": \"" X "\", \"LR\": \"3\"}}"},
    {"{'password': 'it is', 'n': 1}", "{'password': '" X "', 'n': 1}"},
    {"-c\nexport HF_TOKEN=abc; python train.py --api-key xyz lr=1",
     "-c\nexport HF_TOKEN=" X "; python train.py --api-key " X " lr=1"},
    {"-c\nos.environ[\"HF_TOKEN\"] = \"abc\"; main()",
     "-c\nos.environ[\"HF_TOKEN\"] = \"" X "\"; main()"},
    {"-H\nAuthorization: Bearer abc.def", "-H\nAuthorization: " X},
    {"-H\nAuthorization: Basic dXNlcjpwYXNz", "-H\nAuthorization: " X},
    {"X-Api-Key: abc", "X-Api-Key: " X},
    {"note bearer abcdefgh123", "note bearer " X},
    {"sk-abcdefgh1234", X},
    {"dapi0123456789abcdef0123456789abcdef", X},
    {"hvs.CAESIAbCdEfGhIjKlMnOpQrSt", X},
    {"ATATT3xFfGF0aBcDeFgHiJkLmNoPqRsT", X},
    {"--notify\nhttps://hooks.slack.com/services/T0/B0/x", "--notify\nhttps://hooks.slack.com/" X},
    {"--feishu=https://open.feishu.cn/open-apis/bot/v2/hook/a-b",
     "--feishu=https://open.feishu.cn/" X},
    {"https://hooks.slack.com:443/services/T0/B0/x", "https://hooks.slack.com:443/" X},
    {"https://discord.com/a,https://example.com/x",
     "https://discord.com/" X ",https://example.com/x"},
    {"https://acme.webhook.office.com/webhookb2/1", "https://acme.webhook.office.com/" X},
    {"wandb\nlogin\n0123456789abcdef0123456789abcdef01234567", "wandb\nlogin\n" X},
    {"git\nreset\n--hard\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "git\nreset\n--hard\n" X},
    {"git\ncredential\n0123456789abcdef0123456789abcdef01234567", "git\ncredential\n" X},
    {"--wb\n0123456789abcdef0123456789abcdef01234567", "--wb\n" X},
    {"--aws\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "--aws\n" X},
    {"sk-proj-Abcdefgh1234_-x", X},
    {"key is sk-ant-api03-Abcdefgh1234.", "key is " X "."},
    {"hf_AbCdEfGhIjKlMnOpQrStUvWxYz01234567", X},
    {"hf_abcdefghijklmnopqrstuvwx", X},
    {"path=hf_AbCdEfGhIj1", "path=" X},
    {"ghp_abcdefgh1234", X},
    {"github_pat_abcdefgh_1234", X},
    {"glpat-abcdefgh1234", X},
    {"AKIAIOSFODNN7EXAMPLE", X},
    {"x-AKIAIOSFODNN7EXAMPLE", "x-" X},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmN", X},
    {"nvapi-abcdefgh1234", X},
    {"xoxb-1234-5678-abcd", X},
    {"https://user:word@host/path", "https://" X "@host/path"},
    {"https://ghsecret@github.com/a/b", "https://" X "@github.com/a/b"},
    {"url=redis://:word@host:6379/0", "url=redis://" X "@host:6379/0"},
    {"postgres://me:pa/ss@host/db", "postgres://" X "@host/db"},
    {"postgres://me:p@ss@host/db", "postgres://" X "@host/db"},
    {"http://proxy.example:3128,http://a:b@c", "http://" X "@c"},
    {"https://host/x?access_token=abc&lr=1", "https://host/x?access_token=" X "&lr=1"},
    {"https://b.s3.amazonaws.com/o?X-Amz-Credential=AK%2F1&X-Amz-Signature=00ff",
     "https://b.s3.amazonaws.com/o?X-Amz-Credential=" X "&X-Amz-Signature=" X},
    {"-----BEGIN OPENSSH PRIVATE KEY-----\\nabc", X},
    {"cert=-----BEGIN RSA PRIVATE KEY-----abc", "cert=" X},
    {"login\n0123456789abcdef0123456789abcdef01234567", "login\n" X},
    {"my_token_value=a1b2c3d4e5f6g7h8", "my_token_value=" X},
    {"hftoken=a1b2c3d4e5f6g7h8", "hftoken=" X},
    {"trainer.key_x=a1b2c3d4e5f6g7h8", "trainer.key_x=" X},
    {"-eHF_TOKEN=abc", "-eHF_TOKEN=" X},
    {"--from-literal=password=abc", "--from-literal=password=" X},
    {"id_token=abc", "id_token=" X},
};

/* Arguments that a memory report needs as they are. */
static const char *const kept[] = {
    "actor.optim.lr=1e-6",
    "data.max_prompt_length=512",
    "max_tokens=512",
    "--max-tokens\n512",
    "--max_new_tokens=1024",
    "--max-num-batched-tokens\n8192",
    "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384",
    "actor_rollout_ref.rollout.log_prob_max_token_len_per_gpu=24576",
    "actor_rollout_ref.actor.loss_agg_mode=token-mean",
    "tokenizer=/models/Qwen2.5-7B-Instruct-1M",
    "--tokenizer\nQwen/Qwen2.5-7B-Instruct-1M",
    "--tokenizer-path\n/models/a1b2c3d4e5f6",
    "tokenizer_mode=auto",
    "key_points=5",
    "num_key_value_heads=8",
    "--num-key-value-heads\n8",
    "data.prompt_key=prompt",
    "data.reward_fn_key=data_source",
    "data.image_key=images",
    "--input-key\nmessages",
    "--label-key\nlabel",
    "eos_token_id=2",
    "pad_token=<pad>",
    "--eos-token\n<|im_end|>",
    "special_tokens_map.json",
    "actor_rollout_ref.model.path=/models/DeepSeek-R1-Distill-Qwen-7B",
    "--model\ndeepseek-ai/DeepSeek-V3-0324",
    "--revision=0123456789abcdef0123456789abcdef01234567",
    "--model-revision\n0123456789abcdef0123456789abcdef01234567",
    "git\nreset\n--hard\n0123456789abcdef0123456789abcdef01234567",
    "/usr/bin/git\n-C\n/src\ncheckout\n0123456789abcdef0123456789abcdef01234567\n--\nx.py",
    "git+https://github.com/a/b@0123456789abcdef0123456789abcdef01234567",
    "https://hooks.slack.com/",
    "https://notdiscord.com/api/docs",
    "hvs.config_parser",
    "-m\nverl.trainer.main_ppo",
    "--use-auth-token\nTrue",
    "--trust-remote-code\n--token\n--lr\n1",
    "trainer.total_epochs=15",
    "author=someone",
    "authors=x",
    "bypass=1",
    "compass_mode=a1b2c3d4e5f6",
    "monkey=banana",
    "--ssh-key=/home/me/.ssh/id_ed25519",
    "HF_TOKEN=$HF_TOKEN",
    "HF_TOKEN=${oc.env:HF_TOKEN}",
    "sk-learn",
    "hf_transfer",
    "hf_model_path=/x",
    "http://127.0.0.1:8000/v1",
    "http://[::1]:8000/v1",
    "tcp://10.0.0.1:29500",
    "ssh://git@github.com/a/b",
    "http://host:8080/pkg@1.2.3",
    "s3://bucket/a@b",
    "https://host/a?x=1&y=2",
    "C:\\a\\b",
    "expandable_segments:True,max_split_size_mb:512",
    "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    "CUDA_VISIBLE_DEVICES=GPU-5a1b2c3d-0000-1111-2222-333344445555",
    "lambda x: x",
    "-u\nscript.py",
    "-c\nprint(1)",
    "",
    "=",
    ":",
    "--",
    "a=",
    "://",
    "sk-",
    "@",
    "\xff\xfe=\x80",
    "unicode=\xc3\xa9",
};

static void run_args(const char *args, char *out, size_t cap)
{
    struct mti_redact r = {0};
    char in[4096];
    size_t used = 0;
    snprintf(in, sizeof in, "%s", args);
    for (char *a = in, *nl; a != NULL; a = nl != NULL ? nl + 1 : NULL) {
        if ((nl = strchr(a, '\n')) != NULL)
            *nl = '\0';
        if (used > 0)
            out[used++] = '\n';
        mti_redact_arg(&r, a, out + used, cap - used);
        used += strlen(out + used);
    }
}

MT_TEST(secrets_are_replaced)
{
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++) {
        char out[4096];
        run_args(secrets[i][0], out, sizeof out);
        MT_CHECK_STR(out, secrets[i][1]);
    }
}

MT_TEST(what_a_report_needs_is_kept)
{
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        char out[4096];
        run_args(kept[i], out, sizeof out);
        MT_CHECK_STR(out, kept[i]);
    }
}

static const char *env(const char *name, const char *value)
{
    static char out[256];
    mti_redact_env(name, value, out, sizeof out);
    return out;
}

MT_TEST(environment)
{
    MT_CHECK_STR(env("VLLM_API_KEY", "abc"), X);
    MT_CHECK_STR(env("RAY_TOKEN", "12345"), X);
    MT_CHECK_STR(env("SGLANG_SECRET", "/x"), X);
    MT_CHECK_STR(env("MEMTRACE_PASSWORD", "word"), X);
    MT_CHECK_STR(env("VLLM_X", "https://u:p@h/"), "https://" X "@h/");
    MT_CHECK_STR(env("VLLM_X", "sk-abcdefgh1234"), X);
    MT_CHECK_STR(env("CUDA_VISIBLE_DEVICES", "0,1"), "0,1");
    MT_CHECK_STR(env("SGLANG_CLIP_MAX_NEW_TOKENS_ESTIMATION", "4096"), "4096");
    MT_CHECK_STR(env("NCCL_SOCKET_IFNAME", "eth0"), "eth0");
    MT_CHECK_STR(env("LD_PRELOAD", "/opt/torch_memory_saver_hook_mode_preload.abi3.so"),
                 "/opt/torch_memory_saver_hook_mode_preload.abi3.so");
    MT_CHECK_STR(env("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"),
                 "expandable_segments:True");
    MT_CHECK_STR(env("VLLM_ALLREDUCE_USE_SYMM_MEM", "1"), "1");
}

/* A flag says that the next argument is a secret; the one after it is not. */
MT_TEST(only_the_next_argument)
{
    char out[256];
    run_args("--token\nabc\nabc\n--api-key\n--verbose\nabc", out, sizeof out);
    MT_CHECK_STR(out, "--token\n" X "\nabc\n--api-key\n--verbose\nabc");
}

/* Whatever the room, the output is terminated and no byte of the secret is in it. */
MT_TEST(every_size_of_output)
{
    static const char *const args[] = {"--password=zzzzzzzzzzzz", "https://zz:zzzzzz@a",
                                       "a sk-zzzzzzzz1zzz b", "{\"token\": \"zzz\"}"};
    for (size_t i = 0; i < sizeof args / sizeof *args; i++)
        for (size_t cap = 0; cap < 64; cap++) {
            char *out = malloc(cap + 1);
            struct mti_redact r = {0};
            if (out == NULL)
                abort();
            out[cap] = 'E';
            mti_redact_arg(&r, args[i], out, cap);
            MT_CHECK_EQ(out[cap], 'E');
            if (cap > 0) {
                MT_CHECK(memchr(out, '\0', cap) != NULL);
                MT_CHECK(strchr(out, 'z') == NULL);
            }
            free(out);
        }
}

/* No text is too odd. */
MT_TEST(any_bytes)
{
    static const char alphabet[] = "aZ0=:@/-_.\"'\\ {}[],&;+$~hf_sk-://eyJtoken";
    uint32_t seed = 12345;
    for (unsigned round = 0; round < 20000; round++) {
        char in[128], out[1024];
        size_t n = 0;
        for (size_t len = round % 120; n < len; n++) {
            seed = seed * 1664525u + 1013904223u;
            in[n] = round % 3 == 0 ? (char)(1 + (seed >> 24) % 255)
                                   : alphabet[(seed >> 16) % (sizeof alphabet - 1)];
        }
        in[n] = '\0';
        char *exact = strdup(in); /* so that a read past its end is seen */
        struct mti_redact r = {(int)(round % 4), (int)(round % 3)};
        if (exact == NULL)
            abort();
        mti_redact_arg(&r, exact, out, sizeof out);
        mti_redact_env(exact, exact, out, sizeof out);
        free(exact);
    }
}

/* The time is linear: quadratic would be hours. */
MT_TEST(long_texts)
{
    static const char *const units[] = {
        "a=://\"-", "a://a:b", "a:",  "token:", "token_x:", "token_x=[",
        "sk-",      "a-",      "://", "a ",     "--key "};
    size_t big = 1u << 20;
    char *in = malloc(big + 1), *out = malloc(big + 1);
    if (in == NULL || out == NULL)
        abort();
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        for (size_t i = 0; i < big; i++)
            in[i] = units[u][i % strlen(units[u])];
        in[big] = '\0';
        struct mti_redact r = {0};
        mti_redact_arg(&r, in, out, big + 1);
        MT_CHECK(strlen(out) <= big);
    }
    free(in);
    free(out);
}

MT_MAIN(MT_RUN(secrets_are_replaced) MT_RUN(what_a_report_needs_is_kept) MT_RUN(environment)
            MT_RUN(only_the_next_argument) MT_RUN(every_size_of_output) MT_RUN(any_bytes)
                MT_RUN(long_texts))
