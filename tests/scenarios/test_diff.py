#!/usr/bin/env python3
"""`memtrace diff` of a job and the same job with a fix applied: it names the setting, what the first report promised for it, and what the
second run takes less, against the truth of the generator."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import savings  # noqa: E402
from generator.scenario import build  # noqa: E402

MEASURED = 0.10  # of the real difference: a phase is looked at as a whole
# fix -> the setting of the first run, as its framework calls it
PAIRS = {"V06": "actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384", "A04": "actor.mb_spec.max_tokens_per_mb=16384",
         "B23": "actor_rollout_ref.model.use_fused_kernels=False", "V08": "critic.ppo_max_token_len_per_gpu=65536",
         "V12": "actor_rollout_ref.model.enable_gradient_checkpointing=False", "X09": "--use-dynamic-batch-size --max-tokens-per-gpu 24576"}


def run(*arguments):
    done = subprocess.run([os.environ["MEMTRACE"], *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        sys.exit("%s: exit status %d: %s" % (" ".join(arguments), done.returncode, done.stderr.decode()))
    return done.stdout.decode()


def report(folder, name, played, settings):
    pathlib.Path("%s/%s.pickle" % (folder, name)).write_bytes(played.data)
    out = "%s/%s.json" % (folder, name)
    run("report", "%s/%s.pickle" % (folder, name), "-q", "-o", out, "--args", settings)
    return out, json.loads(pathlib.Path(out).read_text(encoding="utf-8"))


def highest(peaks, where):
    return max([n for place, n in peaks.items() if place.startswith(where)], default=0)


def main():
    failed, seen = [], set()
    for s in savings.SCENARIOS:
        fix = next(iter(s.saves), None)
        if fix not in PAIRS or fix in seen:
            continue
        seen.add(fix)
        with tempfile.TemporaryDirectory() as folder:
            before, first = report(folder, "before", build(s), PAIRS[fix])
            card = next((a for a in first["advice"] if a["id"] == fix), None)
            if card is None or card["saving_bytes"] is None:
                failed.append("%s: the first report promises nothing" % fix)
                continue
            line = next(x for x in card["set"] if x["key"] and x["key"] in PAIRS[fix])
            change = s.saves[fix]
            changes = change([line["value"]]) if callable(change) else change
            after, _ = report(folder, "after", build(type(s)(s.name, s.ticket, dict(s.job, **changes))),
                              PAIRS[fix].replace("=", " ").rpartition(" ")[0] + ("=" if "=" in PAIRS[fix] else " ") + line["value"])
            diff = json.loads(run("diff", before, after, "--format", "json"))
            text = run("diff", before, after, "--format", "text")
            freed = highest(s.dry().peaks, s.where) - highest(s.dry(**changes).peaks, s.where)
        promised = {p["key"]: p for p in diff["promised"]}
        if line["key"] not in [x["key"] for x in diff["settings"]]:
            failed.append("%s: %s is not among the settings that differ: %s" % (fix, line["key"], diff["settings"]))
        if promised.get(line["key"], {}).get("saving_bytes") != card["saving_bytes"]:
            failed.append("%s: promised %s, the report says %d" % (fix, promised, card["saving_bytes"]))
        if diff["measured_bytes"] is None or abs(diff["measured_bytes"] - freed) > MEASURED * freed:
            failed.append("%s: measured %s, really %d" % (fix, diff["measured_bytes"], freed))
        if "Promised by the first report for %s" % line["key"] not in " ".join(text.split()):
            failed.append("%s: the text does not say what was promised" % fix)
        print("%s %s=%s: promised %d, measured %s, really %d" % (fix, line["key"], line["value"], card["saving_bytes"], diff["measured_bytes"], freed))
    print("%d pairs, %d failed" % (len(seen), len(failed)))
    for one in failed:
        print("not ok:", one)
    return 1 if failed or seen != set(PAIRS) else 0


sys.exit(main())
