#!/usr/bin/env bash
# cmake --install: into a folder of its own, run from another; hardened; no path of the build machine inside.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
"${CMAKE:-cmake}" --install "$MT_BINARY_DIR" --prefix "$TMP/prefix" > .out 2> .err || fail "cmake --install"
exists prefix/bin/memtrace
exists prefix/share/man/man1/memtrace.1
exists prefix/share/zsh/site-functions/_memtrace
exists prefix/share/fish/vendor_completions.d/memtrace.fish
exists prefix/share/memtrace/skills/memtrace/SKILL.md
exists prefix/share/doc/memtrace/copyright
# what the documents link to beside themselves
for file in LICENSE docs/rules.schema.json docs/guide-settings.tsv docs/page-wide.png; do exists "prefix/share/doc/memtrace/$file"; done
check [ "$(find prefix/bin -type f | wc -l)" -eq 1 ]
# What it is made of, as the program itself names it.
"$TMP/prefix/bin/memtrace" version > .out 2> .err
check python3 -B - prefix/share/doc/memtrace/sbom.spdx.json .out <<'EOF'
import json, re, sys
sbom = {p["name"]: p["versionInfo"] for p in json.load(open(sys.argv[1]))["packages"]}
line = re.search("^libraries: (.*)$", open(sys.argv[2]).read(), re.M).group(1)
for name, version in re.findall(r"([A-Za-z]+) ([0-9.]+)", line):
    name = {"cJSON": "libcjson", "libyaml": "yaml-0.1", "SQLite": "sqlite3", "xxHash": "libxxhash"}.get(name, name)
    assert sbom[name] == version or sbom[name].startswith(version + "."), (name, version, sbom)
EOF
# The recorder: found from the installed program, from a copied folder, and through a link.
if [ -f "$MT_BINARY_DIR/lib/memtrace/libmemtrace_inject.so" ]; then
    library="$(find prefix -name libmemtrace_inject.so)"
    check [ "$(basename "$(dirname "$library")")" = memtrace ]
    exists "$(dirname "$library")/site/sitecustomize.py"
    exists prefix/include/memtrace.h
    mkdir -p "a copy" links && cp -a prefix/. "a copy/" && ln -s "$TMP/prefix/bin/memtrace" links/memtrace
    for program in prefix/bin/memtrace "a copy/bin/memtrace" links/memtrace; do
        "$TMP/$program" capture --force -q -o t.gz -- env > .out 2> .err || fail "$program capture"
        from="$TMP/prefix"
        [ "$program" != "a copy/bin/memtrace" ] || from="$TMP/a copy"
        out_has "CUDA_INJECTION64_PATH=$from/"
        out_has "PYTHONPATH=$from/"
        check [ -f "$(sed -n 's/^CUDA_INJECTION64_PATH=//p' .out)" ]
    done
    if [ -z "${MT_SANITIZE:-}" ] && grep -qF "$MT_SOURCE_DIR" "$library"; then fail "the source folder stands in the recorder"; else ok; fi
fi
mkdir elsewhere && cp "$SAMPLES/tiny.pickle" elsewhere/
cd elsewhere || exit 1
MEMTRACE="$TMP/prefix/bin/memtrace"
"$MEMTRACE" report tiny.pickle 2> "$TMP/.err" || fail "the installed program"
exists tiny.pickle.html
if [ -z "${MT_SANITIZE:-}" ] && command -v readelf > /dev/null; then
    readelf -W -l -d "$MEMTRACE" > "$TMP/elf"
    check grep -q GNU_RELRO "$TMP/elf"
    check grep -qE 'BIND_NOW|NOW' "$TMP/elf"
    check grep -qE 'GNU_STACK .* RW ' "$TMP/elf"
    check grep -qE 'FLAGS_1.*PIE' "$TMP/elf"
    if [ "$(uname -m)" = x86_64 ]; then
        readelf -W -n "$MEMTRACE" > "$TMP/notes"
        check grep -q SHSTK "$TMP/notes"
    fi
    if grep -qE 'R(UN)?PATH' "$TMP/elf"; then fail "the installed program has a run path"; else ok; fi
    if grep -qF "$MT_SOURCE_DIR" "$MEMTRACE"; then fail "the source folder stands in the program"; else ok; fi
fi
# The report does not depend on where and when it is made.
"$MEMTRACE" report --format html tiny.pickle -o "$TMP/a.html" -q
(cd "$TMP" && cp elsewhere/tiny.pickle . && TZ=Asia/Tokyo LC_ALL=de_DE.UTF-8 COLUMNS=200 "$MEMTRACE" report tiny.pickle -o b.html -q)
same "$TMP/a.html" "$TMP/b.html"
cd "$TMP" || exit 1
finish
