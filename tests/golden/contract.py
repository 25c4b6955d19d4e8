"""docs/report.schema.json: how it grows, and what it is held against.

A key gets into the schema from what memtrace writes (MT_UPDATE_GOLDEN=1), with the types that were seen; its words are those of docs/json.md.
Types can be widened by hand afterwards ("null" where no sample has it): nothing that stands there is taken away."""
import collections
import json
import pathlib
import re

DEFS = {"phase": "phase", "sub_phase": "sub_phase", "role": "role", "confidence": "confidence", "phase_confidence": "confidence"}
# The same names for something else.
ELSEWHERE = {"log_diagnosis.confidence": "degree", "job.phase_ranges[].phase": "any_phase"}
TYPES = {dict: "object", list: "array", str: "string", bool: "boolean", int: "integer", float: "number", type(None): "null"}
ORDER = ["object", "array", "string", "integer", "number", "boolean", "null"]
# Where docs/json.md has a table, and what the table is about.
TABLES = {"| key | type | meaning |": [()], "## `verdict`": [("verdict",)], "## `devices[]`": [("devices", "[]")],
          "## `cause`": [("cause",), ("devices", "[]", "cause")], "## `job`": [("job",)]}


class Seen:
    """What was written at one place of all reports."""

    def __init__(self):
        self.types, self.keys, self.present, self.items, self.objects = set(), {}, collections.Counter(), None, 0

    def add(self, value):
        self.types.add(TYPES[type(value)])
        if isinstance(value, dict):
            self.objects += 1
            for key, inner in value.items():
                self.keys.setdefault(key, Seen()).add(inner)
                self.present[key] += 1
        elif isinstance(value, list):
            if self.items is None:
                self.items = Seen()
            for inner in value:
                self.items.add(inner)


def words_of_the_program(source):
    """The enumerations: tables of analysis/base."""
    phases = re.findall(r'^MT_PHASE\(\w+, "([^"]+)",(?:[^()]|\([^)]*\))*?\)', source["phases.def"], re.M)
    coarse = re.findall(r'^MT_PHASE\(\w+, "([^"]+)",[^)]*MT_COARSE', source["phases.def"], re.M)
    return {"phase": coarse, "sub_phase": [p for p in phases if p not in coarse],
            "role": re.findall(r'^MT_ROLE\(\w+, "([^"]+)"', source["roles.def"], re.M),
            "any_phase": phases, "confidence": ["marked", "inferred", "carried", "low", "none"], "degree": ["high", "medium", "low", "none"]}


def types_of(node):
    kind = node.get("type", [])
    return set([kind] if isinstance(kind, str) else kind)


def set_types(node, types):
    ordered = [t for t in ORDER if t in types]
    if ordered:
        node["type"] = ordered[0] if len(ordered) == 1 else ordered


def resolved(schema, node):
    if "$ref" in node:
        return schema["$defs"][node["$ref"].rsplit("/", 1)[1]]
    for choice in node.get("anyOf", []):
        if "$ref" in choice:
            return resolved(schema, choice)
    return node


def grow(schema, node, seen, path=""):
    """Adds to node, which stands at path, what was seen and is not in it."""
    name = path.rsplit(".", 1)[-1]
    if name in DEFS and "string" in seen.types | types_of(resolved(schema, node)):
        ref = {"$ref": f"#/$defs/{ELSEWHERE.get(path, DEFS[name])}"}
        nullable = "null" in seen.types or "anyOf" in node
        node.pop("type", None), node.pop("$ref", None), node.pop("anyOf", None)
        node.update({"anyOf": [ref, {"type": "null"}]} if nullable else ref)
        return
    if name in ("frames", "forward_frames") and "$ref" not in node.get("items", {}) and "array" in seen.types:
        node.update({"type": "array", "items": {"$ref": "#/$defs/frame"}})
    if "$ref" in node or "anyOf" in node:
        node = resolved(schema, node)
    set_types(node, types_of(node) | seen.types)
    if seen.keys:
        known = node.setdefault("properties", {})
        always = {k for k, n in seen.present.items() if n == seen.objects}
        node["required"] = sorted(always & set(node["required"])) if "required" in node else sorted(always)
        for key, inner in seen.keys.items():
            grow(schema, known.setdefault(key, {}), inner, f"{path}.{key}" if path else key)
    if seen.items is not None:
        grow(schema, node.setdefault("items", {}), seen.items, f"{path}[]")


def at(schema, path):
    node = schema
    for step in path:
        node = resolved(schema, node)
        node = node.get("items", {}) if step == "[]" else node.get("properties", {}).get(step)
        if node is None:
            return None
    return node


def plain(text):
    """Markdown of a cell as words."""
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text.replace("`", "")).strip()


def documented(text):
    """(path, words) of each row of a table of docs/json.md whose cell of keys has one key."""
    places = []
    for line in text.split("\n# `memtrace info", maxsplit=1)[0].splitlines():
        for heading, where in TABLES.items():
            if line.startswith(heading):
                places = where
        if line.startswith("## ") and not any(line.startswith(h) for h in TABLES):
            places = []
        cells = [c.strip() for c in line.strip().strip("|").split("|")] if line.startswith("| `") else []
        key = re.fullmatch(r"`([a-z0-9_]+)(\[\])?`", cells[0]) if cells else None
        if key:
            for where in places:
                yield (*where, key.group(1)), plain(cells[-1])


def nodes(schema, node=None, path=""):
    """Every place of the schema: 'devices[].roles[].bytes' and what it says there."""
    node = schema if node is None else node
    if path:
        yield path, node
    node = resolved(schema, node)
    for key, inner in node.get("properties", {}).items():
        yield from nodes(schema, inner, f"{path}.{key}" if path else key)
    if isinstance(node.get("items"), dict):
        yield from nodes(schema, node["items"], f"{path}[]")


def paths(schema):
    """The same with its types."""
    for path, node in nodes(schema):
        nullable = any(c.get("type") == "null" for c in node.get("anyOf", []))
        yield path, sorted(types_of(resolved(schema, node)) | ({"null"} if nullable else set()), key=ORDER.index)


def required(schema):
    """The paths of the keys that an object always has."""
    found = set()

    def walk(node, at_path):
        node = resolved(schema, node)
        for key, inner in node.get("properties", {}).items():
            here = f"{at_path}.{key}" if at_path else key
            if key in node.get("required", []):
                found.add(here)
            walk(inner, here)
        if isinstance(node.get("items"), dict):
            walk(node["items"], f"{at_path}[]")

    walk(schema, "")
    return found


def closed(node):
    """The same schema, in which a key that it does not name is a mistake."""
    if isinstance(node, dict):
        node = {key: closed(inner) for key, inner in node.items()}
        if "properties" in node and isinstance(node["properties"], dict) and node.get("type"):
            node["additionalProperties"] = False
    elif isinstance(node, list):
        node = [closed(inner) for inner in node]
    return node


def read(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"))


def write(path, schema):
    pathlib.Path(path).write_text(json.dumps(schema, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
