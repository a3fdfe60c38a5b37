#!/bin/bash
# warm-cache.sh REPOSITORY...: fills uv's cache from the locks of the repositories that the pool serves. Whoever calls this
# ignores a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

# Jobs read this very folder: a cache that is filled elsewhere warms nothing.
warmed=$state/warmed
mkdir -p "$uv_cache" "$warmed"
chown "$runner_user:$runner_user" "$uv_cache"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

uv=$root/opt/tidepool/uv-$UV_VERSION/uv
if [[ ! -x $uv ]]; then
  download "$UV_URL" "$UV_SHA256" "$scratch/uv.whl"
  python3 -m zipfile -e "$scratch/uv.whl" "$scratch/uv"
  install -D -m 0755 "$scratch/uv/uv-$UV_VERSION.data/scripts/uv" "$uv"
fi

# What a repository and its dependencies run when they are built is not ours. The runner's user may be one that sudo lets
# through, as Ubuntu's first is; and nothing that is begun here goes on beside the jobs that follow.
as_runner() {
  unshare --pid --fork --kill-child --mount-proc setpriv --reuid "$runner_user" --regid "$runner_user" --clear-groups \
    --no-new-privs env HOME="$1" UV_CACHE_DIR="$uv_cache" "${@:2}"
}

# shellcheck disable=SC2329 # called by retry
clone() {
  rm -rf "$2/checkout"
  as_runner "$2" timeout 300 git clone -q --depth 1 "https://github.com/$1" "$2/checkout"
}

# Called in a condition, where errexit is off: every command is chained.
warm() {
  mkdir "$2" && chown "$runner_user:$runner_user" "$scratch" "$2" &&
    retry 3 clone "$1" "$2" &&
    as_runner "$2" timeout 900 "$uv" sync --locked --directory "$2/checkout"
}

failed=0
for repository in "$@"; do
  mark=$warmed/${repository//\//_}
  if [[ -e $mark ]]; then
    log "the cache is warm for $repository"
  elif warm "$repository" "$scratch/${repository//\//_}"; then
    touch "$mark"
    log "the cache was warmed for $repository"
  else
    blame "the cache could not be warmed for $repository"
    failed=1
  fi
done
exit "$failed"
