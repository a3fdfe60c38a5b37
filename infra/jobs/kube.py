"""The Kubernetes API as calls on paths: where it is, who asks, and its refusals.

Owns the way to the API of a kubeconfig and of a pod (server, certificates, token, exec plugin). Which files make the
kubeconfig is `kubeconfig`'s, which objects are asked for its callers'. Nothing is retried but what never reached the
server.
"""

from __future__ import annotations

import base64
import json
import math
import os
import ssl
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeAlias
from urllib.parse import urlencode

import urllib3

from infra.jobs.kubeconfig import kubeconfig_files, merged
from infra.model.errors import OutsideError

POD_FILES: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount")
"""Where every pod has its token, its namespace and the server's certificate."""
SECONDS: Final = 30.0
Plugin: TypeAlias = Callable[[str, Mapping[str, Any]], Mapping[str, Any]]
"""Gives the token of a credential command; told the server, and the command as the kubeconfig has it."""


class KubeError(OutsideError):
    """A call that the API refused or did not answer. status: of HTTP, None where no answer came. reason: the Status
    object's, for programs."""

    def __init__(self, doing: str, said: str, *, status: int | None = None, reason: str = "") -> None:
        self.status, self.reason = status, reason
        super().__init__(f"{doing} failed: {said}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubePlace:
    """One cluster's API. token: asked before each call, for it expires. namespace: where nothing else is said."""

    server: str
    namespace: str = "default"
    tls: ssl.SSLContext | None = None
    token: Callable[[], str] | None = None
    said: str = ""


def pod_place(files: Path = POD_FILES, environ: Mapping[str, str] = os.environ) -> KubePlace | None:
    """The cluster that this process runs in; None outside of one."""
    host, port = environ.get("KUBERNETES_SERVICE_HOST"), environ.get("KUBERNETES_SERVICE_PORT", "443")
    if not host or not (files / "token").exists():
        return None
    return KubePlace(
        server=f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}",
        namespace=(files / "namespace").read_text().strip() or "default",
        tls=ssl.create_default_context(cafile=str(files / "ca.crt")),
        token=lambda: (files / "token").read_text().strip(),
        said="the cluster of this pod",
    )


def kubeconfig_place(environ: Mapping[str, str] = os.environ, context: str = "") -> KubePlace | None:
    """The cluster of a context of the kubeconfigs (the current one, where none is named); None without a kubeconfig.

    Raises KubeError where a file names what it does not have, ConfigError for a KUBECONFIG that is none.
    """
    paths = kubeconfig_files(environ)
    config = merged(paths)
    chosen = context or config.get("current-context", "")
    if not (paths and chosen):
        return None
    return place_of(config, chosen, Path(os.pathsep.join(map(str, paths))))


def place_of(config: Mapping[str, Any], chosen: str, path: Path, plugin: Plugin | None = None) -> KubePlace:
    """The cluster of a context. path: of the kubeconfig, or of each. plugin: asked in place of running the credential
    command. Raises KubeError where the kubeconfig names what it does not have.
    """
    within = _named(config, "contexts", chosen, path)["context"]
    cluster = _named(config, "clusters", within["cluster"], path)["cluster"]
    user = _named(config, "users", within["user"], path)["user"] if within.get("user") else {}
    return KubePlace(
        server=cluster["server"].rstrip("/"),
        namespace=within.get("namespace", "default"),
        tls=_tls(cluster, user, path, chosen) if cluster["server"].startswith("https:") else None,
        token=_token(user, path.parent, partial(plugin or run_plugin, cluster["server"])),
        said=f"context {chosen} of {path}",
    )


class Kube:
    """Calls of one cluster; safe to share between threads. seconds: limit of each attempt of a call."""

    def __init__(self, place: KubePlace, *, seconds: float = SECONDS) -> None:
        self.place = place
        self._seconds = seconds
        self._pool = urllib3.PoolManager(ssl_context=place.tls, retries=urllib3.Retry(connect=2, read=0, redirect=0))

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """One object, or a list as the API gives it."""
        return json.loads(self._call("GET", path, query=query))

    def find(self, path: str, **query: str) -> dict[str, Any] | None:
        """The same; None where there is none, or the API does not serve the kind."""
        try:
            return self.get(path, **query)
        except KubeError as error:
            if error.status == 404:
                return None
            raise

    def text(self, path: str, **query: str) -> str:
        """What a path answers as text, such as a log."""
        return self._call("GET", path, query=query).decode(errors="replace")

    def create(self, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Make an object; unknown fields are refused by name, as a typo would otherwise be dropped without a word."""
        return json.loads(self._call("POST", path, body=body, query={"fieldValidation": "Strict"}))

    def merge(self, path: str, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Change an object by a merge patch."""
        return json.loads(self._call("PATCH", path, body=patch, form="application/merge-patch+json"))

    def delete(self, path: str) -> None:
        """Delete an object once what it owns is gone; nothing where there is none."""
        try:
            self._call("DELETE", path, query={"propagationPolicy": "Foreground"})
        except KubeError as error:
            if error.status != 404:
                raise

    def _call(
        self,
        method: str,
        path: str,
        *,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str] | None = None,
        form: str = "application/json",
    ) -> bytes:
        doing = f"{method} {path} at {self.place.server}"
        headers = {"Accept": "application/json, */*"}
        if self.place.token:
            headers["Authorization"] = f"Bearer {self.place.token()}"
        if body is not None:
            headers["Content-Type"] = form
        url = f"{self.place.server}{path}" + (f"?{urlencode(query)}" if query else "")
        sent = None if body is None else json.dumps(body)
        try:
            answer = self._pool.request(method, url, body=sent, headers=headers, timeout=self._seconds)
        except urllib3.exceptions.HTTPError as error:
            raise KubeError(
                doing,
                f"no answer ({type(error).__name__}); check that the cluster runs and that this machine reaches it",
            ) from None
        if answer.status >= 300:
            said, reason = _refusal(answer.data)
            raise KubeError(doing, f"{answer.status} {said}", status=answer.status, reason=reason)
        return answer.data


def _refusal(data: bytes) -> tuple[str, str]:
    try:
        status = json.loads(data)
    except ValueError:
        return data.decode(errors="replace")[:500], ""
    return status.get("message", ""), status.get("reason", "")


def _named(config: Mapping[str, Any], kind: str, name: str, path: Path) -> dict[str, Any]:
    found = next((each for each in config.get(kind) or () if each["name"] == name), None)
    if found is None:
        raise KubeError(f"reading {path}", f"{kind} has no {name!r}; `kubectl config get-contexts` lists what there is")
    return found


def _tls(cluster: Mapping[str, Any], user: Mapping[str, Any], path: Path, chosen: str) -> ssl.SSLContext:
    try:
        return _context(cluster, user, path.parent)
    except (ssl.SSLError, OSError, ValueError) as error:
        raise KubeError(
            f"reading {path}", f"certificates of {chosen} cannot be used ({type(error).__name__})"
        ) from None


def _context(cluster: Mapping[str, Any], user: Mapping[str, Any], base: Path) -> ssl.SSLContext:
    context = ssl.create_default_context()
    if authority := _bytes(cluster, "certificate-authority", base):
        context = ssl.create_default_context(cadata=authority.decode())
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    certificate, key = _bytes(user, "client-certificate", base), _bytes(user, "client-key", base)
    if certificate and key:
        with tempfile.NamedTemporaryFile() as pair:  # OpenSSL reads files alone; this one has mode 0600
            pair.write(certificate + b"\n" + key)
            pair.flush()
            context.load_cert_chain(pair.name)
    return context


def _bytes(section: Mapping[str, Any], name: str, base: Path) -> bytes:
    """A value that stands in the file, or in a file beside it."""
    if data := section.get(f"{name}-data"):
        return base64.b64decode(data)
    return (base / section[name]).read_bytes() if section.get(name) else b""


def _token(
    user: Mapping[str, Any], base: Path, plugin: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> Callable[[], str] | None:
    if "exec" in user:
        return _PluginToken(partial(plugin, user["exec"]))
    if user.get("tokenFile"):
        return lambda: (base / user["tokenFile"]).read_text().strip()
    return (lambda: user["token"]) if user.get("token") else None


class _PluginToken:
    """The token of a plugin, which is asked again a minute before it expires; kept where it says no time."""

    def __init__(self, ask: Callable[[], Mapping[str, Any]]) -> None:
        self._ask, self._token, self._until, self._lock = ask, "", 0.0, threading.Lock()

    def __call__(self) -> str:
        with self._lock:
            if time.time() >= self._until:  # noqa: TID251 - a plugin of this machine says when its token expires
                status = self._ask()
                expires = status.get("expirationTimestamp")
                self._until = datetime.fromisoformat(expires).timestamp() - 60 if expires else math.inf
                self._token = str(status["token"])
            return self._token


def run_plugin(_server: str, plugin: Mapping[str, Any]) -> Mapping[str, Any]:
    """What an exec plugin answers (`gke-gcloud-auth-plugin` of GKE): `token`, and `expirationTimestamp` where it says
    one. Raises KubeError.
    """
    environment = {**os.environ, **{each["name"]: each["value"] for each in plugin.get("env") or ()}}
    environment["KUBERNETES_EXEC_INFO"] = json.dumps(
        {"apiVersion": plugin["apiVersion"], "kind": "ExecCredential", "spec": {"interactive": False}}
    )
    command = [plugin["command"], *(plugin.get("args") or ())]
    try:
        done = subprocess.run(command, env=environment, capture_output=True, check=True, timeout=60)
        status = json.loads(done.stdout)["status"]
        return {"expirationTimestamp": status.get("expirationTimestamp"), "token": status["token"]}
    except FileNotFoundError:
        hint = plugin.get("installHint", f"install {plugin['command']}")
        raise KubeError(f"running {plugin['command']}", f"the command is not on PATH; {hint}") from None
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise KubeError(f"running {plugin['command']}", f"the command gave no token ({type(error).__name__})") from None
