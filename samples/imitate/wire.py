"""Writes memtrace traces as docs/trace-format.md describes them."""

import struct
import zlib

from . import encode

STRING, ATTR, THREAD, MODULE, STACK, DEVICE, CONTEXT, CALL, MEMORY2, MEMPOOL = range(1, 11)
PUSH, POP, START, END_RANGE, MARK, GPU_SAMPLE, HOST_SAMPLE, STATUS, LOSS, END = range(11, 21)
SYMBOL, ATTACH, BLOB, CHECKPOINT = 21, 22, 23, 24
PROCESS, ATTACHED, COLLECT, LAUNCH, KEPT = 1, 2, 3, 4, 5
OPS = (
    "other mem_alloc mem_free managed_alloc host_alloc host_free host_register host_unregister async_alloc async_free "
    "pool_create pool_destroy pool_trim pool_attribute vmm_reserve vmm_address_free vmm_create vmm_release vmm_map vmm_unmap "
    "vmm_access vmm_export vmm_import vmm_retain multicast_create multicast_bind multicast_unbind ipc_export ipc_open "
    "ipc_close array_create array_destroy graph_alloc_node graph_free_node graph_instantiate graph_upload graph_exec_destroy "
    "graph_trim context_create context_destroy context_retain context_release context_reset module_load module_unload mem_info context_limit code_load code_unload"
).split()
FIELDS = (
    "result addr size handle offset stream device context pool flags stack free total location change name corr"
).split()
MEM2 = "addr size device context stream corr pool pool_type utilized name source pc".split()
DELTAS = ("addr", "handle", "context", "pool", "corr")


def varint(v):
    out = bytearray()
    while v >= 128:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def zigzag(n):
    return varint((n << 1 ^ n >> 63) & 0xFFFFFFFFFFFFFFFF)


def text(s):
    data = s if isinstance(s, bytes) else s.encode("utf-8")
    return varint(len(data)) + data


def signed64(n):
    n &= 0xFFFFFFFFFFFFFFFF
    return n - (1 << 64) if n >> 63 else n


class Chunk:
    """One chunk; record() and its kin add to it. Times are MONOTONIC nanoseconds."""

    def __init__(self, uid, seq, kind, pid, realtime, monotonic, dropped=0):
        self.uid, self.seq, self.kind, self.pid = uid, seq, kind, pid
        self.realtime, self.monotonic, self.dropped = realtime, monotonic, dropped
        self.records, self.n, self.ends = bytearray(), 0, []
        self.state = {"time": monotonic, "tid": pid}
        self.state.update((name, 0) for name in DELTAS)

    def record(self, kind, *parts):
        payload = b"".join(p if isinstance(p, bytes) else varint(p) for p in parts)
        self.records += varint(kind) + varint(len(payload)) + payload
        self.n += 1
        self.ends.append(len(self.records))

    def delta(self, name, value):
        out = zigzag(signed64(value - self.state[name]))
        self.state[name] = value
        return out

    def timed(self, kind, time, tid, *parts):
        self.record(kind, self.delta("time", time), self.delta("tid", tid), *parts)

    def fields(self, names, values, deltas=DELTAS):
        mask, out = 0, []
        for bit, name in enumerate(names):
            if name not in values:
                continue
            mask |= 1 << bit
            value = values[name]
            out.append(self.delta(name, value) if name in deltas else zigzag(value) if name == "change" else varint(value))
        return [varint(mask)] + out

    def call(self, time, tid, op, cbid, duration, **values):
        self.timed(CALL, time, tid, OPS.index(op), cbid, duration, *self.fields(FIELDS, values))

    def memory2(self, time, tid, op, kind, **values):
        self.timed(MEMORY2, time, tid, op, kind, *self.fields(MEM2, values, ("addr", "corr", "pool")))

    def attr(self, key, value):
        self.record(ATTR, text(key), text(str(value)))

    def bytes(self, used=None):
        """used: only that many bytes of records, as an earlier copy of the chunk had them."""
        records = bytes(self.records) if used is None else bytes(self.records[:used])
        return (
            b"MTCHUNK\x01"
            + struct.pack("<QQQQ", self.uid, self.seq, self.realtime, self.monotonic)
            + struct.pack("<IIIHHQ", len(records), self.n, self.pid, self.kind, 0, self.dropped)
            + records
        )

    def member(self, used=None):
        return member(self.bytes(used))


def member(chunk):
    uid, seq = struct.unpack_from("<QQ", chunk, 8)
    (kind,) = struct.unpack_from("<H", chunk, 52)
    return (
        b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x1c\0MT\x18\0"
        + struct.pack("<QQIHH", uid, seq, len(chunk), kind, 0)
        + encode.deflate(chunk)
        + struct.pack("<II", zlib.crc32(chunk), len(chunk))
    )


def attachment(uid, pid, realtime, number, name, kind, data, part_size, first_seq=0):
    """The chunks of one attached file."""
    parts = [data[i : i + part_size] for i in range(0, len(data), part_size)] or [b""]
    out = []
    for i, part in enumerate(parts):
        chunk = Chunk(uid, first_seq + i, ATTACHED, pid, realtime, 0)
        chunk.record(ATTACH, number, i, len(parts), len(data), text(name), text(kind))
        chunk.record(BLOB, part)
        out.append(chunk)
    return out
