#!/usr/bin/env bash
# --redact: planted names are in no byte of any output, the packed data of the page included; the diagnosis stays; keys match.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
key=0123456789abcdef-test-key
mkdir -p runs/acme-falcon

# A snapshot of a job of alice's, in her folder, with her name in annotations, and names where they do not belong.
python3 -B - > runs/acme-falcon/alice_rank0.json << 'EOF'
import json
home = "/home/alice/acme-falcon"
site = "/home/alice/venv/lib/python3.11/site-packages"
frames = [{"name": "empty_strided", "filename": site + "/torch/nn/functional.py", "line": 3},
          {"name": "_forward_micro_batch", "filename": "/mnt/acmefs/users/alice/src/verl/verl/workers/actor/dp_actor.py", "line": 90},
          {"name": "compute_log_prob", "filename": "/mnt/acmefs/users/alice/src/verl/verl/workers/fsdp_workers.py", "line": 700},
          {"name": "helper", "filename": site + "/acmeinternal/deep/helper.py", "line": 1},
          {"name": "alice_loss", "filename": home + "/My Project/loss.py", "line": 5},
          {"name": "win", "filename": "C:\\Users\\alice\\acme-falcon\\w.py", "line": 5},
          {"name": "lambda at " + home + "/k.cu:12", "filename": "", "line": 0},
          {"name": "main", "filename": "acme-falcon/sub/main.py", "line": 1}]
blocks, events, addr = [], [{"action": "segment_alloc", "addr": 1 << 20, "size": 1 << 26, "stream": 0, "frames": frames, "time_us": 1}], 1 << 20
for i in range(64):
    blocks.append({"size": 1 << 20, "requested_size": 1 << 20, "address": addr, "state": "active_allocated", "frames": frames[i % 3:]})
    events.append({"action": "alloc", "addr": addr, "size": 1 << 20, "stream": 0, "frames": frames[i % 3:], "time_us": 2 + i, "user_metadata": "job of alice on node-17.acme.internal, see " + home + "/notes.txt"})
    addr += 1 << 20
events.append({"action": "oom", "size": 1 << 26, "device_free": 1 << 20, "addr": 1 << 20, "stream": 0, "frames": frames[1:], "time_us": 99})
print(json.dumps({"segments": [{"device": 0, "address": 1 << 20, "total_size": 1 << 26, "allocated_size": 1 << 26, "active_size": 1 << 26,
    "requested_size": 1 << 26, "stream": 0, "segment_type": "large", "blocks": blocks}], "device_traces": [events],
    "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:False"},
    "external_annotations": [{"name": "## alice@acme.io: s3://acme-bucket/falcon/ckpt ##", "stage": "START", "device": 0, "time_us": 3},
                             {"name": "## alice@acme.io: s3://acme-bucket/falcon/ckpt ##", "stage": "END", "device": 0, "time_us": 50}]}))
EOF
cat > runs/acme-falcon/train.log << 'EOF'
(WorkerDict pid=77, ip=10.11.12.13) torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free. Including non-PyTorch memory, this process has 900.00 MiB memory in use. Of the allocated memory 800.00 MiB is allocated by PyTorch, and 10.00 MiB is reserved by PyTorch but unallocated.
(raylet, ip=10.11.12.13) Task was killed due to the node running low on memory. Memory on the node (IP: 10.11.12.13, ID: abcdef) where the task (task ID: 123, name=alice-falcon-task, pid=4, memory used=1.00GB) was running was 90.00GB / 100.00GB
EOF
cat > runs/acme-falcon/run.yaml << 'EOF'
trainer: {project_name: acme-falcon, experiment_name: alice-try-3, n_gpus_per_node: 8}
actor_rollout_ref: {model: {path: /home/alice/models/SecretModel-7B}, rollout: {name: vllm, gpu_memory_utilization: 0.6}}
wandb_api_key: 0123456789abcdef0123456789abcdef01234567
EOF
cat > planted << 'EOF'
alice
acme
falcon
SecretModel
My Project
acmefs
node-17
10.11.12.13
0123456789abcdef0123456789abcdef01234567
EOF
cp "$MT_SOURCE_DIR/tests/cli/unpack_page.py" unpack.py
lacks_names() # FILE; what is packed in a page is unpacked: four letters are in its base64 by chance
{
    local text="$1"
    case "$1" in *.html) text=unpacked.text && python3 -B unpack.py "$1" text > "$text" ;; esac
    check [ -s "$text" ]
    if grep -i -a -n -F -f planted "$text" > found; then
        fail "$1 has a planted name: $(head -c 400 found)"
    else
        ok
    fi
}
in=runs/acme-falcon/alice_rank0.json
given=(--full --frames all --log runs/acme-falcon/train.log --config runs/acme-falcon/run.yaml
    --args 'trainer.project_name=acme-falcon data.train_files=data/acme-falcon/train.parquet +env.HF_TOKEN=hf_abcdefABCDEF0123456789')
for format in html text md json; do
    run 0 report --format "$format" "$in" "${given[@]}" --title "alice's run" -o "plain.$format" -q
    grep -qi -a -F -f planted "plain.$format" || fail "the planted names are not even in $format without --redact"
    run 0 report --format "$format" "$in" "${given[@]}" --title "alice's run" -o "red.$format" -q --redact --redact-key "$key"
    lacks_names "red.$format"
    run 0 report --format "$format" "$in" "${given[@]}" --title "alice's run" -o "again.$format" -q --redact --redact-key "$key"
    same "red.$format" "again.$format"
    run 0 report --format "$format" "$in" "${given[@]}" --title "alice's run" -o "random.$format" -q --redact
    lacks_names "random.$format"
    if grep -q -F "$key" "red.$format"; then fail "the key is in the $format"; else ok; fi
done
python3 -B unpack.py plain.html > plain.data
python3 -B unpack.py red.html > red.data
check grep -q -a alice plain.data # else this proves nothing
check grep -q -a dp_actor.py red.data
check [ "$(wc -c < unpacked.text)" -gt "$(wc -c < red.data)" ]
lacks_names red.data
# what diagnosis needs is there
for word in dp_actor.py fsdp_workers.py compute_log_prob torch/nn; do
    check grep -q "$word" red.json
done
cat > same_diagnosis.py << 'EOF'
import json
a, b = json.load(open("plain.json")), json.load(open("red.json"))
assert a["verdict"]["kind"] == b["verdict"]["kind"] == "oom_capacity"
assert a["verdict"]["phase"] == b["verdict"]["phase"] == "logp_old"
assert [p["phase"] for p in a["phases"]] == [p["phase"] for p in b["phases"]]
assert [o["bytes"] for o in a["owners"]] == [o["bytes"] for o in b["owners"]]
assert a["advice"] and [x["id"] for x in a["advice"]] == [x["id"] for x in b["advice"]]
EOF
check python3 -B same_diagnosis.py
# another key, other tokens; without a key no two runs match
run 0 report --format json "$in" -o other.json -q --redact --redact-key another-key-of-enough-bytes
run 0 report --format json "$in" -o one.json -q --redact
run 0 report --format json "$in" -o two.json -q --redact
token() { grep -o 'dir-[0-9a-f]*' "$1" | sort -u | head -n 1; }
check [ "$(token red.json)" != "$(token other.json)" ]
check [ "$(token one.json)" != "$(token two.json)" ]
printf '%s\n' "$key" > keyfile
run 0 report --format json "$in" "${given[@]}" --title "alice's run" -o by_file.json -q --redact --redact-key @keyfile
same red.json by_file.json

for command in "dump" "info" "info --json" "export --to perfetto" "export --to speedscope" "export --to folded"; do
    # shellcheck disable=SC2086 # words
    run 0 $command "$in" --redact --redact-key "$key"
    check [ -s .out ]
    cp .out "out.$(printf '%s' "$command" | tr -dc '[:lower:]')"
    lacks_names .out
done
check grep -q dp_actor.py out.exporttofolded

# what the driver saw: the host, the GPU, a process's command
run 0 dump "$SAMPLES/driver_v1.trace.gz"
out_has node7
for command in "dump" "info" "report --format html -o -" "report --format text --full" "report --format md" "report --format json" "export"; do
    # shellcheck disable=SC2086
    run 0 $command "$SAMPLES/driver_v1.trace.gz" --redact --redact-key "$key"
    if grep -qa -e node7 -e 'GPU-5d0c1f6e' -e 'it.s a test' .out; then fail "$command tells the host or the GPU"; else ok; fi
    grep -q 'host-[0-9a-f]\{10\}' .out || fail "$command has no token of the host"
done

# an input that cannot be read is named in the report, by its token
printf 'no snapshot' > runs/acme-falcon/alice_rank1.pickle
run 3 report --format json runs/acme-falcon --redact --redact-key "$key"
check grep -q '"unreadable"' .out
cp .out unread.json
lacks_names unread.json

# what is quoted of a file that is no snapshot: its first bytes, its keys, the classes of a model
mkdir quoted
printf 'zorglub-plan v2, see inside' > quoted/rank0.pickle
printf '{"zorglub": 1, "a;b": 2}' > quoted/rank1.json
printf 'czorglub.models\nNet\n(tR.' > quoted/rank2.pickle
python3 -c 'import pickle; pickle.dump({"zorglub": 1}, open("quoted/rank3.pickle", "wb"))'
cp "$SAMPLES/tiny.pickle" quoted/rank4.pickle
for format in text md json html; do
    run 3 report quoted quoted/rank1.json --full --format "$format" -o "quoted.$format"
    check grep -q zorglub "quoted.$format"
    run 3 report quoted quoted/rank1.json --full --format "$format" -o "quoted.red.$format" --redact
    if grep -q zorglub "quoted.red.$format"; then fail "$format quotes a file: $(grep -o '.\{40\}zorglub' "quoted.red.$format" | head -n 2)"; else ok; fi
done
check [ "$(jq '.quality.unreadable | length' quoted.red.json)" -eq 4 ]

# secrets go without --redact too
run 0 report --format json "$in" "${given[@]}"
if grep -q -e hf_abcdefABCDEF0123456789 -e 0123456789abcdef0123456789abcdef01234567 .out; then fail 'a secret is in the report'; else ok; fi

# files that are called what a machine is called, a program that the kernel killed
mkdir -p hosts
cp "$SAMPLES/tiny.pickle" hosts/oom_node7_rank0.pickle
cat > hosts/train_gpu-node-33.log << 'EOF'
Nov  1 10:00:00 gpu-node-33 kernel: Out of memory: Killed process 123 (xanadu_train) total-vm:1kB, anon-rss:1kB
Nov  1 10:00:01 gpu-node-33 kernel: Out of memory: Killed process 124 (python3) total-vm:1kB, anon-rss:1kB
EOF
for words in 'report --format json' 'report --format md' 'info'; do
    # shellcheck disable=SC2086 # words
    run 0 $words hosts/oom_node7_rank0.pickle --redact
    check [ -s .out ]
    if grep -q node7 .out; then fail "$words: the file's name tells the machine"; else ok; fi
done
for words in 'report hosts --format json' 'report hosts/train_gpu-node-33.log --format json' 'report hosts/oom_node7_rank0.pickle --log hosts/train_gpu-node-33.log --format text --full'; do
    # shellcheck disable=SC2086
    run 0 $words --redact
    out_has python3
    if grep -q -e gpu-node -e xanadu -e node7 .out; then fail "$words: a log tells the machine or the program"; else ok; fi
done

# an address is none of the words that stay in the name of a file: snapshot, member, log, settings
mkdir addressed
for name in 10.66.55.44 oom-10.66.55.44-rank0 worker_10.66.55.44 snapshot_10.66.55.44_rank3; do
    cp "$SAMPLES/tiny.pickle" addressed/$name.pickle
    cp runs/acme-falcon/train.log addressed/$name.log
    cp runs/acme-falcon/run.yaml addressed/$name.yaml
    tar -cf addressed.tar -C addressed $name.pickle
    for words in "info addressed/$name.pickle" "info addressed.tar" "report --format json addressed/$name.pickle --log addressed/$name.log --config addressed/$name.yaml" \
        "report --format text --full addressed.tar --log addressed/$name.log --config addressed/$name.yaml"; do
        # shellcheck disable=SC2086 # words
        run 0 $words --redact
        check [ -s .out ]
        if grep -qF 66.55 .out; then fail "$words: the name of a file tells an address"; else ok; fi
    done
done

# the frames of a log's traceback are those of any other
{ printf '%s\n' 'Traceback (most recent call last):' '  File "/home/alice/xanadu/net.py", line 12, in mix' '  File "C:\Users\alice\xanadu\loss.py", line 7, in fold' \
    'RuntimeError: CUDA out of memory. Tried to allocate 2.00 GiB (GPU 0; 15.78 GiB total capacity; 12.00 GiB already allocated; 1.00 GiB free; 13.00 GiB reserved in total by PyTorch)'; } > hosts/frames.log
run 0 report hosts/frames.log --format json --redact
out_has 'loss.py:7 fold'
if grep -q -e alice -e xanadu .out; then fail 'frames of a log tell who and where'; else ok; fi

# a log's text is kept printable ("\x5c" for a backslash): names are looked for in what was said, a share and a user with an umlaut
{ printf '%s\n' '[2026-01-01 00:00:00,000] [INFO] [utils.py:800:see_memory_usage] at \\xanadu\share\x.py, home of jörgen@mail.example.com' \
    '[2026-01-01 00:00:00,000] [INFO] [utils.py:801:see_memory_usage] MA 1.0 GB         Max_MA 1.0 GB         CA 1.0 GB         Max_CA 1 GB' \
    'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 1.00 GiB of which 1.00 MiB is free.'; } > hosts/label.log
run 0 report hosts/label.log --format json --redact
out_has 'allocated 1.00 GiB'
if grep -q -e xanadu -e rgen .out; then fail 'what a log says tells a share or a user'; else ok; fi

# two runs beside each other, and a gate: one key for all that is read, also where nobody named one
cp "$in" runs/acme-falcon/alice_next.json
printf '# of team acme\n\npeak = 1KiB\n' > runs/acme-falcon/alice.limits
for format in text md html json; do
    run 0 diff "$in" runs/acme-falcon/alice_next.json --format "$format" -o "diff.$format" --redact
    lacks_names "diff.$format"
done
check grep -q dp_actor.py diff.html
check [ "$(jq -c '[.equal, (.owners | length)]' diff.json)" = "$(jq -c '[.equal, (.owners | length)]' <("$MEMTRACE" diff "$in" runs/acme-falcon/alice_next.json --format json))" ]
for format in text github junit json; do
    run 4 check "$in" --limits runs/acme-falcon/alice.limits --max role:logits=0 --baseline runs/acme-falcon/alice_next.json --format "$format" -o "check.$format" --redact
    lacks_names "check.$format"
done
check grep -q '; limit set in .*:3$' check.text
check [ "$(jq -r '.limits[] | select(.limit == "peak" and .baseline_bytes == null) | .set_in' check.json | sed 's/.*://')" = 3 ]
# a place that is cut to fit is hidden before it is cut
deep=$PWD/home/alice/falcon-$(printf 'x%.0s' {1..90})
mkdir -p "$deep"
cp runs/acme-falcon/alice.limits "$deep/alice.limits"
for format in text json; do
    run 4 check "$in" --limits "$deep/alice.limits" --format "$format" -o "deep.$format" --redact
    lacks_names "deep.$format"
done
# what is read back has its names still, or had none before
run 2 diff plain.json "$in" --redact
err_has 'plain.json was written without --redact, and cannot be redacted any more; make it again of the snapshot'
run 0 diff red.json "$in" --redact-key "$key" --format json
cp .out mixed.json
lacks_names mixed.json

# the options
run 1 report --format json "$in" --redact --redact-key short
err_has 'at least 16'
run 0 report --format json "$in" "${given[@]}" --title "alice's run" -o implied.json -q --redact-key "$key"
same red.json implied.json
run 1 report --format json "$in" --redact --redact-key @nowhere
err_has nowhere
printf '\n' > empty
run 1 report --format json "$in" --redact --redact-key @empty
err_has 'at least 16'
finish
