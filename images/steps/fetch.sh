#!/bin/sh
# Fetches the sources of a build, each at one commit of its protected branch, and writes down which. It refuses
# first where images/bases.yaml does not pin the containers that the steps run in.
#
#   CHECKOUTS         "FOLDER OWNER/NAME BRANCH", one after each semicolon
#   SOURCE_REVISION   the commit for the folder source; the branch's newest where it is empty, as always for the recipes
#   PRIVATE           "OWNER/NAME=REPOSITORY" of those that take a token, by their full names at Cloud Build
#   UNRESOLVED        entries of images/bases.yaml that steps run in, without a digest
#   BEGUN             "BUCKET OBJECT" of Cloud Storage, where it says that the build began; nothing for a job of GitHub
set -eu
STEP=fetch
# shellcheck source=images/steps/lib.sh
. "$(dirname "$0")/lib.sh"

# say_begun BUCKET OBJECT: before all else, since a build that ends in this step leaves no other word that people are told
# of. BUILDER and BUILD are its id.
say_begun() {
  answer=$(retry 3 google_token) || return 1
  bearer=$(printf '%s' "$answer" | json_text access_token)
  plain "$BUILDER/$BUILD"
  retry 3 put_begun "$1" "$2" "{\"version\":1,\"build\":\"$BUILDER/$BUILD\",\"began\":\"$(date -u +%Y-%m-%dT%H:%M:%SZ)\"}"
}

put_begun() {
  printf 'header = "Authorization: Bearer %s"\n' "$bearer" | curl -fsS --config - --json "$3" --max-time 30 \
    --output /dev/null "https://storage.googleapis.com/upload/storage/v1/b/$1/o?uploadType=media&name=$2"
}

if [ -n "${BEGUN-}" ]; then
  # shellcheck disable=SC2086 # bucket, object
  say_begun $BEGUN || log "that this build began is not written down: should it end here, nobody is told"
fi
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

# fetched TREE TOKEN OPTION... REVISION: in an environment of its own, by which git alone learns of the token.
fetched() (
  tree=$1 token=$2
  shift 2
  export GIT_TERMINAL_PROMPT=0
  if [ -n "$token" ]; then
    given=$(printf 'x-access-token:%s' "$token" | base64 | tr -d '\n')
    export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0=http.https://github.com/.extraHeader
    export GIT_CONFIG_VALUE_0="Authorization: Basic $given"
  fi
  git -C "$tree" fetch --quiet --no-tags "$@"
)

# begun TREE REPOSITORY: an empty repository of git's.
begun() {
  rm -rf "$1"
  git init --quiet "$1"
  git -C "$1" remote add origin "https://github.com/$2"
}

# insist_on_branch REPOSITORY BRANCH COMMIT TOKEN: GitHub gives out any commit by its digits, those of forks and of pull
# requests as well. Only the branch's first parents are taken, since what a merge brings along was reviewed as a whole and
# not commit by commit. History does not tell where the branch stood: a rebase merge, or a push of several commits, makes
# first parents of commits that it was never at, which is why the repository has to allow neither. Commits without trees
# are a small part of a history.
insist_on_branch() {
  history=$WORKSPACE/history
  begun "$history" "$1"
  retry 5 fetched "$history" "$4" --filter=tree:0 origin "refs/heads/$2" || refuse "the history of $1 was not fetched"
  git -C "$history" rev-list --first-parent FETCH_HEAD >"$history/commits"
  if ! grep -qxF "$3" "$history/commits"; then
    refuse "$3 is not a first parent of $2 in $1, and only those are built from. Next: merge it, then build the merge's commit"
  fi
  rm -rf "$history"
}

checkout() {
  folder=$1 repository=$2 branch=$3 revision=$4 tree=$WORKSPACE/$1
  case $revision in
    *[!0-9a-f]*) refuse "the revision of $repository is not a commit: $revision" ;;
  esac
  token=$(read_token "$repository") || refuse "the connection gives no token to read $repository"
  if [ -n "$revision" ]; then insist_on_branch "$repository" "$branch" "$revision" "$token"; fi
  begun "$tree" "$repository"
  if ! retry 5 fetched "$tree" "$token" --depth 1 origin "${revision:-refs/heads/$branch}"; then
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
    recipes) checkout "$1" "$2" "$3" '' ;;
    source) checkout "$1" "$2" "$3" "${SOURCE_REVISION-}" ;;
    *) refuse "there is no folder $1 in a build" ;;
  esac
done
mv "$out/sources.part" "$out/sources"
