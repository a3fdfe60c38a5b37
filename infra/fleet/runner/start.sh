#!/bin/bash
# Makes a TPU VM ready for jobs. Runs at every boot and for every new bundle, does only what is not done yet, and stops
# at the first step that fails: a VM that is half ready must never register. Filling the cache is the one that may fail.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=lib.sh
source "$here/lib.sh"
# shellcheck source=bucket.sh
source "$here/bucket.sh"
# shellcheck source=report.sh
source "$here/report.sh"

# The order matters: nothing installs before upgrades hold still, no foreign code runs before the metadata server is
# out of its reach, nothing pulls before docker is there, and what registers comes last.
steps=(hold-upgrades install-packages install-docker build-walls pull-image warm-cache allow-reset install-runner
  start-supervisor)
may_fail=warm-cache
bundle=$(basename "$here")

# Some attempts more than other reports get: this one is the last that is heard of the VM.
halt() {
  say phase halted
  say reason "$1"
  say refused "$bundle"
  say refusal "$1"
  event halted reason "$1"
  retry 6 report || :
  exit 1
}

mkdir -p "$state"
: >"$state/boot"
say refused
say phase
# Of before a crash: nothing of it runs any more.
say runner
say job
say bundle "$bundle"
log "start-up begins, bundle $bundle"
phase booting
for index in "${!steps[@]}"; do
  name=${steps[index]}
  title="step $((index + 1)) of ${#steps[@]}, $name"
  began=$SECONDS
  printf -v began_at '%(%Y-%m-%dT%H:%M:%SZ)T' -1
  rm -f "$state/blame"
  log "$title: begins"
  event step-began step "$name"
  # A process of its own: inside a condition bash would ignore errexit in a function.
  if bash "$here/steps/$name.sh"; then
    outcome="done" text="done after $((SECONDS - began)) s"
  else
    reason=$(cat "$state/blame" 2>/dev/null || echo "a command of it failed, see the log")
    if [[ $name == "$may_fail" ]]; then
      outcome=ignored text="failed after $((SECONDS - began)) s, and the boot goes on: jobs start with a cold cache"
    else
      outcome=failed text="failed after $((SECONDS - began)) s; this VM is not ready and takes no job"
    fi
  fi
  log "$title: $text"
  step_ended "$name" "$began_at" "$outcome"
  if [[ $outcome == "done" ]]; then
    event step-ended step "$name" outcome "$outcome" seconds "$((SECONDS - began))"
  else
    event step-ended step "$name" outcome "$outcome" seconds "$((SECONDS - began))" reason "$reason"
  fi
  [[ $outcome != failed ]] || halt "step $name: $reason"
  report_within "$report_apart"
done
report || :
log "start-up ends here; the supervisor asks for jobs"
