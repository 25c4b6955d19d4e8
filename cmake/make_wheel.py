#!/usr/bin/env python3
"""Packs a wheel: the Python package, and the installed program below its _program folder. The same files give the same bytes.

    make_wheel.py --package DIR --program DIR --skills DIR --readme FILE --license FILE --version V --machine CPU --objdump PROGRAM [--home URL] --out DIR

The tag names the newest glibc that any program or library in it asks for, as its dynamic symbols say. Times are SOURCE_DATE_EPOCH, or 1980."""

import argparse
import base64
import hashlib
import os
import re
import subprocess
import sys
import time
import zipfile

NAME = "memtrace"
SUMMARY = "Why a GPU ran out of memory, and which settings to change"


def is_elf(path):
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def glibc_of(objdump, path):
    """(2, 34): the newest version of its symbols that the file needs."""
    said = subprocess.run([objdump, "-p", path], stdout=subprocess.PIPE, check=True, universal_newlines=True).stdout
    needs = said[said.find("Version References"):] if "Version References" in said else ""
    found = [tuple(int(n) for n in v.split(".")) for v in re.findall(r"GLIBC_([0-9]+(?:\.[0-9]+)+)", needs)]
    return max((v[:2] for v in found), default=(2, 5))


def files_below(folder):
    for root, folders, names in os.walk(folder):
        folders[:] = sorted(f for f in folders if f != "__pycache__")
        for name in sorted(names):
            if not name.endswith((".pyc", ".pyo")):
                path = os.path.join(root, name)
                yield path, os.path.relpath(path, folder).replace(os.sep, "/")


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("package", "program", "skills", "readme", "license", "version", "machine", "objdump", "out"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--home", default="", help="address for issues and releases")
    args = p.parse_args()
    if args.machine not in ("x86_64", "aarch64"):
        sys.exit("make_wheel.py: no tag of a wheel is known for %s" % args.machine)
    content, needs = {}, []
    for path, name in files_below(args.package):
        content["%s/%s" % (NAME, name)] = path, 0o644
    for path, name in files_below(args.skills):
        content["%s/skills/%s" % (NAME, name)] = path, 0o644
    for path, name in files_below(args.program):
        elf = is_elf(path)
        if elf:
            needs.append(glibc_of(args.objdump, path))
        content["%s/_program/%s" % (NAME, name)] = path, 0o755 if elf else 0o644
    if "%s/_program/bin/memtrace" % NAME not in content:
        sys.exit("make_wheel.py: %s has no bin/memtrace" % args.program)
    tag = "py3-none-manylinux_%d_%d_%s" % (*max(needs), args.machine)
    info = "%s-%s.dist-info" % (NAME, args.version)
    with open(args.readme, encoding="utf-8") as file:
        readme = file.read()
    data = {name: (open(path, "rb").read(), mode) for name, (path, mode) in content.items()}
    data[info + "/METADATA"] = ("Metadata-Version: 2.1\nName: %s\nVersion: %s\nSummary: %s\nLicense: Apache-2.0\nRequires-Python: >=3.8\n%s"
                                "Description-Content-Type: text/markdown\n\n%s" % (NAME, args.version, SUMMARY, "Project-URL: Home, %s\n" % args.home if args.home else "", readme)).encode(), 0o644
    data[info + "/WHEEL"] = ("Wheel-Version: 1.0\nGenerator: memtrace\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode(), 0o644
    data[info + "/entry_points.txt"] = b"[console_scripts]\nmemtrace = memtrace.__main__:main\n", 0o644
    data[info + "/LICENSE"] = open(args.license, "rb").read(), 0o644
    record = "".join("%s,sha256=%s,%d\n" % (name, base64.urlsafe_b64encode(hashlib.sha256(body).digest()).rstrip(b"=").decode(), len(body))
                     for name, (body, _) in sorted(data.items()))
    data[info + "/RECORD"] = (record + info + "/RECORD,,\n").encode(), 0o644
    when = time.gmtime(max(int(os.environ.get("SOURCE_DATE_EPOCH") or 0), 315532800))[:6]
    os.makedirs(args.out, exist_ok=True)
    path = os.path.join(args.out, "%s-%s-%s.whl" % (NAME, args.version, tag))
    with zipfile.ZipFile(path + ".part", "w", zipfile.ZIP_DEFLATED) as wheel:
        for name in sorted(data, key=lambda n: (n.startswith(info), n)):  # what describes the wheel stands at its end
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type, entry.create_system = zipfile.ZIP_DEFLATED, 3
            entry.external_attr = (0o100000 | data[name][1]) << 16
            wheel.writestr(entry, data[name][0], compresslevel=9)
    os.replace(path + ".part", path)
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
