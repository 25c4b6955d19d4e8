"""Logs whose first change follows from what the request is, from who has the card, or from what the evidence rules out."""

from generator.scenario import Scenario
from logs import SITE, TRAINER, alone, frames, torch_says
from told import with_script

HELD = "Process 801 has 30.40 GiB memory in use. Including non-PyTorch memory, this process has 48.60 GiB memory in use. "
ZERO = (SITE + "deepspeed/runtime/zero/stage_1_and_2.py", 1936, "backward")
CORE = "(EngineCore_DP0 pid=77) "
ENGINE = CORE + "  File \"" + SITE + "vllm/v1/worker/gpu_worker.py\", line 300, in determine_available_memory\n"
NO_CACHE = CORE + "ValueError: No available memory for the cache blocks. Try increasing `gpu_memory_utilization` when initializing the engine.\n"
STATIC = "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.\n"
BACKWARD = ((SITE + "torch/_tensor.py", 521, "backward"), (SITE + "torch/autograd/__init__.py", 289, "backward"))
RANKS = (SITE + "torch/nn/parallel/distributed.py", 1523, "forward")
RAY_SAYS = ("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory.\nMemory on the node (IP: 10.1.0.7, ID: fc2b) where the task (actor ID: f9cc, name=%s, pid=72, memory used=%sGB) was running was "
            "60.10GB / 62.58GB (0.960371), which exceeds the memory usage threshold of 0.95. Ray killed this worker (ID: d98a) because it was the most recently scheduled task; Top 10 memory users:\n%s")
PIECES = ("B01", "B02", "B04")


def line(code, *places):
    """A traceback whose last frame has its line of code."""
    return "Traceback (most recent call last):\n" + frames("", *places) + "    %s\n" % code


def cell(file, number, function, code):
    return ("OutOfMemoryError                          Traceback (most recent call last)\n<ipython-input-%d-0f1e> in <cell line: 1>()\n----> 1 %s\n\n<ipython-input-%d-9a2b> in %s(w)\n"
            "----> 7     %s\n\n" % (number + 9, function + "(model)", number, function, code))


def with_yaml(name, ticket, text, yaml, **more):
    return Scenario("first-" + name, ticket, {}, snapshot=False, files={"job.log": text, "job.yaml": yaml}, cause="capacity", options=("--config", "{folder}/job.yaml"), **more)


SCENARIOS = [
    # pieces that are a small part of what is held keep nobody from trying something else first
    alone("few-pieces", "a twenty-fifth of what PyTorch holds", torch_says(0.4, 47.5, 0.1, 44, 1.8), "capacity", not_top=PIECES),
    alone("few-pieces-of-a-training", "the same in a forward", frames("", TRAINER, (SITE + "torch/nn/modules/linear.py", 125, "forward")) + torch_says(3, 79.1, 2, 70, 3.4), "capacity", phase="train", must=["B01"], not_top=PIECES),
    alone("many-pieces", "a sixth of it: just enough together", frames("", TRAINER, (SITE + "torch/nn/modules/linear.py", 125, "forward")) + torch_says(10, 79.1, 2, 60, 12), "fragmentation", phase="train", first=["B01"]),
    alone("pieces-just-enough", "more than a tenth, and only with what is free", frames("", TRAINER, (SITE + "torch/nn/modules/linear.py", 125, "forward")) + torch_says(13, 79.1, 2, 60, 12), "capacity", phase="train", must=["B01"]),
    # who has the card
    alone("others-beside-an-engine", "an engine's attention, and somebody else's 30 GiB", line("output = torch.empty_like(q)", (SITE + "vllm/model_executor/models/qwen2.py", 166, "forward"),
          (SITE + "vllm/attention/layer.py", 210, "forward")) + torch_says(0.3, 79.3, 0.1, 47.6, 0.5, HELD), "foreign", first=["B35"], must=["B51", "P08"]),
    # the bucket of ZeRO, by its line and by its size
    alone("bucket-by-its-line", "a bucket of one's own size", line("buf_0 = torch.empty(int(self.reduce_bucket_size),", TRAINER, ZERO) + torch_says(0.4, 23.6, 0.2, 22, 0.2), "capacity", phase="train", first=["B44"]),
    alone("bucket-by-its-size", "500 million numbers of 4 bytes, and no line of code", frames("", TRAINER, (SITE + "deepspeed/runtime/engine.py", 2000, "backward")) + torch_says(2e9 / 2**30, 39.4, 0.4, 37.6, 0.2), "capacity", phase="train", first=["B44"]),
    alone("no-bucket", "any other size", frames("", TRAINER, (SITE + "deepspeed/runtime/engine.py", 2000, "backward"), (SITE + "torch/autograd/__init__.py", 289, "backward")) + torch_says(1.3, 39.4, 0.4, 37.6, 0.2), "capacity", phase="train", not_top=["B44"]),
    with_yaml("bucket-as-it-is-set", "a tenth of the default", frames("", TRAINER, (SITE + "deepspeed/runtime/engine.py", 2000, "backward")) + torch_says(1e8 / 2**30, 39.4, 0.05, 37.6, 0.02),
              "zero_optimization: {stage: 2, reduce_bucket_size: 50000000}\n", first=["B44"]),
    # logits
    alone("logits-of-prompts", "a prefill whose log-probabilities are asked for", line("logits = logits.float()", (SITE + "sglang/srt/managers/scheduler.py", 900, "forward_extend"),
          (SITE + "sglang/srt/layers/logits_processor.py", 400, "_get_logits")) + torch_says(4.2, 79.1, 3.9, 70, 0.9), "capacity", first=["B17", "B49"], not_top=PIECES),
    with_yaml("logits-in-a-backward", "four texts of 4096 tokens, a vocabulary of 152064", frames("", ("/w/LLaMA-Factory/src/llamafactory/train/sft/trainer.py", 90, "training_step"), TRAINER, *BACKWARD) + torch_says(8.9, 79.1, 5, 70, 0.9),
              "stage: sft\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\nper_device_train_batch_size: 4\ncutoff_len: 4096\n", phase="train", first=["B09"]),
    with_yaml("no-logits-in-a-backward", "far less than so many tokens have", frames("", ("/w/LLaMA-Factory/src/llamafactory/train/sft/trainer.py", 90, "training_step"), TRAINER, *BACKWARD) + torch_says(1.1, 79.1, 0.5, 77, 0.2),
              "stage: sft\nmodel_name_or_path: Qwen/Qwen2.5-7B-Instruct\nper_device_train_batch_size: 4\ncutoff_len: 4096\n", phase="train", must_not=["B09"]),
    # one piece for the whole model
    with_script("gradients-in-one-piece", "7 billion numbers of 2 bytes", line("grad = torch.zeros_like(flat)", ("/w/lm/loop.py", 80, "train_step"), ("/w/lm/flat.py", 31, "backward")) + torch_says(12.9, 79.1, 9, 66, 0.9),
                "torchrun --nproc_per_node 4 loop.py --model_name_or_path site/House-7B --learning_rate 1e-5", phase="train", first=["P143"]),
    alone("gradients-of-nobody-knows-what", "a fifth of the card in one backward of several ranks", frames("", ("/w/lm/train.py", 80, "train_step"), *BACKWARD) + torch_says(19, 79.1, 9, 62, 2, gpu=5), "capacity", phase="train", first=["P143"]),
    alone("a-large-batch-of-images", "the same share of one small card", frames("", ("/w/seg/train.py", 80, "train_step"), *BACKWARD) + torch_says(5, 23.6, 3, 18, 0.3), "capacity", phase="train", must=["P01", "P02"], must_not=["P143"]),
    alone("buckets-beside-gradients", "DistributedDataParallel as it is made", frames("", ("/w/seg/train.py", 40, "main"), (SITE + "torch/nn/parallel/distributed.py", 880, "_ddp_init_helper")) + torch_says(0.2, 23.6, 0.1, 22, 0.2), "capacity", first=["P144"]),
    alone("buckets-made-anew", "and at its second forward", line("if torch.is_grad_enabled() and self.reducer._rebuild_buckets():", ("/w/seg/train.py", 40, "train_step"), (SITE + "torch/nn/parallel/distributed.py", 1510, "_pre_forward"))
          + torch_says(0.2, 23.6, 0.1, 22, 0.2), "capacity", phase="train", first=["P144"]),
    alone("whole-state-dict", "asked for by nobody that is known", frames("", (SITE + "torch/distributed/fsdp/_state_dict_utils.py", 300, "_full_post_state_dict_hook")) + torch_says(0.9, 79.1, 0.2, 77, 0.1), "capacity",
          first=["B87"], must_not=["P01", "P31", "P30"]),
    # a share without a byte for the cache
    with_script("share-of-nearly-all", "the weights are first", NO_CACHE, "vllm serve site/House-8B --gpu-memory-utilization 0.92", first=["B47"], must=["B41"], must_not=["B15"], sets={"B41": "--enforce-eager"}),
    with_script("share-of-a-third", "a larger one is at hand", NO_CACHE, "vllm serve site/House-8B --gpu-memory-utilization 0.3", first=["P08", "B47"], must_not=["B15"]),
    with_script("static-share", "SGLang's", STATIC, "python -m sglang.launch_server --model-path site/House-8B --mem-fraction-static 0.7", first=["P08", "B47", "B19"]),
    with_script("weights-beyond-the-share", "half of the card is the share, and PyTorch holds nearly all of it", torch_says(0.4, 47.5, 0.2, 46, 0.2), "vllm serve site/House-20B --gpu-memory-utilization 0.5", first=["B47"], must_not=["P08"]),
    with_script("weights-within-the-share", "as much as the share is", torch_says(0.4, 47.5, 0.2, 44, 0.2), "vllm serve site/House-20B --gpu-memory-utilization 0.9", must=["P08"]),
    alone("one-sequence-too-long", "the cache has bytes, and they may be smaller", CORE + "ValueError: To serve at least one request with the models's max seq len (131072), (16.00 GiB KV cache is needed, which is larger than the available KV cache memory "
          "(9.10 GiB). Based on the available memory, the estimated maximum model length is 74512.\n", "capacity", must=["B15"]),
    # PyTorch empties its cache itself before it raises
    alone("cache-of-the-same-process", "a third of it in pieces, in a forward", frames("", TRAINER, (SITE + "torch/nn/modules/linear.py", 125, "forward")) + torch_says(3, 79.1, 1, 52, 24), "fragmentation", phase="train", first=["B01"], must_not=["B04"]),
    alone("cache-of-nobody-knows-what", "the same, and no traceback", torch_says(3, 79.1, 1, 52, 24), "fragmentation", first=["B01"], must=["P30"], must_not=["B04"]),
    alone("cache-in-a-wake-up", "an engine that wakes beside a trainer", frames("", (SITE + "sglang/srt/managers/scheduler_update_weights_mixin.py", 90, "resume_memory_occupation")) + torch_says(3, 79.1, 1, 52, 24), "fragmentation",
          phase="rollout.wake_sleep", must=["B04"]),
    # an engine's own estimate
    with_script("estimate-before-a-share", "half of the card is lacking", CORE + "ValueError: To serve at least one request with the models's max seq len (131072), (48.00 GiB KV cache is needed, which is larger than the available KV cache memory "
                "(6.10 GiB). Based on the available memory, the estimated maximum model length is 16640.\n", "vllm serve site/House-8B --gpu-memory-utilization 0.9", first=["B14"], must=["P08"], sets={"B14": "--max-model-len 16640"}),
    with_script("estimate-behind-a-share", "a third of the card is nobody's", CORE + "ValueError: To serve at least one request with the models's max seq len (32768), (8.00 GiB KV cache is needed, which is larger than the available KV cache memory "
                "(6.10 GiB). Based on the available memory, the estimated maximum model length is 24976.\n", "vllm serve site/House-8B --gpu-memory-utilization 0.6", first=["P08"], must=["B14"], sets={"B14": "--max-model-len 24976"}),
    with_script("estimate-in-tokens-alone", "an older vLLM names no bytes", "ValueError: The model's max seq len (16384) is larger than the maximum number of tokens that can be stored in KV cache (5120). Try increasing `gpu_memory_utilization` or "
                "decreasing `max_model_len` when initializing the engine.\n", "python -m vllm.entrypoints.openai.api_server --model site/House-8B", first=["B14"], sets={"B14": "--max-model-len 5120"}),
    # what the line of code names
    alone("logits-that-are-shifted", "and in pieces; nobody knows what trains", line("shift_logits = logits[..., :-1, :].contiguous()", ("/w/lm/run.py", 40, "main"), (SITE + "transformers/models/llama/modeling_llama.py", 830, "forward"))
          + torch_says(2, 39.4, 0.5, 24, 13), "fragmentation", first=["B01", "B09"], must_not=["B04"]),
    alone("adam-of-one-tensor-at-a-time", "flat shards, a denominator as large as each", line("denom = (exp_avg_sq.sqrt() / math.sqrt(bias_correction2)).add_(eps)", ("/w/lm/run.py", 40, "main"), (SITE + "torch/optim/adam.py", 390, "_single_tensor_adam"))
          + torch_says(2.6, 39.4, 0.9, 37, 0.3), "capacity", phase="train", first=["P03", "B06"], sets={"B06": "torch.optim.AdamW(params, fused=True)"}, not_sets={"B06": ["foreach=False"]}),
    alone("adam-of-lists", "PyTorch's foreach form", line("exp_avg_sq_sqrt = torch._foreach_sqrt(device_exp_avg_sqs)", ("/w/lm/run.py", 40, "main"), (SITE + "torch/optim/adamw.py", 390, "_multi_tensor_adamw"))
          + torch_says(2.6, 39.4, 0.9, 37, 0.3), "capacity", phase="train", first=["B06"]),
    # who only uses a model gets no advice for a training
    alone("server-that-waits", "a worker's loop", line("out = proj(x)", ("/w/paint/service/worker.py", 210, "worker_busy_loop"), ("/w/paint/service/worker.py", 190, "execute_rpc"), ("/w/paint/net/blocks.py", 44, "forward"))
          + torch_says(2, 23.6, 0.4, 22.5, 0.2), "capacity", must=["P30"], must_not=["P31"], not_sets={"P30": ["halve the batch of one forward, and call backward() twice per optimizer step where it trains"]}),
    alone("worker-of-nobody-knows-what", "the same without its loop", line("out = proj(x)", ("/w/paint/service/worker.py", 210, "main"), ("/w/paint/net/blocks.py", 44, "forward")) + torch_says(2, 23.6, 0.4, 22.5, 0.2), "capacity", must=["P30", "P31"]),
    with_script("interface-of-one-thing", "a web page that makes one object", torch_says(0.1, 23.6, 0.02, 23, 0.2), "python gradio_studio.py --model_path site/Shapes", must=["P71"], must_not=["P09", "P05"]),
    with_script("server-of-one-card", "what it holds beside PyTorch is no buffer between cards", torch_says(0.1, 23.6, 0.02, 16, 0.2, "Including non-PyTorch memory, this process has 23.50 GiB memory in use. "),
                "sglang serve --model-path site/Painter --num-gpus 1", cause="foreign", first=["P53"], must_not=["B34"], not_sets={"P53": ["NCCL_MAX_NCHANNELS=8"]}),
    with_script("server-of-four-cards", "the same", torch_says(0.1, 23.6, 0.02, 16, 0.2, "Including non-PyTorch memory, this process has 23.50 GiB memory in use. "),
                "sglang serve --model-path site/Painter --num-gpus 4", cause="foreign", first=["P53"], sets={"P53": "NCCL_MAX_NCHANNELS=8"}),
    alone("one-image-that-is-painted", "features of two images are compared", line("loss = torch.sum((g1 - g2) ** 2)", ("/w/paint/train.py", 75, "main"), ("/w/paint/losses.py", 64, "texture_style_loss")) + torch_says(1.5, 14.7, 0.9, 13, 0.2),
          "capacity", phase="train", first=["P126"], must_not=["P02"]),
    # whom Ray kills is not always who fills the node
    alone("newest-of-many-was-killed", "a thirtieth of what is used", RAY_SAYS % ("Arena.reset", "2.10", ""), "host", first=["P149"], must=["V41"], must_not=["V42"]),
    alone("largest-was-killed", "half of what is used", RAY_SAYS % ("Trainer.fit", "30.10", ""), "host", must=["V40"], must_not=["P149"]),
    alone("newest-was-killed-beside-a-table", "the table says who has it", RAY_SAYS % ("Arena.reset", "3.10", "PID\tMEM(GB)\tCOMMAND\n71\t48.20\tray::Trainer.fit\n72\t3.10\tray::Arena.reset\n"), "host", must=["V40"], must_not=["P149"]),
    # evidence that rules something out
    alone("gradients-by-the-line", "a gradient is made, and nobody knows the program", line("grad_out = torch.empty_like(x)", ("/w/lm/run.py", 40, "main"), ("/w/lm/fused.py", 108, "call")) + torch_says(3, 23.6, 1.2, 21, 0.9), "capacity", must_not=["P32"]),
    with_script("trains-by-its-command", "steps that are accumulated", torch_says(0.3, 23.6, 0.2, 22.5, 0.3), "python lmfit.py --gradient_accumulation_steps 8 --seed 1", must_not=["P32"]),
    alone("quantises-in-a-notebook", "one weight after the other", cell("cells", 3, "quantize_rows", "zero = (w / scale).round()") + torch_says(0.5, 14.7, 0.4, 13.2, 0.2), "capacity", must=["P32", "P145"], must_not=["P30", "P31", "P01", "P02"]),
    alone("quantised-already", "bitsandbytes moves them", frames("[rank2]: ", ("/w/lm/load.py", 12, "build_model"), (SITE + "torch/nn/modules/module.py", 1159, "convert"), (SITE + "bitsandbytes/nn/modules.py", 330, "to"))
          + "[rank2]: " + torch_says(0.1, 23.6, 0.05, 23, 0.1), "capacity", phase="init", must=["P50"],
          not_sets={"P50": ["from_pretrained(<model>, quantization_config=BitsAndBytesConfig(load_in_4bit=True))", "from_pretrained(<model>, device_map=\"auto\")"]}),
    alone("too-much-for-any-host", "all pairs of something", "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 219902325555 bytes. Error code 12 (Cannot allocate memory)\n",
          "host", first=["P35"], must_not=["V42"]),
    alone("much-for-a-host", "what a full host refuses", "RuntimeError: [enforce fail at alloc_cpu.cpp:117] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 2199023255 bytes. Error code 12 (Cannot allocate memory)\n",
          "host", must=["P39"], must_not=["P35"]),
]
