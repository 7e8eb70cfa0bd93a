#!/usr/bin/env bash
# Adds the tunnel to an image and pushes the result to each given registry, with podman, which must be logged in there.
# Prints one line NAME@sha256:DIGEST per registry, for pods to pull.
#
#   publish.sh REGISTRY/NAME:TAG...
#
# Environment: BASE, the base image, and BINARY, the path of the static warren-tunnel binary.
set -euo pipefail

if [ "$#" -eq 0 ] || [ -z "${BASE:-}" ] || [ -z "${BINARY:-}" ]; then
    echo "usage: BASE=IMAGE BINARY=FILE publish.sh REGISTRY/NAME:TAG..." >&2
    exit 2
fi
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
context="$(mktemp -d)"
trap 'rm -rf "$context"' EXIT
# The build context has only these two files, so that nothing else gets into the image.
mkdir -p "$context/examples/pod-image"
cp "$here/entrypoint.sh" "$context/examples/pod-image/"
cp "$BINARY" "$context/warren-tunnel"

echo "publish: adding the tunnel to $BASE" >&2
tags=()
for name in "$@"; do
    tags+=(--tag "$name")
done
podman build --file "$here/Containerfile" --build-arg "BASE=$BASE" --build-arg BINARY=warren-tunnel \
    "${tags[@]}" "$context" >&2
for name in "$@"; do
    echo "publish: pushing $name" >&2
    if ! podman push --digestfile "$context/digest" "$name" >&2; then
        echo "publish: failed to push $name; earlier names were pushed" >&2
        echo "  log in with podman login; a repository with immutable tags also needs a new tag" >&2
        exit 1
    fi
    echo "${name%:*}@$(cat "$context/digest")"
done
