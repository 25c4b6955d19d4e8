"""The encodings. Written by hand and not with the pickle module: the bytes must not depend on the Python that makes them."""

import base64
import json
import struct
import zlib


class Pickler:
    """What pickle.dumps(..., protocol=4) gives for dicts, lists, tuples, strings and numbers. Containers are shared by identity,
    strings by value, as in a snapshot that PyTorch built."""

    FRAME = 64 * 1024
    BATCH = 1000

    def __init__(self):
        self.out, self.frame, self.memo, self.keep = bytearray(), bytearray(), {}, []

    def dump(self, value):
        self.out += b"\x80\x04"
        self.save(value)
        self.frame += b"."
        self.flush()
        return bytes(self.out)

    def flush(self):
        if len(self.frame) >= 4:
            self.out += b"\x95" + struct.pack("<Q", len(self.frame))
        self.out += self.frame
        self.frame = bytearray()

    def get(self, key):
        at = self.memo.get(key)
        if at is None:
            return False
        self.frame += b"h" + bytes([at]) if at < 256 else b"j" + struct.pack("<I", at)
        return True

    def put(self, key, value):
        self.memo[key] = len(self.memo)
        self.keep.append(value)  # an id stays taken
        self.frame += b"\x94"

    def save(self, value):
        if len(self.frame) >= self.FRAME:
            self.flush()
        if value is None:
            self.frame += b"N"
        elif value is True or value is False:
            self.frame += b"\x88" if value else b"\x89"
        elif isinstance(value, int):
            self.frame += number(value)
        elif isinstance(value, float):
            self.frame += b"G" + struct.pack(">d", value)
        elif isinstance(value, str):
            if not self.get(value):
                text = value.encode("utf-8", "surrogatepass")
                self.frame += (
                    b"\x8c" + bytes([len(text)]) if len(text) < 256 else b"X" + struct.pack("<I", len(text))
                ) + text
                self.put(value, value)
        elif not self.get(id(value)):
            self.container(value)

    def container(self, value):
        if isinstance(value, tuple):
            for item in value:
                self.save(item)
            self.frame += {1: b"\x85", 2: b"\x86", 3: b"\x87"}[len(value)]
            self.put(id(value), value)
            return
        pairs = isinstance(value, dict)
        self.frame += b"}" if pairs else b"]"
        self.put(id(value), value)
        items = list(value.items()) if pairs else value
        for at in range(0, len(items), self.BATCH):
            batch = items[at : at + self.BATCH]
            if len(batch) > 1:
                self.frame += b"("
            for item in batch:
                for part in item if pairs else (item,):
                    self.save(part)
            self.frame += (b"u" if pairs else b"e") if len(batch) > 1 else (b"s" if pairs else b"a")


def number(value, eight=False):
    if 0 <= value < 256:
        return b"K" + bytes([value])
    if 0 <= value < 65536:
        return b"M" + struct.pack("<H", value)
    if -(1 << 31) <= value < 1 << 31:
        return b"J" + struct.pack("<i", value)
    size = 8 if eight else (value.bit_length() + 8) // 8
    return b"\x8a" + bytes([size]) + value.to_bytes(size, "little", signed=True)


def pickle4(value):
    return Pickler().dump(value)


def pickle2_jit(value):
    """torch::jit::Pickler: protocol 2, no batches, BINPUT behind the finished object, integers above 32 bits always 8 bytes long."""
    out, memo, keep = bytearray(b"\x80\x02"), {}, []

    def put(key, item):
        at = memo[key] = len(memo)
        keep.append(item)
        out.extend(b"q" + bytes([at]) if at < 256 else b"r" + struct.pack("<I", at))

    def save(item):
        key = item if isinstance(item, str) else id(item)
        if isinstance(item, (str, dict, list, tuple)) and key in memo:
            at = memo[key]
            out.extend(b"h" + bytes([at]) if at < 256 else b"j" + struct.pack("<I", at))
        elif isinstance(item, bool):
            out.extend(b"\x88" if item else b"\x89")
        elif isinstance(item, int):
            out.extend(number(item, eight=True))
        elif isinstance(item, float):
            out.extend(b"G" + struct.pack(">d", item))
        elif isinstance(item, str):
            text = item.encode("utf-8", "surrogatepass")
            out.extend(b"X" + struct.pack("<I", len(text)) + text)
            put(key, item)
        elif isinstance(item, tuple):
            for part in item:
                save(part)
            out.extend(b"\x86")
            put(key, item)
        else:
            out.extend(b"}(" if isinstance(item, dict) else b"](")
            for part in [p for pair in item.items() for p in pair] if isinstance(item, dict) else item:
                save(part)
            out.extend(b"u" if isinstance(item, dict) else b"e")
            put(key, item)

    save(value)
    return bytes(out) + b"."


def pickle0(value):
    """Protocol 0: lines of text."""
    out, memo, keep = bytearray(), {}, []

    def put(key, item):
        memo[key] = len(memo)
        keep.append(item)
        out.extend(b"p%d\n" % memo[key])

    def save(item):
        key = item if isinstance(item, str) else id(item)
        if isinstance(item, (str, dict, list, tuple)) and key in memo:
            out.extend(b"g%d\n" % memo[key])
        elif isinstance(item, bool):
            out.extend(b"I01\n" if item else b"I00\n")
        elif isinstance(item, int):
            out.extend(b"I%d\n" % item if -(1 << 31) <= item < 1 << 31 else b"L%dL\n" % item)
        elif isinstance(item, float):
            out.extend(b"F" + repr(item).encode() + b"\n")
        elif isinstance(item, str):
            text = (
                item.replace("\\", "\\u005c")
                .replace("\n", "\\u000a")
                .replace("\r", "\\u000d")
                .replace("\0", "\\u0000")
            )
            out.extend(b"V" + text.encode("raw-unicode-escape") + b"\n")
            put(key, item)
        elif isinstance(item, tuple):
            out.extend(b"(")
            for part in item:
                save(part)
            out.extend(b"t")
            put(key, item)
        else:
            out.extend(b"(d" if isinstance(item, dict) else b"(l")
            put(key, item)
            for part in item.items() if isinstance(item, dict) else item:
                if isinstance(item, dict):
                    save(part[0])
                    save(part[1])
                    out.extend(b"s")
                else:
                    save(part)
                    out.extend(b"a")

    save(value)
    return bytes(out) + b"."


def json_text(value, indent=None):
    return (json.dumps(value, indent=indent)).encode("ascii")


PAGE = """
<!DOCTYPE html>
<html>
<head>
</head>
<body>
<script type="module">
import {add_local_files} from "https://cdn.jsdelivr.net/gh/pytorch/pytorch@main/torch/utils/viz/MemoryViz.js"
const local_files = $SNAPSHOT
add_local_files(local_files, $VIZ_KIND)
</script>
</body>
"""


def viz_page(data, kind="Active Memory Timeline"):
    """The page of `python -m torch.cuda._memory_viz trace_plot`: the pickle, 1 to 3 NUL bytes, base64."""
    data += b"\0" * (3 - len(data) % 3)
    files = json.dumps([{"name": "snapshot.pickle", "base64": base64.b64encode(data).decode("ascii")}])
    return PAGE.replace("$VIZ_KIND", repr(kind)).replace("$SNAPSHOT", files).encode("ascii")


# -- gzip and tar, with a deflate of our own: the output of zlib differs from version to version

LENGTHS = [
    (257, 0, 3),
    (258, 0, 4),
    (259, 0, 5),
    (260, 0, 6),
    (261, 0, 7),
    (262, 0, 8),
    (263, 0, 9),
    (264, 0, 10),
    (265, 1, 11),
    (266, 1, 13),
    (267, 1, 15),
    (268, 1, 17),
    (269, 2, 19),
    (270, 2, 23),
    (271, 2, 27),
    (272, 2, 31),
    (273, 3, 35),
    (274, 3, 43),
    (275, 3, 51),
    (276, 3, 59),
    (277, 4, 67),
    (278, 4, 83),
    (279, 4, 99),
    (280, 4, 115),
    (281, 5, 131),
    (282, 5, 163),
    (283, 5, 195),
    (284, 5, 227),
    (285, 0, 258),
]
DISTANCES = [
    1,
    2,
    3,
    4,
    5,
    7,
    9,
    13,
    17,
    25,
    33,
    49,
    65,
    97,
    129,
    193,
    257,
    385,
    513,
    769,
    1025,
    1537,
    2049,
    3073,
    4097,
    6145,
    8193,
    12289,
    16385,
    24577,
]


class Bits:
    def __init__(self):
        self.out, self.value, self.count = bytearray(), 0, 0

    def put(self, value, count):
        self.value |= value << self.count
        self.count += count
        while self.count >= 8:
            self.out.append(self.value & 255)
            self.value >>= 8
            self.count -= 8

    def code(self, value, count):
        """Huffman codes are packed from their highest bit."""
        self.put(int(format(value, "0%db" % count)[::-1], 2), count)

    def symbol(self, symbol):
        if symbol < 144:
            self.code(0x30 + symbol, 8)
        elif symbol < 256:
            self.code(0x190 + symbol - 144, 9)
        elif symbol < 280:
            self.code(symbol - 256, 7)
        else:
            self.code(0xC0 + symbol - 280, 8)


def deflate(data):
    """One block with the fixed codes; a match is the last place where the same four bytes stood."""
    bits, last, at = Bits(), {}, 0
    bits.put(1, 1)
    bits.put(1, 2)
    while at < len(data):
        key = data[at : at + 4]
        seen = last.get(key)
        if len(key) == 4:
            last[key] = at
        if seen is None or at - seen > 32768:
            bits.symbol(data[at])
            at += 1
            continue
        length = 4
        while length < 258 and at + length < len(data) and data[seen + length] == data[at + length]:
            length += 1
        symbol, extra, base = [row for row in LENGTHS if row[2] <= length][-1]
        bits.symbol(symbol)
        bits.put(length - base, extra)
        code = max(i for i, base in enumerate(DISTANCES) if base <= at - seen)
        bits.code(code, 5)
        bits.put(at - seen - DISTANCES[code], max(0, code // 2 - 1))
        for step in range(at + 1, at + length):
            last[data[step : step + 4]] = step
        at += length
    bits.symbol(256)
    if bits.count:
        bits.put(0, 8 - bits.count)
    return bytes(bits.out)


def gzip_bytes(data):
    return (
        b"\x1f\x8b\x08\0\0\0\0\0\0\xff"
        + deflate(data)
        + struct.pack("<II", zlib.crc32(data), len(data) & 0xFFFFFFFF)
    )


def tar_bytes(members):
    out = bytearray()
    for name, data in members:
        head = bytearray(512)
        for offset, text in (
            (0, name),
            (100, "0000644\0"),
            (108, "0000000\0"),
            (116, "0000000\0"),
            (124, "%011o\0" % len(data)),
            (136, "00000000000\0"),
            (148, "        "),
            (156, "0"),
            (257, "ustar\0"),
            (263, "00"),
        ):
            head[offset : offset + len(text)] = text.encode("ascii")
        head[148:156] = b"%06o\0 " % sum(head)
        out += head + data + b"\0" * (-len(data) % 512)
    return bytes(out) + b"\0" * 1024
