#!/usr/bin/env python3
"""The TOML reader against the public suite (github.com/toml-lang/toml-test, MIT): every valid document is taken and every invalid one refused, and
of the valid ones strings, whole numbers and booleans are what the suite says. MEMTRACE_TOML_TEST names its tests/ folder, which is not part of
this repository. Documents of 1.1 count: what 1.1 allows besides is taken."""
import json
import os
import pathlib
import re
import subprocess
import sys

SUITE = pathlib.Path(os.environ.get("MEMTRACE_TOML_TEST", "/nonexistent"))
LIST = SUITE / "files-toml-1.1.0"
TOOL = pathlib.Path(os.environ.get("MT_BINARY_DIR", "build")) / "tests/tool_toml_suite"
if not LIST.exists() or not TOOL.exists():
    sys.exit("MEMTRACE_TOML_TEST has to name the tests/ folder of toml-test, and MT_BINARY_DIR a build folder")


def flat(value, path, into):
    """The suite's JSON as dotted keys; lists of scalars are not compared."""
    if isinstance(value, dict) and set(value) == {"type", "value"} and isinstance(value["value"], str):
        into[path] = (value["type"], value["value"])
    elif isinstance(value, dict):
        for key, inner in value.items():
            flat(inner, path + (key,), into)
    elif isinstance(value, list) and any(isinstance(v, list) or set(v) != {"type", "value"} or not isinstance(v["value"], str) for v in value):
        for i, inner in enumerate(value):
            if isinstance(inner, list) or set(inner) != {"type", "value"} or not isinstance(inner["value"], str):  # scalars beside them are one text
                flat(inner, path + (str(i),), into)


def shown(text):
    return text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")


def plain(text):
    return re.sub(r"\\(.)", lambda m: {"n": "\n", "t": "\t"}.get(m[1], m[1]), text)


def main():
    files = [SUITE / line for line in LIST.read_text(encoding="utf-8").split() if line.endswith(".toml")]
    done = subprocess.run([str(TOOL)], input=("\n".join(map(str, files)) + "\n").encode(), stdout=subprocess.PIPE, check=True)
    answers = done.stdout.decode("utf-8", "replace").split("\n\n")
    wrong, compared = [], 0
    for file, answer in zip(files, answers):
        name = file.relative_to(SUITE).as_posix()
        first, *lines = answer.lstrip("\n").split("\n")
        says, message = first.split("\t", 1)
        wanted = name.split("/")[0]
        if says != wanted:
            wrong.append(f"{name}: {says}{': ' if message else ''}{message}")
        if wanted != "valid" or says != wanted:
            continue
        got, expected = dict(line.split("\t", 1) for line in lines if "\t" in line), {}
        flat(json.loads(file.with_suffix(".json").read_text(encoding="utf-8")), (), expected)
        for path, (kind, value) in expected.items():
            key = ".".join(path)
            once = sum(".".join(p) == key for p in expected) == 1 and not any(".".join(p).startswith(key + ".") for p in expected)
            if kind not in ("string", "bool", "integer") or not key or not once or "\0" in key + value:  # no setting of a run has a NUL
                continue
            text = plain(got.get(shown(key), "(missing)"))
            compared += 1
            same = text == value if kind != "integer" else text[:2] in ("0x", "0o", "0b") and int(text, 0) == int(value) or text.lstrip("+").replace("-0", "0") == value
            if not same:
                wrong.append(f"{name}: {key} is {text!r}, not {value!r}")
    print(f"{len(files)} documents, {compared} values, {len(wrong)} wrong")
    for line in wrong:
        print("not ok:", line)
    return 1 if wrong or len(files) < 500 or compared < 300 or len(answers) < len(files) else 0


sys.exit(main())
