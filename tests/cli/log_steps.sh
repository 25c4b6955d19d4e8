#!/usr/bin/env bash
# What tells the phase where no traceback does: a line of code without its frame, bars and lines of steps, a notebook's head, a driver that waited.
# Each expectation was written down before the report was made.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 700.00 MiB. GPU 0 has a total capacity of 39.50 GiB of which 300.00 MiB is free. Including non-PyTorch memory, this process has 39.20 GiB memory in use. Of the allocated memory 38.10 GiB is allocated by PyTorch, and 200.00 MiB is reserved by PyTorch but unallocated.'
tells() { # FILE PHASE SUB TEXT... ; '!TEXT' = not said; "-" = none
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    check [ "$(jq -r '.verdict | .phase + " " + (.sub_phase // "-")' "$1.json")" = "$2 $3" ]
    for text in "${@:4}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}
log() { # NAME LINE... : the lines, then the sentence of PyTorch
    local name=$1
    shift
    printf '%s\n' "$@" "$says" > "$name.log"
}

# Code without its frame: at the line's begin, indented, behind a host's or a worker's name.
log engine 'Variable._execution_engine.run_backward(  # Calls into the C++ engine to run the backward pass'
tells engine.log train backward 'in training (backward)'
log comment ' Calls into the C++ engine to run the backward pass'
tells comment.log train backward
log host 'node7-gpu: out = F.linear(x, self.weight, self.bias)'
tells host.log unattributed forward 'in forward'
log rank '[rank3]:     return F.conv2d(input, weight, bias, self.stride,'
sed -i '2s/^/[rank3]: /' rank.log
tells rank.log unattributed forward
log moments 'torch/optim/radam.py: state["exp_avg_sq"] = torch.zeros_like(p)'
tells moments.log train optimizer
log loss 'return torch._C._nn.cross_entropy_loss(input, target, weight, _Reduction.get_enum(reduction),'
tells loss.log unattributed loss
# A setting is no code, nor is code further up that something else followed.
log setting 'learning rate = 0.1 (adam)'
tells setting.log unattributed - '!in forward'
log far 'x = F.linear(a, b)' 'one' 'two' 'three' 'four'
tells far.log unattributed -

# Frames between were cut out: the line of code is further in than the last frame that is left.
{ printf '  File "/w/run.py", line 3, in main\n    job.go()\n    ^^^^^^^^\n    grad = loss.backward(inputs)\n           ~~~~~~^^^\n'; echo "$says"; } > gap.log
tells gap.log train backward '!run.py:3'
# Frames below the sentence, the outermost first: their code calls the next.
{ echo "$says"; echo; printf 'File "job/net.py", line 5, in run_layers\n    y = mix_tokens(x)\nFile "job/mix.py", line 9, in mix_tokens\n    return gate(x) * x\n'; } > inward.log
tells inward.log unattributed - 'at job/mix.py:9 mix_tokens'
{ echo "$says"; echo; printf 'File "job/mix.py", line 9, in mix_tokens\n    return gate(x) * x\nFile "job/net.py", line 5, in run_layers\n    y = mix_tokens(x)\n'; } > outward.log
tells outward.log unattributed - 'at job/mix.py:9 mix_tokens'

# Bars and lines of steps, low in confidence and said so; a bar that is full has ended.
for line in "{'loss': 1.25, 'grad_norm': 0.5, 'learning_rate': 2e-05, 'epoch': 0.1}" 'Epoch [3/40], Step [10/600], Loss: 0.31' 'Epoch(train) [2][  50/7330]  lr: 1.0e-04' \
    '      Epoch    GPU_mem   box_loss   cls_loss' ' iteration       40/  500000 | consumed samples:        20480 |' 'iter 120: loss 2.4, time 90ms' \
    '[2025-01-01] step=30, skipped=0, lr=[1e-05], mom=[[0.9, 0.999]]' 'steps:   4%|4   | 20/500 [00:40<10:00]' '3|70|Loss: 1.04: 12%'; do
    log step "$line"
    tells step.log train - 'line 1, the last one in which the job says what it is at, is of training'
done
log val 'Epoch [3/40], Step [600/600], Loss: 0.31' 'Validation DataLoader 0:  20%|##  | 4/20 [00:01<00:05]'
tells val.log eval - 'is of evaluation'
log full 'Train: 100%|##########| 600/600 [09:00<00:00]'
tells full.log unattributed -
log nodes 'Error occurred when executing VAEDecodeTiled:'
tells nodes.log infer -
log loader '!!! Exception during processing !!! node UNETLoader'
tells loader.log init -
# A trainer that has an engine does more than train; its bar of log-probs says which part it is.
log mixed "{'loss': 0.1, 'grad_norm': 0.5}" 'INFO 01-01 model_runner.py:1 Model loading took 4.2 GiB memory'
tells mixed.log unattributed -
log logp 'Update policy: 100%|#| 8/8 [00:08<00:00]' 'Compute log probs:  30%|###  | 9/30 [00:08<00:20]'
tells logp.log logp - 'is of log-prob'
log prefill '[gpu=0] Prefill batch. #new-seq: 17, #new-token: 13938, #cached-token: 3260'
tells prefill.log rollout.prefill - 'is of rollout prefill'
log decode '[2026-01-02 03:04:05 TP0] Prefill batch, #new-seq: 1, #new-token: 9' '[2026-01-02 03:04:06 TP0] Decode batch, #running-req: 30, #token: 9'
tells decode.log rollout.decode -
log profile 'INFO 02-09 15:20:07 gpu_model_runner.py:1068] Encoder cache will be initialized with a budget of 32767 tokens, and profiled with 2 image items'
tells profile.log rollout.profile -
log tiled '[Tiled VAE]: Executing Decoder Task Queue:   9%|#      | 126/1476 [00:00<00:10, 128.52it/s]'
tells tiled.log infer -
log sync "INFO abstract.py:1] It took 0.9 seconds to wake up tags {'weights'}."
tells sync.log weight_sync -
# Another worker's line tells nothing of this one, frames win, and a kill of the host has it too.
log other '(Trainer pid=7) Update policy:  30%|###  | 9/30 [00:08<00:20]'
sed -i '2s/^/(Rollout pid=8) /' other.log
tells other.log unattributed -
{ echo 'Update policy:  30%|###  | 9/30'; printf '  File "/opt/py/site-packages/vllm/v1/worker/gpu_worker.py", line 3, in load_model\n    x\n'; echo "$says"; } > frames.log
tells frames.log rollout.load - '!the last one in which'
{ echo 'Evaluating:  30%|###  | 9/30'; echo '[1.0] Out of memory: Killed process 77 (python3) total-vm:9kB, anon-rss:8kB'; } > kill.log
tells kill.log eval - 'ran out of memory in evaluation, not the GPU'

# A notebook's head without its last line; the whole traceback is one failure.
{ printf '%s\n' '---------------------------------------------------------------------------' 'OutOfMemoryError                          Traceback (most recent call last)' \
    'File /opt/py/site-packages/transformers/trainer.py:2550, in Trainer.training_step(self, model, inputs)' '   2549 loss = x' '-> 2550 loss.backward()'; } > head.log
tells head.log train - "a notebook's traceback of an OutOfMemoryError" 'not in this log'
{ cat head.log; echo; echo "$says"; } > whole.log
tells whole.log train - "!a notebook's traceback" '!failures'

# vLLM's sum against its own share.
{ echo 'INFO gpu_worker.py:391] Free memory on device (78.5/79.1 GiB) on startup. Desired GPU memory utilization is (0.5, 39.55 GiB). Actual usage is 15.0 GiB for weight, 1.5 GiB for peak activation, 0.5 GiB for non-torch memory, and 2.0 GiB for CUDAGraph memory. Current kv cache memory in use is 32212254720 bytes.'; echo "$says"; } > share.log
tells share.log unattributed - 'By its own numbers (line 1) the engine has 49.00 GiB' 'its share allows 39.55 GiB'
sed -i 's/32212254720/19327352832/' share.log
tells share.log unattributed - '!By its own numbers'

# cudaMallocAsync says what is allocated, not what is reserved: others still come first where they hold the card.
printf '%s\n' 'torch.cuda.OutOfMemoryError: Allocation on device 0 would exceed allowed memory. (out of memory)' 'Currently allocated     : 5.00 GiB' 'Requested               : 512.00 MiB' \
    'Device limit            : 39.50 GiB' 'Free (according to CUDA): 100.00 MiB' 'PyTorch limit (set by user-supplied memory fraction)' '                        : 17179869184.00 GiB' > async.log
tells async.log unattributed - "much of the card is not this PyTorch's" '!other processes hold the device'
check [ "$(jq -r '.advice[0].id' async.log.json)" = B35 ]

# A driver that waited tells what its worker died in, and the first thing to do is to see why.
dead='The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker unexpectedly exits. (1) The process is killed by SIGKILL by OOM killer due to high memory usage.'
{ printf '  File "/w/loop.py", line 8, in fit\n    out = self.pool.generate_sequences(batch)\n  File "/opt/ray/w.py", line 4, in func\n    x = ray.get(y)\n'; echo 'ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.'; echo "$dead"; } > died.log
tells died.log rollout.generate - 'A worker of Ray died in rollout generation' 'See what was killed'
check [ "$(jq -r '[.advice[] | select(.top)] | length' died.log.json)" = 1 ]

# Programs in a checkout, at older places.
frames() { # LINE FUNCTION FILE... of each, the innermost last
    while [ $# -gt 0 ]; do
        printf '  File "%s", line 7, in %s\n    x\n' "$2" "$1"
        shift 2
    done
}
{ frames main /home/me/checkout/swift/cli/sft.py step /home/me/x/data.py; echo "$says"; } > swift.log
tells swift.log unattributed - "ms-swift's memory settings"
{ frames allreduce_gradients /x/megatron/model/distributed.py; echo "$says"; } > reduce.log
tells reduce.log train grad_reduce
{ frames train_step /x/megatron/training.py forward /x/megatron/model/bert_model.py; echo "$says"; } > bert.log
tells bert.log train forward
{ frames get_targets /x/mmdet/models/dense_heads/atss_head.py; echo "$says"; } > assign.log
tells assign.log train -
# Logits in 32 bits by the line of code alone.
{ printf '  File "/x/job/net.py", line 7, in head\n    loss = tensor_parallel_cross_entropy(scores.float(), y)\n'; echo "$says"; } > float.log
tells float.log unattributed logits 'copy of all logits in 32 bits'
# A trainer's own heading of its training, above a failure that only words tell.
printf 'Memory of my run\n\nIt runs out of GPU memory at once, why?\n\n[INFO|trainer.py:1721] >> ***** Running it *****\n[INFO|trainer.py:1723] >>   Num Epochs = 4\n  0%%| | 0/75 [00:00<?, ?it/s]\n' > epochs.log
tells epochs.log train - 'is of training'
finish
