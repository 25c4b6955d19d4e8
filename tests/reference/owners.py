"""Readable owners of memory: the reference for grouping live blocks by stack. The rules stand in README.md."""

import re

from phases import is_python, is_torch, normal

STDLIB = re.compile(r"(^|/)(python[\d.]*|lib)/(runpy|threading|contextlib|functools)\.py$|-packages/typing_extensions\.py$", re.I)
AUTOGRAD = re.compile(r"^torch::autograd::(?:(InputBuffer)::add|(?:generated::)?(\w+)::apply\()")
NOISE = (
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "CUDACachingAllocator",
    "empty_cuda",
    "empty_generic",
    "at::detail::empty_",
    "wrap_kernel_functor",
    "redispatch",
    "::call(",
    "RegisterCUDA",
)


def is_internal(frame):
    file = normal(frame["filename"])
    return (
        is_torch(file)
        or file.startswith("<frozen ")
        or bool(STDLIB.search(file))
    )


def short(file):
    return "/".join(normal(file).split("/")[-2:])


def label_of(frame):
    return "%s:%d %s" % (short(frame["filename"]), frame["line"], frame["name"])


def label_within(frames):
    """Of the first; a generator expression and the like goes by the name of the function around it in the same file."""
    for frame in frames:
        if frame["filename"] != frames[0]["filename"]:
            break
        if not frame["name"].startswith("<") or frame["name"] == "<module>":
            return "%s:%d %s" % (short(frames[0]["filename"]), frames[0]["line"], frame["name"])
    return label_of(frames[0])


def owner(frames):
    """(key, label): stacks with the same key are one owner."""
    if not frames:
        return ((), "(no stack recorded)")
    python = [frame for frame in frames if is_python(frame)]
    kept = [frame for frame in python if not is_internal(frame)]
    if not kept:
        kept = python[:1]
    if kept:
        return (tuple((f["filename"], f["line"], f["name"]) for f in kept), label_within(kept))
    for frame in frames:
        found = AUTOGRAD.search(frame["name"] or "")
        if found:
            label = "autograd " + (found.group(1) or found.group(2))
            return ((label,), label)
    for frame in frames:
        name = frame["name"] or ""
        if not any(word in name for word in NOISE) and not name.startswith(("std::", "void std::")):
            label = "C++: " + (frame["name"] or "")
            return ((label,), label)
    label = "C++: " + (frames[0]["name"] or "")
    return ((label,), label)


def rank_owners(live):
    """live: (size, frames) pairs. Rows (bytes, blocks, label) by size, then by label, then by key."""
    cache, total = {}, {}
    for size, frames in live:
        if id(frames) not in cache:
            cache[id(frames)] = (frames, owner(frames))
        key, label = cache[id(frames)][1]
        row = total.setdefault(key, [0, 0, label])
        row[0] += size
        row[1] += 1
    order = sorted(total.items(), key=lambda item: (-item[1][0], item[1][2], str(item[0])))
    return [tuple(row) for _, row in order]
