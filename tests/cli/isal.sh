#!/usr/bin/env bash
# ISA-L is used where it is there, and changes nothing but the time: the same is said of whole and of damaged input as without it, and a page
# holds the same and is no larger.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
run 0 --version
grep -q ', ISA-L, ' .out || skip_all "ISA-L or its headers are not on this machine"

# A file of that name that is no library, where it is looked for first.
mkdir none && : > none/libisal.so.2
without="$TMP/none${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
LD_LIBRARY_PATH="$without" run 0 --version
out_has ", no ISA-L, "

both() # FILE
{
    local status
    "$MEMTRACE" info "$1" > with.out 2> with.err
    status=$?
    LD_LIBRARY_PATH="$without" run "$status" info "$1"
    same .out with.out
    same .err with.err
}
python3 - "$SAMPLES" <<'END' || fail "the damaged files could not be made"
import gzip, pathlib, sys

samples = pathlib.Path(sys.argv[1])
snapshot = (samples / "verl_grpo_oom_logprob.pickle").read_bytes()
log = (samples / "cards.log").read_bytes()
trace = (samples / "driver_v1.trace.gz").read_bytes()
members = gzip.compress(snapshot[:100000], mtime=0) + gzip.compress(snapshot[100000:], mtime=0)
for name, whole in (("a.pickle.gz", gzip.compress(snapshot, mtime=0)), ("two.pickle.gz", members), ("a.log.gz", gzip.compress(log, mtime=0)), ("a.trace.gz", trace)):
    n = len(whole)
    pathlib.Path(name).write_bytes(whole)
    pathlib.Path("cut-" + name).write_bytes(whole[: n * 2 // 3])
    pathlib.Path("behind-" + name).write_bytes(whole + b"more")
    for i, at in enumerate((n // 5, n // 2, n - 6, n - 2)):
        bad = bytearray(whole)
        bad[at] ^= 0x15
        pathlib.Path("bad%d-%s" % (i, name)).write_bytes(bad)
END
for file in *.gz; do both "$file"; done

for sample in verl_grpo_oom_logprob.pickle fragmentation_oom.pickle fsdp_finetune.pickle driver_v1.trace.gz; do
    run 0 report --force -o with.html "$SAMPLES/$sample"
    LD_LIBRARY_PATH="$without" run 0 report --force -o without.html "$SAMPLES/$sample"
    for page in with without; do python3 -B "$MT_SOURCE_DIR/tests/cli/unpack_page.py" "$page.html" text > "$page.unpacked"; done
    same with.unpacked without.unpacked
    check [ $((100 * $(wc -c < with.html))) -lt $((101 * $(wc -c < without.html))) ] # versions of both differ
done
finish
