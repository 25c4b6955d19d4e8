"""PyTorch's CUDA caching allocator in small: what it does to memory, and the trace it leaves.

Follows c10/cuda/CUDACachingAllocator.cpp of PyTorch 2.6: sizes are rounded to 512 bytes; requests up to 1 MiB come from segments of
2 MiB, those below 10 MiB from segments of 20 MiB, larger ones from segments of their own rounded to 2 MiB; best fit per stream and
pool; a remainder of a large block is split off above 1 MiB; when the device is full, wholly free segments are given back and the
request is tried once more. Expandable segments map pages of 2 MiB (small pool) or 20 MiB (large pool)."""

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30


def up(size, unit):
    return (size + unit - 1) // unit * unit


class OutOfMemory(Exception):
    pass


class Clock:
    """Microseconds; steps come from a small generator of its own so that they are the same everywhere."""

    def __init__(self, start_us, seed):
        self.now, self.state = start_us, seed

    def tick(self, most=40):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        self.now += 1 + (self.state >> 33) % most
        return self.now

    def idle(self, us):
        self.now += us


class Block:
    def __init__(self, segment, addr, size):
        self.segment, self.addr, self.size = segment, addr, size
        self.requested, self.state, self.frames = 0, "inactive", []
        self.mapped, self.used_elsewhere, self.wait = True, False, 0

    @property
    def free(self):
        return self.mapped and self.state == "inactive"


class Segment:
    def __init__(self, addr, size, stream, small, pool, expandable, frames):
        self.addr, self.size, self.stream, self.small = addr, size, stream, small
        self.pool, self.expandable, self.frames = pool, expandable, frames
        self.blocks = [Block(self, addr, size)]
        if expandable:
            self.blocks[0].mapped = False

    def neighbour(self, block, step):
        at = self.blocks.index(block) + step
        return self.blocks[at] if 0 <= at < len(self.blocks) else None

    def split(self, block, size):
        """Leaves `size` bytes in block and puts the rest behind it."""
        if size == block.size:
            return None
        rest = Block(self, block.addr + size, block.size - size)
        rest.mapped = block.mapped
        block.size = size
        self.blocks.insert(self.blocks.index(block) + 1, rest)
        return rest

    def merge(self, block):
        for step in (1, -1):
            other = self.neighbour(block, step)
            if other is not None and other.mapped == block.mapped and other.state == "inactive":
                block.addr = min(block.addr, other.addr)
                block.size += other.size
                self.blocks.remove(other)


class Allocator:
    def __init__(self, capacity, clock, device=0, expandable=False, base=0x7F2A00000000, extra=None):
        self.capacity, self.clock, self.device, self.expandable = capacity, clock, device, expandable
        self.segments, self.trace, self.delayed = [], [], []
        self.reserved, self.va = 0, base
        self.extra = extra or {}  # keys that newer versions write into each entry

    # -- the trace
    def record(self, action, addr, size, stream, frames):
        entry = {"action": action}
        entry["device_free" if action == "oom" else "addr"] = addr
        entry["size"], entry["stream"], entry["time_us"] = size, stream, self.clock.tick()
        entry.update(self.extra)
        if frames is not None:
            entry["frames"] = frames
        self.trace.append(entry)

    # -- allocation
    def malloc(self, size, frames, stream=0, pool=(0, 0)):
        self.settle(frames)
        want = max(512, up(size, 512))
        small = want <= MIB
        block = self.find(want, small, stream, pool)
        if block is None:
            block = self.grow(want, small, stream, pool, frames)
        if block is None:
            self.give_back(frames)
            block = self.grow(want, small, stream, pool, frames)
        if block is None:
            self.record("oom", self.capacity - self.reserved, want, stream, frames)
            raise OutOfMemory(want)
        left = block.size - want
        if left >= 512 if small or block.segment.expandable else left > MIB:
            block.segment.split(block, want)
        block.state, block.requested, block.frames = "active_allocated", size, frames
        self.record("alloc", block.addr, size, stream, frames)
        return block

    def find(self, want, small, stream, pool):
        fits = [
            b
            for s in self.segments
            if (s.small, s.stream, s.pool) == (small, stream, pool)
            for b in s.blocks
            if b.free and b.size >= want
        ]
        return min(fits, key=lambda b: (self.room(b), b.addr), default=None)

    @staticmethod
    def room(block):
        """An expandable block counts with what it can grow into."""
        after = block.segment.neighbour(block, 1) if block.segment.expandable else None
        return block.size + (after.size if after is not None and not after.mapped else 0)

    def grow(self, want, small, stream, pool, frames):
        if self.expandable and pool == (0, 0):
            return self.map_more(want, small, stream, frames)
        size = 2 * MIB if small else 20 * MIB if want < 10 * MIB else up(want, 2 * MIB)
        if self.reserved + size > self.capacity:
            return None
        segment = Segment(self.va, size, stream, small, pool, False, frames)
        self.va += up(size, 2 * MIB) + 2 * MIB
        self.segments.append(segment)
        self.reserved += size
        self.record("segment_alloc", segment.addr, size, stream, frames)
        return segment.blocks[0]

    def map_more(self, want, small, stream, frames):
        page = 2 * MIB if small else 20 * MIB
        segment = next(
            (s for s in self.segments if s.expandable and (s.small, s.stream) == (small, stream)), None
        )
        if segment is None:
            room = up(self.capacity + self.capacity // 8, page)
            segment = Segment(self.va, room, stream, small, (0, 0), True, frames)
            self.va += room + 2 * MIB
            self.segments.append(segment)
        for hole in [b for b in segment.blocks if not b.mapped]:
            before = segment.neighbour(hole, -1)
            have = before.size if before is not None and before.free else 0
            if have + hole.size < want:
                continue
            need = up(want - have, page)
            if self.reserved + need > self.capacity:
                return None
            segment.split(hole, need)
            hole.mapped = True
            self.reserved += need
            self.record("segment_map", hole.addr, need, stream, frames)
            segment.merge(hole)
            return hole
        return None

    def give_back(self, frames):
        """release_cached_blocks(): what nobody uses goes back to the device."""
        for segment in list(self.segments):
            if segment.pool != (0, 0):
                continue
            if segment.expandable:
                page = 2 * MIB if segment.small else 20 * MIB
                for block in [b for b in segment.blocks if b.free]:
                    first = segment.addr + up(block.addr - segment.addr, page)
                    last = segment.addr + (block.addr + block.size - segment.addr) // page * page
                    if last <= first:
                        continue
                    if first > block.addr:
                        block = segment.split(block, first - block.addr)
                    segment.split(block, last - first)
                    block.mapped = False
                    self.reserved -= block.size
                    self.record("segment_unmap", block.addr, block.size, segment.stream, frames)
                    segment.merge(block)
            elif len(segment.blocks) == 1 and segment.blocks[0].free:
                self.segments.remove(segment)
                self.reserved -= segment.size
                self.record("segment_free", segment.addr, segment.size, segment.stream, frames)

    # -- freeing
    def free(self, block, frames):
        self.record("free_requested", block.addr, block.requested, block.segment.stream, frames)
        if block.used_elsewhere:
            block.state = "active_pending_free"
            self.delayed.append(block)
        else:
            self.complete(block, frames)

    def complete(self, block, frames):
        self.record("free_completed", block.addr, block.requested, block.segment.stream, frames)
        block.state, block.used_elsewhere = "inactive", False
        block.segment.merge(block)

    def settle(self, frames):
        """process_events(): blocks that another stream used become free once its work is done, some requests later."""
        for block in list(self.delayed):
            block.wait -= 1
            if block.wait < 0:
                self.delayed.remove(block)
                self.complete(block, frames)

    @staticmethod
    def record_stream(block, wait):
        block.used_elsewhere, block.wait = True, wait

    # -- the snapshot
    def describe(self):
        out = []
        for segment in sorted(self.segments, key=lambda s: s.addr):
            runs, run = [], []
            for block in segment.blocks:
                if block.mapped:
                    run.append(block)
                elif run:
                    runs.append(run)
                    run = []
            if run:
                runs.append(run)
            for run in runs:
                out.append(self.describe_run(segment, run))
        return out

    def describe_run(self, segment, run):
        active = [b for b in run if b.state != "inactive"]
        return {
            "device": self.device,
            "address": run[0].addr,
            "total_size": sum(b.size for b in run),
            "allocated_size": sum(b.size for b in run if b.state == "active_allocated"),
            "active_size": sum(b.size for b in active),
            "requested_size": sum(b.requested for b in active),
            "stream": segment.stream,
            "segment_type": "small" if segment.small else "large",
            "segment_pool_id": (
                segment.pool[0],
                segment.pool[1],
            ),  # an object of its own, as PyTorch makes it
            "is_expandable": segment.expandable,
            "blocks": [
                {
                    "address": b.addr,
                    "size": b.size,
                    "requested_size": b.requested,
                    "state": b.state,
                    "frames": b.frames if b.state != "inactive" else [],
                }
                for b in run
            ],
            "frames": segment.frames if segment.frames is not None else [],
        }


def settings(conf="", expandable=False):
    return {
        "PYTORCH_CUDA_ALLOC_CONF": conf,
        "max_split_size": -1,
        "garbage_collection_threshold": 0.0,
        "expandable_segments": expandable,
        "pinned_num_register_threads": 1,
        "release_lock_on_cudamalloc": False,
        "pinned_use_cuda_host_register": False,
        "roundup_power2_divisions": {str(1 << i): 0 for i in range(16)},
    }
