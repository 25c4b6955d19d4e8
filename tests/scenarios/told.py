"""Logs whose advice the settings beside them, a path or the age of PyTorch decide."""

from generator.scenario import Scenario
from logs import SITE, TRAINER, alone, frames, torch_says

RUN = ("--config", "{folder}/run.sh")


def with_script(name, ticket, text, command, cause="capacity", **more):
    return Scenario("told-" + name, ticket, {}, snapshot=False, files={"job.log": text, "run.sh": "#!/bin/bash\n" + command + "\n"}, cause=cause, options=RUN, **more)


def zero(name, ticket, section, more, must, must_not=(), before=""):
    """A trainer under DeepSpeed on two cards, whose configuration is at hand."""
    command = "torchrun --nproc_per_node 2 fit.py --deepspeed ds.json --model_name_or_path site/House-8B --per_device_train_batch_size 2 --learning_rate 1e-5 --bf16 True" + more
    files = {"job.log": before + torch_says(14.9, 39.39, 8.27, 30.53, 0.02), "run.sh": "#!/bin/bash\n" + command + "\n",
             "ds.json": '{"bf16": {"enabled": true}, "zero_optimization": %s}\n' % section}
    return Scenario("told-" + name, ticket, {}, snapshot=False, files=files, cause="capacity", options=RUN + ("--config", "{folder}/ds.json"), must=must, must_not=must_not)


def old_says(request, capacity, allocated, free, cached):
    """PyTorch 1.2 and 1.3."""
    return ("RuntimeError: CUDA out of memory. Tried to allocate %.2f GiB (GPU 0; %.2f GiB total capacity; %.2f GiB already allocated; %.2f GiB free; %.2f GiB cached)\n"
            % (request, capacity, allocated, free, cached))


FULL = torch_says(0.7, 39.4, 0.3, 37.9, 0.2)
CORE = "(EngineCore_DP0 pid=77) "
SAMPLES = (frames(CORE, (SITE + "vllm/v1/worker/gpu_worker.py", 380, "compile_or_warm_up_model"), (SITE + "vllm/v1/sample/sampler.py", 90, "forward"))
           + CORE + torch_says(0.5, 44.4, 0.2, 33, 0.3, "Including non-PyTorch memory, this process has 44.20 GiB memory in use. "))
CACHE = (frames(CORE, (SITE + "vllm/v1/worker/gpu_model_runner.py", 6000, "initialize_kv_cache_tensors"), (SITE + "vllm/v1/worker/gpu_model_runner.py", 5800, "_allocate_kv_cache_tensors"))
         + CORE + torch_says(1.4, 44.4, 0.2, 43.1, 0.2))
ZERO3_STEP = (frames("", (SITE + "deepspeed/runtime/engine.py", 2100, "_take_model_step"), (SITE + "deepspeed/runtime/zero/stage3.py", 2050, "step"),
                     (SITE + "deepspeed/runtime/zero/stage3.py", 950, "_optimizer_step"), (SITE + "torch/optim/adamw.py", 200, "step"))
              + torch_says(2.5, 79.1, 1.9, 74, 1.1))
BOXES = frames("", ("/w/mmdetection/mmdet/models/task_modules/assigners/max_iou_assigner.py", 190, "assign")) + torch_says(2, 23.6, 1.1, 21, 0.2)
OLD_BOXES = ('Traceback (most recent call last):\n  File "/w/mmdetection/mmdet/core/bbox/geometry.py", line 63, in bbox_overlaps\n    overlap = wh[:, :, 0] * wh[:, :, 1]\n'
             "RuntimeError: CUDA error: out of memory\n")
UNPADS = (frames("", ("/w/axolotl/src/axolotl/monkeypatch/llama_attn_hijack_flash.py", 300, "generate_qkv"), (SITE + "flash_attn/bert_padding.py", 110, "unpad_input"))
          + torch_says(210, 79.1, 70, 7, 0.2))
WINDOWS = ('  File "D:\\jobs\\images\\environments\\python-3.9\\Lib\\site-packages\\torch\\nn\\modules\\batchnorm.py", line 150, in forward\n    return F.batch_norm(\n'
           + torch_says(0.2, 12, 5.1, 4, 0.2))
POOL = "RuntimeError: CUDA Error: out of memory at /w/csrc/cumem_allocator.cpp:62\n"
NPU = ("RuntimeError: NPU out of memory. Tried to allocate 9.50 GiB (NPU 5; 60.97 GiB total capacity; 44.00 GiB already allocated; 44.00 GiB current active; 8.80 GiB free; "
       "50.10 GiB reserved in total by PyTorch)\n")
PPO = """\
data: {train_batch_size: 512, max_prompt_length: 512, max_response_length: 1024}
actor_rollout_ref:
  model: {path: Qwen/Qwen2.5-7B-Instruct}
  actor: {strategy: fsdp, ppo_mini_batch_size: 64, ppo_micro_batch_size_per_gpu: 1}
  rollout: {gpu_memory_utilization: 0.35}
critic: {ppo_micro_batch_size_per_gpu: 1}
trainer: {n_gpus_per_node: 8, nnodes: 1}
"""
ZERO3 = (SITE + "deepspeed/runtime/zero/parameter_offload.py", 430, "pre_sub_module_forward_function")
FETCHED = (frames("[rank1]: ", ("/w/finetune.py", 40, "main"), (SITE + "transformers/trainer.py", 2500, "training_step"), ZERO3, (SITE + "deepspeed/runtime/zero/partitioned_param_coordinator.py", 310, "fetch_sub_module"),
                  (SITE + "deepspeed/runtime/zero/partition_parameters.py", 1340, "all_gather_coalesced")) + "[rank1]: " + torch_says(1.1, 39.4, 0.4, 37.6, 0.9))
LISTED = (frames("", ("/w/rl/sync.py", 40, "push"), (SITE + "deepspeed/runtime/zero/partition_parameters.py", 2224, "__enter__"), (SITE + "deepspeed/runtime/zero/partition_parameters.py", 1143, "all_gather"))
          + torch_says(1.1, 39.4, 0.4, 37.6, 0.9))
MOMENTS = (frames("", ("/w/pretrain.py", 88, "main"), (SITE + "deepspeed/runtime/engine.py", 2100, "step"), (SITE + "deepspeed/runtime/zero/stage_1_and_2.py", 1900, "step"), (SITE + "deepspeed/ops/adam/fused_adam.py", 150, "step"))
           + '    state["exp_avg_sq"] = torch.zeros_like(p.data)\n' + torch_says(3.4, 39.4, 2.1, 36.6, 0.1))
DEPLOYED = frames("", (SITE + "swift/cli/deploy.py", 5, "<module>"), (SITE + "swift/llm/infer/deploy.py", 200, "deploy_main"), (SITE + "torch/nn/modules/linear.py", 125, "forward")) + FULL
PRIVATE = frames("", ("/w/seg/main.py", 300, "<module>"), ("/w/seg/loop.py", 120, "_train"), ("/w/seg/loop.py", 190, "_validate"), ("/w/seg/net.py", 50, "call")) + FULL
BUILT = frames("", ("/w/lm/main.py", 90, "train"), ("/w/lm/parts.py", 70, "setup_optimizer"), ("/w/lm/sharded.py", 30, "__init__")) + FULL
CONSTRUCTED = frames("", ("/w/rm/main.py", 90, "<module>"), ("/w/rm/parts/trainer.py", 33, "__init__")) + FULL
BARRED = "[>>>>        ] 40/500, 2.1 task/s, elapsed: 19s, ETA:   219s\n" + FULL
REFERENCE = frames("", ("/w/NeMo/examples/run.py", 300, "main"), ("/w/NeMo/nemo_rl/models/policy/lm_policy.py", 420, "get_logprobs")) + FULL


def with_python(name, ticket, text, script, **more):
    return Scenario("told-" + name, ticket, {}, snapshot=False, files={"job.log": text, "run.py": script}, cause="capacity", options=("--config", "{folder}/run.py"), **more)


SCENARIOS = [
    with_script("a-flag-of-everybody", "--model_name_or_path is in every script made from transformers' examples", frames("", TRAINER) + FULL,
                "python fit.py --model_name_or_path /m --num_train_epochs 2", phase="train", must=["P01", "P02"], must_not=["B31"]),
    with_script("rank-of-an-adapter", "and so is --lora_r, in scripts with peft", FULL, "python fit.py --model_name_or_path /m --lora_r 64 --lora_target_modules q_proj,v_proj", must_not=["B31"]),
    with_script("shards-by-fsdp", "the Trainer's own switch", FULL, 'torchrun --nproc_per_node=8 sft.py --per_device_train_batch_size 2 --learning_rate 1e-5 --fsdp "full_shard auto_wrap"',
                must=["P120"], must_not=["B31", "P32"], sets={"P120": '--fsdp "full_shard offload auto_wrap"'}),
    with_script("shards-on-the-host", "it is on", FULL, 'torchrun --nproc_per_node=8 sft.py --per_device_train_batch_size 2 --fsdp "full_shard auto_wrap offload"', must_not=["P120"]),
    alone("steps-by-groups", "ZeRO-3's step", ZERO3_STEP, "capacity", phase="train", sub=("optimizer",), must=["P121"], sets={"P121": '"sub_group_size": 100000000'},
          not_sets={"B06": "torch.optim.AdamW(params, fused=True)"}),
    Scenario("told-stage-1", "DeepSpeed's file alone", {}, snapshot=False, cause="capacity", files={"job.log": FULL, "ds.json": '{"zero_optimization": {"stage": 1}, "train_micro_batch_size_per_gpu": 1}'},
             options=("--config", "{folder}/ds.json"), must=["P80"]),
    Scenario("told-stage-3", "divided already", {}, snapshot=False, cause="capacity", files={"job.log": FULL, "ds.json": '{"zero_optimization": {"stage": 3}, "train_micro_batch_size_per_gpu": 1}'},
             options=("--config", "{folder}/ds.json"), must_not=["P80"]),
    alone("many-boxes", "MMDetection 3", BOXES, "capacity", must=["P110"]),
    alone("many-boxes-of-an-old-pytorch", "the words of its own allocator, without numbers", OLD_BOXES, "none", must=["P110"]),
    alone("takes-padding-out", "a patched attention computes an impossible size", UNPADS, "giant_tensor", must=["P124", "P35"], must_not=["P01", "B62"], sets={"P124": "sample_packing: false"}),
    alone("old-pieces", "PyTorch 1.2: no setting keeps pieces together", old_says(2, 10.7, 6.2, 0.8, 3.1), "fragmentation", must=["P125", "P30"], must_not=["B01", "B02"]),
    with_script("weights-beyond-the-card", "no share makes room", torch_says(0.3, 22.1, 0.1, 21.4, 0.1), "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-14B-Instruct --gpu-memory-utilization 0.8",
                must=["B47"], must_not=["P08", "P30", "P31"]),
    with_script("weights-in-fewer-bits", "the same model in 4 bits fits", torch_says(0.3, 22.1, 0.1, 21.4, 0.1),
                "python3 -m vllm.entrypoints.openai.api_server --model Qwen/Qwen2.5-14B-Instruct-AWQ --gpu-memory-utilization 0.8", must=["P08/down"]),
    Scenario("told-two-trained-models", "actor and critic of 7 B in 32 bits over 8 cards: 28 GiB of 39", {}, snapshot=False, cause="capacity", files={"job.log": FULL, "ppo.yaml": PPO},
             options=("--config", "{folder}/ppo.yaml"), must=["V22"], sets={"V22": "actor_rollout_ref.actor.fsdp_config.optimizer_offload=True"}),
    with_script("pool-of-a-sleeping-engine", "what the trainer keeps on the card", POOL, "swift rlhf --rlhf_type grpo --model /m --use_vllm true --vllm_mode colocate --vllm_gpu_memory_utilization 0.4",
                "foreign", must=["B55"], sets={"B55": "--offload_optimizer true"}),
    alone("samples-alone", "a server: no trainer is anywhere", SAMPLES, "capacity", must=["P08/down"], must_not=["P16", "P30", "P31"]),
    alone("cache-that-does-not-fit", "it takes what the share leaves, however long a sequence is", CACHE, "capacity", phase="rollout.kv_alloc", must=["P08/down", "B15"], must_not=["B14", "P16"],
          sets={"B15": "--kv-cache-memory-bytes <bytes>"}, not_sets={"B15": "--kv-cache-dtype fp8"}),
    alone("cache-for-one-sequence", "vLLM refuses: then the length and the bits count",
          "ValueError: To serve at least one request with the models max seq len (65536), (9.00 GiB KV cache is needed, which is larger than the available KV cache memory (2.50 GiB). "
          "Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n", "capacity", phase="rollout.kv_alloc",
          must=["P08/up", "B14", "B15"], must_not=["P08/down"], sets={"B15": "--kv-cache-dtype fp8"}),
    alone("refused-on-windows", "paths behind a drive's letter", WINDOWS, "limit", must=["P34"], sets={"P34": "DataLoader(..., num_workers=0)"},
          not_sets={"P34": "sysctl vm.max_map_count; wc -l /proc/PID/maps; ulimit -v"}),
    with_script("adapters-on-16-bits", "LLaMA-Factory's flags", FULL, "llamafactory-cli train --stage sft --do_train --finetuning_type lora --model_name_or_path /m --per_device_train_batch_size 2 --learning_rate 1e-4",
                must=["P02", "B62", "B63"], must_not=["P31", "P32"], sets={"B63": "quantization_bit: 4"}),
    # -- what the settings say that each card keeps, where it is more than the card
    zero("zero-2-of-all-weights", "2 + 2/2 + 12/2 bytes of 7.2e9", '{"stage": 2}', "", ["P132"]),
    zero("zero-2-offloaded", "2 bytes of 7.2e9: the rest is on the host", '{"stage": 2, "offload_optimizer": {"device": "cpu"}}', "", [], ["P132"]),
    zero("zero-2-of-adapters", "whatever the flag is called", '{"stage": 2}', " --use_prompt_tuning True", [], ["P132"]),
    zero("zero-2-of-four-bits", "the name says so", '{"stage": 2}', " --tokenizer site/House-8B-bnb-4bit", [], ["P132"]),
    zero("zero-2-that-trains", "it runs with less: the script is otherwise", '{"stage": 2}', "", ["P02"], ["P132"], "{'loss': 1.5, 'grad_norm': 0.5, 'epoch': 0.1}\n"),
    alone("one-request-of-three-cards", "no packing makes the card larger", frames("", ("/w/unsloth_compiled_cache/unsloth_compiled_module_qwen2_vl.py", 393, "VisionSdpaAttention_forward"))
          + torch_says(272, 79.15, 60.47, 18.02, 0.4), "giant_tensor", must=["B85"], must_not=["B01"]),
    with_script("an-evaluation-a-thousand-times-larger", "no traceback tells the phase", FULL, "python run.py --train_batch_size 4096 --eval_batch_size 4096000 --lr 1e-3",
                must=["P81"], sets={"P81": "--eval_batch_size 2048000"}),
    with_script("a-menu-of-one-program", "the phase is not known: what helps most of its jobs", FULL,
                "deepspeed --module openrlhf.cli.train_ppo --pretrain /m --micro_train_batch_size 2 --zero_stage 2 --bf16 --actor_learning_rate 5e-7",
                must=["B30"], sets={"B30": ["--zero_stage 3", "--adam_offload", "--gradient_checkpointing"]}, not_sets={"B30": "--packing_samples"}),
    with_script("adapters-of-a-script", "whatever its flag is called", torch_says(0.2, 39.39, 0.1, 38.9, 0.02),
                "python fit.py --model_name_or_path models/Mistral-7B-v0.1 --per_device_train_batch_size 2 --learning_rate 1e-5 --use_lora", must=["P02"], must_not=["P132"]),
    with_script("trains-by-its-flags", "a step size: it trains", FULL, "python fit.py --lr 1e-4 --epochs 9", must=["P31"], must_not=["P32"]),
    with_script("chunks-are-large", "half of them may be", frames("", ("/w/slime/slime/backends/megatron_utils/loss.py", 150, "get_log_probs_and_entropy"), ("/w/slime/slime/utils/ppo_utils.py", 600, "calculate_log_probs_and_entropy"))
                + torch_says(2.1, 79.1, 1.2, 75, 0.9), "python3 train.py --tensor-model-parallel-size 2 --max-tokens-per-gpu 16384 --log-probs-chunk-size 4096 --use-dynamic-batch-size",
                must=["X16"], sets={"X16": "--log-probs-chunk-size 1024"}),
    alone("one-request-of-most-of-the-card", "nothing else is in its way", torch_says(20, 23.6, 12, 10, 0.4), "capacity", must=["P30", "P35"], must_not=["P31", "P32", "P01"]),
    with_script("pieces-on-an-npu", "no engine beside the trainer", NPU, "megatron sft --model /m --train_type full --micro_batch_size 1 --max_length 4096", must=["B01"],
                sets={"B01": "PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"}),
    # -- whole parameters of ZeRO-3, and what its optimizer keeps
    alone("layers-gathered-ahead", "ZeRO-3 has a layer whole before it is used", FETCHED, "capacity", must=["P130", "P131"], sets={"P130": "zero_optimization.stage3_prefetch_bucket_size: 10000000", "P131": "zero_optimization.offload_param.device: cpu"}),
    alone("all-parameters-gathered", "the job lists all of them", LISTED, "capacity", must=["P130"], sets={"P130": "gather one parameter after the other: for p in model.parameters(): with deepspeed.zero.GatheredParameters([p]): ..."},
          not_sets={"P130": "zero_optimization.stage3_max_live_parameters: 100000000"}),
    alone("moments-of-the-first-step", "state, and no temporary", MOMENTS, "capacity", phase="train", must=["P131"], must_not=["B06"], sets={"P131": "zero_optimization.offload_optimizer.device: cpu"},
          not_sets={"P131": "zero_optimization.offload_param.device: cpu"}),
    # -- what names and bars say
    alone("a-private-evaluation", "in the training's own loop", PRIVATE, "capacity", phase="eval", must_not=["P01", "P02", "B06"]),
    alone("an-optimizer-is-built", "by a function that trains", BUILT, "capacity", phase="init", must=["P50"], must_not=["P01", "P02"]),
    alone("a-trainer-is-built", "nothing has run", CONSTRUCTED, "capacity", phase="init", must=["P50"], must_not=["P01", "P02"]),
    alone("a-line-that-makes-a-trainer", "pasted without its frame", "    trainer = RewardTrainer(model=model, args=args, train_dataset=data)\n" + FULL, "capacity", phase="init", must=["P50"], must_not=["P01"]),
    alone("a-line-that-loads", "the same", "    model = load_model(path, device)\n" + FULL, "capacity", phase="init", must=["P50"], must_not=["P01"]),
    alone("a-bar-of-mmcv", "over the data of a test", BARRED, "capacity", phase="eval", must_not=["P01"]),
    alone("a-picture-has-no-vocabulary", "what runs is told by a node's name alone", "KSampler\n" + FULL, "capacity", phase="infer", must_not=["P10"]),
    alone("a-driver-waits-for-log-probs", "NeMo-RL's own method", REFERENCE, "capacity", phase="logp_old", must=["B29"], not_sets={"B29": "policy.train_micro_batch_size=<half of its value>"}),
    # -- what the program at hand does
    with_script("a-server-trains-nothing", "ms-swift's own command", FULL, "swift deploy --model /m --infer_backend vllm --vllm_gpu_memory_utilization 0.95 --vllm_max_model_len 8192", must=["B55"],
                not_sets={"B55": ["--deepspeed zero3", "--padding_free true", "--sleep_level 1"]}),
    with_script("a-server-beside-its-trainer", "the script starts both", FULL, "CUDA_VISIBLE_DEVICES=0 swift rollout --model /m &\nNPROC_PER_NODE=7 swift rlhf --rlhf_type grpo --model /m --train_type full --per_device_train_batch_size 4", must=["B55"],
                sets={"B55": "--deepspeed zero3"}),
    with_script("answers-after-its-training", "one after the other", FULL, "NPROC_PER_NODE=8 swift sft --model /m --train_type full --per_device_train_batch_size 4\nswift infer --adapters /out", must=["B55"],
                sets={"B55": "--deepspeed zero3"}),
    alone("a-server-by-its-frames", "no command stands in the log", DEPLOYED, "capacity", must=["B55"], sets={"B55": "--vllm_enforce_eager true"},
          not_sets={"B55": ["--deepspeed zero3", "--per_device_train_batch_size 1", "--padding_free true", "--sleep_level 1"]}),
    with_script("sharded-by-a-named-file", "it divides parameters already", FULL, "NPROC_PER_NODE=8 swift sft --model /m --train_type full --deepspeed /conf/ds_z3_offload.json --per_device_train_batch_size 4", must=["B55"],
                not_sets={"B55": "--deepspeed zero3"}),
    with_script("attention-that-is-off-by-default", "OpenRLHF before 0.8.10", FULL, "deepspeed --module openrlhf.cli.train_rm --micro_train_batch_size 1 --max_len 8192 --zero_stage 3 --bf16 --gradient_checkpointing", must=["B30"],
                sets={"B30": "--flash_attn, of versions before 0.8.10"}),
    with_script("attention-that-is-named", "and its successor", FULL, "deepspeed --module openrlhf.cli.train_rm --micro_train_batch_size 1 --max_len 8192 --zero_stage 3 --attn_implementation flash_attention_2", must=["B30"],
                not_sets={"B30": "--flash_attn, of versions before 0.8.10"}),
    with_script("parameters-still-whole", "a step, whichever part of it", frames("", ("/w/OpenRLHF/openrlhf/trainer/sft_trainer.py", 150, "fit")) + FULL,
                "deepspeed --module openrlhf.cli.train_sft --micro_train_batch_size 2 --zero_stage 2 --flash_attn --gradient_checkpointing", must=["B30"], sets={"B30": ["--zero_stage 3", "--micro_train_batch_size 1"]}),
    with_python("a-pipeline-that-draws", "its script has no flags of a training", FULL, "import torch\nfrom diffusers import FluxPipeline\npipe = FluxPipeline.from_pretrained('/m', torch_dtype=torch.bfloat16)\npipe.to('cuda')\n",
                must=["D02", "D03"], must_not=["P01", "P02", "D04", "B08"]),
    with_python("recomputes-by-its-adapter", "the call that makes the adapter says so", FULL, "from unsloth import FastModel\nfrom transformers import Trainer, TrainingArguments\nmodel, tok = FastModel.from_pretrained(model_name='/m', load_in_4bit=True)\n"
                "model = FastModel.get_peft_model(model, r=8, use_gradient_checkpointing='unsloth')\ntrainer = Trainer(model=model, args=TrainingArguments(per_device_train_batch_size=1))\ntrainer.train()\n", must_not=["P01"]),
    # -- what a text names of commands and libraries
    alone("command-of-tgi", "the image of a container", "# OOM in the warm-up\n\ndocker run --gpus all ghcr.io/huggingface/text-generation-inference:3 --model-id /m --max-input-tokens 8000 "
          "--max-batch-prefill-tokens 9000\n\n" + FULL, "capacity", must=["B130"], must_not=["P01", "P30", "P31"], sets={"B130": ["--max-batch-prefill-tokens 4500", "--max-input-tokens 4000"]}),
    alone("command-of-lmdeploy", "between marks", "# OOM\n\nIt is `lmdeploy serve api_server /m/x --cache-max-entry-count 0.9` here.\n\n" + FULL, "capacity", must=["B131"], must_not=["P01", "P30"],
          sets={"B131": "--cache-max-entry-count 0.7"}),
    alone("command-of-trtllm", "a line of its own", "# OOM\n\ntrtllm-serve /m/x --max_num_tokens 16384 --max_batch_size 64\n\n" + FULL, "capacity", must=["B132"], must_not=["P01", "P30", "P36"],
          sets={"B132": "--max_num_tokens 8192"}),
    alone("class-of-a-pipeline", "it only generates", "# CogVideoXImageToVideoPipeline: OOM\n\n" + FULL, "capacity", must=["D02", "P163"], must_not=["P01", "P02", "P31"]),
    alone("latents-by-hand", "outside of the call that switches autograd off", "# OOM\n\nframes = pipe.decode_latents(x) of a StableVideoDiffusionPipeline\n\n" + FULL, "capacity", must=["P169"], must_not=["P01", "P163"]),
    alone("speech-of-a-chapter", "nothing trains", "# OOM\n\ntts.tts_to_file(text=chapter)\n\n" + FULL, "capacity", must=["P164"], must_not=["P31", "P32"]),
    alone("gaussians-that-grow", "recomputing saves nothing", frames("", ("/w/train.py", 90, "training"), ("/w/gaussian_renderer/__init__.py", 100, "render"),
          (SITE + "diff_gaussian_rasterization/__init__.py", 90, "forward")) + FULL, "capacity", must=["P165"], must_not=["P01", "P02", "P04"]),
    alone("rays-of-a-batch", "rows of a network", "# OOM\n\nns-train nerfacto --data d --vis viewer\n\n" + FULL, "capacity", must=["P166"], must_not=["P165"], sets={"P166": "--pipeline.datamanager.train-num-rays-per-batch 2048"}),
    alone("a-graph-in-one-piece", "no batch of it is smaller", "# OOM with one big graph\n\nout = conv(data.x, data.edge_index) of torch_geometric; loss.backward()\n\n" + FULL, "capacity", must=["P167", "P170"],
          must_not=["P01", "P02"]),
    alone("all-of-it-on-each-card", "whether something divides it nobody says", "# SFTTrainer: OOM in training\n\nFull fine-tuning of a 9B model with trl's SFTTrainer on 2 A100 40GB runs out of memory in training.\n", "none", phase="train", must=["P208"]),
    alone("a-yolo-in-words", "its own levers, and no layers to wrap by hand", "# YOLOv8 runs out\n\nCUDA out of memory while I train yolov8 on frames of 3000 x 2000 pixels with four of them in a batch.\n", "none", phase="train", must=["P207"]),
    alone("toml-of-diffusion-pipe", "by its keys, where another program is spoken of", "# LoRA: OOM\n\nThe same works on kohya_ss.\n\nmicro_batch_size_per_gpu = 4\ngradient_accumulation_steps = 2\ngradient_release = true\nactivation_checkpointing = true\n"
          "pipeline_stages = 1\nwarmup_steps = 10\n\n" + FULL, "capacity", must=["B134"], must_not=["B133"], sets={"B134": "micro_batch_size_per_gpu = 2"}),
    alone("all-weights-by-sd-scripts", "weights, gradients and state", "# Fine-tuning SDXL: OOM\n\naccelerate launch sdxl_train.py --pretrained_model_name_or_path=base.safetensors --train_batch_size=2 --gradient_checkpointing --optimizer_type=Prodigy --mixed_precision=bf16\n\n" + FULL, "capacity", must=["B133"], must_not=["D02"]),
    alone("nodes-of-comfyui", "its own modes", "# ComfyUI: OOM\n\nThe workflow loads two models.\n\n" + FULL, "capacity", must=["P168"], must_not=["P31", "P32"]),
    alone("a-clip-by-its-own-script", "its flags", "# OOM\n\npython generate.py --task i2v-14B --size 1280*720\n\n" + FULL, "capacity", must=["P171"], must_not=["P31"], sets={"P171": "--offload_model True"}),
]
