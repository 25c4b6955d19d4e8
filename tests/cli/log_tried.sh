#!/usr/bin/env bash
# What a text says is on already, was tried or is refused by the program is not advised; what it only asks about or misses is.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

ask() { # NAME: reads the ticket from standard input
    cat > "$1.log"
    run 0 report "$1.log" --force --format text --full -o "$1.text"
}
top() { sed -n '/^Change first\|^To try first/,/^Log/p' "$1.text" | tr -s ' \n' ' '; }
has() { check grep -qF -- "$2" <(top "$1"); }
has_not() { check [ "$(top "$1" | grep -cF -- "$2")" = 0 ]; }

# What was tried.
batch='halve the batch of one forward' half='torch.autocast(' recompute='torch.utils.checkpoint.checkpoint('
ask none <<< 'My script runs out of memory.'
for line in "$batch" "$half" "$recompute"; do has none "$line"; done
ask batch <<< 'My training runs out of memory. I tried a smaller batch.'
has_not batch "$batch"
has batch "$recompute"
ask whatever <<< 'My training runs out of memory regardless of the batch size or bf16'
has_not whatever "$batch"
has_not whatever "$half"
ask recompute <<< 'My training runs out of memory, even with gradient checkpointing and fp16.'
has_not recompute "$recompute"
has_not recompute "$half"
has recompute "$batch"
ask told <<< 'Even with bf16 and gradient checkpointing my SFT run still goes OOM. I have also reduced the batch size to 1.'
for line in "$batch" "$half" "$recompute"; do has_not told "$line"; done
ask asks <<< 'My training runs out of memory. Should I have tried gradient checkpointing? It is not enabled, and bf16 is not either.'
has asks "$recompute"
ask first <<< 'I tried a batch size of 64 and my training runs out of memory without gradient checkpointing'
has first 'batch_size=32'
has first "$recompute"


# Each kind of saying it, of one lever: a list of settings, "is on", "with", an exported variable, Chinese.
axolotl='Axolotl: my training runs out of memory.'
ask plain <<< "$axolotl"
has plain 'micro_batch_size: <half>'
for says in '- micro_batch_size: 1' 'micro_batch_size is 1 already.' 'It fails with micro_batch_size=1.' 'micro_batch_size 已经设成 1 了。' 'Should that fit with micro_batch_size=1?'; do
    ask one <<< "$axolotl"$'\n\n'"$says"
    has_not one 'micro_batch_size: <half>'
done
ask sixteen <<< "$axolotl"$'\n\n- micro_batch_size: 16'
has sixteen 'micro_batch_size: 8'
ask thousand <<< "$axolotl"$'\n\nIt fails with micro_batch_size=1024.'
has thousand 'micro_batch_size: 512'
for says in 'Should I try a smaller batch?' 'I would like to try a smaller batch.'; do
    ask many <<< "$axolotl"$'\n\n'"$says"
    has many 'micro_batch_size: <half>'
done

# Expandable segments, where the text names pieces.
pieces='My training runs out of memory, it looks like fragmentation.'
ask pieces <<< "$pieces"
has pieces 'expandable_segments:True'
for says in 'export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True' 'I set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True.' 'expandable_segments 已经开了。' "Expandable segments are on, it doesn't help."; do
    ask set <<< "$pieces"$'\n\n'"$says"
    has_not set 'expandable_segments:True'
done
for says in 'Expandable segments are off.' '- expandable_segments: false' 'I have not tried expandable segments.' $'## Questions\n- expandable segments: worth it?' '没有开 expandable_segments'; do
    ask off <<< "$pieces"$'\n\n'"$says"
    has off 'expandable_segments:True'
done

# It is refused, by the sentence that names it or a pronoun behind it; it is known to help; or vLLM shares the cards, whose pool excludes it.
for says in 'Expandable segments would be the remedy, but this build cannot use them.' 'If I switch on expandable segments, the code runs.' 'vLLM is colocated.' 'vLLM runs in sleep mode.'; do
    ask pool <<< "$pieces"$'\n\n'"$says"
    has_not pool 'expandable_segments:True'
done
for says in 'If I set max_split_size_mb, it works.' 'Would it work if I switch on expandable segments?' 'If I switch on expandable segments, it runs out of memory later.' 'vLLM has its own cards.'; do
    ask open <<< "$pieces"$'\n\n'"$says"
    has open 'expandable_segments:True'
done

# In brackets that a colon follows, which are no code.
openrlhf='OpenRLHF: GRPO runs out of memory.'
ask rlhf <<< "$openrlhf"$'\n\nMy settings:\n\n    --micro_train_batch_size 4 --micro_rollout_batch_size 4'
has rlhf 'micro_batch_size'
ask unsolved <<< "$openrlhf"$'\n\nMy settings (changing the batch sizes does not solve it):\n\n    --micro_train_batch_size 4 --micro_rollout_batch_size 4'
has_not unsolved 'micro_batch_size'
has_not unsolved 'micro_train_batch_size'

# A program refuses it, by its own error.
swift='ms-swift: GRPO runs out of memory in the backward of the actor.'
ask whole <<< "$swift"
has whole '--sequence_parallel_size <a number that divides the GPUs>'
ask refused <<< $'# ValueError: sequence parallel is not supported for multimodal models\n\n'"$swift"
has_not refused '--sequence_parallel_size'

# No gradients already; a share that was lowered; nothing is offloaded.
whisper='I only run inference with a Whisper model, and it runs out of memory.'
ask used <<< "$whisper"
has used 'inference_mode'
ask no_grad <<< "$whisper"' Everything is inside torch.no_grad() already.'
has_not no_grad 'inference_mode'
killed='[Tue Mar 4 03:11:02 2025] Out of memory: Killed process 20123 (python) total-vm:912345678kB, anon-rss:498765432kB, file-rss:1024kB, shmem-rss:2048kB'
ask host <<< $'DeepSpeed trains, and the host kills it.\n\n'"$killed"
has host 'offload less'
for says in 'ZeRO-2 without offload.' '没有开 offload，主机内存不够。'; do
    ask kept <<< $'DeepSpeed trains, and the host kills it. '"$says"$'\n\n'"$killed"
    has_not kept 'offload less'
done

# The one backend that a text speaks of has its settings alone; of two, or none, both have theirs.
nemo='NeMo-RL: GRPO runs out of memory.'
for says in '' ' Megatron is slower than FSDP here.'; do
    ask both <<< "$nemo$says"
    has both 'policy.dtensor_cfg.cpu_offload'
    has both 'policy.megatron_cfg.optimizer.optimizer_cpu_offload'
done
ask backend <<< "$nemo"' The backend is Megatron.'
has_not backend 'policy.dtensor_cfg'
has backend 'policy.megatron_cfg.optimizer.optimizer_cpu_offload'

# Of a script that ends inside of a list nothing shows what is default.
mkdir shut cut
for name in shut cut; do
    echo 'slime runs out of memory.' > $name/ticket.md
    printf '%s\n' 'PERF_ARGS=(' '   --max-tokens-per-gpu 9216' ')' 'CKPT_ARGS=(' '   --hf-checkpoint /m/Qwen3-4B' > $name/run.sh
done
echo ')' >> shut/run.sh
for name in shut cut; do run 0 report $name --no-config --format text --full -o $name.text; done
has shut '(default)'
has_not cut '(default)'

# A line that is cut has the numbers before the cut.
ask short <<< 'RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 21.99 GiB total capacity; 20.68 GiB already allocate'
check grep -qF 'PyTorch held 20.68 GiB' <(tr -s ' \n' ' ' < short.text)
check grep -qF 'The line does not say what was free' <(tr -s ' \n' ' ' < short.text)

# Lines of what this job has not: images of a text's model, rollouts of a supervised training, a rasterizer computed again.
for model in Qwen2.5-VL-7B Qwen3-8B; do
    mkdir $model
    echo 'GRPO runs out of memory in training.' > $model/ticket.md
    printf 'MAX_PIXELS=602112 swift rlhf --rlhf_type grpo --model /m/%s --use_vllm true\n' $model > $model/run.sh
    run 0 report $model --no-config --format text --full -o $model.text
done
has Qwen2.5-VL-7B 'MAX_PIXELS=301056'
has_not Qwen3-8B 'MAX_PIXELS'
ask rewards <<< 'RLinf: our GRPO training runs out of memory.'
has rewards 'rollout.enable_offload'
ask supervised <<< 'RLinf: our SFT of a video model runs out of memory.'
has_not supervised 'rollout.enable_offload'
splat() { printf '%s\n' 'Traceback (most recent call last):' '  File "train.py", line 162, in training' '    loss.backward()' \
    "  File \"/w/$1.py\", line 98, in backward" '    grads = _C.backward(*args)' 'RuntimeError: CUDA out of memory. Tried to allocate 64.00 MiB (GPU 0; 21.99 GiB total capacity; 20.68 GiB already allocated; 10.00 MiB free; 20.90 GiB reserved in total by PyTorch)'; }
splat net | ask layers
has layers 'checkpoint(block'
splat my_rasterizer | ask rasterizer
has_not rasterizer 'checkpoint(block'

# A save has no batch of an evaluation; FSDP gathers.
ask saves <<< 'LLaMA-Factory with FSDP runs out of memory when saving the model.'
has_not saves 'per_device_eval_batch_size'
has saves 'SHARDED_STATE_DICT'
ask checks <<< 'LLaMA-Factory with FSDP runs out of memory during validation.'
has checks 'per_device_eval_batch_size'

# "CUDA" behind the words is another thing than "CUDA out of memory".
ask graphs <<< 'Our SGLang server fails with out of memory while capturing CUDA graphs. I tried lowering --mem-fraction-static, it did not help.'
has graphs '--cuda-graph-max-bs'
has_not graphs '--mem-fraction-static <less'

# A change that arrows tell, an error quoted in the sentence that goes on, and what came to nothing.
ask arrows <<'END'
My training of a net of my own runs out of memory at random steps. I changed:
batch_size: 16->8->4
END
has_not arrows "$batch"
has arrows "$recompute"
# shellcheck disable=SC2016 # backquotes of Markdown
ask quoted <<'END'
I train a net of my own. It stops with `RuntimeError: CUDA out of memory. Tried to allocate 96.00 MiB (GPU 0; 7.79 GiB total capacity; 6.60 GiB already allocated; 60.00 MiB free; 6.71 GiB reserved in total by PyTorch)`. Reducing the batch size changes nothing, the error persists.
END
has_not quoted "$batch"
ask raised <<'END'
My training of a net of my own runs out of memory after a change:
workers: 2->4
batch_size: 1->2
END
has raised "$batch"
# What is left as the matter is said, and what was not tried is not.
said() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = "$3" ]; }
said quoted 'a smaller batch was tried, or cannot be: what is left is the size of one sample' 1
said raised 'a smaller batch was tried' 0
ask both <<< 'My training of a net of my own runs out of memory. I tried a smaller batch, and smaller images, without effect.'
said both 'a smaller batch and a smaller input were tried' 1
finish
