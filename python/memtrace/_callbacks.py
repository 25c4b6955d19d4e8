"""Callbacks for the Trainers of Transformers (and TRL, which is built on it) and of Lightning: watch() and phase() by their events.

Neither library is imported here. Transformers asks for nothing but the methods; Lightning wants an object of its own class, which is taken
from the library that the job has imported."""

import importlib
import os
import sys
from typing import Any, Callable, Dict, Optional, Type

from ._phase import phase
from ._upload import Upload
from ._watch import watch

LIGHTNING = ("lightning.pytorch", "pytorch_lightning")


class Phases:
    """At most one open phase of a name. An error in a step skips the event of its end, so the next beginning ends it."""

    def __init__(self) -> None:
        self.open: Dict[str, phase] = {}

    def begin(self, name: str) -> None:
        self.end(name)
        self.open[name] = phase(name).__enter__()

    def end(self, name: Optional[str] = None) -> None:
        for one in [name] if name is not None else list(self.open)[::-1]:
            entered = self.open.pop(one, None)
            if entered is not None:
                entered.__exit__(None, None, None)


def _nothing(*unused: Any, **more: Any) -> None:
    pass


class TrainerCallback:
    """Trainer(..., callbacks=[memtrace.TrainerCallback("oom/")]): watch(), and the phases train_step and evaluate."""

    def __init__(self, folder: "str | os.PathLike[str]" = "oom", *, entries: int = 100000, stacks: str = "python", upload: Upload = ()) -> None:
        self._phases = Phases()
        watch(folder, entries=entries, stacks=stacks, upload=upload)

    def __getattr__(self, name: str) -> Callable[..., None]:
        if name.startswith("on_"):  # the events of this and later versions
            return _nothing
        raise AttributeError(name)

    def on_step_begin(self, *unused: Any, **more: Any) -> None:
        self._phases.end("evaluate")
        self._phases.begin("train_step")

    def on_step_end(self, *unused: Any, **more: Any) -> None:
        self._phases.end("train_step")

    def on_prediction_step(self, *unused: Any, **more: Any) -> None:
        """Called after each; the first pass is not in the phase."""
        if "evaluate" not in self._phases.open:
            self._phases.begin("evaluate")

    def on_evaluate(self, *unused: Any, **more: Any) -> None:
        self._phases.end("evaluate")

    on_predict = on_evaluate

    def on_train_end(self, *unused: Any, **more: Any) -> None:
        self._phases.end()


class _Events:
    """The hooks that are used, over whichever Callback Lightning has."""

    _phases: Phases

    def on_train_batch_start(self, *unused: Any, **more: Any) -> None:
        self._phases.begin("train_step")

    def on_train_batch_end(self, *unused: Any, **more: Any) -> None:
        self._phases.end("train_step")

    def on_validation_start(self, *unused: Any, **more: Any) -> None:
        self._phases.begin("evaluate")

    def on_validation_end(self, *unused: Any, **more: Any) -> None:
        self._phases.end("evaluate")

    def on_exception(self, *unused: Any, **more: Any) -> None:
        self._phases.end()


_classes: Dict[Any, Type[Any]] = {}


def LightningCallback(folder: "str | os.PathLike[str]" = "oom", *, entries: int = 100000, stacks: str = "python", upload: Upload = ()) -> Any:
    """Trainer(..., callbacks=[memtrace.LightningCallback("oom/")]): watch(), and the phases train_step and evaluate. A Callback of
    lightning.pytorch, or of pytorch_lightning where the job has imported that one."""
    name = next((n for n in LIGHTNING if n in sys.modules), LIGHTNING[0])
    base = importlib.import_module(name).Callback
    where = os.fspath(folder)
    # a writer is of the process that opened it
    names = tuple(u for u in (upload if isinstance(upload, (list, tuple)) else [upload]) if isinstance(u, str))
    if base not in _classes:
        # a process that Lightning spawns gets it by pickle, and watches for itself
        again = {"__reduce__": lambda self: (_lightning_again, self._made_with)}
        _classes[base] = type("MemtraceCallback", (_Events, base), again)
    made = _classes[base]()
    made._phases = Phases()
    made._made_with = (where, entries, stacks, names)
    watch(where, entries=entries, stacks=stacks, upload=upload)
    return made


def _lightning_again(folder: str, entries: int, stacks: str, upload: Upload) -> Any:
    return LightningCallback(folder, entries=entries, stacks=stacks, upload=upload)
