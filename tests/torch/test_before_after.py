#!/usr/bin/env python3
"""`memtrace diff` of recordings that differ by one change, run by PyTorch itself on the simulated device: the diff names the setting, or, where
a script was changed, what the first report had advised; what was promised for it; and the bytes that were measured, which are what PyTorch
said of the two runs (NAME.truth.json, .tune.json, .after.json ...)."""
import json
import os
import sys
import tempfile
from typing import NamedTuple, Optional

import test_truth
from test_truth import SAMPLES, memtrace, same

ENDINGS = (".truth.json", ".tune.json", ".after.json", ".megatron.json", ".nano.json")
SAVE = ("weights gathered", "gathered", "keep")


class Pair(NamedTuple):
    """Settings of both, as key and value (None: not set); the key that promises something."""
    before: str
    after: str
    framework: str
    settings: dict
    promising: Optional[str]
    near: float = 0.01  # the promise is as near as that to what was freed
    said: bool = True  # PyTorch's own peaks are known
    capacity: Optional[str] = None


class Script(NamedTuple):
    """A script that was changed: the rule that fits what was measured; what the job said in these phases, or as a whole."""
    before: str
    after: str
    rule: str
    phases: Optional[tuple] = None
    near: float = 0.001
    reserved: bool = False
    gone: bool = False  # the phase allocates nothing any more
    others: tuple = ()  # rules whose promise fits as well


PAIRS = (
    Pair("fsdp2_rank1", "fsdp2_rank0", "transformers", {"--per_device_train_batch_size": ("6", "4")}, "--per-device-train-batch-size"),
    Pair("plain", "checkpoint", "transformers", {"--gradient_checkpointing": ("False", "True")}, None),
    Pair("torchtune", "torchtune_half", "torchtune", {"batch_size": ("4", "2")}, "batch_size"),
    # what a layer computes again while it runs backward is estimated
    Pair("torchtune", "torchtune_recomputed", "torchtune", {"enable_activation_checkpointing": ("False", "True")}, "enable_activation_checkpointing", 0.025),
    Pair("megatron", "pairs/megatron_half", "megatron", {"--micro-batch-size": ("2", "1")}, "--micro-batch-size", 0.07),
    Pair("megatron", "pairs/megatron_recomputed", "megatron", {"--recompute-granularity": (None, "full")}, "--recompute-granularity", 0.27),
    # what was recomputed is what the micro-batch kept of both layers, less what the loss keeps
    Pair("slime", "pairs/slime_recomputed", "slime", {"--recompute-granularity": (None, "full")}, "--recompute-granularity", 0.22),
    Pair("slime", "pairs/slime_grads16", "slime", {"--grad-reduce-in-bf16": (None, "")}, "--grad-reduce-in-bf16", 0),
    Pair("slime", "pairs/slime_offload", "slime", {"--optimizer-cpu-offload": (None, "")}, "--optimizer-cpu-offload", 0.0001),
    Pair("megatron", "pairs/megatron_grads16", "megatron", {"--grad-reduce-in-bf16": (None, "")}, "--grad-reduce-in-bf16", 0),
    # a share of the card: the cache takes it in whole blocks, and what the card has beside PyTorch is not all of it
    Pair("nanovllm/nano_oom", "pairs/nano_share", "nanovllm", {"gpu_memory_utilization": ("0.9", "0.65")}, "--gpu-memory-utilization", 0.06, capacity="2GiB"),
    # another card and more requests as well: what is measured is that of all together, and the cache takes what the card has
    Pair("nanovllm/nano_oom", "nanovllm/nano", "nanovllm", {"max_num_seqs": ("64", "16"), "max_num_batched_tokens": ("8192", "4096")}, "--max-num-batched-tokens", said=False),
    Pair("vllm/newer_oom", "vllm/newer", "vllm", {"--max-num-seqs": ("1024", "32"), "--gpu-memory-utilization": ("0.78", "0.05")}, "--max-num-seqs", said=False),
)
SCRIPTS = (
    Script("save/fsdp1", "pairs/fsdp1_host", "B78", SAVE),
    Script("save/fsdp2", "pairs/fsdp2_host", "B78", SAVE),
    Script("pairs/load_cuda", "pairs/load_cpu", "B80", near=0.71, gone=True),  # the next training step is the highest then
    Script("pipeline/last", "pairs/last_inside", "B82", ("schedule",), 0.45),  # what is highest then is another moment of the step
    Script("pipeline/first", "pairs/first_recomputed", "P01", near=0.23, others=("P04",)),  # the optimizer is the highest then, no piece that is recomputed
    Script("pairs/average", "pairs/average_free", "P18"),
    Script("pairs/copies", "pairs/copies_free", "B33"),
    Script("pairs/hooks", "pairs/hooks_free", "P17"),
    Script("pairs/shampoo", "pairs/shampoo_free", "P141", near=0.12),
    Script("pairs/graphs", "pairs/graphs_free", "P140", near=0.57, reserved=True),
)


def plain(key):
    return key.lstrip("-").replace("-", "_")


def arguments(settings):
    """As they are typed."""
    return [arg for key, value in settings if value is not None for arg in ("--args", key + ("=" + value if value else ""))]


def report(folder, name, *more):
    out = os.path.join(folder, name.replace("/", "_") + ".json")
    memtrace("report", os.path.join(SAMPLES, name + ".pickle.gz"), "-q", "--no-config", "--force", "-o", out, *more)
    with open(out, encoding="utf-8") as f:
        return out, json.load(f)


def said(name, phases=None, what="requested_peak"):
    """The most that PyTorch said it held, in these phases of the job."""
    ending = next(e for e in ENDINGS if os.path.exists(os.path.join(SAMPLES, name + e)))
    with open(os.path.join(SAMPLES, name + ending), encoding="utf-8") as f:
        truth = json.load(f)
    if what in truth:
        return truth[what]
    return max(p[what] for p in truth["phases"] if phases is None or p["name"] in phases)


def figures(root, key):
    """Of a setting that was tried with that very value, else of the advice for it: bytes, low, high."""
    tried = [t for t in (root.get("tried") or {"settings": []})["settings"] if plain(t["key"]) == plain(key) and t["saving_bytes"] is not None]
    cards = [a for a in root["advice"] if a["saving_bytes"] is not None and any(plain(line["key"] or "") == plain(key) for line in a["set"])]
    return next(((c["saving_bytes"], c["saving_low_bytes"], c["saving_high_bytes"]) for c in tried + cards), None)


def kept(name, promise, freed, near):
    bytes_, low, high = promise
    same(name, f"{freed} freed of {low} to {high} promised", low <= freed <= high, True)
    same(name, f"and {bytes_} within {near:.1%}", abs(bytes_ - freed) <= freed * near, True)
    print(f"# {name}: promised {bytes_} ({low} to {high}), measured {freed}")


def pair(folder, p):
    name = f"{p.before} and {p.after}"
    fixed = ("--framework", p.framework) + (("--capacity", p.capacity) if p.capacity else ())
    tries = [arg for key, values in p.settings.items() if p.promising is not None and plain(key) == plain(p.promising) and values[0] is not None
             for arg in ("--try", f"{key}={values[1]}")]
    first, root = report(folder, p.before, *fixed, *arguments((k, v[0]) for k, v in p.settings.items()), *tries)
    second, after = report(folder, p.after, *fixed, *arguments((k, v[1]) for k, v in p.settings.items()))
    diff = json.loads(memtrace("diff", first, second, "--format", "json"))
    named = {plain(s["key"]): (s["first"], s["second"]) for s in diff["settings"]}
    same(name, "settings that differ", {k: named.get(plain(k)) for k in p.settings}, p.settings)
    promised = {s["key"]: (s["saving_bytes"], s["saving_low_bytes"], s["saving_high_bytes"]) for s in diff["promised"]}
    same(name, "promised", promised.get(p.promising), figures(root, p.promising) if p.promising is not None else None)
    same(name, "something is promised", bool(promised), p.promising is not None)
    text = " ".join(memtrace("diff", first, second).split())
    same(name, "the text says what was promised", f"Promised by the first report for {p.promising}" in text, p.promising is not None)
    if not p.said:
        same(name, "measured", isinstance(diff["measured_bytes"], int), True)
        return
    at = root["devices"][0]["ooms"]
    # where it failed: what it held then, with what it asked for, beside the phase in which that was
    freed = said(p.before, ("oom",)) + at[0]["request_bytes"] - said(p.after, ("generate",)) if at else said(p.before) - said(p.after)
    same(name, "bytes measured", diff["measured_bytes"], freed)
    if p.promising is not None:
        kept(name, promised[p.promising], freed, p.near)


def script(folder, p):
    name = f"{p.before} and {p.after}"
    first, root = report(folder, p.before)
    second, after = report(folder, p.after)
    diff = json.loads(memtrace("diff", first, second, "--format", "json"))
    same(name, "no setting differs", diff["settings"] + diff["promised"], [])
    found = {f["id"]: f for f in diff["fits"]}
    same(name, "what fits", sorted(found), sorted((p.rule, *p.others)))
    what, measured = ("reserved_peak", "measured_reserved_bytes") if p.reserved else ("requested_peak", "measured_bytes")
    freed = said(p.before, p.phases, what) - said(p.after, p.phases, what)
    same(name, "bytes measured", diff[measured], freed)
    same(name, "the phase", diff["measured_in"], None if p.gone else root["verdict"]["phase_name"])
    if p.rule not in found:
        return
    fit, card = found[p.rule], next(a for a in root["advice"] if a["id"] == p.rule)
    promise = (fit["saving_bytes"], fit["saving_low_bytes"], fit["saving_high_bytes"])
    same(name, "as it was promised", promise, (card["saving_bytes"], card["saving_low_bytes"], card["saving_high_bytes"]))
    same(name, "of reserved bytes", fit["reserved"], p.reserved)
    same(name, "no longer advised", p.rule in [a["id"] for a in after["advice"]], False)
    text = " ".join(memtrace("diff", first, second).split())
    same(name, "the text says it", f"the second no longer advises, this fits: {card['title']} ({card['set'][0]['text']})" in text or bool(p.others), True)
    if p.gone:
        same(name, f"{freed} are a part of {promise}", freed <= promise[2], True)
        print(f"# {name}: promised {promise}, measured {freed} of the whole run")
        return
    kept(name, promise, freed, p.near)


def main():
    with tempfile.TemporaryDirectory() as folder:
        for row in PAIRS:
            pair(folder, row)
        for row in SCRIPTS:
            script(folder, row)
    print(f"{test_truth.checks} checks, {test_truth.failed} failed")
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
