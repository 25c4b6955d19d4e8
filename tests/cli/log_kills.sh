#!/usr/bin/env bash
# Kills of a process, in the words of launchers, shells and schedulers, and what was going on: a checkpoint that was being written.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

cause() { # WANT LINE
    echo "$2" > kill.log
    run 0 report kill.log --force --format json -o kill.json
    check [ "$(jq -r .log_diagnosis.cause kill.json)" = "$1" ]
}
while IFS= read -r line; do cause killed "$line"; done << 'END'
srun: error: node1: task 3: Killed
mpirun noticed that process rank 3 with PID 0 on node n1 exited on signal 9 (Killed).
subprocess.CalledProcessError: Command '['python', 'train.py']' returned non-zero exit status -9.
Container killed on request. Exit code is 137
[1]    4242 killed     python train.py
[1]+  Killed                  nohup python train.py
signal: killed
Killed: 9
python: Terminated by signal 9
ERROR:root:Process 4 exited with code -9
Process SpawnProcess-3 died with exit code -9
ray.exceptions.WorkerCrashedError: The worker died unexpectedly while executing this task.
END
while IFS= read -r line; do cause host "$line"; done << 'END'
slurmstepd: error: Exceeded job memory limit
PBS: job killed: mem 131072kb exceeded limit 65536kb
TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.
END

saves() { # FILE FIRST TEXT... : the first advice, and what is said; '!TEXT' = not said
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    check [ "$(jq -r '.advice[0].id' "$1.json")" = "$2" ]
    for text in "${@:3}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}
printf '%s\n' 'Saving model checkpoint to /out/checkpoint-500' '/opt/py/site-packages/transformers/trainer.py:9: UserWarning: x' 'E0101 api.py:882] failed (exitcode: -9) local_rank: 3 (pid: 4242) of binary: python' > trainer.log
saves trainer.log P52 'It had begun to save a checkpoint in line 1' 'no second copy beside it'
printf '%s\n' '(Worker pid=7) saving checkpoint at iteration 300 to /ckpt in torch_dist format' '/opt/megatron/training/checkpointing.py:9: note' 'slurmstepd: error: Detected 1 oom_kill event in StepId=1.0.' > iteration.log
saves iteration.log P52 'It had begun to save' 'no second copy beside it'
# What ended, or began long before, is not what was killed; nor does a bare kill tell of a save.
printf '%s\n' 'Saving model checkpoint to /out/checkpoint-500' 'Model weights saved in /out/checkpoint-500/model.safetensors' 'Killed' > saved.log
saves saved.log P39 '!had begun to save' '!no host has to hold whole'
{ echo 'Saving model checkpoint to /out/checkpoint-500'; for i in $(seq 80); do echo "{'loss': 1.$i}"; done; echo Killed; } > long.log
saves long.log P39 '!had begun to save'
echo Killed > alone.log
saves alone.log P39 '!no host has to hold whole'
# The table that Ray prints when it kills, without the line of the kill; of a shell's line the process.
printf 'PID\tMEM(GB)\tCOMMAND\n3311\t41.20\tray::RolloutWorker.generate\n3312\t40.80\tray::RolloutWorker.generate\n' > table.log
run 0 report table.log --format json -o table.json
check [ "$(jq -r .log_diagnosis.cause table.json)" = host ]
check grep -q 'ray::RolloutWorker, 2 processes, 82.00 GiB' table.json
check grep -q 'the line that says so is not in this log' table.json
echo './start.sh: line 77:  5120 Killed                  python -m agents.run --n 8' > shell.log
run 0 report shell.log --format json -o shell.json
check grep -q 'A process (pid 5120) was killed by a signal' shell.json
finish
