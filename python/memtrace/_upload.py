"""What watch() leaves, given to the experiment trackers that the job asked for: W&B, MLflow, TensorBoard. None of them is imported here; one that
the job has not imported, or that has no run, gets nothing. What is uploaded has names and folders in it, as the page has."""

import os
import sys
import threading
import time
from typing import Any, Callable, Dict, List, Sequence, Union

from ._program import run

Upload = Union[str, Any, Sequence[Any]]
WAIT = 20.0  # seconds for all trackers together: those that do not answer must not hold the job, nor the ranks that wait for it
FOLDER = "memtrace"


class Left:
    """What a failure has left: files, and the report as JSON."""

    def __init__(self, snapshot: str, page: str, report: "Dict[str, Any]") -> None:
        self.page, self.report = page, report
        self.files = [page, snapshot]
        self.name = os.path.basename(page).rsplit(".", 1)[0]

    def facts(self) -> "Dict[str, Any]":
        """Under the names of the JSON; numbers where they are known."""
        verdict = self.report["verdict"]
        found: Dict[str, Any] = {"memtrace/sentence": verdict["sentence"], "memtrace/request_bytes": verdict.get("request_bytes"),
                                 "memtrace/live_peak_bytes": max((d.get("live_peak_bytes") or 0 for d in self.report.get("devices", [])), default=None)}
        return {k: v for k, v in found.items() if v is not None}

    def markdown(self) -> str:
        return run(["report", "--quiet", "--format=md", "-o", "-", self.page], (0, 3), timeout=WAIT).stdout.decode("utf-8", "replace")


# Each looks, in the thread of the job, whether there is a run to give to, and gives back what does it.

def _wandb(module: Any) -> "Callable[[Left], None] | None":
    current = module.run
    if current is None:
        return None

    def give(left: Left) -> None:
        artifact = module.Artifact("memtrace-" + left.name, type="memtrace")
        for path in left.files:
            artifact.add_file(path)
        current.log_artifact(artifact)
        for name, value in left.facts().items():  # no log(): the steps are the job's
            current.summary[name] = value
    return give


def _mlflow(module: Any) -> "Callable[[Left], None] | None":
    current = module.active_run()
    if current is None:
        return None

    def give(left: Left) -> None:  # by the client: the active run is of one thread
        client = module.MlflowClient()
        for path in left.files:
            client.log_artifact(current.info.run_id, path, FOLDER)
        for name, value in left.facts().items():
            if isinstance(value, str):
                client.set_tag(current.info.run_id, name, value)
            else:
                client.log_metric(current.info.run_id, name, value)
    return give


def _writer(writer: Any) -> Callable[[Left], None]:
    def give(left: Left) -> None:
        writer.add_text("memtrace/" + left.name, left.markdown())
        writer.flush()
    return give


KNOWN: Dict[str, Callable[[Any], "Callable[[Left], None] | None"]] = {"wandb": _wandb, "mlflow": _mlflow}


def wanted(upload: Upload, say: Callable[[str], None]) -> List[Any]:
    """As a list. One that is not known is said and left out."""
    known = []
    for one in list(upload) if isinstance(upload, (list, tuple)) else [upload]:
        if one in KNOWN if isinstance(one, str) else hasattr(one, "add_text"):
            known.append(one)
        else:
            say("watch: upload is %s or a SummaryWriter of TensorBoard, not %r: left out" % (", ".join(map(repr, KNOWN)), one))
    return known


def give(upload: List[Any], left: Left, say: Callable[[str], None]) -> None:
    """To each of them, one after the other, for WAIT seconds at most in all. What failed is said."""
    end = time.monotonic() + WAIT
    for one in upload:
        name = one if isinstance(one, str) else "TensorBoard"
        module = sys.modules.get(name)
        failed: List[str] = []
        try:
            task = _writer(one) if not isinstance(one, str) else KNOWN[name](module) if module is not None else None
        except Exception as e:
            task, failed = None, [str(e)]
        if task is not None:
            failed = _in_time(task, left, end - time.monotonic())
        if failed:
            say("%s: the report was not uploaded: %s" % (name, failed[0]))


def _in_time(task: Callable[[Left], None], left: Left, seconds: float) -> List[str]:
    if seconds <= 0:
        return ["the %g s for all of them had passed" % WAIT]
    failed = ["no answer in %.2g s" % seconds]

    def work() -> None:
        try:
            task(left)
            failed.clear()
        except BaseException as e:
            failed[:] = ["%s: %s" % (type(e).__name__, e)]

    thread = threading.Thread(target=work, name="memtrace-upload", daemon=True)
    thread.start()
    thread.join(seconds)
    return list(failed)
