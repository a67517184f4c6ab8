#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/run-fuzzers.sh SECONDS FUZZER...
#
# Runs each fuzzer for SECONDS. The inputs kept beside its source (x_fuzz.corpus/) are read, not
# added to; an input that breaks something is left in build/.
set -euo pipefail

seconds=$1
shift
for fuzzer; do
    [[ $fuzzer =~ (agents|testbed|analysis)/.* ]]
    name=${BASH_REMATCH[0]}
    corpus=$(mktemp -d)
    log=$fuzzer.log
    dirs=("$corpus")
    [ ! -d "$name.corpus" ] || dirs+=("$name.corpus")
    status=0
    "$fuzzer" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 \
        -artifact_prefix="$fuzzer-" "${dirs[@]}" >"$log" 2>&1 </dev/null || status=$?
    rm -rf "$corpus"
    if [ "$status" != 0 ]; then
        cat "$log"
        echo "  FAIL  $name (status $status)"
        exit 1
    fi
    printf '  ok    %s: %s\n' "$name" "$(grep -E '^Done ' "$log" || tail -n 1 "$log")"
done
