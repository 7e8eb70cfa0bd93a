#!/bin/sh
# Entrypoint of a pod: the tunnel, then the pod's program beside it, both without any privilege.
#
# The configuration is a wg-quick file, given by the environment of the pod in one of two ways:
#   WARREN_CONFIG      path of a file that the platform mounts (best: the text is in no environment)
#   WARREN_WG_CONFIG   its text, for platforms that know nothing but variables
#
# `exec` replaces this shell, so that warren-tunnel is process 1: it passes signals on and takes in orphans.
set -eu

if [ -n "${WARREN_WG_CONFIG:-}" ]; then
    umask 077
    folder=$(mktemp -d)
    printf '%s\n' "$WARREN_WG_CONFIG" >"$folder/pod.conf"
    # The program has no use for the key.
    unset WARREN_WG_CONFIG
    export WARREN_CONFIG="$folder/pod.conf"
    umask 022
fi

if [ -z "${WARREN_CONFIG:-}" ]; then
    echo "entrypoint: no configuration: set WARREN_CONFIG to a file, or WARREN_WG_CONFIG to its text" >&2
    exit 125
fi

exec "${WARREN_TUNNEL:-/usr/local/bin/warren-tunnel}" exec -- "$@"
