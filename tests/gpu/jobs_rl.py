"""Reinforcement learning and preferences, with generate() of transformers or by hand."""
import torch
import torch.nn.functional as F

from jobs_list import Scaled, change, job
from jobs_lm import build


def llama(layers, kv_heads=8, vocab=128256, hidden=2048, ffn=5632, heads=16):
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(vocab_size=vocab, hidden_size=hidden, intermediate_size=ffn, num_hidden_layers=layers, num_attention_heads=heads, num_key_value_heads=kv_heads,
                         max_position_embeddings=65536, tie_word_embeddings=False, bos_token_id=1, eos_token_id=None, pad_token_id=0)
    config._attn_implementation = "sdpa"
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device("cuda"):
            model = LlamaForCausalLM(config)
    finally:
        torch.set_default_dtype(torch.float32)
    return model.to(torch.bfloat16)


@torch.no_grad()
def rollout(model, prompts, new_tokens, **more):
    return model.generate(prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=new_tokens, do_sample=True, temperature=1.0, top_k=0, pad_token_id=0, **more)


def per_token_logps(model, ids, pieces):
    logits = model(input_ids=ids, use_cache=False).logits[:, :-1]
    target = ids[:, 1:, None]
    if pieces:
        return torch.cat([row.float().log_softmax(-1).gather(-1, at).squeeze(-1) for row, at in zip(logits.split(pieces), target.split(pieces))])
    return logits.float().log_softmax(-1).gather(-1, target).squeeze(-1)


@job(21, "GRPO: log-probabilities of the reference over all rollouts at once, in 32 bits", dict(prompts=Scaled(16), group=8, new_tokens=48, logp_rows=0, pieces=0),
     [change("log-softmax four rows at a time", "P10", pieces=4), change("sixteen rollouts in one pass", "P09", logp_rows=16)], libs=("transformers",), seconds=5, limit=40,
     config=(".yaml", "num_generations: 8\nper_device_train_batch_size: 128\nmax_completion_length: 48\nmax_prompt_length: 512\nbeta: 0.04\nbf16: true\n"))
def grpo_step(args, watch):
    policy, ref = llama(16), llama(16).eval().requires_grad_(False)
    policy.gradient_checkpointing_enable()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    watch(policy=policy, reference=ref, optimizer=optimizer)
    prompts = torch.randint(10, 128000, (args.prompts, 512), device="cuda").repeat_interleave(args.group, 0)
    policy.eval()
    ids = rollout(policy, prompts, args.new_tokens)
    policy.train()
    rewards = torch.randn(len(ids), device="cuda").view(-1, args.group)
    advantages = ((rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-4)).flatten()
    with torch.no_grad():
        ref_logps = torch.cat([per_token_logps(ref, part, args.pieces) for part in ids.split(args.logp_rows or len(ids))])
    for rows in torch.arange(len(ids), device="cuda").split(8)[:4]:
        logps = per_token_logps(policy, ids[rows], 0)
        ratio = torch.exp(logps - logps.detach())
        delta = ref_logps[rows] - logps
        loss = -(ratio * advantages[rows, None]).mean() + 0.04 * (delta.exp() - delta - 1).mean()
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()


@job(22, "generate() with eight answers to each prompt: the cache fills the card in the prefill", dict(prompts=Scaled(32), answers=8, new_tokens=8),
     [change("four answers to each prompt", "P138 P09", answers=4), change("half the prompts", "P09", prompts=Scaled(16))], libs=("transformers",), seconds=5, limit=40, dump="observer")
def sample_answers(args, watch):
    model = llama(24, kv_heads=16, vocab=32000).eval()
    watch(model=model)
    rollout(model, torch.randint(10, 32000, (2, 64), device="cuda"), 4, num_return_sequences=2)
    rollout(model, torch.randint(10, 32000, (args.prompts, 2048), device="cuda"), args.new_tokens, num_return_sequences=args.answers)


@job(28, "a static cache is made for 32768 tokens where 1088 are used", dict(batch=Scaled(24), cache_len=32768, static=True),
     [change("a cache as long as prompt and answer", "P62", cache_len=1088), change("half the batch", "P09", batch=Scaled(12)), change("a cache that grows", "", static=False)],
     libs=("transformers",), seconds=5, limit=40)
def static_cache(args, watch):
    from transformers import GenerationConfig, StaticCache

    model = llama(28, vocab=32000).eval()
    watch(model=model)
    prompts = torch.randint(10, 32000, (args.batch, 1024), device="cuda")
    if args.static:
        cache = StaticCache(config=model.config, max_cache_len=args.cache_len)
        eager = {"disable_compile": True} if hasattr(GenerationConfig(), "disable_compile") else {}
        rollout(model, prompts, 8, past_key_values=cache, **eager)
    else:
        rollout(model, prompts, 8)


@job(24, "the logits of the old policy are kept for all micro-batches", dict(micro_batches=Scaled(84), keep="logits"),
     [change("keep the log-probabilities of the tokens", "P42 B33", keep="logps"), change("half the rollouts", "P02", micro_batches=Scaled(42))])
def old_logits(args, watch):
    policy = build(torch.bfloat16, vocab=64000, width=1024, layers=8)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    rollouts = [torch.randint(0, 64000, (8, 1024), device="cuda") for _ in range(args.micro_batches)]
    old = []
    watch(policy=policy, optimizer=optimizer, old_logits=old)
    with torch.no_grad():
        for ids in rollouts:
            logits = policy(ids)
            old.append(logits if args.keep == "logits" else F.log_softmax(logits[:, :-1], -1).gather(-1, ids[:, 1:, None]))
    for ids, before in list(zip(rollouts, old))[:2]:
        logp = F.log_softmax(policy(ids).float(), -1)
        if args.keep == "logits":
            loss = F.kl_div(logp, F.log_softmax(before.float(), -1), log_target=True, reduction="batchmean")
        else:
            loss = (logp[:, :-1].gather(-1, ids[:, 1:, None]) - before).exp().mean()
        loss.backward()
        del logp
    optimizer.step()
    optimizer.zero_grad()


def sequence_logps(model, ids):
    logp = model(ids)[:, :-1].float().log_softmax(-1)
    return logp.gather(-1, ids[:, 1:, None]).squeeze(-1).sum(-1)


@job(25, "DPO: chosen and rejected answers in two forwards before one backward", dict(batch=Scaled(20), checkpointing=False, reference=True),
     [change("recompute activations", "P01", checkpointing=True), change("half the pairs", "P02", batch=Scaled(10)), change("reference log-probs are made before", "P18 B97", reference=False)],
     stacks="all", entries=15000, config=(".yaml", "per_device_train_batch_size: 20\nmax_length: 2048\nbeta: 0.1\nbf16: true\ngradient_checkpointing: false\nprecompute_ref_log_probs: false\n"))
def dpo_pairs(args, watch):
    sizes = dict(vocab=64000, width=2048, layers=12)
    policy = build(torch.bfloat16, **sizes)
    policy.checkpointing = args.checkpointing
    ref = build(torch.bfloat16, **sizes).requires_grad_(False) if args.reference else None
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-6)
    watch(policy=policy, reference=ref if ref is not None else [], optimizer=optimizer)
    for _ in range(2):
        chosen, rejected = (torch.randint(0, 64000, (args.batch, 2048), device="cuda") for _ in range(2))
        with torch.no_grad():
            base = sequence_logps(ref, chosen) - sequence_logps(ref, rejected) if ref is not None else torch.zeros(args.batch, device="cuda")
        policy_chosen = sequence_logps(policy, chosen)
        policy_rejected = sequence_logps(policy, rejected)
        loss = -F.logsigmoid(0.1 * (policy_chosen - policy_rejected - base)).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()


@job(26, "PPO: the value model's optimizer makes its moments, the actor's are there", dict(layers=Scaled(15), shared=False, bits=32),
     [change("a value head on the actor", "P18", shared=True), change("weights in 16 bits", "P11", bits=16)], dump="observer",
     config=(".yaml", "actor:\n  dtype: float32\n  optimizer: adamw\ncritic:\n  dtype: float32\n  optimizer: adamw\nmicro_batch_size: 2\n"))
def ppo_critic(args, watch):
    dtype = torch.float32 if args.bits == 32 else torch.bfloat16
    actor = build(dtype, vocab=32000, width=4096, layers=args.layers, heads=32)
    optimizer = torch.optim.AdamW(actor.parameters(), lr=1e-6)
    watch(actor=actor, actor_optimizer=optimizer)
    head = torch.nn.Linear(4096, 1, device="cuda", dtype=dtype)
    if not args.shared:
        critic = build(dtype, vocab=32000, width=4096, layers=args.layers, heads=32, outputs=1)
        critic_optimizer = torch.optim.AdamW(critic.parameters(), lr=1e-5)
        watch(critic=critic, critic_optimizer=critic_optimizer)
    for _ in range(2):
        ids = torch.randint(0, 32000, (2, 256), device="cuda")
        returns = torch.randn(2, 256, device="cuda")
        x = actor.hidden(ids)
        loss = F.cross_entropy(actor.head(x)[:, :-1].flatten(0, 1).float(), ids[:, 1:].flatten())
        if args.shared:
            loss = loss + (head(x).squeeze(-1) - returns).pow(2).mean()
        loss.backward()
        del x
        optimizer.step()
        optimizer.zero_grad()
        if not args.shared:
            (critic(ids).squeeze(-1) - returns).pow(2).mean().backward()
            critic_optimizer.step()
            critic_optimizer.zero_grad()
