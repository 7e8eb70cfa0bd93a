#!/usr/bin/env bash
# Creates a comment with the summary on the pull request, or updates the comment of an earlier run. Only comments of bots
# whose first line is the mark are updated, so that comments of people are never overwritten.
set -euo pipefail

printf '\n[Diagram and interactive page](%s) (artifact)\n' "$RUN" >>"$FOLDER/summary.md"
id="$(gh api --paginate "repos/$REPOSITORY/issues/$NUMBER/comments" \
    --jq ".[] | select(.user.type == \"Bot\") | select(.body | startswith(\"$MARK\")) | .id" | sed -n 1p)"
if [ -n "$id" ]; then
    gh api --method PATCH "repos/$REPOSITORY/issues/comments/$id" --field "body=@$FOLDER/summary.md" >/dev/null
else
    gh api --method POST "repos/$REPOSITORY/issues/$NUMBER/comments" --field "body=@$FOLDER/summary.md" >/dev/null
fi
