#!/usr/bin/env bash
# memtrace collect on what is damaged: spool files and finished files of every kind of wrong content. Whatever is whole comes into the trace,
# the rest is counted, and nothing crashes or hangs.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
cat > spool.py << 'END'
"""Writes spool directories as the injected library does, and damages them."""
import os, random, struct, sys, zlib

def varint(v):
    out = bytearray()
    while v >= 128:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))

def zigzag(n): return varint((n << 1) ^ (n >> 63) & 0xffffffffffffffff if n >= 0 else ((-n << 1) - 1))
def text(s): return varint(len(s)) + s.encode()
def record(kind, payload): return varint(kind) + varint(len(payload)) + payload

UID, PID, REAL, MONO = 0x1122334455667788, 4711, 1700000000000000000, 5000000000

def chunk(seq, records, uid=UID, kind=1, used=None):
    body = b"".join(records)
    head = b"MTCHUNK\x01" + struct.pack("<QQQQIIIHHQ", uid, seq, REAL + seq, MONO + seq, len(body) if used is None else used, len(records), PID, kind, 0, 0)
    return head + body

def member(raw):
    uid, seq = struct.unpack_from("<QQ", raw, 8)
    extra = b"MT" + struct.pack("<HQQIHH", 24, uid, seq, len(raw), 1, 0)
    z = zlib.compressobj(1, zlib.DEFLATED, -15)
    return b"\x1f\x8b\x08\x04" + bytes(5) + b"\xff" + struct.pack("<H", len(extra)) + extra + z.compress(raw) + z.flush() + struct.pack("<II", zlib.crc32(raw), len(raw))

def call(op, addr, size, last=[0]):
    delta, last[0] = addr - last[0], addr
    return record(8, zigzag(1000) + zigzag(0) + varint(op) + varint(243) + varint(500) + varint(1 | 2 | 4 if op == 99 else 2 | 4) + zigzag(delta) + varint(size))

def calls(n, start=0):
    last = [0]
    return [call(1, 0x7f0000000000 + (start + i) * 2097152, 2097152, last) for i in range(n)]

def attrs(): return [record(2, text("argv.0") + text("python3")), record(2, text("argv.1") + text("train.py")), record(2, text("env.RANK") + text("3"))]

def spool(slots, states=None, size=65536, acts=()):
    page = bytearray(4096)
    page[:8] = b"MTSPOOL\x01"
    struct.pack_into("<QIIIIIII", page, 8, UID, PID, size, len(slots), 4096, len(acts), 128, 80)
    struct.pack_into("<QQ", page, 48, REAL - MONO, 0)
    for i, s in enumerate((states or [2] * len(slots)) + [2] * len(acts)):
        struct.pack_into("<I", page, 64 + 4 * i, s)
    return bytes(page) + b"".join(s.ljust(size, b"\0") for s in slots) + b"".join(a.ljust(4096, b"\0") for a in acts)

STEM = "mt-node-1-%d-%016x" % (PID, UID)
def write(folder, gz=None, sp=None, stem=STEM):
    os.makedirs(folder, exist_ok=True)
    for data, end in ((gz, ".gz"), (sp, ".spool")):
        if data is not None:
            open(os.path.join(folder, stem + end), "wb").write(data)

def whole():
    return member(chunk(0, attrs() + calls(10))) + member(chunk(1, calls(10, 10))), spool([chunk(2, calls(10, 20)), chunk(3, calls(5, 30))], [2, 1])

def memory2(n):
    return b"".join(struct.pack("<IIIIQQQQIIII", 49, 1, 3, i, 0x1000 * i, 512, REAL + i, 1, PID, 0, 1, 0xffffffff).ljust(128, b"\0") for i in range(n))

if __name__ == "__main__":
    gz, sp = whole()
    write("plain", gz, sp)
    write("gz_only", gz)
    write("spool_only", None, spool([chunk(0, attrs() + calls(10)), chunk(1, calls(10, 10))]))
    write("both", gz + member(chunk(2, calls(10, 20))), sp)                     # chunk 2 in both
    write("longer", gz + member(chunk(2, calls(4, 20))), sp)                    # the spool has more of chunk 2
    write("cut", gz + member(chunk(2, calls(10, 20)))[:-30], sp)                # killed while it wrote the member
    write("middle", gz[:60] + bytes([gz[60] ^ 255]) + gz[61:], sp)              # the first member is damaged
    write("garbage", b"x" * 5000 + gz + b"\x1f\x8b\x08" * 100, sp)
    write("gap", member(chunk(0, attrs() + calls(10))) + member(chunk(4, calls(10, 10))))
    write("empty", b"", b"")
    write("torn", gz, spool([chunk(2, calls(10, 20)), chunk(3, calls(5, 30), used=80)], [2, 1]))   # used ends in a record
    write("acts", gz, spool([], acts=[memory2(7), memory2(3)]))
    for name, (at, value) in {"slots": (24, 0xffffffff), "slot": (20, 0xffffffff), "small": (20, 10), "acts_n": (32, 0xffffffff), "act_size": (28, 0xffffffff), "stride": (36, 0xfffffff0)}.items():
        b = bytearray(sp)
        struct.pack_into("<I", b, at, value)
        write("header_" + name, gz, bytes(b))
    write("other", gz, sp[:8] + struct.pack("<Q", 77) + sp[16:])                # another process's spool
    write("attached", gz, sp)
    open("attached/%s-rank3-oom1-dev0.pickle" % STEM, "wb").write(os.urandom(3000000))
    open("attached/mt-node-1-%d-0-rank3-exit-dev0.pickle" % PID, "wb").write(b"pid only")
    open("attached/mt-other-99-0-rank3-exit-dev0.pickle", "wb").write(b"nobody's")
    open("attached/%s-torch.txt" % STEM, "w").write("a note\n")
    open("attached/%s-rank3-oom2-dev0.pickle" % STEM, "w").close()              # empty: killed before a byte was written
    os.symlink("/etc/passwd", "attached/%s-link.txt" % STEM)
    os.mkfifo("attached/%s-fifo.txt" % STEM)
    rnd = random.Random(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
    for i in range(int(sys.argv[2]) if len(sys.argv) > 2 else 120):
        g, s = bytearray(gz + member(chunk(2, calls(3, 20)))), bytearray(sp[:4096 + 2 * 65536])
        for _ in range(rnd.choice((1, 2, 8, 40))):
            b = rnd.choice((g, s))
            at = rnd.randrange(len(b) if b is g else rnd.choice((80, 4200, len(b))))
            b[at] = rnd.choice((0, 255, 128, rnd.randrange(256)))
        if rnd.random() < 0.3:
            del g[rnd.randrange(len(g)):]
        if rnd.random() < 0.3:
            del s[rnd.randrange(len(s)):]
        write("random%03d" % i, bytes(g), bytes(s))
END
python3 spool.py || fail "spool.py"

collect() # WANTED_STATUS FOLDER
{
    run "$1" collect "$2" -o "$2.gz"
    exists "$2.gz"
}
has() { # FOLDER WORDS: what the summary says of the one process
    if grep -qF "train.py (pid 4711, rank 3): $2" .err; then ok; else fail "$1: not '$2'"; fi
}
collect 0 plain
has plain "35 calls, peak 70.0 MiB"
err_lacks "could not be read"
collect 0 gz_only
has gz_only "20 calls, peak 40.0 MiB"
collect 0 spool_only
has spool_only "20 calls"
collect 0 both
has both "35 calls"
collect 0 longer
has longer "35 calls"
collect 0 cut
has cut "35 calls"
collect 3 middle
err_has "25 calls, peak 50.0 MiB, 1 chunk missing"
err_has "1 part of the recording could not be read any more"
collect 3 garbage
has garbage "35 calls"
collect 3 gap
has gap "20 calls, peak 40.0 MiB, 3 chunks missing"
collect 3 empty
err_has "nothing was recorded"
collect 3 torn
err_has "1 part"
check grep -qE 'pid 4711, rank 3\): 3[0-4] calls' .err
for name in slots slot small acts_n act_size; do
    collect 3 "header_$name"
    has "$name" "20 calls"
done
collect 0 header_stride
collect 3 other
has other "20 calls"
collect 0 acts
check [ "$(gzip -dc acts.gz | wc -c)" -gt "$(gzip -dc gz_only.gz | wc -c)" ]
collect 0 attached
err_has "3 snapshots"
err_has "35 calls, peak 70.0 MiB, 2 snapshots"
check [ "$(gzip -dc attached.gz | grep -ac 'root:x:0')" -eq 0 ]
# the same folder gives the same bytes, and stays as it is
mkdir again && cp -a plain attached again/
for name in plain attached; do
    run 0 collect "again/$name" -o "again/$name.gz"
    same "$name.gz" "again/$name.gz"
    check diff -r --no-dereference -x '*fifo*' "$name" "again/$name"
done
# a trace is a gzip file, and two are one
check gzip -t plain.gz
cat plain.gz gz_only.gz > two.gz && check gzip -t two.gz
for folder in random*; do
    timeout 20 "$MEMTRACE" collect "$folder" -o "$folder.gz" > .out 2> .err
    rc=$?
    case $rc in 0 | 3) ok ;; *) fail "$folder: exit status $rc" ;; esac
    gzip -t "$folder.gz" 2> /dev/null || fail "$folder: the trace is no gzip file"
done
run 0 collect plain -o removed.gz --remove
absent plain
same plain.gz removed.gz
# no room: said, nothing left behind, the spool kept
if [ -w /dev/full ]; then
    run 1 collect attached -o /dev/full
    err_has "No space left on device"
fi
(
    ulimit -f 100
    trap '' XFSZ
    "$MEMTRACE" collect attached -o small.gz 2> .err
    [ $? -eq 1 ]
) || fail "a limit on the size of files"
err_has "File too large"
check [ -z "$(find . -maxdepth 1 -name 'small.gz*')" ]
exists attached
finish
