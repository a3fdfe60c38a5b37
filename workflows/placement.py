"""Where work runs and why (a pool of the fleet, a runner of GitHub's, a VM made for the run), and what such VMs cost.

Owns the decision tree. A suite names its runners, since which chips it is for is its author's to say; a run names what
it needs, and the fleet decides. The reason is written above the generated job. Costs are by list prices, a month.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from math import ceil

from infra.model.catalogue import AcceleratorType
from infra.model.cost import HOURS_PER_MONTH, slices_cost
from infra.model.errors import ConfigError, Problem
from infra.model.images.cost import count
from infra.model.schema import Trust
from workflows.builders import Hosted, Ours, context
from workflows.spec import Spec
from workflows.spec.model import Priority, RunKind, Suite, TpuRun
from workflows.spec.tiers import OnTpu, Tiers, TpuTier
from workflows.spec.values import POOL_EVENTS
from workflows.world import StackPool, World

SELF_HOSTED = "self-hosted"
_YEAR = 2027
"""Any year that is no leap year, to count how often a schedule comes."""
_LIMITED = (
    "GitHub knows no priorities: whoever asks first gets a free runner.\nSo max-parallel limits the legs of one run."
)
_NO_LIMIT = "The legs of one run leave that many without a limit."


@dataclass(frozen=True, slots=True)
class WantedPool:
    """A pool that a suite names. label: GitHub finds its runners by it. slices: decide, and are written nowhere.

    A name that no stack has is a label without runners, which `infra.model.fit` reports.
    """

    name: str
    label: str
    slices: int
    text: str

    @classmethod
    def of(cls, name: str, world: World) -> WantedPool:
        found = world.pool(name)
        if found is None:
            return cls(name, name, 0, f"{name} (in no stack)")
        return cls(name, found.pool.label, found.pool.slices, _described(found))


@dataclass(frozen=True, slots=True)
class OnPools:
    """Runners of pools, by event."""

    pools: Mapping[str, tuple[WantedPool, ...]]
    max_parallel: int | None
    why: str

    def labels(self, event: str) -> tuple[str, ...]:
        """The labels that legs of a run by that event wait for."""
        return tuple(each.label for each in self.pools.get(event, ()))

    @property
    def differs(self) -> bool:
        """Whether legs run on unlike pools."""
        return len(self._every()) > 1

    @property
    def runner(self) -> Ours:
        labels = self._every()
        return Ours([SELF_HOSTED, context("matrix.pool") if len(labels) > 1 else labels[0]])

    def _every(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(label for event in self.pools for label in self.labels(event)))


@dataclass(frozen=True, slots=True)
class OnGitHub:
    """A runner of GitHub's."""

    why: str

    @property
    def runner(self) -> Hosted:
        return Hosted()


@dataclass(frozen=True, slots=True)
class OnVm:
    """A VM that is made for the run as `shape` says, and deleted after it."""

    shape: StackPool
    why: str


def place_suite(suite: Suite, neighbours: Sequence[Suite], world: World) -> OnPools | OnGitHub:
    """Where a suite runs. neighbours: the other suites of the specification, which may want the same pools."""
    if suite.where.hosted:
        return OnGitHub("On GitHub's runners: these tests need no accelerator.")
    pools = _wanted(suite, world)
    shared = _shared(suite, neighbours, pools)
    most = min((each.most for each in shared if each.legs > each.most), default=None)
    lines = ["Unit tests go to runners that stand ready.", *_standing(pools)]
    if suite.priority is Priority.FIRST:
        lines.append("Priority first: all its legs at once.")
    elif shared:
        lines += [*(each.text for each in shared), _NO_LIMIT if most is None else _LIMITED]
    return OnPools(pools, most, "\n".join(lines))


def _wanted(suite: Suite, world: World) -> dict[str, tuple[WantedPool, ...]]:
    """The pools that a suite names, by event."""
    return {event: tuple(WantedPool.of(name, world) for name in each) for event, each in suite.where.pools.items()}


def place_run(run: TpuRun, repository: str, world: World) -> OnPools | OnVm:
    """Where a run goes: an integration test to a pool that is large enough, if there is one; else a VM of its own."""
    shape = known(run.vm, world)
    if run.kind is RunKind.TRAINING:
        why = "Training goes to a VM made for the run: on a runner, its hours would be everybody else's wait."
        return OnVm(shape, why)
    large = [each for each in world.pools() if fits(each, run.accelerator, repository)]
    if large:
        first = min(large, key=lambda each: (each.pool.accelerator.chips, each.pool.name))
        needed = f"{_described(first)}, where {run.accelerator.name} is needed"
        why = f"An integration test goes to a pool that is large enough: {needed}."
        return OnPools({"push": (WantedPool.of(first.pool.name, world),)}, None, why)
    serving = ", ".join(_described(each) for each in world.pools() if repository in each.pool.serves) or "none"
    why = (
        f"A VM made for the run: the test needs {run.accelerator.name}, and no VM of the pools that serve this\n"
        f"repository has it ({serving}).\n"
        "With such a pool in a stack, this job is generated for its runners."
    )
    return OnVm(shape, why)


def fits(each: StackPool, wanted: AcceleratorType, repository: str) -> bool:
    """Whether a job of the repository's main branch finds on that pool what it wants, or more of the same kind."""
    offered = each.pool.accelerator
    return (
        each.pool.slices > 0
        and repository in each.pool.serves
        and each.pool.trust is not Trust.FORK
        and offered.generation == wanted.generation
        and offered.chips >= wanted.chips
        and offered.hosts == 1
    )


def known(name: str, world: World) -> StackPool:
    """The pool of that name; ConfigError where there is none."""
    pool = world.pool(name)
    if pool is None:
        there = ", ".join(each.pool.name for each in world.pools())
        raise ConfigError([Problem(f"pool {name}", "", "no stack has this pool", f"one of {there}")])
    return pool


@dataclass(frozen=True, slots=True)
class _Shared:
    """A pool that suites with priority want too.

    legs: of one run of the suite in question, there. left: VMs that it leaves to those that are first.
    """

    wanted: WantedPool
    first: str
    legs: int
    left: int
    declared: bool

    @property
    def most(self) -> int:
        """Legs of one run that may be there at once: the pool without what is left, and never less than one."""
        return max(1, self.wanted.slices - self.left)

    @property
    def text(self) -> str:
        vms = "1 VM" if self.left == 1 else f"{self.left} VMs"
        declared = ", by leave_free" if self.declared else ""
        return f"{self.first} comes first on {self.wanted.name}: this job leaves it {vms}{declared}."


def crowded(spec: Spec, world: World) -> Iterator[Problem]:
    """The pools that have no VM for a suite beside those that it leaves to suites that come first."""
    neighbours = tuple(suite for tests in spec.declared.tests for suite in tests.suites)
    for index, tests in enumerate(spec.declared.tests):
        for place, suite in enumerate(tests.suites):
            for each in _shared(suite, neighbours, _wanted(suite, world)):
                if 0 < each.wanted.slices <= each.left:
                    subject = str(spec.line("tests", index, "suites", place))
                    rule = f"too small: {each.text} One leg runs there all the same"
                    fix = f"a higher count in pool {each.wanted.name}, or a lower leave_free of {suite.job}"
                    yield Problem(subject, f"pool {each.wanted.name} with {each.wanted.slices} VMs", rule, fix)


def _shared(suite: Suite, neighbours: Sequence[Suite], pools: Mapping[str, tuple[WantedPool, ...]]) -> list[_Shared]:
    """The pools of a suite that suites with priority want too, with what it leaves them there."""
    if suite.priority is Priority.FIRST:
        return []
    first = [other for other in neighbours if other.priority is Priority.FIRST]
    found: list[_Shared] = []
    for wanted in dict.fromkeys(each for event in pools.values() for each in event):
        asking = [other for other in first if wanted.name in other.where.every]
        if asking:
            packages = ", ".join(sorted({other.package for other in asking}))
            said = suite.leave_free
            left = _legs(asking, wanted.name) if said is None else said
            found.append(_Shared(wanted, packages, _legs([suite], wanted.name), left, declared=said is not None))
    return found


def _legs(suites: Sequence[Suite], pool: str) -> int:
    """Legs that one event starts on a pool, at the most."""
    return max(
        sum(max(1, len(suite.jax)) for suite in suites if pool in suite.where.pools.get(event, ()))
        for event in POOL_EVENTS
    )


def _standing(pools: Mapping[str, tuple[WantedPool, ...]]) -> Iterator[str]:
    described = {event: ", ".join(wanted.text for wanted in each) for event, each in pools.items()}
    if len(set(described.values())) == 1:
        yield f"{next(iter(described.values()))}."
        return
    for event, each in described.items():
        yield f"{event}: {each}."


def _described(each: StackPool) -> str:
    return f"{each.pool.name} ({each.pool.accelerator.name})"


@dataclass(frozen=True, slots=True, kw_only=True)
class TestCost:
    """US dollars. hour: of the VMs of all shards of all suites. runs: a month, on average.

    usual: where only the tests' own time is used up. most: where every run takes its whole limit. standing: of VMs that
    are never deleted.
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


def cost(spec: Spec, tiers: Tiers, suites: Sequence[tuple[OnTpu, StackPool, AcceleratorType]]) -> TestCost:
    """The month's cost of suites; ConfigError where no price is published, or the most of it is over the budget."""
    asked, nights = Decimal(tiers.asked.times_a_month), times_a_month(tiers.nightly.schedule)
    hour = usual = most = standing = Decimal()
    for place, (tests, shape, accelerator) in enumerate(suites):
        zone = min(shape.pool.zones)
        hourly = slices_cost(accelerator, zone, shape.pool.capacity, tests.shards, hours=Decimal(HOURS_PER_MONTH))
        hour_usd, month_usd = hourly.hour.exact, hourly.month.exact
        if hour_usd is None or month_usd is None:
            rule = "no price is published, so what these tests cost is unknown"
            line = spec.line("tiers", "on_tpu", place, "vm")
            allowed = "a pool on demand, spot or preemptible"
            raise ConfigError([Problem(str(line), shape.pool.name, rule, allowed)])
        runs = sum((nights if tier is TpuTier.NIGHTLY else asked for tier in tests.tiers), Decimal())
        hour, standing = hour + hour_usd, standing + month_usd
        usual += runs * hour_usd * tests.timeout_minutes / 60
        most += runs * hour_usd * tests.job_minutes / 60
    found = TestCost(hour=hour, runs=nights + asked, usual=usual, most=most, standing=standing)
    if found.most > tiers.money.usd_per_month:
        allowed = tiers.money.usd_per_month
        vms = ", ".join(
            f"{tests.shards} x {accelerator.name} as pool {shape.pool.name} in stack {shape.stack.stack}, "
            f"{shape.pool.capacity}"
            for tests, shape, accelerator in suites
        )
        said = f"up to ${found.most:.2f} a month: {found.runs:.1f} runs of {vms}, ${found.hour:.2f} an hour"
        rule = f"the TPU VMs of the tests cost more than their budget of ${allowed}"
        line = spec.line("tiers", "money", "usd_per_month")
        stacks = ", ".join(sorted({f"stacks/Pulumi.{shape.stack.stack}.yaml" for _, shape, _ in suites}))
        cheaper = f"a cheaper capacity in {stacks}, or fewer and shorter runs"
        raise ConfigError([Problem(str(line), said, rule, f"usd_per_month: {ceil(found.most)}, {cheaper}")])
    return found


def times_a_month(crons: Iterable[str]) -> Decimal:
    """How often schedules come in a month, on average of a year."""
    begin, end = (datetime(year, 1, 1, tzinfo=UTC) for year in (_YEAR, _YEAR + 1))
    return Decimal(sum(count(cron, begin, end) for cron in crons)) / 12
