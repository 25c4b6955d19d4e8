/* redact/words.c -- words that tell nobody: of packages, of folders inside them, of the system, of
 * everyday texts. */
#include "cli/redact/impl.h"

#include <string.h>

/* Packages whose files are public, beside those of the frameworks' rows; below site-packages
 * everything inside one stays, elsewhere what packages keep inside (inside[]). */
static const char *const packages[] = {"gkd",
                                       "online_dpo",
                                       "torchvision",
                                       "torchaudio",
                                       "torchdata",
                                       "orz",
                                       "nemo",
                                       "peft",
                                       "flash_attn",
                                       "flash_attn_interface",
                                       "flashinfer",
                                       "xformers",
                                       "apex",
                                       "transformer_engine",
                                       "triton",
                                       "ray",
                                       "numpy",
                                       "pandas",
                                       "scipy",
                                       "datasets",
                                       "tokenizers",
                                       "safetensors",
                                       "huggingface_hub",
                                       "nvidia",
                                       "cupy",
                                       "numba",
                                       "einops",
                                       "hydra",
                                       "omegaconf",
                                       "tensordict",
                                       "torchrl",
                                       "diffusers",
                                       "timm",
                                       "sentence_transformers",
                                       "lmdeploy",
                                       "tensorrt_llm",
                                       "xgrammar",
                                       "outlines",
                                       "uvloop",
                                       "fire",
                                       "click",
                                       "typer",
                                       "absl",
                                       "fsspec",
                                       "jax",
                                       "tensorflow",
                                       "mbridge",
                                       "sgl_kernel",
                                       "causal_conv1d",
                                       "mamba_ssm",
                                       "fla",
                                       "tensorboard",
                                       "wandb",
                                       "swanlab",
                                       "mlflow",
                                       "memtrace",
                                       NULL};

/* Folders that packages have inside; they say nothing about a project. */
static const char *const inside[] = {"_aot_autograd",
                                     "megatron",
                                     "inference_servers",
                                     "rlhf_trainers",
                                     "rlhf_trainer",
                                     "infer",
                                     "infer_engine",
                                     "rl_core",
                                     "sft",
                                     "transports",
                                     "weights",
                                     "broadcast",
                                     "nixl",
                                     "weight_sync",
                                     "exp_engine",
                                     "accelerators",
                                     "strategy",
                                     "pipelining",
                                     "_composable",
                                     "_fully_shard",
                                     "_functorch",
                                     "_inductor",
                                     "_dynamo",
                                     "_prims",
                                     "_C",
                                     "_ops",
                                     "_refs",
                                     "dpo",
                                     "ebft",
                                     "grpo",
                                     "loaders",
                                     "monkeypatch",
                                     "gradient_checkpointing",
                                     "loss",
                                     "model_utils",
                                     "train",
                                     "kto",
                                     "rm",
                                     "sft",
                                     "checkpointer",
                                     "actor",
                                     "actors",
                                     "algorithms",
                                     "api",
                                     "attention",
                                     "autograd",
                                     "backends",
                                     "bridge",
                                     "c10",
                                     "aten",
                                     "ATen",
                                     "allocator",
                                     "csrc",
                                     "callbacks",
                                     "checkpoint",
                                     "checkpoint_engine",
                                     "cli",
                                     "common",
                                     "compilation",
                                     "compile",
                                     "components",
                                     "config",
                                     "configs",
                                     "controller",
                                     "core",
                                     "cpu_offloading",
                                     "critic",
                                     "critics",
                                     "cuda",
                                     "data",
                                     "datasets",
                                     "device_allocator",
                                     "disaggregation",
                                     "distributed",
                                     "engine",
                                     "engines",
                                     "entrypoints",
                                     "evals",
                                     "examples",
                                     "executor",
                                     "experience",
                                     "experimental",
                                     "extras",
                                     "fabric",
                                     "fsdp",
                                     "fsdp_utils",
                                     "functional",
                                     "fused_moe",
                                     "fx_passes",
                                     "generation",
                                     "gpu",
                                     "hooks",
                                     "include",
                                     "inference",
                                     "infra",
                                     "integrations",
                                     "interactions",
                                     "kernels",
                                     "lang",
                                     "launcher",
                                     "layers",
                                     "legacy",
                                     "loops",
                                     "lora",
                                     "managers",
                                     "mem_cache",
                                     "kvcache",
                                     "megatron_utils",
                                     "model",
                                     "model_executor",
                                     "model_loader",
                                     "model_runner_components",
                                     "models",
                                     "module",
                                     "modules",
                                     "multimodal_gen",
                                     "multiplex",
                                     "nn",
                                     "observability",
                                     "ops",
                                     "optim",
                                     "optimization",
                                     "optimizer",
                                     "optimizers",
                                     "parallel",
                                     "pipelines",
                                     "pipeline_parallel",
                                     "platforms",
                                     "plugins",
                                     "policy",
                                     "post_training",
                                     "ppo",
                                     "precision",
                                     "protocols",
                                     "pytorch",
                                     "quantization",
                                     "reward",
                                     "rewards",
                                     "rl",
                                     "agent_loop",
                                     "base",
                                     "dataset",
                                     "debug",
                                     "device",
                                     "device_mesh",
                                     "dtensor",
                                     "llama",
                                     "qwen2",
                                     "qwen3",
                                     "mcore",
                                     "logger",
                                     "npu",
                                     "patch",
                                     "profiler",
                                     "register_center",
                                     "reward_loop",
                                     "reward_manager",
                                     "reward_score",
                                     "sglang_router",
                                     "tracking",
                                     "transformer",
                                     "transformers_compat",
                                     "async_server",
                                     "vllm_async_server",
                                     "weight_loader",
                                     "fusions",
                                     "dist_checkpointing",
                                     "multi_latent_attention",
                                     "pipeline",
                                     "testing",
                                     "elastic",
                                     "launch",
                                     "rendezvous",
                                     "_shard",
                                     "_tensor",
                                     "c10d",
                                     "nested",
                                     "onnx",
                                     "jit",
                                     "fx",
                                     "export",
                                     "sparse",
                                     "_higher_order_ops",
                                     "runtime_wrappers",
                                     "rollout",
                                     "runner",
                                     "scheduler_components",
                                     "router",
                                     "runtime",
                                     "sample",
                                     "sampler",
                                     "sampling",
                                     "scheduler",
                                     "schedulers",
                                     "scripts",
                                     "sequence",
                                     "sglang_rollout",
                                     "sharding_manager",
                                     "single_controller",
                                     "srt",
                                     "speculative",
                                     "strategies",
                                     "tensor_parallel",
                                     "third_party",
                                     "thirdparty",
                                     "tools",
                                     "trainer",
                                     "trainers",
                                     "training",
                                     "tuners",
                                     "update_weight",
                                     "utilities",
                                     "utils",
                                     "v0",
                                     "v1",
                                     "vllm_rollout",
                                     "weight_transfer",
                                     "weight_update",
                                     "worker",
                                     "workers",
                                     "workflow",
                                     "zero",
                                     "src",
                                     "lib",
                                     NULL};

/* Folders of the system, whoever uses it. */
static const char *const systems[] = {"usr",
                                      "lib",
                                      "lib32",
                                      "lib64",
                                      "libexec",
                                      "local",
                                      "bin",
                                      "sbin",
                                      "share",
                                      "include",
                                      "opt",
                                      "conda",
                                      "miniconda",
                                      "miniconda3",
                                      "anaconda",
                                      "anaconda3",
                                      "miniforge3",
                                      "mambaforge",
                                      "envs",
                                      "venv",
                                      ".venv",
                                      "site-packages",
                                      "dist-packages",
                                      "etc",
                                      "tmp",
                                      "var",
                                      "dev",
                                      "shm",
                                      "proc",
                                      "self",
                                      "sys",
                                      "run",
                                      "nvidia",
                                      "x86_64-linux-gnu",
                                      "aarch64-linux-gnu",
                                      "stubs",
                                      "targets",
                                      "x86_64-linux",
                                      "sbsa-linux",
                                      "compat",
                                      "extras",
                                      "CUPTI",
                                      "nix",
                                      "store",
                                      "pytorch",
                                      "build",
                                      "aten",
                                      "c10",
                                      "torch",
                                      NULL};

/* Words of file names and of everyday text: nothing is told by them, and nobody's name is taken
 * from them. */
static const char *const words[] = {
    "snapshot", "snapshots", "memory",    "mem",        "cuda",       "gpu",        "oom",
    "dump",     "dumps",     "trace",     "traces",     "rank",       "ranks",      "rollout",
    "actor",    "critic",    "ref",       "reference",  "reward",     "train",      "training",
    "trainer",  "test",      "tests",     "eval",       "val",        "step",       "steps",
    "iter",     "iteration", "epoch",     "global",     "local",      "world",      "worker",
    "workers",  "process",   "pid",       "device",     "host",       "hosts",      "node",
    "nodes",    "run",       "runs",      "log",        "logs",       "out",        "output",
    "outputs",  "stdout",    "stderr",    "err",        "error",      "job",        "jobs",
    "report",   "memtrace",  "history",   "profile",    "profiler",   "before",     "after",
    "peak",     "final",     "init",      "begin",      "end",        "start",      "stop",
    "tmp",      "temp",      "data",      "model",      "models",     "checkpoint", "checkpoints",
    "ckpt",     "config",    "configs",   "conf",       "settings",   "args",       "main",
    "python",   "python2",   "python3",   "torchrun",   "accelerate", "deepspeed",  "bash",
    "sh",       "srun",      "mpirun",    "ray",        "raylet",     "uv",         "env",
    "root",     "user",      "users",     "home",       "admin",      "ubuntu",     "debian",
    "nobody",   "guest",     "default",   "localhost",  "none",       "null",       "true",
    "false",    "auto",      "yes",       "the",        "and",        "for",        "from",
    "with",     "all",       "any",       "new",        "old",        "file",       "files",
    "path",     "dir",       "folder",    "name",       "names",      "input",      "inputs",
    "token",    "tokens",    "hidden",    "size",       "batch",      "micro",      "mini",
    "max",      "min",       "num",       "total",      "free",       "used",       "live",
    "alloc",    "allocate",  "allocated", "allocation", "segment",    "block",      "forward",
    "backward", "optimizer", "loss",      "grad",       "param",      "params",     "weight",
    "weights",  "sync",      "async",     "kv",         "cache",      "attention",  "mlp",
    "layer",    "layers",    "logits",    "embed",      "embedding",  "linear",     "dense",
    "moe",      "expert",    "experts",   "head",       "heads",      "int",        "float",
    "bf16",     "fp16",      "fp32",      "tensor",     "tensors",    "module",     "modules",
    "utils",    "util",      "core",      "base",       "common",     "src",        "lib",
    "bin",      "build",     "project",   "projects",   "work",       "workspace",  "code",
    "repo",     "app",       "apps",      "scratch",    "shared",     "share",      "data1",
    "mnt",      "nfs",       "lustre",    "fsx",        "pickle",     "json",       "tiny",
    "small",    "large",     "example",   "sample",     "samples",    "demo",       "sglang",
    "generate", "sleep",     "wake",      "load",       "save",       "math",       "code",
    "chat",     "ppo",       "grpo",      "dpo",        "sft",        "rlhf",       "nccl",
    "stream",   "pool",      "graph",     "call",       "apply",      "object",     "method",
    "function", "lambda",    "operator",  "std",        "void",       "const",      "auto",
    "unsigned", "char",      "this",      "kernel",     "driver",     "server",     "client",
    "engine",   "http",      "https",     NULL};

/* Organisations of public models, in names as "Qwen/Qwen2.5-7B". */
static const char *const publishers[] = {"Qwen",          "meta-llama",       "deepseek-ai",
                                         "mistralai",     "google",           "microsoft",
                                         "openai",        "openai-community", "EleutherAI",
                                         "facebook",      "bigscience",       "tiiuae",
                                         "THUDM",         "zai-org",          "internlm",
                                         "01-ai",         "nvidia",           "HuggingFaceTB",
                                         "HuggingFaceH4", "allenai",          "moonshotai",
                                         "MiniMaxAI",     "ibm-granite",      "stabilityai",
                                         "baichuan-inc",  "XiaomiMiMo",       "ByteDance-Seed",
                                         "unsloth",       "NousResearch",     NULL};

static const char *const code_ends[] = {
    "py", "pyx", "pyi", "pxd", "pyc", "so", "c",  "cc", "cpp", "cxx", "cu", "cuh", "h",
    "hh", "hpp", "inl", "rs",  "go",  "js", "cs", "S",  "s",   "asm", "a",  "o",   NULL};
static const char *const data_ends[] = {
    "pickle", "pkl", "json", "gz",          "xz",      "zst",   "bz2", "lz4",  "zip",
    "tar",    "tgz", "7z",   "htm",         "html",    "yaml",  "yml", "log",  "txt",
    "out",    "err", "pt",   "pth",         "bin",     "csv",   "sh",  "toml", "ini",
    "cfg",    "md",  "npz",  "safetensors", "parquet", "jsonl", NULL};

static bool in(const char *const *list, const char *s, size_t n)
{
    for (; *list != NULL; list++)
        if (strlen(*list) == n && memcmp(*list, s, n) == 0)
            return true;
    return false;
}

static bool in_folded(const char *const *list, const char *s, size_t n)
{
    for (; *list != NULL; list++) {
        size_t i = 0;
        while (i < n && (*list)[i] != '\0' && (*list)[i] == mt_red_fold(s[i]))
            i++;
        if (i == n && (*list)[i] == '\0')
            return true;
    }
    return false;
}

bool mt_redact_all_digits(const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!mt_red_digit(s[i]))
            return false;
    return true;
}

/* A word, or a word with a number: "rank3". */
bool mt_redact_plain_word(const char *s, size_t n)
{
    size_t letters = n;
    while (letters > 0 && mt_red_digit(s[letters - 1]))
        letters--;
    return mt_redact_all_digits(s, n) || in_folded(words, s, n) ||
           (letters > 0 && letters < n && in_folded(words, s, letters));
}

bool mt_redact_is_host(const char *s, size_t n)
{
    static const char *const called[] = {"node", "worker", "host",  "server", "gpu",
                                         "head", "job",    "train", "test",   NULL};
    size_t letters = n;
    while (letters > 0 && mt_red_digit(s[letters - 1]))
        letters--;
    if (letters > 0 && letters < n && s[letters - 1] == '-')
        letters--;
    return letters < n && in_folded(called, s, letters);
}

bool mt_redact_is_common(const struct mt_redact *r, const char *s, size_t n)
{
    char word[64];
    for (size_t i = 0; i < n && n < sizeof word; i++)
        word[i] = mt_red_fold(s[i]);
    return mt_redact_plain_word(s, n) || in_folded(packages, s, n) || in(inside, s, n) ||
           in(systems, s, n) || (n < sizeof word && mt_framework_is_package(r->fw, word, n));
}

bool mt_redact_is_package(const struct mt_redact *r, const char *s, size_t n)
{
    return in(packages, s, n) || mt_framework_is_package(r->fw, s, n);
}

bool mt_redact_in(enum mt_redact_list which, const char *s, size_t n)
{
    static const char *const *const lists[] = {inside, systems, publishers, code_ends, data_ends};
    return in(lists[which], s, n);
}
