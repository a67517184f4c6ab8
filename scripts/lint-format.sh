#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every C file is as clang-format would write it. Tells how many places of a file are not.
set -euo pipefail

# A status of clang-format's without places (a bad .clang-format) must not pass.
status=0
out=$(find agents testbed analysis scripts -name '*.[ch]' -print0 | sort -z |
    xargs -0 -r clang-format --style=file --dry-run -Werror --ferror-limit=0 2>&1) || status=1
if [ $status != 0 ]; then
    awk -F: '
        / error: / { n[$1]++; line[$1] = line[$1] ? line[$1] : $2; seen = 1; next }
        !seen { other = other $0 "\n" }
        END {
            for (f in n)
                printf "%s:%d: %d places not formatted (make format)\n", f, line[f], n[f]
            if (!seen)
                printf "%s", other
        }' <<<"$out" | sort
fi
exit $status
