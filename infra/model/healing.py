"""How fast a pool's VMs may be lost and made again: what the controller keeps to and what a preview says of it.

Owns the figures that follow from a pool's size. Does not own what a stack file sets (`schema.Controller`).
"""

from __future__ import annotations

import math
from typing import Final

_REPLACED: Final = 4
"""A pool's VMs may all be replaced within so many hours, however many they are."""


def replaced_an_hour(vms: int, setting: int) -> int:
    """How many VMs of a pool of this size may be replaced within an hour. setting: `replacements_per_hour`."""
    return max(setting, math.ceil(vms / _REPLACED))
