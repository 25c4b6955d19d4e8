#!/usr/bin/env python3
"""memtrace's phases, roles, sentences and settings on samples/torch/verl/, workers of verl itself, against what they said they hold
(NAME.truth.json, written by verl_job.py)."""
import json
import os
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "verl")
PHASES = {"actor.init_model": "model set-up", "critic.init_model": "model set-up", "rollout_mode": "weight sync",
          "generate_sequences": "rollout generation", "compute_log_prob": "old-policy log-prob", "compute_ref_log_prob": "reference log-prob",
          "compute_values": "value estimation", "critic.backward": "critic update", "critic.optimizer_step": "critic update",
          "update_critic": "critic update", "actor.backward": "actor update", "actor.optimizer_step": "actor update",
          "update_actor": "actor update"}


def roles(name, truth, device):
    role = {r["role"]: r for r in device["roles"]}
    weights = truth["roles"]["end"]["weights"]
    same(name, f"parameters: {role['param']['bytes']}, of them {weights} weights, the rest buffers of the model",
         0 <= role["param"]["bytes"] - weights <= 4096)
    same(name, "optimizer state", role.get("optim_state", {"peak_bytes": 0})["peak_bytes"], truth["roles"]["end"]["optimizer"])
    if truth["error"] is None:
        same(name, "vocabulary", device["logits"]["vocabulary"], truth["vocabulary"])
        least = max(r["gradients"] for r in truth["roles"].values())
        same(name, f"gradients: {least} before a step, {role['grad']['peak_bytes']} at most", role["grad"]["peak_bytes"] >= least > 0)
    same(name, "bytes of no known purpose", role.get("unknown", {"bytes": 0})["bytes"] <= device["focus"]["live_bytes"] // 1000)


def kv_cache(name, device):
    """4 rows x (256 + 2) tokens x 2 layers x 4 heads of 64, keys in 32 bits (autocast) and values in 16; longer copies are made beside them."""
    bytes_of = 4 * 258 * 2 * 4 * 64 * (4 + 2)
    peak = {r["role"]: r["peak_bytes"] for r in device["roles"]}["kv_cache"]
    same(name, f"KV cache: {peak}, {bytes_of} expected, and copies", bytes_of <= peak <= 2 * bytes_of)


def failure(name, report, device):
    """Where it failed, for what, and the settings that were set in the job afterwards: with each of them it ran on the same card."""
    advice = {a["id"]: a for a in report["advice"]}
    role = {r["role"]: r["bytes"] for r in device["roles"]}
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "framework", report["verdict"]["framework"], "verl")
    if name == "verl_oom_sync":
        same(name, "phase", report["verdict"]["phase"], "weight_sync")
        same(name, "bucket that still holds the largest tensor", advice["B22"]["proposed"].rsplit("=", 1)[1], "594")
        same(name, "bytes it frees", advice["B22"]["saving_bytes"], (2048 - 594) << 20)
        return
    logits = 6144 * 151936 * 2
    same(name, "phase", report["verdict"]["phase"], "train_actor")
    same(name, "request", device["ooms"][0]["request_bytes"], logits)
    same(name, "logits and their gradients", role["logits"], 2 * logits)
    same(name, "gradients of parameters", role.get("grad", 0) < 1 << 20)
    same(name, "shape", [device["logits"]["tokens"], device["logits"]["element_bytes"]], [6144, 2])
    same(name, "tokens in the words", "6144 tokens" in json.dumps(report["cause"]))
    same(name, "owner is no template of the standard library", "std::" not in report["verdict"]["sentence"])
    same(name, "first setting", report["advice"][0]["id"], "B23")
    same(name, "bytes it frees, less the kernel's own chunks", advice["B23"]["saving_bytes"], 3 * logits - 20 * 512 * 151936)
    freed = 3.1 * (1 << 30)  # by the job with that setting
    same(name, "what it freed is in the range", advice["B23"]["saving_low_bytes"] < freed < advice["B23"]["saving_high_bytes"])
    same(name, "settings for saved layer inputs and for states", [i for i in ("V12", "V15", "B21", "V33") if i in advice], [])


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".truth.json", 4):
        test_truth.entries_in_phases(name, truth, recording, {key: {words} for key, words in PHASES.items()}, (3, 12))
        test_truth.moments(name, truth, recording)
        roles(name, truth, device)
        same(name, "bytes without a phase", sum(r["allocated_bytes"] for r in report["phases"] if r["phase"] == "unattributed"), 0)
        if name == "verl_hf":
            kv_cache(name, device)
        if truth["error"] is not None:
            failure(name, report, device)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
