#!/usr/bin/env bash
# Draws the plan and checks it. Writes summary.md, network.svg, network.html and check.txt into a folder, and says where
# and how the check ended in GITHUB_OUTPUT.
set -euo pipefail

folder="${RUNNER_TEMP:?}/warren-review"
mkdir -p "$folder"
slug="$(printf '%s' "$TITLE" | tr -c 'A-Za-z0-9' '-')"
mark="<!-- warren-review:$slug -->"

"$WARREN" diagram "$PLAN" --diff --title "$TITLE" --output "$folder/network.svg"
"$WARREN" diagram "$PLAN" --diff --title "$TITLE" --format html --output "$folder/network.html"
"$WARREN" diagram "$PLAN" --diff --title "$TITLE" --format markdown --output "$folder/network.md"

policies=()
for file in $POLICY; do
    policies+=(--policy "$file")
done
code=0
"$WARREN" check "$PLAN" "${policies[@]}" >"$folder/check.txt" 2>&1 || code=$?

{
    printf '%s\n' "$mark"
    cat "$folder/network.md"
    if [ "$code" -eq 0 ]; then
        printf '\n**Check: passed**\n'
    else
        printf '\n**Check: failed**\n'
    fi
    # Indented text is code that no fence inside of it can end.
    printf '\n<details><summary>Findings</summary>\n\n'
    sed 's/^/    /' "$folder/check.txt"
    printf '\n</details>\n'
} >"$folder/summary.md"
# A comment holds 65,536 characters.
if [ "$(wc -m <"$folder/summary.md")" -gt 64000 ]; then
    {
        printf '%s\n' "$mark"
        sed -n '1,/^<details/p' "$folder/network.md" | sed '$d' | head -c 30000
        printf '\n\nThe rest is in the artifact.\n\n'
        head -c 30000 "$folder/check.txt" | sed 's/^/    /'
    } >"$folder/summary.md"
fi
if [ -n "${GITHUB_STEP_SUMMARY:-}" ]; then
    cat "$folder/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
{
    printf 'folder=%s\n' "$folder"
    printf 'slug=%s\n' "$slug"
    printf 'mark=%s\n' "$mark"
    printf 'code=%s\n' "$code"
} >>"${GITHUB_OUTPUT:?}"
