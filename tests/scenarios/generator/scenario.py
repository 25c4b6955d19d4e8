"""A scenario: what the job does, and what its diagnosis has to say. build() plays it."""

import pickle

from .engine import Whole
from .record import MIB, OutOfMemory, up

# Never right for bytes of the card: keys that do not exist or do nothing, and advice for the host's memory.
NEVER = ("V18", "V21", "V37", "V38", "V39", "V40", "V41", "V42", "V43", "V44", "X18", "A08", "A28")
ENGINE_ROLES, TRAINER_ROLES = ("kv_cache", "engine_weights", "graph_pool"), ("param", "grad", "optim_state")
KINDS = {"none": "peak", "fragmentation": "oom_fragmentation"}


class Scenario:
    """name; ticket: where the expectation comes from; job: switches that differ from generator/job.py's DEFAULTS; fail: place where
    memory has to run out,
    the card is made just small enough ("" = it never does); room: how much of the missing bytes the card has;
    late: it fails at the last of the requests that could, else at the largest.

    Expected: cause (id); phase (id,
    or several of which one will do); sub (one of these; () = any); top (role id with most bytes at
    the moment that matters; "" = not judged); must,
    must_not (fix ids); kind (of the verdict; follows from cause when not given);
    saves: {fix id: switches with that fix applied,
    or a function of the proposed value that returns them}; where: the place whose
    peak is compared before and after; loose: {fix id, or "ID/try" of the other value: why what is promised is more than a tenth off, and inside its
    range}; keeps: {fix id: (switches with that fix applied, whether it is said to be enough alone)}: what is said to be enough has to be, on the same
    card, to the end of the job; "holes": what is reserved and not live at the end, on the same card; request: bytes of the failed request; pieces: the free bytes would have held it, and that is not the cause; grows: (function, bytes a
    step) where something does,
    else nothing may be said to; lint, no_lint: ids of findings about the run's settings;
    sets, not_sets: {fix id: line or lines that its card has to, must not tell to type}; options: of `memtrace report`; files: {name: text, or a function of what
    was played} beside the snapshot; peers: switches of what the process does on its other devices, one each; strays: of what the ranks that do not fail do on the first
    device, beside their own, named in options; without a snapshot the first of them is the input; first: fix ids that stand first, in that
    order; not_top: that are not among the first three."""

    def __init__(self, name, ticket, job, fail="", room=0.5, cause="none", phase=(), sub=(), top="", must=(), must_not=(),
    kind="",
                 saves=None, where="", options=(), files=None, capacity=0, step=None, snapshot=True, ranks=None,
                 keeps=None, request=0, late=False, grows=None, lint=(), no_lint=(), sets=None, not_sets=None, pieces=False, loose=None, peers=(), strays=None,
                 first=(), not_top=()):
        self.name, self.ticket, self.job, self.fail, self.room = name, ticket, job, fail, room
        self.cause = (cause,) if isinstance(cause, str) else tuple(cause)
        self.phase = (phase,) if isinstance(phase, str) else tuple(phase)
        self.sub, self.top, self.request = tuple(sub), top, request
        # what helps the host's memory: where it ran out, or a scenario asks for it
        asked = {one.partition("/")[0] for ids in must for one in ids.split("|")}
        self.must, self.must_not = tuple(must), tuple(must_not) + (() if "host" in self.cause or asked & set(NEVER) else NEVER)
        self.kind = kind or (KINDS.get(self.cause[0], "oom_capacity") if snapshot else "")
        self.saves, self.where, self.options, self.files = saves or {}, where, tuple(options), files or {}
        self.capacity, self.step, self.snapshot, self.ranks, self.late = capacity, step, snapshot, ranks, late
        self.keeps = keeps or {}
        self.grows, self.lint, self.no_lint = grows, tuple(lint), tuple(no_lint)
        self.sets, self.not_sets, self.pieces, self.loose = sets or {}, not_sets or {}, pieces, loose or {}
        self.peers, self.strays = tuple(peers), strays
        self.first, self.not_top = tuple(first), tuple(not_top)
        self.must += self.first

    def dry(self, **changes):
        last = self.ranks[-1] if self.ranks else {}  # that fails
        job = Whole(dict(self.job, **{**last, **changes}), dry=True)
        job.play()
        return job.truth


def serves(segment, oom):
    """Whether the failed request could have come from this segment."""
    return segment.pool == (0, 0) and segment.stream == oom["stream"] and segment.small == (oom["size"] <= MIB)


class Played:
    """A snapshot and the truth about it."""

    def __init__(self, job, failed):
        self.truth, self.failed = job.truth, failed
        self.capacity = job.run.gpu.capacity - job.asleep
        self.card = self.capacity + job.foreign
        self.foreign, self.leaked = job.foreign, sum(b.requested for b in job.held)
        self.pending = sum(b.size for b in job.run.gpu.delayed)
        self.request = failed.args[0] if failed else 0
        self.reserved = job.run.gpu.reserved
        self.holes = self.reserved - job.truth.total
        self.live = dict((role, n) for role, n in job.truth.live.items() if n)
        last = job.run.gpu.trace[-1] if failed else None
        self.free = sum(b.size for s in job.run.gpu.segments if last is None or serves(s, last)
                        for b in s.blocks if b.mapped and b.state == "inactive")
        self.device_free = job.run.gpu.capacity - job.run.gpu.reserved
        self.data = pickle.dumps(job.run.snapshot(), protocol=4)

    def cures(self):
        """What would have been free without the cause."""
        engine = sum(n for role, n in self.live.items() if role in ENGINE_ROLES)
        if self.truth.where.startswith("rollout"):
            engine = sum(n for role, n in self.live.items() if role in TRAINER_ROLES)
        return {"stale_engine": engine, "leak": self.leaked, "pending_frees": self.pending, "foreign": self.foreign}

    @property
    def fragmented(self):
        """Whether the free bytes would have held the request, had they been in one piece."""
        return self.request > 0 and self.free + self.device_free >= self.request

    def roles(self):
        """At the moment that matters: the failed request, else the peak."""
        return self.live if self.failed else self.truth.roles_at_peak()


def on_devices(*snapshots):
    """One snapshot of a process that has a device for each; None = it does nothing there."""
    whole = dict(next(s for s in snapshots if s), device_traces=[s["device_traces"][0] if s else [] for s in snapshots], segments=[])
    for device, one in enumerate(snapshots):
        whole["segments"] += [dict(segment, device=device) for segment in (one["segments"] if one else [])]
    return pickle.dumps(whole, protocol=4)


def play(spec, capacity):
    job, failed = Whole(spec, up(capacity, 2 * MIB)), None
    try:
        job.play()
    except OutOfMemory as error:
        failed = error
    return Played(job, failed)


class Wrong(Exception):
    """The scenario itself is wrong: what it says of the job does not happen."""


def build(s, rank=None):
    """Plays a scenario, on a card of the size at which it fails where it says it does."""
    spec = dict(s.job, **(s.ranks[rank] if rank is not None else {}))
    if not s.fail:
        played = play(spec, s.capacity or 1 << 42)
        if played.failed:
            raise Wrong("ran out of memory, in %s" % played.truth.where)
        return played
    if s.capacity:
        return judge(s, play(spec, s.capacity))
    dry = Whole(spec, dry=True)
    dry.play()
    records = [r for r in dry.truth.records if r[3].startswith(s.fail) and (s.step is None or r[2] == s.step)]
    tried = []
    order = sorted(records, key=lambda r: -r[0] if s.late else r[1] - r[0])
    for high, before, _step, _where in order[:6]:
        for part in (s.room, 0.8, 0.95):
            try:
                return judge(s, play(spec, before + spec.get("foreign", 0) + int((high - before) * part)))
            except Wrong as wrong:
                tried.append(str(wrong))
    raise Wrong("no card on which it fails in %s (records: %s; tried: %s)"
                % (s.fail, sorted({r[3] for r in dry.truth.records}), "; ".join(sorted(set(tried)))))


def judge(s, played):
    if not played.failed:
        raise Wrong("did not run out of memory")
    if played.device_free < 0:
        raise Wrong("others hold more than the card has left")
    if not played.truth.where.startswith(s.fail) or (s.step is not None and played.truth.step != s.step):
        raise Wrong("failed in %s of step %d" % (played.truth.where, played.truth.step))
    for cause, cure in played.cures().items():
        if s.cause == (cause,) and played.device_free + cure < played.request:
            raise Wrong("it would not have fitted without that either: %s, %d" % (cause, cure))
    if played.fragmented != (s.pieces or "fragmentation" in s.cause):
        raise Wrong("%d free + %d on the device for a request of %d in %s"
                    % (played.free, played.device_free, played.request, played.truth.where))
    return played
