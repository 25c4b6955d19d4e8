#!/usr/bin/env python3
"""docs/report.schema.json against the writer's own tables and calls, docs/json.md, what `memtrace schema report` prints, and the keys of the
last release. After a change that is meant: MT_UPDATE_GOLDEN=1, then read the difference with git. tests/golden/contract_1.txt has what must
not go: `MT_RELEASE=1` writes it anew, when a release is made."""
import collections
import json
import os
import re
import subprocess
import sys

import contract
import json_samples

SOURCE = json_samples.SOURCE
SCHEMA = SOURCE / "docs/report.schema.json"
KEPT = SOURCE / "tests/golden/contract_1.txt"
# What a call of render/base/jsonw.h writes.
CALLS = {"key": set(), "null": {"null"}, "ku": {"integer"}, "ki": {"integer"}, "kb": {"boolean"}, "ks": {"string"}, "known": {"integer", "null"}}


def grown():
    schema = contract.read(SCHEMA) if SCHEMA.exists() else {
        "$schema": "https://json-schema.org/draft/2020-12/schema", "$id": "urn:memtrace:report:1", "title": "The report of memtrace as JSON",
        "description": "What `memtrace report --format json` writes; docs/json.md says it in words. Within a schema_version keys may be added, and "
                       "none goes or changes its meaning. Sizes are bytes, times nanoseconds since 1970 (UTC); null means not known.",
        "type": "object", "required": [], "properties": {}, "$defs": {"frame": {"type": "object", "properties": {}}}}
    seen = contract.Seen()
    frames = contract.Seen()
    for _, text in json_samples.reports():
        report = json.loads(text)
        seen.add(report)
        for owner in report["owners"]:
            for frame in owner["frames"]:
                frames.add(frame)
    if not schema["properties"]:
        del schema["required"]
    if "required" not in schema["$defs"]["frame"]:
        contract.grow(schema, schema["$defs"]["frame"], frames)
    contract.grow(schema, schema, seen)
    schema["properties"]["schema_version"]["const"] = 1
    return schema


def source_of(name):
    return (SOURCE / "analysis/base" / name).read_text(encoding="utf-8")


def finished(schema):
    """Enumerations and words, each from where it is kept."""
    words = contract.words_of_the_program({name: source_of(name) for name in ("phases.def", "roles.def")})
    for name, ids in words.items():
        schema["$defs"][name] = {"type": "string", "enum": ids}
    for path, text in contract.documented((SOURCE / "docs/json.md").read_text(encoding="utf-8")):
        node = contract.at(schema, path)
        if node is not None and node.get("type"):
            node["description"] = text
    return schema


def calls():
    """key -> the calls that write it, of every call in render/json that has its key in it."""
    found = collections.defaultdict(set)
    for path in sorted((SOURCE / "render/json").glob("*.c")):
        text = path.read_text(encoding="utf-8")
        for call, key, value in re.findall(r'mt_jw_(ku|ki|ks|kb|known)\(\s*w,\s*"(\w+)",\s*(NULL\))?', text):
            found[key].add("null" if value else call)
        for key in re.findall(r'mt_jw_key\(w, "(\w+)"\)', text):
            found[key].add("key")
    return found


def widened(schema):
    """What only mt_jw_known() writes may be null wherever it stands, seen or not."""
    by = calls()
    for path, node in list(contract.nodes(schema)):
        if by.get(path.rsplit(".", 1)[-1]) == {"known"}:
            contract.set_types(node, contract.types_of(node) | {"null"})
    return schema


def kept_lines(schema):
    always = contract.required(schema)
    return [f"{path} {'|'.join(types)}{' always' if path in always else ''}" for path, types in contract.paths(schema)]


def main():
    wrong = []
    if os.environ.get("MT_UPDATE_GOLDEN"):
        contract.write(SCHEMA, finished(widened(grown())))
    schema = contract.read(SCHEMA)
    if os.environ.get("MT_RELEASE"):
        KEPT.write_text("\n".join(kept_lines(schema)) + "\n", encoding="utf-8")
    if json.dumps(finished(widened(contract.read(SCHEMA)))) != json.dumps(schema):
        wrong.append("the schema's words, enumerations or nulls are not those of docs/json.md, analysis/base/*.def and render/json/*.c; MT_UPDATE_GOLDEN=1 makes them so")
    types = collections.defaultdict(set)
    for path, kinds in contract.paths(schema):
        types[path.rsplit(".", 1)[-1].replace("[]", "")] |= set(kinds)
    for key, by in calls().items():
        kinds = set().union(*(CALLS[call] for call in by))
        if key not in types:
            wrong.append(f"render/json writes '{key}', which the schema has not: MT_UPDATE_GOLDEN=1 adds it where a sample has it")
        elif not kinds <= types[key]:
            wrong.append(f"render/json writes '{key}' as {'|'.join(sorted(kinds))}, the schema has {'|'.join(sorted(types[key]))}")
    now = {line.split(" ")[0]: line.split(" ")[1:] for line in kept_lines(schema)}
    lines = KEPT.read_text(encoding="utf-8").splitlines()
    for line in lines:
        path, kinds, *always = line.split(" ")
        if path not in now:
            wrong.append(f"the last release has '{path}', which is gone: a new schema_version")
        elif not set(kinds.split("|")) <= set(now[path][0].split("|")) or (always and not now[path][1:]):
            wrong.append(f"the last release has '{line}', now it is '{path} {' '.join(now[path])}'")
    printed = subprocess.run([os.environ["MEMTRACE"], "schema", "report"], stdout=subprocess.PIPE, check=False)
    if printed.returncode != 0 or printed.stdout != SCHEMA.read_bytes():
        wrong.append(f"'memtrace schema report' does not print docs/report.schema.json (exit status {printed.returncode})")
    print(f"{len(now)} keys by place, {len(lines)} of the last release, {len(calls())} in the writer")
    for line in wrong:
        print("not ok:", line)
    return 1 if wrong or len(lines) < 400 else 0


sys.exit(main())
