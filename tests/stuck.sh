#!/usr/bin/env bash
# stuck.sh COMMAND...: runs a test. One that is not done after MT_STUCK_AFTER seconds (240) is ended, and says before what each process that it
# started waits for. A test that stands still on one machine only can be told by nothing else than that machine's own log.
set -u
limit="${MT_STUCK_AFTER:-240}"

# What a process waits for: by the debugger where there is one, else by the kernel.
waits_for()
{
    local pid="$1"
    printf -- '--- %s %s\n' "$pid" "$(tr '\0' ' ' < "/proc/$pid/cmdline" | head -c 300)"
    if command -v gdb > /dev/null; then
        timeout 30 gdb -p "$pid" -batch -nx -ex 'thread apply all backtrace 25' 2> /dev/null | grep -E '^(Thread|#)' | cut -c 1-200
    else
        for task in "/proc/$pid/task"/*; do
            printf '%s: %s, system call %s\n' "$(cat "$task/comm")" "$(cat "$task/wchan")" "$(cut -d ' ' -f 1-3 "$task/syscall")"
        done
    fi
}

# The processes that this test started, whoever is their parent now: they have its mark in their environment.
started_by_test()
{
    local folder
    for folder in /proc/[0-9]*; do
        if grep -qzxF "MT_TEST_IS=$1" "$folder/environ" 2> /dev/null; then printf '%s\n' "${folder#/proc/}"; fi
    done
}

watch()
{
    local test="$1" mark="$2" i pids pid
    for ((i = 0; i < limit; i += 2)); do
        sleep 2
        kill -0 "$test" 2> /dev/null || return
    done
    exec > "/proc/$test/fd/1" 2>&1
    mapfile -t pids < <(started_by_test "$mark")
    printf 'not ok: not done after %d seconds. Its processes:\n' "$limit"
    ps -o pid,ppid,pgid,stat,etimes,wchan:24,args -p "$(IFS=, && printf '%s' "${pids[*]}")" | cut -c 1-220
    for pid in "${pids[@]}"; do [ ! -d "/proc/$pid" ] || waits_for "$pid"; done
    kill -TERM "${pids[@]}" 2> /dev/null
    sleep 2
    kill -KILL "${pids[@]}" 2> /dev/null
}

mark="$$.$(date +%s%N)"
watch "$$" "$mark" > /dev/null 2>&1 < /dev/null &
export MT_TEST_IS="$mark"
exec "$@"
