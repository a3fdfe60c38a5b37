"""The embedded engine's Google provider: its types, served over REST.

Owns the provider protocol for every type of the table: what is checked and compared, what a call's failure is
called, and how answers become outputs. Does not own the calls (`rest` and its siblings), nor what the types are
(`tables`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Container, Iterable, Mapping
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
    PropertyDiff,
    ProviderError,
    ReadResult,
)
from infra.local.provider.checker import Findings, check_fields, fill_name
from infra.local.provider.codec import DEFAULTS, as_declared, as_written, decode, encode, has_unknown, overlay, plain
from infra.local.provider.differ import compare
from infra.local.provider.fields import table
from infra.local.provider.functions import FUNCTIONS
from infra.local.provider.labels import ALL_ANNOTATIONS, EFFECTIVE, MANAGED, all_annotations, declared, views
from infra.local.provider.operations import OperationFailedError, OperationTimeoutError
from infra.local.provider.resource import Call, ResourceType, Values
from infra.local.provider.settings import Settings
from infra.local.provider.tables import TYPES
from infra.local.provider.transport import Api, ApiError

_TOP = re.compile(r"[.\[]")
_META: Final = "__meta"
"""What the official provider notes of a resource in its state; text."""
_GONE: Final = 404
_LABELS: Final = table()


class GoogleProvider:
    """Google Cloud behind one root URL, as the package `gcp`.

    url: the root of the local cloud. project, region, zone: what `gcp:` configuration would say. connections: how many
    calls may be under way at once on kept-alive connections.
    """

    package = "gcp"
    version = "10.2.0"

    def __init__(
        self,
        url: str,
        project: str | None = None,
        *,
        region: str | None = None,
        zone: str | None = None,
        connections: int = 64,
        api: Api | None = None,
        settings: Settings | None = None,
    ) -> None:
        self._api = api or Api(url, connections=connections)
        self._settings = settings or Settings(project=project, region=region, zone=zone)

    def configured(self, config: Mapping[str, Any]) -> GoogleProvider:
        return GoogleProvider(self._api.url, api=self._api, settings=self._settings.with_config(config))

    def types(self) -> Container[str]:
        return TYPES.keys()

    def check(self, token: str, name: str, urn: str, inputs: dict[str, Any], old: dict[str, Any] | None) -> CheckResult:
        kind = TYPES[token]
        findings = Findings(token)
        checked = check_fields(findings, "", kind.fields, inputs, kind.relations)
        if not findings.failures:
            for wrong in filter(None, (rule(checked) for rule in kind.rules)):
                findings.refuse("", wrong)
        if kind.naming is not None:
            fill_name(kind.naming, checked, name, urn, old)
        for hole in sorted({*kind.identity.holes} - kind.assigned.keys()):
            if hole in kind.fields and hole not in checked and self._settings.default_of(hole) is None:
                where = "region" if hole == "location" else hole
                findings.failures.append(CheckFailure(hole, f"{token}: give {hole!r}, or set gcp:{where} for all"))
        return CheckResult(checked, tuple(findings.failures))

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
        found = compare(kind.fields, old_outputs, new_inputs)
        if kind.labelled:
            found |= self._managed_label_differences(old_outputs, new_inputs, found)
        for trigger in _tops(found) & kind.unsettled.keys():
            found |= {name: PropertyDiff("update") for name in kind.unsettled[trigger]}
        replaces = any(difference.replaces for difference in found.values())
        return DiffResult(found, delete_before_replace=replaces and self._keeps_its_name(kind, resource_id, new_inputs))

    def _managed_label_differences(
        self, old: Mapping[str, Any], new: Mapping[str, Any], found: Mapping[str, PropertyDiff]
    ) -> dict[str, PropertyDiff]:
        """Labels that the provider itself adds, changed by its settings or lost on the service."""
        managed = self._settings.labels.managed(new, old)
        if managed is UNKNOWN:
            return {}
        differences = compare({MANAGED: _LABELS}, old, {MANAGED: managed})
        return {path: each for path, each in differences.items() if path.replace(MANAGED, "labels", 1) not in found}

    def _keeps_its_name(self, kind: ResourceType, resource_id: str, new: Mapping[str, Any]) -> bool:
        """Whether the replacement would collide with what it replaces: same explicit name, or the same id."""
        if kind.replaced_in_turn:
            return True
        if kind.naming is None:
            return self._locate(kind, new) == resource_id
        name = kind.naming.property
        return name not in new.get(DEFAULTS, ()) and kind.parts_of(resource_id).get(name) == new.get(name)

    def create(self, token: str, inputs: dict[str, Any], timeout: float | None, cancel: Cancel) -> Created:
        kind = TYPES[token]
        call = Call(
            api=self._api,
            deadline=self._api.deadline(timeout, cancel),
            values=self._values(kind, inputs),
            body=self._body(kind, inputs, None),
        )
        try:
            kind.calls.create(call)
        except ApiError as error:
            raise ProviderError(f"Error creating {kind.noun}: {error}") from error
        except OperationFailedError as error:
            message = f"Error waiting to create {kind.noun}: Error waiting for Creating {kind.noun}: {error}"
            if kind.keeps_failed:
                raise self._half_made(token, kind.id_of(call.values), inputs, message) from error
            raise ProviderError(message) from error
        except OperationTimeoutError as error:
            message = f"Error waiting to create {kind.noun}: {error}; Google Cloud goes on with it"
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
            resource_id, self._outputs(kind, call.values, inputs, found, self._settings.labels.managed(inputs, None))
        )

    def _half_made(self, token: str, resource_id: str, inputs: dict[str, Any], message: str) -> PartialCreateError:
        return PartialCreateError(message, resource_id=resource_id, outputs=self.preview_outputs(token, inputs, None))

    def read(self, token: str, resource_id: str, inputs: dict[str, Any]) -> ReadResult | None:
        kind = TYPES[token]
        if not inputs and not kind.imported:
            raise ProviderError(f"{resource_id!r}: a {token} cannot be imported; declare it, and it is written anew")
        if not inputs and not kind.parts_of(resource_id):
            raise ProviderError(f"{resource_id!r} is no id of a {token}: it has the form {kind.import_form}")
        values = self._values(kind, inputs, resource_id)
        try:
            found = kind.calls.read(Call(api=self._api, deadline=self._api.deadline(), values=values))
        except (ApiError, OperationTimeoutError) as error:
            raise ProviderError(f"Error reading {kind.noun} {resource_id}: {error}") from error
        if found is None:
            return None
        # Ours alone has the attribution that a create adds: what another client made is taken over without.
        managed = self._settings.labels.managed(inputs, {EFFECTIVE: found.get("labels") or {}})
        if kind.labelled and not inputs:
            managed = dict(found.get("labels") or {})
            values["labels"] = {key: value for key, value in managed.items() if not key.startswith("goog-")}
        outputs = self._outputs(kind, values, values, found, managed)
        seen = as_written(kind.fields, outputs, inputs) if inputs else as_declared(kind.fields, outputs, kind.relations)
        values |= {hole: found[key] for hole, key in kind.assigned.items()}
        if kind.assigned or not inputs:
            if kind.qualified is not None:
                values["condition"] = outputs["condition"]
            resource_id = kind.id_of(values)
        return ReadResult(resource_id, seen, outputs)

    def update(
        self,
        token: str,
        resource_id: str,
        old_inputs: dict[str, Any],
        old_outputs: dict[str, Any],
        new_inputs: dict[str, Any],
        timeout: float | None,
        cancel: Cancel,
    ) -> dict[str, Any]:
        kind = TYPES[token]
        paths = self.diff(token, resource_id, old_inputs, old_outputs, new_inputs).detailed
        changed = {top.replace(MANAGED, "labels") for top in _tops(paths)}
        values = self._values(kind, new_inputs, resource_id)
        call = Call(
            api=self._api,
            deadline=self._api.deadline(timeout, cancel),
            values=values,
            body=self._body(kind, new_inputs, old_outputs),
            old=old_outputs,
            changed=frozenset(changed),
        )
        managed = self._settings.labels.managed(new_inputs, old_outputs)
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
        outputs = self._outputs(kind, values, new_inputs, found, managed)
        if failure is not None:
            message = f"Error updating {kind.noun} {resource_id}: {failure}"
            half_way = compare(kind.fields, old_outputs, outputs) != {}
            raise PartialUpdateError(message, outputs=outputs) if half_way else ProviderError(message)
        return outputs

    def delete(
        self, token: str, resource_id: str, outputs: dict[str, Any], timeout: float | None, cancel: Cancel
    ) -> None:
        kind = TYPES[token]
        policy = outputs.get("deletionPolicy") or self._settings.deletion_policy
        mend = 'deletionPolicy="DELETE"' if policy == "PREVENT" else ""
        if outputs.get("deletionProtection"):
            mend = "deletionProtection=false"
        if mend:
            raise ProviderError(
                f"cannot destroy {kind.noun} {resource_id} without setting {mend} and applying that first"
            )
        if policy == "ABANDON":
            return
        try:
            values = self._values(kind, outputs, resource_id)
            kind.calls.delete(Call(api=self._api, deadline=self._api.deadline(timeout, cancel), values=values))
        except (ApiError, OperationFailedError, OperationTimeoutError) as error:
            if not _is_gone(error):
                raise ProviderError(f"Error deleting {kind.noun} {resource_id}: {error}") from error

    def locate(self, token: str, inputs: dict[str, Any]) -> str | None:
        return self._locate(TYPES[token], inputs)

    def _locate(self, kind: ResourceType, inputs: Mapping[str, Any]) -> str | None:
        values = self._values(kind, inputs)
        if kind.sought is not None:
            return kind.sought.fill(values) if kind.sought.known(values) else None
        return kind.id_of(values) if kind.identity.known(values) and not has_unknown(values.get("condition")) else None

    def preview_outputs(self, token: str, inputs: dict[str, Any], old_outputs: dict[str, Any] | None) -> dict[str, Any]:
        kind = TYPES[token]
        values = self._values(kind, inputs)
        known = plain(inputs) if old_outputs is None else overlay(kind.fields, old_outputs, inputs)
        outputs = {**self._own(kind, values, foreseen=True), **known}
        if old_outputs is None:
            outputs = {name: value for name, value in outputs.items() if name in inputs or name not in kind.late}
        for name, field in kind.fields.items():
            if field.stored and isinstance(outputs.get(name), str):
                outputs[name] = field.stored(outputs[name])
        if old_outputs is not None and kind.unsettled:
            changed = _tops(compare(kind.fields, old_outputs, inputs))
            for name in (each for trigger in changed & kind.unsettled.keys() for each in kind.unsettled[trigger]):
                outputs.pop(name, None)
        if kind.labelled:
            outputs[MANAGED] = self._settings.labels.managed(inputs, old_outputs)
            outputs[EFFECTIVE] = self._settings.labels.effective(inputs, old_outputs)
        if ALL_ANNOTATIONS in kind.fields:
            outputs[ALL_ANNOTATIONS] = all_annotations(inputs, old_outputs)
        return outputs

    def invoke(self, token: str, args: dict[str, Any]) -> dict[str, Any]:
        function = FUNCTIONS.get(token)
        if function is None:
            raise ProviderError(f"{token}: the embedded provider has no such function; it has {', '.join(FUNCTIONS)}")
        return function(self._api, self._settings, args)

    def secret_outputs(self, token: str) -> frozenset[str]:
        return frozenset({MANAGED, EFFECTIVE}) if TYPES[token].labelled else frozenset()

    def _values(self, kind: ResourceType, inputs: Mapping[str, Any], resource_id: str | None = None) -> Values:
        """Everything known of a resource: from its id, its inputs and the settings, spelled as paths have it."""
        values: Values = kind.parts_of(resource_id) if resource_id is not None else {}
        values |= {name: value for name, value in plain(inputs).items() if value is not None}
        for hole, field in kind.fields.items():
            default = field.default if hole in kind.identity.holes else None
            default = default or self._settings.default_of(hole)
            if hole not in values and default is not None:
                values[hole] = default
        for name, tidy in kind.tidied.items():
            if isinstance(values.get(name), str):
                values[name] = tidy(values[name])
        return values

    def _own(self, kind: ResourceType, values: Values, *, foreseen: bool = False) -> dict[str, Any]:
        """The properties that no body carries: parts of the path, client-side settings, and what follows from them.

        foreseen: of the latter, those that are known before a create.
        """
        own = {
            name: values.get(name, field.default if field.default is not None else field.zero)
            for name, field in kind.fields.items()
            if field.local
        }
        if "deletionPolicy" in kind.fields:
            own["deletionPolicy"] = values.get("deletionPolicy", self._settings.deletion_policy)
        derived = {name: path for name, path in kind.derived.items() if not foreseen or name in kind.foreseen}
        if kind.schema_version:
            own[_META] = json.dumps({"schema_version": str(kind.schema_version)})
        return own | {name: path.fill(values) for name, path in derived.items() if path.known(values)}

    def _body(self, kind: ResourceType, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
        body = encode(kind.fields, inputs)
        if kind.labelled and (labels := self._settings.labels.effective(inputs, old)):
            body["labels"] = labels
        if ALL_ANNOTATIONS in kind.fields and (annotations := all_annotations(inputs, old)):
            body["annotations"] = annotations
        return body

    def _outputs(
        self,
        kind: ResourceType,
        values: Values,
        inputs: Mapping[str, Any],
        found: Mapping[str, Any],
        managed: Mapping[str, Any],
    ) -> dict[str, Any]:
        outputs = decode(kind.fields, found) | self._own(kind, values)
        if kind.labelled:
            outputs |= views(found.get("labels") or {}, inputs.get("labels") or {}, managed)
        if ALL_ANNOTATIONS in kind.fields:
            outputs["annotations"] = declared(outputs[ALL_ANNOTATIONS], inputs.get("annotations") or {})
        return outputs


def _tops(paths: Iterable[str]) -> set[str]:
    """The top-level properties that these paths stand in."""
    return {_TOP.split(path, maxsplit=1)[0] for path in paths}


def _is_gone(error: Exception) -> bool:
    return isinstance(error, ApiError) and error.code == _GONE
