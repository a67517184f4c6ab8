#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every source names its licence; nothing is left "to be done" in a comment; no file names a
# package registry or a mirror: those come from the host's own configuration.
set -euo pipefail
export LC_ALL=C

# Everything a clone would hold, built and measured things left out.
files() {
    find . \( -name .git -o -path ./build -o -path './results/*' \) -prune -o -type f "$@" -print0
}

status=0
while IFS= read -r -d '' file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: GPL-3.0-or-later'; then
        echo "$file: no SPDX line at the top"
        status=1
    fi
done < <(files \( -name '*.[ch]' -o -name '*.sh' -o -name Makefile -o -name run-scenario \
    -o -path ./.ci/run \))

# The letters in brackets keep these patterns from finding themselves.
unfinished='\b(TO[D]O|FIX[M]E|X[X]X)\b'
registry='\b(registry|mirrors?|proxy|pypi|npm|deb|ftp|security|snapshot|archive|sources)'
registry+='\.[a-z0-9-]+(\.[a-z0-9-]+)*\.(org|com|net|io|dev|internal|local)\b'
for what in "$unfinished" "$registry"; do
    if files | xargs -0 -r grep -nHIE "$what"; then
        status=1
    fi
done
exit $status
