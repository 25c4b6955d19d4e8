"""memtrace: why a GPU ran out of memory, and which settings to change.

    import memtrace
    r = memtrace.report("oom/rank3.pickle", log="train.log", capacity="H100-80")
    print(r.verdict.sentence, [a.title for a in r.advice if a.top])
    r                                    # in a notebook: the page

    memtrace.watch("oom/")               # in a job: a snapshot, a page and a line when memory runs out
    with memtrace.phase("log_prob"): ... # names a stretch of it for whatever records

Every other function runs the program in this package and gives back what it says as JSON, as attributes; options are those of the command
line with `_` for `-`. MemtraceError has what the program says where it refuses."""

import os
import sys
from typing import Dict, List, Tuple

from ._program import MemtraceError, Option, Path, flags, program, run
from ._callbacks import LightningCallback, TrainerCallback
from ._phase import phase
from ._view import Advice, Check, Device, Diff, Report, Verdict, View, parsed
from ._watch import dump, watch

__all__ = ["Advice", "Check", "Device", "Diff", "LightningCallback", "MemtraceError", "Report", "TrainerCallback", "Verdict", "View", "check", "diff", "phase",
           "program", "report", "snapshot", "watch"]

GOOD, DAMAGED, NOT_KEPT = 0, 3, 4  # exit statuses


def _command(name: str, paths: "Tuple[Path, ...]", options: "Dict[str, Option]") -> List[str]:
    if not paths:
        raise TypeError("%s() needs a path" % name)
    return [name, *flags(options), "--", *(os.fspath(p) for p in paths)]


def _json(command: List[str], good: "Tuple[int, ...]") -> "Tuple[Dict[str, object], int]":
    done = run([command[0], "--format=json", "--output=-", *command[1:]], good)
    return parsed(done.stdout), done.returncode


def report(*paths: Path, **options: Option) -> Report:
    """`memtrace report PATH...`: snapshots, traces, logs, recordings, folders."""
    command = _command("report", paths, options)
    data, _ = _json(command, (GOOD, DAMAGED))
    return Report(data, command, (GOOD, DAMAGED))


def diff(first: Path, second: Path, **options: Option) -> Diff:
    """`memtrace diff FIRST SECOND`."""
    command = _command("diff", (first, second), options)
    data, _ = _json(command, (GOOD, DAMAGED))
    return Diff(data, command, (GOOD, DAMAGED))


def check(*paths: Path, **options: Option) -> Check:
    """`memtrace check PATH...`: check("rank0.pickle", max=["peak=70GiB", "phase:weight_sync.left=0"], baseline="main.json")."""
    command = _command("check", paths, options)
    good = (GOOD, DAMAGED, NOT_KEPT)
    data, status = _json(command, good)
    return Check(data, command, good, status in (GOOD, DAMAGED))


def snapshot(path: Path) -> str:
    """Writes what PyTorch's allocator of this process holds now, with its history if it records one
    (torch.cuda.memory._record_memory_history()), for report(). PyTorch has to be imported already."""
    torch = sys.modules.get("torch")
    if torch is None:
        raise MemtraceError("snapshot() writes the memory of PyTorch in this process, and torch is not imported here", 1)
    dump(torch, os.fspath(path))
    return os.fspath(path)
