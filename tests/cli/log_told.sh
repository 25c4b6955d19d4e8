#!/usr/bin/env bash
# What a text says in words alone: the program, the phase, a cause. It counts where nothing else tells, and is marked as told. About 14 s.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # NAME TEXT
    printf '%b\n' "$2" > "$1"
    run 0 report "$1" --force --no-config --format json -o "$1.json"
    run 0 report "$1" --force --no-config --format text -o "$1.text"
}
phase() { check [ "$(jq -r .verdict.phase "$1.json")" = "$2" ]; }
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# The phase: in a title, in a sentence over two lines, in Chinese; the special one before the one that a whole job is called by.
ask title 'OOM in weight sync with our new nodes\n\nAny hint is welcome.'
phase title weight_sync
has title 'The phase is what line 1 says.'
ask lines 'We train a 7B model. Writing the shards, that is saving the\nmodel, causes OOM.'
phase lines ckpt_save
ask special 'Training hits OOM on 8 cards.\nIt is OOM again when the engine is woken up.'
phase special rollout.wake_sleep
ask chinese '同步权重的时候会导致oom'
phase chinese weight_sync
ask saving 'OOM when saving the model'
phase saving ckpt_save
# What did not fail, and what is only asked about, tells none.
ask denied 'OOM on one node. There is no OOM in the weight sync.'
phase denied unattributed
ask other 'OOM on one node.\n\nInference works.'
phase other unattributed
# "oom" inside a word tells of none; what was not met is no failure.
ask bloom 'We are training bloom-7b here.\n\nThen OOM when saving the model.'
phase bloom ckpt_save
for text in 'We did not get an OOM while training.' '训练过程中没有出现显存不足，只是很慢。'; do
    echo "$text" > met
    run 1 report met --force --no-config --format text -o met.text
done
# The error by the driver's name alone, as a title has it; code that handles it tells of none.
ask driver '# CUDA_ERROR_OUT_OF_MEMORY on four cards\n\nHow can it be avoided?'
has driver 'ran out of memory'
echo 'if (rc == CUDA_ERROR_OUT_OF_MEMORY) return -1;' > handled
run 1 report handled --force --no-config --format text -o handled.text
# PyTorch's own sentence is no person's.
ask own 'we follow the training recipe and get\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 22.00 GiB memory in use. Of the allocated memory 21.10 GiB is allocated by PyTorch, and 400.00 MiB is reserved by PyTorch but unallocated.'
phase own unattributed
# A traceback without its error, and a script that does one thing alone.
ask cut 'it stops with OOM\n  File "/w/go.py", line 9, in <module>\n    loss.backward()\n  File "/opt/py/site-packages/torch/_tensor.py", line 521, in backward'
phase cut train
ask script 'OOM\n\npipe = StableDiffusionPipeline.from_pretrained(name)\nimage = pipe(prompt).images[0]'
phase script infer
has script 'pipe.enable_model_cpu_offload()'
# A log of a job is no text of a person: its first lines do not tell the last ones.
{ echo 'OOM in weight sync is what we fear'; seq 300; echo 'CUDA out of memory'; } > long
run 0 report long --force --no-config --format json -o long.json
phase long unattributed
# A title in Markdown makes it a ticket with a log in it.
{ printf '# CUDA OOM during validation\n\n'; seq 300; echo 'CUDA out of memory'; } > titled
run 0 report titled --force --no-config --format json -o titled.json
phase titled eval
# Its lines of words, however many, leave room for its own error.
{ seq -f 'request %.0f waits, the pool is out of memory' 70000; echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB.'; } > many
run 0 report many --force --no-config --format json -o many.json
check [ "$(jq -r .verdict.request_bytes many.json)" = 2147483648 ]

# The program, by a name in words; not one of a path, nor one that is not used.
ask named 'Qwen with verl runs into OOM on 8 cards'
has named 'actor_rollout_ref.'
has_not named 'what ran here is not known'
ask engine 'vLLM gives me OOM at 32k tokens'
has engine '--gpu-memory-utilization'
has_not engine 'backward()'
ask tuner 'OOM with LLaMA-Factory on a 4090'
has tuner 'gradient_accumulation_steps'
ask shared 'trl: OOM in gather_if_zero3'
has_not shared 'SWIFT_'
ask path 'OOM, the data lie in /data/verl/train.parquet'
has path 'what ran here is not known'
ask unused 'OOM without verl as well'
has unused 'what ran here is not known'

# By a call in its code; what a library is asked for, by a script's class or by words: nothing trains there.
ask call 'OOM of my llama on two cards\n\nllm = LLM(model="/m/llama", tensor_parallel_size=2)'
has call '--max-num-seqs'
has_not call 'backward()'
ask quantise 'OOM when I try to quantize my own model of 30 layers'
has quantise 'one layer on the card at a time'
has_not quantise 'backward()'
printf 'm = AutoGPTQForCausalLM.from_pretrained(name, config)\nm.quantize(samples)\n' > gptq.py
echo 'OOM, the script is beside this' > gptq
run 0 report gptq --force --config gptq.py --format text -o gptq.text
has gptq 'cache_examples_on_gpu=False'
has_not gptq 'n_parallel_calib_samples'
# A model of 4 bits refuses a cast: it is not told to take one.
ask four 'CUDA out of memory during inference of my net, loaded with load_in_4bit=True'
has four 'in inference'
has_not four 'model.to(dtype'
ask whole 'CUDA out of memory during inference of my net'
has whole 'model.to(dtype'
# What the program itself refuses is not advised.
ask refuses 'prime-rl: the trainer OOMs in the first training step.\n\nValueError: CP is not supported for RL'
has refuses '--trainer.model.'
has_not refuses 'model.cp'
ask takes 'prime-rl: the trainer OOMs in the first training step.'
has takes 'model.cp'
# By keys of its settings alone, and what they say: an actor on one card, or on several.
printf 'cluster:\n  component_placement:\n    actor: 5\n    rollout: 0-4\nactor:\n  micro_batch_size: 40\n' > one.yaml
printf 'cluster:\n  component_placement:\n    actor: 2-5\n    rollout: 0-1\n' > four.yaml
echo 'CUDA out of memory on the card of the actor' > placed
for f in one four; do run 0 report placed --force --config $f.yaml --format text -o $f.text; done
has one 'cluster.component_placement.actor: all'
has one 'actor.micro_batch_size: 20'
has four 'actor.enable_offload: True'
has_not four 'component_placement'

# Which trainer of a program it is, by the same words: settings of its others are not typed; nor is a setting of the trainer for its server.
ask grpo 'GRPOTrainer of trl: OOM in training, on one card of mine'
has grpo 'use_liger_kernel=True'
has grpo 'max_completion_length='
for f in SFTConfig padding_free vllm_; do has_not grpo "$f"; done
ask sft 'SFTTrainer of trl: OOM in training, on one card of mine'
has sft 'max_length='
has_not sft 'max_completion_length'
# shellcheck disable=SC2016 # the backquotes are the text's own
ask server 'trl vllm-serve for our GRPOTrainer gives\nRuntimeError: CUDA out of memory occurred when warming up sampler with 512 dummy requests. Please try lowering `max_num_seqs` or `gpu_memory_utilization` when initializing the engine.'
has server '--gpu_memory_utilization <lower than it is>'
for f in vllm_gpu_memory ds3_gather max_completion; do has_not server "$f"; done
# Of passes that are no more than "training" the one with the larger batch comes first, as it is set.
printf 'python3 -m openrlhf.cli.train_ppo_ray --pretrain /m/q --micro_train_batch_size 2 --micro_rollout_batch_size 24 --zero_stage 3\n' > two.sh
echo 'OOM in training, again and again' > two
run 0 report two --force --config two.sh --format text -o two.text
has two 'memory settings --gradient_checkpointing --micro_rollout_batch_size 12'

# prime-rl by the files of its parts: the orchestrator's own bounds, and no checkpointing where the trainer's file has it.
printf 'batch_size = 8\nmicro_batch_size = 4\nrollouts_per_example = 8\nseq_len = 8192\n' > orch.toml
printf '[model]\nname = "org/one-8B"\n[model.ac]\n[optim]\nlr = 1e-6\n' > train.toml
echo 'OOM within three steps of training' > parts
run 0 report parts --force --config orch.toml --config train.toml --format text -o parts.text
has parts 'micro_batch_size = 2'
has parts 'seq_len = 4096'
has_not parts '--trainer.model.ac '

# What DeepSpeed is set to stands in the text: what is on is not typed again, and what builds the model under it is.
ask zero "OOM while loading the model. ds_config: {'zero_optimization': {'stage': 3, 'offload_optimizer': {'device': 'cpu'}}, 'bf16': {'enabled': True}}"
has zero 'Change first 1. Weights that are smaller, or divided, when they reach the card dschf = HfDeepSpeedConfig('
for f in 'zero_optimization.stage' 'offload_optimizer.device' load_in_4bit 'device_map="auto"'; do has_not zero "$f"; done
ask kbit 'zero3 and 4 bits\n  File "/w/pref.py", line 9, in <module>\n    m = prepare_model_for_kbit_training(m)\n  File "/opt/py/site-packages/peft/utils/other.py", line 130, in prepare_model_for_kbit_training\n    param.data = param.data.to(torch.float32)\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.25 GiB is free. Including non-PyTorch memory, this process has 22.00 GiB memory in use. Of the allocated memory 21.10 GiB is allocated by PyTorch, and 400.00 MiB is reserved by PyTorch but unallocated.'
has kbit 'bnb_4bit_quant_storage=torch.bfloat16'
ask fsdp 'OOM while loading the model with FSDP and accelerate on 3 cards'
has fsdp 'when they reach the card fsdp_config.fsdp_cpu_ram_efficient_loading: true'
for f in HfDeepSpeedConfig zero_optimization 'device_map="auto"'; do has_not fsdp "$f"; done
# An engine that wakes has its share, in the words of each program.
ask wake 'NeMo-RL: OOM when the engine is woken up'
has wake 'policy.generation.vllm_cfg.gpu_memory_utilization='

# A cause, marked as the text's; not one that the text denies, nor PyTorch's own hint.
ask cause 'OOM after two hours: memory keeps growing'
has cause 'The text itself, line 1, names a cause: memory that is kept from step to step.'
ask pieces 'OOM at step 2, the freed blocks leave fragmented gaps'
has pieces 'free memory in pieces'
check [ "$(jq -r '.advice[0].title' pieces.json)" = 'Expandable segments' ]
ask no_cause 'OOM after two hours, and it is not a memory leak'
has_not no_cause 'names a cause'
has_not own 'names a cause'
ask asked 'Is this a memory leak? We get OOM at step 1000.'
has_not asked 'names a cause'
# Statements about the phase are weighed: one that ties it to the failure, before a word that stands near; the narrower word, before a job's.
ask tied 'We train with DeepSpeed on 8 cards. The job gets a CUDA OOM while computing the reference log probs.'
phase tied logp_ref
ask subject 'Graph capture runs out of memory, training is fine'
phase subject rollout.graph
ask well 'Training works fine, but validation hits OOM at once'
phase well eval
ask lead 'CUDA OOM when training our model on 4 cards\n\n1. first machine: during initialization of the shards:\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.36 GiB. GPU 0 has a total capacity of 23.65 GiB of which 1.31 GiB is free.'
phase lead init
ask two 'OOM, for training as for inference'
phase two unattributed
ask morning 'Waking up this morning I found my run on the GPU node dead with an OOM'
phase morning unattributed
ask time_behind '训练正常，保存模型时报OOM'
phase time_behind ckpt_save
# What it came after is no phase, and is said.
ask after 'Everything runs until step 40. OOM right after the validation, at the start of the next step.'
has after 'it came after evaluation'
check [ "$(jq -r .verdict.phase after.json)" != eval ]
ask before 'CUDA OOM before saving the first checkpoint'
phase before unattributed
# A traceback without its error is that of the failure which a title tells of, wherever it stands; one that ends in another error is not.
trace='  File "/w/tune.py", line 40, in main\n    loss.backward()\n  File "/opt/py/site-packages/torch/_tensor.py", line 521, in backward\n    torch.autograd.backward('
ask headed "# CUDA OOM on two cards\n\nWhat I see:\n\`\`\`\nTraceback (most recent call last):\n$trace\n\`\`\`\nAny hint?\nThanks a lot."
phase headed train
has headed 'Line 1 says in words that it ran out of memory, and the traceback ends in training (backward), at w/tune.py:40 main'
ask another "# CUDA OOM on two cards\n\nAnd then this:\nTraceback (most recent call last):\n$trace\nValueError: no such key"
has_not another 'the traceback ends'
# A title beside an error that is cut takes nothing from it.
ask beside "One more CUDA OOM with our 70b.\n\nTraceback (most recent call last):\n$trace\ntorch.cuda.OutOfMemoryError: CUDA out of memory. Tried to all"
has beside 'in training (backward), ran out of memory'
# A title that ends within the error's sentence, and the whole of it below.
ask fuller '# OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB.\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 3.00 GiB. GPU 1 has a total capacity of 23.65 GiB of which 1.31 GiB is free.'
has fuller 'asked for 3.00 GiB and 1.31 GiB of 23.65 GiB were free'
has_not fuller 'failures'

# A failure that is over, another's words, and one that was only feared, are none; the errors somebody keeps getting are.
for text in 'The OOM was solved by a smaller batch. Now it hangs in step 3.' '> we had an OOM there, says my colleague' 'Lower it if you get an OOM error.' 'The OOM was caught by a handler, and NCCL hangs since.' 'It is written to out/gpu-oom and to oom/ beside it.'; do
    echo "$text" > over
    run 1 report over --force --no-config --format text -o over.text
done
# shellcheck disable=SC2016 # the backquotes are the text's own
for text in 'If I go to 8 sequences I get an OOM' 'I keep getting OOM errors on 4 cards' 'How can I fix the CUDA out of memory?' '# OOM when scaling up n_cards' 'Not enough VRAM for 512 pixels' 'it says `CUDA out of memory` at step 1'; do
    ask met "$text"
    has met 'ran out'
done
# Whose memory: the nearer name tells, and both where both ran out.
ask host 'The host RAM is full: OOM on the GPU node'
check [ "$(jq -r .log_diagnosis.cause host.json)" = host ]
ask card 'OOM on our GPU, it has 45 GB of RAM'
check [ "$(jq -r .log_diagnosis.cause card.json)" = unknown ]
ask both 'With a share of 0.8 I get CUDA OOM.\nWith 0.6 it is killed by the OOM killer.'
has both 'The host ran out of memory as well, in line 2'
has both '1 somebody says that memory ran out'
has_not both 'PyTorch could not allocate'
# The most of a time is not what is allocated now.
ask peaks 'rank 0 => After init, memory allocated (GB): 20.50, max memory allocated (GB): 26.75, memory reserved (GB): 27.75, max memory reserved (GB): 27.75, device memory used/total (GB): 30.00/61.00\nthen OOM'
has peaks 'allocated 20.50 GiB, reserved 27.75 GiB'

# Causes, each by another way of saying it; who denies one does not say it.
for pair in 'the memory gradually increases until OOM|kept from step to step' 'OOM: the buffers are never released|not given back' 'a sudden spike in memory, then OOM|jumps up at once' 'OOM: every rank loads the whole thing|in one process, before it is divided' \
    'OOM although it is not sharded|whole on each' 'OOM, and only GPU 0 is used|all on one card' 'OOM: the weights are there twice|there twice'; do
    ask why "${pair%|*}"
    has why "${pair#*|}"
done
ask why_not 'OOM without any memory leak, the buffers are not fragmented'
has_not why_not 'names a cause'
# Words that only look like "fine"; what stands behind "OOM"; steps that were going on; a worker that was killed then.
# shellcheck disable=SC2016 # the backquotes are the text's own
for pair in 'OOM while fine-tuning a ViT|train' 'CUDA OOM loading the second model|init' 'OOM after 30 validation steps|eval' 'OOM in AutoModel.from_pretrained()|init' 'it stops with OOM in actor_rollout_generate_sequences|rollout.generate' 'OOM when per_device_train_batch_size is 2|unattributed' '# CUDA OOM\\n\\nMemory grows by 2 GB, then OOM in the backward|train' 'Weights are there twice: OOM while loading|init' 'The first backward ends in CUDA OOM|train' 'fine-tuning 70B I ran into an OOM in the merge step|init' 'OOM in `compute_values`|values' 'HIP out of memory when capturing the graphs|rollout.graph' \
    'DataLoader worker (pid 7) is killed by signal: Killed.\nThis happens during validation.|eval' 'Gradient checkpointing causes OOM in the backward|train' 'after training is done, CUDA OOM|unattributed'; do
    ask now "${pair%|*}"
    phase now "${pair##*|}"
done
# A phase that is denied has no vote, what is over has none, what is so "now" or behind "not" weighs more; in Chinese as well. What only sounds like it is left alone.
while IFS='|' read -r want text; do
    ask now "$text"
    phase now "$want"
done << 'END'
eval|The OOM while saving the checkpoint is gone since we shard it. Now the validation runs out of memory.
ckpt_save|CUDA OOM on 8 cards. It is not in the weight sync, but when the checkpoint is saved.
unattributed|CUDA out of memory on 4 cards, never during validation.
train|Loading the model used to give OOM, which 4 bits fixed, but the backward pass OOMs now.
ckpt_save|The rollout never ran out of memory. What does is saving the checkpoint: CUDA OOM on rank 0.
train_actor|CUDA OOM. It wasn't during the critic update, it was during the actor update.
logp_ref|CUDA OOM at step 4: neither in the rollout nor in the actor update, but while computing the reference log probs.
unattributed|Somewhere the job gets a CUDA OOM; saving the model is not where it happens.
rollout.generate|CUDA out of memory. Tried to allocate 512.00 MiB in the rollout, not when the weights are synced
ckpt_save|不是在验证时OOM，而是在保存模型时OOM
train|训练报OOM，不是在保存模型时
ckpt_save|训练不再OOM了，但是保存检查点时显存不足
train|# OOM in the validation was fixed, but training dies\n\nThe error in the validation went away at step 40. Now the forward pass of the training fails:\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.20 GiB is free.
train|CUDA OOM without the offload during training.
rollout.wake_sleep|GPU OOM when vLLM wakes up, rather than in the weight sync.
weight_sync|之前保存模型OOM，已解决。现在权重同步时爆显存
eval|OOM in evaluation, not only with large batches.
train|OOM in the backward, it does not happen with batch 1 in training.
rollout.generate|The batch is fixed by the config and the rollout runs out of memory.
ckpt_save|It crashed with CUDA OOM, and not the first time, when saving the model.
eval|Does anyone know why validation runs out of memory? Training works fine.
eval|Feature request: I get OOM in validation, please free the cache. No crash in training.
init|With 8 bits there is no crash. With 16 bits loading the model gives OOM. My colleague says that loading is fine.
END
# Words about a failure that nobody met: a question, another's words, a wish, and that nothing failed.
while read -r text; do
    printf '%b\n' "$text" > unmet
    run 1 report unmet --force --no-config --format text -o unmet.text
done << 'END'
Can saving the model cause a CUDA OOM? I have not seen it. All our runs finish.
My colleague says that generation runs out of memory in vLLM. Our job works fine.
# Feature request\n\nPrint a hint before CUDA out of memory is raised in the rollout.\n\nNothing crashed.
Docs question: what does "CUDA out of memory" mean during weight sync? We have no failure here.
功能建议：在显存不足时打印提示。我们没有遇到报错。
People say training runs out of memory with 70B. I have not seen it here.
保存模型会不会导致显存不足？我这里一切正常。
END
ask loss 'We get OOM at step 9. Before it the loss keeps increasing, and the next version is not released yet.'
has_not loss 'names a cause'
# A text that speaks of memory and names no failure is not said to tell of none.
ask speaks 'GPU memory is a problem here, it grows.\n[2025-05-02 11:20:01 TP0] Load weight end. type=Qwen2ForCausalLM, dtype=torch.bfloat16, avail mem=8.87 GB, mem usage=14.25 GB.'
has speaks 'line 1 speaks of memory in words that name no failure for certain'
# A turn from one stage to the other, an engine that tries itself out, a learning rate that warms up, a decoder called by hand.
ask turn 'SkyRL goes OOM when, after generation is done, it switches to the training stage.'
phase turn onload_offload
ask turn_zh 'rollout 结束后切换到训练阶段时 OOM'
phase turn_zh onload_offload
ask warm '# OOM during warmup\n\nOur server for a 12B model does not come up.'
phase warm rollout.profile
ask rate '# OOM during warmup steps\n\nThe learning rate rises at first.'
phase rate train
ask decoder 'When I call vae.decode_latents by hand it runs out of memory.'
phase decoder infer
ask speech 'I run out of GPU memory when I synthesize a long sentence.'
phase speech infer
# The narrower statement about the same phase, wherever it stands; "as early as".
ask narrow '# OOM in SFT training of a video model\n\nIt trains for 40 steps, then fails during backward with an OOM.'
check [ "$(jq -r .verdict.sub_phase narrow.json)" = backward ]
has narrow 'The phase is what line 3 says.'
ask early 'It runs out of memory as early as the 3rd GRPO backward step.'
check [ "$(jq -r .verdict.sub_phase early.json)" = backward ]
ask early_zh 'GRPO 第 3 步反向传播时显存不足'
check [ "$(jq -r .verdict.sub_phase early_zh.json)" = backward ]
# The failure stands above the log of what came before it.
printf '%s\n' '[ERROR] failed (exitcode: -9) local_rank: 0 (pid: 438) of binary: /opt/py/bin/python' '' \
    '[2025-09-10 20:17:23,528] [INFO] [utils.py:781:see_memory_usage] Before creating fp16 partitions' \
    '[2025-09-10 20:17:23,529] [INFO] [utils.py:782:see_memory_usage] MA 0.0 GB         Max_MA 0.0 GB         CA 0.0 GB         Max_CA 0 GB ' > above
run 0 report above --force --no-config --format json -o above.json
phase above init
# Weights that are brought to the engine, in other words.
ask brought 'It dies with an OOM while the weights are synchronised to SGLang'
phase brought weight_sync
ask over 'GPU OOM: it happens when it moves the weights to the engine'
phase over weight_sync
# The states of a checkpoint go to where the parameters are; a logger's line has the traceback that begins below it.
printf '%s\n' '2024-01-02T20:02:49 ERROR: CUDA out of memory. Tried to allocate 48.00 MiB (GPU 0; 23.65 GiB total capacity; 21.71 GiB already allocated; 5.56 MiB free; 21.73 GiB reserved)' \
    'Traceback (most recent call last):' '  File "tools/main.py", line 94, in <module>' '    run()' '  File "/w/app/keeper.py", line 41, in bring_back' \
    '    self.opt.load_state_dict(saved["opt"])' '  File "/opt/py/lib/python3.10/site-packages/torch/optim/optimizer.py", line 171, in load_state_dict' '    state_dict = deepcopy(state_dict)' > states
run 0 report states --force --no-config --format json -o states.json
run 0 report states --force --no-config --format text -o states.text
phase states ckpt_load
has states 'keeper.py:41 bring_back'
# What measures a full batch is the trial of an engine that starts, not its set-up.
printf '%s\n' '# vLLM 0.6.3 with images: OOM' '' 'Traceback (most recent call last):' '  File "/opt/py/lib/python3.10/site-packages/vllm/engine/llm_engine.py", line 483, in _initialize_kv_caches' \
    '    self.model_executor.determine_num_available_blocks())' '  File "/opt/py/lib/python3.10/site-packages/vllm/executor/gpu_executor.py", line 114, in determine_num_available_blocks' > trial
run 0 report trial --force --no-config --format json -o trial.json
run 0 report trial --force --no-config --format text -o trial.text
phase trial rollout.profile
has trial '--max-num-seqs'

# What stands nearer to the failure than the title: the verb of its sentence, the model that is being prepared, a script that somebody says they run.
oom='CUDA out of memory. Tried to allocate 54.00 MiB. GPU 0 has a total capacity of 23.63 GiB of which 34.56 MiB is free. Of the allocated memory 20.73 GiB is allocated by PyTorch, and 35.86 MiB is reserved by PyTorch but unallocated.'
for says in 'The error comes while the model is being prepared.' 'It fails when the model is moved to the GPU.'; do
    ask nearer "CUDA out of memory in LoRA training on my card\n\n$says\n\n$oom"
    phase nearer init
done
ask overloaded "$oom\n\nWhy is the card overloaded when it trains this model?"
phase overloaded train
ask hyphen 'CUDA out of memory\n\nAfter a few training steps, at step 4, in the backward, I get an out-of-memory error.'
has hyphen 'in training (backward)'
ask tests "I run test.py on my card and get this:\n$oom"
phase tests eval
ask notebook "!python scripts/inference.py --frames 2\n$oom"
phase notebook infer
ask two "I run train.py and then I run test.py on my card and get this:\n$oom"
phase two unattributed
# Words that tell training or inference alone take the other's part out of what helps most jobs.
ask deployed "The model is deployed on 2 cards.\n\n$oom"
has_not deployed 'it trains'
ask tuned "We do the training on one card.\n\n$oom"
has_not tuned 'If nothing trains'
ask open "Two cards.\n\n$oom"
has open 'If it trains'
has open 'If nothing trains'
# Others hold the card, and this process little: no pass of its own is what fills it.
ask crowded 'Deployed on two cards.\n\nCUDA out of memory. Tried to allocate 20.00 MiB. GPU 7 has a total capacity of 31.74 GiB of which 17.12 MiB is free. Process 11 has 26.79 GiB memory in use. Process 12 has 4.92 GiB memory in use. Of the allocated memory 4.60 GiB is allocated by PyTorch, and 17.83 MiB is reserved by PyTorch but unallocated.'
has crowded 'CUDA_VISIBLE_DEVICES=<a card that is free>'
has_not crowded 'halve the batch'
# "oom/hanging" is two words.
ask pair '# The new branch gives unexpected oom/hanging after the update\n\nAny hint is welcome.'
has pair 'ran out of memory'
echo '# See oom/readme.md for the notes' > path
run 1 report path --force --no-config --format text -o path.text
# A job of reinforcement learning that is "RL training" as a whole, or has an inference engine, is not known to train, or only to run.
ask whole 'RL training runs out of memory on 8 cards'
phase whole unattributed
ask part 'RL training runs out of memory in the backward'
phase part train
ask engine 'verl: OOM, and the inference engine is deployed on 2 cards'
has_not engine 'inference_mode'
ask behind 'We train a model here.\n\nOnce the model is loaded, the backward runs out of memory.'
phase behind train
# What a script of reinforcement learning is called tells no phase: such a job generates, scores and trains.
for name in run_ppo_train_7b.sh train_grpo.py scripts/train_rlhf.yaml; do
    printf 'CUDA out of memory when I run %s on 4 cards\n\nAny help?\n' "$name" > named_job.log
    run 0 report named_job.log --force --no-config --format json -o named_job.json
    check [ "$(jq -r '.verdict.phase' named_job.json)" = unattributed ]
done

finish
