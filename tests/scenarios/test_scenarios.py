#!/usr/bin/env python3
"""Plays every scenario and compares what `memtrace report` says of it with what its ticket, its guide or the job itself says.

    test_scenarios.py [--strict] [--table] [--keep DIR] [NAME...]

What the report does not hold yet (cause, roles, savings) is counted as "not yet"; --strict makes that a failure. The reports are
also the evidence that every setting of the guides is reached (guide.py). Known disagreements are listed in disagreements.py with the reason; one that has gone is a failure too, so that the list stays true."""

import argparse
import json
import os
import pathlib
import pickle
import re
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
from generator.record import MIB  # noqa: E402
from generator.scenario import Wrong, build, on_devices, play  # noqa: E402

SAVING = 0.10  # of the real difference
ROLE_SLACK = 0.02  # of the live bytes
# Which of these a byte of a forward is cannot be told apart by its size or its life alone; together they can.
TOGETHER = {"recompute": "activation", "temp": "activation", "unknown": "activation"}


class Checks:
    def __init__(self, name):
        self.name, self.passed, self.failed, self.missing, self.report, self.promises = name, [], [], [], None, []

    def say(self, what, good, detail):
        (self.passed if good else self.failed).append((what, detail))

    def framework(self):
        name = self.report["verdict"]["framework"]
        return "plain" if name == "none" else name

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


def check_advice(s, report, checks):
    cards = {}
    for card in report.get("advice") or []:
        cards.setdefault(card["id"], card)
    for want in s.must:
        good = any(offered(cards, one) for one in want.split("|"))
        checks.say("advice:" + want, good, "not among " + (" ".join(cards) or "nothing"))
    ids = [card["id"] for card in report.get("advice") or [] if card.get("top")]
    for want in [" ".join(s.first)] if s.first else []:
        checks.say("first:" + want, ids[:len(s.first)] == list(s.first), "first are " + (" ".join(ids) or "none"))
    for unwanted in s.not_top:
        checks.say("not-first:" + unwanted, unwanted not in ids, "first are " + " ".join(ids))
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


class Promise:
    """What a setting is said to free, and what it freed when the job was played again with it."""

    def __init__(self, rule, framework, text, card, freed, why):
        self.rule, self.framework, self.text, self.freed, self.why = rule, framework, text, freed, why
        self.said, self.low, self.high = (card["saving_bytes"], card["saving_low_bytes"], card["saving_high_bytes"])

    @property
    def within(self):
        return abs(self.said - self.freed) <= SAVING * abs(self.freed)

    @property
    def in_range(self):
        return self.low <= self.freed <= self.high

    def row(self):
        return "| %s | %s | %s | %d | %d..%d | %d | %.3f | %s |" % (self.rule, self.framework, self.text, self.said, self.low, self.high, self.freed,
                                                               self.said / self.freed if self.freed else 0, self.why)


def freed_by(s, changes, played, checks, what):
    """Bytes fewer at the highest instant of the place when the job is played again; or what the other ranks no longer hold on the card."""
    if s.where == "strays":
        return (len(s.ranks) - 1) * build(type(s)(s.name, s.ticket, dict(s.job, **s.strays))).reserved
    if s.where != "holes":
        return highest(s.dry().peaks, s.where) - highest(s.dry(**changes).peaks, s.where)
    after = play(dict(s.job, **changes), played.card)
    checks.say("fits:" + what, not after.failed, "with %s a request of %d fails" % (changes, after.request))
    return played.holes - after.holes


def compare(s, what, promise, checks):
    """Within a tenth; or inside the range, and the scenario says why."""
    checks.promises.append(promise)
    checks.say("helps:" + what, promise.freed > 0, "%s at %s saves %d" % (promise.text, s.where, promise.freed))
    checks.say("saving:" + what, promise.within or (promise.in_range and promise.why),
               "%s: promised %d (%d..%d), really %d at %s" % (promise.text, promise.said, promise.low, promise.high, promise.freed, s.where))
    checks.say("needs-its-reason:" + what, not (promise.within and promise.why), "within a tenth: take it out of loose")


def same_saving(one, other):
    return all(one[k] == other[k] for k in ("saving_bytes", "saving_low_bytes", "saving_high_bytes"))


def own_line(fix, card, checks, ask):
    """The line that --try promises the same bytes for as the advice: of several that are listed, the one that those are of."""
    lines = [line for line in card.get("set") or [] if line["key"] and not line["value"].startswith("<")]
    lines.sort(key=lambda line: line["text"] != card["proposed"])
    own = next((line for line in lines if same_saving(ask(line["key"] + ("=" + line["value"] if line["value"] else "")), card)), None)
    checks.say("try:" + fix, own is not None or not lines, "no line of %s is promised the %d of the advice" % ([line["text"] for line in lines], card["saving_bytes"]))
    return own


def check_other_number(s, fix, card, own, played, checks, ask):
    """Half of the number that is proposed, or twice that: --try promises what it frees."""
    number, factor = float(own["value"]), 2 if card["moves"] == "up" else 0.5
    other = "%g" % (number * factor) if "." in own["value"] else "%d" % (number * factor)
    tried = ask("%s=%s" % (own["key"], other))
    checks.say("counted:" + fix, tried["answer"] in ("counted", "beyond"), "%s=%s: %s" % (own["key"], other, tried["sentence"]))
    if tried["answer"] == "counted":
        freed = freed_by(s, s.saves[fix]([other]), played, checks, fix + "/try")
        compare(s, fix + "/try", Promise(fix, checks.framework(), "`--try %s=%s`" % (own["key"], other), tried, freed, s.loose.get(fix + "/try", "")), checks)


def check_savings(s, cards, played, checks, ask):
    """The same job with the fix applied, as the report proposes it, against what the report promises."""
    for fix, change in sorted(s.saves.items()):
        card = cards.get(fix)
        if card is None or card["saving_bytes"] is None:
            checks.say("saving:" + fix, False, "nothing is promised" if card else "not among " + (" ".join(cards) or "nothing"))
            continue
        own = own_line(fix, card, checks, ask)
        lines = sorted(card.get("set") or [], key=lambda line: line != own)
        try:
            changes = change([line["value"] for line in lines]) if callable(change) else change
        except ValueError as error:
            checks.say("value:" + fix, False, str(error))
            continue
        text = own["text"] if own else card["proposed"] or (lines[0]["text"] if lines else card["title"])
        compare(s, fix, Promise(fix, checks.framework(), "`%s`" % text, card, freed_by(s, changes, played, checks, fix), s.loose.get(fix, "")), checks)
        if own and callable(change) and re.fullmatch(r"[0-9.]+", own["value"]):
            check_other_number(s, fix, card, own, played, checks, ask)


def check_kept(s, cards, played, checks):
    """Enough alone is a promise: the job is played to its end on the same card."""
    for fix, (changes, enough) in sorted(s.keeps.items()):
        card = cards.get(fix)
        if card is None or card["lacking_bytes"] is None:
            checks.say("enough:" + fix, False, "nothing is promised" if card else "not among " + (" ".join(cards) or "nothing"))
            continue
        said = card["lacking_bytes"] == 0 and not card.get("left_open")
        checks.say("enough:" + fix, said == enough, "said to be enough" if said else "not said to be enough: %d lacking" % card["lacking_bytes"])
        after = play(dict(s.job, **changes), played.card)
        checks.say("kept:" + fix, not (said and after.failed), "with %s a request of %d fails in %s" % (changes, after.request, after.truth.where))


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
    there = max(there, after.get("needed_bytes") or 0)  # with what was still to come after the request
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


def check(s, report, played, checks, ask):
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
        check_savings(s, cards, played, checks, ask)
        check_kept(s, cards, played, checks)


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
            calm = build(type(s)(s.name, s.ticket, dict(s.job, **s.ranks[rank]))).data
            if s.strays:
                stray = build(type(s)(s.name, s.ticket, dict(s.job, **s.strays))).data
                calm = on_devices(pickle.loads(stray), *[None] * rank, pickle.loads(calm))
            (inputs / ("torch_memory_rank%d_pid%d.pickle" % (rank, 4321 + rank))).write_bytes(calm)
        played = build(s, len(s.ranks) - 1)
        (inputs / ("torch_memory_rank%d_pid%d.pickle" % (len(s.ranks) - 1, 4320 + len(s.ranks)))).write_bytes(played.data)
        return [str(inputs)], played
    others = [build(type(s)(s.name, s.ticket, dict(s.job, **peer))).data for peer in s.peers]
    (folder / "snapshot.pickle").write_bytes(on_devices(*map(pickle.loads, [played.data] + others)) if others else played.data)
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
    command = [program, "report", *inputs, "--format", "json", "-o", "-", *extra]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode != 0:
        checks.say("report", False, "exit status %d: %s" % (done.returncode, done.stderr.decode("utf-8", "replace").strip()))
        return checks
    checks.report = json.loads(done.stdout)
    check(s, checks.report, played, checks,
          lambda setting: json.loads(subprocess.run(command + ["--try", setting], stdout=subprocess.PIPE, check=True).stdout)["tried"]["settings"][0])
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
    parser.add_argument("--table", action="store_true", help="print what is promised and freed, and every disagreement, known or not, as Markdown tables")
    parser.add_argument("--keep", help="leave the snapshots in this folder")
    parser.add_argument("names", nargs="*", help="only scenarios whose name contains one of these")
    args = parser.parse_args()
    program = os.environ.get("MEMTRACE", "memtrace")
    everything = (tickets.SCENARIOS + cells.SCENARIOS + healthy.SCENARIOS + logs.SCENARIOS + log_misread.SCENARIOS + jobs.SCENARIOS + told.SCENARIOS + firsts.SCENARIOS + savings.SCENARIOS
                  + reach.SCENARIOS + rl_frameworks.SCENARIOS + finetune.SCENARIOS)
    names = [s.name for s in everything]
    assert len(names) == len(set(names)), "a name stands twice: %s" % {n for n in names if names.count(n) > 1}
    chosen = [s for s in everything if not args.names or any(n in s.name for n in args.names)]
    # Sanitizers make each report ten times as long; what the reports say, the other build checks on all.
    whole = not args.names and not os.environ.get("MT_SANITIZE")
    if not args.names and not whole:
        chosen = chosen[::5]
    options, results, began = known_options(program), [], time.monotonic()
    with tempfile.TemporaryDirectory() as scratch:
        for s in chosen:
            folder = pathlib.Path(args.keep or scratch) / s.name
            folder.mkdir(parents=True, exist_ok=True)
            results.append(run_one(s, program, folder, options))
        if whole:
            results.append(Checks("guides"))
            guide.check(results[-1], {c.name: c.report for c in results}, program)
    promises = [p for c in results for p in c.promises]
    if whole:
        results.append(Checks("promises"))
        rules, frameworks = {p.rule for p in promises}, {p.framework for p in promises}
        results[-1].say("enough", len(rules) >= 25 and len(frameworks) >= 6, "%d rules of %s" % (len(rules), " ".join(sorted(frameworks))))
    news, gone, lost = settle(results, whole)
    later = {}
    for c in results:
        for what in c.missing:
            later.setdefault(what.split(":")[0], []).append(c.name)
    details = {(c.name, what): detail for c in results for what, detail in c.failed}
    if args.table:
        print("| rule | framework | setting | promised | range | freed | promised / freed | why it is more than a tenth off |\n|---|---|---|---|---|---|---|---|")
        for promise in promises:
            print(promise.row())
        print("\n| scenario | check | memtrace says |\n|---|---|---|")
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
    print("%d promises of %d rules in %d frameworks (%d by --try): %d within a tenth, %d inside their range only, %d neither"
          % (len(promises), len({p.rule for p in promises}), len({p.framework for p in promises}), sum("--try" in p.text for p in promises),
             sum(p.within for p in promises), sum(p.in_range and not p.within for p in promises), sum(not p.within and not p.in_range for p in promises)))
    print("%d scenarios, %d checks agree, %d disagree (%d known), %d not yet, %.1f s"
          % (len(results), n, len(details), len(details) - len(news), sum(len(c.missing) for c in results),
          time.monotonic() - began))
    return 1 if news or gone or lost or not n or (args.strict and later) else 0


if __name__ == "__main__":
    sys.exit(main())
