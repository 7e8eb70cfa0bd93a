#!/bin/sh
# Entrypoint of a pod: the tunnel, then the pod's program beside it, both without any privilege.
#
# How it joins is told by the environment of the pod, in one of these ways:
#   WARREN_TOKEN       an enrolment token, as modules/gpu-pods hands it over
#   WARREN_TOKEN_FILE  path of a file with the token that the platform mounts (better: the text is in no environment)
#   WARREN_CONFIG      path of a wg-quick file that the platform mounts
#   WARREN_WG_CONFIG   text of a wg-quick file, for platforms that know nothing but variables
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

if [ -z "${WARREN_CONFIG:-}${WARREN_TOKEN:-}${WARREN_TOKEN_FILE:-}" ]; then
    echo "entrypoint: nothing to join with: set WARREN_TOKEN or WARREN_TOKEN_FILE to an enrolment token," >&2
    echo "  or WARREN_CONFIG to a wg-quick file, or WARREN_WG_CONFIG to its text" >&2
    exit 125
fi

exec "${WARREN_TUNNEL:-/usr/local/bin/warren-tunnel}" exec -- "$@"
