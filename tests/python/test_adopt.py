#!/usr/bin/env python3
"""docs/adopt/adopt.py on a tree of our own: each kind of change, the patch that tools apply, what it refuses, and that the changed code does the
same without memtrace. The kits themselves are for trees that are not here; what is tested of them is that they are whole and documented."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from kit import SOURCE

ADOPT = SOURCE / "docs" / "adopt"
MILL = '''"""A mill."""
from contextlib import contextmanager
import os, sys  # what it needs

if os.environ.get("MILL"):
    import json
TRACE = []


class Mill:
    def start(self, power):
        """Documented,
        over lines."""
        TRACE.append("start")
        if power > 1:
            self.engine(
                power,
            )
        else:
            TRACE.append("idle")
        return self

    def engine(self, power): TRACE.append("engine %d" % power)

    @staticmethod
    def grind(grain):
        TRACE.append("grind")
        return grain[::-1]

    @contextmanager
    def gear(self, name):
        TRACE.append("in " + name)
        try:
            yield self
        finally:
            TRACE.append("out " + name)

    def stop(self, *why):
        TRACE.append("stop")


def oiled(kind):
    def decorator(function):
        def wrapper(*args):
            return function(*args)
        return wrapper
    return decorator


def scope(name):
    if name == "à":
        return Mill().gear(name)
    return Mill(
    ).gear(
        name + "é")


def main():
    mill = Mill().start(2)
    with mill.gear("g") as inner:
        assert inner is mill
    with scope("à"), scope("b") as other:
        assert isinstance(other, Mill)
    assert Mill.grind("ab") == "ba" and oiled("fine")(len)("abc") == 3
    mill.stop()
    print(TRACE)
'''
EDITS = [
    {"file": "mill/mill.py", "in": "Mill.start", "after": "self.engine", "add": ["memtrace_hooks.watch('oom/')", "TRACE.append('watched')"]},
    {"file": "mill/mill.py", "in": "Mill.stop", "first": ["TRACE.append('first')"]},
    {"file": "mill/mill.py", "in": "Mill.grind", "decorate": "memtrace_hooks.phase('grind')"},
    {"file": "mill/mill.py", "in": "oiled.decorator.wrapper", "decorate": "memtrace_hooks.phase(kind)"},
    {"file": "mill/mill.py", "in": "Mill.gear", "around": "yield", "with": "memtrace_hooks.phase(name)"},
    {"file": "mill/mill.py", "in": "scope", "returns": "memtrace_hooks.joined(name, %s)"},
    {"file": "mill/mill.py", "in": "main", "before": "mill.stop", "add": ["TRACE.append('before')"]},
]
WANT = ["start", "engine 2", "watched", "in g", "out g", "in à", "in bé", "out bé", "out à", "grind", "before", "first", "stop"]
# a memtrace that says what it is asked for
SAYS = '''from contextlib import ContextDecorator
def watch(folder): print("watch", folder)
class phase(ContextDecorator):
    def __init__(self, name): self.name = name
    def __enter__(self): print("+" + self.name)
    def __exit__(self, *why): print("-" + self.name)
'''


class Adopt(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="memtrace-adopt-")
        self.addCleanup(scratch.cleanup)
        self.scratch = pathlib.Path(scratch.name)
        self.tree = self.scratch / "tree"
        self.write(self.tree / "mill" / "mill.py", MILL)
        self.write(self.tree / "mill" / "__init__.py", "")
        self.before = MILL.encode("utf-8")

    def write(self, path, text):
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(text.encode("utf-8"))

    def adopt(self, *more, edits=EDITS):
        kits = self.scratch / "kits.json"
        kits.write_text(json.dumps({"mill": {"hooks": "mill/memtrace_hooks.py", "import": "from mill import memtrace_hooks", "edits": edits}}), encoding="utf-8")
        return subprocess.run([sys.executable, "-B", str(ADOPT / "adopt.py"), "mill", str(self.tree), "--kits", str(kits), *more],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)

    def run_mill(self, with_memtrace):
        if with_memtrace:
            self.write(self.tree / "memtrace.py", SAYS)
        done = subprocess.run([sys.executable, "-B", "-X", "utf8", "-c", "from mill.mill import main; main()"], cwd=self.tree, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, check=False)
        self.assertEqual(done.returncode, 0, done.stderr.decode())
        return done.stdout.decode("utf-8").splitlines()

    def refused(self, edits, why):
        done = self.adopt("--write", edits=edits)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertIn(why, done.stderr.decode())
        self.assertEqual((self.tree / "mill" / "mill.py").read_bytes(), self.before)
        self.assertFalse((self.tree / "mill" / "memtrace_hooks.py").exists())

    def test_written_it_does_the_same_without_memtrace(self):
        self.assertEqual(self.adopt("--write").returncode, 0)
        self.assertEqual(self.run_mill(False), [str(WANT)])

    def test_with_memtrace_the_phases_are_around_what_they_name(self):
        self.assertEqual(self.adopt("--write").returncode, 0)
        said = self.run_mill(True)
        # a scope is in its phase from outside, the yield of a context manager from inside
        self.assertEqual(said[:-1], ["watch oom/", "+g", "-g", "+à", "+à", "+b", "+bé", "-bé", "-b", "-à", "-à", "+grind", "-grind", "+fine", "-fine"])
        self.assertEqual(said[-1], str(WANT))

    def test_the_patch_is_what_write_does(self):
        tools = [tool for tool in (["git", "apply"], ["patch", "-p1", "-s"]) if shutil.which(tool[0])]
        for ending in ("", "# the last line has no end"):
            for tool in tools:
                shutil.rmtree(self.tree)
                self.write(self.tree / "mill" / "__init__.py", "")
                self.write(self.tree / "mill" / "mill.py", MILL + ending)
                patch = self.adopt()
                self.assertEqual(patch.returncode, 0, patch.stderr)
                subprocess.run(tool, input=patch.stdout, cwd=self.tree, check=True, env={"PATH": "/usr/bin:/bin", "GIT_CEILING_DIRECTORIES": str(self.scratch)})
                patched = [(self.tree / "mill" / n).read_bytes() for n in ("mill.py", "memtrace_hooks.py")]
                self.write(self.tree / "mill" / "mill.py", MILL + ending)
                self.assertEqual(self.adopt("--write").returncode, 0)
                self.assertEqual(patched, [(self.tree / "mill" / n).read_bytes() for n in ("mill.py", "memtrace_hooks.py")])

    def test_ends_of_lines_stay(self):
        self.write(self.tree / "mill" / "mill.py", MILL.replace("\n", "\r\n"))
        self.assertEqual(self.adopt("--write").returncode, 0)
        after = (self.tree / "mill" / "mill.py").read_bytes()
        self.assertEqual(after.count(b"\n"), after.count(b"\r\n"))
        self.assertEqual(self.run_mill(False), [str(WANT)])

    def test_a_second_time_is_refused(self):
        self.assertEqual(self.adopt("--write").returncode, 0)
        self.before = (self.tree / "mill" / "mill.py").read_bytes()
        (self.tree / "mill" / "memtrace_hooks.py").unlink()
        self.refused(EDITS, "mill/mill.py: it has the change already")

    def test_a_place_that_is_not_there(self):
        edit = {"file": "mill/mill.py"}
        for more, why in (({"in": "Mill.stopp", "decorate": "x"}, "no Mill.stopp"),
                          ({"in": "Mill", "decorate": "x"}, "Mill is no function"),
                          ({"in": "Mill.start", "after": "engine", "add": ["x"]}, "start has 0 statements with engine, not one"),
                          ({"in": "main", "before": "Mill.stop", "add": ["x"]}, "main has 0 statements"),
                          ({"in": "main", "after": "scope", "add": ["x ="]}, "invalid syntax"),
                          ({"in": "Mill.gear", "around": "TRACE.append", "with": "y"}, "gear has 2 statements"),
                          ({"in": "Mill.stop", "returns": "f(%s)"}, "Mill.stop returns nothing"),
                          ({"in": "oiled", "after": "function", "add": ["x"]}, "oiled has 0 statements")):
            with self.subTest(why):
                self.refused(EDITS[:1] + [dict(edit, **more)], why)
        self.refused([{"file": "mill/none.py", "in": "f", "decorate": "x"}] + EDITS, "mill/none.py")

    def test_a_text_over_lines_is_not_moved(self):
        self.write(self.tree / "mill" / "mill.py", MILL.replace("            yield self\n", '            yield """two\nlines"""\n'))
        self.before = (self.tree / "mill" / "mill.py").read_bytes()
        self.refused(EDITS, "a text over several lines would be moved")

    def test_the_kits(self):
        kits = json.loads((ADOPT / "kits.json").read_text(encoding="utf-8"))
        readme = (ADOPT / "README.md").read_text(encoding="utf-8")
        known = {f["id"] for f in json.loads((SOURCE / "analysis" / "rules" / "frameworks.json").read_text(encoding="utf-8"))["frameworks"]}
        self.assertGreaterEqual(len(kits), 7)
        for name, kit in kits.items():
            self.assertIn(name, known)
            self.assertIn("adopt.py %s " % name, readme)
            self.assertIn(kit["commit"], readme)
            module = kit["hooks"][:-len("/memtrace_hooks.py")].replace("/", ".")
            self.assertTrue(module.endswith(kit["import"][len("from "):-len(" import memtrace_hooks")]), kit["import"])
            for edit in kit["edits"]:
                self.assertEqual(len(set(edit) & {"after", "before", "first", "decorate", "around", "returns"}), 1, edit)
                self.assertIn("memtrace_hooks.", str(edit) + ("._phase.__exit__" in str(edit)) * "memtrace_hooks.")
        done = subprocess.run([sys.executable, "-B", str(ADOPT / "adopt.py"), "nothing", "."], stderr=subprocess.PIPE, check=False)
        self.assertEqual((done.returncode, b"there are verl" in done.stderr), (2, True))


if __name__ == "__main__":
    unittest.main()
