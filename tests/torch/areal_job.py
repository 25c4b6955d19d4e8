#!/usr/bin/env python3
"""AReaL's own FSDP engine with its PPO actor on a small Qwen2 of random weights: log-probabilities, advantages, update, weight sync; OUT.pickle
and OUT.job.json as openrlhf_job.py writes them. AReaL, transformers and PEFT have to be on PYTHONPATH; what AReaL imports for its servers and
schedulers is stood in for.

    areal_job.py OUT [--world 8] [--rounds 2] [--stacks all] [--model FOLDER] [--set KEY=VALUE ...]"""
import argparse
import concurrent.futures
import importlib.util
import os
import sys
import traceback
import types

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
os.environ.setdefault("TORCHDYNAMO_DISABLE", "1" if importlib.util.find_spec("triton") is None else "0")  # functions of the loss run as written
P = argparse.ArgumentParser()
P.add_argument("out")
P.add_argument("--world", type=int, default=8)
P.add_argument("--rounds", type=int, default=2)
P.add_argument("--stacks", choices=["all", "python"], default="all")
P.add_argument("--batch", type=int, default=8)
P.add_argument("--length", type=int, default=512)
P.add_argument("--model", default="")
P.add_argument("--set", action="append", default=[], help="a key of PPOActorConfig, with dots")
MINE, REST = P.parse_known_args()
sys.argv = [sys.argv[0], MINE.out, "actor", "--world", str(MINE.world), "--model", MINE.model, *REST]
import openrlhf_job as common  # noqa: E402

import torch  # noqa: E402
import torch.distributed.checkpoint.staging as staging  # noqa: E402


class Anything(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Anything(name, (), {"__init__": lambda self, *a, **k: None})


class Hollow(types.ModuleType):
    """A module that is imported and never used here: every name in it is a class."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        made = Anything(name, (), {"__init__": lambda self, *a, **k: None, "__call__": lambda self, *a, **k: a[0] if a else self,
                                   "__class_getitem__": classmethod(lambda cls, x: cls)})
        setattr(self, name, made)
        return made


class Finder:
    inside = ("areal.experimental.openai", "areal.experimental.inference_service", "areal.experimental.training_service",
              "areal.utils.async_checkpoint")
    missing = set()

    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in self.missing or any(name == f or name.startswith(f + ".") for f in self.inside):
            return importlib.util.spec_from_loader(name, self)
        return None

    def create_module(self, spec):
        made = Hollow(spec.name)
        made.__path__ = []
        return made

    def exec_module(self, module):
        pass


def engine_module():
    for name in ("DefaultStager", "StagingOptions"):
        if not hasattr(staging, name):
            setattr(staging, name, type(name, (), {}))
    sys.meta_path.insert(0, Finder())
    while True:
        try:
            import areal.trainer.ppo.actor
            import areal.engine.fsdp_engine as module

            return module
        except ModuleNotFoundError as e:
            top = e.name.split(".")[0]
            if top in Finder.missing:
                raise
            Finder.missing.add(top)
            for name in [n for n in sys.modules if n.split(".")[0] == "areal"]:
                del sys.modules[name]


class Rollout:
    """The engine's side of the weight sync is another process."""

    def __getattr__(self, name):
        def done(*a, **k):
            future = concurrent.futures.Future()
            future.set_result(None)
            return future
        return done


class Optimized:
    """What openrlhf_job.Truth asks of an engine."""

    def __init__(self, engine):
        self.module, self.optimizer = engine.model, None
        self.engine = engine


def roles(engine):
    local = lambda t: getattr(t, "_local_tensor", t)  # noqa: E731
    parameters = list(engine.model.parameters())
    return {"param": common.storages(local(p.data) for p in parameters), "grad": common.storages(local(p.grad) for p in parameters if p.grad is not None),
            "optim_state": common.storages(local(t) for s in engine.optimizer.state.values() for t in s.values() if torch.is_tensor(t))}


def batch():
    n, length = MINE.batch, MINE.length
    prompt = length // 4
    mask = torch.ones(n, length, dtype=torch.long)
    loss = mask.clone()
    loss[:, :prompt] = 0
    return {"input_ids": torch.randint(3, 900, (n, length)), "attention_mask": mask, "loss_mask": loss, "logprobs": torch.zeros(n, length),
            "rewards": torch.zeros(n)}


def main():
    truth = common.TRUTH
    if not os.path.exists(os.path.join(MINE.model, "config.json")):
        common.make_model(MINE.model)
    import transformers

    transformers.AutoTokenizer.from_pretrained = transformers.PreTrainedTokenizerFast.from_pretrained
    common.join()
    group = torch.distributed.new_group
    torch.distributed.new_group = lambda *a, **k: group(*a, **{**k, "backend": "fake"})
    torch.cuda.set_device(0)
    module = engine_module()
    truth_value = torch.Tensor.__bool__
    # "any NaN?", "which norm?": where no kernel runs it is whatever was there
    item, torch.Tensor.__bool__ = torch.Tensor.item, lambda t: False if t.is_cuda else truth_value(t)
    torch.Tensor.item = lambda t: 0.0 if t.is_cuda and t.is_floating_point() else item(t)
    weight = module.compute_total_loss_weight

    def never_zero(*a, **k):
        """Counted on the device, where no kernel runs."""
        try:
            return weight(*a, **k)
        except AssertionError:
            return torch.ones(())

    module.compute_total_loss_weight = never_zero
    import areal.trainer.ppo.actor as ppo

    ppo.infer_token_denominator = lambda data, mask: torch.ones_like(mask, dtype=torch.bool)  # else a length read from the device
    from areal.api import FinetuneSpec, ParallelStrategy
    from areal.api.cli_args import MicroBatchSpec, OptimizerConfig, PPOActorConfig

    config = PPOActorConfig(experiment_name="e", trial_name="t", path=MINE.model, backend=f"fsdp:d{MINE.world}", attn_impl="sdpa", optimizer=OptimizerConfig(),
                            mb_spec=MicroBatchSpec(max_tokens_per_mb=2048), gradient_checkpointing=False, ppo_n_minibatches=1)
    for pair in MINE.set:
        key, value = pair.split("=", 1)
        at, *path = config, *key.split(".")
        for name in path[:-1]:
            at = getattr(at, name)
        setattr(at, path[-1], eval(value))  # noqa: S307: our own command line
    torch.cuda.memory._record_memory_history(max_entries=300000, stacks=MINE.stacks)
    torch._C._cuda_attach_out_of_memory_observer(common.at_oom)
    try:
        actor = module.FSDPPPOActor(config)
        truth.roles = lambda: {}
        actor.create_process_group(ParallelStrategy(data_parallel_size=MINE.world))
        actor.initialize(None, FinetuneSpec(total_train_epochs=1, dataset_size=100, train_batch_size=2))
        truth.roles = lambda: roles(actor)
        truth.end("initialize")
        common.told(actor, "forward_backward_batch")
        actor.weight_update_groups, actor.rollout_engine = [torch.distributed.group.WORLD], Rollout()
        actor.weight_update_group_initialized, actor.weight_update_master_addr, actor.weight_update_master_port = True, "127.0.0.1", 1
        actor.weight_update_group_names = ["update_weight_group"]
        for _ in range(MINE.rounds):
            data = batch()
            data["prox_logp"] = actor.compute_logp([data])[0]
            truth.end("compute_logp")
            done = actor.compute_advantages([data])
            truth.end("compute_advantages")
            actor.ppo_update(done)
            truth.end("ppo_update")
            from areal.api import WeightUpdateMeta

            actor._update_weights_from_distributed(WeightUpdateMeta(type="xccl"))
            truth.end("update_weights")
    except torch.cuda.OutOfMemoryError as e:
        with open(MINE.out + ".log", "w", encoding="utf-8") as f:
            f.write(traceback.format_exc())
        truth.write(str(e))
        return 1
    truth.take()
    torch.cuda.memory._dump_snapshot(MINE.out + ".pickle")
    truth.write()
    return 0


if __name__ == "__main__":
    sys.exit(main())
