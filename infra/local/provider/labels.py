"""Labels as the official provider keeps them: the program's own, the provider's, and whatever else is there.

Three views of one map on the wire: `labels` (what the program declares), `pulumiLabels` (those plus the provider's
defaults and its attribution label), `effectiveLabels` (everything the service has). Labels that others put on a
resource are left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from infra.local.engine.provider import UNKNOWN

ATTRIBUTION: Final = "goog-pulumi-provisioned"

MANAGED: Final = "pulumiLabels"
EFFECTIVE: Final = "effectiveLabels"


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


def views(found: Mapping[str, str], declared: Mapping[str, Any], managed: Mapping[str, Any]) -> dict[str, Any]:
    """The three views of the labels that the service has.

    A managed label that was lost stays in `pulumiLabels` without its value, so that the next plan restores it.
    """
    return {
        "labels": {key: found[key] for key in declared if key in found},
        MANAGED: {key: found.get(key, "") for key in managed},
        EFFECTIVE: dict(found),
    }
