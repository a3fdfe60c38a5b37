# shellcheck shell=bash disable=SC2034,SC2154
# A slice of several hosts runs a job in one container on each of them. Worker 0 opens a round for it: a key that is made
# for this round, and the image. The others join with a container that lets this key in and nobody else. Both say so in
# the fleet bucket, where their pool's account alone reads and writes; no private key leaves the host that made it.

slice=$state/slice in_container=/opt/tidepool/slice
ssh_port=2222
public_key='^ssh-ed25519 [A-Za-z0-9+/]{68}$'

round='' round_image=''  # what worker 0 has open, known by its public key; empty where nothing is
joined=''                # the round that this host has its container for
missing='' host_unfit='' # what a round waits for, and whether a host says that it is unfit
most_looks=12            # so many looks at the others, and this host looks at itself again

several() { [[ $(workers) == *$'\n'* ]]; }

# slice_object [NUMBER]: what worker 0 says, or the host of that number. A full stop is in no VM's name.
slice_object() { printf 'reports/%s/%s.slice%s.json' "$(own pool)" "$(own vm)" "${1:+-$1}"; }

# tell_slice OBJECT [--arg KEY TEXT]...
tell_slice() { jq -nc "${@:2}" '{version: 1} + $ARGS.named' >"$state/told.json" && put_object "$1" "$state/told.json"; }

# make_key NAME: prints the public half; the private one is for the container's user alone.
make_key() {
  local kind key
  ssh-keygen -q -t ed25519 -N '' -C '' -f "$slice/$1" </dev/null && chown "$runner_user:$runner_user" "$slice/$1" &&
    read -r kind key _ <"$slice/$1.pub" && printf '%s %s' "$kind" "$key"
}

# Worker 0

# open_round IMAGE: unless one is open for it.
open_round() {
  if [[ -n $round && $round_image == "$1" ]]; then return 0; fi
  if rm -rf "$slice" && mkdir -p "$slice" && round=$(make_key id) && write_ssh_config &&
    tell_slice "$(slice_object)" --arg round "$round" --arg image "$1"; then
    round_image=$1
    event round-opened
    return 0
  fi
  round=''
  blame "no round can be opened for the other hosts of its slice"
  return 1
}

# close_round: the others end their containers when they read it. Where it cannot be told, the next round tells it.
close_round() {
  if ! several || [[ $(own worker) != 0 ]]; then return 0; fi
  round=''
  rm -rf "$slice"
  tell_slice "$(slice_object)" || log "the end of the round could not be told"
}

write_ssh_config() {
  cat >"$slice/ssh_config" <<END
Host worker-*
  Port $ssh_port
  IdentityFile $in_container/id
  IdentitiesOnly yes
  UserKnownHostsFile $in_container/known_hosts
  GlobalKnownHostsFile none
  StrictHostKeyChecking yes
  BatchMode yes
  ConnectTimeout 20
  ServerAliveInterval 15
END
}

# gathered IMAGE: waits a while for every other host to join a round for it and to answer; with one host, for none. Not
# where one of them calls itself unfit, nor where the orders change.
gathered() {
  local before look
  host_unfit=''
  if ! several; then return 0; fi
  open_round "$1" || return 1
  before=$(orders_are)
  for ((look = 0; look < most_looks; look++)); do
    if all_joined; then return 0; fi
    if [[ -n $host_unfit || $(orders_are) != "$before" ]]; then break; fi
    phase registering "$missing"
    rest "$gather_every"
  done
  blame "$missing"
  return 1
}

all_joined() {
  local number=0 address
  : >"$slice/known_hosts"
  while read -r address; do
    if ((number > 0)) && ! has_joined "$number" "$address"; then return 1; fi
    number=$((number + 1))
  done < <(workers)
}

# has_joined NUMBER ADDRESS: fails, and sets missing, where it has not.
has_joined() {
  local said fields
  get_object "$(slice_object "$1")" "$state/host.json" &&
    said=$(jq -r '.round, .phase, .reason, .host_key | if type == "string" then . else "" end' "$state/host.json" 2>/dev/null) ||
    said=''
  mapfile -t fields <<<"$said"
  if [[ ${fields[0]-} != "$round" || ${fields[1]-} == joined && ! ${fields[3]-} =~ $public_key ]]; then
    missing="waits for host $1 of its slice"
  elif [[ ${fields[1]-} != joined ]]; then
    if [[ ${fields[1]-} == unfit ]]; then host_unfit=yes; fi
    missing="host $1 of its slice is ${fields[1]-}: ${fields[2]-}"
  elif ! answers "$2"; then
    missing="host $1 of its slice has joined and does not answer on port $ssh_port"
  else
    printf '[worker-%d]:%d %s\n' "$1" "$ssh_port" "${fields[3]}" >>"$slice/known_hosts"
    return 0
  fi
  return 1
}

# shellcheck disable=SC2016 # for the shell that is given up after 3 s
answers() { timeout 3 bash -c 'exec 5<>"/dev/tcp/$1/$2"' answers "$1" "$ssh_port" 2>/dev/null; }

# all_answer: whether a runner that waits for its job still has the others beside it.
all_answer() {
  local address
  while read -r address; do
    if ! answers "$address"; then return 1; fi
  done < <(workers | tail -n +2)
}

# The others

# read_round: sets round and round_image. Fails where nobody can say; none is no failure.
read_round() {
  local found=0 said fields
  get_object "$(slice_object)" "$state/round.json" || found=$?
  if ((found == 1)); then echo '{}' >"$state/round.json"; fi
  if ((found > 1)) || ! said=$(jq -r 'if type == "object" then . else error end |
    .round, .image | if type == "string" then . else "" end' "$state/round.json" 2>/dev/null); then
    blame "what worker 0 says cannot be read"
    return 1
  fi
  mapfile -t fields <<<"$said"
  round=${fields[0]-} round_image=${fields[1]-}
  # It becomes a line of authorized_keys, where more than a key would be a command.
  if [[ ! $round =~ $public_key ]]; then round='' round_image=''; fi
}

# is_ours IMAGE: from the repository of this host's own. Any VM of the pool could have written what the round says.
is_ours() {
  local wanted
  wanted=$(wanted_image)
  if [[ ${1%@*} == "${wanted%@*}" ]]; then return 0; fi
  blame "refused image $1: not from the repository of this VM's own"
  return 1
}

# tell_worker_0 PHASE [REASON] [HOST-KEY]: of the round that is open.
tell_worker_0() {
  tell_slice "$(slice_object "$(own worker)")" --arg round "$round" --arg phase "$1" --arg reason "${2-}" --arg host_key "${3-}"
}

# ready_to_join: fills args and the slice's folder for the round that is open, and says so.
ready_to_join() {
  local key
  rm -rf "$slice" && mkdir -p "$slice" && key=$(make_key host_key) && write_sshd_config && prepare &&
    tell_worker_0 joined '' "$key"
}

# Another's command runs in the container that this server is in, with its walls and its environment.
write_sshd_config() {
  printf '%s\n' "$round" >"$slice/authorized_keys" && cat >"$slice/sshd_config" <<END
Port $ssh_port
ListenAddress $(workers | sed -n "$(($(own worker) + 1))p")
HostKey $in_container/host_key
AuthorizedKeysFile $in_container/authorized_keys
AuthenticationMethods publickey
StrictModes no
DisableForwarding yes
ForceCommand /usr/local/bin/tidepool-hosts session
ClientAliveInterval 15
PidFile none
LogLevel FATAL
END
}

# Without a mark of root's a server of ssh lets in the user that it runs as
# (https://github.com/kubeflow/mpi-operator, build/base, read 2026-11).
ssh_entry='export -p >/tmp/tidepool-environment && exec /usr/sbin/sshd -D -e -f '$in_container/sshd_config
