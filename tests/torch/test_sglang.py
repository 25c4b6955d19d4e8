#!/usr/bin/env python3
"""memtrace's phases, roles, sentences and settings on samples/torch/sglang/, SGLang's own scheduler with its engine, against what it said it
holds (NAME.truth.json, written by sglang_job.py)."""
import json
import os
import re
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "sglang")
BATCHES = {"rollout generation", "rollout prefill", "rollout decode"}
PHASES = {"load_model": {"rollout weight loading"}, "memory_pool": {"KV-cache allocation"},
          "cuda_graphs": {"CUDA-graph capture", "rollout engine set-up"}, "start": {"rollout engine set-up"}, "generate": BATCHES,
          "logprobs": BATCHES, "release": {"rollout wake-up and sleep"}, "resume": {"rollout wake-up and sleep"},
          "update_weights": {"weight sync"}, "generate_again": BATCHES}


def roles(name, truth, device):
    """Weights lie with the buffers of their modules, the KV cache with the tables that lead to it: 4 bytes for each token that a request may
    have, 8 for each free slot, twice where a new list has just replaced the old one."""
    engine, role = truth["engine"], {r["role"]: r for r in device["roles"]}
    weights = engine["weights"] + engine["buffers"]
    cache = engine["kv_cache"] + engine["request_table"] + 8 * engine["kv_tokens"]
    same(name, f"engine weights: {role['engine_weights']['peak_bytes']} of {weights}", 0 <= role["engine_weights"]["peak_bytes"] - weights < 1024)
    more = (role["kv_cache"]["bytes"] - cache) % (8 * engine["kv_tokens"])
    same(name, f"KV cache: {role['kv_cache']['bytes']} of {cache}", more < 1024 and role["kv_cache"]["bytes"] <= cache + 9 * engine["kv_tokens"])
    same(name, "bytes of no known purpose", role.get("unknown", {"bytes": 0})["bytes"] <= device["focus"]["live_bytes"] // 1000)
    for other in ("param", "grad", "optim_state", "activation"):
        same(name, other, role.get(other, {"peak_bytes": 0})["peak_bytes"], 0)
    if not truth["failures"]:  # in two requests; of the first nothing stays when the second comes
        copies = 2 if "--bucket" in truth["arguments"] else 1  # each tensor, and all of a request in one
        same(name, "weights that are handed over", role["weight_sync"]["allocated_bytes"], copies * engine["weights"])
        same(name, "most of them at once", role["weight_sync"]["peak_bytes"] < copies * engine["weights"] * 3 // 4)


def audits(name, device):
    """Captured graphs keep what they were captured in, though nothing of it is live."""
    audit = {a["id"]: a for a in device["audits"]}
    same(name, "weight sync leaves nothing", audit["weight_sync"]["finding"], False)
    kept = sum(p["reserved_bytes"] for p in device["pools"] if p["role"] == "graph_pool")
    streams = {p["stream"] for p in device["pools"] if p["role"] == "graph_pool"}
    theirs = sum(p["reserved_bytes"] for p in device["pools"] if p["pool_id"] == [0, 0] and p["stream"] in streams)
    said = re.search(r"Another ([0-9.]+) MiB of theirs", audit["cuda_graphs"]["sentence"])
    same(name, f"streams of their capture: {theirs} bytes", said and theirs / (1 << 20) <= float(said.group(1)) < theirs / (1 << 20) + 4)
    same(name, f"pools of CUDA graphs: {kept} bytes", kept > 0 and f"{kept / (1 << 20):.1f} MiB" in audit["cuda_graphs"]["sentence"])


def refused(name, truth, report, device):
    """New weights that found no room: SGLang says so to the trainer and goes on. With each of the two settings alone there was room."""
    advice = {a["id"]: a for a in report["advice"]}
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "phase", report["verdict"]["phase"], "weight_sync")
    same(name, "failed requests", len(device["ooms"]), len(truth["failures"]))
    same(name, "what the driver was asked for", truth["failures"][0]["request"], 64 << 20)
    same(name, "request", device["ooms"][0]["request_bytes"], 32000 * 1024 * 2)
    same(name, "the process goes on", "did not end the process" in json.dumps(report["cause"]))
    same(name, "settings", {a["id"] for a in report["advice"]}, {"P08", "B48"})
    same(name, "table of requests", advice["B48"]["saving_bytes"], 4097 * 32772 * 4 * 15 // 16)
    same(name, "workspace of the attention", {r["role"]: r["bytes"] for r in device["roles"]}["workspace"] >= 512 << 20)


def failure(name, report, device):
    """Log-probabilities of the prompts: where it failed, for what, and the settings with each of which the job then ran on the same card."""
    advice = {a["id"]: a for a in report["advice"]}
    row = 151936 * 4
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "phase", report["verdict"]["phase"], "rollout.prefill")
    same(name, "request", device["ooms"][0]["request_bytes"], 2048 * row)
    same(name, "shape", [device["logits"]["tokens"], device["logits"]["element_bytes"]], [2048, 4])
    same(name, "tokens in the words", "2048 tokens x 151936" in json.dumps(report["cause"]))
    same(name, "each enough alone, and one of them to change first", ([advice[i]["lacking_bytes"] for i in ("B48", "B49", "B17")], sum(a["top"] for a in report["advice"])), ([0, 0, 0], 1))
    same(name, "in pieces", advice["B49"]["saving_bytes"], (2048 + 1024) * row * 3 // 4)
    same(name, "chunk that is half of the one at hand", advice["B17"]["proposed"], "--chunked-prefill-size 1024")
    same(name, "table of requests", advice["B48"]["saving_bytes"], 4097 * 32772 * 4 * 15 // 16)


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".truth.json", 4):
        test_truth.entries_in_phases(name, truth, recording, PHASES, (4, 20))
        test_truth.moments(name, truth, recording)
        roles(name, truth, device)
        same(name, "bytes without a phase", sum(r["allocated_bytes"] for r in report["phases"] if r["phase"] == "unattributed"), 0)
        if truth["error"] is not None:
            failure(name, report, device)
        elif truth["failures"]:
            refused(name, truth, report, device)
        else:
            audits(name, device)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
