#!/usr/bin/env bash
# At which stage a traceback ends, by its innermost frames and its line of code against titles and loops around them; and that the first changes are of that stage.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 23.10 GiB memory in use. Of the allocated memory 22.40 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.'
frames() { # FILE FUNCTION CODE...: a traceback
    echo 'Traceback (most recent call last):'
    while [ $# -gt 0 ]; do
        printf '  File "/home/u/job/%s", line 12, in %s\n    %s\n' "$1" "$2" "$3"
        shift 3
    done
}
text() { # NAME TITLE FILE FUNCTION CODE...: a ticket
    local name=$1 title=$2
    shift 2
    { printf '%s\n\n' "$title"; frames "$@"; echo "$error"; } > "$name.txt"
}
stage() { # NAME PHASE SUB-PHASE [IDS]: and the first three
    run 0 report "$1.txt" --force --format json -o "$1.json"
    check [ "$(jq -r '"\(.verdict.phase) \(.verdict.sub_phase // "-")"' "$1.json")" = "$2 $3" ]
    [ $# -lt 4 ] || check [ "$(jq -r '[.advice[] | select(.top) | .id] | join(" ")' "$1.json")" = "$4" ]
}
loop=(train.py '<module>' 'main()' train.py train 'opt.step()')

# ---- the optimizer's step: neither batch nor activations are there to free ----
text lion 'CUDA OOM while training' "${loop[@]}" site-packages/lion_pytorch/lion_pytorch.py step "state['exp_avg'] = torch.zeros_like(p)"
stage lion train optimizer 'B08 P03'
text own 'CUDA OOM while training' "${loop[@]}" small_optim.py step "buf = self.fresh(p)"
stage own train optimizer
text states 'CUDA OOM while training' "${loop[@]}" rules.py step 'state["slow"] = torch.zeros_like(p)'
stage states train optimizer
# A function of another name that makes such a tensor is no step.
text hook 'a job of mine' hook.py keep 'self.slow = torch.zeros_like(p)'
stage hook unattributed -
# bitsandbytes' states are in few bits already.
text bnb 'CUDA OOM while training' "${loop[@]}" site-packages/bitsandbytes/optim/optimizer.py init_state 'state["state1"] = self.get_state_buffer(p, dtype=torch.uint8)'
stage bnb train optimizer 'P03'
# ZeRO's own step has no foreach form; masters and states can lie on the host.
text zero 'CUDA OOM while training' "${loop[@]}" site-packages/deepspeed/runtime/zero/stage_1_and_2.py step 'single_grad_partition = self.flatten(self.averaged_gradients[i])'
stage zero train optimizer 'P131'
check grep -qF zero_optimization.offload_optimizer.device zero.json

# ---- constructors, loading, conversion: nothing has run ----
text net 'CUDA out of memory during training' train.py '<module>' 'run(args)' main.py run 'net = Net(args).cuda()' nets/mixer.py __init__ 'self.table = torch.zeros(n, n).to(self.device)'
stage net init - 'P255 P50'
check grep -qF 'model.to(torch.bfloat16)' net.json
check [ "$(grep -c 'from_pretrained(' net.json)" = 0 ]
text parts 'OOM when I train' train.py train 'gen = Generator(cfg)' wide.py __init__ 'self._make_table()' wide.py _make_table 'w = torch.ones(a, b, device="cuda")'
stage parts init -
text pack 'the server does not start' serve.py main 'load()' engine/weights.py convert_weights 'w = pack(w)' engine/low_bits.py pack 'out = torch.nn.functional.pad(w, pad)'
stage pack init -
# What is made in a pass or a step of a loop is of that.
text boxes 'CUDA out of memory during training' train.py train_one_epoch 'loss = net(x)' boxes.py __init__ 'self.t = torch.ones(n, 4, device="cuda")'
stage boxes train -
# New weights of a trainer are loaded by the same name.
text sync 'RL job' worker.py update_weights 'self.model.load_weights(w)' net.py load_weights 'p = w.to("cuda")'
stage sync weight_sync -

# ---- results: nothing of a pass is there to free ----
for at in 'viz.py draw_masks' 'utils/general.py non_max_suppression' 'boxes.py box_iou' 'metrics.py recall_at_k' 'scores.py compute_metrics'; do
    text results 'CUDA out of memory during training' train.py train 'report(out)' "${at% *}" "${at#* }" 'x = a[:, None] * b'
    stage results train results 'P252 P253 P254'
done
text resize 'CUDA out of memory in my demo' demo.py '<module>' 'show(net(x))' show.py prep_display 'm = F.interpolate(m, size)' site-packages/torch/nn/functional.py interpolate 'return torch._C._nn.upsample_bilinear2d('
stage resize unattributed results
# A line of the job's own asks for much of the card, outside of any pass: of its data, of all pairs.
big=${error/1.50 GiB/6.50 GiB}
{ echo 'my demo is out of memory'; frames inference.py main 'frames = clip(f)' inference.py clip 'x = f.float().to(device) / 255'; echo "$big"; } > clip.txt
stage clip infer - 'P252 P253 P254'
{ echo 'out of memory'; frames build.py main 'd = pairs(x)' geo.py pairs 'y = (x[:, None] - x[None]).norm(dim=-1)'; echo "$big"; } > pairs.txt
stage pairs unattributed - 'P252 P253 P254'
# Not for little, in training, or where a library asks.
text small 'my demo is out of memory' inference.py main 'x = f.float().to(device)'
run 0 report small.txt --force --format json -o small.json
check [ "$(jq '[.advice[] | select(.id == "P252")] | length' small.json)" = 0 ]
{ echo 'out of memory'; frames train.py train 'x = f.float().to(device)'; echo "$big"; } > large.txt
run 0 report large.txt --force --format json -o large.json
check [ "$(jq '[.advice[] | select(.id == "P252")] | length' large.json)" = 0 ]
# In the loss of a training step they are none, nor in a layer.
text loss 'CUDA out of memory during training' train.py train 'l = compute_loss(p, t)' loss.py compute_loss 'iou = box_iou(p, t)' boxes.py box_iou 'x = a[:, None] * b'
stage loss train forward
text layer 'CUDA out of memory during training' train.py train 'out = net(x)' site-packages/torch/nn/modules/module.py _call_impl 'return forward_call(*args)' match.py forward 'c = box_iou(p, t)' boxes.py box_iou 'x = a[:, None] * b'
stage layer train forward

# ---- before and beside training ----
text unwrap 'OOM in RLOO training' mine.py train 'with unwrap_model_for_generation(model, acc) as m:' site-packages/trl/models/utils.py unwrap_model_for_generation 'with deepspeed.zero.GatheredParameters(model.parameters()):' site-packages/deepspeed/runtime/zero/partition_parameters.py __enter__ 'self.params[0].all_gather(param_list=self.params)'
stage unwrap rollout.generate fsdp_unshard P270
# The text ends in what Python does between the two.
{ echo 'OOM in RLOO training'; frames mine.py train 'with torch.no_grad(), unwrap_model_for_generation(model, acc) as m:'; echo '  File "/usr/lib/python3.12/contextlib.py", line 137, in __enter__'; } > enters.txt
stage enters rollout.generate fsdp_unshard
check [ "$(jq -r '.advice[0].id' enters.json)" = P270 ]
text logp 'OOM in RL training' mine.py train 'self.score(batch)' mine.py actor_batch_logps 'x = torch.gather(logits.log_softmax(-1), 2, y)'
stage logp logp logits
# A line of code says more than the loop that it is in.
text save 'OOM' mine.py train 'torch.save(state, path)'
stage save ckpt_save -

# ---- tracebacks that were damaged on their way ----
text lion2 'SFT: CUDA out of memory' "${loop[@]}" site-packages/lion_pytorch/lion_pytorch.py step "x = y"
sed 's/", line/",  line/' lion2.txt > blanks.txt
stage blanks train optimizer
sed 's/^  File/> |   File/; s/^    /> |     /' lion2.txt > quoted.txt
stage quoted train optimizer
for mark in "s/\"/'/g" 's/File "\([^"]*\)"/File “\1”/' 's/"/\&quot;/g'; do
    sed "$mark" lion2.txt > marks.txt
    stage marks train optimizer
done
sed 's/", line \([0-9]*\), in .*/", line \1/' lion2.txt > nameless.txt
stage nameless train -
check [ "$(jq -r .verdict.site nameless.json)" = lion_pytorch/lion_pytorch.py:12 ]
# The program's loop is known, and the last line of code says where in it.
{ echo OOM; frames site-packages/transformers/trainer.py train 'return inner_training_loop(' site-packages/transformers/trainer.py _inner_training_loop 'self.optimizer.step()'; echo "$error"; } > inside.txt
stage inside train optimizer
# The first line of the paste lacks its first letter, the error has the whole of its prefix.
{ echo 'SFT: CUDA out of memory'; echo 'rank3]:   File "/opt/py/site-packages/deepspeed/runtime/zero/stage3.py", line 9, in step'; echo '[rank3]:     x = y'; echo "[rank3]: $error"; } > letter.txt
stage letter train optimizer
# A line of code without its frame, and the numbers of a log's viewer between it and the error.
{ echo 'SFT: CUDA out of memory'; echo; echo '[rank7]: state["exp_avg_sq"] = torch.zeros_like('; echo 1196; echo '[rank7]: ^^^^^^^^'; echo 1197; echo "[rank7]: $error"; } > viewer.txt
stage viewer train optimizer
# Each line of code that tells a stage is found without its frame.
jq -r '.cut[] | select(.codes and (.functions | not)) | .codes[]' "$MT_SOURCE_DIR/analysis/rules/phases.json" > codes
while IFS= read -r code; do
    { printf '    x = y(a, %s)\n' "$code"; echo "$error"; } > code.txt
    run 0 report code.txt --force --format json -o code.json
    check [ "$(jq -r '.verdict | "\(.phase) \(.sub_phase // "-")"' code.json)" != 'unattributed -' ]
done < codes
# The host's allocator: what ran, and where.
{ frames video.py '<module>' 'x = load(f)' inference_clip.py read 'img = img.float()'
  echo "RuntimeError: [enforce fail at CPUAllocator.cpp:64] . DefaultCPUAllocator: can't allocate memory: you tried to allocate 10230727680 bytes. Error code 12 (Cannot allocate memory)"; } > host.txt
run 0 report host.txt --force --format json -o host.json
check grep -qF 'could not allocate 9.53 GiB at job/inference_clip.py:12 read' <(jq -r .log_diagnosis.sentence host.json)
check [ "$(jq -r '.advice[0].id' host.json)" = P256 ]
# The card's size is told, also where the line does not say what was free.
{ echo 'torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 32.21 GiB (GPU 0;  31.75 GiB total capacity'; } > card.txt
run 0 report card.txt --force --format json -o card.json
check grep -qF 'asked for 32.21 GiB on a card of 31.75 GiB' <(jq -r .log_diagnosis.sentence card.json)
finish
