"""What of a stack file is not in the published manifest, and the other way round.

Owns the comparison of the two. What only an apply can know (the bundle, the stub of start-up metadata, the broker's
address) and what other stacks' files say (limits, registries) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.model.json_shape import JsonShape
from infra.model.manifest import manifest
from infra.model.schema import StackConfig

_SETTINGS: Final = ("project", "owner", "freezes", "controller")
_OF_ANY_APPLY: Final = "metadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unapplied(JsonShape):
    """VMs by name. missing: declared and not published. extra: published and declared no more. changed: published
    otherwise than declared. settings: sections of the manifest that the file has otherwise.
    """

    missing: tuple[str, ...] = ()
    extra: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.missing or self.extra or self.changed or self.settings)


def unapplied(config: StackConfig, published: Mapping[str, Any] | None) -> Unapplied:
    """published: the manifest, None where there is none."""
    wanted = manifest(config, bundle="", startup_script="")
    declared = _slots(wanted)
    if published is None:
        return Unapplied(missing=tuple(declared))
    there = _slots(published)
    return Unapplied(
        missing=tuple(name for name in declared if name not in there),
        extra=tuple(name for name in there if name not in declared),
        changed=tuple(name for name, slot in declared.items() if name in there and _differ(slot, there[name])),
        settings=tuple(key for key in _SETTINGS if key in published and _differ(wanted[key], published[key])),
    )


def _slots(document: Mapping[str, Any]) -> dict[str, Any]:
    slots = document.get("slots")
    return {slot["name"]: slot for slot in slots} if isinstance(slots, list) else {}


def _differ(wanted: Any, published: Any) -> bool:
    """Keys that only one of them has are those of another version of Tidepool, or set by it."""
    if isinstance(wanted, dict) and isinstance(published, dict):
        return any(_differ(wanted[key], published[key]) for key in _common(wanted, published))
    if isinstance(wanted, list) and isinstance(published, list):
        return len(wanted) != len(published) or any(map(_differ, wanted, published))
    return wanted != published


def _common(wanted: Mapping[str, Any], published: Mapping[str, Any]) -> Iterator[str]:
    return (key for key in wanted if key in published and key != _OF_ANY_APPLY)
