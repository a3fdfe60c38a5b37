#!/bin/bash
# With this a job on a slice of several hosts starts processes on all of them. It is /usr/local/bin/tidepool-hosts in the
# container of each: worker 0's, which GitHub's runner is in, and those of the others, which wait for worker 0.
set -euo pipefail

slice=/opt/tidepool/slice environment=/tmp/tidepool-environment

usage() {
  cat >&2 <<'END'
tidepool-hosts run COMMAND [ARGUMENT]...  on every host, in this folder, until all have ended; one that fails ends the others
tidepool-hosts copy [PATH]...             to the other hosts, and to the same place; without a path, this folder
END
  exit 2
}

# on HOST ARGUMENT...: this script there.
on() {
  if [[ $1 == "worker-$TPU_WORKER_ID" ]]; then
    "$0" "${@:2}"
  else
    # shellcheck disable=SC2029 # what a word is, is said here
    ssh -F "$slice/ssh_config" "$1" "$(printf '%q ' /usr/local/bin/tidepool-hosts "${@:2}")"
  fi
}

run() {
  local fifo alive gate out host hosts ended status=0
  (($#)) || usage
  IFS=, read -ra hosts <<<"$TIDEPOOL_HOSTS"
  fifo=$(mktemp -u)
  mkfifo -m 600 "$fifo"
  # What all of them read and nobody writes to. Its end, which comes with this script's at the latest, is theirs.
  # shellcheck disable=SC2094 # which is why it is opened both ways
  exec {alive}<>"$fifo" {gate}<"$fifo" {out}>&1
  rm "$fifo"
  trap 'status=143; exec {alive}>&-' TERM INT HUP
  while read -r ended; do
    if ((ended > 0 && status == 0)); then
      status=$ended
      exec {alive}>&-
    fi
  done < <(
    trap - TERM INT HUP
    set +e
    exec {alive}>&-
    for host in "${hosts[@]}"; do
      {
        on "$host" attended "$PWD" "$@" <&"$gate" 2>&1 | sed -u "s/^/$host: /" >&"$out"
        echo "${PIPESTATUS[0]}"
      } &
    done
    wait
  )
  exit "$status"
}

# attended FOLDER COMMAND...: for as long as standard input is open.
attended() {
  local input child watcher status=0
  cd "$1"
  exec {input}<&0
  setsid "${@:2}" </dev/null {input}<&- &
  child=$!
  { cat && kill -TERM -- "-$child" && sleep 10 && kill -KILL -- "-$child"; } <&"$input" &>/dev/null &
  watcher=$!
  exec {input}<&-
  wait "$child" || status=$?
  # Whatever it left behind in its group holds the TPU.
  kill -KILL -- "-$child" 2>/dev/null || :
  kill "$watcher" 2>/dev/null || :
  exit "$status"
}

copy() {
  local host paths=() path hosts=()
  for path in "${@:-$PWD}"; do
    path=$(realpath -s -- "$path")
    paths+=("${path#/}")
  done
  IFS=, read -ra hosts <<<"$TIDEPOOL_HOSTS"
  for host in "${hosts[@]}"; do
    if [[ $host != "worker-$TPU_WORKER_ID" ]]; then tar -C / -cf - -- "${paths[@]}" | on "$host" receive; fi
  done
}

case ${1-} in
  run) run "${@:2}" ;;
  copy) copy "${@:2}" ;;
  attended) attended "${@:2}" ;;
  receive) exec tar -C / -xf - ;;
  # A command of ssh's, which knows nothing of the container's environment.
  session)
    # shellcheck source=/dev/null
    source "$environment"
    exec /bin/bash -c "${SSH_ORIGINAL_COMMAND:-exec /bin/bash -i}"
    ;;
  *) usage ;;
esac
