#!/bin/bash
# Pulls the image that this VM is to run, so that its first job does not wait for it.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../bucket.sh
source "$here/bucket.sh"
# shellcheck source=../orders.sh
source "$here/orders.sh"
# shellcheck source=../image.sh
source "$here/image.sh"

retry 6 read_orders
image=$(wanted_image)
if [[ -z $image ]]; then
  log "$(why_no_image); pull skipped"
  exit 0
fi
pull_image "$image"
