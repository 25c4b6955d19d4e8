#!/usr/bin/env python3
"""One engine process of SGLang, its scheduler with all below it, driven by the requests that a trainer sends: prompts, with or without
log-probabilities, and new weights. Classes, functions and stacks are SGLang's own. Beside the snapshot it writes what PyTorch and the
engine say they hold: OUT.pickle and OUT.truth.json.

    sglang_job.py OUT [--vocab 32000] [--prompts 8] [--prompt 512] [--new-tokens 4] [--logprobs] [--sleep] [--bucket] [--oom]
                      [-- --mem-fraction-static 0.8 ...]      # after --: SGLang's own arguments"""
import argparse
import array
import inspect
import json
import os
import sys
import traceback

import sglang_parts

os.environ.update(USE_LIBUV="0", TORCHDYNAMO_DISABLE="1")
sglang_parts.install()
import torch  # noqa: E402
import truth  # noqa: E402


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--oom", action="store_true", help="the snapshot is written where a request fails")
    p.add_argument("--logprobs", action="store_true", help="a second batch asks for the log-probabilities of its prompts")
    p.add_argument("--sleep", action="store_true", help="memory is released and resumed before new weights come")
    p.add_argument("--bucket", action="store_true", help="new weights come in one flat tensor")
    p.add_argument("--chunk", type=int, help="rows that are taken where SGLang asks the device which ones")
    p.add_argument("--stacks", default="all")
    for name, value in (("layers", 2), ("hidden", 1024), ("vocab", 32000), ("prompts", 8), ("prompt", 512), ("new-tokens", 4), ("updates", 2)):
        p.add_argument("--" + name, type=int, default=value)
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    return p.parse_args(words[:cut]), words[cut + 1:]


A, SERVER = arguments()
MODEL = A.out + ".model"


class Truth(truth.Ends):
    engine, failures = {}, []

    def fail(self, device, request, *_):
        self.failures.append({"request": request, "events": len(torch.cuda.memory._snapshot()["device_traces"][device])})
        if A.oom:
            self.take()

    def take(self):
        self.end("snapshot")
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    def write(self, error=None):
        with open(A.out + ".truth.json", "w", encoding="utf-8") as f:
            said = {"torch": torch.__version__, "arguments": sys.argv[2:], "vocabulary": A.vocab, "phases": self.ends, "engine": self.engine,
                    "failures": self.failures, "error": error}
            f.write(json.dumps(said, indent=1) + "\n")


TRUTH = Truth()


def held(tensors):
    """Bytes on the device by storage: a storage counts once."""
    return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors if torch.is_tensor(t) and t.is_cuda}.values())


def engine(runner):
    """What the engine's own attributes say."""
    pool, requests = runner.token_to_kv_pool, runner.req_to_token_pool
    return {"weights": held(runner.model.parameters()), "buffers": held(runner.model.buffers()), "kv_cache": held([*pool.k_buffer, *pool.v_buffer]),
            "kv_tokens": runner.max_total_num_tokens, "requests": len(requests.req_to_token), "request_table": held([requests.req_to_token])}


def make_model():
    os.makedirs(MODEL, exist_ok=True)
    with open(os.path.join(MODEL, "config.json"), "w", encoding="utf-8") as f:
        json.dump({"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": A.hidden, "intermediate_size": A.hidden * 11 // 4,
                   "num_hidden_layers": A.layers, "num_attention_heads": A.hidden // 64, "num_key_value_heads": A.hidden // 256,
                   "vocab_size": A.vocab, "tie_word_embeddings": False, "max_position_embeddings": 32768, "torch_dtype": "bfloat16",
                   "dtype": "bfloat16", "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1000000.0}, "eos_token_id": 2, "bos_token_id": 1,
                   "initializer_range": 0.02, "use_sliding_window": False}, f)


def prompts(logprobs):
    from sglang.srt.managers.io_struct import TokenizedGenerateReqInput
    from sglang.srt.sampling.sampling_params import SamplingParams

    fields = getattr(TokenizedGenerateReqInput, "__struct_fields__", None) or TokenizedGenerateReqInput.__dataclass_fields__
    for i in range(A.prompts):
        ids = [4 + (i * 7919 + j * 31) % (A.vocab - 4) for j in range(A.prompt - i * 37 % (A.prompt // 2))]
        sampling = SamplingParams(max_new_tokens=A.new_tokens, temperature=1.0, ignore_eos=True)
        sampling.normalize(None)
        said = {"rid": f"{'logprobs' if logprobs else 'prompt'}{i}", "input_text": "", "input_ids": array.array("q", ids), "input_embeds": None,
                "mm_inputs": None, "token_type_ids": None, "sampling_params": sampling, "return_logprob": logprobs,
                "logprob_start_len": 0 if logprobs else -1, "top_logprobs_num": 0, "token_ids_logprob": None, "stream": False}
        said = {k: v for k, v in said.items() if k in fields}
        if "array" not in str(TokenizedGenerateReqInput.__annotations__["input_ids"]):
            said["input_ids"] = ids
        yield TokenizedGenerateReqInput(**said)


def updates():
    """All weights, under the names of the checkpoint, in as many requests as are asked for."""
    from sglang.srt.managers.io_struct import InitWeightsUpdateGroupReqInput, UpdateWeightsFromDistributedReqInput

    h, inner, kv = A.hidden, A.hidden * 11 // 4, A.hidden // 4
    shapes = {"model.embed_tokens.weight": [A.vocab, h], "lm_head.weight": [A.vocab, h], "model.norm.weight": [h]}
    for i in range(A.layers):
        layer = f"model.layers.{i}."
        shapes.update({layer + "self_attn.q_proj.weight": [h, h], layer + "self_attn.k_proj.weight": [kv, h],
                       layer + "self_attn.v_proj.weight": [kv, h], layer + "self_attn.o_proj.weight": [h, h],
                       layer + "self_attn.q_proj.bias": [h], layer + "self_attn.k_proj.bias": [kv], layer + "self_attn.v_proj.bias": [kv],
                       layer + "mlp.gate_proj.weight": [inner, h], layer + "mlp.up_proj.weight": [inner, h],
                       layer + "mlp.down_proj.weight": [h, inner],
                       layer + "input_layernorm.weight": [h], layer + "post_attention_layernorm.weight": [h]})
    yield "init_group", [InitWeightsUpdateGroupReqInput(master_address="127.0.0.1", master_port=29517, rank_offset=0, world_size=1,
                                                        group_name="actor", backend="nccl")]
    names = list(shapes)
    for i in range(A.updates):
        part = names[i::A.updates]
        yield "update_weights", [UpdateWeightsFromDistributedReqInput(
            names=part, dtypes=["bfloat16"] * len(part), shapes=[shapes[n] for n in part], group_name="actor", flush_cache=i == A.updates - 1,
            load_format="flattened_bucket" if A.bucket else None)]


def sleep():
    from sglang.srt.managers.io_struct import ReleaseMemoryOccupationReqInput, ResumeMemoryOccupationReqInput

    yield "release", [ReleaseMemoryOccupationReqInput()]
    yield "resume", [ResumeMemoryOccupationReqInput()]


def script():
    yield "generate", list(prompts(False))
    if A.logprobs:
        yield "logprobs", list(prompts(True))
    if A.sleep:
        yield from sleep()
    yield from updates()
    yield "generate_again", list(prompts(False))


class Done(Exception):
    pass


class Trainer:
    """At the other end of the engine's socket: sends the next requests when nothing runs any more."""

    def __init__(self, scheduler):
        self.scheduler, self.steps, self.name = scheduler, script(), None

    def requests(self, *_):
        s = self.scheduler
        if not s.waiting_queue and s.running_batch.is_empty() and not s.last_batch:
            if self.name is not None:
                TRUTH.end(self.name)
            try:
                self.name, found = next(self.steps)
            except StopIteration:
                raise Done from None
            return found
        return []


def start():
    from sglang.srt.managers.scheduler import Scheduler
    from sglang.srt.server_args import PortArgs, prepare_server_args
    from sglang.srt.utils import common

    common.get_nvgpu_memory_capacity = lambda: torch.cuda.mem_get_info()[1] >> 20  # which asks nvidia-smi
    args = prepare_server_args(["--model-path", MODEL, "--load-format", "dummy", "--skip-tokenizer-init", "--device", "cuda", *SERVER])
    try:
        from sglang.srt.runtime_context import publish

        publish(args, role="scheduler")
    except ImportError:
        pass
    ranks = {"server_args": args, "port_args": PortArgs.init_new(args), "dp_rank": None, "gpu_id": 0}
    return Scheduler(**{n: ranks.get(n, 0) for n in list(inspect.signature(Scheduler.__init__).parameters)[1:]})


def mark(owner, name, *attributes):
    """What PyTorch holds when one of these methods, whichever this version has, begins and ends."""
    for attribute in attributes:
        call = getattr(owner, attribute, None)
        if call is None:
            continue

        def timed(*args, call=call, **more):
            TRUTH.end("before " + name)
            result = call(*args, **more)
            TRUTH.end(name)
            return result

        setattr(owner, attribute, timed)


def serve():
    from sglang.srt.model_executor.model_runner import ModelRunner

    mark(ModelRunner, "load_model", "load_model")
    mark(ModelRunner, "memory_pool", "init_memory_pool", "alloc_memory_pool")
    mark(ModelRunner, "cuda_graphs", "init_device_graphs", "init_cuda_graphs")
    scheduler = start()
    TRUTH.end("start")
    TRUTH.engine = engine(scheduler.tp_worker.model_runner)
    trainer = Trainer(scheduler)
    receiver = getattr(scheduler, "request_receiver", scheduler)
    type(receiver).recv_requests = trainer.requests
    try:
        loop = scheduler.event_loop_overlap if scheduler.enable_overlap else scheduler.event_loop_normal
        getattr(scheduler, "run_event_loop", loop)()
    except Done:
        pass


def main():
    torch.cuda.set_device(0)
    make_model()
    if A.chunk:
        sglang_parts.answer_for_values(A.chunk)
    torch.cuda.memory._record_memory_history(max_entries=100000, stacks=A.stacks)
    torch._C._cuda_attach_out_of_memory_observer(TRUTH.fail)
    try:
        serve()
    except Exception as e:  # SGLang tells some failures in words of its own
        if not TRUTH.failures:
            raise
        traceback.print_exc()
        TRUTH.write(str(e))
        return 1
    TRUTH.take()
    TRUTH.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
