#!/bin/sh
# Pushes the image to its first place, by digest: no tag is moved before the record names the digest.
#
#   IMAGE   its name
#   PLACE   registry, repository and name
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
digest=$(cat "$out/$IMAGE/digest")

retry 5 signed_in "$PLACE" crane push "$out/$IMAGE/oci" "$PLACE@$digest"
log "$PLACE has $digest"
