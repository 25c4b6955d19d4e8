#!/usr/bin/env bash
# A report that memtrace wrote is an input too: the page gives the JSON of the report byte for byte, text and Markdown say it again, and
# what is damaged, of another version or beside the point is refused by name.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

# Every sample: its page, read back, is its JSON; so is the JSON itself. What the JSON adds to the page is small.
n=0
while IFS= read -r sample; do
    case "$sample" in *no_memory.sqlite | *.truth.json | *.job.json | *.megatron.json | *.tune.json | *.trl.json | *.eval.json | *.vllm.json | *.nano.json | *.after.json | */truth.json | */gate/*) continue ;; esac
    "$MEMTRACE" report "$sample" --format json -o want.json -q --force 2> .err || [ $? -eq 3 ] || fail "report $sample"
    "$MEMTRACE" report "$sample" -o page.html -q --force 2> .err || [ $? -eq 3 ] || fail "page of $sample"
    "$MEMTRACE" report page.html --format json > got.json 2> .err || fail "read back $sample"
    same want.json got.json
    "$MEMTRACE" report want.json --format json > got.json 2> .err || fail "read back the JSON of $sample"
    same want.json got.json
    packed="$(grep -o '<script type="text/plain" id="mt-report"[^<]*' page.html | wc -c)"
    [ "$packed" -le 15000 ] || [ $((packed * 100)) -le $((3 * ($(wc -c < page.html) - packed))) ] \
        || fail "$sample: the JSON takes $packed bytes of the page's $(wc -c < page.html)" # docs/benchmarks.md
    n=$((n + 1))
done < <(find "$SAMPLES" -type f \( -name '*.pickle' -o -name '*.gz' -o -name '*.json' -o -name '*.html' -o -name '*.log' -o -name '*.sqlite' -o -name '*.bin' \) | sort)
check [ "$n" -ge 90 ]

rm -f page.html
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" run.pickle
run 0 report run.pickle -o page.html
run 0 report run.pickle -o run.json

# Text and Markdown, the same of both.
run 0 report page.html --format text
out_has "Device 0 ran out of memory in old-policy log-prob (logits): it asked for 18.55"
out_has "actor_rollout_ref.actor.entropy_from_logits_with_chunking=True"
out_has "worker/gpu_model_runner.py:2700 _allocate_kv_cache_tensors  27.00 GiB  KV-cache allocation"
out_has "KV cache                   27.00 GiB"
cp .out a
run 0 report run.json --format text
same <(sed 's/page.html/run.json/' a) .out
run 0 report page.html --format md -o page.md
check grep -qF '| KV cache | 27.00 GiB |' page.md
run 0 report page.html -o again.json
same again.json run.json
run 0 report - --format json < page.html
same .out run.json
check [ "$(wc -L < a)" -le 110 ]
run 0 report "$PWD/run.pickle" --format md --title "leak in $PWD/" -o -
check [ "$(grep -c '^### memtrace: leak in $' .out)" -eq 1 ] # no folder, and nothing behind the end of the title

# However it was packed.
gzip -k page.html
run 0 report page.html.gz --format json
same .out run.json
tar -czf ticket.tar.gz page.html
run 0 report ticket.tar.gz --format json
same .out run.json
# A long report of one rank is packed by gzip where libdeflate is, else by xz as all others.
python3 -B "$MT_SOURCE_DIR/tests/bench/gen.py" 20000 long.pickle > /dev/null
run 0 report long.pickle -o long.html
run 0 report long.pickle -o long.json
run 0 report long.html --format json
same .out long.json
# Pages of versions that had it as base64, with its numbers in their places, by gzip or by xz.
element=' id="mt-report" data-digits="85">'
before="$(grep -abo "$element" page.html | cut -d: -f1)"
jq -c . run.json > dense.json
for tool in "gzip -9" "xz -6"; do
    {
        head -c "$before" page.html
        printf ' id="mt-report">'
        $tool < dense.json | base64 -w0
        printf '</script>'
    } > older.html
    run 0 report older.html --format text
    sed 's/older.html/page.html/' .out > older.txt
    run 0 report page.html --format text
    same older.txt .out
done
# One of a version to come is refused by name, and one that is cut there as what it is.
sed 's/ data-digits="85"/ data-digits="94"/' page.html > newer.html
run 1 report newer.html --format text
err_has "the report in this page of memtrace is written in digits that this memtrace does not read"
mkdir only both
cp page.html only
cp page.html run.pickle both
run 0 report only --format json
same .out run.json
# Beside a snapshot it is another file.
run 0 report both --format json
check [ "$(jq -r '.quality.ignored[].name' .out)" = both/page.html ]
check [ "$(jq -r '.verdict.member' .out)" = run.pickle ]

run 0 info page.html
out_has "report of memtrace, schema_version 1"
out_has "memtrace report run.pickle"
run 0 info --json page.html
check [ "$(jq -r '.format, .schema_version, .made_from[0]' .out | tr '\n' ' ')" = "report 1 run.pickle " ]

# What a report cannot give.
run 2 report page.html
err_has "page.html is a report of memtrace, of which no page is made"
run 2 report page.html --format text --capacity 80GiB
err_has "--capacity changes nothing in a report that is read back (page.html)"
# --redact: a report that has its names still is refused, one that has none is good; the same words everywhere
run 0 report -q run.pickle --format json --redact -o hidden.json
for command in "report --format text" "info" "info --json" "diff hidden.json" "check --max peak=1TiB" "ticket -o parts"; do
    want=0 redact=--redact
    [ "${command%% *}" != check ] || want=4 # the run went out of memory
    [ "${command%% *}" != ticket ] || want=2 redact= # always on
    # shellcheck disable=SC2086 # words
    run 2 $command page.html $redact
    err_has "page.html was written without --redact, and cannot be redacted any more; make it again of the snapshot"
    out_empty
    # shellcheck disable=SC2086 # words
    run $want $command hidden.json $redact
    err_has "hidden.json is redacted already, and stays as it is"
done
err_has "a ticket needs the snapshot. Attach the report as it is"
absent parts
run 0 info -q hidden.json --redact
err_empty
mkdir -p home/zorro
cp hidden.json home/zorro/hidden.json
run 0 info --json "$PWD/home/zorro/hidden.json" --redact
out_lacks zorro
run 2 report page.html run.json --format text
err_has "'memtrace diff' compares two"
run 2 report page.html run.pickle --format text
err_has "not beside other inputs"
run 1 dump page.html
err_has "this is a report of memtrace, not a memory snapshot"
run 1 export run.json
err_has "this is a report of memtrace, not a memory snapshot"

# Text and Markdown are named as what they are.
run 0 report run.pickle --format text -o said.txt
run 0 report run.pickle --format md -o said.md
run 1 report said.txt --format text
err_has "this is a report of memtrace as text, which is not read back: name its page or its JSON"
run 1 info said.md
err_has "this is a report of memtrace as Markdown"

# Another version, by name.
for version in 0 2 17; do
    sed "s/\"schema_version\": 1/\"schema_version\": $version/" run.json > other.json
    run 1 report other.json --format text
    err_has "this report of memtrace has the schema_version $version, and this memtrace reads 1"
done
sed 's/ id="mt-report"/ id="mt-nothing"/' page.html > old.html
run 1 report old.html --format text
err_has "this is a page of memtrace without its report in it"

# Damage: the file, the place, what to do.
head -c 20000 run.json > cut.json
run 1 report cut.json --format text
err_has "cut.json: this report of memtrace is damaged, at line "
err_has "copy the file again, or name the snapshot that it was made from"
line="$(awk 'NR >= 300 && /,$/ { print NR; exit }' run.json)"
sed "${line}s/,\$/;/" run.json > odd.json
run 1 report odd.json --format text
err_has "this report of memtrace is damaged, at line $line, column "
at="$(grep -abo "$element" page.html | cut -d: -f1)"
for more in 0 15 16 17 33 34 40 1000 9000; do
    head -c $((at + more)) page.html > cut.html
    run 1 report cut.html --format text
    err_has "cut.html: "
done
err_has "the HTML page ends early at offset"
head -c $((at + 400)) page.html > bad.html
printf '&' >> bad.html
tail -c +$((at + 402)) page.html >> bad.html
run 1 report bad.html --format text
err_has "a byte that is no base85 at offset $((at + 400)) of the HTML page"
head -c $((at + 400)) page.html > bad.html
tail -c +$((at + 406)) page.html >> bad.html # five digits are missing: the checksum knows
run 1 report bad.html --format text
check [ -s .err ]

# Hostile: a bomb, nesting, wrong types, a number that is none.
{
    head -c "$at" page.html
    printf ' id="mt-report">'
    head -c 400000000 /dev/zero | gzip -9 | base64 -w0
    printf '</script>'
} > bomb.html
run 1 report bomb.html --format text
err_has "bomb.html: "
{
    printf '{"schema_version": 1, "verdict": '
    head -c 100000 /dev/zero | tr '\0' '['
} > deep.json
run 1 report deep.json --format text
err_has "damaged"
printf '{"schema_version": 1, "verdict": {}, "devices": {"a": 1}}' > odd.json
run 0 report odd.json --format text
printf '{"schema_version": 1, "verdict": 7, "devices": [1, null, [], {"rank": -1, "device": 1e300, "roles": "x", "ooms": {}}], "owners": [[]], "lint": [{"sentence": 3}]}' > odd.json
run 0 report odd.json --format text
run 0 report odd.json --format md
run 0 info odd.json
printf '{"schema_version": 1, "verdict": {"sentence": "\\u001b[31mred\\u0007 <b>&"}, "devices": []}' > odd.json
run 0 report odd.json --format text
if grep -q "$(printf '\033')" .out; then fail "an escape sequence got through"; else ok; fi
printf '{"schema_version": 1, "verdict": {"sentence": "\033]0;x\007"}, "devices": []}' > odd.json
for format in text json md; do
    run 1 report odd.json --format "$format" -o -
    err_has "odd.json: this report of memtrace is damaged, at a character that no report has as it is"
done
printf '{"schema_version": 1, "verdict": null}' > odd.json
run 1 report odd.json --format text
err_has "begins as a report of memtrace does, and is none"

# Several reports in a folder or archive: which one is read is said; beside snapshots or logs none is, and that is said too.
mkdir several
cp page.html several/a.html
run 0 report page.html --format json -o several/b.json -q
tar cf several.tar -C several a.html b.json
for input in several several.tar; do
    run 0 report "$input" --format text
    err_has "memtrace: $input: 2 reports of memtrace lie in it, of which one is read: $input/a.html; name another, or two for 'memtrace diff'"
done
rm several/b.json
run 0 report several --format text
err_empty
cp "$SAMPLES/tiny.pickle" several
run 0 report several --format json
err_has "memtrace: several/a.html is a report of memtrace and is not read: the snapshots and logs beside it are"
check [ "$(jq -c .quality.ignored .out)" = '[{"name":"several/a.html","why":"a report of memtrace, which is read back alone"}]' ]
run 0 report page.html --format json -o several/b.json -q
run 0 report several --format json
err_has "memtrace: several/a.html and others are reports of memtrace and are not read"
check [ "$(jq '.quality.ignored_files' .out)" = 2 ]
run 0 report several --format json -q
err_empty

# Markdown of what was read back fits a comment and names no folders; --full has all rows, --frames needs the snapshot.
run 0 report page.html --format json -o again.json -q --force
jq '.lint = [range(400) as $i | {id: "x\($i)", level: "warning", sentence: ("A warning of many words in /srv/secret/run/file.yaml, " * 8)}]
    | .settings = [range(500) as $i | {setting: "s\($i)", key: "s\($i)", value: "1", set_in: "/home/alice/run/config.yaml"}]
    | .devices = [range(300) as $i | .devices[0] + {rank: $i, device_index: $i}]' again.json > long.json
run 0 report "$TMP/long.json" --format md
check [ "$(wc -c < .out)" -le 60000 ]
out_has "### memtrace: long.json"
out_has "more (--format json has all)"
out_lacks /home/alice
out_lacks /srv/secret
run 0 report long.json --format md --max-size 9000
check [ "$(wc -c < .out)" -le 9000 ]
run 1 report long.json --format md --max-size 100
err_has "raise --max-size"
run 1 report long.json --format json --max-size 9000
err_has "more than --max-size allows (9000); raise it"
out_empty
run 0 report long.json --format json --max-size 25MB
run 0 report long.json --format text
check [ "$(grep -c '^  rank ' .out)" -eq 40 ]
out_has "and 260 more (--format json has all)"
run 0 report long.json --format text --full
check [ "$(grep -c '^  rank ' .out)" -eq 300 ]
run 2 report long.json --format json --frames all
err_has "--frames changes nothing in a report that is read back (long.json)"

# Two inputs without a rank are two devices: their owners and phases are told apart by the place in devices[].
mkdir norank && cp "$SAMPLES/tiny.pickle" norank/a.pickle && cp "$SAMPLES/fsdp_finetune.pickle" norank/b.pickle
run 0 report norank --format json -o norank.json -q
check [ "$(jq -c '[.devices[].device_index]' norank.json)" = '[0,1]' ]
check [ "$(jq -c '[.owners[].device_index] | unique' norank.json)" = '[0,1]' ]
check [ "$(jq -c '[.phases[].device_index] | unique' norank.json)" = '[0,1]' ]
check [ "$(jq '[.owners[] | select(.device_index == 0) | .bytes] | add' norank.json)" = "$(jq '.devices[0].focus.live_bytes' norank.json)" ]

# Settings of the run are of no use to a report that is read back, whatever the baseline is.
for option in --args=a=1 --config=long.yaml --log=long.log; do
    echo 'a: 1' > long.yaml
    echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.' > long.log
    run 2 check again.json --baseline "$SAMPLES/tiny.pickle" "$option"
    err_has "is of the run that is checked, and changes nothing in a report that is read back (again.json)"
done
finish
