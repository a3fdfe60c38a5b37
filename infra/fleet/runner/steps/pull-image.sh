#!/bin/bash
# Pulls the pool's image by digest from the repository of the VM's own region, with the VM's own identity.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

pool=$(attribute tidepool-pool)
region=$(attribute tidepool-region)
image=$(jq -r --arg pool "$pool" --arg region "$region" '.images[$pool][$region] // empty' "$state/current.json")
if [[ -z $image ]]; then
  log "no image is promoted to $pool in $region; pull skipped"
  exit 0
fi
if [[ ! $image =~ ^[a-z0-9-]+-docker\.pkg\.dev/[^@]+@sha256:[0-9a-f]{64}$ ]]; then
  log "refused image $image: not a digest in Artifact Registry"
  exit 1
fi
if docker image inspect "$image" >/dev/null 2>&1; then
  log "image $image is there"
  exit 0
fi

# A folder of its own, so that the access token does not stay behind in root's docker configuration.
DOCKER_CONFIG=$(mktemp -d)
export DOCKER_CONFIG
trap 'rm -rf "$DOCKER_CONFIG"' EXIT

pull() {
  metadata service-accounts/default/token | jq -r .access_token |
    timeout 60 docker login -u oauth2accesstoken --password-stdin "https://${image%%/*}" >/dev/null &&
    timeout 1800 docker pull -q "$image"
}
retry 6 pull
