"""The events of a training loop that repeats itself, for gen.py --loop: step after step the same calls with the same sizes, but for
the lengths of the sequences, which every micro-batch has its own, and the times, none of which is ever the same twice.

Init, then per step: rollout (KV cache, prefill, decoding), old and reference log-probabilities, forward and backward of every
micro-batch, optimizer, weight sync. Blocks lie where a caching allocator puts them: in the lowest free place of their size. Sizes fit into
the segments of writers.py (20 MiB)."""

import heapq

from writers import MIB, room

LAYERS, HIDDEN, INNER, KV, VOCAB_SLICE = 28, 2048, 5504, 512, 2048
MICRO_BATCHES, DECODES = 8, 40
ROLLOUT, OLD, REF, UPDATE, OPTIMIZER, SYNC = range(6)  # the phases of gen.py
PARAMETERS = [HIDDEN * HIDDEN * 2, HIDDEN * KV * 2, HIDDEN * KV * 2, HIDDEN * HIDDEN * 2, HIDDEN * INNER, HIDDEN * INNER, HIDDEN * INNER]
PARAMETERS += [HIDDEN * 2, HIDDEN * 2]
# bytes per token of what one layer of a forward pass makes; True = kept for the backward pass
FORWARD = [
    (HIDDEN * 4, False),
    (HIDDEN * 2, True),
    (HIDDEN * 2, True),
    (KV * 2, True),
    (KV * 2, True),
    (256, False),
    (HIDDEN * 2, False),
    (HIDDEN * 2, True),
    (64, True),
    (HIDDEN * 2, False),
    (HIDDEN * 4, False),
    (HIDDEN * 2, True),
    (INNER * 2, True),
    (INNER * 2, True),
    (INNER * 2, False),
    (HIDDEN * 2, True),
]
BACKWARD = [HIDDEN * 2, INNER * 2, INNER * 2, HIDDEN * 4, HIDDEN * 2, KV * 2, KV * 2, HIDDEN * 2, HIDDEN * 4]


class Full(Exception):
    """The number of events asked for is reached."""


class Loop:
    def __init__(self, count, random, stacks):
        self.count, self.random, self.stacks = count, random, stacks
        self.free, self.made = [[] for _ in range(10)], [0] * 10
        self.out, self.done = [], 0

    def step(self, phase, call):
        """Microseconds since the event before: a call takes about as long as it always does, and at times the process waits."""
        base = 4 + (phase * 7 + call * 5) % 23
        below = self.random.below
        return base + below(base) + below(3) * below(4) + (below(400) if below(50) == 0 else 0)

    def put(self, action, slot, size, stack, step):
        if self.done == self.count:
            raise Full
        self.done += 1
        self.out.append((action, slot, size, stack, step))

    def alloc(self, phase, call, size):
        size = max(1, min(size, 20 * MIB))
        kind = (size - 1) // (2 * MIB)
        of_phase = self.stacks[phase]
        stack = of_phase[call % len(of_phase)]
        if self.free[kind]:
            slot = heapq.heappop(self.free[kind])
        else:
            slot = kind + 10 * self.made[kind]
            self.made[kind] += 1
            self.put("segment_alloc", slot, room(slot), stack, 200 + self.random.below(300))
        self.put("alloc", slot, size, stack, self.step(phase, call))
        return slot, size, stack

    def drop(self, block, phase, call):
        slot, size, stack = block
        if self.done + 2 > self.count:
            raise Full
        self.put("free_requested", slot, size, stack, self.step(phase, call))
        self.put("free_completed", slot, size, stack, self.random.below(2))
        heapq.heappush(self.free[(size - 1) // (2 * MIB)], slot)

    def forward(self, phase, tokens, keep):
        """The blocks kept, per layer."""
        kept = []
        for layer in range(LAYERS):
            mine, loose = [], []
            for i, (width, saved) in enumerate(FORWARD):
                call = layer * 31 + i
                block = self.alloc(phase, call, width * tokens)
                (mine if keep and saved else loose).append(block)
                if len(loose) > 3:
                    self.drop(loose.pop(0), phase, call)
            for block in loose:
                self.drop(block, phase, layer * 31 + 17)
            kept.append(mine)
            yield
        self.kept = kept

    def logits(self, phase, tokens):
        held = [self.alloc(phase, 900 + i, VOCAB_SLICE * 4 * tokens) for i in range(4)]
        yield
        for i, block in enumerate(reversed(held)):
            self.drop(block, phase, 905 + i)
        return self.alloc(phase, 910, 4 * tokens)

    def backward(self, tokens, gradients, first):
        for layer in reversed(range(LAYERS)):
            before, saved = None, self.kept[layer]
            for i, width in enumerate(BACKWARD):
                call = 300 + layer * 13 + i
                block = self.alloc(UPDATE, call, width * tokens)
                if before:
                    self.drop(before, UPDATE, call)
                if saved:
                    self.drop(saved.pop(), UPDATE, call)
                before = block
            self.drop(before, UPDATE, 300 + layer * 13 + 11)
            for block in saved:
                self.drop(block, UPDATE, 300 + layer * 13 + 12)
            for i, size in enumerate(PARAMETERS):
                block = self.alloc(UPDATE, 430 + layer * 3 + i, size)
                if first:
                    gradients.append(block)
                else:
                    self.drop(block, UPDATE, 431 + layer * 3 + i)
            yield

    def rollout(self):
        below = self.random.below
        cache = [self.alloc(ROLLOUT, i % 56, 18 * MIB) for i in range(2 * LAYERS)]
        yield from self.forward(ROLLOUT, 512 + below(512), False)
        for _ in range(DECODES // 2 + below(DECODES)):
            batch = 64 + below(4) * 8
            for layer in range(LAYERS):
                held = [self.alloc(ROLLOUT, 60 + layer * 5 + i, width * batch) for i, width in enumerate((HIDDEN * 2, KV * 4, INNER * 4))]
                for i, block in enumerate(held):
                    self.drop(block, ROLLOUT, 60 + layer * 5 + i)
            self.drop(self.alloc(ROLLOUT, 520, VOCAB_SLICE * 4 * batch), ROLLOUT, 521)
            yield
        for block in cache:
            self.drop(block, ROLLOUT, 57)
        yield

    def run(self):
        """Yields now and then, for what was made so far to be taken."""
        below = self.random.below
        weights = []
        for layer in range(LAYERS):
            weights += [self.alloc(SYNC, 600 + layer * 9 + i, size) for i, size in enumerate(PARAMETERS)]
            yield
        states = []
        while True:
            yield from self.rollout()
            lengths = [1100 + below(400) for _ in range(MICRO_BATCHES)]
            scores = []
            for phase in (OLD, REF):
                for tokens in lengths:
                    yield from self.forward(phase, tokens, False)
                    scores.append((yield from self.logits(phase, tokens)))
            gradients = []
            for i, tokens in enumerate(lengths):
                yield from self.forward(UPDATE, tokens, True)
                loss = yield from self.logits(UPDATE, tokens)
                yield from self.backward(tokens, gradients, i == 0)
                self.drop(loss, UPDATE, 911)
            for i in range(len(weights)):
                size = weights[i][1]
                if len(states) < 2 * len(weights):
                    states += [self.alloc(OPTIMIZER, k, 2 * size) for k in (0, 1)]
                a, b = self.alloc(OPTIMIZER, 2, size), self.alloc(OPTIMIZER, 3, size)
                self.drop(a, OPTIMIZER, 4)
                self.drop(b, OPTIMIZER, 5)
                yield
            for block in gradients + scores:
                self.drop(block, OPTIMIZER, 6)
            for i, (_, size, _) in enumerate(weights):
                self.drop(self.alloc(SYNC, i % 9, size), SYNC, 10)
                yield


def events(count, random, stacks):
    """As gen.events()."""
    loop = Loop(count, random, stacks)
    steps = loop.run()
    try:
        for _ in steps:
            yield from loop.out
            loop.out.clear()
    except Full:
        pass
    yield from loop.out
    while loop.done < count:  # what is left over when a pair does not fit any more
        yield "snapshot", 0, 0, None, 1
        loop.done += 1
