#!/usr/bin/env python3
"""Snapshots whose stacks are thrown together from the signature table, for comparing two implementations of the phase rules.

    random_stacks.py OUT_DIR COUNT [--seed N] [--rules TABLE]

Writes COUNT JSON snapshots. Half of them have C++ frames; the others look like stacks="python". The stacks make no sense as programs: they
put markers of all levels inside each other in ways that no real program does, which is where rules contradict each other."""

import argparse
import json
import os
import random
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
import phases  # noqa: E402

PLAIN = [
    ("main", "/w/a/train.py"),
    ("loss_fn", "/w/a/train.py"),
    ("attention_x", "/w/model.py"),
    ("backward", "/w/ops.py"),
    ("_run", "/x/torch/foo.py"),
    ("xforward", "/w/m.py"),
    ("my_forward", "C:\\w\\m.py"),
    ("f", "<string>"),
    ("g", "/tmp/ipykernel_33/1"),
    ("<module>", "/w/a/train.py"),
    ("_make_grads", "/v/torch/autograd/__init__.py"),
    ("_call_impl", "/v/torch/nn/modules/module.py"),
    ("_call_impl", "C:\\v\\torch\\nn\\modules\\module.py"),
    ("compute_loss", "/w/z.py"),
    ("thing", "torch/x.py"),
    ("run", "/usr/lib/python3.11/threading.py"),
]
COMMON = [
    "torch::unwind::unwind()",
    "at::_ops::mm::call(x)",
    "torch::autograd::VariableType::mm(x)",
    "at::empty(x)",
]
AUTOGRAD = [
    "torch::autograd::generated::MulBackward0::apply(x)",
    "FooBackward12_copy::apply",
    "torch::autograd::AccumulateGrad::apply(x)",
    "torch::autograd::Engine::thread_main(x)",
    "torch::autograd::Node::operator()(x)",
    "FooBackward12x::apply",
]


def make_stack(pick, rows, native):
    if pick.random() < 0.12:
        return []
    if native and pick.random() < 0.08:
        return [{"name": pick.choice(COMMON + AUTOGRAD), "filename": "??", "line": 0} for _ in range(3)]
    out = []
    for _ in range(pick.choice((1, 2, 2, 3, 3, 4, 6))):
        if pick.random() < 0.55:
            row = pick.choice(rows)
            out.append(
                {
                    "name": row[4],
                    "filename": pick.choice(("/opt/site/", "")) + row[3],
                    "line": pick.randint(1, 99),
                }
            )
        else:
            name, file = pick.choice(PLAIN)
            out.append({"name": name, "filename": file, "line": pick.randint(1, 9)})
    if native and pick.random() < 0.5:
        for _ in range(pick.randint(1, 3)):
            name = pick.choice(COMMON if pick.random() < 0.8 else AUTOGRAD)
            out.insert(pick.randint(0, len(out)), {"name": name, "filename": "??", "line": 0})
    return out


def make(seed, table, count=300):
    """Allocations only, nothing is freed: each block can be looked at as one from before the trace as well."""
    pick = random.Random(seed)
    framework = pick.choice([None] + sorted({row[2] for row in table}))
    rows = [row for row in table if framework is None or row[2] in (framework, "torch")]
    pool = [make_stack(pick, rows, seed % 2 == 0) for _ in range(max(5, count // pick.choice((2, 5, 20))))]
    base, trace, blocks = 0x7F0000000000, [], []
    for index in range(count):
        frames = pick.choice(pool)
        trace.append(
            {
                "action": "alloc",
                "addr": base + index * 512,
                "size": 512,
                "stream": 0,
                "time_us": 1764000000000000 + 5 * index,
                "frames": frames,
            }
        )
        blocks.append(
            {
                "address": base + index * 512,
                "size": 512,
                "requested_size": 512,
                "state": "active_allocated",
                "frames": frames,
            }
        )
    size = count * 512
    segment = {
        "device": 0,
        "address": base,
        "total_size": size,
        "allocated_size": size,
        "active_size": size,
        "requested_size": size,
        "stream": 0,
        "segment_type": "large",
        "segment_pool_id": [0, 0],
        "is_expandable": False,
        "blocks": blocks,
        "frames": [],
    }
    return {"segments": [segment], "device_traces": [trace]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directory")
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rules", default=os.path.join(HERE, "..", "..", "analysis", "rules", "phases.json"))
    args = parser.parse_args()
    os.makedirs(args.directory, exist_ok=True)
    table = phases.read_table(args.rules)
    for seed in range(args.seed, args.seed + args.count):
        with open(os.path.join(args.directory, "random%d.json" % seed), "w", encoding="utf-8") as file:
            json.dump(make(seed, table), file)
    return 0


if __name__ == "__main__":
    sys.exit(main())
