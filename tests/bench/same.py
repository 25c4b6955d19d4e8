#!/usr/bin/env python3
"""Whether two builds write the same, byte for byte: what a change for speed has to show.

    python3 same.py BEFORE AFTER PATH...

Every file below each PATH in every format of `report`, and as `info` and `dump`: output, messages and exit status. Of a page what its blocks hold is
compared, unpacked: how they are packed may differ. Names each difference; status 1 when there is one."""
import base64
import gzip
import hashlib
import lzma
import os
import pathlib
import re
import subprocess
import sys
import zlib

DIGITS = re.search(r'mt_base85_digits\[86\] =\s*"([^"]*)";',
                   (pathlib.Path(__file__).resolve().parents[2] / "parser/base/digits.c").read_text(encoding="ascii")).group(1)
BLOCK = re.compile(rb'<script type="text/plain" id="([^"]*)"( data-digits="85")?>([^<]*)</script>')
FORMS = [["report", "--format", form, "-o", "-"] for form in ("json", "text", "md", "html")]
FORMS += [["report", "--full", "--format", "text", "-o", "-"], ["report", "--frames", "all", "--format", "json", "-o", "-"], ["info"], ["dump"]]


def from_base85(text):
    """The bytes of parser/base/digits.h's base85: the last group may be short."""
    spare = -len(text) % 5
    digits = [DIGITS.index(chr(c)) for c in text] + [84] * spare
    out = bytearray()
    for i in range(0, len(digits), 5):
        value = 0
        for d in digits[i:i + 5]:
            value = value * 85 + d
        out += (value & 0xffffffff).to_bytes(4, "big")
    return bytes(out[:len(out) - spare] if spare else out)


def unpacked(match):
    """A block's name and the hash of what it holds."""
    name, is85, text = match.groups()
    data = from_base85(text) if is85 else base64.b64decode(text)
    data = (zlib if not is85 else gzip if data[:2] == b"\x1f\x8b" else lzma).decompress(data)
    return name + b" " + hashlib.sha256(data).hexdigest().encode()


def run(program, form, path):
    """(status, output, messages) with what names the program taken out."""
    done = subprocess.run([program, *form, path], capture_output=True, check=False, env={**os.environ, "LC_ALL": "C.UTF-8", "COLUMNS": "100"})
    out = done.stdout
    if "html" in form:
        out = BLOCK.sub(unpacked, out)
        out = re.sub(rb'data-size="\d+"', b"", out)
    return done.returncode, out, done.stderr


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    before, after, *paths = sys.argv[1:]
    files = sorted(f for p in paths for f in ([pathlib.Path(p)] if pathlib.Path(p).is_file() else pathlib.Path(p).rglob("*")) if f.is_file())
    n, differ = 0, 0
    for path in files:
        for form in FORMS:
            a, b = run(before, form, path), run(after, form, path)
            n += 1
            for what, x, y in zip(("status", "output", "messages"), a, b):
                if x != y:
                    differ += 1
                    print(f"{path}: {' '.join(form)}: other {what}")
    print(f"{n} outputs of {len(files)} files, {differ} differ")
    return int(differ != 0)


if __name__ == "__main__":
    sys.exit(main())
