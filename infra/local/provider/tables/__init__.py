"""The table of types that the provider serves, one row a type, one module a service."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from infra.local.provider.resource import ResourceType
from infra.local.provider.tables import (
    artifacts,
    builds,
    compute,
    federation,
    firewalls,
    identity,
    keys,
    messages,
    monitoring,
    run,
    secrets,
    storage,
    tpu,
)

_SERVICES = (
    artifacts,
    builds,
    compute,
    federation,
    firewalls,
    identity,
    keys,
    messages,
    monitoring,
    run,
    secrets,
    storage,
    tpu,
)

TYPES: Final[Mapping[str, ResourceType]] = MappingProxyType(
    {kind.token: kind for service in _SERVICES for kind in service.TYPES}
)
