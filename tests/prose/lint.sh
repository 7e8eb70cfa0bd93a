#!/usr/bin/env bash
# Lints the prose of a directory tree: lint.sh [DIRECTORY [PATH...]]; this repository unless given. `lint.sh --test` tests the dictionary.
set -euo pipefail
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
for program in node npm git; do
  command -v "$program" >/dev/null || { echo "error: the prose linter needs $program; install Node.js 20 or later and git" >&2; exit 2; }
done
installed="$here/node_modules/.installed-lock.json"
if ! cmp -s "$here/package-lock.json" "$installed"; then
  (cd "$here" && npm ci --ignore-scripts --no-audit --no-fund --silent) || { echo "error: npm ci failed in tests/prose; run it there to see why" >&2; exit 2; }
  cp "$here/package-lock.json" "$installed"
fi
if [ "${1:-}" = --test ]; then
  cd "$here"
  output="$(node --test 2>&1)" || { printf '%s\n' "$output" >&2; exit 1; }
  printf '%s\n' "$output" | sed -n 's/^# pass \(.*\)/dictionary and rules: \1 tests passed/p'
  exit
fi
root="${1:-$here/../..}"
shift || true
exec node "$here/lint.mjs" --root "$root" -- "$@"
