#!/bin/bash
# Installs what later steps and the supervisor call and the image lacks. Docker is a step of its own: it is pinned.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

declare -A packages=(['fuser']=psmisc ['ssh-keygen']=openssh-client)
missing=()
for tool in curl git iptables fuser ssh-keygen; do
  command -v "$tool" >/dev/null || missing+=("${packages[$tool]-$tool}")
done

if ((${#missing[@]})); then
  log "installs ${missing[*]}"
  export DEBIAN_FRONTEND=noninteractive
  retry 5 apt-get -o DPkg::Lock::Timeout=60 update -q
  retry 5 apt-get -o DPkg::Lock::Timeout=60 install -q -y --no-install-recommends "${missing[@]}"
else
  log "curl, git, iptables, fuser and ssh-keygen are there"
fi
