#!/bin/bash
# prepare-job.sh [IMAGE]: what a job gets of the VM, below its own folder. Prints where jobs look for uv's cache, and
# which of `cache` and `runner` is there to be mounted.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

job=$state/job
mkdir -p "$job"
echo "uv_cache=${uv_cache#"$root"}"

# A job may write to uv's cache and no other job reads what it wrote: it writes above the VM's. A cache that could not be
# warmed would hide the image's.
if [[ -n $(ls "$state/warmed" 2>/dev/null) ]]; then
  mkdir -p "$job/cache" "$job/written" "$job/work"
  chown "$runner_user:$runner_user" "$job/written"
  mount -t overlay -o "lowerdir=$uv_cache,upperdir=$job/written,workdir=$job/work" tidepool-cache "$job/cache" ||
    fail "the job's cache cannot be mounted"
  echo cache
fi

# The image's own runner, unless the bundle pins another version: then a copy of the VM's, which start-up installed.
if [[ -n ${1-} ]]; then
  has=$(docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$1" |
    sed -n 's/^GITHUB_RUNNER_VERSION=//p')
  if [[ $has != "$RUNNER_VERSION" ]]; then
    cp -a "$root/opt/actions-runner/$RUNNER_VERSION" "$job/runner" ||
      fail "runner $RUNNER_VERSION is neither in the image (${has:-none}) nor on the VM"
    echo runner
  fi
fi
