"""The provider's way to a cluster: the calls, their refusals as the provider tells them, and which kinds are served.

Owns discovery, which is asked once and again when a kind is not found. What a kubeconfig says is read as jobs read it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from http import HTTPStatus
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import urllib3
import yaml

from bench.engine.provider import ProviderError
from infra.jobs.kube import KubeError, KubePlace, place_of, run_plugin

JsonObject = dict[str, Any]

_STORE: Final = "-tidepool"
_GKE_COMMAND: Final = "gke-gcloud-auth-plugin"
_PATIENCE: Final = 30.0
_RETRIES: Final = urllib3.Retry(2, redirect=0, status=0, backoff_factor=0.1)
"""Of connections; of an answer that was lost too, unless the call would then be made twice."""
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
    """kubeconfig: its text."""

    def __init__(self, kubeconfig: str) -> None:
        self._place = _place(kubeconfig)
        self.server, self.namespace = self._place.server, self._place.namespace
        self._pool = urllib3.PoolManager(maxsize=32, ssl_context=self._place.tls)
        self._kinds: dict[tuple[str, str], ServedKind] = {}

    @property
    def on_this_machine(self) -> bool:
        return _on_this_machine(self.server)

    @cached_property
    def is_store(self) -> bool:
        """Whether this is a cluster of the local cloud, which has no controllers."""
        return str(self.call("GET", "/version").get("gitVersion", "")).endswith(_STORE)

    def kind(self, api_version: str, kind: str) -> ServedKind | None:
        """Where a kind is served; None where the cluster does not know it."""
        if (api_version, kind) not in self._kinds:
            path = f"/apis/{api_version}" if "/" in api_version else f"/api/{api_version}"
            for each in (self.find(path) or {}).get("resources", ()):
                if "/" not in each["name"]:
                    self._kinds[api_version, each["kind"]] = ServedKind(path, each["name"], each["namespaced"])
        return self._kinds.get((api_version, kind))

    def find(self, path: str) -> JsonObject | None:
        """What stands at a path, None for nothing."""
        try:
            return self.call("GET", path)
        except ApiRefusedError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise
            return None

    def apply(self, path: str, body: Any, query: Mapping[str, str]) -> JsonObject:
        """Server-side apply."""
        return self.call("PATCH", path, body, content="application/apply-patch+yaml", query=query)

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
        headers = {"content-type": content, "accept": "application/json", "user-agent": "pulumi-kubernetes"}
        try:
            if self._place.token and (token := self._place.token()):
                headers["authorization"] = f"Bearer {token}"
        except (KubeError, OSError) as error:
            raise ProviderError(f"the kubeconfig gives no token: {error}") from error
        data = None if body is None else json.dumps(body).encode()
        try:
            answer = self._pool.request(verb, url, body=data, headers=headers, timeout=_PATIENCE, retries=_RETRIES)
        except urllib3.exceptions.HTTPError as error:
            raise UnreachableError(f"the Kubernetes cluster at {self.server} is unreachable: {error}") from error
        if answer.status in _FOR_NOW:
            said = answer.data.decode(errors="replace") or f"status {answer.status}"
            raise UnreachableError(f"the Kubernetes cluster at {self.server} does not answer now: {said}")
        found = json.loads(answer.data or b"{}")
        if answer.status >= HTTPStatus.BAD_REQUEST:
            raise ApiRefusedError(answer.status, str(found.get("message") or f"status {answer.status}"))
        return found


def _place(kubeconfig: str) -> KubePlace:
    """The cluster of the current context. Raises ProviderError."""
    try:
        found = yaml.safe_load(kubeconfig)
        return place_of(found, found["current-context"], Path("kubeconfig"), _plugin)
    except (yaml.YAMLError, LookupError, TypeError, KubeError) as error:
        raise ProviderError(f"the kubeconfig cannot be read: {error}") from error


def _plugin(server: str, plugin: Mapping[str, Any]) -> Mapping[str, Any]:
    """A cluster on this machine takes any token in place of Google's."""
    if plugin["command"].rpartition("/")[2] == _GKE_COMMAND:
        if token := os.environ.get("GOOGLE_OAUTH_ACCESS_TOKEN"):
            return {"token": token}
        if _on_this_machine(server):
            return {"token": "local"}
    return run_plugin(server, plugin)


def _on_this_machine(server: str) -> bool:
    return urlsplit(server).hostname in ("127.0.0.1", "localhost")
