#!/bin/bash
# Keeps the system from upgrading itself under a job, and waits until whoever installs packages at boot is through.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

units=(apt-daily.timer apt-daily-upgrade.timer apt-daily.service apt-daily-upgrade.service unattended-upgrades.service)
for unit in "${units[@]}"; do
  systemctl stop "$unit" || log "$unit could not be stopped: not there, or already down"
  systemctl mask "$unit"
done

# Where fuser is missing this waits for nothing, and the next step has apt's own wait for the lock.
locks=("$root/var/lib/dpkg/lock-frontend" "$root/var/lib/dpkg/lock" "$root/var/lib/apt/lists/lock")
for ((attempt = 1; attempt <= 30; attempt++)); do
  if ! fuser "${locks[@]}" >/dev/null 2>&1; then
    log "the package lock is free"
    exit 0
  fi
  sleep 2
done
blame "the package lock was held for 60 s"
exit 1
