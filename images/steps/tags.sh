#!/bin/sh
# Moves the image's tags to the digest, in every place, where the record names it as the current one. A build that lost
# to a newer one leaves them alone. Run again, it puts right what was cut off.
#
#   IMAGE    its name
#   PLACES   where it is
#   TAGS     with {date} for the build's day and {revision} for 12 digits of its commit
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
result=$out/$IMAGE
digest=$(cat "$result/digest")

# As the record's own step left it: what this step runs in has no Python to ask the record with.
current=$(cat "$result/current")
if [ "$current" != "$digest" ]; then
  log "the record names $current, of newer sources: tags stay"
  exit 0
fi
day=$(cut -c 1-10 "$out/began" | tr -d -)
commit=$(awk '{ found = $3 } END { print substr(found, 1, 12) }' "$out/sources")
for place in $PLACES; do
  for template in $TAGS; do
    tag=$(printf '%s' "$template" | sed "s/{date}/$day/; s/{revision}/$commit/")
    retry 5 signed_in "$place" crane tag "$place@$digest" "$tag"
  done
done
