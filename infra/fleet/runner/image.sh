# shellcheck shell=bash disable=SC2034,SC2154
# The test image: by digest alone, from Artifact Registry alone, with the VM's own identity.

# pull_image REFERENCE
pull_image() {
  if [[ ! $1 =~ ^[a-z0-9-]+-docker\.pkg\.dev/[^@]+@sha256:[0-9a-f]{64}$ ]]; then
    blame "refused image $1: not a digest in Artifact Registry"
    return 1
  fi
  if docker image inspect "$1" >/dev/null 2>&1; then
    log "image $1 is there"
    return 0
  fi
  retry 6 login_and_pull "$1"
}

# A docker configuration of its own, so that the access token does not stay behind in root's.
login_and_pull() {
  local config ended=0
  config=$(mktemp -d)
  { metadata service-accounts/default/token | jq -r .access_token |
    DOCKER_CONFIG=$config timeout 60 docker login -u oauth2accesstoken --password-stdin "https://${1%%/*}" >/dev/null &&
    DOCKER_CONFIG=$config timeout 1800 docker pull -q "$1" >&2; } || ended=1
  rm -rf "$config"
  return "$ended"
}

# drop_other_images REFERENCE: every image but this one, which is what fills a disk. The daemon has only those of jobs.
drop_other_images() {
  local keep each
  keep=$(docker image inspect --format '{{.Id}}' "$1" 2>/dev/null) || keep=none
  docker image ls -q --no-trunc | sort -u | while read -r each; do
    if [[ $each != "$keep" ]]; then docker image rm -f "$each" >/dev/null || :; fi
  done
}
