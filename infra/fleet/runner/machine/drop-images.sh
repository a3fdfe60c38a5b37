#!/bin/bash
# drop-images.sh REFERENCE: every image but this one goes, which is what fills a disk. The daemon has only those of jobs.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

keep=$(docker image inspect --format '{{.Id}}' "$1" 2>/dev/null) || keep=none
docker image ls -q --no-trunc | sort -u | while read -r each; do
  if [[ $each != "$keep" ]]; then docker image rm -f "$each" >/dev/null || log "image $each could not be removed"; fi
done
