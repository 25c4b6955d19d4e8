#!/usr/bin/env python3
"""sane.py MEMTRACE [FRAMEWORK...]: what no card may do, over settings that nobody chose.

For every framework that analysis/rules/settings.json has keys of, 70 sets of settings are made, the same ones each time (set, at a floor, at the default, off,
40 heads, tensor parallelism over all GPUs; in 40 of them a lint of level error holds but for one of its conditions), and logs that fail in its phases, with the functions that analysis/rules/phases.json knows. Of all cards, not
only the first: none types what is set, raises what it lowers, splits what cannot be split, goes below the longest sequence, types a key of another program
or of the other backend. With the lines of any card added, and with those of the cards to change first together, no new finding of level error appears.
Modes and versions of one program are in modes.py. The same over the snapshots and logs of samples/, the situations of the guides and the logs of tests/scenarios.
With --few (the label ci) every eighth set. open_sane.txt lists what is not so yet: framework, kind, card."""

import concurrent.futures
import json
import os
import pathlib
import random
import re
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kit  # noqa: E402
import modes  # noqa: E402

LIST = "open_sane.txt"
SETS, LOGS_EACH = 30, 2
FEW = 12  # sets more of one to four keys, most of them keys that several programs have, beside a log that names no program
HALVES = 40  # sets more, each with a lint of level error that lacks one condition
LINTS = [lint for lint in json.loads((kit.RULES / "lint.json").read_text(encoding="utf-8"))["lint"] if lint["level"] == "error"]
SENTENCE = ("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.16 GiB. GPU 0 has a total capacity of 79.11 GiB of which 412.00 MiB is free. "
            "Process 12345 has 78.69 GiB memory in use. Of the allocated memory 75.12 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but "
            "unallocated.")
SITE = "/usr/local/lib/python3.12/dist-packages/"
# Innermost frames: what is done inside a phase.
INNER = {
    "forward": [("transformers/models/qwen2/modeling_qwen2.py", "forward")],
    "backward": [("torch/_tensor.py", "backward"), ("torch/autograd/graph.py", "_engine_run_backward")],
    "optimizer": [("torch/optim/optimizer.py", "wrapper"), ("torch/optim/adamw.py", "step"), ("torch/optim/adamw.py", "_init_group")],
    "sampler": [("vllm/v1/worker/gpu_model_runner.py", "execute_model"), ("vllm/v1/sample/sampler.py", "forward")],
    "": [],
}
INSIDE = {"train": ("forward", "backward", "optimizer"), "forward": ("forward",), "backward": ("backward",), "optimizer": ("optimizer",), "logp": ("forward",),
          "rollout": ("sampler",), "init": ("",), "weight_sync": ("",), "ckpt_save": ("",)}
OTHER_LOGS = {
    "host": "(raylet) node_manager.cc:3000: 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons\n"
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n",
    "cache": "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n",
}
# Values by the name that all frameworks share: usual ones, floors and odd ones.
VALUES = {
    "tokens_per_gpu": (2048, 4096, 8192, 16384, 34816), "logp_tokens_per_gpu": (4096, 8192, 16384), "critic_tokens_per_gpu": (4096, 8192, 32768),
    "micro_batch": (1, 2, 8), "critic_micro_batch": (1, 8), "logp_micro_batch": (1, 2, 16), "mini_batch": (64, 256), "max_prompt_len": (512, 1024, 2048),
    "max_response_len": (1024, 3072, 32768), "max_seq_len": (512, 2048, 8192), "gpu_memory_utilization": (0.1, 0.3, 0.5, 0.85, 0.95),
    "rollout_tp": (1, 2, 4, 8), "tp": (1, 2, 8), "pp": (1, 2), "cp": (1, 2, 4, 8), "max_num_seqs": (1, 64, 256), "max_num_batched_tokens": (1024, 2048, 8192),
    "node_gpus": (1, 4, 8), "job_nodes": (1, 2), "heads": (28, 40, 32), "logp_chunk": (-1, 4, 1024), "weight_bucket": (64, 256, 2048),
    "train_memory_margin": (536870912, 1073741824, 4294967296), "zero_stage": (2, 3), "lora_rank": (0, 32), "adapter_rank": (8, 64),
    "model_path": ("Qwen/Qwen2.5-7B-Instruct", "Qwen/Qwen2.5-14B-Instruct", "Qwen/Qwen3-4B"),
}
SWITCHES = ("enforce_eager", "free_cache_engine", "grad_ckpt", "activation_offload", "param_offload", "optimizer_offload", "offload_policy", "dynamic_batch",
            "reshard", "fused_head", "remove_padding", "entropy_chunking", "entropy_checkpointing", "ref_param_offload", "optimizer_cpu_offload",
            "precision_aware_optimizer", "loss_recompute", "packing")
WORDS = {"actor_rollout_ref.actor.strategy": ("fsdp", "fsdp2", "megatron"), "actor_rollout_ref.rollout.name": ("vllm", "sglang"),
         "actor.backend": ("fsdp:d4", "fsdp:d2c2", "megatron:d4", "archon:d2p2", "fsdp:d2t4"), "rollout.backend": ("sglang:d4", "vllm:d4", "sglang:d2t2"),
         "--recompute-granularity": ("full",)}
BACKENDS = (("actor_rollout_ref.actor.strategy", "fsdp", r"actor_rollout_ref\.actor\.megatron\."),
            ("actor_rollout_ref.actor.strategy", "megatron", r"actor_rollout_ref\.(actor|ref)\.fsdp_config\.|.*\.tiled_mlp"),
            ("actor.backend", "fsdp", r"actor\.(megatron|archon)\."), ("actor.backend", "megatron", r"actor\.(fsdp|archon)\."),
            ("actor.backend", "archon", r"actor\.(fsdp|megatron)\."), ("rollout.backend", "vllm", r"sglang\."), ("rollout.backend", "sglang", r"vllm\."))
ROWS = {r["id"]: r for r in json.loads((kit.RULES / "frameworks.json").read_text(encoding="utf-8"))["frameworks"]}

LIBRARIES = {i for i, r in ROWS.items() if r["kind"] in ("engine", "library", "backend")}


def keys_of(framework):
    """{logical: keys} that a job of the framework can set."""
    same, out = {framework, ROWS[framework].get("same_as")}, {}
    for row in kit.SETTINGS:
        for key in row["keys"]:
            if key["framework"] in same and row["logical"] != "older_flags" and not key.get("common"):
                out.setdefault(row["logical"], []).append(key["key"])
    return out


def terms(when):
    """The conditions on keys of a lint: (key, value that fulfils it)."""
    for cond in when:
        if "any" in cond:
            yield from terms(cond["any"])
        elif "not_divides" in cond:
            yield from ((cond["not_divides"][0], "4"), (cond["not_divides"][1], "14"))
        elif "key" in cond:
            yield cond["key"], str(cond.get("is", cond.get("min", "/models/ref" if cond.get("set") else "sgd")))


def half_a_lint(framework, number, pick):
    """Settings that fulfil a lint of level error but for one or two of its conditions: the advice must not add the rest."""
    mine, out = keys_of(framework), {}
    own = {key for keys in mine.values() for key in keys}
    halves = []
    for lint in LINTS:
        known = [(k, v) for k, v in terms(lint["when"]) if k in mine or k in own or k.startswith("PYTORCH_") or k == "expandable_segments"]
        halves += [[t for t in known if t is not left] for left in known]
    for key, value in halves[number % len(halves)] if halves else ():
        key = pick.choice(mine[key]) if key in mine else key
        if key.rsplit(".", 1)[-1] == "expandable_segments":
            key, value = "PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True"
        out[key] = "" if key.startswith("-") and value == "true" else value
    return out


def make_settings(framework, number):
    pick, out = random.Random(f"{framework} {number}"), {}
    for logical, keys in sorted(keys_of(framework).items()):
        key = keys[number % len(keys)]
        how = pick.random()
        if key in WORDS:
            out[key] = pick.choice(WORDS[key])
        elif how < 0.3:
            continue  # left to its default
        elif logical in VALUES:
            out[key] = str(pick.choice(VALUES[logical]))
        elif logical in SWITCHES:
            on = pick.random() < 0.6
            if not key.startswith("-"):
                out[key] = str(on)
            elif on:
                out[key] = ""
    if number >= SETS:
        out.update(half_a_lint(framework, number - SETS, pick))
    named = {kit.LOGICAL.get(key.lstrip("-")): key for key in out}
    if number % 4 == 1 and {"tokens_per_gpu", "max_prompt_len", "max_response_len"} <= set(named):  # at the floor
        out[named["tokens_per_gpu"]] = str(int(out[named["max_prompt_len"]]) + int(out[named["max_response_len"]]))
    if number % 5 == 2 and "node_gpus" in named:  # one degree takes every GPU
        degree = pick.choice([d for d in ("rollout_tp", "tp", "cp") if d in named] or ["node_gpus"])
        out[named[degree]] = str(int(out[named["node_gpus"]]) * int(out.get(named.get("job_nodes"), 1)))
    return out


def traceback(frames):
    return "Traceback (most recent call last):\n" + "".join(f'  File "{SITE}{f}", line {100 + n}, in {name}\n    x()\n' for n, (f, name) in enumerate(frames)) + SENTENCE + "\n"


def logs_of(framework):
    """[(name, text)] one failure for each phase that is known of the framework."""
    out, seen = [], set()
    for rule in json.loads((kit.RULES / "phases.json").read_text(encoding="utf-8"))["phases"]:
        phase = (rule.get("sub_phase") if rule["phase"] == "train" else None) or rule["phase"]
        name, path = rule.get("function") or "", rule.get("file") or ""
        if rule["framework"] != framework or phase in seen or not re.fullmatch(r"\w+", name) or not path.endswith(".py"):
            continue
        insides = next((v for k, v in INSIDE.items() if phase.startswith(k)), None)
        if insides:
            seen.add(phase)
            out += [(f"{phase} {inside}".strip(), traceback([(path, name)] + INNER[inside])) for inside in insides]
    if not out:  # a program that runs in another's files
        path = next((p for p in ROWS[framework].get("runs_in", []) if p.endswith(".py")), None)
        out = [(inside, traceback([(path, "training_step")] + INNER[inside])) for inside in INSIDE["train"] if path]
    package = (ROWS[framework].get("packages") or [{"name": framework}])[0]["name"]
    inside = next((p for p in ROWS[framework].get("runs_in", []) if p.endswith("/")), package + "/trainer/")
    started = f'  File "{SITE}{inside}main.py", line 10, in main\n'
    return out + [(name, started + text) for name, text in OTHER_LOGS.items()]


# Programs whose own settings these take as well; those that share a flag (Megatron's, in slime) are found. Accelerate hands DeepSpeed its file.
MADE_FROM = {"accelerate": "deepspeed", "trl": "transformers", "swift": "transformers", "llamafactory": "transformers", "axolotl": "transformers", "unsloth": "transformers"}
OWNERS = {}
for _row in kit.SETTINGS:
    for _key in _row["keys"]:
        OWNERS.setdefault(_key["key"].replace("-", "_"), set()).add(_key["framework"])  # argparse takes both


def strangers(framework, run):
    """Keys of other programs and of the other backend."""
    row, out = ROWS.get(framework, {}), []
    mine = {framework, row.get("same_as"), MADE_FROM.get(framework), "pytorch", "all", "model", *row.get("drives", [])}
    mine |= {o for owners in OWNERS.values() if framework in owners for o in owners}
    for card in run.cards:
        for line in card.lines:
            owners = OWNERS.get(line.key.replace("-", "_"))
            if framework in ROWS and line.syntax != "env" and owners and not owners & mine and not owners & LIBRARIES:
                out.append(("stranger", card.id, f"{line.key} is a key of {', '.join(sorted(owners))}"))
            for key, value, pattern in BACKENDS:
                if run.set.get(key, "").startswith(value) and re.match(pattern, line.key):
                    out.append(("stranger", card.id, f"{line.key} with {key}={run.set[key]}"))
    return out


def make_few(framework, number):
    """One to four settings, shared ones first."""
    pick = random.Random(f"few {framework} {number}")
    settings = make_settings(framework, number)
    shared = [k for k in settings if len(OWNERS.get(k.replace("-", "_"), ())) > 1]
    keys = pick.sample(sorted(shared), min(len(shared), 1 + number % 4)) or pick.sample(sorted(settings), min(len(settings), 1 + number % 2))
    return {key: settings[key] for key in keys}


def base_of(framework):
    """Programs of which it has the settings, itself first."""
    out = [framework]
    for f in out:
        row = ROWS[f]
        out += [b for b in [row.get("same_as"), MADE_FROM.get(f), *row.get("settings_of", [])] if b and b not in out]
    return out


def has_key(framework, key):
    return bool(OWNERS.get(key.replace("-", "_"), set()) & set(base_of(framework)))


def not_of_all(run, settings):
    """Keys that not every program has which has all that is set: nobody knows which of them runs."""
    could, out = [f for f, r in ROWS.items() if r["kind"] in ("rl", "trainer", "tuner") and all(has_key(f, k) for k in settings)], []
    could = [f for f in could if ROWS[f].get("program_in") not in could]  # a second program of a package is told by its folder or by keys of its own
    for card in run.cards:
        for line in card.lines:
            owners = OWNERS.get(line.key.replace("-", "_"))
            if line.syntax == "env" or not owners or owners & LIBRARIES or line.key in settings:
                continue
            missing = [f for f in could if not has_key(f, line.key)]
            if missing and len(missing) < len(could) and not told_apart(run, could):
                out.append(("not of all", card.id, f"{line.key} is no key of {', '.join(sorted(missing))}"))
            elif could and len(missing) == len(could):
                out.append(("stranger", card.id, f"{line.key} is a key of {', '.join(sorted(owners))}"))
    return out


def told_apart(run, could):
    """The program that the report names is one of which all others that could run have the settings."""
    runs = run.report["verdict"].get("framework")
    return runs in could and all(runs in base_of(f) for f in could)


def check_few(memtrace, scratch, framework, number, log):
    settings = make_few(framework, number)
    run = kit.Run(memtrace, [log], more=settings, cwd=scratch)
    if run.report is None:
        return [(framework, "no report", "-", run.errors.strip()[-120:], settings, log)]
    found = kit.contradictions(run) + not_of_all(run, settings)
    return [("few " + framework, kind, card, what, settings, log) for kind, card, what in found]


def added(run, again):
    """New findings of level error with the lines of the cards to change first together, and with those of every other card."""
    groups = [[c for c in run.cards if c.top]] + [[c] for c in run.cards if not c.top]
    # what can be ticked together
    sets = [s["rules"] for s in ((run.report.get("after") or {}).get("choices") or []) if len(s["rules"]) > 1]
    groups += [[c for c in run.cards if c.id in rules] for rules in sets]
    out, before, asked = [], kit.errors(run), set()
    for cards in groups:
        lines = {ln.key: ln.raw for card in cards for ln in card.lines if ln.typed}
        if not lines or kit.as_args(lines) in asked:
            continue
        asked.add(kit.as_args(lines))
        for new in sorted(kit.errors(again(lines)) - before):
            out.append(("error", "+".join(c.id for c in cards) if len(cards) == 1 else "first", f"{new} with {kit.as_args(lines)}"))
    return out


def check_job(memtrace, scratch, framework, number, log):
    settings = make_settings(framework, number)
    run = kit.Run(memtrace, [log], more=settings, cwd=scratch)
    if run.report is None:
        return [(framework, "no report", "-", run.errors.strip()[-120:], settings, log)]
    found = kit.contradictions(run) + strangers(framework, run) + added(run, lambda more: kit.Run(memtrace, [log], more={**settings, **more}, cwd=scratch))
    return [(framework, kind, card, what, settings, log) for kind, card, what in found]


def check_file(memtrace, where, name, again):
    """A file of the project: `again(settings)` makes its report with those settings more."""
    run = again(None)
    if run.report is None or run.status not in (0, 3):
        return []
    found = kit.contradictions(run) + strangers(run.report["verdict"].get("framework"), run) + added(run, again)
    return [(where, kind, card, what, {}, name) for kind, card, what in found]


def own_files(memtrace, scratch):
    """[(where, name, function of more settings)]: snapshots and logs of samples/, the situations of the guides, the logs of tests/scenarios."""
    out = []
    for path in sorted(p for p in (kit.SOURCE / "samples").rglob("*") if re.search(r"[.](pickle([.]gz)?|log)$", p.name)):
        out.append(("samples", path.name, lambda more, p=path: kit.Run(memtrace, [str(p)], more=more)))
    for row in kit.situations():
        if row["when"] == "now" and row["id"] != "rules":
            inputs = kit.Inputs(row["inputs"].split(" ++ ")[0])
            out.append(("guides", row["id"], lambda more, i=inputs: i.run(memtrace, more)))
    sys.path.insert(0, str(kit.HERE.parent / "scenarios"))
    import log_misread  # pylint: disable=import-outside-toplevel
    import logs  # pylint: disable=import-outside-toplevel
    for n, scenario in enumerate(s for s in logs.SCENARIOS + log_misread.SCENARIOS if not s.snapshot):
        path = pathlib.Path(scratch) / f"scenario-{n}.log"
        path.write_text(next(iter(scenario.files.values())), encoding="utf-8")
        out.append(("scenarios", scenario.name, lambda more, p=path: kit.Run(memtrace, [str(p)], more=more)))
    return out


def main():
    words = sys.argv[1:] or [os.environ.get("MEMTRACE", "")]
    flags = {w for w in words if w.startswith("--")}
    words = [w for w in words if not w.startswith("--")]
    memtrace = os.path.abspath(words[0])
    frameworks = words[1:] or [f for f, r in ROWS.items() if r["kind"] in ("rl", "trainer", "tuner", "engine") and len(keys_of(f)) > 3]
    jobs, found = [], []
    with tempfile.TemporaryDirectory() as scratch, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for framework in frameworks:
            logs = logs_of(framework)
            for n, (name, text) in enumerate(logs):
                (pathlib.Path(scratch) / f"{framework}-{n}.log").write_text(f"step 3 {name}\n{text}", encoding="utf-8")
            for number in range(0, SETS + HALVES, 8 if "--few" in flags else 1):
                jobs += [pool.submit(check_job, memtrace, scratch, framework, number, f"{framework}-{(number * LOGS_EACH + i) % len(logs)}.log")
                         for i in range(min(LOGS_EACH, len(logs)))]
        plain = [(name, traceback([("../../../../../home/u/train.py", name)] + INNER[name])) for name in ("forward", "backward", "optimizer")]
        for name, text in plain:
            (pathlib.Path(scratch) / f"plain-{name}.log").write_text(text, encoding="utf-8")
        for framework in frameworks:
            if ROWS[framework]["kind"] != "engine":
                jobs += [pool.submit(check_few, memtrace, scratch, framework, number, f"plain-{plain[number % 3][0]}.log") for number in range(FEW)]
        jobs += modes.jobs(pool.submit, memtrace, scratch, frameworks, [f"plain-{name}.log" for name, _ in plain])
        own = [] if words[1:] else own_files(memtrace, scratch)
        jobs += [pool.submit(check_file, memtrace, where, name, again) for where, name, again in own]
        for job in jobs:
            found += job.result()
    missed, listed = {}, kit.open_list(LIST)
    for framework, kind, card, what, settings, log in found:
        missed.setdefault(f"{framework} {kind} {card}", []).append(what if "--settings" not in flags else f"{what}   [{log}: {kit.as_args(settings)}]")
    if "--all" in flags or words[1:]:
        for one in sorted(missed):
            print(f"{one}: {len(missed[one])}: {min(missed[one], key=len)}")
    if "--write" in flags:
        with open(kit.HERE / LIST, "w", encoding="utf-8") as f:
            f.write("# What cards do that no card may do: framework, kind, card. sane.py fails when one of them is gone: take it out.\n")
            f.writelines(f"{one}\n" for one in sorted(missed))
    good = bool(words[1:]) or "--write" in flags or kit.hold({k: [min(v, key=len)] for k, v in missed.items()}, listed, LIST)
    print(f"{len(jobs)} jobs of {len(frameworks)} frameworks, {len(own)} of them files of the project: {len(missed)} ways to be wrong, {len(found)} times")
    if len(jobs) < 50 * bool(not words[1:]):
        sys.exit("too few jobs were made: this test no longer works")
    sys.exit(not good)


if __name__ == "__main__":
    main()
