#!/usr/bin/env bash
# memtrace capture as a launcher: exit statuses, refusals, the environment of the command. Signals and the terminal are in
# capture_signals.sh; what is recorded is tested by capture_record.sh.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
unset CUDA_INJECTION64_PATH NVTX_INJECTION64_PATH PYTHONPATH MEMTRACE_SPOOL MEMTRACE_INJECT MEMTRACE_STACKS NSYS_PROFILING_SESSION_ID || true
library="$(recorder)"
[ -n "$library" ] || skip_all "this build has no recorder (MEMTRACE_CAPTURE=OFF)"
mkdir spools
export TMPDIR="$TMP/spools"
no_spool() { check [ -z "$(ls -A spools)" ]; }
trace() { rm -f trace.gz; run "$1" capture "${@:2}"; no_spool; }

# --- exit statuses
trace 0 -- true
exists trace.gz
trace 7 -- sh -c 'exit 7'
trace 2 -- sh -c 'exit 2'
trace 255 sh -c 'exit 255'
# shellcheck disable=SC2016 # for the inner shell
for s in HUP:129 INT:130 QUIT:131 ABRT:134 KILL:137 SEGV:139 TERM:143; do
    trace "${s#*:}" -- sh -c 'ulimit -c 0; kill -'"${s%:*}"' $$'
done
trace 127 -- ./no-such-command
err_has "./no-such-command: command not found"
absent trace.gz
trace 127 -- ''
printf 'text' > plain
trace 126 -- ./plain
err_has "./plain: Permission denied"
absent trace.gz
printf '#!/no/such/interpreter\n' > bad && chmod +x bad
trace 126 -- ./bad
err_has "its interpreter is missing"
trace 126 -- "$TMP"
printf 'exit 9\n' > noshebang && chmod +x noshebang
trace 9 ./noshebang

# --- our own failures: 125, nothing run, nothing left
refused() # MESSAGE ARGUMENT...
{
    local message="$1"
    shift
    run 125 "$@"
    err_has "$message"
    absent ran
    no_spool
}
rm -f trace.gz
refused "which command? usage: memtrace capture [--] COMMAND" capture
refused "which command?" capture --
refused "unknown option '--frobnicate'" capture --frobnicate touch ran
refused "--max-mb: 'x' is not a whole number" capture --max-mb x touch ran
refused "--keep: at most 1 TiB of each process" capture --keep 2TiB touch ran
refused "--last: at most 365d" capture --last 400d touch ran
refused "--last: '3x' is no time" capture --last 3x touch ran
refused "the trace needs a file" capture -o - touch ran
touch there.gz
refused "there.gz already exists; give another name with -o, or --force" capture -o there.gz touch ran
refused "is a folder; add a file name" capture -o "$TMP" touch ran
refused "its folder does not exist" capture -o no/such/x.gz touch ran
refused "for the recording: No such file or directory; name a folder with --spool" capture --spool /no/such touch ran
if [ "$(id -u)" -ne 0 ]; then
    mkdir locked && chmod 500 locked
    refused "locked/x.gz: its folder cannot be written: Permission denied" capture -o locked/x.gz touch ran
    refused "name another folder with --spool" capture --spool locked touch ran
fi
held() # WHO VARIABLE=VALUE
{
    env "$2" "$MEMTRACE" capture touch ran > .out 2> .err
    check [ $? -eq 125 ]
    err_has "$1 holds the injection already ($2)"
    absent ran
    no_spool
}
held "NVIDIA Nsight Systems (nsys)" CUDA_INJECTION64_PATH=/opt/nvidia/nsight-systems/2025.3.2/target-linux-x64/libToolsInjection64.so
held "NVIDIA Nsight Compute (ncu)" CUDA_INJECTION64_PATH=/opt/nvidia/nsight-compute/2025.3/target/libInjection.so
held "compute-sanitizer" CUDA_INJECTION64_PATH=/usr/local/cuda/compute-sanitizer/libx.so
held "another tool" NVTX_INJECTION64_PATH=/opt/other/libother.so
held "NVIDIA Nsight Systems (nsys)" NSYS_PROFILING_SESSION_ID=12
for free in CUDA_INJECTION64_PATH=none CUDA_INJECTION64_PATH= "CUDA_INJECTION64_PATH=$library" "NVTX_INJECTION64_PATH=$library"; do
    rm -f trace.gz
    check env "$free" "$MEMTRACE" capture -q true 2> .err
done
rm -f trace.gz
check env CUDA_INJECTION64_PATH=/opt/other/libother.so "$MEMTRACE" capture --take-over true 2> .err
rm -f trace.gz
env MEMTRACE_INJECT=/no/such/lib.so "$MEMTRACE" capture touch ran 2> .err
check [ $? -eq 125 ]
err_has "MEMTRACE_INJECT is /no/such/lib.so: No such file"
env MEMTRACE_INJECT="$TMP" "$MEMTRACE" capture touch ran 2> .err
check [ $? -eq 125 ]
err_has "MEMTRACE_INJECT is $TMP: not a file"
# a memtrace that lies alone has no recorder
mkdir alone && cp "$MEMTRACE" alone/memtrace
(cd alone && env -u MEMTRACE_INJECT ./memtrace capture touch ../ran 2> ../.err; echo $? > ../status)
check [ "$(cat status)" -eq 125 ]
err_has "this build cannot record. Build with -DMEMTRACE_CAPTURE=ON"
absent ran

# --- the output
printf 'old' > old.gz
run 0 capture --force -o old.gz true
check [ "$(wc -c < old.gz)" -gt 100 ]
# it appears while the command runs: left alone
rm -f late.gz late-2.gz
run 3 capture -o late.gz -- sh -c 'printf mine > late.gz; exit 3'
err_has "late.gz appeared while the command ran and was left alone"
check [ "$(cat late.gz)" = mine ]
exists late-2.gz
err_has "late-2.gz"
no_spool
# its folder goes away: the status stays the command's, and the recording is not lost
mkdir gone
run 4 capture -o gone/x.gz -- sh -c 'rmdir gone; exit 4'
err_has "gone/x.gz: cannot be written"
err_has "write it elsewhere with: memtrace collect $Q$TMP/spools/memtrace-"
run 0 collect "$TMP"/spools/memtrace-* -o saved.gz --remove
exists saved.gz
no_spool
check [ -z "$(find . -name '*.part*')" ]
run 0 capture -o /dev/null true
check [ -c /dev/null ]

# --- the command's environment, arguments and descriptors
rm -f trace.gz
run 0 capture -o a.gz -- env
out_has "CUDA_INJECTION64_PATH=$library"
out_has "NVTX_INJECTION64_PATH=$library"
out_has "MEMTRACE_SPOOL=$TMP/spools/memtrace-"
out_has "PYTHONPATH=$(dirname "$library")/site"
if grep -qE '^PYTHONPATH=.*:$|MEMTRACE_(STACKS|TORCH|MEMORY2|MAX_MB|FLUSH_MS)' .out; then fail "more in the environment than was asked for"; else ok; fi
PYTHONPATH=/mine:/yours run 0 capture -o b.gz --no-stacks --max-mb 5 --flush-ms 20 --memory2 -- env
out_has "PYTHONPATH=$(dirname "$library")/site:/mine:/yours"
out_has "MEMTRACE_STACKS=0"
out_has "MEMTRACE_MEMORY2=1"
out_has "MEMTRACE_MAX_MB=5"
out_has "MEMTRACE_FLUSH_MS=20"
PYTHONPATH=/mine run 0 capture -o c.gz --no-torch -- env
check grep -qx 'PYTHONPATH=/mine' .out
out_has "MEMTRACE_TORCH=0"
run 0 capture -q -o d.gz printf '%s|' -o x --help '' '--' 'a b'
check [ "$(cat .out)" = "-o|x|--help||--|a b|" ]
run 0 capture -q -o e.gz -- printf '%s|' -- x
check [ "$(cat .out)" = "--|x|" ]
printf 'in\n' | "$MEMTRACE" capture -q -o f.gz cat > .out 2> .err
check [ "$(cat .out)" = in ]
# What it would see without us: mask, ignored signals, process group, session, descriptors, closed ones included.
# shellcheck disable=SC2016
probe='grep -E "^Sig(Blk|Ign|Cgt)" /proc/self/status; cut -d " " -f 5-8 /proc/$$/stat; ls /proc/$$/fd; umask; ulimit -a'
sh -c "$probe" > plain.out 2> plain.err < /dev/null
"$MEMTRACE" capture -q -o g.gz -- sh -c "$probe" > captured.out 2> captured.err < /dev/null
same plain.out captured.out
sh -c "exec 0<&-; $probe" > plain.out 2> plain.err
sh -c "exec 0<&-; exec \"$MEMTRACE\" capture -q -o h.gz -- sh -c '$probe'" > captured.out 2> captured.err
same plain.out captured.out
(trap '' PIPE HUP; sh -c "$probe" > plain.out 2> plain.err < /dev/null)
(trap '' PIPE HUP; "$MEMTRACE" capture -q -o i.gz -- sh -c "$probe" > captured.out 2> captured.err < /dev/null)
same plain.out captured.out
# A reader that goes away ends the command, not us.
"$MEMTRACE" capture -o j.gz -- yes 2> .err | head -n 1 > /dev/null
check [ "${PIPESTATUS[0]}" -eq 141 ]
exists j.gz
# Nothing of ours on standard output, and standard error only before and after.
"$MEMTRACE" capture -o k.gz -- sh -c 'echo out; echo between >&2' > .out 2> .err
check [ "$(cat .out)" = out ]
check [ "$(grep -n between .err | cut -d : -f 1)" -eq 2 ]
"$MEMTRACE" capture -q -o l.gz -- sh -c 'echo out; echo between >&2' > .out 2> .err
check [ "$(head -n 1 .err)" = between ]
# Nothing was recorded: why.
run 0 capture -o m.gz -- true
err_has "nothing was recorded. Why:"
err_has "none started CUDA (cuInit) or marked an NVTX range"
err_lacks "perhaps before it came to the GPU"
run 3 capture -o m3.gz -- sh -c 'exit 3'
err_has "the command failed (status 3), perhaps before it came to the GPU"
err_has "none started CUDA (cuInit)"
# shellcheck disable=SC2016
run 137 capture -o m9.gz -- sh -c 'kill -9 $$'
err_has "the command was killed by signal 9, perhaps before it came to the GPU"
for clear in -i -; do
    run 0 capture -f -o m4.gz -- env "$clear" PATH="$PATH" true
    err_has "env -i drops the variables: put memtrace behind it"
done
run 0 capture -f -o m4.gz -- echo -i
err_lacks "drops the variables"
printf '#!/bin/sh\nexit 0\n' > docker && chmod +x docker && cp docker srun && cp docker sudo && cp docker ray
PATH="$TMP:$PATH" run 0 capture -o n.gz -- docker run x
err_has "a container does not get the variables"
PATH="$TMP:$PATH" run 0 capture -o o.gz -- srun x
err_has "put memtrace behind it (srun memtrace capture -o trace-%r.gz -- ...)"
PATH="$TMP:$PATH" run 0 capture -o p.gz -- sudo x
err_has "sudo memtrace capture"
PATH="$TMP:$PATH" run 0 capture -o q.gz -- ray job submit
err_has "memtrace capture -- ray start --head --block"
err_has "runtime_env.env_vars.CUDA_INJECTION64_PATH"
err_has "memtrace collect FOLDER"
# a job that RAY_ADDRESS sends to a cluster started elsewhere; "local" starts its own
printf '#!/bin/sh\nexit 0\n' > python && chmod +x python
RAY_ADDRESS=auto run 0 capture -o q2.gz -- ./python train.py
err_has "ray start --head --block"
RAY_ADDRESS=local run 0 capture -o q3.gz -- ./python train.py
err_lacks "ray start"
if echo 'int main(void) { return 0; }' > static.c && cc -static static.c -o static 2> /dev/null; then
    run 0 capture -o r.gz ./static
    err_has "static is a static program"
fi
# A secret of the command line is in no trace.
run 0 capture -q -o s.gz -- sh -c 'exit 0' x --token=hf_abcdefghijklmnopqrstuvwxyz012345 --api-key verysecretvalue1
check [ "$(gzip -dc s.gz 2> /dev/null | grep -cE 'hf_abcdef|verysecretvalue1')" -eq 0 ]
check [ "$(gzip -dc s.gz 2> /dev/null | grep -c 'redacted')" -ge 1 ]

# --- collect
run 1 collect /no/such/folder
err_has "there is no such folder; give the spool directory"
run 1 collect "$TMP/plain"
err_has "not a folder"
mkdir empty
run 1 collect empty -o w.gz
err_has "there is no recording in this folder"
absent w.gz
run 2 collect empty -o -
run 2 collect
run 1 collect empty -o there.gz
err_has "already exists"

finish
