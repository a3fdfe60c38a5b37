"""The first tier: tools and suites on GitHub's runners, for every pull request and every push to the main branch.

A suite's result is kept in the cache by the tree that was tested, so that a tree which passed is not tested again.
"""

from __future__ import annotations

from dataclasses import replace

from infra.model.images.steps import MINUTE
from workflows import steps
from workflows.builders import (
    Concurrency,
    Hosted,
    Job,
    Permissions,
    PullRequest,
    Purpose,
    Push,
    Step,
    Triggers,
    Workflow,
    context,
    not_cancelled,
    template,
    timed,
)
from workflows.generate.result import FOLDER, Generated, generated
from workflows.generate.tiers_parts import RUN, Parts, judged, recording, run_suite, uploaded
from workflows.spec.tiers import Check, CpuSuite

RESULTS = "results"


def file(parts: Parts) -> Generated:
    first, branch = parts.tiers.every_pull_request, parts.spec.declared.branch
    paths = [*first.paths, f"{FOLDER}/{first.file}"] if first.paths else []
    jobs = [*(_check(parts, check) for check in first.checks), *(_suite(parts, suite) for suite in first.suites)]
    suites = [suite.job for suite in first.suites]
    pushed = not_cancelled() & context("github.event_name").equals("push")
    jobs.append(recording(parts, suites, pushed, Purpose.TEST))
    workflow = Workflow(
        name=first.name,
        triggers=Triggers.of(Push(branches=[branch], paths=paths), PullRequest(paths=paths)),
        jobs=jobs,
        concurrency=Concurrency(template(f"{first.file.partition('.')[0]}-", context("github.ref")), Purpose.TEST),
    )
    where = ("tiers", "every_pull_request")
    lines = {
        **{check.job: parts.spec.line(*where, "checks", place) for place, check in enumerate(first.checks)},
        **{suite.job: parts.spec.line(*where, "suites", place) for place, suite in enumerate(first.suites)},
        "record": parts.spec.line("tiers", "history"),
    }
    return generated(parts.spec, first.file, workflow, lines)


def _check(parts: Parts, check: Check) -> Job:
    first = parts.tiers.every_pull_request
    return Job(
        id=check.job,
        name=check.job.capitalize(),
        runs_on=Hosted(),
        timeout_minutes=first.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        steps=[
            steps.checkout(parts.world),
            steps.uv(parts.world, first.python),
            Step(name=check.job.capitalize(), run="".join(f"{line}\n" for line in check.run)),
        ],
    )


def _suite(parts: Parts, suite: CpuSuite) -> Job:
    first = parts.tiers.every_pull_request
    result = f"{RESULTS}/{suite.job}.json"
    anew = context("steps.cache.outputs.cache-hit").differs("true")
    command = f'uv run --no-project python "$RUNNER_TEMP/run_suite.py" {result} \\\n  ' + " \\\n  ".join(suite.modules)
    seconds = first.target_minutes * MINUTE
    runner = f'{run_suite()}run_suite >"$RUNNER_TEMP/run_suite.py"\n'
    return Job(
        id=suite.job,
        name=f"Tests: {suite.job}",
        runs_on=Hosted(),
        timeout_minutes=first.timeout_minutes,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        env=dict(first.env),
        steps=[
            steps.checkout(parts.world),
            steps.tree(),
            Step(
                id="cache",
                uses=parts.world.actions.uses("actions/cache"),
                inputs={
                    "path": RESULTS,
                    "key": template(f"{suite.job}-", context("runner.os"), "-", context("steps.tree.outputs.tree")),
                },
                why="The result of a tree that passed. A run that fails keeps none, so that it is tried again.",
            ),
            replace(steps.uv(parts.world, first.python), condition=anew),
            Step(name="Install", condition=anew, run="".join(f"{line}\n" for line in first.install)),
            Step(  # noqa: S604 - the shell of a workflow's step; nothing is run here
                name="Bring what runs the tests",
                condition=anew,
                shell="bash",
                run=runner,
                shared=steps.shared(parts.world, "run_suite", "workflows/scripts/run_suite.py"),
            ),
            Step(
                name="Test",
                condition=anew,
                env={"SUITE": suite.job, "COMMIT": context("github.sha"), "RUN": RUN, "COVER": suite.cover},
                run=f"mkdir -p {RESULTS}\n{timed(seconds, command)}\n",
            ),
            *judged(parts, suite.job, result, not_cancelled()),
            uploaded(parts, f"results-{suite.job}", RESULTS, not_cancelled()),
        ],
    )
