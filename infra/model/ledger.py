"""Chips against limits: who draws what on each reservation and quota, and what remains.

Owns the sums. Does not own what happens when a sum is too large (rules) nor how it is shown (preview).

Pools of sibling stacks in the same project count too: Google counts them, whichever file they stand in.
`held_elsewhere` is only what nobody in this repository declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.model.catalogue import CapacityKind, Generation
from infra.model.partial import has
from infra.model.schema import Quota, Reservation, StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The chips that one pool takes in one zone."""

    stack: str
    pool: str
    slices: int
    chips_per_slice: int

    @property
    def chips(self) -> int:
        return self.slices * self.chips_per_slice


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """One limit with everything that draws on it, all in chips."""

    limit: Reservation | Quota
    held_elsewhere: int
    draws: tuple[Draw, ...]

    @property
    def used(self) -> int:
        return self.held_elsewhere + sum(draw.chips for draw in self.draws)

    @property
    def remaining(self) -> int:
        """Negative where the limit is exceeded."""
        return self.limit.chips - self.used

    def sum_shown(self) -> str:
        """The sum pool by pool: `tpu-a 2 x 4 = 8, held elsewhere 4, together 12 of 10`."""
        parts = [
            f"{each.stack}/{each.pool} {each.slices} x {each.chips_per_slice} = {each.chips}" for each in self.draws
        ]
        if self.held_elsewhere:
            parts.append(f"held elsewhere {self.held_elsewhere}")
        return f"{', '.join(parts)}, together {self.used} of {self.limit.chips} chips"


def accounts(config: StackConfig, siblings: Sequence[StackConfig] = ()) -> tuple[Account, ...]:
    """An account for each reservation and then for each quota, in the order in which the stack declares them."""
    return tuple(account(limit, [config, *siblings]) for limit in (*config.reservations, *config.quotas))


def account(limit: Reservation | Quota, stacks: Sequence[StackConfig]) -> Account:
    """What pools of those stacks draw on one limit."""
    draws = tuple(
        Draw(stack=stack.stack, pool=pool.name, slices=pool.zones[limit.zone], chips_per_slice=pool.accelerator.chips)
        for stack in stacks
        if not has(stack, "project") or stack.project == limit.project
        for pool in stack.pools
        if has(pool, "name", "zones", "accelerator", "capacity")
        and pool.zones.get(limit.zone)
        and draws_on(limit, pool.accelerator.generation, pool.capacity.kind)
    )
    held = limit.held_elsewhere if isinstance(limit, Reservation) else 0
    return Account(limit=limit, held_elsewhere=held, draws=draws)


def draws_on(limit: Reservation | Quota, generation: Generation, kind: CapacityKind) -> bool:
    """Whether slices of that generation and kind, in the limit's project and zone, take their chips of it."""
    if generation is not limit.generation:
        return False
    return limit.covers(kind) if isinstance(limit, Quota) else kind is CapacityKind.RESERVED
