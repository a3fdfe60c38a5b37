"""What the files of the three tiers share: suites on TPUs with their shards, and files of results as artifacts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from infra.model import runs
from infra.model.catalogue import AcceleratorType
from infra.model.errors import ConfigError, Problem
from workflows import steps, vm
from workflows.builders import Expression, Job, always, call, context, literal, template
from workflows.generate.keeping import RESULTS, Keeper, uploaded
from workflows.placement import TestCost, cost
from workflows.scripts import shipped
from workflows.spec import Spec, SpecLine
from workflows.spec.tiers import OnTpu, Tiers, TpuTier, dealt
from workflows.world import StackPool, World

REUSE: Final = "reuse"
"""The job that asks which suites need not run."""
_DELETE_MINUTES, _SPARE_MINUTES, _CREATE_MINUTES = 4, 2, 4
_LEAST_READY_MINUTES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class TpuSuite:
    """One suite on TPUs. shape: the pool as which its VMs are made; accelerator: what they have."""

    place: int
    tests: OnTpu
    shape: StackPool
    accelerator: AcceleratorType

    @property
    def files(self) -> tuple[str, ...]:
        """Of the results of its shards."""
        return tuple(f"{name}.json" for name, _ in self.shards)

    @property
    def shards(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The name of each, and its modules."""
        return shards(self.tests.suite, self.tests.modules, self.tests.shards)


def shards(suite: str, modules: Sequence[str], count: int) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """The shards of a suite, each with its name and its modules; a suite of one shard has the suite's own name."""
    if count == 1:
        return ((suite, tuple(modules)),)
    return tuple((f"{suite}-{number}", each) for number, each in enumerate(dealt(modules, count), 1))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A specification with its tiers, and what they cost."""

    spec: Spec
    tiers: Tiers
    world: World
    suites: tuple[TpuSuite, ...]
    cost: TestCost

    @classmethod
    def of(cls, spec: Spec, tiers: Tiers, world: World) -> Parts:
        """ConfigError where a VM cannot be made as the specification wants it."""
        suites = tuple(_suite(spec, world, place, tests, tests.tiers[0]) for place, tests in enumerate(tiers.on_tpu))
        priced = cost(spec, tiers, [(each.tests, each.shape, each.accelerator) for each in suites])
        return cls(spec=spec, tiers=tiers, world=world, suites=suites, cost=priced)

    def of_tier(self, tier: TpuTier) -> tuple[TpuSuite, ...]:
        """With the pool as which the VMs of that tier are made."""
        return tuple(
            _suite(self.spec, self.world, each.place, each.tests, tier)
            for each in self.suites
            if tier in each.tests.tiers
        )

    def reuses(self, suite: TpuSuite, tier: TpuTier) -> bool:
        """Whether a pass with the same files stands for a run in that tier."""
        return tier in suite.tests.reuse and bool(self.keeper.inputs(suite.tests.suite))

    @property
    def keeper(self) -> Keeper:
        """Who keeps their results."""
        return Keeper(
            spec=self.spec,
            world=self.world,
            results=self.tiers.results,
            usd_per_month=self.tiers.money.usd_per_month,
        )


def _suite(spec: Spec, world: World, place: int, tests: OnTpu, tier: TpuTier) -> TpuSuite:
    name = tests.pool(tier)
    key = "vm" if name == tests.vm else "asked_vm"
    shape, line = world.pool(name), str(spec.line("tiers", "on_tpu", place, key))
    if shape is None:
        there = ", ".join(each.pool.name for each in world.pools())
        raise ConfigError([Problem(line, name, "no stack declares the pool", f"one of {there}")])
    accelerator = tests.accelerator or shape.pool.accelerator
    if accelerator.multi_host:
        rule = "it has several hosts, and these tests run on one"
        raise ConfigError([Problem(line, accelerator.name, rule, "an accelerator of one host")])
    return TpuSuite(place=place, tests=tests, shape=shape, accelerator=accelerator)


def run_suite() -> str:
    """Shell that prints what runs a suite."""
    return f"run_suite() {{\n  cat <<'END_OF_FILE'\n{shipped('run_suite')}END_OF_FILE\n}}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Leg:
    """One shard of one suite of a tier: the job that tests it, and the one that makes sure that its VM is gone."""

    suite: TpuSuite
    name: str
    working: Job
    sure: Job
    reusable: bool

    @property
    def jobs(self) -> tuple[Job, Job]:
        return self.working, self.sure

    @property
    def result(self) -> Expression:
        """How the job ended."""
        return context(f"needs.{self.working.id}.result")

    @property
    def ended(self) -> Expression:
        """How the tests ended, success or failure; empty where that is not known."""
        ended = context(f"needs.{self.working.id}.outputs.ended")
        return reused(self.suite.tests.suite) & literal("success") | ended if self.reusable else ended


def reused(suite: str) -> Expression:
    """Whether an earlier pass stands for a suite."""
    return call("contains", context(f"needs.{REUSE}.outputs.reused"), f"|{suite}|")


def legs(
    parts: Parts,
    tier: TpuTier,
    commit: Expression,
    why: str,
    *,
    needs: tuple[str, ...] = (),
    only: Expression | None = None,
) -> tuple[Leg, ...]:
    """Every shard of every suite of a tier, tested at a commit on a VM of its own.

    only: where they start at all, None for wherever the workflow does.
    """
    named = [(suite, name, modules) for suite in parts.of_tier(tier) for name, modules in suite.shards]
    return tuple(
        _leg(parts, tier, suite, name, modules, number if len(named) > 1 else 0, commit, why, needs=needs, only=only)
        for number, (suite, name, modules) in enumerate(named, 1)
    )


def _leg(
    parts: Parts,
    tier: TpuTier,
    suite: TpuSuite,
    name: str,
    modules: tuple[str, ...],
    number: int,
    commit: Expression,
    why: str,
    *,
    needs: tuple[str, ...],
    only: Expression | None,
) -> Leg:
    """number: among several of a workflow, 0 of one alone. VMs are found by the run's number, so each has its own."""
    tests, accelerator = suite.tests, suite.accelerator
    there = always() & context("steps.run.outputs.result").differs("")
    reusable = parts.reuses(suite, tier)
    run = vm.VmRun(
        job=f"tests-{name}" if number else "tests",
        name=f"Tests on {accelerator.name}: {name}" if number else f"Tests on {accelerator.name}",
        clean_up=f"{vm.CLEAN_UP}-{name}" if number else vm.CLEAN_UP,
        run_id=template(context("github.run_id"), f"x{number}") if number else context("github.run_id"),
        shape=suite.shape,
        accelerator=accelerator,
        image=tests.image,
        command=("/work/venv/bin/python", "/work/run_suite.py", "/work/out/result.json", *modules),
        account=vm.account(parts.world.stacks[parts.spec.declared.stack], parts.spec.declared.repository, suite.shape),
        why=why,
        timeout_minutes=tests.timeout_minutes,
        env={
            **steps.TPU_ENV,
            **_alone(accelerator),
            **tests.env,
            "COMMIT": runs.COMMIT,
            "RUN": runs.RUN,
            "SUITE": name,
            "COVER": tests.cover,
        },
        repository=parts.spec.declared.repository,
        commit=commit,
        install=" && ".join(tests.install),
        carried=("workflows/scripts/run_suite.py",),
        results=("out/result.json",),
        suite=name,
        needs=needs,
        asked=(REUSE,) if reusable else (),
        unless=~reused(tests.suite) if reusable else None,
        only=only,
        at_last=(uploaded(parts.keeper, f"results-{name}", RESULTS, there),),
        outputs={"ended": vm.ENDED},
        attempts=1,
        create_minutes=_CREATE_MINUTES,
        ready_minutes=_ready_minutes(parts, suite),
        delete_minutes=_DELETE_MINUTES,
        spare_minutes=_SPARE_MINUTES,
    )
    working, sure = vm.jobs(run, parts.world)
    return Leg(suite=suite, name=name, working=working, sure=sure, reusable=reusable)


def lines(parts: Parts, made: Sequence[Leg]) -> Iterator[tuple[str, SpecLine]]:
    """Of each job of these, the line that it is made of."""
    for leg in made:
        line = parts.spec.line("tiers", "on_tpu", leg.suite.place)
        yield from ((job.id, line) for job in leg.jobs)


def _ready_minutes(parts: Parts, suite: TpuSuite) -> int:
    """What the job's limit leaves for booting and installing."""
    tests = suite.tests
    left = tests.job_minutes - tests.timeout_minutes - _CREATE_MINUTES - _DELETE_MINUTES - _SPARE_MINUTES
    if left < _LEAST_READY_MINUTES:
        least = tests.job_minutes - left + _LEAST_READY_MINUTES
        line = parts.spec.line("tiers", "on_tpu", suite.place, "job_minutes")
        rule = "too short to make the VM, to install, to test and to delete it"
        raise ConfigError([Problem(str(line), str(tests.job_minutes), rule, f"job_minutes: {least}")])
    return left


def _alone(accelerator: AcceleratorType) -> dict[str, str]:
    """What the TPU library is told in place of the metadata server, which the container does not reach.

    https://github.com/jax-ml/jax/blob/main/jax/_src/clusters/cloud_tpu_cluster.py names the switch (read 2026-11-21).
    """
    bounds = ",".join([*map(str, accelerator.topology.sides), "1", "1"][:3])
    return {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": accelerator.name,
        "TPU_CHIPS_PER_HOST_BOUNDS": bounds,
        "TPU_HOST_BOUNDS": "1,1,1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
    }


def any_of(conditions: Sequence[Expression]) -> Expression:
    """Whether one of them holds."""
    first, *others = conditions
    for each in others:
        first = first | each
    return first


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Whether each of them holds."""
    first, *others = conditions
    for each in others:
        first = first & each
    return first


def together(made: Sequence[Leg]) -> Expression:
    """How the tests of all legs ended: success, failure, or empty where no one knows."""
    if len(made) == 1:
        return made[0].ended
    failed = any_of([leg.ended.equals("failure") for leg in made])
    passed = all_of([leg.ended.equals("success") for leg in made])
    return failed & literal("failure") | passed & literal("success") | literal("")


def whichever_ran(made: Sequence[Leg]) -> Expression:
    """Whether a job of these was not skipped, or an earlier pass stands for its suite."""
    ran = [leg.result.differs("skipped") for leg in made]
    return any_of([*ran, *(reused(leg.suite.tests.suite) for leg in made if leg.reusable)])
