#!/usr/bin/env python3
"""A second, independent reader of memtrace traces (trace.gz) and spool files, after the description of the format.

    python3 trace_decode.py FILE...            what the files hold, process by process
    python3 trace_decode.py --records FILE...  every record as a line of JSON

FILE: a trace.gz, a process's .gz, a .spool, or a folder of them. Python 3.9 or newer, standard library only. It shares no code with
the C sources; the numbers below are written out a second time on purpose. Damage never raises: what was whole is kept, the rest is
described in `problems`.
"""
import json
import pathlib
import struct
import sys
import zlib

MAGIC = b"MTCHUNK\001"
SPOOL_MAGIC = b"MTSPOOL\001"
HEADER = 64
MAX_CHUNK = 4 << 20
PAGE = 4096
M64 = (1 << 64) - 1
CBID_RUNTIME = 0x10000

PROCESS, ATTACH, COLLECT, LAUNCH, KEPT = 1, 2, 3, 4, 5
KINDS = {PROCESS: "process", ATTACH: "attach", COLLECT: "collect", LAUNCH: "launch", KEPT: "kept"}
FREE, OPEN, FULL, WRITING = 0, 1, 2, 3

TYPES = {1: "string", 2: "attr", 3: "thread", 4: "module", 5: "stack", 6: "device", 7: "context", 8: "call", 9: "memory2",
         10: "mempool", 11: "range_push", 12: "range_pop", 13: "range_start", 14: "range_end", 15: "mark", 16: "gpu_sample",
         17: "host_sample", 18: "status", 19: "loss", 20: "end", 21: "symbol", 22: "attach", 23: "blob", 24: "checkpoint"}
TIMED = {8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20}
OPS = ["other", "mem_alloc", "mem_free", "managed_alloc", "host_alloc", "host_free", "host_register", "host_unregister",
       "async_alloc", "async_free", "pool_create", "pool_destroy", "pool_trim", "pool_attribute", "vmm_reserve",
       "vmm_address_free", "vmm_create", "vmm_release", "vmm_map", "vmm_unmap", "vmm_access", "vmm_export", "vmm_import",
       "vmm_retain", "multicast_create", "multicast_bind", "multicast_unbind", "ipc_export", "ipc_open", "ipc_close",
       "array_create", "array_destroy", "graph_alloc_node", "graph_free_node", "graph_instantiate", "graph_upload",
       "graph_exec_destroy", "graph_trim", "context_create", "context_destroy", "context_retain", "context_release",
       "context_reset", "module_load", "module_unload", "mem_info", "context_limit", "code_load", "code_unload"]
STATUS = {1: "started", 2: "cupti_missing", 3: "cupti_version", 4: "subscriber_busy", 5: "cupti_error", 6: "callback_refused",
          7: "memory2_off", 8: "activity_taken", 9: "spool_memory", 10: "disk_full", 11: "size_cap", 12: "stalled", 13: "nvml",
          14: "forked", 15: "unknown_api", 16: "torch", 17: "driver", 18: "stacks", 19: "silent", 20: "writer", 21: "ring"}
LOSS = {1: "records", 2: "activity", 3: "stacks", 4: "strings", 5: "chunks"}
END = {1: "exit", 2: "status", 3: "signal", 4: "gone", 5: "running"}
SOURCES = ["nvtx", "api", "hook"]

# Fields of a call: name, how it is coded (u = varint, s = zigzag, d = zigzag delta in the named state), in order of their bits.
CALL_FIELDS = [("result", "u"), ("addr", "addr"), ("size", "u"), ("handle", "handle"), ("offset", "u"), ("stream", "u"),
               ("device", "u"), ("context", "context"), ("pool", "pool"), ("flags", "u"), ("stack", "u"), ("free", "u"),
               ("total", "u"), ("location", "u"), ("change", "s"), ("name", "u"), ("corr", "corr")]
MEM2_FIELDS = [("addr", "addr"), ("size", "u"), ("device", "u"), ("context", "u"), ("stream", "u"), ("corr", "corr"),
               ("pool", "pool"), ("pool_type", "u"), ("utilized", "u"), ("name", "u"), ("source", "u"), ("pc", "u")]


class Cut(Exception):
    """The bytes end, or are not what the format allows."""


class Cursor:
    __slots__ = ("data", "at", "end")

    def __init__(self, data, at=0, end=None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end

    def u(self):
        data, at, value, shift = self.data, self.at, 0, 0
        while True:
            if at >= self.end or shift > 63:
                raise Cut(f"a varint is cut off or too long at offset {self.at}")
            byte = data[at]
            at += 1
            if shift == 63 and byte > 1:
                raise Cut(f"a varint does not fit 64 bits at offset {self.at}")
            value |= (byte & 127) << shift
            if byte < 128:
                self.at = at
                return value
            shift += 7

    def s(self):
        value = self.u()
        return (value >> 1) ^ -(value & 1)

    def raw(self, n):
        if n > self.end - self.at:
            raise Cut(f"{n} bytes wanted at offset {self.at}, {self.end - self.at} left")
        self.at += n
        return self.data[self.at - n:self.at]

    def string(self):
        return self.raw(self.u())

    def rest(self):
        return self.raw(self.end - self.at)


class Chunk:
    """One chunk: its header's fields, and the bytes of its records."""

    def __init__(self, data, where):
        (self.uid, self.seq, self.realtime, self.monotonic, used, self.count, self.pid, self.kind, self.minor,
         self.dropped) = struct.unpack_from("<QQQQIIIHHQ", data, 8)
        self.body = bytes(data[HEADER:HEADER + used])
        self.declared = used
        self.where = where

    def key(self):
        """Copies of one chunk agree in all of these: what a collector writes is numbered from 0 in every capture."""
        return self.uid, self.kind, self.seq, self.realtime

    def records(self, problems):
        """Yields (type, Cursor over the payload); stops at the first record that is not whole."""
        at = Cursor(self.body)
        while at.at < at.end:
            start = at.at
            try:
                kind, length = at.u(), at.u()
                if length > at.end - at.at:
                    raise Cut(f"record of type {kind} says {length} bytes, {at.end - at.at} are left")
            except Cut as cut:
                problems.append(f"{self.where}: chunk {self.seq} of {self.uid:016x}: {cut} (record at {start} of {len(self.body)})")
                return
            payload = Cursor(self.body, at.at, at.at + length)
            at.at += length
            yield kind, payload


    def checkpoints(self):
        """Its CHECKPOINT records."""
        return [decode_record(kind, payload, Deltas(self)) for kind, payload in self.records([]) if kind == 24]

    def checkpoint(self):
        """The CHECKPOINT record that it begins with, or None."""
        return next((decode_record(kind, payload, Deltas(self)) if kind == 24 else None for kind, payload in self.records([])), None)


class Record(dict):
    """A record: item access for the fields, attributes for reading ease. `type` is always there."""
    __getattr__ = dict.get


class Deltas:
    def __init__(self, chunk):
        self.time, self.tid = chunk.monotonic, chunk.pid
        self.state = {"addr": 0, "handle": 0, "context": 0, "pool": 0, "corr": 0}

    def get(self, cursor, how):
        if how == "u":
            return cursor.u()
        if how == "s":
            return cursor.s()
        value = (self.state[how] + cursor.s()) & M64
        self.state[how] = value
        return value


def decode_record(kind, c, d):
    """One record as a Record; strings stay ids. Raises Cut."""
    r = Record(type=TYPES.get(kind, f"unknown {kind}"))
    if kind in TIMED:
        d.time = (d.time + c.s()) & M64
        d.tid = (d.tid + c.s()) & M64
        r["time"], r["tid"] = d.time, d.tid
    if kind == 1:
        r["id"], r["text"] = c.u(), c.rest()
    elif kind == 2:
        r["key"], r["value"] = c.string(), c.string()
    elif kind == 3:
        r["thread"], r["name"] = c.u(), c.string()
    elif kind == 4:
        r["id"], r["base"], r["size"], r["path"], r["build_id"] = c.u(), c.u(), c.u(), c.string(), c.string()
    elif kind == 5:
        r["id"] = c.u()
        r["frames"] = [(c.u(), c.u()) for _ in range(c.u())]
    elif kind == 6:
        r["index"], r["ordinal"], r["total"] = c.u(), c.u() - 1, c.u()
        r["uuid"], r["pci"], r["name"] = c.string(), c.string(), c.string()
    elif kind == 7:
        r["context"], r["index"] = c.u(), c.u()
    elif kind in (8, 9):
        if kind == 8:
            op = c.u()
            r["op"] = OPS[op] if op < len(OPS) else f"op {op}"
            r["cbid"], r["duration"] = c.u(), c.u()
            fields = CALL_FIELDS
        else:
            r["op"], r["kind"] = c.u(), c.u()
            fields = MEM2_FIELDS
        mask = c.u()
        r["mask"] = mask
        for bit, (name, how) in enumerate(fields):
            if mask >> bit & 1:
                r[name] = d.get(c, how)
    elif kind == 10:
        r["op"], r["device"] = c.u(), c.u()
        r["pool"] = d.get(c, "pool")
        r["size"], r["threshold"], r["utilized"] = c.u(), c.u(), c.u()
    elif kind in (11, 15):
        r["domain"], r["name"], r["source"] = c.u(), c.u(), c.u()
    elif kind == 12:
        r["domain"], r["source"] = c.u(), c.u()
    elif kind == 13:
        r["domain"], r["name"], r["source"], r["range"] = c.u(), c.u(), c.u(), c.u()
    elif kind == 14:
        r["domain"], r["source"], r["range"] = c.u(), c.u(), c.u()
    elif kind == 16:
        r["index"], r["why"], r["used"], r["free"], r["total"] = c.u(), c.u(), c.u(), c.u(), c.u()
        r["uses"] = [(c.u(), c.u()) for _ in range(c.u())]
    elif kind == 17:
        r["rss"], r["peak"], r["anon"], r["shared"], r["pinned"] = c.u(), c.u(), c.u(), c.u(), c.u()
    elif kind == 24:
        r["first"], r["at"], r["start"], r["parts"] = c.u(), c.s(), c.s(), c.u()
        r["records"], r["calls"], r["failures"] = c.u(), c.u(), c.u()
    elif kind == 18:
        code = c.u()
        r["code"], r["level"], r["text"] = STATUS.get(code, code), c.u(), c.string()
    elif kind == 19:
        what = c.u()
        r["what"], r["count"], r["bytes"] = LOSS.get(what, what), c.u(), c.u()
    elif kind == 20:
        how = c.u()
        r["how"], r["status"] = END.get(how, how), c.s()
    elif kind == 21:
        r["module"], r["offset"], r["function"], r["file"], r["line"] = c.u(), c.u(), c.string(), c.string(), c.u()
    elif kind == 22:
        r["id"], r["part"], r["parts"], r["bytes"], r["name"], r["kind"] = c.u(), c.u(), c.u(), c.u(), c.string(), c.string()
    elif kind == 23:
        r["data"] = c.rest()
    else:
        r["data"] = c.rest()
    return r


def text(raw):
    return raw.decode("utf-8", "replace")


# ---- files -> chunks ---------------------------------------------------------------------------------------------------------------


def mt_extra(data, at):
    """The subfield "MT" of a gzip member that begins at `at`: (uid, seq, raw size, kind), or None."""
    if data[at:at + 3] != b"\x1f\x8b\x08" or at + 12 > len(data) or not data[at + 3] & 4:
        return None
    total = struct.unpack_from("<H", data, at + 10)[0]
    p, end = at + 12, at + 12 + total
    if end > len(data):
        return None
    while p + 4 <= end:
        size = struct.unpack_from("<H", data, p + 2)[0]
        if p + 4 + size > end:
            return None
        if data[p:p + 2] == b"MT" and size >= 24:
            uid, seq, raw, kind, _zero = struct.unpack_from("<QQIHH", data, p + 4)
            return uid, seq, raw, kind
        p += 4 + size
    return None


def split_gzip(data, where, problems):
    """Members of a gzip file, as (offset, bytes, whole). After damage it goes on at the next member that carries the subfield."""
    at = 0
    while at < len(data):
        if data[at:at + 2] != b"\x1f\x8b":
            problems.append(f"{where}: no gzip member at offset {at}")
            at = next_member(data, at + 1)
            continue
        stream = zlib.decompressobj(31)
        out = b""
        try:
            out = stream.decompress(data[at:], MAX_CHUNK + 1)
            whole = stream.eof
        except zlib.error as bad:
            problems.append(f"{where}: member at offset {at}: {bad}")
            whole = False
        if not whole:
            if not problems or f"offset {at}:" not in problems[-1]:
                problems.append(f"{where}: the member at offset {at} is cut off or larger than a chunk may be")
            yield at, out, False
            at = next_member(data, at + 1)
            continue
        yield at, out, True
        at = len(data) - len(stream.unused_data)


def next_member(data, at):
    while True:
        at = data.find(b"\x1f\x8b\x08", at)
        if at < 0:
            return len(data)
        if mt_extra(data, at):
            return at
        at += 1


def read_gzip(data, where, problems):
    chunks = []
    for at, raw, whole in split_gzip(data, where, problems):
        if not whole:
            continue
        name = f"{where}+{at}"
        if raw[:8] != MAGIC:
            problems.append(f"{name}: a member that is no chunk of version 1: {raw[:8]!r}")
            continue
        if len(raw) < HEADER:
            problems.append(f"{name}: a chunk of {len(raw)} bytes")
            continue
        chunk = Chunk(raw, name)
        if len(chunk.body) != chunk.declared or len(raw) != HEADER + chunk.declared:
            problems.append(f"{name}: the header says {chunk.declared} bytes of records, the member holds {len(raw) - HEADER}")
        extra = mt_extra(data, at)
        if extra is None:
            problems.append(f"{name}: no subfield MT in the gzip header")
        elif extra != (chunk.uid, chunk.seq, len(raw), chunk.kind):
            problems.append(f"{name}: the gzip header says {extra}, the chunk {(chunk.uid, chunk.seq, len(raw), chunk.kind)}")
        chunks.append(chunk)
    return chunks


def read_spool(data, where, problems):
    """(chunks, activity records left in buffers that CUPTI had, header fields)."""
    if len(data) < PAGE or data[:8] != SPOOL_MAGIC:
        problems.append(f"{where}: not a spool file of version 1")
        return [], [], {}
    uid, pid, chunk_size, n_chunks, act_size, n_acts, stride2, stridep = struct.unpack_from("<QIIIIIII", data, 8)
    clockdiff, dropped = struct.unpack_from("<QQ", data, 48)
    head = {"uid": uid, "pid": pid, "chunk": chunk_size, "chunks": n_chunks, "act": act_size, "acts": n_acts,
            "stride2": stride2, "stridep": stridep, "clockdiff": clockdiff, "dropped": dropped}
    if 64 + 4 * (n_chunks + n_acts) > PAGE or chunk_size > MAX_CHUNK:
        problems.append(f"{where}: impossible header {head}")
        return [], [], head
    states = struct.unpack_from(f"<{n_chunks + n_acts}I", data, 64)
    chunks, left = [], []
    for i in range(n_chunks):
        at = PAGE + i * chunk_size
        if states[i] == FREE:
            continue
        name = f"{where}[{i}]"
        raw = data[at:at + chunk_size]
        if len(raw) < HEADER or raw[:8] != MAGIC:
            problems.append(f"{name}: state {states[i]}, but no chunk there")
            continue
        chunk = Chunk(raw, name)
        if chunk.declared > chunk_size - HEADER or len(chunk.body) != chunk.declared:
            problems.append(f"{name}: {chunk.declared} bytes of records in a slot of {chunk_size}")
        if chunk.uid != uid:
            problems.append(f"{name}: uid {chunk.uid:016x} in the spool of {uid:016x}")
            continue
        chunks.append(chunk)
    base = PAGE + n_chunks * chunk_size
    for i in range(n_acts):
        if states[n_chunks + i] == FREE:
            continue
        left += walk_activity(data, base + i * act_size, min(base + (i + 1) * act_size, len(data)), stride2, stridep, clockdiff)
    return chunks, left, head


def walk_activity(data, at, end, stride2, stridep, clockdiff):
    """Records of an activity buffer that was never returned: CUPTI zeroes it first, so that kind 0 ends it."""
    out = []
    while at + 4 <= end:
        kind = struct.unpack_from("<I", data, at)[0]
        if kind == 49 and stride2 >= 112 and at + stride2 <= end:
            op, mkind, corr, addr, size, stamp, pc, pid, device, context, stream = struct.unpack_from("<III QQQQ IIII", data, at + 4)
            out.append(Record(type="memory2", op=op, kind=mkind, corr=corr, addr=addr, size=size, time=(stamp - clockdiff) & M64,
                              pc=pc, pid=pid, device=device, context=context, stream=stream, post_mortem=True))
            at += stride2
        elif kind == 50 and stridep >= 64 and at + stridep <= end:
            op, _type, _corr, _pid, device = struct.unpack_from("<IIIII", data, at + 4)
            pool, size, threshold, stamp = struct.unpack_from("<QQQQ", data, at + 32)
            out.append(Record(type="mempool", op=op, device=device, pool=pool, size=size, threshold=threshold,
                              time=(stamp - clockdiff) & M64, post_mortem=True))
            at += stridep
        else:
            break
    return out


# ---- chunks -> processes -----------------------------------------------------------------------------------------------------------


class Process:
    """Everything of one uid."""

    def __init__(self, uid):
        self.uid, self.pid = uid, 0
        self.records, self.strings, self.attrs, self.threads = [], {}, {}, {}
        self.modules, self.stacks, self.devices, self.contexts, self.symbols = {}, {}, {}, {}, {}
        self.chunks, self.missing, self.dropped = [], 0, 0
        self.attachments, self.activities_left, self.spool = {}, [], None

    def of(self, *types):
        return [r for r in self.records if r["type"] in types]

    @property
    def calls(self):
        return self.of("call")

    @property
    def statuses(self):
        return [(r["code"], r["level"], text(r["text"])) for r in self.of("status")]

    def codes(self):
        return {r["code"] for r in self.of("status")}

    def losses(self):
        """Totals: of each kind the largest that was written."""
        out = {}
        for r in self.of("loss"):
            before = out.get(r["what"], (0, 0))
            out[r["what"]] = (max(before[0], r["count"]), max(before[1], r["bytes"]))
        return out

    @property
    def checkpoint(self):
        """(first chunk that is left, time from which the recording is whole, records let go, calls, failures), or None."""
        for r in self.of("checkpoint"):
            return r["first"], r["at"] + r["monotonic"], r["records"], r["calls"], r["failures"]
        return None

    def ends(self):
        return [(r["how"], r["status"]) for r in self.of("end")]

    def string(self, ident):
        return text(self.strings[ident]) if ident else ""

    def realtime(self, record):
        return record["time"] + record["shift"]

    def owner(self, stack):
        """Base names of the modules of a stack, innermost first."""
        return [text(self.modules[m]["path"]).rsplit("/", 1)[-1] if m in self.modules else "?" for m, _ in self.stacks[stack]]

    def ranges(self):
        """Ranges and marks by nesting: list of (thread or 0, domain, name, source, t0, t1 or None, kind)."""
        out, open_push, open_start = [], {}, {}
        for r in self.of("range_push", "range_pop", "range_start", "range_end", "mark"):
            domain, source = self.string(r["domain"]), SOURCES[r["source"]]
            if r["type"] == "mark":
                out.append([r["tid"], domain, self.string(r["name"]), source, r["time"], r["time"], "mark"])
            elif r["type"] == "range_push":
                out.append([r["tid"], domain, self.string(r["name"]), source, r["time"], None, "push"])
                open_push.setdefault((r["tid"], domain, source), []).append(out[-1])
            elif r["type"] == "range_pop":
                stack = open_push.get((r["tid"], domain, source))
                if stack:
                    stack.pop()[5] = r["time"]
            elif r["type"] == "range_start":
                out.append([r["tid"], domain, self.string(r["name"]), source, r["time"], None, "start"])
                open_start[(domain, source, r["range"])] = out[-1]
            else:
                opened = open_start.pop((domain, source, r["range"]), None)
                if opened:
                    opened[5] = r["time"]
        return [tuple(r) for r in out]


class Trace:
    def __init__(self):
        self.problems, self.duplicates, self.processes, self.unknown, self._chunks, self._spools = [], 0, {}, 0, {}, []
        self.let_go = 0  # chunks that are there although a checkpoint stands for them

    def add(self, path):
        path = pathlib.Path(path)
        if path.is_dir():
            for inner in sorted(path.iterdir()):
                if inner.name.endswith((".gz", ".spool")):
                    self.add(inner)
            return self
        self.add_bytes(path.read_bytes(), path.name)
        return self

    def add_bytes(self, data, name):
        if data[:8] == SPOOL_MAGIC:
            chunks, left, head = read_spool(data, name, self.problems)
            self._spools.append((head, left))
        else:
            chunks = read_gzip(data, name, self.problems)
        for chunk in chunks:
            before = self._chunks.get(chunk.key())
            if before is not None:
                self.duplicates += 1
            if before is None or len(chunk.body) > len(before.body):
                self._chunks[chunk.key()] = chunk
        return self

    def _newest_checkpoints(self):
        """uid -> (first chunk that is left, its parts by number). Of several checkpoints of a process the one that stands for most counts."""
        found = {}
        for (uid, kind, seq, _), chunk in self._chunks.items():
            record = chunk.checkpoint() if kind == KEPT else None
            if record is not None:
                found.setdefault((uid, record["first"]), {})[seq] = chunk
        newest = {}
        for (uid, first), parts in found.items():
            if first >= newest.get(uid, (0, None))[0]:
                newest[uid] = first, parts
        return newest

    def decode(self):
        """Fills processes: uid -> Process; uid 0 is the launcher. What was kept of chunks that were let go comes first."""
        last, kept = {}, self._newest_checkpoints()
        for uid, (first, parts) in kept.items():
            last[uid, PROCESS] = first - 1
            said = max((r["parts"] for part in parts.values() for r in part.checkpoints()), default=0)
            if sorted(parts) != list(range(said)):
                self.problems.append(f"{uid:016x}: of {said} parts of the checkpoint {sorted(parts)} are there")
        order = {KEPT: 0}
        for (uid, kind, seq, _), chunk in sorted(self._chunks.items(), key=lambda c: (c[0][0], order.get(c[0][1], c[0][1]), c[0][2:])):
            p = self.processes.setdefault(uid, Process(uid))
            if kind not in KINDS:
                continue
            first, parts = kept.get(uid, (0, {}))
            if kind == KEPT:
                if chunk.checkpoint() is None or parts.get(seq) is chunk:
                    self._decode_chunk(p, chunk)
                continue
            if kind == PROCESS and seq < first:
                self.let_go += 1
                continue
            expect = last.get((uid, kind), -1) + 1
            if kind == PROCESS and seq > expect:
                p.missing += seq - expect
                self.problems.append(f"{uid:016x}: chunks {expect} to {seq - 1} are missing")
            elif kind == PROCESS and seq < expect:
                self.problems.append(f"{uid:016x}: two different chunks {seq}")
            last[(uid, kind)] = seq
            self._decode_chunk(p, chunk)
        for head, left in self._spools:
            p = self.processes.setdefault(head.get("uid", 0), Process(head.get("uid", 0)))
            p.spool, p.pid = head, p.pid or head.get("pid", 0)
            p.activities_left += left
        return self

    def _decode_chunk(self, p, chunk):
        p.chunks.append(chunk)
        if chunk.kind in (PROCESS, KEPT):
            p.pid = chunk.pid
            p.dropped = max(p.dropped, chunk.dropped)
        deltas, seen, part = Deltas(chunk), 0, None
        for kind, payload in chunk.records(self.problems):
            seen += 1
            try:
                r = decode_record(kind, payload, deltas)
            except Cut as cut:
                self.problems.append(f"{chunk.where}: chunk {chunk.seq}: {TYPES.get(kind, kind)} record: {cut}")
                continue
            if kind not in TYPES:
                self.unknown += 1
                continue
            r["shift"] = chunk.realtime - chunk.monotonic
            if kind == 24:
                r["monotonic"] = chunk.monotonic
            r["chunk_kind"], r["seq"] = chunk.kind, chunk.seq
            p.records.append(r)
            part = self._index(p, r, part)
        if chunk.count not in (0, seen, seen + 1):  # stored just before `used`: a kill may fall between
            self.problems.append(f"{chunk.where}: chunk {chunk.seq} says {chunk.count} records and holds {seen}")

    @staticmethod
    def _index(p, r, part):
        kind = r["type"]
        if kind == "string":
            p.strings[r["id"]] = r["text"]
        elif kind == "attr":
            p.attrs.setdefault(text(r["key"]), []).append(text(r["value"]))
        elif kind == "thread":
            p.threads[r["thread"]] = text(r["name"])
        elif kind == "module":
            p.modules[r["id"]] = r
        elif kind == "stack":
            p.stacks[r["id"]] = r["frames"]
        elif kind == "device":
            p.devices[r["index"]] = r
        elif kind == "context":
            p.contexts[r["context"]] = r["index"]
        elif kind == "symbol":
            p.symbols[(r["module"], r["offset"])] = r
        elif kind == "attach":
            return r
        elif kind == "blob" and part is not None:
            p.attachments.setdefault((part["id"], text(part["name"]), text(part["kind"]), part["bytes"]), {})[part["part"]] = r["data"]
        return part

    def attached(self):
        """(uid, name, kind, bytes or None when parts are missing)."""
        out = []
        for p in self.processes.values():
            for (_, name, kind, size), parts in sorted(p.attachments.items()):
                whole = b"".join(parts[i] for i in sorted(parts))
                out.append((p.uid, name, kind, whole if len(whole) == size and sorted(parts) == list(range(len(parts))) else None))
        return out

    def recorded(self):
        """The processes of the job (not the launcher)."""
        return [p for p in self.processes.values() if p.uid]


def load(*paths):
    trace = Trace()
    for path in paths:
        trace.add(path)
    return trace.decode()


def plain(value):
    if isinstance(value, (bytes, bytearray)):
        return text(value) if len(value) < 4096 else f"{len(value)} bytes"
    return [plain(v) for v in value] if isinstance(value, (list, tuple)) else value


def main(argv):
    records = "--records" in argv
    names = [a for a in argv if a != "--records"]
    if not names:
        print(__doc__.strip())
        return 2
    trace = load(*names)
    for p in sorted(trace.processes.values(), key=lambda q: (q.pid, q.uid)):
        if records:
            for r in p.records:
                print(json.dumps({"uid": f"{p.uid:016x}", **{k: plain(v) for k, v in r.items() if k not in ("shift", "chunk_kind")}}))
            continue
        counts = {}
        for r in p.records:
            counts[r["type"]] = counts.get(r["type"], 0) + 1
        print(f"{p.uid:016x} pid {p.pid}: {len(p.chunks)} chunks, {p.missing} missing, {p.dropped} dropped; "
              + ", ".join(f"{n} {k}" for k, n in sorted(counts.items())) + f"; left in buffers: {len(p.activities_left)}")
        for key, values in sorted(p.attrs.items()):
            print(f"    {key} = {' | '.join(values)}")
        for status in p.statuses:
            print("    status", *status)
        for what, (count, size) in p.losses().items():
            print(f"    lost: {count} {what}, {size} bytes")
        for end in p.ends():
            print("    end:", *end)
    for uid, name, kind, data in trace.attached():
        print(f"attached to {uid:016x}: {name} ({kind}), {'parts missing' if data is None else f'{len(data)} bytes'}")
    for problem in trace.problems:
        print("problem:", problem)
    if trace.duplicates:
        print(f"{trace.duplicates} chunks were there twice")
    return 3 if trace.problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
