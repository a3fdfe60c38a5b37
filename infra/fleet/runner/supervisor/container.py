"""The container in which GitHub's runner takes one job: what it gets. Nothing of the VM is in it but the TPU, a copy of
uv's cache that is its own, and the keys of a slice; what it writes goes with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from . import limits
from .effects import Host, Prepared

CONTAINER: Final = "tidepool-job"
IN_CONTAINER: Final = "/opt/tidepool/slice"
USER: Final = "1000:1000"

_OF_SLICE: Final = ("ACCELERATOR_TYPE", "CHIPS_PER_HOST_BOUNDS", "HOST_BOUNDS")

RUNNER_ENTRY: Final = r"""read -r jit || exit
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
exec /opt/actions-runner/run.sh </dev/null"""
"""The registration comes by standard input, and is unpacked into the files that the runner would make of it
(https://github.com/actions/runner, src/Runner.Listener/Runner.cs, read 2026-11): the environment of a process can be
read for as long as it lives. Of another shape than that it is the runner's to unpack, which reads its environment.
"""

SSH_ENTRY: Final = f"export -p >/tmp/tidepool-environment && exec /usr/sbin/sshd -D -e -f {IN_CONTAINER}/sshd_config"
"""Without a mark of root's a server of ssh lets in the user that it runs as
(https://github.com/kubeflow/mpi-operator, build/base, read 2026-11).
"""


def arguments(host: Host, job: Prepared, image: str, entry: str) -> tuple[str, ...]:
    """What `docker` is started with."""
    return (
        *("run", "--rm", "--interactive", "--init", "--name", CONTAINER, "--pull", "never", "--log-driver", "none"),
        *("--stop-timeout=5", "--user", USER, "--security-opt", "no-new-privileges", "--cap-drop=ALL"),
        *("--cap-add=SYS_RESOURCE", "--shm-size=100g", "--ulimit", "memlock=68719476736:68719476736"),
        *("--pids-limit", str(limits.MOST_PROCESSES), "--memory", f"{job.memory_mb - limits.SPARE_MEMORY_MB}m"),
        *_env("JAX_PLATFORMS=tpu,cpu", "PJRT_DEVICE=TPU", "TPU_CI=true", "TPU_STDERR_LOG_LEVEL=3"),
        *_env("TPU_MIN_LOG_LEVEL=3", "WANDB_MODE=offline", f"UV_CACHE_DIR={job.uv_cache}"),
        *(word for device, inside in job.devices for word in ("--device", f"{device}:{inside}")),
        *_of_slice(host, job),
        *(_mount(f"{job.job}/cache", job.uv_cache) if job.cache else ()),
        *(_mount(f"{job.job}/runner", "/opt/actions-runner") if job.runner else ()),
        *("--entrypoint", "/bin/bash", image, "-c", entry),
    )


def _of_slice(host: Host, job: Prepared) -> Iterator[str]:
    """What libtpu would ask the metadata server for, which it cannot reach. A slice of several hosts needs their
    network, and jax a port for its coordinator, its own choice (https://github.com/jax-ml/jax,
    jax/_src/clusters/cloud_tpu_cluster.py, read 2026-11).
    """
    yield from _env("TPU_SKIP_MDS_QUERY=true", f"TPU_WORKER_ID={host.worker}")
    if not host.several:
        yield from _env("TPU_WORKER_HOSTNAMES=localhost", "JAX_COORDINATOR_ADDRESS=127.0.0.1")
    else:
        for number, address in enumerate(host.addresses):
            yield from ("--add-host", f"worker-{number}:{address}")
        names = ",".join(f"worker-{number}" for number in range(len(host.addresses)))
        yield from ("--network", "host")
        yield from _env(f"TPU_WORKER_HOSTNAMES={','.join(host.addresses)}", f"TIDEPOOL_HOSTS={names}")
        yield from _env(f"JAX_COORDINATOR_ADDRESS={host.addresses[0]}:8476")
        yield from _mount(job.slice_folder, IN_CONTAINER, read_only=True)
        yield from _mount(job.hosts_command, "/usr/local/bin/tidepool-hosts", read_only=True)
    for line in job.tpu_env.splitlines():
        name, _, value = line.partition(":")
        if name in _OF_SLICE:
            yield from _env(f"TPU_{name}={value.translate(_NO_QUOTES)}")


_NO_QUOTES: Final = str.maketrans("", "", "' ")


def _env(*variables: str) -> Iterator[str]:
    for each in variables:
        yield from ("--env", each)


def _mount(source: str, target: str, *, read_only: bool = False) -> tuple[str, str]:
    return "--mount", f"type=bind,{'readonly,' if read_only else ''}src={source},dst={target}"
