#!/usr/bin/env python3
"""Jobs that are well, on cards of different sizes: with room nothing is named, on a card that is all but full the report says what would fail next,
as a forecast; it never speaks of a failure, and the phase is that of the peak. A job that leaks is named on every card."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import healthy  # noqa: E402
from generator.record import MIB  # noqa: E402
from generator.scenario import Scenario, build  # noqa: E402

ROOMY, TIGHT = (1.08, 1.25, 4), (1.01, 1.04)
LEAK = Scenario("leak", "keeps a tensor of each step", dict(steps=6, micro=(1024,), shape="qwen2_1.5b", layers=4, leak=512 * MIB))


def report(program, path, *more):
    done = subprocess.run([program, "report", str(path), "--format", "json", "-o", "-", *more],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 0, done.stderr.decode("utf-8", "replace")
    return json.loads(done.stdout)


def look(name, there, card, times):
    """What is wrong with a report on a card of so many times the live bytes at the peak."""
    cause, live = there["cause"], there["devices"][0]["live_peak_bytes"]
    told = cause["next"]
    if there["verdict"]["kind"] != "peak" or cause["what_ifs"] or not cause["known"] or told is None:
        return "not a forecast: %s" % json.dumps(cause)[:200]
    if told["live_bytes"] != live or (card and told["headroom_bytes"] != card - live):
        return "says %s live and %s left" % (told["live_bytes"], told["headroom_bytes"])
    more = [row["role"] for row in there["devices"][0]["expected"] if row["more_than_expected"]]
    if more:
        return "says of %s that it is more than expected" % more
    if told["phase"] != there["verdict"]["phase"]:
        return "%s, not %s" % (told["phase"], there["verdict"]["phase"])
    if name == "leak":
        return "" if cause["id"] == "leak" and (not card or told["steps_left"]) else "cause %s, %s" % (cause["id"], told)
    engine = told["phase"].startswith("rollout") and told["role"] == "kv_cache"
    tight = times in TIGHT and not (engine and times > 1.02)
    if tight != told["tight"] or tight != (cause["id"] != "none"):
        return "%s: %s" % (cause["id"], told["sentence"])
    if tight and not (cause["sentence"].startswith("Next to fail: ") and cause["confidence"] == "inferred" and cause["evidence"]):
        return "says %s" % cause["sentence"]
    return "" if tight or cause["sentence"] is None else "says %s" % cause["sentence"]


def main():
    program, wrong, n = os.environ.get("MEMTRACE", "memtrace"), [], 0
    with tempfile.TemporaryDirectory() as scratch:
        path = pathlib.Path(scratch) / "snapshot.pickle"
        for s in healthy.SCENARIOS + [LEAK]:
            path.write_bytes(build(s).data)
            live = report(program, path)["devices"][0]["live_peak_bytes"]
            for times in (0,) + ROOMY + TIGHT:
                card = int(live * times)
                there = report(program, path, *(["--capacity", str(card)] if card else []))
                bad = look(s.name, there, card, times)
                n += 1
                if bad:
                    wrong.append("%s on a card of %s x its peak: %s" % (s.name, times, bad))
    for line in wrong:
        print("WRONG " + line)
    print("%d reports, %d wrong" % (n, len(wrong)))
    return 1 if wrong or not n else 0


if __name__ == "__main__":
    sys.exit(main())
