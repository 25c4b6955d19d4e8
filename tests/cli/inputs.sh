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
run 0 report --format text --full state.json
out_has "Live at the dump       512 B"
# pinned memory alone (record_cuda=False): no card is spoken of, what pins is named, and what it cannot know is said
off='[{"filename":"/job/offload.py","line":61,"name":"backup"},{"filename":"/job/train.py","line":9,"name":"main"}]'
printf '{"segments":[],"device_traces":[[]],"host_segments":[{"address":4096,"size":8589934592,"allocated":true,"active":true,
  "owner_private_pool_id":[0,0],"context":%s}],"host_traces":[[
  {"action":"segment_alloc","addr":4096,"size":8589934592,"stream":0,"time_us":1700000000000000,"frames":%s},
  {"action":"alloc","addr":4096,"size":8589934592,"stream":0,"time_us":1700000000000001,"frames":%s}]]}' "$off" "$off" "$off" > pinned.json
run 0 report --format md pinned.json -o -
out_has "pinned host memory peaked at 8.00 GiB live with 8.00 GiB reserved"
out_has "the largest holder, with 8.00 GiB, is job/offload.py:61 backup"
out_has "is of pinned host memory alone (record_cuda=False)"
out_has "rounds what it pins up to a power of two"
out_has "Offloading moves the same bytes to host memory"
out_lacks "the largest part"
out_lacks "--capacity"
out_lacks "PyTorch's books"
out_lacks "tcmalloc"

# failures without end: the first 1024 are listed, and all are counted
awk -v segment="$segment" 'BEGIN {
    printf "{\"segments\":[%s],\"device_traces\":[[", segment
    for (i = 0; i < 3000; i++)
        printf "%s{\"action\":\"oom\",\"size\":%d,\"device_free\":0,\"stream\":0,\"time_us\":%d}", i ? "," : "", (i + 1) * 512, 1700000000000000 + i
    printf "]]}" }' > failing.json
run 0 report --format json failing.json
check [ "$(jq -c '.devices[0] | [.oom_count, (.ooms | length), .ooms[0].request_bytes, .ooms[-1].request_bytes]' .out)" = '[3000,1024,512,524288]' ]
check [ "$(jq -c '[.verdict.event, .verdict.request_bytes]' .out)" = '[0,512]' ]

# host and GPU on one clock: the GPU's failure speaks, and what the host held then is said; where the times are others, that
printf '{"segments":[%s],"device_traces":[[{"action":"oom","size":1073741824,"device_free":0,"stream":0,"time_us":1767322800100000}]]}' \
    "$segment" > at.json
run 0 report --format json at.json "$SAMPLES/memray/killed_v12.bin"
check [ "$(jq -r '.verdict.kind[0:3]' .out)" = oom ]
out_has "When the GPU's memory ran out, the process that memray recorded (process 90210) held 11."
out_has "its own peak of 12.53 GiB was 134 ms later"
printf '{"segments":[%s],"device_traces":[[{"action":"alloc","addr":8388608,"size":512,"stream":0,"time_us":1767322799000000}]]}' \
    "$segment" > before.json
run 0 report --format json "$SAMPLES/memray/killed_v12.bin" before.json
out_has "the recording of the host's memory (process 90210) had not begun"
check [ "$(jq -r .verdict.input .out)" = before.json ]

# what failed of Nsight Systems' export has no size: no picture and no row says that it was nothing
run 0 report --format html "$SAMPLES/nsys/job.sqlite" -o -
out_has "asked for a size that is not recorded"
out_lacks "asked for 0 B"

# the same exported as JSON lines, with events at the head, then strings; or without any event
event='{"Type":48,"TraceProcessEvent":{"startNs":"140547168","endNs":"140562944","correlationId":745,"globalTid":"292568055813839"}}'
thread='{"type":"ThreadName","globalTid":"72057844756653436","nameId":"14","priority":"10"}'
for line in "$event" '{"type":"String","id":"3720","value":"Process 14944 was launched by the profiler"}' "$thread" \
    '{"data":["[Unknown]","[Unknown kernel module]","[Max depth]"]}'; do
    printf '%s\n%s\n' "$line" "$thread" > worker_process_14944.3.jsonl
    run 1 report worker_process_14944.3.jsonl
    err_has 'an export of Nsight Systems as JSON lines, of which memtrace reads nothing:'
    err_has 'nsys export --type sqlite report.nsys-rep'
done
printf '{"Type":48,"Reply":{"text":"hello"}}\n%s\n' "$thread" > other.jsonl
run 1 report other.jsonl
err_lacks "Nsight"

# a recording of the host knows no reserved memory: neither the picture nor its description speaks of it
run 0 report --format html "$SAMPLES/memray/killed_v12.bin" -o -
out_has "peaks at 12.53 GiB"
out_lacks "reserved by PyTorch"
out_lacks "reserved memory is at most"
out_lacks "had reserved from the driver"
run 0 report --format html "$SAMPLES/tiny.pickle" -o -
out_has "reserved by PyTorch, at most"

# a snapshot of an XPU is told by its frames: expandable segments are CUDA's
for kind in xpu cuda; do
    awk -v kind="$kind" 'BEGIN {
        frames = "\"frames\":[{\"filename\":\"??\",\"line\":0,\"name\":\"c10::" kind "::CachingAllocator::malloc(unsigned long)\"}]"
        printf "{\"segments\":["
        for (i = 0; i < 20; i++)
            printf "%s{\"device\":0,\"address\":%d,\"total_size\":20971520,\"allocated_size\":10485760,\"active_size\":10485760,\"requested_size\":10485760,\"stream\":0,\"segment_type\":\"large\",\"blocks\":[{\"address\":%d,\"size\":10485760,\"requested_size\":10485760,\"state\":\"active_allocated\"},{\"address\":%d,\"size\":10485760,\"state\":\"inactive\"}]}", i ? "," : "", 2 ^ 40 + i * 2 ^ 26, 2 ^ 40 + i * 2 ^ 26, 2 ^ 40 + i * 2 ^ 26 + 10485760
        printf "],\"device_traces\":[[{\"action\":\"oom\",\"size\":67108864,\"device_free\":0,\"stream\":0,\"time_us\":1700000000000000,%s}]]}", frames
    }' > "$kind.json"
    run 0 report --format text --full "$kind.json"
    if [ "$kind" = cuda ]; then out_has "expandable_segments:True"; else out_lacks "expandable_segments:True"; fi
done
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

# what lies behind the end mark of a tar is no part of it, as `tar` itself reads it
(cat links.tar && printf 'a note of whoever copied it\n' && head -c 3000 tiny.pickle) > noted.tar
run 0 report -q --format json noted.tar
err_empty
cp .out noted.json
run 0 report -q --format json links.tar
check [ "$(jq -c '.devices[0].live_peak_bytes' noted.json)" = "$(jq -c '.devices[0].live_peak_bytes' .out)" ]
gzip -k noted.tar
run 0 report -q --format json noted.tar.gz
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
run 3 report --format text --full cut.pickle
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
err_has "no-such.json: cannot open it"

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
run 0 report twice --format text --full
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
head -c 24576 "$SAMPLES/nsys/job.sqlite" > cut.sqlite
run 1 report cut.sqlite
err_has "it is cut off, and no table of it can be read"
finish
