#!/usr/bin/env python3
"""watch(upload=): page and snapshot go to the run that the job has open, and to no other; a tracker that fails or hangs is the line, not the
job's trouble. W&B, MLflow and TensorBoard are stand-ins that have what their documentation names, and nothing else."""

import json
import unittest

from kit import FAIL, Job

# each writes what it was given, with the size of a file, to the file `given`
TRACKERS = """
import json, os, threading, types, torch
GIVEN = os.path.join(os.path.dirname(folder), 'given')
def put(*what):
    with open(GIVEN, 'a') as file: file.write(json.dumps(what) + chr(10))
class Artifact:
    def __init__(self, name, type): self.name, self.type, self.files = name, type, []
    def add_file(self, local_path): self.files.append([os.path.basename(local_path), os.path.getsize(local_path)])
class Summary(dict):
    def __setitem__(self, k, v): put('summary', k, v)
class Run:
    summary = Summary()
    def log_artifact(self, artifact): put('artifact', artifact.name, artifact.type, artifact.files)
wandb = types.ModuleType('wandb')
wandb.run, wandb.Artifact = Run(), Artifact
class Client:
    def log_artifact(self, run_id, local_path, artifact_path=None): put('file', run_id, os.path.basename(local_path), artifact_path)
    def set_tag(self, run_id, key, value): put('tag', run_id, key, value)
    def log_metric(self, run_id, key, value): put('metric', run_id, key, value)
mlflow = types.ModuleType('mlflow')
own = threading.local()
own.run = types.SimpleNamespace(info=types.SimpleNamespace(run_id='r1'))
mlflow.active_run = lambda: getattr(own, 'run', None)
mlflow.MlflowClient = Client
class Writer:
    def add_text(self, tag, text_string, global_step=None): put('text', tag, text_string)
    def flush(self): put('flush')
sys.modules.update(wandb=wandb, mlflow=mlflow)
""" + FAIL


class Uploads(Job):
    def given(self):
        path = self.scratch / "given"
        rows = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        path.unlink(missing_ok=True)
        return rows

    def test_nothing_is_uploaded_unasked(self):
        self.assertEqual(len(self.job(TRACKERS + "watch()\nfail()")), 1)
        self.assertEqual(self.given(), [])

    def test_wandb(self):
        line, = self.job(TRACKERS + "watch(upload='wandb')\nfail()", RANK="2")
        artifact, *facts = self.given()
        self.assertEqual((artifact[0], artifact[2]), ("artifact", "memtrace"))
        self.assertRegex(artifact[1], r"^memtrace-oom_rank2_pid\d+_1$")
        self.assertEqual([name.rsplit(".")[-1] for name, _ in artifact[3]], ["html", "pickle"])
        self.assertTrue(all(size > 100 for _, size in artifact[3]))
        self.assertEqual(line, "[memtrace] %s Report: %s/%s.html" % (facts[0][2], self.folder, artifact[1][len("memtrace-"):]))
        self.assertEqual({f[1]: f[2] for f in facts[1:]}, {"memtrace/live_peak_bytes": 512})  # no request: the stand-in records no history

    def test_mlflow_and_tensorboard_together(self):
        self.assertEqual(len(self.job(TRACKERS + "watch(upload=['mlflow', Writer()])\nfail()\nfail()")), 2)
        rows = self.given()
        self.assertEqual([r[0] for r in rows if r[0] != "metric"], ["file", "file", "tag", "text", "flush"] * 2)
        self.assertTrue(all(r[1] == "r1" and r[3] == "memtrace" for r in rows if r[0] == "file"))
        text, = [r[2] for r in rows if r[0] == "text" and r[1].endswith("_1")]
        self.assertIn("### memtrace: oom_pid", text)
        self.assertIn("512 B live", text)

    def test_no_run_and_not_imported(self):
        for code in ("wandb.run = None", "own.run = None", "del sys.modules['wandb'], sys.modules['mlflow']"):
            with self.subTest(code):
                lines = self.job(TRACKERS + code + "\nwatch(upload=['wandb', 'mlflow'])\nfail()")
                self.assertEqual(len(lines), 1)
                kept = {"wandb.run = None": {"file", "tag", "metric"}, "own.run = None": {"artifact", "summary"}}.get(code, set())
                self.assertEqual({r[0] for r in self.given()}, kept)

    def test_a_tracker_that_fails_or_hangs(self):
        report, line = self.job(TRACKERS + "def no(*a): raise OSError('quota')\nRun.log_artifact = no\nwatch(upload=['wandb', 'mlflow'])\nfail()")
        self.assertIn(" Report: ", report)
        self.assertEqual(line, "[memtrace] wandb: the report was not uploaded: OSError: quota")
        self.assertIn("file", {r[0] for r in self.given()})
        hang = "import memtrace._upload\nmemtrace._upload.WAIT = 0.2\nRun.log_artifact = lambda *a: threading.Event().wait()\nwatch(upload='wandb')\nfail()\nprint('on')"
        _, line = self.job(TRACKERS + hang)
        self.assertEqual(line, "[memtrace] wandb: the report was not uploaded: no answer in 0.2 s")

    def test_all_of_them_together_hold_the_job_no_longer_than_one(self):
        hang = """
import memtrace._upload, time
memtrace._upload.WAIT = 0.5
Run.log_artifact = Client.log_artifact = lambda *a: threading.Event().wait()
Writer.add_text = lambda *a: put('tried')
watch(upload=['wandb', 'mlflow', Writer()])
give = memtrace._watch.give
def timed(*a):
    begun = time.monotonic()
    give(*a)
    put('seconds', time.monotonic() - begun)
memtrace._watch.give = timed
fail()
"""
        lines = self.job(TRACKERS + hang)[1:]
        self.assertEqual(lines, ["[memtrace] wandb: the report was not uploaded: no answer in 0.5 s"] + [
            "[memtrace] %s: the report was not uploaded: the 0.5 s for all of them had passed" % name for name in ("mlflow", "TensorBoard")])
        (_, seconds), = self.given()
        self.assertLess(seconds, 2)

    def test_what_is_none_is_said_and_the_rest_holds(self):
        said, report = self.job(TRACKERS + "watch(upload=['wandd', 7, 'wandb'])\nfail()")[1:]
        self.assertIn("not 7: left out", said)
        self.assertIn(" Report: ", report)
        self.assertEqual(self.given()[0][0], "artifact")


if __name__ == "__main__":
    unittest.main()
