#!/usr/bin/env python3
"""memtrace on recordings of real frameworks (openrlhf_job.py, areal_job.py, skyrl_job.py) against what the jobs knew of themselves (NAME.job.json): bytes of every
role, what each phase allocated, steps, and the failure."""
import gzip
import pickle
import re
import sys

import test_truth
from test_truth import SAMPLES, memtrace, same

# What a job's function is to a reader. An update is several functions: what it allocated is one phase.
PHASES = {"initialize": "init", "init_model_from_pretrained": "init", "forward_batch": "logp_old", "reload_states": "onload_offload",
          "offload_states": "onload_offload", "backward": "train_actor", "optimizer": "train_actor", "fit": "train_actor",
          "broadcast_to_vllm": "weight_sync", "compute_logp": "logp_old", "compute_advantages": "logp_old", "ppo_update": "train_actor",
          "update_weights": "weight_sync",
          # SkyRL's worker: whose update and whose log-probabilities they are no frame tells
          "init_model": "init", "forward": "infer", "forward_backward": "train", "optim_step": "train", "offload_to_cpu": "onload_offload",
          "backload_to_gpu": "onload_offload", "extract_weights": "weight_sync"}
INSIDE = ("forward_backward_batch",)  # a part of what is noted next


def about(name, what, got, want):
    """Counters and buffers of modules lie with what they belong to: less than a KiB."""
    same(name, what, got if not want <= got < want + 1024 else want, want)


def totals(name, truth, device, path):
    same(name, "requested at the end", device["live_end_bytes"], truth["end"]["requested_bytes.all.current"])
    same(name, "reserved at the end", device["reserved_end_bytes"], truth["end"]["reserved_bytes.all.current"])
    same(name, "peak", device["live_peak_bytes"], truth["requested_peak"])
    for phase in truth["phases"]:
        lines = memtrace("export", path, "--to", "folded", "--at", str(phase["events"] - 1), "-o", "-").splitlines()
        same(name, f"requested after {phase['name']}", sum(int(line.rsplit(" ", 1)[1]) for line in lines), phase["requested"])


def roles(name, truth, device):
    """At the focus; DeepSpeed's fp32 master counts as optimizer state."""
    got = {r["role"]: r["bytes"] for r in device["roles"]}
    most = {k: max(p["roles"].get(k, 0) for p in truth["phases"]) for k in ("fp32_master", "optim_state", "grad", "buckets")}
    least = min(p["roles"]["param"] for p in truth["phases"] if p["roles"]["param"])
    about(name, "parameters", got["param"], least)
    highest = {r["role"]: r["peak_bytes"] for r in device["roles"]}
    about(name, "optimizer state", highest["optim_state"], most["fp32_master"] + most["optim_state"])
    same(name, "logits", got.get("logits", 0) > 0, True)
    if not name.startswith("openrlhf"):
        same(name, "buckets of DeepSpeed", got.get("grad_reduce", 0), 0)
    elif most["buckets"]:  # stage 3 has them from start to end, as its part of the gradients
        same(name, "buckets", got["grad_reduce"], most["buckets"])
        about(name, "gradients", got["grad"], most["grad"])
    else:  # stages 1 and 2 ask for the default of half a gigabyte of elements in two bytes
        same(name, "buckets", got.get("grad_reduce", 0), 0 if device["ooms"] else 1000000000)


def phases(name, truth, report, path):
    with gzip.open(path) as f:
        events = pickle.load(f)["device_traces"][0]
    want, got, begin = {}, {}, 0
    for phase in truth["phases"]:
        if phase["name"] in INSIDE:
            continue
        size = sum(e["size"] for e in events[begin:phase["events"]] if e["action"] == "alloc")
        begin = phase["events"]
        if size:
            of = PHASES["backward" if phase["name"] == "snapshot" else phase["name"]]
            want[of] = want.get(of, 0) + size
    for row in report["phases"]:
        got[row["phase"]] = got.get(row["phase"], 0) + row["allocated_bytes"]
    unknown = got.pop("unattributed", 0)
    same(name, f"{unknown} bytes without a phase", unknown < 1024, True)
    for phase in sorted(set(got) | set(want)):
        same(name, f"bytes of {phase}: {got.get(phase, 0)}, the job said {want.get(phase, 0)}", abs(got.get(phase, 0) - want.get(phase, 0)) < 1024, True)


def out_of_memory(name, truth, device, report):
    same(name, "failures", len(device["ooms"]), 1 if truth["error"] else 0)
    first = report["advice"][0]
    if not device["ooms"]:
        return
    same(name, "request", device["ooms"][0]["request_bytes"], 1000000000)
    same(name, "the first setting", first["id"], "B44")
    same(name, "what it frees", first["saving_bytes"], 900000000)
    same(name, "the sentence", "actor update (gradient reduce)" in report["verdict"]["sentence"], True)
    free = re.search(r"of which ([0-9.]+) MiB is free", truth["error"]).group(1)
    same(name, "free on the device", f"{device['ooms'][0]['device_free_bytes'] / (1 << 20):.2f}", free)


def main():
    for name, path, truth, device, report in test_truth.recordings(SAMPLES, ".job.json", 5, more=True):
        totals(name, truth, device, path)
        roles(name, truth, device)
        phases(name, truth, report, path)
        same(name, "optimizer steps", device["step_count"] - 1, sum(p["name"] in ("optimizer", "ppo_update", "optim_step") for p in truth["phases"]))
        out_of_memory(name, truth, device, report)
        if name == "areal":  # the head's output; the loss makes two chunks of it in 32 bits, each as many bytes
            same(name, "logits", (device["logits"]["tokens"], device["logits"]["element_bytes"]), (2048, 2))
            first = next(a for a in report["advice"] if a["id"] == "A04")
            same(name, "half of the tokens, and of what goes with them", first["set"][0]["value"], "1024")
        if name == "skyrl":  # played again with cpu_offload the peak was 698153984 bytes; with the other three it is less as well
            first = report["advice"][0]
            same(name, "SkyRL's settings", (first["id"], first["saving_bytes"]), ("B52", truth["requested_peak"] - 698153984))
            lines = {line["text"] for line in first["set"]}
            tried = {"trainer.max_tokens_per_microbatch=512", "trainer.logprobs_chunk_size=128"}
            same(name, "lines that were tried", tried - lines, set())
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
