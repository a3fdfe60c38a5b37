"""Chips against limits: who draws what on each reservation and quota, and what remains.

Owns the sums. Does not own what happens when a sum is too large (rules) nor how it is shown (preview).

Pools of sibling stacks in the same project count too: Google counts them, whichever file they stand in.
`held_elsewhere` is only what nobody in this repository declares.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from infra.model.catalogue import CapacityKind, Generation
from infra.model.run_capacity import run_choices
from infra.model.schema import Pool, Quota, Reservation, Slices, StackConfig, Window
from infra.model.windows import HORIZON, Peak, peak


@dataclass(frozen=True, slots=True, kw_only=True)
class Draw:
    """The chips that one pool, slices of the cluster, or VMs of runs at their most, take in one zone.

    fallback: slices of elsewhere that may come there in a stockout.
    """

    stack: str
    pool: str
    slices: int
    chips_per_slice: int
    fallback: int = 0
    of_runs: bool = False

    @property
    def chips(self) -> int:
        """At worst, with every slice that may come."""
        return (self.slices + self.fallback) * self.chips_per_slice

    def __str__(self) -> str:
        slices = f"({self.slices} + {self.fallback} by fallback)" if self.fallback else str(self.slices)
        return f"{self.stack}/{self.pool} {slices} x {self.chips_per_slice} = {self.chips}"


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowDraw:
    """The chips that one window of a pool takes while it is open, those that may come by fallback with them."""

    stack: str
    pool: str
    window: Window
    slices: int
    chips_per_slice: int

    @property
    def chips(self) -> int:
        return self.slices * self.chips_per_slice

    def __str__(self) -> str:
        return (
            f"{self.stack}/{self.pool} window {self.window.name} {self.slices} x {self.chips_per_slice} = {self.chips}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitAccount:
    """One limit with everything that draws on it, all in chips. windows: what draws on it by the hour."""

    limit: Reservation | Quota
    held_elsewhere: int
    draws: tuple[Draw, ...]
    windows: tuple[WindowDraw, ...] = ()

    @property
    def used(self) -> int:
        """Outside windows."""
        return self.held_elsewhere + sum(draw.chips for draw in self.draws)

    @property
    def runs(self) -> int:
        """Of these, what VMs of runs may hold at once."""
        return sum(draw.chips for draw in self.draws if draw.of_runs)

    @property
    def remaining(self) -> int:
        """Negative where the limit is exceeded."""
        return self.limit.chips - self.used

    def peak(self, begin: datetime) -> int:
        """The most chips that windows draw together at any instant from `begin` on."""
        drawn = self._drawn()
        if len(drawn) == 1 and drawn[0][0].until is None:
            return drawn[0][1]  # it opens again for ever: looking for the instant takes longer
        return peak(drawn, begin, begin + HORIZON).amount

    def overdrawn(self, begin: datetime) -> Peak | None:
        """The first instant from `begin` on at which windows draw most, where that is more than the limit has.

        None where it suffices at every minute. Instants are only looked for where all windows together would not fit.
        """
        if self.used + sum(each.chips for each in self.windows) <= self.limit.chips:
            return None
        found = peak(self._drawn(), begin, begin + HORIZON)
        return found if self.used + found.amount > self.limit.chips else None

    def _drawn(self) -> list[tuple[Window, int]]:
        return [(each.window, each.chips) for each in self.windows]

    def sum_shown(self, at: Peak | None = None) -> str:
        """The sum pool by pool: `tpu-a 2 x 4 = 8, held elsewhere 4, together 12 of 10`. at: with its windows."""
        parts = [str(each) for each in self.draws]
        parts += [str(self.windows[index]) for index in at.open] if at else []
        if self.held_elsewhere:
            parts.append(f"held elsewhere {self.held_elsewhere}")
        together = self.used + (at.amount if at else 0)
        return f"{', '.join(parts)}, together {together} of {self.limit.chips} chips"


def accounts(config: StackConfig, siblings: Sequence[StackConfig] = ()) -> tuple[LimitAccount, ...]:
    """An account for each reservation and then for each quota, in the order in which the stack declares them."""
    return tuple(account(limit, [config, *siblings]) for limit in (*config.reservations, *config.quotas))


def account(limit: Reservation | Quota, stacks: Sequence[StackConfig]) -> LimitAccount:
    """What pools of those stacks draw on one limit."""
    near = [stack for stack in stacks if stack.project == limit.project]
    pools = [(stack.stack, pool) for stack in near for pool in stack.holders]
    draws = [draw for stack, pool in pools if (draw := _draw(limit, stack, pool)) is not None]
    draws += [draw for stack in near if (draw := _run_draw(limit, stack)) is not None]
    by_window = tuple(
        draw for stack, pool in pools if isinstance(pool, Pool) for draw in _window_draws(limit, stack, pool)
    )
    held = limit.held_elsewhere if isinstance(limit, Reservation) else 0
    return LimitAccount(limit=limit, held_elsewhere=held, draws=tuple(draws), windows=by_window)


def _draw(limit: Reservation | Quota, stack: str, pool: Pool | Slices) -> Draw | None:
    """What one pool takes of a limit at worst: a fallback that draws on it may bring every slice of the pool there, and
    a cluster that scales has its maximum.
    """
    at_home = pool.zones.get(limit.zone, 0) if _is_home(limit, pool) else 0
    away = pool.slices - at_home if _may_come(limit, pool) else 0
    if not at_home + away:
        return None
    return Draw(stack=stack, pool=pool.name, slices=at_home, chips_per_slice=pool.accelerator.chips, fallback=away)


def _run_draw(limit: Reservation | Quota, config: StackConfig) -> Draw | None:
    """What runs take of a limit in its zone: all that may exist at once, each of the largest type."""
    found = [
        each
        for each in run_choices(config)
        if each.zone == limit.zone and draws_on(limit, each.accelerator.generation, each.kind)
    ]
    if not found or not found[0].runs.at_once:
        return None
    most = max(each.accelerator.chips for each in found)
    runs = found[0].runs
    return Draw(stack=config.stack, pool=f"{runs.pool} runs", slices=runs.at_once, chips_per_slice=most, of_runs=True)


def _window_draws(limit: Reservation | Quota, stack: str, pool: Pool) -> Iterator[WindowDraw]:
    chips, home, away = pool.accelerator.chips, _is_home(limit, pool), _may_come(limit, pool)
    for window in pool.windows:
        slices = sum(count for zone, count in window.adds.items() if away or (home and zone == limit.zone))
        if slices:
            yield WindowDraw(stack=stack, pool=pool.name, window=window, slices=slices, chips_per_slice=chips)


def _is_home(limit: Reservation | Quota, pool: Pool | Slices) -> bool:
    """Whether the pool's slices draw on the limit where they are in its zone."""
    return draws_on(limit, pool.accelerator.generation, pool.capacity.kind)


def _may_come(limit: Reservation | Quota, pool: Pool | Slices) -> bool:
    """Whether a fallback of the pool draws on the limit."""
    return any(
        each.zone == limit.zone and draws_on(limit, pool.accelerator.generation, each.capacity.kind)
        for each in (pool.fallback if isinstance(pool, Pool) else ())
    )


def draws_on(limit: Reservation | Quota, generation: Generation, kind: CapacityKind) -> bool:
    """Whether slices of that generation and kind, in the limit's project and zone, take their chips of it."""
    if generation is not limit.generation:
        return False
    return limit.covers(kind) if isinstance(limit, Quota) else kind is CapacityKind.RESERVED
