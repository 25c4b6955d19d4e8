#!/usr/bin/env python3
"""Recordings of memray, read a second time: what was live at the peak and at the end, by stack and thread. Shares nothing with the C
sources: the file is unpacked (lz4 by hand, Python has none) and decoded whole, the heap is a dictionary and a list of intervals.

    memray.py FILE...                    one line for each file
    memray.py --against PROGRAM FILE...  compares them with what `PROGRAM report` and `PROGRAM dump` say; exit status 1 if something differs"""

import collections
import json
import struct
import subprocess
import sys

import against

OLD = "malloc free calloc realloc posix_memalign aligned_alloc memalign valloc pvalloc mmap munmap pymalloc_malloc pymalloc_calloc " \
      "pymalloc_realloc pymalloc_free".split()
NEW = "pymalloc_free pymalloc_malloc pymalloc_calloc pymalloc_realloc free malloc realloc calloc posix_memalign aligned_alloc memalign " \
      "valloc pvalloc mmap munmap".split()
PILE = ("(by whom is told at the peak and at the end alone)", "", 0)


def unlz4(data):
    """Frames of the lz4 format; checksums are not looked at."""
    out, at = bytearray(), 0
    while data[at:at + 4] == b"\x04\x22\x4d\x18":
        flags = data[at + 4]
        at += 7 + (8 if flags & 8 else 0) + (4 if flags & 1 else 0)
        while True:
            n = struct.unpack_from("<I", data, at)[0]
            at += 4
            if n == 0:
                break
            block = data[at:at + (n & 0x7FFFFFFF)]
            at += len(block) + (4 if flags & 16 else 0)
            if n >> 31:
                out += block
                continue
            i = 0
            while i < len(block):
                token = block[i]
                i += 1
                literals, match = token >> 4, token & 15
                if literals == 15:
                    while True:
                        literals += block[i]
                        i += 1
                        if block[i - 1] != 255:
                            break
                out += block[i:i + literals]
                i += literals
                if i >= len(block):
                    break
                offset = block[i] | block[i + 1] << 8
                i += 2
                if match == 15:
                    while True:
                        match += block[i]
                        i += 1
                        if block[i - 1] != 255:
                            break
                match += 4
                start = len(out) - offset
                if offset >= match:
                    out += out[start:start + match]
                else:
                    for k in range(match):
                        out.append(out[start + k])
        at += 4 if flags & 4 else 0
    return bytes(out)


class Reader:
    def __init__(self, data):
        self.data, self.at = data, 0

    def take(self, n):
        if self.at + n > len(self.data):
            raise EOFError
        self.at += n
        return self.data[self.at - n:self.at]

    def byte(self):
        return self.take(1)[0]

    def number(self, form):
        return struct.unpack("<" + form, self.take(struct.calcsize("<" + form)))[0]

    def varint(self):
        value = shift = 0
        while True:
            b = self.byte()
            value |= (b & 127) << shift
            shift += 7
            if b < 128:
                return value & (1 << 64) - 1

    def signed(self):
        v = self.varint()
        return v >> 1 ^ -(v & 1)

    def text(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            raise EOFError
        s = self.data[self.at:end].decode("utf-8", "replace")
        self.at = end + 1
        return s


def line_of(python, table, first, at):
    """The line of an instruction: what co_lines() of a code object with that table says."""
    if not table or at < 0:
        return 0
    if python >= 0x030B0000:
        i, unit, line = 0, 0, first
        at //= 2
        while i < len(table):
            head = table[i]
            code, units = head >> 3 & 15, (head & 7) + 1
            i += 1
            if code in (13, 14):
                v = shift = 0
                while True:
                    b = table[i]
                    i += 1
                    v |= (b & 63) << shift
                    shift += 6
                    if not b & 64:
                        break
                line += -(v >> 1) if v & 1 else v >> 1
            elif 10 <= code <= 12:
                line += code - 10
            while i < len(table) and not table[i] & 128:  # what else belongs to the entry
                i += 1
            unit += units
            if at < unit:
                return max(line, 0)
        return 0
    line, end = first, 0
    pairs = [(table[i], struct.unpack("b", table[i + 1:i + 2])[0]) for i in range(0, len(table) - 1, 2)]
    if python >= 0x030A0000:
        for width, by in pairs:
            end += width
            line += by if by != -128 else 0
            if end > at * 2:
                break
        return line
    for width, by in pairs:
        end += width
        if end > at:
            break
        line += by
    return line


class Recording:
    def __init__(self, data):
        r = self.r = Reader(unlz4(data) if data[:4] == b"\x04\x22\x4d\x18" else data)
        if r.take(7) != b"memray\0":
            raise ValueError("no recording of memray")
        v = self.version = r.number("i")
        self.python = r.number("I") if v >= 12 else 0
        self.native = r.byte()
        self.added_up = r.byte() if v >= 10 else 0
        self.told = r.number("Q")
        r.number("Q")
        self.start, self.end = r.number("q"), r.number("q")
        self.command = r.text()
        self.pid = r.number("i")
        self.main = r.number("Q") if v >= 9 else None
        self.hidden = r.number("Q") if v >= 9 else 0
        r.number("I" if v == 7 else "B")
        r.take((v >= 11) + (v >= 12))
        if v >= 13:
            r.text()
            for _ in range(2):
                while r.text():
                    pass
        self.names, self.frames, self.codes, self.natives, self.modules = {}, {}, {}, [], []
        self.tid, self.calls = 0, collections.defaultdict(list)
        self.last = collections.Counter()
        self.recent = [0] * 15
        self.now = self.peak = self.n = self.bytes = self.old_frees = 0
        self.live, self.ranges = {}, []
        self.log, self.peak_at = [], 0
        self.rss_high, self.moments, self.traces, self.places = 0, [], [], []
        self.ended = False
        try:
            while (self.aggregated if self.added_up else self.record)():
                pass
            self.ended = True
        except EOFError:
            pass

    def delta(self, what):
        self.last[what] += self.r.signed()
        return self.last[what]

    # -- stacks: innermost first, (function, file, line)

    def module(self, ip):
        for begin, end, base, path in self.modules:
            if begin <= ip < end:
                return ("%s+0x%x" % (path.rsplit("/", 1)[-1], ip - base), path, 0)
        return ("0x%x" % ip, "", 0)

    def stack(self, calls, tid, kind, node):
        calls = calls[self.hidden:] if tid == self.main else calls
        out = [("mmap", "", 0)] if kind == "mmap" else []
        while node:
            ip, node = self.natives[node - 1]
            frame = self.module(ip)
            name = frame[1].rsplit("/", 1)[-1]
            if calls and (name.startswith("python") or name.startswith("libpython")):
                break
            out.append(frame)
        return tuple(out) + tuple(reversed(calls)) + (tid,)

    def named(self, stack):
        tid = stack[-1]
        name = "main thread" if tid == self.main else "thread " + self.names[tid] if tid in self.names else "thread 0x%x" % tid
        return stack[:-1] + ((name, "", 0),)

    # -- heap

    def change(self, stack, by):
        self.now += by
        self.log.append((stack, by))
        if self.now > self.peak:
            self.peak, self.peak_at = self.now, len(self.log)

    def play(self, kind, address, size, node):
        if kind in ("free", "pymalloc_free"):
            if address in self.live:
                stack, was = self.live.pop(address)
                self.change(stack, -was)
            else:
                self.old_frees += address != 0
        elif kind == "munmap":
            keep, hit = [], False
            for begin, end, stack in self.ranges:
                low, high = max(begin, address), min(end, address + size)
                if low >= high:
                    keep.append((begin, end, stack))
                    continue
                hit = True
                self.change(stack, low - high)
                for b, e in ((begin, low), (high, end)):
                    if b < e:
                        keep.append((b, e, stack))
                        self.n += 1  # the rest counts as an allocation
                        self.bytes += e - b
            self.ranges = keep
            self.old_frees += not hit
        elif kind != "mmap" or size:
            stack = self.stack(self.calls[self.tid], self.tid, kind, node)
            self.n += 1
            self.bytes += size
            if kind == "mmap":
                self.ranges.append((address, address + size, stack))
            else:
                if address in self.live:
                    self.change(*[(s, -n) for s, n in [self.live.pop(address)]][0])
                self.live[address] = (stack, size)
            self.change(stack, size)

    # -- records

    def common(self, kind):
        r = self.r
        if kind == "maps":
            self.modules = []
        elif kind == "module":
            path, n, base = r.text(), r.varint(), r.number("Q")
            for _ in range(n):
                r.byte()
                at = r.number("Q")
                self.modules.append((base + at, base + at + r.varint(), base, path))
        elif kind == "native":
            ip = self.delta("ip")
            self.natives.append((ip, self.delta("native")))
        elif kind == "thread":
            self.tid = r.number("Q")
        elif kind == "name":
            self.names[self.tid] = r.text()
        elif kind == "code":
            number, name, file = r.varint(), r.text(), r.text()
            first = self.delta("line")
            self.codes[number] = (name, file, first, r.take(r.varint()))
        elif kind == "rss":
            self.rss_high = max(self.rss_high, r.varint())
            r.varint()
        return True

    def of_code(self, number, at):
        name, file, first, table = self.codes[number]
        return (name, file, line_of(self.python, table, first, at))

    def record(self):
        r, b = self.r, self.r.byte()
        if self.version < 12:
            kind, flags = b & 15, b >> 4
            if kind == 0:
                if b == 0:
                    raise EOFError
                return False
            if kind in (1, 2):
                name = OLD[flags - 1]
                address = self.delta("address") & (1 << 64) - 1
                size = r.varint() if kind == 2 or name not in ("free", "pymalloc_free") else 0
                self.play(name, address, size, self.delta("native") if kind == 2 else 0)
            elif kind == 3:
                number = self.delta("frame")
                name, file = r.text(), r.text()
                self.frames[number] = (name, file, self.delta("line"))
            elif kind == 4:
                self.calls[self.tid].append(self.frames[self.delta("frame")])
            elif kind == 9:
                del self.calls[self.tid][-(flags + 1):]
            else:
                return self.common({5: "native", 6: "maps", 7: "module", 10: "name", 11: "rss", 12: "thread"}[kind])
            return True
        if b & 128:
            address, number = self.address(b >> 3 & 15), b & 7
            name = NEW[(number or r.byte()) - 1]
            bare = name in ("free", "pymalloc_free")
            node = self.delta("native") if self.native and not bare else 0
            self.play(name, address, 0 if bare else r.varint(), node)
        elif b & 64:
            number = r.varint()
            self.calls[self.tid].append(self.of_code(number, r.signed()))
        elif b & 32:
            self.address(b >> 1 & 15)
            if self.native and b & 1:
                self.delta("native")
        elif b & 16:
            del self.calls[self.tid][-((b & 15) + 1):]
        elif b == 0:
            raise EOFError
        elif b == 1:
            return False
        else:
            return self.common({2: "rss", 5: "native", 6: "maps", 7: "module", 10: "name", 12: "thread", 14: "code"}[b])
        return True

    def address(self, recent):
        if recent < 15:
            return self.recent[recent]
        address = self.delta("address") << 3 & (1 << 64) - 1
        self.recent = [address] + self.recent[:-1]
        return address

    def aggregated(self):
        r, b = self.r, self.r.byte()
        if b == 1:
            ms, rss, heap = r.number("Q"), r.number("Q"), r.number("Q")
            self.rss_high = max(self.rss_high, rss)
            self.moments.append((ms, heap))
        elif b == 2:
            tid, kind = r.number("Q"), r.number("Q") & 255
            node, trace, _, _, _, peak, end = (r.number("Q") for _ in range(7))
            calls = []
            while trace:
                frame, trace = self.traces[trace - 1]
                calls.append(self.frames[frame])
            kind = (NEW if self.version >= 12 else OLD)[kind - 1]
            self.places.append((self.stack(calls[::-1], tid, kind, node), peak, end))
        elif b == 3:
            self.traces.append((r.varint(), r.varint()) if self.version >= 12 else (r.number("Q"), r.number("Q")))
        elif b == 4 and self.version >= 12:
            number, code = r.varint(), r.varint()
            self.frames[number] = self.of_code(code, r.signed())
            r.byte()
        elif b == 4:
            number = r.number("Q")
            self.frames[number] = (r.text(), r.text(), r.number("i"))
            r.byte()
        elif b == 13:
            r.varint()
            if self.native:
                r.varint()
        elif b == 15:
            return False
        else:
            return self.common({5: "native", 6: "maps", 7: "module", 10: "name", 12: "thread", 14: "code"}[b])
        return True

    # -- results

    def facts(self):
        """{field of a report: value}, {stack: bytes at the peak}"""
        held = collections.Counter()
        if self.added_up:
            for stack, peak, _ in self.places:
                held[self.named(stack)] += peak
            return ({"live_peak_bytes": sum(p for _, p, _ in self.places), "live_end_bytes": sum(e for _, _, e in self.places)},
                    {s: n for s, n in held.items() if n})
        for stack, by in self.log[:self.peak_at]:
            held[self.named(stack)] += by
        return ({"live_peak_bytes": self.peak, "live_end_bytes": self.now, "allocations": self.n, "allocated_bytes": self.bytes},
                {s: n for s, n in held.items() if n})


def load(path):
    with open(path, "rb") as file:
        return Recording(file.read())


def dumped(program, path, peak):
    """What is live at the first moment of the peak by the program's own events, by stack."""
    done = subprocess.Popen([program, "dump", path], stdout=subprocess.PIPE)
    stacks, live, held, now = {0: ()}, {}, collections.Counter(), 0
    at_peak = None
    for row in done.stdout:
        e = json.loads(row)
        if e["type"] == "stack":
            stacks[e["id"]] = tuple(tuple(f) for f in e["frames"])
        elif e["type"] == "event" and e["action"] == "alloc":
            live[e["addr"]] = (e["stack"], e["size"])
            held[e["stack"]] += e["size"]
            now += e["size"]
            if now == peak and at_peak is None:
                at_peak = collections.Counter()
                for s, n in held.items():
                    at_peak[stacks[s]] += n
        elif e["type"] == "event" and e["action"] == "free_completed":
            stack, size = live.pop(e["addr"])
            held[stack] -= size
            now -= size
    done.stdout.close()
    done.wait()
    return {s: n for s, n in (at_peak or {}).items() if n}


def compare(program, path):
    done = subprocess.run([program, "report", "--format", "json", "-o", "-", path], capture_output=True, check=False)
    if done.returncode not in (0, 3):
        return ["%s: exit status %d: %s" % (path, done.returncode, done.stderr.decode().strip())]
    said = json.loads(done.stdout)["devices"][0]
    found, held = load(path).facts()
    out = ["%s: %s is %s, not %d" % (path, k, said[k], v) for k, v in found.items() if said[k] != v]
    seen = dumped(program, path, found["live_peak_bytes"])
    for stack in sorted(set(held) | set(seen)):
        if held.get(stack) != seen.get(stack):
            out.append("%s: %s held %s bytes at the peak, not %s" % (path, stack, seen.get(stack), held.get(stack)))
    return out[:10]


def show(path):
    recording = load(path)
    found, held = recording.facts()
    print(path, "format", recording.version, found, "%d stacks" % len(held), "RSS", recording.rss_high)


if __name__ == "__main__":
    sys.exit(against.main(sys.argv[1:], compare, show))
