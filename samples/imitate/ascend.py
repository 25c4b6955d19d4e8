"""The same jobs as torch_npu's profiler tells of them: operator_memory.csv, a row for each block, and memory_record.csv, a row for each
change of what a part of the process holds.

A snapshot of the imitated allocator is played again (imitate/profiler.py). Beside PyTorch's pool stands that of CANN's graph engine, made up: a
block around every 40th allocation, of which newer versions tell the sum from before the free."""

import csv
import io

from .profiler import memory_events

MIB = 1 << 20
HEAD = ["Name", "Size(KB)", "Allocation Time(us)", "Release Time(us)", "Active Release Time(us)", "Duration(us)", "Active Duration(us)",
        "Allocation Total Allocated(MB)", "Allocation Total Reserved(MB)", "Allocation Total Active(MB)", "Release Total Allocated(MB)",
        "Release Total Reserved(MB)", "Release Total Active(MB)", "Stream Ptr", "Device Type"]
HEAD_2023 = HEAD[:4] + HEAD[5:6] + HEAD[7:9] + HEAD[10:12] + HEAD[14:]
RECORD = ["Component", "Timestamp(us)", "Total Allocated(MB)", "Total Reserved(MB)", "Total Active(MB)", "Stream Ptr", "Device Type"]
STREAM = 897357296
GRAPH_POOL, GRAPH_BEFORE, OUTSIDE = 96 * MIB, 65536, 611 * MIB


def table(head, rows):
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(head)
    writer.writerows(rows)
    return out.getvalue().encode("ascii")


def when(us):
    return "%.3f\t" % us


def operator_of(places):
    """What the profiler names: the innermost operator; nothing where there is none."""
    ops = [name for kind, name in places if kind == "cpu_op" and name.startswith("aten::")]
    return ops[-1] if ops else ""


def blocks(snapshot):
    """(name, bytes, begin, sums behind it, end or None, sums behind that or None); bytes below 0: only its end is known."""
    rows, open_ = [], {}
    for us, _, places, size, addr, allocated, reserved in memory_events(snapshot):
        sums = allocated / MIB, reserved / MIB
        if addr is None:
            continue
        if size > 0:
            open_[addr] = len(rows)
            rows.append([operator_of(places), size, us, sums, None, None])
        elif addr in open_:
            rows[open_.pop(addr)][4:] = [us, sums]
        else:
            rows.append(["", size, None, None, us, sums])
    return rows


def graph_blocks(rows):
    """Those of the graph engine, one inside of each other: (name, bytes, begin, sum, end, sum from before the free)."""
    out = []
    for i, row in enumerate(r for r in rows if r[1] > 0):
        if i % 40 == 0:
            size = (1 + i % 7) * 4 * MIB
            begin = row[2] + 0.25
            both = (GRAPH_BEFORE + size) / MIB
            out.append(["cann::trans_TransData_%d" % i, size, begin, (both, GRAPH_POOL / MIB), begin + 0.125, (both, GRAPH_POOL / MIB)])
    return out


def operator_memory(snapshot):
    """As it is written today. What was freed of before the recording has no row."""
    rows = blocks(snapshot)
    out = []
    for name, size, begin, sums, end, after in [r for r in rows if r[1] > 0]:
        gone = [when(end)] * 2 + [when(end - begin)] * 2 if end is not None else [None] * 4
        out.append([name, size / 1024, when(begin)] + gone + [sums[0], sums[1], sums[0]] +
                   ([after[0], after[1], after[0]] if after else [None] * 3) + [STREAM, "NPU:0"])
    for name, size, begin, sums, end, after in graph_blocks(rows):
        out.append([name, size / 1024, when(begin), when(end), None, when(end - begin), None, sums[0], sums[1], None,
                    after[0], after[1], None, None, "NPU:0"])
    return table(HEAD, out)


def operator_memory_2023(snapshot):
    """Ten columns, times as numbers, and a free without its allocation as a size below 0."""
    out = []
    for name, size, begin, sums, end, after in blocks(snapshot):
        out.append([name, size / 1024, float(begin) if begin is not None else None, float(end) if end is not None else None,
                    float(end - begin) if begin is not None and end is not None else None] +
                   (list(sums) if sums else [None] * 2) + (list(after) if after else [None] * 2) + ["NPU:0"])
    return table(HEAD_2023, out)


def memory_record(snapshot):
    rows = blocks(snapshot)
    pta = sorted([(r[2], r[3]) for r in rows if r[3]] + [(r[4], r[5]) for r in rows if r[5]])
    graph = sorted([(r[2], r[3]) for r in graph_blocks(rows)] + [(r[4], r[5]) for r in graph_blocks(rows)])
    out = []
    for us in range(int(pta[0][0]), int(pta[-1][0]), 200):  # every 20 ms of a job that is not this quick
        reserved = [sums[1] for at, sums in pta if at <= us][-1]
        out.append(["APP", when(us), "", reserved + (GRAPH_POOL + OUTSIDE) / MIB, "", "", "NPU:0"])
    last = [0.0, 0.0], [0.0, 0.0]
    for us, part, sums in sorted([(us, 0, s) for us, s in pta] + [(us, 1, s) for us, s in graph]):
        last[part][:] = sums
        stream = STREAM if part == 0 else None
        out.append([("PTA", "GE")[part], when(us), sums[0], sums[1], sums[0] if part == 0 else None, stream, "NPU:0"])
        out.append(["PTA+GE", when(us), last[0][0] + last[1][0], last[0][1] + last[1][1], last[0][0], STREAM, "NPU:0"])
    return table(RECORD, out)
