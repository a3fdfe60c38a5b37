# Takes the result from the VM, says of it what the VM does not decide, and writes one also where none came.
mkdir -p "$RUNNER_TEMP/results"
asked=$(gcloud compute tpus tpu-vm get-guest-attributes "$NAME" --zone="$ZONE" --query-path=tidepool/ --format=json || echo '[]')
printf '%s' "$asked" | jq -r '[.. | objects | select(.key? == "result") | .value] | last // ""' |
  base64 --decode 2>/dev/null | gunzip 2>/dev/null | head -c 4000000 >"$RUNNER_TEMP/said.json" || true
whole=$(jq -s 'length == 1 and (.[0] | type) == "object"' "$RUNNER_TEMP/said.json" 2>/dev/null || echo false)
[ "$whole" = true ] || echo '{}' >"$RUNNER_TEMP/said.json"
now=$(date +%s)
jq -c --arg suite "$SUITE" --arg commit "$COMMIT" --arg run "$RUN" --arg outcome "$OUTCOME" \
  --argjson now "$now" --argjson made "$MADE" \
  '{seconds: 0, tests: {}, coverage: null} + . + {version: 1, suite: $suite, commit: $commit, run: $run, at: $now,
    ok: ($outcome == "success"), vm_seconds: ($now - $made)}' "$RUNNER_TEMP/said.json" >"$RUNNER_TEMP/results/$SUITE.json"
