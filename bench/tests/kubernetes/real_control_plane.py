"""A real control plane on loopback: etcd, API server, controllers, scheduler, and kwok in place of kubelets.

What the live tier runs. The programs come from the tool builder (`infra.tools.install.CONTROL_PLANE`), etcd from the
distribution; none of them outlives the test run. The API server can have others behind it, as Kueue's place in a queue.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import urllib3
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from bench.cloud import tokens
from bench.cloud.kubernetes.control import kubeconfig
from infra.tools import install
from tests.lacking import lacking

_PATIENCE = 120.0
_STAGES = (
    "node/fast/node-initialize.yaml", "node/heartbeat-with-lease/node-heartbeat-with-lease.yaml",
    "pod/fast/pod-ready.yaml", "pod/fast/pod-complete.yaml", "pod/fast/pod-delete.yaml",
)  # fmt: skip
_COMPLETE = _STAGES[3]


@contextmanager
def real_control_plane(folder: Path, *, completes: bool = True) -> Generator[dict[str, Any]]:
    """What a kubeconfig of it has, as `Control.clusters` has it; the token `local` is an admin's.

    completes: whether pods of Jobs succeed as soon as they run; else they run until somebody says their status.
    """
    programs = {name: _program(name) for name in install.CONTROL_PLANE}
    etcd = shutil.which("etcd") or lacking("etcd is not installed (Debian: etcd-server)")
    with ExitStack() as ends:
        stored = free_port()
        peers = f"http://127.0.0.1:{free_port()}"
        store = f"http://127.0.0.1:{stored}"
        ends.enter_context(running(folder, "etcd", [
            etcd, "--data-dir", str(folder / "etcd"), "--listen-client-urls", store, "--advertise-client-urls", store,
            "--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers,
            "--initial-cluster", f"default={peers}",
        ]))  # fmt: skip
        reached = _serve(folder, programs["kube-apiserver"], store, ends)
        config = folder / "kubeconfig"
        config.write_text(json.dumps(kubeconfig(reached)))
        quiet = ["--kubeconfig", str(config), "--leader-elect=false", "--secure-port=0"]
        ends.enter_context(running(folder, "controllers", [
            str(programs["kube-controller-manager"]), *quiet, "--use-service-account-credentials=false",
            "--service-account-private-key-file", str(folder / "accounts.key"), "--node-monitor-grace-period=20s",
        ]))  # fmt: skip
        ends.enter_context(running(folder, "scheduler", [str(programs["kube-scheduler"]), *quiet]))
        stages = [word for path in _stages(completes=completes) for word in ("--config", str(path))]
        ends.enter_context(running(folder, "kwok", [
            str(programs["kwok"]), "--kubeconfig", str(config), "--manage-all-nodes=true",
            "--node-lease-duration-seconds=40", "--server-address", f"127.0.0.1:{free_port()}", *stages,
        ]))  # fmt: skip
        yield reached


def _serve(folder: Path, program: Path, store: str, ends: ExitStack) -> dict[str, Any]:
    """Start the API server and wait until it is ready."""
    port, key = free_port(), tokens.new_key()
    (folder / "accounts.key").write_text(key)
    (folder / "accounts.pub").write_text(tokens.public_pem(key))
    (folder / "tokens.csv").write_text("local,tidepool,1,system:masters\n")
    proxy = _proxy(folder)
    ends.enter_context(running(folder, "apiserver", [
        str(program), "--etcd-servers", store, "--service-cluster-ip-range", "10.0.0.0/24", "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1", "--secure-port", str(port), "--cert-dir", str(folder / "certificates"),
        "--service-account-issuer", "https://kubernetes.default.svc",
        "--service-account-key-file", str(folder / "accounts.pub"),
        "--service-account-signing-key-file", str(folder / "accounts.key"),
        "--token-auth-file", str(folder / "tokens.csv"), "--authorization-mode=RBAC", "--endpoint-reconciler-type=none",
        # etcd 3.4 cannot tell how far a watch is: each of kwok's would end at once, and begin again ever later.
        "--feature-gates=WatchList=false",
        "--allow-privileged=true",  # as on GKE
        *proxy,
    ]))  # fmt: skip
    certificate = folder / "certificates" / "apiserver.crt"
    until(lambda: certificate.exists(), folder / "apiserver.log")
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

        until(ready, folder / "apiserver.log")
    return reached


def _proxy(folder: Path) -> list[str]:
    """How the API server proves itself to API servers behind it: a certificate that signs itself."""
    whole = self_signed(folder / "proxy.pem", ExtendedKeyUsageOID.CLIENT_AUTH)
    return [
        "--requestheader-client-ca-file", str(folder / "proxy.pem"), "--proxy-client-cert-file", str(whole),
        "--proxy-client-key-file", str(whole), "--requestheader-username-headers=X-Remote-User",
        "--requestheader-group-headers=X-Remote-Group", "--requestheader-extra-headers-prefix=X-Remote-Extra-",
    ]  # fmt: skip


def self_signed(authority: Path, usage: x509.ObjectIdentifier, hosts: Sequence[str] = ("proxy",)) -> Path:
    """A key with its certificate for these hosts, in a file beside the certificate alone, which signs itself."""
    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, hosts[0])])
    now, pem = dt.datetime.now(dt.UTC), serialization.Encoding.PEM
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name).issuer_name(name).public_key(key.public_key()).serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(hours=1)).not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(each) for each in hosts]), critical=False)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    authority.write_bytes(certificate.public_bytes(pem))
    whole = authority.with_name(f"{authority.stem}-key.pem")
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    whole.write_bytes(authority.read_bytes() + private)
    return whole


def _program(name: str) -> Path:
    try:
        return install.need(name)
    except install.ToolError as error:
        lacking(str(error))


def _stages(*, completes: bool) -> list[Path]:
    """kwok starts with none; its module carries them."""
    asked = ["go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/kwok"]
    found = subprocess.run(asked, cwd=install.MODULE / "kubernetes", check=True, capture_output=True, text=True)
    wanted = [path for path in _STAGES if completes or path != _COMPLETE]
    return [Path(found.stdout.strip()) / "kustomize" / "stage" / path for path in wanted]


@contextmanager
def running(folder: Path, name: str, command: list[str], **variables: str) -> Generator[None]:
    """A program with its log, NAME.log; it is told to end afterwards."""
    with (folder / f"{name}.log").open("wb") as log:
        # etcd 3.4 cannot tell how far a watch is, which lists that are streamed need.
        environ = {**os.environ, "KUBE_FEATURE_WatchListClient": "false", **variables}
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


def until(holds: Callable[[], bool], log: Path | None = None) -> None:
    """Wait; AssertionError with the end of a log where it does not come to hold."""
    deadline = time.monotonic() + _PATIENCE
    while not holds():
        assert time.monotonic() < deadline, log.read_text()[-2000:] if log else "it did not come to hold"
        time.sleep(0.1)


def free_port() -> int:
    """A port on loopback that nobody listens on now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]
