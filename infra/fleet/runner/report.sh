# shellcheck shell=bash disable=SC2034,SC2154
# The VM's report, an object of its own in the fleet bucket: what it does and how it came to that. Written without jq,
# which the first steps of a boot do not have yet.

report_every=300 report_apart=15

# say KEY [TEXT]: a part of the report; without a text there is none.
say() {
  [[ -d $state/report ]] || mkdir -p "$state/report"
  printf '%s' "${2-}" >"$state/report/$1"
}

said() { if [[ -e $state/report/$1 ]]; then printf '%s' "$(<"$state/report/$1")"; fi; }

said_number() { printf '%d' "$(said "$1")"; }

# phase NAME [REASON]: what the VM does from now on. It is told at once; the same again, only now and then.
phase() {
  if [[ $(said phase) == "$1" && $(said reason) == "${2-}" ]]; then
    report_within "$report_every"
    return 0
  fi
  say phase "$1"
  say reason "${2-}"
  log "phase $1${2:+: $2}"
  if [[ -n ${2-} ]]; then event phase phase "$1" reason "$2"; else event phase phase "$1"; fi
  report || :
}

# toward NAME: the phase that is next, unless it is that one already and has its reason.
toward() {
  if [[ $(said phase) != "$1" ]]; then phase "$1"; fi
}

# step_ended STEP BEGAN OUTCOME: one line of the boot's story.
step_ended() {
  printf '{"step":%s,"began":%s,"ended":"%(%Y-%m-%dT%H:%M:%SZ)T","outcome":%s}\n' \
    "$(json "$1")" "$(json "$2")" -1 "$(json "$3")" >>"$state/boot"
}

# A host of a slice that registers no runner has a report beside the VM's; a full stop is in no VM's name.
report_object() {
  local pool vm worker
  pool=$(own pool) && vm=$(own vm) && worker=$(own worker) || return 1
  printf 'reports/%s/%s.json' "$pool" "$vm$([[ $worker == 0 ]] || printf '.worker-%s' "$worker")"
}

# seal FILE: a report with its proof, a token that Google signs for this machine and for the report's checksum: other VMs
# run as the same account and may write here too. One that cannot be had is left out (infra/model/report_proof.py has its form).
seal() {
  local text sum token
  text=$(<"$1")
  sum=$(printf '%s' "$text" | sha256sum)
  token=$(curl -fsS --max-time 5 -G -H 'Metadata-Flavor: Google' --data-urlencode "audience=tidepool-report:${sum%% *}" --data-urlencode format=full \
    "http://${GCE_METADATA_HOST:-169.254.169.254}/computeMetadata/v1/instance/service-accounts/default/identity") || return 0
  if [[ $token =~ ^[A-Za-z0-9_.-]+$ ]]; then printf '%s,"proof":"%s"}\n' "${text%\}}" "$token" >"$1"; fi
}

# report: write it. Nobody waits for it and nothing fails with it, so it is tried twice and no more.
report() {
  local object
  printf '%(%s)T' -1 >"$state/reported"
  # Only as many events as a report tells are kept.
  if [[ -s $state/events ]]; then tail -n 50 "$state/events" >"$state/events.kept" && mv "$state/events.kept" "$state/events"; fi
  object=$(report_object) && report_json >"$state/report.json" && seal "$state/report.json" || return 1
  put_object "$object" "$state/report.json" || put_object "$object" "$state/report.json" || {
    echo 0 >"$state/reported" # so that it is soon tried again
    log "the report could not be written"
    return 1
  }
}

# report_within SECONDS: write it where the last one is older.
report_within() {
  local last now
  last=$(cat "$state/reported" 2>/dev/null || echo 0)
  printf -v now '%(%s)T' -1
  if ((now - last >= $1)); then report || :; fi
}

report_json() {
  local key
  printf '{"version":1,"at":"%(%Y-%m-%dT%H:%M:%SZ)T"' -1
  for key in stack pool vm machine; do printf ',"%s":%s' "$key" "$(json "$(own "$key")")"; done
  printf ',"worker":%d,"obeyed":%d' "$(own worker)" "$(said_number obeyed)"
  for key in phase reason image bundle runner job; do
    printf ',"%s":' "$key"
    if [[ -n $(said "$key") ]]; then json "$(said "$key")"; else printf null; fi
  done
  printf ',"boot":[%s],"events":[%s]}\n' "$(lines boot 50)" "$(lines events 50)"
}

# lines NAME COUNT: the last lines of a file of JSON objects, as members of an array.
lines() {
  [[ ! -s $state/$1 ]] || tail -n "$2" "$state/$1" | sed '$!s/$/,/'
}
