#!/bin/bash
# Docker's own static release at the pinned version. It runs beside what the image brings: that runs Google's agents of
# the TPU VM, which tell the TPU API of its health
# (https://github.com/sgl-project/sglang-jax/pull/433 lists them, read 2026-11).
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

target=$root/opt/tidepool/docker-$DOCKER_VERSION
units=(tidepool-containerd.service tidepool-docker.service)

if [[ -d $target ]]; then
  log "docker $DOCKER_VERSION is there"
else
  archive=$(mktemp -d)
  trap 'rm -rf "$archive" "$target.part"' EXIT
  download "$DOCKER_URL" "$DOCKER_SHA256" "$archive/docker.tgz"
  rm -rf "$target.part"
  mkdir -p "$target.part"
  tar -xzf "$archive/docker.tgz" --strip-components 1 --no-same-owner -C "$target.part"
  # Options are the units'; files of their own keep the image's from being read.
  echo '{}' >"$target.part/daemon.json"
  echo 'version = 2' >"$target.part/containerd.toml"
  mv "$target.part" "$target"
fi

# The bridge that containers are on. It is gone with a reboot.
if ! ip link show tidepool0 >/dev/null 2>&1; then
  ip link add tidepool0 type bridge
  ip addr add 172.30.0.1/24 dev tidepool0
fi
ip link set tidepool0 up

action=start
if [[ $(readlink "$root/opt/tidepool/docker") != "$target" ]]; then
  ln -sfn "$target" "$root/opt/tidepool/docker"
  action=restart
fi
for unit in "${units[@]}"; do
  if ! cmp -s "$here/$unit" "$root/etc/systemd/system/$unit"; then
    install -D -m 0644 "$here/$unit" "$root/etc/systemd/system/$unit"
    action=restart
  fi
done
systemctl daemon-reload
systemctl "$action" "${units[@]}"
retry 5 timeout 20 docker version --format '{{.Server.Version}}' >/dev/null
