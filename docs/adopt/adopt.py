#!/usr/bin/env python3
"""adopt.py NAME TREE [--write]: what the kit of a framework changes in its own tree, as a patch; with --write it is changed.

kits.json says where by the names of functions and calls, since lines move. A place that is not there stops it, and nothing is written."""

import argparse
import ast
import difflib
import json
import pathlib
import sys
from typing import Any, Dict, Iterator, List, Tuple, Union

HERE = pathlib.Path(__file__).resolve().parent
MODULE = "memtrace_hooks"
Function = Union[ast.FunctionDef, ast.AsyncFunctionDef]
Change = Tuple[int, int, str]  # bytes from, to, what comes there


class Missing(Exception):
    pass


class Source:
    def __init__(self, path: pathlib.Path) -> None:
        self.raw = path.read_bytes()
        self.tree = ast.parse(self.raw, str(path))
        self.starts = [0]
        for line in self.raw.splitlines(keepends=True):
            self.starts.append(self.starts[-1] + len(line))

    def line(self, number: int) -> int:
        return self.starts[number - 1]

    def below(self, node: ast.stmt) -> int:
        return self.starts[node.end_lineno or node.lineno]

    def text(self, first: int, last: int) -> str:
        return self.raw[first:last].decode("utf-8")


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """What is in a node, but not in the functions and classes in it."""
    for child in ast.iter_child_nodes(node):
        yield child
        if not isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield from inside(child)


def function(source: Source, path: str) -> Function:
    node: ast.AST = source.tree
    for name in path.split("."):
        found = [n for n in inside(node) if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and n.name == name]
        if len(found) != 1:
            raise Missing("no %s" % path if not found else "%d of %s" % (len(found), path))
        node = found[0]
    if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
        raise Missing("%s is no function" % path)
    return node


def has(node: ast.AST, what: str) -> bool:
    """Whether a statement has that call in it, or a yield."""
    for n in [node, *inside(node)]:
        if isinstance(n, (ast.Yield, ast.YieldFrom)) if what == "yield" else isinstance(n, ast.Call) and ast.unparse(n.func) == what:
            return True
    return False


def outermost(body: Function, what: str) -> ast.stmt:
    """The statement of the function itself that has it."""
    found = [s for s in body.body if has(s, what)]
    if len(found) != 1:
        raise Missing("%s has %d statements with %s, not one" % (body.name, len(found), what))
    return found[0]


def innermost(body: Function, what: str) -> ast.stmt:
    found = [s for s in inside(body) if isinstance(s, ast.stmt) and has(s, what) and not any(isinstance(t, ast.stmt) and has(t, what) for t in inside(s))]
    if len(found) != 1:
        raise Missing("%s has %d statements with %s, not one" % (body.name, len(found), what))
    return found[0]


def lines(indent: int, added: List[str]) -> str:
    return "".join(" " * indent + line + "\n" for line in added)


def around(source: Source, node: ast.stmt, opening: str) -> Change:
    first, last = source.line(node.lineno), source.below(node)
    for n in ast.walk(node):
        if isinstance(n, (ast.Constant, ast.JoinedStr)) and (n.end_lineno or 0) > n.lineno:
            raise Missing("a text over several lines would be moved")
    moved = "".join("    " + line if line.strip() else line for line in source.text(first, last).splitlines(keepends=True))
    return first, last, " " * node.col_offset + "with %s:\n" % opening + moved


def changes(source: Source, edit: Dict[str, Any]) -> List[Change]:
    body = function(source, edit["in"])
    if "decorate" in edit:
        at = source.line(min([body.lineno, *(d.lineno for d in body.decorator_list)]))
        return [(at, at, lines(body.col_offset, ["@" + edit["decorate"]]))]
    if "returns" in edit:
        values = [s.value for s in inside(body) if isinstance(s, ast.Return) and s.value is not None]
        spans = [(source.line(v.lineno) + v.col_offset, source.line(v.end_lineno or v.lineno) + (v.end_col_offset or 0)) for v in values]
        if not spans:
            raise Missing("%s returns nothing" % edit["in"])
        return [(a, b, edit["returns"] % source.text(a, b)) for a, b in spans]
    if "around" in edit:
        return [around(source, innermost(body, edit["around"]), edit["with"])]
    if "first" in edit:
        after_doc = body.body[1:] if ast.get_docstring(body) is not None else body.body
        if not after_doc:
            raise Missing("%s is empty" % edit["in"])
        at = source.line(min([after_doc[0].lineno, *(d.lineno for d in getattr(after_doc[0], "decorator_list", []))]))
        return [(at, at, lines(after_doc[0].col_offset, edit["first"]))]
    node = outermost(body, edit.get("before") or edit["after"])
    at = source.line(node.lineno) if "before" in edit else source.below(node)
    return [(at, at, lines(node.col_offset, edit["add"]))]


def imported(source: Source, line: str) -> Change:
    """Below the imports at the top of the file."""
    at = 0
    for node in source.tree.body:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            at = source.below(node)
    if at == 0:
        raise Missing("no imports")
    return at, at, line + "\n"


def changed(path: pathlib.Path, line: str, edits: List[Dict[str, Any]]) -> Tuple[str, str]:
    source = Source(path)
    if MODULE.encode() in source.raw:
        raise Missing("it has the change already")
    all_of_it = [imported(source, line)] + [c for edit in edits for c in changes(source, edit)]
    after, newline = source.raw, "\r\n" if b"\r\n" in source.raw else "\n"
    for first, last, text in sorted(all_of_it, reverse=True):
        if newline != "\n":
            text = text.replace("\r\n", "\n").replace("\n", newline)
        after = after[:first] + text.encode("utf-8") + after[last:]
    compile(after, str(path), "exec")
    return source.raw.decode("utf-8"), after.decode("utf-8")


def patch(name: str, before: str, after: str) -> str:
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    diff = difflib.unified_diff(old, new, "a/" + name if before else "/dev/null", "b/" + name)
    return "".join(d if d.endswith("\n") else d + "\n\\ No newline at end of file\n" for d in diff)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("name")
    parser.add_argument("tree", type=pathlib.Path)
    parser.add_argument("--write", action="store_true", help="change the tree; without it, print the patch")
    parser.add_argument("--kits", type=pathlib.Path, default=HERE / "kits.json", help="another file of kits")
    given = parser.parse_args()
    kits = json.loads(given.kits.read_text(encoding="utf-8"))
    if given.name not in kits:
        print("adopt.py: no kit for %s; there are %s" % (given.name, ", ".join(kits)), file=sys.stderr)
        return 2
    kit = kits[given.name]
    results = {kit["hooks"]: ("", (HERE / "hooks.py").read_text(encoding="utf-8"))}
    status = 0
    for name in dict.fromkeys(edit["file"] for edit in kit["edits"]):
        try:
            results[name] = changed(given.tree / name, kit["import"], [edit for edit in kit["edits"] if edit["file"] == name])
        except (Missing, OSError, SyntaxError, UnicodeError) as e:
            print("adopt.py: %s: %s" % (name, e), file=sys.stderr)
            status = 1
    if status == 0:
        for name, (before, after) in results.items():
            if given.write:
                (given.tree / name).write_bytes(after.encode("utf-8"))
            else:
                sys.stdout.write(patch(name, before, after))
    return status


if __name__ == "__main__":
    sys.exit(main())
