#!/bin/bash
# Unpacks the pinned GitHub runner. One whose checksum nobody has vouched for is not downloaded.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck source=../lib.sh
source "$here/lib.sh"
# shellcheck source=../versions.env
source "$here/versions.env"

target=$root/opt/actions-runner/$RUNNER_VERSION
if [[ -d $target ]]; then
  log "runner $RUNNER_VERSION is there"
  exit 0
fi

archive=$(mktemp -d)
trap 'rm -rf "$archive" "$target.part"' EXIT
download "$RUNNER_URL" "$RUNNER_SHA256" "$archive/runner.tar.gz"
mkdir -p "$target.part"
tar -xzf "$archive/runner.tar.gz" -C "$target.part"
chown -R "$runner_user:$runner_user" "$target.part"
# The folder appears whole or not at all, so that its presence means that it is complete.
mv "$target.part" "$target"
