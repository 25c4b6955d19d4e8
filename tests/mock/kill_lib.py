"""kill -9 at a random moment: every call that the application had counted in shared memory after it returned must be in what is left."""
import pathlib
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

WORK = {"calls": "random:0", "vmm": "vmm:0", "steady": "steady:0", "async": "async:0"}


def start(spool, truth, rng, variant):
    threads = rng.choice([1, 2, 4])
    flush = rng.choice([20, 50, 100, 500, 5000])
    work = rng.choice(sorted(WORK))
    lines = rng.random() < 0.3
    env = kit.environment(variant, True, spool, FAKE_TRUTH=truth, FAKE_TRUTH_LINES=None if lines else 0, MEMTRACE_FLUSH_MS=flush,
                          MEMTRACE_STACKS=rng.choice([0, 1]), MEMTRACE_MAX_MB=0)
    what = f"{threads} threads of {work}, flush {flush} ms, {'with' if lines else 'without'} lines"
    command = [str(kit.APP), f"threads:{threads}", WORK[work]]
    return what, threads, subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def trial(number, rng, where=None, variant="cuda13"):
    """One kill; returns (calls, those it had waited for, chunks that were in both places)."""
    spool, truth = kit.scratch(where), kit.scratch()
    what, threads, child = start(spool, truth, rng, variant)
    what = f"kill {number}: {what}"
    # One in five very early, in the middle of the start; the others by the calls that were made: a fast machine makes them at once.
    wanted = 0 if rng.random() < 0.2 else rng.randrange(2000, 60000)
    kit.check(f"{what}: {wanted} calls are made", kit.until(lambda: not wanted or kit.counted(truth, child.pid) >= wanted))
    time.sleep(rng.uniform(0.0, 0.005) if wanted else rng.uniform(0.01, 0.1))
    child.send_signal(signal.SIGKILL)
    child.wait()
    made = kit.counted(truth, child.pid)
    if made == 0:
        kit.note(f"{what}: killed before its first call")
        return 0, 0, 0
    trace = kit.trace_decode.load(spool)
    p = next((q for q in trace.recorded() if q.pid == child.pid), None)
    kept = len(p.calls) if p else 0
    problems = kit.damage(trace)
    dropped = max(p.dropped, p.spool["dropped"] if p and p.spool else 0) if p else 0
    kit.check(f"{what}: nothing lost", made <= kept <= made + threads and not problems and not p.missing and not dropped, f"counted {made}, recorded {kept}",
              f"missing {p.missing if p else '?'}, dropped {dropped}", *trace.problems)
    lines = [line for path in kit.truth_files(truth).get(child.pid, []) for line in kit.truth_lines(path) if kit.is_call(line)]
    if lines:
        differences = kit.compare(p, lines, slack=2)
        kit.check(f"{what}: {len(lines)} calls are those that were made", not differences, *differences)
    stacks = {r.stack for r in p.calls if r.stack}
    kit.check(f"{what}: what records refer to is there", all(s in p.stacks for s in stacks)
              and all(m in p.modules for s in stacks for m, _ in p.stacks[s] if m), stacks - set(p.stacks))
    return made, wanted, trace.duplicates


def main(trials, seed):
    kit.need(kit.LIB, kit.APP)
    rng = random.Random(seed)
    calls = least = duplicates = 0
    for number in range(trials):
        variant = rng.choice(["cuda13", "cuda13", "cuda12", "cuda118"])
        shm = "/dev/shm" if pathlib.Path("/dev/shm").is_dir() and rng.random() < 0.15 else None
        made, wanted, twice = trial(number, rng, shm, variant)
        calls += made
        least += wanted
        duplicates += twice
        kit.clean()
    kit.note(f"{trials} kills, {calls} completed calls, {duplicates} chunks were in the spool and in the .gz")
    kit.check("there were calls", calls >= least > 1000 * trials, calls, least)
    kit.done()
