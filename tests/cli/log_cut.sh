#!/usr/bin/env bash
# A log that ends in a traceback, before the error's own line: what the frames prove is said, and that no amount is known.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq

ask() { # FILE ARG...: its report as JSON and text
    run 0 report "$1" --force --format json -o "$1.json" "${@:2}"
    run 0 report "$1" --force --format text --full -o "$1.text" "${@:2}"
}
is() { check [ "$(jq -r "$2" "$1.json")" = "$3" ]; }
has() { check grep -qF -- "$2" <(tr -s ' \n' ' ' < "$1.text"); }
has_not() { check [ "$(tr -s ' \n' ' ' < "$1.text" | grep -cF -- "$2")" = 0 ]; }

# The worker's own frames tell the phase, its prefix who it was.
p='(WorkerDict pid=8812, ip=10.3.0.4)'
cat > scores.log << END
$p Traceback (most recent call last):
$p   File "/srv/verl/verl/workers/fsdp_workers.py", line 790, in compute_log_prob
$p     output, entropys = self.actor.compute_log_prob(data=data, calculate_entropy=True)
$p   File "/srv/verl/verl/workers/actor/dp_actor.py", line 301, in compute_log_prob
$p     entropy, log_probs = self._forward_micro_batch(
$p   File "/srv/verl/verl/workers/actor/dp_actor.py", line 170, in _forward_micro_batch
END
ask scores.log
is scores.log .verdict.phase logp_old
is scores.log .log_diagnosis.cause unknown
is scores.log .log_diagnosis.request_bytes null
has scores.log 'WorkerDict (pid 8812) was in old-policy log-prob'
has scores.log 'actor/dp_actor.py:170 _forward_micro_batch'
has scores.log "the log ends before the error's own line"
has scores.log 'which alone says what it was and how much was asked for'
has scores.log 'actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu'
has_not scores.log 'Out of memory'

# Frames without a head, the last of them cut, and the code of the frame before it.
cat > graphs.log << 'END'
  File "/opt/v/lib/python3.12/site-packages/vllm/v1/worker/gpu_worker.py", line 410, in compile_or_warm_up_model
    cuda_graph_memory_bytes = self.model_runner.capture_model()
  File "/opt/v/lib/python3.12/site-packages/vllm/v1/worker/gpu_model_runner.py", line 4100, in capture_model
    self._capture_cudagraphs(
  File "/opt/v/lib/pyth
END
ask graphs.log
is graphs.log .verdict.phase rollout.graph
has graphs.log "ends before the error's own line"

# An optimizer's step, in the name of the driver: which worker it was is not told.
d='(MainTask pid=40)'
cat > step.log << END
$d   File "/opt/v/lib/python3.12/site-packages/torch/optim/lr_scheduler.py", line 140, in wrapper
$d     return func.__get__(opt, opt.__class__)(*args, **kwargs)
$d   File "/opt/v/lib/python3.12/site-packages/torch/optim/adamw.py", line 220, in step
$d     has_complex = self._init_group(
END
ask step.log
has step.log 'in training (optimizer step)'

# One that allocates in nobody's program: the line of code is what is known, and nothing is advised on it.
printf 'Traceback (most recent call last):\n  File "/home/u/pairs.py", line 12, in <module>\n    d = torch.zeros(n, n, 3, device="cuda")\n' > zeros.log
ask zeros.log
has zeros.log "ends before the error's own line"
is zeros.log '[.advice[] | select(.top)] | length' 0

# An error that stands there is that one; a program that nobody knows proves nothing.
{ cat scores.log; echo "$p KeyError: 'responses'"; } > key.log
run 1 report key.log --format json -o key.json
{ cat scores.log; echo "(MainTask pid=40) ray.exceptions.RayTaskError(KeyError)"; } > ray.log
run 1 report ray.log --format json -o ray.json
{ cat scores.log; echo "$p RuntimeError: The size of tensor a (7) must match the size of tensor b (9)"; } > size.log
run 1 report size.log --format json -o size.json
{ cat scores.log; echo "$p AssertionError"; } > assert.log
run 1 report assert.log --format json -o assert.json
# So is a class with its module.
for error in 'torch._dynamo.exc.Unsupported: call_function' 'httpx.ReadTimeout' 'queue.Empty'; do
    { cat scores.log; echo "$p $error"; } > dotted.log
    run 1 report dotted.log --format json -o dotted.json
done
printf 'Traceback (most recent call last):\n  File "/home/u/a.py", line 2, in <module>\n    main()\n' > nobody.log
run 1 report nobody.log --format json -o nobody.json
# The job went on.
{ cat scores.log; for i in 1 2 3 4 5 6 7 8; do echo "$p step:$i - actor/loss:0.3"; done; } > on.log
run 1 report on.log --format json -o on.json
# A failure that is told goes before it.
{ echo 'torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.11 GiB of which 0.41 GiB is free.'; cat graphs.log; } > both.log
ask both.log
is both.log .log_diagnosis.request_bytes 2147483648
finish
