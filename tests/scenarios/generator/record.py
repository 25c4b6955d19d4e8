"""The imitation of PyTorch's allocator in samples/ with a count of what each block is for, and a stand-in that only counts."""

import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "..", "samples"))
from imitate.allocator import GIB, KIB, MIB, Allocator, OutOfMemory, up  # noqa: E402
from imitate.run import Run  # noqa: E402
from imitate.stacks import Stacks  # noqa: E402

__all__ = ["GIB", "KIB", "MIB", "Counted", "Counter", "NoStacks", "OutOfMemory", "Run", "Truth", "up"]


class Truth:
    """Live bytes by role; the state at the highest instant, overall and by place; what was asked for when memory ran out."""

    def __init__(self):
        self.live, self.total, self.rounded = {}, 0, 0
        self.peak, self.peak_roles, self.peak_where = 0, {}, ""
        self.peaks = {}  # by place: highest total, without what an engine that sleeps has unmapped
        self.asleep = 0
        self.records = []  # each new maximum of the rounded bytes: (bytes, before, step, place)
        self.step, self.where, self.high = 0, "", 0

    def add(self, block, size, role):
        block.role = role
        self.live[role] = self.live.get(role, 0) + size
        self.total += size
        self.rounded += up(max(size, 1), 512)
        self.note()
        if self.total - self.asleep > self.peaks.get(self.where, 0):
            self.peaks[self.where] = self.total - self.asleep
        if self.total > self.peak:
            self.peak, self.peak_where, self.peak_roles = self.total, self.where, None

    def note(self):
        if self.rounded > self.high:
            self.records.append((self.rounded, self.high, self.step, self.where))
            self.high = self.rounded

    def settle(self, before):
        """The roles at the peak are copied when the first block goes, not at every new maximum."""
        if self.peak_roles is None:
            self.peak_roles = dict(before)

    def take(self, block):
        self.settle(self.live)
        self.live[block.role] -= block.requested
        self.total -= block.requested
        self.rounded -= up(max(block.requested, 1), 512)

    def roles_at_peak(self):
        self.settle(self.live)
        return {role: n for role, n in self.peak_roles.items() if n}


class Counted(Allocator):
    """Finds free blocks without walking over what is in use: jobs here are larger than those of the samples."""

    def __init__(self, truth, *args, **named):
        super().__init__(*args, **named)
        self.truth, self.lanes = truth, {}

    def lane(self, segment):
        return self.lanes.setdefault((segment.small, segment.stream, segment.pool), {})

    def find(self, want, small, stream, pool):
        best, key = None, None
        for segment in self.lanes.get((small, stream, pool), {}).values():
            if segment.size < want:
                continue
            for block in segment.blocks:
                if block.state == "inactive" and block.mapped and block.size >= want:
                    this = (self.room(block), block.addr)
                    if key is None or this < key:
                        best, key = block, this
        return best

    def touch(self, segment):
        """A segment is looked at only while something of it is free."""
        lane = self.lane(segment)
        if segment.expandable or any(b.state == "inactive" for b in segment.blocks):
            lane[segment.addr] = segment
        else:
            lane.pop(segment.addr, None)

    def malloc(self, size, frames, stream=0, pool=(0, 0)):
        block = super().malloc(size, frames, stream, pool)
        self.touch(block.segment)
        return block

    def complete(self, block, frames):
        super().complete(block, frames)
        self.truth.take(block)
        self.touch(block.segment)

    def give_back(self, frames):
        super().give_back(frames)
        there = {id(s) for s in self.segments}
        for lane in self.lanes.values():
            for addr in [a for a, s in lane.items() if id(s) not in there]:
                del lane[addr]

    def grow(self, want, small, stream, pool, frames):
        block = super().grow(want, small, stream, pool, frames)
        if block is not None:
            self.lane(block.segment)[block.segment.addr] = block.segment
        return block


class Slip:
    """A block that is only counted."""

    def __init__(self, size):
        self.requested, self.wait, self.used_elsewhere, self.role = size, 0, False, ""
        self.frames = None


class Counter:
    """Counts what a job would need on a card without end."""

    def __init__(self, truth):
        self.truth, self.delayed, self.capacity, self.reserved = truth, [], 1 << 60, 0

    def malloc(self, size, _frames, _stream=0, _pool=(0, 0)):
        for block in list(self.delayed):
            block.wait -= 1
            if block.wait < 0:
                self.delayed.remove(block)
                self.truth.take(block)
        return Slip(size)

    def free(self, block, _frames):
        if block.used_elsewhere:
            self.delayed.append(block)
        else:
            self.truth.take(block)

    @staticmethod
    def record_stream(block, wait):
        block.used_elsewhere, block.wait = True, wait


class NoStacks(Stacks):
    """Frames cost more than everything else; a dry run needs none."""

    def build(self, native, python):
        return None

    def main(self, name):
        return None

    def free(self):
        return None

    def backward(self, node, name, python=()):
        return None

    def backward_free(self, python=()):
        return None
