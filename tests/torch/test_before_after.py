#!/usr/bin/env python3
"""`memtrace diff` of recordings that differ by a setting, run by PyTorch itself on the simulated device: the diff names the setting, what the
first report promised for it and the bytes that were measured, which are what PyTorch said of the two runs (NAME.truth.json, .tune.json, .after.json)."""
import json
import os
import sys
import tempfile

import test_truth
from test_truth import SAMPLES, memtrace, same

# before, after; framework and setting of both, as key and value; the key that promises something, else None
PAIRS = (
    ("fsdp2_rank1", "fsdp2_rank0", "transformers", {"--per_device_train_batch_size": ("6", "4")}, "--per-device-train-batch-size"),
    ("plain", "checkpoint", "transformers", {"--gradient_checkpointing": ("False", "True")}, None),
    ("torchtune", "torchtune_half", "torchtune", {"batch_size": ("4", "2")}, "batch_size"),
    ("torchtune", "torchtune_recomputed", "torchtune", {"enable_activation_checkpointing": ("False", "True")}, "enable_activation_checkpointing"),
    # another card and more requests as well: what is measured is that of all together, and the cache takes what the card has
    ("nanovllm/nano_oom", "nanovllm/nano", "nanovllm", {"max_num_seqs": ("64", "16"), "max_num_batched_tokens": ("8192", "4096")}, "--max-num-batched-tokens"),
    ("vllm/newer_oom", "vllm/newer", "vllm", {"--max-num-seqs": ("1024", "32"), "--gpu-memory-utilization": ("0.78", "0.05")}, "--max-num-seqs"),
)


def plain(key):
    return key.lstrip("-").replace("-", "_")


def report(folder, name, framework, settings, tries):
    out = os.path.join(folder, name.replace("/", "_") + ".json")
    memtrace("report", os.path.join(SAMPLES, name + ".pickle.gz"), "-q", "--no-config", "--force", "--framework", framework, "-o", out,
             *[arg for key, value in settings for arg in ("--args", f"{key}={value}")], *[arg for key, value in tries for arg in ("--try", f"{key}={value}")])
    with open(out, encoding="utf-8") as f:
        return out, json.load(f)


def peak(name):
    """What PyTorch said; None where the job was an engine, which kept no such number."""
    for ending in (".truth.json", ".tune.json", ".after.json"):
        try:
            with open(os.path.join(SAMPLES, name + ending), encoding="utf-8") as f:
                return json.load(f)["requested_peak"]
        except FileNotFoundError:
            pass
    return None


def figures(root, key):
    """Of a setting that was tried with that very value, else of the advice for it: bytes, low, high."""
    tried = [t for t in (root["tried"] or {"settings": []})["settings"] if plain(t["key"]) == plain(key) and t["saving_bytes"] is not None]
    cards = [a for a in root["advice"] if a["saving_bytes"] is not None and any(plain(line["key"] or "") == plain(key) for line in a["set"])]
    return next(((c["saving_bytes"], c["saving_low_bytes"], c["saving_high_bytes"]) for c in tried + cards), None)


def pair(folder, before, after, framework, settings, promising):
    name = f"{before} and {after}"
    tries = [(key, values[1]) for key, values in settings.items() if promising is not None and plain(key) == plain(promising)]
    first, root = report(folder, before, framework, [(k, v[0]) for k, v in settings.items()], tries)
    second, _ = report(folder, after, framework, [(k, v[1]) for k, v in settings.items()], [])
    diff = json.loads(memtrace("diff", first, second, "--format", "json"))
    named = {plain(s["key"]): (s["first"], s["second"]) for s in diff["settings"]}
    same(name, "settings that differ", {k: named.get(plain(k)) for k in settings}, settings)
    promised = {p["key"]: (p["saving_bytes"], p["saving_low_bytes"], p["saving_high_bytes"]) for p in diff["promised"]}
    same(name, "promised", promised.get(promising), figures(root, promising) if promising is not None else None)
    same(name, "something is promised", bool(promised), promising is not None)
    text = " ".join(memtrace("diff", first, second).split())
    same(name, "the text says what was promised", f"Promised by the first report for {promising}" in text, promising is not None)
    if peak(before) is None:
        same(name, "measured", isinstance(diff["measured_bytes"], int), True)
        return
    freed = peak(before) - peak(after)
    same(name, "bytes measured", diff["measured_bytes"], freed)
    if promising is not None:
        bytes_, low, high = promised[promising]
        same(name, f"{freed} freed of {low} to {high} promised", low <= freed <= high, True)
        near = 40 if "checkpointing" in promising else 100  # what a layer computes again while it runs backward is estimated
        same(name, f"and {bytes_} within 1/{near}", abs(bytes_ - freed) < freed / near, True)
    print(f"# {name}: promised {promised.get(promising)}, measured {freed}")


def main():
    with tempfile.TemporaryDirectory() as folder:
        for row in PAIRS:
            pair(folder, *row)
    print(f"{test_truth.checks} checks, {test_truth.failed} failed")
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
