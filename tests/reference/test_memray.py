#!/usr/bin/env python3
"""Every sample of memray against memray.py, to the byte and by stack; the same job in every format and way of recording; what is cut
anywhere; calls thrown together."""

import itertools
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))
sys.path.insert(0, str(ROOT / "samples"))
import memray  # noqa: E402
from imitate import memray as made  # noqa: E402

MEMTRACE = os.environ.get("MEMTRACE", str(ROOT / "build" / "memtrace"))
SAMPLES = sorted(p for p in (ROOT / "samples" / "memray").iterdir() if p.suffix != ".json")
FAILED = []


def check(what, ok, *more):
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()))
    if not ok:
        FAILED.append(what)


def report(path):
    done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", str(path)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode in (0, 3) else None, done.stderr.decode()


def every_sample():
    check("there are samples", len(SAMPLES) >= 8, SAMPLES)
    for path in SAMPLES + [ROOT / "tests" / "guides" / "in" / "memray.bin"]:
        wrong = memray.compare(MEMTRACE, str(path))
        check("%s equals the reference to the byte" % path.name, not wrong, *wrong)
    done = subprocess.run([sys.executable, str(ROOT / "samples" / "make_memray.py"), "--check"], capture_output=True, check=False)
    check("samples are what their script makes", done.returncode == 0, done.stdout.decode())


def write(folder, data, name="x.bin"):
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(data)
    return path


def beside_a_driver_trace(folder):
    """Host and GPU on one clock: what the host held when the driver refused, 354 us after the begin of that millisecond; and that nothing
    is known of it when the recording had ended."""
    driver, failed_ms = ROOT / "samples" / "driver_v1.trace.gz", 1764500000000
    _, alone, _ = report(driver)
    check("the driver's trace fails when it is said to", alone["devices"][0]["ooms"][0]["time_ns"] == failed_ms * 1000000 + 354000)
    for begun, want in (
            (failed_ms - 100, "held 3.00 GiB of host memory; its own peak of 8.00 GiB was 49 ms later."),
            (failed_ms - 400, "had ended: what the host held then is not known.")):
        usual, made.START_MS = made.START_MS, begun
        r = made.Recorder(12)
        r.thread(made.MAIN)
        r.at([("<module>", "/srv/job/train.py", 1, 31)])
        for ms, address, gib in ((10, 1, 1), (40, 2, 2), (100, 3, 5), (50, 0, 0)):
            r.rss(4 << 30, ms)
            if gib:
                r.call("malloc", address << 40, gib << 30)
        data = r.file()
        made.START_MS = usual
        done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", str(driver), write(folder, data, "beside.bin")],
                              capture_output=True, check=False)
        both = json.loads(done.stdout)
        said = [c for c in both["quality"]["caveats"] if c.startswith("When the GPU's memory ran out")]
        check("the GPU's failure still speaks", both["verdict"] == alone["verdict"], both["verdict"])
        check("at the driver's failure the host %s" % want, len(said) == 1 and said[0].endswith(want), said)


def one_job_in_every_format(folder):
    """Formats, native frames, packing, adding up: the same peak, holders and phases."""
    first = None
    for version, native in itertools.product((7, 8, 9, 10, 11, 12, 13), (False, True)):
        variants = [made.complete(version, native=native)]
        if version >= 10:
            variants.append(made.aggregated(version, native))
        for data in variants:
            what = "format %d%s%s" % (version, ", native" if native else "", ", added up" if data is not variants[0] else "")
            path = write(folder, made.lz4(data) if native else data)
            wrong = memray.compare(MEMTRACE, path)
            check("%s: the reference" % what, not wrong, *wrong)
            status, r, words = report(path)
            check("%s: whole" % what, status == 0, status, words)
            d = r["devices"][0]
            owners = [(o["label"].replace("train_worker.py:31 <module>", "train_worker.py:24 main"), o["bytes"]) for o in r["owners"]]
            found = (d["live_peak_bytes"], d["live_end_bytes"], sorted(owners) if version >= 9 else None)
            first = first or (found[0], found[1], None)
            check("%s: the same sums" % what, found[:2] == first[:2], found[:2], first[:2])
            if version == 9 and first[2] is None:
                first = found
            if version >= 9:
                check("%s: the same holders" % what, found[2] == first[2], found[2], first[2])
    for python in (0x03090000, 0x030A0000, 0x030D0000):
        path = write(folder, made.complete(12, python=python))
        wrong = memray.compare(MEMTRACE, path)
        check("tables of lines of Python %x" % python, not wrong, *wrong)
        _, r, _ = report(path)
        check("its lines", r["owners"][0]["label"] == "training/tensor_backper.py:61 backup", r["owners"][0]["label"])


def what_is_said():
    _, killed, _ = report(ROOT / "samples" / "memray" / "killed_v12.bin")
    said = "\n".join(killed["quality"]["caveats"])
    check("it is the host's memory", "host memory peaked" in killed["verdict"]["sentence"], killed["verdict"]["sentence"])
    check("the switch for the GPU", any("--memory-recorder torch" in str(line) for a in killed["advice"] for line in a["set"]))
    for words in ("knows nothing of what is on the GPU", "it was killed", "by thread: main thread", "reserved and not touched",
                  "--trace-python-allocators", "native frames were not recorded", "munmap took a part", "from before the recording"):
        check("said: " + words, words in said, said)
    _, pickle, _ = report(ROOT / "samples" / "memray" / "memory_snapshot_time1767322800_rank3_snapshot.pickle")
    said = "\n".join(pickle["quality"]["caveats"])
    check("the name of a pickle is no pickle", pickle["provenance"]["inputs"][0]["format"] == "memray" if "inputs" in pickle["provenance"] else True)
    check("a native recording says what its frames are", "native frames are recorded as addresses" in said, said)
    check("one that ended is not said to be killed", "killed" not in said, said)
    _, added, _ = report(ROOT / "samples" / "memray" / "aggregated_v13.bin")
    check("an aggregated one says so", any("--aggregate" in c for c in added["quality"]["caveats"]))


def thrown_together(folder):
    """Calls of all kinds at few addresses: ranges over ranges, parts of them, frees of what is not there."""
    for seed in range(60):
        rng = random.Random(seed)
        version, native = rng.choice((7, 8, 9, 10, 11, 12, 13)), rng.random() < 0.4
        r = made.Recorder(version, native=native)
        r.skipped = rng.choice((0, 1, 2)) if version >= 9 else 0
        calls = [("f%d" % i, "/job/m%d.py" % (i % 3), 10 * i + 1, 10 * i + 1 + i % 50) for i in range(9)]
        tids = [made.MAIN, 77, 88]
        r.thread(tids[0], "MainThread")
        for _ in range(rng.randrange(1, 300)):
            what = rng.random()
            if what < 0.1:
                r.thread(rng.choice(tids), rng.choice((None, None, "pool")))
            elif what < 0.3:
                r.at([rng.choice(calls) for _ in range(rng.randrange(0, 6))])
            elif what < 0.35:
                r.rss(rng.randrange(1, 1 << 34), rng.randrange(0, 20))
            elif what < 0.38 and native:
                r.maps(made.LIBS[rng.randrange(0, 3):])
            elif what < 0.6:
                kind = rng.choice(("mmap", "munmap", "mmap"))
                r.call(kind, 4096 * rng.randrange(0, 40), 4096 * rng.randrange(0, 30) + rng.choice((0, 0, 100)), [made.PY, made.CPU + 64 * rng.randrange(3)])
            else:
                kind = rng.choice(made.KINDS[:9] + made.KINDS[11:] + ["free", "free", "pymalloc_free"])
                r.call(kind, 16 * rng.randrange(1, 60), rng.randrange(0, 5000), [made.PY, made.C10] if rng.random() < 0.5 else [made.CUDA])
        r.call("malloc", 8, 8, [])
        path = write(folder, r.file())
        wrong = memray.compare(MEMTRACE, path)
        if wrong:
            check("calls thrown together, %d" % seed, False, *wrong)
    check("60 recordings of calls thrown together", True)


def cut(folder):
    """What is in front of the cut is there, to the byte."""
    data = made.complete(12, native=True)
    packed = made.lz4(data)
    for part in (0.3, 0.6, 0.9, 0.999):
        path = write(folder, data[:int(len(data) * part)])
        status, r, words = report(path)
        found, _ = memray.load(path).facts()
        check("cut at %g: exit status 3" % part, status == 3, status, words)
        check("cut at %g: the heap up to there" % part,
              r is not None and all(r["devices"][0][k] == v for k, v in found.items()), r and r["devices"][0], found)
        check("cut at %g: said" % part, r is not None and any("the recording ends after" in c for c in r["quality"]["caveats"]))
    status, r, words = report(write(folder, packed[:len(packed) // 2]))
    check("a cut frame of lz4", status in (1, 3), status, words)


def main():
    every_sample()
    what_is_said()
    with tempfile.TemporaryDirectory() as folder:
        one_job_in_every_format(folder)
        beside_a_driver_trace(folder)
        thrown_together(folder)
        cut(folder)
    print("%d failed" % len(FAILED))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
