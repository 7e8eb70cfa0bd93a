#!/usr/bin/env bash
# Writes the summary as a comment of the pull request, or over the one that an earlier run wrote: it is found by its
# first line, and only among comments of bots, so that nobody else's words are overwritten.
set -euo pipefail

printf '\n[Picture and page](%s) (artifact)\n' "$RUN" >>"$FOLDER/summary.md"
id="$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
    --jq ".[] | select(.user.type == \"Bot\") | select(.body | startswith(\"$MARK\")) | .id" | sed -n 1p)"
if [ -n "$id" ]; then
    gh api --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$FOLDER/summary.md" >/dev/null
else
    gh api --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$FOLDER/summary.md" >/dev/null
fi
