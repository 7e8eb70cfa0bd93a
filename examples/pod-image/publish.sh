#!/usr/bin/env bash
# Puts the tunnel into an image and pushes the result to each registry that is named, with podman, which is logged in there.
# Prints what a pod can pull, a line each: NAME@sha256:DIGEST.
#
#   publish.sh REGISTRY/NAME:TAG...
#
# By the environment: BASE, the image that gets the tunnel, and BINARY, warren-tunnel's static binary.
set -euo pipefail

if [ "$#" -eq 0 ] || [ -z "${BASE:-}" ] || [ -z "${BINARY:-}" ]; then
    echo "publish: BASE=IMAGE BINARY=FILE publish.sh REGISTRY/NAME:TAG..." >&2
    exit 2
fi
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
context="$(mktemp -d)"
trap 'rm -rf "$context"' EXIT
# A context of these two files alone: nothing else of the repository can get into the image.
mkdir -p "$context/examples/pod-image"
cp "$here/entrypoint.sh" "$context/examples/pod-image/"
cp "$BINARY" "$context/warren-tunnel"

echo "publish: putting the tunnel into $BASE" >&2
tags=()
for name in "$@"; do
    tags+=(--tag "$name")
done
podman build --file "$here/Containerfile" --build-arg "BASE=$BASE" --build-arg BINARY=warren-tunnel \
    "${tags[@]}" "$context" >&2
for name in "$@"; do
    echo "publish: pushing $name" >&2
    if ! podman push --digestfile "$context/digest" "$name" >&2; then
        echo "publish: $name was not pushed; names before it were." >&2
        echo "  Logged in? A tag of an immutable repository is taken once only: choose another." >&2
        exit 1
    fi
    echo "${name%:*}@$(cat "$context/digest")"
done
