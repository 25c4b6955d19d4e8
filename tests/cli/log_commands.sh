#!/usr/bin/env bash
# A command that stands in a text says what ran, and its flags are the settings: alone in a line, between marks, behind a colon, of a
# container. About 2 s.
# The marks of Markdown are meant:
# shellcheck disable=SC2016,SC1003
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

full='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 39.39 GiB of which 200.00 MiB is free. Including non-PyTorch memory, this process has 39.19 GiB memory in use. Of the allocated memory 38.60 GiB is allocated by PyTorch, and 20.00 MiB is reserved by PyTorch but unallocated.'
ask() { # NAME TEXT
    printf '%b\n\n%s\n' "$2" "$full" > "$1"
    run 0 report "$1" --force --no-config --format text --full -o "$1.text"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
# What stands above the list of all advice.
first() { check grep -qF -- "$2" <(sed '/^All advice/,$d' "$1.text" | tr -s ' \n' ' '); }
first_not() { check [ "$(sed '/^All advice/,$d' "$1.text" | tr -s ' \n' ' ' | grep -cF -- "$2")" = 0 ]; }

# The model of "serve" has no flag: 61 GiB of weights do not fit on one card, and half of them do.
ask serve '# The server does not come up\n\n    vllm serve Qwen/Qwen2.5-32B-Instruct --port 9000'
first serve 'weights of the model that the settings name are 61.03 GiB'
first serve '--tensor-parallel-size 2'
first_not serve '--gpu-memory-utilization'
first_not serve '--max-num-seqs'
# As many cards as the weights need, not only twice what there is.
ask more '# The server does not come up\n\nI start it with `vllm serve Qwen/Qwen2.5-72B-Instruct --port 9000` here.'
first more '--tensor-parallel-size 4'
# Behind a colon; the flags of a module.
ask colon '# OOM when the engine starts\n\nOur command: python3 -m sglang.launch_server --model-path Qwen/Qwen2.5-72B-Instruct --tp 2'
first colon '--tp-size 4'
first colon 'Set now: tp: 2 (colon:3)'
# What is of the container is no setting; its image says what runs.
ask image '# Warmup fails\n\ndocker run --rm -it --gpus all -e HF_TOKEN=x -p 80:80 --shm-size 2g registry.org/huggingface/text-generation-inference:3.0 --model-id org/a-model --max-input-tokens 6000 --max-batch-prefill-tokens 8000'
first image 'Fewer tokens in one pass of text-generation-inference'
first image '--max-batch-prefill-tokens 4000'
first image '--max-input-tokens 3000'
has image 'Framework: text-generation-inference'
has_not image 'torch.utils.checkpoint'
ask behind '# OOM\n\nEnvironment: docker run --gpus all --ipc=host openmmlab/lmdeploy:v0.9 lmdeploy serve api_server org/a-model --session-len 32000 --cache-max-entry-count 0.9'
first behind '--cache-max-entry-count 0.7'
first behind '--session-len'
ask trt '# OOM under load\n\nIt is `trtllm-serve org/a-model --max_batch_size 64 --max_num_tokens 12000 --kv_cache_free_gpu_memory_fraction 0.95` with one card.'
first trt '--kv_cache_free_gpu_memory_fraction 0.75'
first trt '--max_num_tokens 6000'
# A tuner that serves has flags of its own for its engine.
ask deploy '# OOM\n\nswift deploy --model Qwen/Qwen2.5-32B-Instruct --infer_backend vllm --vllm_max_model_len 8192'
first deploy '--vllm_tensor_parallel_size 2'
first_not deploy '--gpu-memory-utilization'
# Flags between marks, with a value, are settings; without one they are only spoken of.
ask flags '# slime: OOM in the training step\n\nWe use the image slimerl/slime:latest with `--use-dynamic-batch-size --max-tokens-per-gpu 9000`, never with `--colocate`.'
has flags 'Framework: slime'
ask value '# slime: OOM in the training step\n\nWe use the image slimerl/slime:latest with `--max-tokens-per-gpu 9000 --use-dynamic-batch-size`.'
first value '--max-tokens-per-gpu 4352'
# A tuner's command within a sentence in another language.
ask tuner '# 显存不足\n\n命令是 `llamafactory-cli train --stage sft --do_train --model_name_or_path org/a-model --cutoff_len 12000 --per_device_train_batch_size 4` 。'
first tuner '--per_device_train_batch_size 2'
first tuner '--cutoff_len 5952'
# Without a command the words are what there is: an engine, a model that says its size, one card.
ask words '# vLLM and Qwen2.5-32B on an A100\n\nI want to chat with Qwen2.5-32B through vLLM, and it runs out while it starts.'
first words 'weights of the model that the text names are 59.60 GiB'
first words '--tensor-parallel-size 2'
first_not words '--max-num-seqs'
# Not where it has fewer bits, nor where it fits, nor where several cards are spoken of.
ask fewer '# vLLM and Qwen2.5-32B-AWQ on an A100\n\nI want to chat with the 4 bit Qwen2.5-32B-AWQ through vLLM.'
first_not fewer 'weights of the model'
ask fits '# vLLM and Qwen2.5-7B on an A100\n\nI want to chat with Qwen2.5-7B through vLLM.'
first_not fits 'more than the card has for them'
ask cards '# vLLM and Qwen2.5-32B on 4 GPUs\n\nI want to chat with Qwen2.5-32B through vLLM on 4 GPUs.'
first_not cards 'weights of the model'
# A word of prose is no command.
ask prose '# The server does not come up\n\nNote: the serve team says that --tensor-parallel-size 8 is for others.'
has_not prose 'tensor-parallel-size'
# However many words a command has before its first flag; and a line of prose that begins with a program's name.
ask ray '# OOM\n\nWe run: ray job submit --address x -- python3 -m verl.trainer.main_ppo data.train_batch_size=1024 actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=8'
has ray 'Set now: actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu: 8 (ray:3)'
ask compose '# OOM\n\nWe run: docker compose run vllm serve org/a-model --gpu-memory-utilization 0.8'
has compose 'Set now: gpu-memory-utilization: 0.8'
ask images '# OOM with vLLM\n\ndocker images of ours set --gpu-memory-utilization 0.8 by default, and this job has another value.'
has_not images 'gpu-memory-utilization: 0.8'
ask said '# OOM\n\nNote: python train.py is said to take --per_device_train_batch_size 4 elsewhere.'
has_not said 'per_device_train_batch_size: 4'
# A script between fences is one: what it calls runs, and its arguments are settings; with the line that they stand in.
ask code '# LLM() fails\n\n```python\nfrom vllm import LLM\n\nllm = LLM(model="Qwen/Qwen2.5-32B-Instruct", tensor_parallel_size=1, max_model_len=4000)\n```'
first code 'weights of the model that the settings name are 61.03 GiB'
first code 'tensor_parallel_size=2'
first code 'Set now: tensor_parallel_size: 1 (code:6)'
ask plain '# OOM\n\n```\nfrom transformers import Trainer, TrainingArguments\nargs = TrainingArguments("out", per_device_train_batch_size=6)\n```\n\nAnd so on.'
first plain 'per_device_train_batch_size=3'
# Neither what a traceback shows, nor another language, nor what nobody ends with a line of code.
ask traced '# OOM\n\n```\nTraceback (most recent call last):\n  File "/w/a.py", line 5, in <module>\n    main()\n\nimport os\nargs = TrainingArguments("out", per_device_train_batch_size=6)\n```'
first_not traced 'per_device_train_batch_size=3'
ask other '# OOM\n\n```cpp\nimport x;\nauto args = TrainingArguments("out", per_device_train_batch_size=6)\n```'
has_not other 'per_device_train_batch_size: 6'
# Other marks and names of a block; a line that is one by itself, and a block whose end was forgotten, begin nothing; nor does what
# Python marks in a traceback.
args='from transformers import Trainer, TrainingArguments\nargs = TrainingArguments("out", per_device_train_batch_size=6)'
for before in '~~~python' '```Python3' '```{.python}' '````py' '```pip install x```\n\nOr:\n\n```python' '```\nNever closed.\n\n```python' \
    '    f(x)\n    ~~~~^^^\n\n```python'; do
    after=${before##*n}
    ask fence "# OOM\n\n$before\n$args\n${after%%[!\`~]*}\n\nAnd so on."
    first fence 'per_device_train_batch_size=3'
done
# A longer fence holds a shorter one.
ask longer '# OOM\n\n````md\n```python\n'"$args"'\n```\n````'
has_not longer 'per_device_train_batch_size: 6'
ask open '# OOM\n\n```python'
has open 'the device is full'
# Behind a script words with "=" are its arguments, without a dot too; in a sentence they are none.
ask words '# OOM in training\n\nI tried `python scripts/train_policy.py data=/x/cube algo=diffusion batch_size=96 num_workers=16` for it.'
has words 'batch_size=48'
ask prose '# OOM in training\n\nPython says that batch_size=96 would be what I run here.'
has_not prose 'batch_size=48'
# A script that only generates: no sleep between trainings, and a share that leaves others what they have.
held='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB (GPU 0; 40.00 GiB total capacity; 21.91 GiB already allocated; 500.00 MiB free; 22.00 GiB reserved in total by PyTorch)'
printf '%s\n' '# OOM beside another job' '' '```' 'from vllm import LLM, SamplingParams' 'llm = LLM(model="facebook/opt-125m")' '```' "$held" > beside
run 0 report beside --force --no-config --format text --full -o beside.text
has beside 'gpu_memory_utilization=0.55'
first_not beside enable_sleep_mode
# A length that a script gives to Unsloth; no engine is spoken of.
printf '%s\n' '# Fine-tuning runs out of memory' '' '```' 'from unsloth import FastLanguageModel' 'longest = 12000' \
    'model, tok = FastLanguageModel.from_pretrained(model_name="unsloth/Qwen2.5-7B", max_seq_length=longest)' '```' > unsloth
run 0 report unsloth --force --no-config --format text --full -o unsloth.text
first unsloth 'max_seq_length=5952'
first_not unsloth UNSLOTH_VLLM_STANDBY=1
finish
