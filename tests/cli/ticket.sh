#!/usr/bin/env bash
# ticket: two files within GitHub's limits, what is said about them, and that no secret and no name is in either.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
need jq
python3 -B "$MT_SOURCE_DIR/tests/cli/ticket_inputs.py" # job/rank0.json with train.log and run.yaml, many.txt, secrets, names
md=memtrace-ticket.md page=memtrace-ticket.html

run 0 ticket job/rank0.json --log job/train.log --config job/run.yaml --args "$(cat job/args)" --title "alice's run" -o out
check [ "$(find out | sort | tr '\n' ' ')" = "out out/$page out/$md " ]
err_empty
out_has "out/$md: paste it into the issue"
out_has "out/$page: attach it"
check [ "$(grep -oE '[0-9]+ bytes' .out | tr '\n' ' ')" = "$(wc -c < out/$md) bytes $(wc -c < out/$page) bytes " ]
check [ "$(wc -c < out/$md)" -lt 60000 ]
check [ "$(wc -c < out/$page)" -lt 25000000 ]
# the page is a report that is read back, and says that it is redacted
run 0 report out/$page --format json
check [ "$(jq .provenance.redacted .out)" = true ]
check [ "$(jq -r .verdict.kind .out)" = oom_capacity ]
check grep -q 'ran out of memory' out/$md

# nothing of the matrix is in a byte of either, the packed data of the page included
python3 -B "$MT_SOURCE_DIR/tests/cli/ticket_inputs.py" --unpack out/$page > all
cat out/$md >> all
check grep -q -F compute_log_prob all
check [ "$(wc -l < secrets)" -ge 100 ]
run 0 report job/rank0.json --format json # else the names prove nothing
check grep -q -i -F -f names .out
for list in secrets names; do
    if grep -i -a -o -F -f $list all > found; then fail "$(sort -u found | wc -l) of $list: $(sort -u found | head -n 5 | tr '\n' ' ')"; else ok; fi
done

# where the files go
run 0 ticket job/rank0.json -q
exists $md
exists $page
out_empty
run 1 ticket job/rank0.json
err_has "$md already exists"
run 0 ticket job/rank0.json --force -q
run 1 ticket job/rank0.json -o no/such/folder
err_has no/such/folder
run 1 ticket job/none.json -o fresh
absent fresh/$md
run 2 ticket job/rank0.json --format md
run 2 ticket job/rank0.json --redact
err_has "unknown option '--redact'"

# what is left of a damaged input, and many ranks, still fit
head -c $(($(wc -c < "$SAMPLES/tiny.pickle") * 3 / 4)) "$SAMPLES/tiny.pickle" > cut.pickle
run 3 ticket cut.pickle -o cut
exists cut/$md
mkdir many
for i in $(seq 0 199); do cp "$SAMPLES/tiny.pickle" "many/rank$i.pickle"; done
run 0 ticket many -o many.ticket
check [ "$(wc -m < many.ticket/$md)" -lt 60000 ]
check [ "$(wc -c < many.ticket/$page)" -lt 25000000 ]

# a report has its names still
run 2 ticket out/$page -o again
err_has 'a ticket needs the snapshot'
absent again/$page
# nothing half made is left, and -o is a folder
run 1 ticket no-such-file.pickle -o nothing
absent nothing
run 2 ticket "$SAMPLES/tiny.pickle" -o -
absent ./-
(ulimit -f 100 && "$MEMTRACE" ticket "$SAMPLES/fragmentation_oom.pickle" -o half > .out 2> .err)
check [ $? -eq 1 ]
absent half
# the same key, the same two files
for n in 1 2; do run 0 ticket job/rank0.json -q -o key$n --redact-key 0123456789abcdef-test-key; done
same key1/$md key2/$md
same key1/$page key2/$page
finish
