#!/usr/bin/env python3
"""Numbers of a snapshot by way of Python's own unpickler, to hold the C reader against.

    make_pickles.py --sums FILE...      one row of struct real_file (tests/unit/test_pickle.c) for each file
    make_pickles.py --odd FOLDER        snapshots in forms that no known pickler writes but the format allows

The unpickler refuses every global, so reading a file runs no code."""
import io
import os
import pickle
import sys

M = (1 << 64) - 1


class Plain(pickle.Unpickler):
    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"refused: {module}.{name}")


def load(path):
    with open(path, "rb") as f:
        return Plain(f).load()


def text(s):
    return len(s.encode("utf-8", "surrogatepass"))


def stack(frames):
    """Order matters; so do the lengths of the texts and the line."""
    return sum((i + 1) * (text(f["name"]) + 3 * text(f["filename"]) + 7 * f["line"]) for i, f in enumerate(frames))


def sums(path):
    snap = load(path)
    if isinstance(snap, list):
        snap = {"segments": snap}
    events = [e for trace in snap.get("device_traces", []) for e in trace]
    blocks = [b for s in snap["segments"] for b in s["blocks"]]
    row = {
        "n_events": len(events),
        "addr": sum(e.get("addr", e.get("device_free", 0)) for e in events) & M,
        "size": sum(e["size"] for e in events) & M,
        "time": sum(e.get("time_us", 0) for e in events) & M,
        "stacks": sum(stack(e.get("frames", [])) for e in events) & M,
        "n_segments": len(snap["segments"]),
        "total": sum(s["total_size"] for s in snap["segments"]),
        "n_blocks": len(blocks),
        "block_size": sum(b["size"] for b in blocks),
        "block_stacks": sum(block_stack(b) for b in blocks) & M,
    }
    return row


def block_stack(b):
    if b["state"] == "inactive":
        return 0
    return stack(b.get("frames") or (b.get("history") or [{}])[0].get("frames") or [])


def odd(folder):
    os.makedirs(folder, exist_ok=True)
    snap = {"segments": [], "device_traces": [[{"action": "alloc", "addr": 1 << 40, "size": 512, "stream": 0, "time_us": 5,
                                                "frames": [{"name": "f", "filename": "f.py", "line": 3}]}]]}
    for protocol in range(6):
        with open(os.path.join(folder, f"fast{protocol}.pickle"), "wb") as f:
            p = pickle._Pickler(f, protocol)
            p.fast = True  # no memo at all
            p.dump(snap)
    both = io.BytesIO()
    pickle.dump(snap, both)
    pickle.dump(snap, both)
    with open(os.path.join(folder, "two_in_one.pickle"), "wb") as f:
        f.write(both.getvalue())


def main(argv):
    if len(argv) >= 2 and argv[0] == "--sums":
        for path in argv[1:]:
            r = sums(path)
            print('    { "%s", %s },' % (os.path.basename(path), ", ".join("UINT64_C(%d)" % v for v in r.values())))
        return 0
    if len(argv) == 2 and argv[0] == "--odd":
        odd(argv[1])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
