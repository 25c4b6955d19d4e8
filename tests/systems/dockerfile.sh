#!/usr/bin/env bash
# dockerfile.sh ROOT: the steps of the Dockerfile where no container can be run: each FROM is the system in ROOT, which debootstrap made of the
# suite it names (it stays as it is), each RUN is run in it, and the entry point at the end. Needs root and the network of the RUNs.
set -euo pipefail
[ $# -eq 1 ] || { sed -n '2,3s/^# //p' "$0" >&2; exit 2; }
if [ -z "${MT_INSIDE:-}" ]; then MT_INSIDE=1 exec unshare --mount --propagation private -- "$0" "$@"; fi
source="$(cd "$(dirname "$0")/../.." && pwd)" base="$(realpath "$1")"
scratch="$(mktemp -d)"
mount -t tmpfs -o size=4g none "$scratch"
trap 'umount -l -R "$scratch"; rmdir "$scratch"' EXIT
root='' stages='' path=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin folder=/ entry=''
begin() # begin NAME
{
    mkdir -p "$scratch/$1.up" "$scratch/$1.work" "$scratch/$1"
    mount -t overlay none -o "lowerdir=$base,upperdir=$scratch/$1.up,workdir=$scratch/$1.work" "$scratch/$1"
    root="$scratch/$1" folder=/
    mount -t proc none "$root/proc"
    mount --rbind /dev "$root/dev"
    cp -L /etc/resolv.conf "$root/etc/resolv.conf" 2> /dev/null || true
}
in_root() { chroot "$root" /usr/bin/env -i PATH="$path" HOME=/root LC_ALL=C.UTF-8 ${http_proxy:+http_proxy="$http_proxy"} sh -c "cd '$folder' && $1" sh "${@:2}"; }
begun=$(date +%s)
while IFS= read -r line; do
    [ -z "$line" ] || [ "${line:0:1}" = '#' ] || echo "# $(($(date +%s) - begun)) s: $line"
    # shellcheck disable=SC2086 # words are what a Dockerfile has
    set -- $line
    case "${1:-}" in
        '' | '#'*) ;;
        FROM) stages="${4:-last}" && begin "$stages" ;;
        COPY)
            if [ "${2%%=*}" = --from ]; then mkdir -p "$root$4" && cp -a "$scratch/${2#*=}$3/." "$root$4/"; else
                mkdir -p "$root$3" && (cd "$source" && git ls-files -z | tar -c --null -T -) | tar -x -C "$root$3"
            fi
            ;;
        WORKDIR) folder="$2" && mkdir -p "$root$folder" ;;
        ENV) path="${2#PATH=}" ;;
        RUN) in_root "${line#RUN }" > "$scratch/said" 2>&1 || { tail -n 20 "$scratch/said"; exit 1; } ;;
        ENTRYPOINT) entry="$(sed 's/.*\["//; s/"\].*//' <<< "$line")" ;;
        *) echo "no such instruction here: $1" && exit 1 ;;
    esac
done < "$source/Dockerfile"
cp "$source/samples/verl_grpo_oom_logprob.pickle" "$root$folder/snapshot.pickle"
in_root "exec $entry \"\$@\"" report snapshot.pickle -o report.html
grep -q 'ran out of memory' "$root$folder/report.html"
echo "# $(($(date +%s) - begun)) s: report.html, $(du -sh "$root/opt/memtrace" | cut -f1) in the image beside Debian"
