"""The units' options and the supervisor's `docker run`, by a real daemon in namespaces, where there is one."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.fleet.bundle import RUNNER
from infra.fleet.runner.supervisor.container import RUNNER_ENTRY
from tests.fleet.sandbox import IMAGE, JIT, NEEDED, Sandbox, sandbox
from tests.lacking import lacking

pytestmark = pytest.mark.heavy

DAEMONS = r"""
set -uo pipefail
ip link set lo up
ip link add tidepool0 type bridge
ip addr add 172.30.0.1/24 dev tidepool0
ip link set tidepool0 up
bash "$STEP" || exit 1
echo 'version = 2' >containerd.toml
echo '{}' >daemon.json
$CONTAINERD >containerd.log 2>&1 &
daemons=$!
trap 'kill $daemons; wait' EXIT
until [[ -S containerd.sock ]]; do sleep 0.1; kill -0 $daemons || { cat containerd.log; exit 1; }; done
$DOCKERD >dockerd.log 2>&1 &
daemons="$! $daemons"
until timeout 5 docker version >/dev/null 2>&1; do sleep 0.2; kill -0 $daemons || { cat dockerd.log; exit 1; }; done
tar -C image -c . | docker import - job:1 >/dev/null
exec 3< <(exec python3 -c 'import socket, signal
kept = socket.create_server(("172.30.0.1", 22))
print("up", flush=True)
signal.pause()')
daemons="$! $daemons"
read -r _ <&3
printf '%s\n' "$JIT" | timeout 60 docker run "$@"
"""

JOB = r"""#!/bin/bash
say() { echo "job: $*"; }
[[ -n $ACTIONS_RUNNER_INPUT_JITCONFIG || -s /opt/actions-runner/.runner ]] && say "has its registration"
say "is $UID"
while read -r name value; do [[ $name != CapEff: ]] || say "holds $value"; done </proc/self/status
for path in /var/lib/tidepool /run/docker.sock /run/tidepool /var/run/docker.sock; do
  [[ ! -e $path ]] || say "sees $path"
done
(exec 5<>/dev/tcp/172.30.0.1/22) 2>/dev/null && say "reaches the VM"
(exec 5<>/dev/tcp/169.254.169.254/80) 2>/dev/null && say "reaches the metadata server"
touch /proc/sys/kernel/hostname 2>/dev/null && [[ -w /proc/sys/kernel/hostname ]] && say "writes the kernel's settings"
say "locks $(ulimit -l) KiB"
"""


@pytest.fixture
def vm(tmp_path: Path, tool: Callable[[str], str]) -> Iterator[Sandbox]:
    for name in (*NEEDED, "containerd", "docker", "dockerd", "docker-init", "ip", "iptables", "unshare"):
        tool(name)
    if os.geteuid() != 0:
        lacking("a daemon needs root")
    with sandbox(tmp_path / "vm") as made:
        made.publish(images={"tpu-ci": {"us-west4": IMAGE}})
        made.flag("images", f"{IMAGE}\n")
        yield made


def started(unit: str, folder: Path) -> str:
    """What a unit starts, with its folders below another one and the machine's own programs."""
    text = (RUNNER / unit).read_text().replace("\\\n", "")
    found = re.search(r"^ExecStart=(.*)$", text, re.MULTILINE)
    assert found is not None
    line = re.sub(r"/opt/tidepool/docker/(dockerd|containerd) ", r"\1 ", found[1])
    line = line.replace("/var/lib/tidepool-docker", f"{folder}/data")
    return line.replace("/opt/tidepool/docker", str(folder)).replace("/run/tidepool", str(folder))


def image(folder: Path) -> None:
    """bash and what it needs, and a runner that is the curious job."""
    libraries = subprocess.run(["ldd", "/bin/bash"], capture_output=True, text=True, check=True).stdout
    for file in ("/bin/bash", *re.findall(r"(/\S+\.so\S*)", libraries), "/usr/bin/touch"):
        copy = folder / file.removeprefix("/")
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(Path(file).read_bytes())
        copy.chmod(0o755)
    runner = folder / "opt/actions-runner/run.sh"
    runner.parent.mkdir(parents=True)
    runner.write_text(JOB)
    runner.chmod(0o755)


def test_a_real_daemon_takes_the_options_and_its_container_holds(vm: Sandbox, tmp_path: Path) -> None:
    vm.grants(1)
    (call,) = [call for call in vm.supervise().calls if call.startswith("docker run ")]
    arguments = shlex.split(call.split(" -c read")[0])[2:]
    # No TPU is here, shared memory may be small, and a lock of 64 GiB may be more than this machine grants.
    at = arguments.index("--device")
    del arguments[at : at + 2]
    spelled = [{"--shm-size=100g": "--shm-size=10m"}.get(each, each) for each in arguments]
    spelled[spelled.index("--ulimit") + 1] = "memlock=65536:65536"
    spelled[next(number for number, each in enumerate(spelled) if each.startswith(IMAGE.partition("@")[0]))] = "job:1"
    image(tmp_path / "image")
    own = tmp_path / "var/lib/tidepool/own"
    own.mkdir(parents=True)
    (own / "endpoints").write_text("unknown:unknown:10.0.0.2")
    done = subprocess.run(
        ["unshare", "--net", "--mount", "bash", "-c", DAEMONS, "daemons", *spelled, "-c", RUNNER_ENTRY],
        cwd=tmp_path,
        env={
            **os.environ,
            "CONTAINERD": started("tidepool-containerd.service", tmp_path),
            "DOCKERD": started("tidepool-docker.service", tmp_path),
            "DOCKER_HOST": f"unix://{tmp_path}/docker.sock",
            "JIT": JIT,
            "STEP": str(RUNNER / "steps/isolate-jobs.sh"),
            "TIDEPOOL_ROOT": str(tmp_path),
        },
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )
    said = [line.removeprefix("job: ") for line in done.stdout.splitlines() if line.startswith("job: ")]
    assert said == ["has its registration", "is 1000", "holds 0000000000000000", "locks 64 KiB"], (
        done.stdout + done.stderr
    )
