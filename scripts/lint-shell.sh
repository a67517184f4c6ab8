#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Everything a shell runs passes shellcheck.
set -euo pipefail

find . \( -name .git -o -path ./build -o -path './results/*' \) -prune -o \
    -type f \( -name '*.sh' -o -path ./run-scenario -o -path ./.ci/run \) -print0 |
    xargs -0 -r shellcheck -x
