"""The jobs of the driver scenarios, played by driver_play.py: what the ticket says that the processes did, in its numbers. A function is
named after the scenario; NAME_ROLE is another process of it. Nothing here knows what memtrace says."""
import ctypes
import time

from driver_numbers import BUCKET, GIB, GROUP, MIB, RESIDUE, gib
from driver_play import CUMEM, MATH, NCCL, OOM, TMS, TORCH, Pool


def t01_expandable_segments_defeat_sleep(p):
    """The engine's pool lies in expandable segments, so that its allocator is never asked, and sleep has nothing to unmap."""
    p.begin(snapshots=True)
    p.books.settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "expandable_segments": True}
    with p.phase("init"):
        p.grow(10 * GIB, where=("verl/workers/fsdp_workers.py", 240, "_build_model_optimizer"))
    with p.phase("gen"):
        p.grow(gib(63.15), pool=(1, 7), where=("vllm/v1/worker/gpu_worker.py", 230, "load_model"))
        p.moment("generated")
    with p.phase("rollout.wake_sleep"):
        p.moment("asleep")
    with p.phase("update_actor"):
        if not p.grow(8 * GIB):
            p.die("torch.OutOfMemoryError: CUDA out of memory", 8 * GIB)


t02_alias_that_vllm_does_not_read = t01_expandable_segments_defeat_sleep


def t03_counters_count_what_is_unmapped(p):
    """memory_reserved() of 198.68 GiB on a card of 140 GiB."""
    p.begin(snapshots=True)
    pool = Pool(p, CUMEM, [15 * GIB] * 8)
    with p.phase("gen"):
        pool.wake()
        p.moment("generated")
    with p.phase("rollout.wake_sleep"):
        pool.sleep()
        p.moment("asleep")
    with p.phase("update_actor"):
        p.segment(gib(38.68))
        p.segment(40 * GIB)
        p.moment("trained")


def t04_wake_up_runs_out(p):
    """The engine was started alone; when it wakes, the trainer is there as well, and the cache no longer fits."""
    p.begin()
    pool = Pool(p, CUMEM, [gib(7.5)] * 8)
    with p.phase("init"):
        pool.wake()
        pool.sleep()
        p.take(TORCH, 5 * GIB, 6)
        p.moment("started")
    with p.phase("rollout.wake_sleep"):
        if not pool.wake():
            p.die("RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62")


def t05_failed_wake_leaks(p):
    """The wake fails, the exception is caught, what was mapped by then stays."""
    p.begin()
    pool = Pool(p, CUMEM, [8 * GIB] * 6)
    with p.phase("init"):
        pool.wake()
        pool.sleep()
        p.take(TORCH, 10 * GIB, 4)
        p.moment("started")
    with p.phase("rollout.wake_sleep"):
        assert not pool.wake()
        p.moment("the wake failed")
    time.sleep(2.2)  # longer than failures of one trouble are apart
    with p.phase("update_actor"):
        if not p.take(TORCH, 12 * GIB):
            p.die("torch.OutOfMemoryError: CUDA out of memory")


def t06_wake_overlaps_the_all_gather(p):
    """36.6 GB of weights wake, then 27 GB of parameters are gathered, with the shards there: each alone would fit."""
    p.begin()
    pool = Pool(p, CUMEM, [gib(36.6e9 / 8 / GIB)] * 8)
    with p.phase("init"):
        pool.wake()
        pool.sleep()
        p.take(TORCH, gib(5e9 / GIB), 5)
        p.moment("started")
    with p.phase("update_weights"):
        pool.wake()
        p.moment("awake")
        if len(p.take(TORCH, gib(3e9 / GIB), 9)) < 9:
            p.die("torch.OutOfMemoryError: CUDA out of memory")


def t07_cache_not_emptied(p):
    """update_actor leaves 33 GiB that PyTorch has cached and nobody uses; the engine wakes into what is left."""
    p.begin(snapshots=True)
    pool = Pool(p, CUMEM, [5 * GIB] * 8)
    with p.phase("init"):
        pool.wake()
        pool.sleep()
        for _ in range(4):
            p.segment(3 * GIB)
    with p.phase("update_actor"):
        for _ in range(11):
            p.segment(3 * GIB, 0)
        p.moment("trained")
    with p.phase("rollout.wake_sleep"):
        if not pool.wake():
            p.die("RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62")


def t08_residue_grows_per_step(p):
    """Each sleep leaves more: 4.11, 11.57, 25 GiB; memory runs out in the log-prob of the trainer."""
    p.begin()
    pool = Pool(p, CUMEM, [2 * GIB] * 6)
    p.take(TORCH, 10 * GIB, 3)
    left = 0
    for residue in RESIDUE:
        with p.phase("gen"):
            pool.wake()
            p.grow(residue - left, CUMEM, residue - left)
            left = residue
            p.moment("generated")
        with p.phase("rollout.wake_sleep"):
            pool.sleep()
            p.moment("asleep")
        if residue != RESIDUE[-1]:
            with p.phase("update_actor"):
                p.moment("trained")
    with p.phase("old_log_prob"):
        if not p.take(TORCH, 26 * GIB):
            p.die("torch.OutOfMemoryError: CUDA out of memory")


def t09_residue_by_design(p):
    """After sleep remain NCCL's communicators, the graphs' pool, captured outside the engine's, and the context: 7392 MiB."""
    p.begin()
    pool = Pool(p, CUMEM, [6 * GIB] * 8)
    with p.phase("init"):
        p.take(NCCL, 246 * MIB, 4)
        p.take(MATH, 64 * MIB)
        p.take(TORCH, 2 * GIB, 2)
        p.take(TORCH, 1748 * MIB)
        pool.wake()
    for _ in range(3):
        with p.phase("gen"):
            pool.wake()
            p.moment("generated")
        with p.phase("rollout.wake_sleep"):
            pool.sleep()
            p.moment("asleep")
        with p.phase("update_actor"):
            p.moment("trained")


def t10_release_returns_too_early(p):
    """The trainer maps while the engine's process is still giving back."""
    engine = p.start("engine", RANK="0", ROLE_RANK="0")
    p.begin()
    engine.go()
    engine.go()
    with p.phase("update_actor"):
        failed = len(p.take(TORCH, 10 * GIB, 5)) < 5
        free = p.free() if failed else 0
        p.moment("refused")
        engine.go()
        if failed:
            p.die("torch.OutOfMemoryError: CUDA out of memory; %d free" % free)


def t10_release_returns_too_early_engine(p):
    p.begin()
    pool = Pool(p, CUMEM, [6 * GIB] * 8)
    with p.phase("gen"):
        pool.wake()
        p.moment("generated")
    yield
    pool.sleep(0, 3)
    p.tell()
    yield
    pool.sleep(3)
    p.moment("asleep")
    yield


def t10_release_is_waited_for(p):
    """The fix: whoever fails waits until the other process has given back, and asks again."""
    engine = p.start("engine", RANK="0", ROLE_RANK="0")
    p.begin()
    engine.go()
    engine.go()
    with p.phase("update_actor"):
        got = p.take(TORCH, 10 * GIB, 5)
        assert len(got) < 5
        p.moment("refused")
        engine.go()
        assert len(p.take(TORCH, 10 * GIB, 5 - len(got))) == 5 - len(got)
        p.moment("trained")


t10_release_is_waited_for_engine = t10_release_returns_too_early_engine


def t11_level_1_sleep_kills_the_host(p):
    """Each engine backs up 78 GB of weights in pinned memory when it sleeps; the host runs out, and Ray kills it."""
    engine = p.start("engine", RANK="0")
    engine.go()
    engine.process.kill()
    engine.process.wait()
    raise SystemExit("ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on memory")


def t11_level_1_sleep_kills_the_host_engine(p):
    p.begin()
    pool = Pool(p, CUMEM, [gib(78e9 / GIB / 6)] * 6)
    with p.phase("gen"):
        pool.wake()
        p.moment("generated")
    with p.phase("rollout.wake_sleep"):
        p.pinned(CUMEM, 78 * 10**9)
        pool.sleep()
        p.moment("asleep")
        yield
    yield


def t12_saver_tag_is_reused(p):
    """The draft model's weights lie in memory with the tag kv_cache; when that pauses, they are gone: an illegal access, not a lack."""
    p.begin(snapshots=True)
    weights = Pool(p, TMS, [5 * GIB] * 3, (1, 1), ("model_runner.py", 700, "load_model"))
    kv = Pool(p, TMS, [4 * GIB] * 6, (1, 2), ("memory_pool.py", 400, "_create_buffers"))
    draft = kv.at[5]
    p.books.segments[draft] = p.books.segments[draft][:4] + (("eagle_worker.py", 120, "load_draft_model"),)
    weights.wake()
    kv.wake()
    with p.phase("gen"):
        p.moment("generated")
    with p.phase("rollout.wake_sleep"):
        kv.sleep()
        p.moment("paused")
    p.die("RuntimeError: CUDA error: an illegal memory access was encountered")


def t13_ipc_buckets_outlive_the_sync(p):
    """Each sync makes buckets that the receiver opens twice and closes once; the sender cannot free them, and one day lacks them."""
    receiver = p.start("receiver", RANK="1")
    p.begin()
    receiver.go()
    p.take(TORCH, 10 * GIB, 3)
    for step in range(6):
        with p.phase("update_weights"):
            handle = (ctypes.c_ubyte * 64)()
            for at in p.take(TORCH, BUCKET, 2):
                p.must(TORCH, "cuIpcGetMemHandle", ctypes.addressof(handle), at)
                receiver.go(bytes(handle).hex())
            p.moment("sync %d" % step)
        with p.phase("update_actor"):
            room = p.take(TORCH, 32 * GIB)
            p.moment("trained")
            if not room:
                p.die("torch.OutOfMemoryError: CUDA out of memory")
            p.must(TORCH, "cuMemFree_v2", room[0])
            p.count(TORCH, -32 * GIB)


def t13_ipc_buckets_outlive_the_sync_receiver(p):
    class Handle(ctypes.Structure):  # passed by value
        _fields_ = [("bytes", ctypes.c_ubyte * 64)]

    p.begin()
    handle = yield
    while handle:
        opened = [ctypes.c_uint64(), ctypes.c_uint64()]
        for at in opened:
            assert not p.cuda.cuIpcOpenMemHandle_v2(ctypes.byref(at), Handle.from_buffer_copy(bytes.fromhex(handle)), 1)
        p.must(TORCH, "cuIpcCloseMemHandle", opened[0].value)
        handle = yield


def t16_ipc_of_virtual_memory(p):
    """_share_cuda_ on memory of torch_memory_saver: invalid argument."""
    p.begin(snapshots=True)
    p.books.settings = {"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True", "expandable_segments": True}
    pool = Pool(p, TMS, [2 * GIB] * 4, (0, 0), ("torch/multiprocessing/reductions.py", 268, "reduce_tensor"))
    pool.wake()
    with p.phase("update_weights"):
        handle = (ctypes.c_ubyte * 64)()
        p.moment("loaded")
        result = p.call(TORCH, "cuIpcGetMemHandle", ctypes.addressof(handle), pool.at[0])
        assert result == 1, result
        p.die("torch.AcceleratorError: CUDA error: invalid argument")


def t30_nccl_cannot_allocate(p):
    """PyTorch has reserved 113 GiB, of which 57 are in use; NCCL asks the driver for what is cached there."""
    p.begin(snapshots=True)
    p.take(NCCL, 64 * MIB, 4)
    for _ in range(8):
        p.segment(7 * GIB)
    p.segment(GIB)
    for _ in range(8):
        p.segment(7 * GIB, 0)
    with p.phase("update_actor"):
        p.moment("trained")
        if p.create(NCCL, 2 * GIB)[0] == OOM:
            p.die("torch.distributed.DistBackendError: NCCL error: ncclUnhandledCudaError; Failed to CUDA calloc")


def t31_many_communicators(p):
    """544 MiB for every group; 1.6 GiB become 6 with the number of groups."""
    p.begin()
    p.take(TORCH, 8 * GIB, 2)
    with p.phase("init"):
        for n in range(12):
            p.take(NCCL, GROUP)
            p.moment("group %d" % n)
    with p.phase("update_actor"):
        p.moment("trained")


def captured(p, utilisation):
    """Weights, a cache that fills the share, then the graphs: each a segment of a private pool and what the driver needs for it."""
    p.begin()
    card, context = 80 * GIB, 500 * MIB
    with p.phase("rollout.load"):
        Pool(p, CUMEM, [5 * GIB] * 3).wake()
    with p.phase("rollout.kv_alloc"):
        Pool(p, CUMEM, [gib((card * utilisation - context - 15 * GIB) / GIB / 8)] * 8).wake()
        p.moment("cache")
    with p.phase("rollout.graph"):
        for _ in range(20):
            if not p.take(TORCH, 94 * MIB):
                p.die("torch.OutOfMemoryError: CUDA out of memory")
            graph, run = ctypes.c_uint64(), ctypes.c_uint64()
            p.must(TORCH, "cuGraphCreate", ctypes.addressof(graph), 0)
            p.must(TORCH, "cuGraphInstantiateWithFlags", ctypes.addressof(run), graph.value, 0)
        p.moment("captured")
    with p.phase("gen"):
        p.moment("generated")


def t32_graphs_after_the_cache(p):
    captured(p, 0.98)


def t32_graphs_after_a_smaller_cache(p):
    captured(p, 0.97)


def t34_leftover_process(p):
    """60 GiB are held by processes of an earlier job before this one starts."""
    p.begin()
    pool = Pool(p, CUMEM, [4 * GIB] * 8)
    with p.phase("rollout.load"):
        p.moment("started")
        if not pool.wake():
            p.die("RuntimeError: CUDA Error: out of memory at /workspace/csrc/cumem_allocator.cpp:62")


def t35_contexts_of_other_ranks(p):
    """Fifteen other ranks have made GPU 0 current before they chose their own: 1.19 GiB each."""
    others = []
    for n in range(15):
        others.append(p.start_app("init", "device:0", "print:ready", "sleep:60000", RANK=str(n + 1)))
        others[n].stdout.readline()
    p.begin()
    with p.phase("train"):
        p.moment("started")
        failed = len(p.take(TORCH, GIB, 6)) < 6
        free = p.free()
        time.sleep(0.1)
        for other in others:
            other.kill()
            other.wait()
        if failed:
            p.die("torch.OutOfMemoryError: CUDA out of memory; %d free" % free)


def t35_rank_0_holds_more(p):
    """The other rank has a context on GPU 0 too; why was not said."""
    other = p.start("other", RANK="1")
    p.begin(0)
    other.go()
    with p.phase("update_actor"):
        p.take(TORCH, 10 * GIB, 4)
        p.moment("trained")
        other.go()


def t35_rank_0_holds_more_other(p):
    p.begin(1, 0)
    with p.phase("update_actor"):
        p.take(TORCH, 10 * GIB, 4)
        p.moment("trained")
        yield
    yield
