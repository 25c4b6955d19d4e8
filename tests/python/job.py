"""Run in the environment that the wheel was installed into: report, diff, check and snapshot. job.py SAMPLE SAMPLES FOLDER"""

import json
import os
import subprocess
import sys

import memtrace

SAMPLE, SAMPLES, FOLDER = sys.argv[1:4]
PROGRAM = memtrace.program()


def said(*arguments):
    return subprocess.run([PROGRAM, *arguments], stdout=subprocess.PIPE, check=False).stdout


def refused(status, *words):
    """The block has to end with what the program says."""
    class Check:
        def __enter__(self):
            return self

        def __exit__(self, kind, value, trace):
            assert kind is memtrace.MemtraceError, (kind, value)
            assert value.status == status and all(w in str(value) for w in words), (value.status, str(value))
            assert not str(value).startswith("memtrace:"), value
            return True
    return Check()


# report: the JSON of the program, as attributes
r = memtrace.report(SAMPLE)
want = json.loads(said("report", "--format=json", "-o", "-", SAMPLE))
assert r.to_dict()["verdict"] == want["verdict"] and r.schema_version == want["schema_version"]
assert r.verdict.sentence == want["verdict"]["sentence"] == str(r) and r.verdict.out_of_memory is True
assert [a.title for a in r.advice] == [a["title"] for a in want["advice"]] and r.advice[0].top is True
assert r.devices[0].live_peak_bytes == want["devices"][0]["live_peak_bytes"]
assert r["verdict"]["kind"] == r.verdict.kind and "verdict" in r and len(r) == len(want)
assert {"sentence", "kind"} <= set(dir(r.verdict)) and r.damaged is False
assert all(name in want["verdict"] for name in memtrace.Verdict.__annotations__), "typed, and not in the contract"
assert all(name in want["advice"][0] for name in memtrace.Advice.__annotations__)
assert all(name in want["devices"][0] for name in memtrace.Device.__annotations__)
try:
    r.verdict.no_such_key
    raise SystemExit("an attribute that is not there")
except AttributeError as e:
    assert "sentence" in str(e)

# its other forms are those of the program; a page is inert outside its frame
assert r.text().encode() == said("report", "--format=text", "--output=-", "--", SAMPLE)
page = r.html()
assert page.lstrip().lower().startswith("<!doctype html>") and r.verdict.phase_name in page
framed = r._repr_html_()
assert framed.startswith("<iframe ") and "<script" not in framed and 'sandbox="allow-scripts allow-popups"' in framed
r.save(os.path.join(FOLDER, "saved.html"))
assert memtrace.report(os.path.join(FOLDER, "saved.html")).verdict.sentence == r.verdict.sentence

# options: of the command line; what changes the form of the output is refused
assert memtrace.report(SAMPLE, capacity="200GiB").devices[0].capacity_bytes == 200 << 30
assert memtrace.report(SAMPLE, redact=True, log=None).verdict.kind == r.verdict.kind
for name in ("format", "output", "open"):
    try:
        memtrace.report(SAMPLE, **{name: "x"})
        raise SystemExit(name + " was taken")
    except TypeError as e:
        assert name in str(e)
with refused(2, "frobnicate"):
    memtrace.report(SAMPLE, frobnicate=1)
with refused(1, "no such"):
    memtrace.report(os.path.join(FOLDER, "no such"))
try:
    memtrace.report()
    raise SystemExit("no path")
except TypeError:
    pass

# damaged: a report all the same
assert memtrace.report(os.path.join(SAMPLES, "verl_two_ranks_truncated.tar.gz")).damaged is True

# diff and check
d = memtrace.diff(SAMPLE, os.path.join(SAMPLES, "fsdp_finetune.pickle"))
assert d.to_dict() == json.loads(said("diff", "--format=json", SAMPLE, os.path.join(SAMPLES, "fsdp_finetune.pickle"))) and "<html" in d.html()
c = memtrace.check(os.path.join(SAMPLES, "fsdp_finetune.pickle"), max=["peak=1TiB"])
assert c and c.kept, c.text()
c = memtrace.check(os.path.join(SAMPLES, "fsdp_finetune.pickle"), max=["peak=1KiB", "reserved=1TiB"])
assert not c and not c.kept and "peak" in c.text()

# snapshot: of the PyTorch that this process has
with refused(1, "torch is not imported"):
    memtrace.snapshot(os.path.join(FOLDER, "x.pickle"))
sys.path.insert(0, os.environ["FAKE_TORCH"])
os.environ["FAKE_TORCH"] = "2.9"
import torch  # noqa: E402

torch.cuda.memory._record_memory_history()
torch.cuda.init()
path = memtrace.snapshot(os.path.join(FOLDER, "x.pickle"))
assert path == os.path.join(FOLDER, "x.pickle") and memtrace.report(path).schema_version == 1

# another program, or one that does not run
os.environ["MEMTRACE_PROGRAM"] = os.path.join(FOLDER, "none")
with refused(126, "does not run here"):
    memtrace.report(SAMPLE)
print("done")
