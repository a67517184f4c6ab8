#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# A lint that finds nothing proves nothing: each one must accept a small clean tree and refuse the
# same tree with one violation planted.
set -euo pipefail
export LC_ALL=C

scripts=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
SPDX='/* SPDX-License-Identifier: GPL-3.0-or-later */'
failed=0

clean_tree() {
    rm -rf "$tmp/tree"
    mkdir -p "$tmp/tree"/{agents/{base,quic,cc},testbed/{sim,netns},analysis/report,scripts}
    cd "$tmp/tree"
    cp "$scripts/../.clang-format" .
    printf '%s\n#include "agents/base/ns.h"\n\nint pure(void)\n{\n    return 1;\n}\n' "$SPDX" \
        >agents/cc/pure.c
    printf '%s\nint pure(void);\n' "$SPDX" >agents/base/ns.h
    printf '# Agents\n\n## What a Room is\n\n[there](../scripts/fine.sh)\n' >agents/README.md
    # shellcheck disable=SC2016 # not to be expanded here
    printf '[a](agents/) [b](agents/README.md#what-a-room-is) `[c](d)` [e](https://x.org)\n' >README.md
    printf '#!/bin/sh\n# %s\necho ok\n' "${SPDX//[\/\*]/}" >scripts/fine.sh
}

# expect pass|fail LINT WHAT: the lint's verdict on the tree as it is now.
expect() {
    local want=$1 lint=$2 what=$3 got=pass
    "$scripts/lint-$lint.sh" "$tmp/obj" >"$tmp/out" 2>&1 || got=fail
    if [ "$got" != "$want" ]; then
        echo "lint-$lint.sh: should $want: $what"
        sed 's/^/    /' "$tmp/out"
        failed=1
    fi
    clean_tree
}

compile() {
    mkdir -p "$tmp/obj/agents/cc"
    "${CC:-cc}" -I. -c agents/cc/pure.c -o "$tmp/obj/agents/cc/pure.o"
}

# lines N TEXT: TEXT, N times.
lines() {
    yes "$2" | head -n "$1" || true
}

include() {
    printf '#include %s\n' "$2" >>"$1"
}

clean_tree
compile
for lint in layers purity symbols sizes format text pages shell; do
    expect pass $lint "a clean tree"
done

include agents/base/ns.h '"agents/cc/cc.h"'
expect fail layers "base includes another room"
include agents/cc/pure.c '"agents/quic/quic_agent.h"'
expect fail layers "cc includes quic"
include agents/cc/pure.c '"pure.h"'
expect fail layers "a header not spelled from the root"
include testbed/sim/a.c '"testbed/netns/netns.h"'
expect fail layers "sim includes netns"
include testbed/sim/a.c '"agents/quic/agent_x.h"'
expect fail layers "sim includes a header inside an agent's room"
include testbed/sim/a.c '"agents/agent.h"'
expect pass layers "sim includes the agents' contract"
include analysis/report/a.c '"testbed/sim/sim.h"'
expect fail layers "analysis includes the testbed"
include agents/cc/pure.c '<ngtcp2/ngtcp2.h>'
expect fail layers "ngtcp2 outside the QUIC agent"
include agents/quic/quic_conn.c '<wolfssl/ssl.h>'
expect fail layers "wolfSSL outside the TLS files"
include agents/quic/quic_tls.c '<wolfssl/ssl.h>'
expect pass layers "wolfSSL in a TLS file"
include testbed/sim/a.c '<netlink/netlink.h>'
expect fail layers "libnl outside netns"
include testbed/netns/a.c '<pcap/pcap.h>'
expect fail layers "libpcap outside capture"
include agents/cc/pure.c '<cmocka.h>'
expect fail layers "cmocka in the product"

printf '#include <time.h>\nlong pure(void)\n{\n    return time(0);\n}\n' >agents/cc/pure.c
compile
expect fail purity "an object that asks for the time"
compile
printf 'int x;\n' >agents/cc/other.c
expect fail purity "a source without an object"

printf 'int lonely(void)\n{\n    return pure();\n}\n' >>agents/cc/pure.c
compile
expect fail symbols "a function that nobody else uses"
compile
printf 'int x;\n' >agents/cc/other.c
expect fail symbols "a source without an object"
printf 'static int lonely(void)\n{\n    return pure();\n}\nint (*const way)(void) = lonely;\n' >>agents/cc/pure.c
printf 'extern int (*const way)(void);\n' >agents/quic/other.h
compile
expect pass symbols "one that is static, and one that another file names"
compile

{
    echo 'int long_one(void)'
    echo '{'
    lines 121 '    x++;'
    echo '}'
} >agents/cc/pure.c
expect fail sizes "a function of 121 lines"
lines 1001 'int x;' >agents/cc/pure.c
expect fail sizes "a file of 1001 lines"
lines 401 'int x;' >agents/base/ns.h
expect fail sizes "a header of 401 lines"
{
    lines 900 'int x;'
    echo 'int short_one(void)'
    echo '{'
    lines 80 '    x++;'
    echo '}'
} >agents/cc/pure.c
expect pass sizes "a long file and function within the hard limits"

printf 'int  main( void ){return 0;}\n' >>agents/cc/pure.c
expect fail format "another style"

echo 'int x;' >agents/cc/pure.c
expect fail text "a C file without a licence line"
echo 'echo x' >scripts/fine.sh
expect fail text "a script without a licence line"
printf '/* %s: later */\n' 'TO''DO' >>agents/cc/pure.c
expect fail text "an unfinished thing"
printf '# from http://%s.%s/debian\n' deb example.org >>scripts/fine.sh
expect fail text "a mirror's name"

lines 71 'words' >agents/README.md
expect fail pages "a top folder's README of 71 lines"
printf '%6000s\n' words >agents/README.md
expect fail pages "one of a single line of 6001 bytes"
lines 71 'words' >agents/cc/README.md
expect pass pages "a room's README of 71 lines"
lines 106 'words' >README.md
expect fail pages "the tree's README of 106 lines"
echo '[x](scripts/gone.sh)' >>README.md
expect fail pages "a link to a file that is not there"
echo '[x](agents/README.md#gone)' >>README.md
expect fail pages "a link to a heading that is not there"
echo '[x](#gone)' >agents/cc/ecn.md
expect fail pages "a link to a heading of the same page that is not there"

# shellcheck disable=SC2016 # not to be expanded here
echo 'rm -r $1/*' >>scripts/fine.sh
expect fail shell "an unquoted variable"

exit $failed
