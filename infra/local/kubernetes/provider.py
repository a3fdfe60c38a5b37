"""The embedded engine's Kubernetes provider: the provider protocol for every kind of object.

Owns how an object is made, changed, read and deleted, and what a preview asks the cluster. Leaves the way there to
`reach`, differences to `differ`, waits to `awaiting` and Helm releases to `releases`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from http import HTTPStatus
from typing import Any, Final

from infra.local.engine.provider import (
    UNKNOWN,
    Cancel,
    CheckFailure,
    CheckResult,
    Created,
    DiffResult,
    PartialCreateError,
    PartialUpdateError,
    ProviderError,
    ReadResult,
)
from infra.local.kubernetes import awaiting, differ, manifests, releases
from infra.local.kubernetes.awaiting import NotReadyError
from infra.local.kubernetes.manifests import ObjectName
from infra.local.kubernetes.reach import ApiRefusedError, ClusterApi, ServedKind, UnreachableError

JsonObject = dict[str, Any]

_APPLY: Final = "application/apply-patch+yaml"
_ATTEMPTS: Final = 5
_PAUSE: Final = 0.2
"""Seconds before a kind or a namespace that is missing is looked for again, doubled each time; six in all."""


class _Tokens(Container[str]):
    def __contains__(self, token: object) -> bool:
        return manifests.served_token(token)


class KubernetesProvider:
    """config: what a `pulumi:providers:kubernetes` resource says; None before one is met. awaits: whether objects are
    awaited; None leaves it to whether the cluster has controllers.
    """

    package = "kubernetes"
    version = "4.34.2"

    def __init__(self, config: Mapping[str, Any] | None = None, *, awaits: bool | None = None) -> None:
        self._config = dict(config or {})
        self._awaits = awaits
        self._reached: ClusterApi | None = None

    def configured(self, config: Mapping[str, Any]) -> KubernetesProvider:
        return KubernetesProvider(config, awaits=self._awaits)

    def types(self) -> Container[str]:
        return _Tokens()

    # The cluster

    def _cluster(self) -> ClusterApi:
        """Raises UnreachableError where the kubeconfig is not known yet, ProviderError where there is none."""
        if self._reached is None:
            said = self._config.get("kubeconfig")
            if said is UNKNOWN:
                raise UnreachableError("the kubeconfig of the cluster is not known yet")
            if not isinstance(said, str) or not said:
                raise ProviderError(
                    "the kubernetes provider has no kubeconfig: declare pulumi_kubernetes.Provider(kubeconfig=...) and "
                    "give it to the resource"
                )
            context = self._config.get("context")
            self._reached = ClusterApi(said, context=context if isinstance(context, str) else "")
        return self._reached

    def _namespace(self) -> str:
        said = self._config.get("namespace")
        return said if isinstance(said, str) and said else "default"

    def _placed(self, token: str, inputs: Mapping[str, Any]) -> tuple[ServedKind, ObjectName]:
        """Where an object is. Raises ProviderError for a kind that the cluster does not serve."""
        api_version, kind = manifests.kind_of(token, inputs)
        served = self._cluster().kind(api_version, kind)
        if served is None:
            raise _NoMatchError(
                f'no matches for kind "{kind}" in version "{api_version}": let the resource depend on what brings its '
                "CustomResourceDefinition"
            )
        return served, manifests.named(token, inputs, self._namespace() if served.namespaced else "")

    # The protocol

    def check(self, token: str, name: str, urn: str, inputs: JsonObject, old: JsonObject | None) -> CheckResult:
        if token == manifests.RELEASE:
            return releases.checked(name, urn, inputs, old)
        metadata = inputs.get("metadata")
        if isinstance(metadata, dict) and metadata.get("generateName"):
            refused = CheckFailure("metadata.generateName", "is not supported with server-side apply: give a name")
            return CheckResult(inputs, (refused,))
        if manifests.is_patch(token, inputs) and not (isinstance(metadata, dict) and metadata.get("name")):
            return CheckResult(inputs, (CheckFailure("metadata.name", "a patch says which object it is of"),))
        return CheckResult(manifests.filled(inputs, name, urn, old))

    def diff(
        self, token: str, resource_id: str, old_inputs: JsonObject, old_outputs: JsonObject, new_inputs: JsonObject
    ) -> DiffResult:
        del resource_id
        if token == manifests.RELEASE:
            return releases.compare(old_inputs, new_inputs)
        mutable = {
            "ConfigMap": self._config.get("enableConfigMapMutable") in (True, "true"),
            "Secret": self._config.get("enableSecretMutable") in (True, "true"),
        }
        return differ.compare(token, old_inputs, old_outputs, new_inputs, mutable=mutable)

    def create(self, token: str, inputs: JsonObject, timeout: float | None, cancel: Cancel) -> Created:
        cluster = self._cluster()
        if token == manifests.RELEASE:
            return releases.record(cluster, inputs, None)
        live, place, manager = self._apply(token, inputs, None, cancel=cancel, new=True)
        resource_id = _id_of(live)
        try:
            live = self._awaited(inputs, live, place, timeout, cancel)
        except NotReadyError as error:
            message = f"{_shown(live)} was made and is not ready: {error}"
            outputs = manifests.outputs_of(error.live, manager, live["apiVersion"])
            raise PartialCreateError(message, resource_id=resource_id, outputs=outputs) from error
        return Created(resource_id, manifests.outputs_of(live, manager, live["apiVersion"]))

    def update(
        self,
        token: str,
        resource_id: str,
        old_inputs: JsonObject,
        old_outputs: JsonObject,
        new_inputs: JsonObject,
        timeout: float | None,
        cancel: Cancel,
    ) -> JsonObject:
        del resource_id, old_inputs
        if token == manifests.RELEASE:
            return releases.record(self._cluster(), new_inputs, old_outputs).outputs
        live, place, manager = self._apply(token, new_inputs, old_outputs, cancel=cancel)
        initial = str(old_outputs.get("__initialApiVersion") or live["apiVersion"])
        try:
            live = self._awaited(new_inputs, live, place, timeout, cancel)
        except NotReadyError as error:
            outputs = manifests.outputs_of(error.live, manager, initial)
            raise PartialUpdateError(f"{_shown(live)} was changed and is not ready: {error}", outputs=outputs) from error
        return manifests.outputs_of(live, manager, initial)

    def read(self, token: str, resource_id: str, inputs: JsonObject) -> ReadResult | None:
        if token == manifests.RELEASE:
            return releases.read(self._cluster(), resource_id, inputs)
        namespace, _, name = resource_id.rpartition("/")
        asked = {**inputs, "metadata": {**inputs.get("metadata", {}), "name": name, "namespace": namespace}}
        try:
            served, place = self._placed(token, asked)
            live = self._cluster().find(served.of(place.namespace, place.name))
        except _NoMatchError:
            return None
        except ApiRefusedError as error:
            raise ProviderError(f"{place} cannot be read: {error}") from error
        if live is None:
            return None
        seen = differ.as_said(live, inputs) if inputs else manifests.as_imported(live)
        manager = manifests.manager_of(token, inputs or live, None)
        return ReadResult(_id_of(live), seen, manifests.outputs_of(live, manager, live["apiVersion"]))

    def delete(
        self, token: str, resource_id: str, outputs: JsonObject, timeout: float | None, cancel: Cancel
    ) -> None:
        try:
            cluster = self._cluster()
            if token == manifests.RELEASE:
                releases.forget(cluster, resource_id)
                return
            if manifests.is_patch(token, outputs):
                self._relinquish(token, outputs)
                return
            self._delete(cluster, token, outputs, timeout, cancel)
        except _NoMatchError:
            return
        except UnreachableError as error:
            if self._config.get("deleteUnreachable") not in (True, "true"):
                raise ProviderError(f"{resource_id} cannot be deleted: {error}") from error

    def _delete(
        self, cluster: ClusterApi, token: str, outputs: JsonObject, timeout: float | None, cancel: Cancel
    ) -> None:
        served, place = self._placed(token, outputs)
        path, uid = served.of(place.namespace, place.name), outputs["metadata"].get("uid", "")
        policy = manifests.annotation(outputs, manifests.PROPAGATION).capitalize() or "Foreground"
        asked: JsonObject = {"propagationPolicy": policy, **({"preconditions": {"uid": uid}} if uid else {})}
        try:
            cluster.call("DELETE", path, asked)
        except ApiRefusedError as error:
            # Another object of this name is none of ours: the one that the state speaks of is gone.
            if error.code in (HTTPStatus.NOT_FOUND, HTTPStatus.CONFLICT):
                return
            raise ProviderError(f"{place} cannot be deleted: {error}") from error
        seconds = timeout or _seconds(outputs)
        left = awaiting.until_gone(lambda: cluster.find(path), uid, seconds, cancel)
        if left is not None:
            holders = ", ".join(left["metadata"].get("finalizers") or ["its namespace or definition"])
            raise ProviderError(f"{place} still stands after {seconds:.0f} s, held by {holders}")

    def _relinquish(self, token: str, outputs: JsonObject) -> None:
        """A patch that goes leaves the object, and takes away what it alone had said."""
        served, place = self._placed(token, outputs)
        bare = {"apiVersion": place.api_version, "kind": place.kind, "metadata": {"name": place.name}}
        manager = manifests.manager_of(token, outputs, outputs)
        try:
            self._cluster().call(
                "PATCH", served.of(place.namespace, place.name), bare, content=_APPLY, query={"fieldManager": manager}
            )
        except ApiRefusedError as error:
            if error.code != HTTPStatus.NOT_FOUND:
                raise ProviderError(f"{place} cannot be let go of: {error}") from error

    def locate(self, token: str, inputs: JsonObject) -> str | None:
        try:
            if token == manifests.RELEASE:
                return releases.id_of(inputs)
            return self._placed(token, inputs)[1].id
        except (ProviderError, KeyError):
            return None

    def preview_outputs(self, token: str, inputs: JsonObject, old_outputs: JsonObject | None) -> JsonObject:
        """By a dry run of the cluster where it can be asked already; what it refuses fails in the preview."""
        if token == manifests.RELEASE:
            return releases.foreseen(inputs)
        bare = {**inputs, "status": UNKNOWN}
        if differ.has_unknown(inputs):
            return bare
        try:
            shown, _, _ = self._apply(token, inputs, old_outputs, dry=True)
        except (UnreachableError, _NoMatchError):
            return bare
        return manifests.foreseen(inputs, shown) if shown else bare

    def invoke(self, function: str, args: JsonObject) -> JsonObject:
        del args
        raise ProviderError(f"{function}: the embedded provider has no such function: use --engine pulumi")

    def secret_outputs(self, token: str) -> frozenset[str]:
        return frozenset({"data", "stringData"}) if token.startswith("kubernetes:core/v1:Secret") else frozenset()

    # Writing

    def _apply(
        self,
        token: str,
        inputs: JsonObject,
        old_outputs: JsonObject | None,
        *,
        dry: bool = False,
        new: bool = False,
        cancel: Cancel | None = None,
    ) -> tuple[JsonObject, str, str]:
        """The object as the cluster answers, its path, and who owns the fields. A dry run that meets nothing to run
        against (a namespace of this very run) answers with nothing. Raises ProviderError.
        """
        cluster, manager = self._cluster(), manifests.manager_of(token, inputs, old_outputs)
        force = manifests.annotation(inputs, manifests.FORCED) == "true" or dry
        query = {"fieldManager": manager, "fieldValidation": "Strict", **({"force": "true"} if force else {})}
        pause = _PAUSE
        for attempt in range(_ATTEMPTS):
            try:
                served, place = self._placed(token, inputs)
                path = served.of(place.namespace, place.name)
                if new and not manifests.is_patch(token, inputs):
                    _insist_absent(cluster, path, place, manager)
                asked = {**query, "dryRun": "All"} if dry else query
                return cluster.call("PATCH", path, inputs, content=_APPLY, query=asked), path, manager
            except _NoMatchError:
                if dry or attempt == _ATTEMPTS - 1 or cancel is None or cancel.wait_to_begin(pause):
                    raise
            except ApiRefusedError as error:
                missing = error.code == HTTPStatus.NOT_FOUND
                if dry and (missing or "being terminated" in str(error) or old_outputs is None and _is_fixed(error)):
                    return {}, "", manager
                if not missing or attempt == _ATTEMPTS - 1 or cancel is None or cancel.wait_to_begin(pause):
                    raise ProviderError(_refusal(manifests.named(token, inputs, ""), manager, error)) from error
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _awaited(
        self, inputs: JsonObject, live: JsonObject, path: str, timeout: float | None, cancel: Cancel
    ) -> JsonObject:
        cluster = self._cluster()
        awaits = not cluster.is_store if self._awaits is None else self._awaits
        if not awaits or manifests.annotation(inputs, manifests.NOT_AWAITED) == "true":
            return live
        seconds = timeout or _seconds(inputs)
        return awaiting.until_ready(lambda: cluster.find(path), live["apiVersion"], live, seconds, cancel)


class _NoMatchError(ProviderError):
    """The cluster does not serve a kind."""


def _insist_absent(cluster: ClusterApi, path: str, place: ObjectName, manager: str) -> None:
    """What stands already is somebody's, unless an attempt of ours made it and its answer was lost."""
    found = cluster.find(path)
    owners = (found or {}).get("metadata", {}).get("managedFields") or ()
    if found is not None and not any(each.get("manager") == manager for each in owners):
        raise ProviderError(
            f"{place} already exists in the cluster: import it (ResourceOptions(import_={place.id!r})), or give this one "
            "another name"
        )


def _is_fixed(error: ApiRefusedError) -> bool:
    """Whether a dry run was refused since the object that is to be replaced still stands."""
    return error.code == HTTPStatus.UNPROCESSABLE_ENTITY and ("immutable" in str(error) or "Forbidden" in str(error))


def _refusal(place: ObjectName, manager: str, error: ApiRefusedError) -> str:
    if error.code != HTTPStatus.CONFLICT:
        return f"{place} is refused by the API server: {error}"
    return (
        f"{place}: server-side apply as {manager} met fields of others: {error}. Leave them out of the program, or take "
        f"them over with the annotation {manifests.FORCED}"
    )


def _seconds(inputs: Mapping[str, Any]) -> float:
    said = manifests.annotation(inputs, manifests.SECONDS)
    return float(said) if said.isdigit() else awaiting.PATIENCE


def _id_of(live: JsonObject) -> str:
    metadata = live["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def _shown(live: JsonObject) -> str:
    return f"{live['apiVersion']} {live['kind']} {_id_of(live)}"
