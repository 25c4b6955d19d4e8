#!/usr/bin/env bash
# Values that a text gives in a person's words, in whatever form: a change says from what to what.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

# ask NAME: the text on standard input
ask() {
    cat > "$1.md"
    run 0 report "$1.md" --no-config --force --format json -o "$1.json"
}
# value NAME KEY VALUE: what it is to be set to, the key in the form that the text has
value() { check [ "$(jq -r --arg key "$2" '[.advice[].set[]? | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }
# the same whatever its form
any() { check [ "$(jq -r --arg key "$2" '[.advice[].set[]? | select((.key | gsub("-"; "_") | ltrimstr("__")) == $key) | .value][0]' "$1.json")" = "$3" ]; }
now() { check [ "$(jq -r --arg key "$2" '[.settings[]? | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }

# A program's flags in a sentence, and names with blanks or dashes.
for words in 'I start it with --max-num-seqs 256 --max-model-len 16384.' 'We have max_num_seqs=256 set.' 'The max-num-seqs is 256 here.' 'With max num seqs 256.' '1) max_num_seqs: 256' '| max_num_seqs | 256 |' '* max_num_seqs 256'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask flag
    any flag max_num_seqs 128
done
# In Chinese, also in the line that quotes the error.
for words in 'max_num_seqs 设的是 256。' 'max_num_seqs 从 512 降到 256 了。' '启动参数 max_num_seqs=256，报错 RuntimeError: CUDA out of memory. Tried to allocate 256.00 MiB。'; do
    printf 'vLLM 服务爆显存\n\n%s\n' "$words" | ask chinese
    any chinese max_num_seqs 128
done
# The second of two is in use.
for words in 'I lowered max_num_seqs from 512 to 256.' 'max_num_seqs 512 -> 256 is in use now.'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask moved
    any moved max_num_seqs 128
done
# What goes well, is wished or asked is not in use; nor is what another word makes another thing.
for words in 'It works with max_num_seqs 256.' 'I would like max_num_seqs 256.' 'max_num_seqs 256 能跑。' 'With my own total max num seqs 256.' 'max_num_seqs 256k' 'max_num_seqs 50%'; do
    printf 'vLLM server goes OOM on one card\n\n%s\n' "$words" | ask other
    now other --max-num-seqs null
done
# SGLang's share too.
printf 'SGLang server fails with out of memory while capturing CUDA graphs, mem_fraction_static is 0.9.\n' | ask share
value share mem_fraction_static 0.85
# A line of a file that is too short to be told as one, and its key's form there.
printf 'axolotl QLoRA out of memory in training\n\n    sequence_len: 8192\n    micro_batch_size: 6\n' | ask file
value file micro_batch_size 3
value file sequence_len 4096

# A script of one's own: names that scripts have in common; a picture has one side, or two that are the same.
printf 'My U-Net training goes OOM. The batch size is 12, image size 448x448.\n' | ask script
value script batch_size 6
value script image_size 224
for words in 'global batch size 12' 'eval_batch_size=12' 'the batch size of 12 should do' 'micro-batches of batch size 12k' '(all)batch_size=12'; do
    printf 'My U-Net training goes OOM, %s.\n' "$words" | ask none
    value none batch_size null
done
printf 'My U-Net training goes OOM, image size 448x320.\n' | ask sides
value sides image_size null
printf 'YOLOv8 training goes OOM: imgsz=960 batch=24 on a 3070.\n' | ask short
value short imgsz 480
value short batch 12
printf 'My U-Net training goes OOM with --batch-size 12.\n' | ask dashes
value dashes --batch-size 6
finish
