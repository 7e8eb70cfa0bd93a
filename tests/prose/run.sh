#!/usr/bin/env bash
# Runs a script of this folder: run.sh NAME.mjs [ARGUMENT...]. Installs the packages of package-lock.json first where it has changed.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for program in node npm git; do
  command -v "$program" >/dev/null || { echo "error: tests/prose needs $program; install Git and Node.js 20 or later" >&2; exit 2; }
done
installed="$here/node_modules/.installed-lock.json"
if ! cmp -s "$here/package-lock.json" "$installed"; then
  (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error >&2) || { echo "error: npm ci failed in tests/prose" >&2; exit 2; }
  cp "$here/package-lock.json" "$installed"
fi
script="$1"
shift
exec node "$here/$script" "$@"
