#!/usr/bin/env bash
# docs/tickets/: the form has what GitHub asks of one, the steps of the Action run and end as they should, no input is put into a script.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
cat > steps.py << 'END'
"""The subset of YAML that the two files are written in. form FILE: complains about a form. steps FILE: writes step0.sh ... of an Action."""
import re, sys
kind, path = sys.argv[1:]
lines = open(path, encoding="utf-8").read().splitlines()
if kind == "form":
    text = "\n".join(lines)
    for key in ("name:", "description:", "body:"):
        assert re.search("^" + key, text, re.M), key
    blocks = re.split(r"^  - type: ", text, flags=re.M)[1:]
    assert len(blocks) >= 5
    ids = []
    for block in blocks:
        type_ = block.split("\n")[0]
        assert type_ in ("markdown", "textarea", "input", "dropdown", "checkboxes"), type_
        assert "    attributes:" in block, block
        assert ("      value: " if type_ == "markdown" else "      label: ") in block, block
        assert type_ != "dropdown" or "      options:\n" in block
        ids += re.findall(r"^    id: ([\w-]+)$", block, re.M)
    assert len(ids) == len(set(ids)) == len(blocks) - 1, ids
else:
    n, at = 0, 0
    while at < len(lines):
        m = re.match(r"( *)run: (.*)$", lines[at])
        at += 1
        if not m:
            continue
        body = [m.group(2)] if m.group(2) != "|" else []
        while m.group(2) == "|" and at < len(lines) and (not lines[at].strip() or len(lines[at]) - len(lines[at].lstrip()) > len(m.group(1))):
            body.append(lines[at][len(m.group(1)) + 2:])
            at += 1
        script = "\n".join(body)
        assert "${{" not in script, script
        open("step%d.sh" % n, "w", encoding="utf-8").write(script + "\n")
        n += 1
    assert n == 3, n
END
check python3 -B steps.py form "$MT_SOURCE_DIR/docs/tickets/oom.yml"
check python3 -B steps.py steps "$MT_SOURCE_DIR/docs/tickets/action.yml"
if python3 -c 'import yaml' 2> .err; then
    for f in "$MT_SOURCE_DIR"/docs/tickets/*.yml; do check python3 -c 'import sys, yaml; assert isinstance(yaml.safe_load(open(sys.argv[1])), dict)' "$f"; done
fi
mkdir bin
ln -s "$MEMTRACE" bin/memtrace
cp "$SAMPLES/tiny.pickle" "$SAMPLES/fsdp_finetune.pickle" .
step() { env PATH="$TMP/bin:$PATH" GITHUB_STEP_SUMMARY="$TMP/summary" "${@:2}" bash -eo pipefail "step$1.sh" > .out 2> .err; } # as the runner starts it
check step 1 INPUT=fsdp_finetune.pickle
check grep -q '^### memtrace' summary
check step 2 INPUT=fsdp_finetune.pickle LIMITS=peak=1TiB BASELINE=
if step 2 INPUT=fsdp_finetune.pickle 'LIMITS=peak=1TiB role:param=1KiB' BASELINE=; then fail 'a limit is passed, and the step ends well'; else ok; fi
out_has '::error'
if step 2 INPUT=tiny.pickle LIMITS= BASELINE=; then fail 'memory ran out, and the step ends well'; else ok; fi
# shellcheck disable=SC2016 # not to be expanded
if step 1 'INPUT=$(touch planted) ;touch planted'; then fail 'an input that is none'; else ok; fi
absent planted
finish
