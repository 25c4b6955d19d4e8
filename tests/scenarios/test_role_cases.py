#!/usr/bin/env python3
"""Every role rule has a case, and the report of the case says what the rule says.

role_cases.tsv: rule, the frame that allocates ("path:line function"; of a C++ frame the name alone), the role of a block that was made there and
stays (what reduces a gradient and stays is the gradient), and other frames whose blocks lie beside it (separated by " | "; "-": none), where the rule needs some. Role "-": the frame
alone decides nothing, the unit test named beside shows what it takes. A rule with "at": "free" names what lets the block go: there
the frame is that of the free, and the block was made by a function that says nothing. A rule without a line and a line without
its rule are failures. Beside each block lies one of the same function in a file of somebody else: no frame may name that one."""

import csv
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
RULES = json.loads((HERE.parents[1] / "analysis" / "rules" / "roles.json").read_text(encoding="utf-8"))["roles"]
AT_FREE = {rule["id"] for rule in RULES if rule.get("at") == "free"}
BY_NAME = {rule["function"] for rule in RULES if rule["file"] == "*"}
MIB = 1 << 20
SIZE, OTHER, CONTROL = 48 * MIB, 40 * MIB, 32 * MIB
OUTER = [{"filename": "/root/job/main.py", "line": 12, "name": "<module>"}]
FRAME = re.compile(r"^(\S+):(\d+) (\S+)$")


def frames(text):
    match = FRAME.match(text)
    if match:
        return [{"filename": match.group(1), "line": int(match.group(2)), "name": match.group(3)}] + OUTER
    return [{"filename": "??", "line": 0, "name": text}] + OUTER


def elsewhere(text):
    """The same function, but somebody else's; what is known by its name alone is called otherwise."""
    match = FRAME.match(text)
    if not match or match.group(3) in BY_NAME:
        return frames("/root/job/other.py:7 something_else")
    return frames("/root/job/other.py:7 " + match.group(3))


def snapshot(blocks, freed_by=()):
    """Blocks that were allocated in this order and stay, or are freed in this order with the stacks of `freed_by`."""
    address, out, events = 1 << 40, [], []
    for size, stack in blocks:
        out.append({"address": address, "size": size, "requested_size": size, "state": "inactive" if freed_by else "active_allocated",
                    "frames": stack})
        events.append({"action": "alloc", "addr": address, "size": size, "stream": 0, "time_us": 1000 + len(events), "frames": stack})
        address += size
    for block, stack in zip(list(out), freed_by):
        for action in ("free_requested", "free_completed"):
            events.append({"action": action, "addr": block["address"], "size": block["size"], "stream": 0, "time_us": 1000 + len(events),
                           "frames": stack})
    total = sum(size for size, _ in blocks)
    live = 0 if freed_by else total
    segment = {"device": 0, "address": 1 << 40, "total_size": total, "allocated_size": live, "active_size": live, "stream": 0,
               "segment_type": "large", "segment_pool_id": [0, 0], "blocks": out}
    return {"segments": [segment], "device_traces": [events]}


def report(program, blocks, folder, freed_by=()):
    path = folder / "case.json"
    path.write_text(json.dumps(snapshot(blocks, freed_by)), encoding="utf-8")
    done = subprocess.run([program, "report", str(path), "--format", "json", "-o", "-", "--verify"], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        return None, done.stderr.decode("utf-8", "replace").strip()
    return json.loads(done.stdout)["devices"][0], ""


def judge(program, row, folder):
    if row["role"] == "-":
        unit = HERE.parents[0] / "unit" / row["beside"]
        return None if unit.is_file() and row["frame"] in unit.read_text(encoding="utf-8") else "%s has no such frame" % row["beside"]
    blocks = [(OTHER, frames(text)) for text in row["beside"].split(" | ") if text != "-"]
    if row["rule"] in AT_FREE:
        plain = frames("/root/job/job.py:3 something")
        device, error = report(program, [(SIZE, plain), (CONTROL, plain)], folder, (frames(row["frame"]), elsewhere(row["frame"])))
    else:
        device, error = report(program, blocks + [(SIZE, frames(row["frame"])), (CONTROL, elsewhere(row["frame"]))], folder)
    if device is None:
        return error
    roles = {r["role"]: r["bytes"] for r in device["roles"]}
    by_frame = sum(w["bytes"] for w in device["known_by"] if w["reason"] == "frame")
    wanted = SIZE + OTHER * len(blocks)
    if roles.get(row["role"], 0) not in (SIZE, SIZE + CONTROL, SIZE + OTHER, SIZE + OTHER + CONTROL):
        return "%s is not its role: %s" % (row["role"], {k: v // MIB for k, v in roles.items() if v})
    return None if by_frame == wanted else "by frames %d MiB are known, not %d" % (by_frame // MIB, wanted // MIB)


def main():
    program, failed, seen = os.environ.get("MEMTRACE", "memtrace"), [], set()
    rules = {rule["id"] for rule in RULES}
    with open(HERE / "role_cases.tsv", encoding="utf-8", newline="") as f:
        rows = list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))
    with tempfile.TemporaryDirectory() as folder:
        for row in rows:
            if row["rule"] not in rules:
                failed.append("role_cases.tsv: there is no rule %s" % row["rule"])
            if row["rule"] in seen:
                failed.append("role_cases.tsv: %s stands twice" % row["rule"])
            seen.add(row["rule"])
            wrong = judge(program, row, pathlib.Path(folder))
            if wrong:
                failed.append("%s: %s" % (row["rule"], wrong))
    for rule in sorted(rules - seen):
        failed.append("rule %s has no case: add a line to role_cases.tsv" % rule)
    for text in failed:
        print("not ok: " + text)
    print("%d role rules, %d cases, %d complaints" % (len(rules), len(rows), len(failed)))
    return 1 if failed or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
