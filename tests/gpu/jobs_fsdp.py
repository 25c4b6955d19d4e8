"""FSDP as rank 0 of 8 sees it: the process group moves no data, the memory is real."""
import torch
import torch.nn.functional as F

from jobs_list import Scaled, change, job
from jobs_lm import Block, CausalLM


def start(world=8):
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=world)
    return dist


def on_meta(**sizes):
    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float32)
    try:
        with torch.device("meta"):
            return CausalLM(**sizes)
    finally:
        torch.set_default_dtype(before)


def shard(model, by_layer, reshard, dtype=torch.bfloat16):
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    mesh = init_device_mesh("cuda", (8,))
    policy = MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    if by_layer:
        for block in model.blocks:
            fully_shard(block, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard)
    fully_shard(model, mesh=mesh, mp_policy=policy, reshard_after_forward=reshard)
    model.to_empty(device="cuda")
    with torch.no_grad():
        for p in model.parameters():
            p.to_local().normal_(0, 0.02) if hasattr(p, "to_local") else p.normal_(0, 0.02)
    return model


def train(model, optimizer, batch, length, micro_batches=1, sync_each=True, steps=2):
    for _ in range(steps):
        for i in range(micro_batches):
            if hasattr(model, "set_requires_gradient_sync"):
                model.set_requires_gradient_sync(sync_each or i == micro_batches - 1)
            ids = torch.randint(0, 32000, (batch, length), device="cuda")
            loss = F.cross_entropy(model(ids)[:, :-1].flatten(0, 1), ids[:, 1:].flatten())
            (loss / micro_batches).backward()
        optimizer.step()
        optimizer.zero_grad()


SCRIPT = "#!/bin/bash\ntorchrun --nproc-per-node 8 train.py --batch {} --length {} {}\n"


@job(17, "FSDP2 on the model as a whole: all layers are gathered at once", dict(layers=Scaled(64), batch=1, by_layer=False),
     [change("fully_shard on each layer", "P60", by_layer=True)], config=(".sh", SCRIPT.format(1, 2048, "")))
def fsdp2_one_unit(args, watch):
    start()
    model = shard(on_meta(vocab=32000, width=4096, layers=args.layers, heads=32), args.by_layer, True)
    model.checkpointing = True
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    watch(model=model, optimizer=optimizer)
    train(model, optimizer, args.batch, 2048)


@job(18, "FSDP2 with reshard_after_forward=False: the layers stay gathered", dict(layers=Scaled(128), batch=1, reshard=False),
     [change("reshard after the forward", "P60", reshard=True)], stacks="all", entries=15000, config=(".sh", SCRIPT.format(2, 2048, "--no-reshard-after-forward")))
def fsdp2_no_reshard(args, watch):
    start()
    model = shard(on_meta(vocab=32000, width=4096, layers=args.layers, heads=32), True, args.reshard)
    model.checkpointing = True
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    watch(model=model, optimizer=optimizer)
    train(model, optimizer, args.batch, 2048)


@job(19, "FSDP2 accumulates without reducing: whole gradients stay", dict(layers=Scaled(80), batch=1, sync_each=False),
     [change("reduce with every micro-batch", "P49", sync_each=True)], dump="observer", config=(".sh", SCRIPT.format(1, 2048, "--gradient-accumulation 4")))
def fsdp2_no_sync(args, watch):
    start()
    model = shard(on_meta(vocab=32000, width=4096, layers=args.layers, heads=32), True, True)
    model.checkpointing = True
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    watch(model=model, optimizer=optimizer)
    train(model, optimizer, args.batch, 2048, micro_batches=4, sync_each=args.sync_each)


@job(20, "FSDP1 gathers a full state dict on the card; it catches the error and only warns", dict(layers=Scaled(44), offload=False),
     [change("the state dict goes to the host, layer by layer", "B78", offload=True)], config=(".yaml", "fsdp: full_shard auto_wrap\nfsdp_config:\n  fsdp_state_dict_type: FULL_STATE_DICT\nsave_steps: 1\n"), limit=60, seconds=8, dump="observer", ends="ok")
def fsdp1_full_state(args, watch):
    import functools

    from torch.distributed.fsdp import FullStateDictConfig, FullyShardedDataParallel as FSDP, MixedPrecision, StateDictType
    from torch.distributed.fsdp.wrap import transformer_auto_wrap_policy

    start(world=2)
    model = on_meta(vocab=32000, width=4096, layers=args.layers, heads=32)
    model.checkpointing = True
    model = FSDP(model, auto_wrap_policy=functools.partial(transformer_auto_wrap_policy, transformer_layer_cls={Block}), device_id=torch.cuda.current_device(),
                 mixed_precision=MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.float32), use_orig_params=True,
                 param_init_fn=lambda m: m.to_empty(device="cuda", recurse=False))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)
    watch(model=model, optimizer=optimizer)
    train(model, optimizer, 1, 1024, steps=1)
    with FSDP.state_dict_type(model, StateDictType.FULL_STATE_DICT, FullStateDictConfig(offload_to_cpu=args.offload, rank0_only=args.offload)):
        state = model.state_dict()
    watch(state=state)
