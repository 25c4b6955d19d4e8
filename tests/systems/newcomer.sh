#!/usr/bin/env bash
# newcomer.sh ROOT source|wheel: what README's first lines say to type, in a bare system that debootstrap left in ROOT (it stays as it is), up to
# the first report, with the time of each line. Needs root and a mirror of Debian.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
if [ -z "${MT_INSIDE:-}" ]; then MT_INSIDE=1 exec unshare --mount --propagation private -- "$0" "$@"; fi
source="$(cd "$(dirname "$0")/../.." && pwd)"
scratch="$(mktemp -d)"
mount -t tmpfs -o size=4g none "$scratch"
trap 'umount -l -R "$scratch"; rmdir "$scratch"' EXIT
mkdir "$scratch/up" "$scratch/work" "$scratch/root"
mount -t overlay none -o "lowerdir=$(realpath "$1"),upperdir=$scratch/up,workdir=$scratch/work" "$scratch/root"
root="$scratch/root"
mount -t proc none "$root/proc"
mount --rbind /dev "$root/dev"
cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
mkdir "$root/memtrace"
(cd "$source" && git ls-files -z | tar -c --null -T -) | tar -x -C "$root/memtrace"
# The block below "Get it", without what it says beside each line.
sed -n '/^\*\*Get it/,/^No GPU/p' "$source/README.md" | sed -n 's/^    //p' | sed 's/  *#.*//' > "$scratch/lines"
case "$2" in
    source) grep -e 'bootstrap.sh demo' "$scratch/lines" > "$scratch/typed" ;;
    wheel)
        { grep -e 'deps package' "$scratch/lines"
            echo 'apt-get install -q -y --no-install-recommends python3-venv && python3 -m venv /root/mt'
            grep -e 'target wheel' "$scratch/lines"; } > "$scratch/typed"
        echo 'memtrace report samples/verl_grpo_oom_logprob.pickle -o report.html' >> "$scratch/typed"
        ;;
    *) exit 2 ;;
esac
begun=$(date +%s)
while IFS= read -r line; do
    echo "\$ $line"
    if chroot "$root" /usr/bin/env -i PATH=/root/mt/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root sh -c "cd /memtrace && $line" > "$scratch/said" 2>&1; then
        tail -n 3 "$scratch/said" | sed 's/^/  /'
    else
        echo "  exit status $?"
        tail -n 12 "$scratch/said" | sed 's/^/  /'
        exit 1
    fi
    echo "# $(($(date +%s) - begun)) s"
done < "$scratch/typed"
grep -q 'ran out of memory' "$root/memtrace/report.html"
