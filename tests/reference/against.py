"""The command line that the references of recordings share: `--against PROGRAM FILE...` compares, FILE... shows."""


def main(args, compare, show):
    """compare(program, path) gives a line for each difference; show(path) prints what is in it. Returns the exit status."""
    if args[:1] == ["--against"] and len(args) > 2:
        wrong = [line for path in args[2:] for line in compare(args[1], path)]
        print("\n".join(wrong) or "%d files agree to the byte" % len(args[2:]))
        return 1 if wrong else 0
    for path in args:
        show(path)
    return 0 if args else 2
