#!/usr/bin/env bash
# Several inputs, damaged ones, ones that are no snapshot: what is reported, and the exit status.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
cp "$SAMPLES/tiny.pickle" "$SAMPLES/verl_two_ranks.tar.gz" "$SAMPLES/verl_two_ranks_truncated.tar.gz" .

# ranks: of an archive, of a folder, as arguments in any order
run 0 report --format json verl_two_ranks.tar.gz
err_empty
jq -S '{verdict: (.verdict | del(.input, .member)), ranks: ([.devices[].rank] | sort)}' .out > archive.json
check [ "$(jq -c .ranks archive.json)" = '[0,1]' ]
mkdir folder && tar xzf verl_two_ranks.tar.gz -C folder
run 0 report --format json folder
jq -S '{verdict: (.verdict | del(.input, .member)), ranks: ([.devices[].rank] | sort)}' .out > folder.json
same archive.json folder.json
find folder -name '*.pickle' | sort -r > list
mapfile -t files < list
check [ "${#files[@]}" -eq 2 ]
run 0 report --format json "${files[@]}"
jq -S '{verdict: (.verdict | del(.input, .member)), ranks: ([.devices[].rank] | sort)}' .out > arguments.json
same archive.json arguments.json
run 0 report "${files[@]}"
exists "${files[0]}.html"

# what enabled="state" leaves: one entry and the segments; entries and no segments: nothing is known, and zeros would be no numbers
entry='{"action":"segment_free","addr":4096,"size":2097152,"stream":0,"time_us":1700000000000000}'
segment='{"device":0,"address":8388608,"total_size":2097152,"allocated_size":512,"active_size":512,"requested_size":512,"stream":0,
  "segment_type":"small","blocks":[{"address":8388608,"size":512,"requested_size":512,"state":"active_allocated"}]}'
printf '{"segments":[%s],"device_traces":[[%s]]}' "$segment" "$entry" > state.json
run 0 report --format html state.json -o state.html
run 0 report --format text state.json
out_has "Live at the dump       512 B"
printf '{"segments":[],"device_traces":[[%s]]}' "${entry/segment_free/alloc}" > bare.json
for format in text md html; do
    run 0 report --format "$format" bare.json -o -
    out_has "not known"
    check [ "$(grep -ciE "live( at the dump)? +0 B|\| live at the dump|<dt>live at the dump" .out)" -eq 0 ]
done
run 0 report --format json bare.json
check [ "$(jq -c '.devices[0] | [.live_end_bytes, .reserved_end_bytes]' .out)" = '[null,null]' ]
run 0 info bare.json
out_has "segments      none"

# a hard link in an archive is another name, not another snapshot; a file is read once, and that is said
mkdir links && cp tiny.pickle links/rank0.pickle && ln links/rank0.pickle links/rank1.pickle && tar cf links.tar -C links .
run 0 report --format json links.tar
err_has "links.tar: 1 link was passed over: a file is read once, under its own name"
run 0 report -q --format json links.tar
err_empty

# damage: everything whole is used, exit status 3, one warning line for each problem
run 3 report --format json verl_two_ranks_truncated.tar.gz
err_has "warning: verl_two_ranks_truncated.tar.gz: "
run 3 report -q verl_two_ranks_truncated.tar.gz
err_has "warning: "
exists verl_two_ranks_truncated.tar.gz.html
# The quality of the data is that of one rank, and does not say that nothing is missing where a banner says what is.
check grep -q 'What is <a href="#damage">incomplete</a> stands at the top' verl_two_ranks_truncated.tar.gz.html
check eval "! grep -q 'Nothing is known to be missing' verl_two_ranks_truncated.tar.gz.html"
run 3 info verl_two_ranks_truncated.tar.gz
run 3 dump verl_two_ranks_truncated.tar.gz
head -c "$(($(stat -c %s tiny.pickle) * 2 / 3))" tiny.pickle > cut.pickle
run 3 report --format text cut.pickle
err_has "cut.pickle: "

# what is no snapshot: named, the others reported
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 5\n' > rank7.pickle
: > empty.pickle
printf 'cbuiltins\nprint\n(S"x"\ntR.' > evil.pickle
for bad in rank7.pickle empty.pickle evil.pickle nothing.pickle; do
    for command in report info dump; do
        run 1 "$command" "$bad"
        err_has "memtrace: $bad: "
        out_empty
        check [ "$(grep -c "$bad" .err)" -eq 1 ]
    done
    absent "$bad.html"
done
run 1 report --format json evil.pickle
err_has "GLOBAL"
err_has "offset 0"
run 1 report rank7.pickle
err_has "git-lfs"
run 3 report --format json tiny.pickle rank7.pickle empty.pickle
err_has "rank7.pickle: "
err_has "empty.pickle: "
check [ "$(jq -r '[.. | objects | select(has("message")) | .name] | unique | join(" ")' .out)" = "empty.pickle rank7.pickle" ]
mkdir hollow
run 1 report hollow
err_has "hollow"
absent hollow.html

# limits are errors that name the option
run 3 report --max-members 1 verl_two_ranks.tar.gz -o limited.html
err_has "raise --max-members"
exists limited.html
run 1 info --max-memory 100k tiny.pickle
err_has "--max-memory raises that"

# a GPU that is not there
run 1 report --device 5 tiny.pickle
err_has "has no GPU 5"
absent tiny.pickle.html
run 0 report --device 0 tiny.pickle
exists tiny.pickle.html

# rules of one's own: a broken file is named before anything is read
printf '{"phases": [' > broken.json
run 1 report --rules broken.json --format json tiny.pickle
err_has "broken.json"
run 1 report --rules no-such.json tiny.pickle --format json
err_has "no-such.json: cannot be read"

# names that look like options, and names with everything in them
cp tiny.pickle ./-o
run 0 report --format json -- -o
cp tiny.pickle "$(printf 'a b\n<script>')"
run 0 report --format json "$(printf 'a b\n<script>')"

# several files of one rank: processes, moments or jobs; each row says which it is, whatever the names have in common
mkdir -p twice/step1 twice/step2
cp tiny.pickle twice/step1/rank0.pickle
cp tiny.pickle twice/step2/rank0.pickle
cp tiny.pickle twice/actor_rank1_pid7.pickle
cp tiny.pickle twice/ref_rank1_pid8.pickle
cp tiny.pickle twice/rank2.pickle
run 0 report twice --format text
for place in 'rank 0 (step1/rank0.pickle), device 0' 'rank 0 (step2/rank0.pickle), device 0' 'rank 1 (actor_rank1_pid7.pickle), device 0' \
    'rank 1 (ref_rank1_pid8.pickle), device 0' 'rank 2, device 0'; do out_has "$place"; done
run 0 report twice -o twice.html -q
check [ "$(grep -o 'data-place="[^"]*"' twice.html | sort -u | wc -l)" -eq 5 ]
mkdir nothing
run 1 info nothing
err_has 'nothing: no memory snapshot in this directory: it is empty'
echo hello > nothing/a.txt
run 1 info nothing
err_has '(1 other file;'
finish
