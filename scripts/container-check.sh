#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/container-check.sh
#
# What scripts/Containerfile does, without a container engine, and stricter: in a fresh Debian 12 it
# installs what is needed, builds, and runs the smoke run as nobody with no capability left, user
# namespaces refused, no network and the whole tree read-only. Needs root, and a mirror the first
# time: the base system is kept in MUXBED_CACHE (/var/cache/muxbed), so that further checks are
# quick and offline. The host's own system is not touched, but for the package debootstrap.
set -euo pipefail
export LC_ALL=C.UTF-8
cd "$(dirname "${BASH_SOURCE[0]}")/.."

SUITE=bookworm
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
CACHE=${MUXBED_CACHE:-/var/cache/muxbed}

die() {
    echo "container-check: $*" >&2
    exit 3
}

# ---- inside: COMMAND of the two phases, each in namespaces of its own ----

# enter ROOT TREE MODE: makes ROOT the place this shell can chroot to, with TREE as its /opt/muxbed.
# MODE ro: neither can be written. We are alone in our mount namespace, which takes all of it away.
enter() {
    local root=$1 tree=$2 mode=$3
    mount --bind "$root" "$root"
    mount --bind "$tree" "$root/opt/muxbed"
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    mount -t tmpfs -o mode=1777 tmp "$root/tmp"
    if [ "$mode" = ro ]; then
        mount -o remount,bind,ro "$root/opt/muxbed"
        mount -o remount,bind,ro "$root"
    fi
}

# What a run must do without, asked as the user that runs. Not one of them may be there.
# shellcheck disable=SC2016 # the inner shell's
UNPRIVILEGED='
    cd /opt/muxbed
    bad() { echo "container-check: this is no check: $*" >&2; exit 3; }
    grep -q "^CapEff:[[:space:]]*0*$" /proc/self/status || bad "there are capabilities"
    grep -q "^CapBnd:[[:space:]]*0*$" /proc/self/status || bad "capabilities can be had"
    ! unshare --map-root-user true 2>/dev/null || bad "user namespaces are allowed"
    ! touch build/x 2>/dev/null && ! touch x 2>/dev/null || bad "the tree can be written"
    [ "$(wc -l </proc/net/route)" -le 1 ] || bad "there is a network"
    make smoke
    for xml in "$SMOKE_OUT"/*.xml; do
        grep -q "<testsuite .*failures=\"0\" errors=\"0\"" "$xml" || bad "$xml has no good suite"
        ! grep -qE "failures=\"[1-9]|errors=\"[1-9]" "$xml"
    done
    echo "container-check: $(id -un), no capability, no user namespaces, no network, read-only: ok"'

case ${1:-} in
--inside)
    case $2 in
    build)
        enter "$3" "$4" rw
        exec chroot "$3" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 HOME=/root \
            make -s --no-print-directory -C /opt/muxbed all
        ;;
    smoke)
        enter "$3" "$4" ro
        exec chroot "$3" /usr/bin/env -i PATH=/usr/bin:/bin LC_ALL=C.UTF-8 HOME=/nonexistent \
            TMPDIR=/tmp SMOKE_OUT=/tmp/smoke \
            setpriv --reuid=nobody --regid=nogroup --clear-groups --no-new-privs \
            --bounding-set=-all --inh-caps=-all bash -ec "$UNPRIVILEGED"
        ;;
    esac
    ;;
"") ;;
*) die "usage: scripts/container-check.sh" ;;
esac

# ---- the base system, once ----

[ "$(id -u)" = 0 ] || die "needs root, to make a base system and to give up everything in it"
unshare --mount --pid --net --fork true || die "mount, PID or network namespaces do not work here"

# The mirrors this host's apt uses, as lines for SUITE; the archive must be one of them.
sources() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(COMPONENT)' 2>/dev/null | sort -u |
        awk -v suite="$SUITE" '$3 == "main" && index($2, suite) == 1 { print "deb", $1, $2, "main" }'
}

make_base() {
    local base=$1 archive proxy
    archive=$(sources | awk -v suite="$SUITE" '$3 == suite { print $2; exit }')
    [ -n "$archive" ] || die "apt's configuration names no mirror of Debian 12 ($SUITE main)"
    if ! command -v debootstrap >/dev/null; then
        apt-get -q -y install --no-install-recommends debootstrap >/dev/null ||
            { apt-get -q update && apt-get -q -y install --no-install-recommends debootstrap; } \
                >/dev/null || die "cannot install debootstrap"
    fi
    proxy=$(apt-config dump --format '%v' Acquire::http::Proxy)
    [ -z "$proxy" ] || export http_proxy=$proxy
    mkdir -p "$base"
    debootstrap --variant=minbase --keyring="$KEYRING" "$SUITE" "$base" "$archive" >"$base.log" ||
        { tail -n 20 "$base.log" >&2 && die "debootstrap failed"; }
    sources >"$base/etc/apt/sources.list"
    apt-config dump | grep -E '^Acquire::(https?|ftp|Retries|ForceIPv[46]|Check-(Valid-Until|Date))\b' \
        >"$base/etc/apt/apt.conf.d/90host" || true
    [ ! -e /etc/resolv.conf ] || cp -L /etc/resolv.conf "$base/etc/resolv.conf"
    cp -L /etc/hosts "$base/etc/hosts"
    mkdir "$base/opt/muxbed"
    cp scripts/install-packages.sh "$base/root/"
    chroot "$base" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root /root/install-packages.sh run
    chroot "$base" apt-get clean
}

self=$PWD/scripts/container-check.sh
key=container-$SUITE-$({
    declare -f make_base sources
    cat scripts/install-packages.sh
    dpkg --print-architecture
} | sha256sum | cut -c 1-16)
mkdir -p "$CACHE"
exec 9>"$CACHE/container.lock"
flock 9
work=$(mktemp -d "$CACHE/container-work.XXXXXX")
trap 'rm -rf "$work"' EXIT
if [ ! -e "$CACHE/$key.tar" ]; then
    echo "container-check: making a base system (once; some minutes)"
    make_base "$work/base"
    rm -f "$CACHE"/container-"$SUITE"-*.tar # of earlier recipes
    tar -C "$work/base" -cf "$work/base.tar" .
    mv "$work/base.tar" "$CACHE/$key.tar"
else
    mkdir "$work/base"
    tar -C "$work/base" -xf "$CACHE/$key.tar"
fi

# ---- build, then run with nothing ----

mkdir "$work/tree"
tar -c --exclude=./build --exclude=./.git --exclude='./results/[!p.R]*' . | tar -C "$work/tree" -x
# wolfSSL and ngtcp2 from the host's cache, if it has them for this very compiler; else they are
# built there.
prefix=$(scripts/deps.sh --prefix)
if [ -e "$prefix/DONE" ]; then
    mkdir -p "$work/base/var/cache/muxbed"
    cp -r "$prefix" "$work/base/var/cache/muxbed/"
fi
echo "container-check: building"
unshare --mount --pid --fork --kill-child "$self" --inside build "$work/base" "$work/tree" \
    >"$work/build.log" 2>&1 || { tail -n 30 "$work/build.log" >&2 && die "the build failed"; }
echo "container-check: smoke run"
unshare --mount --pid --net --fork --kill-child "$self" --inside smoke "$work/base" "$work/tree"
