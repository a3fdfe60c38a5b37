#!/bin/bash
# Makes a TPU VM ready for jobs. Runs at every boot, does only what is not done yet, and stops at the first step that
# fails: a VM that is half ready must never register. Filling the cache is the one step that may fail.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
source "$here/lib.sh"

# The order matters: nothing installs before upgrades hold still, and nothing pulls before docker is there.
steps=(hold-upgrades install-packages pull-image warm-cache allow-reset install-runner)
may_fail=warm-cache

mkdir -p "$state"
log "start-up begins, bundle $(basename "$here")"
for index in "${!steps[@]}"; do
  name=${steps[index]}
  title="step $((index + 1)) of ${#steps[@]}, $name"
  began=$SECONDS
  log "$title: begins"
  # A process of its own: inside a condition bash would ignore errexit in a function.
  if bash "$here/steps/$name.sh"; then
    log "$title: done after $((SECONDS - began)) s"
  elif [[ $name == "$may_fail" ]]; then
    log "$title: failed after $((SECONDS - began)) s, and the boot goes on: jobs start with a cold cache"
  else
    log "$title: failed after $((SECONDS - began)) s; this VM is not ready and takes no job"
    exit 1
  fi
done
log "start-up ends here: this bundle registers no runner with GitHub, so this VM takes no job"
