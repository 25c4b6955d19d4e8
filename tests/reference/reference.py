#!/usr/bin/env python3
"""What memtrace has to find in a snapshot, computed a second time and independently of it.

    reference.py FILE...                               one verdict row per file and device, tab separated
    reference.py --owners 10 FILE                      and the owners behind it
    reference.py --check-replay REPLAY.json FILE...    compares the replay with a table of known results
    reference.py --check-optimizer FILE...             compares the phases with the annotations in the files
    reference.py --expect VERDICTS.tsv DIR             compares the verdicts of the files in DIR with a written table
    reference.py --against PROGRAM FILE...             compares phase and label of every allocation and block with attributions.c

--rules TABLE names another table of frame signatures than that of the project.

Reads pickles with an unpickler that refuses every global, and JSON, both also gzipped. Standard library only.
The definitions are in README.md beside this file."""

import argparse
import base64
import gzip
import io
import json
import os
import pickle
import re
import subprocess
import sys
import tarfile

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import owners  # noqa: E402
import phases  # noqa: E402

ACTIVE = ("active_allocated", "active_pending_free", "active_awaiting_free")
COLUMNS = (
    "file",
    "kind",
    "device",
    "rank",
    "peak_bytes",
    "phase",
    "sub_phase",
    "top_owner_label",
    "top_owner_bytes",
    "n_events",
    "peak_event",
)
RANK = (r"rank[_]?0*(\d+)", r"-TP-0*(\d+)", r"^0*(\d+)_step_", r"_0*(\d+)\.(?:pickle|pkl)(?:\.\w+)?$")


class PlainUnpickler(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError("global %s.%s refused" % (module, name))

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("persistent id refused")


def parse(data):
    """Pickle, JSON, or a page of _memory_viz with one pickle in it."""
    start = data.lstrip()[:1]
    if start == b"<":
        found = re.search(rb'"base64": "([^"]*)"', data)
        data = base64.b64decode(found.group(1))
    elif start in (b"{", b"["):
        return json.loads(data.decode("utf-8", "surrogatepass"))
    return PlainUnpickler(io.BytesIO(data)).load()


def members(path):
    """(name, bytes) of each snapshot in a file."""
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if data[257:262] != b"ustar":
        return [(path, data)]
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        return [(path + "/" + m.name, archive.extractfile(m).read()) for m in archive if m.isfile()]


def load(path):
    return parse(members(path)[0][1])


def rank_of(path):
    for part in reversed(path.split("/")):
        for pattern in RANK:
            found = re.search(pattern, part)
            if found:
                return int(found.group(1))
    return None


class Block:
    def __init__(self, address, size, requested, state, frames):
        self.address, self.size, self.requested, self.state, self.frames = (
            address,
            size,
            requested,
            state,
            frames,
        )


def blocks_of(segment):
    """Blocks of any age of the format: without address (summed up), with a history instead of frames (up to 2.0)."""
    at = segment["address"]
    for block in segment["blocks"]:
        history = block.get("history") or []
        requested = block.get("requested_size")
        if requested is None:  # 1.13: the size of the last allocation stands in the history
            requested = history[0]["real_size"] if history else block["size"]
        frames = block.get("frames")
        if frames is None and history:
            frames = history[0].get("frames")
        yield Block(block.get("address", at), block["size"], requested, block["state"], frames or [])
        at += block["size"]


class Device:
    def __init__(self, ordinal, events, segments):
        self.ordinal, self.events, self.segments = ordinal, events, segments
        self.blocks = [block for segment in segments for block in blocks_of(segment)]


def devices_of(snapshot):
    if isinstance(snapshot, list):
        snapshot = {"segments": snapshot, "device_traces": []}
    segments, traces = snapshot["segments"], snapshot.get("device_traces", [])
    used = {s.get("device", 0) for s in segments} | {i for i, t in enumerate(traces) if t}
    for ordinal in sorted(used):
        yield Device(
            ordinal,
            traces[ordinal] if ordinal < len(traces) else [],
            [s for s in segments if s.get("device", 0) == ordinal],
        )


class Replay:
    """Anchored on the end state: the live bytes at the start are what has to have been there."""

    def __init__(self, device):
        events = device.events
        self.live_end = sum(b.requested for b in device.blocks if b.state in ACTIVE)
        self.pending_end = sum(b.requested for b in device.blocks if b.state in ACTIVE[1:])
        self.reserved_end = sum(s["total_size"] for s in device.segments)
        gained = {"alloc": 1, "free_completed": -1}
        mapped = {"segment_alloc": 1, "segment_map": 1, "segment_free": -1, "segment_unmap": -1}
        live = self.live_start = self.live_end - sum(gained.get(e["action"], 0) * e["size"] for e in events)
        reserved = self.reserved_start = self.reserved_end - sum(
            mapped.get(e["action"], 0) * e["size"] for e in events
        )
        self.live_peak, self.peak_event, self.reserved_peak = live, -1, reserved
        self.lowest = min(live, reserved)
        self.ooms = []
        for index, event in enumerate(events):
            live += gained.get(event["action"], 0) * event["size"]
            reserved += mapped.get(event["action"], 0) * event["size"]
            if live > self.live_peak:
                self.live_peak, self.peak_event = live, index
            self.reserved_peak = max(self.reserved_peak, reserved)
            self.lowest = min(self.lowest, live, reserved)
            if event["action"] == "oom":
                self.ooms.append((index, event["size"], event.get("device_free", 0), live, reserved))


class Live:
    __slots__ = ("size", "frames", "born")

    def __init__(self, size, frames, born):
        self.size, self.frames, self.born = (
            size,
            frames,
            born,
        )  # born: number of the alloc event, None = before


def live_at(device, moment):
    """The live blocks after event `moment`; -1 is the start. Addresses may be reused any number of times."""
    now = []
    open_blocks = {}
    seen_alloc = set()
    before = []  # freed in the window, never allocated in it
    closed = []  # (born, died, Live)
    for index, event in enumerate(device.events):
        if event["action"] == "alloc":
            if event["addr"] in open_blocks:
                closed.append((open_blocks[event["addr"]], index))
            open_blocks[event["addr"]] = Live(event["size"], event.get("frames") or [], index)
            seen_alloc.add(event["addr"])
        elif event["action"] == "free_completed":
            block = open_blocks.pop(event["addr"], None)
            if block is None:
                before.append((Live(event["size"], [], None), index))
            else:
                closed.append((block, index))
    for block, died in before:
        if died > moment:
            now.append(block)
    for block, died in closed:
        if block.born <= moment < died:
            now.append(block)
    now += [block for block in open_blocks.values() if block.born <= moment]
    for block in device.blocks:  # live through the whole window
        if block.state in ACTIVE and block.address not in open_blocks:
            now.append(Live(block.requested, block.frames, None))
    return now


def segment_size(request):
    """What the caching allocator asks of the driver for a request."""
    mib = 1 << 20
    if request <= mib:
        return 2 * mib
    if request < 10 * mib:
        return 20 * mib
    return (request + 2 * mib - 1) // (2 * mib) * (2 * mib)


def oom_kind(request, device_free, live, reserved):
    if device_free >= segment_size(request):
        return "oom_limit"
    holes = reserved - live
    in_pieces = holes >= request // 10 and holes + device_free >= request
    if holes < reserved // 20 and holes + device_free - request < (reserved + device_free) // 50:
        in_pieces = False  # full: in one piece next to nothing would be left
    return "oom_fragmentation" if in_pieces else "oom_capacity"


class Verdict:
    pass


def verdict(rules, device):
    replay = Replay(device)
    allocs = [i for i, e in enumerate(device.events) if e["action"] == "alloc"]
    # An oom event carries the stack of the request that failed: it is attributed like an allocation.
    asked = [i for i, e in enumerate(device.events) if e["action"] in ("alloc", "oom")]
    found = phases.attribute(rules, [device.events[i].get("frames") or [] for i in asked])
    by_event = dict(zip(asked, found))

    out = Verdict()
    out.replay, out.by_event, out.n_events = replay, by_event, len(device.events)
    out.allocs = allocs
    if replay.ooms:
        moment = replay.ooms[0][0]
        out.kind = oom_kind(*replay.ooms[0][1:])
    elif allocs:
        moment = replay.peak_event
        out.kind = "peak"
    else:
        moment = replay.peak_event
        out.kind = "end_state"
    out.moment = moment
    out.live = live_at(device, moment)
    out.owners = owners.rank_owners([(b.size, b.frames) for b in out.live])

    alone = {}
    shares = {}
    for block in out.live:
        if block.born is not None:
            place = by_event[block.born]
        else:
            if id(block.frames) not in alone:
                alone[id(block.frames)] = phases.attribute_alone(rules, block.frames)
            place = alone[id(block.frames)]
        key = (place.phase, place.sub or "-")
        shares[key] = shares.get(key, 0) + block.size
    out.shares = sorted(shares.items(), key=lambda item: (-item[1], item[0]))
    if moment in by_event:
        out.phase, out.sub = by_event[moment].phase, by_event[moment].sub or "-"
        out.how = by_event[moment]
    elif out.shares:
        out.phase, out.sub = out.shares[0][0]
        out.how = None
    else:
        out.phase, out.sub, out.how = "unattributed", "-", None
    return out


def row_of(name, device, v):
    rank = rank_of(name)
    top = v.owners[0] if v.owners else (0, 0, "-")
    return [
        str(x)
        for x in (
            name,
            v.kind,
            device.ordinal,
            "-" if rank is None else rank,
            v.replay.live_peak,
            v.phase,
            v.sub,
            top[2].replace("\t", " "),
            top[0],
            v.n_events,
            v.replay.peak_event,
        )
    ]


def check_verdicts(rules, table, directory):
    with open(table, encoding="utf-8") as file:
        rows = [line.rstrip("\n").split("\t") for line in file if line.strip()]
    bad, cache = 0, {}
    for expected in rows[1:]:
        path = os.path.join(directory, expected[0])
        whole = re.sub(r"(\.tar\.gz)/.*", r"\1", path)
        if whole not in cache:
            cache[whole] = {name: parse(data) for name, data in members(whole)}
        got = [
            row_of(expected[0], d, verdict(rules, d))
            for d in devices_of(cache[whole][path])
            if str(d.ordinal) == expected[2]
        ]
        if got != [expected]:
            bad += 1
            print("DIFFERS\n  expected %s\n  got      %s" % (expected, got[0] if got else "no such device"))
    print("%d verdicts compared, %d differ" % (len(rows) - 1, bad))
    return 1 if bad or len(rows) < 2 else 0


def check_program(rules, program, files):
    """Phase of every allocation, phase and label of every live block by itself: here and there."""
    done = subprocess.run([program] + files, stdout=subprocess.PIPE, check=False)
    said = {}
    for line in done.stdout.decode("utf-8", "surrogateescape").split("\n"):
        part = line.split(" ", 6)
        if part[0] in ("event", "block"):
            said[part[0], int(part[1]), int(part[2]), int(part[3])] = tuple(part[4:])
    bad = n = 0
    for number, path in enumerate(files):
        for device in devices_of(load(path)):
            mine = {}
            asked = [i for i, e in enumerate(device.events) if e["action"] in ("alloc", "oom")]
            found = phases.attribute(rules, [device.events[i].get("frames") or [] for i in asked])
            for index, place in zip(asked, found):
                mine["event", number, device.ordinal, index] = (place.phase, place.sub or "-")
            for block in device.blocks:
                if block.state in ACTIVE:
                    place = phases.attribute_alone(rules, block.frames)
                    mine["block", number, device.ordinal, block.address] = (
                        place.phase,
                        place.sub or "-",
                        owners.owner(block.frames)[1],
                    )
            n += len(mine)
            wrong = [key for key in mine if said.get(key) != mine[key]]
            bad += len(wrong)
            for key in wrong[:5]:
                print(
                    "DIFFERS %s device %d, %s %d\n  reference %s\n  program   %s"
                    % (path, key[2], key[0], key[3], mine[key], said.get(key))
                )
    print("%d attributions of %d files compared, %d differ" % (n, len(files), bad))
    return 1 if bad or not n or done.returncode else 0


def check_replay(table, files):
    with open(table, encoding="utf-8") as file:
        expected = json.load(file)
    bad = done = 0
    for path in files:
        for device in devices_of(load(path)):
            key = "%s#%d" % (os.path.basename(path), device.ordinal)
            if key not in expected:
                print("not in the table: " + key)
                continue
            replay = Replay(device)
            got = {
                "events": len(device.events),
                "reserved_init": replay.reserved_start,
                "reserved_peak": replay.reserved_peak,
                "reserved_end": replay.reserved_end,
                "active_req_init": replay.live_start,
                "active_req_peak": replay.live_peak,
                "active_req_peak_event": replay.peak_event,
                "active_req_end": replay.live_end,
                "pending_free_req_end": replay.pending_end,
            }
            moment = replay.peak_event
            live = sum(b.size for b in live_at(device, moment))
            done += 1
            if got != expected[key]:
                bad += 1
                print("DIFFERS %s\n  expected %s\n  got      %s" % (key, expected[key], got))
            if live != replay.live_peak:
                print(
                    "note: %s: blocks at the peak sum to %d, the curve says %d"
                    % (key, live, replay.live_peak)
                )
    print("%d rows compared, %d differ" % (done, bad))
    return 1 if bad or not done else 0


def check_optimizer(rules, files):
    """PyTorch itself marks the ranges of Optimizer.step: from frames alone the same allocations have to be found."""
    bad = ranges = 0
    for path in files:
        snapshot = load(path)
        if isinstance(snapshot, list):
            continue
        marks = [
            a for a in snapshot.get("external_annotations", []) if a["name"].startswith("Optimizer.step#")
        ]
        for device in devices_of(snapshot):
            spans, start = [], None
            for mark in sorted(
                (m for m in marks if m["device"] == device.ordinal), key=lambda m: m["time_us"]
            ):
                if mark["stage"] == "START":
                    start = mark["time_us"]
                elif start is not None:
                    spans.append((start, mark["time_us"]))
                    start = None
            if not spans:
                continue
            ranges += len(spans)
            allocs = [e for e in device.events if e["action"] == "alloc"]
            found = phases.attribute(rules, [e.get("frames") or [] for e in allocs])
            inside = wrong = outside = 0
            for event, place in zip(allocs, found):
                marked = any(a <= event["time_us"] <= b for a, b in spans)
                inside += marked
                wrong += marked and place.sub not in ("optimizer", "optim_state_init")
                outside += not marked and place.sub in ("optimizer", "optim_state_init")
            bad += wrong + outside
            print(
                "%s#%d: %d ranges, %d allocations inside, %d of them not optimizer, %d optimizer outside"
                % (os.path.basename(path), device.ordinal, len(spans), inside, wrong, outside)
            )
    return 1 if bad or not ranges else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument(
        "--rules",
        metavar="TABLE",
        default=os.path.join(HERE, "..", "..", "analysis", "rules", "phases.json"),
        help="the signature table, .json or .tsv",
    )
    parser.add_argument("--owners", type=int, default=0, metavar="N", help="also print the first N owners")
    parser.add_argument(
        "--strip", default="", metavar="DIR", help="leave this directory out of the printed names"
    )
    parser.add_argument("--check-replay", metavar="TABLE.json")
    parser.add_argument("--expect", metavar="VERDICTS.tsv")
    parser.add_argument("--against", metavar="PROGRAM")
    parser.add_argument("--check-optimizer", action="store_true")
    args = parser.parse_args()
    if args.check_replay:
        return check_replay(args.check_replay, args.files)
    rules = phases.Rules(args.rules)
    if args.check_optimizer:
        return check_optimizer(rules, args.files)
    if args.against:
        return check_program(rules, args.against, args.files)
    if args.expect:
        return check_verdicts(rules, args.expect, args.files[0])
    print("\t".join(COLUMNS))
    for path in args.files:
        for name, data in members(path):
            for device in devices_of(parse(data)):
                v = verdict(rules, device)
                print(
                    "\t".join(
                        row_of(
                            os.path.relpath(name, args.strip) if args.strip else os.path.basename(name),
                            device,
                            v,
                        )
                    )
                )
                for size, blocks, label in v.owners[: args.owners]:
                    print("#   owner %15d %6d blocks  %s" % (size, blocks, label))
                for (phase, sub), size in v.shares[: args.owners]:
                    print("#   birth %15d %s / %s" % (size, phase, sub))
                if args.owners and v.how is not None:
                    print("#   how: %s %s role %s" % (v.how.method, v.how.sure, v.how.role))
    return 0


if __name__ == "__main__":
    sys.exit(main())
