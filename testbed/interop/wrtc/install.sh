#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   testbed/interop/wrtc/install.sh
#
# Installs what peer.js needs, as package-lock.json says, with npm and the host's own configuration
# of it, into a folder under MUXBED_CACHE (root: /var/cache/muxbed, others: ~/.cache/muxbed); once.
# Prints that folder's node_modules, or says on standard error why there is none (status 3).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
LIMIT_S=60

missing() {
    echo "no foreign WebRTC peers here: $*" >&2
    exit 3
}

for program in node npm; do
    command -v $program >/dev/null || missing "there is no $program"
done
if [ "$(id -u)" = 0 ]; then
    cache=/var/cache/muxbed
else
    cache=${HOME:-/nonexistent}/.cache/muxbed
fi
cache=${MUXBED_CACHE:-$cache}
dir=$cache/wrtc-$({
    node --version
    cat package.json package-lock.json
} | sha256sum | cut -c 1-16)

if [ ! -e "$dir" ]; then
    mkdir -p "$cache" 2>/dev/null || missing "cannot write to $cache"
    part=$(mktemp -d "$dir.XXXXXX")
    trap 'rm -rf "$part"' EXIT
    cp package.json package-lock.json "$part"
    if ! (cd "$part" && timeout "$LIMIT_S" npm ci --ignore-scripts --no-audit --no-fund \
        --fetch-retries=0 >npm.log 2>&1); then
        missing "npm could not install them: $(grep -m 1 -E 'code|ERR' "$part/npm.log" || echo "not within $LIMIT_S s")"
    fi
    (cd "$part" && node -e 'require("@roamhq/wrtc"), require("werift"), require("hash-wasm")' >/dev/null 2>&1) ||
        missing "what npm installed does not run here"
    mv -T "$part" "$dir" 2>/dev/null || [ -e "$dir" ] # another may have been faster
fi
echo "$dir/node_modules"
