# sitecustomize.py -- first on PYTHONPATH under `memtrace capture`: installs the PyTorch snapshot hook, then runs the sitecustomize
# that it stands in front of, as if it were not there. Python 2 may come along here too.
import sys


def _memtrace():
    import os

    here = os.path.dirname(os.path.abspath(__file__))
    if sys.version_info >= (3, 6):
        try:
            path = os.path.join(here, "_memtrace_hook.py")
            with open(path, "rb") as f:
                code = compile(f.read(), path, "exec")
            exec(code, {"__name__": "_memtrace_hook", "__file__": path})
        except Exception:
            pass  # a job that is recorded less is better than one that is disturbed
    return here


def _memtrace_chain(here):
    # An error in the user's sitecustomize leaves here as it would have left theirs.
    import os

    rest = []
    for p in sys.path:
        try:
            if os.path.realpath(p or os.curdir) != os.path.realpath(here):
                rest.append(p)
        except (OSError, ValueError, TypeError):
            rest.append(p)
    if sys.version_info >= (3, 4):
        import importlib.machinery
        import importlib.util

        spec = importlib.machinery.PathFinder.find_spec("sitecustomize", rest)
        if spec is None or spec.loader is None:
            return
        module = importlib.util.module_from_spec(spec)
        sys.modules["sitecustomize"] = module
        spec.loader.exec_module(module)
    else:
        import imp

        try:
            f, path, description = imp.find_module("sitecustomize", rest)
        except ImportError:
            return
        try:
            del sys.modules["sitecustomize"]
            imp.load_module("sitecustomize", f, path, description)
        finally:
            if f:
                f.close()


_memtrace_chain(_memtrace())
