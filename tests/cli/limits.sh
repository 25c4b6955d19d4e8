#!/usr/bin/env bash
# Each limit from the command line: too low it names itself, raised the file is read. Identity of inputs. Rules of one's own.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
cp "$SAMPLES/tiny.pickle" "$SAMPLES/tiny.json" .

limited() # STATUS OPTION TOO_LOW ENOUGH INPUT
{
    run "$1" dump "$2" "$3" "$5"
    err_has "raise $2"
    run 0 dump "$2" "$4" "$5"
    err_empty
}
for input in tiny.pickle tiny.json; do
    limited 3 --max-bytes 1000 1MiB "$input"
    limited 1 --max-string 5 1KiB "$input"
    limited 1 --max-events 2 1k "$input"
    limited 1 --max-depth 2 64 "$input"
    limited 1 --max-frames 1 64 "$input"
    run 1 dump --max-memory 100k "$input"
    err_has "--max-memory raises that"
done
limited 3 --max-members 1 2 "$SAMPLES/verl_two_ranks.tar.gz"

# a snapshot that unpacks to 80 MiB of blanks, by gzip as a stream and by zip; nothing is written while it is refused
{
    head -c 1 tiny.json
    head -c 83886080 /dev/zero | tr '\0' ' '
    tail -c +2 tiny.json
} > blanks.json
gzip -c blanks.json > blanks.json.gz
run 1 report --max-ratio 50 blanks.json.gz
err_has "raise --max-ratio"
absent blanks.json.gz.html
run 0 info --max-ratio 2000 blanks.json.gz # deflate cannot pack tighter than 1032 : 1
if command -v zip > /dev/null; then
    zip -q blanks.zip blanks.json
    run 1 report --max-ratio 50 blanks.zip
    err_has "raise --max-ratio"
    absent blanks.zip.html
    run 0 info --max-ratio 2000 blanks.zip
fi

# No output depends on the secret of the hash tables.
for input in tiny.pickle verl_two_ranks.tar.gz fragmentation_oom.pickle driver_v1.trace.gz nsys/job.sqlite; do
    for format in json html text; do
        for seed in 1 2; do
            MEMTRACE_HASH_SEED=$seed "$MEMTRACE" report --format $format -o - "$SAMPLES/$input" > "seed$seed"
        done
        check cmp -s seed1 seed2
        check [ -s seed1 ]
    done
done

# SHA-256: of inputs up to 64 MiB, above that only when asked for
digest() { "$MEMTRACE" report --format json "$@" | jq -r '[.. | objects | .sha256? // empty] | unique | join(" ")'; }
check [ "$(digest tiny.pickle)" = "$(sha256sum < tiny.pickle | cut -d ' ' -f 1)" ]
check [ -z "$(digest blanks.json)" ]
check [ "$(digest --sha256 blanks.json)" = "$(sha256sum < blanks.json | cut -d ' ' -f 1)" ]

# a rule of one's own stands in the list and, where its phase fits, in the report
cat > rules.json << 'END'
{"schema_version": 1, "phases": [], "fixes": [{"id": "Z1", "framework": ["verl"], "kind": "setting", "phases": ["all"],
 "title": "Our own knob", "why": "it helps here", "set": [{"syntax": "hydra", "key": "our.knob", "value": "7"}],
 "constraints": "none", "cost": "none", "source": "our wiki", "status": "OK"}]}
END
run 0 rules --rules rules.json
out_has "Our own knob"
out_has "our wiki"
run 0 report --format json --rules rules.json "$SAMPLES/verl_grpo_oom_logprob.pickle"
out_has "our.knob=7"
run 0 report --format json "$SAMPLES/verl_grpo_oom_logprob.pickle"
check [ "$(grep -c 'our.knob' .out)" -eq 0 ]

# a title is text
run 0 report -o - --title '</title><script>x</script>' tiny.pickle
check [ "$(grep -c '<script>x' .out)" -eq 0 ]
out_has '&lt;script&gt;'

# every rule says where it is from
for all in "" --all; do
    # shellcheck disable=SC2086
    run 0 rules $all --json
    check [ "$(jq -r 'select((.source // "") == "") | .id' .out | wc -l)" -eq 0 ]
done
check [ "$(grep -c . .out)" -ge 819 ]
finish
