#!/bin/bash
# Fills uv's cache from the locks of the repositories that the pool serves. Whoever calls this ignores a failure.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

cache=$state/uv-cache
warmed=$state/warmed
install -d -o "$runner_user" -g "$runner_user" "$cache"
install -d "$warmed"

uv=$root/opt/tidepool/uv-$UV_VERSION/uv
if [[ ! -x $uv ]]; then
  unpacked=$(mktemp -d)
  trap 'rm -rf "$unpacked"' EXIT
  download "$UV_URL" "$UV_SHA256" "$unpacked/uv.whl"
  python3 -m zipfile -e "$unpacked/uv.whl" "$unpacked"
  install -D -m 0755 "$unpacked/uv-$UV_VERSION.data/scripts/uv" "$uv"
fi

as_runner() { setpriv --reuid "$runner_user" --regid "$runner_user" --clear-groups "$@"; }

# Also called in conditions, where errexit is off: every command is chained.
warm() {
  local repository=$1 source=$2
  retry 3 clone "$repository" "$source/checkout" &&
    as_runner env HOME="$source" UV_CACHE_DIR="$cache" timeout 900 "$uv" sync --locked --all-packages --directory "$source/checkout"
}

clone() {
  rm -rf "$2"
  as_runner git clone -q --depth 1 "https://github.com/$1" "$2"
}

failed=0
for repository in $(attribute tidepool-serves | tr ',' ' '); do
  mark=$warmed/${repository//\//_}
  if [[ -e $mark ]]; then
    log "the cache is warm for $repository"
    continue
  fi
  source=$(mktemp -d)
  chown "$runner_user:$runner_user" "$source"
  if warm "$repository" "$source"; then
    touch "$mark"
    log "the cache was warmed for $repository"
  else
    log "the cache could not be warmed for $repository"
    failed=1
  fi
  rm -rf "$source"
done
exit "$failed"
