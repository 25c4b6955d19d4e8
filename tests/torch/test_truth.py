#!/usr/bin/env python3
"""memtrace's numbers on samples/torch/ against what PyTorch itself said when it recorded them (NAME.truth.json)."""
import copy
import glob
import gzip
import json
import os
import pickle
import re
import subprocess
import sys
import tempfile

MEMTRACE = os.environ["MEMTRACE"]
SAMPLES = os.path.join(os.environ["MT_SOURCE_DIR"], "samples", "torch")
UNITS = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}
checks = failed = 0


def same(name, what, got, want=True):
    global checks, failed
    checks += 1
    if got != want:
        failed += 1
        print(f"not ok: {name}: {what}: {got}, the job said {want}")


def memtrace(*argv):
    p = subprocess.run([MEMTRACE, *argv], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    assert p.returncode == 0, f"{' '.join(argv)}: exit status {p.returncode}: {p.stderr}"
    return p.stdout


def live_at(path, event):
    """Live bytes after an entry of the history: the sum over all stacks."""
    return sum(int(line.rsplit(" ", 1)[1]) for line in memtrace("export", path, "--to", "folded", "--at", str(event), "-o", "-").splitlines())


def written(size):
    """As PyTorch writes a size in its message."""
    for unit in ("GiB", "MiB", "KiB"):
        if size >= UNITS[unit]:
            return f"{size / UNITS[unit]:.2f} {unit}"
    return f"{size} bytes"


def numbers(name, truth, device):
    end = truth["end"]
    same(name, "requested bytes at the end", device["live_end_bytes"], end["requested_bytes.all.current"])
    same(name, "reserved bytes at the end", device["reserved_end_bytes"], end["reserved_bytes.all.current"])
    same(name, "allocated bytes at the end", device["live_end_bytes"] + device["rounding_end_bytes"], end["allocated_bytes.all.current"])
    same(name, "segments", sum(p["segments"] for p in device["pools"] if not p["expandable"]), end["segment.all.current"])
    same(name, "bytes of segments", sum(p["reserved_bytes"] for p in device["pools"]), end["reserved_bytes.all.current"])
    same(name, "active bytes", sum(p["active_bytes"] for p in device["pools"]), end["active_bytes.all.current"])
    same(name, "peak of requested bytes", device["live_peak_bytes"], truth["requested_peak"])
    same(name, "peak of reserved bytes", device["reserved_peak_bytes"], truth["reserved_peak"])


def roles(name, truth, device):
    """Weights and optimizer state are what the job made, to the byte; gradients at their highest are at least what the backward left."""
    want, got = truth["roles"], {r["role"]: r for r in device["roles"]}
    for role, key in (("param", "weights"), ("optim_state", "optimizer")):
        same(name, role, got.get(role, {"bytes": 0})["bytes"], want[key])
    if device["logits"]:
        same(name, "vocabulary", device["logits"]["vocabulary"], 32000)
    least, most = want["gradients_after_backward"], got["grad"]["peak_bytes"]
    same(name, f"gradients: {least} bytes after backward, {most} at most", least <= most and ("fsdp" in name or most <= least * 1.02), True)


def moments(name, truth, path):
    """What was live at the end of every phase."""
    for phase in truth["phases"]:
        same(name, f"requested bytes after {phase['name']}, event {phase['events'] - 1}", live_at(path, phase["events"] - 1), phase["requested"])


def recordings(folder, ending, count, more=False):
    """Each recording with what its job said: name, path, that, the busiest device and the report."""
    found = sorted(glob.glob(os.path.join(folder, "*" + ending)))
    assert len(found) == count or (more and len(found) > count), f"{len(found)} files in {folder}"
    for said in found:
        path = said[: -len(ending)] + ".pickle.gz"
        with open(said, encoding="utf-8") as f:
            truth = json.load(f)
        yield os.path.basename(said)[: -len(ending)], path, truth, *device_of(path)
    print(f"{len(found)} recordings, {checks} checks, {failed} failed")


def entries_in_phases(name, truth, path, phases, others):
    """Each entry of the history is in a phase of the function that ran, but for blocks of the one before that are let go at its beginning:
    others[0] entries, or one of others[1]."""
    spans = [e for e in json.loads(memtrace("export", path, "-o", "-"))["traceEvents"] if e["ph"] == "X" and "first_event" in e.get("args", {})]
    first = min(e["tid"] for e in spans)
    begin = 0
    for phase in truth["phases"]:
        end, inside, words = phase["events"], 0, phases.get(phase["name"])
        for e in spans:
            if words and e["tid"] == first and e["name"] in words:
                inside += max(0, min(end - 1, e["args"]["last_event"]) - max(begin, e["args"]["first_event"]) + 1)
        if words:
            same(name, f"{phase['name']}: {inside} of {end - begin} entries are in {words}", inside >= end - begin - max(others[0], (end - begin) // others[1]))
        begin = end


def failure(name, truth, device):
    """What PyTorch's message says."""
    same(name, "failures", len(device["ooms"]), 1 if truth["error"] else 0)
    if truth["error"] is None:
        return
    oom = device["ooms"][0]
    asked, free = re.search(r"Tried to allocate ([0-9.]+ \w+)", truth["error"]), re.search(r"of which ([0-9.]+ \w+) is free", truth["error"])
    same(name, "request", written(-(-oom["request_bytes"] // (2 << 20)) * (2 << 20)), asked.group(1))
    same(name, "free on the device", written(oom["device_free_bytes"]), free.group(1))


def out_of_memory(name, truth, device, report):
    message = truth["error"]
    if message is None:
        same(name, "failures", len(device["ooms"]), 0)
        return
    same(name, "failures", len(device["ooms"]), 1)
    oom = device["ooms"][0]
    # The message names the size of the segment that was asked of the driver, in steps of 2 MiB, the history the block's.
    segment = -(-oom["request_bytes"] // (2 << 20)) * (2 << 20)
    asked, free = re.search(r"Tried to allocate ([0-9.]+ \w+)", message), re.search(r"of which ([0-9.]+ \w+) is free", message)
    same(name, "request", written(segment), asked.group(1))
    same(name, "free on the device", written(oom["device_free_bytes"]), free.group(1))
    same(name, "live at the failure", oom["live_bytes"], truth["end"]["requested_bytes.all.current"])
    in_words = f"{segment / UNITS['MiB']:.1f} MiB"
    same(name, f"{in_words} in the first sentence", in_words in report["verdict"]["sentence"], True)
    failed_without_gradients(name, device, report)
    same(name, "kind", report["verdict"]["kind"], "oom_fragmentation" if "fragmentation" in name else "oom_capacity")


def phases(name, report, arguments):
    """A plain script, known by the names of its functions and by PyTorch's no_grad: what it allocated is in the phase that ran."""
    rows = {}
    for r in report["phases"]:
        rows[r["phase"]] = rows.get(r["phase"], 0) + r["allocated_bytes"]
    missing = [p for p in ("rollout.generate", "logp_ref") if not rows.get(p)]
    missing += [] if rows.get("logp") or rows.get("logp_old") else ["logp"]
    missing += [] if rows.get("train_actor") or rows.get("train") else ["train_actor"]
    same(name, f"phases of {rows}", missing, [])
    if "--parallel" in arguments:  # what wrapping the model allocates before anything runs
        return
    same(name, f"bytes without a phase: {rows.get('unattributed', 0)}", rows.get("unattributed", 0) <= sum(rows.values()) / 1000, True)


def failed_without_gradients(name, device, report):
    """All three fail in a function with @torch.no_grad(): nothing there is kept for a backward pass, and no advice may say so."""
    verdict, ids = report["verdict"], [a["id"] for a in report["advice"]]
    same(name, "phase", verdict["phase"], "rollout.generate" if name == "oom_capacity" else "logp")
    same(name, "activations", [r["bytes"] for r in device["roles"] if r["role"] == "activation" and r["bytes"]], [])
    same(name, f"advice on saved activations in {ids}", [i for i in ids if i in ("P01", "P02", "P04")], [])
    same(name, f"advice in {ids}", [i for i in (["P09"] if name == "oom_capacity" else ["P09", "P10"]) if i not in ids], [])


def waiting(name, path, device):
    """What waited for other streams: requested, not completed, while anything else was done. PyTorch writes both entries of a plain free at once."""
    with gzip.open(path) as f:
        trace = max(pickle.load(f)["device_traces"], key=len)
    pending, most, before = {}, 0, None
    for e in trace + [{"action": "end", "addr": 0}]:
        whole = before and e["action"] == "free_completed" and before["action"] == "free_requested" and before["addr"] == e["addr"]
        most = most if whole else max(most, sum(pending.values()))
        if e["action"] == "free_requested":
            pending[e["addr"]] = e["size"]
        elif e["action"] == "free_completed":
            pending.pop(e["addr"], None)
        before = e
    same(name, "waiting for other streams at most", device["pending_free_peak_bytes"], most)
    same(name, "waits for other streams", most > 0, name in ("ddp", "fsdp1"))


def device_of(path):
    report = json.loads(memtrace("report", path, "--format", "json", "--verify", "-o", "-"))
    return max(report["devices"], key=lambda d: d["events"]), report


def altered(name, what, snapshot, truth, notes):
    """A recording in another shape has the same numbers, and says what it lacks."""
    with tempfile.NamedTemporaryFile(suffix=".pickle") as f:
        pickle.dump(snapshot, f)
        f.flush()
        device, report = device_of(f.name)
        text = " ".join(memtrace("report", f.name, "--format", "text", "--full", "-o", "-").split())
    requested = any(e["action"] == "free_requested" for t in snapshot["device_traces"] for e in t)
    completed = any(e["action"] == "free_completed" for t in snapshot["device_traces"] for e in t)
    same(name, f"{what}: says that what waited is not known", "waited for other streams is not known" in text, completed and not requested)
    same(name, f"{what}: peak", device["live_peak_bytes"], truth["requested_peak"])
    same(name, f"{what}: end", device["live_end_bytes"], truth["end"]["requested_bytes.all.current"])
    same(name, f"{what}: start", device["live_start_bytes"], 0)
    same(name, f"{what}: waiting for other streams", device["pending_free_peak_bytes"] <= device["live_peak_bytes"], True)
    said = [d["text"] for d in report["quality"]["inputs"][0]["diagnoses"]]
    same(name, f"{what}: notes {said}", [n for n in notes if not any(n in t for t in said)], [])


def shapes(truth, path):
    """The options and fields that came after 2.6: skip_actions, and what 2.14 writes."""
    with gzip.open(path) as f:
        snapshot = pickle.load(f)
    for skipped in ({"free_requested"}, {"free_completed"}, {"segment_alloc", "snapshot"}, {"free_requested", "segment_alloc", "snapshot"}):
        less = dict(snapshot, device_traces=[[e for e in t if e["action"] not in skipped] for t in snapshot["device_traces"]])
        note = [f"no {a} entries" for a in skipped if a == "free_completed"]
        altered("plain", f"without {', '.join(sorted(skipped))}", less, truth, note)
    new = copy.deepcopy(snapshot)
    trace, pinned = [], []
    for e in new["device_traces"][0]:
        trace.append(dict(e, pool_id=(0, 0), compile_context="0/0", user_metadata="step"))
        if e["action"] == "alloc":
            trace.append({"action": "annotate", "addr": e["addr"], "size": 0, "stream": 0, "time_us": e["time_us"], "frames": [],
                          "pool_id": (0, 0), "compile_context": "N/A", "user_metadata": "saved for backward"})
            pinned.append({"action": "alloc", "addr": 1 << 45, "size": 4096, "time_us": e["time_us"], "frames": e.get("frames", [])})
            pinned.append({"action": "free_completed", "addr": 1 << 45, "size": 4096, "time_us": e["time_us"], "frames": []})
    for e in trace:
        for f in e.get("frames", []):
            f.update(fx_node_op="call_function", fx_node_name="linear", fx_original_trace="model.py")
    new["device_traces"][0] = trace
    new.update(host_traces=pinned, host_segments=[])
    altered("plain", "in the shape of 2.14", new, truth, [])
    nothing = dict(snapshot, device_traces=[[e for e in t if e["action"] != "alloc"] for t in snapshot["device_traces"]])
    with tempfile.NamedTemporaryFile(suffix=".pickle") as f:
        pickle.dump(nothing, f)
        f.flush()
        same("plain", "a curve without allocations", "allocations were not recorded" in (device_of(f.name)[0]["withheld"] or ""), True)


def main():
    for name, recording, truth, device, report in recordings(SAMPLES, ".truth.json", 10, more=True):
        numbers(name, truth, device)
        waiting(name, recording, device)
        roles(name, truth, device)
        same(name, "the largest holder is a line of the job, though that lies in a folder called torch",
             re.search(r"largest holder, with [0-9.]+ \w+, is (torch/loop|gpu/model)\.py:", report["verdict"]["sentence"]) is not None, True)
        if "--entries" not in truth["arguments"]:
            same(name, "entries", device["events"], truth["phases"][-1]["events"] + 1)
            moments(name, truth, recording)
        if truth["phases"][-1]["name"] == "snapshot" and "--entries" not in truth["arguments"]:
            phases(name, report, truth["arguments"])
        out_of_memory(name, truth, device, report)
        if name == "plain":
            shapes(truth, recording)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
