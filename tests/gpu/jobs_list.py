"""How a job of jobs_*.py says what it is."""
import dataclasses

JOBS = {}


@dataclasses.dataclass
class Scaled:
    """A count that goes with the card: as written on one of 79.2 GiB."""
    value: float
    least: int = 1


@dataclasses.dataclass
class Change:
    label: str
    rules: list
    args: dict
    env: dict


@dataclasses.dataclass
class Job:
    name: str
    title: str
    run: object
    order: int
    args: dict
    changes: list
    ends: str = "oom"          # or ok: a peak
    libs: tuple = ()
    stacks: str = "python"
    entries: int = 60000
    dump: str = "except"       # or observer: at the failure itself
    env: dict = dataclasses.field(default_factory=dict)
    config: tuple = ()         # how its name ends, its text
    seconds: float = 3
    limit: float = 25
    before: object = None
    crowded: bool = False


def change(label, rules, env=None, **args):
    return Change(label, [r for r in rules.split() if r], args, env or {})


def job(order, title, args, changes, **more):
    def add(f):
        JOBS[f.__name__] = Job(f.__name__, title, f, order, args, changes, **more)
        return f
    return add
