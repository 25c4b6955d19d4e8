#!/usr/bin/env python3
"""Makes the sample snapshots of this directory. Nothing is recorded: a small imitation of PyTorch's allocator runs scripts that
allocate like the real frameworks (imitate/). The same bytes come out of every Python from 3.8 on.

    make_samples.py            writes the files
    make_samples.py --check    compares them with what is there; exit status 1 when something differs"""

import argparse
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
from imitate import encode, tools, training, verl  # noqa: E402

LARGEST, TINY = 400 * 1024, 16 * 1024


def as_jit(snapshot):
    """The C++ writer inserts frames before the time."""
    out = dict(snapshot)
    out["device_traces"] = []
    for trace in snapshot["device_traces"]:
        entries = []
        for entry in trace:
            first = [k for k in ("action", "addr", "device_free", "size", "stream", "frames") if k in entry]
            entries.append({k: entry[k] for k in first + [k for k in entry if k not in first]})
        out["device_traces"].append(entries)
    return out


def make():
    files = {}
    files["verl_grpo_oom_logprob.pickle"] = encode.pickle4(verl.oom_logprob())
    files["fsdp_finetune.pickle"] = encode.pickle4(training.fsdp_finetune())
    files["expandable_segments.pickle"] = encode.pickle4(training.expandable_segments())
    files["python_only.pickle"] = encode.pickle4(training.python_only())
    fragmented = encode.pickle4(training.fragmentation_oom())
    files["fragmentation_oom.pickle"] = fragmented
    files["fragmentation_oom.trace_plot.html"] = encode.viz_page(fragmented)

    ranks = [encode.pickle4(snapshot) for snapshot in verl.two_ranks()]
    names = ["step5/torch_memory_rank0_pid4321.pickle", "step5/torch_memory_rank1_pid4322.pickle"]
    files["verl_two_ranks.tar.gz"] = encode.gzip_bytes(encode.tar_bytes(list(zip(names, ranks))))
    cut = [ranks[0], ranks[1][: len(ranks[1]) * 6 // 10]]
    files["verl_two_ranks_truncated.tar.gz"] = encode.gzip_bytes(encode.tar_bytes(list(zip(names, cut))))

    tiny = training.tiny()
    files["tiny.pickle"] = encode.pickle4(tiny)
    files["tiny.protocol0.pickle"] = encode.pickle0(tiny)
    files["tiny.torch_jit_pickler.pickle"] = encode.pickle2_jit(as_jit(tiny))
    files["tiny.json"] = encode.json_text(tiny)
    files["tiny.indent4.json"] = encode.json_text(tiny, indent=4)
    files["cards.log"] = tools.cards_log()
    files["cards_npu.log"] = tools.npu_log()
    for name, data in files.items():
        assert len(data) <= (TINY if name.startswith("tiny") and "indent" not in name else LARGEST), (
            name,
            len(data),
        )
    return files


def main():
    parser = argparse.ArgumentParser(description="Makes the sample snapshots of this directory.")
    parser.add_argument("--check", action="store_true", help="compare, write nothing")
    parser.add_argument("--dir", default=HERE, help="where the files are (default: beside this script)")
    args = parser.parse_args()
    different = 0
    for name, data in sorted(make().items()):
        path = os.path.join(args.dir, name)
        if args.check:
            try:
                with open(path, "rb") as file:
                    there = file.read()
            except OSError as error:
                there = None
                print("%s: %s" % (name, error.strerror))
            if there != data:
                different += 1
                print("%s: differs from what this script makes" % name)
        else:
            with open(path, "wb") as file:
                file.write(data)
            print("%8d  %s" % (len(data), name))
    if args.check and not different:
        print("all samples are as made")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
