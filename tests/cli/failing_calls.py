"""Every call of a kind fails once, alone and with all behind it: never a crash, a message that says why, no half output, no file left over.

failing_calls.py MEMTRACE SHIM SAMPLES KIND [EVERY]: KIND is alloc or io. EVERY is `places`, the first, second and last call of each place (a call with all
that called it), or a number: 1 is all calls, which for memory is hours of the same few places. Without it, about 100 calls of those of places for each
form of report and 20 to 40 for each other command."""
import collections
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

# OUT stands for the output; without it the command writes to standard output, which cannot be taken back.
REPORTS = [["report", "-q", "--format", form, "-o", "OUT", "tiny.pickle"] for form in ("text", "md", "json", "html")]
OTHERS = [["report", "-q", "--format", "json", "-o", "OUT", "verl_two_ranks.tar.gz"], ["summarize", "-q", "-o", "OUT", "tiny.pickle"],
          ["export", "-q", "--to", "perfetto", "-o", "OUT", "tiny.pickle"], ["diff", "-q", "--format", "json", "-o", "OUT", "tiny.pickle", "tiny.pickle"],
          ["report", "-q", "--format", "json", "-o", "OUT", "cards.log"], ["report", "-q", "--format", "html", "-o", "OUT", "driver_v1.trace.gz"],
          ["report", "-q", "--redact", "--redact-key", "0123456789abcdef-test-key", "--config", "SETTINGS", "--format", "text", "-o", "OUT", "tiny.json"],
          ["report", "-q", "--format", "json", "-o", "OUT", "memray/tiny_v12.bin"], ["report", "-q", "--format", "json", "-o", "OUT", "nsys/failed_first.sqlite"],
          ["report", "-q", "--format", "json", "-o", "OUT", "profiler/tiny.pt.trace.json"], ["report", "-q", "--format", "json", "-o", "OUT", "fragmentation_oom.trace_plot.html"],
          ["ticket", "-q", "--redact-key", "0123456789abcdef-test-key", "-o", "OUT", "tiny.pickle"], ["export", "-q", "--to", "folded", "-o", "OUT", "tiny.pickle"], ["info", "driver_v1.trace.gz"], ["info", "tiny.pickle"], ["dump", "tiny.pickle"], ["check", "--max", "peak=1TiB", "python_only.pickle"], ["rules"], ["howto", "verl"], ["schema", "report"]]
SETTINGS = """actor_rollout_ref: {rollout: {name: vllm, gpu_memory_utilization: 0.6, log_prob_micro_batch_size_per_gpu: 8}}
trainer: {project_name: zorro, n_gpus_per_node: 8, default_local_dir: /home/zorro/ckpt}
"""
UNKNOWN = re.compile(rb'"sha256": ?(?:"[0-9a-f]{64}"|null)|"input_bytes": ?(?:[0-9]+|null)|  sha256 +[0-9a-f]{64}\n| in an input of [^\n]*|<code>(?:[0-9a-f]{64}|not computed)</code>')
PACKED = re.compile(rb"^\{Wp48S[^\n]*", re.M)  # the report that a page carries
TAKES_NO_CONFIG = {"report", "ticket", "diff", "check", "summarize"}


class Runs:
    def __init__(self, memtrace, shim, samples, kind):
        self.memtrace, self.shim, self.samples, self.kind = memtrace, shim, samples, kind
        self.folder = tempfile.mkdtemp(dir=".")
        self.bad = collections.Counter()
        self.settings = os.path.abspath("settings.yaml")
        with open(self.settings, "w") as f:
            f.write(SETTINGS)

    def run(self, command, name, **env):
        out = os.path.join(self.folder, name)
        given = {"OUT": out, "SETTINGS": self.settings}
        args = [given.get(a, os.path.join(self.samples, a) if os.path.exists(os.path.join(self.samples, a)) else a) for a in command]
        args[1:1] = ["--no-config"] if command[0] in TAKES_NO_CONFIG else []
        r = subprocess.run([self.memtrace, *args], stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
                           env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_PRELOAD": self.shim, "MT_FAIL_KIND": self.kind, **env})
        made = r.stdout if "OUT" not in command else None
        if os.path.isdir(out):  # a ticket: the page first
            made = b"".join(open(os.path.join(out, name), "rb").read() + name.encode() for name in sorted(os.listdir(out)))
            shutil.rmtree(out)
        elif os.path.exists(out):
            with open(out, "rb") as f:
                made = f.read()
            os.unlink(out)
        return r.returncode, r.stderr.decode(errors="replace"), made

    def unpacked(self, page):
        name = os.path.join(self.folder, f"page-{threading.get_ident()}")
        with open(name, "wb") as f:
            f.write(page)
        tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unpack_page.py")
        text = subprocess.run([sys.executable, "-B", tool, name, "text"], capture_output=True, check=True).stdout
        os.unlink(name)
        return text

    def is_same(self, command, made, want):
        """Of a page, what is packed in it may be packed less well. A file that cannot be asked, or read twice, has no size and no digest. What is
        read back of a page and a summary is the same report."""
        if made is None or made == want:
            return made is not None
        if want.startswith(b"<!") and self.kind == "alloc" and self.bare(made) != self.bare(want):
            return False
        if want.startswith((b"<!", b"\x1f\x8b")):
            made, want = self.read_back(made), self.read_back(want)
        return UNKNOWN.sub(b"", made) == UNKNOWN.sub(b"", want)

    def bare(self, page):
        return UNKNOWN.sub(b"", PACKED.sub(b"", self.unpacked(page)))

    def read_back(self, made):
        name = os.path.join(self.folder, f"made-{threading.get_ident()}")
        with open(name, "wb") as f:
            f.write(made)
        text = subprocess.run([self.memtrace, "report", "--no-config", "-q", "--format", "json", "-o", "-",
                               name], capture_output=True).stdout or b"a report that cannot be read"
        os.unlink(name)
        return text

    def wrong(self, command, status, err, made, want):
        if status == 0:
            return None if self.is_same(command, made, want) else "an output that is another"
        if status == (4 if command[0] == "check" else 3) and self.kind == "io":  # what could be read is reported, and what could not is said
            return None if made and err.strip() else "damage without a word, or no output"
        if status == 3:  # of several ranks, or of the parts of a recording, one was lost
            return None if made and "memory" in err and command[-1].endswith(".gz") else "damage without a word, or no output"
        if status != 1:
            return f"exit status {status}"
        if "OUT" in command and made is not None:
            return "an output after a failure"
        if self.kind == "alloc":
            return None if "memory" in err or "Cannot allocate" in err else "no word of memory"
        return None if err.strip() else "no word"

    def case(self, command, want, n, on):
        env = {"MT_FAIL_AT": str(n), **({"MT_FAIL_ON": "1"} if on else {})}
        status, err, made = self.run(command, f"out-{threading.get_ident()}-{n:07d}-{int(on)}", **env)
        # with all calls failing, what would be said cannot be written either
        is_mute = on and self.kind == "io" and (bool(made) if status == 3 else status == 1 and not ("OUT" in command and made))
        wrong = None if is_mute else self.wrong(command, status, err, made, want)
        if wrong is not None:
            self.bad[wrong] += 1
            print(f"{' '.join(command)}: call {n}{' and all behind it' if on else ''}: {wrong}: {err.strip()[:300]!r}", flush=True)
        return status


def main(memtrace, shim, samples, kind, every=""):
    runs, cases, sums = Runs(memtrace, shim, samples, kind), [], []
    for command in REPORTS + OTHERS:
        count = os.path.join(runs.folder, "count")
        status, err, want = runs.run(command, "whole", MT_FAIL_COUNT=count, MT_FAIL_SITES="1")
        assert status == 0 and want, (command, status, err)
        with open(count) as f:
            (total,), *places = [[int(word) for word in line.split()] for line in f]
        os.unlink(count)
        assert total > (100 if kind == "alloc" and "OUT" in command else 0), (command, total)
        numbers = range(1, total + 1)
        if kind == "alloc" and not every.isdigit():
            numbers = sorted({n for place in places for n in place if n != 0})
        step = int(every) if every.isdigit() else 1 if every else max(1, len(numbers) // ((97 if command in REPORTS else 17) if kind == "alloc" else 40))
        cases += [(command, want, n, on) for on in (False, True) for n in sorted({*range(1, min(total, 7) + 1), *numbers[::step]})]
        sums += [total, len(places), len(numbers)]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        statuses = collections.Counter(pool.map(lambda case: runs.case(*case), cases))
    leftover = os.listdir(runs.folder)
    print(f"{len(REPORTS + OTHERS)} commands, {sum(sums[::3])} calls from {sum(sums[1::3])} places, {len(cases)} runs, statuses {dict(statuses)}, wrong {dict(runs.bad)}, left {leftover}")
    # one that fails none proves nothing
    return bool(runs.bad) or bool(leftover) or statuses[1] < len(cases) // (2 if kind == "alloc" else 4)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
