#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/lint.sh [OBJDIR]
#
# All lints, then the lints' own test. Notes do not fail, violations do.
set -euo pipefail
cd "$(dirname "$0")/.."

objdir=${1:-build/plain}
failed=""
for lint in layers purity symbols sizes format text pages shell selftest; do
    if ! scripts/lint-$lint.sh "$objdir"; then
        failed+=" $lint"
    fi
done
if [ -n "$failed" ]; then
    echo "lint: failed:$failed" >&2
    exit 1
fi
echo "lint: ok"
