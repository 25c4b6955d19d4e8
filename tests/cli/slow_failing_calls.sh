#!/usr/bin/env bash
# Each place that asks for memory fails, and each call of a file: some 29,000 runs, four minutes of one core.
exec bash "$(dirname "$0")/failing_calls.sh" places 1
