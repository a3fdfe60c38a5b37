#!/bin/bash
# Serves one job after another: clean, look at the orders, have the image, ask for a registration, run, and again. Takes
# no job where anything is wrong, says what, and goes on trying. Listens to nobody: all that it does, it asks for.
# Its parts share their variables:
# shellcheck disable=SC2034,SC2154
set -euo pipefail

here=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")" && pwd)
for part in lib.sh bucket.sh report.sh orders.sh image.sh tpu.sh fitness.sh slice.sh broker.sh container.sh versions.env; do
  # shellcheck source=/dev/null
  source "$here/$part"
done

bundle=$(basename "$here")
look_every=15    # seconds between two looks at the orders
gather_every=5   # seconds between two looks of the hosts of a slice at each other
longest_wait=300 # seconds of the longest pause of its own; a longer one only where the broker asks for it
most_idle_ends=5 # runners in a row that end at once without a job
at_once=60       # seconds; GitHub removes a runner that is idle for longer
longest_end=120  # seconds within which a runner ends after its job

dirty=yes # whether something ran on the TPU since it was cleaned
delay=5   # the next pause of its own
idle_ends=0
job_over='' # when the job ended by what its runner said
args=() jit='' runner='' again='' ended=0 jobs=0 stopped=no last_heard=''

serve() {
  until read_orders; do
    give_room
    pause registering
  done
  adopt_restart
  # Everything below is called in a condition, where errexit is off: every command there is chained or asked for.
  if ! obey; then return 0; fi
  if [[ $(own worker) != 0 ]]; then
    attend
    return 0
  fi
  if [[ $order_drain == true ]]; then
    phase draining "drained by order"
    rest "$look_every"
    return 0
  fi
  if ! cleaned || ! fit "$(wanted_image)"; then
    unfit
  elif ! imaged "$(wanted_image)"; then
    pause pulling
  elif ! gathered "$(said image)"; then
    # A slice is as fit as each of its hosts. Others were waited for, and this one looks at itself again.
    if [[ -n $host_unfit ]]; then unfit; elif [[ -z $round ]]; then pause registering; fi
  elif ! registered; then
    pause registering
  else
    run
  fi
}

# obey: a restart or another bundle, both by way of start.sh, which makes sure of everything again. It comes back only
# where there is nothing to obey, and fails where that could not be done.
obey() {
  local wanted=$order_bundle
  if wanted_restart; then
    say obeyed "$order_restart"
    event restart number "$order_restart"
    stop_container
    phase booting "restarted by order $order_restart"
    exec bash "$here/start.sh"
  fi
  # A bundle that nobody orders is none: what the start-up record named at boot stays.
  if [[ -z $wanted || $wanted == "$bundle" ]]; then return 0; fi
  if [[ $wanted == "$(said refused)" ]]; then
    # It was tried and did not start. This one takes no job either: nobody asked for it.
    phase unfit "bundle ${wanted:0:12} did not start: $(said refusal)"
    rest "$look_every"
    return 1
  fi
  if ! fetch_bundle "$wanted"; then
    pause booting
    return 1
  fi
  phase booting "bundle ${wanted:0:12} by order"
  exec bash "$state/$wanted/start.sh"
}

fetch_bundle() {
  if [[ ! $1 =~ ^[0-9a-f]{64}$ ]]; then
    blame "the ordered bundle is no SHA-256"
    return 1
  fi
  get_object "runner/bundles/$1.tar.gz" "$state/bundle.new" || {
    blame "the ordered bundle ${1:0:12} cannot be read"
    return 1
  }
  if ! sha256sum -c --quiet <<<"$1  $state/bundle.new"; then
    blame "the ordered bundle ${1:0:12} has other bytes than its name says"
    return 1
  fi
  mkdir -p "$state/$1" && tar -xzf "$state/bundle.new" -C "$state/$1"
}

# attend: a host that registers nothing: clean, with the image, in each round that worker 0 opens until that ends. Other
# orders than a restart are obeyed between two rounds.
attend() {
  local image
  if ! read_round; then
    pause registering
    return 0
  fi
  image=${round_image:-$(wanted_image)}
  if ! cleaned || ! fit "$image"; then
    unable unfit
  elif ! is_ours "$image" || ! imaged "$image"; then
    unable pulling
  elif [[ -z $round ]]; then
    phase idle "host $(own worker) of its slice waits for worker 0"
    rest "$gather_every"
  else
    join
  fi
}

join() {
  dirty=yes stopped=no joined=$round last_heard=''
  if ! ready_to_join; then
    pause registering
    return 0
  fi
  phase idle "host $(own worker) of its slice is there for worker 0's job"
  run_container "$round_image" "$ssh_entry" hear_ssh
  rm -rf "$slice"
  delay=5
  if [[ $stopped == yes ]]; then return 0; fi
  blame "the container for worker 0's job ended, status $ended${last_heard:+: $last_heard}"
  unable unfit
}

# unable PHASE: because of what is blamed, which worker 0 is told.
unable() {
  tell_worker_0 "$1" "$(cat "$state/blame" 2>/dev/null || :)" || log "worker 0 could not be told"
  if [[ $1 == unfit ]]; then unfit; else pause "$1"; fi
}

cleaned() {
  if [[ $dirty == no ]]; then return 0; fi
  # Who was unfit is so until it is clean, and does not say otherwise meanwhile.
  if [[ $(said phase) != unfit ]]; then toward cleaning; fi
  wipe && clean_tpu && dirty=no
}

# imaged IMAGE: the one to run is there.
imaged() {
  if [[ -z $1 ]]; then
    say image
    blame "$(why_no_image)"
    return 1
  fi
  if [[ $1 != "$(said image)" ]]; then toward pulling; fi
  pull_image "$1" && say image "$1"
}

registered() {
  toward registering
  if in_turn && prepare && add_runner "$(said image)" && ask_broker; then return 0; fi
  wipe || :
  return 1
}

run() {
  local began=$SECONDS before=$jobs
  dirty=yes stopped=no job_over=''
  say runner "$runner"
  event registered runner "$runner"
  report || :
  run_container "$(said image)" "$runner_entry" hear_runner
  close_round
  event runner-ended runner "$runner" status "$ended"
  say runner
  say job
  if ((jobs > before)) || [[ $stopped == yes ]]; then
    idle_ends=0 delay=5
  elif ((SECONDS - began >= at_once)); then
    # Nothing is wrong: another one is asked for.
    log "runner $runner ended without a job, status $ended"
    idle_ends=0 delay=5
  elif ((++idle_ends >= most_idle_ends)); then
    blame "runners end at once without a job, $idle_ends in a row, the last with status $ended"
    unfit
  else
    blame "runner $runner ended at once without a job, status $ended"
    pause registering
  fi
}

# meanwhile: what is looked at while a container runs. A job is waited for; a restart is not, since whoever orders one
# has seen no runner online for long.
meanwhile() {
  report_within "$report_every"
  if [[ -n $joined ]] && read_round && [[ $round != "$joined" ]]; then
    log "the round is over: the container is stopped"
    stop_container
    return 0
  fi
  if [[ -n $job_over ]] && ((SECONDS - job_over >= longest_end)); then
    log "the job is over and its runner goes on: the container is stopped"
    stop_container
    return 0
  fi
  read_own_orders || return 0
  if wanted_restart; then
    log "restart ordered: the container is stopped"
    stop_container
  elif [[ -n $joined ]]; then
    return 0
  elif [[ $(said phase) == idle ]] && is_wanted_elsewhere; then
    log "the orders are others now: the runner, which has no job, is stopped"
    stop_container
  elif [[ $(said phase) == idle ]] && ! all_answer; then
    log "a host of the slice does not answer: the runner, which has no job, is stopped"
    stop_container
  fi
}

is_wanted_elsewhere() {
  [[ $order_drain == true || $(wanted_image) != "$(said image)" || (-n $order_bundle && $order_bundle != "$bundle") ]]
}

unfit() {
  phase unfit "$(cat "$state/blame" 2>/dev/null || echo "a check failed, see the log")"
  dirty=yes
  rest 60
}

# pause PHASE: because of what is blamed; longer each time, unless the broker says for how long.
pause() {
  local seconds=$((delay + RANDOM % delay))
  phase "$1" "$(cat "$state/blame" 2>/dev/null || echo "a command failed, see the log")"
  delay=$((delay * 2 > longest_wait ? longest_wait : delay * 2))
  if [[ -n $again ]]; then seconds=$((again > 3600 ? 3600 : again)); fi
  again=''
  rest "$seconds"
}

# rest SECONDS: in pieces, and no longer than until there are other orders.
rest() {
  local left=$1 piece before
  before=$(orders_are)
  while ((left > 0)); do
    piece=$((left < look_every ? left : look_every))
    sleep "$piece"
    left=$((left - piece))
    if read_own_orders && [[ $(orders_are) != "$before" ]]; then return 0; fi
    report_within "$report_every"
  done
}

finish() {
  log "the supervisor is stopped"
  stop_container
  exit 143
}

trap finish TERM INT
log "the supervisor begins, bundle $bundle"
give_room
say bundle "$bundle"
say runner
say job
close_round
if [[ $(own worker) != 0 ]]; then look_every=$gather_every; fi
while :; do
  rm -f "$state/blame"
  serve
done
