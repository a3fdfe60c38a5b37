"""Helm releases on clusters of the local cloud: recorded, never rendered.

Owns the record, a Secret by the name that Helm would give it (`sh.helm.release.v1.NAME.v1`), and open
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

from bench.engine.provider import UNKNOWN, CheckResult, Created, DiffResult, ProviderError, ReadResult
from bench.providers.kubernetes.differ import property_diff
from bench.providers.kubernetes.manifests import INPUTS
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi
from infra.model import property_paths as paths
from infra.model.facts import read_yaml

JsonObject = dict[str, Any]

_DEFINITIONS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
_FIXED: Final = ("name", "namespace")
_OFF: Final = (
    "allowNullValues", "atomic", "cleanupOnFail", "createNamespace", "dependencyUpdate", "devel", "disableCRDHooks",
    "disableOpenapiValidation", "disableWebhooks", "forceUpdate", "lint", "recreatePods", "renderSubchartNotes",
    "replace", "resetValues", "reuseValues", "skipAwait", "skipCrds", "verify", "waitForJobs",
)  # fmt: skip
_EMPTY: Final = ("description", "keyring", "postrender", "version")
_OF_REPOSITORIES: Final = ("caFile", "certFile", "keyFile", "password", "repo", "username")
"""What is written into the inputs of a release where the program does not say it.
Source: pulumi-kubernetes, provider/pkg/provider/helm_release.go, read 2026-11-23."""


@cache
def _charts() -> JsonObject:
    return read_yaml(Path(__file__).with_name("charts.yaml").read_text(encoding="utf-8"))


def checked(inputs: JsonObject) -> CheckResult:
    """With what Helm takes of what is not said; what the SDK says of itself (`compat`) is no input."""
    filled = dict.fromkeys(_OFF, False) | dict.fromkeys(_EMPTY, "") | {"namespace": "default", "timeout": 300} | inputs
    if isinstance(repository := filled.get("repositoryOpts"), dict):
        filled["repositoryOpts"] = dict.fromkeys(_OF_REPOSITORIES, "") | repository
    return CheckResult({key: value for key, value in filled.items() if key != "compat"})


def compare(old: JsonObject, new: JsonObject) -> DiffResult:
    found = {
        paths.render(place): property_diff(was, now, replaces=place[0] in _FIXED)
        for place, was, now in paths.differences(checked(old).inputs, new)
    }
    return DiffResult(found, delete_before_replace=any(each.replaces for each in found.values()))


def id_of(inputs: JsonObject) -> str:
    return f"{inputs['namespace']}/{inputs['name']}"


def foreseen(inputs: JsonObject) -> JsonObject:
    return {**inputs, "status": UNKNOWN, "resourceNames": UNKNOWN}


def record(cluster: ClusterApi, inputs: JsonObject, old_outputs: JsonObject | None, stack: str) -> Created:
    """Record a release of a stack, or its next revision. Raises ProviderError, also where another stack has it.

    What runs on an API server that somebody gave the local cloud is theirs; only its kinds have to be there.
    """
    namespace, where, revision, bodies = inputs["namespace"], id_of(inputs), 0, []
    if inputs.get("createNamespace"):
        bodies.append((f"/api/v1/namespaces/{namespace}", _object("v1", "Namespace", name=namespace)))
    missing = _missing(cluster, where, inputs["chart"])
    if cluster.is_store:
        standing = None if old_outputs else _standing(cluster, where)
        if standing is not None and standing["stack"] != stack:
            raise ProviderError(
                f"the Helm release {where} cannot be made: cannot re-use a name that is still in use, by "
                f"{standing['stack']}"
            )
        revision = int((old_outputs or {}).get("status", {}).get("revision", 0)) + 1
        release = json.dumps({"version": revision, "inputs": inputs, "stack": stack})
        secret = _object("v1", "Secret", name=_secret(where).rpartition("/")[2], namespace=namespace)
        data = {"type": "helm.sh/release.v1", "data": {"release": base64.b64encode(release.encode()).decode()}}
        bodies += [(f"{_DEFINITIONS}/{each['metadata']['name']}", each) for each in missing]
        bodies.append((_secret(where), secret | data))
    elif missing:
        names = ", ".join(each["metadata"]["name"] for each in missing)
        raise ProviderError(
            f"the Helm release {where} needs Helm, which the embedded engine does not have, and the cluster "
            f"lacks kinds of its chart ({names}): install it there first, or use --engine pulumi"
        )
    try:
        for path, body in bodies:
            cluster.apply(path, body, {"fieldManager": "helm", "force": "true"})
    except ApiRefusedError as error:
        raise ProviderError(f"the Helm release {where} cannot be recorded: {error}") from error
    return Created(where, _outputs(inputs, revision))


def read(cluster: ClusterApi, resource_id: str, inputs: JsonObject) -> ReadResult | None:
    if not cluster.is_store:
        served = inputs.get("chart") and not _missing(cluster, resource_id, inputs["chart"])
        return ReadResult(resource_id, inputs, _outputs(inputs, 0)) if served else None
    release = _standing(cluster, resource_id)
    return release and ReadResult(resource_id, release["inputs"], _outputs(release["inputs"], release["version"]))


def forget(cluster: ClusterApi, resource_id: str) -> None:
    """The record is gone; what its chart defined stays, as Helm leaves definitions."""
    if cluster.is_store and cluster.find(_secret(resource_id)) is not None:
        cluster.call("DELETE", _secret(resource_id))


def _standing(cluster: ClusterApi, where: str) -> Any:
    """What is recorded of a release."""
    found = cluster.find(_secret(where))
    return found and json.loads(base64.b64decode(found["data"]["release"]))


def _secret(where: str) -> str:
    namespace, _, name = where.rpartition("/")
    return f"/api/v1/namespaces/{namespace}/secrets/sh.helm.release.v1.{name}.v1"


def _object(api_version: str, kind: str, **metadata: str) -> JsonObject:
    return {"apiVersion": api_version, "kind": kind, "metadata": metadata}


def _missing(cluster: ClusterApi, where: str, chart: str) -> list[JsonObject]:
    """Definitions of a chart that the cluster lacks. Raises ProviderError for a cluster that is not on this machine."""
    if not (cluster.is_store or cluster.on_this_machine):
        raise ProviderError(
            f"the Helm release {where} needs Helm, which the embedded engine does not have; it only "
            "records releases on clusters of the local cloud: use --engine pulumi for this cluster"
        )
    return [each for each in definitions(chart) if cluster.find(f"{_DEFINITIONS}/{each['metadata']['name']}") is None]


def _outputs(inputs: JsonObject, revision: int) -> JsonObject:
    """revision: of a record; 0 on an API server of others, whose releases nobody here knows."""
    status = {
        "name": inputs["name"], "namespace": inputs["namespace"], "revision": revision or 1,
        "status": "deployed" if revision else "unknown", "chart": inputs["chart"],
        "version": inputs.get("version", ""),
    }  # fmt: skip
    return {**inputs, INPUTS: inputs, "status": status, "resourceNames": {}}


def definitions(chart: str) -> list[JsonObject]:
    """Definitions that take every object of the kinds that a chart brings."""
    open_schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    of_a_version = {"served": True, "subresources": {"status": {}}, "schema": {"openAPIV3Schema": open_schema}}
    found = []
    for brought in _charts().get(chart.rstrip("/").rpartition("/")[2], ()):
        group, names = brought["group"], brought["versions"]
        versions = [{**of_a_version, "name": each, "storage": each == names[0]} for each in names]
        for scope in ("Cluster", "Namespaced"):
            for kind, plural in brought.get(scope, {}).items():
                spec = {"group": group, "scope": scope, "names": {"kind": kind, "plural": plural}, "versions": versions}
                name = f"{plural}.{group}"
                found.append(
                    {**_object("apiextensions.k8s.io/v1", "CustomResourceDefinition", name=name), "spec": spec}
                )
    return found
