"""Every setting of the guides (docs/guide-settings.tsv) against the report that the table names as its evidence: the report of that
scenario offers the rule, typed as its syntax wants it, or a finding of it says why the setting does nothing. What no report can
show (further reading; names in Python code, which no input holds) is explained by `memtrace rules`."""

import csv
import pathlib
import re
import subprocess

TABLE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "guide-settings.tsv"
# A placeholder in angle brackets stands for what only the reader knows; the note beside it says what.
SYNTAX = {
    "hydra": re.compile(r"^\+{0,2}[A-Za-z_][\w.]*=\S.*$"),
    "yaml": re.compile(r"^[A-Za-z_][\w.]*: \S.*$"),
    "flag": re.compile(r"^--[a-z][\w.-]*( \S.*)?$"),
    "env": re.compile(r"^[A-Z_]+=\S+$"),
    "python": re.compile(r"^\S.*$"),
    "shell": re.compile(r"^\S.*$"),
    "text": re.compile(r"^\S.*$"),
}


def table():
    with open(TABLE, encoding="utf-8", newline="") as f:
        return list(csv.DictReader(f, delimiter="\t", quoting=csv.QUOTE_NONE))


def is_key(text):
    """A setting, not a piece of advice in words."""
    return " " not in text.partition("=")[0].partition(":")[0]


def last(text):
    """The part of a setting that every spelling of it has: "a.b.c=x", "a.b.c: x", "--c"."""
    return text.partition("=")[0].partition(":")[0].rpartition(".")[2].lstrip("-")


def offers(row, report):
    """None, or what is wrong."""
    cards = [c for c in report.get("advice") or [] if c["id"] == row["rule"]]
    if not cards:
        return "%s is not offered, but %s" % (row["rule"], " ".join(c["id"] for c in report.get("advice") or []) or "nothing")
    lines = cards[0]["set"]
    for line in lines:
        if not SYNTAX[line["syntax"]].match(line["text"]):
            return "%r is no %s" % (line["text"], line["syntax"])
    if not is_key(row["key"]):
        return None if lines or cards[0]["kind"] == "tip" else "nothing to type"
    typed = [line["text"] for line in lines]
    if row["key"].startswith("LD_PRELOAD="):
        library = row["key"].partition("=")[2].partition(" ")[0]
        return None if any(t.startswith("LD_PRELOAD=") and library in t for t in typed) else "not typed: %s" % typed
    key = re.compile(r"(?<![A-Za-z0-9])%s(?!\w)" % re.escape(last(row["key"])))  # some frameworks put a word before it: ppo_
    return None if any(key.search(t) for t in typed) else "not typed: %s" % typed


def explains(row, report):
    found = [f for f in report.get("lint") or [] if f["id"] == row["rule"]]
    text = " ".join(str(f[k]) for f in found for k in ("sentence", "why", "remedy"))
    if not found:
        return "no finding %s" % row["rule"]
    return None if last(row["key"]) in text else "its finding does not name it: %s" % text


def told(row, program):
    """`memtrace rules ID` says where it comes from and, where it is never advised, why and what instead."""
    done = subprocess.run([program, "rules", row["rule"]], stdout=subprocess.PIPE, check=False)
    text = done.stdout.decode("utf-8")
    wanted = ["source"] + (["not given", "instead"] if row["state"] == "explained" else [])
    lacks = [w for w in wanted if not re.search("^    %s " % w, text, re.M)]
    return None if done.returncode == 0 and not lacks else "memtrace rules %s says nothing of %s" % (row["rule"], ", ".join(lacks))


def check(checks, reports, program):
    for row in table():
        kind, _, name = row["evidence"].partition(" ")
        if kind == "rules":
            wrong = told(row, program)
        elif reports.get(name) is None:
            wrong = "there is no report of %s" % name
        else:
            wrong = explains(row, reports[name]) if row["state"] == "explained" else offers(row, reports[name])
        checks.say("guide:%(rule)s:%(key)s:%(guide)s:%(section)s" % row, wrong is None, "%s: %s" % (row["evidence"], wrong))
