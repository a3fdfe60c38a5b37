# shellcheck shell=bash disable=SC2034,SC2154
# One registration from the broker, against the VM's own identity. The VM holds no credential of GitHub's.

# The broker counts whom it grants, and maybe whose answer was lost: then so many seconds pass, A_TURN of
# infra/fleet/broker/decide.py.
ask_apart=60

# in_turn: fails, with again and blame, where it is too early to ask, whatever this VM did meanwhile.
in_turn() {
  local now turn
  printf -v now '%(%s)T' -1
  turn=$(cat "$state/turn" 2>/dev/null || echo 0)
  # A clock that was set back holds nobody up for longer than the broker ever says.
  if ((turn <= now || turn > now + 3600)); then return 0; fi
  again=$((turn - now))
  blame "the broker is asked again in $again s"
  return 1
}

# ask_broker: sets jit and runner; where there is none, again (seconds after which to ask, empty where nobody said) and
# blame. What comes back is kept in variables: no file and no command line ever holds it.
ask_broker() {
  local broker token body answer status headers now turn
  jit='' runner='' again=''
  broker=${order_broker:-$startup_broker}
  if [[ -z $broker ]]; then
    blame "runner/startup.json names no broker"
    return 1
  fi
  # Who is on the way would read the token.
  if [[ ! $broker =~ ^(https://[^[:space:]]+|http://127\.0\.0\.1:[0-9]+)/?$ ]]; then
    blame "refused broker $broker: not https"
    return 1
  fi
  token=$(metadata service-accounts/default/identity -G --data-urlencode "audience=$broker" --data-urlencode format=full) ||
    return 1
  body=$(jq -nc --arg stack "$(own stack)" --arg vm "$(own vm)" --arg pool "$(own pool)" '$ARGS.named')
  headers=$(mktemp)
  # Cloud Run takes the signature off the token that it checks. Of two headers it checks the second.
  answer=$(curl -sS --max-time 90 -D "$headers" -w '\n%{http_code}' -H 'Content-Type: application/json' \
    -H @<(printf 'Authorization: Bearer %s\nX-Serverless-Authorization: Bearer %s\n' "$token" "$token") \
    --data "$body" "${broker%/}/v1/registrations") || :
  again=$(tr -d '\r' <"$headers" | sed -n 's/^[Rr]etry-[Aa]fter: *\([0-9]\{1,6\}\)$/\1/p')
  rm -f "$headers"
  status=${answer##*$'\n'} answer=${answer%$'\n'*}
  printf -v now '%(%s)T' -1
  if [[ $status == 4* ]]; then turn=${again:-0}; else turn=${again:-$ask_apart}; fi
  printf '%d' "$((now + turn))" >"$state/turn"
  # By pipes: bash keeps a long here-string in a file.
  if [[ $status == 200 ]] && answer=$(printf '%s' "$answer" | jq -er '.jit, .runner'); then
    { read -r jit && read -r runner; } < <(printf '%s\n' "$answer")
    return 0
  fi
  jit='' runner=''
  blame "the broker gives no registration: $status $(printf '%s' "$answer" | jq -r '"\(.reason): \(.message)"' 2>/dev/null || :)"
  return 1
}
