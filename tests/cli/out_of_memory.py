"""Every allocation of `memtrace report` fails once, alone and with all behind it: never a crash, a message that says memory, no half output.

out_of_memory.py MEMTRACE SHIM SNAPSHOT [EVERY]: without EVERY about 100 of them for each format and mode; EVERY=1 all, in minutes."""
import collections
import concurrent.futures
import os
import subprocess
import sys
import tempfile
import threading

FORMATS = ("text", "md", "json", "html")


def main(memtrace, shim, snapshot, every=0):
    folder = tempfile.mkdtemp(dir=".")

    def report(form, name, **env):
        out = os.path.join(folder, name)
        r = subprocess.run([memtrace, "report", "-q", "--no-config", "--format", form, "-o", out, snapshot], stdin=subprocess.DEVNULL, capture_output=True,
                           env={"PATH": "/usr/bin:/bin", "LC_ALL": "C", "LD_PRELOAD": shim, **env}, timeout=60)
        made = open(out, "rb").read() if os.path.exists(out) else None
        if made is not None:
            os.unlink(out)
        return r.returncode, r.stderr.decode(errors="replace"), made

    def unpacked(page):
        name = os.path.join(folder, f"page-{threading.get_ident()}")
        with open(name, "wb") as f:
            f.write(page)
        tool = os.path.join(os.path.dirname(os.path.abspath(__file__)), "unpack_page.py")
        text = subprocess.run([sys.executable, "-B", tool, name, "text"], capture_output=True, check=True).stdout
        os.unlink(name)
        return text

    bad = collections.Counter()

    def one(case):
        form, n, on = case
        status, err, made = report(form, f"{form}-{n:07d}-{int(on)}", MT_FAIL_AT=str(n), **({"MT_FAIL_ON": "1"} if on else {}))
        wrong = None
        if status == 0:
            # of a page, what is packed in it may be packed less well
            good = made == want[form] or (form == "html" and made is not None and unpacked(made) == unpacked(want[form]))
            wrong = None if good else "an output that is another"
        elif status != 1:
            wrong = f"exit status {status}"
        elif made is not None:
            wrong = "an output after a failure"
        elif "memory" not in err and "Cannot allocate" not in err:
            wrong = "no word of memory"
        if wrong is not None:
            bad[wrong] += 1
            print(f"{form}: allocation {n}{' and all behind it' if on else ''}: {wrong}: {err.strip()[:300]!r}", flush=True)
        return status

    want, cases = {}, []
    for form in FORMATS:
        count = os.path.join(folder, "count")
        status, err, want[form] = report(form, "whole", MT_FAIL_COUNT=count)
        assert status == 0 and want[form], (status, err)
        total = int(open(count).read())
        assert total > 100, total
        step = every or max(1, total // 97)
        cases += [(form, n, on) for on in (False, True) for n in sorted({*range(1, 8), *range(1, total + 1, step)})]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        statuses = collections.Counter(pool.map(one, cases))
    leftover = [x for x in os.listdir(folder) if x != "count"]
    print(f"{len(cases)} runs, statuses {dict(statuses)}, wrong {dict(bad)}, left {leftover}")
    # one that fails none proves nothing
    return bool(bad) or bool(leftover) or statuses[1] < len(cases) // 2


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:4], *map(int, sys.argv[4:])))
