#!/bin/bash
# Lets the runner's user reset TPU devices between jobs: only the `reset` file of PCI devices that vfio-pci drives.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

rules=$root/etc/udev/rules.d/99-tidepool-vfio-reset.rules
wanted='ACTION!="remove", SUBSYSTEM=="pci", DRIVER=="vfio-pci", RUN+="/bin/chown '$runner_user' /sys%p/reset"'
if [[ -f $rules && $(<"$rules") == "$wanted" ]]; then
  log "the rule is there"
else
  mkdir -p "$(dirname "$rules")"
  printf '%s\n' "$wanted" >"$rules"
  udevadm control --reload
fi
# At every boot: sysfs forgets owners.
udevadm trigger --action=change --subsystem-match=pci
