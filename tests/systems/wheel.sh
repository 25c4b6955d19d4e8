#!/usr/bin/env bash
# wheel.sh ROOT WHEEL BUILD: the wheel in a bare system. ROOT is what debootstrap made (with python3-venv); it stays as it is. BUILD has the
# stand-ins for NVIDIA's libraries (tests/mock). Needs root.
#   MT_TORCH_ROOT, MT_TORCH_LIBS: another root with python3-torch, laid over it, and the stand-ins of tests/torch/standin.py: then watch() is
#   tried on PyTorch, which runs out of memory.
#   MT_PIP: a wheel of pip 20.3 or newer, where the system's own is older and does not know the names of wheels by glibc (Ubuntu 20.04).
set -euo pipefail
[ $# -eq 3 ] || { sed -n '2,6s/^# //p' "$0" >&2; exit 2; }
if [ -z "${MT_INSIDE:-}" ]; then MT_INSIDE=1 exec unshare --mount --propagation private -- "$0" "$@"; fi
here="$(cd "$(dirname "$0")" && pwd)"
scratch="$(mktemp -d)"
mount -t tmpfs none "$scratch"
mkdir "$scratch/up" "$scratch/work" "$scratch/root"
mount -t overlay none -o "lowerdir=$(realpath "$1")${MT_TORCH_ROOT:+:$MT_TORCH_ROOT},upperdir=$scratch/up,workdir=$scratch/work" "$scratch/root"
root="$scratch/root"
trap 'umount -R "$root"; umount "$scratch"; rmdir "$scratch"' EXIT
mkdir -p "$root/proc" "$root/dev" "$root/try/cuda"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
cp "$2" "$here/../../samples/verl_grpo_oom_logprob.pickle" "$here/job.py" "$here/driver.py" "$root/try/"
cp "$3"/tests/mock/cuda12/*.so* "$root/try/cuda/"
[ -z "${MT_TORCH_LIBS:-}" ] || cp -r "$MT_TORCH_LIBS" "$root/try/sim"
in_root() { chroot "$root" /usr/bin/env -i PATH=/try/env/bin:/usr/bin:/bin HOME=/root LC_ALL=C.UTF-8 "$@"; }
failed=0
check()
{
    local what="$1"
    shift
    if "$@" > "$scratch/said" 2>&1; then echo "ok - $what"; else
        echo "not ok - $what"
        tail -n 5 "$scratch/said"
        failed=1
    fi
}
# shellcheck disable=SC2016 # for the inner shell
echo "# $(in_root sh -c '. /etc/os-release; echo "$PRETTY_NAME"'), $(in_root python3 --version), $(in_root ldd --version | head -n 1)"
check "a fresh environment" in_root python3 -m venv ${MT_TORCH_ROOT:+--system-site-packages} /try/env
if [ -n "${MT_PIP:-}" ]; then
    mkdir "$root/try/pip"
    cp "$MT_PIP" "$root/try/pip/"
    check "a newer pip: ${MT_PIP##*/}" in_root sh -c 'python -m pip install --no-index /try/pip/*.whl'
fi
check "pip installs it without an index" in_root sh -c 'python -m pip install --no-index /try/*.whl'
[ "$failed" -eq 0 ] || exit 1
check "report: a page" in_root sh -c 'cd /try && memtrace report verl_grpo_oom_logprob.pickle -o page.html && grep -q "ran out of memory" page.html'
check "python -m memtrace" in_root sh -c 'python -m memtrace report --format text -o - /try/verl_grpo_oom_logprob.pickle | grep -q "OUT OF MEMORY"'
check "import memtrace" in_root python -c 'import memtrace; assert memtrace.report("/try/verl_grpo_oom_logprob.pickle").verdict.out_of_memory'
check "capture -- python: the job ends as it ends, its calls are in the trace" in_root LD_LIBRARY_PATH=/try/cuda sh -c '
    cd /try && memtrace capture -o t.gz -- python driver.py; [ $? -eq 6 ] && memtrace report t.gz --format text -o - | grep -q "15.0 MiB"'
if [ -n "${MT_TORCH_ROOT:-}" ]; then
    # HOW:SNAPSHOTS:DISK. A fork is left alone; in a job's own observer memory runs out once more; where nothing can be written the line says so.
    for case in ends:1 catches:1 thread:1 interrupt:1 stopped: eight:8 fork:0 observers:2 catches:0:size=4k catches:0:ro; do
        IFS=: read -r how snapshots disk <<< "$case"
        what="watch, a job that is '$how'${disk:+ on a disk $disk}"
        rm -rf "$root/try/oom"
        mkdir "$root/try/oom"
        [ -z "$disk" ] || mount -t tmpfs -o "$disk" none "$root/try/oom"
        [ "$disk" != size=4k ] || head -c 4k /dev/zero > "$root/try/oom/full.html" # the checks below look for other pages
        status=0 alone=0
        in_root LD_LIBRARY_PATH=/try/sim MT_SIM_MEMORY=1600000000 RANK=3 python /try/job.py "$how" > "$scratch/alone" 2> "$scratch/alone.err" || alone=$?
        in_root LD_LIBRARY_PATH=/try/sim MT_SIM_MEMORY=1600000000 RANK=3 python /try/job.py "$how" /try/oom > "$scratch/watched" 2> "$scratch/all.err" || status=$?
        grep -v '^\[memtrace\] ' "$scratch/all.err" > "$scratch/watched.err" || true
        check "$what: output and status $alone as without" \
            sh -c "[ $alone -eq $status ] && cmp $scratch/alone $scratch/watched && cmp $scratch/alone.err $scratch/watched.err"
        if [ "$how" = stopped ]; then # how far the first page had come is chance
            check "$what: no halves are left" [ -z "$(find "$root/try/oom" -name '*.tmp' -o -name '*.part')" ]
            continue
        fi
        said='^\[memtrace\] Rank 3, device 0 ran out of memory' lines="$snapshots"
        [ -z "$disk" ] || { said='^\[memtrace\] out of memory, and nothing could be saved' && lines=1; }
        check "$what: its lines" [ "$(grep -c "$said" "$scratch/all.err")" -eq "$lines" ]
        left="$(find "$root/try/oom" -type f ! -name '*.html' ! -name '*.mts' | wc -l) $(find "$root/try/oom" -name 'oom_rank3_*.pickle' | wc -l)"
        left="$left $(find "$root/try/oom" -name 'oom_rank3_*.html' -exec grep -l 'ran out of memory' {} + | wc -l)"
        check "$what: $snapshots snapshots, a page of each, nothing else" [ "$left" = "$snapshots $snapshots $snapshots" ]
        [ "$case" != ends:1 ] || grep '^\[memtrace\]' "$scratch/all.err"
        [ -z "$disk" ] || { grep '^\[memtrace\]' "$scratch/all.err"; umount "$root/try/oom"; }
    done
    in_root LD_LIBRARY_PATH=/try/sim MT_SIM_MEMORY=1600000000 python /try/job.py cost
fi
exit "$failed"
