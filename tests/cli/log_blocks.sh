#!/usr/bin/env bash
# Settings that a text shows as a file has them, YAML, TOML or JSON: between fences or without any. They are the run's.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { run 0 report "$1.md" --force --format json -o "$1.json"; }
# sets NAME KEY VALUE LINE: what the report lists
sets() { check [ "$(jq -r --arg key "$2" '[.settings[]? | select(.key == $key)] | .[0] | "\(.value) \(.line)"' "$1.json")" = "$3 $4" ]; }
none() { check [ "$(jq '[.settings // [] | .[]] | length' "$1.json")" = 0 ]; }
types() { check [ "$(jq -r --arg key "$2" '[.advice[].set[]? | select(.key == $key) | .value][0]' "$1.json")" = "$3" ]; }
fence='```'

# YAML between fences, whatever they are called; a key of the program's own says what ran.
for name in yaml '' text; do
    { printf '# Training OOM on one A100\n\n%s%s\n' "$fence" "$name"
      printf '### model\nmodel_name_or_path: Qwen/Qwen2.5-14B\nfinetuning_type: lora\nlora_target:\n- q_proj\n- v_proj\n\ncutoff_len: 12000\nper_device_train_batch_size: 6\n%s\n' "$fence"; } > yaml.md
    ask yaml
    sets yaml --cutoff-len 12000 11
    types yaml per_device_train_batch_size 3
done

# Without fences, between lines of prose; headings in it are comments of YAML.
{ printf '# Training OOM\n\n- torch: 2.6.0\n- GPU: A100\n\nThe config is\n\n'
  printf 'base_model: Qwen/Qwen2.5-14B\n\n### how\nadapter: lora\nmicro_batch_size: 6\nsequence_len: 9000\ngradient_accumulation_steps: 2\nsample_packing: true\n\nCan I train longer ones?\n'; } > bare.md
ask bare
sets bare micro_batch_size 6 12
types bare micro_batch_size 3

# JSON that somebody cut within its last value: what stands before that counts, and nothing is said of defaults.
{ printf '# OOM in training, as the actor is updated\n\n%s\n{\n  "actor_rollout_ref": {\n    "actor": {\n      "ppo_micro_batch_size_per_gpu": 4,\n      "fsdp_config": {\n        "param_offload": false,\n        "optimizer_off\n' "$fence"; } > cut.md
ask cut
types cut actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu 2
check [ "$(jq '[.advice[].now[]?, .lint[]? | tostring | select(contains("(default)"))] | length' cut.json)" = 0 ]

# TOML.
{ printf '# CUDA OOM in training\n\n%stoml\npretrained_model_name_or_path = "m"\nresolution = "1024,1024"\ntrain_batch_size = 4\n%s\n' "$fence" "$fence"; } > toml.md
ask toml
sets toml --train_batch_size 4 6

# Two files of TOML under their names, one after another: a table of the second is its own.
{ printf '# train.toml\npretrained_model_name_or_path = "m"\n[model]\nname = "a"\n\n# data.toml\nresolution = 512\ntrain_batch_size = 4\n[model]\nname = "b"\n'; } > two.toml
printf '# sd-scripts: CUDA OOM in training\n\nBoth files are beside it.\n' > two.md
run 0 report two.md --config two.toml --force --format json -o two.json
check [ "$(jq -r '[.settings[]? | select(.key == "--train_batch_size")] | .[0] | "\(.value) \(.line)"' two.json)" = '4 8' ]

# The states fill most of the card, by the settings' model and the text's GPUs: what puts them elsewhere comes before shorter sequences.
{ printf '# Training runs out of memory on 8 RTX 3090 with ZeRO-3\n\n%syaml\nmodel_name_or_path: Qwen/Qwen2.5-7B\nstage: sft\ndo_train: true\nfinetuning_type: full\ncutoff_len: 900\nper_device_train_batch_size: 1\n%s\n' "$fence" "$fence"; } > full.md
ask full
check [ "$(jq -r '.advice[0].id' full.json)" = B65 ]

# What the text says that it helps to leave out is no trial.
{ printf '# Ray kills the workers: node running low on memory\n\nI removed --vllm_enable_sleep and then it runs.\n\n'
  printf '(raylet) 2 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: ab, IP: 10.0.0.4)\n\n'
  printf 'python -m openrlhf.cli.train_ppo_ray --vllm_enable_sleep --vllm_num_engines 8 --colocate_all_models --zero_stage 3\n'; } > sleep.md
ask sleep
check [ "$(jq -r '.advice[0].id' sleep.json)" = P38 ]

# A card's memory that somebody calls RAM, where the title speaks of VRAM; without that it is the host's.
{ printf '# Fine-tuning fails with 16 GB VRAM\n\nflux_train.py runs out of RAM in the first step.\n'; } > vram.md
{ printf '# Fine-tuning fails\n\nflux_train.py runs out of RAM in the first step.\n'; } > ram.md
for name in vram ram; do ask $name; done
check [ "$(jq -r '.log_diagnosis.cause' vram.json)" != host ]
types vram --blocks_to_swap 18
check [ "$(jq -r '.log_diagnosis.cause' ram.json)" = host ]

# What is installed, a log's figures, a script of no imports and words with colons are no settings.
{ printf '# Training OOM\n\ntorch: 2.5.1\nflash_attn: 2.5.6\ndeepspeed: 0.14.4\nliger_kernel: 0.5.2\nxformers: 0.0.28\nmicro_batch_size: 0.1.2\n'; } > installed.md
{ printf '# Training OOM\n\n%s\ntrain_dataset = load(4)\nmicro_batch_size = count()\nsequence_len = 2 * 4\nbase_model = build()\n%s\n' "$fence" "$fence"; } > code.md
{ printf '# Training OOM\n\nFramework: ours\nMemory: 24 GB\nModel: seven\nPhase: training\nBatch: 4\n'; } > words.md
for name in installed code words; do
    ask "$name"
    none "$name"
done

# Of a file that cannot be read a line of a name and a number still counts, nothing else does, and nothing fails.
{ printf '# Training OOM\n\n%syaml\nmicro_batch_size: 6\nsequence_len: [1, 2\nbase_model: m\nadapter: : lora\n%s\n' "$fence" "$fence"; } > wrong.md
ask wrong
check [ "$(jq -c '[.settings[] | [.value, .line]]' wrong.json)" = '[["6",4]]' ]
finish
