#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/install-packages.sh run|test|http|interop|node|netem [--check]
#
# Installs with apt what muxbed needs and this host lacks: `run` to build and run scenarios, `test`
# also to develop, `http` the web server of stack play-http (the program alone: no service is
# started), `interop` the peers that testbed/interop talks to, `node` what its WebRTC peers run in
# (not for hosts that have node and npm from elsewhere); `netem` a kernel in which netem can be tried
# anywhere (scripts/uml-run.sh). Says nothing when all is there.
# --check only tells (status 3: something lacks).
set -euo pipefail
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

RUN="gcc make libc6-dev pkg-config xz-utils patch ca-certificates debian-archive-keyring
    libfyaml-dev libjansson-dev libgsl-dev libsqlite3-dev libnl-3-dev libnl-route-3-dev libpcap-dev
    libxxhash-dev libsrtp2-dev libusrsctp-dev libcurl4-openssl-dev gnuplot-nox iproute2
    procps util-linux"
TEST="libcmocka-dev clang clang-format libclang-rt-dev tshark shellcheck libcap2-bin"
HTTP="nginx"
INTEROP="golang-go golang-github-lucas-clemente-quic-go-dev golang-github-pion-webrtc.v3-dev
    ngtcp2-client ngtcp2-server iperf3 openssl"
NETEM="user-mode-linux kmod"

group=${1:-}
check=${2:-}
case $group in
run) want=$RUN ;;
test) want="$RUN $TEST" ;;
http) want=$HTTP ;;
interop) want=$INTEROP ;;
node) want="nodejs npm" ;;
netem) want=$NETEM ;;
*)
    echo "usage: scripts/install-packages.sh run|test|http|interop|node|netem [--check]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null; then
    # Not Debian: what is missing will be named by the compiler or by the program itself.
    echo "muxbed: no dpkg here; make sure that you have: ${want//$'\n'/}" >&2
    exit 0
fi

# Another package may stand in for a wanted one (gnuplot-qt for gnuplot-nox), so provided names
# count as well.
missing=$(dpkg-query -W -f '${db:Status-Status} ${Package}, ${Provides}\n' |
    awk -v want="$want" '
        BEGIN { n = split(want, names) }
        $1 == "installed" {
            sub(/^installed /, "")
            gsub(/\([^)]*\)|,/, " ")
            m = split($0, has)
            for (i = 1; i <= m; i++)
                here[has[i]] = 1
        }
        END {
            for (i = 1; i <= n; i++)
                if (!(names[i] in here))
                    printf "%s ", names[i]
        }')
# An early Debian 12 keyring does not know trixie's keys yet (scripts/deps.sh needs them).
stale=
if [ ! -e /usr/share/keyrings/debian-archive-trixie-automatic.gpg ]; then
    stale=yes
    [[ $missing == *debian-archive-keyring* ]] || missing+="debian-archive-keyring "
fi
[ -n "$missing" ] || exit 0

if [ "$check" = --check ]; then
    echo "$missing"
    exit 3
fi
if [ "$(id -u)" != 0 ]; then
    echo "muxbed: missing packages: $missing" >&2
    echo "muxbed: run this once as root: $(cd "$(dirname "$0")" && pwd)/install-packages.sh $group" >&2
    exit 3
fi

echo "muxbed: installing $missing" >&2
log=$(mktemp)
# What is wanted of nginx is the program: no web server of the host's, now or after its next start.
policy=
if [ "$group" = http ] && [ ! -e /usr/sbin/policy-rc.d ]; then
    policy=/usr/sbin/policy-rc.d
    printf '#!/bin/sh\nexit 101\n' >"$policy"
    chmod +x "$policy"
fi
trap 'rm -f "$log" ${policy:+"$policy"}' EXIT
install() {
    # tshark asks whether everybody may capture: the default, no, is right.
    # shellcheck disable=SC2086 # a list of names
    apt-get -q -y -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=300 \
        install --no-install-recommends $missing </dev/null >"$log" 2>&1
}
# The host's package lists may be current; read them again only when they do not do.
if { [ -n "$stale" ] || ! install; } && ! { apt-get -q -o DPkg::Lock::Timeout=300 update >"$log" 2>&1 && install; }; then
    cat "$log" >&2
    echo "muxbed: apt could not install: $missing" >&2
    exit 3
fi
# Only what was installed here: a web server that was there before is somebody's.
if [[ " $missing" == *" nginx"* ]] && ! update-rc.d nginx disable >"$log" 2>&1; then
    cat "$log" >&2
    echo "muxbed: nginx is installed, but update-rc.d could not keep it from starting with the host" >&2
    exit 3
fi
