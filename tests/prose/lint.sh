#!/usr/bin/env bash
# Lints the prose of a directory tree: lint.sh [DIRECTORY [PATH...]]; this repository unless given.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
root="${1:-$here/../..}"
shift || true
exec "$here/run.sh" lint.mjs --root "$root" -- "$@"
