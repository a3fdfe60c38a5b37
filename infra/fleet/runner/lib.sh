# shellcheck shell=bash
# What every step uses: where things are, the log, retries, verified downloads, the metadata server. What is decided of
# them is in supervisor/.
export TZ=UTC LC_ALL=C

# A sandbox sets TIDEPOOL_ROOT; on a VM it is empty.
root=${TIDEPOOL_ROOT-}
# shellcheck disable=SC2034 # read by those who source this
state=$root/var/lib/tidepool runner_user=1000
# paths.uv_cache of images/images.yaml: where jobs, in the image as well, look for it. A container mounts it there.
# shellcheck disable=SC2034 # read by those who source this
uv_cache=$root/opt/uv/cache
PATH=$root/opt/tidepool/docker:$PATH
export DOCKER_HOST=unix:///run/tidepool/docker.sock

# To standard error: functions that say a value to their caller log too.
log() { printf '%(%Y-%m-%dT%H:%M:%SZ)T tidepool: %s\n' -1 "$*" >&2; }

# blame TEXT...: a log line that is also the reason, should this step fail. Steps that run side by side have a file each.
blame() {
  log "$*"
  printf '%s' "$*" >"${TIDEPOOL_BLAME-$state/blame}"
}

# fail TEXT...: the end of a step, and its reason.
fail() {
  blame "$*"
  exit 1
}

# retry ATTEMPTS COMMAND...: again after 2, 4, 8 ... at most 60 seconds.
retry() {
  local attempts=$1 delay=2 attempt
  shift
  for ((attempt = 1; ; attempt++)); do
    if "$@"; then return 0; fi
    if ((attempt >= attempts)); then
      # Where it said itself why it failed, that is the reason.
      if [[ -s ${TIDEPOOL_BLAME-$state/blame} ]]; then log "gave up after $attempts attempts: $1"; else blame "gave up after $attempts attempts: $1 ${2-}"; fi
      return 1
    fi
    log "attempt $attempt of $attempts failed: $1 ${2-}; again in $delay s"
    sleep "$delay"
    delay=$((delay * 2 > 60 ? 60 : delay * 2))
  done
}

# download URL SHA256 FILE: FILE appears only once its checksum is right.
download() {
  local url=$1 sha256=$2 file=$3
  if [[ $sha256 == unresolved ]]; then
    blame "refused $url: its checksum is unresolved; pin it in versions.env"
    return 1
  fi
  retry 6 curl -fsSL --connect-timeout 20 --speed-limit 1000 --speed-time 60 -o "$file.part" "$url" || return 1
  if ! sha256sum -c --quiet <<<"$sha256  $file.part"; then
    rm -f "$file.part"
    blame "refused $url: its SHA-256 is not $sha256"
    return 1
  fi
  mv "$file.part" "$file"
}

# metadata PATH [CURL-OPTION...]: a value of the metadata server, which may be slow or not be there yet at boot.
metadata() {
  retry 5 curl -fsS --max-time 20 -H 'Metadata-Flavor: Google' "${@:2}" \
    "http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1/instance/$1"
}

# workers: the addresses of the slice's hosts, in order, one a line; asked for once, by whoever comes first
# (supervisor/metadata.py).
workers() {
  local file=$state/own/endpoints endpoints
  if [[ ! -s $file ]]; then
    endpoints=$(metadata attributes/worker-network-endpoints) || return 1
    mkdir -p "$state/own"
    printf '%s' "$endpoints" >"$file"
  fi
  tr ',' '\n' <"$file" | sed 's/.*://'
}
