#!/usr/bin/env bash
# memtrace.toml: which file holds, what the report says of it, what a stranger's cannot do, and what is wrong with one.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need jq
cp "$SAMPLES/verl_grpo_oom_logprob.pickle" s.pickle
export XDG_CONFIG_HOME="$TMP/home"
mkdir -p home/memtrace
user=home/memtrace/memtrace.toml
shown="\$XDG_CONFIG_HOME/memtrace/memtrace.toml"
json() { run 0 report s.pickle --format json -q -o out.json --force "$@"; }
of() { jq -c "$1" out.json; }

# Without a file nothing changes, and nothing is said of one.
json --no-config
cp out.json none.json
json
check [ "$(jq 'del(.provenance.command)' out.json)" = "$(jq 'del(.provenance.command)' none.json)" ]
check [ "$(of .provenance.config_files)" = null ]

# The card: by the first pattern that fits this machine, in the nearest file that has one; an option, and what the inputs say, hold before it.
printf '[capacity]\n"no-such-host*" = "4090"\n"*" = "H100-80"\n"%s" = "16GiB"\n' "$(uname -n)" > "$user"
json
check [ "$(of '.devices[0] | [.capacity_bytes, .capacity_from]')" = '[85027979264,"config"]' ]
check [ "$(of .provenance.config_files)" = "[{\"file\":\"$shown\",\"keys\":[\"capacity\"]}]" ]
check [ "$(of .provenance.command)" = '"memtrace report s.pickle"' ]
printf 'capacity = "96GiB"\n' > memtrace.toml
json
check [ "$(of '.devices[0] | [.capacity_bytes, .capacity_from]')" = '[103079215104,"config"]' ]
check [ "$(of '[.provenance.config_files[] | [.file, .keys[]]]')" = "[[\"memtrace.toml\",\"capacity\"],[\"$shown\"]]" ]
json --capacity 80GiB
check [ "$(of '.devices[0] | [.capacity_bytes, .capacity_from]')" = '[85899345920,"option"]' ]
check [ "$(of '[.provenance.config_files[].keys[]]')" = '[]' ]
printf 'CUDA out of memory. Tried to allocate 18.55 GiB. GPU 0 has a total capacity of 79.25 GiB of which 10.87 GiB is free.\n' > run.log
json --log run.log
check [ "$(of '.devices[0].capacity_from')" = '"log"' ]
json --no-config
check [ "$(jq 'del(.provenance.command)' out.json)" = "$(jq 'del(.provenance.command)' none.json)" ]
# On a card that had more than that, the size is not used, and the sentence says whose it is.
printf 'capacity = "16GiB"\n' > memtrace.toml
json
check [ "$(of '.devices[0].capacity_bytes')" = null ]
check grep -q 'memtrace.toml names a card of 16.00 GiB' out.json

# What the other formats say.
printf 'link = "https://wiki.example.org/oom?a=1&b=2"\nrules = "team.json"\n' > "$user"
printf 'capacity = "96GiB"\n' > memtrace.toml
printf '{"schema_version": 1, "phases": [], "fixes": []}' > home/memtrace/team.json
for format in html text md; do
    run 0 report s.pickle --format "$format" --full -q -o "out.$format" --force
    check grep -q 'Configuration of memtrace' "out.$format"
    check grep -qF 'wiki.example.org/oom?a=1&' "out.$format"
    check grep -qF 'link, rules' "out.$format"
    check grep -qF 'by memtrace.toml' "out.$format"
done
check grep -qF '<a rel="noreferrer noopener" href="https://wiki.example.org/oom?a=1&amp;b=2">' out.html
json
check [ "$(of .provenance.command)" = "\"memtrace report s.pickle --rules $TMP/home/memtrace/team.json\"" ]
run 0 report out.json --format text # what is read back was made with them
run 0 rules --rules home/memtrace/team.json

# A stranger's folder: redaction is switched on there, never off; no rules, no link.
printf 'redact = true\n' > "$user"
printf 'redact = false\nrules = "evil.json"\nlink = "https://evil.example"\n' > memtrace.toml
json
err_empty # -q
check [ "$(of '[.provenance.config_files[].keys[]]')" = '["redact"]' ]
check grep -q 'file-.*--redact' <(of .provenance.command)
check [ "$(grep -c 'evil\|s\.pickle' out.json)" = 0 ]
run 0 report s.pickle --format md -o out.md --force
err_has "memtrace.toml:2: rules is not taken from the working folder, whose files may be anybody's; --rules FILE names it"
err_has "memtrace.toml:3: link is not taken from the working folder"
check [ "$(grep -c 'evil' out.md)" = 0 ]
printf 'redact = true\n' > memtrace.toml
rm "$user"
json
check grep -q -- '--redact' <(of .provenance.command)
run 0 info s.pickle
out_lacks s.pickle
# A report that is read back: one that was redacted is shown, another one is not.
run 0 report out.json --format text
run 2 report none.json --format text
err_has 'none.json was written without --redact, which memtrace.toml:1 asks for'
run 0 report none.json --format text --no-config
run 2 diff none.json none.json
err_has 'none.json was written without --redact, which memtrace.toml:1 asks for'
run 0 diff none.json none.json --no-config
run 2 check none.json
err_has 'none.json was written without --redact'
mkdir alice-acme && cp s.pickle alice-acme/second.pickle
run 0 diff s.pickle alice-acme/second.pickle
out_lacks alice
rm memtrace.toml

# Limits and tolerance of check; a limit of the same name on the command line holds.
printf '[check]\ntolerance = "0%%"\n[check.max]\npeak = "70GiB"\n"role:logits" = "8GiB"\n"phase:weight_sync.left" = 0\n' > memtrace.toml
printf '[check]\ntolerance = "50%%"\n[check.max]\npeak = "1GiB"\nreserved = "60GiB"\n' > "$user"
run 4 check s.pickle --format json
check [ "$(jq -r '[.limits[] | select(.over) | .limit] | sort | join(" ")' .out)" = 'oom reserved role:logits' ]
check [ "$(jq -r '.limits[] | select(.limit == "role:logits") | .set_in' .out)" = memtrace.toml:5 ]
check [ "$(jq -r '.limits[] | select(.limit == "peak") | [.set_in, .max_bytes] | @csv' .out)" = '"memtrace.toml:4",75161927680' ]
run 4 check s.pickle
out_has "; limit set in memtrace.toml:5"
run 4 check s.pickle --max role:logits=30GiB --format json
check [ "$(jq -c '[.limits[] | select(.limit == "role:logits") | [.set_in, .over]]' .out)" = '[["--max",false]]' ]
jq '.devices[].live_peak_bytes -= 1000000000' none.json > less.json
run 4 check none.json --baseline less.json
out_has "FAIL  peak: 66.26 GiB, 953.7 MiB over the limit of 65.33 GiB"
run 4 check none.json --baseline less.json --tolerance 10%
out_lacks "FAIL  peak"

# What is wrong is said with file, line and remedy.
bad() { printf '%b' "$1" > memtrace.toml && run "$2" report s.pickle --format md -o out.md --force && err_has "$3"; }
bad 'capacity = "80GiB\n' 2 'memtrace.toml: line 1: this is no TOML: a string does not end; mend it, or go without it: --no-config'
bad '\n[capacity]\n"*" = "80"\n' 2 'memtrace.toml:3: 80 is 80 bytes: did you mean 80GiB?'
bad '\n[capacity]\n"*" = "H1000"\n' 2 "memtrace.toml:3: 'H1000' is not a size"
bad '# ours\nredcat = true\n' 2 "memtrace.toml:2: unknown key 'redcat' (did you mean redact?); --no-config goes without the file"
bad '[capcity]\n"*" = "80GiB"\n' 2 "memtrace.toml:2: unknown key 'capcity.*' (did you mean capacity?)"
bad '[check]\nmax_peak = "80GiB"\n' 0 "memtrace.toml:2: this memtrace knows no key 'check.max_peak', which is passed over; known are capacity, rules, redact, link, check.max and"
bad '[check]\nmax = ["peak=80GiB"]\n' 2 'memtrace.toml:2: check.max = [peak=80GiB]: has to be a table: [check.max], and below it peak = "70GiB"; --no-config goes without the file'
bad '[check.maxx]\npeak = "80GiB"\n' 2 "(did you mean check.max?)"
bad 'redact = "yes"\n' 2 'memtrace.toml:1: redact = yes: true or false is expected'
bad '[check]\ntolerance = 2\n' 2 'memtrace.toml:2: check.tolerance = 2: a share is expected, as "2%"'
printf '[check.max]\npeek = "80GiB"\n' > memtrace.toml
run 2 check s.pickle
err_has "memtrace.toml:2: 'peek' is no limit"
printf 'link = "javascript:alert(1)"\n' > "$user"
rm memtrace.toml
run 2 report s.pickle --format md
err_has "$user:1: link = javascript:alert(1): an address that begins with https:// or http:// is expected"
rm "$user"
mkdir memtrace.toml
run 2 report s.pickle --format md
err_has 'memtrace.toml: this is no file; --no-config goes without it'
run 0 report s.pickle --format md --no-config
run 0 report s.pickle --format md --no-config -o out.md --force
rmdir memtrace.toml
# What switches redaction on is never missing silently: behind "#!", below a table.
printf '#!team\nredact = true\n' > memtrace.toml
run 0 report s.pickle --format json -o hidden.json --force
check [ "$(jq -c '[.provenance.redacted, .provenance.config_files[0].keys]' hidden.json)" = '[true,["redact"]]' ]
for table in '[capacity]\n"*" = "80GiB"' '[check.max]\npeak = "80GiB"' '[check]\ntolerance = "2%"'; do
    bad "$table\nredact = true\n" 2 'this key belongs above the first [table] of the file'
done
rm memtrace.toml
printf 'link = "https://wiki.example.org/gpu"\n' > "$user"
run 0 report s.pickle --format md --redact --no-pager
out_lacks "wiki.example.org"
# A report that only speaks of --redact in its title was not redacted.
run 0 report s.pickle --no-config --title "a --redact b" --format json -o title.json --force
printf 'redact = true\n' > memtrace.toml
run 2 report title.json
err_has "was written without --redact"
run 0 report hidden.json --format md
finish
