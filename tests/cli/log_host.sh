#!/usr/bin/env bash
# Host memory: the allocator, by the machine; workers of data loaders; offloading only where it is on; Ray's table of processes. Logs that
# tell of memory without a want of it.
# shellcheck disable=SC2016 # what is to be typed has a $ in it
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says() { # FILE [CONFIG] TEXT...
    local options=()
    if [ -e "$2" ]; then
        options=(--config "$2")
        set -- "$1" "${@:3}"
    fi
    run 0 report "$1" "${options[@]}" --force --format json -o "$1.json"
    run 0 report "$1" "${options[@]}" --force --format text --full -o "$1.text"
    for text in "${@:2}"; do
        check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text")
    done
}
says_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
advice() { # FILE "ids, those of the first settings with a star"
    check [ "$(jq -r '[.advice[] | (if .top then "*" else "" end) + .id] | join(" ")' "$1.json")" = "$2" ]
}
typed() { # FILE ID: what it says to type
    jq -r --arg id "$2" '.advice[] | select(.id == $id) | .set[] | "\(.key)=\(.value)"' "$1.json"
}

kill='Memory on the node (IP: 10.0.0.5, ID: a) where the task (actor ID: b, name=WorkerDict.__init__, pid=9, memory used=5.00GB) was running was 95.00GB / 99.00GB (0.9596), which exceeds the memory usage threshold of 0.95.'
printf 'data:\n  train_batch_size: 256\nactor_rollout_ref:\n  model: {path: /ckpt/m}\n  actor:\n    strategy: fsdp\n    ppo_mini_batch_size: 64\n' > plain.yaml
{ cat plain.yaml; printf '    fsdp_config:\n      optimizer_offload: True\n'; } > offload.yaml

# What is offloaded first, where it is on, then half of the loader's workers, then a larger limit; an allocator after them.
echo "$kill" > ray.log
says ray.log offload.yaml 'libtcmalloc.so.4${LD_PRELOAD:+:$LD_PRELOAD}' libjemalloc.so.2 "Adam's two moments 8"
advice ray.log '*V40 *V37 *V42 V41 V38'
check [ "$(typed ray.log V42)" = data.dataloader_num_workers=4 ]
# Nothing is offloaded: nothing is to be offloaded less. Without settings nobody knows.
says ray.log plain.yaml libtcmalloc.so.4
advice ray.log '*V37 *V42 *V41 V38'
says_not ray.log 'offload less'
says ray.log 'offload less'
# Workers down to none, and no further; an allocator that is there already is no advice.
for from in 2:1 1:0; do
    { cat plain.yaml; printf 'data.dataloader_num_workers: %s\n' "${from%:*}"; } > few.yaml
    says ray.log few.yaml data.dataloader_num_workers
    check [ "$(typed ray.log V42)" = "data.dataloader_num_workers=${from#*:}" ]
done
{ cat plain.yaml; echo 'data.dataloader_num_workers: 0'; } > none.yaml
says ray.log none.yaml libtcmalloc.so.4
advice ray.log '*V37 *V41 V38'
for set in libtcmalloc.so.4 libjemalloc.so.2; do
    printf 'export LD_PRELOAD=/opt/%s\npython3 -m verl.trainer.main_ppo actor_rollout_ref.actor.strategy=fsdp\n' "$set" > run.sh
    says ray.log run.sh 'Fewer data loader workers'
    advice ray.log '*V42 *V41'
done

# An ARM machine, by uname, a library's path, or any path of a traceback; a list of wheels names both.
{ echo 'Linux gh200 6.8.0 aarch64'; echo "$kill"; } > uname.log
{ echo 'OSError: /usr/lib/aarch64-linux-gnu/libfoo.so: cannot open'; echo "$kill"; } > library.log
printf '  File "/opt/py/lib/aarch64-linux-gnu/site-packages/pandas/io.py", line 9, in read\nMemoryError\n' > path.log
for arm in uname library path; do
    says $arm.log plain.yaml '/usr/lib/aarch64-linux-gnu/libjemalloc.so.2${LD_PRELOAD:+:$LD_PRELOAD}' /usr/lib/aarch64-linux-gnu/libtcmalloc.so.4
    check [ "$(jq '[.advice[].id] | index("V39") != null' $arm.log.json)" = true ]
    says_not $arm.log x86_64-linux-gnu
done
{ echo 'Downloading torch-manylinux_aarch64.whl torch-manylinux_x86_64.whl'; echo "$kill"; } > wheels.log
says wheels.log plain.yaml x86_64-linux-gnu/libtcmalloc.so.4

# A worker of the data loader that was killed, and MemoryError while data are loaded: workers before the allocator, in each program's words.
echo 'RuntimeError: DataLoader worker (pid 4321) is killed by signal: Killed. ' > loader.log
says loader.log plain.yaml "A worker of PyTorch's data loader died"
advice loader.log '*V42 *V37 *V41 V38'
says_not loader.log 'No setting that memtrace knows'
says loader.log 'num_workers=<fewer>'
printf 'actor:\n  backend: "fsdp:d4"\n  path: x\nrollout:\n  backend: "sglang:d4"\ntrain_dataset:\n  num_workers: 6\n' > areal.yaml
says loader.log areal.yaml 'train_dataset.num_workers: 3'
printf '  File "/opt/site-packages/torch/utils/data/dataloader.py", line 7, in __next__\nMemoryError\n' > memory.log
says memory.log plain.yaml 'The host ran out of memory'
check [ "$(jq -r '.advice[0].id' memory.log.json)" = V42 ]
# /dev/shm is no matter of an allocator, pinned memory none of workers.
echo 'RuntimeError: unable to write to file </torch_1>: No space left on device (28)' > shm.log
says shm.log plain.yaml --shm-size
advice shm.log '*P251 *V42'
echo 'RuntimeError: ould not allocate pinned host memory of size: 1073741824' > pinned.log
says pinned.log offload.yaml 'offload less'
advice pinned.log '*V40'

# Relax: no advice that its own arguments refuse.
printf 'python3 relax/entrypoints/train.py --colocate --tensor-model-parallel-size 2 --max-tokens-per-gpu 9216 --sglang-mem-fraction-static 0.8\n' > relax.sh
says ray.log relax.sh --disable-weights-backuper
sed 's|$| --ref-load /root/x|' relax.sh > ref.sh
says ray.log ref.sh libtcmalloc
says_not ray.log --disable-weights-backuper

# Its margin refused the very request that failed, or one before it: half of it.
for asked in 1073741824 536870912; do
    { echo "[torch_memory_saver.cpp] return OOM since memory_margin_bytes=2147483648 (alloc)size=$asked free_bytes=1400000000"
      printf '  File "/root/Relax/relax/backends/megatron/model.py", line 350, in forward_step\n  File "/root/Megatron-LM/megatron/core/transformer/mlp.py", line 130, in forward\n'
      echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 412.00 MiB is free. Of the allocated memory 75.12 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated.'
    } > margin.log
    sed 's|$| --train-memory-margin-bytes 2147483648|' relax.sh > margin.sh
    says margin.log margin.sh
    check [ "$(typed margin.log X19)" = --train-memory-margin-bytes=1073741824 ]
    [ "$asked" != 1073741824 ] || check [ "$(jq -r '.advice[0].id' margin.log.json)" = X19 ]
done

# Ray's table: summed by command, the method of the largest.
{ echo "$kill Top 10 memory users:"; printf 'PID\tMEM(GB)\tCOMMAND\n11\t60.50\tray::WorkerDict.actor_rollout_generate_sequences\n12\t20.25\tpython3 -m verl.trainer.main_ppo\n13\t8.00\tray::WorkerDict\n14\t1.00\traylet\n'; } > table.log
says table.log 'held by ray::WorkerDict, 2 processes, 68.50 GiB (the first in actor_rollout_generate_sequences), then python3 -m verl.trainer.main_ppo 20.25 GiB.'

# Lines of use alone: the highest, and the largest growth. A mistake in a program is no want of memory.
cat > usage.log <<'END'
DEBUG:Before update_actor, memory allocated (GB): 20.00, memory reserved (GB): 24.50, device memory used/total (GB): 30.00/79.00
DEBUG:After update_actor, memory allocated (GB): 60.00, memory reserved (GB): 74.50, device memory used/total (GB): 78.00/79.00
DEBUG:Before sync, memory allocated (GB): 60.00, memory reserved (GB): 74.50, device memory used/total (GB): 78.00/79.00
DEBUG:After sync, memory allocated (GB): 61.00, memory reserved (GB): 74.50, device memory used/total (GB): 77.00/79.00
END
says usage.log 'The most was in use in line 2' 'between "Before update_actor" and "After update_actor", lines 1 and 2: by 40.00 GiB, from 20.00 GiB'
echo 'RuntimeError: CUDA error: an illegal memory access was encountered' > illegal.log
says illegal.log 'no want of memory' 'check the version of vLLM'
check [ "$(jq -r .log_diagnosis.cause illegal.log.json)" = none ]
# In Chinese, what killed it.
for words in '训练被 OOM killer 杀掉了。' 'dataloader worker 被系统 kill 了。'; do
    printf '%s\n' "$words" > killed.md
    run 0 report killed.md --no-config --force --format text -o killed.text
    check grep -q '^Out of host memory' killed.text
done
finish
