"""The settings of a provider: what `gcp:` configuration or an explicit provider says for all its resources."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from infra.local.engine.provider import ProviderError
from infra.local.provider.labels import LabelPolicy

_WITHOUT_MEANING_HERE: Final = frozenset(
    {
        "accessToken", "batching", "billingProject", "credentials", "disableGoogleProviderAutoRegister",
        "disableGlobalProjectWarning", "externalCredentials", "impersonateServiceAccount",
        "impersonateServiceAccountDelegates", "pluginDownloadURL", "pollInterval", "requestReason", "requestTimeout",
        "scopes", "skipRegionValidation", "universeDomain", "userProjectOverride", "version",
    }
)  # fmt: skip
"""Settings of credentials, hosts and pacing: the local cloud asks for none, so they change nothing."""

_STRATEGIES: Final = ("CREATION_ONLY", "PROACTIVE")
_DELETIONS: Final = ("DELETE", "PREVENT", "ABANDON")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Defaults for every resource of a provider; None where nothing is set."""

    project: str | None = None
    region: str | None = None
    zone: str | None = None
    deletion_policy: str = "DELETE"
    labels: LabelPolicy = field(default_factory=LabelPolicy)

    def with_config(self, config: Mapping[str, Any]) -> Settings:
        """These settings with those of `config` over them; a setting that is not known is refused by name."""
        given = {key: value for key, value in config.items() if value is not None and not key.startswith("__")}
        unknown = [
            key
            for key in given
            if key not in _KNOWN and key not in _WITHOUT_MEANING_HERE and not key.endswith("CustomEndpoint")
        ]
        if unknown:
            raise ProviderError(f"gcp:{', gcp:'.join(sorted(unknown))}: the embedded provider has no such setting")
        return replace(
            self,
            project=given.get("project", self.project),
            region=given.get("region", self.region),
            zone=given.get("zone", self.zone),
            deletion_policy=_one_of("deletionPolicy", given.get("deletionPolicy", self.deletion_policy), _DELETIONS),
            labels=replace(
                self.labels,
                defaults=_structured(given.get("defaultLabels", self.labels.defaults)),
                attribution=_structured(given.get("addPulumiAttributionLabel", self.labels.attribution)),
                strategy=_one_of(
                    "pulumiAttributionLabelAdditionStrategy",
                    given.get("pulumiAttributionLabelAdditionStrategy", self.labels.strategy),
                    _STRATEGIES,
                ),
            ),
        )

    def default_of(self, hole: str) -> str | None:
        """What fills a part of a path that a program left out: a location falls back to the region."""
        return {"project": self.project, "region": self.region, "zone": self.zone, "location": self.region}.get(hole)


_KNOWN: Final = frozenset(
    {
        "addPulumiAttributionLabel", "defaultLabels", "deletionPolicy", "project",
        "pulumiAttributionLabelAdditionStrategy", "region", "zone",
    }
)  # fmt: skip


def _structured(value: Any) -> Any:
    """A default provider's settings arrive as the stack file's text: JSON for maps and flags."""
    return json.loads(value) if isinstance(value, str) else value


def _one_of(setting: str, value: Any, choices: tuple[str, ...]) -> Any:
    if value not in choices:
        raise ProviderError(f"gcp:{setting} is {value!r}; it takes one of {', '.join(choices)}")
    return value
