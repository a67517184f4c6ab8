#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Nothing grows into a giant: a .c file has at most 1000 lines (a note from 600), a header 400
# (200), a function 120 (60). Relies on the house style: a function's braces are in column 0.
set -euo pipefail
export LC_ALL=C

# shellcheck disable=SC2016 # awk's, not the shell's
find agents testbed analysis -name '*.[ch]' -print0 | sort -z | xargs -0 -r awk '
    function judge(where, what, lines, soft, hard) {
        if (lines > hard) {
            printf "%s: %s has %d lines, more than %d\n", where, what, lines, hard
            bad = 1
        } else if (lines > soft) {
            printf "%s: note: %s has %d lines, more than %d\n", where, what, lines, soft
        }
    }
    function file_done() {
        if (name ~ /\.h$/)
            judge(name, "the header", lines, 200, 400)
        else if (name)
            judge(name, "the file", lines, 600, 1000)
    }
    FNR == 1 { file_done(); name = FILENAME; open = 0; head = "" }
    { lines = FNR }
    /^[A-Za-z_].*\(/ { head = $0; sub(/\(.*/, "", head); sub(/.*[ *]/, "", head) }
    /^\{/ { open = FNR }
    /^\}/ && open {
        judge(name ":" open, head "()", FNR - open - 1, 60, 120)
        open = 0
    }
    END { file_done(); exit bad }'
