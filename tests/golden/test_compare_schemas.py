#!/usr/bin/env python3
"""What `diff` and `check` write as JSON against docs/diff.schema.json and docs/check.schema.json by python3-jsonschema: as they are published,
and closed, so that a key which they do not name is a mistake. `memtrace schema` prints them."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

try:
    import jsonschema
except ImportError:
    print("# skipped: python3-jsonschema is not installed (./bootstrap.sh deps ci)")
    sys.exit(77)

import contract
import json_samples

VERL, TINY = json_samples.SAMPLES / "verl_grpo_oom_logprob.pickle", json_samples.SAMPLES / "tiny.pickle"
LOG, RANKS = json_samples.SAMPLES / "cards.log", json_samples.SAMPLES / "verl_two_ranks.tar.gz"
failed = n = 0


def complain(words):
    global failed
    failed += 1
    print("not ok:", words)


def run(*arguments):
    done = subprocess.run([os.environ["MEMTRACE"], *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3, 4):
        sys.exit(f"{arguments}: exit status {done.returncode}: {done.stderr.decode('utf-8', 'replace')[:400]}")
    return done.stdout.decode("utf-8")


def outputs(folder):
    settings, jobs = "actor_rollout_ref.actor.entropy_from_logits_with_chunking=", {}
    for name, value in (("a", "False"), ("b", "True")):
        jobs[name] = folder / f"{name}.json"
        run("report", VERL, "-q", "-o", jobs[name], "--args", settings + value)
    for name, extra in (("first", ()), ("second", ("--keep-outputs",))):
        jobs[name] = folder / f"{name}.pickle"
        subprocess.run([sys.executable, "-B", json_samples.SAMPLES / "gate/job.py", jobs[name], *extra], check=True)
    pairs = json_samples.SAMPLES / "torch/pairs"
    for pair in ((pairs / "average.pickle.gz", pairs / "average_free.pickle.gz"), (pairs / "load_cuda.pickle.gz", pairs / "load_cpu.pickle.gz"), (VERL, TINY), (TINY, TINY), (RANKS, VERL), (LOG, VERL), (LOG, LOG), (jobs["a"], jobs["b"]), (jobs["first"], jobs["second"])):
        yield "diff", run("diff", *pair, "--format", "json")
    for arguments in ((VERL,), (LOG,), (RANKS, "--max", "peak=1GiB"), (jobs["second"], "--baseline", jobs["first"]),
                      (jobs["first"], "--max", "phase:weight_sync.left=0", "--max", "role:logits=1GiB", "--max", "reserved=1TiB")):
        yield "check", run("check", *arguments, "--format", "json")


schemas = {}
for which in ("diff", "check"):
    schemas[which] = contract.read(json_samples.SOURCE / f"docs/{which}.schema.json")
    jsonschema.Draft202012Validator.check_schema(schemas[which])
    if json.loads(run("schema", which)) != schemas[which]:
        complain(f"'memtrace schema {which}' does not print docs/{which}.schema.json")
with tempfile.TemporaryDirectory() as name:
    first, seen = {}, {"diff": contract.Seen(), "check": contract.Seen()}
    for which, text in outputs(pathlib.Path(name)):
        value = json.loads(text)
        first.setdefault(which, value)
        seen[which].add(value)
        n += 1
        for error in list(jsonschema.Draft202012Validator(contract.closed(schemas[which])).iter_errors(value))[:5]:
            complain(f"{which}: {'/'.join(map(str, error.absolute_path))}: {error.message[:300]}")
# What the schemas call for and nothing writes is a mistake as well; and a validator that takes anything would prove nothing.
for which, value in first.items():
    unwritten = set(schemas[which]["properties"]) - set(seen[which].keys)
    if unwritten:
        complain(f"{which}: nothing writes {sorted(unwritten)}")
    published = jsonschema.Draft202012Validator(schemas[which])
    for change in ({"schema_version": 2}, {next(k for k, v in value.items() if isinstance(v, list)): [7]}):
        if published.is_valid({**value, **change}):
            complain(f"{which}: the schema takes {change}")
    if published.is_valid({k: v for k, v in value.items() if k != "schema_version"}) or not published.is_valid({**value, "something_new": 1}):
        complain(f"{which}: the schema takes too little or too much")
print(f"{n} outputs, {failed} failed")
sys.exit(1 if failed or n < 12 else 0)
