# Deletes whatever VM carries this run's label, of any attempt, in every zone, until none is left. Run twice it changes
# nothing.
left=''
for round in $(seq "$ROUNDS"); do
  left=''
  for zone in $ZONES; do
    if ! names=$(gcloud compute tpus tpu-vm list --zone="$zone" --filter="labels.tidepool-run=$RUN_ID" --format='value(name.basename())'); then
      left="$left $zone (not listed)"
      continue
    fi
    for name in $names; do
      # One that is still being made refuses; the next round finds it.
      gcloud compute tpus tpu-vm delete "$name" --zone="$zone" --quiet || left="$left $name in $zone"
    done
  done
  [ -n "$left" ] || exit 0
  [ "$round" = "$ROUNDS" ] || sleep "$PAUSE_SECONDS"
done
echo "::error::not deleted:$left. Its label tidepool-expires says when anybody may"
exit 1
