#!/usr/bin/env bash
# memtrace check: limits and a baseline as a gate, in its four formats; report --fail-on; the example job that runs without a GPU.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3
export MEMTRACE

# The example: passes, fails after a change of 10 % and names the line, fails where something is kept.
gate="$SAMPLES/gate/gate.sh"
bash "$gate" > .out 2> .err
check [ $? -eq 0 ]
out_has "ok    peak: 8.80 GiB of 8.98 GiB, 180.3 MiB left (baseline 8.80 GiB)"
out_lacks FAIL
bash "$gate" --tokens 9011 > .out 2> .err
check [ $? -eq 4 ]
out_has "FAIL  peak: 9.25 GiB, 274.4 MiB over the limit of 8.98 GiB (baseline 8.80 GiB); device 0; grown most at job/model.py:40 forward"
out_has "FAIL  role:logits: 2.69 GiB, 199.9 MiB over the limit of 2.49 GiB"
out_has "ok    role:optim_state:"
bash "$gate" --tokens 8232 > .out 2> .err # half a per cent is within the tolerance
check [ $? -eq 0 ]
FORMAT=github bash "$gate" --keep-outputs > .out 2> .err
check [ $? -eq 4 ]
out_has "::error title=memory over its limit,file=job/train.py,line=38::peak: "
FORMAT=junit bash "$gate" --tokens 9011 > .out 2> .err
check [ $? -eq 4 ]
out_has '<testcase classname="memtrace" name="role:optim_state (baseline)"/>'
out_has '<failure message="peak: 9.25 GiB, '
if command -v xmllint > /dev/null; then
    check xmllint --noout .out
fi
FORMAT=json bash "$gate" --tokens 9011 > .out 2> .err
check [ "$(jq -r '.passed, .over' .out | tr '\n' ' ')" = "false 6 " ]
check [ "$(jq -r '.limits[0] | [.limit, .file, .line, .bytes - .max_bytes > 0] | @csv' .out)" = '"peak","job/model.py",40,true' ]

# Limits: reached is not passed; what does not occur; all ranks count.
python3 -B "$SAMPLES/gate/job.py" run.pickle || fail "job.py"
run 0 report run.pickle -o run.json -q
run 0 report run.pickle -o run.html -q
peak="$(jq -r '.devices[0].live_peak_bytes' run.json)"
for input in run.pickle run.json run.html; do
    run 0 check "$input" --max peak="$peak"
    out_has "ok    peak: 8.80 GiB of 8.80 GiB, 0 B left"
    run 4 check "$input" --max peak=$((peak - 1))
    out_has "FAIL  peak: 8.80 GiB, 1 B over the limit of 8.80 GiB; device 0; largest holder at job/train.py:42 train_step"
done
run 0 check run.pickle --max phase:weight_sync.left=0
out_has "ok    phase:weight_sync.left: does not occur (limit 0 B)"
run 4 check run.pickle --max phase:train.left=1GiB --max reserved=1TiB --max role:kv_cache=0
out_has "FAIL  phase:train.left: 3.49 GiB, 2.49 GiB over the limit of 1.00 GiB"
out_has "ok    reserved: 10.09 GiB of 1.00 TiB"
printf '# all of them\n\n  peak = 70GiB  # the card has 80\nrole:logits=8GiB\r\n' > limits
run 0 check run.pickle --limits limits
check [ "$(sed -n 's/.*; limit set in //p' .out | tr '\n' ' ')" = 'limits:3 limits:4 ' ]
check [ "$(grep -c 'set in' <("$MEMTRACE" check run.pickle --max peak=70GiB))" -eq 0 ]
far="$(printf 'a%.0s' {1..90})"
cp limits "$far"
run 0 check run.pickle --limits "$far"
out_has "aaaa:3"
check [ "$(grep -c '^ok ' .out)" -eq 3 ]
run 4 check "$SAMPLES/verl_two_ranks.tar.gz" --max peak=10GiB
out_has "; rank 1, device 0; largest holder at "

# A run that ran out of memory fails by itself, here and in a report.
run 4 check "$SAMPLES/verl_grpo_oom_logprob.pickle"
out_has "FAIL  oom: memory ran out, asking for 18.55 GiB"
out_has "asked for at utils/torch_functional.py:171 entropy_from_logits"
run 4 check "$SAMPLES/cards.log"
run 4 report "$SAMPLES/verl_grpo_oom_logprob.pickle" --fail-on oom -o page.html
exists page.html
run 4 report page.html --format text --fail-on oom
run 0 report "$SAMPLES/verl_grpo_oom_logprob.pickle" --format json -o -
run 0 report run.pickle --format json --fail-on oom -o -
run 4 report "$SAMPLES/torch/oom_capacity.log" --format text --fail-on oom

# 0 to 3 keep their meaning.
run 1 check missing.pickle --max peak=1GiB
run 1 check run.pickle --baseline missing.json
run 4 check "$SAMPLES/verl_two_ranks_truncated.tar.gz" --max peak=1TiB
err_has "warning"
out_has "?     oom: not known"
out_has "ok    peak: "
run 2 check run.pickle --max peak
err_has "--max: 'peak': NAME=SIZE is expected, as in peak=70GiB"
run 2 check run.pickle --max peek=1GiB
err_has "'peek' is no limit: peak, reserved, role:ID, phase:ID and phase:ID.left are"
run 2 check run.pickle --max role:logit=1GiB
err_has "there is no role 'logit'"
run 2 check run.pickle --max phase:weight_sink.left=0
err_has "there is no phase 'weight_sink'"
run 2 check run.pickle --max peak=70Gib/s
err_has "is not a size"
printf 'peak = 70GiB\nrole:logits 8GiB\n' > limits
run 2 check run.pickle --limits limits
err_has "limits:2: 'role:logits 8GiB': NAME=SIZE is expected"
run 2 check run.pickle --tolerance 2 --max peak=1GiB
run 2 check run.json --capacity 80GiB --max peak=1GiB
run 2 check run.json --baseline run.html --capacity 80GiB
run 0 check run.pickle --baseline run.json --capacity 80GiB # it is for the side that is made
run 0 diff run.json run.pickle --capacity 80GiB
run 2 check run.pickle --baseline run.json --redact
printf 'peak = 1TiB\n' > limits
run 1 check run.pickle --limits limits -o limits --force
err_has "limits is the input itself"
run 1 check run.pickle --baseline run.json -o run.json --force
err_has "run.json is the input itself"

# 0 % is the baseline itself; what is smaller than a tenth of a per cent is more than that.
jq '.devices[0].live_peak_bytes -= 1' run.json > less.json
for share in 0% 0.04% 2%; do
    run 0 check run.json --baseline run.json --tolerance "$share"
done
run 4 check run.json --baseline less.json --tolerance 0%
out_has "FAIL  peak: 8.80 GiB, 1 B over the limit of 8.80 GiB"
out_lacks "grown most at" # nothing has
run 0 check run.json --baseline less.json --tolerance 0.04%
jq '.devices[0].live_peak_bytes = 18446744073709549568' run.json > most.json
run 0 check run.json --baseline most.json

# What was not measured is not kept.
jq '.devices = [] | .phases = []' run.json > bare.json
jq '.verdict.out_of_memory = null | .verdict.kind = "end_state"' run.json > end.json
run 4 check bare.json --max peak=1TiB --max role:kv_cache=0 --max phase:train=1TiB --baseline run.json --format json
check [ "$(jq -r '[.limits[] | select(.limit != "oom") | .over] | unique | tostring' .out)" = "[null]" ]
check [ "$(jq -r '.passed, .over, .unknown > 3' .out | tr '\n' ' ')" = "false 0 true " ]
run 4 check bare.json --max peak=1TiB
out_has "?     peak: not known: no snapshot was analysed that tells it (limit 1.00 TiB)"
run 4 check bare.json --max peak=1TiB --format junit
out_has 'failures="1"'
out_has '<failure message="peak: not known'
run 4 check bare.json --max peak=1TiB --format github
out_has "::error title=memory not known::peak: "
run 4 check end.json --max peak=1TiB
out_has "?     oom: not known: nothing in the input tells whether memory ran out"
out_has "ok    peak: "
run 1 check run.json --baseline bare.json
err_has "the baseline has no peak, no role and no phase"

# Owners are those of the failure, and of the device that is compared.
run 4 check "$SAMPLES/verl_grpo_oom_logprob.pickle" --max peak=1GiB
out_has "; largest holder at the failure: "
run 0 report "$SAMPLES/verl_two_ranks.tar.gz" -o ranks.json -q
jq '.devices |= map(if .rank == 0 then .live_peak_bytes += 99000000000 else . end) | .verdict.rank = 1 | .owners[0].bytes += 5000000000' ranks.json > grown.json
run 4 check grown.json --baseline ranks.json
check [ "$(grep '^FAIL  peak' .out | grep -c 'rank 0.*grown most')" -eq 0 ]
finish
