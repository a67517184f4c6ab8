#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/test-links.sh [DIR]
#
# Do the kinds of link agree? Every scenario of scenarios/links in virtual time and in real
# namespaces, and what `analyze agree` makes of the medians: a table per scenario and link, JUnit
# XML beside the results. Real time: wire takes ten minutes on a host that has nothing else to do,
# netem half an hour. Where this host has no netem, user-mode Linux has it (scripts/uml-run.sh), if
# it is installed (scripts/install-packages.sh netem). Its clock is rough, so runs there that are
# invalid for nothing but driver-late are taken, and it is said how many. A scenario that a link
# cannot do, and a link that cannot be had here, is left out, and that is said. DIR holds the
# programs (build).
#
#   LINKS_RUNS=5              valid repetitions that are compared
#   LINKS_OUT=DIR             results and JUnit XML (default: a new folder in TMPDIR)
#   LINKS_REAL="wire netem"   the links to compare with sim
#   LINKS_ONLY="NAME..."      only these scenarios
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
mkdir -p "$out"
out=$(readlink -f "$out")
export MUXBED_ROOT=$PWD
ATTEMPTS=2
LINK_REFUSED=2 # exit status of a run whose link cannot do the scenario
LINK_MISSING=3
# What runs muxbed for link netem, when that is not this host's kernel.
through=()

# jobs LINK: as many at once as stay on time; a kernel of its own has one processor.
jobs() {
    [ "$1" = netem ] && [ ${#through[@]} -gt 0 ] && echo 1 || echo auto
}

# run LINK SCENARIO FOLDER REPETITIONS OPTION...: one set of repetitions; its status.
run() {
    local kernel=() link=$1 scenario=$2 folder=$3 repetitions=$4
    shift 4
    [ "$link" != netem ] || kernel=("${through[@]}")
    "${kernel[@]}" "$programs/muxbed" run "$scenario" --link "$link" --runs "$repetitions" \
        --jobs "$(jobs "$link")" --out "$folder" --quiet --keep records --junit "$folder.runs.xml" "$@"
}

# probe LINK: the status of a short run on it, and what that said.
probe() {
    local status=0
    run "$1" scenarios/media-only.yaml "$out/probe" 1 --set duration=1s >"$out/probe.log" 2>&1 || status=$?
    rm -rf "$out/probe" "$out/probe.runs.xml"
    return $status
}

# works LINK: whether this host has it, or user-mode Linux; says why not.
works() {
    local status=0 why
    probe "$1" || status=$?
    [ $status = $LINK_MISSING ] || return 0
    why=$(tail -n 1 "$out/probe.log")
    if [ "$1" = netem ]; then
        through=(scripts/uml-run.sh --write "$out" --timeout 7200 --)
        status=0
        probe netem || status=$?
        case $status in
        125 | "$LINK_MISSING") through=() why="$why; $(tail -n 1 "$out/probe.log")" ;;
        *)
            echo "test-links: link netem in user-mode Linux: $why"
            return 0
            ;;
        esac
    fi
    echo "test-links: link $1 is left out: $why"
    return 1
}

worse() {
    # 4 before 1 before 0
    [ "$1" -le "$worst" ] || worst=$1
}

compare() {
    local scenario=$1 link=$2 name=$3 status=0 attempt accept=()
    [ "$link" != netem ] || [ ${#through[@]} = 0 ] || accept=(--accept driver-late)
    for ((attempt = 1; attempt <= ATTEMPTS; attempt++)); do
        status=0
        run "$link" "$scenario" "$out/$name/$link-$attempt" $((attempt * runs)) \
            2> >(tee "$out/$name/$link.log" >&2) || status=$?
        if [ $status = $LINK_REFUSED ]; then
            left_out+=("$name on $link: $(tail -n 1 "$out/$name/$link.log")")
            return
        fi
        status=0
        "$programs/analyze" agree "$out/$name/sim" "$out/$name/$link-$attempt" "${accept[@]}" \
            --runs-min "$runs" --name "$name: sim and $link" --junit "$out/$name.$link.xml" ||
            status=$?
        # A busy host spoils runs, which then say so: one more set is allowed, twice as large.
        [ $status = 4 ] || break
    done
    compared=$((compared + 1))
    worse "$status"
}

links=()
left_out=()
compared=0
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
for what in "${left_out[@]}"; do
    echo "test-links: left out: $what"
done
if [ "$compared" = 0 ]; then
    echo "test-links: nothing was compared" >&2
    worse 4
fi
if [ "$worst" = 0 ]; then
    echo "test-links: ${links[*]}: $compared comparisons within the bands of sim, in $SECONDS s; JUnit and results: $out"
else
    echo "test-links: FAILED ($worst); JUnit and results: $out"
fi
exit "$worst"
