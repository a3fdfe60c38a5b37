"""What a state holds of a resource, and how that follows from inputs, settings and the API's answers.

Owns the properties that no body carries, the views of labels, and what a preview can know. Does not own
translation (`codec`) nor comparison of one property with another (`differ`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bench.engine.provider import UNKNOWN, PropertyDiff
from bench.providers.google.codec import decode, encode, overlay
from bench.providers.google.differ import compare, tops
from bench.providers.google.fields import Field, Given, JsonObject, Shape
from bench.providers.google.resource import ResourceType, is_known
from bench.providers.google.settings import EFFECTIVE, MANAGED, ProviderSettings, views
from bench.providers.google.spellings import last_part

_LABELS: Final = Field(kind=Shape.TABLE)


@dataclass(frozen=True, slots=True)
class States:
    """States of resources under the settings of one provider."""

    settings: ProviderSettings

    def differences(self, kind: ResourceType, old: Given, new: Given) -> dict[str, PropertyDiff]:
        """What differs between a resource's outputs and what its inputs ask for."""
        found = compare(kind.fields, old, kind.wanted(new))
        managed = self.settings.managed(new.get(kind.labelled), old)
        if kind.labelled and managed is not UNKNOWN:
            # Labels that the provider itself adds, changed by its settings or lost on the service.
            for path, each in compare({MANAGED: _LABELS}, old, {MANAGED: managed}).items():
                if kind.labelled + path[len(MANAGED) :] not in found:
                    found[path] = each
        return found | dict.fromkeys(self._unsettled(kind, found), PropertyDiff("update"))

    def _unsettled(self, kind: ResourceType, found: Mapping[str, PropertyDiff]) -> list[str]:
        return [name for trigger in tops(found) for name in kind.unsettled.get(trigger, ())]

    def foreseen(self, kind: ResourceType, inputs: Given, old_outputs: Given | None) -> JsonObject:
        """The outputs that these inputs lead to, as far as they are known before the apply."""
        values = self.values(kind, inputs)
        outputs = self._own(kind, values, kind.foreseen) | self._planned(kind, inputs, old_outputs)
        if old_outputs is not None:
            for name in self._unsettled(kind, self.differences(kind, old_outputs, inputs)):
                outputs.pop(name, None)
        if kind.labelled:
            outputs[MANAGED] = self.settings.managed(inputs.get(kind.labelled), old_outputs)
            outputs[EFFECTIVE] = self.settings.effective(inputs.get(kind.labelled), old_outputs)
        return outputs

    def _planned(self, kind: ResourceType, inputs: Given, old: Given | None) -> JsonObject:
        """The inputs over what is there; an input whose difference means nothing leaves what is there."""
        return overlay(kind.fields, {}, inputs) if old is None else overlay(kind.fields, old, kind.wanted(inputs))

    def values(self, kind: ResourceType, inputs: Given, resource_id: str = "") -> JsonObject:
        """Everything known of a resource: from its inputs and the settings, spelled as paths have it.

        Of its id what the service chose: its last part.
        """
        values: JsonObject = dict.fromkeys(kind.calls.assigned, last_part(resource_id)) if resource_id else {}
        values |= {name: value for name, value in inputs.items() if value is not None}
        for name, field in kind.fields.items():
            default = self.settings.project if name == "project" else field.default
            if default is not None:
                values.setdefault(name, default)
            if field.tidied and isinstance(values.get(name), str):
                values[name] = field.tidied(values[name])
        return values

    def _own(self, kind: ResourceType, values: JsonObject, derived: tuple[str, ...]) -> JsonObject:
        """The properties that no body carries: parts of the path, client-side settings, and what follows from them.

        derived: of the latter, those that are known.
        """
        own = {
            name: values.get(name, field.zero if field.default is None else field.default)
            if not field.server or field.unsaid
            else values.get(name)
            for name, field in kind.fields.items()
            if field.local
        }
        if kind.schema_version:
            # What the official provider notes of a resource in its state; text.
            own["__meta"] = json.dumps({"schema_version": str(kind.schema_version)})
        paths = {name: kind.derived[name] for name in derived}
        return own | {name: path.format_map(values) for name, path in paths.items() if is_known(path, values)}

    def body(self, kind: ResourceType, inputs: Given, old: Given | None) -> JsonObject:
        """What a create sends, or an update of `old` may send: what the service filled in goes along."""
        body = encode(kind.fields, self._planned(kind, inputs, old))
        if kind.labelled and (labels := self.settings.effective(inputs.get(kind.labelled), old)):
            body[kind.labelled] = labels
        return body

    def outputs(
        self,
        kind: ResourceType,
        values: JsonObject,
        inputs: Given,
        found: Given,
        managed: Given,
    ) -> JsonObject:
        """What the state holds of an answer of the API."""
        outputs = decode(kind.fields, found) | self._own(kind, values, tuple(kind.derived))
        outputs |= {name: values.get(name, field.zero) for name, field in kind.fields.items() if field.unread}
        if kind.labelled:
            had, ours = found.get(kind.labelled) or {}, inputs.get(kind.labelled) or {}
            outputs |= views(kind.labelled, had, ours, managed)
        return outputs
