#!/usr/bin/env python3
"""Recordings of torch.profiler, read a second time: the curve of every device, its peak, sums and categories. Shares nothing with the C
sources: the whole file is parsed by the json module, nothing is streamed.

    profiler.py FILE...                  one line for each file and device
    profiler.py --against PROGRAM FILE...  compares them with what `PROGRAM report --format json` says; exit status 1 if something differs"""

import collections
import gzip
import json
import re
import subprocess
import sys

import against

CATEGORIES = 8
KINDS = ["PARAMETER", "OPTIMIZER_STATE", "INPUT", "TEMPORARY", "ACTIVATION", "GRADIENT", "AUTOGRAD_DETAIL", "no category"]


def load(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data)


def nanoseconds(text):
    whole, _, part = text.partition(".")
    return int(whole) * 1000 + int((part + "000")[:3])


def trace_devices(path):
    """{device: facts} of a Chrome trace. Times are kept as text until they are nanoseconds: a double has too few digits."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    document = json.loads(data, parse_float=str, parse_int=str)
    events = document["traceEvents"] if isinstance(document, dict) else document
    memory = [e for e in events if e.get("ph") == "i" and e.get("name") == "[memory]"]
    kinds = {e["args"]["Device Type"] for e in memory}
    by_device = collections.defaultdict(list)
    for e in memory:
        a = e["args"]
        if a["Device Type"] != "0" or kinds == {"0"}:
            by_device[max(int(a["Device Id"]), 0)].append((nanoseconds(e["ts"]), a))
    out = {}
    for device, rows in by_device.items():
        rows.sort(key=lambda r: r[0])  # stable: the order of the file where times are equal
        run, low, curve, total = 0, 0, [], None
        for _, a in rows:
            run += int(a["Bytes"])
            low = min(low, run)
            if "Total Allocated" in a:
                total = int(a["Total Allocated"])
                curve.append(total)
            else:
                curve.append(run)
        if total is None:
            start = -low
            curve = [c + start for c in curve]
            reserved = 0
        else:
            start = int(rows[0][1]["Total Allocated"]) - int(rows[0][1]["Bytes"])
            reserved = max(int(a["Total Reserved"]) for _, a in rows)
        out[device] = {
            "live_start_bytes": start,
            "live_peak_bytes": max([start] + curve),
            "live_end_bytes": curve[-1],
            "reserved_peak_bytes": reserved,
            "allocations": sum(int(a["Bytes"]) > 0 for _, a in rows),
            "allocated_bytes": sum(max(int(a["Bytes"]), 0) for _, a in rows),
        }
    return out


def timeline_device(document):
    """Sums by category, from the changes of the raw form or the rows of the other."""
    now, best = [0] * CATEGORIES, None
    rows = document
    raw = len(document) != 2 or not isinstance(document[0], list) or len(document[0]) == 4 and not isinstance(document[1][0], list)
    if not raw:
        rows = zip(*document)
    for row in rows:
        if raw:
            now[row[3]] += row[2]
        else:
            now = row[1][1:] + [0] * (CATEGORIES + 1 - len(row[1]))
        if best is None or sum(now) > sum(best):
            best = list(now)
    return {"live_start_bytes": 0, "live_peak_bytes": sum(best), "live_end_bytes": sum(now), "reserved_peak_bytes": 0}, best


def facts(path):
    """[(device, facts, bytes by category at the peak or None)]"""
    document = load(path)
    if isinstance(document, list) and document and isinstance(document[0], list):
        found, best = timeline_device(document)
        return [(0, found, best)]
    return [(device, found, None) for device, found in sorted(trace_devices(path).items())]


def compare(program, path):
    done = subprocess.run([program, "report", "--format", "json", "-o", "-", path], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        return ["%s: exit status %d: %s" % (path, done.returncode, done.stderr.decode().strip())]
    report = json.loads(done.stdout)
    out = []
    for device, found, categories in facts(path):
        said = next((d for d in report["devices"] if d["device"] == device), None)
        if said is None:
            out.append("%s: device %d is not reported" % (path, device))
            continue
        out += ["%s: device %d: %s is %s, not %d" % (path, device, k, said[k], v) for k, v in found.items() if said[k] != v]
        if categories is not None:
            held = dict.fromkeys(KINDS, 0)
            for owner in report["owners"]:
                name = re.sub(r"^category ", "", owner["label"])
                held[name] = held.get(name, 0) + owner["bytes"]
            out += ["%s: %s has %d bytes at the peak, not %d" % (path, k, held[k], v) for k, v in zip(KINDS, categories) if held[k] != v]
    return out


def show(path):
    for device, found, categories in facts(path):
        print(path, device, found, categories if categories is not None else "")


if __name__ == "__main__":
    sys.exit(against.main(sys.argv[1:], compare, show))
