#!/usr/bin/env python3
"""What a table of torch_npu's profiler says was allocated, by its own sums: no block is followed.

    ascend.py FILE...                    start, peak, end and highest reserve of each device
    ascend.py --against PROGRAM FILE...  compared with what memtrace says, to the byte; exit status 1 when something differs"""

import csv
import json
import subprocess
import sys
from decimal import Decimal

KEYS = "live_start_bytes", "live_peak_bytes", "live_end_bytes", "reserved_peak_bytes"


def number(text, unit):
    text = (text or "").strip()
    return round(Decimal(text) * unit) if text else None


def events_of(path):
    """(time, place, device, pool, bytes, allocated behind it or None, reserved or None)"""
    with open(path, newline="", encoding="utf-8-sig") as file:
        rows = list(csv.DictReader(file))
    out = []
    for i, row in enumerate(rows):
        size = number(row["Size(KB)"], 1024)
        device = int(row["Device Type"].split(":")[1])
        graph = row["Name"].startswith("cann::")
        said = {k: (number(row[k + " Total Allocated(MB)"], 1 << 20), number(row[k + " Total Reserved(MB)"], 1 << 20)) for k in ("Allocation", "Release")}
        begin, end = number(row["Allocation Time(us)"], 1000), number(row["Release Time(us)"] or row.get("Active Release Time(us)"), 1000)
        if size > 0:
            out.append((begin, 2 * i, device, graph, size) + said["Allocation"])
        if end is not None:
            out.append((end, 2 * i + 1, device, graph, -abs(size)) + said["Release"])
    return sorted(out)


def figures(path):
    found = {}
    for _, _, device, pool, size, allocated, reserved in events_of(path):
        d = found.setdefault(device, {"sum": {}, "reserved": {False: 0, True: 0}, "start": None, "peak": 0, "most": 0})
        before = d["sum"].get(pool)
        if allocated is None or (pool and size < 0 and allocated == before):  # newer versions: from before the free
            allocated = before + size
        if before is None and d["start"] is None:
            d["start"] = d["peak"] = allocated - size
        d["sum"][pool] = allocated
        if reserved is not None:
            d["reserved"][pool] = reserved
        both = sum(d["sum"].values())
        d["peak"] = max(d["peak"], both, both - size)  # what changed unseen came before
        d["most"] = max(d["most"], sum(d["reserved"].values()))
        d["end"] = both
    return {device: dict(zip(KEYS, (d["start"], d["peak"], d["end"], d["most"]))) for device, d in found.items()}


def compare(program, path):
    done = subprocess.run([program, "report", "--format", "json", "-o", "-", path], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        return ["status %d: %s" % (done.returncode, done.stderr.decode())]
    devices = {d["device"]: d for d in json.loads(done.stdout)["devices"]}
    wrong = []
    for ordinal, figure in figures(path).items():
        for key, value in figure.items():
            if devices.get(ordinal, {}).get(key) != value:
                wrong.append("device %d, %s: %s, the reference has %s" % (ordinal, key, devices.get(ordinal, {}).get(key), value))
    return wrong


def main():
    args, different = sys.argv[1:], 0
    if args[:1] == ["--against"]:
        for path in args[2:]:
            wrong = compare(args[1], path)
            different += bool(wrong)
            print(path, "equal" if not wrong else wrong)
        return 1 if different else 0
    for path in args:
        print(path, figures(path))
    return 0


if __name__ == "__main__":
    sys.exit(main())
