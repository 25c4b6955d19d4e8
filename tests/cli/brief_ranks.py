"""Ranks for tests/cli/brief.sh: brief_ranks.py SNAPSHOT OUTDIR RANKS

As tests/bench/ranks.py makes them (of RANKS ranks RANKS / 3 fails first, RANKS / 2 0.75 s later, three hold more), and of two of them,
the one that fails first and the last, a second snapshot of the same process: it was written later and has two more events."""

import copy
import os
import pickle
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "bench"))
import ranks as bench


def went_on(text):
    """The same process a moment later: it took a block of a hole and gave it back."""
    snapshot = pickle.loads(text)
    events = snapshot["device_traces"][0]
    hole, stream = next((b, s["stream"]) for s in snapshot["segments"] for b in s["blocks"] if b["state"] == "inactive")
    for n, action in enumerate(("alloc", "free_requested", "free_completed")):
        event = copy.deepcopy(events[-1])
        event.update(action=action, addr=hole["address"], size=512, stream=stream, time_us=events[-1]["time_us"] + n + 1)
        events.append(event)
    return pickle.dumps(snapshot, protocol=4)


def main(path, out, n):
    with open(path, "rb") as f:
        base = f.read()
    os.makedirs(out)
    for rank in range(n):
        text = bench.made(base, rank, n)
        name = os.path.join(out, "mt-node%d-%d-%x-rank%d-" % (rank // 8, 1000 + rank, 4096 + rank, rank))
        twice = rank in (n // 3, n - 1)
        for when, data in (("oom", text), ("end", went_on(text))) if twice else (("end", text),):
            with open(name + when + ".pickle", "wb") as f:
                f.write(data)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
