"""The functions (invokes) that the provider serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final

from infra.local.engine.provider import ProviderError
from infra.local.provider.settings import Settings
from infra.local.provider.transport import Api, ApiError

Function = Callable[[Api, Settings, Mapping[str, Any]], dict[str, Any]]


def _get_project(api: Api, settings: Settings, args: Mapping[str, Any]) -> dict[str, Any]:
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


def _get_client_config(api: Api, settings: Settings, args: Mapping[str, Any]) -> dict[str, Any]:
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
