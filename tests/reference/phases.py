"""Phase attribution by frames, the slow and plain way: the reference the C code is compared with.

The rules are written down in README.md beside this file. Input of classify() is one list of frames as it stands in a
snapshot: dicts with name, filename and line, innermost first."""

import json
import re

# Ids of the two vocabularies. A row of the signature table whose phase is in neither is a container or a role marker.
COARSE = {
    "init",
    "rollout.init",
    "rollout.load",
    "rollout.profile",
    "rollout.kv_alloc",
    "rollout.graph",
    "rollout.generate",
    "rollout.prefill",
    "rollout.decode",
    "rollout.wake_sleep",
    "logp_old",
    "logp_ref",
    "logp",
    "values",
    "reward",
    "adv",
    "train_actor",
    "train_critic",
    "train",
    "infer",
    "weight_sync",
    "onload_offload",
    "ckpt_save",
    "ckpt_load",
    "eval",
}
SUB = {
    "forward",
    "loss",
    "logits",
    "backward",
    "recompute",
    "fsdp_unshard",
    "grad_reduce",
    "grad_clip",
    "optimizer",
    "optim_state_init",
    "zero_grad",
    "onload_offload",
    "rollout.sample",
    "comm",
    "compile",
    "compile.autotune",
}
TRAINING = {"train", "train_actor", "train_critic"}
CALL_PASSES = {"trl", "swift", "prime_rl", "llamafactory", "torchtune"}  # a step or loop of theirs calls passes without gradients too
ANYWHERE = {"weight_sync", "rollout.wake_sleep", "ckpt_save", "ckpt_load"}  # these win below anything
IMPLIES_TRAIN = {
    "backward",
    "recompute",
    "optimizer",
    "optim_state_init",
    "grad_reduce",
    "grad_clip",
    "zero_grad",
}
OUTER_INIT = {"init", "rollout.init"}
INTERRUPTS = ANYWHERE | {"onload_offload"}  # a forward goes on in what was there before
BACKWARDS = {"backward", "recompute", "grad_reduce"}
STEPS = {"grad_clip", "optimizer", "optim_state_init", "zero_grad"}
FORWARDS = {"forward", "loss", "logits", "fsdp_unshard", "compile", "compile.autotune"}
AUTOGRAD_THREAD = {"engine", "outermost", "run", "window"}

ENGINE = re.compile(
    r"torch::autograd::(Engine|python::PythonEngine)::"
    r"|torch::autograd::Node::operator\(\)"
    r"|Backward\d*(_copy)?::apply"
    r"|AccumulateGrad::apply"
)
NAME_FORWARD = re.compile(r"(^|_)(forward|attention|mlp|embedding)|loss|cross_entropy|softmax|logits")


def normal(filename):
    return (filename or "").replace("\\", "/")


TORCH = re.compile(
    r"(-packages|pytorch)/torch/.|(^|/)torch/(_|(accelerator|amp|ao|autograd|backends|compiler|contrib|cpu|csrc|cuda|distributed|distributions|export|fft|func"
    r"|functional\.py|futures|fx|hub\.py|jit|lib|library\.py|linalg|masked|monitor|mps|mtia|multiprocessing|nested|nn|onnx|optim|package"
    r"|overrides\.py|profiler|quantization|quasirandom\.py|random\.py|serialization\.py|signal|sparse|special|storage\.py|tensor\.py"
    r"|testing|utils|xpu)(/|$))",
    re.S,
)


def is_torch(file):
    """A file of PyTorch's own; a job may lie in a folder called torch."""
    return bool(TORCH.search(file))


def is_python(frame):
    name = normal(frame.get("filename"))
    return name.endswith(".py") or name.startswith("<") or "/ipykernel_" in name


def read_table(path):
    """Rows (level, phase, framework, file suffix, function, status) of a .tsv table or of the project's phases.json."""
    with open(path, encoding="utf-8") as table:
        if path.endswith(".json"):
            return [
                (r["level"], r["phase"], r["framework"], r["file"], r["function"], r["status"])
                for r in json.load(table)["phases"]
                if r["level"] not in "AN" and "last_call" not in r
            ]  # A: names of annotations, N: of functions in any file; last_call: of one line, by all stacks of a trace together
        rows = [line.rstrip("\n").split("\t") for line in table if not line.startswith("#")]
        return [tuple(row[:6]) for row in rows if row[0] != "level" and len(row) >= 6]


def read_names(path):
    """Phase by the name of a function of the job's own."""
    if not path.endswith(".json"):
        return {}
    with open(path, encoding="utf-8") as table:
        return {r["function"]: r["phase"] for r in json.load(table)["phases"] if r["level"] == "N" and r.get("gradients") != "kept"}


def is_own(file):
    return not ("-packages/" in file or is_torch(file) or file.startswith(("<frozen", "<string")))


class Rules:
    """The signature table by function, so that a frame costs one look-up."""

    def __init__(self, path):
        self.by_function = {}
        self.names = read_names(path)
        for level, phase, framework, suffix, function, status in read_table(path):
            self.by_function.setdefault(function, []).append((suffix, level, phase, framework, status))

    def match(self, frame):
        file = normal(frame.get("filename"))
        rows = self.by_function.get(frame.get("name"), ())
        return [row for row in rows if file == row[0] or file.endswith("/" + row[0])]


class Marks:
    """What one stack says by itself."""

    def __init__(self):
        self.empty = False  # no frame at all
        self.python = False  # has a Python frame
        self.coarse = None  # by a C row, or by an S row of ANYWHERE: decides, and is carried
        self.coarse_s = None  # by an S row with a coarse id: decides for its own event only
        self.sub = None
        self.role = None  # innermost M row with a phase id, further in than the innermost S row
        self.method = "none"  # marker, engine, outermost, module, name, none
        self.make_grads = False
        self.named = None  # by the name of the outermost such function, where nothing else tells; for its own event only


def one_row(rows, level):
    for row in rows:
        if row[1] == level:
            return row
    return None


def one_phase(rows, level):
    row = one_row(rows, level)
    return row[2] if row else None


def pick_coarse(marks):
    """marks: C rows from the innermost to the outermost frame as (phase, frameworks, status). Gives the one that counts."""
    for mark in marks:
        if mark[0] in ANYWHERE:
            return mark
    useful = [mark for mark in marks if mark[0] != "onload_offload"]
    if not useful:
        return marks[-1] if marks else None
    at = len(useful) - 1
    while useful[at][0] in OUTER_INIT:  # a container of more telling calls: step inwards
        inner = at - 1
        while inner >= 0 and useful[inner][0] == useful[at][0]:
            inner -= 1
        if inner < 0:
            break
        at = inner
    phase, frameworks, _ = useful[at]
    for mark in reversed(useful[:at]):  # outermost first
        inner, names, _ = mark
        if phase == "rollout.generate" and inner in ("rollout.prefill", "rollout.decode"):
            return mark
        if phase == "rollout.profile" and inner == "rollout.graph":  # warming up ends with the graphs
            return mark
        if phase == "train_actor" and frameworks & names & {"slime", "relax"} and inner in ("logp", "logp_old", "logp_ref"):
            return mark
        inside = CALL_PASSES if inner != "init" else {"prime_rl"}
        if phase in TRAINING and names & inside and inner not in TRAINING:
            return mark
    return useful[at]


def by_name(out, python, hits):
    """The innermost function outside PyTorch whose name says what it does; one with a row of its own needs no guess."""
    for frame, rows in zip(python, hits):
        file = normal(frame["filename"])
        if rows or is_torch(file):
            continue
        if frame["name"] == "backward":
            out.sub, out.method = "backward", "name"
            return
        if NAME_FORWARD.search(frame["name"]):
            out.sub, out.method = "forward", "name"
            return


def last_resort(rules, python, out):
    """Names that need no proof that the function runs without gradients."""
    names = [rules.names[f["name"]] for f in python if f["name"] in rules.names and is_own(normal(f["filename"]))]
    if not names or out.coarse or out.coarse_s or out.method in ("engine", "outermost"):
        return
    if names[-1] in TRAINING:
        out.coarse = names[-1]
    elif names[-1] in ("logp_ref", "weight_sync") and out.sub not in IMPLIES_TRAIN:
        out.named = names[-1]


def presumed(rules, python, hits):
    """By the outermost P row, unless the outermost name of the job's own says that weights are sent."""
    names = [rules.names[f["name"]] for f in python if f["name"] in rules.names and is_own(normal(f["filename"]))]
    found = [(row[2], {row[3]}, row[4]) for row in (one_row(rows, "P") for rows in hits) if row]
    return found[-1] if found and not (names and names[-1] == "weight_sync") else None


def fetches_weights(hits):
    """The innermost S rows are of set-up, and a module call stands further out: a layer that fetches its weights."""
    called = [one_phase(rows, "W") is not None for rows in hits]
    for index, rows in enumerate(hits):
        row = one_phase(rows, "S")
        if row is None:
            continue
        if row != "init":
            return False
        if any(called[index + 1 :]):
            return True
    return False


def innermost(hits):
    """Where the innermost S row stands. That of module.to() in a function that brings a model back does not count."""
    at, found, called = None, None, False
    for index in range(len(hits) - 1, -1, -1):
        row = one_phase(hits[index], "S")
        if row is not None and not (row == "init" and found == "onload_offload" and not called):
            at, found, called = index, row, False
        called = called or one_phase(hits[index], "W") is not None
    return at, found


def classify(rules, frames):
    out = Marks()
    if not frames:
        out.empty = True
        return out
    python = [frame for frame in frames if is_python(frame)]
    out.python = bool(python)
    hits = [rules.match(frame) for frame in python]

    # C rows, outermost wins but for the exceptions
    marks = []
    for index, rows in enumerate(hits):
        for row in rows:
            if row[1] != "C":
                continue
            if python[index]["name"].startswith("_get_per_token_logps") and row[3] in CALL_PASSES:
                if any(frame["name"] in ("compute_loss", "_compute_loss") for frame in python[index + 1 :]):
                    continue
            same = {r[3] for r in rows if r[1] == "C" and r[2] == row[2]}
            if not marks or marks[-1][2] != (index, row[2]):
                marks.append((row[2], same, (index, row[2]), row[4]))
        for row in rows:
            if row[1] == "S" and row[2] in ANYWHERE:
                marks.append((row[2], {row[3]}, (index, row[2]), row[4]))
    best = pick_coarse([(phase, names, status) for phase, names, _, status in marks])
    best = best or presumed(rules, python, hits)
    out.coarse = best[0] if best else None

    # innermost S row; a module call and a role only count further in than that
    weak = doubtful = False
    at, found = innermost(hits)
    for rows in hits[:at]:
        roles = [row for row in rows if row[1] == "M" and row[2] in SUB - {"recompute", "grad_reduce"}]
        if out.role is None and roles:
            out.role, doubtful = roles[0][2], roles[0][4] == "U"
        weak = weak or one_phase(rows, "W") is not None
    if found is not None:
        out.method = "marker"
    fetched = found == "init" and not weak and fetches_weights(hits[at:])
    if fetched:
        out.sub = "onload_offload"
    elif found in COARSE:
        if out.coarse is None:
            out.coarse_s = found
        if weak:
            out.sub = "forward"
        elif found in SUB and out.coarse not in (None, found):
            out.sub = found
    elif found == "optimizer" and weak:
        out.sub = "forward"  # a closure runs the model inside optimizer.step
    elif found is not None:
        out.sub = found
    elif weak:
        out.sub, out.method = "forward", "module"
    else:
        by_name(out, python, hits)

    # certain backward, recomputation, reduction of gradients
    engine = any(ENGINE.search(frame.get("name") or "") for frame in frames if not is_python(frame))
    certain = engine or (bool(hits) and one_phase(hits[-1], "O") is not None)
    reduces = any(row[1] in "SM" and row[2] == "grad_reduce" for rows in hits for row in rows)
    recomputes = False
    for rows in hits:
        if any(row[1] == "M" and row[2] == "recompute" for row in rows):
            recomputes = True
            break
        if one_phase(rows, "S") == "backward":
            break  # its own backward has begun
    if certain:
        out.sub = "grad_reduce" if reduces else "recompute" if recomputes else "backward"
        out.coarse_s = None
        out.method = "engine" if engine else "outermost"
    elif recomputes:
        out.sub, out.coarse_s, out.method = "recompute", None, "marker"
    elif reduces and (out.sub == "backward" or (out.sub is None and out.coarse_s is None)):
        out.sub = "grad_reduce"

    # roles that say more than the sub-phase
    in_forward = not certain and out.sub in (None, "forward", "loss")
    if doubtful and best is not None and best[2] != "U":
        pass  # a row from memory does not make a checked phase look uncertain
    elif out.role in ("logits", "compile", "compile.autotune") and in_forward:
        out.sub = out.role
    elif out.role == "fsdp_unshard" and in_forward and out.sub != "loss":
        out.sub = out.role
    elif out.role == "optim_state_init" and out.sub == "optimizer":
        out.sub = out.role
    elif out.role == "comm" and out.sub is None:
        out.sub = out.role

    if out.coarse == "eval" and out.sub not in IMPLIES_TRAIN:
        outermost = max(i for i, mark in enumerate(marks) if mark[0] == "eval")
        inner = [phase for phase, _, _, _ in marks[:outermost] if phase.startswith("rollout.")]
        if inner:
            out.sub = inner[-1]
    last_resort(rules, python, out)
    for rows, frame in zip(hits, python):
        file = normal(frame["filename"])
        if frame["name"] == "_make_grads" and (file + "/").endswith("torch/autograd/__init__.py/"):
            out.make_grads = True
    return out


class Attribution:
    def __init__(self, phase, sub, method, role, sure):
        self.phase, self.sub, self.method, self.role, self.sure = phase, sub, method, role, sure


def attribute(rules, stacks):
    """stacks: the frames of the allocations of one device in trace order. Gives one Attribution for each."""
    cache = {}
    marks = []
    for frames in stacks:
        key = id(frames)
        if key not in cache:
            cache[key] = (frames, classify(rules, frames))
        marks.append(cache[key][1])

    subs = [m.sub for m in marks]
    methods = [m.method for m in marks]

    # runs of allocations without frames
    index = 0
    while index < len(marks):
        if not marks[index].empty:
            index += 1
            continue
        end = index
        while end < len(marks) and not marks[end].python:
            end += 1
        before = marks[index - 1] if index else None
        after = marks[end] if end < len(marks) else None
        how = None
        if before is not None and before.make_grads:
            how = "run"
        elif (
            before is not None
            and after is not None
            and before.coarse in TRAINING
            and before.coarse == after.coarse
        ):
            how = "window"
        for at in range(index, end):
            if how and marks[at].empty:
                subs[at], methods[at] = "backward", how
        index = end

    has_backward = any(sub in ("backward", "recompute") for sub in subs)

    # what each event says about the coarse phase by itself; only these are carried
    known = [mark.coarse for mark in marks]
    implied = [
        own is None and (sub in IMPLIES_TRAIN or (sub == "loss" and has_backward and mark.named is None))
        for own, sub, mark in zip(known, subs, marks)
    ]
    trains = trains_at_all(stacks)
    behind = [None] * len(
        marks
    )  # the next phase that is known: of its own, or training implied, on the main thread by any event
    after_any = after_main = None  # and on the autograd thread by one of the main thread
    for at in range(len(marks) - 1, -1, -1):
        autograd = methods[at] in AUTOGRAD_THREAD
        behind[at] = after_main if autograd else after_any
        if known[at] is not None:
            after_any = after_main = known[at]
        elif implied[at] and trains:
            after_any = "train"
            after_main = after_main if autograd else "train"
    base = None
    for at in range(len(marks)):
        if implied[at]:
            known[at] = base if base in TRAINING else behind[at] if behind[at] in TRAINING else "train" if trains else "unattributed"
        if known[at] is not None and known[at] not in INTERRUPTS:
            base = known[at]

    following = [None] * len(marks)
    ahead = None
    for at in range(len(marks) - 1, -1, -1):
        following[at] = ahead
        ahead = known[at] or ahead
    out = []
    last = base = None
    over = False  # a forward pass after mere set-up, and nothing known comes any more
    for at, mark in enumerate(marks):
        sub, ahead = subs[at], following[at]
        over = over or (sub in FORWARDS and base == "init" and ahead is None and known[at] is None and mark.coarse_s is None and mark.named is None)
        carried = base if sub in FORWARDS else last
        if over and carried == "init":
            carried = None
        if known[at] is not None:
            phase, sure = known[at], "inferred" if implied[at] else "marked"
            last = phase
            if phase not in INTERRUPTS:
                base = phase
        elif mark.coarse_s is not None:
            phase, sure = mark.coarse_s, "marked"
        elif mark.named is not None:
            phase, sure = mark.named, "low"
        elif sub in FORWARDS and (carried is None or carried in OUTER_INIT) and ahead in TRAINING:
            phase, sure = ahead, "inferred"
        elif carried is not None:
            phase, sure = carried, "carried"
            if sub in FORWARDS and sub != "fsdp_unshard" and carried not in OUTER_INIT and last in INTERRUPTS:
                last = base  # the model runs again: what follows is no longer the interruption's
        else:
            phase, sure = "unattributed", "none"
        out.append(Attribution(phase, sub, methods[at], mark.role, sure))
    between(stacks, out)
    return out


def trains_at_all(stacks):
    """Gradients by torch.autograd.grad alone, no module called and no optimizer: forces or scores of a sampler."""
    frames = [(f.get("name"), normal(f.get("filename"))) for one in {id(s): s for s in stacks}.values() for f in one]
    grad = "torch/autograd/__init__.py"
    if not any(name == "grad" and file.endswith(grad) for name, file in frames):
        return True
    return any(
        (name == "backward" and file.endswith((grad, "torch/_tensor.py")))
        or (name == "_call_impl" and file.endswith("torch/nn/modules/module.py"))
        or "torch/optim/" in file
        for name, file in frames
    )


def place_of(frames):
    """The innermost three lines outside of PyTorch; () = there are none."""
    own = [(normal(f.get("filename")), f.get("name"), f.get("line")) for f in frames if is_python(f)]
    return tuple(f for f in own if not (is_torch(f[0]) or f[0].startswith("<frozen") or is_standard(f[0])))[:3]


def is_standard(file):
    """A file of Python's own library."""
    return re.search(r"/lib/python3\.\d+/", file) is not None and "-packages/" not in file


def between(stacks, out):
    """What belongs to no training: come to before the first backward pass, and again only behind three steps without it, or eight passes."""
    steps = any(a.sub in STEPS for a in out)
    kind, apart = (STEPS, 3) if steps else (BACKWARDS, 8)
    turns, inside, trained = 0, False, False
    seen = {}  # by place: the turn of its last coming, whether it is rare, whether it came again
    first = len(out)
    for at, (frames, a) in enumerate(zip(stacks, out)):
        turns += a.sub in kind and not inside
        inside = a.sub in kind
        trained = trained or a.sub in BACKWARDS
        if trained and first == len(out):
            first = at
        if not may_be_set_up(frames, a):
            continue
        last, rare, again = seen.get(place_of(frames), (None, False, False))
        if last is None:
            rare = not trained
        elif last != turns:
            rare, again = rare and turns - last >= apart, True
        seen[place_of(frames)] = (turns, rare, again)
    for frames, a in list(zip(stacks, out))[first:]:
        place = place_of(frames)
        if place and may_be_set_up(frames, a) and seen[place][1:] == (True, True) and a.phase in TRAINING:
            a.phase, a.sure = "unattributed", "none"


def may_be_set_up(frames, a):
    return bool(frames) and a.sub is None and a.sure in ("none", "low", "carried")


def attribute_alone(rules, frames):
    """One stack without neighbours: a block that was allocated before the recording."""
    mark = classify(rules, frames)
    if mark.coarse is None and mark.sub in IMPLIES_TRAIN:
        phase, sure = "train", "inferred"
    elif mark.coarse or mark.coarse_s:
        phase, sure = mark.coarse or mark.coarse_s, "marked"
    elif mark.named:
        phase, sure = mark.named, "low"
    else:
        phase, sure = "unattributed", "none"
    return Attribution(phase, mark.sub, mark.method, mark.role, sure)
