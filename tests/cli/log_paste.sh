#!/usr/bin/env bash
# What people paste: the error's words alone, the traceback below the error, another process's line beside it, an engine's log from its start. Each
# expectation was written down before the report was made.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"

says='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 900.00 MiB is free. Including non-PyTorch memory, this process has 78.20 GiB memory in use. Of the allocated memory 70.10 GiB is allocated by PyTorch, and 512.00 MiB is reserved by PyTorch but unallocated.'
frames() { # FILE LINE FUNCTION CODE of each
    while [ $# -gt 0 ]; do
        printf '  File "%s", line %s, in %s\n    %s\n' "$1" "$2" "$3" "$4"
        shift 4
    done
}
tells() { # FILE CAUSE TEXT... ; '!TEXT' = not said
    run 0 report "$1" --force --format json -o "$1.json"
    run 0 report "$1" --force --format text --full -o "$1.text"
    check [ "$(jq -r .log_diagnosis.cause "$1.json")" = "$2" ]
    for text in "${@:3}"; do
        case "$text" in
            '!'*) check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "${text#!}")" = 0 ] ;;
            *) check grep -qF -- "$text" <(tr -s ' \n' ' ' < "$1.text") ;;
        esac
    done
}

# The words alone are a log, in any case, with a config beside them too; words about them in a log with facts are none.
echo 'python3 -m verl.trainer.main_ppo actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=16 actor_rollout_ref.model.enable_gradient_checkpointing=False actor_rollout_ref.rollout.name=vllm' > run.sh
n=0
for words in 'cuda out of memory' 'CUDA OUT OF MEMORY!!' 'RuntimeError: Cuda Out Of Memory.' '> torch.OutOfMemoryError' 'GPU out of memory' 'it crashes in step 3 with a CUDA OOM on 8 A100s'; do
    n=$((n + 1))
    echo "$words" > words$n.log
    tells words$n.log unknown 'ran out of memory'
    run 0 report words$n.log --force --config run.sh --format json -o words$n.json
    check [ "$(jq -r '[.advice[:3][].id] | (index("V12") != null) and (index("V04") != null)' words$n.json)" = true ]
done
for words in 'to avoid cuda out of memory lower the batch size' 'if (e == cudaErrorMemoryAllocation) // CUDA OOM' 'no GPU OOM so far'; do
    { echo "$words"; echo 'INFO Available KV cache memory: 11.00 GiB'; } > talk.log
    run 0 report talk.log --force --format json -o talk.json
    check [ "$(jq -r .log_diagnosis.cause talk.json)" = none ]
done

# A whole traceback below the error is its own, with a prefix too; not where two failures differ, nor behind another error.
{ echo "$says"; echo; echo 'Full traceback:'; echo '```'; echo 'Traceback (most recent call last):'
  frames /w/train.py 5 main 'x' /opt/py/site-packages/transformers/trainer.py 30 training_step 'x' /opt/py/site-packages/accelerate/accelerator.py 20 backward 'loss.backward()'; echo '```'; } > below.log
tells below.log capacity 'in training (backward), asked for 2.00 GiB at accelerate/accelerator.py:20 backward'
{ echo "(WorkerDict pid=4) $says"; { echo 'Traceback (most recent call last):'
  frames /opt/verl/workers/fsdp_workers.py 5 compute_log_prob 'x' /opt/verl/workers/actor/dp_actor.py 30 compute_log_prob 'x'; } | sed 's/^/(WorkerDict pid=4) /'; } > prefixed.log
tells prefixed.log capacity 'in old-policy log-prob, asked for'
{ echo "$says"; frames /w/main.py 5 '<module>' 'main()' /opt/py/site-packages/transformers/trainer.py 30 training_step 'x' /opt/py/site-packages/accelerate/accelerator.py 20 backward 'loss.backward()'; } > order.log
tells order.log capacity 'at accelerate/accelerator.py:20 backward'
{ echo "$says"; echo 'Traceback (most recent call last):'; frames /w/main.py 5 '<module>' 'main()' /w/data.py 7 load 'x'; echo 'KeyError: 3'; } > other.log
tells other.log capacity '!data.py'

# The frames of the process that failed win over the method of another one, named by Ray above or below them.
{ echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::Rollout.generate() (pid=902, ip=10.0.0.3, actor_id=d5)'
  frames /w/train/actor.py 88 train_step 'loss = self.net(ids)' /w/train/actor.py 99 gather 'x.float()'; echo "$says"; } > above.log
tells above.log capacity 'in training, asked for' '!generation'
{ frames /w/train/loop.py 88 training_loop 'self.opt()' /w/train/opt.py 99 optimizer_step 'x'; echo "$says"
  echo 'ray.exceptions.RayTaskError(RayActorError): ray::Rollout.generate() (pid=902, ip=10.0.0.3, actor_id=d5)'; } > behind.log
tells behind.log capacity 'in training (optimizer step), asked for' '!generation'
{ echo 'ray.exceptions.RayTaskError(OutOfMemoryError): ray::Rollout.generate() (pid=902, ip=10.0.0.3, actor_id=d5)'
  frames /w/serve/model.py 88 chat 'x' /w/serve/model.py 99 step 'x'; echo "$says"; } > its.log
tells its.log capacity 'in rollout generation, asked for'

# Loading and capture that ended are not what failed, nor is set-up a pass.
{ echo 'INFO gpu_model_runner.py:1] Starting to load model /m/q...'; echo 'Loading safetensors checkpoint shards: 100% Completed | 4/4 [00:02<00:00,  1.5it/s]'; echo "$says"; } > shards.log
tells shards.log capacity '!weight loading' '!It had begun'
{ echo 'INFO gpu_model_runner.py:1] Starting to load model /m/q...'; echo 'INFO: Application startup complete.'; echo "$says"; } > serves.log
tells serves.log capacity '!weight loading'
{ echo 'INFO Capturing CUDA graph shapes:  50%|##| 17/35'; echo 'Capturing CUDA graph shapes: 100%|####| 35/35 [00:20<00:00]'; echo "$says"; } > captured.log
tells captured.log capacity '!CUDA-graph capture'
{ echo 'INFO Capturing CUDA graph shapes: 100%|##| 35/35'; echo 'INFO Capturing CUDA graph shapes:  3%|#| 1/35'; echo "$says"; } > again.log
tells again.log capacity 'in CUDA-graph capture'
{ frames /opt/megatron/core/transformer/transformer_layer.py 300 __init__ 'self.mlp = build_module(' /opt/megatron/core/transformer/spec_utils.py 92 build_module 'return module(' \
    /opt/transformer_engine/pytorch/module/base.py 1100 register_parameter 'x'; echo "$says"; } > te.log
tells te.log capacity 'in model set-up' '!in forward'
{ frames /w/net/moe.py 30 __init__ 'x' /w/net/expert.py 92 reset_parameters 'x'; echo "$says"; } > reset.log
tells reset.log capacity 'in model set-up'
{ echo 'step 400 warmup'; frames /w/tool/sched.py 30 warmup 'x' /w/tool/hook.py 3 register_for_backward 'self.buf = torch.zeros_like(p)'; echo "$says"; } > words.log
tells words.log capacity '!backward)' '!trial run' '!in training'
finish
