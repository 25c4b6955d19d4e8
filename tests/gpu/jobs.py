#!/usr/bin/env python3
"""Jobs that run out of memory, or peak high, on a real card, each with the changes that would mend it: what a report promises can then be compared with what
is measured.

    python3 tests/gpu/jobs.py --out DIR [--memtrace PATH] [--budget SECONDS] [--only NAME,...] [--list]

The jobs are in jobs_*.py. Each run is a process of its own; the next ones import their libraries meanwhile and wait. (A fork of one process that has
imported them cannot use CUDA: on an H100 under PyTorch 2.11 one of the libraries initialises it.) The job as it is records its memory history and is dumped where memory runs out, NAME.pickle.gz, with what it truly holds, NAME.json;
each change of it runs alone, without a history. A job that fails otherwise leaves NAME.error.txt. Sizes go with the card, or with MT_JOBS_CARD bytes.
DIR/jobs.json has all results, DIR/jobs.tar.gz everything (14 MiB at most). Exit status 77 without a GPU. What each job should be told is in jobs_expected.md."""
import argparse
import gzip
import importlib
import json
import os
import pickle
import signal
import subprocess
import sys
import tarfile
import time
import traceback
import types

for name, value in (("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1"), ("TOKENIZERS_PARALLELISM", "false"), ("TORCHINDUCTOR_COMPILE_THREADS", "1"),
                    ("TORCHINDUCTOR_CACHE_DIR", "/tmp/mt_jobs_inductor"), ("OMP_NUM_THREADS", "4"), ("HF_HUB_DISABLE_TELEMETRY", "1")):
    os.environ.setdefault(name, value)
sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

MODULES = ("jobs_plain", "jobs_trainer", "jobs_rl", "jobs_fsdp", "jobs_vision", "jobs_science")
LIBRARIES = ("numpy", "torch", "torch.nn.functional", "torch.utils.checkpoint", "torch.distributed.fsdp", "torch.testing._internal.distributed.fake_pg", "transformers",
             "accelerate", "peft", "lightning", "timm", "torchvision", "torch_geometric.nn")
PRELOAD = ("transformers.trainer", "transformers.models.llama.modeling_llama", "transformers.models.qwen2.modeling_qwen2", "transformers.models.whisper.modeling_whisper",
           "transformers.generation.utils", "torchvision.models.detection", "torchvision.models.segmentation", "peft.tuners.lora", "torch._dynamo", "lightning.pytorch")
CARD = 85017755648  # an H100 of 80 GB; the sizes were chosen for it
GIB = 1 << 30
SNAPSHOT_MOST, PACK_MOST, LIMIT = 1 << 20, 14 << 20, 25


# ---- what a job may use of this file ------------------------------------------------------------------------------------------------


class Watch:
    """What a job tells of itself: objects whose bytes are counted where memory runs out, and figures."""

    def __init__(self):
        self.objects, self.figures = {}, {}

    def __call__(self, **objects):
        self.objects.update(objects)

    def facts(self, **figures):
        self.figures.update(figures)

    def held(self):
        import torch

        seen, table = set(), {}

        def count(kind, x, depth=0):
            if isinstance(x, torch.Tensor):
                x = x._local_tensor if hasattr(x, "_local_tensor") else x
                if x.device.type == "cuda":
                    try:
                        storage = x.untyped_storage()
                        key, size = storage.data_ptr(), storage.nbytes()
                    except Exception:
                        return
                    if size and key not in seen:
                        seen.add(key)
                        table[kind] = table.get(kind, 0) + size
            elif isinstance(x, torch.nn.Module):
                for p in x.parameters():
                    count(f"{kind}.parameters", p)
                for p in x.parameters():
                    if p.grad is not None:
                        count(f"{kind}.gradients", p.grad)
                for b in x.buffers():
                    count(f"{kind}.buffers", b)
            elif isinstance(x, torch.optim.Optimizer):
                for state in list(x.state.values()):
                    count(f"{kind}.state", state, depth + 1)
            elif isinstance(x, dict) and depth < 6:
                for y in list(x.values()):
                    count(kind, y, depth + 1)
            elif isinstance(x, (list, tuple, set)) and depth < 6:
                for y in list(x):
                    count(kind, y, depth + 1)
            elif callable(x) and isinstance(x, types.FunctionType) and depth == 0:
                count(kind, x(), 1)

        for kind, x in self.objects.items():
            try:
                count(kind, x)
            except Exception as error:
                table[kind + ".error"] = repr(error)[:200]
        return table


# ---- one run, in a process of its own -----------------------------------------------------------------------------------------------


def dump(path):
    """A snapshot without the import of PyTorch's compiler, which takes longer than most jobs."""
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../capture/site"))
    import torch
    from _memtrace_hook import no_compiler

    with no_compiler():
        torch.cuda.memory._dump_snapshot(path)


def peaks(torch):
    s = torch.cuda.memory_stats()
    return {"requested_peak": s.get("requested_bytes.all.peak"), "allocated_peak": s.get("allocated_bytes.all.peak"), "reserved_peak": s.get("reserved_bytes.all.peak"),
            "requested": s.get("requested_bytes.all.current"), "allocated": s.get("allocated_bytes.all.current"), "reserved": s.get("reserved_bytes.all.current"),
            "active": s.get("active_bytes.all.current"), "inactive_split": s.get("inactive_split_bytes.all.current"), "retries": s.get("num_alloc_retries"),
            "ooms": s.get("num_ooms")}


def request_of(text):
    """What PyTorch's sentence asks for, to the digits that it has."""
    import re

    m = re.search(r"Tried to allocate ([0-9.]+) (GiB|MiB|KiB|bytes)", text)
    return round(float(m.group(1)) * {"GiB": GIB, "MiB": 1 << 20, "KiB": 1024, "bytes": 1}[m.group(2)]) if m else None


def pack_snapshot(source, to):
    """Gzipped; of one that is too large only the last events are kept, as a smaller max_entries would have."""
    with open(source, "rb") as f:
        data = f.read()
    packed, cut, whole = gzip.compress(data, 6, mtime=0), None, len(data)
    while len(packed) > SNAPSHOT_MOST and (cut is None or cut > 500):
        snapshot = pickle.loads(data)
        longest = max((len(t) for t in snapshot.get("device_traces", [])), default=0)
        cut = max(500, int(min(longest, cut or longest) * SNAPSHOT_MOST / len(packed) * 0.9))
        snapshot["device_traces"] = [t[-cut:] for t in snapshot["device_traces"]]
        packed = gzip.compress(pickle.dumps(snapshot, 4), 6, mtime=0)
        if cut >= longest:
            break
    with open(to, "wb") as f:
        f.write(packed)
    os.unlink(source)
    return {"bytes": whole, "gz_bytes": len(packed), "events_kept": cut}


def scaled(args, scale):
    from jobs_list import Scaled

    def one(v):
        if isinstance(v, Scaled):
            return max(v.least, int(round(v.value * scale)))
        return v

    return {k: one(v) for k, v in args.items()}


def run_job(job, variant, out):
    """variant: None for the job as it is, else the index of a change. Returns what is written as its result."""
    change = None if variant is None else job.changes[variant]
    env = dict(job.env, **(change.env if change else {}))
    os.environ.update(env)
    os.chdir(os.path.join(out, "tmp"))
    import torch

    told = {"job": job.name, "variant": change.label if change else None, "rules": change.rules if change else None, "env": env, "ended": None}
    conf = env.get("PYTORCH_CUDA_ALLOC_CONF")
    if conf:
        try:
            torch.cuda.memory._set_allocator_settings(conf)
        except Exception as error:
            told["allocator_settings_error"] = repr(error)[:200]
    torch.cuda.init()
    if os.environ.get("MT_JOBS_NO_CUDNN"):  # for the simulated device
        torch.backends.cudnn.enabled = False
    torch.manual_seed(0)
    free, total = torch.cuda.mem_get_info()
    until = time.monotonic() + 4
    while free < total - 2 * GIB and time.monotonic() < until and not job.crowded:  # the process before may still be going
        time.sleep(0.1)
        free, total = torch.cuda.mem_get_info()
    card = int(os.environ.get("MT_JOBS_CARD", 0)) or total
    args = scaled(dict(job.args, **(change.args if change else {})), card / CARD)
    told.update(free_at_start=free, device_total=total, card=card, settings={k: v for k, v in args.items() if isinstance(v, (int, float, str, bool, type(None)))})
    watch, failures = Watch(), []
    snapshot = os.path.join(out, job.name + ".pickle")

    def observer(*what):
        try:
            free, total = torch.cuda.mem_get_info()
            failures.append(dict(peaks(torch), device=what[0], alloc=what[1], device_alloc=what[2], device_free=what[3], free=free, total=total))
            if variant is None and job.dump == "observer" and len(failures) == 1:
                dump(snapshot)
        except Exception as error:
            failures.append({"error": repr(error)[:300]})

    torch._C._cuda_attach_out_of_memory_observer(observer)
    if variant is None:
        torch.cuda.memory._record_memory_history(max_entries=job.entries, stacks=job.stacks)
    started = time.monotonic()
    try:
        job.run(types.SimpleNamespace(**args), watch)
        torch.cuda.synchronize()
        told["ended"] = "ok"
    except torch.OutOfMemoryError as error:
        told.update(ended="oom", error=str(error), request=request_of(str(error)))
        told.update(peaks(torch))
        if variant is None:
            told["held"] = watch.held()
            if job.dump != "observer":
                dump(snapshot)
            last = traceback.extract_tb(error.__traceback__)
            told["where"] = [f"{os.path.basename(f.filename)}:{f.lineno} {f.name}: {f.line}" for f in last if "/torch/" not in f.filename][-6:]
            told["raised_at"] = [f"{f.filename}:{f.lineno} {f.name}" for f in last][-12:]
    told["seconds_job"] = round(time.monotonic() - started, 2)
    if told["ended"] == "ok":
        told.update(peaks(torch))
        if variant is None:
            told["held"] = watch.held()
            if not (failures and job.dump == "observer"):  # one that went on after an error keeps the state of that error
                dump(snapshot)
    if variant is None:
        torch.cuda.memory._record_memory_history(enabled=None)
    told.update(failures=failures, facts=watch.figures)
    try:
        told["expandable"] = any(s.get("is_expandable") for s in torch.cuda.memory_snapshot()) if variant is not None and conf else None
    except Exception:
        pass
    if variant is None and os.path.exists(snapshot):
        told["snapshot"] = pack_snapshot(snapshot, snapshot + ".gz")
    return told


def child(job, variant, out, result):
    """Writes its result and ends; all that it prints goes to a log."""
    log = open(os.path.join(out, "tmp", f"{job.name}.{'base' if variant is None else variant}.log"), "w", encoding="utf-8")
    os.dup2(log.fileno(), 1)
    os.dup2(log.fileno(), 2)
    try:
        told = run_job(job, variant, out)
    except BaseException:
        told = {"job": job.name, "variant": None if variant is None else job.changes[variant].label, "ended": "error", "error": traceback.format_exc()[-6000:]}
    with open(result + ".part", "w", encoding="utf-8") as f:
        json.dump(told, f, indent=1, default=str)
    os.replace(result + ".part", result)
    log.flush()
    os._exit(0)


AHEAD = min(8, max(2, (os.cpu_count() or 2) // 2))


def result_of(job, variant, out):
    return os.path.join(out, "tmp", f"{job.name}.{'base' if variant is None else variant}.result.json")


def start_apart(job, variant, out):
    """A process that imports everything, touches no GPU, and waits for a line on its standard input."""
    if os.path.exists(result_of(job, variant, out)):
        os.unlink(result_of(job, variant, out))
    return subprocess.Popen([sys.executable, os.path.abspath(__file__), "--out", out, "--child", job.name, "--variant", str(-1 if variant is None else variant)],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, start_new_session=True)


def stop(process):
    """With what it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except OSError:
        pass
    process.wait()
    for end in (process.stdin, process.stdout):
        try:
            end.close()
        except OSError:
            pass


def run_apart(job, variant, out, limit, process):
    """limit: seconds from the line on."""
    while process.stdout.readline() not in (b"ready\n", b""):
        pass
    started = time.monotonic()
    helper = job.before(variant) if job.before else None  # another process that holds memory, say
    killed = False
    try:
        process.stdin.write(b"go\n")
        process.stdin.flush()
        process.wait(limit)
    except subprocess.TimeoutExpired:
        killed = True
    except OSError:
        pass
    stop(process)
    if helper:
        helper.kill()
        helper.wait()
    try:
        with open(result_of(job, variant, out), encoding="utf-8") as f:
            told = json.load(f)
    except (OSError, ValueError):
        told = {"job": job.name, "variant": None if variant is None else job.changes[variant].label, "ended": "timeout" if killed else f"died ({process.returncode})", "error": None}
    told["seconds"] = round(time.monotonic() - started, 2)
    return told


class Ahead:
    """The next processes import while one runs: libraries take longer than most jobs. Those of jobs that are left out end unused."""

    def __init__(self, runs, out):
        self.runs, self.out, self.started, self.at = runs, out, {}, 0

    def get(self, job, variant):
        key = (job.name, variant)
        while self.at < len(self.runs) and (len(self.started) < AHEAD or key not in self.started):
            j, v = self.runs[self.at]
            self.started[j.name, v] = start_apart(j, v, self.out)
            self.at += 1
        return self.started.pop(key)

    def drop(self, job, variant):
        if (job.name, variant) in self.started:
            stop(self.started.pop((job.name, variant)))
        else:
            self.runs = [r for i, r in enumerate(self.runs) if i < self.at or (r[0].name, r[1]) != (job.name, variant)]

    def end(self):
        for process in self.started.values():
            stop(process)


# ---- all of them --------------------------------------------------------------------------------------------------------------------


def load_jobs(missing, wanted=None):
    import jobs_list

    for name in MODULES:
        try:
            importlib.import_module(name)
        except Exception:
            missing[name] = traceback.format_exc()[-1500:]
    jobs = sorted(jobs_list.JOBS.values(), key=lambda j: j.order)
    if wanted:
        unknown = set(wanted) - {j.name for j in jobs}
        if unknown:
            raise SystemExit("no such job: " + ", ".join(sorted(unknown)))
        jobs = sorted((j for j in jobs if j.name in wanted), key=lambda j: wanted.index(j.name))  # in the order in which they were named
    return jobs


def import_libraries(missing):
    for name in LIBRARIES + PRELOAD:
        try:
            importlib.import_module(name)
        except Exception as error:
            missing[name] = f"{type(error).__name__}: {error}"[:400]


def write(path, value):
    with open(path, "w", encoding="utf-8") as f:
        if isinstance(value, str):
            f.write(value)
        else:
            json.dump(value, f, indent=1, default=str)
            f.write("\n")


def pack(out, left):
    """Snapshots first, by order; what does not fit is named."""
    names = sorted(os.listdir(out))
    names = [n for n in names if n.endswith((".json", ".txt", ".yaml", ".sh", ".md"))] + [n for n in names if n.endswith(".pickle.gz")]
    size = 0
    with tarfile.open(os.path.join(out, "jobs.tar.gz"), "w:gz", compresslevel=6) as tar:
        for n in names:
            path = os.path.join(out, n)
            add = os.path.getsize(path) if n.endswith(".gz") else os.path.getsize(path) // 3
            if size + add > PACK_MOST - (200 << 10):
                left.append(n)
                continue
            size += add
            tar.add(path, n)
    return size


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--out")
    p.add_argument("--memtrace")
    p.add_argument("--budget", type=float, default=480)
    p.add_argument("--only", default="")
    p.add_argument("--list", action="store_true")
    p.add_argument("--base-only", action="store_true", help="no changes")
    p.add_argument("--child", help=argparse.SUPPRESS)
    p.add_argument("--variant", type=int, default=-1, help=argparse.SUPPRESS)
    args = p.parse_args()
    started, missing = time.monotonic(), {}
    if args.child:
        job = load_jobs({}, [args.child])[0]
        variant = None if args.variant < 0 else args.variant
        import_libraries({})
        print("ready", flush=True)
        return child(job, variant, args.out, result_of(job, variant, args.out)) if sys.stdin.readline() else 1
    if args.list:
        for job in load_jobs(missing):
            print(f"{job.order:3d} {job.name:28s} {job.seconds * (1 + len(job.changes)):4.0f} s  {job.ends:4s} {','.join(job.libs) or '-':24s} {job.title}")
            for change in job.changes:
                print(f"{'':36s}{change.label}  [{', '.join(change.rules)}]")
        for name, why in missing.items():
            print(f"not loaded: {name}: {why}")
        return 0
    if not args.out:
        p.error("--out is needed")
    out = os.path.abspath(args.out)
    os.makedirs(os.path.join(out, "tmp"), exist_ok=True)
    import_libraries(missing)
    jobs = load_jobs(missing, [n for n in args.only.split(",") if n])
    results = {"started": time.strftime("%Y-%m-%d %H:%M:%S"), "missing": missing, "imports_seconds": round(time.monotonic() - started, 1), "jobs": {}, "left_out": []}
    print(f"imports {results['imports_seconds']} s, {len(jobs)} jobs; missing: {', '.join(missing) or 'nothing'}", flush=True)
    usable = [j for j in jobs if not any(lib in missing for lib in j.libs)]
    ahead = Ahead([(j, v) for j in usable for v in [None] + ([] if args.base_only else list(range(len(j.changes))))], out)

    def left():
        return args.budget - (time.monotonic() - started)

    reports = []
    for job in jobs:
        lacking = [lib for lib in job.libs if lib in missing]
        if lacking:
            results["left_out"].append({"job": job.name, "why": "not here: " + ", ".join(lacking)})
            continue
        if left() < 10 + job.seconds:
            results["left_out"].append({"job": job.name, "why": "no time"})
            for v in [None] + list(range(len(job.changes))):
                ahead.drop(job, v)
            continue
        base = run_apart(job, None, out, min(job.limit, left() - 6), ahead.get(job, None))
        entry = {"title": job.title, "ends": job.ends, "as_meant": base["ended"] == job.ends, "base": base, "changes": []}
        results["jobs"][job.name] = entry
        print(f"{time.monotonic() - started:6.1f} {job.name:28s} {base['ended']:8s} {base.get('seconds', 0):5.1f} s  asked {(base.get('request') or 0) / GIB:6.2f}  "
              f"requested {(base.get('requested') or 0) / GIB:6.2f} peak {(base.get('requested_peak') or 0) / GIB:6.2f} reserved {(base.get('reserved_peak') or 0) / GIB:6.2f} GiB"
              f"  {(base.get('where') or [''])[-1][:90]}", flush=True)
        if base["ended"] not in ("ok", "oom"):
            write(os.path.join(out, job.name + ".error.txt"), f"{base['ended']}\n{base.get('error') or ''}\n{tail(out, job, None)}")
        if job.config:
            write(os.path.join(out, job.name + job.config[0]), job.config[1])
        for i, change in enumerate([] if args.base_only else job.changes):
            if left() < 8 + job.seconds:
                results["left_out"].append({"job": job.name, "change": change.label, "why": "no time"})
                ahead.drop(job, i)
                continue
            got = run_apart(job, i, out, min(job.limit, left() - 5), ahead.get(job, i))
            got["rules"] = change.rules
            entry["changes"].append(got)
            print(f"{'':7s}  {change.label[:60]:60s} {got['ended']:8s} {got.get('seconds', 0):5.1f} s  requested peak {(got.get('requested_peak') or 0) / GIB:6.2f} "
                  f"reserved {(got.get('reserved_peak') or 0) / GIB:6.2f} GiB", flush=True)
            if got["ended"] not in ("ok", "oom"):
                write(os.path.join(out, f"{job.name}.{i}.error.txt"), f"{change.label}\n{got['ended']}\n{got.get('error') or ''}\n{tail(out, job, i)}")
        write(os.path.join(out, job.name + ".json"), entry)
        write(os.path.join(out, "jobs.json"), results)
        if os.path.exists(os.path.join(out, job.name + ".pickle.gz")):
            reports.append(job.name)
    ahead.end()
    if args.memtrace:
        unread = {}
        for name in reports:
            if left() < 4:
                unread[name] = "no time"
                continue
            try:
                done = subprocess.run([args.memtrace, "report", "--format", "json", "-o", os.devnull, os.path.join(out, name + ".pickle.gz")], timeout=20,
                                      stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
                if done.returncode:
                    unread[name] = f"{done.returncode}: {done.stderr.decode(errors='replace')[-300:]}"
            except (OSError, subprocess.TimeoutExpired) as error:
                unread[name] = str(error)[:300]
        results["not_read_by_memtrace"] = unread
    results["seconds"] = round(time.monotonic() - started, 1)
    write(os.path.join(out, "jobs.json"), results)
    unpacked = []
    size = pack(out, unpacked)
    bases = [j["base"]["ended"] for j in results["jobs"].values()]
    print(f"{results['seconds']} s; {len(bases)} jobs: {', '.join(f'{bases.count(e)} {e}' for e in sorted(set(bases)))}; "
          f"not as meant: {', '.join(n for n, j in results['jobs'].items() if not j['as_meant']) or 'none'}; packed {size >> 10} KiB")
    for x in results["left_out"]:
        print("left out:", x["job"], x.get("change", ""), x["why"])
    if unpacked:
        print("not packed:", ", ".join(unpacked))
    return 0 if bases else 77


def tail(out, job, variant):
    try:
        with open(os.path.join(out, "tmp", f"{job.name}.{'base' if variant is None else variant}.log"), encoding="utf-8", errors="replace") as f:
            return f.read()[-3000:]
    except OSError:
        return ""


if __name__ == "__main__":
    sys.exit(main())
