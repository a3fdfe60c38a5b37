#!/bin/bash
# pull-image.sh REFERENCE: has the image, by digest, with the VM's own identity.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

if docker image inspect "$1" >/dev/null 2>&1; then
  log "image $1 is there"
  exit 0
fi

# A docker configuration of its own, so that the access token does not stay behind in root's.
login_and_pull() {
  local config ended=0
  config=$(mktemp -d)
  { metadata service-accounts/default/token | sed 's/.*"access_token": *"\([^"]*\).*/\1/' |
    DOCKER_CONFIG=$config timeout 60 docker login -u oauth2accesstoken --password-stdin "https://${1%%/*}" >/dev/null &&
    DOCKER_CONFIG=$config timeout 1800 docker pull -q "$1" >&2; } || ended=1
  rm -rf "$config"
  return "$ended"
}

retry 6 login_and_pull "$1"
