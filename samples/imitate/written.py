"""What the scripts that make samples do with them: write the files, or compare them with what is there."""

import argparse
import os


def main(description, folder, make):
    """make(): names, relative to the folder, and bytes. Exit status 1 when --check finds a difference."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    args = parser.parse_args()
    different = 0
    for name, data in sorted(make().items()):
        path = os.path.join(folder, name)
        if args.check:
            with open(path, "rb") as file:
                if file.read() != data:
                    different += 1
                    print("%s: differs from what this script makes" % name)
        else:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "wb") as file:
                file.write(data)
            print("%8d  %s" % (len(data), name))
    return 1 if different else 0
