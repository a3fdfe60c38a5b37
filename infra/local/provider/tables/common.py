"""Properties that many types share."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Final

from infra.local.provider.fields import Field, block, text
from infra.local.provider.policy import case_matters, tidy_member

PROJECT: Final = text(replaces=True, server=True, local=True)

COMMON: Final[Mapping[str, Field]] = {
    "project": PROJECT,
    "deletionPolicy": text(server=True, local=True, choices=("DELETE", "PREVENT", "ABANDON")),
}

_EVERYONE = ("allUsers", "allAuthenticatedUsers", "projectOwners", "projectReaders", "projectWriters")


def _is_member(value: str) -> str | None:
    """As lax as Google's provider: what no service knows is for the service to refuse."""
    if value.startswith("deleted"):
        return f"{value!r} is an account that was deleted; it cannot be granted anything"
    if re.search(".+:.+", value) or any(each in value for each in _EVERYONE):
        return None
    return f"{value!r} is not a member such as serviceAccount:EMAIL or allUsers"


def _same_member(old: str, new: str) -> bool:
    if case_matters(old) or case_matters(new):
        return old == new
    return old.lower() == new.lower()


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

LATE: Final = frozenset({"project", "location"})
"""What a grant takes from the settings only when it is made."""

TIDY_GRANT: Final[Mapping[str, Callable[[str], str]]] = {"member": tidy_member}
