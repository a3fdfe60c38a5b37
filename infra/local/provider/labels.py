"""Labels and annotations as the official provider keeps them: ours, the provider's, and others'.

Three views of one map on the wire: `labels` (what the program declares), `pulumiLabels` (those plus the provider's
defaults and its attribution label), `effectiveLabels` (everything the service has); two of annotations, to which the
provider adds none. What others put on a resource is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from infra.local.engine.provider import UNKNOWN

ATTRIBUTION: Final = "goog-pulumi-provisioned"

MANAGED: Final = "pulumiLabels"
EFFECTIVE: Final = "effectiveLabels"
ALL_ANNOTATIONS: Final = "effectiveAnnotations"
"""Every annotation that the service has; `annotations` shows those that the program declares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelPolicy:
    """What a provider adds to the labels of every resource that has labels.

    attribution: whether the attribution label is added. strategy: to new resources alone, or to old ones as well.
    """

    defaults: Mapping[str, str] = field(default_factory=dict)
    attribution: bool = True
    strategy: Literal["CREATION_ONLY", "PROACTIVE"] = "CREATION_ONLY"

    def managed(self, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> Any:
        """`pulumiLabels` for these inputs; `old` is the outputs of the resource, None where it is new."""
        declared = inputs.get("labels") or {}
        if declared is UNKNOWN:
            return UNKNOWN
        ours = dict(self.defaults)
        if self.attribution and (old is None or self.strategy == "PROACTIVE" or _is_attributed(old)):
            ours[ATTRIBUTION] = "true"
        return {**ours, **declared}

    def effective(self, inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> Any:
        """`effectiveLabels` that a create or an update leads to: ours as wanted, others' as they are."""
        managed = self.managed(inputs, old)
        if old is None or managed is UNKNOWN:
            return managed
        before = old.get(MANAGED) or {}
        others = {key: value for key, value in (old.get(EFFECTIVE) or {}).items() if key not in before}
        return {**others, **managed}


def _is_attributed(old: Mapping[str, Any]) -> bool:
    return any(ATTRIBUTION in (old.get(view) or {}) for view in (MANAGED, EFFECTIVE))


def views(found: Mapping[str, str], ours: Mapping[str, Any], managed: Mapping[str, Any]) -> dict[str, Any]:
    """The three views of the labels that the service has.

    A label of ours that was lost stays in its view without its value, so that the next plan restores it.
    """
    return {"labels": declared(found, ours), MANAGED: declared(found, managed), EFFECTIVE: dict(found)}


def declared(found: Mapping[str, str], ours: Mapping[str, Any]) -> dict[str, str]:
    """Of what the service has, the keys that are ours."""
    return {key: found.get(key, "") for key in ours}


def all_annotations(inputs: Mapping[str, Any], old: Mapping[str, Any] | None) -> Any:
    """`effectiveAnnotations` that a create or an update leads to: the program's as wanted, others' as they are."""
    ours = inputs.get("annotations") or {}
    if old is None or ours is UNKNOWN:
        return ours
    before = old.get("annotations") or {}
    return {key: value for key, value in (old.get(ALL_ANNOTATIONS) or {}).items() if key not in before} | ours
