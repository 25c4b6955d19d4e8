#!/usr/bin/env bash
# A folder is a run: settings that lie in it are used and named, what is passed over is named with the reason.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

mkdir -p run42/.hydra run42/ckpt run42/.git
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" run42/rank0.pickle
cat > run42/.hydra/config.yaml << 'END'
actor_rollout_ref:
  actor:
    ppo_max_token_len_per_gpu: 16384
  rollout:
    gpu_memory_utilization: 0.6
END
printf -- '- actor_rollout_ref.rollout.gpu_memory_utilization=0.6\n' > run42/.hydra/overrides.yaml
echo '{"model_type": "qwen2", "num_hidden_layers": 28, "hidden_size": 3584, "num_attention_heads": 28, "num_key_value_heads": 4}' > run42/ckpt/config.json
printf '#!/bin/bash\nexport PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:128\npython3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.gpu_memory_utilization=0.6\n' > run42/run.sh
sed 's/0.6/0.8/' run42/run.sh > run42/old.sh
echo 'a: [1' > run42/broken.yaml
echo hello > run42/notes.md
echo '{}' > run42/.git/x.json

of() { jq -r ".settings[] | select(.setting == \"$2\") | \"\(.value) \(.set_in):\(.line)\"" "$1"; }

run 0 report run42 --format json -o run.json
check [ "$(of run.json gpu_memory_utilization)" = '0.6 run42/.hydra/config.yaml:5' ]
check [ "$(of run.json heads)" = '28 run42/ckpt/config.json:null' ]
check [ "$(of run.json max_split_size_mb)" = '128 run42/run.sh:2' ]
check [ "$(jq -r '[.provenance.settings_files[].file] | join(" ")' run.json)" = \
    'run42/.hydra/config.yaml run42/.hydra/overrides.yaml run42/ckpt/config.json run42/run.sh' ]
check [ "$(jq -r '[.quality.ignored[].name] | join(" ")' run.json)" = 'run42/.git/x.json run42/broken.yaml run42/notes.md run42/old.sh' ]
check [ "$(jq -r '.quality.ignored_files' run.json)" = 4 ]
check [ "$(jq -r '.quality.ignored[3].why' run.json)" = 'run42/.hydra/config.yaml says what ran' ]
check [ "$(jq -r '.quality.ignored[1].why' run.json | cut -d: -f1)" = 'cannot be read' ]
for format in text md html; do
    run 0 report run42 --full --format "$format" -o "run.$format"
    check grep -q 'settings as Hydra composed them' "run.$format"
    check grep -q 'run42/.hydra/config.yaml' "run.$format"
    check grep -q 'run42/old.sh' "run.$format"
    check grep -q 'no snapshot, no log' "run.$format"
done

# The folder's own name with a slash, a folder of runs, and archives of it.
run 0 report run42/ --format json -o slash.json
check [ "$(of slash.json gpu_memory_utilization)" = '0.6 run42/.hydra/config.yaml:5' ]
tar cf run42.tar run42
tar czf run42.tgz run42
for f in run42.tar run42.tgz; do
    run 0 report "$f" --format json -o "$f.json"
    check [ "$(of "$f.json" gpu_memory_utilization)" = "0.6 $f/run42/.hydra/config.yaml:5" ]
done

# What was given holds; nothing is taken with --no-auto, from the folder of a file, or from a pipe.
printf 'actor_rollout_ref.rollout.gpu_memory_utilization: 0.4\n' > own.yaml
run 0 report run42 --config own.yaml --format json -o given.json
check [ "$(of given.json gpu_memory_utilization)" = '0.4 own.yaml:1' ]
check [ "$(of given.json tokens_per_gpu)" = '16384 run42/.hydra/config.yaml:3' ]
run 0 report run42 --no-auto --format json -o no.json
check [ "$(jq -r '.provenance.settings_files | length' no.json)" = 0 ]
check [ "$(of no.json tokens_per_gpu)" = '' ]
check [ "$(jq -r '.quality.ignored_files' no.json)" = 8 ]
run 0 report run42/rank0.pickle --format json -o file.json
check [ "$(jq -r '.provenance.settings_files | length' file.json)" = 0 ]
run 0 report - --format json -o pipe.json < run42.tar
check [ "$(jq -r '.provenance.settings_files | length' pipe.json)" = 0 ]

# A second run beside it that was composed otherwise: neither is used.
mkdir -p runs/two/.hydra
cp -r run42 runs/one
sed 's/16384/8192/' run42/.hydra/config.yaml > runs/two/.hydra/config.yaml
run 0 report runs --format json -o two.json
check [ "$(of two.json tokens_per_gpu)" = '' ]
check [ "$(jq -r '[.quality.ignored[].why | select(startswith("contradicts runs/"))] | length' two.json)" = 4 ]

# A cut file of settings is damaged input: said, with its name, and status 3. Data in JSON may be anything, and where another file says what
# ran, a file of unknown use is nothing to miss.
mkdir -p cut/.hydra && cp run42/rank0.pickle cut && printf 'a: [1, 2\nb: }\n' > cut/.hydra/config.yaml
printf '{"rows": [1,' > cut/rows.json
run 3 report cut --format json -o cut1.json
err_has "cut/.hydra/config.yaml: cannot be read: line 2: this is no YAML"
check [ "$(jq -c '[.quality.ignored[].name]' cut1.json)" = '["cut/rows.json"]' ]
run 0 report cut --no-auto --format json -o cut2.json
mv cut/.hydra/config.yaml cut/other.yaml
run 3 report cut --format json -o cut3.json
err_has "cut/other.yaml: cannot be read: "
cp run42/.hydra/config.yaml cut/.hydra
run 0 report cut --format json -o cut4.json
check [ "$(jq -c '[.quality.ignored[].name]' cut4.json)" = '["cut/other.yaml","cut/rows.json"]' ]

# Names are taken out of what is shown, secrets always.
echo 'export WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567' >> run42/run.sh
mkdir -p 'home/alice smith' && mv run42 'home/alice smith/run42'
run 0 report 'home/alice smith/run42' --redact --format json -o redacted.json
check [ "$(grep -c 'alice\|0123456789abcdef' redacted.json)" = 0 ]
check [ "$(jq -r '.provenance.settings_files | length' redacted.json)" = 4 ]

finish
