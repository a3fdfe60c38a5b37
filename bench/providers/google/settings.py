"""The settings of a provider, and what follows from them for labels.

Settings are what `gcp:` configuration says for all resources. Labels have three views of one map on the wire: `labels`
(what the program declares), `pulumiLabels` (those plus the provider's attribution label), `effectiveLabels` (everything
the service has). What others put on a resource is left alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from bench.engine.provider import UNKNOWN
from bench.providers.google.fields import Given, JsonObject

ATTRIBUTION: Final = "goog-pulumi-provisioned"

MANAGED: Final = "pulumiLabels"
EFFECTIVE: Final = "effectiveLabels"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProviderSettings:
    """Of all resources of a provider. project: where a program names none. attribution: whether a create adds the
    attribution label."""

    project: str | None = None
    attribution: bool = True

    def with_config(self, config: Given) -> ProviderSettings:
        """These settings with those of `config` over them: hosts, credentials and pacing mean nothing here.

        A default provider's settings arrive as the stack file's text.
        """
        attribution = config.get("addPulumiAttributionLabel")
        return ProviderSettings(
            project=config.get("project") or self.project,
            attribution=self.attribution if attribution is None else attribution not in (False, "false"),
        )

    def managed(self, declared: Any, old: Given | None) -> Any:
        """`pulumiLabels` for declared labels; `old` is the outputs of the resource, None where it is new."""
        if declared is UNKNOWN:
            return UNKNOWN
        known = old is not None and any(ATTRIBUTION in (old.get(view) or {}) for view in (MANAGED, EFFECTIVE))
        ours = {ATTRIBUTION: "true"} if self.attribution and (old is None or known) else {}
        return {**ours, **(declared or {})}

    def effective(self, declared: Any, old: Given | None) -> Any:
        """`effectiveLabels` that a create or an update leads to: ours as wanted, others' as they are."""
        managed = self.managed(declared, old)
        if old is None or managed is UNKNOWN:
            return managed
        before = old.get(MANAGED) or {}
        others = {key: value for key, value in (old.get(EFFECTIVE) or {}).items() if key not in before}
        return {**others, **managed}


def views(name: str, found: Mapping[str, str], ours: Given, managed: Given) -> JsonObject:
    """The three views of the labels that the service has. name: of the property that declares them.

    A label of ours that was lost stays in its view without its value, so that the next plan restores it.
    """

    def declared(keys: Given) -> dict[str, str]:
        return {key: found.get(key, "") for key in keys}

    return {name: declared(ours), MANAGED: declared(managed), EFFECTIVE: dict(found)}
