"""The program in this package: where it lies, and one run of it."""

import os
import subprocess
from typing import Dict, List, Optional, Sequence, Union

Path = Union[str, "os.PathLike[str]"]
Option = Union[None, bool, int, float, Path, Sequence[Union[int, float, Path]]]


class MemtraceError(Exception):
    """The program refused: its message, and its exit status."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


def program() -> str:
    """The memtrace of this package; MEMTRACE_PROGRAM names another one."""
    named = os.environ.get("MEMTRACE_PROGRAM")
    return named or os.path.join(os.path.dirname(os.path.abspath(__file__)), "_program", "bin", "memtrace")


def flags(options: "Dict[str, Option]") -> List[str]:
    """capacity="80GiB", log=["a.log", "b.log"], redact=True: --capacity=80GiB --log=a.log --log=b.log --redact."""
    out: List[str] = []
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if flag in ("--format", "--output", "--open", "--force", "--quiet"):
            raise TypeError("%s is not for here: the result is an object; its .html() and .text() are the other forms" % name)
        if value is None or value is False:
            continue
        if value is True:
            out.append(flag)
        elif isinstance(value, (list, tuple)):
            out += ["%s=%s" % (flag, os.fspath(v) if isinstance(v, os.PathLike) else v) for v in value]
        else:
            out.append("%s=%s" % (flag, os.fspath(value) if isinstance(value, os.PathLike) else value))
    return out


def said(stderr: bytes) -> str:
    """What the program said, without its name in front."""
    text, prefix = stderr.decode("utf-8", "replace").strip(), "memtrace: "
    return text[len(prefix):] if text.startswith(prefix) else text


def run(arguments: Sequence[str], good: Sequence[int], binary: Optional[str] = None, folder: Optional[str] = None,
        timeout: Optional[float] = None) -> "subprocess.CompletedProcess[bytes]":
    """What it wrote; MemtraceError where the exit status is another one than `good`. binary: instead of program(). folder: where it runs.
    After timeout seconds it is ended: MemtraceError of status 124."""
    name = binary or program()
    if folder is not None and os.path.dirname(name):
        name = os.path.abspath(name)
    try:
        done = subprocess.run([name, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              cwd=folder, timeout=timeout)
    except subprocess.TimeoutExpired as e:
        raise MemtraceError("not ready after %s s, and ended" % timeout, 124) from e
    except OSError as e:
        raise MemtraceError("%s does not run here: %s" % (name, e.strerror or e), 126) from e
    if done.returncode not in good:
        raise MemtraceError(said(done.stderr) or "exit status %d" % done.returncode, done.returncode)
    return done
