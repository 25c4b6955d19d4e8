"""One recorded process: allocator, stacks and annotations together."""

from contextlib import contextmanager

from .allocator import Allocator, Clock, settings
from .stacks import Stacks


class Run:
    """ring: how many entries the trace keeps (max_entries), 0 = all. free_stacks: context="all"; without it a free has no frames
    of its own but those of its allocation (context="alloc")."""

    def __init__(
        self,
        capacity,
        seed,
        mode="all",
        expandable=False,
        conf="",
        start_us=1764000000000000,
        extra=None,
        ring=0,
        free_stacks=True,
    ):
        self.clock = Clock(start_us, seed)
        self.gpu = Allocator(capacity, self.clock, expandable=expandable, extra=extra)
        self.stacks = Stacks(mode)
        self.settings = settings(conf, expandable)
        self.annotations, self.ring, self.free_stacks = [], ring, free_stacks
        self.call = self.stacks.call

    def new(self, size, op="empty_memory_format", stream=0, pool=(0, 0)):
        return self.gpu.malloc(size, self.stacks.main(op), stream, pool)

    def drop(self, *blocks):
        for block in blocks:
            self.gpu.free(block, self.stacks.free() if self.free_stacks else block.frames)

    def grad(self, size, node, op="empty_strided", python=(), stream=0):
        """An allocation on the autograd thread."""
        return self.gpu.malloc(size, self.stacks.backward(node, op, python), stream)

    def grad_drop(self, *blocks, python=()):
        for block in blocks:
            self.gpu.free(block, self.stacks.backward_free(python) if self.free_stacks else block.frames)

    @contextmanager
    def annotate(self, name):
        def mark(stage):
            self.annotations.append({"name": name, "stage": stage, "device": 0, "time_us": self.clock.tick()})

        mark("START")
        yield
        mark("END")

    def snapshot(self):
        trace = self.gpu.trace[-self.ring :] if self.ring else self.gpu.trace
        return {
            "segments": self.gpu.describe(),
            "device_traces": [trace],
            "allocator_settings": self.settings,
            "external_annotations": self.annotations,
        }
