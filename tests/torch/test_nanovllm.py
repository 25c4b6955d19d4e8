#!/usr/bin/env python3
"""memtrace on samples/torch/nanovllm/, nano-vllm's own engine (nanovllm_job.py), against what the job knew (NAME.nano.json): engine, phases, weights, KV
cache, CUDA graphs, and the setting with which the job then ran on the same card."""
import gzip
import json
import os
import pickle
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "nanovllm")
PHASES = {"load_model": {"rollout.load"}, "warmup_model": {"rollout.profile"}, "allocate_kv_cache": {"rollout.kv_alloc"}, "capture_cudagraph": {"rollout.graph"},
          "start": {"rollout.generate"}, "generate": {"rollout.generate"}, "oom": {"rollout.generate"}}


def phases(name, truth, report, path):
    """Bytes allocated while each function ran; what a failed request ends is left out of the last."""
    with gzip.open(path) as f:
        events = pickle.load(f)["device_traces"][0]
    want, got, begin = {}, {}, 0
    for phase in truth["phases"]:
        of, = PHASES[phase["name"]]
        want[of] = want.get(of, 0) + sum(e["size"] for e in events[begin:phase["events"]] if e["action"] == "alloc")
        begin = phase["events"]
    for row in report["phases"]:
        got[row["phase"]] = got.get(row["phase"], 0) + row["allocated_bytes"]
    for of in sorted(set(want) | set(got)):
        same(name, f"bytes of {of}: {got.get(of, 0)}, the job said {want.get(of, 0)}", abs(got.get(of, 0) - want.get(of, 0)) < 4096)


def roles(name, truth, device):
    role, last = {r["role"]: r for r in device["roles"]}, truth["phases"][-1]
    weights = last["weights"] + last["buffers"]
    same(name, "engine weights", 0 <= role["engine_weights"]["bytes"] - weights < 1 << 20, True)
    same(name, "KV cache", role["kv_cache"]["bytes"], last["kv_cache"])
    same(name, "KV cache, all allocations", role["kv_cache"]["allocated_bytes"], last["kv_cache"])
    for other in ("param", "activation", "unknown"):  # inputs of a batch have no role
        same(name, other, role.get(other, {"peak_bytes": 0})["peak_bytes"] < device["focus"]["live_bytes"] // 1000, True)
    same(name, "vocabulary", device["logits"]["vocabulary"], truth["vocabulary"] if truth["error"] is None else device["logits"]["vocabulary"])
    graphs = next(a for a in device["audits"] if a["id"] == "cuda_graphs")["sentence"]
    kept = sum(p["reserved_bytes"] for p in device["pools"] if p["pool_id"] not in (None, [0, 0]))
    same(name, f"pools of CUDA graphs: {kept} bytes", f"segments of {kept / (1 << 20):.1f} MiB" in graphs)


def failure(name, report, device):
    """With 0.65 and with 0.75 the job ran on the same card; with 0.8 it did not."""
    advice = {a["id"]: a for a in report["advice"]}
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "phase", report["verdict"]["phase"], "rollout.generate")
    same(name, "failures", len(device["ooms"]), 1)
    same(name, "share", advice["B73"]["proposed"], "gpu_memory_utilization=0.65")
    same(name, "no setting of vLLM's", {"P08", "B41", "B51", "P09"} & set(advice), set())


def main():
    for name, path, truth, device, report in test_truth.recordings(SAMPLES, ".nano.json", 2):
        test_truth.moments(name, truth, path)
        phases(name, truth, report, path)
        roles(name, truth, device)
        same(name, "engine", report["verdict"]["engine"], "nanovllm")
        if truth["error"] is not None:
            failure(name, report, device)
        else:
            same(name, "failures", len(device["ooms"]), 0)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
