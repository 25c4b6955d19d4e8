#!/usr/bin/env python3
"""kill -9 at 20 random moments."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kill_lib  # noqa: E402

kill_lib.main(int(sys.argv[1]) if len(sys.argv) > 1 else 20, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
