#!/usr/bin/env python3
"""A real Slurm: controller and four nodes on this machine. The recipes of docs/cluster.md and docs/capture.md as they stand there, with a node
killed in the middle: an array of 64 summaries, and jobs that are recorded. About 25 s. Skipped where Debian's slurm-wlm is not installed."""

import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = pathlib.Path(os.environ.get("MT_SOURCE_DIR") or HERE.parents[1])
MEMTRACE = pathlib.Path(os.environ.get("MEMTRACE") or SOURCE / "build" / "memtrace").resolve()
BUILD = pathlib.Path(os.environ.get("MT_BINARY_DIR") or MEMTRACE.parent)
SAMPLE = SOURCE / "samples" / "verl_grpo_oom_logprob.pickle"
APP = BUILD / "tests" / "fake_app"
NODES = 4
SBIN = os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin", "/sbin"))
NEEDED = ("slurmctld", "slurmd", "sbatch", "srun", "sinfo", "squeue", "scontrol")

CONF = """\
ClusterName=memtrace
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/none
CredType=cred/none
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
SlurmctldPidFile={dir}/ctld.pid
SlurmdPidFile={dir}/slurmd.%n.pid
SlurmdSpoolDir={dir}/spool/%n
StateSaveLocation={dir}/state
SlurmctldLogFile={dir}/ctld.log
SlurmdLogFile={dir}/slurmd.%n.log
SlurmdTimeout=3
TCPTimeout=1
MessageTimeout=3
ReturnToService=2
SchedulerParameters=sched_interval=1,sched_min_interval=0,batch_sched_delay=0
JobRequeue=1
PlugStackConfig=/dev/null
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
"""


def until(true, seconds):
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for s in sockets:
        s.bind(("127.0.0.1", 0))
    ports = [s.getsockname()[1] for s in sockets]
    for s in sockets:
        s.close()
    return ports


def descendants(mark):
    """The processes with that in their environment, and all below them: what a daemon starts may leave it, what a job starts has another one."""
    parents, todo = {}, []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    todo.append(int(entry.name))
            except OSError:
                pass
    found = []
    while todo:
        one = todo.pop()
        found.append(one)
        todo += [child for child, parent in parents.items() if parent == one and child not in found + todo]
    return found


def recipe(doc, begins):
    """The one line of that page that begins so."""
    lines = [line.strip() for line in (SOURCE / "docs" / doc).read_text(encoding="utf-8").splitlines() if line.strip().startswith(begins)]
    assert len(lines) == 1, (doc, begins, lines)
    return lines[0]


class Slurm:
    """The daemons. A node is killed with all that runs on it, as by a loss of power."""

    def __init__(self, folder):
        self.folder, self.daemons = folder, {}
        for name in ("state", "bin"):
            (folder / name).mkdir()
        ports, user, host = free_ports(NODES + 1), subprocess.check_output(["id", "-un"], text=True).strip(), socket.gethostname()
        nodes = "".join("NodeName=n%d NodeHostname=%s NodeAddr=127.0.0.1 Port=%d CPUs=2 State=UNKNOWN\n" % (i, host, ports[i]) for i in range(NODES))
        self.conf = folder / "slurm.conf"
        self.conf.write_text(CONF.format(host=host, port=ports[NODES], user=user, dir=folder) + nodes
                             + "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n", encoding="utf-8")
        self.env = {k: v for k, v in os.environ.items() if not k.startswith(("SLURM", "SBATCH", "MEMTRACE", "CUDA_", "NVTX_"))}
        self.env.update(SLURM_CONF=str(self.conf), PATH="%s/bin:%s:%s" % (folder, MEMTRACE.parent, SBIN))
        self.daemon("ctld", ["slurmctld", "-D", "-c", "-f", str(self.conf)])
        for i in range(NODES):
            self.node(i)

    def daemon(self, name, command):
        with open(self.folder / (name + ".out"), "ab") as out:
            self.daemons[name] = subprocess.Popen(command, env={**self.env, "MT_NODE": self.mark(name)}, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True)

    def mark(self, name):
        return "%s/%s" % (self.folder, name)

    def node(self, i):
        (self.folder / "spool" / ("n%d" % i)).mkdir(parents=True, exist_ok=True)
        self.daemon("n%d" % i, ["slurmd", "-D", "-N", "n%d" % i, "-f", str(self.conf)])

    def kill(self, name):
        for pid in descendants("MT_NODE=" + self.mark(name)):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.daemons.pop(name).wait()

    def run(self, command, cwd, **more):
        return subprocess.run(command, cwd=cwd, env=self.env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False, timeout=120, **more)

    def idle(self):
        return self.run(["sinfo", "-h", "-o", "%T %D"], self.folder).stdout.split("\n")[0] == "idle %d" % NODES

    def stop(self):
        for name in list(self.daemons):
            self.kill(name)


class Jobs(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="memtrace-slurm-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.slurm = Slurm(self.folder)
        self.addCleanup(self.slurm.stop)
        self.work = self.folder / "work"
        self.work.mkdir()
        self.assertTrue(until(self.slurm.idle, 60), "Slurm does not come up: " + "".join(
            p.read_text(errors="replace")[-1500:] for p in self.folder.glob("*.out")))

    def memtrace(self, *arguments):
        return subprocess.run([str(MEMTRACE), *arguments], cwd=self.work, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)

    def wrapper(self, name, script):
        path = self.folder / "bin" / name
        path.write_text("#!/bin/sh\n" + script, encoding="utf-8")
        path.chmod(0o755)

    def test_an_array_of_summaries(self):
        paths = [self.work / ("snapshot_rank%d.pickle" % i) for i in range(64)]
        for path in paths:
            os.link(SAMPLE, path) if os.stat(SAMPLE).st_dev == os.stat(self.work).st_dev else shutil.copyfile(SAMPLE, path)
        (self.work / "paths").write_text("".join("%s\n" % p for p in paths), encoding="utf-8")
        sums = self.work / "sums"
        sums.mkdir()
        # the first task that comes to node n2 is still at work when the node dies
        self.wrapper("memtrace", 'if [ "$SLURMD_NODENAME" = n2 ] && mkdir "%s/held" 2> /dev/null; then\n'
                     '    echo "$SLURM_ARRAY_TASK_ID" > "%s/held/task"\n    sleep 600\nfi\nexec "%s" "$@"\n' % (self.folder, self.folder, MEMTRACE))
        begun = self.slurm.run(["bash", "-c", recipe("cluster.md", "sbatch --array=")], self.work)
        self.assertEqual(begun.returncode, 0, begun.stderr)
        held = self.folder / "held" / "task"
        self.assertTrue(until(lambda: held.exists() and held.read_text(), 60))
        self.slurm.kill("n2")
        # Slurm finds out that the node is down and will start its tasks again elsewhere, for which it waits two minutes
        queue = lambda: self.slurm.run(["squeue", "-h", "-r", "-o", "%i %T %r"], self.work).stdout.splitlines()  # noqa: E731
        self.assertTrue(until(lambda: (q := queue()) and all(line.endswith(" PENDING BeginTime") for line in q), 90), queue())
        lost = [i for i in range(64) if not (sums / ("%d.mts" % (i + 1))).exists()]
        self.assertIn(int(held.read_text()) - 1, lost)
        self.assertLessEqual(len(lost), 2)  # a node has two processors
        report = self.memtrace("report", "sums", "--format", "text")
        self.assertEqual(report.returncode, 3)
        self.assertRegex(report.stderr, "Missing: ranks? %d[:,-]" % lost[0])
        self.assertIn("%d ranks" % (64 - len(lost)), report.stdout)
        for line in queue():
            self.assertEqual(self.slurm.run(["scontrol", "update", "JobId=" + line.split()[0], "StartTime=now"], self.work).returncode, 0)
        self.assertTrue(until(lambda: len(list(sums.glob("*.mts"))) == 64, 90), self.slurm.run(["squeue"], self.work).stdout)
        report = self.memtrace("report", "sums", "--format", "text")
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("Ranks 0-63: 66.26 GiB (64)", report.stdout)
        self.assertTrue(until(lambda: not self.slurm.run(["squeue", "-h"], self.work).stdout.strip(), 30))

    def test_recorded_jobs(self):
        if not APP.exists() or not (BUILD / "lib" / "memtrace" / "libmemtrace_inject.so").exists():
            self.skipTest("this build has no recorder")
        self.slurm.env["LD_LIBRARY_PATH"] = str(BUILD / "tests" / "mock" / "cuda13")
        (self.work / "spool").mkdir()
        self.wrapper("job", 'exec "%s" device:0 leak:256:1 "touch:ready.$SLURM_PROCID" await:go alloc:1000\n' % APP)
        line = recipe("capture.md", "srun memtrace capture").replace("--spool /tmp", "--spool spool").replace("torchrun ... train.py", "job")
        self.assertIn(" job", line)
        with subprocess.Popen(["bash", "-c", line.replace("srun ", "srun -N 3 -n 3 -w n0,n1,n3 --no-kill ", 1)], cwd=self.work, env=self.slurm.env,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as step:
            self.assertTrue(until(lambda: len(list(self.work.glob("ready.*"))) == 3, 60))
            self.slurm.kill("n1")
            (self.work / "go").touch()
            said = step.communicate(timeout=90)[0]
        self.assertTrue((self.work / "trace.0.gz").exists() and (self.work / "trace.2.gz").exists(), said)
        self.assertFalse((self.work / "trace.1.gz").exists())
        left = list((self.work / "spool").iterdir())
        self.assertEqual(len(left), 1, said)
        self.assertEqual(self.memtrace("collect", str(left[0]), "-o", "trace.1.gz").returncode, 0)
        for i in range(3):
            info = self.memtrace("info", "trace.%d.gz" % i)
            self.assertIn(info.returncode, (0, 3), info.stderr)
            self.assertIn("rank %d" % i, info.stdout)
        # a batch script is no rank, whatever Slurm sets in it
        script = self.work / "batch"
        script.write_text('#!/bin/sh\nmemtrace summarize "%s" -o "batch.%%r.mts" 2> said; echo $? > status\n' % SAMPLE, encoding="utf-8")
        done = self.slurm.run(["sbatch", "-W", "-w", "n0", str(script)], self.work)
        self.assertEqual((self.work / "status").read_text().strip(), "2", done.stderr)
        self.assertIn("no launcher says it here", (self.work / "said").read_text())


if __name__ == "__main__":
    missing = [name for name in NEEDED if shutil.which(name, path=SBIN) is None]
    if missing:
        print("# skipped: %s of Debian's slurm-wlm not installed" % ", ".join(missing))
        sys.exit(77)
    os.environ["PATH"] = SBIN
    unittest.main()
