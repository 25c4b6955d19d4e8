"""Books of the tests' own for recordings that keep the newest: what is held after a list of calls, by the rules of docs/ledger.md."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402


def undisturbed(what, run, dropped):
    """A run in which no record was dropped. Where a machine is so busy that nothing is written for a second, records are dropped and counted: that is
    right, and says nothing of what the ring keeps."""
    for _ in range(4):
        done = run()
        if not dropped(done):
            return done
        kit.note(f"{what}: {dropped(done)} records were dropped on a busy machine, once more")
    return run()


def size(spool):
    """Bytes of all finished files of a spool folder."""
    return sum(f.stat().st_size for f in spool.iterdir() if f.suffix == ".gz")


def lines(truth, pid):
    """All calls that were made, in the order of their end."""
    found = [line for path in kit.truth_files(truth).get(pid, []) for line in kit.truth_lines(path) if kit.is_call(line)]
    return sorted(found, key=lambda line: line["t1"])


class Books:
    """What is held. Keys are (kind, address or handle); values are bytes, and for handles their references as well."""

    def __init__(self):
        self.held, self.handles, self.maps = {}, {}, {}

    def state(self):
        return {**self.held, **{("handle", k): tuple(v) for k, v in self.handles.items()}, **{("map", k): v for k, v in self.maps.items()}}

    def unref(self, handle):
        entry = self.handles.get(handle)
        if entry:
            entry[1] -= 1
            if not entry[1]:
                del self.handles[handle]

    def apply(self, call):
        op, addr, handle = call["op"], call.get("addr", 0), call.get("handle", 0)
        if call.get("result"):
            return
        if op in ("mem_alloc", "async_alloc", "managed_alloc"):
            self.held["device", addr] = call["size"], call.get("device", 0), op == "managed_alloc"
        elif op in ("mem_free", "async_free"):
            self.held.pop(("device", addr), None)
        elif op in ("host_alloc", "host_register"):
            self.held["host", addr] = call["size"]
        elif op in ("host_free", "host_unregister"):
            self.held.pop(("host", addr), None)
        elif op == "array_create":
            self.held["array", handle] = call["size"]
        elif op == "array_destroy":
            self.held.pop(("array", handle), None)
        elif op == "vmm_reserve":
            self.held["reserved", addr] = call["size"]
        elif op == "vmm_address_free":
            self.held.pop(("reserved", addr), None)
        elif op == "pool_create":
            self.held["pool", call.get("pool", 0)] = True
        elif op == "pool_destroy":
            self.held.pop(("pool", call.get("pool", 0)), None)
        elif op == "vmm_create":
            self.handles[handle] = [call["size"], 1, call.get("location", 0)]
        elif op == "vmm_release":
            self.unref(handle)
        elif op in ("vmm_retain", "vmm_import") and handle in self.handles:
            self.handles[handle][1] += 1
        elif op == "vmm_import":
            self.handles[handle] = [0, 1, -1]
        elif op == "vmm_map":
            self.maps[addr] = call["size"], handle
            if handle in self.handles:
                self.handles[handle][1] += 1
        elif op == "vmm_unmap":
            end = addr + call["size"]
            while addr < end and addr in self.maps:
                length, of = self.maps.pop(addr)
                self.unref(of)
                addr += length


def after(calls, until=None, key="time"):
    books = Books()
    for call in calls:
        if until is not None and call[key] > until:
            break
        books.apply(call)
    return books.state()


def differences(got, want):
    keys = [k for k in set(got) | set(want) if got.get(k) != want.get(k)]
    return [f"{k}: {got.get(k)}, wanted {want.get(k)}" for k in sorted(keys, key=str)[:8]] + [f"{len(keys)} differ"] if keys else []


def same(what, p, made, threads=False):
    """A process with a checkpoint against the calls that were made, in order."""
    calls = sorted(p.calls, key=lambda c: c["time"])
    since = p.checkpoint[1]
    # A call of one thread that began before another's ended can be on either side of a moment.
    moments = [None] if threads else [since, *(calls[int(len(calls) * f)]["time"] for f in (0.5, 0.7, 0.9)), None]
    for until in moments:
        if until is not None and until < since:
            continue
        told = f"{(until - since) / 1e9:.3f} s after the checkpoint" if until is not None else "at the end"
        # the library reads the clock a little before the application does
        line = None if until is None else max((m["t1"] for m in made if m["t0"] <= until), default=0)
        wrong = differences(after(calls, until), after(made, line, "t1"))
        kit.check(f"{what}: what is held {told}", not wrong, *wrong)
    kept = [c for c in p.calls if c["time"] > since]
    missing = [m for m in made if m["t0"] > since]
    kit.check(f"{what}: every call since the checkpoint", len(missing) <= len(kept) <= len(missing) + 8, len(kept), len(missing))
    whole = kit.compare(Late(p, kept), [m for m in made if m["t1"] > kept[0]["time"]], slack=8) if kept and not threads else []
    kit.check(f"{what}: they are those that were made", not whole, *whole[:5])
    stacks = {c["stack"] for c in p.calls if c.get("stack")}
    kit.check(f"{what}: what calls refer to is there", stacks <= set(p.stacks) and all(m in p.modules for s in stacks for m, _ in p.stacks[s] if m),
              len(stacks - set(p.stacks)))


class Late:
    """The calls of a process since a moment, for kit.compare()."""

    def __init__(self, p, calls):
        self.pid, self.calls = p.pid, calls
