"""What suites of packages leave of their results, leg by leg, and the file that keeps them.

A leg is told apart by what its matrix varies; its JUnit XML is an artifact of the run, and nothing more: neither a leg
nor its run has an identity, so that forks' are as all others are. What keeps them is started on the main branch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final

from infra.model.result_request import KeptSuite
from workflows.builders import Expression, Step, Template, call, context, not_cancelled, template
from workflows.builders.expression import Value
from workflows.composite import FOLDER, Generated
from workflows.generate.keeping import HARDWARE, RESULTS, RUN, Keeper, gathering, uploaded
from workflows.placement import OnGitHub, OnPools, place_suite
from workflows.spec import Spec
from workflows.spec.model import Suite
from workflows.world import World

TESTING: Final = "test"
"""The id of the step that tests."""
PYTEST_COV: Final = "7.0.0"
"""https://pypi.org/project/pytest-cov/7.0.0/ (read 2026-11-24)."""
_CACHE, _FAILED = "cache", "failed"
_FILE: Final = '"$RUNNER_TEMP/results/$LEG'


def keeper(spec: Spec, world: World) -> Keeper | None:
    """Who keeps the results of a specification's suites; None where nobody does."""
    kept = spec.declared.results
    return Keeper(spec=spec, world=world, results=kept) if kept else None


@dataclass(frozen=True, slots=True, kw_only=True)
class LegParts:
    """What the steps of a suite's legs are made of. placed: where they run."""

    keeper: Keeper
    suite: Suite
    placed: OnPools | OnGitHub

    @property
    def leg(self) -> Template:
        """What tells a leg from all others of the specification, by its matrix."""
        said: list[str | Expression] = [self.suite.kept_as]
        for axis in axes(self.suite, self.placed):
            said += ["-", context(f"matrix.{axis}")]
        return template(*said)

    @property
    def inputs(self) -> tuple[str, ...]:
        """The files that decide how the suite ends, where the stack says which."""
        return self.keeper.inputs(self.suite.kept_as)

    @property
    def anew(self) -> Expression | None:
        """Whether the tests have to run; None where they do in any case."""
        if not self.inputs:
            return None
        hit = "outputs.cache-hit"
        return context(f"steps.{_CACHE}.{hit}").differs("true") | context(f"steps.{_FAILED}.{hit}").equals("true")

    @property
    def told(self) -> dict[str, Value]:
        """Variables of the step that tests."""
        return {"LEG": self.leg, **({"RUN": RUN} if self.inputs else {})}

    @property
    def installed(self) -> tuple[str, ...]:
        """What uv adds to the package for it."""
        return (f"--with pytest-cov=={PYTEST_COV}",) if self.suite.cover else ()

    @property
    def options(self) -> Iterator[str]:
        """Words of pytest: how it writes what it found. The name of the run tells it from one that a cache gives."""
        yield f'--junitxml={_FILE}.xml"'
        if self.inputs:
            yield '--override-ini=junit_suite_name="$RUN"'
        if self.suite.cover:
            yield from (f"--cov={self.suite.cover}", f'--cov-report=xml:{_FILE}-coverage.xml"')

    def before(self) -> Iterator[Step]:
        """Looks for a pass with the same files, which stands where no run with them failed."""
        if not self.inputs:
            return
        key = (*self.leg.parts, "-", context("runner.os"), "-", call("hashFiles", *self.inputs))
        yield self._cache(
            "restore",
            step_id=_CACHE,
            key=template(*key),
            why="A pass with the files that the stack declares stands for this run. One that failed keeps a mark, and\n"
            "where that is there, the tests run: these files do not decide how they end.",
        )
        yield self._cache("restore", step_id=_FAILED, key=template("failed-", *key), more={"lookup-only": True})
        yield Step(
            name="Say what stands for this run",
            condition=_not(self.anew),
            env={"LEG": self.leg},
            run='echo "$LEG: nothing ran; a pass with the same files stands for it" >>"$GITHUB_STEP_SUMMARY"\n',
        )

    def after(self) -> Iterator[Step]:
        """Keeps what the tests left: for the next run with these files, and as an artifact."""
        if self.inputs:
            ended = context(f"steps.{TESTING}.outcome")
            for step, kept in ((_CACHE, ended.equals("success")), (_FAILED, not_cancelled() & ended.equals("failure"))):
                # What was looked for: tests may have left files beside their inputs.
                key = context(f"steps.{step}.outputs.cache-primary-key")
                yield self._cache("save", key=template(key), condition=kept)
        yield uploaded(self.keeper, template("results-", *self.leg.parts), RESULTS, not_cancelled(), must=False)

    def _cache(
        self,
        what: str,
        *,
        key: Template,
        step_id: str = "",
        condition: Expression | None = None,
        more: Mapping[str, Value] | None = None,
        why: str = "",
    ) -> Step:
        return Step(
            id=step_id,
            uses=self.keeper.world.actions.uses(f"actions/cache/{what}"),
            condition=condition,
            inputs={"path": RESULTS, "key": key, **(more or {})},
            why=why,
        )


def _not(condition: Expression | None) -> Expression | None:
    return None if condition is None else ~condition


def axes(suite: Suite, placed: OnPools | OnGitHub) -> tuple[str, ...]:
    """The keys of the matrix by which legs of a suite are called apart."""
    python = ("python",) if len(suite.python) > 1 else ()
    jax = ("jax",) if suite.jax else ()
    return (*python, *jax, *(("pool",) if isinstance(placed, OnPools) and placed.differs else ()))


def said(suite: Suite, placed: OnPools | OnGitHub, value: Mapping[str, str | Expression]) -> Template:
    """What people call a leg. value: of each key of the matrix."""
    words: list[str | Expression] = [suite.job]
    for axis in axes(suite, placed):
        words += [", " if axis == "pool" else f", {axis} ", value[axis]]
    return template(*words)


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """The file that keeps the results of `tests`, where the specification has one."""
    kept = keeper(spec, world)
    if kept is None:
        return
    every = tuple(suite for each in spec.declared.tests for suite in each.suites)
    suites = [
        leg
        for tests in spec.declared.tests
        for suite in tests.suites
        for leg in _legs(kept, suite, place_suite(suite, every, world), f"{FOLDER}/{tests.file}")
    ]
    yield gathering(kept, [each.name for each in spec.declared.tests], kept.request(suites), spec.line("results"))


def _legs(kept: Keeper, suite: Suite, placed: OnPools | OnGitHub, workflow: str) -> Iterator[KeptSuite]:
    shown = axes(suite, placed)
    for python, jax, (pool, hardware) in product(suite.python or ("",), suite.jax or ("",), _machines(placed, kept)):
        values: dict[str, str] = {"python": python, "jax": jax, "pool": pool}
        leg = "-".join(values[axis] for axis in shown)
        file = f"{suite.kept_as}-{leg}" if leg else suite.kept_as
        yield KeptSuite(
            name=suite.kept_as,
            hardware=hardware,
            files=(f"{file}.xml",),
            coverage=f"{file}-coverage.xml" if suite.cover else "",
            leg=leg,
            versions={key: values[key] for key in ("python", "jax") if values[key]},
            workflow=workflow,
            job=str(said(suite, placed, values)),
            inputs=kept.inputs(suite.kept_as),
        )


def _machines(placed: OnPools | OnGitHub, kept: Keeper) -> tuple[tuple[str, str], ...]:
    """Label and hardware of whatever legs run on, by any event."""
    if isinstance(placed, OnGitHub):
        return (("", HARDWARE),)
    found = {}
    for wanted in (each for pools in placed.pools.values() for each in pools):
        there = kept.world.pool(wanted.name)
        found[wanted.label] = there.pool.accelerator.name if there else wanted.label
    return tuple(found.items())
