# shellcheck shell=bash disable=SC2034,SC2154
# The container in which GitHub's runner takes one job: what it gets, what it says, how it goes. Nothing of the VM is in
# it but the TPU and a copy of uv's cache that is its own; what it writes goes with it.

container=tidepool-job
job=$state/job

# wipe: no container, no workspace, no cache of a job is left.
wipe() {
  local left
  left=$(timeout 60 docker ps -aq --filter "name=^$container\$") || {
    blame "docker does not answer"
    return 1
  }
  if [[ -n $left ]] && ! timeout 60 docker rm -f -v "$container" >/dev/null; then
    blame "the last job's container cannot be removed"
    return 1
  fi
  if mountpoint -q "$job/cache" && ! umount "$job/cache"; then
    blame "the last job's cache cannot be taken away"
    return 1
  fi
  rm -rf "$job" || {
    blame "the last job's workspace cannot be wiped"
    return 1
  }
}

# A job may fill its own limits and not the machine, on which the supervisor, docker and Google's agents go on: their
# memory is not a job's, and of the processes and threads of a 64-bit kernel, 4 million at most, it gets 90 for each of
# the 360 vCPUs of the largest TPU VM (ct6e-standard-8t in infra/model/facts/accelerators.yaml).
most_processes=32768 spare_memory_mb=4096

# prepare: fills args for `docker run`.
prepare() {
  local memory_kb
  memory_kb=$(sed -n 's/^MemTotal: *\([0-9]*\) kB$/\1/p' "$root/proc/meminfo") && [[ -n $memory_kb ]] || {
    blame "how much memory there is cannot be read"
    return 1
  }
  args=(--rm --interactive --init --name "$container" --pull never --log-driver none --stop-timeout=5
    --user "$runner_user:$runner_user" --security-opt no-new-privileges --cap-drop=ALL
    --cap-add=SYS_RESOURCE --shm-size=100g --ulimit memlock=68719476736:68719476736
    --pids-limit "$most_processes" --memory "$((memory_kb / 1024 - spare_memory_mb))m"
    --env "JAX_PLATFORMS=tpu,cpu" --env PJRT_DEVICE=TPU --env TPU_CI=true --env TPU_STDERR_LOG_LEVEL=3
    --env TPU_MIN_LOG_LEVEL=3 --env WANDB_MODE=offline --env "UV_CACHE_DIR=${uv_cache#"$root"}")
  add_devices && add_slice && add_cache
}

add_devices() {
  local device
  if [[ -e $root/dev/vfio ]]; then
    args+=(--device "$root/dev/vfio:/dev/vfio")
    return 0
  fi
  while read -r device; do args+=(--device "$device:${device#"$root"}"); done < <(tpu_devices)
}

# What libtpu would ask the metadata server for, which it cannot reach. A slice of several hosts needs their network, and
# jax a port for its coordinator, its own choice (https://github.com/jax-ml/jax, jax/_src/clusters/cloud_tpu_cluster.py,
# read 2026-11).
add_slice() {
  local addresses address hosts='' number=0 name value
  addresses=$(workers) || return 1
  args+=(--env TPU_SKIP_MDS_QUERY=true --env "TPU_WORKER_ID=$(own worker)")
  if [[ $addresses != *$'\n'* ]]; then
    args+=(--env TPU_WORKER_HOSTNAMES=localhost --env JAX_COORDINATOR_ADDRESS=127.0.0.1)
  else
    while read -r address; do
      args+=(--add-host "worker-$number:$address")
      hosts+=,worker-$((number++))
    done <<<"$addresses"
    args+=(--network host --env "TPU_WORKER_HOSTNAMES=${addresses//$'\n'/,}" --env "TIDEPOOL_HOSTS=${hosts#,}"
      --env "JAX_COORDINATOR_ADDRESS=${addresses%%$'\n'*}:8476"
      --mount "type=bind,readonly,src=$slice,dst=$in_container"
      --mount "type=bind,readonly,src=$here/tidepool-hosts.sh,dst=/usr/local/bin/tidepool-hosts")
  fi
  while IFS=: read -r name value || [[ -n $name ]]; do
    value=${value//[\' ]/}
    case $name in
      ACCELERATOR_TYPE | CHIPS_PER_HOST_BOUNDS | HOST_BOUNDS) args+=(--env "TPU_$name=$value") ;;
    esac
  done < <(own tpu-env)
}

# A job may write to uv's cache and no other job reads what it wrote: it writes above the VM's. A cache that could not be
# warmed would hide the image's.
add_cache() {
  mkdir -p "$job"
  if [[ -z $(ls "$state/warmed" 2>/dev/null) ]]; then return 0; fi
  mkdir -p "$job/cache" "$job/written" "$job/work"
  chown "$runner_user:$runner_user" "$job/written"
  if ! mount -t overlay -o "lowerdir=$uv_cache,upperdir=$job/written,workdir=$job/work" tidepool-cache "$job/cache"; then
    blame "the job's cache cannot be mounted"
    return 1
  fi
  args+=(--mount "type=bind,src=$job/cache,dst=${uv_cache#"$root"}")
}

# The image's own runner, unless the bundle pins another version: then a copy of the VM's, which start-up installed.
add_runner() {
  local has
  has=$(docker image inspect --format '{{range .Config.Env}}{{println .}}{{end}}' "$1" |
    sed -n 's/^GITHUB_RUNNER_VERSION=//p') || return 1
  if [[ $has == "$RUNNER_VERSION" ]]; then return 0; fi
  if ! cp -a "$root/opt/actions-runner/$RUNNER_VERSION" "$job/runner"; then
    blame "runner $RUNNER_VERSION is neither in the image (${has:-none}) nor on the VM"
    return 1
  fi
  args+=(--mount "type=bind,src=$job/runner,dst=/opt/actions-runner")
}

# By standard input, and unpacked into the files that the runner would make of it
# (https://github.com/actions/runner, src/Runner.Listener/Runner.cs, read 2026-11): the environment of a process can be
# read for as long as it lives. Of another shape than that it is the runner's to unpack, which reads its environment.
# shellcheck disable=SC2016 # the container's shell expands it
runner_entry='read -r jit || exit
unpack() (
  umask 077
  set -o pipefail
  printf %s "$jit" | base64 --decode | tr -d "{} \n\"" | tr , "\n" |
    while IFS=: read -r name content || [ -n "$name" ]; do
      case $name in .runner | .credentials | .credentials_rsaparams) ;; *) exit 1 ;; esac
      printf %s "$content" | base64 --decode >"/opt/actions-runner/$name" || exit 1
    done && [ -s /opt/actions-runner/.runner ]
)
unpack 2>/dev/null || export ACTIONS_RUNNER_INPUT_JITCONFIG="$jit"
exec /opt/actions-runner/run.sh </dev/null'

# run_container IMAGE ENTRY HEAR: until it ends. HEAR is called with each line that it prints, and orders are looked at
# meanwhile.
run_container() {
  local line got process look=$((SECONDS + look_every))
  # A builtin's arguments are in no list of processes.
  exec 4< <(printf '%s\n' "$jit" | docker run "${args[@]}" --entrypoint /bin/bash "$1" -c "$2" 2>&1)
  process=$!
  jit=''
  while :; do
    got=0
    # In pieces, so that a job which prints without end fills no memory.
    IFS= read -r -t "$look_every" -n 1000 line <&4 || got=$?
    if [[ -n $line ]]; then "$3" "$line"; fi
    if ((got > 0 && got <= 128)); then break; fi
    if ((SECONDS >= look)); then
      look=$((SECONDS + look_every))
      meanwhile
    fi
  done
  exec 4<&-
  ended=0
  wait "$process" || ended=$?
}

# hear_runner LINE: of GitHub's runner. A job can print what looks like one: it lies about itself alone.
hear_runner() {
  local line=${1//[^ -~]/?}
  log "runner: ${line:0:200}"
  case $line in
    *': Listening for Jobs'*) phase idle ;;
    *': Running job: '*)
      jobs=$((jobs + 1))
      say job "${line#*: Running job: }"
      event job-began job "$(said job)" runner "$runner"
      phase busy
      ;;
    *': Job '*' completed with result: '*)
      job_over=$SECONDS
      event job-ended job "$(said job)" result "${line##*completed with result: }"
      ;;
  esac
}

# hear_ssh LINE: of the server that lets worker 0's job in; it prints nothing but why it cannot begin.
hear_ssh() {
  last_heard=${1//[^ -~]/?}
  log "ssh: ${last_heard:0:200}"
}

stop_container() {
  stopped=yes
  timeout 60 docker stop "$container" >/dev/null 2>&1 || :
}
