"""What the files of the three tiers share: Python as a step, results and their history, tests on a TPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from infra.model import runs
from infra.model.errors import ConfigError, Problem
from workflows import steps, vm
from workflows.builders import (
    Access,
    Expression,
    Grant,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Scope,
    Step,
    Template,
    always,
    context,
    not_cancelled,
    template,
)
from workflows.builders.expression import Value
from workflows.placement import TestCost, cost
from workflows.scripts import shipped
from workflows.spec import Spec
from workflows.spec.tiers import Tiers
from workflows.world import StackPool, World

TOKEN: Final = {"GITHUB_TOKEN": context("github.token")}
RUN: Final = template(context("github.run_id"), "-", context("github.run_attempt"))
RESULTS: Final = template(context("runner.temp"), "/results")
HISTORY: Final = template(context("runner.temp"), "/history")
REPORT: Final = template(context("runner.temp"), "/report.md")
MINUTES: Final = 10
"""Of a job that only reads and writes at GitHub."""
_DELETE_MINUTES, _SPARE_MINUTES, _CREATE_MINUTES = 4, 2, 4
_LEAST_READY_MINUTES = 3
_KEEP_HISTORY = Grant(Scope.CONTENTS, Access.WRITE, "pushes results to the branch of their history, and nothing else")


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A specification with its tiers, and what they cost. shape: the pool as which a VM is made."""

    spec: Spec
    tiers: Tiers
    world: World
    shape: StackPool
    cost: TestCost

    @classmethod
    def of(cls, spec: Spec, tiers: Tiers, world: World) -> Parts:
        """ConfigError where the VM cannot be made as the specification wants it."""
        shape = world.pool(tiers.on_tpu.vm)
        if shape is None:
            there = ", ".join(each.pool.name for each in world.pools())
            line = spec.line("tiers", "on_tpu", "vm")
            raise ConfigError([Problem(str(line), tiers.on_tpu.vm, "no stack declares the pool", f"one of {there}")])
        if shape.pool.accelerator.multi_host:
            line, name = spec.line("tiers", "on_tpu", "vm"), shape.pool.accelerator.name
            raise ConfigError(
                [
                    Problem(
                        str(line), name, "the pool has several hosts, and these tests run on one", "a pool of one host"
                    )
                ]
            )
        return cls(spec=spec, tiers=tiers, world=world, shape=shape, cost=cost(spec, tiers, shape))


def run_suite() -> str:
    """Shell that prints what runs a suite."""
    return f"run_suite() {{\n  cat <<'END_OF_FILE'\n{shipped('run_suite')}END_OF_FILE\n}}\n"


def result_of(suite: str) -> Template:
    """The file with a suite's result, where `downloaded` puts it."""
    return template(*RESULTS.parts, f"/{suite}.json")


def uploaded(parts: Parts, name: str, path: Value, condition: Expression) -> Step:
    """Results as an artifact, kept for as many days as the specification says."""
    return Step(
        uses=parts.world.actions.uses("actions/upload-artifact"),
        condition=condition,
        inputs={
            "name": name,
            "path": path,
            "if-no-files-found": "error",
            "retention-days": parts.tiers.history.archive_days,
        },
    )


def downloaded(parts: Parts) -> Step:
    """The results of all jobs of this run."""
    return Step(
        uses=parts.world.actions.uses("actions/download-artifact"),
        inputs={"pattern": "results-*", "path": RESULTS, "merge-multiple": True},
    )


def judged(parts: Parts, suite: str, result: Value, condition: Expression) -> tuple[Step, Step]:
    """Brings the history, and says of a result whether it is slower than that, and what is flaky."""
    history = parts.tiers.history
    return (
        steps.python(
            parts.world,
            "fetch_history",
            name="Fetch the history",
            env={**TOKEN, "HISTORY": HISTORY, "BRANCH": history.branch},
            condition=condition,
        ),
        steps.python(
            parts.world,
            "judge",
            name="Compare with the history",
            env={
                "RESULT": result,
                "HISTORY": HISTORY,
                "SUITE": suite,
                "SLOWER": history.slower_percent,
                "RUNS": history.runs,
                "LEAST": history.least,
                "REPORT": REPORT,
            },
            condition=condition,
        ),
    )


def recording(parts: Parts, needs: list[str], condition: Expression, purpose: Purpose) -> Job:
    """The job that adds a run's results to the history, and writes the page of health."""
    history = parts.tiers.history
    return Job(
        id="record",
        name="Keep the results",
        needs=needs,
        condition=condition,
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=Permissions.of(_KEEP_HISTORY),
        purpose=purpose,
        outputs={"budget": context("steps.record.outputs.budget")},
        steps=[
            downloaded(parts),
            steps.python(
                parts.world,
                "record",
                name="Add to the history",
                env={
                    **TOKEN,
                    "RESULTS": RESULTS,
                    "HISTORY": HISTORY,
                    "BRANCH": history.branch,
                    "DAYS": history.days,
                    "RUNS": history.runs,
                    "LEAST": history.least,
                    "USD_PER_HOUR": str(parts.cost.hour),
                    "BUDGET": str(parts.tiers.money.usd_per_month),
                },
                step_id="record",
                outputs=("budget",),
            ),
        ],
        why=f"Nothing of the tested code runs here. {parts.cost}",
    )


def on_tpu(
    parts: Parts,
    suite: str,
    commit: Expression,
    why: str,
    *,
    needs: tuple[str, ...] = (),
    only: Expression | None = None,
) -> tuple[Job, Job]:
    """The job that tests a commit on a VM made for it, and the one that makes sure that the VM is gone.

    only: where they start at all, None for wherever the workflow does.
    """
    tests, stack = parts.tiers.on_tpu, parts.world.stacks[parts.spec.declared.stack]
    there = always() & context("steps.run.outputs.result").differs("")
    ready = _ready_minutes(parts)
    return vm.jobs(
        vm.VmRun(
            job="tests",
            name=f"Tests on {parts.shape.pool.accelerator.name}",
            shape=parts.shape,
            accelerator=parts.shape.pool.accelerator,
            image=tests.image,
            command=("/work/venv/bin/python", "/work/run_suite.py", "/work/out/result.json", *tests.modules),
            account=vm.account(stack, parts.spec.declared.repository, parts.shape),
            why=why,
            timeout_minutes=tests.timeout_minutes,
            env={
                **steps.TPU_ENV,
                **_alone(parts),
                **tests.env,
                "COMMIT": runs.COMMIT,
                "RUN": runs.RUN,
                "SUITE": suite,
                "COVER": tests.cover,
            },
            repository=parts.spec.declared.repository,
            commit=commit,
            install=" && ".join(tests.install),
            carried=("workflows/scripts/run_suite.py",),
            results=("out/result.json",),
            suite=suite,
            needs=needs,
            only=only,
            at_last=(uploaded(parts, f"results-{suite}", RESULTS, there),),
            outputs={"ended": vm.ENDED},
            attempts=1,
            create_minutes=_CREATE_MINUTES,
            ready_minutes=ready,
            delete_minutes=_DELETE_MINUTES,
            spare_minutes=_SPARE_MINUTES,
        ),
        parts.world,
    )


def _ready_minutes(parts: Parts) -> int:
    """What the job's limit leaves for booting and installing."""
    tests = parts.tiers.on_tpu
    left = tests.job_minutes - tests.timeout_minutes - _CREATE_MINUTES - _DELETE_MINUTES - _SPARE_MINUTES
    if left < _LEAST_READY_MINUTES:
        least = tests.job_minutes - left + _LEAST_READY_MINUTES
        line = parts.spec.line("tiers", "on_tpu", "job_minutes")
        rule = "too short to make the VM, to install, to test and to delete it"
        raise ConfigError([Problem(str(line), str(tests.job_minutes), rule, f"job_minutes: {least}")])
    return left


def _alone(parts: Parts) -> dict[str, str]:
    """What the TPU library is told in place of the metadata server, which the container does not reach.

    https://github.com/jax-ml/jax/blob/main/jax/_src/clusters/cloud_tpu_cluster.py names the switch (read 2026-11-21).
    """
    accelerator = parts.shape.pool.accelerator
    bounds = ",".join([*map(str, accelerator.topology.sides), "1", "1"][:3])
    return {
        "TPU_SKIP_MDS_QUERY": "1",
        "TPU_ACCELERATOR_TYPE": accelerator.name,
        "TPU_CHIPS_PER_HOST_BOUNDS": bounds,
        "TPU_HOST_BOUNDS": "1,1,1",
        "TPU_WORKER_HOSTNAMES": "localhost",
        "TPU_WORKER_ID": "0",
    }


def whatever_became(job: str) -> Expression:
    """Once a job has ended, well or not, and neither it nor the run was cancelled."""
    return not_cancelled() & context(f"needs.{job}.result").differs("skipped")
