"""The embedded engine's Google provider: its types, served over REST.

Owns the provider protocol for every type of the table: what is checked and compared, what a call's failure is
called, and how answers become outputs. Does not own the calls (`rest` and its siblings), nor what the types are
(`tables`).
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from http import HTTPStatus
from typing import Any

from bench.engine.provider import (
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
from bench.engine.values import has_unknown
from bench.providers.google.checker import check_fields
from bench.providers.google.codec import as_written
from bench.providers.google.differ import compare, tops
from bench.providers.google.resource import ResourceCall, ResourceType
from bench.providers.google.rest import OperationFailedError, OperationTimeoutError
from bench.providers.google.settings import EFFECTIVE, MANAGED, ProviderSettings
from bench.providers.google.states import States
from bench.providers.google.tables import TYPES
from bench.providers.google.transport import ApiError, RestApi


class GoogleProvider:
    """Google Cloud behind one root URL, as the package `gcp`.

    url: the root of the local cloud. project: what `gcp:` configuration would say. connections: how many calls may be
    under way at once on kept-alive connections.
    """

    package = "gcp"
    version = "10.2.0"

    def __init__(
        self,
        url: str,
        project: str | None = None,
        *,
        connections: int = 64,
        api: RestApi | None = None,
        settings: ProviderSettings | None = None,
    ) -> None:
        self._api = api or RestApi(url, connections=connections)
        self._settings = settings or ProviderSettings(project=project)
        self._states = States(self._settings)

    def configured(self, config: Mapping[str, Any]) -> GoogleProvider:
        return GoogleProvider(self._api.url, api=self._api, settings=self._settings.with_config(config))

    def types(self) -> Container[str]:
        return TYPES.keys()

    def check(self, token: str, inputs: dict[str, Any]) -> CheckResult:
        kind = TYPES[token]
        failures: list[CheckFailure] = []
        checked = check_fields(failures, "", kind.fields, inputs)
        known = {**self._states.values(kind, checked), **dict.fromkeys(kind.assigned, "")}
        missing = {CheckFailure(hole, f"the required property {hole!r} is missing") for hole in kind.identity.holes}
        failures += sorted(
            (each for each in missing - {*failures} if each.path not in known), key=lambda each: each.path
        )
        return CheckResult(checked, tuple(CheckFailure(each.path, f"{token}: {each.reason}") for each in failures))

    def diff(
        self,
        token: str,
        resource_id: str,
        old_inputs: dict[str, Any],
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
    ) -> DiffResult:
        kind = TYPES[token]
        del old_inputs  # the state's outputs know what a refresh has seen, the inputs do not
        found = self._states.differences(kind, old_outputs, new_inputs)
        replaces = any(difference.replaces for difference in found.values())
        # Whether the replacement would collide with what it replaces: it has the same name, or the same id.
        if kind.named:
            collides = old_outputs.get(kind.named) == new_inputs.get(kind.named)
        else:
            collides = self.locate(token, new_inputs) == resource_id
        return DiffResult(found, delete_before_replace=replaces and (kind.replaced_in_turn or collides))

    def create(self, token: str, inputs: dict[str, Any], timeout: float | None, cancel: Cancel) -> Created:
        kind = TYPES[token]
        call = ResourceCall(
            api=self._api,
            deadline=self._api.deadline(timeout, cancel),
            values=self._states.values(kind, inputs),
            body=self._states.body(kind, inputs, None),
        )
        try:
            kind.calls.create(call)
        except ApiError as error:
            raise ProviderError(f"Error creating {kind.noun}: {error}") from error
        except OperationFailedError as error:
            message = f"Error waiting to create {kind.noun}: Error waiting for Creating {kind.noun}: {error}"
            if kind.keeps_failed and not error.gone:
                raise self._half_made(token, kind.id_of(call.values), inputs, message) from error
            raise ProviderError(message) from error
        except OperationTimeoutError as error:
            message = f"Error waiting to create {kind.noun}: {error}; Google Cloud goes on creating it"
            raise self._half_made(token, kind.id_of(call.values), inputs, message) from error
        resource_id = kind.id_of(call.values)
        try:
            found = kind.calls.read(call)
        except (ApiError, OperationTimeoutError) as error:
            raise self._half_made(
                token, resource_id, inputs, f"Error reading {kind.noun} after its creation: {error}"
            ) from error
        if found is None:
            raise ProviderError(f"Error creating {kind.noun}: {resource_id} was made and is gone already")
        return Created(
            resource_id,
            self._states.outputs(kind, call.values, inputs, found, self._managed(kind, inputs, None)),
        )

    def _managed(self, kind: ResourceType, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> Any:
        return self._settings.managed(inputs.get(kind.labelled), old)

    def _half_made(self, token: str, resource_id: str, inputs: dict[str, Any], message: str) -> PartialCreateError:
        return PartialCreateError(message, resource_id=resource_id, outputs=self.preview_outputs(token, inputs, None))

    def read(self, token: str, resource_id: str, inputs: dict[str, Any]) -> ReadResult | None:
        kind = TYPES[token]
        values = self._states.values(kind, inputs, resource_id)
        try:
            found = kind.calls.read(ResourceCall(api=self._api, deadline=self._api.deadline(), values=values))
        except (ApiError, OperationTimeoutError) as error:
            raise ProviderError(f"Error reading {kind.noun} {resource_id}: {error}") from error
        if found is None:
            return None
        # Ours alone has the attribution that a create adds: what another client made is taken over without.
        had = found.get(kind.labelled) or {}
        managed = self._managed(kind, inputs, {EFFECTIVE: had})
        outputs = self._states.outputs(kind, values, values, found, managed)
        seen = as_written(kind.fields, outputs, inputs)
        values |= {hole: found[key] for hole, key in kind.assigned.items()}
        if kind.assigned:
            resource_id = kind.id_of(values)
        return ReadResult(resource_id, seen, outputs)

    def update(
        self,
        token: str,
        resource_id: str,
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        cancel: Cancel,
    ) -> dict[str, Any]:
        kind = TYPES[token]
        paths = self._states.differences(kind, old_outputs, new_inputs)
        changed = {kind.labelled if top == MANAGED else top for top in tops(paths)}
        values = self._states.values(kind, new_inputs, resource_id)
        call = ResourceCall(
            api=self._api,
            deadline=self._api.deadline(cancel=cancel),
            values=values,
            body=self._states.body(kind, new_inputs, old_outputs),
            old=old_outputs,
            changed=frozenset(changed),
        )
        managed = self._managed(kind, new_inputs, old_outputs)
        failure: Exception | None = None
        try:
            kind.calls.update(call)
        except (ApiError, OperationFailedError, OperationTimeoutError) as error:
            failure = error
        try:
            found = kind.calls.read(call)
        except (ApiError, OperationTimeoutError) as error:
            raise ProviderError(f"Error updating {kind.noun} {resource_id}: {failure or error}") from error
        if found is None:
            raise ProviderError(f"Error updating {kind.noun} {resource_id}: {failure or 'it is gone'}", gone=True)
        outputs = self._states.outputs(kind, values, new_inputs, found, managed)
        if failure is not None:
            message = f"Error updating {kind.noun} {resource_id}: {failure}"
            half_way = compare(kind.fields, old_outputs, outputs) != {}
            raise PartialUpdateError(message, outputs=outputs) if half_way else ProviderError(message)
        return outputs

    def delete(self, token: str, resource_id: str, outputs: dict[str, Any], cancel: Cancel) -> None:
        kind = TYPES[token]
        if outputs.get("deletionProtection"):
            raise ProviderError(
                f"cannot destroy {kind.noun} {resource_id} without setting deletionProtection=false and applying that "
                "first"
            )
        if outputs.get("deletionPolicy") == "ABANDON":
            return
        try:
            values = self._states.values(kind, outputs, resource_id)
            kind.calls.delete(ResourceCall(api=self._api, deadline=self._api.deadline(cancel=cancel), values=values))
        except (ApiError, OperationFailedError, OperationTimeoutError) as error:
            if not (isinstance(error, ApiError) and error.code == HTTPStatus.NOT_FOUND):
                raise ProviderError(f"Error deleting {kind.noun} {resource_id}: {error}") from error

    def locate(self, token: str, inputs: dict[str, Any]) -> str | None:
        kind = TYPES[token]
        values = self._states.values(kind, inputs)
        if kind.sought is not None:
            return kind.shortened(kind.sought.fill(values)) if kind.sought.known(values) else None
        return kind.id_of(values) if kind.identity.known(values) and not has_unknown(values.get("condition")) else None

    def preview_outputs(self, token: str, inputs: dict[str, Any], old_outputs: dict[str, Any] | None) -> dict[str, Any]:
        return self._states.foreseen(TYPES[token], inputs, old_outputs)

    def secret_outputs(self, token: str) -> frozenset[str]:
        return frozenset({MANAGED, EFFECTIVE}) if TYPES[token].labelled else frozenset()
