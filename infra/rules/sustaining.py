"""The rule of pools that Google takes VMs from faster than the controller may make them again.

Owns the comparison. Does not own how fast either is (`infra.model.healing`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from infra.model import healing
from infra.model.catalogue import CapacityKind
from infra.rules.finding import Level
from infra.rules.rule import Broken, Edit, EditRule


def _sinks(edit: Edit) -> Iterator[Broken]:
    if edit.after.controller is None:
        return
    every = edit.after.controller.every_minutes
    for pool in edit.after.pools:
        if pool.capacity.kind is not CapacityKind.PREEMPTIBLE:
            continue
        lost, made = healing.lost_an_hour(pool.slices), healing.made_an_hour(pool.slices, every)
        if made < lost:
            said = (
                f"its {pool.slices} preemptible VMs may lose {lost:.1f} an hour, and a sweep every {every} "
                f"minutes makes {made:g} an hour again: it never has what it declares"
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
