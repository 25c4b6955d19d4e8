#!/usr/bin/env python3
"""docs/json.md against what `memtrace report --format json` and `memtrace info --json` write: every key is documented, and every
documented key occurs."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["MT_SOURCE_DIR"])
SAMPLES = SOURCE / "samples"
INFO = "\n# `memtrace info --json`\n"  # the second part of the page
# Documented words in backquotes that are values, not keys.
VALUES = re.compile(r"oom_|end_state$|empty$|null$|none$|marked$|inferred$|carried$|low$|host$|cuda$|oom$|peak$")
INFO_VALUES = {"pickle", "json", "memtrace", "cuda", "exit", "status", "signal", "gone", "running", "unknown"}
COUNTERS = ("ops", "actions")  # of `info`: their keys are names of operations


def keys_of(value, into, counters=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            into.add(key)
            if key not in counters:
                keys_of(inner, into, counters)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, into, counters)


def words_of(text):
    return {word.replace("[]", "") for word in re.findall(r"`([a-z0-9_\[\]]+)`", text)}


def output_of(sample, *arguments):
    done = subprocess.run([os.environ["MEMTRACE"], *arguments, str(sample)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{arguments[0]} {sample.name}: exit status {done.returncode}")
    return done.stdout.decode("utf-8")


def objects_in(text):
    decoder, at = json.JSONDecoder(), 0
    while at < len(text):
        value, at = decoder.raw_decode(text, at)
        yield value
        while at < len(text) and text[at].isspace():
            at += 1


def compare(what, written, documented, values):
    missing = sorted(written - documented)
    stale = sorted(documented - written - values)
    print(f"{what}: {len(written)} keys; not documented: {missing}; documented, never written: {stale}")
    return bool(missing or stale or not written)


def main():
    text = (SOURCE / "docs" / "json.md").read_text(encoding="utf-8")
    report, info = text[:text.index(INFO)], text[text.index(INFO):]
    phases = report[report.index("Phase ids:"):report.index("## `owners[]`")]
    values = set(re.findall(r"`([a-z0-9_]+)`", phases)) | {w for w in words_of(report) if VALUES.match(w)}
    values.add("message")  # only a report with an unread member has its message
    # Only a trace that leaks has rows of "growth", only one that is not understood has unknown roles.
    values |= {"bytes_per_step", "compared_steps", "first_bytes", "fit_percent", "last_bytes", "phase_confidence"}
    in_reports, in_info = set(), set()
    samples = sorted(p for p in SAMPLES.iterdir() if p.suffix in (".pickle", ".json", ".gz", ".html"))
    for sample in samples:
        keys_of(json.loads(output_of(sample, "report", "--format", "json", "-o", "-")), in_reports)
        for value in objects_in(output_of(sample, "info", "--json")):
            keys_of(value, in_info, COUNTERS)
    with tempfile.TemporaryDirectory() as folder:  # what a report has of logs and settings
        log = pathlib.Path(folder) / "run.log"
        log.write_text("[rank3]: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.\n",
                       encoding="utf-8")
        keys_of(json.loads(output_of(SAMPLES / "tiny.pickle", "report", "--format", "json", "-o", "-", "--log", str(log), "--args",
                                     "actor_rollout_ref.actor.megatron.grad_offload=True actor_rollout_ref.actor.use_dynamic_bsz=True")), in_reports)
        for process in (1, 2):  # one rank, two processes: two jobs
            (pathlib.Path(folder) / f"x_rank0_pid{process}.pickle").write_bytes((SAMPLES / "verl_grpo_oom_logprob.pickle").read_bytes())
        keys_of(json.loads(output_of(pathlib.Path(folder), "report", "--format", "json", "-o", "-")), in_reports)
    keys_of(json.loads(output_of(SAMPLES / "verl_grpo_oom_logprob.pickle", "report", "--format", "json", "-o", "-", "--try",
                                 "actor_rollout_ref.model.use_fused_kernels=True", "--try", "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", "--args",
                                 "actor_rollout_ref.actor.use_dynamic_bsz=True")), in_reports)
    print(f"{len(samples)} samples")
    failed = compare("report --format json", in_reports, words_of(report), values)
    # A value may be the name of a key as well: `memtrace` is not, `status` is not, `host` is.
    failed |= compare("info --json", in_info, words_of(info), INFO_VALUES)
    return 1 if failed else 0


sys.exit(main())
