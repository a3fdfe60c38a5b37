#!/bin/sh
# Asks the record for the digests of parents that this build does not make.
#
#   PARENTS   images
set -eu
# shellcheck source=lib.sh
. "$(dirname "$0")/lib.sh"

for parent in $PARENTS; do
  "$WORKSPACE/recipes/tidepool" images current "$parent" | keep "$out/$parent/digest"
  log "$parent is $(cat "$out/$parent/digest")"
done
