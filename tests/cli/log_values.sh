#!/usr/bin/env bash
# What a text shows of the run's values: numbers in prose, variables of a command that is cut, switches that are on, versions; and whose flag it is.
# shellcheck disable=SC2016 # what a text says in backquotes is not run
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

OOM='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 612.00 MiB. GPU 2 has a total capacity of 47.40 GiB of which 199.06 MiB is free. Including non-PyTorch memory, this process has 46.90 GiB memory in use. Of the allocated memory 30.20 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated.'
# ask NAME [SCRIPT]: the ticket on standard input
ask() {
    cat > "$1.txt"
    run 0 report "$1.txt" ${2:+--config "$2"} --no-config --force --format json -o "$1.json"
    run 0 report "$1.txt" ${2:+--config "$2"} --no-config --force --format text --full -o "$1.text"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
value() { jq -r --arg key "$2" '[.advice[].set[]? | select(.key == $key) | .value][0]' "$1.json"; }
share=actor_rollout_ref.rollout.gpu_memory_utilization

# A share in prose is the run's: what is offered is lower. By the end of the key, with parents joined, in backquotes, with a word between.
for words in 'rollout_gpu_memory_utilization 0.25, rollout_max_num_seqs 12' 'We run with `gpu_memory_utilization`: 0.25 on four cards.' \
    'I have set rollout.gpu_memory_utilization to 0.25 already.' 'First gpu_memory_utilization 0.6, now gpu_memory_utilization 0.25 in use.'; do
    printf 'verl fails while the weights go to vLLM (update_weights)\n\n- %s\n\nray::WorkerDict.actor_rollout_update_weights()\n%s\n' "$words" "$OOM" | ask share
    check [ "$(value share $share)" = 0.2 ] # in steps of 0.05
    check [ "$(jq -r --arg key $share '[.settings[]? | select(.key == $key) | "\(.value) \(.line)"][0]' share.json)" = '0.25 3' ]
done
# What is usual, or asked, is no value; nor is another key's, or one that goes on.
for words in 'The default gpu_memory_utilization 0.25 is not ours.' 'You should set gpu_memory_utilization 0.25 they said.' 'We have my_gpu_memory_utilization 0.25 elsewhere.' 'We run gpu_memory_utilization_max 0.25 here.'; do
    printf 'verl fails while the weights go to vLLM (update_weights)\n\n- %s\n\nray::WorkerDict.actor_rollout_update_weights()\n%s\n' "$words" "$OOM" | ask other
    check [ "$(jq -r --arg key $share '[.settings[]? | select(.key == $key)] | length' other.json)" = 0 ]
done
# What it was, and what became of it: the one that is in use; half of it is none. What somebody else has is no value of this run.
for words in 'gpu_memory_utilization was 0.6 and I lowered it to 0.25.' 'We had gpu_memory_utilization at 0.6, then reduced it from 0.6 to 0.25 in vain.'; do
    printf 'verl fails while the weights go to vLLM (update_weights)\n\n- %s\n\nray::WorkerDict.actor_rollout_update_weights()\n%s\n' "$words" "$OOM" | ask became
    check [ "$(value became $share)" = 0.2 ]
done
echo 'verl OOM in training

We use ppo_micro_batch_size_per_gpu 8 and I run it from 2 terminals.' | ask runs
check [ "$(value runs actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu)" = 4 ]
for words in 'gpu_memory_utilization was 0.6 and I lowered it to half of that.' 'My colleague runs the same with gpu_memory_utilization 0.6 there.'; do
    printf 'verl fails while the weights go to vLLM (update_weights)\n\n- %s\n\nray::WorkerDict.actor_rollout_update_weights()\n%s\n' "$words" "$OOM" | ask unknown
    check [ "$(jq -r --arg key $share '[.settings[]? | select(.key == $key)] | length' unknown.json)" = 0 ]
done
# A number that is named in two ways is not known.
printf 'verl OOM in training\n\nI went from ppo_micro_batch_size_per_gpu 8 to ppo_micro_batch_size_per_gpu 4 and it still fails.\n' | ask two
check [ "$(jq '[.settings[]? | select(.key | endswith("ppo_micro_batch_size_per_gpu"))] | length' two.json)" = 0 ]
printf 'verl OOM in training\n\nI use ppo_micro_batch_size_per_gpu 8 and it fails.\n' | ask one
check [ "$(value one actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu)" = 4 ]

# The variable of the key's name, where the command that uses it is cut; and no default of a command that goes on.
for size in 1 6; do
    printf 'MICRO_BATCH_SIZE=%s\ntorchrun --nproc_per_node 4 pretrain_gpt.py \\\n  --tensor-model-parallel-size 2 \\\n  --pipeline-model-parallel-size 2 \\\n' $size > cut.sh
    echo 'Megatron-LM: OOM when pretraining a 13B model' | ask cut$size cut.sh
    has_not cut$size '(default)'
done
has_not cut1 '--micro-batch-size <half'
has cut6 '--micro-batch-size 3'
printf 'torchrun --nproc_per_node 4 pretrain_gpt.py \\\n  --tensor-model-parallel-size 2 \\\n  --pipeline-model-parallel-size 2\n' > whole.sh
echo 'Megatron-LM: OOM when pretraining a 13B model' | ask whole whole.sh
has whole '(default)'

# A switch that the command has on is not to be looked for; off, or not there, it is.
for set in 'true' 'false' ''; do
    printf 'torchrun --nproc_per_node 4 src/open_r1/grpo.py --bf16 --num_generations 4 --per_device_train_batch_size 1 %s\n' "${set:+--gradient_checkpointing $set}" > grpo.sh
    echo 'GRPO of TRL: OOM on four cards' | ask "switch$set" grpo.sh
done
has_not switchtrue 'gradient_checkpointing=True'
has switchfalse 'gradient_checkpointing=True'
has switch 'gradient_checkpointing=True'

# The model's path is a flag that many programs have; with an engine's own beside it, it is the engine's.
echo "$OOM" > failure
echo 'tuner train --model-path /m/base --data-path /d/x.jsonl --gpus 2' > flag.sh
ask flag flag.sh < failure
has_not flag SGLang
echo 'serve_it --model-path /m/base --mem-fraction-static 0.8' > flags.sh
ask flags flags.sh < failure
has flags SGLang
# It keeps names that two programs share from telling either of them.
printf 'config = Config(model_path="/m/base", seq_length=256, batch_size=2)\n' > both.py
echo 'OOM in PPO on two cards' | ask both both.py
has_not both '--recompute-granularity'

# LLaMA-Factory of before June 2024 knows neither of the two keys.
printf 'accelerate launch src/train_bash.py --stage sft --do_train --finetuning_type lora --cutoff_len 24576 --model_name_or_path /m/Meta-Llama-3-8B-Instruct --per_device_train_batch_size 1\n' > old.sh
sed 's|accelerate launch src/train_bash.py|llamafactory-cli train|' old.sh > new.sh
for age in old new; do echo 'OOM in training with LLaMA-Factory' | ask $age $age.sh; done
for key in enable_liger_kernel use_unsloth_gc; do
    has_not old $key
    has new $key
done

# An OOM of Ray is the host's by what Ray's monitor looks at, not by words of the text. A verl of that time has no key for its loaders.
printf 'python3 -m verl.trainer.main_ppo data.train_batch_size=64 actor_rollout_ref.actor.fsdp_config.%s=False\n' grad_offload > early.sh
printf 'python3 -m verl.trainer.main_ppo data.train_batch_size=64 actor_rollout_ref.actor.fsdp_config.%s=False\n' param_offload > late.sh
for age in early late; do
    echo 'We get a ray OOM with verl' | ask $age $age.sh
    has $age 'whose monitor ends processes when the host'
    has_not $age 'says in words'
done
has_not early dataloader_num_workers
has late dataloader_num_workers
echo 'We get a host OOM with verl' | ask host
has host "says in words that the host's memory"

# A copy of verl is told by its name, with verl's keys, and none of those that came later.
echo 'RAGEN: CUDA out of memory in training, as the actor is updated' | ask fork
has fork 'actor_rollout_ref.actor.ppo_'
has_not fork 'enable_activation_offload'

# The words with hyphens, as a title has them; not where they are what is avoided.
echo 'Out-of-memory issues with the default settings of our LoRA training' | ask hyphens
has hyphens 'says in words that it ran out of memory'
echo 'How we avoid out-of-memory errors in our training: a guide' > guide.txt
run 1 report guide.txt --no-config --force --format text -o guide.text

# A pass for log-probabilities asks in proportion to its rows: what is free says how many it may take. 40 GiB of 16 rows, and 6 are free: 2.
asked='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 40.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 6.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated.'
rows='```python\nfrom trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(per_device_train_batch_size=16, num_generations=2)\n```'
printf '# GRPO: OOM while the old log-probs are computed\n\n%b\n\n%s\n' "$rows" "$asked" | ask rows
has rows 'per_device_train_batch_size=2'
printf '# GRPO: OOM while the old log-probs are computed\n\n%b\n\n%s\n' "$rows" "${asked/40.00 GiB/7.00 GiB}" | ask half
has half 'per_device_train_batch_size=8'

# A key that no table has a setting for is looked up all the same, and its number halved.
printf '# open-instruct: OOM in training\n\n```\npython open_instruct/grpo_fast.py --pack_length 10240 --response_length 8192\n```\n\nCUDA out of memory.\n' | ask pack
has pack '--pack_length 5120'
has pack '--response_length 4096'

# A file of one part of a program, or a piece of a file, leaves out what stands above: it is typed as it stands there. Whose piece it is, words say.
printf '# prime-rl: OOM in training\n\nuv run trainer @ train.toml\n\n```toml\n[model]\nname = "Qwen/Qwen3-8B"\nseq_len = 32768\n\n[model.ac]\nfreq = 1\n\n[optim]\nlr = 1e-6\n```\n\nCUDA out of memory.\n' | ask toml
has toml 'model.seq_len = 16384'
printf '# verl: CUDA out of memory in the actor update\n\n```yaml\nactor:\n  ppo_micro_batch_size_per_gpu: 8\n  fsdp_config:\n    param_offload: false\nrollout:\n  gpu_memory_utilization: 0.6\n```\n' | ask piece
has piece 'actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4'
has_not piece 'rollout.enable_offload'

# Several overrides in one line of a text; a sentence with one is none.
printf '# NeMo-RL: OOM in rollout generation\n\npolicy.generation.vllm_cfg.gpu_memory_utilization=0.8 policy.train_micro_batch_size=2\n\nCUDA out of memory.\n' | ask several
has several 'policy.generation.vllm_cfg.gpu_memory_utilization=0.75'

# The optimizer's state fills the card, by what the text's settings come to: no micro-batch is the first change.
printf '# OpenRLHF: OOM in the actor update\n\n```\npython3 -m openrlhf.cli.train_ppo_ray --actor_num_nodes 1 --actor_num_gpus_per_node 2 --vllm_num_engines 2 --pretrain OpenRLHF/Llama-3-8b-sft-mixture --micro_train_batch_size 4 --prompt_max_len 1024 --generate_max_len 1024 --zero_stage 3 --bf16 --gradient_checkpointing\n```\n\n%s\n' "${asked/40.00/1.96}" | sed 's/79.11/39.39/; s/6.00/1.02/; s/70.00/35.9/' | ask states
check [ "$(jq -r '.advice[0].set[0].key' states.json)" = --adam_offload ]

# An engine that a script makes takes arguments, no flags.
printf '# My script with vLLM\n\n```python\nfrom vllm import LLM\nllm = LLM(model="m/n-3B", gpu_memory_utilization=0.9, max_model_len=8192)\n```\n\n%s\n' "$OOM" | ask call
has call 'gpu_memory_utilization=0.6'
has call ' max_num_seqs=<half of its value>'
has_not call '--max-num-seqs <'

# Four flags in a line are what a job runs with, also behind words; fewer are what somebody might try. Overrides are read wherever they stand.
printf '# slime: OOM while log-probs are computed\n\nGLM on 8 cards: --colocate --max-tokens-per-gpu 16384 --log-probs-chunk-size 4096 --sglang-mem-fraction-static 0.7, and it fails.\n\nCUDA out of memory.\n' | ask flags
has flags 'log-probs-chunk-size: 4096'
printf '# slime: OOM while log-probs are computed\n\nWould --log-probs-chunk-size 4096 --max-tokens-per-gpu 2048 be of use?\n\nCUDA out of memory.\n' | ask asked
has_not asked 'Set now: log-probs-chunk-size'
printf '# verl: the host runs out of memory, Ray kills the workers\n\nactor_rollout_ref.actor.fsdp_config.param_offload=True\nactor_rollout_ref.actor.fsdp_config.optimizer_offload=True\n' | ask killed
has killed 'actor_rollout_ref.actor.fsdp_config.optimizer_offload=False'
printf '# verl: OOM in the actor update\n\nactor_rollout_ref.actor.use_dynamic_bsz=True\nactor_rollout_ref.actor.ppo_max_token_len_per_gpu=32768\n\nCUDA out of memory.\n' | ask dynamic
has dynamic 'actor_rollout_ref.actor.ppo_max_token_len_per_gpu=16384'
check [ "$(jq '[.advice[] | select(.top) | .set[] | select(.key | test("micro_batch_size"))] | length' dynamic.json)" = 0 ]

# Flags in lines of their own, behind the launcher's line and with the script among them; three are not enough.
printf '# GRPO: OOM\n\nCUDA out of memory.\n\n/opt/bin/python -m torch.distributed.run\n--nproc_per_node 4\n/w/ms-swift/swift/cli/rlhf.py\n--rlhf_type grpo\n--use_vllm true\n--vllm_mode colocate\n--vllm_gpu_memory_utilization 0.7\n--per_device_train_batch_size 1\n' | ask lines
has lines '--vllm_gpu_memory_utilization 0.65'
has lines '--vllm_tensor_parallel_size 2'
printf '# ms-swift GRPO: OOM\n\nCUDA out of memory. I tried\n\n--use_vllm true\n--vllm_mode colocate\n--sleep_level 1\n' | ask three
has_not three 'whether an inference engine generates'

# verl's older way counts the sequences of all GPUs together: that key is typed, as a multiple of them.
printf '# verl: OOM while the old log-probs are computed\n\n```\npython3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.log_prob_micro_batch_size=160 actor_rollout_ref.actor.ppo_micro_batch_size=8 trainer.n_gpus_per_node=2 trainer.nnodes=1\n```\n\n%s\n' "$asked" | ask older
has older 'actor_rollout_ref.rollout.log_prob_micro_batch_size=20'
has_not older 'actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu='
finish
