# The digest that the record of images names as current: what is run is this build, whatever tags say meanwhile.
digest=$(gcloud storage cat "$RECORD" | jq -er --arg image "$RUN_IMAGE" '.images[$image].current.digest')
printf '%s' "$digest" | grep -Eqx 'sha256:[0-9a-f]{64}' || {
  echo "::error::the record has no digest of $RUN_IMAGE"
  exit 1
}
echo "$RUN_IMAGE is $digest"
echo "image=$PLACE@$digest" >>"$GITHUB_OUTPUT"
