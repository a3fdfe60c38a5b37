# Waits until every host of the VM runs the command, then until every host has ended it, and fails unless all did well.
# The output `ended` is success or failure where that is what ran, and nothing where the VM was not ready, was taken away
# or could not begin it: 70 and 75 are the start-up script's own.
asked() {
  gcloud compute tpus tpu-vm get-guest-attributes "$NAME" --zone="$ZONE" --query-path=tidepool/ --format=json 2>/dev/null |
    jq -r --arg key "$1" '.. | objects | select(.key? == $key) | .value' || true
}

# Plain characters behind a mark, so that no line of what ran is taken for a command of the runner's: GitHub ends a line
# at a carriage return too.
shown() { asked log | LC_ALL=C tr -c '\n\t -~' '?' | sed 's/^/| /'; }

# How many hosts have an answer to a question.
count() { asked "$1" | grep -c . || true; }

begun=''
ready=$(($(date +%s) + READY_SECONDS))
over=$((ready + LIMIT))
while :; do
  now=$(date +%s)
  if ! state=$(gcloud compute tpus tpu-vm describe "$NAME" --zone="$ZONE" --format='value(state)'); then
    state=unanswered
  fi
  case $state in
    PREEMPTED | TERMINATED | STOPPED | STOPPING | DELETING | HIDING | HIDDEN)
      echo "::error::the VM is $state; Google took it away, so what it ran has no result"
      exit 75
      ;;
  esac
  ended=$(asked outcome)
  if [ -n "$ended" ] && printf '%s\n' "$ended" | grep -vqx 0; then
    shown
    echo "::error::a host ended with exit code $(printf '%s\n' "$ended" | grep -vx 0 | sort -u | tr '\n' ' ')"
    printf '%s\n' "$ended" | grep -qxE '70|75' || echo ended=failure >>"$GITHUB_OUTPUT"
    exit 1
  fi
  if [ "$(count outcome)" -ge "$HOSTS" ]; then
    shown
    echo "all $HOSTS hosts ended well"
    echo ended=success >>"$GITHUB_OUTPUT"
    exit 0
  fi
  if [ -z "$begun" ] && [ "$(count phase)" -ge "$HOSTS" ]; then
    begun=yes
    over=$((now + LIMIT))
    echo "all $HOSTS hosts run the command"
  fi
  if [ -z "$begun" ] && [ "$now" -ge "$ready" ]; then
    echo "::error::$(count phase) of $HOSTS hosts were ready after $READY_SECONDS s"
    exit 1
  fi
  if [ "$now" -ge "$over" ]; then
    shown
    echo "::error::the command did not end within $LIMIT s"
    echo ended=failure >>"$GITHUB_OUTPUT"
    exit 1
  fi
  sleep "$POLL_SECONDS"
done
