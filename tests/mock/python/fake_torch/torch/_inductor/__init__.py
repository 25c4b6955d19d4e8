"""The compiler, as far as a snapshot asks for it: an import that is seen."""
from torch import log

log("compiler")


class codecache:
    class PyCodeCache:
        stack_frames_for_code = staticmethod(lambda path, line: None)
