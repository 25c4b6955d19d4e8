#!/usr/bin/env python3
"""Makes a trace of a GPU machine fit for samples/real/: texts are replaced by others of the same length, in every member, its snapshots too.

    keep.py IN.trace.gz OUT.trace.gz OLD=NEW ..."""
import struct
import sys
import zlib

FEXTRA = 4


def members(raw):
    """(header with its extra field, payload) of each gzip member; the program writes no other optional field."""
    while raw:
        assert raw[:3] == b"\x1f\x8b\x08" and raw[3] in (0, FEXTRA), raw[:4]
        head = 12 + struct.unpack("<H", raw[10:12])[0] if raw[3] == FEXTRA else 10
        d = zlib.decompressobj(-15)
        payload = d.decompress(raw[head:]) + d.flush()
        yield raw[:head], payload
        raw = d.unused_data[8:]


def main():
    pairs = [tuple(part.encode() for part in argument.split("=", 1)) for argument in sys.argv[3:]]
    for old, new in pairs:
        assert len(old) == len(new), (old, new)
    with open(sys.argv[1], "rb") as f:
        raw = f.read()
    whole = b""
    for head, payload in members(raw):
        for old, new in pairs:
            payload = payload.replace(old, new)
        c = zlib.compressobj(9, zlib.DEFLATED, -15)
        whole += head + c.compress(payload) + c.flush() + struct.pack("<II", zlib.crc32(payload), len(payload) & 0xFFFFFFFF)
    with open(sys.argv[2], "wb") as f:
        f.write(whole)


if __name__ == "__main__":
    main()
