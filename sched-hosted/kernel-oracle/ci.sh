#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The class against the kernel's own code: gets the source of Linux 7.3 (kept on the machine), builds the oracle, replays the
# golden files on it and compares at least 2 million random operations of each kind. Called by .ci/run. Exit code 0: checked and
# equal; 1: a difference; 3: NOT CHECKED, since the source or a tool cannot be had here (then the golden files are what guards).
#
#   ORACLE_OPS=N      operations of each kind (default 2000000)
#   LINUX_SRC=TREE    use this tree, and fetch none

set -uo pipefail
cd "$(dirname "$0")/../.."

ops=${ORACLE_OPS:-2000000}
fairlab() { cargo run --quiet --release --locked --package sched-hosted -- "$@"; }

not_checked() {
    echo "**** NOT CHECKED: the kernel oracle: $1 ****"
    exit 3
}

if [ -z "${LINUX_SRC:-}" ]; then
    # Root on a machine made for CI may let apt have the suite that carries the package; elsewhere only what apt offers is taken.
    add=()
    if [ "$(id -u)" -eq 0 ] && [ -n "${CI:-}" ]; then
        add=(--add-suites)
    fi
    fetched=$(fairlab oracle fetch "${add[@]}" 2>&1) || not_checked "${fetched##*$'\n'}"
    LINUX_SRC=$(sed -n 's/^Linux 7.3 is in //p' <<<"$fetched")
    export LINUX_SRC
fi

built=$(fairlab oracle build "$LINUX_SRC" 2>&1) || not_checked "${built##*$'\n'}"
echo "$built"

status=0
check() {
    echo "---- fairlab $*"
    fairlab "$@" || status=1
}

for file in sched-hosted/tests/golden/*.ops; do
    expect=${file%.ops}.expect
    every=1
    case $file in */long-*) every=50 ;; esac
    if ! fairlab ops record "$file" --digest-every "$every" --out - 2>/dev/null | cmp -s - "$expect"; then
        echo "$file: the kernel's own code gives other digests than $expect"
        status=1
    fi
done
seed=${ORACLE_SEED:-$(date +%Y%m%d)}
check diff --ops "$ops" --seed "$seed"
check diff --ops "$ops" --seed "$seed" --groups
check diff --ops "$ops" --seed "$seed" --quota --cpus 2
check diff --ops "$ops" --seed "$seed" --groups --cpus 4
exit "$status"
