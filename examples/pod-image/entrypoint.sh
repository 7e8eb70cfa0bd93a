#!/bin/sh
# Entrypoint of a pod: starts the tunnel, then the pod's command. Neither needs privileges.
#
# One of these variables says how the pod connects:
#   WARREN_TOKEN       an enrolment token, as set by modules/gpu-pods
#   WARREN_TOKEN_FILE  path of a mounted file with the token (better: the token is not in the environment)
#   WARREN_CONFIG      path of a mounted wg-quick file
#   WARREN_WG_CONFIG   text of a wg-quick file, for platforms that only support variables
#
# `exec` replaces this shell, so that warren-tunnel is process 1: it forwards signals and reaps orphans.
set -eu

if [ -n "${WARREN_WG_CONFIG:-}" ]; then
    umask 077
    folder=$(mktemp -d)
    printf '%s\n' "$WARREN_WG_CONFIG" >"$folder/pod.conf"
    # The command must not inherit the key.
    unset WARREN_WG_CONFIG
    export WARREN_CONFIG="$folder/pod.conf"
    umask 022
fi

if [ -z "${WARREN_CONFIG:-}${WARREN_TOKEN:-}${WARREN_TOKEN_FILE:-}" ]; then
    echo "entrypoint: no configuration: set WARREN_TOKEN or WARREN_TOKEN_FILE to an enrolment token," >&2
    echo "  WARREN_CONFIG to the path of a wg-quick file, or WARREN_WG_CONFIG to its text" >&2
    exit 125
fi

# A use of the token belongs to a host name. RunPod keeps this ID when it restarts the container, but not the host name.
if [ -z "${WARREN_HOST_NAME:-}" ] && [ -n "${RUNPOD_POD_ID:-}" ]; then
    export WARREN_HOST_NAME="$RUNPOD_POD_ID"
fi

exec "${WARREN_TUNNEL:-/usr/local/bin/warren-tunnel}" exec -- "$@"
