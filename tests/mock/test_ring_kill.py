#!/usr/bin/env python3
"""kill -9 at 12 moments while the ring turns; `test_ring_kill.py 1000 7` does a thousand."""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ring_kill  # noqa: E402

ring_kill.main(int(sys.argv[1]) if len(sys.argv) > 1 else 12, seed=int(sys.argv[2]) if len(sys.argv) > 2 else 1)
