#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/fuzz-coverage.sh FUZZER...
#
# Runs each fuzzer once over the inputs kept beside its source (x_fuzz.corpus/) and says how many
# lines of its parser they reach: the fuzzers are built with clang's source coverage (`make
# fuzz-coverage`). x_fuzz.c is about x.c unless the table below names more. FLOOR (90): fewer
# percent than that are a failure. LINES=1 lists the lines not reached. CORPUS=dir: inputs in
# dir/x_fuzz/ as well, say what a search has found.
set -euo pipefail
export LC_ALL=C
: "${FLOOR:=90}" "${LINES:=}" "${CORPUS:=}"

# The parsers of a fuzzer, where its name does not tell.
PARSERS='
agents/quic/quic_rx_fuzz        agents/quic/quic_rx.c agents/quic/quic_data_rx.c
analysis/ingest/capture_fuzz    analysis/ingest/capture.c analysis/ingest/udp.c
testbed/scenario/scenario_fuzz  testbed/scenario/scenario_read.c testbed/scenario/scenario_yaml.c testbed/scenario/scenario_grid.c testbed/scenario/plan.c
'

for tool in llvm-profdata llvm-cov; do
    command -v "$tool" >/dev/null || {
        echo "fuzz-coverage: no $tool (Debian: llvm)" >&2
        exit 3
    }
done

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
status=0
for fuzzer; do
    [[ $fuzzer =~ (agents|testbed|analysis)/.* ]]
    name=${BASH_REMATCH[0]}
    parsers=$(awk -v name="$name" '$1 == name { $1 = ""; print }' <<<"$PARSERS")
    [ -n "$parsers" ] || parsers=${name%_fuzz}.c
    dirs=("$tmp/none") # libFuzzer adds to the first
    mkdir -p "$tmp/none"
    [ ! -d "$name.corpus" ] || dirs+=("$name.corpus")
    [ -z "$CORPUS" ] || dirs+=("$CORPUS/${name##*/}")
    LLVM_PROFILE_FILE=$tmp/raw "$fuzzer" -runs=0 -rss_limit_mb=2048 "${dirs[@]}" \
        >"$tmp/log" 2>&1 </dev/null || {
        cat "$tmp/log"
        echo "  FAIL  $name"
        exit 1
    }
    llvm-profdata merge -sparse "$tmp/raw" -o "$tmp/data"
    # shellcheck disable=SC2086 # a list of names
    llvm-cov export -summary-only -instr-profile="$tmp/data" "$fuzzer" $parsers >"$tmp/json"
    while read -r file covered count; do
        percent=$(awk -v a="$covered" -v b="$count" 'BEGIN { printf "%.1f", 100 * a / b }')
        mark=ok
        if awk -v p="$percent" -v f="$FLOOR" 'BEGIN { exit p >= f }'; then
            mark=FAIL
            status=1
        fi
        printf '  %-4s  %5s %% of %4d lines  %-36s %s\n' "$mark" "$percent" "$count" "$name" "$file"
        [ -z "$LINES" ] || llvm-cov show -instr-profile="$tmp/data" "$fuzzer" "$file" |
            awk -F'|' '$2 ~ /^ *0$/ { print "            " $1 "|" $3 }'
    done < <(awk -v RS='{' '
        match($0, /"filename":"[^"]*"/) { file = substr($0, RSTART + 12, RLENGTH - 13); next }
        /^"count":[0-9]+,"covered":[0-9]+,"percent":[0-9.]+}/ && last ~ /"lines":$/ && file {
            split($0, n, /[:,]/)
            print file, n[4], n[2]
            file = ""
        }
        { last = $0 }' "$tmp/json" | sed "s|$PWD/||")
    rm -rf "$tmp/none" "$tmp/raw"
done
exit $status
