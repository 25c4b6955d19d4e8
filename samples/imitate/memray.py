"""What memray writes of the host memory of an imitated job of Relax: formats 7, 10 and 11 (frames by name), 12 and 13 (code objects and
tables of lines), all allocations or added up, as they are or in an lz4 frame, with native frames or without.

The job is what fills a host: a worker reads the weights of a checkpoint from mapped files, keeps pinned copies of the weights and of the
optimizer's state, a data loader shares batches, Python objects pile up, a checkpoint is gathered."""

import json
import struct

START_MS = 1767322800000
PID = 90210
MAIN, LOADER, PINNER = 0x7F30A1B2C740, 0x7F2F8C1FE6C0, 0x7F2F8B9FD6C0
LIBS = [("/usr/bin/python3.11", 0x400000, 0x600000), ("/usr/lib/x86_64-linux-gnu/libcuda.so.1", 0x7F2E00000000, 0x2000000),
        ("/usr/lib/python3/dist-packages/torch/lib/libtorch_cpu.so", 0x7F2D00000000, 0x18000000),
        ("/usr/lib/python3/dist-packages/torch/lib/libc10.so", 0x7F2C00000000, 0x100000)]
KINDS = ["malloc", "free", "calloc", "realloc", "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc", "mmap", "munmap",
         "pymalloc_malloc", "pymalloc_calloc", "pymalloc_realloc", "pymalloc_free"]
FREQUENT = ["pymalloc_free", "pymalloc_malloc", "pymalloc_calloc", "pymalloc_realloc", "free", "malloc", "realloc", "calloc",
            "posix_memalign", "aligned_alloc", "memalign", "valloc", "pvalloc", "mmap", "munmap"]


def varint(v):
    out = bytearray()
    while v >= 128:
        out.append(v & 127 | 128)
        v >>= 7
    out.append(v)
    return bytes(out)


def signed(v):
    return varint((v << 1 ^ v >> 63) & (1 << 64) - 1)


def text(s):
    return s.encode() + b"\0"


class Delta:
    def __init__(self):
        self.last = 0

    def put(self, v):
        by = v - self.last
        self.last = v
        return signed(by)


class Recorder:
    """Records in the order in which they happen. A place is a tuple of (function, file, first line, line), outermost first."""

    def __init__(self, version, native=False, python=0x030B04F0, traces_python=False, skipped=0, command="python3 train.py"):
        self.version, self.native, self.python, self.command = version, native, python, command
        self.traces_python, self.skipped = traces_python, skipped
        self.out, self.ms, self.n_allocations = bytearray(), START_MS, 0
        self.tid, self.calls = 0, {}
        self.address, self.frame, self.line, self.ip, self.native_id = Delta(), Delta(), Delta(), Delta(), Delta()
        self.recent = [0] * 15
        self.frames, self.codes, self.natives = {}, {}, {}
        self.rss_records = []
        if native:
            self.maps(LIBS)

    # -- records

    def token(self, old_type, new, flags=0):
        self.out.append(new if self.version >= 12 else flags << 4 | old_type)

    def maps(self, libs):
        self.token(6, 6)
        for path, base, size in libs:
            self.token(7, 7)
            self.out += text(path) + varint(2) + struct.pack("<Q", base)
            for at, part in ((0, size // 4), (size // 4, size - size // 4)):
                self.token(8, 8)
                self.out += struct.pack("<Q", at) + varint(part)

    def thread(self, tid, name=None):
        if tid != self.tid:
            self.tid = tid
            self.token(12, 12)
            self.out += struct.pack("<Q", tid)
        if name is not None:
            self.token(10, 10)
            self.out += text(name)

    def table(self, first, lines):
        """One instruction (three for Python 3.11: with its caches) a line, in the order of `lines`."""
        out, last = bytearray(), first
        for line in lines:
            by = line - last
            last = line
            if self.python >= 0x030B0000:
                v = -by << 1 | 1 if by < 0 else by << 1
                out.append(128 | 13 << 3 | 2)
                while v >= 64:
                    out.append(v & 63 | 64)
                    v >>= 6
                out.append(v)
            else:  # pairs; what is far goes in steps
                while abs(by) > 120:
                    step = 120 if by > 0 else -120
                    out += struct.pack("Bb", 0, step)
                    by -= step
                # to 3.9 a pair says where its line begins, since 3.10 how long it is
                out += struct.pack("Bb", 2 if out or self.python >= 0x030A0000 else 0, by)
        return bytes(out)

    def push(self, function, file, first, line):
        if self.version < 12:
            key = (function, file, line)
            if key not in self.frames:
                self.frames[key] = len(self.frames) + 1
                self.token(3, 0, 1)
                self.out += self.frame.put(self.frames[key]) + text(function) + text(file) + self.line.put(line)
            self.token(4, 0)
            self.out += self.frame.put(self.frames[key])
            return
        if (function, file) not in self.codes:
            lines = [first + i for i in range(0, 60)]
            table = self.table(first, lines)
            self.codes[function, file] = len(self.codes) + 1
            self.token(0, 14)
            self.out += varint(len(self.codes)) + text(function) + text(file) + self.line.put(first) + varint(len(table)) + table
        at = line - first
        at = at * 6 + 2 if self.python >= 0x030B0000 else at if self.python >= 0x030A0000 else at * 2
        self.token(0, 64 | 1)
        self.out += varint(self.codes[function, file]) + signed(at)

    def pop(self, n):
        while n > 0:
            self.token(9, 16 | min(n, 16) - 1, min(n, 16) - 1)
            n -= 16

    def at(self, place):
        """From the calls that are open to those of the place."""
        have = self.calls.setdefault(self.tid, [])
        same = 0
        while same < min(len(have), len(place)) and have[same] == place[same]:
            same += 1
        self.pop(len(have) - same)
        for call in place[same:]:
            self.push(*call)
        self.calls[self.tid] = list(place)

    def native_of(self, ips):
        """ips: outermost first"""
        node = 0
        for ip in ips:
            if (node, ip) not in self.natives:
                self.natives[node, ip] = len(self.natives) + 1
                self.token(5, 5)
                self.out += self.ip.put(ip) + self.native_id.put(node)
            node = self.natives[node, ip]
        return node

    def call(self, kind, address, size=0, ips=()):
        self.n_allocations += 1
        node = self.native_of(ips) if self.native and kind not in ("free", "pymalloc_free") else 0
        bare = kind in ("free", "pymalloc_free")
        if self.version < 12:
            n = KINDS.index(kind) + 1
            if self.native and not bare and kind != "munmap":
                self.token(2, 0, n)
                self.out += self.address.put(address) + varint(size) + self.native_id.put(node)
            else:
                self.token(1, 0, n)
                self.out += self.address.put(address) + (b"" if bare else varint(size))
            return
        n = FREQUENT.index(kind) + 1
        hit = self.recent.index(address) if address in self.recent else 15
        if hit == 15:
            self.recent = [address] + self.recent[:-1]
        self.out.append(128 | hit << 3 | (n if n < 8 else 0))
        if hit == 15:
            self.out += self.address.put(address >> 3)
        if n >= 8:
            self.out.append(n)
        if self.native and not bare:
            self.out += self.native_id.put(node)
        if not bare:
            self.out += varint(size)

    def object(self, address, made):
        """A Python object whose life is tracked (version 12)."""
        hit = self.recent.index(address) if address in self.recent else 15
        if hit == 15:
            self.recent = [address] + self.recent[:-1]
        self.out.append(32 | hit << 1 | made)
        if hit == 15:
            self.out += self.address.put(address >> 3)
        if self.native and made:
            self.out += self.native_id.put(0)

    def rss(self, rss, by_ms):
        self.ms += by_ms
        self.token(11, 2)
        self.out += varint(rss) + varint(self.ms - START_MS)

    # -- files

    def header(self, aggregated=False, done=True):
        v = self.version
        out = b"memray\0" + struct.pack("<i", v)
        if v >= 12:
            out += struct.pack("<I", self.python)
        out += struct.pack("B", self.native)
        if v >= 10:
            out += struct.pack("B", aggregated)
        out += struct.pack("<QQqq", self.n_allocations if done and not aggregated else 0, 0, START_MS, self.ms if done else START_MS)
        out += text(self.command) + struct.pack("<i", PID)
        if v >= 9:
            out += struct.pack("<QQ", MAIN, self.skipped)
        out += struct.pack("<I" if v == 7 else "B", 1)
        if v >= 11:
            out += struct.pack("B", self.traces_python)
        if v >= 12:
            out += b"\0"
        if v >= 13:
            out += text("/usr/lib/python3.11") + text("/usr/lib/python3/dist-packages") + b"\0" + text("/srv/job") + text("/usr/lib/python3.11") + b"\0"
        return out

    def file(self):
        self.token(0, 1, 1)
        if self.version == 7:
            self.out.pop()
        return self.header() + bytes(self.out)

    def killed(self, zeros=4096):
        """The file of a process that did not live to end it."""
        return self.header(done=False) + bytes(self.out) + bytes(zeros)


# -- the job

RELAX = "/srv/job/Relax/relax/"
TORCH = "/usr/lib/python3/dist-packages/torch/"
RUN = [("<module>", "/usr/bin/memray", 1, 8), ("main", "/usr/lib/python3/dist-packages/memray/__main__.py", 8, 9)]
ACTOR = [("<module>", "/srv/job/train_worker.py", 1, 31), ("main", "/srv/job/train_worker.py", 12, 24)]
INIT = ACTOR + [("init", RELAX + "backends/megatron/actor.py", 60, 92)]
LOAD = INIT + [("initialize_model_and_optimizer", RELAX + "backends/megatron/model.py", 700, 731),
               ("load", TORCH + "serialization.py", 1400, 1440)]
SLEEP = ACTOR + [("sleep", RELAX + "backends/megatron/actor.py", 210, 226)]
BACKUP = INIT + [("backup", RELAX + "utils/training/tensor_backper.py", 40, 61)]
OFFLOAD = SLEEP + [("offload_to_cpu", RELAX + "utils/training/tensor_backper.py", 80, 95), ("pin_memory", TORCH + "_tensor_pin.py", 10, 14)]
TRAIN = ACTOR + [("train_actor", RELAX + "backends/megatron/actor.py", 300, 338), ("step", "/srv/job/rewards.py", 20, 44)]
SAVE = ACTOR + [("save_model", RELAX + "backends/megatron/actor.py", 400, 421), ("gather_state", "/srv/job/checkpoints.py", 9, 33)]
BOOT = [("_bootstrap", "/usr/lib/python3.11/threading.py", 990, 1002), ("run", "/usr/lib/python3.11/threading.py", 970, 982)]
PIN = BOOT + [("_pin_memory_loop", TORCH + "utils/data/_utils/pin_memory.py", 18, 52), ("pin_memory", TORCH + "utils/data/_utils/pin_memory.py", 60, 75)]
SHARE = BOOT + [("rebuild_storage_fd", TORCH + "multiprocessing/reductions.py", 540, 561)]
TOKENS = BOOT + [("fetch", "/srv/job/data/tokens.py", 3, 18)]

MIB = 1 << 20
PY = 0x4A1000
CUDA, CPU, C10 = 0x7F2E00123400, 0x7F2D01A2B3C0, 0x7F2C00012340


def job(r, steps=3):
    """Nothing is drawn: the same calls, whatever the recording."""
    r.skipped = len(RUN) if r.version >= 9 else 0
    around = RUN if r.version >= 9 else []
    py = [PY, PY + 0x40]
    r.rss(310 * MIB, 0)
    r.thread(MAIN, "MainThread")
    r.at(around + ACTOR)
    for i in range(40):  # arenas of Python's small objects
        r.call("mmap", 0x7F2B40000000 - i * MIB, MIB, py)
    r.at(around + LOAD)
    weights = []
    for i in range(4):  # a file of weights that is mapped, and its tensors
        r.call("mmap", 0x7F2900000000 + i * 0x40000000, 900 * MIB + 4096 * i, py + [CPU])
        for k in range(12):
            weights.append(0x7F2800000000 + (i * 12 + k) * 0x6000000)
            r.call("posix_memalign", weights[-1], 72 * MIB + 64 * k, py + [CPU, C10])
        r.rss((900 + 860 * (i + 1)) * MIB, 11)
        r.call("munmap", 0x7F2900000000 + i * 0x40000000, 900 * MIB + 4096 * i, py + [CPU])
    r.at(around + INIT)
    # the driver reserves a range, maps parts of it again, and gives the middle back
    r.call("mmap", 0x200000000000, 3 << 30, py + [CUDA])
    r.call("mmap", 0x200000000000, 64 * MIB, py + [CUDA, CUDA + 0x980])
    r.call("munmap", 0x200040000000, 1 << 30, py + [CUDA])
    r.at(around + BACKUP)
    backup = []
    for i in range(48):
        backup.append(0x7F2000000000 + i * 0x8000000)
        r.call("mmap", backup[-1], 96 * MIB, py + [CUDA, CUDA + 0x1200])
    r.rss(6100 * MIB, 10)
    r.thread(LOADER, "Thread-3 (_pin_memory_loop)")
    r.at(PIN)
    r.thread(PINNER, "QueueFeederThread")
    r.at(TOKENS)
    batches, tokens = [], []
    for step in range(steps):
        r.thread(MAIN)
        r.at(around + OFFLOAD)
        for i in range(8):
            r.call("mmap", 0x7F1000000000 + i * 0x10000000, 160 * MIB, py + [CUDA, CUDA + 0x1200])
        r.thread(LOADER)
        for i in range(16):
            r.at(PIN if i % 4 else SHARE)
            batches.append(0x7F0000000000 + (step * 16 + i) * 0x2000000)
            r.call("mmap" if i % 4 == 0 else "aligned_alloc", batches[-1], 24 * MIB + i, [CUDA] if i % 4 else [CPU])
        r.thread(PINNER)
        r.at(TOKENS)
        for i in range(64):
            tokens.append(0x7EFF00000000 + (step * 64 + i) * 0x40000)
            r.call("malloc", tokens[-1], 131072 + 16 * i, py)
        r.rss((8100 + 420 * step) * MIB, 10)
        r.thread(MAIN)
        r.at(around + TRAIN)
        for i in range(200):
            r.call("malloc", 0x55D000000000 + i * 512, 320 + i, py)
            r.call("realloc", 0x55D100000000 + i * 4096, 2048, py)
            r.call("free", 0x55D000000000 + i * 512)
            if i % 50 == 0:
                r.rss((8100 + 420 * step) * MIB + i * 4096, 10)
        for i in range(200):
            r.call("free", 0x55D100000000 + i * 4096)
        for i in range(8):
            r.call("munmap", 0x7F1000000000 + i * 0x10000000, 160 * MIB, py + [CUDA])
        r.thread(LOADER)
        r.at(PIN)
        for i in range(12):  # not all: some are kept by somebody
            at = step * 16 + i
            if i % 4 == 0:
                r.call("munmap", batches[at], 24 * MIB + i, [CPU])
            else:
                r.call("free", batches[at])
        r.call("free", 0x7EFF7F000000)  # from before the recording
    r.thread(MAIN)
    r.at(around + SAVE)
    for i in range(24):
        r.call("calloc", 0x7E8000000000 + i * 0x8000000, 96 * MIB, py + [CPU, C10])
        if i % 6 == 5:
            r.rss((9400 + 580 * (i // 6)) * MIB, 10)
    return weights, backup


def finish(r, weights):
    """The checkpoint is written, and the job ends in good order."""
    for i in range(24):
        r.call("free", 0x7E8000000000 + i * 0x8000000)
    for address in weights:
        r.call("free", address)
    r.rss(6000 * MIB, 12)
    r.at(RUN[:1] if r.version >= 9 else [])
    r.at([])
    r.call("malloc", 0x55D200000000, 777, [PY])


def complete(version, **more):
    r = Recorder(version, **more)
    weights, _ = job(r)
    finish(r, weights)
    return r.file()


def killed(version, **more):
    """The kernel ends it while it gathers the checkpoint."""
    r = Recorder(version, **more)
    job(r)
    return r.killed()


def tiny(version, **more):
    """A few records of every type."""
    r = Recorder(version, **more)
    r.skipped = len(RUN) if version >= 9 else 0
    around = RUN if version >= 9 else []
    r.rss(50 * MIB, 0)
    r.thread(MAIN, "MainThread")
    r.at(around + LOAD)
    r.call("malloc", 0x1000, 100, [PY, CPU])
    r.call("mmap", 0x7F0000000000, 5 * 4096, [PY, CUDA])
    if version >= 12:
        r.object(0x2000, 1)
        r.object(0x2000, 0)
    r.rss(60 * MIB, 25)
    r.thread(PINNER, "feeder")
    r.at(TOKENS)
    r.call("calloc", 0x3008, 40000, [CPU])
    r.call("munmap", 0x7F0000001000, 4096, [CUDA])
    r.call("free", 0x9990)
    r.thread(MAIN)
    r.at(around + TRAIN)
    r.call("pymalloc_malloc", 0x4010, 48, [PY])
    r.call("pymalloc_free", 0x4010)
    r.call("free", 0x1000)
    r.call("memalign", 0x5000, 3, [PY])
    r.rss(61 * MIB, 25)
    return r


# -- added up


def aggregated(version, native=False, python=0x030B04F0):
    """The same job, added up: the calls are listened to instead of written."""
    r = Recorder(version, native, python)
    r.skipped = len(RUN) if r.version >= 9 else 0
    live, ranges, now, log, moments = {}, [], 0, [], []
    frames, tree, maps_seen = {}, {}, 1 if native else 0

    def place():
        at = 0
        for call in r.calls.get(r.tid, []):
            key = (at, frames.setdefault(call, len(frames)))
            at = tree.setdefault(key, len(tree) + 1)
        return at

    def change(where, n, size):
        nonlocal now
        now += size
        log.append((where, n, size, now))

    call, at, rss = r.call, r.at, r.rss

    def listen(kind, address, size=0, ips=()):
        where = (r.tid, kind, r.native_of(ips) if native else 0, place())
        if kind in ("free", "pymalloc_free"):
            if address in live:
                was, n = live.pop(address)
                change(was, -1, -n)
        elif kind == "munmap":
            keep = []
            for begin, end, was in ranges:
                low, high = max(begin, address), min(end, address + size)
                if low >= high:
                    keep.append((begin, end, was))
                    continue
                whole = (low, high) == (begin, end)
                change(was, -1 if whole else 0, low - high)
                keep += [(b, e, was) for b, e in ((begin, low), (high, end)) if b < e]
            ranges[:] = keep
        elif kind == "mmap":
            ranges.append((address, address + size, where))
            change(where, 1, size)
        else:
            live[address] = (where, size)
            change(where, 1, size)

    r.call, r.at = listen, lambda p: r.calls.__setitem__(r.tid, list(p))
    r.rss = lambda rss, by: (setattr(r, "ms", r.ms + by), moments.append((r.ms, rss, now)))
    del call, at, rss
    names = {}
    thread = Recorder.thread

    def named(tid, name=None):
        r.tid = tid
        if name is not None:
            names[tid] = name

    r.thread = named
    del thread
    weights, _ = job(r)
    finish(r, weights)
    peak = max(range(len(log)), key=lambda i: log[i][3])
    sums = {}
    for i, (where, n, size, _) in enumerate(log):
        s = sums.setdefault(where, [0, 0, 0, 0])
        if i <= peak:
            s[0] += n
            s[2] += size
        s[1] += n
        s[3] += size
    out = bytearray()
    for ms, rss, heap in moments:
        out += b"\1" + struct.pack("<QQQ", ms, rss, heap)
    for tid, name in names.items():
        out += b"\x0c" + struct.pack("<Q", tid) + b"\x0a" + text(name)
    listened, r.out = r.out, bytearray()
    if native:
        r.version, v = 12, r.version  # libraries are told alike in all added up ones
        r.maps(LIBS)
        r.version = v
    out += r.out
    line = Delta()
    codes = {}
    for function, file, first, _ in frames if version >= 12 else ():
        if (function, file) not in codes:
            codes[function, file] = len(codes) + 1
            table = r.table(first, [first + i for i in range(60)])
            out += b"\x0e" + varint(len(codes)) + text(function) + text(file) + line.put(first) + varint(len(table)) + table
    ip, index = Delta(), Delta()
    for node, address in r.natives:
        out += b"\x05" + ip.put(address) + index.put(node)
    for (function, file, first, at_line), i in frames.items():
        if version >= 12:
            at = (at_line - first) * 6 + 2 if python >= 0x030B0000 else at_line - first
            out += b"\x04" + varint(i) + varint(codes[function, file]) + signed(at) + b"\1"
        else:
            out += b"\x04" + struct.pack("<Q", i) + text(function) + text(file) + struct.pack("<iB", at_line, 1)
    for (parent, frame), _ in tree.items():
        out += b"\x03" + (varint(frame) + varint(parent) if version >= 12 else struct.pack("<QQ", frame, parent))
    kinds = FREQUENT if version >= 12 else KINDS
    for (tid, kind, node, trace), s in sums.items():
        if s[0] or s[1] or s[2] or s[3]:
            out += b"\2" + struct.pack("<QB7xQQQQQQQ", tid, kinds.index(kind) + 1, node, trace, maps_seen, *s)
    del listened
    return r.header(aggregated=True) + bytes(out) + b"\x0f"


def stats(largest=5):
    """What `memray stats --json` says of the same job."""
    r = Recorder(13)
    live, ranges, now, peak = {}, [], 0, 0
    kinds, sizes, by_size, by_count = {}, {}, {}, {}

    def listen(kind, address, size=0, ips=()):
        nonlocal now, peak
        if kind in ("free", "pymalloc_free"):
            now -= live.pop(address, 0)
            return
        if kind == "munmap":
            low = high = 0
            for i, (begin, end) in enumerate(ranges):
                low, high = max(begin, address), min(end, address + size)
                if low < high:
                    ranges[i:i + 1] = [(b, e) for b, e in ((begin, low), (high, end)) if b < e]
                    now -= high - low
                    break
            return
        if kind == "mmap":
            ranges.append((address, address + size))
        else:
            live[address] = size
        now += size
        peak = max(peak, now)
        calls = r.calls.get(r.tid)
        where = "%s:%s:%d" % (calls[-1][0], calls[-1][1], calls[-1][3]) if calls else "<stack trace unavailable>"
        kinds[kind.upper()] = kinds.get(kind.upper(), 0) + 1
        sizes[size] = sizes.get(size, 0) + 1
        by_size[where] = by_size.get(where, 0) + size
        by_count[where] = by_count.get(where, 0) + 1

    r.call, r.at = listen, lambda place: r.calls.__setitem__(r.tid, list(place))
    r.rss = lambda rss, by: setattr(r, "ms", r.ms + by)
    r.thread = lambda tid, name=None: setattr(r, "tid", tid)
    weights, _ = job(r)
    finish(r, weights)

    def top(of, key):
        return [{"location": where, key: of[where]} for where in sorted(of, key=lambda w: -of[w])[:largest]]

    return (json.dumps({
        "total_num_allocations": sum(kinds.values()), "total_bytes_allocated": sum(n * k for n, k in sizes.items()),
        "allocation_size_histogram": [{"min_bytes": 0, "max_bytes": max(sizes), "count": sum(kinds.values())}],
        "allocator_type_distribution": dict(sorted(kinds.items(), key=lambda k: -k[1])),
        "top_allocations_by_size": top(by_size, "size"), "top_allocations_by_count": top(by_count, "count"),
        "metadata": {"start_time": "2026-01-02 03:00:00+00:00", "end_time": "2026-01-02 03:00:00.246000+00:00",
                     "total_allocations": 2 * sum(kinds.values()), "total_frames": 40, "peak_memory": peak, "command_line": r.command,
                     "pid": PID, "python_allocator": "pymalloc", "has_native_traces": False}}, indent=2) + "\n").encode()


# -- lz4


def xxh32(data):
    p1, p2, p3, p4, p5, full = 2654435761, 2246822519, 3266489917, 668265263, 374761393, 0xFFFFFFFF

    def rotate(x, n):
        return (x << n | x >> 32 - n) & full

    h, i = p5 + len(data) & full, 0  # what is hashed here is shorter than 16 bytes
    while i + 4 <= len(data):
        h = rotate(h + struct.unpack_from("<I", data, i)[0] * p3 & full, 17) * p4 & full
        i += 4
    while i < len(data):
        h = rotate(h + data[i] * p5 & full, 11) * p1 & full
        i += 1
    h = (h ^ h >> 15) * p2 & full
    h = (h ^ h >> 13) * p3 & full
    return h ^ h >> 16


def lz4_block(data):
    """Greedy, by the last place of the next four bytes."""
    out, seen, at, anchor = bytearray(), {}, 0, 0

    def length(n):
        more = bytearray()
        if n >= 15:
            n -= 15
            while n >= 255:
                more.append(255)
                n -= 255
            more.append(n)
        return bytes(more)

    while at < len(data) - 12:
        key = data[at:at + 4]
        was = seen.get(key, -70000)
        seen[key] = at
        if at - was > 65535:
            at += 1
            continue
        n = 4
        while at + n < len(data) - 5 and data[was + n] == data[at + n]:
            n += 1
        out.append(min(at - anchor, 15) << 4 | min(n - 4, 15))
        out += length(at - anchor) + data[anchor:at] + struct.pack("<H", at - was) + length(n - 4)
        at += n
        anchor = at
    out.append(min(len(data) - anchor, 15) << 4)
    return bytes(out + length(len(data) - anchor) + data[anchor:])


def lz4(data):
    """Blocks of 64 KiB that stand alone, as memray's stream writes them but for its blocks being linked."""
    flags = b"\x60\x40"
    out = bytearray(b"\x04\x22\x4d\x18" + flags + struct.pack("B", xxh32(flags) >> 8 & 255))
    for i in range(0, len(data), 65536):
        block = lz4_block(data[i:i + 65536])
        if len(block) < len(data[i:i + 65536]):
            out += struct.pack("<I", len(block)) + block
        else:
            out += struct.pack("<I", len(data[i:i + 65536]) | 1 << 31) + data[i:i + 65536]
    return bytes(out + b"\0\0\0\0")
