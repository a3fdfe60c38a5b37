"""The embedded engine's Kubernetes provider: the provider protocol for every kind of object.

Owns how an object is made, changed, read and deleted, and what a preview asks the cluster. Leaves the way there to
`reach`, differences to `differ`, waits to `awaiting` and Helm releases to `releases`.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Any

from bench.engine.provider import (
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
from bench.providers.kubernetes import awaiting, differ, manifests, releases
from bench.providers.kubernetes.awaiting import NotReadyError
from bench.providers.kubernetes.objects import ClusterObjects, NoMatchError
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi, UnreachableError

JsonObject = dict[str, Any]


class _Tokens(Container[str]):
    def __contains__(self, token: object) -> bool:
        return manifests.served_token(token)


class KubernetesProvider:
    """config: what a `pulumi:providers:kubernetes` resource says; None before one is met. awaits: whether objects are
    awaited; None leaves it to whether the cluster has controllers. stack: `PROJECT/STACK`, whose the objects are.
    """

    package = "kubernetes"
    version = "4.34.2"

    def __init__(self, config: Mapping[str, Any] | None = None, *, awaits: bool | None = None, stack: str = "") -> None:
        self._config, self._stack = dict(config or {}), stack
        self._awaits = awaits
        self._reached: ClusterApi | None = None

    def configured(self, config: Mapping[str, Any]) -> KubernetesProvider:
        return KubernetesProvider(config, awaits=self._awaits, stack=self._stack)

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

    def _objects(self) -> ClusterObjects:
        return ClusterObjects(self._cluster(), self._namespace(), self._stack)

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
        return CheckResult(manifests.normal(token, manifests.filled(inputs, name, urn, old)))

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
            return releases.record(cluster, inputs, None, self._stack)
        awaits = self._is_awaited(inputs)  # Asked first: what fails behind the write loses the object.
        live, place, manager = self._objects().apply(token, inputs, None, cancel=cancel, new=True)
        resource_id = _id_of(live)
        try:
            live = self._awaited(inputs, live, place, timeout, cancel) if awaits else live
        except NotReadyError as error:
            message = f"{_shown(live)} was made and is not ready: {error}"
            outputs = manifests.outputs_of(error.live, inputs, manager, live["apiVersion"])
            raise PartialCreateError(message, resource_id=resource_id, outputs=outputs) from error
        return Created(resource_id, manifests.outputs_of(live, inputs, manager, live["apiVersion"]))

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
            return releases.record(self._cluster(), new_inputs, old_outputs, self._stack).outputs
        awaits = self._is_awaited(new_inputs)
        live, place, manager = self._objects().apply(token, new_inputs, old_outputs, cancel=cancel)
        initial = str(old_outputs.get("__initialApiVersion") or live["apiVersion"])
        try:
            live = self._awaited(new_inputs, live, place, timeout, cancel) if awaits else live
        except NotReadyError as error:
            outputs = manifests.outputs_of(error.live, new_inputs, manager, initial)
            raise PartialUpdateError(
                f"{_shown(live)} was changed and is not ready: {error}", outputs=outputs
            ) from error
        return manifests.outputs_of(live, new_inputs, manager, initial)

    def read(self, token: str, resource_id: str, inputs: JsonObject) -> ReadResult | None:
        if token == manifests.RELEASE:
            return releases.read(self._cluster(), resource_id, inputs)
        namespace, _, name = resource_id.rpartition("/")
        asked = {**inputs, "metadata": {**inputs.get("metadata", {}), "name": name, "namespace": namespace}}
        try:
            served, place = self._objects().placed(token, asked)
            live = self._cluster().find(served.of(place.namespace, place.name))
        except NoMatchError:
            return None
        except ApiRefusedError as error:
            raise ProviderError(f"{resource_id} cannot be read: {error}") from error
        if live is None:
            return None
        seen = differ.as_said(token, live, inputs) if inputs else manifests.as_imported(live)
        manager = self._objects().manager(token, inputs or live, None)
        if inputs:
            manager = manifests.standing_manager(live, manager)
        return ReadResult(_id_of(live), seen, manifests.outputs_of(live, seen, manager, live["apiVersion"]))

    def delete(self, token: str, resource_id: str, outputs: JsonObject, timeout: float | None, cancel: Cancel) -> None:
        try:
            cluster = self._cluster()
            if token == manifests.RELEASE:
                releases.forget(cluster, resource_id)
                return
            if manifests.is_patch(token, outputs):
                self._objects().relinquish(token, outputs)
                return
            self._objects().delete(token, outputs, timeout or _seconds(outputs), cancel)
        except NoMatchError:
            return
        except UnreachableError as error:
            if self._config.get("deleteUnreachable") not in (True, "true"):
                raise ProviderError(f"{resource_id} cannot be deleted: {error}") from error

    def locate(self, token: str, inputs: JsonObject) -> str | None:
        try:
            if token == manifests.RELEASE:
                return releases.id_of(inputs)
            objects = self._objects()
            # An object of others is not adopted: a create that was cut short may not have come to refuse it.
            return None if objects.is_anothers(token, inputs) else objects.placed(token, inputs)[1].id
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
            shown, _, _ = self._objects().apply(token, inputs, old_outputs, dry=True, new=old_outputs is None)
        except (UnreachableError, NoMatchError):
            return bare
        return manifests.foreseen(inputs, shown) if shown else bare

    def invoke(self, function: str, args: JsonObject) -> JsonObject:
        del args
        raise ProviderError(f"{function}: the embedded provider has no such function: use --engine pulumi")

    def secret_outputs(self, token: str) -> frozenset[str]:
        if token == manifests.RELEASE:
            return frozenset({manifests.INPUTS})
        is_secret = token.startswith("kubernetes:core/v1:Secret")
        return frozenset({"data", "stringData", manifests.INPUTS}) if is_secret else frozenset()

    def _is_awaited(self, inputs: JsonObject) -> bool:
        awaits = not self._cluster().is_store if self._awaits is None else self._awaits
        return awaits and manifests.annotation(inputs, manifests.NOT_AWAITED) != "true"

    def _awaited(
        self, inputs: JsonObject, live: JsonObject, path: str, timeout: float | None, cancel: Cancel
    ) -> JsonObject:
        cluster, seconds = self._cluster(), timeout or _seconds(inputs)
        return awaiting.until_ready(lambda: cluster.find(path), live["apiVersion"], live, seconds, cancel)


def _seconds(inputs: Mapping[str, Any]) -> float:
    said = manifests.annotation(inputs, manifests.SECONDS)
    return float(said) if said.isdigit() else awaiting.PATIENCE


def _id_of(live: JsonObject) -> str:
    metadata = live["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]


def _shown(live: JsonObject) -> str:
    return f"{live['apiVersion']} {live['kind']} {_id_of(live)}"
