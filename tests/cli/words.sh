#!/usr/bin/env bash
# What a report says where it is easy to say it wrongly: two devices, capacity, advice for a job that did not fail, one of something.
# shellcheck source=tests/cli/lib.sh
. "${MT_SOURCE_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)}/tests/cli/lib.sh" || exit 1

block() { printf '{"address":%s,"size":%s,"requested_size":%s,"state":"active_allocated","frames":[%s]}' "$1" "$2" "$2" "$3"; }
segment()
{
    printf '{"device":%s,"address":%s,"total_size":%s,"stream":0,"segment_type":"large","segment_pool_id":[0,0],"blocks":[%s]}' \
        "$1" "$2" "$3" "$4"
}
frame() { printf '{"name":"%s","filename":"%s","line":%s}' "$1" "$2" "$3"; }

# Two devices, the second fails with one hole: both stand in the table, the mark is on the failing one.
{
    printf '{"segments":[%s,' "$(segment 0 1073741824 20971520 "$(block 1073741824 20971520 "")")"
    printf '%s],' "$(segment 1 2147483648 41943040 "$(block 2147483648 41943040 "")")"
    printf '"device_traces":[[],[{"action":"alloc","addr":1,"size":1048576,"stream":0,"frames":[]},'
    printf '{"action":"free_requested","addr":1,"size":1048576,"stream":0,"frames":[]},'
    printf '{"action":"free_completed","addr":1,"size":1048576,"stream":0,"frames":[]},'
    printf '{"action":"oom","device_free":4194304,"size":419430400,"stream":0,"frames":[]}]]}'
} > two.json
run 0 report two.json --format text --full -o -
out_has 'Device 1 ran out of memory'
out_has '40.0 MiB reserved was live'
check grep -qF 'all of' "$TMP/.out"
out_has '  device 0 '
out_has '> device 1 '
out_has 'Largest usable hole    none'
if grep -F '(no stack recorded)' "$TMP/.out" | grep -q ' $'; then fail 'a line ends in blanks'; else ok; fi
run 0 report two.json --format md -o -
out_has '| device 0 | 20.0 MiB (at the dump) |'
out_has 'yes, this report'

# The share of the card stands behind the figure that it is a share of, once.
printf '{"segments":[%s]}' "$(segment 0 1073741824 1073741824 "$(block 1073741824 1073741824 "$(frame _allocate_kv_cache_tensors \
    /x/vllm/v1/worker/gpu_model_runner.py 2700),$(frame init_model /x/verl/workers/fsdp_workers.py 9)")")" > kv.json
run 0 report kv.json --format text --full -o - --capacity 4GiB
tr '\n' ' ' < "$TMP/.out" | tr -s ' ' > flat
check grep -qF 'in 1.00 GiB reserved, 25 % of the 4.00 GiB card, when the snapshot was taken' flat
check [ "$(grep -oF 'of the 4.00 GiB card' flat | wc -l)" -eq 1 ]
# The engine has its cache: a larger one is no advice.
out_has 'KV-cache allocation'
out_has 'a smaller share of the card'
if grep -qF 'a larger share of the card' "$TMP/.out"; then fail 'a larger share is advised'; else ok; fi
# In the sentence of a failure as well.
run 0 report "$SAMPLES/tiny.pickle" --format text --full -o - --capacity 1GiB
tr '\n' ' ' < "$TMP/.out" | tr -s ' ' > flat
check grep -qF '6.0 MiB was live of 22.0 MiB reserved, 2 % of the 1.00 GiB card' flat
# 4 bytes that waited, and 13 that have no role, are no numbers that a verdict of 1.6 GiB stands on.
run 0 report "$SAMPLES/torch/megatron_oom_loss.pickle.gz" --format html -o -
for few in 'Waiting to be freed' 'Without a role'; do
    if grep -qF "$few" "$TMP/.out"; then fail "$few"; else ok; fi
done
run 0 report "$SAMPLES/tiny.pickle" --format html -o -
out_has 'Waiting to be freed'
finish
