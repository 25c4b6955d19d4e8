#!/usr/bin/env python3
"""Every fix rule has a case, every setting of the guides is reached, and the schema knows every field.

rule_cases.tsv: rule, "scenario" or "driver" and its name, or "unit", "recording" and the test of tests/torch or tests/gpu that names it, "reason" and why no scenario can show it. A rule without a line, a line without
its rule, or a scenario that does not ask for the rule is a failure."""

import csv
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import cells  # noqa: E402
import driver_tickets  # noqa: E402
import finetune  # noqa: E402
import firsts  # noqa: E402
import healthy  # noqa: E402
import jobs  # noqa: E402
import guide  # noqa: E402
import log_misread  # noqa: E402
import logs  # noqa: E402
import reach  # noqa: E402
import rl_frameworks  # noqa: E402
import savings  # noqa: E402
import tickets  # noqa: E402
import told  # noqa: E402

FAILED = []


def say(good, text):
    if not good:
        FAILED.append(text)
        print("not ok: " + text)


def table(path):
    with open(path, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def load_rules():
    rules = {}
    for path in sorted((SOURCE / "analysis" / "rules" / "fixes").glob("*.json")):
        for rule in json.loads(path.read_text(encoding="utf-8")).get("fixes", []):
            rules[rule["id"]] = rule
    for one in json.loads((SOURCE / "analysis" / "rules" / "programs" / "programs.json").read_text(encoding="utf-8"))["programs"]:
        lines = [dict({"syntax": one["syntax"]}, **line) for line in one["keys"]]
        rules[one["id"]] = {"id": one["id"], "kind": "setting", "phases": ["loss"], "set": lines, "when": one.get("when", ""), "no_saving": "a log does not say"}
    return rules


def wanted():
    """{rule: scenarios that ask for it}"""
    out = {}
    for s in tickets.SCENARIOS + cells.SCENARIOS + healthy.SCENARIOS + logs.SCENARIOS + log_misread.SCENARIOS + jobs.SCENARIOS + told.SCENARIOS + firsts.SCENARIOS + savings.SCENARIOS + reach.SCENARIOS + rl_frameworks.SCENARIOS + finetune.SCENARIOS:
        for ids in s.must:
            for one in ids.split("|"):
                out.setdefault(one.partition("/")[0], set()).add(s.name)
    for row in guide.table():  # test_scenarios.py looks into the report that the table names
        kind, _, name = row["evidence"].partition(" ")
        if kind == "scenario" and row["state"] == "offered":
            out.setdefault(row["rule"], set()).add(name)
    return out


def check_cases(rules):
    asked, seen = wanted(), set()
    unit = "".join((SOURCE / "tests" / "unit" / name).read_text(encoding="utf-8") for name in ("test_advice.c", "test_saving.c", "test_fix_rules.c", "test_proposals.c", "test_cause_kinds.c", "test_promises.c", "test_copies.c", "test_operations.c"))
    for row in table(HERE / "rule_cases.tsv"):
        rule, kind, case = row["rule"], row["kind"], row["case"]
        say(rule in rules, "rule_cases.tsv: there is no rule %s" % rule)
        say(rule not in seen, "rule_cases.tsv: %s stands twice" % rule)
        seen.add(rule)
        if kind == "scenario":
            say(case in asked.get(rule, ()), "rule_cases.tsv: no scenario %s that asks for %s" % (case, rule))
        elif kind == "unit":
            say(rule in unit, "rule_cases.tsv: no unit test of advice names %s" % rule)
        elif kind == "recording":
            texts = [p.read_text(encoding="utf-8") for p in (SOURCE / "tests" / folder / (case + ".py") for folder in ("torch", "gpu")) if p.exists()]
            say(any(f'"{rule}"' in text for text in texts), "rule_cases.tsv: no %s.py in tests/torch or tests/gpu names %s" % (case, rule))
        elif kind == "driver":
            say(any(t.name == case and rule in t.first for t in driver_tickets.TICKETS),
                "rule_cases.tsv: no driver scenario %s that asks for %s" % (case, rule))
        else:
            say(kind == "reason" and len(case) > 20, "rule_cases.tsv: %s: give a scenario, a unit test or a reason" % rule)
        if kind != "scenario":
            say(not asked.get(rule), "rule_cases.tsv: %s has a scenario by now: %s" % (rule, ", ".join(sorted(asked.get(rule, ()))[:3])))
    for rule in sorted(set(rules) - seen):
        say(False, "rule %s has no case: add a scenario that asks for it and a line to rule_cases.tsv" % rule)


def lines_of(rule):
    for card in [rule] + rule.get("variants", []):
        yield from card.get("set", [])


def check_guides(rules):
    rows = table(SOURCE / "docs" / "guide-settings.tsv")
    say(len(rows) > 140, "guide-settings.tsv: only %d rows" % len(rows))
    for row in rows:
        rule = rules.get(row["rule"])
        say(rule is not None, "guide-settings.tsv: %(key)s: there is no rule %(rule)s" % row)
        if rule is None:
            continue
        off = "not_offered" in rule
        say((row["state"] == "explained") == off, "guide-settings.tsv: %(key)s: rule %(rule)s is not %(state)s" % row)
        say(not off or rule.get("instead"), "guide-settings.tsv: %(key)s: rule %(rule)s does not say what to do instead" % row)
        kind, _, name = row["evidence"].partition(" ")
        say(kind in ("scenario", "rules"), "guide-settings.tsv: %(key)s: no evidence: %(evidence)s" % row)
        say(kind != "rules" or name == row["rule"], "guide-settings.tsv: %(key)s: %(evidence)s is another rule" % row)
        # Only what can be typed nowhere, further reading and names of Python code, is left to `memtrace rules`.
        code = all(line["syntax"] in ("python", "shell") for line in lines_of(rule))
        say(kind != "rules" or row["state"] == "listed" or (row["state"] == "explained" and code),
            "guide-settings.tsv: %(key)s: a report has to show it" % row)
    for rule in rules:
        say(rule[0] not in "VAX" or any(row["rule"] == rule for row in rows), "guide-settings.tsv: no setting of a guide leads to %s" % rule)


def check_reachable(rules, program):
    """`memtrace rules ID` prints every rule of the guides, with its source."""
    done = subprocess.run([program, "rules", "--json", "--all"], stdout=subprocess.PIPE, check=True)
    said = {r["id"]: r for r in map(json.loads, done.stdout.decode("utf-8").splitlines()) if r["rule"] == "fix"}
    say(set(said) == set(rules), "memtrace rules --all differs from the files: %s" % sorted(set(said) ^ set(rules)))
    for one in rules:
        say(bool(said.get(one, {}).get("source")), "memtrace rules %s prints no source" % one)
    text = subprocess.run([program, "rules"] + ["C%d" % i for i in range(1, 32)], stdout=subprocess.PIPE, check=True).stdout.decode("utf-8")
    for i in range(1, 32):
        say("    C%-10d" % i in text, "memtrace rules C%d tells nothing" % i)


def properties(schema, node):
    while "$ref" in node:
        node = schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    return node


def check_value(schema, node, value, where):
    node = properties(schema, node)
    kinds = {"object": dict, "array": list, "string": str, "integer": int, "boolean": bool, "null": type(None)}
    allowed = node.get("type", list(kinds))
    allowed = [allowed] if isinstance(allowed, str) else allowed
    say(isinstance(value, tuple(kinds[k] for k in allowed)), "rules.schema.json: %s is no %s" % (where, allowed))
    if "enum" in node:
        say(value in node["enum"], "rules.schema.json: %s: %r is not among the values" % (where, value))
    if isinstance(value, dict):
        for key, inner in value.items():
            say(key in node.get("properties", {}), "rules.schema.json: %s has no field %s" % (where, key))
            if key in node.get("properties", {}):
                check_value(schema, node["properties"][key], inner, where + "." + key)
        for key in node.get("required", []):
            say(key in value, "rules.schema.json: %s lacks %s" % (where, key))
    if isinstance(value, list):
        for i, inner in enumerate(value):
            check_value(schema, node.get("items", {}), inner, "%s[%d]" % (where, i))


def check_savings(rules):
    """A rule computes what it saves and is played again, or says why it does not."""
    played = {fix for s in savings.SCENARIOS + rl_frameworks.SCENARIOS for fix in s.saves}
    recorded = {row["rule"] for row in table(HERE / "rule_cases.tsv") if row["kind"] == "recording"}  # both sides; its test compares the bytes where the rule computes some
    for one, rule in rules.items():
        cards = [rule] + rule.get("variants", [])
        computes = any(c.get("saving") for c in cards) or any("saving" in line for line in lines_of(rule))
        say(computes != bool(rule.get("no_saving")), "rule %s: give a saving, or say in no_saving why there is none" % one)
        say(computes == (one in played) or one in recorded, "savings.py: %s %s" % (one, "is never played again" if computes else "computes no saving"))
        judged = rule["kind"] in ("setting", "tip") and "not_offered" not in rule and not set(rule["phases"]) <= {"host_memory", "capture"}
        say(not judged or "when" in rule, "rule %s says on which evidence it fires in no `when`" % one)


def main():
    rules = load_rules()
    check_cases(rules)
    check_guides(rules)
    check_savings(rules)
    check_reachable(rules, os.environ.get("MEMTRACE", "memtrace"))
    schema = json.loads((SOURCE / "docs" / "rules.schema.json").read_text(encoding="utf-8"))
    for path in sorted(p for name in ("fixes", "programs") for p in (SOURCE / "analysis" / "rules" / name).glob("*.json")):
        if path.name != "order.json":
            check_value(schema, schema, json.loads(path.read_text(encoding="utf-8")), path.name)
    metrics = SOURCE / "analysis" / "rules" / "metrics.json"
    check_value(schema, schema, json.loads(metrics.read_text(encoding="utf-8")), metrics.name)
    print("%d rules, %d complaints" % (len(rules), len(FAILED)))
    return 1 if FAILED else 0


if __name__ == "__main__":
    sys.exit(main())
