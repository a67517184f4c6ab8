#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Who may include whom. Includes of our own headers are spelled from the root, so the line itself
# shows the room. The first row whose pattern fits a file is its rule; a file may always include
# its own room. Tests, fuzzers and benchmarks may include what their room may.
set -euo pipefail

RULES='
agents/base/*         -
agents/record/*       agents/base/*
agents/rtp/*          agents/base/*
agents/media/*        agents/base/* agents/record/* agents/rtp/*
agents/cc/*           agents/base/*
agents/tls/*          agents/base/*
agents/play/*         agents/base/* agents/record/*
agents/quic/*         agents/tls/* agents/base/* agents/record/* agents/rtp/* agents/media/* agents/cc/* agents/play/* agents/agent*.h
agents/webrtc/*       agents/tls/* agents/base/* agents/record/* agents/rtp/* agents/media/* agents/cc/* agents/agent*.h
agents/traffic/*      agents/base/* agents/record/* agents/agent*.h
agents/io/*           agents/*
agents/http/*         agents/base/* agents/record/* agents/play/* agents/io/*
agents/*.h            agents/base/* agents/record/* agents/rtp/* agents/media/* agents/cc/* agents/play/* agents/agent*.h
agents/*.c            agents/*
testbed/scenario/*    agents/base/* agents/agent_config.h agents/media/frame_trace.h
testbed/topology/*    agents/base/* testbed/scenario/* testbed/link/impair.h testbed/link/aqm.h
testbed/link/*        agents/base/*
testbed/certificate/* agents/base/*
testbed/netns/*       agents/base/* testbed/topology/* testbed/link/*
testbed/wire/*        agents/base/* testbed/link/*
testbed/capture/*     agents/base/*
testbed/sim/*         agents/base/* agents/record/* agents/agent*.h testbed/link/* testbed/topology/* testbed/capture/pcap_dump.h
testbed/*             agents/base/* agents/record/* agents/play/* agents/agent*.h testbed/*
analysis/ingest/*     agents/base/* agents/record/*
analysis/metrics/rtp_log* agents/base/* agents/media/* agents/rtp/* analysis/ingest/*
analysis/metrics/*    agents/base/* analysis/ingest/*
analysis/report/agreement* agents/base/* agents/record/* analysis/*
analysis/*            agents/base/* analysis/*
'

# Which of our files may see an outside library: its headers, then the files.
LIBRARIES='
ngtcp2*               agents/quic/*
wolfssl/*             agents/tls/* agents/quic/*tls* agents/quic/*crypto* agents/webrtc/*tls*
srtp2/*               agents/webrtc/*
usrsctp*              agents/webrtc/*
netlink/*             testbed/netns/*
pcap*                 testbed/capture/* analysis/ingest/*
fyaml* libfyaml*      testbed/scenario/*
curl/*                agents/http/*
cmocka*               *_test.c *_nstest.c *_bench.c agents/base/test* testbed/faults/*
'
# The header patterns of a row end at the first word holding one of these.
ROOM='^(agents|testbed|analysis|\*_)'

status=0
complain() {
    echo "$1: $2"
    status=1
}

# fits NAME PATTERN...: NAME is one of the patterns. A pattern for one level stays on its level.
fits() {
    local name=$1 pattern
    shift
    for pattern; do
        # shellcheck disable=SC2053 # patterns are meant
        [[ $name == $pattern ]] || continue
        # agents/agent*.h means headers beside the rooms, not inside one.
        [[ $pattern == agents/agent* && ${name#agents/} == */* ]] && continue
        return 0
    done
    return 1
}

check_own() {
    local file=$1 line=$2 header=$3 pattern allowed
    case $header in
    agents/* | testbed/* | analysis/*) ;;
    *)
        complain "$file:$line" "spell \"$header\" from the root"
        return
        ;;
    esac
    if [ "$(dirname "$header")" = "$(dirname "$file")" ]; then
        return
    fi
    while read -r pattern allowed; do
        # shellcheck disable=SC2053
        [[ -n $pattern && $file == $pattern ]] || continue
        set -f
        # shellcheck disable=SC2086 # a list of patterns
        fits "$header" $allowed || complain "$file:$line" "may not include $header"
        set +f
        return
    done <<<"$RULES"
    complain "$file:$line" "no rule for this folder"
}

check_library() {
    local file=$1 line=$2 header=$3 row word headers files
    while read -r -a row; do
        headers=()
        files=()
        for word in "${row[@]}"; do
            if [[ ${#files[@]} -gt 0 || $word =~ $ROOM ]]; then
                files+=("$word")
            else
                headers+=("$word")
            fi
        done
        fits "$header" "${headers[@]}" || continue
        fits "$file" "${files[@]}" || complain "$file:$line" "may not see <$header>"
    done < <(set -f && echo "$LIBRARIES")
}

while IFS=: read -r file line text; do
    [[ $text =~ [\"\<]([^\"\>]*) ]]
    header=${BASH_REMATCH[1]}
    case $text in
    *\"*) check_own "$file" "$line" "$header" ;;
    *) check_library "$file" "$line" "$header" ;;
    esac
done < <(find agents testbed analysis -name '*.[ch]' -print0 | sort -z |
    xargs -0 -r grep -nHE '^[[:space:]]*#[[:space:]]*include[[:space:]]*["<]')
exit $status
