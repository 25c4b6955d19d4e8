#!/usr/bin/env python3
"""The picture of the house is a test: tests/lint/rooms.txt against every include and every symbol.

    python3 tests/lint/rooms.py [BUILD]     complaints, one a line; 1 when there is one
    python3 tests/lint/rooms.py --arrows    the includes between rooms as they are, with their number

Checked: every include from the root, of a file that is there, in a room that the includer may see; no arrow in the table that no include
needs; the table without a circle; the picture at the head of docs/architecture.md, in which every arrow goes down; every folder with
sources in it; `impl.h` from its own room alone. With the objects of a build also: the home of each symbol that is used lies along the
arrows, and inside a room no circle of files.
"""
import os
import re
import subprocess
import sys
from collections import defaultdict

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
TABLE = "tests/lint/rooms.txt"
DOC = "docs/architecture.md"
TOPS = ("parser", "analysis", "render", "cli", "capture")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)

# What one file of a room alone may be seen from elsewhere: (includer's room, included file), each with its reason.
ONE_FILE = {
    ("capture", "capture/inject/redact.h"),  # command lines are redacted by the rules of the recorder
    ("capture", "capture/inject/nvml_ways.h"),  # the page through which the processes of a job ask for NVML
    ("capture", "capture/inject/attach.h"),  # what `memtrace attach` says to the recorder in a process, and is answered
    ("cli/redact", "capture/inject/redact.h"),
    ("capture/inject", "parser/model/wire.h"),  # nothing else comes into other people's processes
}

# Objects that stand in one archive with others than their room: capture/inject/redact.c is linked into the program, too.
FOLDED = {("capture", "capture/inject"), ("cli/redact", "capture/inject"), ("cli", "capture/inject")}


def read_table():
    table, lines = {}, {}
    for n, line in enumerate(open(TABLE), 1):
        line = line.split("#")[0].strip()
        if line:
            room, _, rest = line.partition(":")
            table[room.strip()] = rest.split()
            lines[room.strip()] = n
    return table, lines


def sources():
    try:
        out = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", *TOPS], capture_output=True, text=True,
                             check=True).stdout.split("\n")
    except (OSError, subprocess.CalledProcessError):
        out = [os.path.relpath(os.path.join(d, f), ".") for top in TOPS for d, _, fs in os.walk(top) for f in fs]
    return sorted({p for p in out if p.endswith((".c", ".h", ".def")) and os.path.isfile(p) and not p.startswith("capture/include/")})


def circles(graph):
    """Strongly connected sets of more than one node (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in graph.get(v, ()):
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            at = stack.index(v)
            if len(stack) - at > 1:
                found.append(set(stack[at:]))
            del stack[at:]

    sys.setrecursionlimit(10000)
    for v in list(graph):
        if v not in index:
            visit(v)
    return found


def check_includes(table, files, complain):
    arrows = defaultdict(int)
    for path in files:
        if path == "capture/inject/abi_check.c":
            continue  # compares with NVIDIA's headers; never linked
        room = os.path.dirname(path)
        with open(path) as f:
            text = f.read()
        for m in INCLUDE.finditer(text):
            there, line = m[1], text.count("\n", 0, m.start()) + 1
            to = os.path.dirname(there)
            if not to:
                complain(f'{path}:{line}: "{there}": write includes from the project root')
            elif not os.path.isfile(there):
                complain(f"{path}:{line}: there is no {there}")
            elif to != room:
                arrows[room, to] += 1
                one = (room, there) in ONE_FILE
                if any(there == t for _, t in ONE_FILE) and to != room and not one and to == "capture/inject":
                    complain(f"{path}:{line}: {room} may not include {there}")
                elif to not in table.get(room, ()) and not one:
                    complain(f"{path}:{line}: {room} may not include {there} ({TABLE})")
                elif room == "capture/inject" and not one or to == "capture/inject" and not one:
                    complain(f"{path}:{line}: {room} may not include {there}: only {sorted(t for r, t in ONE_FILE if r == room)}")
                if os.path.basename(there).endswith("impl.h"):
                    complain(f"{path}:{line}: {there} is for its own room")
    return arrows


def objects(build):
    """source -> (defined, needed) symbols, by the objects of a build."""
    sources = {}  # object -> source
    for d, _, fs in os.walk(os.path.join(build, "CMakeFiles")):
        for f in fs:
            full = os.path.join(d, f)
            m = re.search(r"[.]dir/((?:parser|analysis|render|cli|capture)/.*[.]c)[.]o$", full)
            if m and os.path.isfile(m[1]):  # not what an older build left behind
                sources[full] = m[1]
    out = {source: (set(), set()) for source in sources.values()}
    paths = sorted(sources)
    for i in range(0, len(paths), 256):  # one nm for many: starting it takes longer than its work
        r = subprocess.run(["nm", "-g", "-A", *paths[i:i + 256]], capture_output=True, text=True, check=False)
        for line in r.stdout.split("\n"):
            path, _, rest = line.partition(".o:")
            w = rest.split()
            if len(w) >= 2 and w[-1].startswith("mt_"):
                out[sources[path + ".o"]][w[-2] == "U"].add(w[-1])
    return out


def below(table):
    """room -> every room that its arrows lead to"""
    seen = {}

    def walk(room):
        if room not in seen:
            seen[room] = set()
            for t in table.get(room, ()):
                seen[room] |= {t} | walk(t)
        return seen[room]

    return {room: walk(room) for room in table}


def check_symbols(table, build, complain):
    objs = objects(build)
    if not objs:
        return 0
    reach = below(table)
    home = {s: path for path, (defined, _) in objs.items() for s in defined}
    inside = defaultdict(lambda: defaultdict(set))
    for path, (_, needed) in sorted(objs.items()):
        room = os.path.dirname(path)
        for s in sorted(needed):
            there = home.get(s)
            if there is None or there == path:
                continue
            to = os.path.dirname(there)
            if to == room:
                inside[room][path].add(there)
            elif to not in reach.get(room, ()) and (room, to) not in FOLDED:
                complain(f"{path}: uses {s}() of {there}, but {room} may not see {to} ({TABLE})")
    for room, graph in sorted(inside.items()):
        for c in circles(graph):
            complain(f"{room}: a circle of files: " + ", ".join(
                f"{os.path.basename(a)} -> {os.path.basename(b)} ({', '.join(sorted(objs[b][0] & objs[a][1]))})"
                for a in sorted(c) for b in sorted(graph[a] & c)))
    return len(objs)


def check_picture(table, complain):
    """The picture: lines "top/  name  name   remark" in the first block of DOC; three blanks or more end the names, a "(main)" is the top itself."""
    with open(DOC) as f:
        text = f.read()
    block = re.search(r"^```\n(.*?)^```", text, re.M | re.S)
    level, top = {}, ""
    for n, line in enumerate(block[1].split("\n") if block else []):
        m = re.match(r"(\w+/)?\s*((?:\S+ {1,2})*\S+)", line)
        if not m:
            continue
        top = (m[1] or top + "/").rstrip("/")
        for name in m[2].split():
            room = top if name == "(main)" else f"{top}/{name}"
            if room not in table:
                complain(f"{DOC}: the picture has {room}, which is no room")
            elif room in level:
                complain(f"{DOC}: the picture has {room} twice")
            level[room] = n
    for room in table:
        if room not in level:
            complain(f"{DOC}: the picture lacks {room}")
        if f"**{room}**" not in text:
            complain(f"{DOC}: no paragraph has **{room}**")
    for a in table:
        for b in table[a]:
            if a in level and b in level and level[a] >= level[b]:
                complain(f"{DOC}: in the picture {a} -> {b} does not go down")


def main():
    os.chdir(ROOT)
    table, lines = read_table()
    complaints = []
    files = sources()
    arrows = check_includes(table, files, complaints.append)
    if sys.argv[1:] == ["--arrows"]:
        for (a, b), n in sorted(arrows.items()):
            print(f"{a} -> {b} {n}")
        return 0
    rooms = {os.path.dirname(p) for p in files}
    complaints += [f"{TABLE}: there is no line for {r}/, which has sources" for r in sorted(rooms - set(table))]
    complaints += [f"{TABLE}:{lines[r]}: {r}/ has no sources" for r in sorted(set(table) - rooms)]
    complaints += [f"{TABLE}:{lines[r]}: {t} is no room" for r in table for t in table[r] if t not in table]
    with open("parser/input/readers.def") as f:
        readers = {f"parser/{name}" for name in re.findall(r"^MT_READER\((\w+)\)", f.read(), re.M)}  # reached by their symbol
    round_ = circles(table)
    complaints += [f"{TABLE}: a circle: {' '.join(sorted(c))}" for c in round_]
    complaints += [f"{TABLE}:{lines[a]}: {a} does not need {b}" for a in table for b in table[a]
                   if (a, b) not in arrows and b in table and not (a == "parser/input" and b in readers)]
    if len(arrows) < 80 or len(files) < 300:
        complaints.append(f"only {len(files)} files and {len(arrows)} arrows were seen: this lint no longer works")
    build = sys.argv[1] if len(sys.argv) > 1 else os.environ.get("MT_BINARY_DIR", "build")
    check_picture(table, complaints.append)
    n = check_symbols(table, build, complaints.append) if not round_ else 0
    print("\n".join(complaints) if complaints else f"{len(rooms)} rooms, {len(arrows)} arrows, {n} objects: as drawn")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main())
