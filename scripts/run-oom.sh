#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/run-oom.sh LIBRARY PROGRAM...
#
# Runs test programs with LIBRARY (testbed/faults) loaded before them, which lets their allocations
# fail one by one, and ends with the line "N passed, N failed, N skipped", counting tests. Faults
# are shown with where memory was refused and what followed.
#
# OOM_SECONDS=N (default 60): time for one program; what does not fit is left out, and said so; 0:
# no limit. OOM_ALL=1: every allocation. OOM_SEED=N: another sample. JOBS=N.
set -euo pipefail
export LC_ALL=C
: "${OOM_SECONDS:=60}" "${JOBS:=$(nproc)}"
KNOWN=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)/testbed/faults/oom_known.tsv

one() {
    local program=$2 name rc=0
    name=$program
    [[ $program =~ (agents|testbed|analysis)/.* ]] && name=${BASH_REMATCH[0]}
    local report=$TMP/${name//\//_}.report
    # The sanitizers shall see what cmocka would catch, and end by a status that says so.
    ASAN_OPTIONS=verify_asan_link_order=0:exitcode=98:allocator_may_return_null=1:handle_segv=2
    ASAN_OPTIONS+=:handle_abort=2:handle_sigbus=2:handle_sigfpe=2:handle_sigill=2
    env ASAN_OPTIONS="$ASAN_OPTIONS" UBSAN_OPTIONS=print_stacktrace=1:exitcode=98 \
        OOM_KNOWN="$KNOWN" OOM_REPORT="$report" OOM_BUDGET_MS=$((OOM_SECONDS * 1000)) \
        LD_PRELOAD="$1" "$program" >"$report.out" 2>&1 </dev/null || rc=$?
    {
        flock 9
        if ! grep -q '^TEST ' "$report" 2>/dev/null; then
            echo "BAD (the program) ran no test, status $rc" >>"$report"
            echo "TEST (the program) bad" >>"$report"
            sed 's/^/      | /' "$report.out"
        fi
        awk -v name="$name" '
            function sum(key) { return match($0, key "=[0-9]+") ? substr($0, RSTART + length(key) + 1, RLENGTH - length(key) - 1) : 0 }
            /^TEST / { n[$3]++; cases += sum("cases"); chosen += sum("chosen"); tried += sum("tried"); known += sum("known") }
            END {
                printf "  %-4s  %-44s %3d tests, %5d refusals", n["bad"] ? "FAIL" : "ok", name, n["ok"] + n["bad"], cases
                if (tried < chosen) printf ", %d of %d places", tried, chosen
                if (n["left"]) printf ", %d tests left out", n["left"]
                if (n["fails"]) printf ", %d tests fail anyhow", n["fails"]
                if (known) printf ", %d known faults of libraries", known
                print ""
            }' "$report"
        sed '/^TEST /d; s/^/      /' "$report"
    } 9>"$TMP/lock"
}

if [ "${1:-}" = --one ]; then
    one "$2" "$3"
    exit 0
fi

library=$(realpath "$1")
shift
if [ $# = 0 ]; then
    echo "run-oom: no test programs" >&2
    exit 1
fi
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
export TMP OOM_SECONDS
printf '%s\0' "$@" | xargs -0 -P "$JOBS" -n 1 "$0" --one "$library"
cat "$TMP"/*.report | awk '
    /^TEST / { n[$3]++ }
    END {
        printf "%d passed, %d failed, %d skipped\n", n["ok"], n["bad"], n["skipped"]
        exit n["bad"] > 0
    }'
