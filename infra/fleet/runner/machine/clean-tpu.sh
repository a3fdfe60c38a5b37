#!/bin/bash
# The TPU between two jobs: whatever the last one left on it goes, and it must open again.
set -euo pipefail
# shellcheck source=../lib.sh
source "$(dirname "${BASH_SOURCE[0]}")/../lib.sh"

# One device file a chip. v5e and newer are behind vfio; v4 has a driver of its own
# (https://github.com/ray-project/ray, python/ray/_private/accelerators/tpu.py, read 2026-11).
devices=()
for device in "$root"/dev/vfio/[0-9]* "$root"/dev/accel[0-9]*; do
  if [[ -e $device ]]; then devices+=("$device"); fi
done

rm -rf "$root/tmp/libtpu_lockfile" "$root/tmp/tpu_logs"
((${#devices[@]})) || fail "there is no TPU device: neither /dev/vfio/0 nor /dev/accel0"

# It also fails where nobody held them, which is how it should be.
if fuser -k -KILL "${devices[@]}" >/dev/null 2>&1; then log "killed what held the TPU"; fi

# A chip whose reset fails may open all the same, and is then as good as any.
unreset=''
for function in "$root"/sys/bus/pci/devices/*; do
  if [[ -e $function/iommu_group && $(basename "$(readlink "$function/driver")") == vfio-pci ]]; then
    if { echo 1 >"$function/reset"; } 2>/dev/null; then continue; fi
    unreset+=" $(basename "$function")"
    log "$(basename "$function") could not be reset"
  fi
done

# Opening a vfio group that somebody holds fails as busy, so opening is the proof.
opens() { (: <>"$1") 2>/dev/null; }

for device in "${devices[@]}"; do
  for ((second = 0; second <= 30; second++)); do
    if opens "$device"; then continue 2; fi
    if ((second < 30)); then sleep 1; fi
  done
  fail "the TPU stays busy: ${device#"$root"} did not open within 30 s${unreset:+, and could not be reset:$unreset}"
done
