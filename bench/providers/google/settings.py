"""The settings of a provider, what follows from them for labels, and the functions (invokes) that tell of them.

Settings are what `gcp:` configuration or an explicit provider says for all its resources. Labels have three views of
one map on the wire: `labels` (what the program declares), `pulumiLabels` (those plus the provider's defaults and its
attribution label), `effectiveLabels` (everything the service has); annotations have two, to which the provider adds
none. What others put on a resource is left alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final, Literal

from bench.engine.provider import UNKNOWN, ProviderError
from bench.providers.google.transport import ApiError, RestApi

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

    def managed(self, declared: Any, old: Mapping[str, Any] | None) -> Any:
        """`pulumiLabels` for declared labels; `old` is the outputs of the resource, None where it is new."""
        declared = declared or {}
        if declared is UNKNOWN:
            return UNKNOWN
        ours = dict(self.defaults)
        if self.attribution and (old is None or self.strategy == "PROACTIVE" or _is_attributed(old)):
            ours[ATTRIBUTION] = "true"
        return {**ours, **declared}

    def effective(self, declared: Any, old: Mapping[str, Any] | None) -> Any:
        """`effectiveLabels` that a create or an update leads to: ours as wanted, others' as they are."""
        managed = self.managed(declared, old)
        if old is None or managed is UNKNOWN:
            return managed
        before = old.get(MANAGED) or {}
        others = {key: value for key, value in (old.get(EFFECTIVE) or {}).items() if key not in before}
        return {**others, **managed}


def _is_attributed(old: Mapping[str, Any]) -> bool:
    return any(ATTRIBUTION in (old.get(view) or {}) for view in (MANAGED, EFFECTIVE))


def views(name: str, found: Mapping[str, str], ours: Mapping[str, Any], managed: Mapping[str, Any]) -> dict[str, Any]:
    """The three views of the labels that the service has. name: of the property that declares them.

    A label of ours that was lost stays in its view without its value, so that the next plan restores it.
    """
    return {name: declared(found, ours), MANAGED: declared(found, managed), EFFECTIVE: dict(found)}


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
class ProviderSettings:
    """Defaults for every resource of a provider; None where nothing is set."""

    project: str | None = None
    region: str | None = None
    zone: str | None = None
    deletion_policy: str = "DELETE"
    labels: LabelPolicy = field(default_factory=LabelPolicy)

    def with_config(self, config: Mapping[str, Any]) -> ProviderSettings:
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


Function = Callable[[RestApi, ProviderSettings, Mapping[str, Any]], dict[str, Any]]


def _get_project(api: RestApi, settings: ProviderSettings, args: Mapping[str, Any]) -> dict[str, Any]:
    """A project's id, number, name and labels, from the Resource Manager."""
    project = args.get("projectId") or settings.project
    if not project:
        raise ProviderError("getProject: give a projectId, or set gcp:project")
    try:
        found = api.call("GET", f"v1/projects/{project}", api.deadline())
    except ApiError as error:
        raise ProviderError(f"Error reading project {project}: {error}") from error
    return {
        "id": f"projects/{project}",
        "projectId": found.get("projectId", project),
        "number": found.get("projectNumber", ""),
        "name": found.get("name", ""),
        "labels": found.get("labels", {}),
    }


def _get_client_config(api: RestApi, settings: ProviderSettings, args: Mapping[str, Any]) -> dict[str, Any]:
    """The provider's own settings; the local cloud has no access token to give."""
    del api, args
    return {
        "id": f"projects/{settings.project or ''}/regions/{settings.region or ''}/zones/{settings.zone or ''}",
        "project": settings.project or "",
        "region": settings.region or "",
        "zone": settings.zone or "",
        "accessToken": "",
        "defaultLabels": dict(settings.labels.defaults),
    }


FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {
        "gcp:organizations/getProject:getProject": _get_project,
        "gcp:organizations/getClientConfig:getClientConfig": _get_client_config,
    }
)
