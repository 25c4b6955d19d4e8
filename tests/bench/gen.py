#!/usr/bin/env python3
"""Makes big snapshots that look like those of reinforcement learning runs, as a stream: memory does not grow with the output.

    gen.py EVENTS OUT [--p4 | --p2-jit | --json] [--indent] [--all-differ] [--gz] [--seed N] [--loop]

Stacks of 10 to 60 Python frames are drawn by a zipf law from about 3,270 distinct ones made of 933 frames. Sharing is PyTorch's: a frame
is one object per file, the list of frames is one object per event, only free_completed shares that of its free_requested. About 3,000
blocks live at a time; segments and blocks are the state that the trace ends in. Sizes, times and lifetimes are random, which nothing can
compress; --loop makes those of a training loop instead (loop.py)."""

import argparse
import bisect
import gzip
import itertools
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import loop  # noqa: E402
from writers import Json, Pickle2Jit, Pickle4, room  # noqa: E402

SITE = "/usr/local/lib/python3.12/dist-packages/"
SLOTS = 6000
RAY = (
    (SITE + "ray/_private/workers/default_worker.py", 289, "<module>"),
    (SITE + "ray/_private/worker.py", 974, "main_loop"),
    (SITE + "ray/_private/function_manager.py", 696, "actor_method_executor"),
    (SITE + "ray/util/tracing/tracing_helper.py", 463, "_resume_span"),
    (SITE + "verl/single_controller/ray/base.py", 700, "func"),
)
WORKERS, ACTOR = SITE + "verl/workers/fsdp_workers.py", SITE + "verl/workers/actor/dp_actor.py"
# (share of a step, frames below the model), outermost first
PHASES = [
    (
        0.30,
        (
            (WORKERS, 930, "generate_sequences"),
            (SITE + "vllm/v1/worker/gpu_worker.py", 330, "execute_model"),
            (SITE + "vllm/v1/worker/gpu_model_runner.py", 1420, "execute_model"),
        ),
    ),
    (
        0.15,
        (
            (WORKERS, 1010, "compute_log_prob"),
            (ACTOR, 338, "compute_log_prob"),
            (ACTOR, 188, "_forward_micro_batch"),
        ),
    ),
    (
        0.10,
        (
            (WORKERS, 1044, "compute_ref_log_prob"),
            (ACTOR, 338, "compute_log_prob"),
            (ACTOR, 188, "_forward_micro_batch"),
        ),
    ),
    (
        0.25,
        ((WORKERS, 985, "update_actor"), (ACTOR, 432, "update_policy"), (ACTOR, 188, "_forward_micro_batch")),
    ),
    (
        0.10,
        (
            (WORKERS, 985, "update_actor"),
            (ACTOR, 470, "update_policy"),
            (ACTOR, 300, "_optimizer_step"),
            (SITE + "torch/optim/adamw.py", 232, "step"),
        ),
    ),
    (
        0.10,
        (
            (WORKERS, 655, "rollout_mode"),
            (SITE + "verl/workers/rollout/vllm_rollout/vllm_rollout.py", 301, "update_weights"),
        ),
    ),
]
N_FRAMES, N_STACKS, STEP = 933, 3270, 20000


class Random:
    def __init__(self, seed):
        self.state = seed * 2 + 1

    def below(self, n):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        return (self.state >> 33) % n


def make_stacks(seed):
    """(frames, stacks by phase): a frame is (name, file, line), a stack a tuple of frame numbers, innermost first."""
    random = Random(seed)
    frames, number = [], {}

    def intern(frame):
        if frame not in number:
            number[frame] = len(frames)
            frames.append(frame)
        return number[frame]

    bases = [[intern((name, file, line)) for file, line, name in RAY + phase] for _, phase in PHASES]
    call = [
        intern((name, SITE + "torch/nn/modules/module.py", line))
        for name, line in (("_wrapped_call_impl", 1751), ("_call_impl", 1762))
    ]
    words = (
        "attention",
        "mlp",
        "norm",
        "rotary",
        "decoder",
        "embed",
        "proj",
        "gate",
        "cache",
        "linear",
        "router",
        "expert",
    )
    pool = []
    while len(frames) < N_FRAMES:
        word = words[random.below(len(words))]
        package = (
            "transformers/models/qwen3/modeling_%s.py",
            "vllm/model_executor/layers/%s.py",
            "torch/nn/modules/%s.py",
        )[random.below(3)]
        pool.append(
            intern(
                (
                    ("forward", "apply", word + "_states", "_run_" + word)[random.below(4)],
                    SITE + package % word,
                    10 + random.below(900),
                )
            )
        )
    stacks, seen = [[] for _ in PHASES], set()
    for index in range(N_STACKS):
        phase = index % len(PHASES)
        outer = list(bases[phase])
        depth = 10 + min(random.below(51), random.below(51))
        while len(outer) < depth:
            if phase != 4 and len(outer) % 3 == 0:
                outer += call
            outer.append(pool[random.below(len(pool))])
        stack = tuple(reversed(outer[:60]))
        if stack not in seen:
            seen.add(stack)
            stacks[phase].append(stack)
    return frames, stacks


class Law:
    """zipf: the k-th most frequent of n has weight 1 / k."""

    def __init__(self, n):
        self.sums = list(itertools.accumulate(1000000 // (k + 1) for k in range(n)))

    def draw(self, random):
        return bisect.bisect_right(self.sums, random.below(self.sums[-1]))


def events(count, seed, stacks):
    """(action, slot, size, stack, step in us). A slot is a place for one block with a segment of its own."""
    random = Random(seed + 1)
    laws = [Law(len(of_phase)) for of_phase in stacks]
    plan = [phase for phase, (share, _) in enumerate(PHASES) for _ in range(int(share * STEP))]
    held = [None] * SLOTS
    done = 0
    while True:
        phase = plan[done % len(plan)]
        slot = random.below(SLOTS)
        stack = stacks[phase][laws[phase].draw(random)]
        size = held[slot]
        if size is None:
            size = 512 + random.below(room(slot) - 1023)
            steps = (("segment_alloc", room(slot)), ("alloc", size))
            held[slot] = size
        elif size:
            steps = (("free_requested", size), ("free_completed", size))
            held[slot] = 0
        else:
            size = 512 + random.below(room(slot) - 1023)
            steps = (("alloc", size),)
            held[slot] = size
        if done + len(steps) > count:
            break
        for action, bytes_ in steps:
            yield action, slot, bytes_, stack, 1 + random.below(30)
        done += len(steps)
    while done < count:  # what is left over when a pair does not fit any more
        yield "snapshot", 0, 0, None, 1
        done += 1


def final_state(all_events):
    """slot -> (size, stack) of the live block, None when free; slots that were never used are missing."""
    state = {}
    for action, slot, size, stack, _ in all_events:
        if action == "alloc":
            state[slot] = (size, stack)
        elif action == "free_completed":
            state[slot] = None
    return state


def generate(count, path, form="p4", indent=False, all_differ=False, gz=False, seed=1, repeats=False):
    frames, stacks = make_stacks(seed)

    def made():
        return loop.events(count, Random(seed + 1), stacks) if repeats else events(count, seed, stacks)

    state = final_state(made())
    with open(path, "wb") as file:
        out = gzip.GzipFile("", "wb", 6, file, 0) if gz else file
        if form == "json":
            Json(out, frames, indent, all_differ).write(state, made())
        else:
            (Pickle2Jit if form == "p2-jit" else Pickle4)(out, frames, all_differ).write(state, made())
        if gz:
            out.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("events", type=int)
    parser.add_argument("out")
    form = parser.add_mutually_exclusive_group()
    for name in ("p4", "p2-jit", "json"):
        form.add_argument("--" + name, dest="form", action="store_const", const=name, default="p4")
    parser.add_argument("--indent", action="store_true", help="JSON as json.dump(indent=4) writes it")
    parser.add_argument(
        "--all-differ", action="store_true", help="every stack differs from all others by one line number"
    )
    parser.add_argument("--gz", action="store_true")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--loop", action="store_true", help="a training loop that repeats itself instead of random numbers")
    args = parser.parse_args()
    generate(args.events, args.out, args.form, args.indent, args.all_differ, args.gz, args.seed, args.loop)


if __name__ == "__main__":
    sys.exit(main())
