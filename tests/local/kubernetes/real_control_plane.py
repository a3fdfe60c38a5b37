"""A real control plane on loopback: etcd, API server, controllers, scheduler, and kwok in place of kubelets.

What the live tier runs. The programs come from the tool builder (`infra.tools.install.CONTROL_PLANE`), etcd from the
distribution; none of them outlives the test run.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import urllib3

from infra.local.cloud import tokens
from infra.local.cloud.kubernetes.control import kubeconfig
from infra.tools import install
from tests.lacking import lacking

_PATIENCE = 120.0
_STAGES = (
    "node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml",
)  # fmt: skip


@contextmanager
def real_control_plane(folder: Path) -> Generator[dict[str, Any]]:
    """What a kubeconfig of it has, as `KubernetesControl.clusters` has it; the token `local` is an admin's."""
    programs = {name: _program(name) for name in install.CONTROL_PLANE}
    etcd = shutil.which("etcd") or lacking("etcd is not installed (Debian: etcd-server)")
    with ExitStack() as ends:
        stored = _free_port()
        peers = f"http://127.0.0.1:{_free_port()}"
        store = f"http://127.0.0.1:{stored}"
        ends.enter_context(_running(folder, "etcd", [
            etcd, "--data-dir", str(folder / "etcd"), "--listen-client-urls", store, "--advertise-client-urls", store,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}",
        ]))  # fmt: skip
        reached = _serve(folder, programs["kube-apiserver"], store, ends)
        config = folder / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(reached)))
        quiet = ["--kubeconfig", str(config), "--leader-elect=false", "--secure-port=0"]
        ends.enter_context(_running(folder, "controllers", [
            str(programs["kube-controller-manager"]), *quiet, "--use-service-account-credentials=false",
            "--service-account-private-key-file", str(folder / "accounts.key"), "--node-monitor-grace-period=20s",
        ]))  # fmt: skip
        ends.enter_context(_running(folder, "scheduler", [str(programs["kube-scheduler"]), *quiet]))
        stages = [word for path in _stages() for word in ("--config", str(path))]
        ends.enter_context(_running(folder, "kwok", [
            str(programs["kwok"]), "--kubeconfig", str(config), "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40", "--server-address", f"127.0.0.1:{_free_port()}", *stages,
        ]))  # fmt: skip
        yield reached


def _serve(folder: Path, program: Path, store: str, ends: ExitStack) -> dict[str, Any]:
    """Start the API server and wait until it is ready."""
    port, key = _free_port(), tokens.new_key()
    (folder / "accounts.key").write_text(key)
    (folder / "accounts.pub").write_text(tokens.public_pem(key))
    (folder / "tokens.csv").write_text("local,tidepool,1,system:masters\n")
    ends.enter_context(_running(folder, "apiserver", [
        str(program), "--etcd-servers", store, "--service-cluster-ip-range", "10.0.0.0/24", "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1", "--secure-port", str(port), "--cert-dir", str(folder / "certificates"),
        "--service-account-issuer", "https://kubernetes.default.svc",
        "--service-account-key-file", str(folder / "accounts.pub"),
        "--service-account-signing-key-file", str(folder / "accounts.key"),
        "--token-auth-file", str(folder / "tokens.csv"), "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
    ]))  # fmt: skip
    certificate = folder / "certificates" / "apiserver.crt"
    _until(lambda: certificate.exists(), folder / "apiserver.log")
    reached = {
        "cluster": "projects/real/locations/here/clusters/real",
        "host": f"127.0.0.1:{port}",
        "certificate": base64.b64encode(certificate.read_bytes()).decode(),
    }
    with urllib3.PoolManager(ca_certs=str(certificate)) as pool:
        headers = {"authorization": "Bearer local"}

        def ready() -> bool:
            try:
                url = f"https://{reached['host']}/readyz"
                return pool.request("GET", url, headers=headers, retries=False).status == 200
            except urllib3.exceptions.HTTPError:
                return False

        _until(ready, folder / "apiserver.log")
    return reached


def _program(name: str) -> Path:
    try:
        return install.need(name)
    except install.ToolError as error:
        lacking(str(error))


def _stages() -> list[Path]:
    """kwok starts with none; its module carries them."""
    asked = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    found = subprocess.run(asked, cwd=install.MODULE / "kubernetes", check=True, capture_output=True, text=True)
    return [Path(found.stdout.strip()) / "kustomize" / "stage" / path for path in _STAGES]


@contextmanager
def _running(folder: Path, name: str, command: list[str]) -> Generator[None]:
    with (folder / f"{name}.log").open("wb") as log:
        # etcd 3.4 cannot tell how far a watch is, which lists that are streamed need.
        environ = {**os.environ, "KUBE_FEATURE_WatchListClient": "false"}
        process = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder, env=environ)
        try:
            yield
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _until(holds: Any, log: Path) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.1)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
