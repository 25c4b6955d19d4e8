#!/usr/bin/env python3
"""Every export of Nsight Systems in samples/nsys, to the byte: what each process held, by nsys.py's reading of the database and by
what the generator noted while it wrote; and whatever is cut off."""

import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import nsys  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
MEMTRACE = os.environ.get("MEMTRACE", str(ROOT / "build" / "memtrace"))
FOLDER = ROOT / "samples" / "nsys"
FAILED = []


def check(what, ok, *more):
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()))
    if not ok:
        FAILED.append(what)


def report(path):
    done = subprocess.run([MEMTRACE, "report", "--format", "json", "-o", "-", str(path)], capture_output=True, check=False)
    return done.returncode, json.loads(done.stdout) if done.returncode in (0, 3) else None, done.stderr.decode()


def without_events():
    """The message names the option that was off, and none that was on."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "x.sqlite"
        for option, failed in (("true", 0), ("false", 0), (None, 0), ("false", 3)):
            path.write_bytes((FOLDER / "no_memory.sqlite").read_bytes())
            db = sqlite3.connect(path)
            if option:
                db.execute("CREATE TABLE META_DATA_CAPTURE (name TEXT NOT NULL, value TEXT)")
                db.execute("INSERT INTO META_DATA_CAPTURE VALUES ('PROCESS_0:COLLECT_GPU_MEMORY_USAGE', ?)", (option,))
            for _ in range(failed):
                db.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT start, end, eventClass, globalTid, correlationId, nameId, 2, NULL "
                           "FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE returnValue = 0 LIMIT 1")
            db.commit()
            db.close()
            rc, _, err = report(path)
            check("option %s, %d failed: refused" % (option, failed), rc == 1, rc, err)
            check("option %s: whether it was off" % option, ("was recorded without --cuda-memory-usage=true" in err) == (option != "true"), err)
            check("%d failed: said" % failed, ("3 calls of CUDA failed" in err) == (failed == 3), err)


def main():
    truth = json.loads((FOLDER / "truth.json").read_text())
    path = FOLDER / "job.sqlite"
    want = nsys.Export(path)
    noted = truth["job.sqlite"]["peak"]
    sums = {"device %d of %d" % (1 if k[1] == 4800 else 0, k[1]): v for k, v in want.peak.items() if k[0] == "gpu"}
    sums.update({"pinned %d" % k[1]: v for k, v in want.peak.items() if k[0] == "pinned"})
    check("the generator's sums are those of the rows", sums == noted, sums, noted)
    for name in ("job", "failed_first", "no_memory"):
        wrong = nsys.compare(MEMTRACE, str(FOLDER / (name + ".sqlite")))
        check("%s.sqlite to the byte" % name, not wrong, *wrong)
    rc, found, err = report(path)
    check("job.sqlite is read", rc == 0, rc, err)
    if found is not None:
        check("it ran out", found["verdict"]["kind"] != "peak" and len(found["job"]["failures"]) == 1)
        phases = {p["phase"] for p in found["job"]["phase_ranges"]}
        check("phases by NVTX", len(phases) >= 2, phases)
    rc, _, err = report(FOLDER / "no_memory.sqlite")
    check("without memory events the option is named", rc == 1 and "--cuda-memory-usage=true" in err, rc, err)
    without_events()
    rc, found, err = report(FOLDER / "failed_first.sqlite")
    check("a call that failed before anything was allocated is a failure", rc == 0 and len(found["job"]["failures"]) == 1, rc, err)
    if found is not None:
        said = found["verdict"]["sentence"]
        check("of host memory, and no card is blamed", "pinned host memory" in said and "GPU 0" not in said, said)
    done = subprocess.run([sys.executable, str(ROOT / "samples" / "make_nsys.py"), "--check"], capture_output=True, check=False)
    check("the samples are what their script makes", done.returncode == 0, done.stdout.decode(), done.stderr.decode())
    data = path.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        cut = pathlib.Path(folder) / "cut.sqlite"
        for n in range(100, len(data), 1500):
            cut.write_bytes(data[:n])
            rc, found, err = report(cut)
            check("cut at %d" % n, rc in (0, 1, 3) and (found is not None or err != ""), rc, err)
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
