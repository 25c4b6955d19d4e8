#!/usr/bin/env python3
"""docs/json.md against what report, info, diff and check write as JSON: every key is documented, and every
documented key occurs."""
import json
import re
import sys

import json_samples

BESIDE = {"key", "value", "second_value", "saving_bytes", "saving_low_bytes", "saving_high_bytes", "id", "level", "new", "setting", "title", "text", "reserved"}  # of promised[], lint[], settings[]
# Documented words in backquotes that are values, not keys.
VALUES = re.compile(r"oom_|end_state$|empty$|null$|none$|marked$|inferred$|carried$|low$|host$|cuda$|cpu$|oom$|peak$")
INFO_VALUES = {"cpu", "profiler", "memray", "nsys", "pickle", "json", "memtrace", "cuda", "exit", "status", "report", "provenance", "signal", "gone", "running", "unknown"}
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
    text = (json_samples.SOURCE / "docs" / "json.md").read_text(encoding="utf-8")
    parts = dict(zip(("report", "info", "diff", "check"), re.split(r"\n# `memtrace (?:info --json|diff --format json|check --format json)`\n", text)))
    report, info = parts["report"], parts["info"]
    parts["check"] = parts["check"].split("\n# ", maxsplit=1)[0]
    phases = report[report.index("Phase ids:"):report.index("## `owners[]`")]
    values = set(re.findall(r"`([a-z0-9_]+)`", phases)) | {w for w in words_of(report) if VALUES.match(w)}
    in_reports, in_info = set(), set()
    for _, written in json_samples.reports():
        keys_of(json.loads(written), in_reports)
    for sample in json_samples.inputs():
        if sample.suffix == ".log" or "stats" in sample.name:  # read as logs
            continue
        for value in objects_in(json_samples.output_of(sample, "info", "--json")):
            keys_of(value, in_info, COUNTERS)
    for value in objects_in(json_samples.output_of(json_samples.SAMPLES / "gate/baseline.json", "info", "--json")):
        keys_of(value, in_info)
    failed = compare("report --format json", in_reports, words_of(report), values)
    for command, arguments in (("diff", [str(json_samples.SAMPLES / "fsdp_finetune.pickle")]), ("check", ["--max", "peak=1TiB"])):
        keys = set()
        for sample in ("tiny.pickle", "verl_grpo_oom_logprob.pickle"):  # what is promised has a test of its own, cli/diff.sh
            keys_of(json.loads(json_samples.output_of(json_samples.SAMPLES / sample, command, "--format", "json", *arguments)), keys)
        failed |= compare(f"{command} --format json", keys, words_of(parts[command]), BESIDE)
    # A value may be the name of a key as well: `memtrace` is not, `status` is not, `host` is.
    failed |= compare("info --json", in_info, words_of(info), INFO_VALUES)
    return 1 if failed else 0


sys.exit(main())
