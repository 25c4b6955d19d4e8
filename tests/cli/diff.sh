#!/usr/bin/env bash
# memtrace diff: what changed, in one sentence and in rows; the same whatever the inputs are; what is no comparison is said.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3
job="$SAMPLES/gate/job.py"
check python3 -B "$job" first.pickle
check python3 -B "$job" second.pickle --tokens 4096
check python3 -B "$job" keeps.pickle --keep-outputs
sed 's/model.py:%d forward" % (40 + index % 2)/model.py:%d forward" % (60 + index % 2)/; s/train.py:36/train.py:35/' "$job" > moved.py
mkdir imitate && cp "$SAMPLES"/imitate/*.py imitate
sed -i 's|os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")|"."|' moved.py
python3 -B moved.py moved.pickle || fail "moved.py"

run 0 diff first.pickle second.pickle
out_has "The second run peaks at 6.58 GiB, 2.22 GiB less than the first (8.80 GiB):"
out_has "logits and their gradient -1.22 GiB, activations -1.00 GiB."
out_has "logits and their gradient  2.44 GiB  1.22 GiB  -1.22 GiB"
out_has "job/train.py:36 train_step"
out_has "training (backward)  8.80 GiB  6.58 GiB  -2.22 GiB"
cp .out want

# The same of pages, JSON, folders, standard input.
run 0 report first.pickle -o first.html -q
run 0 report first.pickle -o first.json -q
run 0 report second.pickle -o second.html -q
mkdir folder && cp second.pickle folder
for first in first.html first.json; do
    for second in second.html folder; do
        run 0 diff "$first" "$second"
        same <(sed 1,2d want) <(sed 1,2d .out)
    done
done
run 0 diff - second.pickle < first.html
same <(sed 1,2d want) <(sed 1,2d .out)

# Equal: a snapshot beside itself, its re-encoding, its page.
for other in first.pickle first.html first.json; do
    run 0 diff first.pickle "$other"
    out_has "The two say the same of every role, phase, holder, rank, setting and"
done
for other in tiny.json tiny.indent4.json tiny.protocol0.pickle tiny.torch_jit_pickler.pickle; do
    run 0 diff "$SAMPLES/tiny.pickle" "$SAMPLES/$other" --format json
    check [ "$(jq -r .equal .out)" = true ]
done

# Lines that moved are known by their function; JSON has all rows.
run 0 diff first.pickle moved.pickle --format json
check [ "$(jq -c '[.owners[] | select(.was != null) | .change_bytes] | unique' .out)" = "[0]" ]
check [ "$(jq -r '.owners[] | select(.label == "job/model.py:60 forward") | .was' .out)" = "job/model.py:40 forward" ]
check [ "$(jq -r .equal .out)" = false ]
run 0 diff first.pickle second.pickle --format json
check [ "$(jq -r '[.roles[].change_bytes] | add' .out)" = "$(jq -r '.second.peak_bytes - .first.peak_bytes' .out)" ] # the rows add up
check [ "$(jq -r .schema_version .out)" = 1 ]

# What was kept of every step is a holder that the first run had not, and a threshold folds what is small.
run 0 diff first.pickle keeps.pickle
out_has "job/train.py:38 train_step"
out_has "+384.0 MiB"
run 0 diff first.pickle keeps.pickle --threshold 50%
out_lacks "job/train.py:38 train_step"
run 2 diff first.pickle keeps.pickle --threshold 0.5
err_has "--threshold: '0.5' is no share; write 2% or 0.5%"

# Out of memory, then not; another job is said.
run 0 diff "$SAMPLES/verl_grpo_oom_logprob.pickle" "$SAMPLES/fsdp_finetune.pickle"
out_has "It no longer runs out of memory."
out_has "The two are not alike: the framework is verl in the first and none in the"
run 0 diff "$SAMPLES/fsdp_finetune.pickle" "$SAMPLES/verl_grpo_oom_logprob.pickle"
out_has "It runs out of memory, which the first did not."
run 0 diff "$SAMPLES/verl_two_ranks.tar.gz" "$SAMPLES/verl_grpo_oom_logprob.pickle"
out_has "the number of ranks is 2 in the first and 1"
run 0 diff "$SAMPLES/cards.log" first.pickle
out_has "The peak is not known of the first, so that no peak can be compared."
jq 'del(.devices[].focus)' first.json > bare.json
jq '.devices[].roles[0].bytes += 1000' bare.json > larger.json
run 0 diff bare.json larger.json
out_has "The peak is not known of either, so that no peak can be compared."

# Settings, promised and measured.
run 0 report "$SAMPLES/verl_grpo_oom_logprob.pickle" -o a.json -q --args "actor_rollout_ref.actor.entropy_from_logits_with_chunking=False"
run 0 report "$SAMPLES/verl_grpo_oom_logprob.pickle" -o b.json -q --args "actor_rollout_ref.actor.entropy_from_logits_with_chunking=True"
run 0 diff a.json b.json --format json
check [ "$(jq -r '.settings[] | select(.key == "actor_rollout_ref.actor.entropy_from_logits_with_chunking") | .first + " " + .second' .out)" = "False True" ]
check [ "$(jq -r '.promised[0].saving_bytes' .out)" = "$(jq -r '.advice[] | select(.id == "V25") | .saving_bytes' a.json)" ]
check [ "$(jq -r .measured_bytes .out)" = 0 ] # the same run: what was promised did not come
run 0 diff a.json b.json
out_has "Promised by the first report for"
out_has "Settings that differ"

# Without a setting that differs, what was promised and fits the measured bytes is named: by live bytes, by reserved ones, by a phase that is gone.
pairs="$SAMPLES/torch/pairs"
run 0 diff "$pairs/average.pickle.gz" "$pairs/average_free.pickle.gz"
out_has "Measured in training (backward): 111.0 MiB. Of what the first report promised"
out_has "One model in place of two"
run 0 report "$pairs/average.pickle.gz" -o whole.json -q
run 0 report "$pairs/average_free.pickle.gz" -o free.json -q
check jq -e '[.advice[].id] | index("P18")' whole.json
for change in '(.advice[] | select(.id == "P18") | .saving_low_bytes) = 116375553 | (.advice[] | select(.id == "P18") | .saving_high_bytes) = 116375554' '.verdict.framework = "verl"'; do
    jq "$change" whole.json > less.json # one byte too much is promised; another program's advice
    run 0 diff less.json free.json --format json
    check [ "$(jq -c .fits .out)" = '[]' ]
done
jq --slurpfile whole whole.json '.advice += $whole[0].advice' free.json > still.json # it is still advised: that was not done
run 0 diff whole.json still.json --format json
check [ "$(jq -c .fits .out)" = '[]' ]
run 0 diff "$pairs/graphs.pickle.gz" "$pairs/graphs_free.pickle.gz"
out_has "Measured at the most reserved bytes: 212.0 MiB less."
run 0 diff "$pairs/load_cuda.pickle.gz" "$pairs/load_cpu.pickle.gz"
out_has "Measured at the highest of the whole run: 157.4 MiB; in checkpoint load, the"
out_has "second run allocates nothing on the device."
run 0 diff "$pairs/load_cpu.pickle.gz" "$pairs/load_cuda.pickle.gz"
out_lacks "allocates nothing"
out_lacks "this fits"

# Formats, and where they go.
run 0 diff first.pickle second.pickle -o diff.md
check grep -qF '| logits and their gradient | 2.44 GiB | 1.22 GiB |' diff.md
run 0 diff first.pickle second.pickle -o diff.html
check grep -qF '<td>logits and their gradient</td>' diff.html
check grep -qF "default-src 'none'" diff.html
check grep -qF '<td class="n" title="2621440000 bytes">2.44 GiB</td>' diff.html
check grep -qF '<title id="two">Live memory of both runs on one axis: first peaks at 8.80 GiB, second at 6.58 GiB</title>' diff.html
check [ "$(grep -c '<rect [^>]*><title>' diff.html)" -gt 5 ]
run 0 diff "$TMP/first.pickle" "$TMP/second.pickle" --format html
out_has '<h1>first.pickle beside second.pickle</h1>'
out_lacks "$TMP"
run 0 diff "$TMP/first.pickle" "$TMP/second.pickle" --format md
out_has '### memtrace: first.pickle beside second.pickle'
out_lacks "$TMP"
mkdir -p one/run two/run && cp first.pickle one/run/s.pickle && cp second.pickle two/run/s.pickle
run 0 diff one/run/s.pickle two/run/s.pickle --format md
out_has 'one/run/s.pickle beside two/run/s.pickle'
run 1 diff first.pickle second.pickle -o diff.html
err_has "already exists"
run 2 diff first.pickle second.pickle -o diff.html.gz
run 2 diff first.pickle
run 1 diff first.pickle missing.pickle
err_has "missing.pickle"
mkdir hostile && cp first.pickle 'hostile/<b>&"'
run 0 diff 'hostile/<b>&"' second.pickle --format html
out_lacks '<b>&"'

# Logs: what both say of the failure is compared, number for number.
printf 'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.\n' > a.log
printf 'CUDA out of memory. Tried to allocate 3.00 GiB. GPU 0 has a total capacity of 79.10 GiB of which 1.20 GiB is free.\n' > b.log
run 0 diff a.log a.log
out_has "The two logs say the same of the failure"
run 0 diff a.log b.log
out_has "asked for +1.00 GiB. It still runs out of memory. Then it asked for 3.00 GiB,"
out_has "asked for       2.00 GiB  3.00 GiB  +1.00 GiB"
run 0 diff a.log b.log --format json
check [ "$(jq -c '[.equal, (.log[] | [.label, .first_bytes, .second_bytes, .change_bytes])]' .out)" = \
    '[false,["request_bytes",2147483648,3221225472,1073741824],["capacity_bytes",84932978240,84932978240,0],["device_free_bytes",1288490176,1288490176,0]]' ]
sed 's/1.20 GiB is free/1.30 GiB is free/' a.log > c.log
run 0 diff a.log c.log --format json
check [ "$(jq -c .equal .out)" = false ]

# Rows beyond the 20th are told from those below the threshold.
jq '.owners = [range(40) as $i | .owners[0] + {label: "a.py:\($i) f", bytes: 1000000000}]' first.json > many.json
jq '.owners |= [to_entries[] | .value + {bytes: (1000000000 + (if .key < 35 then 900000000 else 1000 end))}]' many.json > more.json
run 0 diff many.json more.json
check [ "$(grep -c '+858.3 MiB' .out)" -eq 20 ]
out_has "and 15 more that changed (--format json has all)"
out_has "and 5 more that changed by less than --threshold"
jq '.owners = [range(4100) as $i | .owners[0] + {label: "a.py:\($i) f", bytes: 1000000000}]' first.json > most.json
run 0 diff most.json first.json
out_has "more that were not compared: there are too many"
run 0 diff most.json first.json --format json
check [ "$(jq .rows_left_out .out)" -ge 4 ]
# A setting and what goes with it are one promise.
jq '.advice[0] += {saving_bytes: 7000, saving_low_bytes: 7000, saving_high_bytes: 7000, set: [{key: "--a", value: "1"}, {key: "--b", value: ""}]}' first.json > p.json
jq '.settings += [{setting: "a", key: "--a", value: "1"}, {setting: "b", key: "--b", value: ""}]' first.json > q.json
run 0 diff p.json q.json
out_has "Promised by the first report for --a=1 with --b: 6.8 KiB; the second run has"
out_has "  --b      not set  set"
# A figure that only one of the two has did not change; rows that were left out are not called the same.
jq '.devices[0] += {gpu: "GPU 7"} | del(.devices[0].live_peak_bytes)' first.json > nopeak.json
run 0 diff first.json nopeak.json --format json
check jq -e '[.ranks[], .log[]?] | all(if .first_bytes == null or .second_bytes == null then .change_bytes == null else true end)' .out
jq '.owners |= (. | map(.label = "b" + .label))' most.json > other.json
run 0 diff most.json other.json --format json
check [ "$(jq -c '[.equal, .rows_left_out < 4200]' .out)" = '[false,true]' ]
finish
