#!/usr/bin/env python3
"""docs/json.md against what `memtrace report --format json` writes: every key is documented, and every documented key occurs."""
import json
import os
import pathlib
import re
import subprocess
import sys

SOURCE = pathlib.Path(os.environ["MT_SOURCE_DIR"])
SAMPLES = SOURCE / "samples"
# Documented words in backquotes that are values, not keys.
VALUES = re.compile(r"oom_|end_state$|empty$|null$|none$|marked$|inferred$|carried$|low$|host$|cuda$|oom$|peak$")


def keys_of(value, into):
    if isinstance(value, dict):
        for key, inner in value.items():
            into.add(key)
            keys_of(inner, into)
    elif isinstance(value, list):
        for inner in value:
            keys_of(inner, into)


def main():
    text = (SOURCE / "docs" / "json.md").read_text(encoding="utf-8")
    documented = {word.replace("[]", "") for word in re.findall(r"`([a-z0-9_\[\]]+)`", text)}
    phases = text[text.index("Phase ids:"):text.index("## `owners[]`")]
    values = set(re.findall(r"`([a-z0-9_]+)`", phases))
    written = set()
    samples = sorted(p for p in SAMPLES.iterdir() if p.suffix in (".pickle", ".json", ".gz", ".html"))
    for sample in samples:
        done = subprocess.run([os.environ["MEMTRACE"], "report", str(sample), "--format", "json", "-o", "-"],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if done.returncode not in (0, 3):
            sys.exit(f"{sample.name}: exit status {done.returncode}")
        keys_of(json.loads(done.stdout), written)
    missing = sorted(written - documented)
    stale = sorted(w for w in documented - written - values if not VALUES.match(w))
    # Only a report with an unread member has its message.
    stale = [w for w in stale if w != "message"]
    print(f"{len(samples)} samples, {len(written)} keys; not documented: {missing}; documented, never written: {stale}")
    return 1 if missing or stale or not written else 0


sys.exit(main())
