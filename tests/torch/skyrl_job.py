#!/usr/bin/env python3
"""SkyRL's own policy worker on FSDP2 with a small Qwen2 of random weights: log-probabilities, forward and backward, optimizer, offload and back, the
tensors of a weight sync; OUT.pickle and OUT.job.json as openrlhf_job.py writes them. SkyRL and transformers have to be on PYTHONPATH; what SkyRL imports
for its driver, its engines and its file systems is stood in for.

    skyrl_job.py OUT [--world 2] [--rounds 2] [--stacks all] [--batch 4] [--length 512] [--model FOLDER] [--set KEY=VALUE ...]"""
import logging
import os
import sys
import traceback

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import areal_job as like  # noqa: E402

import torch  # noqa: E402

MINE, common, Finder = like.MINE, like.common, like.Finder


class Anything:
    def __class_getitem__(cls, _):
        return cls


def hollow(name, **content):
    made = like.Hollow(name)
    made.__path__ = []
    Finder.missing.add(name)
    for key, value in content.items():
        setattr(made, key, value)
    sys.modules[name] = made


def worker_module():
    hollow("ray", is_initialized=lambda: False, get_gpu_ids=lambda: [0], remote=common.remote)
    hollow("jaxtyping", **dict.fromkeys(("Float", "Int", "Integer", "Bool", "Num"), Anything))
    hollow("loguru", logger=logging.getLogger("skyrl"))
    hollow("omegaconf")
    sys.meta_path.insert(0, Finder())
    while True:
        try:
            import skyrl.backends.skyrl_train.workers.fsdp.fsdp_worker as module

            return module
        except ModuleNotFoundError as e:
            top = e.name.split(".")[0]
            if top in Finder.missing or top == "skyrl":
                raise
            Finder.missing.add(top)
            for name in [n for n in sys.modules if n.split(".")[0] == "skyrl"]:
                del sys.modules[name]


def quiet():
    """What concerns the machine: where the log goes, which CPUs are near."""
    import skyrl.backends.skyrl_train.utils.torch_utils as torch_utils
    import skyrl.backends.skyrl_train.workers.worker as worker
    import skyrl.train.utils.ray_logging as ray_logging

    ray_logging.redirect_actor_output_to_file = worker.configure_ray_worker_logging = lambda *a, **k: None
    worker.DistributedTorchRayActor._set_numa_affinity = lambda *a, **k: None
    torch_utils.FLASH_ATTN_CROSS_ENTROPY_LOSS_AVAILABLE = False  # its kernels are not there


def configuration():
    from skyrl.train.config.config import TrainerConfig

    cfg = TrainerConfig()
    cfg.policy.model.path, cfg.algorithm.temperature = MINE.model, 1.0
    cfg.flash_attn = cfg.remove_microbatch_padding = cfg.use_expandable_segments = False
    cfg.micro_train_batch_size_per_gpu = cfg.micro_forward_batch_size_per_gpu = 2
    for pair in MINE.set:
        key, value = pair.split("=", 1)
        at, *path = cfg, *key.split(".")
        for name in path[:-1]:
            at = getattr(at, name)
        setattr(at, path[-1], eval(value))  # noqa: S307: our own command line
    return cfg


def make_model():
    from transformers import Qwen2Config, Qwen2ForCausalLM

    config = Qwen2Config(hidden_size=common.ARGS.hidden, intermediate_size=common.ARGS.intermediate, num_hidden_layers=common.ARGS.layers,
                         num_attention_heads=common.ARGS.hidden // 64, num_key_value_heads=max(1, common.ARGS.hidden // 256),
                         vocab_size=common.ARGS.vocab, tie_word_embeddings=False)
    Qwen2ForCausalLM(config).to(torch.bfloat16).save_pretrained(MINE.model)


def batch():
    from skyrl.backends.skyrl_train.training_batch import TrainingInputBatch

    n, length, answer = MINE.batch, MINE.length, MINE.length // 2
    per_token = ("response_mask", "loss_mask", "action_log_probs", "base_action_log_probs", "values", "returns", "advantages", "rollout_logprobs")
    made = TrainingInputBatch({"sequences": torch.randint(3, 900, (n, length)), "attention_mask": torch.ones(n, length, dtype=torch.long),
                               **{name: torch.ones(n, answer) for name in per_token}})
    made.metadata = {"response_length": answer, "global_step": 0}
    return made


def step(worker, extractor, rounds):
    truth = common.TRUTH
    for index in range(rounds):
        if index:
            worker.backload_to_gpu()
            truth.end("backload_to_gpu")
        worker.forward(batch())
        truth.end("forward")
        worker.forward_backward(batch())
        truth.end("forward_backward")
        worker.optim_step()
        truth.end("optim_step")
        worker.offload_to_cpu(offload_model=False)
        truth.end("offload_to_cpu")
        for _ in extractor.extract_weights(torch.bfloat16):
            pass
        truth.end("extract_weights")
        worker.offload_to_cpu()
        truth.end("offload_to_cpu")
    worker.backload_to_gpu()
    truth.end("backload_to_gpu")


def main():
    truth = common.TRUTH
    truth.roles = lambda: {}
    if not os.path.exists(os.path.join(MINE.model, "config.json")):
        make_model()
    common.join()
    torch.cuda.set_device(0)
    module = worker_module()
    quiet()
    torch.cuda.memory._record_memory_history(max_entries=300000, stacks=MINE.stacks)
    torch._C._cuda_attach_out_of_memory_observer(common.at_oom)
    try:
        worker = module.FSDPPolicyWorkerBase(cfg=configuration(), world_size=MINE.world, rank=0, local_rank=0, master_addr="127.0.0.1",
                                             master_port=29511, sequence_parallel_size=1)
        worker.init_worker_process_group()
        worker.init_model(MINE.model, num_training_steps=10)
        worker.engine = worker.model
        truth.roles = lambda: like.roles(worker)
        truth.end("init_model")
        step(worker, module.FSDPWeightExtractor(worker.model.model, group_by_module=True, batch_size_threshold_gb=0.02), MINE.rounds)
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
