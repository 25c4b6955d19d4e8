#!/usr/bin/env bash
# Programs that a log names by a path, a frame or a script: they get keys of their own, and no other program's.
# shellcheck disable=SC2016 # backquotes of Markdown
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # FILE ARG...: its report as JSON and text
    run 0 report "$1" --force --format json -o "$1.json" "${@:2}"
    run 0 report "$1" --force --format text --full -o "$1.text" "${@:2}"
}
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }
kill='(raylet) Memory on the node (IP: 10.0.0.4, ID: 6c4f) where the task (actor ID: 8f12, name=WorkerDict.__init__, pid=71, memory used=61.75GB) was running was 478.32GB / 503.00GB (0.950934), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: 77aa) because it was the most recently scheduled task.'
ray='ray.exceptions.RayTaskError(OutOfMemoryError): ray::'

# EasyR1 by the folder of a checkpoint, and by the one file that only it has.
{ echo '(WorkerDict pid=71) [rank-0]: Saving model to /data/me/EasyR1/checkpoints/easy_r1/seven/global_step_5/actor/model_world_size_8_rank_0.pt'; echo "$kill"; } > saved.log
ask saved.log
has saved.log 'worker.actor.offload.offload_optimizer=false'
has saved.log 'trainer.save_freq'
has_not saved.log actor_rollout_ref
{ printf '  File "/home/b/grounding/verl/trainer/main.py", line 90, in run\n    trainer.fit()\n'
  echo "${ray}WorkerDict.actor_rollout_generate_sequences() (pid=334, ip=10.0.0.4, actor_id=c38113a6, repr=<verl.single_controller.ray.base.WorkerDict object at 0x7f>)"; } > fork.log
ask fork.log
has fork.log 'worker.rollout.gpu_memory_utilization'
has_not fork.log actor_rollout_ref

# OpenRLHF by its script in examples/.
{ printf '  File "/tmp/ray/session_1/working_dir_files/_ray_pkg_c9/examples/train_ppo_ray.py", line 289, in <module>\n    train(args)\n'
  echo 'ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.'; } > open.log
ask open.log
has open.log 'adam_offload'
has open.log 'grad_accum_dtype'
has_not open.log 'torch.utils.data.DataLoader'
has_not open.log "vLLM's sleep level"

# A program on top of verl with keys of its own, of which some are called as there.
{ printf '  File "/w/verl-omni/verl_omni/trainer/diffusion/ray_diffusion_trainer.py", line 1107, in fit\n    out = self.async_rollout_manager.generate_sequences(batch)\n'
  printf "  File \"/w/verl/verl/utils/ray_utils.py\", line 123, in wrapper\n    return asyncio.run(coro)\n"; } > omni.tail
{ echo "${ray}TaskRunner.run() (pid=98, ip=10.0.0.4, actor_id=bd, repr=<main_diffusion.TaskRunner object at 0xff>)"; cat omni.tail; } > omni.log
ask omni.log
has omni.log 'actor_rollout_ref.rollout.pipeline.height'
has omni.log "in rollout generation"
has_not omni.log ppo_micro_batch
has_not omni.log megatron

# Open-Reasoner-Zero: fields of the experiment's class.
{ printf '  File "/w/zero/orz/ppo/trainer.py", line 1289, in _backload_vllm_engines\n    await asyncio.gather(*tasks)\n'
  echo "${ray}LLMActor.backload_to_gpu() (pid=1199, ip=10.0.0.4, actor_id=94)"; } > orz.log
ask orz.log
has orz.log 'gpu_memory_utilization=<less than it is>'
has_not orz.log '--gpu-memory-utilization'

# ColossalAI divides the states itself.
{ printf '  File "/opt/v/lib/python3.10/site-packages/colossalai/zero/low_level/low_level_optim.py", line 480, in step\n    self.optim.step()\n'
  echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 0.41 GiB is free. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.'; } > colossal.log
ask colossal.log
has colossal.log 'cpu_offload=True'
has_not colossal.log 'FullyShardedDataParallel'
has_not colossal.log 'foreach'

# A fork whose files and processes are called as verl's, named by the text alone: verl's keys would end it at its start. Where settings of verl's own
# are there, the name is no sign. Nobody names a backend: the usual one, without Megatron's keys.
killed='(raylet) 1 Workers (tasks / actors) killed due to memory pressure (OOM), 0 Workers crashed due to other reasons at node (ID: ab, IP: 10.0.0.4)'
verl='(WorkerDict pid=1113) Before vllm offload in sharding manager: 66.48 GB / 79.10 GB.'
fence='```'
{ echo '# Host memory with EasyR1'; printf '%s\n' '' "$fence" "$verl" "$killed" "$fence"; } > fork.md
{ echo '# Host memory, other than with EasyR1'
  printf '%s\n' '' "$fence" 'python3 -m verl.trainer.main_ppo actor_rollout_ref.rollout.n=8 data.dataloader_num_workers=8' "$verl" "$killed" "$fence"; } > own.md
ask fork.md
has fork.md 'worker.actor.offload'
has_not fork.md 'data.dataloader_num_workers'
ask own.md
has own.md 'data.dataloader_num_workers'
{ printf '  File "/w/verl/verl/utils/ray_utils.py", line 12, in update_actor\n    loss.backward()\n'
  echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.69 GiB of which 0.41 GiB is free. Of the allocated memory 22.10 GiB is allocated by PyTorch, and 210.00 MiB is reserved by PyTorch but unallocated.'; } > usual.log
ask usual.log
has usual.log 'ppo_max_token_len_per_gpu'
has_not usual.log 'override_transformer_config'

# A verl of before April 2025, by a key that it had: it refuses keys that came later. Its micro-batch of all GPUs together is halved as one.
early() { # KEY=VALUE
    printf '# The actor fails on 4 GPUs\n\n'
    printf 'python3 -m verl.trainer.main_ppo actor_rollout_ref.model.path=m actor_rollout_ref.actor.ppo_micro_batch_size=40 %s trainer.n_gpus_per_node=4\n\n' "$1"
    printf 'CUDA out of memory in training, in the backward of update_actor.\n'
}
early critic.model.fsdp_config.grad_offload=True > early.log
early critic.model.fsdp_config.param_offload=True > late.log
for name in early late; do ask $name.log; has $name.log 'actor_rollout_ref.actor.ppo_micro_batch_size=20'; done
for key in strategy=fsdp2 enable_activation_offload=True tiled_mlp.enabled=True use_fused_kernels=True; do
    has late.log $key
    has_not early.log $key
done
# An engine that ran, and one that it is compared with: the keys of the first, and no value of the second.
site='  File "/usr/lib/python3.11/site-packages/'
full='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 64.00 MiB. GPU 0 has a total capacity of 39.50 GiB of which 20.00 MiB is free. Including non-PyTorch memory, this process has 39.40 GiB memory in use. Of the allocated memory 38.70 GiB is allocated by PyTorch'
for flag in '--gpu-memory-utilization 0.9' '--gpu_memory_utilization 0.9'; do
    { printf 'It does not start\n\nvLLM serves this model with `%s`.\n' "$flag"
      echo "${site}sglang/srt/model_executor/model_runner.py\", line 1500, in init_memory_pool"; echo '    self.token_to_kv_pool = MHATokenToKVPool('
      echo "${site}sglang/srt/mem_cache/memory_pool.py\", line 500, in _create_buffers"; echo '    torch.zeros('
      echo "$full"; } > rival.log
    ask rival.log
    has rival.log 'Framework: SGLang'
    has rival.log '--mem-fraction-static <less'
    has_not rival.log 'Set now: gpu'
    has_not rival.log '--kv-cache-memory-bytes'
done
# vLLM's own failure keeps its keys, whatever SGLang is said to do.
{ printf 'It does not start\n\nSGLang serves this model. I use `--gpu-memory-utilization 0.9`.\n'
  echo "${site}vllm/v1/worker/gpu_model_runner.py\", line 5800, in _allocate_kv_cache_tensors"; echo '    torch.zeros('
  echo "$full"; } > own.log
ask own.log
has own.log '--gpu-memory-utilization 0.'
has_not own.log 'mem-fraction'

# The command of a server, and the inner end of a traceback that is PyTorch's alone: the engine failed. A trainer beside it may have.
serve='python3 -m sglang.launch_server --model-path m/n --mem-fraction-static 0.92 --chunked-prefill-size 16384'
{ echo 'The server dies in inference when requests come'; echo "${site}torch/_ops.py\", line 1209, in __call__"; echo "$full"; echo "$serve"; } > inner.log
ask inner.log
has inner.log '--mem-fraction-static 0.87'
has inner.log '--chunked-prefill-size 8192'
has_not inner.log 'inference_mode()'
{ echo 'Training dies beside the server'; echo "${site}transformers/trainer.py\", line 4020, in training_step"; echo "${site}torch/_tensor.py\", line 580, in backward"; echo "$full"; echo "$serve"; } > beside.log
ask beside.log
has_not beside.log '--chunked-prefill-size 8192'

# A fork that prints its memory in a form of its own, and is named nowhere.
{ echo '# The update dies'; echo; echo 'In training, in the update of the actor: CUDA out of memory'; echo
  echo '(WorkerDict pid=80) Before vllm offload in sharding manager: 23.76 GB / 47.53 GB.'
  echo '(WorkerDict pid=80) After vllm offload in sharding manager: 20.73 GB / 47.53 GB.'; } > lines.log
ask lines.log
has lines.log 'worker.actor.micro_batch_size_per_device_for_update'
sed 's/In training, in the update of the actor: /In GRPO training: /' lines.log > broad.log # any pass of it may be meant
ask broad.log
has broad.log 'worker.actor.micro_batch_size_per_device_for_experience=8'
has_not lines.log actor_rollout_ref
sed 's| sharding manager: \([0-9.]*\) GB / \([0-9.]*\) GB.| sharding manager memory, memory allocated (GB): \1, memory reserved (GB): \1, device memory used/total (GB): \1/\2|' lines.log > verl.log
ask verl.log
has verl.log actor_rollout_ref
has_not verl.log 'worker.actor'

# A loop of somebody's own on DeepSpeed, some of whose variables are called as options of TRL: the dict that it hands over has the values.
{ printf '# OOM with my GRPO loop\n\n```python\nanswers = 4\nrows = 2\nmax_prompt_length = 512\nds_config = {\n    "train_micro_batch_size_per_gpu": rows*answers,\n'
  printf '    "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}}\n}\n```\n\n'; echo "$full"; } > loop.log
ask loop.log
has loop.log '"train_micro_batch_size_per_gpu": 4'
has_not loop.log 'peft_config'
has_not loop.log 'per_device_train_batch_size'
has_not loop.log 'offload_optimizer.device'

# ZeRO-3 gathers the model where TRL unwraps it for generation: no batch makes it smaller. With vLLM nothing is unwrapped.
{ echo '# RLOO with LoRA of a 70B model: OOM in unwrap_model_for_generation'; echo; echo 'I use trl and DeepSpeed ZeRO-3 on 8 H100. CUDA out of memory at each step.'; } > unwrap.md
ask unwrap.md
has unwrap.md 'ds3_gather_for_generation=False'
has unwrap.md 'synced_gpus=True'

# The engine's share is no change for a test of SFT beside others, nor where the engine is off; a language model has no images.
{ echo '# The tests of trl fail: OOM'; echo; echo 'FAILED tests/test_sft_trainer.py::T::test_loss - torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.54 GiB. GPU 0 has a total capacity of 14.74 GiB of which 722.19 MiB is free. Process 56 has 3.56 GiB memory in use. Process 47 has 9.17 GiB memory in use. Of the allocated memory 3.34 GiB is allocated by PyTorch, and 70.13 MiB is reserved by PyTorch but unallocated.'; } > tests.md
ask tests.md
has_not tests.md vllm_gpu_memory_utilization
{ printf '# GRPO OOM\n\n```python\nfrom trl import GRPOConfig, GRPOTrainer\nargs = GRPOConfig(per_device_train_batch_size=4, num_generations=4, use_vllm=%s)\n```\n\nCUDA out of memory.\n' False > off.md; }
ask off.md
has_not off.md vllm_gpu_memory_utilization
sed 's/False/True/' off.md > on.md
ask on.md
has on.md vllm_gpu_memory_utilization
{ echo '# DPO of a small LLM: OOM in training'; echo; echo '  File "train_dpo.py", line 93, in train_epoch'; echo '    scaler.scale(loss).backward()'; echo "$full"; } > texts.md
ask texts.md
has texts.md 'shorter texts'
has_not texts.md 'smaller images'

# Processes that the launcher counts, on a line above the command; ZeRO-3's file of ms-swift works out its bucket itself.
{ printf '# OOM\n\nCUDA out of memory in training.\n\n```\nswift rlhf --rlhf_type grpo --use_vllm true --vllm_mode server --per_device_train_batch_size 2 --deepspeed zero3\n```\n'; } > bucket.md
ask bucket.md
has bucket.md '--per_device_train_batch_size 1'
has_not bucket.md reduce_bucket_size
{ printf '# OOM\n\nCUDA out of memory.\n\n```\nexport NPROC_PER_NODE=4\nswift rlhf --rlhf_type grpo --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.7 --per_device_train_batch_size 1\n```\n'; } > four.md
ask four.md
has four.md '--vllm_tensor_parallel_size 2'
has four.md '--vllm_gpu_memory_utilization 0.65'
sed 's/^export \(NPROC.*\)/\1 \\/' four.md > above.md
ask above.md
has above.md '--vllm_tensor_parallel_size 2'
sed 's/NODE=4/NODE=1/' four.md > one.md
ask one.md
has_not one.md '--vllm_tensor_parallel_size 2'

# A program that runs the engine refuses the engine's own flags.
{ echo '# EasyR1: vLLM does not start'; echo; echo 'ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.'; } > flags.md
ask flags.md
has flags.md 'worker.rollout.gpu_memory_utilization'
has_not flags.md '--max-num-seqs'

# An engine in the trainer's processes is divided over them; a file that is called ZeRO-3 divides the states already.
{ printf '# GRPO of 7B: OOM\n\n```python\nfrom trl import GRPOConfig, GRPOTrainer\na = GRPOConfig(per_device_train_batch_size=8, use_vllm=True, vllm_mode="colocate", vllm_gpu_memory_utilization=0.5)\n```\n\naccelerate launch --config_file zero3.yaml --num_processes 4 grpo.py\n\nCUDA out of memory.\n'; } > colocate.md
ask colocate.md
has colocate.md 'vllm_tensor_parallel_size=2'
has colocate.md 'vllm_gpu_memory_utilization=0.45'
has_not colocate.md '--use_deepspeed --zero_stage 3'

finish
