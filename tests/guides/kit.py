"""What the tests of this folder share: settings as they are written, a report as cards, and what no card may do."""

import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
RULES = SOURCE / "analysis" / "rules"
NUMBER = re.compile(r"^-?\d+(\.\d+)?$")
LOWER = re.compile(r"\b(lower|fewer|smaller|less|reduce|shorter|cap)\b", re.I)
CONFIG = (".yaml", ".launch")


def load_settings():
    return json.loads((RULES / "settings.json").read_text(encoding="utf-8"))["settings"]


SETTINGS = load_settings()
DEFAULTS = {k["key"]: k["default"] for s in SETTINGS for k in s["keys"] if "default" in k and not k.get("common")}
LOGICAL = {"cluster.n_gpus_per_node": "node_gpus", "cluster.n_nodes": "job_nodes"}
for _row in SETTINGS:
    for _key in _row["keys"] if _row["logical"] != "older_flags" else ():
        LOGICAL.setdefault(_key["key"].lstrip("-"), _row["logical"])


def plain(value):
    """A value as it is compared: no quotes, no blanks, true and false in small letters."""
    value = re.sub(r"\s+", "", str(value)).strip("\"'")
    return value.lower() if value.lower() in ("true", "false", "yes", "no", "on", "off", "none", "null") else value


def number(value):
    return float(value) if value is not None and NUMBER.match(plain(value)) else None


def read_yaml(text):
    """Keys with dots. Enough of YAML for configs of this folder: maps by indentation, scalars, lists in brackets."""
    out, path = {}, []
    for line in text.splitlines():
        line = re.sub(r"(^|\s)#.*", "", line).rstrip()
        m = re.match(r"( *)([\w.+-]+):(?:\s+(.*))?$", line)
        if not m:
            continue
        indent, key, value = len(m.group(1)), m.group(2), m.group(3)
        path = [p for p in path if p[0] < indent]
        if value is None:
            path.append((indent, key))
        else:
            out[".".join([p[1] for p in path] + [key])] = plain(value)
    return out


def read_words(text):
    """Flags and overrides of a command line or a launch script; flags keep their dashes, a bare flag has the value ''."""
    text = re.sub(r"\\\n", " ", text)
    words = shlex.split(re.sub(r"[()]", " ", text), comments=True)
    out, flag = {}, None
    for word in words:
        if flag and word.startswith("-") is False and "=" not in word and "$" not in word:
            out[flag], flag = plain(word), None
        elif re.match(r"--[A-Za-z]", word):
            flag, eq, value = word.partition("=")
            out[flag] = plain(value)
            flag = None if eq else flag
        else:
            flag = None
            key, eq, value = word.partition("=")
            if eq and re.match(r"[+~]{0,2}[A-Za-z_][\w.-]*$", key):
                out[key.lstrip("+~")] = plain(value)
    return out


def read_config(path):
    text = pathlib.Path(path).read_text(encoding="utf-8")
    return read_words(text) if str(path).endswith(".launch") else read_yaml(text)


class Run:
    """One call of the program: the settings that the run has, the report, and the exit status."""

    def __init__(self, memtrace, inputs, configs=(), args="", more=None, cwd=None):
        command = [memtrace, "report", *inputs, "--format", "json", "-o", "-", "-q"]
        self.set = {}
        for config in configs:
            self.set.update(read_config(pathlib.Path(cwd or ".") / config))
            command += ["--config", str(config)]
        over = {**read_words(args), **(more or {})}
        self.set.update(read_words(as_args(over)))
        if over:
            command += ["--args", args if not more else as_args(over)]
        done = subprocess.run(command, cwd=cwd, capture_output=True, timeout=60, check=False)
        self.status, self.errors = done.returncode, done.stderr.decode("utf-8", "replace")
        try:
            self.report = json.loads(done.stdout)
        except ValueError:
            self.report = None
        self.cards = [Card(a) for a in (self.report or {}).get("advice") or []]
        self.lints = (self.report or {}).get("lint") or []

    def now(self, key):
        """The value that the run has, set or by default; None = not known."""
        flags = ("--" + key, "--" + key.replace("_", "-"))  # of a program that takes on its command line what its file has
        return self.set.get(key, next((self.set[f] for f in flags if f in self.set), DEFAULTS.get(key)))

    def named(self, *logical):
        """What the run sets by a name that all frameworks share."""
        for key, value in self.set.items():
            if LOGICAL.get(key.lstrip("-")) in logical and number(value) is not None:
                return number(value)
        return None

    def longest(self):
        prompt, response = self.named("max_prompt_len"), self.named("max_response_len")
        return prompt + response if prompt and response else None

    def gpus(self):
        each = self.named("node_gpus")
        return each * (self.named("job_nodes") or 1) if each else None

    def heads(self):
        for key, value in self.set.items():
            if LOGICAL.get(key.lstrip("-")) == "model_path":
                for name, heads in HEADS.items():
                    if name in value:
                        return heads
        return self.named("heads")


class Line:
    def __init__(self, row, proposed):
        self.text, self.key = row.get("text") or "", (row.get("key") or "").lstrip("+")
        self.raw = row.get("value") or ""
        if proposed and self.key and proposed.lstrip("+").startswith(self.key):
            self.raw = re.sub(r"^[\s=:]+", "", proposed.lstrip("+")[len(self.key):])
        elif self.raw == "" and re.match(r"^\S+ \S+$", self.text):
            self.raw = self.text.split(" ", 1)[1]
        self.raw = self.raw.strip().strip("\"'")
        self.value, self.syntax = plain(self.raw), row.get("syntax") or ""
        self.typed = bool(self.key) and "<" not in self.value and self.syntax != "python"


class Card:
    def __init__(self, row):
        self.id, self.top, self.title = row["id"], bool(row.get("top")), row.get("title") or ""
        self.lines = [ln for s in row.get("set") or [] for ln in self.lines_of(s, row.get("proposed"))]
        self.enough = row.get("lacking_bytes") == 0
        moves = row.get("moves")
        self.lowers = moves == "down" if moves else bool(LOWER.search(self.title))
        self.raises = moves == "up"
        self.text = " ".join(str(row.get(k) or "") for k in ("title", "why", "constraints", "cost", "saving_note")) + " " \
            + " ".join(s.get("text", "") + " " + (s.get("note") or "") for s in row.get("set") or [])

    @staticmethod
    def lines_of(row, proposed):
        """A row of `set`: one line, or one for each flag where the value holds more flags."""
        if not (row.get("value") or "").startswith("--"):
            return [Line(row, proposed)]
        return [Line({**row, "text": f"{k} {v}".strip(), "key": k, "value": v}, None) for k, v in read_words(row["text"]).items()]

    def value(self, *endings):
        for line in self.lines:
            if line.key.endswith(endings) and number(line.value) is not None:
                return number(line.value)
        return None


HEADS = {"Qwen2.5-7B": 28, "Qwen2.5-14B": 40, "Qwen2.5-32B": 40, "Qwen3-4B": 32, "Qwen3-8B": 32, "Qwen3-14B": 40}
SPLITS = ("tp", "rollout_tp", "cp")  # degrees that the GPUs of the job are divided by
BUDGETS = ("tokens_per_gpu", "logp_tokens_per_gpu", "critic_tokens_per_gpu")


def split_faults(run, line):
    """Why the degree that a line types cannot be: (what)."""
    logical, degree, out = LOGICAL.get(line.key.lstrip("-")), number(line.value), []
    gpus, heads = run.gpus(), run.heads()
    if logical in SPLITS and degree:
        if gpus and gpus % degree and gpus % (number(run.now(line.key)) or 1) == 0:
            out.append(f"{line.key}={line.value} on {gpus:.0f} GPUs")
        elif gpus and logical in ("tp", "cp") and (line.key.startswith("--") or ".megatron." in line.key):
            others = 1
            for other in ("tp", "pp", "cp"):
                if other != logical:
                    others *= run.named(other) or 1
            before = (number(run.now(line.key)) or 1) * others
            if gpus % (degree * others) and gpus % before == 0:
                out.append(f"{line.key}={line.value} times {others:.0f} on {gpus:.0f} GPUs")
        if heads and heads % degree and (logical != "cp" or "ulysses" in line.key):
            out.append(f"{line.key}={line.value} for {heads:.0f} heads")
    if line.key.endswith(".backend") and heads:
        out += [f"{line.key}={line.value} for {heads:.0f} heads" for c in re.findall(r"[ct](\d+)", line.value.partition(":")[2]) if heads % int(c)]
    return out


def contradictions(run):
    """(kind, id of the card, what) for every card that says what the run has already, or what cannot be. Kinds: repeats, raises, lowers, divides,
    floor, two-values."""
    out, seen, longest = [], {}, run.longest()
    for card in run.cards:
        typed = [ln for ln in card.lines if ln.key]
        same = 0
        for line in typed:
            now = run.now(line.key)
            bare = line.value == "" and line.key in run.set
            if now is not None and (plain(now) == line.value or bare) and "<" not in line.value and line.syntax != "env":
                same += 1
                if line.key in run.set:
                    out.append(("repeats", card.id, f"{line.key} is {now!r} already"))
            new, old = number(line.value), number(now)
            if card.lowers and line is typed[0] and LOGICAL.get(line.key.lstrip("-")) not in SPLITS and new is not None and old is not None and new > old >= 0:
                out.append(("raises", card.id, f"'{card.title}': {line.key} from {now} to {line.value}"))
            if card.raises and line is typed[0] and new is not None and old is not None and 0 <= new < old:
                out.append(("lowers", card.id, f"'{card.title}': {line.key} from {now} to {line.value}"))
            if LOGICAL.get(line.key.lstrip("-")) in BUDGETS and new is not None and longest:
                split = card.value("ulysses_sequence_parallel_size", "context-parallel-size", "context_parallel_size") or run.named("cp") or 1
                if new * split < longest and (old is None or new <= old):
                    out.append(("floor", card.id, f"{line.key}={line.value}, the longest sequence has {longest:.0f}"))
            out += [("divides", card.id, what) for what in split_faults(run, line)]
            if card.top and line.typed and line is typed[0]:
                if line.key in seen and seen[line.key][0] != line.value and line.syntax != "env":
                    out.append(("two-values", card.id, f"{line.key}={line.value}, {seen[line.key][1]} says {seen[line.key][0]}"))
                seen.setdefault(line.key, (line.value, card.id))
        instead = re.search(r"\b(remove|without|instead of) --", card.text)  # the change is what is taken away
        if run.set and typed and same == len(typed) and not instead and not any(ln.key in run.set for ln in typed):
            out.append(("repeats", card.id, f"{typed[0].key} is {run.now(typed[0].key)!r} by default"))
    return out


class Inputs:
    """The column `inputs` of expected.tsv: files of in/ or of the repository, settings, `--args TEXT`, `copy:FROM=TO`."""

    def __init__(self, text):
        self.files, self.configs, self.args, self.copies = [], [], "", []
        words = iter(shlex.split(text))
        for word in words:
            if word == "--args":
                self.args = next(words)
            elif word.startswith("copy:"):
                self.copies.append(word[5:].split("=", 1))
            elif word.endswith(CONFIG):
                self.configs.append(str(HERE / "in" / word))
            elif self.copies:
                self.files.append(word)
            else:
                self.files.append(str((SOURCE if word.startswith("samples/") else HERE / "in") / word))

    def run(self, memtrace, more=None):
        if not self.copies:
            return Run(memtrace, self.files, self.configs, self.args, more)
        with tempfile.TemporaryDirectory() as scratch:
            for old, new in self.copies:
                os.makedirs(os.path.dirname(os.path.join(scratch, new)), exist_ok=True)
                shutil.copy(SOURCE / old, os.path.join(scratch, new))
            return Run(memtrace, self.files, self.configs, self.args, more, cwd=scratch)


def situations():
    rows = []
    for table in ("expected.tsv", "fresh.tsv"):
        with open(HERE / table, encoding="utf-8") as f:
            names = f.readline().rstrip("\n").split("\t")
            for text in f:
                cells = text.rstrip("\n").split("\t")
                if len(cells) != len(names):
                    raise SystemExit(f"{table}: {cells[0]} has {len(cells)} columns, not {len(names)}")
                rows.append(dict(zip(names, ("" if c == "-" else c for c in cells))))
    return rows


def as_args(overrides):
    """Settings {key: value} as they stand on a command line: flags last, so that one without a value takes no other word for it."""
    ordered = sorted(overrides.items(), key=lambda kv: kv[0].startswith("-"))
    return " ".join((f"{k} {v}".strip() if k.startswith("-") else shlex.quote(f"{k}={v}")) for k, v in ordered)


def errors(run):
    return {x["id"] for x in run.lints if x["level"] == "error"}


def hold(missed, known, name):
    """Prints what is missed and not listed, and what is listed and not missed; true when there is neither."""
    good = True
    for one, texts in missed.items():
        for text in () if one in known else dict.fromkeys(texts):
            print(f"{one}: {text}")
            good = False
    for one in known:
        if not missed.get(one):
            print(f"{one} holds now: take it out of {name}")
            good = False
    return good


def open_list(name):
    """{entry: reason} of a list of what does not hold yet: an entry a line, the reason behind '#'."""
    out = {}
    for line in (HERE / name).read_text(encoding="utf-8").splitlines():
        entry, _, reason = line.partition("#")
        if entry.strip():
            out[entry.strip()] = reason.strip()
    return out
