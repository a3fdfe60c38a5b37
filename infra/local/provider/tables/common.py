"""Properties that many types share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from infra.local.provider.fields import Field, block, text
from infra.local.provider.policy import tidy_member

PROJECT: Final = text(replaces=True, server=True, local=True)

COMMON: Final[Mapping[str, Field]] = {
    "project": PROJECT,
    "deletionPolicy": text(server=True, local=True, choices=("DELETE", "PREVENT", "ABANDON")),
}

_EVERYONE = ("allUsers", "allAuthenticatedUsers", "projectOwners", "projectReaders", "projectWriters")


def _is_member(value: str) -> str | None:
    if value.startswith("deleted:"):
        return f"{value!r} is an account that was deleted; it cannot be granted anything"
    if value in _EVERYONE or re.fullmatch(r"[A-Za-z]+:.+", value):
        return None
    return f"{value!r} is not a member such as serviceAccount:EMAIL or allUsers"


def _same_member(old: str, new: str) -> bool:
    return tidy_member(old) == tidy_member(new)


GRANT: Final[Mapping[str, Field]] = {
    "role": text(required=True, replaces=True),
    "member": text(required=True, replaces=True, rule=_is_member, same=_same_member),
    "condition": block(
        {
            "title": text(required=True, replaces=True),
            "expression": text(required=True, replaces=True),
            "description": text(replaces=True),
        },
        replaces=True,
    ),
    "etag": text(computed=True),
}
"""One member of one role, perhaps under a condition: every part of it is what it is, so every change replaces."""

TIDY_GRANT: Final[Mapping[str, Callable[[str], str]]] = {"member": tidy_member}
