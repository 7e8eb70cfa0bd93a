#!/bin/sh
# Runs inside `warren-tunnel exec`: uploads each complete checkpoint while the training runs, and continues from the newest one.
#
#   CHECKPOINTS   where checkpoints are kept, such as gs://acme-checkpoints/run-7/
#   STEPS, EVERY  number of steps, and steps between two checkpoints
#   WORK          folder of the pod: `data` and `restored` are in it already (`exec --sync-in`), `logs` is copied (`--sync-out`)
set -eu
work=${WORK:-/workspace}
tunnel=${WARREN_TUNNEL:-/usr/local/bin/warren-tunnel}
mkdir -p "$work/checkpoints" "$work/logs"

"$tunnel" sync "$work/checkpoints" "$CHECKPOINTS" --state "$work/state" \
    --watch --marker done --quiet-period 0 --keep 2 >"$work/logs/upload.jsonl" &
watcher=$!
python3 -B "$(dirname "$0")/train.py" --data "$work/data" --restored "$work/restored" \
    --checkpoints "$work/checkpoints" --steps "${STEPS:-300}" --every "${EVERY:-50}" &
training=$!

# Notice of the provider: the training writes a last checkpoint. A signal interrupts `wait`, which is repeated.
trap 'kill -TERM "$training"' TERM
code=0
wait "$training" || code=$?
while kill -0 "$training" 2>/dev/null; do
    code=0
    wait "$training" || code=$?
done
trap - TERM

# The last checkpoint is uploaded before the pod ends. A failed upload is a failure of the pod.
kill -TERM "$watcher"
uploaded=0
wait "$watcher" || uploaded=$?
if [ "$code" -eq 0 ]; then code=$uploaded; fi
exit "$code"
