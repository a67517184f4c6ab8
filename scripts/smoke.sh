#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/smoke.sh [DIR]
#
# Does it work here? The smoke scenario and the default one in virtual time, with what they expect,
# and the same seed once more, which must leave the same captures and records. Needs no privileges,
# no network, and nothing writable but SMOKE_OUT (default: a new folder in TMPDIR), where results
# and JUnit XML stay. DIR holds the programs (build).
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
programs=${1:-build}
out=${SMOKE_OUT:-$(mktemp -d "${TMPDIR:-/tmp}/muxbed-smoke.XXXXXX")}
# Programs that lie elsewhere find scenarios and templates here.
export MUXBED_ROOT=$PWD

failed=0
fail() {
    echo "smoke: $*" >&2
    failed=1
}

# scenario NAME OPTION...: runs it into a folder of that name.
scenario() {
    local name=$1 status=0
    shift
    "$programs/muxbed" "scenarios/$name.yaml" --link sim --out "$out/$name" \
        --junit "$out/$name.xml" "$@" || status=$?
    [ "$status" = 0 ] || fail "scenarios/$name.yaml ended with status $status"
    [ -s "$out/$name.xml" ] || fail "there is no $out/$name.xml"
    echo
}

mkdir -p "$out"
scenario smoke --runs 2
scenario delayed-file

if "$programs/muxbed" scenarios/smoke.yaml --link sim --out "$out/again" --quiet >/dev/null; then
    for file in "$out"/smoke/all-1/*.{pcap,csv}; do
        cmp -- "$file" "$out/again/all-1/${file##*/}" || fail "the same seed left another ${file##*/}"
    done
    rm -rf "$out/again"
else
    fail "the second run of scenarios/smoke.yaml did not end well"
fi

if [ $failed = 0 ]; then
    echo "smoke: ok in $SECONDS s; JUnit: $out/smoke.xml $out/delayed-file.xml"
else
    echo "smoke: FAILED; results: $out"
fi
exit $failed
