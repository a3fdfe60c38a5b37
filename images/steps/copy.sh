#!/bin/sh
# Copies the image from its first place to another, digest to digest, and writes down how many bytes that took.
#
#   IMAGE   its name
#   FROM    the first place
#   PLACE   the other one
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
result=$out/$IMAGE
digest=$(cat "$result/digest")
label=$(printf '%s' "${PLACE%%/*}" | sed 's/-docker\.pkg\.dev$//; s/\./-/g')
said=$result/copies/$label.log

mkdir -p "$result/copies"
copy_there() { crane copy "$FROM@$digest" "$PLACE@$digest" 2>>"$said"; }

: >"$said"
if ! retry 5 signed_in "$FROM $PLACE" copy_there; then
  cat "$said" >&2
  exit 1
fi
# crane tells of each blob whether it was pushed, mounted from another repository, or there already.
bytes() {
  sed -n "s/.*$1 blob: sha256:\([0-9a-f]\{64\}\).*/\1/p" "$said" | sort -u | {
    sum=0
    while read -r blob; do
      sum=$((sum + $(stat -c %s "$result/oci/blobs/sha256/$blob")))
    done
    printf '%s' "$sum"
  }
}
printf '%s pushed=%s mounted=%s existing=%s\n' "$PLACE" "$(bytes pushed)" "$(bytes mounted)" "$(bytes existing)" |
  keep "$result/copies/$label"
log "copied to $(cat "$result/copies/$label")"
