#!/usr/bin/env python3
"""Names of other people's frameworks in C of parser/, analysis/ and cli/.

Names are the ids, words and packages of analysis/rules/frameworks.json (not of
libraries and FSDP: PyTorch, NCCL and LoRA are what memtrace is about). They are
looked for in string literals and in identifiers, whole words only; comments and #include do not count. tests/lint/names.txt allows what is mechanism, one
line each: `file: name: reason`. A name that is a word of English as well has a line `*: name: reason`: it counts only where a string literal is
that name or a path below it ("roll", "roll/worker.py"). A line that is not needed any more is a complaint as well, so the list can only shrink.
"""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
TOKEN = re.compile(r'/\*.*?\*/|//[^\n]*|^[ \t]*#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[A-Za-z_]\w*', re.S | re.M)


def names():
    found = set()
    for row in json.loads((ROOT / "analysis/rules/frameworks.json").read_text())["frameworks"]:
        if row["kind"] != "library" and row["id"] != "fsdp":
            found |= {row["id"], row["words"].lower()} | {p["name"] for p in row.get("packages", [])}
    return sorted(found)


def uses(path, pattern):
    """(name, line, is_name) of every name in the file; is_name: it can be no word of English."""
    text = path.read_text()
    for token in TOKEN.finditer(text):
        word = token.group()
        if word.startswith(("/*", "//")) or word.lstrip().startswith("#"):
            continue
        for hit in pattern.finditer(re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", word).lower() if word[0] != '"' else word.lower()):
            whole = word[0] == '"' and hit.start() == 1 and word[hit.end()] in '"/'
            yield hit.group(), text.count("\n", 0, token.start()) + 1, whole


def main():
    all_names = names()
    pattern = re.compile("(?<![a-z0-9])(?:" + "|".join(map(re.escape, sorted(all_names, key=len, reverse=True))) + ")(?![a-z0-9])")
    allowed, bad = {}, []
    for number, line in enumerate((ROOT / "tests/lint/names.txt").read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        parts = line.split(": ", 2)
        if len(parts) != 3 or not parts[2].strip():
            bad.append(f"tests/lint/names.txt:{number}: a line is `file: name: reason`")
        elif tuple(parts[:2]) in allowed:
            bad.append(f"tests/lint/names.txt:{number}: stands twice")
        else:
            allowed[tuple(parts[:2])] = number
    files = [f for top in ("parser", "analysis", "cli") for f in sorted((ROOT / top).rglob("*")) if f.suffix in (".c", ".h", ".def")]
    if len(files) < 100 or len(all_names) < 25:
        bad.append("too few files or names were seen: this lint no longer works")
    needed = set()
    for file in files:
        rel = str(file.relative_to(ROOT))
        for name, line, is_name in uses(file, pattern):
            if not is_name and ("*", name) in allowed:
                needed.add(("*", name))
                continue
            needed.add((rel, name))
            if (rel, name) not in allowed:
                bad.append(f"{rel}:{line}: {name}: knowledge of one framework belongs into analysis/rules/ (docs/rules-frameworks.md)")
    bad += [f"tests/lint/names.txt:{number}: {file}: {name}: is not needed any more; take the line out" for (file, name), number in allowed.items()
            if (file, name) not in needed]
    if "--list" in sys.argv[1:]:
        print("\n".join(f"{file}: {name}" for file, name in sorted(needed)))
        return 0
    print("\n".join(bad) + ("\n" if bad else "") + (f"{len(bad)} complaints" if bad else f"{len(allowed)} names are allowed"))
    return 1 if bad else 0


sys.exit(main())
