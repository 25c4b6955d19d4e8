"""The encodings of gen.py, written event by event: JSON as json.dump gives it, pickle as Python and as PyTorch's C++ code write it."""

import json
import struct

MIB = 1 << 20
START_US = 1764000000000000
SETTINGS = (
    ("PYTORCH_CUDA_ALLOC_CONF", ""),
    ("max_split_size", -1),
    ("garbage_collection_threshold", 0.0),
    ("expandable_segments", False),
)


def address(slot):
    return 0x7F0000000000 + slot * 64 * MIB


def room(slot):
    return 2 * MIB * (1 + slot % 10)


def segments(state):
    for slot in sorted(state):
        live = state[slot]
        size, stack = live or (0, None)
        rounded = (size + 511) // 512 * 512
        blocks = []
        if live:
            blocks.append(
                (
                    ("address", address(slot)),
                    ("size", rounded),
                    ("requested_size", size),
                    ("state", "active_allocated"),
                    ("frames", stack),
                )
            )
        if rounded < room(slot):
            blocks.append(
                (
                    ("address", address(slot) + rounded),
                    ("size", room(slot) - rounded),
                    ("requested_size", 0),
                    ("state", "inactive"),
                    ("frames", ()),
                )
            )
        yield (
            ("device", 0),
            ("address", address(slot)),
            ("total_size", room(slot)),
            ("allocated_size", rounded),
            ("active_size", rounded),
            ("requested_size", size),
            ("stream", 0),
            ("segment_type", "large"),
            ("segment_pool_id", (0, 0)),
            ("is_expandable", False),
        ), blocks


class Json:
    """What json.dump writes, with indent=4 or without, one event at a time."""

    def __init__(self, out, frames, indent, all_differ):
        self.out, self.frames, self.indent, self.all_differ = out, frames, indent, all_differ
        self.cache = {}
        self.serial = 0

    def line(self, depth):
        return "\n" + "    " * depth if self.indent else ""

    def comma(self, depth):
        return "," + self.line(depth) if self.indent else ", "

    def pairs(self, pairs, depth):
        return self.comma(depth).join("%s: %s" % (json.dumps(key), json.dumps(value)) for key, value in pairs)

    def frame(self, number, depth, line=None):
        name, file, own = self.frames[number]
        return (
            "{"
            + self.line(depth + 1)
            + self.pairs((("name", name), ("filename", file), ("line", line or own)), depth + 1)
            + self.line(depth)
            + "}"
        )

    def stack(self, stack, depth):
        key = (stack, depth)
        if key not in self.cache:
            if not stack:
                self.cache[key] = "[]"
            else:
                parts = [self.frame(number, depth + 1) for number in stack]
                self.cache[key] = (
                    "[" + self.line(depth + 1) + self.comma(depth + 1).join(parts) + self.line(depth) + "]"
                )
                if self.all_differ:
                    rest = self.cache[key][len("[" + self.line(depth + 1) + parts[0]) :]
                    head = "[" + self.line(depth + 1) + self.frame(stack[0], depth + 1, "LINE")
                    self.cache[key] = head.split('"LINE"') + [rest]
        text = self.cache[key]
        if isinstance(text, list):
            self.serial += 1
            return text[0] + str(1000000 + self.serial) + text[1] + text[2]
        return text

    def write(self, state, trace):
        line, comma, write = self.line, self.comma, self.out.write
        write(("{" + line(1) + '"segments": [').encode())
        for index, (head, blocks) in enumerate(segments(state)):
            parts = []
            for block in blocks:
                text = self.pairs(block[:-1], 5) + comma(5) + '"frames": ' + self.stack(block[-1][1], 5)
                parts.append("{" + line(5) + text + line(4) + "}")
            listed = "[" + line(4) + comma(4).join(parts) + line(3) + "]"
            pool = "[" + line(4) + "0" + comma(4) + "0" + line(3) + "]"
            text = (
                self.pairs(head[:8], 3)
                + comma(3)
                + '"segment_pool_id": '
                + pool
                + comma(3)
                + self.pairs(head[9:], 3)
            )
            write(
                (
                    (comma(2) if index else line(2))
                    + "{"
                    + line(3)
                    + text
                    + comma(3)
                    + '"blocks": '
                    + listed
                    + comma(3)
                    + '"frames": []'
                    + line(2)
                    + "}"
                ).encode()
            )
        write((line(1) + "]" + comma(1) + '"device_traces": [' + line(2) + "[").encode())
        tail = comma(4) + '"compile_context": "N/A"' + comma(4) + '"user_metadata": ""'
        now, first, buffer, size_ = START_US, True, [], 0
        keys = [comma(4) + '"%s": ' % key for key in ("addr", "size", "stream", "time_us")]
        opens = {}
        for action, slot, size, stack, step in trace:
            now += step
            if action not in opens:
                opens[action] = "{" + line(4) + '"action": "%s"' % action
            text = (
                (line(3) if first else comma(3))
                + opens[action]
                + keys[0]
                + str(address(slot) if stack else 0)
                + keys[1]
                + str(size)
                + keys[2]
                + "0"
                + keys[3]
                + str(now)
                + tail
            )
            first = False
            if stack:
                text += comma(4) + '"frames": ' + self.stack(stack, 4)
            buffer.append(text + line(3) + "}")
            size_ += len(buffer[-1])
            if size_ > 4 * MIB:
                write("".join(buffer).encode())
                buffer, size_ = [], 0
        write("".join(buffer).encode())
        write(
            (
                line(2)
                + "]"
                + line(1)
                + "]"
                + comma(1)
                + '"allocator_settings": {'
                + line(2)
                + self.pairs(SETTINGS, 2)
                + line(1)
                + "}"
                + comma(1)
                + '"external_annotations": []'
                + line(0)
                + "}"
            ).encode()
        )


class Pickle4:
    """Python's protocol 4: memo by MEMOIZE, batches of 1000."""

    BATCH = 1000

    def __init__(self, out, frames, all_differ):
        self.out, self.frames, self.all_differ = out, frames, all_differ
        self.chunk, self.memo, self.n_memo, self.cache, self.serial = bytearray(), {}, 0, {}, 0
        self.out.write(self.header())

    @staticmethod
    def header():
        return b"\x80\x04"

    def flush(self, force=False):
        if len(self.chunk) >= 65536 or force:
            self.out.write(b"\x95" + struct.pack("<Q", len(self.chunk)) + self.chunk)
            self.chunk = bytearray()

    def put(self):
        """Memoizes what was just written; the number it got."""
        self.chunk += b"\x94"
        self.n_memo += 1
        return self.n_memo - 1

    @staticmethod
    def ref(number):
        return b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)

    def string(self, text):
        if text in self.memo:
            self.chunk += self.ref(self.memo[text])
            return
        data = text.encode()
        self.chunk += self.string_head(len(data)) + data
        self.memo[text] = self.put()

    def text_anew(self, text):
        """A string that was made for this place alone: PyTorch's Python path makes that of compile_context for every event."""
        data = text.encode()
        self.chunk += self.string_head(len(data)) + data
        self.put()

    @staticmethod
    def string_head(size):
        return b"\x8c" + bytes([size]) if size < 256 else b"X" + struct.pack("<I", size)

    @staticmethod
    def number(value):
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if 0 <= value < 65536:
            return b"M" + struct.pack("<H", value)
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        size = (value.bit_length() + 8) // 8
        return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)

    def value(self, value):
        if isinstance(value, bool):
            self.chunk += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self.chunk += self.number(value)
        elif isinstance(value, float):
            self.chunk += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            self.string(value)
        else:
            self.chunk += self.number(value[0]) + self.number(value[1]) + b"\x86"
            self.put()

    # containers: the C++ pickler memoizes behind the object, Python in front of the contents
    def open(self, kind):
        self.chunk += kind
        self.put()
        self.chunk += b"("
        return 0

    def close(self, kind, count=1):
        self.chunk += kind
        return None

    def frame(self, number, line=None):
        if line is None and number in self.memo:
            self.chunk += self.ref(self.memo[number])
            return
        name, file, own = self.frames[number]
        at = self.n_memo
        self.open(b"}")
        for key, value in (("name", name), ("filename", file), ("line", line or own)):
            self.string(key)
            self.value(value)
        behind = self.close(b"u")
        if line is None:
            self.memo[number] = at if behind is None else behind

    def stack(self, stack):
        """The list of frames, an object of its own; the memo number it gets."""
        if not stack:
            self.chunk += b"]"
            return self.put()
        at = self.n_memo
        if self.all_differ:
            self.serial += 1
            self.open(b"]")
            self.frame(stack[0], 1000000 + self.serial)
            self.chunk += self.rest(stack)
            behind = self.close(b"e")
        elif stack in self.cache:
            self.open(b"]")
            self.chunk += self.cache[stack]
            behind = self.close(b"e")
        else:
            self.open(b"]")
            for number in stack:
                self.frame(number)
            self.cache[stack] = b"".join(self.ref(self.memo[number]) for number in stack)
            behind = self.close(b"e")
        return at if behind is None else behind

    def rest(self, stack):
        if stack not in self.cache:
            for number in stack[1:]:
                if number not in self.memo:  # the first time they stand in full
                    start = len(self.chunk)
                    for each in stack[1:]:
                        self.frame(each)
                    text = bytes(self.chunk[start:])
                    del self.chunk[start:]
                    return text
            self.cache[stack] = b"".join(self.ref(self.memo[number]) for number in stack[1:])
        return self.cache[stack]

    def pairs(self, pairs):
        for key, value in pairs:
            self.string(key)
            self.value(value)

    def write(self, state, trace):
        self.open(b"}")
        self.string("segments")
        self.open(b"]")
        for index, (head, blocks) in enumerate(segments(state)):
            self.batch(index, b"e")
            self.open(b"}")
            self.pairs(head)
            self.string("blocks")
            self.open(b"]")
            for block in blocks:
                self.open(b"}")
                self.pairs(block[:-1])
                self.string("frames")
                self.stack(block[-1][1])
                self.close(b"u")
            self.close(b"e")
            self.string("frames")
            self.stack(())
            self.close(b"u")
            self.flush()
        self.close(b"e")
        self.string("device_traces")
        self.open(b"]")
        self.open(b"]")
        self.trace(trace)
        self.close(b"e")
        self.close(b"e")
        self.string("allocator_settings")
        self.open(b"}")
        self.pairs(SETTINGS)
        self.close(b"u")
        self.string("external_annotations")
        self.chunk += b"]"
        self.put()
        self.close(b"u")
        self.chunk += b"."
        self.flush(force=True)

    def batch(self, index, kind):
        if index and index % self.BATCH == 0:
            self.chunk += kind + b"("

    def context(self):
        self.string("compile_context")
        self.text_anew("N/A")

    def trace(self, trace):
        now, shared = START_US, None
        constant = None
        for index, (action, slot, size, stack, step) in enumerate(trace):
            self.batch(index, b"e")
            now += step
            self.open(b"}")
            self.string("action")
            self.string(action)
            if constant is None or stack is None:
                self.pairs(
                    (
                        ("addr", address(slot) if stack else 0),
                        ("size", size),
                        ("stream", 0),
                        ("time_us", now),
                    )
                )
                self.context()
                self.pairs((("user_metadata", ""),))
                refs = [
                    self.ref(self.memo[key])
                    for key in (
                        "addr",
                        "size",
                        "stream",
                        "time_us",
                        "user_metadata",
                        "",
                    )
                ]
                constant = (refs[0], refs[1], refs[2] + b"K\0" + refs[3], b"".join(refs[4:]))
            else:
                self.chunk += (
                    constant[0]
                    + self.number(address(slot))
                    + constant[1]
                    + self.number(size)
                    + constant[2]
                    + self.number(now)
                )
                self.context()
                self.chunk += constant[3]
            if stack:
                self.string("frames")
                if action == "free_completed" and not self.all_differ:
                    self.chunk += self.ref(shared)
                else:
                    shared = self.stack(stack)
            self.close(b"u")
            self.flush()


class Pickle2Jit(Pickle4):
    """torch::jit::Pickler: protocol 2, no batches, BINPUT behind the finished object, large integers always 8 bytes."""

    BATCH = 1 << 62

    @staticmethod
    def header():
        return b"\x80\x02"

    def flush(self, force=False):
        if len(self.chunk) >= 65536 or force:
            self.out.write(self.chunk)
            self.chunk = bytearray()

    def put(self):
        at = self.n_memo
        self.chunk += b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at)
        self.n_memo += 1
        return at

    @staticmethod
    def string_head(size):
        return b"X" + struct.pack("<I", size)

    @staticmethod
    def number(value):
        if -(1 << 31) <= value < 1 << 31:
            return Pickle4.number(value)
        return b"\x8a\x08" + struct.pack("<q", value)

    def context(self):
        """torch::jit::Pickler shares strings by their value."""
        self.pairs((("compile_context", "N/A"),))

    def open(self, kind):
        self.chunk += kind + b"("
        return 0

    def close(self, kind, count=1):
        self.chunk += kind
        return self.put()

    def stack(self, stack):
        if not stack:
            self.open(b"]")
            return self.close(b"e")
        return Pickle4.stack(self, stack)
