"""The rule of pools that Google takes VMs from faster than the controller may make them again.

Owns the comparison. Does not own how fast either is (`infra.model.healing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model import healing
from infra.model.catalogue import CapacityKind
from infra.model.partial import has
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _sinks(edit: Edit) -> Iterator[Broken]:
    controller = edit.after.controller if has(edit.after, "controller") else None
    if controller is None or not has(controller, "every_minutes") or not has(edit.after, "pools"):
        return
    every = controller.every_minutes
    for pool in edit.after.pools:
        if not has(pool, "name", "zones", "capacity") or pool.capacity.kind is not CapacityKind.PREEMPTIBLE:
            continue
        lost, made = healing.lost_an_hour(pool.slices), healing.made_an_hour(pool.slices, every)
        if made < lost:
            said = (
                f"its {pool.slices} preemptible VMs may lose {lost:.1f} an hour, and with a sweep every {every} "
                f"minutes {made:g} an hour are made again: it sinks below what is declared and does not come back"
            )
            yield Broken(pool.name, said)


RULES: Final = (
    EditRule(
        id="pool-sustained",
        level=Level.WARN,
        reason="A fleet that loses VMs faster than it may make them never has what it declares.",
        fix="a smaller tidepool:controller.every_minutes, or capacity that Google does not take away",
        check=_sinks,
    ),
)
