"""The embedded engine's Google provider: its types, served over REST.

Owns the provider protocol for every type of the table: what is checked and compared, what a call's failure is
called, and how answers become outputs. Does not own the calls (`rest` and its siblings), nor what the types are
(`tables`).
"""

from __future__ import annotations

from collections.abc import Container
from http import HTTPStatus
from typing import Any

from bench.engine.provider import (
    Cancel,
    CheckFailure,
    CheckResult,
    Created,
    DiffResult,
    PartialError,
    ProviderError,
    ReadResult,
)
from bench.engine.values import DEFAULTS, has_unknown
from bench.providers.google.checker import Failures, check_fields, missing
from bench.providers.google.codec import as_written
from bench.providers.google.differ import compare, tops
from bench.providers.google.fields import Given, JsonObject
from bench.providers.google.resource import ResourceType, is_known
from bench.providers.google.rest import OperationFailedError, OperationTimeoutError, ResourceCall
from bench.providers.google.settings import EFFECTIVE, MANAGED, ProviderSettings
from bench.providers.google.spellings import last_part
from bench.providers.google.states import States
from bench.providers.google.tables import TYPES
from bench.providers.google.transport import ApiError, CallError, RestApi


class GoogleProvider:
    """Google Cloud behind one root URL, as the package `gcp`.

    url: the root of the local cloud. project: what `gcp:` configuration would say.
    """

    package = "gcp"
    version = "10.2.0"

    def __init__(
        self,
        url: str,
        project: str | None = None,
        *,
        api: RestApi | None = None,
        settings: ProviderSettings | None = None,
    ) -> None:
        self._api = api or RestApi(url)
        self._settings = settings or ProviderSettings(project=project)
        self._states = States(self._settings)

    def configured(self, config: Given) -> GoogleProvider:
        return GoogleProvider(self._api.url, api=self._api, settings=self._settings.with_config(config))

    def types(self) -> Container[str]:
        return TYPES.keys()

    def check(self, token: str, inputs: JsonObject) -> CheckResult:
        kind = TYPES[token]
        failures: Failures = {}
        checked = check_fields(failures, kind.fields, inputs)
        known = {**self._states.values(kind, checked), **dict.fromkeys(kind.calls.assigned, "")}
        for hole in kind.holes:
            if hole not in known:
                failures.setdefault(hole, missing(hole))
        return CheckResult(checked, tuple(CheckFailure(path, f"{token}: {why}") for path, why in failures.items()))

    def diff(
        self,
        token: str,
        resource_id: str,
        old_inputs: JsonObject,
        old_outputs: JsonObject,
        new_inputs: JsonObject,
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

    def create(self, token: str, inputs: JsonObject, timeout: float | None, cancel: Cancel) -> Created:
        kind = TYPES[token]
        call = self._call(kind, inputs, cancel=cancel, timeout=timeout, body=self._states.body(kind, inputs, None))
        made = False
        try:
            kind.calls.create(call)
            made = True
            found = kind.calls.read(call)
        except CallError as error:
            message = f"Error creating {kind.noun}: {error}"
            goes_on = isinstance(error, OperationTimeoutError)
            failed = isinstance(error, OperationFailedError) and kind.keeps_failed
            if not (made or goes_on or (failed and call.find(kind.calls.path(call)))):
                raise ProviderError(message) from error
            outputs = self.preview_outputs(token, inputs, None)
            message += "; Google Cloud goes on creating it" if goes_on else ""
            raise PartialError(message, resource_id=kind.id_of(call.values), outputs=outputs) from error
        resource_id = kind.id_of(call.values)
        if found is None:
            raise ProviderError(f"Error creating {kind.noun}: {resource_id} was made and is gone already")
        return Created(
            resource_id,
            self._states.outputs(kind, call.values, inputs, found, self._managed(kind, inputs, None)),
        )

    def _call(
        self,
        kind: ResourceType,
        inputs: Given,
        resource_id: str = "",
        *,
        cancel: Cancel | None = None,
        timeout: float | None = None,
        **more: Any,
    ) -> ResourceCall:
        values = self._states.values(kind, inputs, resource_id)
        return ResourceCall(api=self._api, deadline=self._api.deadline(timeout, cancel), values=values, **more)

    def _managed(self, kind: ResourceType, inputs: Given, old: Given | None) -> Any:
        return self._settings.managed(inputs.get(kind.labelled), old)

    def read(self, token: str, resource_id: str, inputs: JsonObject) -> ReadResult | None:
        kind = TYPES[token]
        call = self._call(kind, inputs, resource_id)
        try:
            found = kind.calls.read(call)
        except CallError as error:
            raise ProviderError(f"Error reading {kind.noun} {resource_id}: {error}") from error
        if found is None:
            return None
        # Ours alone has the attribution that a create adds: what another client made is taken over without.
        managed = self._managed(kind, inputs, {EFFECTIVE: found.get(kind.labelled) or {}})
        outputs = self._states.outputs(kind, call.values, call.values, found, managed)
        call.values.update({hole: last_part(found[key]) for hole, key in kind.calls.assigned.items()})
        if kind.calls.assigned:
            resource_id = kind.id_of(call.values)
        return ReadResult(resource_id, as_written(kind.fields, outputs, {DEFAULTS: [], **inputs}), outputs)

    def update(
        self,
        token: str,
        resource_id: str,
        old_outputs: JsonObject,
        new_inputs: JsonObject,
        cancel: Cancel,
    ) -> JsonObject:
        kind = TYPES[token]
        paths = self._states.differences(kind, old_outputs, new_inputs)
        changed = {kind.labelled if top == MANAGED else top for top in tops(paths)}
        body = self._states.body(kind, new_inputs, old_outputs)
        call = self._call(
            kind, new_inputs, resource_id, cancel=cancel, body=body, old=old_outputs, changed=frozenset(changed)
        )
        failure: Exception | None = None
        try:
            kind.calls.update(call)
        except CallError as error:
            failure = error
        message = f"Error updating {kind.noun} {resource_id}: "
        try:
            found = kind.calls.read(call)
        except CallError as error:
            raise ProviderError(f"{message}{failure or error}") from error
        if found is None:
            raise ProviderError(f"{message}{failure or 'it is gone'}", gone=True)
        managed = self._managed(kind, new_inputs, old_outputs)
        outputs = self._states.outputs(kind, call.values, new_inputs, found, managed)
        if failure is None:
            return outputs
        if compare(kind.fields, old_outputs, outputs):
            raise PartialError(f"{message}{failure}", outputs=outputs)
        raise ProviderError(f"{message}{failure}")

    def delete(self, token: str, resource_id: str, outputs: JsonObject, cancel: Cancel) -> None:
        kind = TYPES[token]
        if outputs.get("deletionProtection"):
            raise ProviderError(
                f"cannot destroy {kind.noun} {resource_id} without setting deletionProtection=false and applying that "
                "first"
            )
        if outputs.get("deletionPolicy") == "ABANDON":
            return
        try:
            kind.calls.delete(self._call(kind, outputs, resource_id, cancel=cancel))
        except CallError as error:
            if not (isinstance(error, ApiError) and error.code == HTTPStatus.NOT_FOUND):
                raise ProviderError(f"Error deleting {kind.noun} {resource_id}: {error}") from error

    def locate(self, token: str, inputs: JsonObject) -> str | None:
        kind = TYPES[token]
        values = self._states.values(kind, inputs)
        if kind.sought:
            return kind.shortened(kind.sought.format_map(values)) if is_known(kind.sought, values) else None
        known = is_known(kind.identity, values) and not has_unknown(values.get("condition"))
        return kind.id_of(values) if known else None

    def preview_outputs(self, token: str, inputs: JsonObject, old_outputs: JsonObject | None) -> JsonObject:
        return self._states.foreseen(TYPES[token], inputs, old_outputs)

    def secret_outputs(self, token: str) -> frozenset[str]:
        return frozenset({MANAGED, EFFECTIVE}) if TYPES[token].labelled else frozenset()
