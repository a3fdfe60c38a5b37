# Starts the stack's build of IMAGE by a message, waits for its record, and says the digest in the run's summary.
set -- --trigger --wait "$WAIT_MINUTES" --cloud google --yes
if [ -n "$REVISION" ]; then
  set -- "$@" --revision "$REPOSITORY=$REVISION"
fi
./tidepool images build "$IMAGE" "$@"
digest=$(./tidepool images current "$IMAGE" --cloud google)
echo "$IMAGE: \`$digest\`" >>"$GITHUB_STEP_SUMMARY"
