#!/usr/bin/env bash
# Evidence in another form than a program prints it: cut off, quoted, typed, upside down, as a list; and what is no evidence.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

says() { echo "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 0.41 GiB is free. Of the allocated memory 75.12 GiB is allocated by PyTorch, and 310.20 MiB is reserved by PyTorch but unallocated."; }
ask() { # FILE ARG...: its report as JSON and text
    run 0 report "$1" --force --format json -o "$1.json" "${@:2}"
    run 0 report "$1" --force --format text --full -o "$1.text" "${@:2}"
}
of() { jq -r "$2" "$1.json"; }
is() { check [ "$1" = "$2" ]; }
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# Whose the rest of the card is, an old sentence does not tell: a simulator in the process, or another process.
echo 'RuntimeError: CUDA out of memory. Tried to allocate 212.00 MiB (GPU 0; 15.90 GiB total capacity; 8.02 GiB already allocated; 101.50 MiB free; 8.10 GiB reserved in total by PyTorch)' > arena.log
ask arena.log
is "$(of arena.log .log_diagnosis.confidence)" low
has arena.log "much of the card is not this PyTorch's"
has arena.log "a simulator or a renderer that draws on the card"
has arena.log 'fewer environments, cameras or views at once'
has_not arena.log 'other processes hold the device'
echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 212.00 MiB. GPU 0 has a total capacity of 15.90 GiB of which 101.50 MiB is free. Process 4711 has 7.30 GiB memory in use. Including non-PyTorch memory, this process has 8.50 GiB memory in use. Of the allocated memory 8.02 GiB is allocated by PyTorch, and 80.00 MiB is reserved by PyTorch but unallocated.' > beside.log
ask beside.log
has beside.log 'other processes hold the device'
has_not beside.log 'fewer environments'

# Frames: without their beginning, typed without the blank, quoted in Markdown, in a sentence.
{ echo 'ct/seg/train_loop.py", line 61, in train_one_epoch'; echo '    loss.backward()'; says; } > head.log
ask head.log
has head.log 'at seg/train_loop.py:61 train_one_epoch'
has head.log 'in training'
{ echo 'File"/home/u/seg/validate.py", line 9, in validate'; echo '    out = net(x)'; says; } > typed.log
ask typed.log
has typed.log 'at seg/validate.py:9 validate'
# shellcheck disable=SC2016  # Markdown's marks
{ echo '> - `File seg/tools.py, line 33, in evaluate`'; says; } > quoted.log
ask quoted.log
has quoted.log 'evaluate'
# shellcheck disable=SC2016
{ says; echo 'It always stops in `seg/nets/unet.py", line 190, in `decode_features`: what can I do?'; } > prose.log
ask prose.log
has prose.log 'at nets/unet.py:190 decode_features'
# A string that only looks like one is none.
{ echo 'open("notes.py"), line 3, in the middle'; says; } > none.log
ask none.log
has_not none.log notes.py

# A command as a list of Python's: DeepSpeed's launcher, subprocess; one that breaks off sets what it still says.
{ says; echo "[2025-01-01 10:00:00,1] [ERROR] [launch.py:325:sigkill_handler] ['/opt/bin/python', '-u', 'fit_masks.py', '--local_rank=0', '--batch-size', '12', '--note', 'a, b'] exits with return code = 1"; } > list.log
ask list.log
has list.log '--batch-size 6'
{ says; echo "subprocess.CalledProcessError: Command '['/usr/bin/python3', 'fit_masks.py', '--batch-size', '12', '--learning_ra"; } > cut.log
ask cut.log
has cut.log '--batch-size 6'
{ says; echo "classes: ['person', 'bicycle', '--batch-size', '12']"; } > words.log
ask words.log
has_not words.log '--batch-size'

# The newest line first, as pages of hosting services show it: what stands below happened before.
reversed() { # ENDED: a line between the beginning and the failure, or none
    echo '2026-02-03 10:00:09 [e] Engine failed: '"$(says)"
    [ -z "$1" ] || echo "2026-02-03 10:00:08 $1"
    echo '2026-02-03 10:00:04 INFO [model_runner.py:625] Capturing the model for CUDA graphs. This may lead to unexpected consequences.'
    echo '2026-02-03 10:00:02 INFO [llm_engine.py:316] # GPU blocks: 7754, # CPU blocks: 2048'
}
reversed '' > newest.log
ask newest.log
is "$(of newest.log .verdict.phase)" rollout.graph
has newest.log 'It had begun to capture CUDA graphs in line 2'
has newest.log 'By its time stamps this log has its newest line first'
reversed 'INFO [model_runner.py:700] Graph capturing finished in 9 secs, took 0.77 GiB' > ended.log
ask ended.log
check [ "$(of ended.log .verdict.phase)" != rollout.graph ]
reversed 'INFO: Application startup complete.' > served.log
ask served.log
check [ "$(of served.log .verdict.phase)" != rollout.graph ]
# In a log that goes on in time the same lines below the failure are the next try.
reversed '' | sed 's/10:00:09/10:00:01/; s/10:00:04/10:00:12/; s/10:00:02/10:00:15/' > forward.log
ask forward.log
check [ "$(of forward.log .verdict.phase)" != rollout.graph ]
has_not forward.log 'newest line first'

# A traceback that begins right below the error is another process's: its program counts, its place does not.
{ says; echo 'Traceback (most recent call last):'; printf '  File "%s", line %d, in %s\n' /w/axolotl/src/axolotl/cli/train.py 38 '<module>' /x/site-packages/fire/core.py 141 Fire; } > below.log
ask below.log
has_not below.log 'fire/core.py'
has below.log 'Framework: Axolotl'
# Pasted below a word of somebody's, it is the error's own.
{ says; echo; echo 'Full traceback:'; echo 'Traceback (most recent call last):'; printf '  File "%s", line %d, in %s\n' /w/seg/train.py 38 '<module>' /w/seg/train.py 9 train_one_epoch; } > pasted.log
ask pasted.log
has pasted.log 'at seg/train.py:9 train_one_epoch'

# Typed by hand.
echo 'Runtime error: cuda Error : Out Of Memory at /build/csrc/CUMEM_allocator.cpp: 62' > sleeps.log
ask sleeps.log
is "$(of sleeps.log .verdict.phase)" rollout.wake_sleep
echo 'RuntimeError: Cuda Error: Out of Memory' > case.log
ask case.log
has case.log 'a call of CUDA could not allocate'
echo 'What does a cuda error mean? My notebook has run out of memory before' > talk.log
run 1 report talk.log
# In words alone, whatever memory: an answer as far as they go.
talks() { # NAME WORDS TEXT
    printf '%s\n' "$3" > "$1"
    ask "$1"
    has "$1" "$2"
}
talks talk_end.log 'line 1 says in words that it ran out of memory' 'Tuning stops with an out of memory error after a minute'
talks talk_zh.log 'line 1 says in words that it ran out of memory' '长样本会导致oom的问题'
talks talk_host.log "the host's memory, not the GPU's, ran out" 'Loading shards at once leads to host OOM on our nodes'
talks talk_ram.log "the host's memory, not the GPU's, ran out" 'The RAM of the node grows until OOM'
talks talk_ray.log "whose monitor ends processes when the host's memory, not the GPU's, is nearly full" 'it stops with ray.exceptions.OutOfMemoryError'
talks talk_card.log 'that it ran out of memory' 'OOM on a GPU with 24 GB, 64 GB host RAM'
check [ "$(jq -r .log_diagnosis.cause talk_host.log.json)" = host ]
echo '改小之后不会OOM' > talk_no.log
run 1 report talk_no.log

# One option that a script has in common with a program names no program; two do, and so does a command.
says > alone.log
for options in '--model_path shirt.png' '--offload_model True' '--mem-fraction-static 0.5'; do
    ask alone.log --args "python make_things.py $options --seed 3"
    has_not alone.log 'Framework:'
    has_not alone.log zero3
done
ask alone.log --args 'python my_serve.py --mem-fraction-static 0.8 --chunked-prefill-size 4096'
has alone.log 'Framework: SGLang'
ask alone.log --args 'python -m sglang.launch_server --model-path m'
has alone.log 'Framework: SGLang'
# How much such a script makes at once comes first, and one named so uses its model.
ask alone.log --args 'python run_tryon.py --model_path shirt.png --sample 6'
is "$(of alone.log '.advice[0].set[0] | .key + " " + .value')" '--sample 3'
ask alone.log --args 'python generate.py --task t2v --num_frames 80 --offload_model True'
is "$(of alone.log .verdict.phase)" infer
has alone.log '--num_frames 40'
has_not alone.log 'backward()'
has alone.log 'No traceback tells what ran: the phase is read from the name of generate.py'

# Whose memory it was: a tensor's in an old PyTorch; others had the card where nothing was on it yet.
echo 'RuntimeError: cuda runtime error (2) : out of memory at /pytorch/aten/src/THC/generic/THCStorage.cu:58' > thc.log
ask thc.log
has thc.log "PyTorch's storage of tensors could not allocate"
has_not thc.log 'lies outside PyTorch'
echo 'THCudaCheck FAIL file=/pytorch/aten/src/THC/THCGeneral.cpp line=50 error=2 : out of memory' > start.log
ask start.log
has start.log 'where this process begins to use the card'
is "$(of start.log '.advice[0].id')" P33
cuda() { # PLACE... CODE
    echo 'Traceback (most recent call last):'
    [ $# = 2 ] || printf '  File "/w/job/main.py", line 3, in <module>\n    from job import blur\n'
    printf '  File "/w/job/%s.py", line 9, in %s\n    %s\n' blur "$1" "$2"
    echo 'RuntimeError: CUDA error: out of memory'
}
begins() { ask "$1"; has "$1" 'where this process begins to use the card'; has_not "$1" 'lies outside PyTorch'; is "$(of "$1" '.advice[0].id')" P33; }
cuda '<module>' 'kernel.cuda()' > module.log && begins module.log
cuda '<module>' 'net = Blur(3).to(device)' > made.log && begins made.log
cuda '<module>' 'w = w.cuda()' imported > imported.log && begins imported.log
cuda __init__ 'self.kernel = kernel.to(self.device)' > init.log && begins init.log
# A loop of a flat script may move a tensor too: what it was hangs on the PyTorch.
cuda '<module>' 'images = images.cuda()' > loop.log
ask loop.log
has loop.log 'The line puts something on the card'
has_not loop.log 'begins to use the card'
has_not loop.log 'lies outside PyTorch'
# A PyTorch that names asynchronous errors says bytes for tensors: then it lies outside.
{ cuda step 'images = images.cuda()'; echo 'CUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.'; } > async.log
ask async.log
has async.log 'lies outside PyTorch'

# Windows' paths: rules know files by '/', and a string has each backslash twice.
{ echo 'Traceback (most recent call last):'; printf '  File "%s", line 61, in train_one_epoch\n' 'D:\work\seg\train_loop.py'; echo '    loss.backward()'; says; } > backslash.log
ask backslash.log
has backslash.log 'at seg/train_loop.py:61 train_one_epoch'
has backslash.log 'in training'
{ echo 'Traceback (most recent call last):'; printf '  File "%s", line %d, in %s\n' 'C:\\env\\Lib\\site-packages\\axolotl\\train.py' 88 train 'C:\\w\\layers.py' 9 mix; says; } > twice.log
ask twice.log
has twice.log 'Framework: Axolotl'

# Two failures: the one whose traceback is there speaks, of another rank or of a second try; not one of long ago, nor the first that has its own.
on() { says | sed "s/GPU 0/GPU $1/; s/2.00 GiB/$2 GiB/"; }
trace() { echo 'Traceback (most recent call last):'; printf '  File "%s", line %d, in %s\n' /w/job/main.py 9 '<module>' "/w/job/$1.py" 31 train_one_epoch; }
{ on 3 1.50; trace loop; on 5 1.25; } > two.log
ask two.log
has two.log 'on GPU 5'
has two.log '1.25 GiB at job/loop.py:31 train_one_epoch'
has two.log 'The log holds 2 failures; this is the first that has its traceback'
{ trace first; on 3 1.50; trace loop; on 5 1.25; } > both.log
ask both.log
has both.log 'on GPU 3'
has both.log 'this is the first.'
{ on 3 1.50; seq 90; trace loop; on 5 1.25; } > far.log
ask far.log
has far.log 'on GPU 3'
# PyTorch's second line about one failure is not another; alone it is all there is.
hint="Search for cudaErrorMemoryAllocation' in https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html for more information."
{ echo 'torch.AcceleratorError: CUDA error: out of memory'; echo "$hint"; } > hint.log
ask hint.log
is "$(of hint.log '[.logs[0].facts[] | select(.kind == "cuda_oom")] | length')" 1
echo "$hint" > alone_hint.log
ask alone_hint.log
has alone_hint.log 'Out of memory'

# Whose a dead worker of Ray was, and what Ray suspects: of its rows, not of who writes them.
gone='The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: Worker exits unexpectedly.'
{ echo 'ray.exceptions.ActorDiedError: The actor died unexpectedly before finishing this task.'; printf '        %s\n' 'class_name: make_group.<locals>.RewardModelRayActor' 'actor_id: 11' 'pid: 4711' 'ip: 10.0.0.9'; echo "$gone The worker may have exceeded K8s pod memory limits."; } > pod.log
ask pod.log
has pod.log 'A worker of Ray, RewardModelRayActor (pid 4711), died, and Ray suspects the memory limit of its pod'
has pod.log 'kubectl describe pod'
has pod.log 'Framework: OpenRLHF'
{ echo "(raylet) A worker died. Worker PID: 815 $gone (1) killed by SIGKILL by OOM killer due to high memory usage."; echo 'The actor never ran - it was cancelled before it started running.'; } > never.log
ask never.log
has never.log 'A worker of Ray (pid 815) died before its actor ran, and nothing in the log says why'
is "$(of never.log .verdict.phase)" init
{ echo "(main_task pid=77) $gone (1) killed by SIGKILL by OOM killer due to high memory usage."; } > unnamed.log
ask unnamed.log
has unnamed.log 'A worker of Ray died, and nothing in the log says why'
# The program by Ray's names: of the task that was killed, of its table's rows.
ran='was running was 441.32GB / 448.00GB (0.985), which exceeds the memory usage threshold of 0.95. Top 10 memory users:'
{ echo "Memory on the node (IP: 10.0.0.1, ID: ab) where the task (actor ID: cd, name=x1_0:2:PolicyModelActor.__init__, pid=5, memory used=9.10GB) $ran"; printf 'PID\tMEM(GB)\tCOMMAND\n5\t9.10\tray::IDLE\n'; } > task.log
ask task.log
has task.log 'Framework: OpenRLHF'
{ echo "Memory on the node (IP: 10.0.0.1, ID: ab) where the task (task ID: cd, name=load, pid=5, memory used=9.10GB) $ran"; printf 'PID\tMEM(GB)\tCOMMAND\n5\t9.10\tray::load\n6\t0.50\tpython3 -m openrlhf.cli.train_ppo_ray --actor...\n'; } > row.log
ask row.log
has row.log 'Framework: OpenRLHF'

# An engine by its frames alone, and that it was starting.
engine() { echo '[rank0]: Traceback (most recent call last):'; printf '[rank0]:   File "%s", line %d, in %s\n' /w/ask.py 7 '<module>' "/e/site-packages/vllm/$1" 41 "$2"; echo "[rank0]: $(says)"; }
engine entrypoints/llm.py __init__ > starts.log
ask starts.log
is "$(of starts.log .verdict.phase)" rollout.init
has starts.log 'Framework: vLLM (by the log)'
{ echo "(VllmWorkerProcess pid=88) ERROR $(says)"; engine entrypoints/llm.py __init__ | grep -v memory; } > driver.log
ask driver.log
is "$(of driver.log .verdict.phase)" rollout.init
has driver.log 'The traceback is of the driver or of another rank'
engine distributed/parallel_state.py all_gather > gathers.log
ask gathers.log
has gathers.log 'Rank 0 on GPU 0, in vLLM, asked for 2.00 GiB'
# A server of images, which trains nothing.
{ echo 'Traceback (most recent call last):'; printf '  File "%s", line %d, in %s\n' /w/omni/vllm_omni/diffusion/worker/gpu_worker.py 77 execute_model /w/omni/vllm_omni/diffusion/models/ovis.py 12 decode_latents; says; } > images.log
ask images.log
is "$(of images.log .verdict.phase)" infer
has_not images.log 'backward()'
finish
