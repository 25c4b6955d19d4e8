#!/usr/bin/env python3
"""One worker process of verl, driven as its trainer drives it: weight sync or generation, log-probs, values, updates. The classes,
functions and stacks are verl's own; the model has random weights. Beside the snapshot it writes what PyTorch and the workers say they
hold: OUT.pickle and OUT.truth.json, as loop.py does.

    verl_job.py OUT [--old] [--ref] [--critic] [--steps 1] [--layers 2] [--oom] [--set actor_rollout_ref.actor.strategy=fsdp2 ...]"""
import argparse
import asyncio
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "standins"))
import missing  # noqa: E402,F401  before anything of verl
import peft  # noqa: E402,F401
import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
import transformers  # noqa: E402
import truth  # noqa: E402

sys.modules["transformers"].__dict__.setdefault("AutoModelForVision2Seq", transformers.AutoModelForImageTextToText)  # gone in 5


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("out")
    p.add_argument("--old", action="store_true", help="verl up to 0.4: Hugging Face generates in the worker")
    p.add_argument("--ref", action="store_true")
    p.add_argument("--critic", action="store_true")
    p.add_argument("--oom", action="store_true", help="the snapshot is written where a request fails")
    p.add_argument("--stacks", default="all")
    p.add_argument("--world", type=int, default=8)
    p.add_argument("--set", nargs="*", default=[])
    for name, value in (("steps", 1), ("layers", 2), ("hidden", 1024), ("vocab", 32000), ("batch", 4), ("prompt", 256), ("response", 256),
                        ("new-tokens", 3), ("micro", 4), ("logp-micro", 4)):
        p.add_argument("--" + name, type=int, default=value)
    return p.parse_args()


A = arguments()
MODEL = A.out + ".model"


class Truth(truth.Ends):
    roles, said = {}, {}

    def before_step(self, name):
        self.end(name + ".backward")
        self.roles[name] = held()

    def take(self, *_):
        self.end("snapshot")
        self.roles["end"] = held()
        torch.cuda.memory._dump_snapshot(A.out + ".pickle")

    def write(self, error=None):
        with open(A.out + ".truth.json", "w", encoding="utf-8") as f:
            said = {"torch": torch.__version__, "arguments": sys.argv[2:], "vocabulary": A.vocab, "phases": self.ends,
                    "roles": self.roles, "error": error}
            f.write(json.dumps(said, indent=1) + "\n")


TRUTH, WORKERS = Truth(), {}


def models():
    for name, worker, module, optimizer in (("actor", "actor", "actor_module_fsdp", "actor_optimizer"), ("ref", "actor", "ref_module_fsdp", ""),
                                            ("critic", "critic", "critic_module", "critic_optimizer")):
        if getattr(WORKERS.get(worker), module, None) is not None:
            yield name, getattr(WORKERS[worker], module), getattr(WORKERS[worker], optimizer, None)


def held():
    """Bytes on the device by storage: a storage counts once."""
    def bytes_of(tensors):
        local = [getattr(t, "_local_tensor", t) for t in tensors if t is not None]
        return sum({t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in local if t.is_cuda}.values())

    out = {"weights": 0, "gradients": 0, "optimizer": 0}
    for _, module, optimizer in models():
        out["weights"] += bytes_of(module.parameters())
        out["gradients"] += bytes_of(p.grad for p in module.parameters())
        state = optimizer.state.values() if optimizer is not None else []
        out["optimizer"] += bytes_of(t for s in state for t in s.values() if torch.is_tensor(t))
    return out


def make_model():
    """A configuration and a tokenizer on disk; weights are made where verl would read them."""
    from tokenizers import Tokenizer, models as kinds
    from transformers.initialization import no_init_weights

    config = transformers.Qwen2Config(
        hidden_size=A.hidden, intermediate_size=A.hidden * 11 // 4, num_hidden_layers=A.layers, num_attention_heads=A.hidden // 64,
        num_key_value_heads=A.hidden // 256, vocab_size=A.vocab, tie_word_embeddings=False, max_position_embeddings=32768,
        bos_token_id=0, eos_token_id=0, pad_token_id=1, architectures=["Qwen2ForCausalLM"])
    config.save_pretrained(MODEL)
    words = Tokenizer(kinds.WordLevel({"<eos>": 0, "<pad>": 1, "a": 2, "<unk>": 3}, unk_token="<unk>"))
    transformers.PreTrainedTokenizerFast(tokenizer_object=words, eos_token="<eos>", bos_token="<eos>", pad_token="<pad>").save_pretrained(MODEL)

    def from_pretrained(cls, pretrained_model_name_or_path, torch_dtype=None, config=None, attn_implementation="flash_attention_2", **_):
        with no_init_weights():
            model = cls.from_config(config, torch_dtype=torch_dtype, attn_implementation=attn_implementation)
        model._no_split_modules = sorted(model._no_split_modules)
        return model

    for cls in (transformers.AutoModelForCausalLM, transformers.AutoModelForTokenClassification):
        cls.from_pretrained = classmethod(from_pretrained)


def answer_for_values():
    """Where Python asks for values on the device, which are 0: a gradient's norm is finite, no mask is all zero, no row is finished."""
    import flash_attn.bert_padding as padding
    import transformers.generation.utils as generation
    import transformers.modeling_flash_attention_utils as attention

    as_bool, left = torch.Tensor.__bool__, [0]

    def answer(t):
        return "optimizer_step" in sys._getframe(1).f_code.co_name if t.is_cuda else as_bool(t)

    def lengths(position_ids):
        cu = torch.cat((torch.arange(4, dtype=torch.int32, device="cuda"), torch.zeros(1, dtype=torch.int32, device="cuda")))
        return (cu, cu), (position_ids.numel(), position_ids.numel())

    def unpad(mask):
        n = int(mask.numel() * padding.SHARE)
        return torch.arange(n, device="cuda"), torch.zeros(len(mask) + 1, dtype=torch.int32, device="cuda"), mask.shape[1]

    def unfinished(*_, **__):
        left[0] += 1
        return left[0] % (A.new_tokens + 1) != 0

    torch.Tensor.__bool__ = answer
    attention._is_packed_sequence = lambda position_ids, batch_size: batch_size == 1 and position_ids is not None
    attention.prepare_fa_kwargs_from_position_ids, attention._get_unpad_data = lengths, unpad
    generation.GenerationMixin._has_unfinished_sequences = unfinished


def answer_for_others():
    """The engine's process, at the other end of ray and zmq; a result of the old worker that its rollout lacks."""
    if A.old:
        from verl.workers.sharding_manager.base import BaseShardingManager

        BaseShardingManager.timing = {}
        return
    import verl.workers.rollout.vllm_rollout.vllm_rollout as rollout

    class Peer:
        def __getattr__(self, name):
            return self

        def __call__(self, *_, **__):
            return self

        def remote(self, *_, **__):
            return asyncio.sleep(0)

    rollout.zmq.Context, rollout.ray.get_actor = Peer, lambda *_: Peer()
    rollout.reduce_tensor, rollout.get_device_uuid = lambda buffer: None, lambda device: "0"


def configuration():
    import verl
    from omegaconf import OmegaConf

    name = "ppo_trainer.yaml" if A.old else "_generated_ppo_trainer.yaml"
    conf = OmegaConf.load(os.path.join(os.path.dirname(verl.__file__), "trainer", "config", name))
    OmegaConf.set_struct(conf, False)
    actor, rollout = "actor_rollout_ref.actor.", "actor_rollout_ref.rollout."
    mine = {"actor_rollout_ref.model.path": MODEL, "critic.model.path": MODEL, "critic.model.tokenizer_path": MODEL,
            rollout + "name": "hf" if A.old else "vllm", rollout + "tensor_model_parallel_size": 1,
            rollout + "load_format": "dummy_hf" if A.old else "dummy", rollout + "log_prob_micro_batch_size_per_gpu": A.logp_micro,
            "actor_rollout_ref.ref.log_prob_micro_batch_size_per_gpu": A.logp_micro, "critic.forward_micro_batch_size_per_gpu": A.logp_micro,
            actor + "ppo_mini_batch_size": A.batch * A.world, "critic.ppo_mini_batch_size": A.batch * A.world,
            actor + "ppo_micro_batch_size_per_gpu": A.micro, "critic.ppo_micro_batch_size_per_gpu": A.micro,
            actor + "use_torch_compile": False, actor + "use_kl_loss": A.ref, "actor_rollout_ref.model.use_remove_padding": True,
            "critic.model.use_remove_padding": True, "data.max_prompt_length": A.prompt, "data.max_response_length": A.response,
            actor + "optim.total_training_steps": 100, "critic.optim.total_training_steps": 100}
    for key, value in [*mine.items(), *(s.split("=", 1) for s in A.set)]:
        OmegaConf.update(conf, key, OmegaConf.create("x: " + value).x if isinstance(value, str) else value)
    return conf


def batch():
    from tensordict import TensorDict
    from verl import DataProto

    length = A.prompt + A.response
    ids, mask = torch.randint(4, A.vocab, (A.batch, length)), torch.ones(A.batch, length, dtype=torch.long)
    for i in range(A.batch):
        mask[i, : i * 37 % (A.prompt // 2)] = 0
        mask[i, length - 1 - i * 53 % (A.response // 2):] = 0
    tensors = {"input_ids": ids, "attention_mask": mask, "position_ids": (mask.cumsum(1) - 1).clamp(min=0)}
    prompts = {k: v[:, : A.prompt] for k, v in tensors.items()}
    tensors.update(prompts=ids[:, : A.prompt], responses=ids[:, A.prompt:], response_mask=mask[:, A.prompt:])
    for name in ("advantages", "returns"):
        tensors[name] = torch.ones(A.batch, A.response)
    said = {"temperature": 1.0, "global_token_num": [length] * A.batch, "eos_token_id": 0, "pad_token_id": 1, "do_sample": True,
            "validate": False, "recompute_log_prob": False, "multi_turn": False}
    return [DataProto(batch=TensorDict(t, batch_size=A.batch), meta_info=dict(said)) for t in (prompts, tensors)]


def fit():
    from verl.workers.fsdp_workers import ActorRolloutRefWorker, CriticWorker

    conf, loop = configuration(), asyncio.new_event_loop()
    if A.critic:
        WORKERS["critic"] = CriticWorker(conf.critic)
        WORKERS["critic"].init_model()
        TRUTH.end("critic.init_model")
    WORKERS["actor"] = actor = ActorRolloutRefWorker(conf.actor_rollout_ref, role="actor_rollout_ref" if A.ref else "actor_rollout")
    actor.init_model()
    TRUTH.end("actor.init_model")
    for name, _, optimizer in models():
        if optimizer is not None:
            optimizer.register_step_pre_hook(lambda *_, n=name: TRUTH.before_step(n))
            optimizer.register_step_post_hook(lambda *_, n=name: TRUTH.end(n + ".optimizer_step"))
    for _ in range(A.steps):
        prompts, data = batch()
        if A.old:
            actor.generate_sequences(prompts)
            TRUTH.end("generate_sequences")
        else:
            loop.run_until_complete(actor.rollout_mode())
            TRUTH.end("rollout_mode")
        data.batch["old_log_probs"] = actor.compute_log_prob(data).batch["old_log_probs"]
        TRUTH.end("compute_log_prob")
        if A.ref:
            data.batch["ref_log_prob"] = actor.compute_ref_log_prob(data).batch["ref_log_prob"]
            TRUTH.end("compute_ref_log_prob")
        if A.critic:
            data.batch["values"] = WORKERS["critic"].compute_values(data).batch["values"]
            TRUTH.end("compute_values")
            WORKERS["critic"].update_critic(data)
            TRUTH.end("update_critic")
        actor.update_actor(data)
        TRUTH.end("update_actor")


def main():
    from torch.testing._internal.distributed.fake_pg import FakeStore

    os.environ.update(WORLD_SIZE=str(A.world), RANK="0", LOCAL_RANK="0", RAY_LOCAL_WORLD_SIZE=str(A.world), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT="29500")
    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=A.world)  # PyTorch's, which answers for the others
    torch.cuda.set_device(0)
    make_model()
    answer_for_values()
    answer_for_others()
    return truth.record(fit, TRUTH, A.stacks, A.oom)


if __name__ == "__main__":
    sys.exit(main())
