#!/bin/sh
# Fetches the sources of a build, each at one commit, and writes down which. First of all it refuses to build from pins
# that nobody has resolved.
#
#   CHECKOUTS    "FOLDER OWNER/NAME BRANCH", one after each semicolon
#   X_REVISION   the commit for folder x; the branch's newest where it is empty
#   PRIVATE      "OWNER/NAME=REPOSITORY" of those that take a token, by their full names at Cloud Build
#   UNRESOLVED   entries of images/bases.yaml without a digest or checksum
set -eu
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"

if [ -n "${UNRESOLVED-}" ]; then
  refuse "images/bases.yaml does not pin: $UNRESOLVED. On a machine with internet: ./tidepool images bases --resolve"
fi

# read_token REPOSITORY: a token to read a private one, that Cloud Build's connection gives for an hour; nothing for a
# public one. No command line, file or log ever has it.
read_token() {
  linked=''
  for known in ${PRIVATE-}; do
    if [ "${known%%=*}" = "$1" ]; then linked=${known#*=}; fi
  done
  [ -n "$linked" ] || return 0
  answer=$(retry 5 google_token) || return 1
  bearer=$(printf '%s' "$answer" | json_text access_token)
  answer=$(retry 5 ask_connection) || return 1
  printf '%s' "$answer" | json_text token
}

ask_connection() {
  printf 'header = "Authorization: Bearer %s"\n' "$bearer" |
    curl -fsS --config - --json '{}' --max-time 30 "https://cloudbuild.googleapis.com/v2/$linked:accessReadToken"
}

# fetched TREE REVISION TOKEN: in an environment of its own, by which git alone learns of the token.
fetched() (
  export GIT_TERMINAL_PROMPT=0
  if [ -n "$3" ]; then
    given=$(printf 'x-access-token:%s' "$3" | base64 | tr -d '\n')
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.https://github.com/.extraHeader
    export GIT_CONFIG_VALUE_0="Authorization: Basic $given"
  fi
  git -C "$1" fetch --quiet --depth 1 --no-tags origin "$2"
)

checkout() {
  folder=$1 repository=$2 branch=$3 revision=$4 tree=$WORKSPACE/$1
  case $revision in
    *[!0-9a-f]*) refuse "the revision of $repository is no commit: $revision" ;;
  esac
  rm -rf "$tree"
  git init --quiet "$tree"
  git -C "$tree" remote add origin "https://github.com/$repository"
  token=$(read_token "$repository") || refuse "the connection gives no token to read $repository"
  if ! retry 5 fetched "$tree" "${revision:-refs/heads/$branch}" "$token"; then
    refuse "$repository was not fetched; a private one says private: true below its connection in the stack"
  fi
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
