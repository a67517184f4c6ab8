#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# The README of each top folder is one page: at most 70 lines and 6000 bytes, the tree's own at most
# half as much again (further down, a note). Links between pages lead somewhere: to a file or folder that is
# there and, behind #, to one of its headings.
set -euo pipefail
export LC_ALL=C

# Pages a clone would hold.
mapfile -t pages < <(find . \( -name .git -o -path ./build -o -path './results/*/*' -o -name node_modules \) \
    -prune -o -name '*.md' -print | sort)
[ "${#pages[@]}" -gt 0 ] || exit 0
status=0

for page in "${pages[@]}"; do
    note='' most=(70 6000)
    case $page in
    ./README.md) most=(105 9000) ;;
    ./*/*/README.md) note='note: ' ;;
    ./*/README.md) ;;
    *) continue ;;
    esac
    read -r lines bytes < <(wc -lc <"$page")
    if [ "$lines" -gt "${most[0]}" ] || [ "$bytes" -gt "${most[1]}" ]; then
        echo "${page#./}: ${note}has $lines lines and $bytes bytes, more than ${most[0]} or ${most[1]}"
        [ -n "$note" ] || status=1
    fi
done

# What a page links to, "line target" each; what stands in code is none.
links() {
    awk '
        /^ *```/ { code = !code; next }
        code || /^    / { next }
        {
            gsub(/`[^`]*`/, "")
            while (match($0, /\]\([^()]*\)/)) {
                print FNR, substr($0, RSTART + 2, RLENGTH - 3)
                $0 = substr($0, RSTART + RLENGTH)
            }
        }' "$1"
}

# The names by which a page's headings can be linked to.
anchors() {
    awk '
        /^ *```/ { code = !code }
        !code && sub(/^#+ +/, "") {
            $0 = tolower($0)
            gsub(/[^a-z0-9 _-]/, "")
            gsub(/ /, "-")
            print
        }' "$1"
}

for page in "${pages[@]}"; do
    while read -r line target; do
        case $target in
        *://* | mailto:*) continue ;;
        esac
        path=${target%%#*} anchor=""
        [ "$path" = "$target" ] || anchor=${target#*#}
        where=$page
        [ -z "$path" ] || where=$(dirname "$page")/$path
        if [ ! -e "$where" ]; then
            echo "${page#./}:$line: links to $target, which is not there"
            status=1
        elif [ -n "$anchor" ] && ! anchors "$where" | grep -qxF -e "$anchor"; then
            echo "${page#./}:$line: links to $target, which has no such heading"
            status=1
        fi
    done < <(links "$page")
done
exit $status
