#!/usr/bin/env bash
# Kinds of texts that people bring: settings under names of the job's own, a question without a failure's line, a phase that stands in words, engines
# that share a card with a trainer, hosts that are full. What each has to say was written down before the report was made. Takes two seconds.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 39.59 GiB of which 1.02 GiB is free. Including non-PyTorch memory, this process has 38.40 GiB memory in use. Of the allocated memory 36.10 GiB is allocated by PyTorch, and 1.30 GiB is reserved by PyTorch but unallocated.'
tells() { # FILE TEXT... ; '!TEXT' = not said; run.sh beside it, where it is there
    local config=()
    [ ! -e run.sh ] || config=(--config run.sh)
    run 0 report "$1" --force "${config[@]}" --format json -o "$1.json"
    run 0 report "$1" --force "${config[@]}" --format text -o "$1.text"
    for text in "${@:2}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}

# A flag of the command goes before a default, with a word before its name too.
echo "$says" > job.log
echo 'accelerate launch distill.py --per_device_train_batch_size 1 --learning_rate 1e-5 --num_train_epochs 2 --student_gradient_checkpointing' > run.sh
tells job.log '!(default)' '!gradient_checkpointing=True' 'shorter clips or texts'
sed -i 's/--student_/--/' run.sh
tells job.log '!(default)' '!gradient_checkpointing=True'
sed -i 's/--gradient_checkpointing//' run.sh
tells job.log 'gradient_checkpointing=True' 'False (default)'
rm run.sh
{ echo "Namespace(policy_gradient_checkpointing=True, per_device_train_batch_size=2, learning_rate=1e-05, num_train_epochs=1, weight_decay=0.0)"; cat job.log; } > space.log
tells space.log '!(default)' '!gradient_checkpointing=True'
rm -f run.sh

# A question in words, with the command or settings of the job: what the program's levers are, and that no line of a failure is there.
cause() { check [ "$(jq -r .log_diagnosis.cause "$1.json")" = "$2" ]; }
echo 'python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 actor_rollout_ref.rollout.name=vllm' > run.sh
echo 'Training my 7B on four cards, after some steps it always ends with OOM. What should I set?' > asks.log
tells asks.log "The text has no failure's own line: line 1 says in words" 'The phase is what line 1 says' ppo_micro_batch_size_per_gpu=8 '!nvidia-smi --query'
cause asks.log unknown
printf '\345\267\262\347\273\217\350\260\203\350\277\207 batch size, \346\230\276\345\255\230\350\277\230\346\230\257\344\270\215\345\244\237, \346\230\276\345\255\230\344\270\215\350\266\263\n' > chinese.log
tells chinese.log 'line 1 says in words' ppo_micro_batch_size_per_gpu=8
rm run.sh
echo 'Fine-tuning a ViT on one card runs out of memory as soon as I go to 512 pixels.' > vit.log
tells vit.log 'ran out of memory in training' 'smaller images'
n=0
for words in 'we disabled the OOM killer on the node' 'this flag is there to avoid OOM' 'no OOM so far' 'the room is full of zoom lenses' 'self.oom_count = 0'; do
    n=$((n + 1))
    { echo "$words"; echo 'INFO Available KV cache memory: 11.00 GiB'; } > "no$n.log"
    run 0 report "no$n.log" --force --format json -o "no$n.log.json"
    cause "no$n.log" none
done

# An engine's lines, and nothing of a failure: nothing is claimed, and what helps is said for the case that memory ran out behind them.
printf '%s\n' '[2025-05-02 11:20:01 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.87 GB, mem usage=14.25 GB.' \
    '[2025-05-02 11:20:02 TP0] KV Cache is allocated. #tokens: 60000, K size: 1.60 GB, V size: 1.60 GB' > engine.log
tells engine.log 'No failure in the log' "The text has no failure's line" 'if memory ran out behind these lines' --mem-fraction-static '!Out of memory'
cause engine.log none
{ cat engine.log; for i in $(seq 70); do echo "[2025-05-02 11:21:$i TP0] Decode batch. #running-req: 4, #token: 812, gen throughput (token/s): 90.1"; done; } > long.log
tells long.log 'No failure in the log' '!behind these lines'
# The traceback ends where a trainer makes its engine: the engine's share, not the trainer's batch.
{ echo 'INFO 02-11 gpu_worker.py:298] Available KV cache memory: 60.10 GiB'; echo 'Traceback (most recent call last):'
  echo '  File "/w/rl/run.py", line 8, in main'; echo '    self.engine = build_llm(cfg)'
  echo '  File "/opt/py/site-packages/vllm/utils.py", line 900, in inner'; echo '    return fn(*args, **kwargs)'; } > made.log
tells made.log 'in rollout engine set-up' --gpu-memory-utilization '!micro-batch'
# A launcher ends its processes, and neither an exit code nor a traceback says why one had died.
printf '%s\n' '[2024-06-01 09:00:01,100] [INFO] [utils.py:838:see_memory_usage] CPU Virtual Memory:  used = 402.11 GB, percent = 80.0%' \
    '[2024-06-01 09:00:41,100] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 911' > ends.log
tells ends.log 'The launcher ended the job' 'host memory 402.11 GiB' 'dmesg'
cause ends.log killed
{ cat ends.log; echo 'ValueError: no such file'; } > other.log
run 0 report other.log --force --format json -o other.log.json
cause other.log none
# The lines of one death, as a page wrapped them.
printf '%s\n' 'ray.exceptions.ActorDiedError: The actor died unexpectedly. Worker exit type: SYSTEM_ERROR Worker exit detail: There are' \
    ' some potential root causes. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.' > died.log
tells died.log 'A worker of Ray died' 'nothing in the log says why'

# The phase stands in the text: in somebody's words, in the method that the error's line names, in a traceback below that was cut.
{ echo 'Two epochs went well, but I get this error while saving the model:'; echo "$says"; } > save.log
tells save.log 'in checkpoint save, asked for' '!checkpoint.checkpoint('
{ echo "$says"; echo 'It crashes during the evaluation of COCO, training itself is fine.'; } > eval.log
tells eval.log 'in evaluation, asked for' 'line 2 says' '!checkpoint.checkpoint('
{ echo 'The error comes when we start the training with 8 clips'; echo "$says"; } > start.log
tells start.log 'in training, asked for'
{ echo 'UserWarning: this kernel may fail during training'; echo "$says"; } > warns.log
tells warns.log '!in training' '!The phase is what'
{ echo 'The error is the same during training as well'; echo 'Traceback (most recent call last):'
  printf '  File "/opt/py/site-packages/%s", line 9, in %s\n    x\n' lightning/pytorch/loops/evaluation_loop.py run; echo "$says"; } > frames.log
tells frames.log 'in evaluation, asked for' '!The phase is what'
echo "Error in Receiver.broadcast_weights: ${says#*: }" > method.log
tells method.log 'in weight sync, asked for'
{ echo "$says"; echo '[rank2]: Traceback (most recent call last):'; echo '[rank2]:   File "/w/fit.py", line 9, in <module>'; echo '[rank2]:     trainer.fit(net)'
  echo '[rank2]:   File "/opt/py/site-packages/lightning/pytorch/loops/optimization/automatic.py", line 300, in _training_step'; echo '[rank2]:     out = call('; } > cut.log
tells cut.log 'Rank 2 on GPU 0, in training'
{ cat cut.log; echo '[rank2]: KeyError: 4'; } > key.log
tells key.log '!Rank 2' '!in training'
# A request larger than the card is one, whatever was free.
echo 'RuntimeError: CUDA out of memory. Tried to allocate 45.20 GiB (GPU 0; 23.69 GiB total capacity; 112.00 MiB already allocated;' > large.log
tells large.log 'the request is larger than the card'

# An engine's sleep mode in the process of a trainer: the levers of both before what helps any job. Not where nothing was unmapped.
turns='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free. Process 7 has 77.60 GiB memory in use. Of the allocated memory 84.00 GiB is allocated by PyTorch, and 2.00 GiB is reserved by PyTorch but unallocated.'
echo "$turns" > turns.log
tells turns.log gpu_memory_utilization mem_fraction_static 'per micro-batch'
check [ "$(jq -r '.advice[0].id' turns.log.json)" = P154 ]
echo "Error in Sampler.sync_weights: ${turns#*: }" > sync.log
tells sync.log 'in weight sync' mem_fraction_static 'smaller buckets of weights' '!per micro-batch'
tells job.log '!mem_fraction_static'

# Twice the tensor parallel size is no line to type where that leaves a node of eight, or other GPUs hold stages.
serve() { echo "vllm serve org/model-70b $1"; echo 'ValueError: No available memory for the cache blocks.'; }
serve '--tensor-parallel-size 8' > serve.log
tells serve.log '!--tensor-parallel-size 16' 'quantised already'
serve '--tensor-parallel-size 4 --pipeline-parallel-size 2' > serve.log
tells serve.log '!--tensor-parallel-size 8' 'quantised already'
serve '--tensor-parallel-size 4' > serve.log
tells serve.log '--tensor-parallel-size 8' 'quantised already'

finish
