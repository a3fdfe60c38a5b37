"""Properties that most types share."""

from __future__ import annotations

from infra.local.provider.fields import Field, text

PROJECT = text(replaces=True, server=True, local=True)
DELETION_POLICY = text(server=True, local=True, choices=("DELETE", "PREVENT", "ABANDON"))

COMMON: dict[str, Field] = {"project": PROJECT, "deletionPolicy": DELETION_POLICY}
