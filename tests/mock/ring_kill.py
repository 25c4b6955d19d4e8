"""kill -9 while a recording that keeps the newest turns: what is left begins with a whole checkpoint, no call since is lost, none is
invented, and what is held is what the calls that were made leave."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402
import ring_lib  # noqa: E402

WORK = {"random": "random:0", "vmm": "vmm:0", "async": "async:0", "steady": "steady:0"}


def states(spool):
    """In the middle of what the process was killed: names of the files that say so."""
    names = [f.name for f in spool.iterdir()]
    return {"part": any(".part." in n for n in names), "base": any(n.endswith(".base.gz") for n in names),
            "numbered": sum(1 for n in names if n.split(".")[-2].isdigit())}


def calls_in(body):
    """CALL records of a chunk, counted without decoding them."""
    at = n = 0
    while at < len(body):
        n += body[at] == 8
        size = body[at + 1]
        at += 2
        if size & 128:  # of two bytes: no record here is longer than 16 KiB
            size = size & 127 | body[at] << 7
            at += 1
        at += size
    return n


def left_by(spool):
    """(what is wrong, calls let go, calls left, whether there is a checkpoint, records dropped) by chunks and their numbers alone. Records are
    dropped, and counted, where more calls are made than a busy machine can write."""
    trace = kit.trace_decode.Trace().add(spool)
    checkpoints = trace._newest_checkpoints()
    chunks = {seq: c for (_, kind, seq, _), c in trace._chunks.items() if kind == kit.trace_decode.PROCESS}
    first, let_go, wrong = 0, 0, kit.damage(trace)
    for first, parts in checkpoints.values():
        let_go = parts[0].checkpoint()["calls"]
        said = max(r["parts"] for part in parts.values() for r in part.checkpoints())
        wrong += [] if sorted(parts) == list(range(said)) else [f"parts {sorted(parts)} of {said}"]
    there = sorted(seq for seq in chunks if seq >= first)
    wrong += [] if there == list(range(first, first + len(there))) else [f"chunks from {first}: {there}"]
    dropped = sum(head.get("dropped", 0) for head, _ in trace._spools)
    return wrong, let_go, sum(calls_in(chunks[seq].body) for seq in there), bool(checkpoints), dropped


def wait(spool, rng):
    """Until something was let go, and then a moment; in one of three until a checkpoint is being written. One in ten does not wait."""
    if rng.random() < 0.1:
        time.sleep(rng.uniform(0.05, 0.3))
        return True
    if not kit.until(lambda: any(f.name.endswith(".base.gz") for f in spool.iterdir())):
        return False
    end = time.monotonic() + 1
    if rng.random() < 0.4:
        while time.monotonic() < end and not any(".part." in n for n in os.listdir(spool)):
            pass
    else:
        time.sleep(rng.uniform(0.0, 0.05))
    return True


def trial(number, rng):
    """One kill; returns (calls that were made, whether something had been let go, whether it was killed in the middle of a checkpoint)."""
    spool, truth = kit.scratch(), kit.scratch()
    threads, kind = rng.choice([1, 1, 2]), rng.choice(sorted(WORK))
    lines = threads == 1 and rng.random() < 0.1  # books of the test's own: costs seconds
    flush = rng.choice([5, 20, 100])
    what = f"kill {number}: {threads} threads of {kind}, flush {flush} ms{', with books' if lines else ''}"
    env = kit.environment("cuda13", True, spool, FAKE_TRUTH=truth, FAKE_TRUTH_LINES=None if lines else 0, MEMTRACE_FLUSH_MS=flush, MEMTRACE_KEEP_MB=1,
                          MEMTRACE_MEMORY2=0, MEMTRACE_STACKS=rng.choice([0, 1]))
    child = subprocess.Popen([str(kit.APP), "device:0", f"leak:1:{rng.choice([20, 3000])}", f"threads:{threads}", WORK[kind]], env=env,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    kit.check(f"{what}: it turns", wait(spool, rng))
    child.send_signal(signal.SIGKILL)
    child.wait()
    made, left = kit.counted(truth, child.pid), states(spool)
    if made == 0:
        return 0, False, False
    wrong, let_go, rest, turned, dropped = left_by(spool)
    kit.check(f"{what}: whole", not wrong, *wrong, left)
    # a dropped record need not be a call
    kit.check(f"{what}: {made} calls, {let_go} let go, {rest} left, {dropped} dropped", made <= let_go + rest + dropped and let_go + rest <= made + threads,
              made - let_go - rest - dropped, left)
    if dropped:
        kit.note(f"{what}: {dropped} records were dropped")
    elif lines and turned:
        p = next(q for q in kit.trace_decode.load(spool).recorded() if q.pid == child.pid)
        calls = ring_lib.lines(truth, child.pid)
        wrong = ring_lib.differences(ring_lib.after(sorted(p.calls, key=lambda c: c["time"]), calls[-1]["t1"]), ring_lib.after(calls))
        kit.check(f"{what}: what is held", not wrong, *wrong)
    return made, turned, left["part"]


def main(trials, seed):
    kit.need(kit.LIB, kit.APP)
    rng = random.Random(seed)
    calls = turned = middle = 0
    for number in range(trials):
        made, let_go, part = trial(number, rng)
        calls += made
        turned += let_go
        middle += part
        kit.clean()
    kit.note(f"{trials} kills, {calls} completed calls; {turned} recordings had let something go, {middle} were killed while a checkpoint was written")
    kit.check("most had let something go", turned > trials // 2, turned)
    kit.done()
