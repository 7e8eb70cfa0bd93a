#!/usr/bin/env bash
# Draws and checks the plan. Writes summary.md, network.svg, network.html and check.txt to a folder, and writes the path of
# the folder and the exit code of the check to GITHUB_OUTPUT.
set -euo pipefail

folder="${RUNNER_TEMP:?}/warren-review"
mkdir -p "$folder"
slug="$(printf '%s' "$TITLE" | tr -c 'A-Za-z0-9' '-')"
mark="<!-- warren-review:$slug -->"

policies=()
for file in $POLICY; do
    policies+=(--policy "$file")
done
severity=()
if [ -n "${UNCONNECTED:-}" ]; then
    severity=(--unconnected "$UNCONNECTED")
fi

# The picture shows the paths that a policy forbids.
draw=("$WARREN" diagram "$PLAN" "${policies[@]}" --diff --title "$TITLE")
"${draw[@]}" --output "$folder/network.svg"
"${draw[@]}" --format html --output "$folder/network.html"
"${draw[@]}" --format markdown --output "$folder/network.md"

code=0
"$WARREN" check "$PLAN" "${policies[@]}" "${severity[@]}" >"$folder/check.txt" 2>&1 || code=$?

{
    printf '%s\n' "$mark"
    cat "$folder/network.md"
    if [ "$code" -eq 0 ]; then
        printf '\n**Check: passed**\n'
    else
        printf '\n**Check: failed**\n'
    fi
    # Indented code blocks cannot be closed by a fence in the findings.
    printf '\n<details><summary>Findings</summary>\n\n'
    sed 's/^/    /' "$folder/check.txt"
    printf '\n</details>\n'
} >"$folder/summary.md"
# A comment is limited to 65,536 characters.
if [ "$(wc -m <"$folder/summary.md")" -gt 64000 ]; then
    {
        printf '%s\n' "$mark"
        sed -n '1,/^<details/p' "$folder/network.md" | sed '$d' | head -c 30000
        printf '\n\nThe summary is truncated. The artifact contains the complete diagram and findings.\n\n'
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
