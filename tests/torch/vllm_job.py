#!/usr/bin/env python3
"""vLLM's own engine in one process, on a small Qwen3 of random weights: start, requests, weight updates as a trainer makes them, sleep. Its
functions and stacks are vLLM's; what it lacks here is in vllm_parts.py. OUT.pickle, and OUT.vllm.json: what the job knew.

    vllm_job.py OUT [--graphs] [--sleep LEVEL] [--train GIB] [--beside LAYERS] [--sync nccl|packed|reload] [--packed-bytes N] [--packed-buffers N] [--logprobs N] [--prompt-logprobs] [--requests N]
                [--prompt N] [--tokens N] [--layers N] [--vocab N] [--stacks all|python] [--set KEY=VALUE ...]        KEY: of vLLM's EngineArgs"""
import argparse
import ast
import faulthandler
import json
import os
import sys
import time
import traceback

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import rank  # noqa: E402
import vllm_parts  # noqa: E402
from vllm import SamplingParams  # noqa: E402
from vllm.engine.arg_utils import EngineArgs  # noqa: E402
from vllm.v1.engine import EngineCoreRequest  # noqa: E402
from vllm.v1.engine.core import EngineCore  # noqa: E402
from vllm.v1.executor.uniproc_executor import UniProcExecutor  # noqa: E402
from vllm.v1.worker.gpu_worker import Worker  # noqa: E402

STEPS = ("init_device", "load_model", "determine_available_memory", "initialize_from_config", "compile_or_warm_up_model", "sleep", "wake_up",
         "update_weights", "finish_weight_update", "reload_weights")
END = {}


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--graphs", action="store_true")
    p.add_argument("--sleep", type=int, default=0)
    p.add_argument("--train", type=int, default=0, help="GiB that a trainer in the same process takes while the engine sleeps")
    p.add_argument("--beside", type=int, default=0, help="layers of a model that this process trains one step before the engine starts")
    p.add_argument("--sync", choices=["nccl", "packed", "reload"], default="")
    p.add_argument("--packed-bytes", type=int, default=1 << 30)
    p.add_argument("--packed-buffers", type=int, default=2)
    p.add_argument("--logprobs", type=int, default=None)
    p.add_argument("--prompt-logprobs", action="store_true")
    p.add_argument("--stacks", default="all")
    p.add_argument("--set", action="append", default=[])
    for name, value in (("requests", 8), ("prompt", 256), ("tokens", 4), ("layers", 4), ("hidden", 1024), ("vocab", 151936)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()


def model():
    """A folder with Qwen3's configuration; weights are made up by the engine."""
    os.makedirs(A.out + ".model", exist_ok=True)
    with open(os.path.join(A.out + ".model", "config.json"), "w", encoding="utf-8") as f:
        json.dump({"architectures": ["Qwen3ForCausalLM"], "model_type": "qwen3", "hidden_size": A.hidden, "intermediate_size": 3 * A.hidden,
                   "num_hidden_layers": A.layers, "num_attention_heads": A.hidden // 64, "num_key_value_heads": A.hidden // 128, "head_dim": 128,
                   "vocab_size": A.vocab, "max_position_embeddings": 40960, "rms_norm_eps": 1e-6, "rope_theta": 1000000, "tie_word_embeddings": False,
                   "torch_dtype": "bfloat16", "hidden_act": "silu", "attention_bias": False, "bos_token_id": 1, "eos_token_id": 2}, f)
    return A.out + ".model"


def settings():
    of = {"max_model_len": 4096, "enforce_eager": not A.graphs, "enable_prefix_caching": False, "gpu_memory_utilization": 0.3,
          "enable_sleep_mode": A.sleep > 0, "async_scheduling": False}
    if A.graphs:  # without torch.compile, as it has no Triton here
        of["compilation_config"] = {"mode": 0, "cudagraph_mode": "FULL_DECODE_ONLY"}
    if A.sync in ("nccl", "packed"):
        of["weight_transfer_config"] = {"backend": "nccl"}
    for pair in A.set:
        key, value = pair.split("=", 1)
        of[key] = ast.literal_eval(value)
    return of


def worker(engine):
    return engine.model_executor.driver_worker.worker


def roles():
    """Bytes of the weights and of the KV cache, by the engine's own lists."""
    runner = getattr(END.get("worker"), "model_runner", None)
    if runner is None or getattr(runner, "model", None) is None:
        return {}
    weights = rank.held(list(runner.model.parameters()))
    buffers = {k: v for k, v in rank.held(list(runner.model.buffers())).items() if k not in weights}
    cache = rank.held(flat(getattr(runner, "kv_caches", [])))
    return {"weights": sum(weights.values()), "buffers": sum(buffers.values()), "kv_cache": sum(cache.values())}


def flat(tensors):
    for t in tensors:
        if isinstance(t, (list, tuple)):
            yield from flat(t)
        else:
            yield t


def note(name):
    rank.end(name)
    free, total = torch.cuda.mem_get_info()
    rank.PHASES[-1].update(roles(), reserved=torch.cuda.memory_reserved(), used=total - free)


def mark(name):
    call = getattr(Worker, name)

    def timed(self, *a, **k):
        END["worker"] = self
        result = call(self, *a, **k)
        note(name)
        return result

    setattr(Worker, name, timed)


def generate(engine, name):
    for i in range(A.requests):
        sampling = SamplingParams(max_tokens=A.tokens, ignore_eos=True, temperature=1.0, logprobs=A.logprobs,
                                  prompt_logprobs=0 if A.prompt_logprobs else None)
        request = EngineCoreRequest(f"{name}-{i}", list(range(3, 3 + A.prompt)), None, sampling, None, time.time(), None, None, None)
        engine.add_request(*engine.preprocess_add_request(request))
    for _ in range(A.tokens + 4):  # the newer model runner counts the tokens on the card, where no kernel ran
        engine.step()
    engine.abort_requests([f"{name}-{i}" for i in range(A.requests)])
    engine.step()
    note(name)


def train():
    """A trainer of its own in this process; what it holds stays."""
    if not A.beside:
        return
    model = torch.nn.Sequential(*[torch.nn.Linear(A.hidden, A.hidden, dtype=torch.bfloat16) for _ in range(A.beside)]).cuda()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-6)
    model(torch.zeros(64, A.hidden, dtype=torch.bfloat16, device="cuda")).sum().backward()
    optimizer.step()
    END["trainer"] = (model, optimizer)
    parts = {"param": list(model.parameters()), "grad": [w.grad for w in model.parameters()],
             "optim_state": [t for s in optimizer.state.values() for t in s.values()]}
    END["held"] = {role: sum(rank.held(tensors).values()) for role, tensors in parts.items()}
    torch.cuda.empty_cache()
    note("train")


def update_actor():
    kept = [torch.empty(256 << 20, dtype=torch.uint8, device="cuda") for _ in range(4 * A.train)]
    note("update_actor")
    del kept


def sync(engine):
    """As a trainer does it: each weight under its name in the checkpoint."""
    if not A.sync:
        return
    if A.sync == "reload":
        engine.collective_rpc("reload_weights")
        return
    named = list(vllm_parts.checkpoint(worker(engine).model_runner.model, A))
    group = {"master_address": "127.0.0.1", "master_port": 29512, "rank_offset": 1, "world_size": 2}
    engine.collective_rpc("init_weight_transfer_engine", args=(group,))
    engine.collective_rpc("start_weight_update")
    engine.collective_rpc("update_weights", args=({"names": [n for n, _ in named], "dtype_names": ["bfloat16"] * len(named),
                                                   "shapes": [s for _, s in named], "packed": A.sync == "packed",
                                                   "packed_buffer_size_bytes": A.packed_bytes, "packed_num_buffers": A.packed_buffers},))
    engine.collective_rpc("finish_weight_update")


def job():
    train()
    config = EngineArgs(model=model(), skip_tokenizer_init=True, load_format="dummy", attention_config={"backend": "FLASH_ATTN"},
                        **settings()).create_engine_config()
    engine = EngineCore(config, UniProcExecutor, log_stats=False)
    END.update(settings={"max_num_seqs": config.scheduler_config.max_num_seqs,
                         "max_num_batched_tokens": config.scheduler_config.max_num_batched_tokens,
                         "gpu_memory_utilization": config.cache_config.gpu_memory_utilization, "num_gpu_blocks": config.cache_config.num_gpu_blocks,
                         "block_size": config.cache_config.block_size})
    generate(engine, "generate")
    if A.sleep:
        engine.sleep(A.sleep)
        if A.train:
            update_actor()
        engine.wake_up(["weights"])
    sync(engine)
    if A.sleep:
        engine.wake_up(["kv_cache"])
    if A.sync or A.sleep:
        generate(engine, "generate")


def write(error=None):
    said = {"torch": torch.__version__, "arguments": sys.argv[2:], "vocabulary": A.vocab, "settings": END.get("settings"), "phases": rank.PHASES,
            "roles": roles(), "trainer": END.get("held"), "error": error}
    with open(A.out + ".vllm.json", "w", encoding="utf-8") as f:
        f.write(json.dumps(said, indent=1) + "\n")


def main():
    faulthandler.dump_traceback_later(280, exit=True)  # a value that a kernel did not compute may be waited for

    def observer(*_):
        note("oom")
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    for name in STEPS:
        mark(name)
    torch._C._cuda_attach_out_of_memory_observer(observer)
    torch.cuda.memory._record_memory_history(max_entries=200000, stacks=A.stacks)
    error = None
    try:
        job()
        note("snapshot")
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")
    except (torch.OutOfMemoryError, RuntimeError) as e:  # vLLM raises another with its own advice
        traceback.print_exc()
        error = str(e)
    write(error)
    sys.stdout.flush()
    os._exit(error is not None)


if __name__ == "__main__":
    main()
