#!/bin/bash
# On the VM: runs one command in one image, and says in the VM's guest attributes how far it is and how it ended.
#
# The VM is told by its metadata: tidepool-image, tidepool-command (a word a line), tidepool-env (NAME=VALUE a line),
# tidepool-secrets (NAME SECRET a line), tidepool-limit (seconds). Nothing reaches it from outside.
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

token() { ask service-accounts/default/token | sed 's/.*"access_token":"\([^"]*\)".*/\1/'; }

# The value of a secret, which the API answers in base64 within JSON.
secret() {
  curl -fsS --retry 5 --retry-all-errors -H @<(printf 'Authorization: Bearer %s' "$(token)") \
    "https://secretmanager.googleapis.com/v1/projects/$project/secrets/$1/versions/latest:access" |
    sed -n 's/.*"data": *"\([^"]*\)".*/\1/p' | base64 --decode
}

# A start-up script runs at every boot; a run that was cut off by a reboot is not begun again in silence.
if ! mkdir "$HOME_OF_RUN"; then
  echo 'the VM was started again while it ran' >>"$LOG"
  end 75
fi
exec >>"$LOG" 2>&1

project=$(curl -fsS --retry 5 -H 'Metadata-Flavor: Google' "${INSTANCE%/instance}/project/project-id") || end 70
image=$(ask attributes/tidepool-image) || end 70
limit=$(ask attributes/tidepool-limit) || end 70
mapfile -t command < <(ask attributes/tidepool-command)
ask attributes/tidepool-env >"$TOLD" || end 70
secrets=$(ask attributes/tidepool-secrets) || end 70
while read -r name id; do
  [ -n "$name" ] || continue
  value=$(secret "$id") || { echo "the secret $id was not read" && end 70; }
  [ -n "$value" ] || { echo "the secret $id is empty" && end 70; }
  printf '%s=%s\n' "$name" "$value" >>"$TOLD"
done <<<"$secrets"

token | docker login -u oauth2accesstoken --password-stdin "https://${image%%/*}" || end 70
docker pull --quiet "$image" || end 70
printf 'running' | say phase

devices=()
for device in /dev/accel* /dev/vfio; do
  [ -e "$device" ] && devices+=(--device "$device")
done
# The hosts of a slice find one another on the host's network, and there the library reads which slice it is.
timeout --kill-after=60 --signal=TERM "$limit" \
  docker run --rm --name run --network host --shm-size=100g --stop-timeout=30 \
  --cap-add=SYS_RESOURCE --ulimit memlock=68719476736:68719476736 \
  "${devices[@]}" --env-file "$TOLD" "$image" "${command[@]}"
end $?
