"""What the hosts of one slice do together: rounds in a sandbox of their own, and real ssh between real namespaces."""

from __future__ import annotations

import json
import os
import re
import shlex
import socket
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.fleet.sandbox import (
    GOLDEN,
    HEAVY,
    IMAGE,
    NEEDED,
    ONE_JOB,
    REPORT,
    TOKEN,
    Boot,
    Sandbox,
    sandbox,
    values,
)
from tests.lacking import lacking

ROUND = REPORT.replace(".json", ".slice.json")
HOST_1 = REPORT.replace(".json", ".slice-1.json")
KEY = f"ssh-ed25519 {'A' * 68}"
ADDRESSES = "unknown:unknown:127.0.0.1,unknown:unknown:127.0.0.2"


@pytest.fixture
def vm(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Sandbox]:
    """A host of a slice of two, with its image, as after a boot."""
    for name in NEEDED:
        tool(name)
    with sandbox(tmp_path) as made:
        of_two(made)
        yield made


def of_two(vm: Sandbox, worker: int = 0) -> None:
    vm.metadata |= {"attributes/agent-worker-number": str(worker), "attributes/worker-network-endpoints": ADDRESSES}
    publish(vm)
    vm.flag("images", f"{IMAGE}\n")


def publish(vm: Sandbox) -> None:
    vm.publish(images={"tpu-ci": {"us-west4": IMAGE}})


def says(vm: Sandbox, name: str, **told: Any) -> None:
    vm.objects[name] = json.dumps({"version": 1, **told}).encode()


def said(vm: Sandbox, name: str) -> dict[str, Any]:
    return json.loads(vm.objects[name])


def containers(boot: Boot) -> list[list[str]]:
    """The arguments of every `docker run` before its entry point, and the image after them."""
    runs = [shlex.split(call) for call in boot.calls if call.startswith("docker run ")]
    return [[*each[2 : each.index("--entrypoint")], each[each.index("--entrypoint") + 2]] for each in runs]


# Worker 0


def requests(vm: Sandbox) -> tuple[str, str]:
    """The beginnings of a read and of a write of the bucket, in shell: the object's name follows."""
    curl = f"\"$REAL_CURL\" -s -H 'Authorization: Bearer {TOKEN}'"
    bucket = "storage/v1/b/hai-gcp-models-tidepool-ci/o"
    write = f"{curl} -o /dev/null --data-binary @- http://{vm.server}/upload/{bucket}?uploadType=media\\&name="
    return f"{curl} http://{vm.server}/{bucket}/", write


def joins(vm: Sandbox, phase: str = "joined", reason: str = "", key: str = KEY, port: str = "") -> None:
    """Have host 1 answer whatever round worker 0 opens; it listens on that port, or where the sandbox's server does."""
    vm.limit(SSH_PORT=port or vm.server.partition(":")[2])
    vm.metadata["attributes/worker-network-endpoints"] = ADDRESSES.replace("127.0.0.2", "127.0.0.1")
    publish(vm)
    read, write = requests(vm)
    told = f'{{"version":1,"round":"%s","phase":"{phase}","reason":"{reason}","host_key":"{key}"}}'
    vm.flag(
        "meanwhile",
        f"round=$({read}{ROUND.replace('/', '%2F')} | jq -r .round)\nprintf '{told}' \"$round\" | {write}{HOST_1}\n",
    )


def test_worker_0_registers_once_every_host_has_joined_its_round_and_answers(vm: Sandbox, update_goldens: bool) -> None:
    joins(vm)
    vm.grants(1)
    boot = vm.boot()
    cycle = vm.supervise(sleeps=4)
    log = GOLDEN / "slice-boot.log"
    if update_goldens:
        log.write_text(boot.log + cycle.log)
    assert sorted((boot.log + cycle.log).splitlines()) == sorted(log.read_text().splitlines())
    (arguments,) = containers(cycle)
    assert values(arguments, "--network") == ["host"]
    assert values(arguments, "--add-host") == ["worker-0:127.0.0.1", "worker-1:127.0.0.1"]
    environment = dict(each.split("=", 1) for each in values(arguments, "--env"))
    assert environment["TPU_WORKER_HOSTNAMES"] == "127.0.0.1,127.0.0.1"
    assert environment["TPU_WORKER_ID"] == "0"
    assert environment["JAX_COORDINATOR_ADDRESS"] == "127.0.0.1:8476"
    assert environment["TIDEPOOL_HOSTS"] == "worker-0,worker-1"
    assert "type=bind,readonly,src=ROOT/var/lib/tidepool/slice,dst=/opt/tidepool/slice" in values(arguments, "--mount")


def test_every_job_has_a_key_of_its_own_which_goes_with_it(vm: Sandbox) -> None:
    joins(vm)
    keys = vm.root / "var/lib/tidepool/slice"
    vm.flag("container", f'cp {keys}/id "$SANDBOX/key-$(grep -c "^docker run" "$SANDBOX/calls")"\n{ONE_JOB}')
    vm.grants(2)
    cycle = vm.supervise(sleeps=6)
    used = [(vm.path / f"key-{number}").read_text() for number in (1, 2)]
    assert used[0] != used[1]
    for secret in (line for key in used for line in key.splitlines()[2:-1]):
        assert not [name for name, content in vm.objects.items() if secret.encode() in content]
        assert secret not in cycle.log
        assert not [each for each in vm.root.rglob("*") if each.is_file() and secret in each.read_text("latin-1")]


# The others


@pytest.fixture
def other(vm: Sandbox) -> Sandbox:
    """Host 1 of the slice, which looks at worker 0 every second."""
    vm.limit(GATHER_EVERY="1")
    of_two(vm, worker=1)
    return vm


UNTIL_STOPPED = "while [[ ! -e $SANDBOX/stopped ]]; do /bin/sleep 0.02; done\n"


def ends_round(vm: Sandbox) -> str:
    """In shell: worker 0 has no round any more."""
    return f"echo '{{}}' | {requests(vm)[1]}{ROUND}\n"


def test_the_others_let_the_key_of_the_round_into_a_container_of_its_image_until_it_ends(
    other: Sandbox, update_goldens: bool
) -> None:
    says(other, ROUND, round=KEY, image=IMAGE)
    inside = other.root / "var/lib/tidepool/slice"
    found = f'cp {inside}/authorized_keys {inside}/sshd_config "$SANDBOX/"\n'
    other.flag("container", f"{found}{ends_round(other)}{UNTIL_STOPPED}")
    cycle = other.supervise()
    log = GOLDEN / "slice-host.log"
    if update_goldens:
        log.write_text(cycle.log)
    assert cycle.log == log.read_text()
    (arguments,) = containers(cycle)
    assert not {"--privileged", "--volume", "-v", "--publish", "-p"} & set(arguments)
    assert values(arguments, "--user") == ["1000:1000"]
    assert values(arguments, "--network") == ["host"]
    assert "TPU_WORKER_ID=1" in values(arguments, "--env")
    assert (other.path / "authorized_keys").read_text() == f"{KEY}\n"
    config = (other.path / "sshd_config").read_text()
    assert "\nListenAddress 127.0.0.2\n" in config
    assert "\nAuthenticationMethods publickey\n" in config
    assert "docker stop tidepool-job" in cycle.calls
    assert not inside.exists(), "no key outlives its round"
    assert said(other, HOST_1)["round"] == KEY
    assert re.fullmatch(r"ssh-ed25519 [A-Za-z0-9+/]{68}", said(other, HOST_1)["host_key"])
    assert not other.asked


# Both, with real ssh

CONTAINER = r"""
binds=() environment=() hosts=$'127.0.0.1 localhost\n'
while [[ $1 != /*bash ]]; do
  case $1 in
    --mount) [[ $2 =~ src=([^,]+),dst=(.+) ]] && binds+=("${BASH_REMATCH[1]}:${BASH_REMATCH[2]}") ;;
    --env) environment+=("$2") ;;
    --add-host) hosts+="${2#*:} ${2%%:*}"$'\n' ;;
  esac
  shift
done
ROOTFS=$SANDBOX/rootfs PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin
mkdir -p "$ROOTFS"
environment+=("ROOTFS=$ROOTFS" "BINDS=${binds[*]}" "SCRIPT=$4" "HOSTS=$hosts" "SANDBOX=$SANDBOX" "PATH=$PATH")
env -i "${environment[@]}" unshare --mount --pid --fork --ipc --uts --kill-child bash -c '
  set -e
  worker=(/usr/bin/setpriv --reuid 1000 --regid 1000 --clear-groups --no-new-privs)
  mount -t tmpfs none "$ROOTFS"
  for folder in usr bin sbin lib lib64 etc; do
    if [[ -L /$folder ]]; then cp -P "/$folder" "$ROOTFS/"; else
      mkdir "$ROOTFS/$folder" && mount --bind "/$folder" "$ROOTFS/$folder"
    fi
  done
  mkdir -p -m 1777 "$ROOTFS/tmp" && mkdir -p "$ROOTFS"/{proc,dev,run,var,opt/tidepool/slice,opt/actions-runner,home}
  mount -t proc proc "$ROOTFS/proc"
  mount --bind /dev "$ROOTFS/dev"
  printf "root:x:0:0::/:/bin/bash\nworker:x:1000:1000::/tmp:/bin/bash\n" >"$SANDBOX/passwd"
  printf "%s" "$HOSTS" >"$SANDBOX/hosts"
  for file in passwd hosts; do mount --bind "$SANDBOX/$file" "$ROOTFS/etc/$file"; done
  mount -t tmpfs none "$ROOTFS/usr/local/bin"
  for bind in $BINDS; do
    [[ -d ${bind%%:*} ]] || touch "$ROOTFS${bind#*:}"
    mount --bind "${bind%%:*}" "$ROOTFS${bind#*:}"
  done
  cp "$SANDBOX/job" "$ROOTFS/opt/actions-runner/run.sh" && chmod 755 "$ROOTFS/opt/actions-runner/run.sh"
  unset ROOTFS BINDS HOSTS SANDBOX
  exec chroot "'$ROOTFS'" "${worker[@]}" /bin/bash -c "$SCRIPT"
  ' <<<"$jit" &
inside=$!
rm -f "$SANDBOX/stopped"
while kill -0 $inside 2>/dev/null && [[ ! -e $SANDBOX/stopped ]]; do /bin/sleep 0.05; done
if [[ -e $SANDBOX/stopped ]]; then kill -KILL $(pgrep -P $inside); rm -f "$SANDBOX/stopped"; fi
wait $inside 2>/dev/null
"""

JOB = r"""#!/bin/bash
PATH=/usr/local/bin:/usr/bin:/bin
say() { echo "job: $*"; }
mkdir /tmp/source && cd /tmp/source && echo "of the checkout" >file
tidepool-hosts run true 2>/dev/null || say "has no folder there before it is copied"
tidepool-hosts copy
tell() { sort | while read -r line; do say "$line"; done; }
tidepool-hosts run bash -c 'echo "$TPU_WORKER_ID is $(id -u) in $PWD with $(<file), $JAX_COORDINATOR_ADDRESS"' | tell
tidepool-hosts run bash -c 'echo "it'"'"'s \"$1\" $TPU_WORKER_ID"' - 'two  words' | tell
tidepool-hosts run bash -c 'if [[ $TPU_WORKER_ID == 1 ]]; then exit 7; fi; trap "" HUP; exec sleep 60'
say "ended with $?"
tidepool-hosts run bash -c 'if [[ $TPU_WORKER_ID == 0 ]]; then exit 8; fi; trap "" HUP; exec sleep 61'
say "ended with $?"
tidepool-hosts run bash -c 'sleep 62 & echo begun; exit 0' >/dev/null
tidepool-hosts run sleep 63 &
sleep 1.5
kill -TERM $!
wait $!
say "was ended with $?"
tidepool-hosts run bash -c '! pgrep -f "sleep 6[0-3]"' && say "leaves nothing behind"
tidepool-hosts run bash -c 'grep -o "CapEff.*" /proc/self/status | tr -d "\\t"; find /tmp /opt -name "left-*"
  touch /tmp/left-by-a-job; for path in STATE SANDBOX /run/docker.sock; do [[ ! -e $path ]] || echo "sees $path"; done
  for process in /proc/[0-9]*; do
    { tr "\\0" " " <"$process/cmdline"; } 2>/dev/null | grep -q "run_[m]odule" && echo "sees the supervisor"
  done; true' | tell
cp /opt/tidepool/slice/id /opt/tidepool/slice/known_hosts KEYS/ 2>/dev/null || say "keeps nothing of it"
echo "2026-11-21 15:00:01Z: Running job: curious"
"""


@dataclass(frozen=True)
class Slice:
    """Two hosts with one bucket."""

    hosts: tuple[Sandbox, Sandbox]

    def supervise(self) -> tuple[Boot, Boot]:
        """Until the broker has no registration any more."""
        first, second = self.hosts
        refused = first.root / "var/lib/tidepool/report/reason"
        first.flag("meanwhile", f"! grep -q 503 {refused} 2>/dev/null || kill $PPID\n/bin/sleep 0.2\n")
        second.flag("meanwhile", "[[ ! -e $SANDBOX/over ]] || kill $PPID\n/bin/sleep 0.2\n")
        with ThreadPoolExecutor(2) as pool:
            of_first, of_second = (
                pool.submit(host.supervise, sleeps=1000, inside=("unshare", "--mount"), seconds=240)
                for host in self.hosts
            )
            try:
                cycle = of_first.result()
            finally:
                second.flag("over")
                says(first, ROUND)
            return cycle, of_second.result()


@pytest.fixture
def slice_of_two(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Slice]:
    for name in (*NEEDED, "chroot", "pgrep", "setpriv", "setsid", "ssh", "unshare"):
        tool(name)
    if not Path("/usr/sbin/sshd").exists():
        lacking("sshd is not installed")
    trial = ("unshare", "--mount", "--pid", "--fork", "bash", "-c", "mount -t tmpfs none /mnt")
    if os.geteuid() != 0 or subprocess.run(trial, capture_output=True, check=False).returncode != 0:
        lacking("this machine makes no mount namespaces")
    with ExitStack() as stack:
        hosts = tuple(stack.enter_context(sandbox(tmp_path / str(worker))) for worker in (0, 1))
        first, second = hosts
        with socket.create_server(("127.0.0.2", 0)) as free:
            port = str(free.getsockname()[1])
        for worker, host in enumerate(hosts):
            host.limit(GATHER_EVERY="1", LOOK_EVERY="1")
            host.limit(SSH_PORT=port)
            of_two(host, worker)
            host.flag("container", CONTAINER)
            places = {"STATE": str(host.root / "var/lib/tidepool"), "SANDBOX": str(host.path), "KEYS": str(tmp_path)}
            host.flag("job", re.sub("|".join(places), lambda found, places=places: places[found[0]], JOB))
            for name in ("mount", "umount", "mountpoint", "unshare", "chroot", "setpriv", "chown", "chmod"):
                host.real(name)
        second.storage = f"http://{first.server}"
        yield Slice(hosts=(first, second))


@HEAVY
def test_a_job_starts_processes_on_every_host_and_no_other_job_does(slice_of_two: Slice) -> None:
    slice_of_two.hosts[0].grants(2)
    cycle, other = slice_of_two.supervise()
    told = [line.split("job: ", 1)[1] for line in cycle.log.splitlines() if "runner: job: " in line]
    one_job = [
        "has no folder there before it is copied",
        "worker-0: 0 is 1000 in /tmp/source with of the checkout, 127.0.0.1:8476",
        "worker-1: 1 is 1000 in /tmp/source with of the checkout, 127.0.0.1:8476",
        'worker-0: it\'s "two  words" 0',
        'worker-1: it\'s "two  words" 1',
        "ended with 7",
        "ended with 8",
        "was ended with 143",
        "leaves nothing behind",
        "worker-0: CapEff:0000000000000000",
        "worker-1: CapEff:0000000000000000",
        "keeps nothing of it",
    ]
    assert told == one_job * 2, cycle.log + other.log
