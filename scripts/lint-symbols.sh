#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/lint-symbols.sh [OBJDIR]
#
# What a source file gives away must be asked for by another one: else it is dead, or should be
# static. Tests count as others, for what can only be seen from inside.
set -euo pipefail
export LC_ALL=C

objdir=${1:-build/plain}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

find agents testbed analysis -name '*.[ch]' 2>/dev/null | sort >"$tmp/sources"
# Words that two files have; a header's count as those of the source beside it.
# shellcheck disable=SC2016 # awk's
tr '\n' '\0' <"$tmp/sources" | xargs -0 awk '
    FNR == 1 { own = FILENAME; sub(/\.[ch]$/, "", own) }
    {
        line = $0
        while (match(line, /[A-Za-z_][A-Za-z0-9_]*/)) {
            word = substr(line, RSTART, RLENGTH)
            line = substr(line, RSTART + RLENGTH)
            if (!((word, own) in seen)) {
                seen[word, own] = 1
                count[word]++
            }
        }
    }
    END { for (word in count) if (count[word] > 1) print word }' | sort -u >"$tmp/shared"

status=0
while read -r source; do
    case $source in
    *.h | *_test.c | *_nstest.c | *_fuzz.c | *_bench.c) continue ;;
    # These stand in for what libc has: the linker asks for them.
    */oom_preload.c | */webrtc_sctp_mem.c) continue ;;
    esac
    object=$objdir/${source%.c}.o
    if [ ! -e "$object" ]; then
        echo "$source: not built, cannot tell what it gives away"
        status=1
        continue
    fi
    # Likewise what --wrap made of a name.
    nm --defined-only "$object" |
        awk '$2 ~ /^[BDRT]$/ && $3 !~ /^(main$|_)/ { print $3 }' | sort >"$tmp/given"
    found=$(comm -23 "$tmp/given" "$tmp/shared" | paste -sd ' ')
    if [ -n "$found" ]; then
        echo "$source: nobody else uses: $found"
        status=1
    fi
done <"$tmp/sources"
exit $status
