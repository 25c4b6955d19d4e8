#!/usr/bin/env bash
# memtrace capture with jobs that use the (fake) GPU: what every process of them recorded is in the trace, whatever became of it.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
app="${MT_BINARY_DIR:-}/tests/fake_app" tree="${MT_BINARY_DIR:-}/tests/fake_tree"
if [ ! -x "$app" ] || [ ! -x "$tree" ]; then skip_all "this build has no recorder (MEMTRACE_CAPTURE=OFF)"; fi
need python3
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PYTHONPATH MEMTRACE_SPOOL MEMTRACE_INJECT CUDA_VISIBLE_DEVICES NSYS_PROFILING_SESSION_ID || true
export LD_LIBRARY_PATH="$MT_BINARY_DIR/tests/mock/cuda13"
mkdir spools
export TMPDIR="$TMP/spools"
no_spool() { if [ -z "$(ls -A spools)" ]; then ok; else fail "left behind: $(ls spools)"; rm -rf spools/*; fi; }
# What writes its process id and becomes the application; gone PIDFILE: waits until it has ended.
# shellcheck disable=SC2016 # for the inner shell
printf '#!/bin/sh\necho $$ > "$1"\nshift\nexec "%s" "$@"\n' "$app" > known && chmod +x known
gone()
{
    local i
    for ((i = 0; i < 1200; i++)); do kill -0 "$(cat "$1")" 2> /dev/null || return 0; sleep 0.05; done
    fail "$1: still there"
}
there() # FILE: waits until the application, or whoever, has made it
{
    local i
    for ((i = 0; i < 2400; i++)); do [ ! -e "$1" ] || return 0; sleep 0.05; done
    fail "$1: did not come"
}
# Lines of one kind in the trace, as the decoder of the tests prints them.
decode() { python3 "$MT_SOURCE_DIR/tests/reference/trace_decode.py" "$1" > "$1.txt" || fail "$1 cannot be decoded"; }
trace_has() { if grep -qE -e "$2" "$1.txt"; then ok; else fail "$1 has no '$2': $(head -c 2000 "$1.txt")"; fi; }

# --- one process
run 0 capture -o a.gz -- "$app" leak:100:5 push:gen ranges:10 pop
err_has "a.gz: 1 process"
err_has "GPU 0:"
err_has "peak 500.0 MiB, 12 ranges"
err_has "the report: memtrace report a.gz -o a.html"
no_spool
decode a.gz
trace_has a.gz 'argv.1 = leak:100:5'
trace_has a.gz '^ *status = 0'
trace_has a.gz 'end: exit'
trace_has a.gz 'end: status 0'
trace_has a.gz '[1-9][0-9]* symbol'
# the job's own output is byte for byte what it is without us
hows=(exit:0 exit:7 _exit:8 kill9 term abort threadexit:5 oom:fatal)
[ -n "${MT_SANITIZE:-}" ] || hows+=(segv) # a sanitizer would make a report of it
for how in "${hows[@]}"; do
    (ulimit -c 0; "$app" print:out leak:10:2 stderr:err "$how" > plain.out 2> plain.err; echo $? > plain.status) 2> /dev/null
    rm -f b.gz
    (ulimit -c 0; "$MEMTRACE" capture -q -o b.gz -- "$app" print:out leak:10:2 stderr:err "$how" > b.out 2> b.err; echo $? > b.status) 2> /dev/null
    same plain.out b.out
    same plain.err b.err
    same plain.status b.status
    exists b.gz
    no_spool
done
# --- killed: the last call is there, and who did it
run 137 capture -o c.gz -- "$app" leak:100:5 kill9
err_has "peak 500.0 MiB"
decode c.gz
trace_has c.gz 'end: signal 9'
run 143 capture -o d.gz -- "$app" leak:100:5 term
decode d.gz
trace_has d.gz 'end: signal 15'
# --- the same process id twice: exec
run 3 capture -o e.gz -- "$app" leak:10:1 exec leak:20:1 exit:3
err_has "2 processes"
err_has "peak 10.0 MiB"
err_has "peak 20.0 MiB"
decode e.gz
trace_has e.gz 'end: gone'
trace_has e.gz 'end: status 3'
# --- the same process id on another host: not the command, so its end is not that of the command
# shellcheck disable=SC2016
run 5 capture -o e2.gz -- sh -c '"$0" leak:10:1 kill9; cd "$MEMTRACE_SPOOL"; for f in mt-*-*-????????????????.*; do mv "$f" "mt-elsewhere-$$-${f##*-}"; done; exit 5' "$app"
decode e2.gz
trace_has e2.gz 'end: gone'
if grep -qE 'end: status 5' e2.gz.txt; then fail "the end of the command was given to a process of another host"; else ok; fi
# --- marks in the driver of a job whose workers were started elsewhere: what was recorded, and how to get the rest
printf '#!/bin/sh\nexec "%s" "$@"\n' "$app" > python && chmod +x python
RAY_ADDRESS=auto run 0 capture -o e3.gz -- ./python push:gen pop
err_lacks "nothing was recorded"
err_has "no process used a GPU, as far as was recorded. Why:"
err_has "memtrace capture -- ray start --head --block"
err_has "the report: memtrace report e3.gz"
# --- forks, workers, and a parent without a GPU
run 0 capture -o f.gz -- "$app" push:gen fork:leak:5:5 fork:leak:6:5,kill9 pop
err_has "3 processes"
err_has "peak 25.0 MiB"
err_has "peak 30.0 MiB"
FAKE_GPUS=4 run 0 capture -o g.gz -- sh -c "for i in 0 1 2 3; do RANK=\$i CUDA_VISIBLE_DEVICES=\$i '$app' leak:\$((i + 1)):10 & done; wait"
err_has "g.gz: 4 processes"
for i in 0 1 2 3; do err_has "rank $i): GPU 0:"; err_has "peak $(((i + 1) * 10)).0 MiB"; done
no_spool
run 0 capture -o h.gz -- "$tree" 3
check [ "$(grep -c 'pid' .err)" -ge 3 ]
# its last children may still be at work, and write into the folder while it goes
for ((n = 0; n < 600; n++)); do rm -rf spools/* 2> /dev/null && break; sleep 0.1; done
if [ -z "${MT_SANITIZE:-}" ]; then # python itself is not instrumented
    cat > parent.py << 'END'
import ctypes, multiprocessing as mp, os, sys
def work(i):
    os.environ["RANK"] = str(i)
    cuda = ctypes.CDLL("libcuda.so.1")
    assert cuda.cuInit(0) == 0
    context, p = ctypes.c_void_p(), ctypes.c_uint64()
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    for _ in range(10):
        assert cuda.cuMemAlloc_v2(ctypes.byref(p), ctypes.c_size_t((i + 1) << 20)) == 0
    if i == 2:
        os.kill(os.getpid(), 9)
    if i == 1:
        os._exit(4)
if __name__ == "__main__":
    mt = ctypes.CDLL(os.environ["CUDA_INJECTION64_PATH"])
    mt.memtrace_push(b"rollout")
    workers = [mp.get_context("spawn").Process(target=work, args=(i,)) for i in range(3)]
    for w in workers: w.start()
    for w in workers: w.join()
    mt.memtrace_pop()
    print([w.exitcode for w in workers])
    sys.exit(6)
END
    run 6 capture -o i.gz -- python3 parent.py
    out_has "[0, 4, -9]"
    for i in 10 20 30; do err_has "peak $i.0 MiB"; done
    check grep -qE 'parent.py \(pid [0-9]+\): 1 ranges?' .err
    no_spool
fi
# --- processes that outlive the command: told, not waited for, collected later. The application goes on when the test says so.
run 0 capture -o j.gz -- sh -c './known j.pid leak:10:1 sleep:100 leak:7:10 touch:j.held await:j.on leak:1:1 & while [ ! -e j.held ]; do sleep 0.05; done'
err_has "1 process is still running; what it recorded until now is in the trace. When it has ended: memtrace collect $Q$TMP/spools/memtrace-"
err_has "still running"
err_has "peak 80.0 MiB"
decode j.gz
trace_has j.gz 'end: running'
touch j.on
gone j.pid
run 0 collect "$TMP"/spools/memtrace-* -o j-all.gz --remove
err_has "peak 81.0 MiB"
no_spool
decode j-all.gz
trace_has j-all.gz 'end: exit'
cat j.gz j-all.gz > j-both.gz # the earlier chunks twice: still a trace
decode j-both.gz
# --- the launcher is killed in the middle
"$MEMTRACE" capture -o k.gz -- ./known k.pid leak:10:10 touch:k.held await:k.on leak:10:5 exit:0 2> .err &
launcher=$!
there k.held
kill -9 "$launcher"
wait "$launcher" 2> /dev/null
absent k.gz
run 0 collect "$TMP"/spools/memtrace-* -o k-early.gz
err_has "peak 100.0 MiB"
err_has "still running"
run 0 collect "$TMP"/spools/memtrace-* -o k-early.gz --remove --force # while it runs nothing is removed
touch k.on
gone k.pid
run 0 collect "$TMP"/spools/memtrace-* -o k.gz --remove
err_has "peak 150.0 MiB"
no_spool
# --- and the whole group at once
setsid "$MEMTRACE" capture -o l.gz -- ./known l.pid leak:10:12 touch:l.held await:l.on 2> .err &
there l.held
kill -9 -- "-$(cut -d ' ' -f 5 "/proc/$(cat l.pid)/stat")"
wait 2> /dev/null
gone l.pid
run 0 collect "$TMP"/spools/memtrace-* -o l.gz --remove
err_has "peak 120.0 MiB"
decode l.gz
trace_has l.gz 'end: gone'
no_spool
# --- rank by rank in the summary, whichever began first; the status of a process that is not the command
# shellcheck disable=SC2016
run 0 capture -o ranks.gz -- sh -c 'RANK=2 "$0" leak:10:1 exit:7; RANK=10 "$0" leak:10:1; RANK=0 "$0" leak:10:1; true' "$app"
check [ "$(sed -n 's/.*, rank \([0-9]*\)).*/\1/p' .err | tr '\n' ' ')" = "0 2 10 " ]
run 0 info ranks.gz
check [ "$(grep -A 3 'rank 2' .out | grep -c 'ended with status 7')" -eq 1 ]
check [ "$(grep -c 'ended normally' .out)" -eq 2 ]
# called as the report calls it
if command -v python3 > /dev/null && [ -z "${MT_SANITIZE:-}" ]; then
    run 0 capture -o mp.gz -- python3 -c 'from multiprocessing import spawn
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
    raise SystemExit(1)'
    err_has "  python3 (pid"
    run 0 capture -o mp2.gz -- python3 -c 'from multiprocessing.spawn import prepare
import ctypes
cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_uint64()
if cuda.cuInit(0) or cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0):
    raise SystemExit(1)'
    err_has "  multiprocessing child (pid"
fi
# --- recorded less than hoped for: said why
FAKE_CUPTI=busy:nsys run 0 capture -o m.gz -- "$app" leak:10:2 ranges:3
err_has "driver calls are not recorded: another profiler holds CUPTI's one subscription: nsys"
err_has "4 ranges"
LD_LIBRARY_PATH="$MT_BINARY_DIR/tests/mock/nocupti" MEMTRACE_CUPTI=/no/such/lib run 0 capture -o n.gz -- "$app" leak:10:2
err_has "driver calls are not recorded"
err_has "nothing was recorded. Why:"
# --- options
run 0 capture -o o.gz --no-symbols --no-stacks -- "$app" leak:10:2
decode o.gz
if grep -qE '[0-9]+ (symbol|stack)\b' o.gz.txt; then fail "stacks or symbols although they are off"; else ok; fi
run 0 capture -o p.gz --max-mb 1 -- "$app" seed:1 random:200000
check [ "$(wc -c < p.gz)" -lt 2000000 ]
err_has "records dropped"
err_has "raise it with --max-mb"
mkdir elsewhere
run 0 capture -o q.gz --spool elsewhere --keep-spool -- "$app" leak:10:2
check [ "$(find elsewhere -name 'mt-*' | wc -l)" -ge 2 ]
no_spool
run 0 collect elsewhere/memtrace-* -o q2.gz
err_has "peak 20.0 MiB"
# --- a capture inside a capture: the outer one says where the recording is
run 0 capture -o outer.gz -- "$MEMTRACE" capture -q -o inner.gz -- "$app" leak:10:2
err_has "another 'memtrace capture' inside this one took over: its trace is $TMP/inner.gz"
run 0 info inner.gz
out_has "fake_app, pid"
no_spool
run 127 capture -o outer2.gz -- "$MEMTRACE" capture -q -o inner2.gz -- ./nothing-there
err_lacks "took over"
mkdir fifo && mkfifo fifo/mt-inner.txt
MEMTRACE_SPOOL=$PWD/fifo run 0 capture -q -o inner3.gz -- "$app" leak:10:2
# --- the host's memory ran out: what the launcher says of the job's cgroup leads where no call failed
run 0 capture -q -o host.gz -- "$app" device:0 leak:100:5
python3 - >> host.gz << END
import sys
sys.path.insert(0, "$MT_SOURCE_DIR/samples")
from imitate import wire
launch = wire.Chunk(0, 99, wire.LAUNCH, 4000, 10**18, 10**9)
for key, value in (("cgroup.oom_kills", 1), ("cgroup.limit_bytes", 64 << 30), ("cgroup.peak_bytes", 64 << 30)):
    launch.attr(key, value)
sys.stdout.buffer.write(launch.member())
END
run 4 report host.gz --format json --fail-on oom -o host.json
check jq -e '.job.cgroup == {limit_bytes: 68719476736, peak_bytes: 68719476736, oom_kills: 1} and .verdict.out_of_memory' host.json
check jq -e '.verdict.sentence | startswith("Host memory ran out: the kernel killed 1 process of this job") and contains("at its limit of 64.00 GiB.")' host.json
check jq -e '(.advice | length) > 0' host.json
# --- and the reader takes it
run 0 info a.gz
out_has "fake_app, pid"
run 0 report a.gz -o a.html
exists a.html
# whatever became of the processes: killed, forked, spawned, still running, collected later
for name in c d e f g h i j j-all j-both k l; do
    [ -e "$name.gz" ] || continue # i: not with sanitizers
    run 0 report "$name.gz" -o "$name.html"
    check grep -q '<h1' "$name.html"
done
finish
