#!/usr/bin/env bash
# Programs whose keys are a few lines of programs.json: a text that names one gets its words first, and no words for any job beside them.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
fence='```'

ask() { run 0 report "$1.md" --force --format json -o "$1.json" "${@:2}"; }
# first NAME ID KEY [VALUE]: the first change is the program's, and has that line
first() {
    check [ "$(jq -r '.advice[0].id' "$1.json")" = "$2" ]
    check [ "$(jq -r --arg key "$3" --arg value "${4-}" '[.advice[0].set[] | select((.key == $key or (.value | contains($key))) and ($value == "" or .value == $value))] | length > 0' "$1.json")" = true ]
}
# all that is to be changed first has evidence: no line of Python for any job
alone() { check [ "$(jq '[.advice[] | select(.top) | .id] | length' "$1.json")" = 1 ]; }

while IFS='|' read -r name words id key; do
    printf '# %s: CUDA out of memory in training\n\nMy fine-tuning fails in the first step.\n' "$words" > "$name.md"
    ask "$name"
    first "$name" "$id" "$key"
    alone "$name"
done << 'EOF'
simple|SimpleTuner full model|B136|--gradient_checkpointing
ilab|ilab model train|B137|--max-batch-len
lit|litgpt finetune|B138|--train.micro_batch_size
ostris|ai-toolkit LoRA|B139|model.quantize
musubi|musubi-tuner on Wan|B140|--blocks_to_swap
tulu|open-instruct DPO|B141|--per_device_train_batch_size
neox|GPT-NeoX 1.3B|B142|checkpoint-activations
seq|fairseq-train of a transformer|B143|--max-tokens
nemo|NVIDIA NeMo speech model|B144|model.train_ds.batch_size
xtuner|XTuner on InternLM|B145|batch_size
one|OneTrainer, SDXL|B146|gradient_checkpointing
EOF

# A text whose phase is not known: what helps most jobs of that program.
printf '# trlx: out of memory whatever I do\n\nTwo 3090, a 1.5B model. CUDA out of memory.\n' > trlx.md
ask trlx
first trlx B135 method.chunk_size

# What the run has is not typed again, its number is halved, and its file's form is kept.
{ printf '# Training OOM\n\n%sjson\n{\n  "data_backend_config": "config/mine.json",\n  "gradient_checkpointing": true,\n  "train_batch_size": 6\n}\n%s\n' "$fence" "$fence"; } > json.md
ask json
first json B136 --train_batch_size 3
check [ "$(jq '[.advice[0].set[] | select(.key | contains("gradient_checkpointing"))] | length' json.json)" = 0 ]

# A rule file of one's own adds a lever and a program in the same words, without a build.
cat > mine.json << 'EOF'
{"schema_version": 1,
 "frameworks": [{"id": "dragontune", "words": "DragonTune", "kind": "tuner", "told_by": ["dragontune"]}],
 "levers": [{"lever": "wings", "value": "1", "phases": ["forward_backward", "backward", "loss"], "moves": "down", "usual": "1"}],
 "programs": [{"program": "dragontune", "id": "DR9", "syntax": "flag", "source": "my head", "keys": [
   {"lever": "wings", "key": "--wings"}, {"lever": "recompute", "key": "--forget", "value": ""}]}]}
EOF
printf '# DragonTune: CUDA out of memory in training\n\nIt fails.\n' > dragon.md
ask dragon --rules mine.json
first dragon DR9 --wings
first dragon DR9 --forget
sed 's/"lever": "wings", "key"/"lever": "claws", "key"/' mine.json > bad.json
run 1 report dragon.md --force --rules bad.json -o bad.html
err_has 'there is no lever of that name'
finish
