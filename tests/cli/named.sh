#!/usr/bin/env bash
# Memory that a job names: metadata, annotations, what generated code and backward passes stand for; the same in every encoding.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
need python3

python3 -B "$MT_SOURCE_DIR/tests/cli/named.py"

run 0 dump p4.pickle
grep -v '"type":"meta"' .out > want
check grep -qF '"op":"call_function","node":"linear","target":"aten.linear.default","name":"forward","file":"/job/model.py","line":42,"code":"h = self.lm_head(h)"' want
check grep -qF '"user_metadata":"pool: comm-buffers, layer: 3"' want
check [ "$(grep -c '"forward_stack":' want)" -eq 2 ]
for other in p0.pickle p2.pickle flat.json wide.json; do
    run 0 dump "$other"
    grep -v '"type":"meta"' .out > got
    same got want
done

run 0 report --format json p4.pickle
label() { jq -r --arg b "$1" '.owners[] | select(.bytes == ($b | tonumber) * 1073741824) | .label' .out; }
# shellcheck disable=SC2016
check [ "$(label 6)" = 'job/model.py:42 `h = self.lm_head(h)`' ]
check [ "$(label 5)" = 'job/model.py:17 forward, in the backward of it (autograd ConvolutionBackward0)' ]
check [ "$(label 4)" = '"kv_cache layer 3" (job/train.py:9 step)' ]
check [ "$(label 3)" = '"pool: comm-buffers, layer: 3" (job/train.py:9 step)' ]
check [ "$(label 2)" = '"weight: model.layers.3.mlp" (job/train.py:9 step)' ]
check [ "$(label 1)" = 'job/train.py:9 step' ] # generated code of which nothing is said
role() { jq -r --arg r "$1" '.devices[0].roles[] | select(.role == $r) | .bytes / 1073741824' .out; }
check [ "$(role kv_cache) $(role comm) $(role param)" = "4 3 2" ]
check [ "$(jq '.devices[0].known_by[] | select(.reason == "name") | .bytes / 1073741824' .out)" -eq 9 ]
check [ "$(jq -r .verdict.site .out)" = 'job/model.py:17 forward, in the backward of it (autograd ConvolutionBackward0)' ]
check [ "$(jq -r '.verdict.forward_frames[0] | .file, .line' .out | paste -sd:)" = /job/model.py:17 ]
check [ "$(jq .verdict.request_bytes .out)" -eq $((8 << 30)) ]
check [ "$(jq -r '.devices[0].ooms[0].compile_context' .out)" = 0/0 ]
check [ "$(jq -r '[.owners[].frames[] | select(.stands_for != null) | .stands_for | .file, .line, .code] | join(" ")' .out)" = '/job/model.py 42 h = self.lm_head(h)' ]
run 0 report --format text --full -o - p4.pickle
tr '\n' ' ' < .out | tr -s ' ' > flat
check grep -qF 'it asked for 8.00 GiB at job/model.py:17 forward, in the backward of it (autograd ConvolutionBackward0), with 1.00 GiB free' flat
check grep -qF 'The request that failed, innermost frame first: job/model.py:17 forward job/train.py:9 step in the compiled graph 0/0' flat
# names are the job's: escaped, and gone where the report is redacted
run 0 report --format html -o page.html p4.pickle
check grep -qF '&quot;kv_cache layer 3&quot;' page.html
run 0 dump --redact p4.pickle
check [ "$(grep -c /job/ .out)" -eq 0 ]

finish
