#!/usr/bin/env bash
# Records samples/torch/ again: record.sh OUT. Needs python3 with PyTorch for CUDA, and a GPU or LD_LIBRARY_PATH with what standin.py made.
set -eu
HERE="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
mkdir -p "$1"
OUT="$(cd "$1" && pwd)"
export PYTHONDONTWRITEBYTECODE=1
cd "$HERE"

# take NAME STATUS ARGUMENT...
take()
{
    local name="$1" want="$2" got=0
    shift 2
    python3 loop.py "$OUT/$name" "$@" > "$OUT/.said" 2>&1 || got=$?
    if [ "$got" -ne "$want" ]; then
        cat "$OUT/.said"
        echo "$name: exit status $got instead of $want"
        exit 1
    fi
    rm -f "$OUT/.said"
    gzip -9 -n -f "$OUT/$name.pickle"
    echo "$name: $(wc -c < "$OUT/$name.pickle.gz") bytes"
}

take plain 0
take annotated 0 --annotate
take expandable 0 --expandable
take checkpoint 0 --checkpoint
take python 0 --stacks python
take ring 0 --entries 3000
take pool 0 --pool
take graph 0 --graph
mkdir -p "$OUT/profiled"
(cd "$OUT/profiled" && python3 "$HERE/loop.py" loop --steps 1 --layers 1 --response 2 --annotate --profile && gzip -9 -n -f loop.pickle loop.pt.trace.json)
take ddp 0 --parallel ddp
take fsdp1 0 --parallel fsdp1
MT_SIM_DEVICES=2 take fsdp2_rank0 0 --parallel fsdp2
MT_SIM_DEVICES=2 take fsdp2_rank1 0 --parallel fsdp2 --rank 1 --batch 6
MT_SIM_MEMORY=2147483648 take oom_capacity 1 --oom capacity
MT_SIM_MEMORY=3221225472 take oom_fragmentation 1 --oom fragmentation
MT_SIM_MEMORY=3221225472 take oom_expandable 1 --oom capacity --expandable --layers 4
