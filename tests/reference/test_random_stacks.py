#!/usr/bin/env python3
"""Phases of snapshots whose stacks are thrown together from the signature table: the C code against the reference, allocation by allocation."""

import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
# 77: losses where only allocations without frames show a backward pass; 1190: one ends in a loss after set-up;
# 5229: log-probs by their old name inside the loss
FILES, SEEDS = 40, (1, 77, 1190, 5229)


def main():
    program = pathlib.Path(os.environ["MT_BINARY_DIR"]) / "tests" / "tool_attributions"
    python = [sys.executable, "-B"]
    with tempfile.TemporaryDirectory() as scratch:
        for seed in SEEDS:
            made = pathlib.Path(scratch) / str(seed)
            subprocess.run(python + [str(HERE / "random_stacks.py"), str(made), str(FILES), "--seed", str(seed)], check=True)
            done = subprocess.run(python + [str(HERE / "reference.py"), "--against", str(program)]
                                  + [str(p) for p in sorted(made.iterdir())], check=False)
            if done.returncode:
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
