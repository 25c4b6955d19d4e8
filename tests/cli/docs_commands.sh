#!/usr/bin/env bash
# What documents tell a user to type: commands and options that there are, names that the Python package has.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
need jq
for c in $("$MEMTRACE" __complete-bash | sed -n 's/^        help) words="\(.*\)" ;;$/\1/p'); do "$MEMTRACE" "$c" --help > "help.$c"; done
cat > typed.py << 'END'
"""typed.py SOURCE FILE...: prints what is wrong in the lines that begin with memtrace, or have memtrace.NAME."""
import glob, re, sys
source, files = sys.argv[1], sys.argv[2:]
known = {path[5:]: set(re.findall(r"(?<![\w-])--?[a-zA-Z][\w-]*", open(path, encoding="utf-8").read())) for path in glob.glob("help.*")}
package = open(source + "/python/memtrace/__init__.py", encoding="utf-8").read()
names = set(re.findall(r'"(\w+)"', package[package.index("__all__"):package.index("]", package.index("__all__"))]))
assert len(known) > 10 and {"watch", "phase", "TrainerCallback"} <= names
seen = 0
for path in files:
    text = open(path, encoding="utf-8").read()
    for line in re.findall(r"(?m)^(?:    |\$ )?(memtrace [a-z].*)$", text) + re.findall(r"`(memtrace [a-z][^`]*)`", text):
        words = line.split(" # ")[0].split(" | ")[0].split()
        seen += 1
        if words[1] == "capture":  # what comes after is another program's
            words = words[:words.index("--") if "--" in words else None]
        if words[1] not in known:
            print("%s: no such command: %s" % (path, line))
            continue
        print("".join("%s: %s has no option %s: %s\n" % (path, words[1], w, line) for w in (w.split("=")[0] for w in words[2:])
                      if re.match(r"--?[a-zA-Z]", w) and w not in known[words[1]]), end="")
    for name in re.findall(r"\bmemtrace\.([A-Za-z]\w*)(?=\()", text):
        seen += 1
        if name not in names:
            print("%s: the package has no %s" % (path, name))
print("%d lines" % seen, file=sys.stderr)
END
docs=("$MT_SOURCE_DIR"/README.md "$MT_SOURCE_DIR"/docs/{README.zh,python,capture,redaction,config}.md "$MT_SOURCE_DIR"/docs/{adopt,tickets}/README.md
    "$MT_SOURCE_DIR"/docs/tickets/oom.yml "$MT_SOURCE_DIR"/skills/memtrace/SKILL.md)
python3 -B typed.py "$MT_SOURCE_DIR" "${docs[@]}" > found 2> .err || fail 'typed.py'
if [ -s found ]; then fail "$(head -n 5 found)"; else ok; fi
check [ "$(cut -d' ' -f1 .err)" -ge 80 ]
"$MEMTRACE" howto verl > howto.txt
for name in $(jq -r '.frameworks[] | select(.howto) | .id' "$MT_SOURCE_DIR/analysis/rules/frameworks.json"); do "$MEMTRACE" howto "$name" >> howto.txt; done
python3 -B typed.py "$MT_SOURCE_DIR" howto.txt > found 2> .err || fail 'typed.py'
if [ -s found ]; then fail "$(head -n 5 found)"; else ok; fi
# each file and folder that they link to is there
for f in "${docs[@]}"; do
    grep -oE '\]\([^)#:]+' "$f" | sed 's/^](//' | grep -v '^https*$' | while read -r link; do [ -e "$(dirname "$f")/$link" ] || echo "$f: $link"; done
done > found
if [ -s found ]; then fail "no such file: $(head -n 5 found)"; else ok; fi
# or nothing would be found
printf '    memtrace report --nothing x\n    memtrace fly\nmemtrace.fly()\n' > wrong.md
check [ "$(python3 -B typed.py "$MT_SOURCE_DIR" wrong.md 2> /dev/null | wc -l)" -eq 3 ]
finish
