"""Resource values as the pulumi CLI writes them into events, previews and state.

Owns masking (secrets, unknown values), property paths, and the difference of one property. Does not own which
properties differ: the provider says that.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from infra.model import property_paths as paths
from infra.model.plan import PropertyChange

SECRET = "[secret]"  # noqa: S105 - the mask, not a secret
UNKNOWN = "[unknown]"

_SIGNATURE_KEY = "4dabf18193072939515e22adb298388d"
_SECRET_SIGNATURE = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - marks a secret, is none
_UNKNOWN_SENTINELS = frozenset(
    {
        "04da6b54-80e4-46f7-96ec-b56ff0331ba9",
        "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
        "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
        "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
        "030794c1-ac77-496b-92df-f27374a8bd58",
        "e48ece36-62e2-4504-bad9-02848725956a",
        "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
    }
)
"""What stands for an unknown value of each kind (pulumi/pulumi, sdk/go/common/resource/plugin/rpc.go, 2026-11)."""

_PATH_PART = re.compile(r'\["((?:[^"\\]|\\.)*)"\]|\[(\d+)\]|\.?([^.\[]+)')


def secret(value: Any) -> dict[str, str]:
    """A value as a state has it that the CLI is to encrypt when it reads the state."""
    return {_SIGNATURE_KEY: _SECRET_SIGNATURE, "plaintext": json.dumps(value)}


def masked(value: Any) -> Any:
    """The value with secrets and unknown values replaced by their marks, at any depth."""
    if isinstance(value, Mapping):
        if value.get(_SIGNATURE_KEY) == _SECRET_SIGNATURE:
            return SECRET
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str) and value in _UNKNOWN_SENTINELS:
        return UNKNOWN
    return value


def inputs(value: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """A resource's inputs, masked and without the engine's own `__defaults` and `__internal`."""
    if value is None:
        return None
    return {key: masked(item) for key, item in value.items() if not key.startswith("__")}


def change(
    path: str, kind: str, *, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None
) -> PropertyChange:
    """One entry of a `detailedDiff`: `kind` is the CLI's word, such as `update` or `update-replace`."""
    plain, _, replaces = kind.partition("-")
    return PropertyChange(
        kind=_kind(plain),
        before=None if plain == "add" else at(before, path),
        after=None if plain == "delete" else at(after, path),
        replaces=replaces == "replace",
    )


def changes_of_keys(
    keys: Iterable[str], *, before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, replacing: Iterable[str]
) -> dict[str, PropertyChange]:
    """What a provider without a detailed difference says: top-level properties alone."""
    found = {}
    forcing = frozenset(replacing)
    for key in keys:
        had, has = key in (before or {}), key in (after or {})
        found[key] = PropertyChange(
            kind="update" if had and has else "add" if has else "delete",
            before=at(before, key),
            after=at(after, key),
            replaces=key in forcing,
        )
    return found


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, PropertyChange]:
    """Every property in which two masked inputs differ, of a resource that no provider compares: a component."""
    return {
        paths.render(place): PropertyChange(
            kind="add" if old is paths.ABSENT else "delete" if new is paths.ABSENT else "update",
            before=None if old is paths.ABSENT else old,
            after=None if new is paths.ABSENT else new,
        )
        for place, old, new in paths.differences(before, after)
    }


def at(value: Any, path: str) -> Any:
    """The value at a path such as `labels.owner`, `dataDisks[0].mode` or `metadata["a.b"]`; None where there is none.

    Whatever lies within a secret is the mask, since it is all that is known of it.
    """
    for quoted, index, key in _PATH_PART.findall(path):
        if value == SECRET:
            return SECRET
        if index:
            value = value[int(index)] if isinstance(value, list) and int(index) < len(value) else None
        else:
            name = re.sub(r"\\(.)", r"\1", quoted) or key
            value = value.get(name) if isinstance(value, Mapping) else None
    return value


def _kind(word: str) -> Literal["add", "update", "delete"]:
    match word:
        case "add" | "update" | "delete":
            return word
    raise ValueError(f"the pulumi CLI named a kind of difference that is not known here: {word!r}")
