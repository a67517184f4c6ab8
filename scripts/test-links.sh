#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/test-links.sh [DIR]
#
# Do the kinds of link agree? Every scenario of scenarios/links in virtual time and in real
# namespaces, and what `analyze agree` makes of the medians: a table per scenario and link, JUnit
# XML beside the results. Real time: some minutes on a host that has nothing else to do. DIR
# holds the programs (build).
#
#   LINKS_RUNS=5              valid repetitions that are compared
#   LINKS_OUT=DIR             results and JUnit XML (default: a new folder in TMPDIR)
#   LINKS_REAL="wire netem"   the links to compare with sim; one this host lacks is left out
#   LINKS_ONLY="NAME..."      only these scenarios
#   LINKS_NETEM="COMMAND"     runs muxbed for link netem through COMMAND, into a kernel that has
#                             netem; it must keep what is written to LINKS_OUT:
#                             "scripts/uml-run.sh --write $LINKS_OUT --timeout 3600 --"
#
# Exit status: 0 all agree, 1 some metric is outside its band, 3 no real link works here, 4 runs
# that are invalid, even when made again.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."
programs=${1:-build}
runs=${LINKS_RUNS:-5}
real=${LINKS_REAL:-wire netem}
out=${LINKS_OUT:-$(mktemp -d "${TMPDIR:-/tmp}/muxbed-links.XXXXXX")}
export MUXBED_ROOT=$PWD
ATTEMPTS=2

# jobs LINK: as many at once as stay on time; a kernel of its own has one processor.
jobs() {
    [ "$1" = wire ] && echo auto || echo 1
}

# run LINK SCENARIO FOLDER REPETITIONS OPTION...: one set of repetitions; its status.
run() {
    local through=() link=$1 scenario=$2 folder=$3 repetitions=$4
    shift 4
    [ "$link" != netem ] || read -ra through <<<"${LINKS_NETEM:-}"
    "${through[@]}" "$programs/muxbed" run "$scenario" --link "$link" --runs "$repetitions" \
        --jobs "$(jobs "$link")" --out "$folder" --quiet --keep records --junit "$folder.runs.xml" "$@"
}

# works LINK: whether this host, or what LINKS_NETEM names, has it; says why not.
works() {
    local status=0
    run "$1" scenarios/media-only.yaml "$out/probe" 1 --set duration=1s >"$out/probe.log" 2>&1 || status=$?
    rm -rf "$out/probe" "$out/probe.runs.xml"
    if [ $status = 3 ]; then
        echo "test-links: link $1 is left out: $(tail -n 1 "$out/probe.log")"
    fi
    [ $status != 3 ]
}

worse() {
    # 4 before 1 before 0
    [ "$1" -le "$worst" ] || worst=$1
}

compare() {
    local scenario=$1 link=$2 name=$3 status=0 attempt
    for ((attempt = 1; attempt <= ATTEMPTS; attempt++)); do
        run "$link" "$scenario" "$out/$name/$link-$attempt" $((attempt * runs)) || true
        status=0
        "$programs/analyze" agree "$out/$name/sim" "$out/$name/$link-$attempt" \
            --runs-min "$runs" --name "$name: sim and $link" --junit "$out/$name.$link.xml" ||
            status=$?
        # A busy host spoils runs, which then say so: one more set is allowed, twice as large.
        [ $status = 4 ] || break
    done
    worse "$status"
}

mkdir -p "$out"
links=()
for link in $real; do
    ! works "$link" || links+=("$link")
done
if [ ${#links[@]} = 0 ]; then
    echo "test-links: no real link works here" >&2
    exit 3
fi
worst=0
for scenario in scenarios/links/*.yaml; do
    name=$(basename "$scenario" .yaml)
    [[ " ${LINKS_ONLY:-$name} " == *" $name "* ]] || continue
    mkdir -p "$out/$name"
    if ! run sim "$scenario" "$out/$name/sim" "$runs"; then
        worse 4
        continue
    fi
    for link in "${links[@]}"; do
        compare "$scenario" "$link" "$name"
        echo
    done
done
if [ "$worst" = 0 ]; then
    echo "test-links: ${links[*]}: within the bands of sim, in $SECONDS s; JUnit and results: $out"
else
    echo "test-links: FAILED ($worst); JUnit and results: $out"
fi
exit "$worst"
