#!/usr/bin/env python3
"""Instructions that memtrace takes for an event, counted by callgrind: they do not move with the machine, so a change that costs 5 % is seen at once.

    python3 instructions.py --memtrace ../../build/memtrace [--write]

Two inputs as PyTorch 2.8 and later write them, one of twice as many events: the difference is what an event costs. `reading`, `analysis` (without the
advice) and `packing` (a page's columns, without what is done inside of the libraries that pack) are instructions an event; `empty` is the report of a snapshot without an event, in thousands: the rules. `advice` is all of the advice on the smaller of the two, in thousands: it grows with rules and
functions, not with events.

callgrind counts each byte that `rep stosb` clears or `rep movsb` copies: an array that malloc() takes from its heap counts so, and a mapping, whose
pages the kernel clears in a multiple of the time, does not.

Compared with instructions.json: status 1 where one is over its limit by more than 5 %, 77 where callgrind is not there or the program was built by
another compiler or stands on another C library than the limits. --write puts what was counted there."""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LIMITS = HERE / "instructions.json"
EVENTS = 20000
MORE = 1.05  # of a limit is allowed
SKIP = 77


def built_by(program):
    """What the numbers hold for: compiler and C library, by their first two parts."""
    found = re.search(rb"GCC: \([^)]*\) (\d+)\.", pathlib.Path(program).read_bytes())
    libc = (os.confstr("CS_GNU_LIBC_VERSION") or "no glibc") if hasattr(os, "confstr") else "no glibc"
    return f"gcc {found.group(1).decode() if found else '?'}, {libc}, {os.uname().machine}"


def callgrind(scratch, command, *within):
    """What callgrind counted, in the file that is given back."""
    out = os.path.join(scratch, "callgrind.out")
    done = subprocess.run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *within, *command], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"instructions.py: valgrind did not run {' '.join(command)}: {done.stderr}")
    return out


def annotated(out, inclusive):
    return subprocess.run(["callgrind_annotate", f"--inclusive={inclusive}", "--threshold=100", out], stdout=subprocess.PIPE, text=True, check=True).stdout


def inclusive(scratch, command):
    """Instructions by function, with those it calls."""
    text = annotated(callgrind(scratch, command), "yes")
    rows = re.findall(r"^\s*([\d,]+) \([\d. ]+%\)\s+\S*?:([A-Za-z_]\w*)(?= |$)", text, re.M)
    return {name: int(count.replace(",", "")) for count, name in rows}


def within(scratch, command, function):
    """Instructions of a function with those it calls, but for what is done inside of libraries that pack. By where the instructions are: these
    libraries call themselves, so that what callgrind says of them with all they call is more than there is."""
    text = annotated(callgrind(scratch, command, f"--toggle-collect={function}"), "no")
    rows = re.findall(r"^\s*([\d,]+) \([\d. ]+%\)\s+\S*?:\S.*?(?:\[(.*)\])?$", text, re.M)
    counts = [int(count.replace(",", "")) for count, where in rows if not re.search(r"/lib(z|deflate|isal|lzma)\.so", where)]
    if not counts:
        sys.exit(f"instructions.py: nothing was counted in {function}()")
    return sum(counts)


def count(memtrace, scratch):
    """The numbers of the heading."""
    parts, pages = [], []
    for n in (0, EVENTS, 2 * EVENTS):
        snapshot = os.path.join(scratch, f"{n}.pickle")
        command = [memtrace, "report", snapshot, "--force", "-o", os.path.join(scratch, "out"), "--format"]
        subprocess.run([sys.executable, HERE / "gen.py", str(n), snapshot], stdout=subprocess.DEVNULL, check=True)
        parts.append(inclusive(scratch, [*command, "json"]))
        if n:
            pages.append(within(scratch, [*command, "html"], "mt_pack_device"))
    empty, once, twice = parts

    def of(name):
        return (twice[name] - once[name]) / EVENTS
    return {"reading": of("mt_pickle_read_steps"), "analysis": of("mt_analyze") - of("mt_advise"), "packing": (pages[1] - pages[0]) / EVENTS,
            "empty": empty["mt_cmd_report"] / 1000, "advice": once["mt_advise"] / 1000}


def judge(counted, limits):
    """(what, counted, limit, whether it is too much), in order."""
    return [(what, counted[what], limit, counted[what] > limit * MORE) for what, limit in limits.items()]


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--memtrace", required=True)
    p.add_argument("--write", action="store_true")
    args = p.parse_args()
    if not (shutil.which("valgrind") and shutil.which("callgrind_annotate")):
        print("# skipped: needs valgrind")
        return SKIP
    told = json.loads(LIMITS.read_text(encoding="ascii")) if LIMITS.exists() else {}
    here = built_by(args.memtrace)
    if told.get("of") != here and not args.write:
        print(f"# skipped: the limits are of {told.get('of')}, this is {here}")
        return SKIP
    with tempfile.TemporaryDirectory(prefix="memtrace-instructions.") as scratch:
        counted = count(args.memtrace, scratch)
    if args.write:
        LIMITS.write_text(json.dumps({"of": here, "limits": {k: round(v) for k, v in counted.items()}}, indent=2) + "\n", encoding="ascii")
        print(LIMITS.read_text(encoding="ascii"))
        return 0
    rows = judge(counted, told["limits"])
    for what, n, limit, is_more in rows:
        print(f"{'not ok' if is_more else 'ok'} - {what}: {n:,.0f}, limit {limit:,} ({100 * n / limit - 100:+.1f} %)")
    if any(n * MORE < limit for _, n, limit, _ in rows):
        print("# less than the limit by 5 %: instructions.py --write keeps it there")
    return int(any(row[3] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
