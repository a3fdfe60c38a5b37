"""The VMs that a published manifest names, as limits and phases see them.

Owns the reading of a manifest by somebody who only has the document. Does not own where it is kept (fleet) nor its
shape (`infra.model.manifest`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from infra.model.bounds import Fleet, Vm, fleet
from infra.model.catalogue import CapacityKind, accelerator_types
from infra.model.fleet import slots
from infra.model.manifest import VERSION, declared_slots
from infra.model.node import node_spec
from infra.model.schema import StackConfig

_IN_PLACE: Final = frozenset(("dataDisks", "description", "labels", "metadata", "tags"))
"""What of a node changes without a replacement; the startup script among the metadata is not even known here."""


def standing(document: Mapping[str, Any], config: StackConfig) -> Fleet | None:
    """The VMs of a manifest; None where it is of another version or shape.

    config: the stack as it is wanted, by which a VM that would be replaced is told from one that stays.
    """
    if document.get("version") != VERSION:
        return None
    wanted = fleet(config)
    nodes = {slot.name: _form(node_spec(config, slot).to_api()) for slot in slots(config)}
    try:
        return {slot["name"]: _vm(slot, wanted, nodes) for slot in declared_slots(document)}
    except (KeyError, TypeError, ValueError):
        return None


def _vm(slot: Mapping[str, Any], wanted: Fleet, nodes: Mapping[str, object]) -> Vm:
    form = _form(slot["node"])
    same = slot["name"] in wanted and nodes[slot["name"]] == form
    return Vm(
        pool=slot["pool"],
        project=slot["project"],
        zone=slot["zone"],
        accelerator=accelerator_types()[slot["accelerator"]],
        capacity=CapacityKind(slot["capacity"]),
        form=wanted[slot["name"]].form if same else form,
    )


def _form(node: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in node.items() if key not in _IN_PLACE}
