#!/usr/bin/env bash
# --redact: each of a hundred kinds of names and secrets, in each carrier, in no format and no export; ordinary text stays.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need python3
matrix() { python3 -B "$MT_SOURCE_DIR/tests/cli/redact_matrix.py" "$@"; }
check [ "$(matrix count)" -ge 100 ]
matrix snapshot > rank0.json
matrix log > train.log
i=0
given=(--redact --redact-key 0123456789abcdef-test-key)
matrix args > notes
while IFS= read -r text; do printf 'note%d: |\n  see %s here\n' "$((++i))" "$text"; done < notes > run.yaml
given+=(--config run.yaml --title "$(head -n 40 notes | tr '\n' ' ')")
outputs=()
for format in text md json html; do
    run 0 report -q "${given[@]}" --full --frames all --log train.log --format $format -o "r.$format" rank0.json
    outputs+=("r.$format")
done
python3 -B "$MT_SOURCE_DIR/tests/cli/unpack_page.py" r.html text > r.unpacked
check [ "$(wc -c < r.unpacked)" -gt "$(wc -c < r.json)" ]
run 0 ticket -q "${given[@]:1}" --log train.log -o ticket rank0.json
python3 -B "$MT_SOURCE_DIR/tests/cli/unpack_page.py" ticket/memtrace-ticket.html text > ticket/unpacked
for command in "info" "info --json" "export --to perfetto" "export --to speedscope" "export --to folded"; do
    # shellcheck disable=SC2086 # words
    run 0 $command "${given[@]:0:3}" rank0.json
    cp .out "r.$(printf '%s' "$command" | tr -dc '[:lower:]')"
    outputs+=("r.$(printf '%s' "$command" | tr -dc '[:lower:]')")
done
outputs+=(r.unpacked ticket/memtrace-ticket.md ticket/unpacked)
run 0 dump "${given[@]:0:3}" rank0.json
cp .out r.dump
outputs+=(r.dump) # the last: what is to stay is looked for in it
# else this proves nothing; secrets of known forms go without --redact too
run 0 dump rank0.json
cp .out plain
check [ "$(matrix found plain)" -ge 60 ]
check matrix check "${outputs[@]}"

# readers of other kinds: profiler, memray, a recording of the driver with a snapshot in it, Nsight Systems
for kind in profiler memray driver nsys; do
    check python3 -B "$MT_SOURCE_DIR/tests/cli/redact_carriers.py" $kind $kind.in
    run 0 dump $kind.in
    cp .out plain
    check [ "$(matrix found plain)" -ge 15 ]
    for command in "dump" "info --json" "export --to perfetto"; do
        # shellcheck disable=SC2086 # words
        run 0 $command "${given[@]:0:3}" $kind.in
        cp .out "$kind.$(printf '%s' "$command" | tr -dc '[:lower:]')"
    done
    for format in text md json html; do
        run 0 report -q "${given[@]:0:3}" --full --frames all --format $format -o "$kind.$format" $kind.in
    done
    run 0 summarize -q "${given[@]:0:3}" -o $kind.gz $kind.in
    gzip -dc $kind.gz > $kind.summary
    python3 -B "$MT_SOURCE_DIR/tests/cli/unpack_page.py" $kind.html text > $kind.unpacked
    check matrix leaks $kind.dump $kind.infojson $kind.exporttoperfetto $kind.text $kind.md $kind.json $kind.summary $kind.unpacked
done
finish
