#!/usr/bin/env bash
# A log says the same, whatever collected its lines: each text in the shapes in which terminals, containers, loggers and mails hand it on.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

shapes=(dos ansi ray compose kubectl cri quote syslog bar lines docker object prefixed nested)
shape() { # NAME < text
    local esc cr
    esc="$(printf '\033')"
    cr="$(printf '\r')"
    case "$1" in
    dos) sed "s/\$/$cr/" ;;
    ansi) sed "s/.*/${esc}[31m&${esc}[0m/" ;;
    ray) sed 's/^/(Trainer pid=7, ip=10.0.0.9) /' ;;
    compose) sed 's/^/trainer-1  | /' ;;
    kubectl) sed 's/^/[pod\/a\/b] /' ;;
    cri) sed 's/^/2026-01-01T00:00:00.123Z stderr F /' ;;
    quote) sed 's/^/> /' ;;
    syslog) sed 's/^/Nov 22 10:00:00 host job[77]: /' ;;
    bar) sed "s/^/step 3: 10%|#  | 1\/10$cr/" ;;
    lines) jq -Rc '{level: "info", msg: .}' ;;
    docker) jq -Rc '{log: (. + "\n"), stream: "stderr"}' ;;
    object) jq -Rsc '{level: "error", msg: .}' ;;
    prefixed) printf '2026-01-01T00:00:00Z ERROR %s\n' "$(jq -Rsc '{msg: .}')" ;;
    nested) jq -Rsc '{log: ({level: "error", msg: .} | tojson + "\n"), stream: "stderr"}' ;;
    esac
}
# What the report says of it, but for who wrote it.
verdict() {
    run 0 report "$1" --force --format json -o "$1.json"
    jq -c '[.log_diagnosis.cause, .log_diagnosis.request_bytes, .log_diagnosis.device_free_bytes, ([.advice[].id] | sort),
            (.log_diagnosis.sentence | capture(", in (?<phase>[^,]*),").phase)?]' "$1.json"
}

says='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free. Including non-PyTorch memory, this process has 77.90 GiB memory in use. Of the allocated memory 74.80 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.'
mkdir texts
cat > texts/traceback <<END
Traceback (most recent call last):
  File "/opt/py/site-packages/transformers/trainer.py", line 9, in training_step
    loss.backward()
  File "/opt/py/site-packages/torch/autograd/__init__.py", line 9, in backward
    run("a\\tb")
$says
END
printf '%s\n' '  File "/opt/py/site-packages/vllm/v1/worker/gpu_worker.py", line 9, in load_model' "$says" > texts/load
printf '%s\n' 'RuntimeError: [TM][ERROR] CUDA runtime error: out of memory /x/allocator.h:7' > texts/turbomind
printf '%s\n' 'XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1048576 bytes.' > texts/xla
printf '%s\n' 'start' 'Killed' > texts/killed
printf '%s\n' 'python invoked oom-killer: gfp_mask=0x0' > texts/kernel
printf '%s\n' "$says" 'job exited with code 137' > texts/gpu_and_kill
printf '%s\n' "$says" 'ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.' > texts/both
printf '%s\n' 'Warning: expandable_segments not supported on this platform' "${says/ 74.80/ 64.80}" > texts/no_expandable
printf '%s\n' 'Tried to allocate 20.00 MiB (GPU 0; 2.00 GiB total capacity; 1.90 GiB already allocated; 2.00 MiB free; 1.91 GiB reserved in total by PyTorch)' > texts/half
printf '%s\n' '[1.0] oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),task=python,pid=7,uid=0' > texts/group
printf '%s\n' 'RuntimeError: MPS backend out of memory (MPS allocated: 5.00 GB, other allocations: 2.00 GB, max allowed: 7.50 GB). Tried to allocate 1024.00 MB on private pool.' > texts/mps
printf '%s\n' 'ray.exceptions.ObjectStoreFullError: Failed to put object x in object store because it is full.' > texts/store
printf '%s\n' "Failed to update parameter online: ${says#torch.OutOfMemoryError: }" > texts/update
printf '%s\n' "ERROR Failed to load model - not enough GPU memory. (original error: ${says#torch.OutOfMemoryError: })" > texts/words
printf '%s\n' "$says" 'TorchMemorySaver::malloc return OOM since memory_margin_bytes=1073741824 (alloc)size=2147483648 free_bytes=3000000000' > texts/margin
printf '%s\n' '[TP0] Out of memory. Try to lower your batch size.' > texts/full_cache
for text in texts/*; do
    cp "$text" "$text.log"
    want="$(verdict "$text.log")"
    check [ "$(jq -r .log_diagnosis.cause "$text.log.json")" != none ]
    for one in "${shapes[@]}"; do
        shape "$one" < "$text" > "$text.$one.log"
        check [ "$(verdict "$text.$one.log")" = "$want" ]
    done
done

# Code and texts about the interface stay none of ours in any of them.
printf '%s\n' 'if (e == hipErrorOutOfMemory) retry();' '    case CUDA_ERROR_OUT_OF_MEMORY: return 2;' '  // CUDA_ERROR_OUT_OF_MEMORY when it is full' > code
for one in "${shapes[@]}"; do
    shape "$one" < code > "code.$one.log"
    run 1 report "code.$one.log"
done
finish
