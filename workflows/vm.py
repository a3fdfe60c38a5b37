"""A TPU VM made for one run: the job that runs a command on it, and the one that makes sure that it is gone.

Owns both jobs. What they do is `infra.fleet.runs`, the same code that `./tidepool run-on` calls: the actions run-on and
run-delete run it from the commit at which they are pinned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from infra.model import names
from infra.model.catalogue import AcceleratorType
from infra.model.errors import ConfigError, Problem
from infra.model.facts import mirror_locations
from infra.model.images.steps import MINUTE
from infra.model.runs import RunRequest, RunTimes, is_contained, over_lifetime, run_places
from infra.model.schema import StackConfig
from workflows import steps
from workflows.builders import (
    Expression,
    Hosted,
    Job,
    Permissions,
    Purpose,
    Step,
    always,
    context,
    not_cancelled,
    template,
)
from workflows.builders.expression import Value
from workflows.world import StackPool, World

READY_MINUTES: Final = 20
"""From a VM that stands to a command that runs: boot, secrets, and the pull of the image."""
DELETE_MINUTES: Final = 15
"""To delete it, however often it has to be asked."""
SPARE_MINUTES: Final = 5
"""Everything else of the job."""
CLEAN_UP: Final = "clean-up"
ENDED: Final = context("steps.run.outputs.ended")
"""How the command ended, success or failure; empty where that is not known, as of a VM that was taken back."""
RECORDED: Final = context("steps.image.outputs.image")
"""The image that `recorded` found."""

PYTHON: Final = "3.12"
"""Of what runs the project's code, as on the machines that GitHub hosts."""
RESULTS: Final = template(context("runner.temp"), "/results")


@dataclass(frozen=True, slots=True, kw_only=True)
class VmRun:
    """One command on a VM of its own.

    shape: the pool as which it is made; accelerator: what it has, of the pool's generation. image: with its digest,
    empty where a step before finds it. command, env: `{run}` and `{commit}` stand in them for the run and the commit.
    secrets: of Secret Manager by variable; the VM's account reads them. repository: what the VM fetches at `commit`.
    install: a line of shell before the command. carried: files of this project that the VM gets. results: what comes
    back, for the suite. asked: jobs that come before in any case; unless: what one of them says that keeps it from
    running. run_id: the run's number, letters and digits that no other VM of the workflow's run has. clean_up: the id
    of the job that deletes. before: steps that come first, such as the one that finds the image; at_last: after the VM
    is deleted. timeout_minutes: of the command; create_minutes: of all tries to make the VM; ready_minutes: from there
    to a command that runs. outputs: of the job.
    """

    job: str
    name: str
    shape: StackPool
    accelerator: AcceleratorType
    image: str
    command: tuple[str, ...]
    account: str
    why: str
    timeout_minutes: int
    env: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    repository: str = ""
    commit: Expression | None = None
    install: str = ""
    carried: tuple[str, ...] = ()
    results: tuple[str, ...] = ()
    suite: str = ""
    needs: tuple[str, ...] = ()
    asked: tuple[str, ...] = ()
    only: Expression | None = None
    unless: Expression | None = None
    clean_up: str = CLEAN_UP
    run_id: Value = field(default_factory=lambda: context("github.run_id"))
    before: tuple[Step, ...] = ()
    at_last: tuple[Step, ...] = ()
    outputs: Mapping[str, Expression] = field(default_factory=dict)
    attempts: int = 3
    create_minutes: int = 30
    ready_minutes: int = READY_MINUTES
    delete_minutes: int = DELETE_MINUTES
    spare_minutes: int = SPARE_MINUTES

    @property
    def minutes(self) -> int:
        """What the whole job may take."""
        following = self.ready_minutes + self.timeout_minutes
        return self.create_minutes + following + self.delete_minutes + self.spare_minutes

    @property
    def times(self) -> RunTimes:
        """Both jobs are over when the VM's time to live is, whatever became of them."""
        delete = self.delete_minutes - 1
        both = self.minutes + self.delete_minutes + self.spare_minutes
        named = self.create_minutes + self.ready_minutes + self.timeout_minutes + delete
        return RunTimes(
            create=self.create_minutes * MINUTE,
            ready=self.ready_minutes * MINUTE,
            limit=self.timeout_minutes * MINUTE,
            delete=delete * MINUTE,
            spare=(both - named) * MINUTE,
        )


def jobs(run: VmRun, world: World) -> tuple[Job, Job]:
    """The job that runs, and the one that deletes what the first could not, as where its machine was lost."""
    permissions = Permissions.of(steps.IDENTITY)
    signed_in = (steps.google(world, run.account), steps.uv(world, PYTHON, cached=False))
    told = _told(run)
    working = Job(
        id=run.job,
        name=run.name,
        runs_on=Hosted(),
        timeout_minutes=run.minutes,
        permissions=permissions,
        purpose=Purpose.CLEANUP,
        needs=(*run.needs, *run.asked),
        condition=_after(run),
        env=told,
        outputs=run.outputs,
        steps=[
            *signed_in,
            *run.before,
            _run(run, world),
            _delete(run, world, condition=always()),
            *run.at_last,
        ],
        why=f"{run.why}\n{_made_as(run)}",
    )
    sure = Job(
        id=run.clean_up,
        name="Delete what is left",
        needs=[run.job],
        condition=always() & run.only if run.only else always(),
        runs_on=Hosted(),
        timeout_minutes=run.delete_minutes + run.spare_minutes,
        permissions=permissions,
        purpose=Purpose.CLEANUP,
        env={key: value for key, value in told.items() if key != "REQUEST"},
        steps=[*signed_in, _delete(run, world)],
        why="On another machine, since the first one may be gone. The run's label says which VMs are its.",
    )
    return working, sure


def _after(run: VmRun) -> Expression | None:
    """When all that it needs has gone well, in full: a condition with `always` has no success() of its own."""
    found = run.only
    for also in (*(context(f"needs.{job}.result").equals("success") for job in run.needs), *filter(None, [run.unless])):
        found = also if found is None else found & also
    return always() & not_cancelled() & found if found and (run.needs or run.asked) else found


def account(stack: StackConfig, repository: str, shape: StackPool) -> str:
    """The account by which a repository's workflows make VMs as that pool. stack: the one that lets them in."""
    return names.account_email(names.run_maker_account_id(stack.stack, repository, shape.pool.name), stack.project)


def mirrored(world: World, shape: StackPool, place: str) -> str:
    """Where a VM of that pool pulls an image of a public registry: the mirror of its part of the world, by its account.

    The place itself where there is no mirror of that registry.
    """
    host, _, rest = place.partition("/")
    zone = next(iter(shape.pool.zones))
    for _, stack in sorted(world.stacks.items()):
        for mirror in stack.mirrors:
            near = [each for each in mirror.locations if zone.startswith(each) and each in mirror_locations()]
            if mirror.upstream == f"https://{host}" and near:
                return f"{names.docker_path(stack.project, near[0], mirror.name)}/{rest}"
    return place


def _told(run: VmRun) -> dict[str, Value]:
    """What every step of the job knows."""
    request = _request(run)
    return {
        "RUN_ID": run.run_id,
        "PROJECT": request.project,
        "BUCKET": request.bucket,
        "ZONES": " ".join(request.zones),
        "DELETE_SECONDS": request.times.delete,
        "REQUEST": request.model_dump_json(indent=1, exclude_defaults=True),
    }


def _request(run: VmRun) -> RunRequest:
    """The run as one document; ConfigError where the pool's stack does not let runs have it."""
    stack, pool = run.shape.stack, run.shape.pool
    runs, times = stack.runs, run.times
    where = f"stacks/Pulumi.{stack.stack}.yaml tidepool:runs"
    if runs is None or pool.name not in runs.pools:
        problem = f"its runs make VMs as pool {' or '.join(runs.pools)}" if runs else "it declares no runs"
        allowed = f"tidepool:runs with pool: {pool.name}, or another pool"
        raise ConfigError([Problem(where, pool.name, problem, allowed)])
    if too_long := over_lifetime(stack, times):
        allowed = f"a shorter limit of {run.name}, or a longer time_to_live_minutes"
        raise ConfigError([Problem(where, pool.name, too_long, allowed)])
    return RunRequest(
        stack=stack.stack,
        project=stack.project,
        bucket=stack.bucket.name,
        pool=pool.name,
        accelerator=run.accelerator.name,
        hosts=run.accelerator.hosts,
        places=run_places(stack, run.accelerator, made=pool),
        zones=runs.zones,
        rounds=run.attempts,
        command=run.command,
        image=run.image,
        env=dict(sorted(run.env.items())),
        secrets=dict(sorted(run.secrets.items())),
        contained=is_contained(pool),
        repository=run.repository,
        install=run.install,
        carried=run.carried,
        results=run.results,
        suite=run.suite,
        times=times,
    )


def _made_as(run: VmRun) -> str:
    stack, pool = run.shape.stack, run.shape.pool
    zones = ", ".join(stack.runs.zones) if stack.runs else ""
    said = f"{run.accelerator.name}, {pool.capacity}, {zones}"
    return f"Made as pool {pool.name} of stack {stack.stack} says: {said}."


def _run(run: VmRun, world: World) -> Step:
    """Make the VM, run the command, bring back, delete. What the run step is cut off in, the next ones delete."""
    return steps.script(
        world,
        "run_on.sh",
        name=f"Run on a {run.accelerator.name}",
        step_id="run",
        outputs=("ended", "reason", "result"),
        timeout_minutes=run.minutes - run.delete_minutes - 1,
        env={
            "ATTEMPT": context("github.run_attempt"),
            "COMMIT": run.commit or "",
            "IMAGE": "" if run.image else RECORDED,
            "RESULTS": RESULTS,
        },
    )


def _delete(run: VmRun, world: World, *, condition: Expression | None = None) -> Step:
    return steps.script(
        world,
        "run_delete.sh",
        name="Delete it",
        condition=condition,
        finishes=True,
        timeout_minutes=run.delete_minutes,
        env={},
    )


def recorded(world: World, *, record: str, image: str, place: str) -> Step:
    """Finds the digest that the record of images names now. record: the object, gs://BUCKET/NAME."""
    return steps.script(
        world,
        "recorded_digest.sh",
        name=f"Find the digest of {image}",
        step_id="image",
        outputs=("image",),
        env={"RECORD": record, "RUN_IMAGE": image, "PLACE": place},
    )
