# Tests one commit, which may be a stranger's, in a container without any credential. After vm_first.sh.
#
# The function run_suite, carried along, prints what runs the suite. tidepool-env says REPOSITORY, COMMIT, INSTALL (a line of
# shell) and INSTALL_SECONDS; the command is what tests, with the folder /work.
# shellcheck disable=SC2154 # vm_first.sh asked for them
readonly WORK=$HOME_OF_RUN/work
told() { sed -n "s/^$1=//p" "$TOLD"; }

# The container is on a network of its own, and that reaches no metadata server: so no token of the VM's account, and
# no way to say that tests passed. Before anything of the commit is there.
systemctl start docker || end 70
iptables -I DOCKER-USER -d 169.254.169.254 -j DROP || end 70
# The same address answers for names, which the container needs (https://cloud.google.com/compute/docs/internal-dns).
for protocol in udp tcp; do
  iptables -I DOCKER-USER -d 169.254.169.254 -p "$protocol" --dport 53 -j RETURN || end 70
done
chmod 711 "$HOME_OF_RUN" || end 70
mkdir -p "$WORK/source" "$WORK/out" || end 70
run_suite >"$WORK/run_suite.py" || end 70
git -C "$WORK/source" init --quiet || end 70
git -C "$WORK/source" fetch --quiet --depth=1 "https://github.com/$(told REPOSITORY)" "$(told COMMIT)" || end 70
git -C "$WORK/source" checkout --quiet --detach FETCH_HEAD || end 70
[ "$(git -C "$WORK/source" rev-parse HEAD)" = "$(told COMMIT)" ] || end 70
chown -R 1000:1000 "$WORK" || end 70
chmod -R u=rwX,go=rX "$WORK" || end 70
chmod a+rw /dev/vfio/* || end 70
docker pull --quiet "$image" || end 70

# contained SECONDS COMMAND...: in the container, as nobody in particular.
contained() {
  local seconds=$1
  shift
  timeout --kill-after=10 --signal=TERM "$seconds" \
    docker run --rm --name run --user 1000:1000 --volume "$WORK:/work" --workdir /work/source --shm-size=16g \
    --cap-drop=ALL --cap-add=SYS_RESOURCE --security-opt=no-new-privileges --stop-timeout=5 \
    --ulimit memlock=68719476736:68719476736 "${devices[@]}" --env HOME=/work --env-file "$TOLD" "$image" "$@"
}

contained "$(told INSTALL_SECONDS)" sh -ec "$(told INSTALL)" || end 71
printf 'running' | say phase
contained "$limit" "${command[@]}"
code=$?
# As much as a guest attribute takes; what is longer is not sent, and counts as no result.
if [ -f "$WORK/out/result.json" ] && [ ! -L "$WORK/out/result.json" ]; then
  head -c 4000000 "$WORK/out/result.json" | gzip -9 | base64 --wrap=0 | head -c 200000 | say result
fi
end "$code"
