"""The program in this package, in the place of this process: its signals, its exit status, its terminal."""

import os
import sys

from ._program import program


def main() -> int:
    path = program()
    try:
        os.execv(path, [path, *sys.argv[1:]])
    except OSError as e:
        print("memtrace: %s does not run here: %s" % (path, e.strerror), file=sys.stderr)
        return 126


if __name__ == "__main__":
    sys.exit(main())
