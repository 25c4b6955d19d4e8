#!/usr/bin/env python3
"""steps.py MEMTRACE [ID...]: with the advised line added to the config, does the next report move on, down to the floor?

The lines of the first setting to change first are added to the settings of each situation that has some, and the report is made again, up to eight times.
No card may repeat what was just set, no setting may go back to what it was, no new finding of level error may appear, and no step may be taken twice.
open_steps.txt lists the situations that do not hold yet."""

import concurrent.futures
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import kit  # noqa: E402

ROUNDS = 8
LIST = "open_steps.txt"


def first_step(run):
    """{key: value} of the first setting to change first whose lines can all be typed; a card that takes a flag away cannot be added."""
    for card in run.cards:
        lines = [ln for ln in card.lines if ln.typed]
        if card.top and lines and not re.search(r"\b(remove|without|instead of) --", card.text):
            return card, {ln.key: ln.raw for ln in lines}
    return None, {}


def walk(memtrace, row):
    """What goes wrong on the way, and the steps."""
    inputs, set_now, out, way = kit.Inputs(row["inputs"].split(" ++ ")[0]), {}, [], []
    run = inputs.run(memtrace)
    if run.report is None:
        return [f"no report: {run.errors.strip()[-160:]}"], []
    if not run.set:
        return [], []
    before, was, steps = kit.errors(run), {k: [v] for k, v in run.set.items()}, set()
    for _ in range(ROUNDS):
        card, lines = first_step(run)
        if not card:
            break
        step = (card.id, tuple((k, kit.plain(v)) for k, v in lines.items()))
        way.append(" ".join(f"{k}={v}" for k, v in lines.items()))
        if step in steps:
            out.append(f"{card.id} is advised twice: {way[-1]}")
            break
        steps.add(step)
        for key, value in lines.items():
            old = was.setdefault(key, [run.now(key)])
            if kit.plain(value) in old[:-1] and kit.plain(value) != old[-1]:
                out.append(f"{card.id}: {key} goes back to {value} (it was {', '.join(map(str, old))})")
            old.append(kit.plain(value))
        set_now.update(lines)
        run = inputs.run(memtrace, set_now)
        if run.report is None:
            out.append(f"no report after {way[-1]}: {run.errors.strip()[-160:]}")
            break
        for kind, one, what in kit.contradictions(run):
            if any(key in what for key in lines):
                out.append(f"after {card.id}: {kind}: {one}: {what}")
        for one in sorted(kit.errors(run) - before):
            out.append(f"after {card.id} ({way[-1]}): error {one}")
        before |= kit.errors(run)
    return list(dict.fromkeys(out)), way


def main():
    words = sys.argv[1:] or [os.environ.get("MEMTRACE", "")]
    flags = {w for w in words if w.startswith("--")}
    words = [w for w in words if not w.startswith("--")]
    memtrace, ids = os.path.abspath(words[0]), set(words[1:])
    rows = [r for r in kit.situations() if r["when"] == "now" and r["id"] != "rules" and (not ids or r["id"] in ids)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        walked = dict(zip((r["id"] for r in rows), pool.map(lambda r: walk(memtrace, r), rows)))
    missed = {i: w[0] for i, w in walked.items()}
    bad = [i for i, m in missed.items() if m]
    if ids or "--all" in flags:
        for one, (wrong, way) in walked.items():
            if ids:
                print(f"{one}: " + " -> ".join(way or ["no step"]))
            for text in wrong:
                print(f"{one}: {text}")
    if "--write" in flags:
        with open(kit.HERE / LIST, "w", encoding="utf-8") as f:
            f.write("# Situations where a step is repeated, undone or leads into an error. steps.py fails when one of them does not any more: take it out.\n")
            f.writelines(f"{i}\n" for i in bad)
    good = bool(ids) or "--write" in flags or kit.hold(missed, kit.open_list(LIST), LIST)
    walks = [w for _, w in walked.values() if w]
    print(f"{len(rows) - len(bad)} of {len(rows)} situations move on to their floor; {sum(map(len, walks))} steps in {len(walks)} of them")
    if not ids and len(walks) < 100:
        sys.exit("too few walks have a step: this test no longer works")
    sys.exit(not good or (bool(ids) and bool(bad)))


if __name__ == "__main__":
    main()
