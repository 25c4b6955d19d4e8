"""JSON of the program as attributes. What the contract names (docs/report.schema.json) is typed; everything else is there as well."""

import html
import json
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Type, TypeVar

from ._program import run

T = TypeVar("T", bound="View")


class View(Mapping[str, Any]):
    """An object of the JSON: view.peak_bytes is view["peak_bytes"]; objects in it are views too."""

    def __init__(self, data: "Dict[str, Any]") -> None:
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return wrapped(self._data[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in self._data:
            raise AttributeError("no %r here; there are: %s" % (name, ", ".join(self._data) if not name.startswith("_") else ""))
        return self[name]

    def __dir__(self) -> List[str]:
        return sorted({*super().__dir__(), *(k for k in self._data if k.isidentifier())})

    def __repr__(self) -> str:
        return "%s(%s)" % (type(self).__name__, ", ".join(self._data))

    def to_dict(self) -> "Dict[str, Any]":
        """The JSON itself."""
        return self._data

    def _one(self, kind: "Type[T]", key: str) -> T:
        return kind(self._data[key])

    def _many(self, kind: "Type[T]", key: str) -> "List[T]":
        return [kind(v) for v in self._data[key]]


def wrapped(value: Any) -> Any:
    if isinstance(value, dict):
        return View(value)
    if isinstance(value, list):
        return [wrapped(v) for v in value]
    return value


class Verdict(View):
    kind: str
    sentence: str
    because: str
    out_of_memory: bool
    rank: Optional[int]
    phase: str
    request_bytes: Optional[int]


class Advice(View):
    id: str
    title: str
    why: str
    cost: Optional[str]
    saving_bytes: Optional[int]
    top: bool


class Device(View):
    rank: Optional[int]
    live_peak_bytes: Optional[int]
    reserved_peak_bytes: Optional[int]
    capacity_bytes: Optional[int]


class Printed(View):
    """What one command said, and the same command in its other formats."""

    def __init__(self, data: "Dict[str, Any]", command: Sequence[str], good: Sequence[int]) -> None:
        super().__init__(data)
        self._command, self._good = list(command), good

    def _as(self, form: str) -> str:
        name, rest = self._command[0], self._command[1:]
        return run([name, "--format=" + form, "--output=-", *rest], self._good).stdout.decode("utf-8")

    def text(self) -> str:
        return self._as("text")


class Page(Printed):
    """With a page, which is what a notebook shows."""

    def html(self) -> str:
        return self._as("html")

    def markdown(self) -> str:
        return self._as("md")

    def save(self, path: str) -> None:
        """The page, as one file."""
        with open(path, "w", encoding="utf-8", newline="") as file:
            file.write(self.html())

    def _repr_html_(self) -> str:
        return '<iframe srcdoc="%s" sandbox="allow-scripts allow-popups" style="width:100%%;height:820px;border:0"></iframe>' % html.escape(self.html())


class Report(Page):
    schema_version: int

    @property
    def verdict(self) -> Verdict:
        return self._one(Verdict, "verdict")

    @property
    def advice(self) -> List[Advice]:
        return self._many(Advice, "advice")

    @property
    def devices(self) -> List[Device]:
        return self._many(Device, "devices")

    @property
    def damaged(self) -> bool:
        """Something of the input is missing: the report says what."""
        return bool(self._data["quality"]["damaged"])

    def __str__(self) -> str:
        return self.verdict.sentence


class Diff(Page):
    """What a second run takes more or less than a first."""


class Check(Printed):
    """A run against limits; true where all of them are kept."""

    def __init__(self, data: "Dict[str, Any]", command: Sequence[str], good: Sequence[int], kept: bool) -> None:
        super().__init__(data, command, good)
        self.kept = kept

    def __bool__(self) -> bool:
        return self.kept


def parsed(out: bytes) -> "Dict[str, Any]":
    data = json.loads(out)
    assert isinstance(data, dict)
    return data
