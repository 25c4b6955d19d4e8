#!/usr/bin/env python3
"""Makes samples/profiler: recordings of torch.profiler of the same imitated jobs as the snapshots beside it (imitate/profiler.py).

    make_profiler.py            writes the files
    make_profiler.py --check    compares them with what is there; exit status 1 when something differs"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import encode, profiler, training, verl, written  # noqa: E402


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


if __name__ == "__main__":
    sys.exit(written.main("Makes the recordings of torch.profiler in samples/profiler.", os.path.join(HERE, "profiler"), make))
