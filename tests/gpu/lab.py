"""What the checks of run.py share: running programs with and without the recorder, reading what was recorded, keeping results."""
import gzip
import json
import os
import shutil
import struct
import subprocess
import sys
import tarfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
MIB = 1 << 20
PROGRAMS = ("memtrace", "bin/memtrace", "portable/bin/memtrace")  # a build folder, an install or unpacked package, the portable one


class Skip(Exception):
    """The check cannot be made here; says why."""


def environment():
    """The environment of every program: nothing from outside that changes what is measured, and no network."""
    env = {k: v for k, v in os.environ.items()
           if not k.startswith("MEMTRACE_") and k not in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH", "PYTORCH_CUDA_ALLOC_CONF",
                                                          "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING")}
    env.update(HF_HUB_OFFLINE="1", TRANSFORMERS_OFFLINE="1", TOKENIZERS_PARALLELISM="false", PYTHONUNBUFFERED="1")
    env.update(pair.split("=", 1) for pair in os.environ.get("GPU_TESTS_MORE", "").split())  # on purpose: MEMTRACE_NVML=0, say
    return env


def find_memtrace(build):
    """The first program of the folder that runs here; a build folder's may miss shared libraries on another machine."""
    tried = []
    for name in PROGRAMS:
        path = os.path.join(os.path.abspath(build), name)
        if not os.path.isfile(path):
            continue
        if not os.access(path, os.X_OK):  # carried by something that keeps no modes
            os.chmod(path, 0o755)
        try:
            p = subprocess.run([path, "--version"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        except OSError as e:
            tried.append(f"{path}: {e}")
            continue
        if p.returncode == 0:
            return path
        tried.append(f"{path}: {p.stderr.strip()}")
    raise SystemExit("run.py: no memtrace that runs here in " + build + "".join("\n  " + t for t in tried))


class Lab:
    """Runs programs with and without the recorder and reads what was recorded. Everything lies in one folder; note() is what a check
    has seen so far, kept when it fails later or is stopped."""

    def __init__(self, memtrace, work, name=None):
        self.memtrace, self.work, self.name, self.seen = memtrace, os.path.abspath(work), name, {}
        os.makedirs(self.work, exist_ok=True)

    def path(self, name):
        return os.path.join(self.work, name)

    def note(self, **what):
        self.seen.update(what)
        if self.name:
            write_json(self.path(f"{self.name}.seen.json"), self.seen)

    def plain(self, argv, log=None, **more):
        """Runs a command. What it prints goes to files at once, so that it is there when the check is stopped; `log` is their name."""
        env = environment()
        env.update(TMPDIR=self.work, **more)  # the recorder's spool folder: what a stopped run left is collected from it
        paths = [self.path(f"{log or self.name or 'run'}.{kind}.txt") for kind in ("stdout", "stderr")]
        started = time.monotonic()
        with open(paths[0], "wb") as out, open(paths[1], "wb") as err:
            p = subprocess.run([str(a) for a in argv], stdin=subprocess.DEVNULL, stdout=out, stderr=err, check=False, env=env)
        for attribute, path in zip(("stdout", "stderr"), paths):
            with open(path, encoding="utf-8", errors="replace") as f:
                setattr(p, attribute, f.read())
            os.unlink(path)
        p.seconds = elapsed(started)
        return p

    def script(self, name, *args):
        return [sys.executable, os.path.join(HERE, name), *[str(a) for a in args]]

    def capture(self, name, argv, *options, **more):
        """(process, trace): the command under the recorder."""
        trace = self.path(f"{name}.trace.gz")
        p = self.plain([self.memtrace, "capture", "-o", trace, "--force", *options, "--", *argv], log=name, **more)
        with open(self.path(f"{name}.log"), "w", encoding="utf-8") as f:
            f.write(f"$ {' '.join(str(a) for a in argv)}\n{p.stdout}\n--- stderr\n{p.stderr}\n--- status {p.returncode}, {p.seconds} s\n")
        if not os.path.exists(trace):
            raise RuntimeError(f"no trace was written (status {p.returncode}): {p.stderr.strip()[-800:]}")
        return p, trace

    def dump(self, trace):
        p = self.plain([self.memtrace, "dump", trace])
        if p.returncode not in (0, 3):
            raise RuntimeError(f"dump: {p.stderr.strip()}")
        return [json.loads(line) for line in p.stdout.splitlines() if line]

    def report(self, trace, *more):
        p = self.plain([self.memtrace, "report", trace, *more, "--format", "json", "-o", "-", "-q"])
        if p.returncode not in (0, 3):
            raise RuntimeError(f"report: {p.stderr.strip()}")
        return json.loads(p.stdout)


# ---- reading -------------------------------------------------------------------------------------------------------------------------


def rows(dump, kind):
    return [r for r in dump if r.get("type") == kind]


def said(p):
    """The last JSON line that a workload printed."""
    lines = [line for line in p.stdout.splitlines() if line.startswith("{")]
    if not lines:
        raise RuntimeError(f"the workload said nothing (status {p.returncode}): {p.stderr.strip()[-800:]}")
    return json.loads(lines[-1])


def ledgers_of(report):
    """One row per GPU: what was recorded, what the device said, how much of that nobody explains. Each sample must add up."""
    ledgers = report["job"]["ledgers"] if report.get("job") else []
    if not ledgers:
        raise AssertionError("no ledger: no driver call was recorded")
    table = []
    for ledger in ledgers:
        for c in ledger["checks"]:
            assert c["used_bytes"] == c["recorded_bytes"] + c["other_bytes"] + c["unexplained_bytes"], c
        apart = [c["unexplained_bytes"] for c in ledger["checks"]]
        table.append({"gpu": ledger["name"], "samples": len(apart), "max_unexplained_MiB": max(map(abs, apart)) // MIB if apart else None,
                      "max_before_ends_MiB": max(map(abs, apart[:-2] or apart)) // MIB if apart else None,
                      "unexplained_first_MiB": apart[0] // MIB if apart else None, "unexplained_last_MiB": apart[-1] // MIB if apart else None,
                      "recorded_peak_MiB": ledger["recorded_peak_bytes"] // MIB, "used_peak_MiB": (ledger["used_peak_bytes"] or 0) // MIB,
                      "held_MiB": {r["holder"]: r["bytes"] // MIB for r in ledger["focus"]["rows"]}})
    return table


def within(table, slack, ends=False):
    """The ledgers of ledgers_of() are close to the device's own figures. ends: each of two processes samples once more while the other ends."""
    for row in table:
        assert row["samples"], f"no sample of {row['gpu']} was taken"
        apart = row["max_before_ends_MiB"] if ends else row["max_unexplained_MiB"]
        assert apart <= slack // MIB, \
            f"{apart} MiB are unexplained on {row['gpu']}; at most {slack // MIB} were expected"


def autopsy(pid, path, itself=False):
    """Where every process below pid is, thread by thread, with what its stack holds: written before it is killed."""
    below, todo = [pid] * itself, [pid]
    while todo:
        below += (found := children(todo.pop()))
        todo += found
    with open(path, "w", encoding="utf-8") as out:
        for one in below:
            out.write(f"== process {one}: {look(f'/proc/{one}/cmdline').replace(chr(0), ' ')[:300]}\n")
            for tid in os.listdir(f"/proc/{one}/task") if os.path.isdir(f"/proc/{one}/task") else []:
                at = f"/proc/{one}/task/{tid}"
                state = [line for line in look(f"{at}/status").splitlines() if line.startswith(("State", "voluntary"))]
                out.write(f"-- thread {tid} {look(f'{at}/comm')}: {state} wchan {look(f'{at}/wchan')} syscall {look(f'{at}/syscall')}\n{look(f'{at}/stack')}\n")
                out.write(f"{return_addresses(one, look(f'{at}/syscall').split())}\n")
            out.write(f"-- maps\n{look(f'/proc/{one}/maps')}\n")


def return_addresses(pid, syscall):
    """What lies on the stack of a thread that waits and points into code: 'library+offset', innermost first. Some were left by earlier calls."""
    try:
        sp, maps = int(syscall[-2], 16), []
        for line in look(f"/proc/{pid}/maps").splitlines():
            part = line.split(maxsplit=5)
            low, high = (int(x, 16) for x in part[0].split("-"))
            if "x" in part[1] and len(part) == 6:
                maps.append((low, high, int(part[2], 16), os.path.basename(part[5])))
        with open(f"/proc/{pid}/mem", "rb") as f:
            f.seek(sp)
            words = struct.unpack("<2048Q", f.read(16384))
        return " ".join(f"{name}+{w - low + offset:#x}" for w in (int(syscall[-1], 16), *words) for low, high, offset, name in maps if low <= w < high)
    except (OSError, ValueError, IndexError, struct.error) as e:
        return f"no stack: {e}"


def look(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read().strip()
    except OSError:
        return "?"


def children(pid):
    """Processes whose parent is pid."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat", encoding="ascii", errors="replace") as f:
                    if int(f.read().rpartition(")")[2].split()[1]) == pid:
                        found.append(int(entry))
            except OSError:
                pass
    return found


# ---- results -------------------------------------------------------------------------------------------------------------------------


def write_json(path, what):
    with open(path + ".part", "w", encoding="utf-8") as f:
        json.dump(what, f, indent=1)
    os.replace(path + ".part", path)


def cell(entry):
    text = "; ".join(filter(None, [entry.get("why"), json.dumps(entry["seen"]) if entry.get("seen") else None]))
    return text.replace("\n", " ").replace("|", "\\|")[:1200]


def write_results(out, about, results):
    """results.json and results.md; after each check, so that what was learnt is kept whatever comes next."""
    write_json(os.path.join(out, "results.json"), {"about": about, "checks": results})
    lines = [f"{k}: {v}  " for k, v in about.items()] + ["", "| check | result | s | seen |", "|---|---|---|---|"]
    lines += [f"| `{name}`: {e['what']} | {e['result']} | {e['seconds']} | {cell(e)} |" for name, e in results.items()]
    with open(os.path.join(out, "results.md.part"), "w", encoding="utf-8") as f:
        f.write("\n".join(lines) + "\n")
    os.replace(os.path.join(out, "results.md.part"), os.path.join(out, "results.md"))


class Pack:
    """artifacts.tar.gz: traces, snapshots, logs, small ones first, never larger than a limit."""

    def __init__(self, work, out, limit=15 * MIB, each=6 * MIB):
        self.work, self.path, self.limit, self.each = work, os.path.join(out, "artifacts.tar.gz"), limit, each

    def write(self):
        """Names of what was left out."""
        files = sorted((os.path.getsize(os.path.join(self.work, n)), n) for n in os.listdir(self.work)
                       if os.path.isfile(os.path.join(self.work, n)) and not n.endswith((".part", ".result.json", ".seen.json")))
        total, left = 0, []
        with open(self.path + ".part", "wb") as raw, gzip.GzipFile("", "wb", 1, raw, 0) as packed, \
                tarfile.open(fileobj=packed, mode="w") as tar:
            for size, name in filter(lambda f: f[0] > 0, files):
                if size > self.each or total + size + 1024 > self.limit:
                    left.append(name)
                    continue
                total += size + 1024
                tar.add(os.path.join(self.work, name), name)
        os.replace(self.path + ".part", self.path)
        return left


def compress(path):
    """path.gz in place of path."""
    with open(path, "rb") as f, gzip.open(path + ".gz", "wb", 6) as g:
        shutil.copyfileobj(f, g)
    os.unlink(path)
    return os.path.getsize(path + ".gz")


def elapsed(since):
    return round(time.monotonic() - since, 1)
