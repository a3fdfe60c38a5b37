"""The engines that plan and apply and the clouds where resources live, by name. What an engine is asked is
`infra.engines.protocol`; which is taken is `infra.engines.choose`."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

DEFAULT_PARALLEL: Final = 32
"""Resources that an engine works on at once, where nobody says how many."""


class EngineName(StrEnum):
    """Who plans and applies: the embedded engine, or the official pulumi CLI."""

    LOCAL = "local"
    PULUMI = "pulumi"


class CloudName(StrEnum):
    """Where resources live: the embedded cloud on loopback, or Google's."""

    LOCAL = "local"
    GOOGLE = "google"

    @property
    def said(self) -> str:
        return "Google Cloud" if self is CloudName.GOOGLE else "the local cloud"
