#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/run-tests.sh [--unit PROGRAM...] [--ns PROGRAM...]
#
# Runs cmocka test programs, unit tests side by side, namespace tests one by one (they measure
# time), and ends with the line "N passed, N failed, N skipped". A program which crashes, runs
# longer than TEST_TIMEOUT (120 s) or runs no test counts as one failure, whatever it printed.
# Programs that work in real time or with programs of others (namespace tests, interop/, io/) get a
# second try on a host that may be busy with other things; what failed at first is shown. Failures
# are shown in full, skipped tests with their reason. REQUIRE_NS=1: a skipped namespace
# test is a failure, unless this kernel lacks netem or an AQM and REQUIRE_NETEM is not 1. VERBOSE=1: shows what
# passed tests said, too. JUNIT=FILE: the same as JUnit XML, a suite for every program.
set -euo pipefail
export LC_ALL=C
: "${TEST_TIMEOUT:=120}" "${REQUIRE_NS:=}" "${REQUIRE_NETEM:=}" "${JOBS:=$(nproc)}" "${JUNIT:=}" "${VERBOSE:=}"

# What cmocka's closing lines say, as "run passed failed skipped"; several groups add up.
tally() {
    awk '
        function count(s) { match(s, /[0-9]+ test\(s\)/); return substr(s, RSTART) + 0 }
        /^\[==========\] .*test\(s\) run\./ { run += count($0) }
        /^\[  PASSED  \] [0-9]+ test\(s\)\./ { passed += count($0) }
        /^\[  FAILED  \] .*test\(s\), listed below:/ { failed += count($0) }
        /^\[  SKIPPED \] .*test\(s\), listed below:/ { skipped += count($0) }
        END { print run + 0, passed + 0, failed + 0, skipped + 0 }' "$1"
}

# What a skipped test said between its start and its end.
skip_reasons() {
    awk '
        /^\[ RUN      \] / { said = ""; next }
        /^\[  SKIPPED \] .*listed below:/ { exit }
        /^\[  SKIPPED \] / { print "        skipped " $4 (said ? ":" said : " (no reason given)") }
        { said = said " " $0 }' "$1"
}

# How many skipped tests may be skipped although namespace tests must run.
excused() {
    [ -n "$REQUIRE_NETEM" ] || skip_reasons "$1" | awk '/refuses (netem|codel|fq_codel|pie|cake): it has no such|not installed: / { n++ } END { print n + 0 }'
}

# suite OUTPUT NAME MS WHY: a program's tests as a JUnit suite. WHY, if not empty, is what was wrong
# with the program as a whole. Bytes that are no printable ASCII are not for XML.
suite() {
    NAME=$2 MS=$3 WHY=$4 awk '
        function xml(s) {
            gsub(/[^\t\n -~]/, "?", s)
            gsub(/&/, "\\&amp;", s)
            gsub(/</, "\\&lt;", s)
            gsub(/>/, "\\&gt;", s)
            gsub(/"/, "\\&quot;", s)
            gsub(/\n/, "\\&#10;", s)
            return s
        }
        function test(name, element, text) {
            tests++
            cases = cases "    <testcase classname=\"" xml(ENVIRON["NAME"]) "\" name=\"" xml(name) "\""
            if (element)
                cases = cases ">\n      <" element " message=\"" xml(text) "\"/>\n    </testcase>\n"
            else
                cases = cases "/>\n"
        }
        /^\[ RUN      \] / { name = $4; said = ""; next }
        name && /^\[       OK \] / { test(name); name = ""; next }
        name && /^\[  FAILED  \] / { test(name, "failure", said); failed++; name = ""; next }
        name && /^\[  SKIPPED \] / { test(name, "skipped", said); skipped++; name = ""; next }
        { said = said (said ? "\n" : "") $0 }
        END {
            if (ENVIRON["WHY"]) {
                test(name ? name : "(the program)", "error", ENVIRON["WHY"] "\n" said)
                errors++
            }
            printf "  <testsuite name=\"%s\" tests=\"%d\" failures=\"%d\" errors=\"%d\" " \
                "skipped=\"%d\" time=\"%.3f\">\n%s  </testsuite>\n", xml(ENVIRON["NAME"]), tests,
                failed, errors, skipped, ENVIRON["MS"] / 1000, cases
        }' "$1"
}

# Whether a busy host may make it fail: by what it measures, or by whom it talks to.
is_real_time() {
    [ "$1" = ns ] || [[ $2 =~ /(interop|io|http)/|/hostile_test$ ]]
}

# try KIND PROGRAM OUT: runs it once. Sets passed, failed, skipped, ms and, for what was wrong with the
# program as a whole, why; its output is in OUT.out.
try() {
    local kind=$1 program=$2 out=$3 rc=0 start run
    why=""
    start=$EPOCHREALTIME
    # The outer redirection drops only the shell's own remark on a killed program.
    { timeout -k 5 "$TEST_TIMEOUT" "$program" >"$out.out" 2>&1 </dev/null || rc=$?; } 2>/dev/null
    ms=$(((${EPOCHREALTIME/./} - ${start/./}) / 1000))
    read -r run passed failed skipped <<<"$(tally "$out.out")"
    if [ "$rc" -ge 124 ] && [ "$ms" -ge $((TEST_TIMEOUT * 1000)) ]; then
        why="timed out after $TEST_TIMEOUT s"
    elif [ "$rc" -gt 128 ]; then
        why="killed by signal $((rc - 128))"
    elif [ "$run" = 0 ]; then
        why="ran no test (status $rc)"
    elif [ "$run" != $((passed + failed + skipped)) ]; then
        why="ran $run tests but accounts for $((passed + failed + skipped))"
    elif [ "$rc" != 0 ] && [ "$failed" = 0 ]; then
        why="ended with status $rc though no test failed"
    elif [ "$kind$REQUIRE_NS" = ns1 ] && [ "$skipped" != 0 ] && [ "$(excused "$out.out")" != "$skipped" ]; then
        why="skipped $skipped, but this host must run namespace tests"
        failed=$((failed + skipped - 1)) # the line below adds one
        skipped=0
    fi
    [ -z "$why" ] || failed=$((failed + 1))
}

# show NAME OUT VERDICT: a program's line, and what it said if that is worth it.
show() {
    printf '  %-4s  %-44s %3d passed %5d ms\n' "$3" "$1" "$passed" "$ms"
    skip_reasons "$2.out"
    [ -z "$VERBOSE" ] || sed -n '/^[^[]/s/^/        /p' "$2.out"
    if [ "$failed" != 0 ]; then
        sed 's/^/      | /' "$2.out"
        [ -z "$why" ] || echo "      $1 $why"
    fi
}

# one KIND PROGRAM: runs it and leaves "passed failed skipped" in $TMP.
one() {
    local kind=$1 program=$2 name out passed failed skipped ms why
    name=$program
    [[ $program =~ (agents|testbed|analysis)/.* ]] && name=${BASH_REMATCH[0]}
    out=$TMP/${program//\//_}
    try "$kind" "$program" "$out"
    if [ "$failed" != 0 ] && is_real_time "$kind" "$program"; then
        # one program's lines stay together
        { flock 9 && show "$name" "$out" busy; } 9>"$TMP/lock"
        try "$kind" "$program" "$out"
    fi
    echo "$passed $failed $skipped" >"$out.count"
    [ -z "$JUNIT" ] || suite "$out.out" "$name" "$ms" "$why" >"$out.xml"
    { flock 9 && show "$name" "$out" "$([ "$failed" = 0 ] && echo ok || echo FAIL)"; } 9>"$TMP/lock"
}

if [ "${1:-}" = --one ]; then
    one "$2" "$3"
    exit 0
fi

unit=()
ns=()
for arg; do
    case $arg in
    --unit | --ns) kind=${arg#--} ;;
    *) if [ "${kind:-unit}" = ns ]; then ns+=("$arg"); else unit+=("$arg"); fi ;;
    esac
done
if [ $((${#unit[@]} + ${#ns[@]})) = 0 ]; then
    echo "run-tests: no test programs" >&2
    exit 1
fi

TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
export TMP TEST_TIMEOUT REQUIRE_NS REQUIRE_NETEM JUNIT VERBOSE
export CMOCKA_MESSAGE_OUTPUT=STDOUT # whatever the caller has set, this is what tally() reads
export UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

run_all() {
    local kind=$1 jobs=$2
    shift 2
    [ $# = 0 ] || printf '%s\0' "$@" | xargs -0 -P "$jobs" -n 1 "$0" --one "$kind"
}
run_all unit "$JOBS" "${unit[@]}"
run_all ns 1 "${ns[@]}"

if [ -n "$JUNIT" ]; then
    {
        printf '<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n'
        find "$TMP" -name '*.xml' -print0 | sort -z | xargs -0 -r cat
        echo '</testsuites>'
    } >"$JUNIT"
fi

# A program without a count file did not even start: one more failure.
awk -v programs=$((${#unit[@]} + ${#ns[@]})) '
    { passed += $1; failed += $2; skipped += $3; seen++ }
    END {
        failed += programs - seen
        printf "%d passed, %d failed, %d skipped\n", passed, failed, skipped
        exit failed > 0
    }' /dev/null "$TMP"/*.count
