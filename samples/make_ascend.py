#!/usr/bin/env python3
"""Makes samples/ascend: the tables of torch_npu's profiler of the same imitated jobs as the snapshots beside it (imitate/ascend.py).

    make_ascend.py            writes the files
    make_ascend.py --check    compares them with what is there; exit status 1 when something differs"""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import ascend, training, written  # noqa: E402


def make():
    short = training.fsdp_finetune(steps=1, layers=2)
    return {
        "operator_memory.csv": ascend.operator_memory(short),
        "memory_record.csv": ascend.memory_record(short),
        "operator_memory_2023.csv": ascend.operator_memory_2023(short),
    }


if __name__ == "__main__":
    sys.exit(written.main("Makes the tables of torch_npu's profiler in samples/ascend.", os.path.join(HERE, "ascend"), make))
