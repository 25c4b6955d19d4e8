#!/usr/bin/env python3
"""trace_decode.py on bytes made by hand: every field, deltas, damage, spools, duplicates. Nothing here runs the C sources."""
import pathlib
import random
import struct
import sys
import tempfile
import zlib

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import trace_decode as td  # noqa: E402

FAILED = []


def check(what, ok, *more):
    print("ok" if ok else "not ok", "-", what, *(more if not ok else ()))
    if not ok:
        FAILED.append(what)


def u(v):
    out = bytearray()
    while v >= 128:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def s(v):
    return u((v << 1) ^ (v >> 63) if v >= 0 else ((-v) << 1) - 1)


def st(raw):
    return u(len(raw)) + raw


def rec(kind, payload):
    return u(kind) + u(len(payload)) + payload


def chunk(uid, seq, body, kind=td.PROCESS, pid=100, mono=1000, real=5000, count=0, dropped=0):
    return td.MAGIC + struct.pack("<QQQQIIIHHQ", uid, seq, real, mono, len(body), count, pid, kind, 0, dropped) + body


def member(raw, subfield=True):
    uid, seq = struct.unpack_from("<QQ", raw, 8)
    kind = struct.unpack_from("<H", raw, 52)[0]
    extra = b"MT" + struct.pack("<H", 24) + struct.pack("<QQIHH", uid, seq, len(raw), kind, 0)
    deflate = zlib.compressobj(1, zlib.DEFLATED, -15)
    packed = deflate.compress(raw) + deflate.flush()
    head = b"\x1f\x8b\x08" + (b"\x04" if subfield else b"\x00") + b"\0\0\0\0\x04\x03"
    if subfield:
        head += struct.pack("<H", len(extra)) + extra
    return head + packed + struct.pack("<II", zlib.crc32(raw), len(raw))


def read(*parts, name="t.gz"):
    trace = td.Trace()
    for part in parts:
        trace.add_bytes(part, name)
    return trace.decode()


def test_numbers():
    for value in [0, 1, 127, 128, 1 << 32, (1 << 64) - 1]:
        check(f"varint {value}", td.Cursor(u(value)).u() == value)
    for value in [0, -1, 1, -(1 << 62), (1 << 63) - 1, -(1 << 63)]:
        check(f"zigzag {value}", td.Cursor(s(value)).s() == value)
    for bad in [b"", b"\x80", b"\xff" * 9 + b"\x02", b"\xff" * 11]:
        try:
            td.Cursor(bad).u()
            check(f"varint {bad!r} is refused", False)
        except td.Cut:
            check(f"varint {bad!r} is refused", True)


def test_call():
    every = (1 << 17) - 1
    body = rec(1, u(7) + b"name") + rec(8, s(5) + s(1) + u(1) + u(243) + u(900) + u(every) + u(2) + s(4096) + u(64) + s(-3) + u(11)
                                        + u(12) + u(13) + s(14) + s(15) + u(16) + u(17) + u(18) + u(19) + u(1) + s(-20) + u(7) + s(21))
    body += rec(8, s(10) + s(-1) + u(2) + u(245) + u(1) + u(1 << 1 | 1 << 16) + s(-4095) + s(1))
    body += rec(9, s(0) + s(0) + u(1) + u(3) + u(1 << 0 | 1 << 1 | 1 << 5) + s(9) + u(64) + s(-22))
    p = read(member(chunk(9, 0, body, count=4))).processes[9]
    a, b, m = p.records[1:]
    want = dict(op="mem_alloc", cbid=243, duration=900, result=2, addr=4096, size=64, handle=(1 << 64) - 3, offset=11, stream=12, device=13,
                context=14, pool=15, flags=16, stack=17, free=18, total=19, location=1, change=-20, name=7, corr=21, time=1005, tid=101)
    check("all fields of a call", all(a[k] == v for k, v in want.items()), a)
    check("deltas run on", (b.time, b.tid, b.addr, b.corr) == (1015, 100, 1, 22), b)
    check("activity records share them", (m.addr, m.corr, m.size, m.op, m["kind"]) == (10, 0, 64, 1, 3), m)
    check("time on the common clock", p.realtime(a) == 5005)
    check("string", p.string(7) == "name")


def test_deltas_start_anew():
    body = rec(8, s(5) + s(1) + u(1) + u(243) + u(1) + u(2) + s(100))
    p = read(member(chunk(9, 0, body)) + member(chunk(9, 1, body, mono=2000))).processes[9]
    check("delta state starts anew", [(c.time, c.tid, c.addr) for c in p.calls] == [(1005, 101, 100), (2005, 101, 100)], p.calls)


def test_unknown():
    body = rec(99, b"what") + rec(2, st(b"host") + st(b"n1") + b"later fields") + rec(8, s(0) + s(0) + u(200) + u(1) + u(1) + u(0))
    t = read(member(chunk(9, 0, body)))
    check("unknown records and fields are skipped", t.unknown == 1 and t.processes[9].attrs == {"host": ["n1"]} and not t.problems, t.problems)
    check("unknown operation", t.processes[9].calls[0].op == "op 200")


def test_damage():
    one = [member(chunk(9, i, rec(2, st(b"k%d" % i) + st(b"v" * 50)))) for i in range(5)]
    good = b"".join(one)
    for cut in range(len(good)):
        p = read(good[:cut]).processes.get(9)
        whole = sum(1 for i in range(5) if len(b"".join(one[:i + 1])) <= cut)
        if (len(p.chunks) if p else 0) != whole:
            check(f"cut at {cut}", False, whole)
            break
    else:
        check("every cut leaves the whole members", True)
    lost_more = 0
    for at in range(len(good)):
        bad = bytearray(good)
        bad[at] ^= 0x55
        p = read(bytes(bad)).processes.get(9)
        lost_more += (len(p.chunks) if p else 0) < 4
    check("a flipped byte costs one member", lost_more == 0, lost_more)
    rng = random.Random(1)
    for _ in range(300):
        bad = bytearray(good)
        for _ in range(rng.randrange(1, 20)):
            bad[rng.randrange(len(bad))] = rng.randrange(256)
        read(bytes(bad))
    check("random damage raises nothing", True)
    t = read(one[0] + one[3])
    check("a gap is counted", t.processes[9].missing == 2 and t.problems)
    t = read(member(chunk(9, 0, rec(2, st(b"a") + st(b"b")) + b"\x02\x7fshort")))
    check("a record that is cut", t.processes[9].attrs == {"a": ["b"]} and t.problems)


def spool(chunks, acts=(), stride2=128, stridep=80, slot=65536, act=4096, states=None):
    head = bytearray(td.PAGE)
    head[:8] = td.SPOOL_MAGIC
    struct.pack_into("<QIIIIIII", head, 8, 9, 100, slot, len(chunks), act, len(acts), stride2, stridep)
    struct.pack_into("<QQ", head, 48, 4000, 3)
    states = states or [td.OPEN] * len(chunks)
    struct.pack_into(f"<{len(states) + len(acts)}I", head, 64, *states, *[td.FULL] * len(acts))
    return bytes(head) + b"".join(c.ljust(slot, b"\xee") for c in chunks) + b"".join(a.ljust(act, b"\0") for a in acts)


def test_spool():
    old = chunk(9, 1, rec(2, st(b"a") + st(b"1")))
    new = chunk(9, 1, rec(2, st(b"a") + st(b"1")) + rec(2, st(b"b") + st(b"2")))
    t = read(member(old), spool([new, chunk(9, 2, b""), b"junk"], states=[td.OPEN, td.FULL, td.FREE]), member(chunk(9, 0, b"")))
    p = t.processes[9]
    check("the longer copy wins", p.attrs == {"a": ["1"], "b": ["2"]} and t.duplicates == 1 and not t.problems, p.attrs, t.problems)
    record = struct.pack("<IIII QQQQ IIII", 49, 1, 3, 77, 0xabc000, 512, 4900, 0, 100, 0, 1, 7).ljust(128, b"\0")
    pool = struct.pack("<IIIIIIQ QQQQ", 50, 1, 1, 5, 100, 0, 0, 0xd000, 64, 0, 4950).ljust(80, b"\0")
    p = read(spool([new], [record + pool + record])).processes[9]
    check("activity records left in a buffer", [(r.type, r.time) for r in p.activities_left] == [("memory2", 900), ("mempool", 950), ("memory2", 900)]
          and p.activities_left[0].addr == 0xabc000 and p.activities_left[0].size == 512, p.activities_left)
    wrong = bytearray(spool([new]))
    struct.pack_into("<I", wrong, 24, 100000)
    check("an impossible spool", read(bytes(wrong)).problems != [])
    half = spool([new])[:td.PAGE + 80]
    check("a cut spool", read(half).processes[9].attrs == {"a": ["1"]} or read(half).problems != [])


def test_tables():
    body = rec(4, u(1) + u(0x7000) + u(0x100) + st(b"/lib/libnccl.so.2") + st(b"\x01\x02")) + rec(5, u(3) + u(2) + u(1) + u(0x10) + u(2) + u(5))
    body += rec(6, u(0) + u(1) + u(80 << 30) + st(b"GPU-1") + st(b"0000:3b:00.0") + st(b"H100")) + rec(7, u(0xc0) + u(0))
    body += rec(3, u(101) + st(b"main")) + rec(16, s(1) + s(0) + u(0) + u(1) + u(5) + u(6) + u(11) + u(2) + u(100) + u(3) + u(7) + u(2))
    body += rec(17, s(1) + s(0) + u(1) + u(2) + u(3) + u(4) + u(5)) + rec(18, s(1) + s(0) + u(10) + u(1) + st(b"no space"))
    body += rec(19, s(1) + s(0) + u(1) + u(7) + u(0)) + rec(19, s(1) + s(0) + u(1) + u(9) + u(0)) + rec(20, s(1) + s(0) + u(3) + s(-9))
    body += rec(1, u(1) + b"dom") + rec(1, u(2) + "phase é".encode()) + rec(11, s(1) + s(0) + u(1) + u(2) + u(0))
    body += rec(11, s(1) + s(0) + u(1) + u(2) + u(0)) + rec(12, s(1) + s(0) + u(1) + u(0)) + rec(13, s(1) + s(0) + u(0) + u(2) + u(1) + u(44))
    body += rec(14, s(1) + s(5) + u(0) + u(1) + u(44)) + rec(15, s(1) + s(0) + u(0) + u(2) + u(2))
    body += rec(10, s(1) + s(0) + u(1) + u(0) + s(640) + u(2) + u(3) + u(4)) + rec(21, u(1) + u(16) + st(b"f") + st(b"f.c") + u(12))
    t = read(member(chunk(9, 0, body, dropped=4)))
    p = t.processes[9]
    check("no problem", not t.problems, t.problems)
    check("module, stack, owner", p.owner(3) == ["libnccl.so.2", "?"] and p.modules[1].build_id == b"\x01\x02" and p.stacks[3][1] == (2, 5))
    check("device and context", p.devices[0].ordinal == 0 and p.devices[0].total == 80 << 30 and p.contexts[0xc0] == 0 and p.threads[101] == "main")
    check("samples", p.of("gpu_sample")[0].uses == [(100, 3), (7, 2)] and p.of("host_sample")[0].pinned == 5)
    check("status, losses, end", p.statuses == [("disk_full", 1, "no space")] and p.losses() == {"records": (9, 0)} and p.ends() == [("signal", -9)])
    kinds = [(r[6], r[1], r[2], r[3], r[5] is not None) for r in p.ranges()]
    check("ranges", kinds == [("push", "dom", "phase é", "nvtx", False), ("push", "dom", "phase é", "nvtx", True),
                              ("start", "", "phase é", "api", True), ("mark", "", "phase é", "hook", True)], kinds)
    pool = p.of("mempool")[0]
    check("pool record", (pool.op, pool.pool, pool.size, pool.threshold, pool.utilized) == (1, 640, 2, 3, 4) and p.dropped == 4)
    check("symbol", p.symbols[(1, 16)].function == b"f")


def test_attachments():
    parts = [rec(22, u(1) + u(i) + u(2) + u(5) + st(b"snap.pickle") + st(b"torch_snapshot")) + rec(23, b"abcde"[3 * i:3 * i + 3]) for i in range(2)]
    whole = [member(chunk(9, i, parts[i], kind=td.ATTACH)) for i in range(2)]
    check("attachment", read(*whole).attached() == [(9, "snap.pickle", "torch_snapshot", b"abcde")])
    check("a part is missing", read(whole[1]).attached() == [(9, "snap.pickle", "torch_snapshot", None)])
    check("sequence numbers count per kind", not read(*whole, member(chunk(9, 0, b""))).problems)


EXAMPLE = """4d 54 43 48 55 4e 4b 01 88 77 66 55 44 33 22 11 00 00 00 00 00 00 00 00 00 00 2a 36 fe 9c 97 17 00 f2 05 2a 01 00 00 00
40 00 00 00 04 00 00 00 67 12 00 00 01 00 00 00 00 00 00 00 00 00 00 00 02 09 03 70 69 64 04 34 37 31 31 08 15 a0 1f 06 01 f3 01 dc 0b 46
80 80 80 80 80 c0 3f 80 80 80 01 00 08 18 e8 07 00 01 f3 01 84 07 47 02 ff ff ff ff ff bf 3f 80 80 80 80 80 02 00 63 02 01 02"""


def test_example():
    """The example at the end of docs/trace-format.md."""
    t = read(member(bytes.fromhex(EXAMPLE)))
    p = t.processes[0x1122334455667788]
    a, b = p.calls
    check("documented example", not t.problems and t.unknown == 1 and p.pid == 4711 and p.attrs == {"pid": ["4711"]}, t.problems)
    check("its first call", (p.realtime(a), a.tid, a.op, a.cbid, a.duration, a.addr, a.size, a.device)
          == (1700000000000002000, 4714, "mem_alloc", 243, 1500, 0x7f0000000000, 2097152, 0), a)
    check("its second call", (b.time - a.time, b.tid, b.duration, b.result, b.addr, b.size, b.device) == (500, 4714, 900, 2, 0, 64 << 30, 0), b)
    twice = read(member(chunk(0, 0, rec(2, st(b"a") + st(b"1")), kind=td.LAUNCH, real=1)) + member(chunk(0, 0, rec(2, st(b"a") + st(b"2")), kind=td.LAUNCH, real=2)))
    check("two captures in one file", twice.processes[0].attrs == {"a": ["1", "2"]} and not twice.problems and not twice.duplicates)
    check("chunks of a later kind", not read(member(chunk(9, 3, b"", kind=77))).problems)


def test_command(folder):
    path = folder / "t.gz"
    path.write_bytes(member(chunk(9, 0, rec(2, st(b"host") + st(b"n1")))) + member(chunk(0, 0, b"", kind=td.LAUNCH)))
    check("main", td.main([str(path)]) == 0 and td.main(["--records", str(path)]) == 0)
    path.write_bytes(path.read_bytes()[:-5])
    check("main on a cut file", td.main([str(path)]) == 3)
    check("members without the subfield are read, and named", read(member(chunk(9, 0, b""), subfield=False)).problems != [])
    check("a plain text file", read(b"hello" * 100).problems != [] and read(b"").problems == [])


test_numbers()
test_call()
test_deltas_start_anew()
test_unknown()
test_damage()
test_spool()
test_tables()
test_attachments()
test_example()
with tempfile.TemporaryDirectory() as temporary:
    test_command(pathlib.Path(temporary))
print(f"{len(FAILED)} failed")
sys.exit(1 if FAILED else 0)
