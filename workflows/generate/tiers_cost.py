"""What the TPU VMs of tests cost in a month, by list prices: as expected, and at most."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil

from infra.model.cost import HOURS_PER_MONTH, slices_cost
from infra.model.errors import ConfigError, Problem
from infra.model.images.cost import count
from workflows.spec import Spec
from workflows.spec.tiers import Tiers
from workflows.world import StackPool

_YEAR = 2027
"""Any year that is no leap year, to count how often a schedule comes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCost:
    """US dollars. hour: of one VM. runs: a month, on average. usual: where only the tests' own time is used up.

    most: where every run takes its whole limit. standing: of a VM that is never deleted.
    """

    __test__ = False

    hour: Decimal
    runs: Decimal
    usual: Decimal
    most: Decimal
    standing: Decimal

    def __str__(self) -> str:
        return (
            f"TPU VMs by list price: ${self.hour} an hour, {self.runs:.1f} runs a month: ${self.usual:.2f} where they\n"
            f"take what the tests may, ${self.most:.2f} at most; one that stands would be ${self.standing:.2f}."
        )


def cost(spec: Spec, tiers: Tiers, shape: StackPool) -> TestCost:
    """The month's cost; ConfigError where no price is published, or the most of it is over the budget."""
    pool, tests = shape.pool, tiers.on_tpu
    zone = min(pool.zones)
    hourly = slices_cost(pool.accelerator, zone, pool.capacity, 1, hours=Decimal(HOURS_PER_MONTH))
    if hourly is None:
        rule = "what these tests cost is known by a published price"
        line = spec.line("tiers", "on_tpu", "vm")
        raise ConfigError([Problem(str(line), pool.name, rule, "a pool on demand, spot or preemptible")])
    runs = times_a_month(tiers.nightly.schedule) + tiers.asked.times_a_month
    found = TestCost(
        hour=hourly.hour,
        runs=runs,
        usual=runs * hourly.hour * tests.timeout_minutes / 60,
        most=runs * hourly.hour * tests.job_minutes / 60,
        standing=hourly.month,
    )
    if found.most > tiers.money.usd_per_month:
        allowed = tiers.money.usd_per_month
        vm = f"a VM of pool {pool.name} in stack {shape.stack.stack}, {pool.capacity}, ${hourly.hour:.2f} an hour"
        said = f"up to ${found.most:.2f} a month: {runs:.1f} runs on {vm}"
        rule = f"the TPU VMs of the tests stay within their budget of ${allowed}"
        line = spec.line("tiers", "money", "usd_per_month")
        cheaper = f"a cheaper capacity in stacks/Pulumi.{shape.stack.stack}.yaml, or fewer and shorter runs"
        raise ConfigError([Problem(str(line), said, rule, f"usd_per_month: {ceil(found.most)}, {cheaper}")])
    return found


def times_a_month(crons: Iterable[str]) -> Decimal:
    """How often schedules come in a month, on average of a year."""
    begin, end = (datetime(year, 1, 1, tzinfo=UTC) for year in (_YEAR, _YEAR + 1))
    return Decimal(sum(count(cron, begin, end) for cron in crons)) / 12
