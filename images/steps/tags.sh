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
current=$(cat "$result/current")
day=$(cut -c 1-10 "$out/began" | tr -d -)
commit=$(awk '{ found = $3 } END { print substr(found, 1, 12) }' "$out/sources")

# move_tags DIGEST TEMPLATE...: every place's tags name the digest.
move_tags() {
  target=$1
  shift
  for place in $PLACES; do
    for template in "$@"; do
      tag=$(printf '%s' "$template" | sed "s/{date}/$day/; s/{revision}/$commit/")
      retry 5 signed_in "$place" crane tag "$place@$target" "$tag"
    done
  done
}

if [ "$current" != "$digest" ]; then
  log "the record names $current, of newer sources: tags stay"
  exit 0
fi
# shellcheck disable=SC2086 # one word a tag
move_tags "$digest" $TAGS

moving=''
for template in $TAGS; do
  case $template in
    *'{'*) ;;
    *) moving="$moving $template" ;;
  esac
done
# A build of newer sources may have been recorded, and have moved its tags, while this one moved them back. A build that
# is recorded after this question moves its own tags after that.
while :; do
  current=$(retry 5 "$WORKSPACE/recipes/tidepool" images current "$IMAGE")
  [ "$current" != "$digest" ] || break
  log "the record now names $current, of newer sources: the tags$moving move there"
  digest=$current
  # shellcheck disable=SC2086 # one word a tag
  move_tags "$digest" $moving
done
