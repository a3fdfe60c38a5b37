"""Resource values as the pulumi CLI writes them into events, previews and state.

Owns masking (secrets, unknown values), property paths, and the difference of one property. Does not own which
properties differ: the provider says that.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Literal

from infra.model import property_paths as paths
from infra.model.plan import PropertyChange
from infra.model.secret_values import MASK, SECRET_SIGNATURE, SIGNATURE, UNKNOWN_MASK, UNKNOWN_TEXTS


def secret(value: Any) -> dict[str, str]:
    """A value as a state has it that the CLI is to encrypt when it reads the state."""
    return {SIGNATURE: SECRET_SIGNATURE, "plaintext": json.dumps(value)}


def masked(value: Any) -> Any:
    """The value with secrets and unknown values replaced by their marks, at any depth."""
    if isinstance(value, Mapping):
        if value.get(SIGNATURE) == SECRET_SIGNATURE:
            return MASK
        return {key: masked(item) for key, item in value.items()}
    if isinstance(value, list):
        return [masked(item) for item in value]
    if isinstance(value, str) and value in UNKNOWN_TEXTS:
        return UNKNOWN_MASK
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
    for part in paths.parse(path):
        if value == MASK:
            return MASK
        value = paths.get(value, (part,))
    return None if value is paths.ABSENT else value


def _kind(word: str) -> Literal["add", "update", "delete"]:
    match word:
        case "add" | "update" | "delete":
            return word
    raise ValueError(f"the pulumi CLI gave an unknown kind of difference: {word!r}")
