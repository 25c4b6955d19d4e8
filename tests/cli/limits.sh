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

# files are counted over the whole run: archives in archives, and all inputs together
mkdir many
for i in 1 2 3 4; do cp tiny.pickle "many/$i.pickle"; done
tar -C many -czf four.tar.gz .
tar -cf nested.tar four.tar.gz && cp nested.tar nested2.tar
limited 3 --max-members 3 5 nested.tar # the archive inside is a file too
run 3 info --max-members 7 nested.tar nested2.tar
err_has "nested2.tar: more than 7 files in archives and folders in this run"
run 0 info --max-members 10 nested.tar nested2.tar
run 3 info --max-members 7 many four.tar.gz
err_has "four.tar.gz: more than 7 files"
run 0 info --max-members 1 tiny.pickle tiny.json tiny.pickle # what is named is not counted
err_empty

# a run that would wait for ever ends by its time, with what was read until then
mkfifo nobody nobody.yaml
run 1 dump --max-time 1 nobody
err_has "nobody: this run has read for 1 s; the rest was not read (raise --max-time)"
run 3 info --max-time 1 tiny.pickle nobody tiny.json
err_has "tiny.json: this run has read for 1 s"
check [ -s .out ]
# settings too, which are read first
run 1 report --format text --max-time 1 -o - --config nobody.yaml tiny.pickle
err_has "nobody.yaml: this run has read for 1 s"
# too large they are left out of the report, which says so
head -c 17000000 /dev/zero | tr '\0' '#' > large.yaml
run 3 report --format text -o - --config large.yaml tiny.pickle
err_has "large.yaml: it is larger than"
size="$(stat -c %s "$SAMPLES/fragmentation_oom.pickle")"
exec 8<> "$(mkfifo stalled && echo stalled)"
(head -c $((size / 2)) "$SAMPLES/fragmentation_oom.pickle" >&8) &
writer=$!
run 3 report --format text --max-time 2 -o - stalled
err_has "raise --max-time"
check [ -s .out ]
kill "$writer" 2> /dev/null
exec 8>&-
run 0 report --format text --max-time 600 -o - tiny.pickle
run 2 dump --max-time 0 tiny.pickle

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

# SHA-256: only when asked for
digest() { "$MEMTRACE" report --format json "$@" | jq -r '[.. | objects | .sha256? // empty] | unique | join(" ")'; }
check [ -z "$(digest tiny.pickle)" ]
check [ "$(digest --sha256 tiny.pickle)" = "$(sha256sum < tiny.pickle | cut -d ' ' -f 1)" ]
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

# seconds and files are counted for what is read before its turn too, and a file of a folder is not
# the same one when it is named
mkdir ahead
for k in 0 1 2 3; do cp tiny.pickle "ahead/rank_$k.pickle"; done
for jobs in 1 2 8; do
    run 0 report --jobs "$jobs" --max-time 600 --format json ahead
    check [ "$(jq '.devices | length' .out)" -eq 4 ]
    run 3 report --jobs "$jobs" --max-members 2 --format json ahead ahead/rank_3.pickle
    jq -c ".provenance.inputs" .out > "ahead.$jobs"
    check cmp -s ahead.1 "ahead.$jobs"
done

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
