#!/usr/bin/env python3
"""nano-vllm's own engine in one process, on a small Qwen3 whose checkpoint is empty: start, requests. Triton and flash-attn only allocate what they
return; torch.compile and the tokenizer are left out. OUT.pickle, and OUT.nano.json: what the job knew.

    nanovllm_job.py OUT [--requests N] [--prompt N] [--tokens N] [--layers N] [--hidden N] [--vocab N] [--set KEY=VALUE ...]        KEY: of nano-vllm's Config"""
import argparse
import ast
import faulthandler
import hashlib
import json
import os
import sys
import traceback
import types

os.environ["TORCHDYNAMO_DISABLE"] = "1"
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import rank  # noqa: E402

END = {}


def stand_in(name, **names):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__dict__.update(names)


class Kernel:
    """A Triton kernel that is launched and does nothing."""

    def __init__(self, function):
        self.function = function

    def __getitem__(self, grid):
        return lambda *a, **k: None


def attention(q, *a, **k):
    return torch.empty_like(q)


class Hash:
    """xxhash's, of another kind: of prompts, to find what is cached."""

    def __init__(self):
        self.bytes = hashlib.blake2b(digest_size=8)

    def update(self, data):
        self.bytes.update(data)

    def intdigest(self):
        return int.from_bytes(self.bytes.digest(), "little")


def parts():
    torch.cuda.init()  # looks for Triton
    stand_in("xxhash", xxh64=Hash)
    stand_in("triton", jit=Kernel)
    stand_in("triton.language", constexpr=int)
    sys.modules["triton"].language = sys.modules["triton.language"]
    stand_in("flash_attn", flash_attn_varlen_func=attention, flash_attn_with_kvcache=attention)
    torch.compile = lambda f=None, **k: f if f is not None else lambda g: g
    start = dist.init_process_group
    dist.init_process_group = lambda *a, **k: start("gloo", store=dist.HashStore(), rank=0, world_size=1)


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--set", action="append", default=[])
    for name, value in (("requests", 8), ("prompt", 256), ("tokens", 4), ("layers", 4), ("hidden", 1024), ("vocab", 151936)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()


def model():
    os.makedirs(A.out + ".model", exist_ok=True)
    with open(os.path.join(A.out + ".model", "config.json"), "w", encoding="utf-8") as f:
        json.dump({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": A.hidden, "intermediate_size": 3 * A.hidden,
                   "num_hidden_layers": A.layers, "num_attention_heads": A.hidden // 64, "num_key_value_heads": A.hidden // 128, "head_dim": 128,
                   "vocab_size": A.vocab, "max_position_embeddings": 4096, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": False,
                   "torch_dtype": "bfloat16", "hidden_act": "silu", "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2}, f)
    return A.out + ".model"


def roles():
    runner = END.get("runner")
    if getattr(runner, "model", None) is None:
        return {}
    weights = rank.held(list(runner.model.parameters()))
    buffers = {k: v for k, v in rank.held(list(runner.model.buffers())).items() if k not in weights}
    cache = rank.held([runner.kv_cache]) if hasattr(runner, "kv_cache") else {}
    return {"weights": sum(weights.values()), "buffers": sum(buffers.values()), "kv_cache": sum(cache.values())}


def note(name):
    rank.end(name)
    free, total = torch.cuda.mem_get_info()
    rank.PHASES[-1].update(roles(), reserved=torch.cuda.memory_reserved(), used=total - free)


def mark(owner, name, as_name=None):
    call = getattr(owner, name)

    def timed(*a, **k):
        if a and type(a[0]).__name__ == "ModelRunner":
            END["runner"] = a[0]
        result = call(*a, **k)
        note(as_name or name)
        return result

    setattr(owner, name, timed)


def job():
    parts()
    from nanovllm import LLM, SamplingParams
    from nanovllm.engine import llm_engine, model_runner
    llm_engine.AutoTokenizer = types.SimpleNamespace(from_pretrained=lambda *a, **k: types.SimpleNamespace(eos_token_id=2, decode=lambda ids: ""))
    mark(model_runner, "load_model")
    for name in ("warmup_model", "allocate_kv_cache", "capture_cudagraph"):
        mark(model_runner.ModelRunner, name)
    settings = {key: ast.literal_eval(value) for key, value in (pair.split("=", 1) for pair in A.set)}
    llm = LLM(model(), **settings)
    config = llm.model_runner.config
    END["settings"] = {k: getattr(config, k) for k in ("max_num_batched_tokens", "max_num_seqs", "gpu_memory_utilization", "num_kvcache_blocks",
                                                      "kvcache_block_size", "max_model_len")}
    note("start")
    llm.generate([list(range(3, 3 + A.prompt))] * A.requests, SamplingParams(max_tokens=A.tokens, ignore_eos=True, temperature=1.0), use_tqdm=False)
    note("generate")


def write(error=None):
    said = {"torch": torch.__version__, "arguments": sys.argv[2:], "vocabulary": A.vocab, "settings": END.get("settings"), "phases": rank.PHASES,
            "error": error}
    with open(A.out + ".nano.json", "w", encoding="utf-8") as f:
        f.write(json.dumps(said, indent=1) + "\n")


def main():
    faulthandler.dump_traceback_later(280, exit=True)

    def observer(*_):
        note("oom")
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    torch._C._cuda_attach_out_of_memory_observer(observer)
    torch.cuda.memory._record_memory_history(max_entries=200000, stacks="all")
    error = None
    try:
        job()
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")
    except torch.OutOfMemoryError as e:
        traceback.print_exc()
        error = str(e)
    write(error)
    sys.stdout.flush()
    os._exit(error is not None)


if __name__ == "__main__":
    main()
