#!/usr/bin/env python3
"""memtrace on samples/torch/vllm/, vLLM's own engine (vllm_job.py), against what the job knew (NAME.vllm.json): phases, weights, KV cache, sampling,
weight updates, and the settings with which the job then ran on the same card."""
import gzip
import json
import os
import pickle
import re
import sys

import test_truth
from test_truth import memtrace, same

SAMPLES = os.path.join(test_truth.SAMPLES, "vllm")
PHASES = {"init_device": "rollout.init", "load_model": "rollout.load", "determine_available_memory": "rollout.profile",
          "initialize_from_config": "rollout.kv_alloc", "compile_or_warm_up_model": "rollout.profile", "generate": "rollout.generate",
          "update_weights": "weight_sync", "finish_weight_update": "weight_sync"}
CUBLAS = 32 << 20


def about(name, what, got, want, more):
    same(name, what, got if not want <= got < want + more else want, want)


def phases(name, truth, report, path):
    """Of graphs, warming up has its own row."""
    with gzip.open(path) as f:
        events = pickle.load(f)["device_traces"][0]
    want, got, begin, failed = {}, {}, 0, truth["phases"][-1]["name"] == "oom"
    for phase in truth["phases"]:
        size = sum(e["size"] for e in events[begin:phase["events"]] if e["action"] == "alloc")
        begin = phase["events"]
        if failed and phase["name"] == "oom":
            continue
        of = PHASES.get(phase["name"])
        same(name, f"{size} bytes in {phase['name']}", of is not None or size == 0, True)
        if of:
            want[of] = want.get(of, 0) + size
    for row in report["phases"]:
        of = "rollout.profile" if row["phase"] == "rollout.graph" else row["phase"]
        got[of] = got.get(of, 0) + row["allocated_bytes"]
    same(name, "bytes without a phase", got.get("unattributed", 0), 0)
    if failed:
        of = report["verdict"]["phase"]
        want.pop(of, None), got.pop(of, None)
    for of in sorted(set(got) | set(want)):
        same(name, f"bytes of {of}: {got.get(of, 0)}, the job said {want.get(of, 0)}", abs(got.get(of, 0) - want.get(of, 0)) < 4096, True)


def roles(name, truth, device):
    role = {r["role"]: r for r in device["roles"]}
    loaded = next(p for p in truth["phases"] if p["name"] == "load_model")
    about(name, "engine weights", role["engine_weights"]["peak_bytes"], loaded["weights"] + loaded["buffers"], 1024)  # an update adds scales
    cache = max(p.get("kv_cache", 0) for p in truth["phases"])
    about(name, "KV cache", role.get("kv_cache", {"peak_bytes": 0})["peak_bytes"], cache, 1 << 17)  # and its tables of blocks
    if truth["error"] is None and "--graphs" not in truth["arguments"]:  # nothing else at those addresses before it, nothing twice
        about(name, "KV cache, all allocations", role["kv_cache"]["allocated_bytes"], cache, 1 << 17)
    same(name, "inputs of the engine are no weights", role["workspace"]["peak_bytes"] >= truth["phases"][0]["requested"] - 4096)
    same(name, "vocabulary", device["logits"]["vocabulary"], truth["vocabulary"])
    if "--train" not in truth["arguments"]:
        same(name, "bytes of no known purpose", role.get("unknown", {"bytes": 0})["bytes"] <= device["focus"]["live_bytes"] // 1000)
    if "--graphs" not in truth["arguments"]:
        same(name, "no CUDA graphs, no pool of them", role.get("graph_pool", {"peak_bytes": 0})["peak_bytes"], 0)
    if truth["error"] is None:
        rows = truth["settings"]["max_num_seqs"]
        same(name, "largest logits", [device["logits"]["tokens"], device["logits"]["element_bytes"]], [rows, 4])
        sync = next(p for p in truth["phases"] if p["name"] == "update_weights")
        before = truth["phases"][truth["phases"].index(sync) - 1]["requested"]
        same(name, "buffers of the weight update", abs(role["weight_sync"]["peak_bytes"] - (sync["requested_peak"] - before)) < 4096)
        audit = next(a for a in device["audits"] if a["id"] == "weight_sync")
        same(name, "a scale of some bytes is no buffer that is left", "outlive it" in audit["sentence"], False)
        same(name, "a full copy", audit["finding"], name == "packed")  # a buffer of 1 GiB holds the whole model


def failure(name, truth, path, settings, request, first, value):
    """`value`: with it the job ran on the same card."""
    report = json.loads(memtrace("report", path, "--format", "json", "--args", settings, "-o", "-"))
    device = max(report["devices"], key=lambda d: d["events"])
    advice = report["advice"]
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "sampling in the sentence", "(sampling)" in report["verdict"]["sentence"], True)
    same(name, "request", device["ooms"][0]["request_bytes"], request)
    same(name, "advice", [a["id"] for a in advice], first)
    for a in advice:
        if a["id"] in value:
            same(name, f"value of {a['id']}", a["proposed"], value[a["id"]])
    if name == "oom_prompt":
        same(name, "rows of the prompt", device["logits"]["tokens"], 1999)
    return report


def asleep(name, truth, path):
    """The engine's memory stands in PyTorch's books, and not on the card: what the driver had given back frees nothing again."""
    card = 8 << 30
    report = json.loads(memtrace("report", path, "--format", "json", "--capacity", str(card), "-o", "-"))
    held, asleep = truth["phases"][-1], next(p for p in truth["phases"] if p["name"] == "sleep")
    same(name, "phase", report["verdict"]["phase"], "train_actor")
    same(name, "in its sleep the engine has no more than the inputs", asleep["used"] < 1 << 30, True)
    absent = held["reserved"] + card - held["used"] - card
    engine = next(p for p in truth["phases"] if p["name"] == "load_model")
    freed = engine["weights"] + engine["buffers"] + held["kv_cache"] - absent
    what_if = next(w for w in report["cause"]["what_ifs"] if w["id"] == "engine_asleep")
    about(name, "what sleep would still give back", what_if["freed_bytes"], freed - 4096, 8192)
    same(name, "said as a bound", "(at most " in what_if["text"], True)
    same(name, "no smaller share, and no sleep for what sleeps", {"P08", "B34", "B13"} & {a["id"] for a in report["advice"]}, set())


def beside(name, truth, path, device, report):
    """A trainer has made its step before the engine starts: the cache finds no room. Without it, and with the share that is proposed, the engine
    then started on the same card; vLLM refused 0.65 with 4.95 of 8 GiB free."""
    held, role = truth["trainer"], {r["role"]: r for r in device["roles"]}
    same(name, "phase", report["verdict"]["phase"], "rollout.kv_alloc")
    same(name, "cause", report["cause"]["id"], "stale_engine")
    for part in ("param", "grad", "optim_state"):
        same(name, part, role[part]["bytes"], held[part])
    same(name, "engine weights", 0 <= role["engine_weights"]["bytes"] - truth["roles"]["weights"] - truth["roles"]["buffers"] < 1024, True)
    what_if = next(w for w in report["cause"]["what_ifs"] if w["id"] == "training_offloaded")
    same(name, "what offloading frees", what_if["freed_bytes"], sum(held.values()))
    advice = {a["id"]: a for a in report["advice"]}
    same(name, "first", list(advice)[:2], ["P16", "P08"])
    same(name, "the trainer's bytes", advice["P16"]["saving_bytes"], sum(held.values()))
    same(name, "share", advice["P08"]["proposed"], "--gpu-memory-utilization 0.61")
    fixed = json.loads(memtrace("report", path, "--format", "json", "--args", "--kv-cache-memory-bytes 5368709120", "-o", "-"))
    same(name, "no share where the cache's bytes are set", any(a["id"] == "P08" for a in fixed["advice"]), False)


def main():
    for name, path, truth, device, report in test_truth.recordings(SAMPLES, ".vllm.json", 8):
        test_truth.moments(name, truth, path)
        if name == "oom_beside":
            beside(name, truth, path, device, report)
            continue
        phases(name, truth, report, path)
        roles(name, truth, device)
        same(name, "failures", len(device["ooms"]), 1 if truth["error"] else 0)
        program = "plain PyTorch with vLLM" if name == "oom_asleep" else "vLLM (by its frames)"
        page = re.sub(r"<[^>]+>", "", memtrace("report", path, "--format", "html", "-o", "-"))
        same(name, "the page's program", f"\u00b7 {program}" in page, True)
        if name == "packed":
            named = memtrace("report", path, "--framework", "none", "--format", "html", "-o", "-")
            same(name, "a framework that was named stands as it was named", "plain PyTorch with vLLM (as named on the command line)" in named, True)
        row = 151936 * 4
        if name == "oom_prompt":
            failure(name, truth, path, "--gpu-memory-utilization 0.92 --max-num-seqs 128", 1999 * row, ["P08", "B51"],
                    {"B51": "--max-num-batched-tokens 512"})
        if name == "oom_profile":
            failure(name, truth, path, "--max-num-seqs 1024", 1024 * row, ["B41"], {"B41": "--max-num-seqs 208"})
        if name == "oom_asleep":
            asleep(name, truth, path)
        if name == "newer_oom":
            report = failure(name, truth, path, "--max-num-seqs 1024", 1024 * row, ["B41"], {"B41": "--max-num-seqs 512"})
            half = 512 * (row + row // 2 + row)  # counts of words, logits in 16 bits, the request
            about(name, "what half the sequences free", report["advice"][0]["saving_bytes"], half, half // 10)
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
