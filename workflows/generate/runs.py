"""Files of one command on TPUs: on a pool that is large enough, or on a VM that is made for the run."""

from __future__ import annotations

from collections.abc import Iterator

from infra.model import bucket_names
from infra.model.images.places import record_stack
from workflows import steps, vm
from workflows.builders import (
    Concurrency,
    Job,
    Permissions,
    Purpose,
    Schedule,
    Step,
    Triggers,
    Workflow,
    WorkflowDispatch,
    context,
    template,
    timed,
)
from workflows.composite import Generated, generated, made_of
from workflows.placement import OnPools, OnVm, place_run
from workflows.spec import Spec
from workflows.spec.model import TpuRun
from workflows.world import World

RUN = "{run}"
"""Stands for the run's number in a command."""
_SPARE_MINUTES = 5


def files(spec: Spec, world: World) -> Iterator[Generated]:
    """One file for each entry of `runs`."""
    for index, run in enumerate(spec.declared.runs):
        with made_of(spec.line("runs", index)):
            made = _file(spec, index, run, world)
        yield made


def _file(spec: Spec, index: int, run: TpuRun, world: World) -> Generated:
    placed = place_run(run, spec.declared.repository, world)
    jobs = _vm_jobs(spec, run, placed, world) if isinstance(placed, OnVm) else (_pool_job(run, placed, world),)
    schedule = [Schedule(run.schedule)] if run.schedule else []
    workflow = Workflow(
        name=run.name,
        triggers=Triggers.of(*schedule, WorkflowDispatch()),
        jobs=jobs,
        # One at a time; what runs is never cut off, since its VM would have to be deleted in the middle of it.
        concurrency=Concurrency(run.file.partition(".")[0], Purpose.CLEANUP),
    )
    return generated(spec, run.file, workflow, {job.id: spec.line("runs", index) for job in jobs})


def _vm_jobs(spec: Spec, run: TpuRun, placed: OnVm, world: World) -> tuple[Job, ...]:
    stack = world.stacks[spec.declared.stack]
    bucket = world.stacks[record_stack(world.images)].bucket.name
    place = vm.mirrored(world, placed.shape, world.images.image(run.image).push.ghcr or "")
    return vm.jobs(
        vm.VmRun(
            job=run.job,
            name=run.job,
            shape=placed.shape,
            accelerator=placed.shape.pool.accelerator,
            image="",
            command=run.command,
            account=vm.account(stack, spec.declared.repository, placed.shape),
            why=placed.why,
            timeout_minutes=run.timeout_minutes,
            env=run.env,
            secrets=run.secrets,
            before=(
                steps.gcloud(world, placed.shape.stack.project),
                vm.recorded(
                    world, record=f"gs://{bucket}/{bucket_names.images_record_object()}", image=run.image, place=place
                ),
            ),
            attempts=run.attempts,
            create_minutes=run.create_minutes,
        ),
        world,
    )


def _pool_job(run: TpuRun, placed: OnPools, world: World) -> Job:
    """The same command as plain steps on a runner, from the repository's own lock."""
    command = steps.words((f"uv run --package {run.package} --frozen", *run.command)).replace(RUN, "$RUN")
    return Job(
        id=run.job,
        name=run.job,
        runs_on=placed.runner,
        timeout_minutes=run.timeout_minutes + _SPARE_MINUTES,
        permissions=Permissions.of(steps.READ_CONTENTS),
        purpose=Purpose.TEST,
        env={**steps.runner_env(world.images), **run.env},
        steps=[
            steps.checkout(world),
            Step(
                name="TpuRun",
                working_directory=run.folder,
                timeout_minutes=run.timeout_minutes,
                env={
                    "RUN": template(context("github.run_id"), "-", context("github.run_attempt")),
                    **{name: context(f"secrets.{name}") for name in run.secrets},
                },
                run=timed(steps.seconds(run.timeout_minutes), command) + "\n",
            ),
        ],
        why=placed.why,
    )
