#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
#
#   scripts/uml-run.sh [--write DIR]... [--timeout SECONDS] [--memory MIB] [--] COMMAND [ARG...]
#
# Runs a command as root in Debian's user-mode Linux: a kernel of its own, as one process of this
# host, with tbf and netem, whatever the host's kernel has. Needs the packages user-mode-linux and
# kmod (scripts/install-packages.sh netem), and no privileges.
#
# The command sees the host's files, its environment and its working folder. What it writes is in
# memory and gone afterwards, but for the folders named with --write. Nothing is on its standard
# input; there is no network. Its output comes out as it is written; its exit status is ours, but
#   124  it ran longer than SECONDS (600) and was ended
#   125  user-mode Linux did not run here, or broke down: the reason is on standard error
# No process and no file outlives this script, however it ends (a SIGKILL leaves a folder in /tmp).
#
# The clock inside is rough: there is one processor, and timers come late by up to some milliseconds.
# Where allowed and on a host with several processors it gets real-time priority; else, on a busy
# host, it stands still for longer.
set -euo pipefail
export LC_ALL=C.UTF-8

MODULES=/usr/lib/uml/modules
KERNEL=linux.uml

# ---- inside: this script is the first process; state is a folder of the host ----

# Everything of the host as it is, with what is written to it kept in memory. The kernel looks for
# its modules in /lib/modules.
lay_over_host() {
    local state=$1 root=/mnt/root dir dirs
    PATH=$state:$PATH # our copy of mount
    mount -t proc proc /proc
    insmod "$MODULES/$(uname -r)/kernel/fs/overlayfs/overlay.ko"
    mount -t tmpfs -o size=100% memory /mnt
    mkdir /mnt/upper /mnt/work "$root"
    mount -n -t overlay -o lowerdir=/,upperdir=/mnt/upper,workdir=/mnt/work root "$root"
    mount -n --move /proc "$root/proc"
    mount -n --move /dev "$root/dev"
    mount -n -t sysfs sys "$root/sys"
    mkdir -p "$root/dev/shm" "$root/dev/pts" "$root/lib/modules"
    mount -n -t tmpfs -o mode=1777 shm "$root/dev/shm"
    mount -n -t devpts pts "$root/dev/pts"
    mount -n -t tmpfs -o mode=755 run "$root/run"
    mount -n --bind "$MODULES" "$root/lib/modules"
    for dir in fd:fd stdin:fd/0 stdout:fd/1 stderr:fd/2; do
        ln -sfn "/proc/self/${dir#*:}" "$root/dev/${dir%:*}"
    done
    mapfile -d '' dirs <"$root$state/writable"
    for dir in "${dirs[@]}" "$state"; do
        mkdir -p "$root$dir"
        mount -n -t hostfs -o "$dir" host "$root$dir"
    done
}

# Runs the command, in a session of its own, and leaves its status.
run_inside() {
    local state=$1 argv vars status=0
    mapfile -d '' argv <"$state/command"
    mapfile -d '' vars <"$state/environment"
    ip link set lo up
    cd "$(<"$state/folder")"
    setsid env -i "${vars[@]}" "${argv[@]}" <&- 0</dev/null \
        >"$state/stdout" 2>"$state/stderr" || status=$?
    echo "$status" >"$state/status"
}

# shellcheck disable=SC2317 # the trap's
off() {
    [ -e /proc/sysrq-trigger ] || "$MUXBED_UML_STATE/mount" -n -t proc proc /proc
    echo o >/proc/sysrq-trigger
    sleep 60
}

if [ -n "${MUXBED_UML_STATE:-}" ] && [ $$ = 1 ]; then
    export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
    if [ "${1:-}" = overlaid ]; then
        trap off EXIT
        run_inside "$MUXBED_UML_STATE"
        exit
    fi
    trap off EXIT
    lay_over_host "$MUXBED_UML_STATE"
    cd /mnt/root
    pivot_root . mnt # in a mere chroot there would be no user namespaces
    "$MUXBED_UML_STATE/umount" -n -l /mnt
    exec "$MUXBED_UML_STATE/init" overlaid
fi

# ---- outside ----

die() {
    echo "uml-run: $*" >&2
    exit 125
}

usage() {
    sed -n '4p' "$0" | cut -c 5- >&2
    exit 125
}

timeout=600
memory=1024
writable=()
while [ $# -gt 0 ]; do
    case $1 in
    --write)
        [ -d "${2:-}" ] || die "--write: ${2:-nothing} is no folder"
        writable+=("$(readlink -f "$2")")
        shift 2
        ;;
    --timeout | --memory)
        [ $# -ge 2 ] || usage
        declare "${1#--}=$2"
        shift 2
        ;;
    --)
        shift
        break
        ;;
    -*) usage ;;
    *) break ;;
    esac
done
[ $# -gt 0 ] || usage
[[ $timeout =~ ^[1-9][0-9]*$ ]] || die "--timeout: '$timeout' is no number of seconds"
[[ $memory =~ ^[1-9][0-9]*$ ]] || die "--memory: '$memory' is no number of MiB"
PATH=$PATH:/usr/sbin:/sbin
for tool in "$KERNEL" insmod setsid setpriv unshare pivot_root; do
    command -v "$tool" >/dev/null ||
        die "$tool is missing (scripts/install-packages.sh netem installs it)"
done

# The kernel's command line knows no spaces in names.
state=$(mktemp -d /tmp/muxbed-uml.XXXXXX)
pid=
# shellcheck disable=SC2317 # the trap's
finish() {
    if [ -n "$pid" ]; then
        kill -KILL "$pid" || true
        wait "$pid" || true
    fi 2>/dev/null
    rm -rf "$state"
}
trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

cp "$0" "$state/init"
# Not the host's, which is set-uid to a user that may be another one inside.
cp "$(command -v mount)" "$(command -v umount)" "$state/"
chmod 755 "$state"/{init,mount,umount}
printf '%s\0' "$@" >"$state/command"
env -0 >"$state/environment"
printf '%s' "$PWD" >"$state/folder"
[ ${#writable[@]} = 0 ] || printf '%s\0' "${writable[@]}" >"$state/writable"
touch "$state/writable" "$state/stdout" "$state/stderr"

# The processes of the command inside are processes of the host as well. In a pid namespace they end
# with the first one, which ends with this script, whatever happens.
cage=(unshare --pid --fork --kill-child)
# Its timers compete with all else on this host. It keeps one processor busy at most.
hurry=()
if [ "$(nproc)" -gt 1 ] && chrt -r 1 true 2>/dev/null; then
    hurry=(chrt -r 1)
fi
[ "$(id -u)" = 0 ] || cage+=(--user --map-root-user)
"${cage[@]}" true 2>/dev/null || die "no pid namespace can be had here (${cage[*]})"

# What it calls its memory is a file, which /dev/shm may be too small for.
tmpdir=/dev/shm
[ "$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -ge $((memory * 1024)) ] 2>/dev/null ||
    tmpdir=$state
setpriv --pdeathsig KILL "${cage[@]}" "${hurry[@]}" env -i PATH="$PATH" HOME=/ TMPDIR="$tmpdir" \
    timeout -k 5 "$timeout" "$KERNEL" \
    mem="${memory}M" root=none rootfstype=hostfs rootflags=/ ro init="$state/init" \
    MUXBED_UML_STATE="$state" uml_dir="$state/" umid=uml quiet noreboot \
    con=null con0=null,fd:1 ssl=null </dev/null >"$state/console" 2>&1 &
pid=$!
tail -q -s 0.2 -c +1 -f --pid=$pid "$state/stdout" &
out=$!
tail -q -s 0.2 -c +1 -f --pid=$pid "$state/stderr" >&2 &
err=$!
status=0
wait $pid || status=$?
wait $out $err || true
if [ -s "$state/status" ]; then
    exit "$(<"$state/status")"
fi
if [ "$status" = 124 ] || [ "$status" = 137 ]; then
    echo "uml-run: ended after $timeout s" >&2
    exit 124
fi
sed -E '/^(Stack:|Call Trace:| [0-9a-f]{8} | \[<)/d' "$state/console" | tail -n 12 >&2
die "user-mode Linux ended with status $status before the command did; above what it said last"
