"""What a job cannot reach, tried in real namespaces: the metadata server, the VM's services, sockets and files, and
what another job left. Docker's part is played by unshare, with the arguments that the supervisor gives it.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

from infra.fleet.bundle import RUNNER
from tests.fleet.sandbox import Sandbox
from tests.lacking import lacking

STEP = RUNNER / "steps" / "isolate-jobs.sh"

# What both VMs below begin with: listeners, namespaces beside this one, and the question who reaches what.
BEGIN = r"""
set -euo pipefail
listen='import signal, socket, sys; kept = [socket.create_server((host, int(port)), family=10 if ":" in host else 2)
        for port, host in (each.split("@") for each in sys.argv[1:])]; print("up", flush=True); signal.pause()'
beside() { # NAME INTERFACE PEER: another namespace, joined by a pair of interfaces; sets NAME to its process
  unshare -n sleep 300 &
  local process=$!
  until [[ $(readlink "/proc/$process/ns/net") != "$(readlink /proc/self/ns/net)" ]]; do sleep 0.01; done
  ip link add "$2" type veth peer name "$3" netns "$process"
  ip link set "$2" up
  nsenter -t "$process" -n ip link set "$3" up
  printf -v "$1" '%s' "$process"
}
reach() { # NAME ADDRESS/PORT COMMAND...
  local how=reaches
  "${@:3}" timeout 2 bash -c "exec 5<>/dev/tcp/$2" 2>/dev/null || how="is refused"
  echo "$1 $how $2"
}
"""

# A VM (this namespace), behind it a container on tidepool0 and one on the image's docker0, before it the metadata
# server, another VM and the internet.
NETWORK = (
    BEGIN
    + r"""
ip link set lo up
echo 1 >/proc/sys/net/ipv4/ip_forward
echo 1 >/proc/sys/net/ipv6/conf/all/forwarding
beside container tidepool0 eth0
beside agent docker0 eth0
beside outside ens4 eth0
trap 'kill $container $agent $outside $listeners' EXIT
ip addr add 172.30.0.1/24 dev tidepool0
ip addr add 172.17.0.1/24 dev docker0
ip addr add 10.0.0.2/24 dev ens4
ip addr add fd00:1::1/64 dev tidepool0 nodad
ip addr add fd20:ce::2/64 dev ens4 nodad
nsenter -t "$container" -n ip addr add 172.30.0.2/24 dev eth0
nsenter -t "$container" -n ip route add default via 172.30.0.1
nsenter -t "$container" -n ip addr add fd00:1::2/64 dev eth0 nodad
nsenter -t "$container" -n ip route add default via fd00:1::1
nsenter -t "$agent" -n ip addr add 172.17.0.2/24 dev eth0
nsenter -t "$agent" -n ip route add default via 172.17.0.1
for address in 10.0.0.1/24 169.254.169.254/32 203.0.113.1/32; do
  nsenter -t "$outside" -n ip addr add "$address" dev eth0
done
nsenter -t "$outside" -n ip addr add fd20:ce::254/64 dev eth0 nodad
nsenter -t "$outside" -n ip addr add fd00:2::1/128 dev eth0 nodad
ip route add fd00:2::/64 via fd20:ce::254
nsenter -t "$outside" -n ip route add 172.30.0.0/24 via 10.0.0.2
nsenter -t "$outside" -n ip route add fd00:1::/64 via fd20:ce::2
ip route add default via 10.0.0.1
exec 3< <(exec nsenter -t "$outside" -n python3 -c "$listen" 80@169.254.169.254 53@169.254.169.254 443@203.0.113.1 \
  22@10.0.0.1 80@fd20:ce::254 443@fd00:2::1)
listeners=$!
exec 4< <(exec python3 -c "$listen" 22@0.0.0.0 22@fd00:1::1 22@::1)
listeners+=" $!"
exec 5< <(exec nsenter -t "$agent" -n python3 -c "$listen" 8080@172.17.0.2)
listeners+=" $!"
read -r _ <&3 && read -r _ <&4 && read -r _ <&5
everybody() {
  local address
  for address in 169.254.169.254/80 169.254.169.254/53 203.0.113.1/443 10.0.0.1/22 fd20:ce::254/80 fd00:2::1/443; do
    reach container "$address" nsenter -t "$container" -n
    reach runner-user "$address" setpriv --reuid 1000 --clear-groups
    reach supervisor "$address"
  done
  for address in 172.30.0.1/22 fd00:1::1/22 172.17.0.2/8080; do
    reach container "$address" nsenter -t "$container" -n
  done
  for address in 127.0.0.1/22 10.0.0.2/22 ::1/22; do
    reach runner-user "$address" setpriv --reuid 1000 --clear-groups
  done
}
# An interface that is up carries IPv6 only once the kernel has told so, by its own turn.
for _ in {1..200}; do
  if nsenter -t "$container" -n timeout 2 bash -c 'exec 5<>/dev/tcp/fd20:ce::254/80' 2>/dev/null; then break; fi
  sleep 0.05
done
everybody
# As beside the image's daemon, which forwards nothing of others. And nobody outside knows the container's network.
iptables -P FORWARD DROP
nsenter -t "$outside" -n ip route del 172.30.0.0/24
bash "$1"
rules() { iptables -S && iptables -t nat -S && ip6tables -S; }
whole=$(rules)
# As before the next job, with a part of it gone.
iptables -F TIDEPOOL-USER
iptables -D INPUT -i tidepool0 -j REJECT
bash "$1"
[[ $(rules) == "$whole" ]]
# As where another daemon came later and put its own rules before all others.
for chain in INPUT OUTPUT FORWARD; do
  iptables -I "$chain" -j ACCEPT
  ip6tables -I "$chain" -j ACCEPT
done
bash "$1"
echo walled
everybody
for chain in INPUT OUTPUT FORWARD; do
  iptables -D "$chain" -j ACCEPT
  ip6tables -D "$chain" -j ACCEPT
done
[[ $(rules) == "$whole" ]]
"""
)

# A host of a slice (this namespace) with a container on its own network, the image's docker0 behind it, and before it
# the metadata server, the slice's other host and a stranger of the same subnet.
SLICE = (
    BEGIN
    + r"""
ip link set lo up
beside agent docker0 eth0
beside peer ens4 eth0
beside stranger ens5 eth0
trap 'kill $agent $peer $stranger $listeners' EXIT
ip addr add 172.17.0.1/24 dev docker0
ip link add net0 type bridge
for port in ens4 ens5; do ip link set "$port" master net0; done
ip link set net0 up
ip addr add 10.0.0.2/24 dev net0
ip addr add fd00:3::2/64 dev net0 nodad
nsenter -t "$stranger" -n ip addr add fd00:3::4/64 dev eth0 nodad
nsenter -t "$agent" -n ip addr add 172.17.0.2/24 dev eth0
nsenter -t "$peer" -n ip addr add 10.0.0.3/24 dev eth0
nsenter -t "$stranger" -n ip addr add 10.0.0.4/24 dev eth0
nsenter -t "$stranger" -n ip addr add 169.254.169.254/32 dev eth0
nsenter -t "$stranger" -n ip addr add 203.0.113.1/32 dev eth0
ip route add default via 10.0.0.4
exec 3< <(exec nsenter -t "$stranger" -n python3 -c "$listen" 80@169.254.169.254 53@169.254.169.254 443@203.0.113.1 \
  2222@10.0.0.4)
listeners=$!
exec 4< <(exec python3 -c "$listen" 22@0.0.0.0 2222@0.0.0.0 2222@fd00:3::2)
listeners+=" $!"
exec 5< <(exec nsenter -t "$agent" -n python3 -c "$listen" 8080@172.17.0.2)
listeners+=" $!"
exec 6< <(exec nsenter -t "$peer" -n python3 -c "$listen" 2222@10.0.0.3)
listeners+=" $!"
read -r _ <&3 && read -r _ <&4 && read -r _ <&5 && read -r _ <&6
everybody() {
  local address
  for address in 169.254.169.254/80 169.254.169.254/53 203.0.113.1/443 10.0.0.3/2222 10.0.0.4/2222 172.17.0.2/8080 \
    127.0.0.1/22 127.0.0.1/2222 10.0.0.2/22 10.0.0.2/2222; do
    reach job "$address" setpriv --reuid 1000 --clear-groups
    reach supervisor "$address"
  done
  reach peer 10.0.0.2/2222 nsenter -t "$peer" -n
  reach stranger 10.0.0.2/2222 nsenter -t "$stranger" -n
  reach stranger fd00:3::2/2222 nsenter -t "$stranger" -n
}
for _ in {1..200}; do
  if nsenter -t "$stranger" -n timeout 2 bash -c 'exec 5<>/dev/tcp/fd00:3::2/2222' 2>/dev/null; then break; fi
  sleep 0.05
done
everybody
bash "$1"
rules() { iptables -S && ip6tables -S; }
whole=$(rules)
iptables -F TIDEPOOL-USER
bash "$1"
[[ $(rules) == "$whole" ]]
echo walled
everybody
"""
)

TRIAL = (
    "iptables -A OUTPUT -m owner --uid-owner 1 -j REJECT && ip6tables -A OUTPUT -m owner --uid-owner 1 -j REJECT && "
    "ip link add one type veth peer name two && ip link set lo up && ip addr add fd00:1::1/64 dev lo"
)

# `docker run` by namespaces: a root of its own with the system's programs, what is mounted, and nothing else.
CONTAINER = r"""
binds=() environment=()
while [[ $1 != /*bash ]]; do
  case $1 in
    --mount) [[ $2 =~ src=([^,]+),dst=(.+) ]] && binds+=("${BASH_REMATCH[1]}:${BASH_REMATCH[2]}") ;;
    --device) binds+=("$2") ;;
    --env) environment+=("$2") ;;
    --user) user=$2 ;;
  esac
  shift
done
export ROOTFS=$SANDBOX/rootfs BINDS="${binds[*]}" SCRIPT=$4
mkdir -p "$ROOTFS"
env "${environment[@]}" unshare --mount --pid --fork --net --ipc --uts --kill-child bash -c '
  set -e
  mount -t tmpfs none "$ROOTFS"
  for folder in usr bin sbin lib lib64 etc; do
    if [[ -L /$folder ]]; then cp -P "/$folder" "$ROOTFS/"; else
      mkdir "$ROOTFS/$folder" && mount --bind "/$folder" "$ROOTFS/$folder"
      mount -o remount,bind,ro "$ROOTFS/$folder"
    fi
  done
  mkdir -p -m 1777 "$ROOTFS/tmp" && mkdir -p "$ROOTFS"/{proc,dev,run,var,sys,opt/actions-runner}
  mount -t proc proc "$ROOTFS/proc"
  touch "$ROOTFS/dev/null" && mount --bind /dev/null "$ROOTFS/dev/null"
  for bind in $BINDS; do mkdir -p "$ROOTFS${bind#*:}" && mount --bind "${bind%%:*}" "$ROOTFS${bind#*:}"; done
  chown 1000:1000 "$ROOTFS/opt/actions-runner"
  cp "$SANDBOX/job" "$ROOTFS/opt/actions-runner/run.sh" && chmod 755 "$ROOTFS/opt/actions-runner/run.sh"
  exec env PATH=/usr/sbin:/usr/bin:/sbin:/bin chroot "$ROOTFS" \
    /usr/bin/setpriv --reuid '"${user%:*}"' --regid '"${user#*:}"' --clear-groups --no-new-privs \
    /bin/bash -c "$SCRIPT"' <<<"$jit"
"""

JOB = r"""#!/bin/bash
PATH=/usr/bin:/bin
say() { echo "job: $*"; }
[[ $(</opt/actions-runner/.credentials) == "of the sandbox" && -z $(cat) ]] && say "has its registration"
for process in /proc/[0-9]*; do
  if tr '\0' '\n' <"$process/environ" 2>/dev/null | grep -q '^ACTIONS_RUNNER_INPUT_JITCONFIG='; then
    say "finds a registration in an environment"
  fi
done
say "is $(id -u), holds $(grep CapEff /proc/self/status | tr -d '\t')"
for path in /var/lib/tidepool STATE SANDBOX /run/docker.sock /var/run/docker.sock /run/containerd /run/tidepool; do
  if [[ -e $path ]]; then say "sees $path"; fi
done
for socket in $(find / -xdev -type s 2>/dev/null); do say "sees socket $socket"; done
(exec 5<>/dev/tcp/METADATA) 2>/dev/null && say "reaches the metadata server"
for process in /proc/[0-9]*; do
  if tr '\0' ' ' <"$process/cmdline" 2>/dev/null | grep -q supervisor; then say "sees the supervisor"; fi
done
find /opt/uv/cache /tmp /opt/actions-runner -name 'left-*' 2>/dev/null | while read -r file; do say "finds $file"; done
for folder in /opt/uv/cache /tmp; do touch "$folder/left-by-a-job" && say "writes $folder"; done
[[ -d /opt/uv/cache/wheels ]] && say "has the warm cache"
echo "2026-11-21 15:00:01Z: Running job: curious"
"""


def possible(*command: str) -> bool:
    """Whether this machine lets tests make such namespaces."""
    return os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0


def test_jobs_do_not_reach_the_metadata_server_and_all_else_as_before(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    assert walled(NETWORK, tmp_path, tool, "10.0.0.2") == [
        "container is refused 169.254.169.254/80",
        "runner-user is refused 169.254.169.254/80",
        "container is refused 10.0.0.1/22",
        "runner-user is refused 10.0.0.1/22",
        "container is refused fd20:ce::254/80",
        "runner-user is refused fd20:ce::254/80",
        "container is refused fd00:2::1/443",
        "runner-user is refused fd00:2::1/443",
        "container is refused 172.30.0.1/22",
        "container is refused fd00:1::1/22",
        "container is refused 172.17.0.2/8080",
        "runner-user is refused 127.0.0.1/22",
        "runner-user is refused 10.0.0.2/22",
        "runner-user is refused ::1/22",
    ]


def test_jobs_on_a_slice_of_several_hosts_reach_those_and_no_other_vm(
    tmp_path: Path, tool: Callable[[str], str]
) -> None:
    assert walled(SLICE, tmp_path, tool, "10.0.0.2", "10.0.0.3") == [
        "job is refused 169.254.169.254/80",
        "job is refused 10.0.0.4/2222",
        "job is refused 172.17.0.2/8080",
        "job is refused 127.0.0.1/22",
        "job is refused 10.0.0.2/22",
        "stranger is refused 10.0.0.2/2222",
        "stranger is refused fd00:3::2/2222",
    ]


def walled(network: str, root: Path, tool: Callable[[str], str], *hosts: str) -> list[str]:
    """What is refused after the step, and was open before it, on a VM whose slice has these hosts."""
    for name in ("ip", "ip6tables", "iptables", "nsenter", "setpriv", "unshare"):
        tool(name)
    if not possible("unshare", "-n", "bash", "-c", TRIAL):
        lacking("this machine makes no network namespaces with iptables")
    (root / "proc/net").mkdir(parents=True)
    (root / "proc/net/if_inet6").touch()
    own = root / "var/lib/tidepool/own"
    own.mkdir(parents=True)
    (own / "endpoints").write_text(",".join(f"unknown:unknown:{host}" for host in hosts))
    done = subprocess.run(
        ["unshare", "-n", "bash", "-c", network, "isolation", str(STEP)],
        env={**os.environ, "TIDEPOOL_ROOT": str(root)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    before, after = (part.splitlines() for part in done.stdout.split("walled\n"))
    assert len(after) == len(before)
    assert not [line for line in before if "refused" in line], "without the wall everything is open"
    return [line for line in after if "refused" in line]


def test_a_job_gets_nothing_of_the_vm_and_nothing_of_the_job_before(vm: Sandbox) -> None:
    if not possible("unshare", "--mount", "--pid", "--fork", "--net", "bash", "-c", "mount -t tmpfs none /mnt"):
        lacking("this machine makes no mount namespaces")
    state = vm.root / "var/lib/tidepool"
    (state / "warmed/marin").mkdir(parents=True)
    (vm.root / "opt/uv/cache/wheels").mkdir(parents=True)
    places = {"STATE": str(state), "SANDBOX": str(vm.path), "METADATA": vm.server.replace(":", "/")}
    vm.flag("job", re.sub("|".join(places), lambda found: places[found[0]], JOB))
    vm.flag("container", CONTAINER)
    for name in ("mount", "umount", "mountpoint", "unshare", "chroot", "setpriv", "chown", "chmod"):
        vm.real(name)
    vm.grants(2)
    cycle = vm.supervise(inside=("unshare", "--mount"))
    said = [line.split("job: ", 1)[1] for line in cycle.log.splitlines() if "runner: job: " in line]
    first, second = said[: len(said) // 2], said[len(said) // 2 :]
    assert first == [
        "has its registration",
        "is 1000, holds CapEff:0000000000000000",
        "writes /opt/uv/cache",
        "writes /tmp",
        "has the warm cache",
    ], cycle.log
    assert second == first
    assert [path.name for path in (vm.root / "opt/uv/cache").iterdir()] == ["wheels"]


def test_what_warms_the_cache_gains_no_rights_and_leaves_nothing_running(vm: Sandbox) -> None:
    if not possible("unshare", "--pid", "--fork", "--kill-child", "--mount-proc", "true"):
        lacking("this machine makes no process namespaces")
    vm.real("unshare")
    vm.flag("beside", '#!/bin/bash\nexec -a "$SANDBOX lingers" /bin/sleep 30\n')
    stays = 'setsid bash "$SANDBOX/beside" </dev/null >/dev/null 2>&1 &\necho $! >"$SANDBOX/began"\n'
    (vm.path / "bin" / "git").write_text(f'#!/bin/bash\n{stays}mkdir -p "${{@: -1}}"\n')
    vm.real("setsid")
    boot = vm.boot()
    assert "the cache was warmed for marin-community/marin" in boot.log
    assert (vm.path / "began").exists()
    name = os.fsencode(f"{vm.path} lingers")
    lingers = [path for path in Path("/proc").glob("[0-9]*/cmdline") if name in read_if_there(path)]
    assert not lingers
    assert all("--clear-groups --no-new-privs " in call for call in boot.calls if call.startswith("setpriv"))


# A disk of 4 MB for what the supervisor keeps, with nothing left on it.


def read_if_there(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
