#!/bin/sh
# Finds the digests of parents that this build does not make: those of a job before this one, else the record's.
#
#   PARENTS   images
#   KNOWN     "IMAGE=DIGEST" of jobs before this one; without a digest where none ran
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"

for parent in $PARENTS; do
  digest=''
  for each in ${KNOWN-}; do
    if [ "${each%%=*}" = "$parent" ]; then digest=${each#*=}; fi
  done
  if [ -z "$digest" ]; then
    digest=$("$WORKSPACE/recipes/tidepool" images current "$parent")
  fi
  printf '%s\n' "$digest" | keep "$out/$parent/digest"
  log "$parent is $digest"
done
