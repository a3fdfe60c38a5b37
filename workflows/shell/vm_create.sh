# Makes the VM: every zone in turn, ATTEMPTS rounds of them. What is half made when this is ended goes at once.
umask 077
expires=$(($(date +%s) + LIFETIME))
made=''
pending=''

# shellcheck disable=SC2329 # the trap calls it
forget() {
  trap - INT TERM
  [ -z "$pending" ] || kill "$pending" 2>/dev/null || true
  [ -z "$made" ] || gcloud compute tpus tpu-vm delete "$NAME" --zone="$made" --quiet --async || true
  exit 143
}
trap forget INT TERM

printf '%s' "$BOOT" >"$RUNNER_TEMP/boot"
printf '%s' "$COMMAND" | sed "s/{run}/$RUN/g" >"$RUNNER_TEMP/command"
printf '%s' "$VM_ENV" >"$RUNNER_TEMP/env"
printf '%s' "$VM_SECRETS" >"$RUNNER_TEMP/secrets"
files="startup-script=$RUNNER_TEMP/boot,tidepool-command=$RUNNER_TEMP/command"
files="$files,tidepool-env=$RUNNER_TEMP/env,tidepool-secrets=$RUNNER_TEMP/secrets"

for round in $(seq "$ATTEMPTS"); do
  for zone in $ZONES; do
    made=$zone
    echo "round $round: $ACCELERATOR in $zone"
    # In the background, so that a signal is heard at once and not when gcloud is done.
    # shellcheck disable=SC2086 # CAPACITY and ADDRESS are no word or one
    timeout --kill-after=10 --signal=TERM "$TRY_SECONDS" gcloud compute tpus tpu-vm create "$NAME" \
      --zone="$zone" --accelerator-type="$ACCELERATOR" --version="$RUNTIME" $CAPACITY $ADDRESS \
      --network="$NETWORK" --subnetwork="$SUBNETWORKS/regions/${zone%-*}/subnetworks/$SUBNETWORK-${zone%-*}" \
      --service-account="$ACCOUNT" --scopes=https://www.googleapis.com/auth/cloud-platform --shielded-secure-boot \
      --labels="$LABELS,tidepool-run=$RUN_ID,tidepool-expires=$expires" \
      --metadata="enable-guest-attributes=TRUE,tidepool-image=$IMAGE,tidepool-limit=$LIMIT" \
      --metadata-from-file="$files" &
    pending=$!
    if wait "$pending"; then
      printf '%s\n' "zone=$zone" "made=$(date +%s)" >>"$GITHUB_OUTPUT"
      exit 0
    fi
    pending=''
    # What was refused may stand all the same, half made.
    gcloud compute tpus tpu-vm delete "$NAME" --zone="$zone" --quiet || true
    made=''
  done
  [ "$round" = "$ATTEMPTS" ] || sleep "$PAUSE_SECONDS"
done
echo "::error::no zone of $ZONES had $ACCELERATOR in $ATTEMPTS rounds"
exit 1
