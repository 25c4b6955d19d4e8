#!/usr/bin/env python3
"""Recordings of real jobs of TRL and of Transformers' Trainer (trl_job.py) against what the jobs said of themselves (NAME.trl.json)."""
import gzip
import os
import pickle
import sys

import test_truth
from test_truth import SAMPLES, same


def rows(report, phase, subs=None):
    return sum(r["allocated_bytes"] for r in report["phases"] if r["phase"] == phase and (subs is None or r["sub_phase"] in subs))


def spans(name, truth, report, trace):
    """Bytes allocated between begin and end of the trainer's own functions, and the phase that memtrace gives them."""
    inside = {}
    for s in truth["spans"]:
        inside[s["name"]] = inside.get(s["name"], 0) + sum(e["size"] for e in trace[s["first"]:s["end"]] if e["action"] == "alloc")
    train = {r["phase"] for r in report["phases"]} & {"train", "train_actor"}
    if truth["error"] is None:
        same(name, f"one training phase of {train}", len(train), 1)
        train = train.pop()
        same(name, "bytes of the backward pass", rows(report, train, ("backward", "recompute")), inside["backward"])
        same(name, "bytes of the optimizer", rows(report, train, ("optim_state_init", "optimizer")), inside["optimizer"])
    for span, phase in (("generate", "rollout.generate"), ("eval", "eval")):
        got, least = rows(report, phase), inside.get(span, 0)
        same(name, f"{phase}: {got} bytes, {least} of them in the function", least <= got <= least * 1.005 + (4 << 20) or truth["inside"] == [span], True)
    lost, everything = rows(report, "unattributed"), sum(r["allocated_bytes"] for r in report["phases"])
    same(name, f"bytes without a phase: {lost} of {everything}", lost * 10000 <= everything, True)


def roles(name, truth, device):
    want, got = truth["roles"], {r["role"]: r for r in device["roles"]}
    tables = got["param"]["bytes"] - want["weights"]  # of the rotary embedding
    same(name, f"parameters: {got['param']['bytes']} bytes, {tables} more than weights", 0 <= tables <= 1024, True)
    same(name, "optimizer state", got.get("optim_state", {"bytes": 0})["bytes"], want["optimizer"])
    same(name, "bytes without a role", got.get("unknown", {"bytes": 0})["bytes"] <= device["live_peak_bytes"] / 500, True)
    if want["gradients"]:  # a tied embedding has two gradients, and their sum, before there is one
        most, head = got["grad"]["peak_bytes"], 151936 * 896 * (4 if name == "transformers_eval" else 2)
        same(name, f"gradients: {most} bytes", want["gradients"] <= most <= want["gradients"] + 2 * head, True)
    if want["kv_cache"]:  # one layer's is there twice while it grows
        most = got["kv_cache"]["peak_bytes"]
        same(name, f"KV cache: {most} bytes", want["kv_cache"] <= most <= want["kv_cache"] * 1.5, True)


def lines(report):
    return {x["text"] for a in report["advice"] for x in a["set"]}


def called_from(name, function, line):
    """Bytes that were allocated below one line of a function."""
    with gzip.open(os.path.join(SAMPLES, name + ".pickle.gz")) as f:
        events = pickle.load(f)["device_traces"][0]
    return sum(e["size"] for e in events if e["action"] == "alloc" and any((f["name"], f["line"]) == (function, line) for f in e["frames"]))


def judged(name, report, device):
    """What is true of each job alone."""
    phases, said, ids = {r["phase"] for r in report["phases"]}, lines(report), [a["id"] for a in report["advice"]]
    no_config = [s for s in said if "chunked_nll" in s or "vllm" in s or (s.startswith("activation_offloading") and "grpo" in name)]
    same(name, "settings that this trainer does not have, or that are of an engine that does not run", no_config, [])
    if name == "trl_grpo":
        same(name, "phases", sorted(phases), ["init", "logp", "reward", "rollout.generate", "train_actor"])
    if name == "trl_oom_generate":
        same(name, "phase", report["verdict"]["phase"], "rollout.generate")
        same(name, "settings", said, {"per_device_train_batch_size=<half of its value>"})
    if name == "trl_dpo":  # chosen and rejected of two pairs, 512 tokens each
        same(name, "vocabulary and tokens", (device["logits"]["vocabulary"], device["logits"]["tokens"]), (151936, 2048))
        same(name, f"the head's settings in {said}", "use_liger_kernel=True" in said, True)
        reference = sum(r["allocated_bytes"] for r in report["phases"] if r["phase"] == "logp_ref")
        same(name, "the reference's pass, from the second line of the loss that calls a model", reference, called_from("trl_dpo", "_compute_loss", 1382))
        same(name, "micro-batches", device["micro_batches"]["count"], device["micro_batches"]["with_backward"])
    if name == "transformers_eval":  # the pass runs without gradients, by a with block that no frame shows
        same(name, "verdict", report["verdict"]["phase"], "eval")
        same(name, f"advice in {ids}", ("P05" in ids, "per_device_eval_batch_size=<half>" in said), (False, True))
        kept = [r["bytes"] for r in device["roles"] if r["role"] == "activation"]
        same(name, f"activations of {kept} bytes", sum(kept) < 1 << 20, True)


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".trl.json", 4, more=True):
        with gzip.open(recording) as f:
            trace = pickle.load(f)["device_traces"][0]
        same(name, "entries", device["events"], truth["entries"] + (1 if truth["error"] else 0))
        same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
        same(name, "live at the end", device["live_end_bytes"], truth["requested"])
        spans(name, truth, report, trace)
        roles(name, truth, device)
        test_truth.failure(name, truth, device)
        judged(name, report, device)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
