#!/usr/bin/env python3
"""OpenRLHF's own actor, critic, reference, SFT and DPO on DeepSpeed ZeRO, with a small Qwen2 of random weights: OUT.pickle and, from what the job
holds, OUT.job.json. OpenRLHF, DeepSpeed, PEFT and transformers have to be on PYTHONPATH; Ray and vLLM are not started (each
Ray actor is a process of its own, and this is one of them). Kernels of DeepSpeed that would have to be compiled do nothing.

    openrlhf_job.py OUT actor|critic|reference|sft|dpo [--world 8] [--rounds 2] [--stacks all] [--oom] [-- OPTIONS OF OPENRLHF]"""
import argparse
import importlib.util
import json
import os
import runpy
import sys
import tempfile
import traceback
import types

if "--" in sys.argv:
    cut = sys.argv.index("--")
    sys.argv, THEIRS = sys.argv[:cut], sys.argv[cut + 1:]
else:
    THEIRS = []
P = argparse.ArgumentParser()
P.add_argument("out")
P.add_argument("job", choices=["actor", "critic", "reference", "sft", "dpo"])
P.add_argument("--world", type=int, default=8)
P.add_argument("--rounds", type=int, default=2)
P.add_argument("--stacks", choices=["all", "python"], default="all")
P.add_argument("--entries", type=int, default=300000)
P.add_argument("--batch", type=int, default=4)
P.add_argument("--prompt", type=int, default=128)
P.add_argument("--response", type=int, default=384)
P.add_argument("--layers", type=int, default=3)
P.add_argument("--hidden", type=int, default=512)
P.add_argument("--intermediate", type=int, default=1408)
P.add_argument("--vocab", type=int, default=32000)
P.add_argument("--model", default="", help="a folder to keep the random model in")
P.add_argument("--tied", action="store_true")
ARGS = P.parse_args()
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="29511", WORLD_SIZE=str(ARGS.world), RANK="0", LOCAL_RANK="0",
                  TRANSFORMERS_OFFLINE="1", WANDB_MODE="offline")

import torch  # noqa: E402


class Stopped(Exception):
    pass


def module(name, **content):
    if importlib.util.find_spec(name.split(".")[0]) is None or name.split(".")[0] in STOOD_IN:
        STOOD_IN.add(name.split(".")[0])
        made = types.ModuleType(name)
        made.__spec__ = importlib.util.spec_from_loader(name, loader=None)
        made.__path__ = []
        for key, value in content.items():
            setattr(made, key, value)
        sys.modules[name] = made
        if "." in name:
            setattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2], made)


STOOD_IN = set()


class Rows(list):
    """As much of a table of `datasets` as is asked for."""
    column_names = property(lambda self: list(self[0]) if len(self) else [])

    def __getitem__(self, key):
        return [row[key] for row in self] if isinstance(key, str) else list.__getitem__(self, key)

    def select(self, which):
        return Rows(self[i] for i in which)

    def map(self, function, **_):
        return Rows(function(row) for row in self)

    def filter(self, function, **_):
        return Rows(row for row in self if function(row))


def remote(*a, **k):
    return a[0] if len(a) == 1 and callable(a[0]) and not k else (lambda cls: cls)


def stop(*a, **k):
    raise Stopped


def text(words):
    return " ".join(f"w{i % 900}" for i in range(words))


def table(*a, **k):
    rows = Rows({"input": text(ARGS.prompt), "output": text(ARGS.response), "chosen": text(ARGS.prompt + ARGS.response),
                 "rejected": text(ARGS.prompt + ARGS.response)} for _ in range(256))
    return {"train": rows}


def stand_in():
    module("ray", remote=remote, get=lambda x: x, put=lambda x: x, init=stop, is_initialized=lambda: False, get_gpu_ids=lambda: [0],
           ObjectRef=object)
    module("ray.util")
    module("ray.util.placement_group", PlacementGroup=object, placement_group=stop)
    module("ray.util.scheduling_strategies", PlacementGroupSchedulingStrategy=object)
    module("vllm", __version__="0.16.0", SamplingParams=object)
    module("vllm.inputs", TokensPrompt=dict)
    module("vllm.utils", random_uuid=lambda: "0")
    module("torchdata")
    module("torchdata.stateful_dataloader", StatefulDataLoader=torch.utils.data.DataLoader)
    module("datasets", interleave_datasets=lambda a, **k: a[0], load_dataset=table, load_from_disk=table, Dataset=Rows,
           concatenate_datasets=lambda a: a[0])
    module("pylatexenc", latex2text=None)
    module("msgpack")
    module("flash_attn")
    module("flash_attn.bert_padding", index_first_axis=None, pad_input=None, rearrange=None, unpad_input=None)
    module("flash_attn.utils")
    module("flash_attn.utils.distributed", all_gather=None)


def compiled_ops():
    """What DeepSpeed would compile: its functions change values, and allocate nothing."""
    from deepspeed.accelerator import get_accelerator

    nothing = types.SimpleNamespace(**{n: (lambda *a, **k: None) for n in (
        "multi_tensor_adam", "create_adam", "adam_update", "adam_update_copy", "destroy_adam", "adam_rollback")})

    def load(self, verbose=True):
        return nothing

    for name in ("FusedAdamBuilder", "CPUAdamBuilder"):
        builder = get_accelerator().get_op_builder(name)
        builder.load = load


def make_model(folder):
    """A checkpoint with a tokenizer, as a user names one."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

    words = {"<pad>": 0, "<eos>": 1, "<unk>": 2, **{f"w{i}": i + 3 for i in range(900)}}
    tokens = Tokenizer(models.WordLevel(words, unk_token="<unk>"))
    tokens.pre_tokenizer = pre_tokenizers.Whitespace()
    PreTrainedTokenizerFast(tokenizer_object=tokens, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>").save_pretrained(folder)
    config = Qwen2Config(hidden_size=ARGS.hidden, intermediate_size=ARGS.intermediate, num_hidden_layers=ARGS.layers, num_attention_heads=ARGS.hidden // 64,
                         num_key_value_heads=max(1, ARGS.hidden // 256), vocab_size=ARGS.vocab, tie_word_embeddings=ARGS.tied,
                         pad_token_id=0, eos_token_id=1, bos_token_id=1)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(folder)


def storages(tensors):
    found = {}
    for t in tensors:
        if torch.is_tensor(t) and t.is_cuda and t.untyped_storage().nbytes():
            found[t.untyped_storage().data_ptr()] = t.untyped_storage().nbytes()
    return sum(found.values())


def flat(x):
    if torch.is_tensor(x):
        yield x
    elif isinstance(x, dict):
        for v in x.values():
            yield from flat(v)
    elif isinstance(x, (list, tuple)):
        for v in x:
            yield from flat(v)


class Truth:
    def __init__(self):
        self.ends, self.said, self.engines = [], None, []
        self.peak = self.reserved_peak = 0

    def end(self, name):
        s = torch.cuda.memory_stats()
        self.peak = max(self.peak, s["requested_bytes.all.peak"])
        self.reserved_peak = max(self.reserved_peak, s["reserved_bytes.all.peak"])
        self.ends.append({"name": name, "events": len(torch.cuda.memory._snapshot()["device_traces"][0]),
                          "requested": s["requested_bytes.all.current"], "requested_peak": s["requested_bytes.all.peak"],
                          "reserved": s["reserved_bytes.all.current"], "roles": self.roles()})
        torch.cuda.reset_peak_memory_stats()

    def roles(self):
        """What DeepSpeed's engines hold on the card, by their own attributes."""
        r = {"param": 0, "fp32_master": 0, "optim_state": 0, "grad": 0, "buckets": 0}
        for e in self.engines:
            parameters = list(e.module.parameters())
            r["param"] += storages([getattr(p, "ds_tensor", p) for p in parameters] + [p.data for p in parameters])
            z = e.optimizer
            if z is None or not hasattr(z, "param_groups"):
                continue
            base = getattr(z, "optimizer", z)
            masters = [t for n in ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat", "fp32_groups_flat_partition")
                       for t in flat(getattr(z, n, []))]
            r["fp32_master"] += storages(masters)
            r["optim_state"] += storages(t for s in getattr(base, "state", {}).values() for t in flat(s))
            r["grad"] += storages(list(flat(getattr(z, "averaged_gradients", {}))) + list(flat(getattr(z, "grad_partitions_flat_buffer", None)))
                                  + list(flat(getattr(z, "fp32_groups_gradients_flat", []))) + [p.grad for p in parameters])
            buckets = [getattr(z, "ipg_buffer", None), getattr(z, "_DeepSpeedZeroOptimizer_Stage3__ipg_bucket_flat_buffer", None)]
            buckets += [b.buffer for b in getattr(z, "ipg_buckets", {}).values()]
            r["buckets"] += storages(flat(buckets))
        return r

    def take(self):
        self.end("snapshot")
        s = torch.cuda.memory_stats()
        keep = ["requested_bytes.all.current", "allocated_bytes.all.current", "active_bytes.all.current", "reserved_bytes.all.current",
                "segment.all.current"]
        self.said = {"torch": torch.__version__, "arguments": sys.argv[2:], "theirs": THEIRS, "requested_peak": self.peak,
                     "reserved_peak": self.reserved_peak, "end": {k: s[k] for k in keep}, "phases": self.ends, "roles": self.roles()}

    def write(self, error=None):
        with open(ARGS.out + ".job.json", "w", encoding="utf-8") as f:
            json.dump({**(self.said or {}), "error": error}, f, indent=1)
            f.write("\n")


TRUTH = Truth()


def at_oom(device, alloc, device_alloc, device_free):
    TRUTH.take()
    torch.cuda.memory._dump_snapshot(ARGS.out + ".pickle")


def told(owner, name, label=None):
    """After each call what the job holds is noted; the call itself is untouched."""
    original = getattr(owner, name)

    def with_truth(*a, **k):
        result = original(*a, **k)
        TRUTH.end(label or name)
        return result

    setattr(owner, name, with_truth)


def watch():
    import deepspeed
    from openrlhf.utils.deepspeed import DeepspeedStrategy

    initialize = deepspeed.initialize

    def and_keep(*a, **k):
        made = initialize(*a, **k)
        TRUTH.engines.append(made[0])
        TRUTH.end("initialize")
        return made

    deepspeed.initialize = and_keep
    reduce = DeepspeedStrategy.all_reduce

    def never_zero(self, data, op="mean"):
        """Counts come back from the device as 0 where no kernel runs, and are divided by."""
        result = reduce(self, data, op)
        return {k: v or 1 for k, v in result.items()} if isinstance(result, dict) else result

    DeepspeedStrategy.all_reduce = never_zero
    told(DeepspeedStrategy, "backward")
    told(DeepspeedStrategy, "optimizer_step", "optimizer")
    told(DeepspeedStrategy, "save_model")


def join():
    """One of many ranks; PyTorch's fake group answers for the others."""
    from torch.testing._internal.distributed.fake_pg import FakeStore

    torch.distributed.init_process_group("fake", store=FakeStore(), rank=0, world_size=ARGS.world)
    torch.distributed.all_gather_object = lambda out, mine, group=None: out.__setitem__(slice(None), [mine] * len(out))


def options(program, argv):
    """What OpenRLHF's own command line makes of argv."""
    sys.argv = [program, *argv]
    try:
        runpy.run_module(program, run_name="__main__")
    except Stopped:
        frame = sys.exc_info()[2]
        while frame:
            if frame.tb_frame.f_code.co_name == "train":
                return frame.tb_frame.f_locals["args"]
            frame = frame.tb_next
    raise SystemExit(f"{program} did not reach train()")


def experience(n, mask_device="cpu"):
    from openrlhf.trainer.ppo_utils.experience import Experience

    length = ARGS.prompt + ARGS.response
    one = lambda: torch.zeros(n, length - 1)  # noqa: E731
    return Experience(sequences=torch.randint(3, 900, (n, length)), attention_mask=torch.ones(n, length, dtype=torch.long),
                      action_mask=torch.ones(n, length - 1, dtype=torch.bool), action_log_probs=one(), base_action_log_probs=one(),
                      rollout_log_probs=one(), values=one(), returns=one(), advantages=one(), kl=one(), rewards=torch.zeros(n),
                      scores=torch.zeros(n), response_length=torch.zeros(n), truncated=torch.zeros(n), total_length=torch.zeros(n),
                      prompts=[""] * n, labels=[""] * n, images=[None] * n, info={"reward": torch.zeros(n)})


def ppo(folder):
    from openrlhf.trainer.ppo_utils.experience import split_experience_batch
    from openrlhf.utils import get_strategy

    argv = ["--actor.model_name_or_path", folder, "--critic.model_name_or_path", folder, "--reward.model_name_or_path", folder,
            "--ds.attn_implementation", "sdpa", "--train.micro_batch_size", str(ARGS.batch), "--rollout.micro_batch_size", str(ARGS.batch),
            "--train.batch_size", str(ARGS.batch * ARGS.world), "--train.colocate_all", "--vllm.num_engines", "1", "--ckpt.output_dir", folder + ".ckpt"]
    args = options("openrlhf.cli.train_ppo_ray", argv + THEIRS)
    strategy = get_strategy(args)
    from openrlhf.trainer.ray import launcher, ppo_actor, ppo_critic

    ppo_actor.get_physical_gpu_id = lambda: "GPU-0"
    cls = {"actor": ppo_actor.PolicyModelActor, "critic": ppo_critic.CriticModelActor, "reference": launcher.ReferenceModelActor}[ARGS.job]
    worker = cls(ARGS.world, 0, "127.0.0.1", 29511)
    more = {"actor": [100, [Engine()]], "critic": [100], "reference": []}[ARGS.job]
    worker.init_model_from_pretrained(strategy, folder, *more)
    TRUTH.end("init_model_from_pretrained")
    for _ in range(ARGS.rounds):
        batches = [experience(args.rollout.micro_batch_size) for _ in range(2)]
        fields = {"sequences": [e.sequences for e in batches], "action_mask": [e.action_mask for e in batches],
                  "attention_mask": [e.attention_mask for e in batches]}
        worker.execute_batch("forward", fields, 0, len(batches))
        TRUTH.end("forward_batch")
        if ARGS.job == "reference":
            continue
        if args.ds.enable_sleep:
            worker.reload_states()
            TRUTH.end("reload_states")
        for e in batches:
            worker.append(e)
        worker.fit() if ARGS.job == "critic" else worker.fit(0.01)
        TRUTH.end("fit")
        if args.ds.enable_sleep:
            worker.offload_states()
            TRUTH.end("offload_states")
        if ARGS.job == "actor":
            worker.trainer.broadcast_to_vllm()
            TRUTH.end("broadcast_to_vllm")
    return worker


class Method:
    def remote(self, *a, **k):
        return None


class Engine:
    """The other side of the weight sync is another process."""

    def __getattr__(self, name):
        return Method()


def main():
    stand_in()
    import deepspeed  # noqa: F401

    compiled_ops()
    folder = ARGS.model or tempfile.mkdtemp()
    if not os.path.exists(os.path.join(folder, "config.json")):
        make_model(folder)
    import transformers

    transformers.AutoTokenizer.from_pretrained = transformers.PreTrainedTokenizerFast.from_pretrained  # not the model's own class, which has other words
    join()
    torch.cuda.set_device(0)
    torch.multiprocessing.reductions.reduce_tensor = lambda t: (None, (t.shape,))  # a handle to other processes' view of it
    torch.cuda.memory._record_memory_history(max_entries=ARGS.entries, stacks=ARGS.stacks)
    torch._C._cuda_attach_out_of_memory_observer(at_oom)
    watch()
    try:
        if ARGS.job in ("sft", "dpo"):
            sys.argv = ["train_" + ARGS.job, "--model.model_name_or_path", folder, "--data.dataset", "made-up.jsonl", "--ds.attn_implementation", "sdpa",
                        "--train.micro_batch_size", str(ARGS.batch), "--train.batch_size", str(ARGS.batch * ARGS.world), "--ckpt.output_dir", folder + ".ckpt",
                        "--data.max_samples", str(ARGS.batch * ARGS.world * ARGS.rounds), "--train.max_epochs", "1",
                        "--data.max_len", str(ARGS.prompt + ARGS.response), *(["--data.output_key", "output"] if ARGS.job == "sft" else ["--ref.model_name_or_path", folder]), *THEIRS]
            runpy.run_module("openrlhf.cli.train_" + ARGS.job, run_name="__main__")
        else:
            worker = ppo(folder)  # noqa: F841
    except torch.cuda.OutOfMemoryError as e:
        with open(ARGS.out + ".log", "w", encoding="utf-8") as f:
            f.write(traceback.format_exc())
        TRUTH.write(str(e))
        return 1
    TRUTH.take()
    torch.cuda.memory._dump_snapshot(ARGS.out + ".pickle")
    TRUTH.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
