# How every start-up script of a VM for one run begins, after the function isolation, which prints
# infra/fleet/runner/isolation.sh; what it runs follows in the same text.
#
# The VM is told by its metadata: tidepool-image, tidepool-command (a word a line), tidepool-env (NAME=VALUE a line),
# tidepool-secrets (NAME SECRET a line), tidepool-limit (seconds). Nothing reaches it from outside: it says in its guest
# attributes how far it is and how it ended.
# shellcheck disable=SC2034,SC2317,SC2329 # what follows reads what is asked for here
set -uo pipefail
umask 077

readonly INSTANCE=http://metadata.google.internal/computeMetadata/v1/instance
readonly HOME_OF_RUN=/var/lib/tidepool-run
readonly LOG=$HOME_OF_RUN/log
readonly TOLD=$HOME_OF_RUN/env

ask() { curl -fsS --retry 5 --retry-all-errors -H 'Metadata-Flavor: Google' "$INSTANCE/$1"; }

say() { curl -fsS --retry 5 --retry-all-errors -X PUT -H 'Metadata-Flavor: Google' --data-binary @- "$INSTANCE/guest-attributes/tidepool/$1"; }

end() {
  tail -c 8192 "$LOG" | say log
  printf '%s' "$1" | say outcome
  exit "$1"
}

# A start-up script runs at every boot; a run that was cut off by a reboot is not begun again in silence.
if ! mkdir "$HOME_OF_RUN"; then
  echo 'the VM was started again while it ran' >>"$LOG"
  end 75
fi
exec >>"$LOG" 2>&1

image=$(ask attributes/tidepool-image) || end 70
limit=$(ask attributes/tidepool-limit) || end 70
mapfile -t command < <(ask attributes/tidepool-command)
ask attributes/tidepool-env >"$TOLD" || end 70

# The user that strangers' code runs as, and the slice's hosts where there are several.
readonly NOBODY=1000
addresses=$(ask attributes/worker-network-endpoints) || end 70
mapfile -t hosts < <(tr ',' '\n' <<<"$addresses" | sed 's/.*://')
[ "${#hosts[@]}" -gt 1 ] || hosts=()
isolate() { bash <(isolation) "$NOBODY" "${hosts[@]}" || end 70; }

devices=()
for device in /dev/accel* /dev/vfio; do
  [ -e "$device" ] && devices+=(--device "$device")
done
