"""What becomes of the tiers' results: which suites an earlier pass stands for, and what is kept of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from infra.model.result_request import KeptSuite, SuiteVm
from infra.model.schema import StackConfig
from workflows import steps
from workflows.builders import Hosted, Job, Purpose, context
from workflows.builders.expression import Value
from workflows.composite import FOLDER, Generated
from workflows.generate import keeping
from workflows.generate.keeping import HARDWARE, KEEPS, MINUTES
from workflows.generate.tiers_parts import REUSE, Parts, TpuSuite, shards
from workflows.spec.tiers import TpuTier


def reusing(parts: Parts, tier: TpuTier, told: Mapping[str, Value], **job: Any) -> Job | None:
    """The job that asks which suites of a tier need not run; None where each runs whatever was before."""
    asked = [each for each in parts.of_tier(tier) if parts.reuses(each, tier)]
    if not asked:
        return None
    return Job(
        id=REUSE,
        name="Look for an earlier pass",
        runs_on=Hosted(),
        timeout_minutes=MINUTES,
        permissions=KEEPS,
        purpose=Purpose.PUBLISH,
        outputs={"reused": context("steps.reuse.outputs.reused")},
        env={"REQUEST": on_tpu(parts, asked)},
        steps=[
            *keeping.signed_in(parts.keeper),
            steps.script(
                parts.world,
                "results_reuse.sh",
                name="Ask for a pass with the same inputs",
                step_id="reuse",
                env={**steps.TOKEN, **told},
                outputs=("reused",),
            ),
        ],
        why="An unchanged tree needs no VM: a pass whose inputs are the same files stands for this run, which says so.",
        **job,
    )


def on_tpu(parts: Parts, suites: Sequence[TpuSuite]) -> str:
    """What is kept of a tier on TPUs, as one document."""
    return parts.keeper.request(
        [
            KeptSuite(
                name=each.tests.suite,
                hardware=each.accelerator.name,
                files=each.files,
                inputs=parts.keeper.inputs(each.tests.suite),
                labels=parts.tiers.nightly.labels,
                vm=SuiteVm(
                    accelerator=each.accelerator.name,
                    zone=next(zone for zone in _zones(each.shape.stack) if zone in each.accelerator.generation.zones),
                    capacity=each.shape.pool.capacity.kind.value,
                    pool=each.shape.pool.name,
                ),
            )
            for each in suites
        ]
    )


def gathering(parts: Parts) -> Generated:
    """The file that keeps results of the first tier."""
    first = parts.tiers.every_pull_request
    suites = [
        KeptSuite(
            name=suite.job,
            hardware=HARDWARE,
            files=tuple(f"{name}.json" for name, _ in shards(suite.job, suite.modules, suite.shards)),
            workflow=f"{FOLDER}/{first.file}",
            inputs=parts.keeper.inputs(suite.job),
        )
        for suite in first.suites
    ]
    request, line = parts.keeper.request(suites), parts.spec.line("tiers", "results")
    return keeping.gathering(parts.keeper, [first.name], request, line, str(parts.cost))


def _zones(stack: StackConfig) -> Sequence[str]:
    return stack.runs.zones if stack.runs else ()
