#!/usr/bin/env python3
"""Makes samples/profiler: recordings of torch.profiler of the same imitated jobs as the snapshots beside it (imitate/profiler.py).

    make_profiler.py            writes the files
    make_profiler.py --check    compares them with what is there; exit status 1 when something differs"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import encode, profiler, training, verl  # noqa: E402


def make():
    finetune, tiny = training.fsdp_finetune(), training.tiny()
    raw, coalesced = profiler.timeline(finetune)
    return {
        "finetune_rank3.pt.trace.json.gz": encode.gzip_bytes(profiler.chrome_trace(finetune, rank=3)),
        "finetune_2021.pt.trace.json.gz": encode.gzip_bytes(profiler.chrome_trace_2021(finetune)),
        "tiny.pt.trace.json": profiler.chrome_trace(tiny),
        "verl_oom_rank0.pt.trace.json.gz": encode.gzip_bytes(profiler.chrome_trace(verl.oom_logprob())),
        "finetune.timeline.raw.json.gz": encode.gzip_bytes(raw),
        "finetune.timeline.json": coalesced,
    }


def main():
    parser = argparse.ArgumentParser(description="Makes the recordings of torch.profiler in samples/profiler.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    different = 0
    for name, data in sorted(make().items()):
        path = os.path.join(HERE, "profiler", name)
        if args.check:
            with open(path, "rb") as file:
                if file.read() != data:
                    different += 1
                    print("%s: differs from what this script makes" % name)
        else:
            with open(path, "wb") as file:
                file.write(data)
            print("%8d  %s" % (len(data), name))
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
