"""Logs whose lines were taken for what they are not, and settings typed in a form or with a number that the job refuses."""

import json

from logs import MODULE, NO_GRAD, SITE, alone, frames, torch_says
from generator.scenario import Scenario

OWN = "/w/seg/"
CARD = torch_says(2, 79.1, 0.5, 76.3, 1.2)
DEEPSPEED = frames("[rank3]: ", (OWN + "train_ds.py", 88, "<module>"), (OWN + "train_ds.py", 60, "main"), (SITE + "deepspeed/runtime/engine.py", 1899, "forward"), MODULE, (OWN + "net.py", 50, "forward"))
YOURS = frames("", (OWN + "train.py", 90, "main"), MODULE, (OWN + "net.py", 50, "forward"))
EVALUATES = (NO_GRAD, (OWN + "main.py", 180, "evaluate"), MODULE, (OWN + "net.py", 50, "forward"))
LLAMA = ("ggml_backend_cuda_buffer_type_alloc_buffer: allocating 9866.00 MiB on device 0: cudaMalloc failed: out of memory\n"
         "alloc_tensor_range: failed to allocate CUDA0 buffer of size 10345250816\nllama_model_load: error loading model: unable to allocate CUDA0 buffer\n")
TITAN = frames("[rank0]: ", ("/w/torchtitan/torchtitan/train.py", 400, "train"), ("/w/torchtitan/torchtitan/train.py", 300, "train_step"), ("/w/torchtitan/torchtitan/train.py", 250, "forward_backward_step"), MODULE, ("/w/torchtitan/torchtitan/models/llama3/model/model.py", 450, "forward"))
TUNE = frames("", ("/x/torchtune/training/memory.py", 9, "step"), (SITE + "torch/_tensor.py", 581, "backward"))
CANCELLED = "slurmstepd: error: *** JOB 4242 ON gpu07 CANCELLED AT 2026-05-01T10:00:00 DUE TO TIME LIMIT ***\n"
XLA = "jaxlib.xla_extension.XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 8589934592 bytes.\n"
TENSORFLOW = ("tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating tensor with shape[64,128,112,112] and type float on "
              "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n")
PIP = "Collecting torch==1.13.1\nRequirement already satisfied: torch==2.0.1 in /opt/env (from -r r.txt)\n"
HOLES = torch_says(2, 79.1, 1.1, 50, 26)


def zero(**more):
    """A configuration of DeepSpeed."""
    return json.dumps(dict({"bf16": {"enabled": True}, "zero_optimization": {"stage": 2}}, **more))


def with_file(name, ticket, text, file, content, **more):
    return Scenario("log-" + name, ticket, {}, snapshot=False, files={"job.log": text, file: content}, cause="capacity", options=["--config", "{folder}/" + file], **more)


def started(name, ticket, text, command, **more):
    return alone(name, ticket, "$ " + command + "\n" + text, "capacity", **more)


SCENARIOS = [
    # -- another library's line
    alone("cudamalloc-of-whoever", "a kernel of one's own uses llama.cpp's words", "what():  my_kernel.cu:88: cudaMalloc failed: out of memory\n", "none", must_not=["P72"]),
    alone("llama-cpp-and-then-pytorch", "a program that goes on without the card, and fails in PyTorch", LLAMA + YOURS + CARD, "capacity", phase="train", must=["P01"], must_not=["P72"]),
    # -- a scheduler stops the job
    alone("time-limit", "Slurm's own kill is no host that ran out", "step 900\n" + CANCELLED + "srun: error: gpu07: tasks 0-3: Killed\n", "none", must_not=["P39", "V40"]),
    alone("memory-and-then-the-time-limit", "what failed before stays what failed", YOURS + CARD + CANCELLED + "srun: error: gpu07: task 0: Killed\n", "capacity", phase="train", must_not=["P39"]),
    alone("killed-by-the-host-all-the-same", "Slurm says both", CANCELLED + "slurmstepd: error: Detected 1 oom_kill event in StepId=4242.0.\n", "host"),
    # -- which PyTorch runs
    alone("what-pip-looks-at", "no version that runs: the sentence is a newer one's", PIP + YOURS + HOLES, "fragmentation", phase="train", must=["B01"],
          sets={"B01": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}),
    alone("another-environments-list", "a list of packages that the sentence contradicts", "torch==1.13.1\n" + YOURS + HOLES, "fragmentation", phase="train", must=["B01"],
          sets={"B01": "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"}),
    # -- DeepSpeed's configuration: train_batch_size = micro-batch x accumulation x ranks
    with_file("zero-halves-a-micro-batch", "and adds up twice as many", DEEPSPEED + "[rank3]: " + CARD, "ds.json",
              zero(train_batch_size=64, train_micro_batch_size_per_gpu=8, gradient_accumulation_steps=1), phase="train", must=["P02", "P80"], must_not=["P36"],
              sets={"P02": ['"train_micro_batch_size_per_gpu": 4', '"gradient_accumulation_steps": 2'], "P80": '"zero_optimization": {"stage": 3}'}),
    with_file("zero-odd-micro-batch", "an odd one has no half", DEEPSPEED + "[rank3]: " + CARD, "ds.json", zero(train_micro_batch_size_per_gpu=5, gradient_accumulation_steps=4), phase="train",
              must=["P02"], sets={"P02": ['"train_micro_batch_size_per_gpu": 1', '"gradient_accumulation_steps": 20']}),
    with_file("zero-whole-batch-alone", "the micro-batch follows from the accumulation", DEEPSPEED + "[rank3]: " + CARD, "ds.json", zero(train_batch_size=64), phase="train", must=["P02"], must_not=["P36"],
              sets={"P02": '"gradient_accumulation_steps": 2'}),
    with_file("zero-smallest-micro-batch", "only ZeRO is left, one stage at a time", DEEPSPEED + "[rank3]: " + CARD, "ds.json",
              zero(train_micro_batch_size_per_gpu=1, zero_optimization={"stage": 1}), phase="train", must=["P80"], must_not=["P02", "P36"], sets={"P80": '"zero_optimization": {"stage": 2}'}),
    with_file("zero-last-stage", "there is no further one", DEEPSPEED + "[rank3]: " + CARD, "ds.json", zero(zero_optimization={"stage": 3}), phase="train", must_not=["P80"]),
    with_file("toml-is-typed-as-toml", "torchtitan's own file", TITAN + "[rank0]: " + CARD, "run.toml", '[training]\nlocal_batch_size = 8\n[activation_checkpoint]\nmode = "none"\n', phase="train",
              must=["P01", "P02"], must_not=["P36"], sets={"P02": "training.local_batch_size = 4", "P01": 'activation_checkpoint.mode = "full"'}),
    # -- evaluation
    started("evaluation-has-a-batch-of-its-own", "and no setting of the training's", frames("", (OWN + "main.py", 300, "<module>"), (OWN + "main.py", 250, "train"), *EVALUATES) + CARD,
            "python main.py --batch-size 64 --val-batch-size 48", phase="eval", must=["P81"], must_not=["P36", "P01"], sets={"P81": "--val-batch-size 24"}),
    started("evaluation-of-the-trainer", "TrainingArguments on the command line", frames("", (SITE + "transformers/trainer.py", 4061, "evaluation_loop"), MODULE,
            (SITE + "transformers/models/llama/modeling_llama.py", 1190, "forward")) + CARD,
            "python run_clm.py --per_device_train_batch_size 8 --per_device_eval_batch_size 6", phase="eval", must=["P81"], sets={"P81": "--per_device_eval_batch_size 3"}),
    alone("a-teacher-in-training", "gradients are off for a helper, and the job trains", frames("", (OWN + "main.py", 300, "<module>"), (OWN + "main.py", 200, "train"), NO_GRAD,
          (OWN + "main.py", 180, "teacher_logits"), MODULE, (OWN + "net.py", 50, "forward")) + CARD, "capacity", phase="unattributed"),
    # -- programs without PyTorch
    alone("xla-is-no-pytorch", "nothing of PyTorch can be recorded", XLA, "none", must=["P43", "P06"], must_not=["B39", "P31", "P82"],
          sets={"P06": 'jax.profiler.save_device_memory_profile("memory.prof")'}, not_sets={"P06": 'torch.cuda.memory._record_memory_history(max_entries=100000, stacks="all")'}),
    alone("tensorflow", "a tensor by its shape and type", TENSORFLOW, "none", must=["P82"], must_not=["B39", "P31", "P32", "P43"]),
    # -- attention that is written out, told by its line of code
    alone("scores-by-their-names", "no function has attention in its name", frames("", (OWN + "train.py", 90, "main"), MODULE, (OWN + "vit.py", 33, "forward"))
          + "    dots = torch.matmul(q, k.transpose(-1, -2)) * self.scale\n" + torch_says(12, 79.1, 0.5, 76.3, 1.2), "capacity", phase="train", must=["P15"]),
    # -- names of recipes and flags
    alone("axolotl-by-its-flags", "hyphens where the file has underscores", frames("", (SITE + "axolotl/train.py", 190, "train"), MODULE, (SITE + "transformers/models/llama/modeling_llama.py", 1190, "forward"))
          + CARD, "capacity", phase="train", options=["--args", "axolotl train c.yml --micro-batch-size 8"], must=["P02"], sets={"P02": "--micro-batch-size 4"}),
    started("torchtune-recipe-with-adapters", "the recipe's name says what it knows", TUNE + CARD, "tune run --nproc_per_node 4 lora_finetune_distributed --config llama3_1/8B_lora batch_size=4",
            phase="train", must=["B65"], must_not=["B66"], sets={"B65": "fsdp_cpu_offload=True"}),
    started("torchtune-recipe-for-one-card", "nothing is divided there", TUNE + CARD, "tune run full_finetune_single_device --config llama3_1/8B_full_single_device batch_size=4",
            phase="train", must=["B66"], must_not=["B65"]),
    # -- one tensor that is nearly the card
    alone("all-edges-at-once", "a graph that is not cut: nothing that waits for a backward pass is in its way", frames("", (OWN + "gcn.py", 70, "main"), (OWN + "gcn.py", 40, "train"), MODULE,
          (SITE + "torch_geometric/nn/conv/message_passing.py", 544, "propagate")) + torch_says(29.5, 31.7, 24.8, 6.1, 0.2), "capacity", phase="train", must=["P35", "P02"],
          must_not=["P01", "P04"]),
    with_file("zero-left-to-the-trainer", "\"auto\" is a number of another place", DEEPSPEED + "[rank3]: " + CARD, "ds.json",
              zero(train_batch_size="auto", train_micro_batch_size_per_gpu="auto", gradient_accumulation_steps="auto"), phase="train", must=["P02", "P80"], must_not=["P36"],
              not_sets={"P02": ['"gradient_accumulation_steps": 2', '"gradient_accumulation_steps": <twice>']}),
    alone("unsloth-trains", "its own line", frames("", ("<string>", 31, "_unsloth_training_step"), ("/w/unsloth_compiled_cache/UnslothSFTTrainer.py", 1041, "compute_loss"), (SITE + "unsloth/models/_utils.py", 1300, "_unsloth_pre_compute_loss"))
          + CARD, "capacity", phase="train", must=["P02"], sets={"P02": "per_device_train_batch_size=<half>, gradient_accumulation_steps=<twice>"}),
    alone("locked-memory", "a limit of the process, no host that ran out", "NCCL WARN Call to ibv_create_cq failed with error Cannot allocate memory\n", "none", must_not=["P39", "V40", "V42"]),
    # -- one card for one number, and who is there first
    started("yolo-by-its-own-words", "the batch is typed once", frames("", (SITE + "ultralytics/engine/model.py", 810, "train"), (SITE + "ultralytics/engine/trainer.py", 381, "_do_train"), MODULE, (SITE + "ultralytics/nn/tasks.py", 112, "forward")) + CARD,
            "python -m yolo --imgsz 1280 --batch 32", phase="train", must=["P36", "P44"], must_not=["P02"], sets={"P36": "--batch 16"}, not_sets={"P44": "batch=<half>"}),
    alone("full-before-anything-runs", "the line has no numbers: another job may hold the card", frames("", (OWN + "main.py", 40, "<module>"), (SITE + "torch/nn/modules/module.py", 1340, "to"),
          (SITE + "torch/nn/modules/module.py", 900, "_apply")) + "RuntimeError: CUDA error: out of memory\n", "none", phase="init", must=["P33"]),
    # -- what a plain script says of itself
    with_file("pipeline-with-offload", "the script has it", frames("", ("/w/picture.py", 12, "<module>"), NO_GRAD, (SITE + "diffusers/pipelines/x/pipeline_x.py", 900, "__call__"),
              (SITE + "diffusers/models/autoencoders/autoencoder_kl.py", 321, "decode")) + torch_says(8, 23.6, 5, 18, 0.1), "picture.py",
              "from diffusers import DiffusionPipeline\npipe = DiffusionPipeline.from_pretrained('m')\npipe.enable_sequential_cpu_offload()\npipe.vae.enable_tiling()\npipe.enable_vae_slicing()\nimage = pipe('a house').images\n",
              phase="infer", must=["D03"], must_not=["D01", "D02"]),
    with_file("pipeline-without-offload", "the same without", frames("", ("/w/picture.py", 12, "<module>"), NO_GRAD, (SITE + "diffusers/pipelines/x/pipeline_x.py", 900, "__call__"),
              (SITE + "diffusers/models/autoencoders/autoencoder_kl.py", 321, "decode")) + torch_says(8, 23.6, 5, 18, 0.1), "picture.py",
              "from diffusers import DiffusionPipeline\npipe = DiffusionPipeline.from_pretrained('m')\npipe.to('cuda')\nimage = pipe('a house').images\n", phase="infer", must=["D01", "D02", "D03"]),
    with_file("batch-by-default", "argparse has it, nobody sets it", YOURS + CARD, "train.py",
              "p.add_argument('-b', '--batch-size', type=int, default=48, help='-1: all')\nargs = p.parse_args()\nloader = DataLoader(data, batch_size=args.batch_size)\n",
              phase="train", must=["P36"], sets={"P36": "--batch-size 24"}),
    with_file("batch-of-the-command", "the command wins over the script", "$ python train.py --batch-size 12\n" + YOURS + CARD, "train.py",
              "p.add_argument('--batch-size', type=int, default=48)\nloader = DataLoader(data, batch_size=args.batch_size)\n", phase="train", must=["P36"], sets={"P36": "--batch-size 6"}),
    with_file("batch-of-a-field", "a dataclass has it", YOURS + CARD, "train.py", "@dataclass\nclass Config:\n    batch_size: int = 40\n    learning_rate: float = 1e-3\n",
              phase="train", must=["P36"], sets={"P36": "batch_size=20"}),
    # -- the host
    alone("images-in-flight", "a rollout of a vision-language model", "(AgentLoopWorker pid=7) Using a slow image processor as `use_fast` is unset\n"
          "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n", "host", must=["P83"]),
    # -- what stands beside the error
    alone("a-launcher-failed-too", "the parent's traceback says that a process failed, not where", CARD + "ERROR:torch.distributed.elastic.multiprocessing.api:failed (exitcode: 1) local_rank: 0 (pid: 77)\n"
          "Traceback (most recent call last):\n" + frames("", ("/x/bin/torchrun", 8, "<module>"), (SITE + "torch/distributed/run.py", 879, "main"),
          (SITE + "torch/distributed/launcher/api.py", 250, "launch_agent")), "capacity", phase="unattributed"),
    alone("a-bar-closes-below", "as tqdm prints it when its loop is left", CARD + "Training:  12%|#1        | 60/500 [00:40<04:59,  1.47it/s]\n", "capacity", phase="train"),
    alone("a-bar-without-a-bar", "of a notebook without a width", "Steps:  12% 60/500 [00:40<04:59,  1.47it/s]\n" + CARD, "capacity", phase="train"),
    alone("a-bar-that-ended", "full before the failure", "Training: 100% 500/500 [05:40<00:00,  1.47it/s]\n" + CARD, "capacity", phase="unattributed"),
    alone("weights-come-in", "an engine's bar below the error, as its thread prints it", "(EngineCore_DP0 pid=9) " + CARD + "Loading pt checkpoint shards:  25% Completed | 1/4 [00:02<00:06,  2.1s/it]\n",
          "capacity", phase="rollout.load", must=["B47"], must_not=["B41"]),
    alone("the-driver-waits", "its traceback tells the phase", "(DTensorPolicyWorker pid=77) " + CARD + "Traceback (most recent call last):\n" + frames("", ("/w/examples/run_dpo.py", 200, "main"),
          ("/w/nemo_rl/algorithms/dpo.py", 300, "setup"), ("/w/nemo_rl/models/policy/lm_policy.py", 120, "__init__")), "capacity", phase="init"),
    alone("another-rank-tells", "all of them run the same program", "[rank3]: " + CARD + "[rank0]: Traceback (most recent call last):\n" + frames("[rank0]: ", (OWN + "main.py", 300, "<module>"),
          (OWN + "main.py", 180, "evaluate")), "capacity", phase="eval"),
    alone("a-node-of-somebody", "ComfyUI's words alone, below the node", "Error occurred when executing HiResRefine:\n\nAllocation on device\n", "none", phase="infer"),
    alone("a-node-that-loads", "by its name", "Error occurred when executing MochiModelLoader:\n\nAllocation on device 0\n", "none", phase="init"),
    alone("talk-of-an-allocation", "somebody's sentence", "step 3\nI always get Allocation on device when the clip is long\n" + CARD, "capacity", phase="unattributed"),
    alone("xla-says-the-card", "many times the card: no share of it helps", "E0101 10:00:00.1 9 gpu_cudamallocasync_allocator.cc:361] gpu_async_0 cuMemAllocAsync failed to allocate 412316860416 bytes: "
          "RESOURCE_EXHAUSTED: : CUDA_ERROR_OUT_OF_MEMORY: out of memory\n Reported by CUDA: Free memory/Total memory: 22635544576/85095874560\n", "giant_tensor", must=["P35"]),
    started("an-engine-in-32-bits", "half of it is in 16", "INFO 08-01 10:01:40 [gpu_worker.py:97] Starting to load model\n" + torch_says(0.5, 23.6, 0.1, 23.1, 0.01), "vllm serve mistralai/Mistral-7B-Instruct-v0.2 --dtype float32", must=["B47"], must_not=["P08", "P16"],
            sets={"B47": "--dtype half"}),
    alone("ray-without-a-head", "rows of a table that was cut off", "4711   91.05   ray::RolloutWorker\n4712   90.86   ray::RolloutWorker\n"
          "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\n", "host"),
    # -- evidence in another form
    alone("a-frame-without-its-head", "what was above was not copied", 'g/trainers/contrast.py", line 70, in train_epoch\n    loss.backward()\n' + CARD, "capacity", phase="train"),
    alone("a-loss-without-its-head", "the file of a loss", 'kernels/chunked_cross_entropy.py", line 31, in forward\n    out = torch.empty_like(x)\n' + CARD, "capacity", sub=("loss", "forward", "logits")),
    alone("a-frame-typed", "without the blank", 'File"/w/seg/main.py", line 9, in evaluate\n    out = net(x)\n' + CARD, "capacity", phase="eval"),
    alone("a-list-is-a-command", "as a launcher prints it below", CARD + "[2026-01-02 10:00:00,1] [ERROR] [launch.py:325:sigkill_handler] ['/x/bin/python', '-u', 'fit_masks.py', '--batch-size', '12'] exits with return code = 1\n",
          "capacity", must=["P36"], sets={"P36": "--batch-size 6"}),
    alone("a-list-is-data", "words of a data set", "classes: ['cat', '--batch-size', '12']\n" + CARD, "capacity", must_not=["P36"]),
    alone("newest-first", "an engine that was at its graphs", "2026-01-02 10:00:09 Engine stopped: " + CARD + "2026-01-02 10:00:05 Capturing CUDA graph shapes:  20%\n2026-01-02 10:00:01 # GPU blocks: 77, # CPU blocks: 20\n",
          "capacity", phase="rollout.graph"),
    alone("newest-first-and-over", "the graphs were there", "2026-01-02 10:00:09 Engine stopped: " + CARD + "2026-01-02 10:00:07 Graph capturing finished in 9 secs, took 0.77 GiB\n"
          "2026-01-02 10:00:05 Capturing CUDA graph shapes:  20%\n2026-01-02 10:00:01 # GPU blocks: 77, # CPU blocks: 20\n", "capacity", phase=("unattributed", "rollout.generate", "rollout.init")),
    alone("another-process-below", "a traceback that begins below the error is none of it", CARD + "Traceback (most recent call last):\n" + frames("", ("/w/tune/train.py", 9, "<module>"), (SITE + "fire/core.py", 141, "Fire")),
          "capacity", phase="unattributed"),
    alone("sleep-typed-by-hand", "vLLM's allocator, in other letters", "Runtime Error: Cuda error: Out of memory at /w/csrc/cumem_allocator.cpp: 62\n", ("foreign", "outside"), phase="rollout.wake_sleep", must=["P08"]),
    # -- no program, or the one that runs
    started("an-image-script", "one option in common with an engine", CARD, "python run_tryon.py --model_path shirt.png --sample 6", must=["P135"], must_not=["B47", "B41"], sets={"P135": "--sample 3"}),
    started("a-video-script", "one option in common with a framework", CARD, "python generate.py --task t2v --num_frames 80 --offload_model True", phase="infer", must=["P135"], must_not=["B55"], sets={"P135": "--num_frames 40"}),
    started("a-script-for-its-framework", "two of its keys", CARD, "python my_rl.py --offload_model True --sleep_level 1 --vllm_gpu_memory_utilization 0.5", must=["B55"]),
    alone("axolotl-by-a-path", "it trains", CARD + "Traceback (most recent call last):\n" + frames("", ("/w/axolotl/src/axolotl/cli/train.py", 38, "<module>")), "capacity", must_not=["B55"]),
    started("one-of-three-steps", "a main.py that its folder names", CARD, "deepspeed /w/DeepSpeed-Chat/training/step2_reward_model_finetuning/main.py --per_device_train_batch_size 4", must=["B120"]),
    started("a-network-for-images", "its command names sd-scripts", CARD, "accelerate launch sdxl_train_network.py --network_module=networks.lora --train_batch_size=2", must_not=["P32"]),
    # -- whose memory
    alone("an-old-tensor", "PyTorch before 1.0, in its own file", "RuntimeError: cuda runtime error (2) : out of memory at /w/torch/lib/THC/generic/THCStorage.cu:58\n", "none", must=["P33"]),
    alone("the-first-on-the-card", "where a file is imported", "Traceback (most recent call last):\n" + frames("", (OWN + "main.py", 3, "<module>"), (OWN + "blur.py", 9, "<module>")) + "    kernel = kernel.cuda()\nRuntimeError: CUDA error: out of memory\n",
          "none", phase="init", must=["P33"], must_not=["P30", "P31"]),
    alone("one-of-many-tensors", "in a loop of a flat script", frames("", (OWN + "main.py", 30, "<module>")) + "    x = x.cuda()\nRuntimeError: CUDA error: out of memory\n", "none", must=["P33", "P30"]),
    # -- who ran
    started("a-loaders-flag", "workers of a data loader are many a script's", CARD, "torchrun --nproc_per_node 8 birds/bin/fit.py --dataloader_num_workers 6 --rows_in_a_chunk 4", must_not=["P01"]),
    started("trls-own-example", "the path of a clone", CARD, "python trl/examples/scripts/dpo.py --model_name_or_path Qwen/Qwen2.5-7B --dataloader_num_workers 6", must=["B31"]),
    alone("the-second-has-the-traceback", "two ranks, one prefix", torch_says(1.5, 47.5, 0.4, 45, 0.5) + frames("", (OWN + "main.py", 300, "<module>"), (OWN + "loop.py", 90, "train_one_epoch")) + torch_says(1.25, 47.5, 0.2, 45.2, 0.5),
          "capacity", phase="train", must_not=["P32"]),
    alone("the-first-has-one-too", "it was first", frames("", (OWN + "main.py", 300, "<module>"), (OWN + "main.py", 180, "evaluate")) + CARD + frames("", (OWN + "loop.py", 90, "train_one_epoch")) + CARD, "capacity", phase="eval"),
    alone("a-path-of-windows", "backslashes", 'Traceback (most recent call last):\n  File "E:\\ai\\seg\\main.py", line 300, in <module>\n  File "E:\\ai\\seg\\loop.py", line 90, in train_one_epoch\n' + CARD, "capacity", phase="train"),
    alone("an-engine-starts", "around what its workers do", frames("[rank0]: ", ("/w/ask.py", 7, "<module>"), (SITE + "vllm/entrypoints/llm.py", 253, "__init__")) + "[rank0]: " + CARD, "capacity", phase="rollout.init"),
]
