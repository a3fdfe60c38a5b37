#!/bin/sh
# Fetches the sources of a build, each at one commit, and writes down which. First of all it refuses to build from pins
# that nobody has resolved.
#
#   CHECKOUTS    "FOLDER OWNER/NAME BRANCH", one after each semicolon
#   X_REVISION   the commit for folder x; the branch's newest where it is empty
#   UNRESOLVED   entries of images/bases.yaml without a digest or checksum
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${UNRESOLVED-}" ]; then
  refuse "images/bases.yaml does not pin: $UNRESOLVED. On a machine with internet: ./tidepool images bases --resolve"
fi

checkout() {
  folder=$1 repository=$2 branch=$3 revision=$4 tree=$WORKSPACE/$1
  case $revision in
    *[!0-9a-f]*) refuse "the revision of $repository is no commit: $revision" ;;
  esac
  rm -rf "$tree"
  git init --quiet "$tree"
  git -C "$tree" remote add origin "https://github.com/$repository"
  retry 5 git -C "$tree" fetch --quiet --depth 1 --no-tags origin "${revision:-refs/heads/$branch}"
  git -C "$tree" checkout --quiet --detach FETCH_HEAD
  found=$(git -C "$tree" log -1 --format='%H %ct')
  log "$folder: $repository at $found"
  printf '%s %s %s\n' "$folder" "$repository" "$found" >>"$out/sources.part"
}

rm -rf "$out"
mkdir -p "$out"
date -u +%Y-%m-%dT%H:%M:%SZ | keep "$out/began"
IFS=';'
# shellcheck disable=SC2086 # one word a checkout
set -- $CHECKOUTS
IFS=' '
for each in "$@"; do
  # shellcheck disable=SC2086 # folder, repository, branch
  set -- $each
  case $1 in
    recipes) checkout "$1" "$2" "$3" "${RECIPES_REVISION-}" ;;
    source) checkout "$1" "$2" "$3" "${SOURCE_REVISION-}" ;;
    *) refuse "there is no folder $1 in a build" ;;
  esac
done
mv "$out/sources.part" "$out/sources"
