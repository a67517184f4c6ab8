#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
# Builds the two libraries Debian 12 has not, static: wolfSSL (with QUIC and SRTP) and ngtcp2 with
# its wolfSSL helper, from Debian trixie's source packages.
#
#   scripts/deps.sh            build if needed; print the prefix on standard output
#   scripts/deps.sh --prefix   only print where the prefix is or would be
#
# Trust: a private apt configuration reads the mirrors this host already uses and accepts only what
# Debian's archive key has signed; the upstream tarballs must also have the digests below. The
# host's own apt sources and state are not touched. Debian's patches (security fixes) are applied.
#
# The result is kept under MUXBED_CACHE (root: /var/cache/muxbed, others: ~/.cache/muxbed) in a
# folder named by versions and a hash of everything that shapes it, so that another clone finds it.
set -euo pipefail
export LC_ALL=C

SUITE=trixie
WOLFSSL_VERSION=5.7.2
WOLFSSL_SHA256=0f2ed82e345b833242705bbc4b08a2a2037a33f7bf9c610efae6464f6b10e305
NGTCP2_VERSION=1.11.0
NGTCP2_SHA256=382c15bf66b630f26021631b25b7eb1feac42c67c1d6826189d61091dfaa4d09
KEYRING=/usr/share/keyrings/debian-archive-keyring.gpg
SYSTEM_CACHE=/var/cache/muxbed

CC=${DEPS_CC:-cc}
DEPS_CFLAGS=${DEPS_CFLAGS:--O2 -g1 -fPIC}
HERE=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
SETTINGS=$HERE/wolfssl_user_settings.h

die() {
    echo "deps: $*" >&2
    exit 3
}

# ---- where the prefix is ----

cache_dir() {
    if [ -n "${MUXBED_CACHE:-}" ]; then
        echo "$MUXBED_CACHE"
    elif [ "$(id -u)" = 0 ] || [ -e "$SYSTEM_CACHE/$1/DONE" ]; then
        echo "$SYSTEM_CACHE" # what root has built serves everybody
    else
        echo "${XDG_CACHE_HOME:-$HOME/.cache}/muxbed"
    fi
}

cache_key() {
    local hash
    hash=$({
        cat "${BASH_SOURCE[0]}" "$SETTINGS"
        echo "$DEPS_CFLAGS"
        "$CC" -dumpmachine 2>/dev/null && "$CC" --version || echo "no compiler"
    } | sha256sum)
    echo "deps-wolfssl$WOLFSSL_VERSION-ngtcp2$NGTCP2_VERSION-${hash:0:16}"
}

KEY=$(cache_key)
CACHE=$(cache_dir "$KEY")
PREFIX=$CACHE/$KEY

case ${1:-} in
--prefix)
    echo "$PREFIX"
    exit 0
    ;;
"") ;;
*) die "usage: scripts/deps.sh [--prefix]" ;;
esac

if [ -e "$PREFIX/DONE" ]; then
    echo "$PREFIX"
    exit 0
fi

# ---- download ----

# Prints the mirror (its URI) this host's apt uses for the archive, or for its security updates.
mirror() {
    # shellcheck disable=SC2016 # apt expands these
    apt-get indextargets --format '$(REPO_URI) $(CODENAME) $(RELEASE) $(COMPONENT)' 2>/dev/null |
        awk -v want="$1" '
            $NF != "main" { next }
            { kind = ($2 $3 ~ /-security|\/updates/) ? "security" : "archive" }
            kind == want && $2 $3 !~ /-updates|-backports|-proposed/ { print $1; exit }'
}

private_apt() {
    local work=$1 archive security
    archive=$(mirror archive)
    security=$(mirror security)
    [ -n "$archive" ] || die "no Debian mirror found in apt's configuration (deb … main)"
    [ -r "$KEYRING" ] || die "$KEYRING is missing: install the package debian-archive-keyring"
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial"
    {
        echo "deb-src [signed-by=$KEYRING] $archive $SUITE main"
        [ -z "$security" ] || echo "deb-src [signed-by=$KEYRING] $security $SUITE-security main"
    } >"$work/apt/sources.list"
    {
        # Of the host's settings only how to reach a mirror and, for frozen mirrors, whether its
        # dates count; not its hooks, not whom it trusts.
        apt-config dump |
            grep -E '^Acquire::(https?|ftp|Retries|ForceIPv[46]|Check-(Valid-Until|Date))\b' || true
        cat <<EOF
Dir::State "$work/apt";
Dir::State::status "/dev/null";
Dir::Cache "$work/apt/cache";
Dir::Etc::main "/dev/null";
Dir::Etc::parts "/dev/null";
Dir::Etc::sourcelist "$work/apt/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "$work/apt";
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
APT::Get::AllowUnauthenticated "false";
APT::Sandbox::User "root";
EOF
    } >"$work/apt/apt.conf"
}

# fetch NAME VERSION SHA256: the pinned upstream tarball and Debian's patches to it.
fetch() {
    local name=$1 version=$2 want=$3 orig have
    apt-get -qq source --download-only --tar-only "$name" >&2
    apt-get -qq source --download-only --diff-only "$name" >&2
    orig=$(echo "${name}_$version".orig.tar.*)
    [ -f "$orig" ] || die "$SUITE has no $name $version any more (found: $(echo "$name"_*))"
    have=$(sha256sum "$orig")
    [ "${have%% *}" = "$want" ] ||
        die "$orig does not have the pinned digest: expected $want, got ${have%% *}"
    unpack "$name" "$orig"
}

unpack() {
    local name=$1 orig=$2 patch
    mkdir "$name"
    tar -xf "$orig" -C "$name" --strip-components=1
    tar -xf "$name"_*.debian.tar.xz -C "$name"
    [ -f "$name/debian/patches/series" ] || return 0
    while read -r patch _; do
        case $patch in "" | \#*) continue ;; esac
        patch -s -p1 -d "$name" -i "debian/patches/$patch" >&2 ||
            die "Debian's patch $patch does not apply to $name"
    done <"$name/debian/patches/series"
}

# ---- compile ----

# compile OBJDIR CFLAGS... : compiles the files named on standard input, in parallel. A line may
# carry flags of its own after the name.
compile() {
    local objdir=$1
    shift
    mkdir -p "$objdir"
    # shellcheck disable=SC2016 # expanded by the inner shell
    CC=$CC OBJDIR=$objdir xargs -P "$(nproc)" -L 1 bash -c '
        n=$(($1)); flags=("${@:2:n}"); src=${@:2+n:1}; extra=("${@:3+n}")
        $CC "${flags[@]}" "${extra[@]}" -c "$src" -o "$OBJDIR/${src//\//_}.o" || exit 255
    ' compile $# "$@"
}

wolfssl_sources() {
    local f
    for f in dtls internal keys quic ssl tls tls13 wolfio; do
        echo "src/$f.c"
    done
    for f in asn chacha chacha20_poly1305 coding cpuid curve25519 dh ecc error fe_operations \
        ge_operations hash hmac kdf logging md5 memory pkcs12 poly1305 pwdbased random rsa sha \
        sha256 sha512 signature sp_c64 sp_int wc_encrypt wc_port wolfmath; do
        echo "wolfcrypt/src/$f.c"
    done
    if [[ $("$CC" -dumpmachine) != x86_64* ]]; then
        echo "wolfcrypt/src/aes.c"
        echo "wolfcrypt/src/sp_c32.c"
        return
    fi
    echo "wolfcrypt/src/aes.c -maes -msse4.1 -mpclmul"
    echo "wolfcrypt/src/sp_x86_64.c"
    for f in aes_asm aes_gcm_asm chacha_asm fe_x25519_asm poly1305_asm sha256_asm sha512_asm \
        sp_x86_64_asm; do
        echo "wolfcrypt/src/$f.S -include user_settings.h"
    done
}

build_wolfssl() {
    local out=$1 flags
    read -ra flags <<<"$DEPS_CFLAGS"
    mkdir -p "$out/lib" "$out/include"
    cp "$SETTINGS" "$out/include/user_settings.h"
    (
        cd wolfssl
        wolfssl_sources | compile ../obj-wolfssl "${flags[@]}" -DWOLFSSL_USER_SETTINGS \
            -DBUILDING_WOLFSSL -I"$out/include" -I.
    )
    ar rcs "$out/lib/libwolfssl.a" obj-wolfssl/*.o
    cp -r wolfssl/wolfssl "$out/include/"
    # ngtcp2's helper includes options.h; were it not here, a system copy of another version
    # would be taken without a word.
    : >"$out/include/wolfssl/options.h"
}

ngtcp2_config() {
    cat <<'EOF'
/* What ngtcp2's configure would find with glibc. */
#define HAVE_ARPA_INET_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_UNISTD_H 1
#define HAVE_ENDIAN_H 1
#define HAVE_BYTESWAP_H 1
#define HAVE_DECL_BE64TOH 1
#define HAVE_DECL_BSWAP_64 1
#define HAVE_EXPLICIT_BZERO 1
EOF
    if printf '#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__\n#error\n#endif\n' |
        "$CC" -E -x c - >/dev/null 2>&1; then
        return
    fi
    echo "#define WORDS_BIGENDIAN 1"
}

build_ngtcp2() {
    local out=$1 flags private=$1/include/ngtcp2-private
    read -ra flags <<<"$DEPS_CFLAGS"
    mkdir -p "$out/include/ngtcp2" "$private"
    # The private headers go along: the QUIC agent takes over congestion control.
    cp ngtcp2/lib/*.h "$private/"
    ngtcp2_config >"$private/config.h"
    cp ngtcp2/lib/includes/ngtcp2/*.h ngtcp2/crypto/includes/ngtcp2/ngtcp2_crypto.h \
        ngtcp2/crypto/includes/ngtcp2/ngtcp2_crypto_wolfssl.h "$out/include/ngtcp2/"
    flags+=(-DNGTCP2_STATICLIB -DHAVE_CONFIG_H -DWOLFSSL_USER_SETTINGS -I"$private"
        -Icrypto -I"$out/include")
    (
        cd ngtcp2
        printf '%s\n' lib/*.c | compile ../obj-ngtcp2 "${flags[@]}"
        printf '%s\n' crypto/shared.c crypto/wolfssl/wolfssl.c |
            compile ../obj-helper "${flags[@]}"
    )
    ar rcs "$out/lib/libngtcp2.a" obj-ngtcp2/*.o
    ar rcs "$out/lib/libngtcp2_crypto_wolfssl.a" obj-helper/*.o
}

# ---- all of it, once ----

for tool in apt-get "$CC" ar patch xz sha256sum flock; do
    command -v "$tool" >/dev/null || die "$tool is missing (scripts/install-packages.sh installs it)"
done
mkdir -p "$CACHE" || die "cannot write to $CACHE; set MUXBED_CACHE to another folder"
exec 9>"$CACHE/lock"
flock 9 # another clone may be building the same
if [ -e "$PREFIX/DONE" ]; then
    echo "$PREFIX"
    exit 0
fi

rm -rf "$CACHE"/work.* # of builds that were killed: we hold the lock
WORK=$(mktemp -d "$CACHE/work.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
private_apt "$WORK"
mkdir "$WORK/src"
cd "$WORK/src"
(
    export APT_CONFIG=$WORK/apt/apt.conf
    apt-get -qq update >&2 || die "cannot read the package lists of $SUITE"
    fetch wolfssl "$WOLFSSL_VERSION" "$WOLFSSL_SHA256"
    fetch ngtcp2 "$NGTCP2_VERSION" "$NGTCP2_SHA256"
)
build_wolfssl "$WORK/out"
build_ngtcp2 "$WORK/out"
ls -- *.orig.tar.* *.debian.tar.* >"$WORK/out/DONE" # the exact source packages
chmod -R a+rX "$WORK/out"
rm -rf "$PREFIX"
mv "$WORK/out" "$PREFIX"
echo "$PREFIX"
