#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/bench.sh [BENCHMARK...]
#
# Runs the benchmark programs, then measures what a person waits for: the default scenario in
# virtual time, whole process, median of BENCH_RUNS (5). Processor time, not wall time, because
# the machine may be busy. BENCH_ARGS are added to the scenario's command line.
set -euo pipefail
export LC_ALL=C
: "${BENCH_RUNS:=5}" "${BENCH_ARGS:=}"
cd "$(dirname "$0")/.."

for program; do
    "$program"
done

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# Virtual seconds: what the runs' manifests say they lasted.
virtual_seconds() {
    find "$1" -name manifest.json -exec cat {} + | grep -oE '"duration_ns": *[0-9]+' |
        awk -F: '{ s += $2 } END { print s / 1e9 }'
}

./run-scenario --help >/dev/null # builds, if it has to
TIMEFORMAT='%U %S'
for ((i = 0; i < BENCH_RUNS; i++)); do
    # shellcheck disable=SC2086 # a list of arguments
    { time build/muxbed --link sim --quiet --out "$tmp/$i" $BENCH_ARGS >"$tmp/log" 2>&1; } \
        2>"$tmp/time" || {
        cat "$tmp/log"
        echo "bench: the scenario failed" >&2
        exit 1
    }
    awk '{ print $1 + $2 }' "$tmp/time"
done | sort -n >"$tmp/cpu"
awk -v virtual="$(virtual_seconds "$tmp/0" 2>/dev/null || echo 0)" '
    { cpu[NR] = $1 }
    END {
        m = NR % 2 ? cpu[(NR + 1) / 2] : (cpu[NR / 2] + cpu[NR / 2 + 1]) / 2
        printf "default scenario, sim: %.3f s of CPU time (median of %d; %.3f to %.3f)\n", m, NR,
            cpu[1], cpu[NR]
        if (virtual && m)
            printf "default scenario, sim: %.0f virtual seconds per CPU second (%.1f s)\n",
                virtual / m, virtual
    }' "$tmp/cpu"
