#!/usr/bin/env bash
# A framework that nobody has heard of, added by one file of --rules: in a snapshot, a log, the order of advice, the settings, the redaction and
# the command line it is what a built-in one is.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
need jq

cat > dragon.json << 'END'
{
"schema_version": 1,
"frameworks": [
{"id": "dragonrl", "words": "DragonRL", "kind": "rl", "packages": [{"name": "dragonrl", "inside": ["lair", "flight"]}], "processes": ["DragonActor"],
  "drives": ["verl"], "traits": ["log_files", "passes_in_step"]},
{"id": "scales", "words": "Scales", "kind": "backend", "one_of": "backend", "frames": [{"file": "dragonrl/scales/"}]}
],
"phases": [
{"id": "phase.dragonrl.train", "framework": "dragonrl", "level": "C", "phase": "train_actor", "file": "dragonrl/lair/trainer.py", "function": "fly", "status": "G"},
{"id": "phase.dragonrl.score", "framework": "dragonrl", "level": "C", "phase": "logp_ref", "file": "dragonrl/lair/trainer.py", "function": "score", "status": "G"}
],
"settings": [
{"logical": "tokens_per_gpu", "keys": [{"framework": "dragonrl", "key": "dragon.tokens_in_flight", "default": "8192", "source": "dragonrl/conf.py"}]}
],
"fixes": [
{"id": "DR1", "framework": ["dragonrl"], "kind": "setting", "phases": ["loss", "forward_backward", "logp"], "title": "Fewer tokens in flight",
  "why": "Activations grow with the tokens of a micro-batch.", "current": "tokens_per_gpu",
  "set": [{"syntax": "yaml", "key": "dragon.tokens_in_flight", "value": "4096"}],
  "constraints": "none", "cost": "slower", "source": "dragonrl/conf.py", "status": "OK", "no_saving": "depends on the model"},
{"id": "DR2", "framework": ["dragonrl"], "kind": "setting", "phases": ["loss", "forward_backward", "logp"], "title": "Thicker scales", "why": "x", "backend": ["scales"],
  "set": [{"syntax": "yaml", "key": "dragon.scales", "value": "thick"}],
  "constraints": "none", "cost": "none", "source": "dragonrl/conf.py", "status": "OK", "no_saving": "depends on the model"},
{"id": "DR3", "framework": ["dragonrl"], "kind": "setting", "phases": ["loss", "forward_backward", "logp"], "title": "Sharded wings", "why": "x", "backend": ["fsdp"],
  "set": [{"syntax": "yaml", "key": "dragon.wings", "value": "sharded"}],
  "constraints": "none", "cost": "none", "source": "dragonrl/conf.py", "status": "OK", "no_saving": "depends on the model"},
{"id": "DR4", "framework": ["dragonrl"], "kind": "capture", "phases": ["capture"], "title": "Watch the lair", "why": "x",
  "set": [{"syntax": "yaml", "key": "dragon.watch", "value": "true"}],
  "constraints": "none", "cost": "none", "source": "dragonrl/conf.py", "status": "OK", "no_saving": "records"}
],
"order": [{"class": "capture", "dragonrl": ["DR4"]}, {"class": "forward_backward", "dragonrl": ["DR2", "DR3", "DR1"]}, {"class": "logp", "dragonrl": ["DR1", "DR2"]}]
}
END

# snapshot FUNCTION FILE...: 40 MiB in functions of those files, the first the innermost, and a request that failed there
snapshot()
{
    python3 - "$@" << 'END'
import json, sys
function, files = sys.argv[1], sys.argv[2:]
MIB = 1 << 20
frames = [{"name": "forward", "filename": f, "line": 3} for f in files[:-1]]
frames += [{"name": function, "filename": files[-1], "line": 7}, {"name": "main", "filename": "/home/jo/secret_lab/run.py", "line": 1}]
at = 0x7F0000000000
events = [{"action": "segment_alloc", "addr": at, "size": 40 * MIB, "stream": 0, "frames": frames, "time_us": 1000}]
blocks = []
for i in range(10):
    block = {"addr": at + i * 4 * MIB, "size": 4 * MIB, "stream": 0, "frames": frames}
    events.append(dict(block, action="alloc", time_us=1001 + i))
    blocks.append({"address": block["addr"], "size": 4 * MIB, "requested_size": 4 * MIB, "state": "active_allocated", "frames": frames})
events.append({"action": "oom", "addr": 1 * MIB, "device_free": 1 * MIB, "size": 64 * MIB, "stream": 0, "frames": frames, "time_us": 1020})
segment = {"device": 0, "address": at, "total_size": 40 * MIB, "allocated_size": 40 * MIB, "active_size": 40 * MIB, "requested_size": 40 * MIB, "stream": 0,
           "segment_type": "large", "segment_pool_id": [0, 0], "is_expandable": False, "frames": frames, "blocks": blocks}
json.dump({"segments": [segment], "device_traces": [events], "allocator_settings": {}}, sys.stdout)
END
}
lair=/opt/venv/lib/python3.12/site-packages/dragonrl/lair/trainer.py
snapshot fly "$lair" > train.json
snapshot score "$lair" > score.json
snapshot fly /opt/venv/lib/python3.12/site-packages/dragonrl/scales/mail.py "$lair" > scales.json
snapshot fly /opt/venv/lib/python3.12/site-packages/verl/workers/a.py /opt/venv/lib/python3.12/site-packages/verl/workers/b.py "$lair" > drives.json

# Without the file nobody knows it; with it the snapshot is its own, in its phases.
run 0 report train.json --format json -o -
check [ "$(jq -r .verdict.framework .out)" = none ]
run 0 report --rules dragon.json train.json --format json -o -
check [ "$(jq -r '.verdict | .framework, .phase' .out | tr '\n' ' ')" = 'dragonrl train_actor ' ]
run 0 report --rules dragon.json score.json --format json -o -
check [ "$(jq -r '.verdict | .framework, .phase' .out | tr '\n' ' ')" = 'dragonrl logp_ref ' ]
run 0 report --rules dragon.json drives.json --format json -o - # which drives verl
check [ "$(jq -r .verdict.framework .out)" = dragonrl ]
run 0 report --rules dragon.json train.json -o - --format html
out_has DragonRL

# Its column of the order, from the file; the backend that occurs excludes the other one.
first() { jq -r '[.advice[].id] | map(select(startswith("DR"))) | join(" ")' .out; }
run 0 report --rules dragon.json train.json --format json -o -
check [ "$(first)" = 'DR2 DR3 DR1' ]
check [ "$(jq -r '.advice[0].id' .out)" = DR2 ]
run 0 report --rules dragon.json score.json --format json -o -
check [ "$(first)" = 'DR1 DR2 DR3' ]
run 0 report --rules dragon.json scales.json --format json -o -
check [ "$(first)" = 'DR2 DR1' ]

# A setting: by its own key, and its default where only the framework is known.
run 0 report --rules dragon.json train.json --args dragon.tokens_in_flight=32768 --format json -o -
check [ "$(jq -r '.advice[] | select(.id == "DR1") | .current' .out)" != null ]
jq -r '.advice[] | select(.id == "DR1") | .current' .out > found
check grep -q 32768 found
run 0 report --rules dragon.json --args dragon.tokens_in_flight=32768 --log /dev/stdin --format json -o - << 'END'
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.
END
jq -r '.settings' .out > found 2> /dev/null
check grep -q dragon.tokens_in_flight found

# The words of a built-in setting, and whether it is listed, may be the file's.
jq '.settings[0].words = "tokens in flight"' dragon.json > named.json
run 0 report --rules named.json train.json --args dragon.tokens_in_flight=32768 --format text --full -o -
out_has 'tokens in flight: 32768'
jq '.settings[0].quiet = true' dragon.json > quiet.json
run 0 report --rules quiet.json train.json --args dragon.tokens_in_flight=32768 --format text --full -o -
check eval '! grep -q "dragon.tokens_in_flight=32768" .out'

# A log: the actor's name, and files of the package.
oom='torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.00 GiB is free. Of the allocated memory 70.00 GiB is allocated by PyTorch, and 1.00 GiB is reserved by PyTorch but unallocated.'
printf '(DragonActor pid=7) %s\n' "$oom" > actor.log
printf 'INFO dragonrl/lair/trainer.py:12 takes off\n%s\n' "$oom" > file.log
printf 'Traceback (most recent call last):\n  File "%s", line 7, in fly\n    burn()\n%s\n' "$lair" "$oom" > stack.log
for log in actor.log file.log stack.log; do
    run 0 report --log "$log" --format json -o -
    check [ "$(first)" = '' ]
    run 0 report --rules dragon.json --log "$log" --format json -o -
    case "$log" in stack.log) check [ "$(first)" = 'DR2 DR3 DR1 DR4' ] ;; *) check [ "$(first)" = DR4 ] ;; esac
done

# Names of its package and of its folders stay, those of people do not.
run 0 report --rules dragon.json train.json --redact --format json -o -
out_has dragonrl/lair/trainer.py
if grep -q secret_lab .out; then fail 'a name of a project stays'; else ok; fi
sed 's|/opt/venv/lib/python3.12/site-packages/dragonrl/lair|/home/jo/secret_lab/dragonrl/flight|g' train.json > checkout.json
run 0 report --rules dragon.json checkout.json --redact --format json -o -
out_has dragonrl/flight/trainer.py
run 0 report checkout.json --redact --format json -o -
if grep -q dragonrl/flight .out; then fail 'a folder that nobody knows stays'; else ok; fi

# The command line.
run 0 rules --rules dragon.json --framework dragonrl --all
out_has 'DR1  Fewer tokens in flight'
out_has phase.dragonrl.train
out_has DragonRL
run 0 report --rules dragon.json --framework dragonrl "$SAMPLES/tiny.json" --format json -o -
check [ "$(jq -r .verdict.framework .out)" = dragonrl ]
run 2 rules --framework dragonrl
err_has "unknown framework 'dragonrl'"
run 2 rules --rules dragon.json --framework dragonlr
err_has '(did you mean dragonrl?)'
err_has 'trtllm, dragonrl'

# What is wrong is named: file, row or rule, field, and which frameworks there are.
wrong() { # wrong JQ MESSAGE...
    local message
    jq "$1" dragon.json > wrong.json
    run 1 rules --rules wrong.json
    shift
    for message; do err_has "$message"; done
}
wrong '.fixes[0].framework = ["dargonrl"]' 'wrong.json: rule DR1: field "framework": "dargonrl" is not a framework' 'there are verl, easyr1' 'scales' '(a row in "frameworks" adds one)'
wrong '.settings[0].keys[0].framework = "dargonrl"' 'wrong.json: setting tokens_per_gpu: field "framework": "dargonrl" is not a framework' 'there are verl'
wrong '.order[0].dargonrl = []' '"dargonrl" is not a framework'
wrong '.frameworks[0].kind = "wyvern"' 'wrong.json: framework dragonrl: field "kind": "wyvern" is not one of rl, tuner'
wrong '.frameworks[0].drive = []' 'framework dragonrl: field "drive": is not known'
wrong '.frameworks[0].drives = ["x"]' 'framework dragonrl: field "drives": "x" is not a framework'
wrong '.frameworks[1].id = "dragonrl"' 'framework dragonrl: field "id": stands twice'
wrong '.frameworks[0].traits = ["fire"]' 'field "traits": "fire" is not one of plain, log_files'
wrong 'del(.frameworks[0].words)' 'framework dragonrl: field "words": is missing'
wrong '.frameworks[0].drives = ["dragonrl"]' 'framework dragonrl: field "drives": leads back to the row itself'
wrong '.frameworks[0].same_as = "dragonrl"' 'framework dragonrl: field "same_as": is the row itself'
wrong '.frameworks[0].program_in = "verl" | .frameworks[0].drives = ["trl"]' 'framework dragonrl: field "program_in": has to be another row'
wrong '.frameworks[0].named_by = [{"setting": "strategy"}]' 'framework dragonrl: field "named_by": has to be "setting" and "is", or "keys_below"'
wrong '.frameworks[0].named_by = [{"setting": "strategie", "is": ["x"]}]' 'framework dragonrl: field "named_by": "strategie" is no setting'
wrong '.frameworks[0].id = "model"' 'framework model: field "id": has a meaning of its own'
wrong '.phases += [.phases[0]]' 'field "id": is there twice in this file'
wrong '.order[0].generic = [] | .order += [.order[0]]' 'is there twice'
wrong '.metrics = [{"name": "x", "unit": "n", "says": "x", "is": "1"}, {"name": "x", "unit": "n", "says": "x", "is": "2"}]' 'metric x: field "name": is there twice in this file'
wrong '.metrics = [range(400) | {"name": "m\(.)", "unit": "n", "says": "x", "is": "1"}]' 'there are more than 400 metrics'
wrong '.libraries = [{"library": 7, "holder": "torch"}]' 'wrong.json: library 1: field "library": has to be a text'
wrong '.settings += [{"logical": "zz", "words": "a\u001bb", "keys": []}]' 'setting zz: field "words": has a control character'
finish
