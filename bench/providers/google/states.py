"""What a state holds of a resource, and how that follows from inputs, settings and the API's answers.

Owns the properties that no body carries, the views of labels, and what a preview can know. Does not own
translation (`codec`) nor comparison of one property with another (`differ`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.provider import UNKNOWN, PropertyDiff
from bench.providers.google.codec import decode, encode, overlay, plain
from bench.providers.google.differ import compare, tops
from bench.providers.google.fields import Field, Shape
from bench.providers.google.resource import ResourceType, Values
from bench.providers.google.settings import EFFECTIVE, MANAGED, ProviderSettings, views
from bench.providers.google.spellings import last_part

_LABELS: Final = Field(kind=Shape.TABLE)
_META: Final = "__meta"
"""What the official provider notes of a resource in its state; text."""


@dataclass(frozen=True, slots=True)
class States:
    """States of resources under the settings of one provider."""

    settings: ProviderSettings

    def differences(
        self, kind: ResourceType, old: Mapping[str, Any], new: Mapping[str, Any]
    ) -> dict[str, PropertyDiff]:
        """What differs between a resource's outputs and what its inputs ask for."""
        found = compare(kind.fields, old, new)
        if kind.labelled:
            found |= self._managed_label_differences(kind.labelled, old, new, found)
        for trigger in tops(found) & kind.unsettled.keys():
            found |= {name: PropertyDiff("update") for name in kind.unsettled[trigger]}
        return found

    def _managed_label_differences(
        self, labels: str, old: Mapping[str, Any], new: Mapping[str, Any], found: Mapping[str, PropertyDiff]
    ) -> dict[str, PropertyDiff]:
        """Labels that the provider itself adds, changed by its settings or lost on the service."""
        managed = self.settings.managed(new.get(labels), old)
        if managed is UNKNOWN:
            return {}
        differences = compare({MANAGED: _LABELS}, old, {MANAGED: managed})
        return {path: each for path, each in differences.items() if path.replace(MANAGED, labels, 1) not in found}

    def foreseen(
        self, kind: ResourceType, inputs: Mapping[str, Any], old_outputs: Mapping[str, Any] | None
    ) -> dict[str, Any]:
        """The outputs that these inputs lead to, as far as they are known before the apply."""
        values = self.values(kind, inputs)
        outputs = {**self._own(kind, values, foreseen=True), **self._planned(kind, inputs, old_outputs)}
        for name, field in kind.fields.items():
            if field.stored and isinstance(outputs.get(name), str):
                outputs[name] = field.stored(outputs[name])
        if old_outputs is not None and kind.unsettled:
            changed = tops(compare(kind.fields, old_outputs, inputs))
            for name in (each for trigger in changed & kind.unsettled.keys() for each in kind.unsettled[trigger]):
                outputs.pop(name, None)
        if kind.labelled:
            outputs[MANAGED] = self.settings.managed(inputs.get(kind.labelled), old_outputs)
            outputs[EFFECTIVE] = self.settings.effective(inputs.get(kind.labelled), old_outputs)
        return outputs

    def _planned(self, kind: ResourceType, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
        """The inputs over what is there; an input whose difference means nothing leaves what is there."""
        held = old or {}
        told = {
            name: value
            for name, value in inputs.items()
            if not (
                (field := kind.fields.get(name)) and field.hidden and field.hidden(held.get(name), value, held, inputs)
            )
        }
        return plain(told) if old is None else overlay(kind.fields, old, {**{n: old.get(n) for n in inputs}, **told})

    def values(self, kind: ResourceType, inputs: Mapping[str, Any], resource_id: str | None = None) -> Values:
        """Everything known of a resource: from its inputs and the settings, spelled as paths have it.

        Of its id what the service chose: its last part.
        """
        values: Values = dict.fromkeys(kind.assigned, last_part(resource_id)) if resource_id is not None else {}
        values |= {name: value for name, value in plain(inputs).items() if value is not None}
        for hole, field in kind.fields.items():
            default = field.default if hole in kind.identity.holes else None
            default = self.settings.project if hole == "project" else default
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
            name: values.get(name, field.default if field.default is not None or field.server else field.zero)
            for name, field in kind.fields.items()
            if field.local
        }
        if "deletionPolicy" in kind.fields:
            own["deletionPolicy"] = values.get("deletionPolicy", "DELETE")
        derived = {name: path for name, path in kind.derived.items() if not foreseen or name in kind.foreseen}
        if kind.schema_version:
            own[_META] = json.dumps({"schema_version": str(kind.schema_version)})
        return own | {name: path.fill(values) for name, path in derived.items() if path.known(values)}

    def body(self, kind: ResourceType, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> dict[str, Any]:
        """What a create sends, or an update of `old` may send: what the service filled in goes along."""
        body = encode(kind.fields, self._planned(kind, inputs, old))
        if kind.labelled and (labels := self.settings.effective(inputs.get(kind.labelled), old)):
            body[kind.labelled] = labels
        return body

    def outputs(
        self,
        kind: ResourceType,
        values: Values,
        inputs: Mapping[str, Any],
        found: Mapping[str, Any],
        managed: Mapping[str, Any],
    ) -> dict[str, Any]:
        """What the state holds of an answer of the API."""
        outputs = decode(kind.fields, found) | self._own(kind, values)
        outputs |= {name: values.get(name, field.zero) for name, field in kind.fields.items() if field.unread}
        if kind.labelled:
            had, ours = found.get(kind.labelled) or {}, inputs.get(kind.labelled) or {}
            outputs |= views(kind.labelled, had, ours, managed)
        return outputs
