#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/test-netem.sh PROGRAM...
#
# Runs namespace tests in user-mode Linux (scripts/uml-run.sh), whose kernel has netem, so that none
# of them may be skipped for want of it. Among them are whole runs, whose results stay in NETEM_OUT
# if that names a folder. Delay, loss and what the kernel reports back are judged; how late packets
# were is only said, since the clock there is rough. Ends with "N passed, N failed, N skipped";
# status 0 when none failed, 3 when user-mode Linux cannot be had here.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
: "${TEST_TIMEOUT:=250}" "${NETEM_TIMEOUT:=500}"

scripts/install-packages.sh netem || exit 3
status=0
scripts/uml-run.sh --timeout 60 true || status=$?
if [ "$status" != 0 ]; then
    echo "test-netem: user-mode Linux does not work here" >&2
    exit 3
fi

share=()
if [ -n "${NETEM_OUT:-}" ]; then
    mkdir -p "$NETEM_OUT"
    NETEM_OUT=$(readlink -f "$NETEM_OUT")
    share=(--write "$NETEM_OUT")
    export NETEM_OUT
fi
report=$(mktemp)
trap 'rm -f "$report"' EXIT
export TEST_TIMEOUT REQUIRE_NS=1 REQUIRE_NETEM=1 VERBOSE=1
scripts/uml-run.sh "${share[@]}" --timeout "$NETEM_TIMEOUT" scripts/run-tests.sh --ns "$@" |
    tee "$report" || status=$?
if ! grep -qE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' "$report"; then
    echo "0 passed, 1 failed, 0 skipped" # it did not come to an end: one failure
fi
exit $status
