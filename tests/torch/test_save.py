#!/usr/bin/env python3
"""memtrace's phases, roles and settings on samples/torch/save/, checkpoints that PyTorch itself gathered, wrote and read, against what
the job said it held (NAME.truth.json, written by save_job.py)."""
import os
import sys

import test_truth
from test_truth import same

SAMPLES = os.path.join(test_truth.SAMPLES, "save")
PHASES = {"train": {"training"}, "weights gathered": {"checkpoint save"}, "gathered": {"checkpoint save"},
          "read": {"checkpoint load"}, "bring_back": {"checkpoint load"}}
# Where the job was run again on the same card with one setting changed, it went to its end; the highest live bytes of the phase were then these.
CHANGED = {"oom_fsdp1": ("B78", "FullStateDictConfig(offload_to_cpu=True", 958170624),
           "oom_fsdp2": ("B78", "StateDictOptions(full_state_dict=True, cpu_offload=True", 564946432),
           "oom_load": ("B80", "map_location=\"cpu\"", 3236114432)}


def roles(name, truth, device):
    said, role = truth["roles"], {r["role"]: r for r in device["roles"]}
    same(name, "parameters", role["param"]["bytes"], said["weights"])
    same(name, "optimizer state", role["optim_state"]["peak_bytes"], said["optimizer"])
    if truth["error"] is None:
        copies = role.get("checkpoint", {"peak_bytes": 0})["peak_bytes"]
        same(name, "gathered", copies, said["gathered"] if name != "dcp" else 0)  # shards are the model's own


def failure(name, truth, report, device):
    rule, line, high = CHANGED[name]
    load, advice = name == "oom_load", {a["id"]: a for a in report["advice"]}
    ends = {p["name"]: p for p in truth["phases"]}
    live, before = ends["snapshot"]["requested"], ends["keep" if load else "train"]["requested"]
    role = {r["role"]: r["bytes"] for r in device["roles"]}
    same(name, "kind", report["verdict"]["kind"], "oom_capacity")
    same(name, "phase", report["verdict"]["phase"], "ckpt_load" if load else "ckpt_save")
    same(name, "copies and what the gather holds", role["checkpoint"] + role.get("unsharded_param", 0) + role.get("temp", 0), live - before)
    same(name, "settings", sorted(advice), [rule] if load else ["B78", "B79"])
    same(name, f"line of {rule}", any(line in (s["value"] or "") for s in advice[rule]["set"]))
    same(name, "bytes it frees", advice[rule]["saving_bytes"], live - high)


def main():
    for name, recording, truth, device, report in test_truth.recordings(SAMPLES, ".truth.json", 6):
        test_truth.entries_in_phases(name, truth, recording, PHASES, (120, 7))
        test_truth.moments(name, truth, recording)
        roles(name, truth, device)
        same(name, "failures", len(device["ooms"]), int(truth["error"] is not None))
        if truth["error"] is not None:
            failure(name, truth, report, device)
        elif name != "dcp":
            same(name, "phase of the peak", report["verdict"]["phase"], "ckpt_save")
    return test_truth.failed > 0


if __name__ == "__main__":
    sys.exit(main())
