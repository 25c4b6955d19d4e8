#!/usr/bin/env python3
"""run.py MEMTRACE [ID...]: does the report of each situation of the five guides lead to that guide's advice?

expected.tsv says what each has to be told (README.md has the columns); open.txt lists the situations that do not hold yet. Without ids the test fails
when an id that is not listed misses, and when a listed one holds: the list can only shrink. --write writes the list anew, --kinds groups what is missed."""

import concurrent.futures
import fnmatch
import json
import os
import re
import subprocess
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kit  # noqa: E402

MACROS = {
    "@fsdp": ["actor_rollout_ref.*.megatron.*", "optim.override_optimizer_config.*offload*"],
    "@megatron": ["enable_gradient_checkpointing", "enable_activation_offload", "fsdp_config.*", "ulysses_sequence_parallel_size", "tiled_mlp.*"],
}


def relation_holds(relation, value, run, key):
    m = re.match(r"(<=|>=|!=|<|>|=)(.*)$", relation)
    if not m:
        raise SystemExit(f"expected.tsv: no relation: {relation}")
    op, want = m.groups()
    if op in ("=", "!=") and want != "cur":
        return (kit.plain(value) == kit.plain(want)) == (op == "=")
    left, right = kit.number(value), kit.number(run.now(key)) if want == "cur" else kit.number(want)
    if left is None or right is None:
        return False
    return {"<": left < right, ">": left > right, "<=": left <= right, ">=": left >= right, "=": left == right, "!=": left != right}[op]


def line_fits(line, card, relations, run):
    for relation in relations:
        if relation.startswith("@"):
            if not re.search(relation[1:], card.text):
                return False
        elif relation.startswith("~"):
            if not re.search(relation[1:], line.value + " " + line.text):
                return False
        elif not relation_holds(relation, line.value, run, line.key):
            return False
    return True


def card_fits(card, token, run):
    """KEY, KEY:RELATION[,RELATION], or ~REGEX over title and lines. KEY ends a line's key at a dot, and may hold *."""
    if token.startswith("~"):
        return re.search(token[1:], card.title + " " + " ".join(ln.text for ln in card.lines), re.I) is not None
    key, _, relations = token.partition(":")
    relations = [relations] if relations.startswith("=[") else [r for r in relations.split(",") if r]
    return any(ln.key and (fnmatch.fnmatchcase(ln.key, key) or fnmatch.fnmatchcase(ln.key, "*." + key)) and line_fits(ln, card, relations, run)
               for ln in card.lines)


def any_fits(cards, tokens, run):
    return any(card_fits(c, t, run) for t in tokens.split("||") for c in cards)


def phase_fits(want, verdict):
    got = f"{verdict.get('phase')}/{verdict.get('sub_phase')}"
    return any(fnmatch.fnmatchcase(got, p if "/" in p else p + "/*") for p in want.split("|"))


def check(row, run):
    """What is missed: (kind, text)."""
    if run.report is None or run.status not in (0, 3):
        return [("no report", f"exit status {run.status}: {run.errors.strip().splitlines()[-1] if run.errors.strip() else 'no output'}")]
    out, top = [], [c for c in run.cards if c.top or c.enough]
    verdict = run.report["verdict"]
    cause = (run.report.get("cause") or {}).get("id")
    if row["phase"] and not phase_fits(row["phase"], verdict):
        out.append(("phase", f"{verdict.get('phase')}/{verdict.get('sub_phase')}, not {row['phase']}"))
    if row["cause"] and cause not in row["cause"].split("|"):
        out.append(("cause", f"{cause}, not {row['cause']}"))
    for token in row["first"].split():
        if not any_fits(top, token, run):
            out.append(("not first", f"{token}; first are " + ("; ".join(f"{c.id} {c.lines[0].key or c.lines[0].text}={c.lines[0].value}" for c in top if c.lines) or "none")))
    for token in row["has"].split():
        if not any_fits(run.cards, token, run):
            out.append(("not advised", token))
    for token in [t for one in row["not"].split() for t in MACROS.get(one, [one])]:
        for card in top if token.startswith("^") else run.cards:
            if card_fits(card, token.lstrip("^"), run):
                out.append(("wrong", f"{card.id} {'first ' if card.top else ''}says {token.lstrip('^')}"))
    for token in row["lint"].split():
        hit = [x for x in run.lints if (re.search(token[1:], " ".join(str(x.get(k)) for k in ("sentence", "why", "remedy")))
                                        if token.startswith("~") else x["id"] == token.lstrip("!"))]
        if bool(hit) == token.startswith("!"):
            out.append(("lint", token))
    if row["words"]:
        text = json.dumps({k: v for k, v in run.report.items() if k not in ("provenance", "settings")}, ensure_ascii=False)
        for token in row["words"].split("  "):
            if bool(re.search(token.strip().lstrip("!"), text.replace('\\"', '"'))) == token.strip().startswith("!"):
                out.append(("words", token.strip()))
    settled = run.report.get("advice_settled")
    if row["floor"] and settled is not None and row["floor"].lstrip("-") not in json.dumps(settled):
        out.append(("floor not said", row["floor"]))
    out += [(kind, f"{card}: {what}") for kind, card, what in kit.contradictions(run)]
    return out


def rules_explained(memtrace):
    out = []
    for n in range(1, 32):
        done = subprocess.run([memtrace, "rules", f"C{n}"], capture_output=True, timeout=60, check=False)
        if done.returncode or f"C{n} " not in done.stdout.decode("utf-8", "replace"):
            out.append(("no report", f"memtrace rules C{n}"))
    return out


def misses(memtrace, row):
    if row["inputs"] == "rules C1..C31":
        return rules_explained(memtrace)
    return [m for part in row["inputs"].split(" ++ ") for m in check(row, kit.Inputs(part).run(memtrace))]


def main():
    words = sys.argv[1:] or [os.environ.get("MEMTRACE", "")]
    flags = {w for w in words if w.startswith("--")}
    words = [w for w in words if not w.startswith("--")]
    memtrace, ids = os.path.abspath(words[0]), set(words[1:])
    rows = kit.situations()
    known = kit.open_list("open.txt")
    counted = [r for r in rows if r["when"] == "now" and (not ids or r["id"] in ids)]
    later = [r for r in rows if r["when"] != "now" and (not ids or r["id"] in ids)]
    strange = (set(known) | ids) - {r["id"] for r in rows}
    if strange:
        sys.exit(f"no such situation: {', '.join(sorted(strange))}")
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        missed = dict(zip((r["id"] for r in counted), pool.map(lambda r: misses(memtrace, r), counted)))
    bad = [i for i, m in missed.items() if m]
    kinds = {}
    for row in counted:
        for kind, text in dict.fromkeys(missed[row["id"]]):
            kinds.setdefault(kind, []).append((row["id"], text))
            if "--kinds" not in flags and (ids or row["id"] not in known or "--all" in flags):
                print(f"{row['id']}: {kind}: {text}   [{row['guide']} {row['situation']}]")
    if "--kinds" in flags:
        for kind, all_of in sorted(kinds.items(), key=lambda k: -len(k[1])):
            print(f"{kind} ({len(all_of)})")
            for one, text in all_of:
                print(f"  {one}: {text}")
    if "--write" in flags:
        with open(kit.HERE / "open.txt", "w", encoding="utf-8") as f:
            f.write("# Situations that do not lead to their guide's advice yet. run.py fails when one of them does: take it out.\n")
            f.writelines(f"{i}\n" for i in bad)
    fail = False
    if not ids and "--write" not in flags:
        for one in known:
            if one in missed and not missed[one]:
                print(f"{one} holds now: take it out of open.txt")
                fail = True
        fail = fail or any(i not in known for i in bad)
    print(f"{len(counted) - len(bad)} of {len(rows) if not ids else len(counted)} lead to their guide's advice"
          + (f" ({len(later)} wait for recordings that are not read yet)" if later else ""))
    sys.exit(fail or (bool(ids) and bool(bad)))


if __name__ == "__main__":
    main()
