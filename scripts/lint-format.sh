#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Every C file is as clang-format would write it (`make format` rewrites them).
set -euo pipefail

find agents testbed analysis scripts -name '*.[ch]' -print0 | sort -z |
    xargs -0 -r clang-format --style=file --dry-run -Werror 2>&1
