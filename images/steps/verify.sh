#!/bin/sh
# Asks every place for the digest: the manifest that it answers must have that SHA-256.
#
#   IMAGE    its name
#   PLACES   where it must be
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
digest=$(cat "$out/$IMAGE/digest")
answer=$out/$IMAGE/manifest

for place in $PLACES; do
  ask() { crane manifest "$place@$digest" >"$answer"; }
  retry 5 signed_in "$place" ask || refuse "$place does not answer for $digest; the record stays as it was"
  found=sha256:$(sha256sum <"$answer" | cut -d ' ' -f 1)
  [ "$found" = "$digest" ] || refuse "$place answers $found for $digest; the record stays as it was"
done
log "$digest is in every place of $IMAGE"
