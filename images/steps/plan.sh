#!/bin/sh
# Writes down what each step after this one is told, from the recipes that were fetched. It refuses recipes that have
# other steps than the ones that run: the builder is older than they are.
#
#   BUILT   the image that the build is of
#   STEPS   the digest of this build's steps
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"
recipes=$WORKSPACE/recipes

# Its first call installs what it needs.
retry 3 "$recipes/tidepool" --help >/dev/null
rm -rf "$out/told"
"$recipes/tidepool" images steps "$BUILT" --digest "$STEPS" --to "$out/told" --build "$BUILDER/$BUILD" \
  --began "$(cat "$out/began")"
