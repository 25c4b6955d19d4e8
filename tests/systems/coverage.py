"""coverage.py BUILD SOURCE LINES BRANCHES: adds up what gcov counted in BUILD: by layer, the ten files with most that did not run, and all.
Exit status 1 where all is below LINES or BRANCHES percent."""
import collections
import json
import os
import subprocess
import sys

LAYERS = ("parser", "analysis", "render", "cli", "capture")


def counted(build, source):
    """{file: {line: [runs, [runs of each branch]]}}: a line that several objects have (headers, a source compiled twice) ran as often as in all."""
    files = collections.defaultdict(dict)
    notes = [os.path.join(folder, name) for folder, _, names in os.walk(build) for name in names if name.endswith(".gcda")]
    for at in range(0, len(notes), 40):
        out = subprocess.run(["gcov", "-b", "--json-format", "--stdout", *notes[at:at + 40]], cwd=source, capture_output=True, check=True, text=True).stdout
        for text in out.splitlines():
            for file in json.loads(text)["files"]:
                name = os.path.relpath(os.path.join(source, file["file"]), source)
                if name.split("/")[0] in LAYERS:
                    add(files[name], file["lines"])
    return files


def add(lines, found):
    for line in found:
        runs, branches = lines.setdefault(line["line_number"], [0, []])
        seen = [branch["count"] for branch in line["branches"]]
        if len(branches) < len(seen):
            branches += [0] * (len(seen) - len(branches))
        for i, count in enumerate(seen):
            branches[i] += count
        lines[line["line_number"]][0] = runs + line["count"]


def share(lines):
    runs = [n for n, _ in lines]
    branches = [n for _, counts in lines for n in counts]
    return sum(n > 0 for n in runs), len(runs), sum(n > 0 for n in branches), len(branches)


def percent(part, whole):
    return 100 * part / whole if whole else 100


def said(name, ran, lines, took, branches):
    print(f"{name:34} lines {ran:6} of {lines:6} {percent(ran, lines):5.1f} %   branches {took:6} of {branches:6} {percent(took, branches):5.1f} %")


def main(build, source, least_lines, least_branches):
    files = {name: share(lines.values()) for name, lines in counted(build, source).items()}
    for layer in LAYERS:
        said(layer, *map(sum, zip(*(s for name, s in files.items() if name.startswith(layer + "/")))))
    for name, s in sorted(files.items(), key=lambda item: item[1][2] - item[1][3])[:10]:
        said(name, *s)
    ran, lines, took, branches = map(sum, zip(*files.values()))
    said("all", ran, lines, took, branches)
    return percent(ran, lines) < least_lines or percent(took, branches) < least_branches


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], float(sys.argv[3]), float(sys.argv[4])))
