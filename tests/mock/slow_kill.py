#!/usr/bin/env python3
"""kill -9 at 200 random moments."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import kill_lib  # noqa: E402

kill_lib.main(200, seed=2)
