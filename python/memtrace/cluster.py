"""Ranks on many machines: each summarized where its data is, the summaries merged into one report.

    from memtrace import cluster
    with concurrent.futures.ProcessPoolExecutor() as pool:
        r = cluster.summarize(["/local/rank%d.pickle" % i for i in range(8)], pool)
    print(r.sentence, r.failed)

Any executor of the concurrent.futures interface will do: Dask's, mpi4py's, Ray's (docs/cluster.md). A path is one on the machine where the
executor runs its task; only the summary, a few KiB, comes back."""

import concurrent.futures
import os
import subprocess
import tempfile
from typing import Dict, List, Optional, Sequence, Tuple

from ._program import MemtraceError, Option, Path, flags, program
from ._program import run as _run
from ._view import Report, parsed

__all__ = ["Merged", "summarize", "summary"]

GOOD, DAMAGED, USAGE = 0, 3, 2


class Merged(Report):
    """The report of all ranks. `failed`: what was given up, by path, and why. `summaries`: each path's summary, to keep or to merge again."""

    failed: Dict[str, str]
    summaries: Dict[str, bytes]


def summary(path: Path, arguments: Sequence[str] = (), binary: Optional[str] = None) -> bytes:
    """`memtrace summarize PATH`: what a task runs. binary: the program on that machine; without it that of the package there."""
    command = [binary or program(), "summarize", *arguments, "--output=-", "--quiet", "--", os.fspath(path)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    except OSError as e:
        raise MemtraceError("%s does not run here: %s" % (command[0], e.strerror or e), 126) from e
    if done.returncode not in (GOOD, DAMAGED):
        raise MemtraceError(done.stderr.decode("utf-8", "replace").strip() or "exit status %d" % done.returncode, done.returncode)
    return done.stdout


def _task(path: str, arguments: Tuple[str, ...], binary: Optional[str]) -> Tuple[Optional[bytes], str]:
    """An error of the program comes back as words: an exception's class need not be known where the result goes."""
    try:
        return summary(path, arguments, binary), ""
    except MemtraceError as e:
        return None, str(e)


def _names(paths: Sequence[str]) -> List[str]:
    """A file for each: two machines may have the same path."""
    return ["%06d_%s.mts" % (i, os.path.basename(p.rstrip("/")) or "rank") for i, p in enumerate(paths)]


def summarize(paths: Sequence[Path], executor: concurrent.futures.Executor, *, retries: int = 2, timeout: Optional[float] = None,
              binary: Optional[str] = None, **options: Option) -> Merged:
    """Summarizes every path on the executor and merges what came back. A task that is lost (its worker was killed) is run again up to
    `retries` times; one whose file cannot be read is not. timeout: seconds for one round of tasks. Other arguments are options of
    `memtrace summarize`. MemtraceError where nothing came back at all."""
    todo = [os.fspath(p) for p in paths]
    if not todo:
        raise TypeError("summarize() needs a path")
    arguments = tuple(flags(options))
    failed: Dict[int, str] = {}
    got: Dict[int, bytes] = {}
    left = list(range(len(todo)))
    for _ in range(retries + 1):
        left = _round(executor, todo, left, arguments, binary, timeout, got, failed)
        if not left:
            break
    if not got:
        raise MemtraceError("no summary came back: %s" % next(iter(failed.values()), "nothing was run"), 1)
    return _merged(todo, got, failed)


def _round(executor: concurrent.futures.Executor, paths: Sequence[str], left: Sequence[int], arguments: Tuple[str, ...], binary: Optional[str],
           timeout: Optional[float], got: Dict[int, bytes], failed: Dict[int, str]) -> List[int]:
    """One try of each; returns those that were lost."""
    lost: List[int] = []
    tasks: "List[Tuple[int, concurrent.futures.Future[Tuple[Optional[bytes], str]]]]" = []
    for i in left:
        try:
            tasks.append((i, executor.submit(_task, paths[i], arguments, binary)))
        except Exception as e:  # pylint: disable=broad-exception-caught
            failed[i] = "the executor does not take it: %s" % e
            lost.append(i)
    ready = concurrent.futures.wait([t for _, t in tasks], timeout) if timeout is not None else None
    for i, task in tasks:
        try:
            if ready is not None and task not in ready.done:
                task.cancel()
                raise TimeoutError("not ready after %s s" % timeout)
            data, why = task.result()
        except Exception as e:  # pylint: disable=broad-exception-caught
            failed[i] = "its task was lost: %s" % (e or type(e).__name__)
            lost.append(i)
            continue
        if data is None:
            failed[i] = why
        else:
            got[i] = data
            failed.pop(i, None)
    return lost


def _merged(paths: Sequence[str], got: Dict[int, bytes], failed: Dict[int, str]) -> Merged:
    names = _names(paths)
    with tempfile.TemporaryDirectory(prefix="memtrace-") as folder:
        for i, data in sorted(got.items()):
            with open(os.path.join(folder, names[i]), "wb") as f:
                f.write(data)
        command = ["report", "--", folder]
        done = _run([command[0], "--format=json", "--output=-", *command[1:]], (GOOD, DAMAGED))
    merged = Merged(parsed(done.stdout), command, (GOOD, DAMAGED))
    merged.failed = {paths[i]: why for i, why in sorted(failed.items())}
    merged.summaries = {paths[i]: data for i, data in sorted(got.items())}
    return merged
