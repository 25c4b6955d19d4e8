#!/usr/bin/env python3
"""memtrace's numbers on what Megatron-LM and slime recorded (samples/torch/*.megatron.json) against what the jobs said of themselves."""
import json
import os
import re
import subprocess
import sys
import tempfile

import test_truth
from test_truth import MEMTRACE, SAMPLES, live_at, memtrace, same, written

# The phase of what a job allocated up to a mark, by the name of the mark.
PHASES = {
    "initialize_model_and_optimizer": "init", "set-up": "init", "load_checkpoint": "ckpt_load", "update_weights": "weight_sync",
    "forward_only": "logp", "train": "train_actor", "train_step": "train"}
OPTIMIZER = {"optimizer", "optim_state_init", "grad_clip", "grad_reduce"}
MIB = 1 << 20


def attributions(path):
    """Phase and part of every allocation, by its entry in the history."""
    tool = os.path.join(os.path.dirname(MEMTRACE), "tests", "tool_attributions")
    said = subprocess.run([tool, path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return {int(w[3]): (w[4], w[5]) for w in map(str.split, said.splitlines()) if w[:1] == ["event"]}


def phases(name, truth, path):
    at, marks = attributions(path), truth["phases"]
    trains = "train_actor" if name.startswith("slime") else "train"
    for before, mark in zip([{"name": "", "events": 0}] + marks, marks):
        inside = [p for i, p in at.items() if before["events"] <= i < mark["events"]]
        if mark["name"] in PHASES and (before["name"] == "before " + mark["name"] or mark["name"] == "set-up"):
            same(name, f"phases up to {mark['name']}, entry {mark['events']}", {p for p, _ in inside}, {PHASES[mark["name"]]})
        elif mark["name"] == "optimizer":
            same(name, f"phases of the optimizer's step, entry {mark['events']}", {p for p, _ in inside}, {trains})
            same(name, f"parts of the optimizer's step, entry {mark['events']}", {s for _, s in inside} - OPTIMIZER, set())


def roles(name, truth, device):
    """To the byte; the gradients' buffer is there all the time, and so is a table of the rotary embedding."""
    want, got = truth["roles"], {r["role"]: r for r in device["roles"]}
    same(name, "weights", 0 <= got["param"]["bytes"] - want["weights"] <= 512, True)
    same(name, "gradients at the peak", got["grad"]["bytes"], want["gradients"])
    same(name, "main parameters and moments", got["optim_state"]["bytes"] - 4, want["main_params"] + want["moments"])


def numbers(name, truth, device, path):
    same(name, "peak", device["live_peak_bytes"], max(p["requested_peak"] for p in truth["phases"]))
    same(name, "entries", device["events"], truth["phases"][-1]["events"] + 1)
    for mark in truth["phases"][:-1]:
        if mark["events"]:
            same(name, f"requested after {mark['name']}, entry {mark['events'] - 1}", live_at(path, mark["events"] - 1), mark["requested"])


def out_of_memory(name, truth, device, report):
    oom = device["ooms"][0]
    asked, free = re.search(r"Tried to allocate ([0-9.]+ \w+)", truth["error"]), re.search(r"of which ([0-9.]+ \w+) is free", truth["error"])
    same(name, "request", written(-(-oom["request_bytes"] // (2 * MIB)) * 2 * MIB), asked.group(1))
    same(name, "free on the device", written(oom["device_free_bytes"]), free.group(1))
    same(name, "live at the failure", oom["live_bytes"], truth["phases"][-1]["requested"])
    ids = [a["id"] for a in report["advice"]]
    if name.startswith("slime"):  # the logits of the micro-batch, turned into fp32 as a whole: chunks of the loss come later
        same(name, "phase", (oom["phase"], oom["sub_phase"]), ("logp", "logits"))
        same(name, f"advice in {ids}", ("X09" in ids, "X10" in ids, "X16" in ids), (False, False, False))  # one sequence of 3072
        same(name, "in fp32", oom["request_bytes"], 3072 * 32000 * 4)
    else:
        same(name, "phase", (oom["phase"], oom["sub_phase"]), ("train", "logits"))
        same(name, f"advice in {ids}", "X08" in ids and "X13" in ids, True)


def advice(name, truth, device, report):
    """What the settings are, and what they are for."""
    ids = {a["id"]: a for a in report["advice"]}
    text = json.dumps(report["advice"])
    if name == "slime":
        largest = max(t for m in truth["micro_batches"] for t in m)
        same(name, "vocabulary", device["logits"]["vocabulary"], 32000)
        same(name, "rows of the largest logits", device["logits"]["tokens"], largest)
        same(name, "Megatron's own loss is not run, and nothing is promised of it", "--cross-entropy-loss-fusion" in text, False)
        # with chunks of 1024 and without, this job's training peak differs by 20 KB: the backward needs them all
        same(name, "no chunks for training", "X16" in ids, False)
        # packed by tokens already, and the longest sequence alone is as large as the largest micro-batch
        same(name, "no budget below the longest sequence", [i for i in ("X09", "X10", "X11", "X12") if i in ids], [])
    else:
        logits = next(r["bytes"] for r in device["roles"] if r["role"] == "logits")
        same(name, "logits in 16 and 32 bits, of a vocabulary that Megatron padded", logits, 2 * 1024 * 32128 * (2 + 4))
        same(name, "micro-batches", (device["micro_batches"]["count"], device["micro_batches"]["with_backward"]), (4, 4))
        same(name, "the kernel that writes over the logits", "--cross-entropy-fusion-impl te" in text, True)
    # what comes behind the training is no training: dates and flags, a few bytes
    same(name, "without a phase", [p for p in report["phases"] if p["phase"] == "unattributed" and p["allocated_bytes"] >= 1024], [])


def types(path, settings):
    """What each card types for a run with these settings; the answer for recomputing everything."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "report.json")
        memtrace("report", path, "-q", "--no-config", "--framework", "megatron", "-o", out, "--args", settings, "--try", "--recompute-granularity=full")
        with open(out, encoding="utf-8") as f:
            report = json.load(f)
    return {a["id"]: [line["key"] for line in a["set"]] for a in report["advice"]}, report["tried"]["settings"][0]


def refusals(name, path):
    """Megatron stops where the precision-aware optimizer has no distributed one, another optimizer than Adam, or FSDP2; so no card leads there."""
    aware, whole, offload = "--use-precision-aware-optimizer", "--use-distributed-optimizer", "--optimizer-cpu-offload"
    cards, answer = types(path, "--recompute-granularity=selective")
    for card in ("X13", "B26"):
        same(name, f"{card} brings what Megatron asks for", {aware, whole} <= set(cards[card]), True)
    # a run of that job with all of it recomputed held 568360960 bytes less
    same(name, "selective recomputation is less than all", (answer["answer"], answer["saving_low_bytes"] <= 568360960 <= answer["saving_high_bytes"]), ("counted", True))
    same(name, "it is on already", types(path, "--recompute-granularity=full --recompute-method=uniform --recompute-num-layers=1")[1]["answer"], "same")
    same(name, "the flag that says selective", "X08" in types(path, "--recompute-activations")[0], False)
    cards, _ = types(path, whole)
    same(name, "what is set is not typed again", [card for card, keys in cards.items() if whole in keys], [])
    for refused in ("--optimizer sgd", "--optimizer dist_muon", "--use-torch-fsdp2"):
        cards, _ = types(path, refused)
        same(name, f"with {refused}", [card for card, keys in cards.items() if {aware, whole, offload, "--main-grads-dtype"} & set(keys)], [])
    recipe = f"{whole} --fp8-param-gather --fp8-recipe"
    same(name, "recipes of the offload", ["X13" in types(path, f"{recipe} {word}")[0] for word in ("delayed", "tensorwise")], [True, False])
    cards, _ = types(path, "--transformer-impl local")
    same(name, "what needs Transformer Engine's layers", ("B94" in cards, [card for card, keys in cards.items() if "--fine-grained-activation-offloading" in keys]), (False, []))


def first_stage(name, device):
    """Of two stages: no logits, and two micro-batches under way where the second forward ends."""
    role = {r["role"]: r for r in device["roles"]}
    same(name, "logits", "logits" in role, False)
    scores = 2 * 16 * 1024 * 1024 * 2  # of one layer's attention
    same(name, "activations of two micro-batches of two layers", role["activation"]["peak_bytes"] >= 2 * 2 * 3 * scores, True)


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".megatron.json", 4, more=True):
        numbers(name, truth, device, recording)
        phases(name, truth, recording)
        if truth["error"]:
            out_of_memory(name, truth, device, report)
        else:
            roles(name, truth, device)
            if name == "megatron_pipeline":
                first_stage(name, device)
            else:
                advice(name, truth, device, report)
            if name == "megatron":
                refusals(name, recording)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
