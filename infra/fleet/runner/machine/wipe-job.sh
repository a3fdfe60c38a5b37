#!/bin/bash
# No container, no workspace, no cache of a job is left.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

container=tidepool-job
job=$state/job

left=$(timeout 60 docker ps -aq --filter "name=^$container\$") || fail "docker does not answer"
if [[ -n $left ]]; then
  timeout 60 docker rm -f -v "$container" >/dev/null || fail "the last job's container cannot be removed"
fi
if mountpoint -q "$job/cache"; then
  umount "$job/cache" || fail "the last job's cache cannot be taken away"
fi
rm -rf "$job" || fail "the last job's workspace cannot be wiped"
