"""Ranks on many machines: each summarized where its data is, the summaries merged into one report.

    from memtrace import cluster
    with concurrent.futures.ProcessPoolExecutor() as pool:
        r = cluster.summarize(["/local/rank%d.pickle" % i for i in range(8)], pool)
    print(r.verdict.sentence, r.failed)

Any executor of the concurrent.futures interface will do: Dask's, mpi4py's (docs/cluster.md). A path is one on the machine where the
executor runs its task; only the summary, a few KiB, comes back."""

import concurrent.futures
import os
import tempfile
from typing import Dict, List, Optional, Sequence, Tuple

from ._program import MemtraceError, Option, Path, flags, said
from ._program import run as _run
from ._view import Report, View, parsed

__all__ = ["MergeError", "Merged", "summarize", "summary"]

GOOD, DAMAGED, USAGE, TIMED_OUT = 0, 3, 2, 124
FOLDER = "summaries"
GZIP = b"\x1f\x8b"


class MergeError(MemtraceError):
    """The summaries came back, but their merge failed. `summaries` and `failed` are those of Merged: nothing is lost."""

    def __init__(self, error: MemtraceError, summaries: Dict[int, bytes], failed: Dict[int, str]) -> None:
        super().__init__(str(error), error.status)
        self.summaries, self.failed = summaries, failed


class Merged(Report):
    """The report of all ranks. Its dictionaries are by the index in `paths`, since two machines may have the same path.
    failed: what was given up, and why. summaries: each summary, to keep or to merge again. warnings: what the program said of those
    that it read, and of the merge."""

    failed: Dict[int, str]
    summaries: Dict[int, bytes]
    warnings: List[str]
    _names: Dict[int, str]
    _binary: Optional[str]

    @property
    def ranks(self) -> Optional[View]:
        """`ranks` of the JSON; None where there is one rank only."""
        return View(self._data["ranks"]) if self._data.get("ranks") else None

    def _as(self, form: str) -> str:
        return _report(self.summaries, self._names, form, self._binary)[0].decode("utf-8")


def _summarized(path: Path, arguments: Sequence[str], binary: Optional[str], timeout: Optional[float]) -> Tuple[bytes, str]:
    """The summary, and what the program said of it."""
    done = _run(["summarize", *arguments, "--output=-", "--quiet", "--", os.fspath(path)], (GOOD, DAMAGED), binary, timeout=timeout)
    if not done.stdout.startswith(GZIP):
        raise MemtraceError("%s gave no summary: is one of them an option that only prints?" % (" ".join(arguments) or "summarize"), USAGE)
    return done.stdout, said(done.stderr)


def summary(path: Path, arguments: Sequence[str] = (), binary: Optional[str] = None, timeout: Optional[float] = None) -> bytes:
    """`memtrace summarize PATH`: what a task runs. binary: the program on that machine; without it that of the package there.
    timeout: seconds, after which the program is ended (MemtraceError, status 124)."""
    return _summarized(path, arguments, binary, timeout)[0]


def _task(path: str, arguments: Tuple[str, ...], binary: Optional[str], timeout: Optional[float]) -> Tuple[Optional[bytes], str]:
    """An error of the program comes back as words: an exception's class need not be known where the result goes."""
    try:
        return _summarized(path, arguments, binary, timeout)
    except MemtraceError as e:
        if e.status == TIMED_OUT:
            raise TimeoutError(str(e)) from None
        return None, str(e)


def _names(paths: Sequence[str], redact: bool) -> Dict[int, str]:
    """A file for each. A redacted summary does not tell its name. Cut in bytes: a file system takes 255 of them."""
    def tail(p: str) -> str:
        base = os.path.basename(p.rstrip("/")).encode("utf-8", "replace")[:100].decode("utf-8", "ignore")
        return "" if redact or not base else "_" + base
    return {i: "%06d%s.mts" % (i, tail(p)) for i, p in enumerate(paths)}


def summarize(paths: Sequence[Path], executor: concurrent.futures.Executor, *, retries: int = 2, timeout: Optional[float] = None,
              binary: Optional[str] = None, **options: Option) -> Merged:
    """Summarizes every path on the executor and merges what came back. A task that is lost (its worker was killed) is run again up to
    `retries` times; one whose file cannot be read is not. timeout: seconds for one round of tasks; a program that takes longer is ended
    where it runs, and the task counts as lost. binary: the program, there and for the merge here. Other arguments are options of
    `memtrace summarize`. MemtraceError where nothing came back at all; MergeError, which has the summaries, where the merge failed."""
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError("summarize() needs a list of paths, not one path: [%r]" % (paths,))
    todo = [os.fspath(p) for p in paths]
    if not todo:
        raise TypeError("summarize() needs a path")
    arguments = tuple(flags(options))
    failed: Dict[int, str] = {}
    got: Dict[int, bytes] = {}
    words: Dict[int, str] = {}
    left = list(range(len(todo)))
    for _ in range(retries + 1):
        left = _round(executor, todo, left, (arguments, binary, timeout), got, failed, words)
        if not left:
            break
    if not got:
        raise MemtraceError("no summary came back: %s" % next(iter(failed.values()), "nothing was run"), 1)
    return _merged(_names(todo, bool(options.get("redact"))), dict(sorted(got.items())), failed, words, binary)


def _round(executor: concurrent.futures.Executor, paths: Sequence[str], left: Sequence[int],
           how: Tuple[Tuple[str, ...], Optional[str], Optional[float]], got: Dict[int, bytes], failed: Dict[int, str],
           words: Dict[int, str]) -> List[int]:
    """One try of each; returns those that were lost. words: what the program said of those that it read."""
    timeout = how[2]
    lost: List[int] = []
    tasks: "List[Tuple[int, concurrent.futures.Future[Tuple[Optional[bytes], str]]]]" = []
    for i in left:
        try:
            tasks.append((i, executor.submit(_task, paths[i], *how)))
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
            failed[i] = "its task was lost: %s" % (str(e) or type(e).__name__)
            lost.append(i)
            continue
        if data is None:
            failed[i] = why
        else:
            got[i], words[i] = data, why
            failed.pop(i, None)
    return lost


def _report(summaries: Dict[int, bytes], names: Dict[int, str], form: str, binary: Optional[str]) -> Tuple[bytes, bytes]:
    """`memtrace report summaries` beside the files written again: standard output and error."""
    try:
        with tempfile.TemporaryDirectory(prefix="memtrace-") as folder:
            os.mkdir(os.path.join(folder, FOLDER))
            for i, data in summaries.items():
                with open(os.path.join(folder, FOLDER, names[i]), "wb") as f:
                    f.write(data)
            done = _run(["report", "--format=" + form, "--output=-", "--max-members=%d" % (len(summaries) + 1), "--", FOLDER],
                        (GOOD, DAMAGED), binary, folder)
    except OSError as e:
        raise MemtraceError("the summaries cannot be written to a temporary folder: %s" % (e.strerror or e), 1) from e
    return done.stdout, done.stderr


def _merged(names: Dict[int, str], got: Dict[int, bytes], failed: Dict[int, str], words: Dict[int, str], binary: Optional[str]) -> Merged:
    try:
        out, err = _report(got, names, "json", binary)
    except MemtraceError as e:
        raise MergeError(e, got, failed) from e
    merged = Merged(parsed(out), ["report", FOLDER], (GOOD, DAMAGED))
    lines = [line for i in got for line in words[i].splitlines()] + [said(line) for line in err.splitlines() if line.strip()]
    rows = merged.ranks["rows"] if merged.ranks is not None else []
    sources = {row.source for row in rows}
    for i in got:
        source = "%s/%s" % (FOLDER, names[i])
        why = [line for line in lines if line.startswith(source + ": ")]
        if source not in sources and (rows or why):
            failed[i] = why[0] if why else "the merged report has no row of it"
    merged.failed = dict(sorted(failed.items()))
    merged.warnings, merged.summaries = lines, got
    merged._names, merged._binary = names, binary  # pylint: disable=protected-access
    return merged
