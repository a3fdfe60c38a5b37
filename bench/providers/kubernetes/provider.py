"""The embedded engine's Kubernetes provider: the provider protocol for every kind of object.

Owns how an object is made, changed, read and deleted, and what a preview asks the cluster. Leaves the way there to
`reach`, differences to `differ` and Helm releases to `releases`. Nothing is awaited: what the stacks declare says so
(`pulumi.com/skipAwait`), or is ready once it is written.
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
    ProviderError,
    ReadResult,
)
from bench.engine.values import has_unknown
from bench.providers.kubernetes import differ, manifests, releases
from bench.providers.kubernetes.objects import ClusterObjects, NoMatchError
from bench.providers.kubernetes.reach import ApiRefusedError, ClusterApi, UnreachableError

JsonObject = dict[str, Any]


class _Tokens(Container[str]):
    def __contains__(self, token: object) -> bool:
        return manifests.served_token(token)


class KubernetesProvider:
    """config: what a `pulumi:providers:kubernetes` resource says; None before one is met. stack: `PROJECT/STACK`, whose
    the objects are.
    """

    package = "kubernetes"
    version = "4.34.2"

    def __init__(self, config: Mapping[str, Any] | None = None, *, stack: str = "") -> None:
        self._config, self._stack = dict(config or {}), stack
        self._reached: ClusterApi | None = None

    def configured(self, config: Mapping[str, Any]) -> KubernetesProvider:
        return KubernetesProvider(config, stack=self._stack)

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
            self._reached = ClusterApi(said)
        return self._reached

    def _objects(self) -> ClusterObjects:
        return ClusterObjects(self._cluster(), self._stack)

    # The protocol

    def check(self, token: str, inputs: JsonObject) -> CheckResult:
        if token == manifests.RELEASE:
            return releases.checked(inputs)
        metadata = inputs.get("metadata")
        if not (isinstance(metadata, dict) and metadata.get("name")):
            return CheckResult(inputs, (CheckFailure("metadata.name", "is required: no name is made up here"),))
        return CheckResult(manifests.normal(token, inputs))

    def diff(
        self, token: str, resource_id: str, old_inputs: JsonObject, old_outputs: JsonObject, new_inputs: JsonObject
    ) -> DiffResult:
        del resource_id
        if token == manifests.RELEASE:
            return releases.compare(old_inputs, new_inputs)
        return differ.compare(token, old_inputs, old_outputs, new_inputs)

    def create(self, token: str, inputs: JsonObject, timeout: float | None, cancel: Cancel) -> Created:
        del timeout
        cluster = self._cluster()
        if token == manifests.RELEASE:
            return releases.record(cluster, inputs, None, self._stack)
        live, manager = self._objects().apply(token, inputs, None, cancel=cancel)
        return Created(_id_of(live), manifests.outputs_of(live, inputs, manager, live["apiVersion"]))

    def update(
        self,
        token: str,
        resource_id: str,
        old_outputs: JsonObject,
        new_inputs: JsonObject,
        cancel: Cancel,
    ) -> JsonObject:
        del resource_id
        if token == manifests.RELEASE:
            return releases.record(self._cluster(), new_inputs, old_outputs, self._stack).outputs
        live, manager = self._objects().apply(token, new_inputs, old_outputs, cancel=cancel)
        initial = str(old_outputs.get("__initialApiVersion") or live["apiVersion"])
        return manifests.outputs_of(live, new_inputs, manager, initial)

    def read(self, token: str, resource_id: str, inputs: JsonObject) -> ReadResult | None:
        if token == manifests.RELEASE:
            return releases.read(self._cluster(), resource_id, inputs)
        namespace, _, name = resource_id.rpartition("/")
        asked = {**inputs, "metadata": {**inputs.get("metadata", {}), "name": name, "namespace": namespace}}
        try:
            live = self._objects().find(token, asked)
        except NoMatchError:
            return None
        except ApiRefusedError as error:
            raise ProviderError(f"{resource_id} cannot be read: {error}") from error
        if live is None:
            return None
        seen = differ.pruned(live, inputs)
        manager = manifests.standing_manager(live, self._objects().manager(token, inputs, None))
        return ReadResult(_id_of(live), seen, manifests.outputs_of(live, seen, manager, live["apiVersion"]))

    def delete(self, token: str, resource_id: str, outputs: JsonObject, cancel: Cancel) -> None:
        try:
            cluster = self._cluster()
            if token == manifests.RELEASE:
                releases.forget(cluster, resource_id)
                return
            self._objects().delete(token, outputs, cancel)
        except NoMatchError:
            return
        except UnreachableError as error:
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
        if has_unknown(inputs):
            return bare
        try:
            shown, _ = self._objects().apply(token, inputs, old_outputs, dry=True)
        except (UnreachableError, NoMatchError):
            return bare
        return manifests.foreseen(inputs, shown) if shown else bare

    def secret_outputs(self, token: str) -> frozenset[str]:
        return frozenset({manifests.INPUTS}) if token == manifests.RELEASE else frozenset()


def _id_of(live: JsonObject) -> str:
    metadata = live["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else metadata["name"]
