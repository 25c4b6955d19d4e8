#!/usr/bin/env python3
"""Makes a recording of a GPU machine fit for samples/real/: texts are replaced by others of the same length, in every member, its snapshots too.

    keep.py IN.trace.gz OUT.trace.gz OLD=NEW ...
    keep.py JOBS samples/real/jobs OLD=NEW ...        # what jobs.py left: snapshots, and what each job and its changes said of themselves"""
import glob
import gzip
import json
import os
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


KEPT = ("ended", "error", "request", "held", "settings", "requested_peak", "allocated_peak", "reserved_peak")


def jobs(source, to, pairs):
    """JOB.pickle.gz and JOB.truth.json: its settings file, what it held by its own objects, PyTorch's words, and what each change came to."""
    os.makedirs(to, exist_ok=True)
    for path in sorted(glob.glob(os.path.join(source, "*.pickle.gz"))):
        name = os.path.basename(path)[: -len(".pickle.gz")]
        with gzip.open(path) as f:
            data = f.read()
        for old, new in pairs:
            data = data.replace(old, new)
        with open(os.path.join(to, name + ".pickle.gz"), "wb") as f:
            f.write(gzip.compress(data, 9, mtime=0))
        with open(os.path.join(source, name + ".json"), encoding="utf-8") as f:
            told = json.load(f)
        files = [p for p in glob.glob(os.path.join(source, name + ".*")) if not p.endswith((".json", ".gz", ".txt"))]
        kept = {"title": told["title"], "base": {k: told["base"].get(k) for k in KEPT},
                "changes": [{"variant": c["variant"], "rules": c["rules"], **{k: c.get(k) for k in KEPT[:1] + KEPT[5:]}} for c in told["changes"] if c["ended"] in ("ok", "oom")]}
        for p in files:
            with open(p, encoding="utf-8") as f:
                kept["config"] = {"ends": os.path.splitext(p)[1], "text": f.read()}
        with open(os.path.join(to, name + ".truth.json"), "w", encoding="utf-8") as f:
            json.dump(kept, f, indent=1)
            f.write("\n")


def main():
    pairs = [tuple(part.encode() for part in argument.split("=", 1)) for argument in sys.argv[3:]]
    for old, new in pairs:
        assert len(old) == len(new), (old, new)
    if os.path.isdir(sys.argv[1]):
        jobs(sys.argv[1], sys.argv[2], pairs)
        return
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
