#!/usr/bin/env python3
"""Writes into the current folder one snapshot in several encodings, in which the job names its memory (named.sh, golden/test_json_keys.py)."""
import json, pickle
GB = 1 << 30
def frame(file, line, name, **more): return dict(filename=file, line=line, name=name, **more)
FX = frame("/tmp/torchinductor_u/ab/fx_generated_ab12.py", 7, "forward", fx_node_op="call_function", fx_node_name="linear", fx_node_target="aten.linear.default",
           fx_original_trace='  File "/job/train.py", line 9, in step\n    out = model(x)\n  File "/job/model.py", line 42, in forward\n    h = self.lm_head(h)\n')
BARE = frame("/tmp/torchinductor_u/ab/fx_generated_cd34.py", 9, "forward", fx_node_op="call_function", fx_node_name="mm", fx_node_target="aten.mm.default")
CALL, MAIN = frame("/usr/lib/python3/site-packages/torch/nn/modules/module.py", 1751, "_call_impl"), frame("/job/train.py", 9, "step")
BACKWARD = [frame("??", 0, "at::native::empty_cuda"), frame("??", 0, "torch::autograd::generated::ConvolutionBackward0::apply(std::vector<at::Tensor>&&)")]
FORWARD = ['  File "/job/train.py", line 9, in step\n    out = model(x)\n', '  File "/job/model.py", line 17, in forward\n    return self.conv(x)\n']
trace, blocks, at, now = [], [], [0x7f0000000000], [1700000000000000]
def event(action, frames, **more):
    now[0] += 10
    trace.append(dict(action=action, stream=0, time_us=now[0], frames=frames, compile_context="N/A", user_metadata="", **{}) | more)
def alloc(size, frames, **more):
    addr = at[0]
    at[0] += size
    event("segment_alloc", frames, addr=addr, size=size)
    event("alloc", frames, addr=addr, size=size, **more)
    blocks.append((addr, size, frames))
    return addr
alloc(6 * GB, [FX, CALL, MAIN], compile_context="0/0")
alloc(1 * GB, [BARE, CALL, MAIN])
alloc(4 * GB, [CALL, MAIN], user_metadata="kv_cache layer 3")
alloc(3 * GB, [CALL, MAIN], user_metadata={"pool": "comm-buffers", "layer": 3})
weight = alloc(2 * GB, [CALL, MAIN])
event("annotate", [], addr=weight, size=2 * GB, user_metadata="weight: model.layers.3.mlp")
alloc(5 * GB, BACKWARD, forward_frames=FORWARD)
event("oom", BACKWARD, device_free=GB, size=8 * GB, forward_frames=FORWARD, compile_context="0/0")
segments = [dict(device=0, address=a, total_size=n, allocated_size=n, active_size=n, requested_size=n, stream=0, segment_type="large", segment_pool_id=(0, 0),
                 is_expandable=False, frames=f, blocks=[dict(address=a, size=n, requested_size=n, state="active_allocated", frames=f)]) for a, n, f in blocks]
snapshot = dict(segments=segments, device_traces=[trace], allocator_settings={})
for protocol in (0, 2, 4):
    with open(f"p{protocol}.pickle", "wb") as f:
        pickle.dump(snapshot, f, protocol)
for name, indent in (("flat", None), ("wide", 4)):
    with open(f"{name}.json", "w") as f:
        json.dump(snapshot, f, indent=indent)
