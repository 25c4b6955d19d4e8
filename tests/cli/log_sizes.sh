#!/usr/bin/env bash
# What a training keeps on every card, and how large its logits are, worked out of a ticket's words and settings.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

ask() { # NAME: reads the ticket from standard input
    cat > "$1.log"
    run 0 report "$1.log" --force --format text --full -o "$1.text" "${@:2}"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
first_has_not() { check [ "$(sed -n '/^Change first/,/^Log/p' "$1.text" | tr -s ' \n' ' ' | grep -cF -- "$2")" = 0 ]; }
says='of parameters, gradients and optimizer'

# All of it divided; a part of it; on one card.
ask fsdp <<< 'Full finetuning of a 13B model with FSDP on 8xA100s runs out of memory'
has fsdp '13 B parameters x 16 bytes / 8 GPUs = 24.21 GiB of parameters'
ask zero2 <<< 'Our training of Foo-7B-chat with ZeRO-2 on 4 GPUs runs out of memory.'
has zero2 '7 B parameters x (2 + 14 / 4 GPUs) bytes = 35.86 GiB'
ask one <<< 'I train a 3B model on 1 GPU and it runs out of memory'
has one '3 B parameters x 16 bytes = 44.70 GiB'
ask cards <<< '用4张卡全量微调14B模型，zero3，没有开offload，第一步就CUDA out of memory'
has cards '14 B parameters x 16 bytes / 4 GPUs = 52.15 GiB'
ask active <<< 'We train Bar-30B-A3B on 2B tokens with FSDP, 8 * H100, runs out of memory'
has active '30 B parameters x 16 bytes / 8 GPUs = 55.88 GiB'
ask some <<< 'It runs out of memory: FSDP, 8B, 8xH100s, of which 6 H100s for training & 2 for generation'
has some '8 B parameters x 16 bytes / 6 GPUs = 19.87 GiB'

# An engine is not spread over more GPUs than there are.
trial() { echo "$1"; echo 'VllmWorkerProcess pid=9) ERROR 09-27 05:20:38 multiproc_worker_utils.py:233] Exception in worker VllmWorkerProcess while processing method determine_num_available_blocks: CUDA out of memory. Tried to allocate 9.63 GiB. GPU 1 has a total capacity of 79.15 GiB of which 7.73 GiB is free. Process 7 has 71.41 GiB memory in use. Of the allocated memory 66.64 GiB is allocated by PyTorch, and 4.07 GiB is reserved by PyTorch but unallocated.'; }
trial $'GPU count: 2\nvllm serve Foo/Bar-13B --tensor-parallel-size 2' | ask full
has_not full '--tensor-parallel-size 4'
trial $'**Number of GPUs**: 4\nvllm serve Foo/Bar-13B --tensor-parallel-size 2' | ask room
has room '--tensor-parallel-size 4'
trial 'vllm serve Foo/Bar-13B --tensor-parallel-size 2' | ask untold
has untold '--tensor-parallel-size 4'

# Several cards, and no word of what divides the job: both cases, and whether one of them can fit.
ask copies <<< 'Training a 13B model on 8 GPUs, A100 40GB, runs out of memory'
has copies '13 B parameters x 16 bytes = 193.72 GiB of parameters'
has copies '24.21 GiB where ZeRO-3 or FSDP divides it over 8 GPUs'
has copies 'undivided it cannot fit'
ask instead <<< 'DDP instead of FSDP on 2 GPUs: training a 13B model on 2 RTX 3090 runs out of memory'
has instead 'where each has all of it (DDP)'
has instead 'neither fits'
ask serves <<< 'Serving a 13B model on 8 GPUs runs out of memory'
has_not serves 'where each has all of it'

# A factor that is not told, or told in two ways, or less than all of it that is trained.
ask two <<< 'Training a 13B model with FSDP on 8 GPUs runs out of memory, a 7B model does not'
ask lora <<< 'LoRA training of a 13B model with FSDP on 8 GPUs runs out of memory'
ask uses <<< 'Loading a 13B model with FSDP on 8 GPUs runs out of memory'
ask nodes <<< 'Training a 13B model with FSDP on 2 nodes, 8 GPUs each, runs out of memory'
ask experts <<< 'Training an 8x7B model with FSDP on 8 GPUs runs out of memory'
ask saves <<< 'Training a 13B model with FSDP on 8 GPUs runs out of memory when saving the checkpoint'
ask version <<< 'Ubuntu 22.04 RTX 3090: training a 13B model with FSDP runs out of memory'
ask epoch <<< 'At epoch 3 GPU memory is full: training a 13B model with FSDP runs out of memory'
ask rank <<< 'Rank 3 A100 40GB: training a 13B model with FSDP runs out of memory'
ask third <<< '训练第3步卡住了，13B模型，FSDP全量微调，然后OOM'
ask laid <<< 'Training a 13B model on 8 GPUs with device_map=auto runs out of memory'
ask before <<< 'I load a pretrained 13B model on 1 GPU and it runs out of memory. No finetuning.'
ask smaller <<< 'Training a 13B model with FSDP and Adafactor on 8 GPUs runs out of memory'
for name in two lora uses nodes laid experts saves version epoch rank third before smaller; do has_not "$name" "$says"; done

# Beside an error with numbers it is said where the card is smaller.
error() { echo "Training a 7B model with FSDP on 8 GPUs fails:"
    echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 388.00 MiB. GPU 0 has a total capacity of $1 GiB of which 95.75 MiB is free. Including non-PyTorch memory, this process has $2 GiB memory in use. Of the allocated memory $3 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated."; }
error 10.75 10.65 10.20 | ask small
has small '7 B parameters x 16 bytes / 8 GPUs = 13.04 GiB'
has small 'and the card has 10.75 GiB: a smaller batch cannot make that fit'
error 39.50 39.40 38.90 | ask large
has_not large "$says"

# The card by its name, where no line has its size: what does not fit there whatever the batch is comes before the batch.
ask named <<< 'Training a 7B model with FSDP on 4 RTX 3090 runs out of memory'
has named 'and the card has 23.'
has named 'by the text: a smaller batch cannot make that fit'
has named 'Change first 1. Divide, move or shrink what each card keeps of the trained model fully_shard('
first_has_not named 'halve the batch'
ask roomy <<< 'Training a 7B model with FSDP on 4 H100 80GB runs out of memory'
has_not roomy 'by the text'
has_not roomy 'Divide, move or shrink'
ask either <<< 'Training a 7B model with FSDP on 4 RTX 3090 runs out of memory, on one A100-80GB it does not'
has_not either 'by the text'
ask short <<< 'Training a 7B model with FSDP on 4 A100 runs out of memory, of 4090 samples'
has_not short 'by the text'

# Logits, where length, batch and vocabulary are set.
printf 'micro_batch_size: 2\nsequence_len: 16384\nbase_model: Qwen/Qwen2.5-7B\nlearning_rate: 1e-5\nadapter: lora\n' > run.yaml
ask logits --config run.yaml <<< 'My training runs out of memory'
has logits '2 x 16,384 tokens x 152,064 words of the vocabulary x 4 bytes = 18.56 GiB of logits'
check [ "$(tr -s ' \n' ' ' < logits.text | grep -oE 'Change first 1. [A-Z][a-z]+ the output head' | wc -l)" = 1 ]
{ cat run.yaml; echo 'cut_cross_entropy: true'; } > fused.yaml
ask fused --config fused.yaml <<< 'My training runs out of memory'
has_not fused 'of logits in 32 bits'
first_has_not fused LigerPlugin
# Two answers of a pair; a loss of that stage has no fused head.
printf 'stage: dpo\nfinetuning_type: full\nper_device_train_batch_size: 2\ncutoff_len: 8192\nmodel_name_or_path: Qwen/Qwen2.5-7B\nlearning_rate: 1e-5\n' > pair.yaml
ask pair --config pair.yaml <<< 'My training runs out of memory'
has pair '4 x 8,192 tokens x 152,064 words'
has_not pair enable_liger_kernel

# Weights that are merged or exported: on the host, in no less than 16 bits, and nothing of a training.
for command in 'python tools/merge_adapter.py --base_model Foo-13B --out b' 'python scripts/export_model.py --model_name_or_path Foo-13B --out b'; do
    { echo "$command"; error 23.50 23.40 22.90 | tail -1; } | ask written
    has written 'device_map="cpu"'
    for line in 'load_in_4bit' 'a smaller input for one pass' 'inference_mode' 'checkpoint(' 'halve the batch'; do has_not written "$line"; done
done
{ echo 'python tools/generate_texts.py --base_model Foo-13B'; error 23.50 23.40 22.90 | tail -1; } | ask used
has used 'inference_mode'
has_not used 'device_map="cpu"'
finish
