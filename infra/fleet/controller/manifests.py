"""What the controller takes from a fleet manifest.

Owns reading the document. Does not own the document (`infra.model.manifest`, docs/manifest.md) nor the types that it is
read into (`desired`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, TypeAlias

from pydantic import ValidationError

from infra.fleet.controller.desired import Cap, ControllerSettings, Desired, DesiredSlot, SlotPlace
from infra.model.catalogue import AcceleratorType, CapacityKind, UnknownNameError
from infra.model.manifest import declared_slots, possible_slots
from infra.model.schema import Freeze, Window

VERSION: Final = 1

_Bodies: TypeAlias = dict[tuple[str, CapacityKind], Mapping[str, Any]]


class ManifestError(ValueError):
    """A manifest that cannot be acted on; its text says what is the matter."""


def read_for(stack: str, project: str, document: Mapping[str, Any]) -> Desired:
    """The desired fleet of the manifest of a stack in a project; ManifestError also where it is another's."""
    desired = read(document)
    if (desired.stack, desired.project) != (stack, project):
        found = f"stack {desired.stack} in project {desired.project}"
        raise ManifestError(f"the manifest is of {found}, and stack {stack} in project {project} was asked for")
    return desired


def read(document: Mapping[str, Any]) -> Desired:
    """The desired fleet of a manifest; ManifestError where it is damaged or its version is not known.

    Damage is never read as less than was declared: what is not declared any more is deleted.
    """
    if document.get("version") != VERSION:
        raise ManifestError(
            f"the manifest has version {document.get('version')!r}, and this controller reads {VERSION}: update it"
        )
    try:
        standing = len(declared_slots(document))
        alike: _Bodies = {}
        slots = _distinct(_slot(each, alike) for each in possible_slots(document))
        return Desired(
            stack=_text(document, "stack"),
            project=_text(document, "project"),
            slots=slots[:standing],
            closed=tuple(replace(slot, in_window=True) for slot in slots[standing:]),
            windows=_windows(document),
            bundle=_bundle(document.get("bundle")),
            caps=tuple(_cap(each) for each in _list(document, "limits")),
            freezes=tuple(Freeze.model_validate(each) for each in _list(document, "freezes")),
            settings=_settings(_object(document, "controller")),
            groups=bool(_object(_object(document, "controller"), "groups")),
            run_zones=frozenset(_texts(document, "run_zones")),
        )
    except ManifestError:
        raise
    except KeyError as error:
        raise ManifestError(f"the manifest cannot be read: it lacks {error}") from None
    except (AttributeError, TypeError, UnknownNameError, ValidationError, ValueError) as error:
        raise ManifestError(f"the manifest cannot be read: {' '.join(str(error).split())}") from None


def _windows(document: Mapping[str, Any]) -> dict[str, tuple[Window, ...]]:
    found: dict[str, tuple[Window, ...]] = {}
    for each in _list(document, "windows"):
        window = Window.model_validate({key: value for key, value in each.items() if key != "pool"})
        found[_text(each, "pool")] = (*found.get(each["pool"], ()), window)
    return found


def _bundle(digest: Any) -> str | None:
    if digest is None:
        return None
    kind, _, found = str(digest).partition(":")
    if kind != "sha256" or not found:
        raise ManifestError(f"the manifest's bundle is {digest!r}, and it must be a digest, sha256:...")
    return found


def _distinct(slots: Iterable[DesiredSlot]) -> tuple[DesiredSlot, ...]:
    found = tuple(slots)
    if len({slot.name for slot in found}) != len(found):
        raise ManifestError("the manifest has two slots of one name")
    return found


def _slot(slot: Mapping[str, Any], alike: _Bodies) -> DesiredSlot:
    name, accelerator = _text(slot, "name"), AcceleratorType.parse(slot["accelerator"])
    return DesiredSlot(
        name=name,
        pool=_text(slot, "pool"),
        accelerator=accelerator,
        places=tuple(_place(each, name, accelerator, alike) for each in (slot, *_list(slot, "fallbacks"))),
        serves=_texts(slot, "serves"),
        labels=frozenset(_texts(slot, "runner_labels")),
    )


def _place(place: Mapping[str, Any], name: str, accelerator: AcceleratorType, alike: _Bodies) -> SlotPlace:
    """Chips are counted by the slot's accelerator, so what would be made must be of that.

    alike: what the last VM of each zone and kind of capacity is made of. Equal ones are one, since a large fleet's are
    most of its memory.
    """
    zone, node = _text(place, "zone"), place["node"]
    if not isinstance(node, Mapping) or node.get("acceleratorType") != accelerator.name:
        raise ManifestError(f"the manifest's {name} has no node of {accelerator.name} in {zone}")
    kind, reservation = CapacityKind(place["capacity"]), place.get("reservation")
    if alike.get((zone, kind)) != node:
        alike[zone, kind] = node
    return SlotPlace(zone=zone, capacity=kind, reservation=reservation, node=alike[zone, kind])


def _cap(limit: Mapping[str, Any]) -> Cap:
    return Cap(
        name=limit["name"],
        zone=limit["zone"],
        generation=limit["generation"],
        chips=_count(limit, "chips", limit["chips"]),
        covers=frozenset(CapacityKind(kind) for kind in _texts({"covers": limit["covers"]}, "covers")),
        reservation=limit.get("reservation"),
        held_elsewhere=_count(limit, "held_elsewhere", 0),
        siblings=_count(limit, "siblings", 0),
        windows=tuple(
            (
                Window.model_validate({key: value for key, value in each.items() if key != "chips"}),
                _count(each, "chips", 0),
            )
            for each in _list(limit, "windows")
        ),
    )


def _settings(given: Mapping[str, Any]) -> ControllerSettings:
    """The manifest's words for them are those of the stack file (`tidepool:controller`, `tidepool:runners`)."""
    usual = ControllerSettings()
    share = given.get("share", usual.share)
    if not isinstance(share, int | float) or not 0 < share <= 1:
        raise ManifestError(f"the manifest's share is {share!r}, and it must be above 0 and at most 1")
    return ControllerSettings(
        boot=_count(given, "boot_minutes", usual.boot, least=1),
        job=_count(given, "job_minutes", usual.job),
        grace=_count(given, "grace_minutes", usual.grace),
        replacements=_count(given, "replacements_per_hour", usual.replacements),
        share=share,
        every=_count(given, "every_minutes", usual.every, least=1),
    )


def _text(of: Mapping[str, Any], key: str) -> str:
    value = of[key]
    if not isinstance(value, str) or not value:
        raise ManifestError(f"the manifest's {key} is {value!r}, and it must be a name")
    return value


def _texts(of: Mapping[str, Any], key: str) -> tuple[str, ...]:
    value = _list(of, key)
    if not all(isinstance(each, str) and each for each in value):
        raise ManifestError(f"the manifest's {key} is {value!r}, and it must be a list of names")
    return tuple(value)


def _list(of: Mapping[str, Any], key: str) -> list[Any]:
    """A list, empty where the key is left out. Of a text or an object in its place, letters or keys would be read."""
    value = of.get(key, [])
    if not isinstance(value, list):
        raise ManifestError(f"the manifest's {key} is {value!r}, and it must be a list")
    return value


def _object(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """An object, empty where the key is left out or null."""
    value = of.get(key)
    if value is not None and not isinstance(value, Mapping):
        raise ManifestError(f"the manifest's {key} is {value!r}, and it must be an object")
    return value or {}


def _count(of: Mapping[str, Any], key: str, usual: int, *, least: int = 0) -> int:
    value = of.get(key, usual)
    if not isinstance(value, int) or isinstance(value, bool) or value < least:
        raise ManifestError(f"the manifest's {key} is {value!r}, and it must be a whole number from {least} on")
    return value
