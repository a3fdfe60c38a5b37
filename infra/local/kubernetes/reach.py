"""The way to a cluster: what a kubeconfig says, the calls, and which kinds are served.

Owns kubeconfigs as far as clusters of GKE and local ones need them (tokens, client certificates, credential commands),
TLS, and discovery, which is asked once and again when a kind is not found.
"""

from __future__ import annotations

import base64
import json
import os
import ssl
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import urllib3
import yaml
from urllib3.util.ssl_ import create_urllib3_context

from infra.local.engine.provider import ProviderError

JsonObject = dict[str, Any]

_STORE: Final = "-tidepool"
_GKE_COMMAND: Final = "gke-gcloud-auth-plugin"
_PATIENCE: Final = 30.0
_FOR_NOW: Final = (
    HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT,
)  # fmt: skip
"""What says nothing of the object: the server is busy, or it is not there."""


class ApiRefusedError(ProviderError):
    """What the API server refused, in its own words."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class UnreachableError(ProviderError):
    """Nobody answers at the cluster's address, or the address is not known yet."""


@dataclass(frozen=True, slots=True)
class ServedKind:
    """path: where its objects are, `/apis/apps/v1`."""

    path: str
    plural: str
    namespaced: bool

    def of(self, namespace: str, name: str = "") -> str:
        within = f"/namespaces/{quote(namespace)}" if self.namespaced else ""
        return f"{self.path}{within}/{self.plural}" + (f"/{quote(name)}" if name else "")


class ClusterApi:
    """kubeconfig: its text, or the path of its file. context: which of it, its current one where that is empty."""

    def __init__(self, kubeconfig: str, *, context: str = "") -> None:
        said = _read(kubeconfig)
        cluster, user, self.namespace = _chosen(said, context)
        self.server = str(cluster["server"]).rstrip("/")
        self._user = user
        self._pool = _pool(cluster, user)
        self._lock = threading.Lock()
        self._token: str | None = None
        self._kinds: dict[str, dict[str, ServedKind]] = {}
        self._version: str | None = None

    @property
    def is_store(self) -> bool:
        """Whether this is a cluster of the local cloud, which has no controllers."""
        if self._version is None:
            self._version = str(self.call("GET", "/version").get("gitVersion", ""))
        return self._version.endswith(_STORE)

    def kind(self, api_version: str, kind: str) -> ServedKind | None:
        """Where a kind is served; None where the cluster does not know it."""
        for fresh in (False, True):
            served = self._served(api_version, fresh=fresh)
            if kind in served:
                return served[kind]
        return None

    def _served(self, api_version: str, *, fresh: bool) -> dict[str, ServedKind]:
        with self._lock:
            if not fresh and api_version in self._kinds:
                return self._kinds[api_version]
        path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
        found = self.find(path) or {}
        served = {
            each["kind"]: ServedKind(path, each["name"], each["namespaced"])
            for each in found.get("resources", ())
            if "/" not in each["name"]
        }
        with self._lock:
            self._kinds[api_version] = served
        return served

    def find(self, path: str) -> JsonObject | None:
        """What stands at a path, None for nothing."""
        try:
            return self.call("GET", path)
        except ApiRefusedError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return None

    def call(
        self,
        verb: str,
        path: str,
        body: Any = None,
        *,
        content: str = "application/json",
        query: Mapping[str, str] = {},
    ) -> JsonObject:
        """Raises ApiRefusedError and UnreachableError."""
        url = f"{self.server}{path}" + (f"?{urlencode(query)}" if query else "")
        data = None if body is None else json.dumps(body).encode()
        answer = self._answer(verb, url, data, content)
        if answer.status == HTTPStatus.UNAUTHORIZED and ("exec" in self._user or "tokenFile" in self._user):
            with self._lock:
                self._token = None  # Google's live for an hour, and an apply may take longer.
            answer = self._answer(verb, url, data, content)
        try:
            found = json.loads(answer.data) if answer.data else {}
        except ValueError:
            found = {"message": answer.data.decode(errors="replace")}
        if answer.status >= HTTPStatus.BAD_REQUEST:
            said = str(found.get("message") or f"status {answer.status}")
            if answer.status in _FOR_NOW:
                raise UnreachableError(f"the Kubernetes cluster at {self.server} does not answer now: {said}")
            raise ApiRefusedError(answer.status, said)
        return found

    def _answer(self, verb: str, url: str, data: bytes | None, content: str) -> urllib3.BaseHTTPResponse:
        headers = {"content-type": content, "accept": "application/json", "user-agent": "pulumi-kubernetes"}
        if token := self._bearer():
            headers["authorization"] = f"Bearer {token}"
        try:
            return self._pool.request(verb, url, body=data, headers=headers, timeout=_PATIENCE, retries=_retries(verb))
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"the Kubernetes cluster at {self.server} is unreachable: {error}") from error

    def _bearer(self) -> str:
        with self._lock:
            if self._token is None:
                self._token = _token(self._user, self.server)
            return self._token


def _retries(verb: str) -> urllib3.Retry:
    return urllib3.Retry(connect=2, read=2 if verb == "GET" else 0, redirect=0, status=0, backoff_factor=0.1)


def _read(kubeconfig: str) -> JsonObject:
    text = kubeconfig
    if "\n" not in text and not text.lstrip().startswith("{"):
        try:
            text = Path(text).expanduser().read_text(encoding="utf-8")
        except OSError as error:
            raise ProviderError(f"the kubeconfig {kubeconfig} cannot be read: {error}") from error
    try:
        found = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ProviderError(f"the kubeconfig is no YAML: {error}") from error
    if not isinstance(found, dict) or not found.get("clusters"):
        raise ProviderError("the kubeconfig names no cluster")
    return found


def _chosen(said: JsonObject, context: str) -> tuple[JsonObject, JsonObject, str]:
    """The cluster, the user and the namespace of a context. Raises ProviderError."""

    def named(sort: str, one: str, name: str) -> JsonObject:
        found = next((each for each in said.get(sort) or () if each.get("name") == name), None)
        if found is None:
            raise ProviderError(f"the kubeconfig has no {one} {name!r}")
        return found.get(one) or {}

    wanted = context or said.get("current-context") or ""
    chosen = named("contexts", "context", wanted) if wanted else said["contexts"][0]["context"]
    user = named("users", "user", chosen["user"]) if chosen.get("user") else {}
    return named("clusters", "cluster", chosen["cluster"]), user, str(chosen.get("namespace") or "default")


def _pool(cluster: JsonObject, user: JsonObject) -> urllib3.PoolManager:
    settings: dict[str, Any] = {"maxsize": 32}
    if data := cluster.get("certificate-authority-data"):
        settings["ca_cert_data"] = base64.b64decode(data).decode()
    if path := cluster.get("certificate-authority"):
        settings["ca_certs"] = path
    if cluster.get("insecure-skip-tls-verify"):
        settings["cert_reqs"] = "CERT_NONE"
    if speaking := _identified(cluster, user):
        settings["ssl_context"] = speaking
    return urllib3.PoolManager(**settings)


def _identified(cluster: JsonObject, user: JsonObject) -> ssl.SSLContext | None:
    """How a user with a client certificate speaks; None for one without."""
    parts = [
        base64.b64decode(user[f"{key}-data"]) if user.get(f"{key}-data") else Path(user[key]).read_bytes()
        for key in ("client-certificate", "client-key")
        if user.get(key) or user.get(f"{key}-data")
    ]
    if not parts:
        return None
    speaking = create_urllib3_context(cert_reqs=ssl.CERT_NONE if cluster.get("insecure-skip-tls-verify") else None)
    speaking.load_default_certs()
    with NamedTemporaryFile() as file:  # The ssl module takes files alone; the key does not stay on the disk.
        file.write(b"\n".join(parts))
        file.flush()
        speaking.load_cert_chain(file.name)
    return speaking


def _token(user: JsonObject, server: str) -> str:
    """The bearer token of a user. A cluster on this machine takes any in place of Google's."""
    if user.get("token"):
        return str(user["token"])
    if user.get("tokenFile"):
        return Path(user["tokenFile"]).read_text(encoding="utf-8").strip()
    command = user.get("exec")
    if not command:
        return ""
    if command["command"].rpartition("/")[2] == _GKE_COMMAND:
        if token := os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN"):
            return token
        if urlsplit(server).hostname in ("127.0.0.1", "localhost"):
            return "local"
    more = {each["name"]: each["value"] for each in command.get("env") or ()}
    asked = {"apiVersion": command.get("apiVersion"), "kind": "ExecCredential", "spec": {"interactive": False}}
    try:
        done = subprocess.run(
            [command["command"], *(command.get("args") or ())],
            env={**os.environ, **more, "KUBERNETES_EXEC_INFO": json.dumps(asked)},
            check=True, capture_output=True, timeout=_PATIENCE,
        )  # fmt: skip
        return str(json.loads(done.stdout)["status"]["token"])
    except (OSError, subprocess.SubprocessError, ValueError, KeyError) as error:
        raise ProviderError(f"the kubeconfig's credential command {command['command']} failed: {error}") from error
