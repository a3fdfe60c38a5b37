"""Chips against limits: who draws what on each reservation and quota, and what remains.

Owns the sums. Does not own what happens when a sum is too large (rules) nor how it is shown (preview).

Pools of sibling stacks in the same project count too: Google counts them, whichever file they stand in.
`held_elsewhere` is only what nobody in this repository declares.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from infra.model.catalogue import CapacityKind, Generation
from infra.model.partial import counted, has
from infra.model.schema import Pool, Quota, Reservation, Slices, StackConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The chips that one pool, or slices of the cluster, take in one zone.

    fallback: slices of elsewhere that may come there in a stockout.
    """

    stack: str
    pool: str
    slices: int
    chips_per_slice: int
    fallback: int = 0

    @property
    def chips(self) -> int:
        """At worst, with every slice that may come."""
        return (self.slices + self.fallback) * self.chips_per_slice

    def __str__(self) -> str:
        slices = f"({self.slices} + {self.fallback} by fallback)" if self.fallback else str(self.slices)
        return f"{self.stack}/{self.pool} {slices} x {self.chips_per_slice} = {self.chips}"


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitAccount:
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
        parts = [str(each) for each in self.draws]
        if self.held_elsewhere:
            parts.append(f"held elsewhere {self.held_elsewhere}")
        return f"{', '.join(parts)}, together {self.used} of {self.limit.chips} chips"


def accounts(config: StackConfig, siblings: Sequence[StackConfig] = ()) -> tuple[LimitAccount, ...]:
    """An account for each reservation and then for each quota, in the order in which the stack declares them."""
    return tuple(account(limit, [config, *siblings]) for limit in (*config.reservations, *config.quotas))


def account(limit: Reservation | Quota, stacks: Sequence[StackConfig]) -> LimitAccount:
    """What pools of those stacks draw on one limit."""
    draws = tuple(
        draw
        for stack in stacks
        if not has(stack, "project") or stack.project == limit.project
        for pool in counted(stack)
        if (draw := _draw(limit, stack.stack, pool)) is not None
    )
    held = limit.held_elsewhere if isinstance(limit, Reservation) else 0
    return LimitAccount(limit=limit, held_elsewhere=held, draws=draws)


def _draw(limit: Reservation | Quota, stack: str, pool: Pool | Slices) -> Draw | None:
    """What one pool takes of a limit at worst: a fallback that draws on it may bring every slice of the pool there, and
    a cluster that scales has its maximum.
    """
    generation = pool.accelerator.generation
    at_home = pool.zones.get(limit.zone, 0) if draws_on(limit, generation, pool.capacity.kind) else 0
    may_come = any(
        has(each, "zone", "capacity") and each.zone == limit.zone and draws_on(limit, generation, each.capacity.kind)
        for each in (pool.fallback if isinstance(pool, Pool) else ())
    )
    away = pool.slices - at_home if may_come else 0
    if not at_home + away:
        return None
    return Draw(stack=stack, pool=pool.name, slices=at_home, chips_per_slice=pool.accelerator.chips, fallback=away)


def draws_on(limit: Reservation | Quota, generation: Generation, kind: CapacityKind) -> bool:
    """Whether slices of that generation and kind, in the limit's project and zone, take their chips of it."""
    if generation is not limit.generation:
        return False
    return limit.covers(kind) if isinstance(limit, Quota) else kind is CapacityKind.RESERVED
