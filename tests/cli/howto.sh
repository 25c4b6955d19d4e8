#!/usr/bin/env bash
# howto: every framework that README names has an entry with lines and a source; near names are suggested; an overlay adds one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
rows="$MT_SOURCE_DIR/analysis/rules/frameworks.json"
run 0 howto
cp .out names
jq -r '.frameworks[] | select(.howto) | .id' "$rows" > want
awk '{ print $1 }' names > got
same want got
# README's first paragraph names them as people do
paragraph="$(sed -n '3,/^$/p' "$MT_SOURCE_DIR/README.md" | tr '\n' ' ')"
jq -r '.frameworks[] | select(.kind == "rl" or .kind == "tuner" or .kind == "trainer" or .kind == "engine") | [.id, .words] | @tsv' "$rows" > words
n=0
while IFS="$(printf '\t')" read -r id name; do
    case "$paragraph " in *"$name"[!A-Za-z0-9-]*) ;; *) continue ;; esac # NeMo-RL is no NeMo
    n=$((n + 1))
    run 0 howto "$id"
    out_has '  Source: '
    out_has 'memtrace capture -- '
    check [ "$(grep -c '^    ' .out)" -ge 3 ]
    cp .out by_id
    run 0 howto "$name"
    same by_id .out
done < words
check [ "$n" -ge 15 ] # else the paragraph is another one

run 0 howto verl
out_has 'global_profiler.tool=torch_memory'
out_has 'In every job:'
run 0 howto PyTorch
out_has '_cuda_attach_out_of_memory_observer('
out_has 'memtrace.watch("oom/")'
check [ "$(grep -c 'memtrace.watch' .out)" -eq 1 ] # what was asked for is not said again below
python3 -c 'import sys; compile("".join(l[4:] for l in open(sys.argv[1]) if l.startswith("    ") and "memtrace " not in l), "howto", "exec")' .out || fail 'the lines are no Python'
run 2 howto slim
err_has 'did you mean slime?'
out_empty
run 2 howto zorglub
err_has "'memtrace howto' lists the names"
run 2 howto fsdp # nothing to type there
run 2 howto verl slime

cat > mine.json << 'END'
{"schema_version": 1, "phases": [], "fixes": [], "frameworks": [{"id": "dragonrl", "words": "DragonRL", "kind": "rl",
  "packages": [{"name": "dragonrl", "inside": ["lair"]}], "howto": [{"what": "Breath", "lines": ["--breathe fire"], "source": "dragonrl 1.0, lair.py"}]}]}
END
run 0 howto --rules mine.json dragonrl
out_has '    --breathe fire'
out_has 'In every job:'
for wrong in 's/"source": "[^"]*"/"source": 7/' 's/, "source": "[^"]*"//' 's/fire/\\u001b[31m/' 's/"lines": \["--breathe fire"\], //'; do
    sed "$wrong" mine.json > bad.json
    run 1 howto --rules bad.json dragonrl
    err_has 'framework dragonrl'
done
finish
