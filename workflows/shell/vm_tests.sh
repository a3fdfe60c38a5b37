# Tests one commit, which may be a stranger's, in a container without any credential. After vm_first.sh.
#
# All that is the stranger's is the user NOBODY's, in the container and on the VM, and that user is isolated as jobs on
# runners are: no metadata server, and so no token of the VM's account and no way to say that tests passed; nothing
# private, nothing of the VM's own, no IPv6.
#
# The function run_suite, carried along, prints what runs the suite. tidepool-env says REPOSITORY, COMMIT, INSTALL (a line of
# shell) and INSTALL_SECONDS; the command is what tests, with the folder /work.
# shellcheck disable=SC2154 # vm_first.sh asked for them
readonly WORK=$HOME_OF_RUN/work
told() { sed -n "s/^$1=//p" "$TOLD"; }

# nobody COMMAND...: on the VM itself.
nobody() { setpriv --reuid="$NOBODY" --regid="$NOBODY" --clear-groups --no-new-privs env -i PATH="$PATH" HOME="$WORK" "$@"; }

# Docker writes rules of its own when it makes the network, so isolation comes after it, and before anything of the
# commit is there.
systemctl start docker || end 70
docker network create --subnet=172.30.0.0/24 --opt=com.docker.network.bridge.name=tidepool0 tidepool || end 70
isolate
chmod 711 "$HOME_OF_RUN" || end 70
mkdir -p "$WORK/source" "$WORK/out" || end 70
run_suite >"$WORK/run_suite.py" || end 70
chown -R "$NOBODY:$NOBODY" "$WORK" || end 70
chmod -R u=rwX,go=rX "$WORK" || end 70
nobody git -C "$WORK/source" init --quiet || end 70
nobody git -C "$WORK/source" fetch --quiet --depth=1 "https://github.com/$(told REPOSITORY)" "$(told COMMIT)" || end 70
nobody git -C "$WORK/source" checkout --quiet --detach FETCH_HEAD || end 70
[ "$(nobody git -C "$WORK/source" rev-parse HEAD)" = "$(told COMMIT)" ] || end 70
chmod a+rw /dev/vfio/* || end 70
docker pull --quiet "$image" || end 70

# contained SECONDS COMMAND...: in the container. Isolated again before each, since a daemon may have written rules since.
contained() {
  local seconds=$1
  shift
  isolate
  timeout --kill-after=10 --signal=TERM "$seconds" \
    docker run --rm --name run --network tidepool --user "$NOBODY:$NOBODY" --volume "$WORK:/work" --workdir /work/source --shm-size=16g \
    --cap-drop=ALL --cap-add=SYS_RESOURCE --security-opt=no-new-privileges --stop-timeout=5 \
    --ulimit memlock=68719476736:68719476736 "${devices[@]}" --env HOME=/work --env-file "$TOLD" "$image" "$@"
}

contained "$(told INSTALL_SECONDS)" sh -ec "$(told INSTALL)" || end 71
printf 'running' | say phase
contained "$limit" "${command[@]}"
code=$?
# As much as a guest attribute takes; what is longer is not sent, and counts as no result. Read as who wrote it: a link
# leads to nothing that only root may read.
if nobody test -f "$WORK/out/result.json"; then
  nobody head -c 4000000 "$WORK/out/result.json" | gzip -9 | base64 --wrap=0 | head -c 200000 | say result
fi
end "$code"
