#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/fuzz-coverage.sh FUZZER...
#
# Runs each fuzzer once over the inputs kept beside its source (x_fuzz.corpus/) and says how many
# lines of its parser they reach: the fuzzers are built with clang's source coverage (`make
# fuzz-coverage`). x_fuzz.c is about x.c unless the table below names more; lines that only a
# refused allocation reaches are left to `make oom`. FLOOR (90): fewer percent than that are a
# failure. LINES=1 lists the lines not reached. CORPUS=dir: inputs in dir/x_fuzz/ as well, say what
# a search has found.
set -euo pipefail
export LC_ALL=C
: "${FLOOR:=90}" "${LINES:=}" "${CORPUS:=}"

# The parsers of a fuzzer, where its name does not tell.
PARSERS='
agents/quic/quic_rx_fuzz        agents/quic/quic_rx.c agents/quic/quic_data_rx.c
agents/webrtc/webrtc_media_fuzz agents/webrtc/webrtc_media_rx.c agents/webrtc/webrtc_media_rtcp.c
agents/media/frame_trace_fuzz   agents/media/frame_trace.c agents/base/text_reader.c
testbed/scenario/rate_trace_fuzz testbed/scenario/rate_trace.c agents/base/text_reader.c
analysis/ingest/capture_fuzz    analysis/ingest/capture.c analysis/ingest/udp.c
testbed/scenario/scenario_fuzz  testbed/scenario/scenario_read.c testbed/scenario/scenario_yaml.c testbed/scenario/scenario_grid.c testbed/scenario/scenario_expect.c testbed/scenario/scenario_rates.c
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
    [ ! -d "$CORPUS/${name##*/}" ] || dirs+=("$CORPUS/${name##*/}")
    LLVM_PROFILE_FILE=$tmp/raw "$fuzzer" -runs=0 -rss_limit_mb=2048 "${dirs[@]}" \
        >"$tmp/log" 2>&1 </dev/null || {
        cat "$tmp/log"
        echo "  FAIL  $name"
        exit 1
    }
    llvm-profdata merge -sparse "$tmp/raw" -o "$tmp/data"
    for file in $parsers; do
        # A line's number, how often it ran, and its text; lines without code have no number.
        llvm-cov show -instr-profile="$tmp/data" "$fuzzer" "$file" >"$tmp/lines"
        awk -F'|' -v floor="$FLOOR" -v lines="$LINES" -v name="$name" -v file="$file" '
            $2 !~ /[0-9]/ { next }
            $2 !~ /^ *0$/ { reached++; total++; refused = 0; next }
            /ERR_NOMEM|out_of_memory|out of memory/ { refused = 1; next }
            refused && $3 ~ /^ *}$/ { refused = 0; next }
            { total++; missed = missed "            " $1 "|" $3 "\n"; refused = 0 }
            END {
                percent = 100 * reached / total
                printf "  %-4s  %5.1f %% of %4d lines  %-36s %s\n",
                    (percent < floor ? "FAIL" : "ok"), percent, total, name, file
                if (lines)
                    printf "%s", missed
                exit percent < floor
            }' "$tmp/lines" || status=1
    done
    rm -rf "$tmp/none" "$tmp/raw"
done
exit $status
