#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/bench.sh [BENCHMARK...]
#
# Runs each benchmark program BENCH_RUNS (5) times and prints its lines with the median of every
# number, then does the same with what a person waits for: the default scenario in virtual time and
# the reduction of its run; and reduces runs of half a million, one and two million captured packets
# (4 GB in TMPDIR, which are left out with less than twice that). Times are processor times unless a line says
# otherwise, because the machine may be busy. BENCH_ARGS are added to the scenario's command line.
set -euo pipefail
export LC_ALL=C
: "${BENCH_RUNS:=5}" "${BENCH_ARGS:=}"
cd "$(dirname "$0")/.."
TIMEFORMAT='%U %S'

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

# medians FILE...: the lines of the first file, with each number the median of those at its place in
# all files, written as there.
medians() {
    awk '
        function add(line, start, n, key) {
            for (n = 0; match(line, /[0-9]+(\.[0-9]+)?/); n++) {
                key = FNR "," n
                value[key, ++count[key]] = substr(line, RSTART, RLENGTH)
                line = substr(line, RSTART + RLENGTH)
            }
        }
        function median(key, i, k, v, m) {
            m = count[key]
            for (i = 1; i <= m; i++)
                v[i] = value[key, i] + 0
            for (i = 2; i <= m; i++)
                for (k = i; k > 1 && v[k - 1] > v[k]; k--) {
                    swap = v[k]; v[k] = v[k - 1]; v[k - 1] = swap
                }
            return m % 2 ? v[(m + 1) / 2] : (v[m / 2] + v[m / 2 + 1]) / 2
        }
        NR == FNR { lines[FNR] = $0; last = FNR }
        { add($0) }
        END {
            for (l = 1; l <= last; l++) {
                rest = lines[l]
                out = ""
                for (n = 0; match(rest, /[0-9]+(\.[0-9]+)?/); n++) {
                    text = substr(rest, RSTART, RLENGTH)
                    dot = index(text, ".")
                    out = out substr(rest, 1, RSTART - 1) sprintf("%" length(text) "." \
                        (dot ? length(text) - dot : 0) "f", median(l "," n))
                    rest = substr(rest, RSTART + RLENGTH)
                }
                print "  " out rest
            }
        }' "$@"
}

# cpu_of COMMAND...: the processor time of a command, in s; its output is shown when it fails.
cpu_of() {
    { time "$@" >"$tmp/log" 2>&1; } 2>"$tmp/time" || {
        cat "$tmp/log" >&2
        echo "bench: failed: $*" >&2
        exit 1
    }
    awk '{ print $1 + $2 }' "$tmp/time"
}

# number FILE KEY: the sum of the whole numbers that key has in JSON, wherever it is.
number() {
    { grep -oE "\"$2\": *[0-9]+" "$1" || true; } | awk -F: '{ s += $2 } END { printf "%.0f\n", s }'
}

# One line of what a person waits for, from one run of the default scenario.
scenario() {
    local out=$1 run reduce virtual packets runs
    # shellcheck disable=SC2086 # a list of arguments
    run=$(cpu_of build/muxbed --link sim --no-expect --quiet --out "$out" $BENCH_ARGS)
    find "$out" -name manifest.json -exec cat {} + >"$tmp/manifests"
    virtual=$(number "$tmp/manifests" duration_ns)
    packets=$(number "$tmp/manifests" packets)
    runs=("$out"/*/manifest.json)
    reduce=$(cpu_of build/analyze reduce "${runs[@]%/manifest.json}")
    awk -v run="$run" -v reduce="$reduce" -v virtual="$virtual" -v packets="$packets" 'BEGIN {
        printf "whole command, plots included: %.3f s for %.1f virtual s, %.0f virtual s per s\n",
            run, virtual / 1e9, virtual / 1e9 / (run ? run : 1)
        printf "reduction of its run: %.3f s for %.0f captured packets, %.0f packets per s\n",
            reduce, packets, packets / (reduce ? reduce : 1)
    }'
    rm -rf "$out"
}

./run-scenario --help >/dev/null # builds, if it has to
echo "Medians of $BENCH_RUNS runs; processor time unless said otherwise. $(nproc) processors," \
    "load $(cut -d ' ' -f 1 /proc/loadavg)."
status=0
for program; do
    [[ $program =~ (agents|testbed|analysis)/.* ]] && name=${BASH_REMATCH[0]} || name=$program
    echo
    echo "$name"
    for ((i = 1; i <= BENCH_RUNS; i++)); do
        "$program" >"$tmp/bench.$i" || {
            echo "bench: $name: run $i ended with status $?: below its minimum, or failed" >&2
            status=1
        }
    done
    medians "$tmp"/bench.*
    rm -f "$tmp"/bench.*
done

# The last is long enough that nothing of it stays in a processor's cache; memory should be the same.
large() {
    local seconds
    if (($(df --output=avail -k "$tmp" | tail -n 1) < 8000000)); then
        echo
        echo "long runs: left out, no 8 GB in $tmp"
        return
    fi
    for seconds in 57 115 230; do
        echo
        echo "$seconds s of 50 Mbit/s"
        build/muxbed run scenarios/endless-data.yaml --link sim --set stack=quic \
            --set path.rate=50mbit --set data.start=1s --set data.stop=never \
            --set "duration=${seconds}s" --no-expect --quiet --keep all \
            --out "$tmp/large" >"$tmp/log" 2>&1 || {
            cat "$tmp/log" >&2
            return 1
        }
        for ((i = 1; i <= BENCH_RUNS; i++)); do
            "$1" "$tmp"/large/*-1 >"$tmp/bench.$i"
        done
        medians "$tmp"/bench.*
        rm -rf "$tmp/large" "$tmp"/bench.*
    done
}

for program; do
    [[ $program != */reduce_bench ]] || large "$program" || status=1
done

echo
echo "the default scenario in virtual time"
for ((i = 1; i <= BENCH_RUNS; i++)); do
    scenario "$tmp/out" >"$tmp/bench.$i"
done
medians "$tmp"/bench.*
exit $status
