#!/usr/bin/env python3
"""Makes samples/memray: recordings of memray of the host memory of one imitated job (imitate/memray.py), and the recording that the
situations of the guides read (tests/guides/in/memray.bin).

    make_memray.py            writes the files
    make_memray.py --check    compares them with what is there; exit status 1 when something differs"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import memray, written  # noqa: E402


def make():
    return {
        # as Relax, slime and miles name it; native, by today's memray, packed when it ended
        "memray/memory_snapshot_time1767322800_rank3_snapshot.pickle": memray.lz4(memray.complete(13, native=True)),
        "memray/killed_v12.bin": memray.killed(12),
        "memray/complete_v11.bin": memray.complete(11, native=True),
        "memray/complete_v7.bin": memray.lz4(memray.complete(7)),
        "memray/aggregated_v13.bin": memray.lz4(memray.aggregated(13, native=True)),
        "memray/aggregated_v10.bin": memray.aggregated(10),
        "memray/tiny_v12.bin": memray.tiny(12, native=True).file(),
        "memray/tiny_v8.bin": memray.tiny(8).file(),
        "memray/memray-stats-train.json": memray.stats(),
        "../tests/guides/in/memray.bin": memray.lz4(memray.killed(13, native=True)),
    }


if __name__ == "__main__":
    sys.exit(written.main("Makes the recordings of memray in samples/memray.", HERE, make))
