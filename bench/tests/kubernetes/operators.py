"""The controllers of JobSet, Kueue, LeaderWorkerSet and Dask, run beside a real control plane on loopback.

They are programs of others and no part of this repository: TIDEPOOL_JOBSET, TIDEPOOL_KUEUE and TIDEPOOL_LWS name a
folder each, with the release's program as `manager` and what the release installs as `manifests.yaml`; TIDEPOOL_DASK
names a Python that has dask-kubernetes. Kueue is told what the stack tells its chart; only addresses are this
machine's. They write certificates where their containers would, to /visibility and below /tmp; what a kubelet would
mount there is copied.
"""

from __future__ import annotations

import base64
import os
import subprocess
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import urllib3
import yaml

from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi, UnreachableError
from bench.tests.kubernetes.real_control_plane import free_port, running, until
from infra.model.addons import kueue_values
from infra.model.schema import StackConfig
from tests.lacking import lacking

JOBSET: Final = "TIDEPOOL_JOBSET"
KUEUE: Final = "TIDEPOOL_KUEUE"
LWS: Final = "TIDEPOOL_LWS"
DASK: Final = "TIDEPOOL_DASK"
_CERTIFICATES: Final = "/tmp/k8s-webhook-server/serving-certs"
"""JobSet has no other place for it."""
_VISIBILITY: Final = "visibilityServer"
_DASK_FOLDER: Final = (
    "from importlib.util import find_spec\n"
    "from pathlib import Path\n"
    "home = Path(find_spec('dask_kubernetes').origin).parent\n"
    "print(home / 'operator' / 'deployment' / 'helm' / 'dask-kubernetes-operator' / 'crds')\n"
)
_FIRST: Final = ("Namespace", "CustomResourceDefinition", "Service")


@contextmanager
def running_jobset(folder: Path, kubeconfig: Path) -> Generator[None]:
    """Install and run JobSet's controller; its webhooks answer. `lacking` without it."""
    with _running(JOBSET, "jobset", _plain("jobset.x-k8s.io/v1alpha1"), folder, kubeconfig):
        yield


@contextmanager
def running_kueue(folder: Path, kubeconfig: Path, config: StackConfig, patience: str = "") -> Generator[None]:
    """The same of Kueue, with what its chart would be told; it tells places in its queues too.

    patience: how long a job may be without its pods, where a test cannot wait as long as the stack does.
    """
    said = yaml.safe_load(kueue_values(config)["managerConfig"]["controllerManagerConfigYaml"])
    if patience:
        said["waitForPodsReady"] |= {"timeout": patience, "recoveryTimeout": patience}
    here = _addresses()
    here["webhook"]["certDir"] = str(folder / "kueue-certificates")
    visibility = {"bindAddress": "127.0.0.1", "bindPort": free_port()}
    settings = said | here | {"namespace": "kueue-system", _VISIBILITY: visibility}
    api = ClusterApi(kubeconfig.read_text())
    with _running(KUEUE, "kueue", settings, folder, kubeconfig):
        until(lambda: _answers(api), folder / "kueue.log")
        yield


@contextmanager
def running_lws(folder: Path, kubeconfig: Path) -> Generator[None]:
    """The same of LeaderWorkerSet."""
    settings = _plain("lws.x-k8s.io/v1alpha1")
    settings["webhook"]["certDir"] = str(folder / "lws-certificates")
    with _running(LWS, "lws", settings, folder, kubeconfig):
        yield


def _plain(version: str) -> dict[str, Any]:
    named = {"apiVersion": f"config.{version}", "kind": "Configuration"}
    return {**named, "internalCertManagement": {"enable": True}, **_addresses()}


@contextmanager
def running_dask(folder: Path, kubeconfig: Path) -> Generator[None]:
    """Install the definitions of the wheel and run its operator, as its image does."""
    python = os.environ.get(DASK) or lacking(f"{DASK} names no Python with dask-kubernetes")
    found = subprocess.run([python, "-c", _DASK_FOLDER], check=True, capture_output=True, text=True)
    api = ClusterApi(kubeconfig.read_text())
    for path in sorted(Path(found.stdout.strip()).glob("*.yaml")):
        body = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        api.call("POST", _path(api, body), body)
    alive = f"http://127.0.0.1:{free_port()}/healthz"
    command = [
        python, "-m", "kopf", "run", "-m", "dask_kubernetes.operator.controller", "--all-namespaces", "--standalone",
        "--liveness", alive,
    ]  # fmt: skip
    with running(folder, "dask", command, KUBECONFIG=str(kubeconfig)):
        until(lambda: _is_ready(alive), folder / "dask.log")
        yield


@contextmanager
def _running(variable: str, name: str, settings: Mapping[str, Any], folder: Path, kubeconfig: Path) -> Generator[None]:
    named, api = os.environ.get(variable), ClusterApi(kubeconfig.read_text())
    home = Path(named) if named else lacking(f"{variable} names no folder with a release's manager and manifests.yaml")
    ports = {"webhook": settings["webhook"]["port"], "visibility": settings.get(_VISIBILITY, {}).get("bindPort")}
    texts = yaml.load_all((home / "manifests.yaml").read_text(encoding="utf-8"), yaml.CSafeLoader)
    bodies = [body for body in texts if body and body["kind"] not in ("Deployment", "ServiceMonitor")]
    for body in sorted(bodies, key=lambda each: [each["kind"] != first for first in _FIRST]):
        api.call("POST", _path(api, body), _on_loopback(body, ports))
    said, log = folder / f"{name}.yaml", folder / f"{name}.log"
    said.write_text(yaml.safe_dump(dict(settings)))
    command = [str(home / "manager"), "--config", str(said), "--kubeconfig", str(kubeconfig)]
    with running(folder, name, command):
        until(lambda: _is_mounted(api, name, Path(settings["webhook"]["certDir"])), log)
        until(lambda: _is_ready(f"http://{settings['health']['healthProbeBindAddress']}/readyz"), log)
        yield


def _path(api: ClusterApi, body: Mapping[str, Any]) -> str:
    served = api.kind(body["apiVersion"], body["kind"])
    assert served is not None, body["kind"]
    return served.of(body["metadata"].get("namespace", "default"))


def _on_loopback(body: dict[str, Any], ports: Mapping[str, Any]) -> dict[str, Any]:
    """The same, with services that are processes of this machine: there is no network of pods."""
    if body["kind"] == "Service":
        body["spec"] = {"type": "ExternalName", "externalName": "localhost"}
    spec: dict[str, Any] = body.get("spec", {})
    if body["kind"] == "APIService":
        spec["service"]["port"] = ports["visibility"]
    conversion = spec.get("conversion", {}).get("webhook", {})
    for each in (*body.get("webhooks", ()), *([conversion] if conversion else ())):
        each["clientConfig"]["service"]["port"] = ports["webhook"]
    return body


def _addresses() -> dict[str, Any]:
    return {
        "health": {"healthProbeBindAddress": f"127.0.0.1:{free_port()}"},
        "metrics": {"bindAddress": "0"},
        "webhook": {"host": "127.0.0.1", "port": free_port(), "certDir": _CERTIFICATES},
        "leaderElection": {"leaderElect": False},
    }


def _is_mounted(api: ClusterApi, name: str, folder: Path) -> bool:
    """Whether the certificate that a manager made for its webhooks is where it reads it; it is put there."""
    data = (api.find(f"/api/v1/namespaces/{name}-system/secrets/{name}-webhook-server-cert") or {}).get("data") or {}
    folder.mkdir(parents=True, exist_ok=True)
    for name, value in data.items():
        (folder / name).write_bytes(base64.b64decode(value))
    return "tls.crt" in data


def _is_ready(url: str) -> bool:
    try:
        return urllib3.request("GET", url, retries=False).status == 200
    except urllib3.exceptions.HTTPError:
        return False


def _answers(api: ClusterApi) -> bool:
    """Whether the place in a queue can be asked."""
    try:
        return api.find("/apis/visibility.kueue.x-k8s.io/v1beta2") is not None
    except (ApiRefusedError, UnreachableError):
        return False
