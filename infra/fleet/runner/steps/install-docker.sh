#!/bin/bash
# Docker's own static release at the pinned version, in the place of whatever the image or its distribution brings.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

target=$root/opt/tidepool/docker-$DOCKER_VERSION
unit=$root/etc/systemd/system/tidepool-docker.service

if [[ -d $target ]]; then
  log "docker $DOCKER_VERSION is there"
else
  archive=$(mktemp -d)
  trap 'rm -rf "$archive" "$target.part"' EXIT
  download "$DOCKER_URL" "$DOCKER_SHA256" "$archive/docker.tgz"
  rm -rf "$target.part"
  mkdir -p "$target.part"
  tar -xzf "$archive/docker.tgz" --strip-components 1 --no-same-owner -C "$target.part"
  mv "$target.part" "$target"
fi

# Two daemons would share a socket and the rules of a firewall; a unit that is not there is masked as well.
for other in docker.socket docker.service containerd.service; do
  systemctl stop "$other" || log "$other could not be stopped: not there, or already down"
  systemctl mask "$other"
done

restart=no
if [[ $(readlink "$root/opt/tidepool/docker") != "$target" ]]; then
  ln -sfn "$target" "$root/opt/tidepool/docker"
  restart=yes
fi
if ! cmp -s "$here/docker.service" "$unit"; then
  install -D -m 0644 "$here/docker.service" "$unit"
  systemctl daemon-reload
  restart=yes
fi
if [[ $restart == yes ]]; then
  systemctl restart tidepool-docker.service
else
  systemctl start tidepool-docker.service
fi
retry 5 timeout 20 docker version --format '{{.Server.Version}}' >/dev/null
