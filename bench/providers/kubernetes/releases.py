"""Helm releases on clusters of the local cloud: recorded, never rendered.

Owns the record, a Secret by the name that Helm would give it (`sh.helm.release.v1.NAME.vN`), and open
definitions in place of those that a chart would bring (`charts.yaml`), so that objects of its kinds can stand. An API
server on this machine, which somebody gave the local cloud, has to serve the kinds of a chart already: nothing is
recorded there but the namespace. On any other cluster a release needs Helm, which the official engine's plugin has.
"""

from __future__ import annotations

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any, Final

from bench.engine.provider import (
    UNKNOWN,
    CheckResult,
    Created,
    DiffResult,
    PropertyDiff,
    ProviderError,
    ReadResult,
)
from bench.providers.kubernetes.manifests import INPUTS
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi
from infra.model import property_paths as paths
from infra.model.facts import read_yaml

JsonObject = dict[str, Any]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FIXED: Final = ("name", "namespace")
_OF_THE_SDK: Final = "compat"
"""What the SDK says of itself."""
_OFF: Final = (
    "allowNullValues", "atomic", "cleanupOnFail", "createNamespace", "dependencyUpdate", "devel", "disableCRDHooks",
    "disableOpenapiValidation", "disableWebhooks", "forceUpdate", "lint", "recreatePods", "renderSubchartNotes",
    "replace", "resetValues", "reuseValues", "skipAwait", "skipCrds", "verify", "waitForJobs",
)  # fmt: skip
_EMPTY: Final = ("description", "keyring", "postrender", "version")
_OF_REPOSITORIES: Final = ("caFile", "certFile", "keyFile", "password", "repo", "username")
"""What is written into the inputs of a release where the program does not say it.
Source: pulumi-kubernetes, provider/pkg/provider/helm_release.go, read 2026-11-23."""
_SECONDS: Final = 300
_APPLY: Final = "application/apply-patch+yaml"
_QUERY: Final = {"fieldManager": "helm", "force": "true"}


@cache
def _charts() -> JsonObject:
    return read_yaml(Path(__file__).with_name("charts.yaml").read_text(encoding="utf-8"))


def checked(inputs: JsonObject) -> CheckResult:
    """With what Helm takes of what is not said."""
    filled = {"namespace": "default", "timeout": _SECONDS, **inputs}
    return CheckResult(_unsaid({key: value for key, value in filled.items() if key != _OF_THE_SDK}))


def _unsaid(inputs: JsonObject) -> JsonObject:
    filled = dict.fromkeys(_OFF, False) | dict.fromkeys(_EMPTY, "") | inputs
    if isinstance(repository := filled.get("repositoryOpts"), dict):
        filled["repositoryOpts"] = dict.fromkeys(_OF_REPOSITORIES, "") | repository
    return filled


def compare(old: JsonObject, new: JsonObject) -> DiffResult:
    found = {}
    for place, was, now in paths.differences(_unsaid(old), _unsaid(new)):
        sort = "add" if was is paths.ABSENT else "delete" if now is paths.ABSENT else "update"
        found[paths.render(place)] = PropertyDiff(sort, replaces=place[0] in _FIXED)
    return DiffResult(found, delete_before_replace=any(each.replaces for each in found.values()))


def id_of(inputs: JsonObject) -> str | None:
    name, namespace = inputs.get("name"), inputs.get("namespace")
    return f"{namespace}/{name}" if isinstance(name, str) and isinstance(namespace, str) else None


def foreseen(inputs: JsonObject) -> JsonObject:
    return {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}


def record(cluster: ClusterApi, inputs: JsonObject, old_outputs: JsonObject | None, stack: str) -> Created:
    """Record a release of a stack, or its next revision. Raises ProviderError, also where another stack has it."""
    if not cluster.is_store:
        return _taken_as_installed(cluster, inputs)
    namespace, name = inputs["namespace"], inputs["name"]
    standing = None if old_outputs else _standing(cluster, namespace, name)
    if standing is not None and standing.get("stack") != stack:
        raise ProviderError(
            f"the Helm release {namespace}/{name} cannot be made: cannot re-use a name that is still in use, by "
            f"{standing.get('stack') or 'somebody else'}"
        )
    revision = int((old_outputs or {}).get("status", {}).get("revision", 0)) + 1
    release = {"version": revision, "inputs": inputs, "stack": stack}
    labels = {"owner": "tidepool", "name": name, "version": str(revision)}
    body = {
        "apiVersion": "v1",
        "kind": "Secret",
        "type": "helm.sh/release.v1",
        "metadata": {"name": _secret(name, revision), "namespace": namespace, "labels": labels},
        "data": {"release": base64.b64encode(json.dumps(release).encode()).decode()},
    }
    try:
        _make_namespace(cluster, inputs)
        for definition in _missing(cluster, inputs["chart"]):
            path = f"{_DEFINITIONS}/{definition['metadata']['name']}"
            cluster.call("PATCH", path, definition, content=_APPLY, query=_QUERY)
        path = f"/api/v1/namespaces/{namespace}/secrets/{body['metadata']['name']}"
        cluster.call("PATCH", path, body, content=_APPLY, query=_QUERY)
        if revision > 1:
            _drop(cluster, namespace, name, revision - 1)
    except ApiRefusedError as error:
        raise ProviderError(f"the Helm release {namespace}/{name} cannot be recorded: {error}") from error
    return Created(f"{namespace}/{name}", _outputs(inputs, revision))


def read(cluster: ClusterApi, resource_id: str, inputs: JsonObject) -> ReadResult | None:
    if not cluster.is_store:
        _insist_on_loopback(cluster, {"name": resource_id, **inputs})
        served = inputs.get("chart") and not _missing(cluster, inputs["chart"])
        return ReadResult(resource_id, inputs, _outputs(inputs)) if served else None
    namespace, _, name = resource_id.rpartition("/")
    release = _standing(cluster, namespace, name)
    if release is None:
        return None
    return ReadResult(resource_id, release["inputs"], _outputs(release["inputs"], release["version"]))


def _standing(cluster: ClusterApi, namespace: str, name: str) -> JsonObject | None:
    """The last revision that is recorded."""
    found = cluster.find(f"/api/v1/namespaces/{namespace}/secrets") or {}
    ours = [
        each
        for each in found.get("items", ())
        if (labels := each["metadata"].get("labels") or {}).get("owner") == "tidepool" and labels["name"] == name
    ]
    if not ours:
        return None
    last = max(ours, key=lambda each: int(each["metadata"]["labels"]["version"]))
    return json.loads(base64.b64decode(last["data"]["release"]))


def forget(cluster: ClusterApi, resource_id: str) -> None:
    """The record is gone; what its chart defined stays, as Helm leaves definitions."""
    namespace, _, name = resource_id.rpartition("/")
    found = read(cluster, resource_id, {})
    if found is not None:  # None on an API server of others, where nothing was recorded
        _drop(cluster, namespace, name, int(found.outputs["status"]["revision"]))


def _drop(cluster: ClusterApi, namespace: str, name: str, revision: int) -> None:
    path = f"/api/v1/namespaces/{namespace}/secrets/{_secret(name, revision)}"
    if cluster.find(path) is not None:
        cluster.call("DELETE", path)


def _taken_as_installed(cluster: ClusterApi, inputs: JsonObject) -> Created:
    """What runs on an API server that somebody gave the local cloud is theirs; only its kinds have to be there."""
    _insist_on_loopback(cluster, inputs)
    if missing := _missing(cluster, inputs["chart"]):
        names = ", ".join(each["metadata"]["name"] for each in missing)
        raise ProviderError(
            f"the Helm release {inputs['name']} needs Helm, which the embedded engine does not have, and the cluster "
            f"lacks kinds of its chart ({names}): install it there first, or use --engine pulumi"
        )
    try:
        _make_namespace(cluster, inputs)
    except ApiRefusedError as error:
        raise ProviderError(f"the namespace {inputs['namespace']} cannot be made: {error}") from error
    return Created(f"{inputs['namespace']}/{inputs['name']}", _outputs(inputs))


def _insist_on_loopback(cluster: ClusterApi, inputs: JsonObject) -> None:
    if not cluster.on_this_machine:
        raise ProviderError(
            f"the Helm release {inputs.get('name')} needs Helm, which the embedded engine does not have; it only "
            "records releases on clusters of the local cloud: use --engine pulumi for this cluster"
        )


def _make_namespace(cluster: ClusterApi, inputs: JsonObject) -> None:
    if inputs.get("createNamespace"):
        name = inputs["namespace"]
        place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
        cluster.call("PATCH", f"/api/v1/namespaces/{name}", place, content=_APPLY, query=_QUERY)


def _missing(cluster: ClusterApi, chart: str) -> list[JsonObject]:
    """Definitions of a chart that the cluster lacks."""
    return [each for each in definitions(chart) if cluster.find(f"{_DEFINITIONS}/{each['metadata']['name']}") is None]


def _outputs(inputs: JsonObject, revision: int = 0) -> JsonObject:
    """revision: of a record; 0 on an API server of others, whose releases nobody here knows."""
    status = {
        "name": inputs["name"], "namespace": inputs["namespace"], "revision": revision or 1,
        "status": "deployed" if revision else "unknown", "chart": inputs["chart"],
        "version": inputs.get("version", ""),
    }  # fmt: skip
    return {**inputs, INPUTS: inputs, "status": status, "resourceNames": {}}


def _secret(name: str, revision: int) -> str:
    return f"sh.helm.release.v1.{name}.v{revision}"


def definitions(chart: str) -> list[JsonObject]:
    """Definitions that take every object of the kinds that a chart brings."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return [
        {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": f"{plural}.{brought['group']}"},
            "spec": {
                "group": brought["group"],
                "scope": scope,
                "names": {"kind": kind, "plural": plural},
                "versions": [
                    {
                        "name": version, "served": True, "storage": at == 0, "subresources": {"status": {}},
                        "schema": {"openAPIV3Schema": open_schema},
                    }
                    for at, version in enumerate(brought["versions"])
                ],
            },
        }
        for brought in _charts().get(chart.rstrip("/").rpartition("/")[2], ())
        for scope in ("Cluster", "Namespaced")
        for kind, plural in brought.get(scope, {}).items()
    ]  # fmt: skip
