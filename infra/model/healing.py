"""How fast a pool's VMs may be lost and made again: what the controller keeps to and what a preview says of it.

Owns the figures that follow from a pool's size. Does not own what a stack file sets (`schema.Controller`).
"""

from __future__ import annotations

import math
from typing import Final

LOSS_AN_HOUR: Final = 0.2
"""The share of a pool of spot or preemptible VMs that a pool must bear to lose in an hour, hour after hour. Google
publishes no rate; it is what a week of the simulation is held to (docs/proof.md)."""

_REPLACED: Final = 4
"""A pool's VMs may all be replaced within so many hours, however many they are."""


def replaced_an_hour(vms: int, setting: int) -> int:
    """How many VMs of a pool of this size may be replaced within an hour. setting: `replacements_per_hour`."""
    return max(setting, math.ceil(vms / _REPLACED))


def lost_an_hour(vms: int) -> float:
    """How many VMs of a pool of this size Google may take away within an hour."""
    return LOSS_AN_HOUR * vms
