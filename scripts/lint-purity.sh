#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/lint-purity.sh [OBJDIR]
#
# The rooms that are told the time and handed datagrams must not get at a clock, a socket, a sleep
# or randomness by themselves: their objects must not import such functions.
set -euo pipefail
export LC_ALL=C

objdir=${1:-build/plain}
rooms="agents/base agents/record agents/media agents/rtp agents/cc agents/play agents/tls agents/quic
    agents/webrtc agents/traffic testbed/scenario testbed/topology testbed/link testbed/sim testbed/certificate"
banned='clock_gettime|gettimeofday|time|ftime|timespec_get|clock|clock_nanosleep|nanosleep|usleep'
banned+='|sleep|socket|bind|connect|send|sendto|sendmsg|sendmmsg|recv|recvfrom|recvmsg|recvmmsg'
banned+='|p?poll|p?select|epoll_.*|timerfd_.*|s?rand|rand_r|s?random|random_r|[dlm]rand48'
banned+='|getrandom|getentropy|arc4random.*'

status=0
for room in $rooms; do
    for source in "$room"/*.c "$room"/*/*.c; do
        case $source in
        *\** | *_test.c | *_nstest.c | *_fuzz.c | *_bench.c | *_main.c) continue ;;
        esac
        object=$objdir/${source%.c}.o
        if [ ! -e "$object" ]; then
            echo "$source: not built, cannot tell what it imports"
            status=1
            continue
        fi
        found=$(nm -u "$object" | awk '{ sub(/@.*/, "", $2); print $2 }' |
            grep -xE "(__)?($banned)(_chk)?" | paste -sd ' ' || true)
        if [ -n "$found" ]; then
            echo "$source: imports $found"
            status=1
        fi
    done
done
exit $status
