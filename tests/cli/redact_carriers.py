"""Other inputs that carry the names and secrets of redact_matrix.py: redact_carriers.py KIND FILE, KIND one of profiler, memray, driver, nsys."""
import json
import os
import sqlite3
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "../../samples")]
import make_trace  # noqa: E402
from imitate import memray, wire  # noqa: E402
from redact_matrix import kinds  # noqa: E402

TEXTS = [text for text, _ in kinds()]
PATHS = [text for text in TEXTS if text[0] in "/~\\C" and " " not in text]
SAMPLES = os.path.join(HERE, "../../samples")


def profiler(path):
    """Annotations, files of frames, names of processes and threads, the trace's own keys."""
    with open(os.path.join(SAMPLES, "profiler/tiny.pt.trace.json")) as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    memory = next(e for e in events if e["name"] == "[memory]")
    here = {"pid": memory["pid"], "tid": memory["tid"]}
    trace.update(("meta%d" % i, text) for i, text in enumerate(TEXTS))
    for i, text in enumerate(TEXTS):
        when = {"ph": "X", "ts": float(memory["ts"]) - 200 + i, "dur": 5000 - 2 * i, **here}
        events.append({**when, "cat": "user_annotation", "name": text, "args": {"note": text}})
        events.append({"ph": "M", "name": "process_name", "pid": 100 + i, "tid": 0, "ts": 0, "args": {"name": text}})
        events.append({"ph": "M", "name": "thread_name", "pid": here["pid"], "tid": 100 + i, "ts": 0, "args": {"name": text}})
    for i, text in enumerate(PATHS):
        when = {"ph": "X", "ts": float(memory["ts"]) - 50 + i, "dur": 4000 - 2 * i, **here}
        events.append({**when, "cat": "python_function", "name": text + "(3): f", "args": {"Python id": 1000 + i}})
    with open(path, "w") as file:
        json.dump(trace, file)


def recording(path):
    """The command, a thread's name, files of frames."""
    recorder = memray.Recorder(12, command=" ".join(TEXTS))
    recorder.thread(memray.MAIN, TEXTS[0])
    for i, text in enumerate(PATHS):
        recorder.at((("main", "train.py", 1, 2), ("f", text, 3, 4)))
        recorder.call("mmap", 0x7F0000000000 + (i << 24), 1 << 22)
    recorder.rss(1 << 30, 10)
    with open(path, "wb") as file:
        file.write(recorder.file())


def driver(path):
    """Arguments, environment, host and folder of each process, ranges and marks, threads, libraries, sources."""
    identity, record = make_trace.identity, wire.Chunk.record
    named = iter(TEXTS * 9)

    def more(chunk, pid, ppid, argv, env):
        options = [x for i, text in enumerate(TEXTS) for x in ("--opt%d" % i, text, "a.b%d=%s" % (i, text))]
        identity(chunk, pid, ppid, argv + options, list(env) + [("V%d" % i, text) for i, text in enumerate(TEXTS)])
        for key, value in (("host", "gpu07.zorro02.uni-x.de"), ("exe", PATHS[0]), ("cwd", PATHS[1])):
            chunk.attr(key, value)

    def renamed(chunk, kind, *parts):
        if kind == wire.STRING and parts[1] and b"." not in parts[1] and not parts[1].startswith(b"cu"):
            parts = (parts[0], next(named).encode())
        elif kind == wire.THREAD:
            parts = (parts[0], wire.text(next(named)))
        record(chunk, kind, *parts)
        if kind == wire.START:  # a range and a mark of each kind, once
            wire.Chunk.record = record
            for i, text in enumerate(TEXTS):
                chunk.record(wire.STRING, 100 + i, text.encode())
                chunk.timed(wire.MARK, chunk.state["time"] + 1, chunk.state["tid"], 1, 100 + i, 1)
            wire.Chunk.record = renamed

    make_trace.identity, wire.Chunk.record = more, renamed
    make_trace.MODULES = [(PATHS[i] + "/libx.so" if i == 1 else p, base, build) for i, (p, base, build) in enumerate(make_trace.MODULES)]
    make_trace.SYMBOLS = [(m, at, name, PATHS[i], line) for i, (m, at, name, _, line) in enumerate(make_trace.SYMBOLS)]
    with open(path, "wb") as file:
        file.write(make_trace.make())


def nsys(path):
    """Ranges, names of processes, the host."""
    with open(os.path.join(SAMPLES, "nsys/job.sqlite"), "rb") as source, open(path, "wb") as file:
        file.write(source.read())
    db = sqlite3.connect(path)
    columns = [row[1] for row in db.execute("PRAGMA table_info(NVTX_EVENTS)")]
    one = dict(zip(columns, db.execute("SELECT * FROM NVTX_EVENTS").fetchone()))
    for i, text in enumerate(TEXTS):
        row = {**one, "start": one["start"] + i, "text": text, "textId": None}
        db.execute("INSERT INTO NVTX_EVENTS VALUES (%s)" % ",".join("?" * len(columns)), [row[name] for name in columns])
    db.execute("UPDATE PROCESSES SET name = ?", (PATHS[0],))
    db.execute("UPDATE TARGET_INFO_SYSTEM_ENV SET value = 'gpu07.zorro02.uni-x.de' WHERE name = 'Hostname'")
    db.commit()


if __name__ == "__main__":
    {"profiler": profiler, "memray": recording, "driver": driver, "nsys": nsys}[sys.argv[1]](sys.argv[2])
