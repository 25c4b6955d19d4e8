#!/usr/bin/env python3
"""Plays every scenario and compares what `memtrace report` says of it with what its ticket, its guide or the job itself says.

    test_scenarios.py [--strict] [--table] [--keep DIR] [NAME...]

What the report does not hold yet (cause, roles, savings) is counted as "not yet"; --strict makes that a failure. The reports are
also the evidence that every setting of the guides is reached (guide.py). Known disagreements are listed in disagreements.py with the reason; one that has gone is a failure too, so that the list stays true."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))

import cells  # noqa: E402
import finetune  # noqa: E402
import disagreements  # noqa: E402
import healthy  # noqa: E402
import guide  # noqa: E402
import logs  # noqa: E402
import reach  # noqa: E402
import rl_frameworks  # noqa: E402
import savings  # noqa: E402
import tickets  # noqa: E402
from generator.record import MIB  # noqa: E402
from generator.scenario import Wrong, build, play  # noqa: E402

SAVING = 0.15  # of the real difference
ROLE_SLACK = 0.02  # of the live bytes
# Which of these a byte of a forward is cannot be told apart by its size or its life alone; together they can.
TOGETHER = {"recompute": "activation", "temp": "activation", "unknown": "activation"}


class Checks:
    def __init__(self, name):
        self.name, self.passed, self.failed, self.missing, self.report = name, [], [], [], None

    def say(self, what, good, detail):
        (self.passed if good else self.failed).append((what, detail))

    def later(self, what):
        self.missing.append(what)


def first(report, key):
    """A field of the verdict's rank, wherever the report keeps it."""
    for place in (report.get("verdict") or {}, report, (report.get("devices") or [{}])[0]):
        if key in place:
            return place[key]
    return None


def role_bytes(report):
    """{role: bytes at the moment that matters}, or None."""
    roles = first(report, "roles")
    if roles is None:
        return None
    if isinstance(roles, dict):
        rows = [dict(v, id=k) if isinstance(v, dict) else {"id": k, "bytes": v} for k, v in roles.items()]
    else:
        rows = roles
    out = {}
    for row in rows:
        name = row.get("role") or row.get("id")
        size = next((row[k] for k in ("at_focus_bytes", "focus_bytes", "bytes") if row.get(k) is not None), None)
        if size is not None:
            out[name] = out.get(name, 0) + size
    return out


def together(roles):
    out = {}
    for role, n in roles.items():
        out[TOGETHER.get(role, role)] = out.get(TOGETHER.get(role, role), 0) + n
    return out


def saving_of(card):
    """(low, high) in bytes, or None when the report does not say."""
    value = card.get("saving_bytes", card.get("saving"))
    if isinstance(value, (int, float)):
        return value, value
    if isinstance(value, dict):
        low = value.get("low_bytes", value.get("low", value.get("bytes")))
        high = value.get("high_bytes", value.get("high", value.get("bytes")))
        return (low, high) if low is not None and high is not None else None
    return None


def check_advice(s, report, checks):
    cards = {}
    for card in report.get("advice") or []:
        cards.setdefault(card["id"], card)
    for want in s.must:
        good = any(offered(cards, one) for one in want.split("|"))
        checks.say("advice:" + want, good, "not among " + (" ".join(cards) or "nothing"))
    for unwanted in s.must_not:
        checks.say("no-advice:" + unwanted, not offered(cards, unwanted),
                   "offered: %s" % (cards.get(unwanted.partition("/")[0]) or {}).get("title"))
    # By its own text the one saves nothing; the other gives back what PyTorch had given back before a request of its own failed.
    for idle in ("V23",) + (("B03",) if "fragmentation" in s.cause else ()):
        checks.say("not-first:" + idle, not cards.get(idle, {}).get("top"), "among the first three")
    if s.cause == "foreign":  # no setting of this job gives that back
        checks.say("first:B35", cards.get("B35", {}).get("top"), "not among the first three")
    for wanted, table in ((True, s.sets), (False, s.not_sets)):
        for fix, lines in sorted(table.items()):
            typed = [line["text"] for line in (cards.get(fix) or {}).get("set") or []]
            for line in [lines] if isinstance(lines, str) else lines:
                checks.say("%s:%s:%s" % ("sets" if wanted else "not-sets", fix, line), (line in typed) == wanted, "it types %s" % typed)
    return cards


def check_lint(s, report, checks):
    said = {finding["id"] for finding in report.get("lint") or []}
    for one in s.lint:
        checks.say("lint:" + one, one in said, "not among " + (" ".join(sorted(said)) or "nothing"))
    for one in s.no_lint:
        checks.say("no-lint:" + one, one not in said, "said")


def offered(cards, want):
    """ID, or ID/up, ID/down where one rule has two directions: its title says which."""
    name, _, variant = want.partition("/")
    return name in cards and {"up": "larger", "down": "smaller", "": ""}[variant] in cards[name]["title"].lower()


def check_savings(s, cards, played, checks):
    """The same job with the fix applied, as the report proposes it, against what the report promises."""
    for fix, change in sorted(s.saves.items()):
        if fix not in cards:
            checks.say("advice:" + fix, False, "not among " + (" ".join(cards) or "nothing"))
            continue
        values = [line.get("value", "") for line in cards[fix].get("set") or []]
        try:
            changes = change(values) if callable(change) else change
        except ValueError as error:
            checks.say("value:" + fix, False, str(error))
            continue
        if s.where == "holes":
            after = play(dict(s.job, **changes), played.card)
            checks.say("fits:" + fix, not after.failed, "with %s a request of %d fails" % (changes, after.request))
            real = played.holes - after.holes
        else:
            real = highest(s.dry().peaks, s.where) - highest(s.dry(**changes).peaks, s.where)
        checks.say("helps:" + fix, real > 0, "%s at %s saves %d" % (changes, s.where, real))
        promise = saving_of(cards[fix])
        if promise is None:
            checks.later("saving:" + fix)
            continue
        off = max(promise[0] - real, real - promise[1], 0)
        checks.say("saving:" + fix, off <= SAVING * abs(real),
                   "promised %d..%d, really %d at %s (set %s)" % (promise + (real, s.where, values)))


def highest(peaks, where):
    return max([n for place, n in peaks.items() if place.startswith(where)], default=0)


def check_roles(s, report, played, checks):
    said = role_bytes(report)
    if said is None:
        checks.later("roles")
        return
    truth, said_together = together(played.roles()), together(said)
    total = max(sum(truth.values()), 1)
    for role in sorted(set(truth) | set(said_together)):
        is_, got = truth.get(role, 0), said_together.get(role, 0)
        checks.say("roles:" + role, abs(got - is_) <= ROLE_SLACK * total, "said %d, is %d of %d" % (got, is_, total))
    if s.top:
        top = max(said, key=lambda r: said[r], default="")
        checks.say("top", top == s.top, "%s, not %s" % (top, s.top))


def check_live(report, played, checks):
    """What was live then, byte for byte: a report that counts otherwise is about something else."""
    focus = next((d["focus"] for d in report["devices"] if d["rank"] == report["verdict"]["rank"]), {})
    is_ = sum(played.roles().values())
    checks.say("live", focus.get("live_bytes") == is_, "%s, not %d" % (focus.get("live_bytes"), is_))
    if played.failed:
        checks.say("reserved", focus.get("reserved_bytes") == played.reserved,
        "%s, not %d" % (focus.get("reserved_bytes"), played.reserved))
        usable = focus.get("usable_free_bytes")
        checks.say("usable", usable is not None and abs(usable - played.free) <= max(MIB, played.free // 50),
                   "%s usable, not %d" % (usable, played.free))


def check_growth(s, report, checks):
    rows = first(report, "growth")
    if rows is None:
        checks.later("growth")
        return
    said = [(r.get("label", ""), next((r[k] for k in ("bytes_per_step", "slope_bytes", "slope") if k in r), 0)) for r in rows]
    if s.grows is None:
        loud = [r for r in said if r[1] > MIB]
        checks.say("growth", not loud, "said to grow: %s" % loud[:3])
        return
    function, slope = s.grows
    good = [r for r in said if function in r[0] and abs(r[1] - slope) <= 0.05 * slope]
    checks.say("growth", bool(good), "%s, not %s by %d a step" % (said[:3], function, slope))


def check_sense(s, report, checks):
    """What no report may say: that settings free more than there is, that a sync could do without weights, that what was let go of is
    kept, or two numbers of tokens for the logits of one failure."""
    after, verdict = report.get("after") or {}, report["verdict"]
    device = next((d for d in report["devices"] if d["focus"] and d["rank"] == verdict["rank"]), None)
    if device is None or "foreign" in s.cause:
        return
    ooms, focus, logits = device["ooms"], device["focus"], device.get("logits") or {}
    there = focus["reserved_bytes"] + (ooms[0]["request_bytes"] if ooms else 0)
    checks.say("frees-what-is-there", (after.get("saving_bytes") or 0) <= there, "%s of %d" % (after.get("saving_bytes"), there))
    for card in report["advice"]:
        if card["id"] == "B13" and verdict["phase"] == "weight_sync":  # a synchronisation needs the weights
            cache = role_bytes(report).get("kv_cache", 0)
            checks.say("sleep-leaves-weights", card["saving_high_bytes"] <= cache, "%d of %d" % (card["saving_high_bytes"], cache))
    for audit in device.get("audits") or []:
        if "pending_frees" in s.cause and audit["id"] == "fsdp_gathers":
            checks.say("gathers-were-freed", "waiting for another stream" in audit["sentence"], audit["sentence"])
    for row in device["expected"] or []:
        if ooms and row["role"] == "logits" and row.get("formula") and row["phase"] == verdict["phase"]:
            tokens = int(row["formula"].split()[0])
            if ooms[0]["request_bytes"] == logits.get("tokens", 0) * logits.get("vocabulary", 0) * logits.get("element_bytes", 0):
                checks.say("tokens", tokens == logits["tokens"], "%d beside %d" % (tokens, logits["tokens"]))


def check(s, report, played, checks):
    verdict = report["verdict"]
    if s.kind:
        checks.say("kind", verdict["kind"] == s.kind, "%s, not %s" % (verdict["kind"], s.kind))
    if s.phase:
        checks.say("phase", verdict["phase"] in s.phase, "%s, not %s" % (verdict["phase"], "/".join(s.phase)))
    if s.sub:
        checks.say("sub", verdict["sub_phase"] in s.sub, "%s, not %s" % (verdict["sub_phase"], "/".join(s.sub)))
    if s.request:
        asked = [oom["request_bytes"] for d in report["devices"] for oom in d["ooms"]]
        checks.say("request", s.request in asked, "%s, not %d" % (asked, s.request))
    if s.ranks:
        checks.say("rank", verdict["rank"] == len(s.ranks) - 1, "rank %s" % verdict["rank"])
    cause = first(report, "cause")
    if cause is None:
        checks.later("cause")
    else:
        got = cause.get("id") if isinstance(cause, dict) else cause
        checks.say("cause", (got or "none") in s.cause, "%s, not %s" % (got, "/".join(s.cause)))
    cards = check_advice(s, report, checks)
    check_lint(s, report, checks)
    check_sense(s, report, checks)
    if played is not None:
        check_live(report, played, checks)
        check_growth(s, report, checks)
        check_roles(s, report, played, checks)
        check_savings(s, cards, played, checks)


def make(s, folder):
    """The files of a scenario. Returns (what to report on, what was played)."""
    played = build(s) if s.snapshot and not s.ranks else None
    for name, text in s.files.items():
        (folder / name).write_text(text(played) if callable(text) else text, encoding="utf-8")
    if not s.snapshot:
        return [str(folder / name) for name in s.files][:1], None
    if s.ranks:
        inputs = folder / "step5"
        inputs.mkdir()
        for rank in range(len(s.ranks) - 1):
            calm = build(type(s)(s.name, s.ticket, dict(s.job, **s.ranks[rank])))
            (inputs / ("torch_memory_rank%d_pid%d.pickle" % (rank, 4321 + rank))).write_bytes(calm.data)
        played = build(s, len(s.ranks) - 1)
        (inputs / ("torch_memory_rank%d_pid%d.pickle" % (len(s.ranks) - 1, 4320 + len(s.ranks)))).write_bytes(played.data)
        return [str(inputs)], played
    (folder / "snapshot.pickle").write_bytes(played.data)
    return [str(folder / "snapshot.pickle")], played


def known_options(program):
    done = subprocess.run([program, "report", "--help"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    return done.stdout.decode("utf-8", "replace")


def run_one(s, program, folder, options):
    checks = Checks(s.name)
    try:
        inputs, played = make(s, folder)
    except Wrong as wrong:
        checks.say("scenario", False, str(wrong))
        return checks
    needed = [o for o in s.options if o.startswith("--") and " " not in o] if s.snapshot else ["--log"]
    lacking = [o for o in needed if o not in options]
    if lacking:
        checks.later("option:" + lacking[0])
        return checks
    extra = [o.format(card=played.card if played else 0,
    folder=folder) for o in s.options] + (["--verify"] if "--verify" in options else [])
    done = subprocess.run([program, "report", *inputs, "--format", "json", "-o", "-", *extra],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        checks.say("report", False, "exit status %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()))
        return checks
    checks.report = json.loads(done.stdout)
    check(s, checks.report, played, checks)
    return checks


def settle(results, wanted_all):
    """Known disagreements: (scenario, check) that fail as listed. Returns (news, gone)."""
    failed = {(c.name, what) for c in results for what, _ in c.failed}
    passed = {(c.name, what) for c in results for what, _ in c.passed}
    known, everywhere = set(disagreements.KNOWN), {what for _, what in failed}
    news = {(name, what) for name, what in failed if (name, what) not in known and ("*", what) not in known}
    gone = sorted(k for k in known if k in passed)
    if wanted_all:
        names = {c.name for c in results}
        gone += sorted(k for k in known if k[0] == "*" and k[1] not in everywhere)
        lost = sorted(k for k in known if k[0] != "*" and k[0] not in names)
    return news, gone, lost if wanted_all else []


def reason(key):
    return disagreements.KNOWN.get(key) or disagreements.KNOWN[("*", key[1])]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--strict", action="store_true", help="what the report does not hold yet is a failure")
    parser.add_argument("--table", action="store_true", help="print every disagreement, known or not, as a Markdown table")
    parser.add_argument("--keep", help="leave the snapshots in this folder")
    parser.add_argument("names", nargs="*", help="only scenarios whose name contains one of these")
    args = parser.parse_args()
    program = os.environ.get("MEMTRACE", "memtrace")
    everything = (tickets.SCENARIOS + cells.SCENARIOS + healthy.SCENARIOS + logs.SCENARIOS + savings.SCENARIOS
                  + reach.SCENARIOS + rl_frameworks.SCENARIOS + finetune.SCENARIOS)
    names = [s.name for s in everything]
    assert len(names) == len(set(names)), "a name stands twice: %s" % {n for n in names if names.count(n) > 1}
    chosen = [s for s in everything if not args.names or any(n in s.name for n in args.names)]
    options, results, began = known_options(program), [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        for s in chosen:
            folder = pathlib.Path(args.keep or scratch) / s.name
            folder.mkdir(parents=True, exist_ok=True)
            results.append(run_one(s, program, folder, options))
        if not args.names:
            results.append(Checks("guides"))
            guide.check(results[-1], {c.name: c.report for c in results}, program)
    news, gone, lost = settle(results, not args.names)
    later = {}
    for c in results:
        for what in c.missing:
            later.setdefault(what.split(":")[0], []).append(c.name)
    details = {(c.name, what): detail for c in results for what, detail in c.failed}
    if args.table:
        print("| scenario | check | memtrace says |\n|---|---|---|")
        for key in sorted(details):
            print("| %s | %s | %s%s |" % (key + (details[key], "" if key in news else " (known: %s)" % reason(key))))
    else:
        for key in sorted(news):
            print("DISAGREES %s: %s: %s" % (key + (details[key],)))
    for key in gone:
        print("AGREES AGAIN %s: %s: take it out of disagreements.py" % key)
    for key in lost:
        print("NO SUCH SCENARIO %s: %s: take it out of disagreements.py" % key)
    for what, where in sorted(later.items()):
        print("not yet: %s in %d scenarios (%s%s)" % (what, len(where), ", ".join(where[:3]),
        ", ..." if len(where) > 3 else ""))
    n = sum(len(c.passed) for c in results)
    print("%d scenarios, %d checks agree, %d disagree (%d known), %d not yet, %.1f s"
          % (len(results), n, len(details), len(details) - len(news), sum(len(c.missing) for c in results),
          time.monotonic() - began))
    return 1 if news or gone or lost or not n or (args.strict and later) else 0


if __name__ == "__main__":
    sys.exit(main())
