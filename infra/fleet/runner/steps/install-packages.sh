#!/bin/bash
# Installs what later steps and jobs call and the image lacks.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

missing=()
for tool in docker jq curl git; do
  command -v "$tool" >/dev/null || missing+=("${tool/#docker/docker.io}")
done

if ((${#missing[@]})); then
  log "installs ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  retry 5 apt-get -o DPkg::Lock::Timeout=60 update -q
  retry 5 apt-get -o DPkg::Lock::Timeout=60 install -q -y --no-install-recommends "${missing[@]}"
else
  log "docker, jq, curl and git are there"
fi
systemctl enable --now docker
