#!/usr/bin/env bash
# What a script that a text shows has on: nobody is told to switch it on, to make it smaller than it can be, or to move a number of what is off.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

fence='```'
error='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.69 GiB of which 512.00 MiB is free. Including non-PyTorch memory, this process has 23.10 GiB memory in use. Of the allocated memory 22.40 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.'
pass='Traceback (most recent call last):
  File "/j/train.py", line 9, in train
    out = net(x)
  File "/opt/py/site-packages/torch/nn/modules/module.py", line 9, in _call_impl
    return forward_call(*args)
  File "/j/net.py", line 9, in forward
    y = self.c(x)'
trainer='Traceback (most recent call last):
  File "/opt/py/site-packages/transformers/trainer.py", line 9, in train
    return inner_training_loop(
  File "/opt/py/site-packages/transformers/trainer.py", line 9, in training_step
    loss = self.compute_loss(model, inputs)
  File "/opt/py/site-packages/transformers/models/llama/modeling_llama.py", line 9, in forward
    x = self.act_fn(self.gate_proj(x))'
step='Traceback (most recent call last):
  File "/opt/py/site-packages/transformers/trainer.py", line 9, in train
    return inner_training_loop(
  File "/opt/py/site-packages/accelerate/optimizer.py", line 9, in step
    self.optimizer.step(closure)
  File "/opt/py/site-packages/torch/optim/adamw.py", line 9, in step
    self._init_group('
ask() { # TEXT TRACEBACK
    printf '%s\n\n%s\n%s\n' "$1" "$2" "$error" > text.md
    run 0 report text.md --force --format json -o text.json
}
typed() { jq -r '[.advice[] | select(.top) | .set[] | "\(.key)=\(.value)"] | join("\n")' text.json; }
has() { check grep -qF -- "$1" <(typed); }
has_not() { check [ "$(typed | grep -cF -- "$1")" = 0 ]; }
script() { printf '%spython\n%s\n%s' "$fence" "$1" "$fence"; }

# What is called or set is on; its definition, an option of a command line, a comment and False are not.
for on in 'model.gradient_checkpointing_enable()' 'gradient_checkpointing=True,' 'model.enable_gradient_checkpointing()'; do
    ask "$(script "$on")" "$trainer"
    has_not gradient_checkpointing
done
for off in 'def gradient_checkpointing_enable(self):' 'p.add_argument("--gradient_checkpointing", action="store_true")' '# model.gradient_checkpointing_enable()' 'gradient_checkpointing=False,'; do
    ask "$(script "$off")" "$trainer"
    has gradient_checkpointing
done
# A line of code below a frame is the library's.
ask 'OOM' "${trainer/loss = self.compute_loss(model, inputs)/self.gradient_checkpointing_func(x)}"
has gradient_checkpointing
# A batch of one, between fences or not; the evaluation's is another.
ask 'The settings:
batch_size="1"' "$pass"
has_not 'halve the batch'
ask 'It fails even with a batch size of one.' "$pass"
has_not 'halve the batch'
ask 'The settings:
eval_batch_size="1"' "$pass"
has 'halve the batch'

# Smaller pictures were tried.
ask 'I resized the images to 550x550 and it is still out of memory.' "$pass"
has_not 'smaller images'

# An optimizer in few bits, adapters, shards: no weaker form of what is on.
ask "$(script 'opt = bnb.optim.AdamW8bit(model.parameters(), lr=1e-5)')" "$step"
has_not 8bit
has_not fused
ask "$(script 'model = get_peft_model(model, LoraConfig(r=8))')" "$step"
has_not 8bit
has_not get_peft_model
ask 'I am doing LoRA fine-tuning.' "$step"
has_not get_peft_model
ask 'I train with FSDP full shard on 8 GPUs.' "$step"
has_not full_shard
ask 'I use DeepSpeed ZeRO-3.' "$step"
has_not fully_shard
ask 'Would ZeRO-3 help?' "$step"
has fully_shard
ask "${fence}json
{\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}}
${fence}" "$step"
has_not fully_shard
has_not AdamW
ask 'a plain run' "$step"
has full_shard
has 8bit

# A number of a feature that is off.
grpo() { # WHETHER
    printf 'My GRPO run is out of memory.\n\n%s\n' "$(script "from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig(per_device_train_batch_size=4, use_vllm=$1, max_completion_length=1024)
trainer = GRPOTrainer(model=model, args=args)")" > text.md
    run 0 report text.md --force --format json -o text.json
}
grpo True
has vllm_gpu_memory_utilization
grpo False
has_not vllm_gpu_memory_utilization
# Servers and the loops of libraries switch gradients off themselves.
ask 'OOM in the warmup of text-generation-launcher' 'text_generation_launcher: Method Warmup encountered an error.'
has_not inference_mode
finish
