"""What a driver trace of each ticket has to show, written from the ticket. Who asked, for what, in which phase, who held the card then,
what a sleep left, whether it was survived; and the cause, where the ticket knows one (the jobs are in driver_jobs.py).

A failure: library, call, holder, phase, wake (part of a wake-up), fatal, request and held (bytes by holder at that moment, those that the
ticket is about). sleeps: (holder, what, bytes, left afterwards) in order. Why the residue of NeMo-RL 2619 grew and why rank 0 of vLLM 14011
held more was not told: the evidence has to be there, and of the latter no cause. That the host killed a worker is in the host's log; without
it, a worker with much pinned memory that somebody ended on purpose looks the same, so there the evidence is shown and no cause."""

import dataclasses

from driver_numbers import BUCKET, GIB, GROUP, MIB, RESIDUE, gib

ENGINE = "engine"
CUMEM, TORCH, NCCL = "cumem_allocator.abi3.so", "libc10_cuda.so", "libnccl.so.2"
VERL = ("actor_rollout_ref.rollout.name=vllm", "actor_rollout_ref.rollout.free_cache_engine=True")


@dataclasses.dataclass
class Ticket:
    name: str
    ticket: str
    failures: tuple = ()
    sleeps: tuple = None
    cause: tuple = ("none",)
    env: dict = dataclasses.field(default_factory=dict)
    words: tuple = ()
    card: int = 80 * 1024  # MiB
    status: int = 1
    lint: tuple = ()
    not_lint: tuple = ()
    reconciled: dict = None
    others: int = 0  # bytes of processes that are not of the job, from the first sample on
    log: str = ""  # what the host wrote; the report with it has the cause log_cause, the report without it has `cause`
    log_cause: str = ""
    first: tuple = ()  # rules, one of them at the head of what is to be changed
    more: tuple = ()  # (name of the check, function of the report -> what is wrong, or a falsehood)


def failure(library, call, holder, phase, held=None, wake=False, fatal=True, request=None, survived=False):
    return {"library": library, "call": call, "holder": holder, "phase": phase, "held": held or {}, "in_wake": wake, "fatal": fatal,
            "request_bytes": request, "survived": survived}


def not_offered(rule):
    """There is nobody else on the card, so nothing is to be done about others."""
    return lambda report: rule in [a["id"] for a in report["advice"]] and "offers " + rule


def row(report, holder, ledger=0):
    return [r for r in report["job"]["ledgers"][ledger]["focus"]["rows"] if r["holder"] == holder]


def communicators(report):
    got = [(r["library"], r["bytes"], r["live_allocations"]) for r in row(report, "nccl")]
    return got != [(NCCL, 12 * GROUP, 12)] and got


def staircase(report):
    """Equal steps of NCCL's column, one per group."""
    held = sorted(set(report["job"]["ledgers"][0]["columns"]["nccl"]) - {0})
    return held != [n * GROUP for n in range(1, 13)] and held


def fifteen_contexts(report):
    got = [r["bytes"] for r in row(report, "context")]
    return got != [1219 * MIB] * 16 and got


def overlap(report):
    """Memory ran out between the first and the last unmap of the other process."""
    job = report["job"]
    return not [1 for s in job["sleeps"] for f in job["failures"] if s["is"] == "sleep" and s["process"] != f["process"]
                and s["first_time_ns"] < f["time_ns"] < s["last_time_ns"] and s["ledger"] == f["ledger"]] and job["sleeps"]


def opened_twice(report):
    """The receiver opened every bucket twice."""
    got = [p["imports"] for p in report["job"]["processes"] if p["rank"] == 1]
    return got != [24] and got


def backed_up(report):
    got = [(p["pinned_peak_bytes"], p["end"], p["end_status"]) for p in report["job"]["processes"] if p["rank"] == 0]
    if got not in ([(78 * 10**9, "signal", 9)], [(78 * 10**9, "gone", None)]):  # Ray's own parent sees the signal
        return got
    held = [(p["pinned_end_bytes"], p["pinned_grown_bytes"]) for p in report["job"]["processes"] if p["rank"] == 0]
    said = "while it held 72.64 GiB of pinned host memory" in report["job"]["because"]
    return (held != [(78 * 10**9, 78 * 10**9)] or not said) and (held, report["job"]["because"])


def cached(live, reserved):
    """PyTorch's books at the end: what is in use of what is reserved outside private pools."""
    def wrong(report):
        got = [[(p["active_bytes"], p["reserved_bytes"]) for p in d["pools"] if p["pool_id"] in (None, [0, 0])] for d in report["devices"]]
        return got != [[(live, reserved)]] and got
    return wrong


def awake_then(report):
    """The engine woke in the phase in which memory ran out."""
    job = report["job"]
    f = job["failures"][0]
    return not [1 for s in job["sleeps"] if s["is"] == "wake" and s["last_time_ns"] < f["time_ns"]
                and s["bytes"] == s["left_bytes"] == f["held_bytes"][ENGINE]] and job["sleeps"]


def gone_block(report):
    """Whose memory it is that is not there any more."""
    return "load_draft_model" not in str(report["job"]["reconciled"]) + str([d["audits"] for d in report["devices"]]) and "not named"


def invalid_value(report):
    got = [(p["failed_calls"], p["out_of_memory_calls"]) for p in report["job"]["processes"] if p["calls"]]
    return got != [(1, 0)] and got


def reserved_above_card(report):
    r = report["job"]["reconciled"][0]
    return not r["torch_reserved_bytes"] > report["job"]["ledgers"][0]["capacity_bytes"] > r["driver_held_bytes"] and r


def rank_0_higher(report):
    a, b = report["job"]["ledgers"]
    contexts = [len(row(report, "context", n)) for n in (0, 1)]
    return not (a["recorded_peak_bytes"] - b["recorded_peak_bytes"] == 500 * MIB and contexts == [2, 1]) and (contexts, a["name"])


def asleep(n, left=0):
    return ENGINE, "sleep", n, left


def awake(n, left=None):
    return ENGINE, "wake", n, n if left is None else left


TICKETS = [
    Ticket("t01-expandable-segments-defeat-sleep", "vLLM PR 11743, PR 14189; PyTorch 147851, PR 40812; OpenRLHF PR 1274; NeMo-RL 2471",
           (failure(TORCH, "cuMemCreate", "torch", "train_actor", {"torch": gib(73.15) + 6 * GIB, "engine": 0}, request=512 * MIB),),
           sleeps=(), cause=("stale_engine",), env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, words=VERL,
           lint=("expandable-sleep",), not_lint=("alloc-conf-alias",), first=("B42",),
           reconciled={"matched_bytes": gib(73.15) + 6 * GIB, "unmapped_bytes": 0, "unseen_bytes": 0}),
    Ticket("t02-alias-that-vllm-does-not-read", "TRL PR 5794",
           (failure(TORCH, "cuMemCreate", "torch", "train_actor"),), sleeps=(), cause=("stale_engine",),
           env={"PYTORCH_ALLOC_CONF": "expandable_segments:True"}, words=VERL, lint=("alloc-conf-alias",)),
    Ticket("t03-counters-count-what-is-unmapped", "vLLM 33625, 17117; verl PR 1101", status=0, card=140 * 1024,
           sleeps=(awake(120 * GIB), asleep(120 * GIB)), lint=("torch-counts-more",),
           reconciled={"torch_reserved_bytes": gib(198.68), "matched_bytes": gib(78.68), "unmapped_bytes": 120 * GIB, "unseen_bytes": 0},
           more=(("reserved-above-card", reserved_above_card),)),
    Ticket("t04-wake-up-runs-out", "vLLM PR 12981; NeMo-RL PR 3280: the cache is several GiB larger at the same utilisation",
           (failure(CUMEM, "cuMemCreate", ENGINE, "rollout.wake_sleep", {"torch": 30 * GIB, "engine": 45 * GIB}, True, request=gib(7.5)),),
           sleeps=(awake(60 * GIB), asleep(60 * GIB), awake(45 * GIB)), cause=("capacity",)),
    Ticket("t05-failed-wake-leaks", "vLLM PR 34600, PR 34602",
           (failure(CUMEM, "cuMemCreate", ENGINE, "rollout.wake_sleep", {"torch": 40 * GIB, "engine": 32 * GIB}, True, False, 8 * GIB),
            failure(TORCH, "cuMemAlloc", "torch", "train_actor", {"torch": 40 * GIB, "engine": 32 * GIB}, request=12 * GIB)),
           sleeps=(awake(48 * GIB), asleep(48 * GIB), awake(32 * GIB)), cause=("stale_engine",)),
    Ticket("t06-wake-overlaps-the-all-gather", "verl 6772, PR 6729",
           (failure(TORCH, "cuMemAlloc", "torch", "weight_sync", {"engine": 8 * gib(36.6e9 / 8 / GIB)}, request=gib(3e9 / GIB)),),
           cause=("capacity",), more=(("wake-before", awake_then),)),
    Ticket("t07-cache-not-emptied", "verl 632, PR 556",
           (failure(CUMEM, "cuMemCreate", ENGINE, "rollout.wake_sleep", {"torch": 45 * GIB, "engine": 30 * GIB}, True, request=5 * GIB),),
           cause=("stale_engine",), reconciled={"matched_bytes": 75 * GIB, "unmapped_bytes": 10 * GIB, "unseen_bytes": 0},
           more=(("cached", cached(12 * GIB, 45 * GIB)),)),
    Ticket("t08-residue-grows-per-step", "NeMo-RL 2619: 4.11, 11.57, 25 GiB still in use",
           (failure(TORCH, "cuMemAlloc", "torch", "logp_old", {"torch": 30 * GIB, "engine": RESIDUE[-1]}, request=26 * GIB),),
           sleeps=tuple(asleep(12 * GIB, n) for n in RESIDUE), cause=("leak", "stale_engine"), lint=("sleep-residue",)),
    Ticket("t09-residue-by-design", "NeMo-RL 223; vLLM PR 46234, PR 51485, PR 45623, PR 47700", status=0,
           sleeps=(awake(48 * GIB),) + (asleep(48 * GIB), awake(48 * GIB)) * 2 + (asleep(48 * GIB),), not_lint=("sleep-residue",)),
    Ticket("t10-release-returns-too-early", "slime PR 578, PR 579, PR 591",
           (failure(TORCH, "cuMemAlloc", "torch", "train_actor", {"torch": 40 * GIB, "engine": 30 * GIB}, request=10 * GIB),),
           sleeps=(awake(48 * GIB), asleep(48 * GIB)), cause=("stale_engine",), more=(("overlap", overlap),)),
    Ticket("t10-release-is-waited-for", "slime PR 579: wait until what is needed is free", (failure(TORCH, "cuMemAlloc", "torch", "train_actor",
           {"torch": 40 * GIB, "engine": 30 * GIB}, fatal=False, request=10 * GIB, survived=True),), status=0,
           sleeps=(awake(48 * GIB), asleep(48 * GIB))),
    Ticket("t11-level-1-sleep-kills-the-host", "vime PR 190, PR 191; NeMo-RL PR 2523", sleeps=(awake(6 * gib(78e9 / GIB / 6)),
           asleep(6 * gib(78e9 / GIB / 6))), more=(("pinned", backed_up),), log_cause="host",
           log="[91827.100000] Out of memory: Killed process 4242 (ray::WorkerDict) total-vm:412000000kB, anon-rss:91000000kB, "
               "file-rss:0kB, shmem-rss:74000000kB, UID:0 pgtables:200000kB oom_score_adj:0\n"),
    Ticket("t12-saver-tag-is-reused", "torch_memory_saver 85: weights in memory with the tag kv_cache", sleeps=(awake(39 * GIB),
           asleep(24 * GIB, 15 * GIB)), reconciled={"matched_bytes": 15 * GIB, "unmapped_bytes": 24 * GIB, "unseen_bytes": 0},
           more=(("gone-block", gone_block),)),
    Ticket("t13-ipc-buckets-outlive-the-sync", "SGLang 17870: opened twice, closed once; slime PR 1731; miles PR 3147",
           (failure(TORCH, "cuMemAlloc", "torch", "train_actor", {"torch": 30 * GIB + 12 * BUCKET}, request=32 * GIB),), cause=("leak",),
           more=(("opened-twice", opened_twice),)),
    Ticket("t16-ipc-of-virtual-memory", "slime 2188; torch_memory_saver 36; SkyRL PR 1768",
           env={"PYTORCH_CUDA_ALLOC_CONF": "expandable_segments:True"}, lint=("ipc-expandable", "saver-expandable"),
           more=(("invalid-value", invalid_value),)),
    Ticket("t30-nccl-cannot-allocate", "slime 956, PR 1088; miles PR 2199: 113 GiB reserved for 57",
           (failure(NCCL, "cuMemCreate", "nccl", "train_actor", {"torch": 113 * GIB, "nccl": 256 * MIB}, request=2 * GIB),),
           card=115 * 1024, cause=("foreign",), first=("B04",), reconciled={"matched_bytes": 113 * GIB, "unmapped_bytes": 0},
           more=(("cached", cached(57 * GIB, 113 * GIB)), ("no-others", not_offered("B35")))),
    Ticket("t31-many-communicators", "NCCL 864: 1.6 -> 6 GB; NCCL 964: 544 MB per group", status=0, sleeps=(),
           more=(("communicators", communicators), ("staircase", staircase))),
    Ticket("t32-graphs-after-the-cache", "vLLM 57475: a utilisation of 0.98 fails", (failure(TORCH, "cuMemAlloc", "torch", "rollout.graph",
           {"torch": 15 * 94 * MIB, "graphs": 15 * 10 * MIB}, request=94 * MIB),), env={"FAKE_GRAPH_KB": 10240}, cause=("capacity",)),
    Ticket("t32-graphs-after-a-smaller-cache", "vLLM 57475: 0.97 works", status=0, env={"FAKE_GRAPH_KB": 10240}),
    Ticket("t34-leftover-process", "vLLM 20860, 4241; Ray 54364; GraphGen 130",
           (failure(CUMEM, "cuMemCreate", ENGINE, "rollout.load", {"other": 60 * GIB, "engine": 16 * GIB}, request=4 * GIB),),
           env={"FAKE_OTHER_MB": 60 * 1024}, cause=("foreign",), others=60 * GIB, lint=("foreign-start",), first=("B35",)),
    Ticket("t35-contexts-of-other-ranks", "returnn 1466: fifteen processes of 1.19 GiB on GPU 0",
           (failure(TORCH, "cuMemAlloc", "torch", "train", {"torch": 4 * GIB, "context": 16 * 1219 * MIB}, request=GIB),),
           env={"FAKE_CONTEXT_MB": 1219, "RANK": 0}, card=24 * 1024, cause=("foreign",), lint=("contexts-on-one-gpu",), first=("B43",),
           more=(("contexts", fifteen_contexts),)),
    Ticket("t35-rank-0-holds-more", "vLLM 14011", env={"FAKE_GPUS": 2, "RANK": 0}, status=0,
           more=(("rank-0-higher", rank_0_higher),)),
]
