#!/usr/bin/env bash
# Logs: alone, compressed, from a pipe, in a folder beside snapshots, as --log; what they settle; what is no log.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

oom='[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 64.80 GiB is allocated by PyTorch, and 12.00 GiB is reserved by PyTorch but unallocated.'
printf 'start\n%s\n' "$oom" > train.log
for format in html text md json; do
    run 0 report train.log --full --format "$format" -o "out.$format"
    check grep -q 'asked for 2.00 GiB and 1.20 GiB of 79.10 GiB were free' "out.$format"
done
check grep -q 'Out of memory: fragmentation' out.html
check [ "$(jq -r .verdict.kind out.json)" = log ]
check [ "$(jq -r .log_diagnosis.cause out.json)" = fragmentation ]
check [ "$(jq -r .log_diagnosis.line out.json)" = 2 ]
check [ "$(jq -r .verdict.rank out.json)" = 3 ]
check [ "$(jq -r '.logs[0].facts[0].kind' out.json)" = torch_oom ]

# The same out of a pipe, compressed, without a newline at the end, with Windows line ends.
run 0 report - --format text --full -o a.txt < train.log
check grep -q 'fragmentation' a.txt
gzip -k train.log
run 0 report train.log.gz --format json -o gz.json
check [ "$(jq -r .verdict.sentence gz.json)" = "$(jq -r .verdict.sentence out.json)" ]
printf '%s' "$oom" | sed 's/$/\r/' > dos.log
run 0 report dos.log --format json -o dos.json
check [ "$(jq -r .log_diagnosis.request_bytes dos.json)" = 2147483648 ]
# A log that begins like JSON.
printf "[2026-01-01 00:00:00] hello\n{'a': 1}\n%s\n" "$oom" > bracket.log
run 0 report bracket.log --format json -o bracket.json
check [ "$(jq -r .log_diagnosis.line bracket.json)" = 3 ]

printf '(dpo_trainer pid=7) hello\n%s\n' "$oom" > bracket2.log
run 0 report bracket2.log --format json -o bracket2.json
check [ "$(jq -r .log_diagnosis.line bracket2.json)" = 2 ]

# A sentence that is cut off before it says what PyTorch held; and a size that no card has, which no setting makes fit.
full='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate'
echo "$full 2.00 MiB. GPU 0 has a total capacity of 79.10 GiB of which 10.00 MiB is free. Process 123 has 60.00 GiB memory in use. Including non-PyTorch memory, this process has 19.00 GiB memory in use." > others.log
run 0 report others.log --format json -o others.json
check [ "$(jq -r .log_diagnosis.cause others.json)" = other_processes ]
check [ "$(jq -r .log_diagnosis.because others.json)" = "Without the 60.00 GiB of the other process the request would have fitted." ]
printf '  File "/x/verl/workers/fsdp_workers.py", line 3, in update_actor\n%s more than 1EB memory.\n' "$full" > absurd.log
run 0 report absurd.log --format json -o absurd.json
check [ "$(jq -r .log_diagnosis.cause absurd.json)" = unknown ]
check [ "$(jq -r '.log_diagnosis.advice | length' absurd.json)" = 0 ]

# What remains at the ends of segments is no fragmentation, though the request is smaller still.
echo 'RuntimeError: CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 10.76 GiB total capacity; 9.75 GiB already allocated; 6.69 MiB free; 9.85 GiB reserved in total by PyTorch)' > full.log
run 0 report full.log --format json -o full.json
check [ "$(jq -r .log_diagnosis.cause full.json)" = capacity ]
# torch_npu's sentence has one number more.
echo 'RuntimeError: NPU out of memory. Tried to allocate 4.64 GiB (NPU 0; 60.96 GiB total capacity; 50.30 GiB already allocated; 50.30 GiB current active; 1.75 GiB free; 57.10 GiB reserved in total by PyTorch)' > npu.log
run 0 report npu.log --format text --full -o npu.txt
check grep -q 'asked for 4.64 GiB and 1.75 GiB of 60.96 GiB' npu.txt

# vLLM prints what its share lacks as a negative size: that is not a cache of 0 B.
printf 'INFO [gpu_worker.py:276] Available KV cache memory: -1.23 GiB\n%s\n' "$oom" > kv.log
run 0 report kv.log --format text --full -o kv.txt
check grep -q 'vLLM: nothing left for the KV cache' kv.txt

# Beside a snapshot it settles the size of the card, whether named or found in the folder.
run 0 report "$SAMPLES/verl_grpo_oom_logprob.pickle" --log train.log --format json -o both.json
check [ "$(jq -r '.devices[0].capacity_bytes' both.json)" -gt 84900000000 ]
check [ "$(jq -r '.verdict.kind' both.json)" != log ]
run 0 report "$SAMPLES/verl_grpo_oom_logprob.pickle" --log train.log --capacity 40GiB --format json -o named.json
check [ "$(jq -r '.devices[0].capacity_bytes' named.json)" = 42949672960 ]
mkdir folder && cp "$SAMPLES/tiny.pickle" train.log folder/ && printf 'int main(void);\n' > folder/main.c
run 0 report folder --format json -o folder.json
check [ "$(jq -r '.logs | length' folder.json)" = 1 ]
check [ "$(jq -r '.quality.ignored_files' folder.json)" = 1 ]
check [ "$(jq -r '.verdict.kind' folder.json)" = oom_fragmentation ]
run 0 report --log train.log --log dos.log "$SAMPLES/tiny.pickle" --format json -o two.json
check [ "$(jq -r '.logs | length' two.json)" = 2 ]

# Host memory: other advice, in the form that appends.
printf 'Out of memory: Killed process 77 (python) total-vm:1kB, anon-rss:9kB\n' > dmesg.log
run 0 report dmesg.log --format text --full -o host.txt
check grep -q 'The host ran out of memory' host.txt
# shellcheck disable=SC2016 # as it is printed
check grep -qF 'LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libtcmalloc.so.4${LD_PRELOAD:+:$LD_PRELOAD}' host.txt

# Names of files and lines of logs cannot break the page, nor the terminal.
printf 'Before <script>alert(1)</script>\033[31m, memory allocated (GB): 1, memory reserved (GB): 1, device memory used/total (GB): 1/80\n%s\n' "$oom" \
    > '<img src=x>.log'
run 0 report '<img src=x>.log' --format html -o evil.html
check [ "$(grep -c '<script>alert\|<img src' evil.html)" = 0 ]
run 0 report '<img src=x>.log' --format text --full -o evil.txt
check [ "$(grep -c "$(printf '\033')" evil.txt)" = 0 ]

# Lines that only sound like a failure are said to be harmless.
printf '[torch_memory_saver.cpp] cuMemCreate CUDA_ERROR_OUT_OF_MEMORY (may not be an issue e.g. torch allocator will retry)\n' > harmless.log
run 0 report harmless.log --format json -o harmless.json
check grep -qF '1 line that sounds like one is harmless' harmless.json
check grep -qF 'the job went on' harmless.json

# Objects of a logger, one a line, and the answer of a server; JSON that is neither is none of ours.
printf '{"level":"info"}\n{"level":"error","msg":"%s"}\n' "$oom" > lines.log
run 0 report lines.log --format json -o lines.json
check [ "$(jq -r .log_diagnosis.line lines.json)" = 2 ]
printf '{"error":{"message":"%s"}}\n' "$oom" > answer.log
run 0 report answer.log --format json -o answer.json
check [ "$(jq -r .log_diagnosis.request_bytes answer.json)" = 2147483648 ]
printf '{"error":{"message":"no"}}\n' > other.log
run 1 report other.log

# Logs of jobs that have nothing to do with each other.
printf '  File "/x/site-packages/verl/workers/fsdp_workers.py", line 3, in update_actor\n%s\n' "$oom" > one.log
printf '  File "/x/site-packages/areal/engine/fsdp_engine.py", line 3, in train_batch\n%s\n' "$oom" > two.log
run 0 report one.log two.log --format json -o jobs.json
check grep -qF 'one.log names files of verl, two.log of AReaL. The verdict is about one.log' jobs.json
printf '%s\n' "${oom/79.10/23.60}" > small.log
run 0 report train.log small.log --format json -o cards.json
check grep -qF 'train.log has one of 79.10 GiB, small.log of 23.60 GiB' cards.json
run 0 report train.log dos.log --format json -o same.json
check [ "$(grep -c 'different jobs' same.json)" = 0 ]

# The host, as DeepSpeed saw it before a process was killed.
printf '[INFO] [utils.py:838:see_memory_usage] CPU Virtual Memory:  used = 240.50 GB, percent = 95.5%%\n[x] exits with return code = -9\n' > ds.log
run 0 report ds.log --format json -o ds.json
check grep -qF 'host memory 240.50 GiB in use, 95.50 %' ds.json

# What says nothing is no report; a log that was named is read all the same.
printf 'nothing here\n' > empty.log
run 1 report empty.log
err_has 'no memory snapshot'
err_has 'no log with a line about memory'
check [ ! -e empty.log.html ]
run 0 report --log empty.log "$SAMPLES/tiny.pickle" --format json -o empty.json
err_has 'empty.log: there is no line about memory'
run 0 report --log train.log "$SAMPLES/tiny.pickle" --format json -o heard.json
err_lacks 'no line about memory'
check [ "$(jq -r .log_diagnosis.cause empty.json)" = none ]
run 1 report --log absent.log "$SAMPLES/tiny.pickle"
err_has 'absent.log'
head -c 60 train.log.gz > cut.log.gz
run 3 report --log cut.log.gz "$SAMPLES/tiny.pickle" --format json -o cut.json
check [ "$(jq -r '.logs[0].problem' cut.json)" != null ]
run 2 report --log '' "$SAMPLES/tiny.pickle"
finish
