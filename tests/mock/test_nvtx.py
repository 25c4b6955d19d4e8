#!/usr/bin/env python3
"""Ranges and marks: through NVIDIA's own NVTX headers where there are some, through the fake application, and through memtrace_push,
memtrace_pop and memtrace_mark; in processes that never touch CUDA."""
import os
import pathlib
import shutil
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kit  # noqa: E402

CLIENT = r"""
#define _GNU_SOURCE
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>
#include <sys/wait.h>

static nvtxEventAttributes_t text(const char *s)
{
    nvtxEventAttributes_t a;
    memset(&a, 0, sizeof a);
    a.version = NVTX_VERSION;
    a.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    a.messageType = NVTX_MESSAGE_TYPE_ASCII;
    a.message.ascii = s;
    return a;
}
static void *worker(void *arg)
{
    nvtxRangeEnd(*(nvtxRangeId_t *)arg);
    nvtxRangePushA("in thread");
    nvtxRangePop();
    return NULL;
}
int main(int argc, char **argv)
{
    int levels[8], n = 0;
    levels[n++] = nvtxRangePushA("outer");
    levels[n++] = nvtxRangePushA("inner");
    levels[n++] = nvtxRangePushW(L"Gr\u00f6\u00dfe \u6f22\U0001f600");
    levels[n++] = nvtxRangePop();
    levels[n++] = nvtxRangePop();
    levels[n++] = nvtxRangePop();
    levels[n++] = nvtxRangePop(); /* nothing is open */
    for (int i = 0; i < n; i++)
        printf("%d ", levels[i]);
    nvtxRangeId_t a = nvtxRangeStartA("first"), b = nvtxRangeStartA("second");
    nvtxRangeEnd(a);
    pthread_t t;
    pthread_create(&t, NULL, worker, &b);
    pthread_join(t, NULL);
    nvtxMarkA("dot");
    nvtxDomainHandle_t d = nvtxDomainCreateA("engine");
    nvtxStringHandle_t s = nvtxDomainRegisterStringA(d, "registered");
    nvtxEventAttributes_t e = text("in domain");
    printf("%d ", nvtxDomainRangePushEx(d, &e));
    e.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
    e.message.registered = s;
    printf("%d ", nvtxDomainRangePushEx(d, &e));
    nvtxDomainMarkEx(d, &e);
    printf("%d ", nvtxDomainRangePop(d));
    printf("%d\n", nvtxDomainRangePop(d));
    nvtxRangeId_t x = nvtxDomainRangeStartEx(d, &e);
    nvtxDomainRangeEnd(d, x);
    e.messageType = NVTX_MESSAGE_UNKNOWN;
    nvtxDomainMarkEx(d, &e);
    nvtxDomainDestroy(d);
    nvtxNameOsThreadA((uint32_t)gettid(), "named");
    nvtxRangePushA("");
    nvtxRangePop();
    char *big = malloc(100001);
    memset(big, 'x', 100000);
    big[100000] = 0;
    nvtxMarkA(big);
    free(big);
    nvtxRangePushA("left open");
    if (argc > 1 && strcmp(argv[1], "fork") == 0) {
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) {
            nvtxRangePushA("in child");
            nvtxRangePop();
            nvtxRangePop();
            _exit(0);
        }
        waitpid(child, NULL, 0);
    }
    if (argc > 1 && strcmp(argv[1], "kill") == 0)
        kill(getpid(), 9);
    return 0;
}
"""


def shape(process):
    """Ranges without their times: (domain, name, source, kind, closed), and how they nest must follow from the times."""
    return [(domain, name, source, kind, t1 is not None) for _tid, domain, name, source, _t0, t1, kind in process.ranges()]


EXPECTED = [
    ("", "outer", "nvtx", "push", True), ("", "inner", "nvtx", "push", True), ("", "Größe 漢😀", "nvtx", "push", True),
    ("", "first", "nvtx", "start", True), ("", "second", "nvtx", "start", True), ("", "in thread", "nvtx", "push", True),
    ("", "dot", "nvtx", "mark", True), ("engine", "in domain", "nvtx", "push", True), ("engine", "registered", "nvtx", "push", True),
    ("engine", "registered", "nvtx", "mark", True), ("engine", "registered", "nvtx", "start", True),
]


def named_calls(process):
    """What the client above must have left, without the odd ones at its end."""
    found = shape(process)
    return found[:len(EXPECTED)], found[len(EXPECTED):]


def real_headers():
    if kit.SANITIZED:
        kit.skip("NVIDIA's NVTX headers", "the client would have to be built with the sanitizer")
        return
    cc = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    places = [os.environ.get("CUDA_HOME", "") + "/include", "/usr/local/cuda/include", "/usr/include"]
    include = next((p for p in places if pathlib.Path(p, "nvtx3/nvToolsExt.h").exists()), None)
    if not cc or not include:
        kit.skip("NVIDIA's NVTX headers", "no compiler" if not cc else "there are none on this machine")
        return
    folder = kit.scratch()
    (folder / "client.c").write_text("#include <signal.h>\n" + CLIENT)
    built = subprocess.run([cc, "-std=gnu17", "-I", include, "-o", folder / "client", folder / "client.c", "-ldl", "-lpthread"],
                           capture_output=True, text=True, check=False)
    if not kit.check("the client compiles", built.returncode == 0, built.stderr):
        return
    for how in ["", "fork", "kill"]:
        done = kit.run([folder / "client", how])
        what = f"NVTX headers, {how or 'plain'}"
        kit.equal(f"{what}: status", done.status, -9 if how == "kill" else 0)
        kit.equal(f"{what}: no line on stderr", done.err, b"")
        if how != "kill":
            levels = [int(word) for word in done.out.split()]
            kit.check(f"{what}: levels as the header says", levels[:6] == [0, 1, 2, 2, 1, 0] and levels[6] < 0 and levels[7:] == [0, 1, 1, 0], levels)
        p = done.process()
        if not kit.check(f"{what}: a trace without CUDA", p is not None and not done.trace.problems, done.trace.problems):
            continue
        first, rest = named_calls(p)
        kit.equal(f"{what}: ranges", first, EXPECTED)
        names = [r[1] for r in rest]
        kit.check(f"{what}: the odd ones", "left open" in names and any(n.startswith("xxxx") and len(n) <= 4096 for n in names), names)
        kit.check(f"{what}: an open range stays open", ("", "left open", "nvtx", "push", False) in rest, rest)
        kit.check(f"{what}: no driver call", not p.calls and not p.losses(), p.losses())
        kit.check(f"{what}: the thread's name", "named" in p.threads.values(), p.threads)
        times = [(r[4], r[5]) for r in p.ranges()[:3]]
        kit.check(f"{what}: nested in time", times[0][0] <= times[1][0] <= times[2][0] <= times[2][1] <= times[1][1] <= times[0][1], times)
        if how == "fork":
            others = [q for q in done.trace.recorded() if q.pid != done.pid]
            kit.check("the forked child has a trace of its own", len(others) == 1
                      and ("", "in child", "nvtx", "push", True) in shape(others[0]), [shape(q) for q in others])


def through_application():
    """Ranges of the fake application, which speaks the protocol of the headers by itself, against its own account of them."""
    kinds = {"range_push": "range_push", "range_pop": "range_pop", "range_start": "range_start", "range_end": "range_end", "mark": "mark"}
    for words in [["push:outer", "push:inner", "mark:dot", "pop", "domain:engine", "push:x", "registered:r", "pop", "domain", "start:s", "end", "pop"],
                  ["ranges:500", "apush:phase", "push:nvtx", "apop", "pop", "amark:é漢"], ["threads:4", "ranges:300"],
                  ["push:step", "threads:4", "ranges:50", "alloc:50", "threads:1", "pop"]]:
        done = kit.run([kit.APP, *words], truth=True)
        what = "fake_app " + " ".join(words)
        kit.equal(f"{what}: status", (done.status, done.err), (0, b""))
        p = done.process()
        if not kit.check(f"{what}: a whole trace", p is not None and kit.lost_nothing(done.trace), done.trace.problems):
            continue
        want, got = {}, {}
        for path in kit.truth_files(done.truth_dir).get(done.pid, []):
            for line in kit.truth_lines(path):
                if line["op"] in kinds:
                    name = line.get("name", "") if line["op"] not in ("range_pop", "range_end") else ""
                    want.setdefault(line["tid"], []).append((line["op"], name, line.get("domain", ""), line.get("source", 0)))
        for r in p.of(*kinds.values()):
            got.setdefault(r.tid, []).append((r.type, p.string(r.name) if r.name else "", p.string(r.domain), r.source))
        kit.check(f"{what}: ranges are equal", got == want and want, *[list(zip(w, got.get(t, []))) for t, w in want.items() if got.get(t) != w])
        if not any("alloc" in word for word in words):
            kit.check(f"{what}: without CUDA", not p.calls)


API = r"""
import ctypes, os, sys, threading
path = os.environ.get("NVTX_INJECTION64_PATH") or sys.argv[1]
lib = ctypes.CDLL(path)
for name in ("memtrace_push", "memtrace_mark"):
    getattr(lib, name).argtypes = [ctypes.c_char_p]
lib.memtrace_push("rollout é".encode())
lib.memtrace_push(b"kv")
lib.memtrace_mark(b"step 1")
lib.memtrace_pop()
lib.memtrace_pop()
lib.memtrace_pop()
lib.memtrace_push(None)
lib.memtrace_pop()
def other():
    lib.memtrace_push(b"thread")
    lib.memtrace_pop()
t = threading.Thread(target=other)
t.start()
t.join()
print("done")
"""


def through_api():
    """memtrace_push and its like by ctypes. Not in a sanitizer build: its runtime has to come first in the process."""
    if kit.SANITIZED:
        kit.skip("memtrace_push through ctypes", "a sanitizer build cannot be loaded by python")
        return
    for spool in [True, False]:
        folder = kit.scratch()
        done = kit.run([sys.executable, "-c", API], spool=folder, MEMTRACE_SPOOL=folder if spool else None)
        what = "memtrace_push" if spool else "memtrace_push where nothing is recorded"
        kit.equal(f"{what}: status and output", (done.status, done.out, done.err), (0, b"done\n", b""))
        if not spool:
            kit.equal(f"{what}: no file", list(folder.iterdir()), [])
            continue
        p = done.process()
        found = [r for r in shape(p) if r[1]] if p else None
        kit.equal(what, found, [("", "rollout é", "api", "push", True), ("", "kv", "api", "push", True), ("", "step 1", "api", "mark", True),
                                ("", "thread", "api", "push", True)])


def main():
    kit.need(kit.LIB)
    real_headers()
    if kit.APP.exists():
        through_application()
    through_api()
    kit.done()


main()
