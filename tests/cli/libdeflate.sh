#!/usr/bin/env bash
# libdeflate is used where it is there, and changes nothing but time and size: a page holds the same as without it, and is no larger.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
run 0 --version
grep -q ', libdeflate, ' .out || skip_all "libdeflate or its headers are not on this machine"

# A file of that name that is no library, where it is looked for first.
mkdir none && : > none/libdeflate.so.0
without="$TMP/none${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
LD_LIBRARY_PATH="$without" run 0 --version
out_has ", no libdeflate, "

for sample in verl_grpo_oom_logprob.pickle fragmentation_oom.pickle fsdp_finetune.pickle driver_v1.trace.gz; do
    run 0 report --force -o with.html "$SAMPLES/$sample"
    LD_LIBRARY_PATH="$without" run 0 report --force -o without.html "$SAMPLES/$sample"
    for page in with without; do python3 -B "$MT_SOURCE_DIR/tests/cli/unpack_page.py" "$page.html" text > "$page.unpacked"; done
    same with.unpacked without.unpacked
    check [ $((100 * $(wc -c < with.html))) -lt $((101 * $(wc -c < without.html))) ] # versions of both differ
done
finish
